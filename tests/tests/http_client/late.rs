//! Requests that the server says it did not get in time: `408 Request Timeout`.

use std::time::Duration;

use windlass::client::Negotiation;
use windlass::model::{CallTool, CallToolParams, ListTools, PaginatedParams};

use crate::talk::{Request, Talk, config, http};

/// What a server says before it closes a connection on which nothing came, or not all of it.
const LATE: &str = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const EMPTY: &str = r#"{"content":[]}"#;

fn late(talk: &mut Talk, request: &Request) {
    talk.raw(request.conn, LATE.as_bytes());
}

/// The same request, on another connection, as it was.
fn again(talk: &mut Talk, request: &Request) -> Request {
    let again = talk.request();
    assert!(again.conn != request.conn && again.body == request.body, "{}", talk.transcript);
    again
}

/// The same request, under an id of its own: the server may know the first.
fn made_again(talk: &mut Talk, request: &Request) -> Request {
    let again = talk.request();
    assert!(again.conn != request.conn && again.says() == request.says(), "{}", talk.transcript);
    assert_ne!(again.id(), request.id());
    again
}

/// A client without a connection that it could use again.
fn with_none_kept() -> Talk {
    let mut http = http();
    http.idle_connections = 0;
    Talk::modern_with(config(), http)
}

#[test]
fn what_does_no_harm_is_said_again_once() {
    let mut talk = with_none_kept();
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    let request = talk.request();
    late(&mut talk, &request);
    let request = made_again(&mut talk, &request);
    talk.json(&request, 200, &request.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(number).is_ok());

    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    let request = talk.request();
    late(&mut talk, &request);
    let request = made_again(&mut talk, &request);
    late(&mut talk, &request);
    assert!(talk.failed(number).contains("408 Request Timeout; try again later"), "{}", talk.failed(number));
    talk.close_down();
}

#[test]
fn what_may_do_something_twice_is_not_said_again() {
    let mut talk = with_none_kept();
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("pay"));
    let request = talk.request();
    late(&mut talk, &request);
    assert!(talk.failed(number).contains("408 Request Timeout"), "{}", talk.failed(number));
    talk.no_request();
    talk.close_down();
}

#[test]
fn what_cannot_have_come_is_said_again_whatever_it_is() {
    let mut talk = with_none_kept();
    talk.deaf = true;
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("pay"));
    talk.raw(2, LATE.as_bytes());
    talk.deaf = false;
    talk.run();
    let request = talk.request();
    assert_eq!(request.conn, 3);
    talk.json(&request, 200, &request.result(EMPTY));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_kept_connection_that_the_server_is_tired_of() {
    for (worked, says_again) in [(0, true), (999, true), (1000, false)] {
        let mut talk = Talk::modern();
        let (number, _) = talk.call::<CallTool>(&CallToolParams::new("pay"));
        let request = talk.request();
        assert_eq!(request.conn, 1);
        talk.pass(Duration::from_millis(worked));
        late(&mut talk, &request);
        if says_again {
            let request = again(&mut talk, &request);
            talk.json(&request, 200, &request.result(EMPTY));
            assert!(talk.outcome(number).is_ok());
        } else {
            assert!(talk.failed(number).contains("408"), "{}", talk.failed(number));
        }
        talk.close_down();
    }
}

#[test]
fn what_is_about_the_request_is_taken_for_that() {
    let gateway = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    for said in [gateway.to_owned(), format!("HTTP/1.1 103 Early Hints\r\n\r\n{LATE}")] {
        let mut talk = Talk::modern();
        let (number, _) = talk.call::<CallTool>(&CallToolParams::new("pay"));
        let request = talk.request();
        assert_eq!(request.conn, 1);
        talk.raw(request.conn, said.as_bytes());
        assert!(talk.failed(number).contains("408"), "{}", talk.failed(number));
        talk.no_request();
        talk.close_down();
    }
}

#[test]
fn handshakes_and_what_follows_them() {
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    late(&mut talk, &probe);
    let probe = again(&mut talk, &probe);
    late(&mut talk, &probe);
    talk.tells("! closed: the handshake failed: the server answered with HTTP status 408 Request Timeout; try again");
    talk.nothing_left();

    let mut config = config();
    config.negotiation = Negotiation::Legacy;
    let mut http = http();
    http.listen = false;
    let mut talk = Talk::new(config, http);
    let initialize = talk.request();
    late(&mut talk, &initialize);
    let initialize = again(&mut talk, &initialize);
    talk.initialized(&initialize, "2025-11-25", None);
    let announcement = talk.request();
    assert!(announcement.body.contains("notifications/initialized"), "{}", announcement.body);
    late(&mut talk, &announcement);
    let announcement = again(&mut talk, &announcement);
    talk.say(&announcement, 202, "", Some(""));
    talk.close_down();
    assert!(!talk.transcript.contains("! not delivered"), "{}", talk.transcript);
}
