//! Servers that want credentials, and where credentials go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windlass::codec::http1::Headers;
use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges, Url};
use windlass::model::{EmptyParams, ListTools, PaginatedParams, Ping};
use windlass::{Instant, Machine, Output};

use crate::talk::{Request, Talk, config, http};

const CHALLENGE: &str = "WWW-Authenticate: Bearer resource_metadata=\"http://server:3000/x\"\r\n";

fn answering() -> HttpClientConfig {
    let mut http = http();
    http.answers_challenges = true;
    http
}

fn answer(talk: &mut Talk, headers: Option<&Headers>) {
    let reply = talk.challenges.remove(0);
    talk.client.answer_challenge(reply, headers, talk.now).unwrap();
    talk.run();
}

fn token(token: &str) -> Headers {
    Headers::from([("Authorization", token)])
}

fn list(talk: &mut Talk) -> (u32, Request) {
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    (number, talk.request())
}

#[test]
fn the_probe_is_made_again_with_credentials() {
    let mut talk = Talk::new(config(), answering());
    let probe = talk.request();
    talk.say(&probe, 401, CHALLENGE, Some("who are you?"));
    // A person may take their time.
    talk.pass(Duration::from_secs(250));
    answer(&mut talk, Some(&token("Bearer 1")));
    let again = talk.request();
    assert_eq!((again.says().as_str(), again.header("authorization")), ("server/discover", Some("Bearer 1")));
    assert_eq!(again.id(), probe.id());
    talk.json(&again, 200, &again.result(crate::talk::DISCOVERED));
    // They are kept, and replaced when they have expired.
    let (number, request) = list(&mut talk);
    assert_eq!(request.header("authorization"), Some("Bearer 1"));
    talk.say(&request, 401, CHALLENGE, Some(""));
    answer(&mut talk, Some(&token("Bearer 2")));
    let again = talk.request();
    assert_eq!(again.header("authorization"), Some("Bearer 2"));
    // Once is enough.
    talk.say(&again, 401, CHALLENGE, Some("still not"));
    assert!(talk.challenges.is_empty());
    assert!(talk.failed(number).contains("401 Unauthorized; it wants to be given credentials: still not"));
    talk.close_and_expect("credentials");
}

#[test]
fn what_the_server_said_is_kept_in_the_error() {
    let mut talk = Talk::modern();
    let (number, request) = list(&mut talk);
    let headers = format!("{CHALLENGE}Mcp-Auth-Server: http://auth\r\nRetry-After: 7\r\n");
    talk.say(&request, 403, &headers, Some("no"));
    let Err(windlass::CallError::Http(failure)) = talk.outcome(number) else { panic!("{}", talk.transcript) };
    assert_eq!((failure.status, &failure.body[..]), (403, "no"));
    assert_eq!(failure.www_authenticate, ["Bearer resource_metadata=\"http://server:3000/x\""]);
    assert_eq!(failure.auth_server.as_deref(), Some("http://auth"));
    assert_eq!(failure.retry_after.as_deref(), Some("7"));
    talk.close_down();
}

