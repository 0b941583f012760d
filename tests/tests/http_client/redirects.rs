//! Endpoints that have moved: for now, or for good.

use std::time::Duration;

use windlass::model::{EmptyParams, ListTools, PaginatedParams, Ping};

use crate::talk::{DISCOVERED, Request, Talk, config, http};

fn list(talk: &mut Talk) -> (u32, Request) {
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    (number, talk.request())
}

/// Lists the tools, which is to be asked for at these addresses one after the other, each sending to the next.
#[track_caller]
fn listed_at(talk: &mut Talk, status: u16, targets: &[&str]) {
    let (number, mut request) = list(talk);
    for (at, target) in targets.iter().enumerate() {
        assert_eq!(request.head.target, *target, "{}", talk.transcript);
        match targets.get(at + 1) {
            Some(next) => {
                talk.say(&request, status, &format!("Location: {next}\r\n"), Some(""));
                request = talk.request();
            }
            None => talk.json(&request, 200, &request.result(r#"{"resultType":"complete","tools":[]}"#)),
        }
    }
    assert!(talk.outcome(number).is_ok());
    talk.no_request();
}

#[test]
fn for_good_is_remembered() {
    let mut talk = Talk::modern();
    listed_at(&mut talk, 308, &["/mcp", "/mcp/"]);
    listed_at(&mut talk, 308, &["/mcp/"]);
    // And from there again, by two steps.
    listed_at(&mut talk, 308, &["/mcp/", "/v2", "/v3"]);
    listed_at(&mut talk, 308, &["/v3"]);
    talk.close_down();
}

#[test]
fn from_the_first_request_on() {
    let mut talk = Talk::new(config(), http());
    let probe = talk.request();
    talk.say(&probe, 308, "Location: /mcp/\r\n", Some(""));
    let probe = talk.request();
    talk.json(&probe, 200, &probe.result(DISCOVERED));
    listed_at(&mut talk, 308, &["/mcp/"]);
    talk.close_down();
}

#[test]
fn for_now_is_not_remembered() {
    let mut talk = Talk::modern();
    listed_at(&mut talk, 307, &["/mcp", "/mcp/"]);
    listed_at(&mut talk, 307, &["/mcp", "/mcp/"]);
    // Not even what comes for good behind it.
    let (number, request) = list(&mut talk);
    talk.say(&request, 307, "Location: /for-now\r\n", Some(""));
    let request = talk.request();
    talk.say(&request, 308, "Location: /for-good\r\n", Some(""));
    let request = talk.request();
    talk.json(&request, 200, &request.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(number).is_ok());
    listed_at(&mut talk, 308, &["/mcp", "/mcp/"]);
    // From where it has moved for good to somewhere for now.
    listed_at(&mut talk, 307, &["/mcp/", "/for-now"]);
    listed_at(&mut talk, 307, &["/mcp/"]);
    talk.close_down();
}

#[test]
fn what_leads_to_nothing_is_not_remembered() {
    for status in [400, 404, 500] {
        let mut talk = Talk::modern();
        let (number, request) = list(&mut talk);
        talk.say(&request, 308, "Location: /gone\r\n", Some(""));
        let moved = talk.request();
        talk.plain(&moved, status, "");
        if status < 500 {
            talk.still_modern();
        }
        assert!(talk.failed(number).contains(&status.to_string()));
        listed_at(&mut talk, 308, &["/mcp"]);
        talk.close_down();
    }
    let mut talk = Talk::modern();
    let (number, request) = list(&mut talk);
    talk.say(&request, 308, "Location: /page\r\n", Some(""));
    let moved = talk.request();
    talk.say(&moved, 200, "Content-Type: text/html\r\n", Some("<html>"));
    assert!(talk.failed(number).contains("text/html"));
    listed_at(&mut talk, 308, &["/mcp"]);
    talk.close_down();
}

#[test]
fn where_nobody_is_any_more_is_forgotten() {
    for status in [404, 405, 410] {
        let mut talk = Talk::modern();
        listed_at(&mut talk, 308, &["/mcp", "/mcp/"]);
        let (number, request) = list(&mut talk);
        assert_eq!(request.head.target, "/mcp/");
        talk.plain(&request, status, "");
        // Nobody has taken it, so it is made again where the program said.
        let again = talk.request();
        assert_eq!((again.head.target.as_str(), again.body.as_str()), ("/mcp", request.body.as_str()));
        talk.json(&again, 200, &again.result(r#"{"tools":[]}"#));
        assert!(talk.outcome(number).is_ok());
        listed_at(&mut talk, 308, &["/mcp"]);
        // Once only.
        listed_at(&mut talk, 308, &["/mcp", "/mcp/"]);
        let (number, request) = list(&mut talk);
        talk.plain(&request, status, "");
        let again = talk.request();
        talk.plain(&again, status, "");
        if status != 410 {
            talk.still_modern();
        }
        assert!(talk.failed(number).contains(&status.to_string()));
        talk.close_down();
    }
}

#[test]
fn an_answer_of_a_server_is_not_forgotten_for() {
    let mut talk = Talk::modern();
    listed_at(&mut talk, 308, &["/mcp", "/mcp/"]);
    let (number, request) = list(&mut talk);
    talk.json(&request, 404, &request.error(-32601, "no such method"));
    assert!(talk.failed(number).contains("no such method"));
    let (number, request) = list(&mut talk);
    talk.plain(&request, 503, "");
    assert!(talk.failed(number).contains("503"));
    listed_at(&mut talk, 308, &["/mcp/"]);
    // What is no answer at all is forgotten for, but who knows whether it was carried out.
    let (number, request) = list(&mut talk);
    talk.say(&request, 200, "Content-Type: text/html\r\n", Some("<html>"));
    assert!(talk.failed(number).contains("text/html"));
    listed_at(&mut talk, 308, &["/mcp", "/mcp/"]);
    let (number, request) = list(&mut talk);
    talk.say(&request, 308, "Location: http://elsewhere/\r\n", Some(""));
    assert!(talk.failed(number).contains("not followed"));
    listed_at(&mut talk, 308, &["/mcp"]);
    talk.close_down();
}

#[test]
fn a_legacy_session_that_has_moved() {
    let mut talk = Talk::legacy_with(config(), http(), "2025-11-25", Some("s1"));
    talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.say(&ping, 308, "Location: /mcp/\r\n", Some(""));
    let ping = talk.request();
    talk.json(&ping, 200, &ping.result("{}"));
    // The session is forgotten there; whether it is known elsewhere is found out first.
    let (number, _) = talk.call::<Ping>(&EmptyParams::new());
    let ping = talk.request();
    talk.plain(&ping, 404, "");
    let ping = talk.request();
    assert_eq!((ping.says().as_str(), ping.head.target.as_str()), ("ping", "/mcp"));
    talk.plain(&ping, 404, "");
    let initialize = talk.request();
    assert_eq!(initialize.head.target, "/mcp");
    talk.say(&initialize, 308, "Location: /mcp/\r\n", Some(""));
    let initialize = talk.request();
    talk.initialized(&initialize, "2025-11-25", Some("s2"));
    let get = talk.request();
    assert_eq!((get.head.method.as_str(), get.head.target.as_str()), ("GET", "/mcp"));
    talk.plain(&get, 405, "");
    let announcement = talk.announcement();
    assert_eq!(announcement.head.target, "/mcp/");
    talk.plain(&announcement, 202, "");
    let ping = talk.request();
    talk.json(&ping, 200, &ping.result("{}"));
    assert!(talk.outcome(number).is_ok());
    talk.close();
    let delete = talk.request();
    assert_eq!((delete.head.method.as_str(), delete.head.target.as_str()), ("DELETE", "/mcp/"));
    talk.plain(&delete, 200, "");
    talk.nothing_left();
}

#[test]
fn a_listener_has_its_own_place() {
    let (mut talk, get) = Talk::at_the_listener(config(), http(), Some("s1"));
    talk.say(&get, 301, "Location: /stream\r\n", Some(""));
    let get = talk.request();
    assert_eq!(get.head.target, "/stream");
    talk.stream(&get);
    let announcement = talk.announcement();
    assert_eq!(announcement.head.target, "/mcp");
    talk.plain(&announcement, 202, "");
    talk.lines(&get, "id: 1\ndata: \n\n");
    talk.cut(&get);
    talk.pass(Duration::from_secs(1));
    let get = talk.request();
    assert_eq!((get.head.target.as_str(), get.header("last-event-id")), ("/stream", Some("1")));
    // It is not there any more.
    talk.plain(&get, 404, "");
    let get = talk.request();
    assert_eq!((get.head.target.as_str(), get.header("last-event-id")), ("/mcp", Some("1")));
    talk.stream(&get);
    talk.event(&get, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    talk.tells("! told notifications/tools/list_changed");
    talk.close_down();
}
