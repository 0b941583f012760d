//! Calls whose streams are opened again: what they may take meanwhile, and that they are asked for who they are anew.

use std::time::Duration;

use windlass::client::CallOptions;
use windlass::codec::http1::Headers;
use windlass::model::{CallTool, CallToolParams};

use crate::talk::{Request, Talk, config, http};

const EMPTY: &str = r#"{"content":[]}"#;

/// A client of a legacy server that makes calls of `bytes` for as long as it takes.
fn call(talk: &mut Talk, bytes: usize) -> (u32, Request) {
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    let arguments = windlass::Json::of(&serde_json::json!({"text": "x".repeat(bytes)})).unwrap();
    let params = CallToolParams::new("echo").with_arguments(arguments);
    let (number, _) = talk.call_with::<CallTool>(&params, &options);
    (number, talk.request())
}

/// The server begins to answer, and breaks off.
fn breaks_off(talk: &mut Talk, request: &Request, retry: &str) {
    talk.stream(request);
    talk.lines(request, &format!("{retry}id: e{}\ndata: \n\n", request.id()));
    talk.cut(request);
}

#[test]
fn they_take_no_more_connections_than_others() {
    let mut http = http();
    http.listen = false;
    http.connections = 3;
    let mut talk = Talk::legacy_with(config(), http, "2025-11-25", Some("s1"));
    let calls: Vec<_> = (0..9)
        .map(|_| {
            let (number, request) = call(&mut talk, 0);
            breaks_off(&mut talk, &request, "");
            (number, request)
        })
        .collect();
    talk.pass(Duration::from_secs(1));
    assert_eq!(talk.requests_left(), 3, "{}", talk.transcript);
    for (number, request) in calls {
        let get = talk.request();
        assert_eq!(get.header("last-event-id"), Some(&*format!("e{}", request.id())));
        talk.stream(&get);
        talk.event(&get, &request.result(EMPTY));
        talk.end(&get);
        assert!(talk.outcome(number).is_ok());
    }
    talk.close_down();
}

#[test]
fn they_do_not_count_as_unsent_while_they_wait() {
    let mut config = config();
    config.limits.outbox_soft_bytes = 2500;
    let mut http = http();
    http.listen = false;
    let mut talk = Talk::legacy_with(config, http, "2025-11-25", Some("s1"));
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let (number, request) = call(&mut talk, 1000);
            breaks_off(&mut talk, &request, "retry: 100000000000\n");
            (number, request)
        })
        .collect();
    let (number, request) = call(&mut talk, 1000);
    talk.json(&request, 200, &request.result(EMPTY));
    assert!(talk.outcome(number).is_ok());
    // However long the server wants to be left alone, it is asked some time.
    talk.pass(Duration::from_secs(24 * 3600 - 1));
    talk.no_request();
    talk.pass(Duration::from_secs(1));
    for (number, request) in waiting {
        let get = talk.request();
        talk.stream(&get);
        talk.event(&get, &request.result(EMPTY));
        talk.end(&get);
        assert!(talk.outcome(number).is_ok());
    }
    talk.close_down();
}

#[test]
fn a_server_that_wants_no_pause_and_brings_nothing_gets_longer_and_longer_ones() {
    let mut http = http();
    http.listen = false;
    let mut talk = Talk::legacy_with(config(), http, "2025-11-25", Some("s1"));
    let (number, request) = call(&mut talk, 0);
    breaks_off(&mut talk, &request, "retry: 0\n");
    for wait in [50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000] {
        assert_eq!(talk.deadline, Some(talk.now + Duration::from_millis(wait)), "{}", talk.transcript);
        talk.pass(Duration::from_millis(wait));
        let get = talk.request();
        talk.stream(&get);
        talk.lines(&get, &format!("id: e{wait}\ndata: \n\n"));
        talk.cut(&get);
    }
    talk.pass(Duration::from_secs(30));
    let get = talk.request();
    talk.stream(&get);
    talk.event(&get, &request.result(EMPTY));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

/// The server wants other credentials, and gets them.
fn challenged(talk: &mut Talk, request: &Request, token: &str) -> Request {
    talk.say(request, 401, "WWW-Authenticate: Bearer\r\n", Some(""));
    let reply = talk.challenges.pop().expect("the program is asked");
    talk.client.answer_challenge(reply, Some(&Headers::from([("Authorization", token)])), talk.now).unwrap();
    talk.run();
    let again = talk.request();
    assert_eq!(again.header("authorization"), Some(token));
    again
}

#[test]
fn credentials_that_have_expired_meanwhile_are_asked_for_again() {
    let mut http = http();
    http.listen = false;
    http.answers_challenges = true;
    let mut talk = Talk::legacy_with(config(), http, "2025-11-25", Some("s1"));
    let (number, request) = call(&mut talk, 0);
    let first = challenged(&mut talk, &request, "Bearer 1");
    breaks_off(&mut talk, &first, "");
    talk.pass(Duration::from_secs(1));
    let get = talk.request();
    let again = challenged(&mut talk, &get, "Bearer 2");
    assert_eq!((again.head.method.as_str(), again.header("last-event-id")), ("GET", Some("e2")));
    talk.stream(&again);
    talk.event(&again, &request.result(EMPTY));
    talk.end(&again);
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_server_that_asks_for_credentials_without_end_does_not_keep_a_call_open_for_ever() {
    let mut http = http();
    http.listen = false;
    http.answers_challenges = true;
    let mut config = config();
    config.idle_timeout = Duration::from_secs(30);
    config.total_timeout = Duration::from_secs(100);
    let mut talk = Talk::legacy_with(config, http, "2025-11-25", Some("s1"));
    let (number, _) = talk.call::<CallTool>(&CallToolParams::new("echo"));
    let mut request = talk.request();
    for round in 0.. {
        assert!(round < 20, "{}", talk.transcript);
        // Whatever the program takes to find them is not the call's time.
        let again = challenged(&mut talk, &request, &format!("Bearer {round}"));
        talk.pass(Duration::from_secs(9));
        talk.stream(&again);
        let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}"#;
        talk.lines(&again, &format!("id: e{round}\ndata: {message}\n\n"));
        talk.cut(&again);
        talk.pass(Duration::from_secs(1));
        if talk.outcomes.contains_key(&number) {
            assert_eq!(round, 9);
            break;
        }
        request = talk.request();
    }
    assert!(talk.failed(number).contains("did not answer"), "{}", talk.failed(number));
    talk.close_down();
}