#[test]
fn a_program_that_has_none() {
    let mut talk = Talk::modern_with(config(), answering());
    let (number, request) = list(&mut talk);
    talk.say(&request, 401, CHALLENGE, Some("no"));
    answer(&mut talk, None);
    assert!(talk.failed(number).contains("401 Unauthorized"));
    // One that never answers.
    let (number, request) = list(&mut talk);
    talk.say(&request, 403, CHALLENGE, Some("no"));
    talk.pass(Duration::from_secs(299));
    assert!(!talk.outcomes.contains_key(&number));
    talk.pass(Duration::from_secs(1));
    assert!(talk.failed(number).contains("403 Forbidden"));
    // Too late an answer changes nothing but the credentials of the next.
    answer(&mut talk, Some(&token("Bearer late")));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_request_that_is_made_again_has_its_whole_time() {
    let mut talk = Talk::modern_with(config(), answering());
    let (number, request) = list(&mut talk);
    talk.say(&request, 401, CHALLENGE, Some(""));
    talk.pass(Duration::from_secs(100));
    answer(&mut talk, Some(&token("Bearer 1")));
    talk.pass(Duration::from_millis(29_999));
    assert!(!talk.outcomes.contains_key(&number));
    talk.pass(Duration::from_millis(1));
    assert!(talk.failed(number).contains("did not answer"));
    talk.close_down();
}

#[test]
fn one_answer_does_for_all_that_were_sent_before_it() {
    let mut talk = Talk::modern_with(config(), answering());
    let ((first, one), (second, two)) = (list(&mut talk), list(&mut talk));
    talk.say(&one, 401, CHALLENGE, Some(""));
    answer(&mut talk, Some(&token("Bearer 1")));
    let one = talk.request();
    talk.say(&two, 401, CHALLENGE, Some(""));
    assert!(talk.challenges.is_empty());
    let two = talk.request();
    assert_eq!(two.header("authorization"), Some("Bearer 1"));
    talk.json(&one, 200, &one.result(r#"{"tools":[]}"#));
    talk.json(&two, 200, &two.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(first).is_ok() && talk.outcome(second).is_ok());
    talk.close_down();
}

#[test]
fn a_slow_body_does_not_keep_the_program_waiting() {
    let mut talk = Talk::modern_with(config(), answering());
    let (_, request) = list(&mut talk);
    talk.say(&request, 401, CHALLENGE, None);
    talk.pass(Duration::from_secs(5));
    answer(&mut talk, Some(&token("Bearer 1")));
    assert_eq!(talk.request().header("authorization"), Some("Bearer 1"));
    talk.close_down();
}

#[test]
fn headers_that_cannot_be_sent_are_refused() {
    let mut talk = Talk::modern_with(config(), answering());
    let (number, request) = list(&mut talk);
    talk.say(&request, 401, CHALLENGE, Some(""));
    let reply = talk.challenges.remove(0);
    assert!(talk.client.answer_challenge(reply, Some(&token("a\r\nb: c")), talk.now).is_err());
    talk.run();
    assert!(talk.failed(number).contains("401"));
    assert!(http().header("Mcp-Session-Id", "x").is_err());
    assert!(http().header("content-LENGTH", "1").is_err());
    assert!(http().header("a b", "1").is_err());
    talk.close_down();
}

#[test]
fn secrets_are_not_shown() {
    let http = http().header("X-Api-Key", "secret").unwrap();
    assert_eq!(format!("{http:?}").matches("secret").count(), 0);
    let mut client = HttpClient::<u8>::new(config(), http, Instant::ZERO).delegating();
    let Output::Open { conn, .. } = client.poll() else { panic!("it begins with a request") };
    let shown = format!("{:?}", client.request(conn));
    assert!(shown.contains("X-Api-Key") && !shown.contains("secret"), "{shown}");
}

#[test]
fn redirects_stay_within_the_origin() {
    let mut talk = Talk::modern_with(config(), http().header("Authorization", "Bearer 1").unwrap());
    let (number, request) = list(&mut talk);
    talk.say(&request, 307, "Location: /mcp/\r\n", Some(""));
    let moved = talk.request();
    assert_eq!((&moved.head.method[..], &moved.head.target[..]), ("POST", "/mcp/"));
    assert_eq!((moved.body.as_str(), moved.header("authorization")), (request.body.as_str(), Some("Bearer 1")));
    talk.json(&moved, 200, &moved.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(number).is_ok());
    for (status, location) in [
        (307, "http://elsewhere/mcp"),
        (308, "https://server:3000/mcp"),
        (308, "//server/mcp"),
        (307, "file:///x"),
        (301, "/mcp/"),
        (302, "/mcp/"),
        (303, "/mcp/"),
    ] {
        let (number, request) = list(&mut talk);
        talk.say(&request, status, &format!("Location: {location}\r\n"), Some(""));
        assert!(talk.failed(number).contains(&format!("to {location}, which is not followed")), "{status} {location}");
    }
    // In circles.
    let (number, mut request) = list(&mut talk);
    for _ in 0..3 {
        talk.say(&request, 308, "Location: /mcp\r\n", Some(""));
        request = talk.request();
    }
    talk.say(&request, 308, "Location: /mcp\r\n", Some(""));
    assert!(talk.failed(number).contains("308 Permanent Redirect"));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_legacy_listener_is_redirected_too() {
    let (mut talk, get) = Talk::at_the_listener(config(), http(), None);
    talk.say(&get, 302, "Location: /stream\r\n", Some(""));
    let get = talk.request();
    assert_eq!(&get.head.target[..], "/stream");
    talk.stream(&get);
    talk.announced();
    talk.call::<Ping>(&EmptyParams::new());
    assert_eq!(talk.request().says(), "ping");
    talk.close_down();
}

#[test]
fn what_was_cached_for_somebody_else_is_asked_for_again() {
    let mut talk = Talk::modern_with(config(), answering());
    let tools = r#"{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"private"}"#;
    let (number, request) = list(&mut talk);
    talk.json(&request, 200, &request.result(tools));
    assert!(talk.outcome(number).is_ok());
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    talk.run();
    assert!(talk.outcome(number).is_ok(), "from the cache");
    talk.no_request();
    talk.call::<Ping>(&EmptyParams::default());
    let ping = talk.request();
    talk.say(&ping, 401, CHALLENGE, Some(""));
    answer(&mut talk, Some(&token("Bearer of somebody else")));
    let again = talk.request();
    talk.json(&again, 200, &again.result(crate::talk::DISCOVERED));
    let (_, request) = list(&mut talk);
    talk.json(&request, 200, &request.result(tools));
    talk.close_down();
}

#[test]
fn headers_can_be_another_for_each_request() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let signed = move |method: &str, url: &Url| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        vec![("Authorization".to_owned(), format!("Signed {method} {} {number}", url.target()))]
    };
    let http = http().header("Authorization", "Bearer 1").unwrap().request_headers(Arc::new(signed));
    let mut talk = Talk::modern_with(config(), http);
    let (number, request) = list(&mut talk);
    assert_eq!(request.header("authorization"), Some("Signed POST /mcp 1"));
    assert_eq!(request.head.headers.get_all("authorization").count(), 1);
    // A redirect is another request.
    talk.say(&request, 307, "Location: /mcp/\r\n", Some(""));
    let moved = talk.request();
    assert_eq!(moved.header("authorization"), Some("Signed POST /mcp/ 2"));
    talk.json(&moved, 200, &moved.result(r#"{"tools":[]}"#));
    assert!(talk.outcome(number).is_ok());
    talk.close_down();
}

#[test]
fn a_request_whose_headers_cannot_be_sent_is_not_made() {
    let once = AtomicU32::new(0);
    let broken = move |_: &str, _: &Url| match once.fetch_add(1, Ordering::Relaxed) {
        0 => vec![],
        _ => vec![("Mcp-Session-Id".to_owned(), "x".to_owned())],
    };
    let mut talk = Talk::modern_with(config(), http().request_headers(Arc::new(broken)));
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    talk.no_request();
    assert!(talk.failed(number).contains("this header is sent by the client itself"), "{}", talk.failed(number));
    talk.close_down();
}
