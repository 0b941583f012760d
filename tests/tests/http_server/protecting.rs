//! A protected server: who may call, with which token, for what, and what the others are told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::auth::{Principal, ProtectedResource, TokenRejected};
use windlass::{ConnId, Machine, Observation, Observer, Output};

use crate::guest::{House, body, get, header, ids, initialize, messages, modern, post, session, status};

const RESOURCE: &str = "https://files.example.com/mcp";
const METADATA: &str = "https://files.example.com/.well-known/oauth-protected-resource/mcp";

fn resource() -> ProtectedResource {
    ProtectedResource::new(RESOURCE, "https://login.example.com")
        .unwrap()
        .scopes_supported(["mcp", "write"])
        .required_scopes(["mcp"])
        .scope_for_tool("slow", ["write"])
        .scope_for_method("prompts/list", ["prompts"])
}

/// Tokens say whose they are and what they allow: `alice.mcp.write`, with what is wrong with them in capitals.
fn verify(token: &str) -> Result<Principal, TokenRejected> {
    let (subject, scopes) = token.split_once('.').ok_or(TokenRejected::invalid("it was made by nobody"))?;
    match subject {
        "EXPIRED" => Err(TokenRejected::Expired),
        "DOWN" => Err(TokenRejected::unavailable("nobody is there to ask")),
        "FOREIGN" => Ok(Principal::new("eve").audience("https://elsewhere.example.com")),
        _ => Ok(Principal::new(subject).audience(RESOURCE).scopes(scopes.split('.')).expires_at(1000)),
    }
}

fn house() -> House {
    with(|resource| resource)
}

fn with(change: impl FnOnce(ProtectedResource) -> ProtectedResource) -> House {
    let mut house = House::with(|http| http.authorization = Some(change(resource())));
    house.verifier = Some(verify);
    house
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// A modern request with a token, on a connection of its own.
fn ask(house: &mut House, token: &str, method: &str, params: &str) -> String {
    let (headers, request) = modern(1, method, params);
    house.post(&(bearer(token) + &headers), &request)
}

fn call(house: &mut House, token: &str, tool: &str) -> String {
    ask(house, token, "tools/call", &format!(r#""name":"{tool}","arguments":{{}}"#))
}

fn raw(house: &mut House, text: &str) -> String {
    let conn = house.connect();
    house.write(conn, text.as_bytes());
    house.read(conn)
}

fn challenge(answer: &str) -> String {
    header(answer, "WWW-Authenticate").unwrap_or_else(|| panic!("no challenge in {answer}"))
}

#[test]
fn a_token_opens_the_door_and_its_principal_goes_in() {
    let mut house = house();
    let answer = call(&mut house, "alice.mcp", "echo");
    assert_eq!(status(&answer), 200, "{answer}");
    let principal = house.principals.pop().flatten().expect("the handler knows who asks");
    assert_eq!((&*principal.subject, &*principal.scopes), ("alice", &["mcp".to_owned()][..]));
    assert!(house.server.is_idle());
}

#[test]
fn without_a_token_there_is_nothing_but_where_to_get_one() {
    let mut house = house();
    let missing = format!(r#"Bearer resource_metadata="{METADATA}", scope="mcp""#);
    let (headers, request) = modern(1, "server/discover", "");
    for answer in [
        house.post(&headers, &request),
        house.post("", &initialize("2025-11-25")),
        house.post("Authorization: Basic YTpi\r\n", &initialize("2025-11-25")),
        raw(&mut house, &get("none", "")),
        raw(&mut house, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: x\r\n\r\n"),
        raw(&mut house, &post("", "{}").replace("/mcp", "/mcp?access_token=alice.mcp")),
    ] {
        assert_eq!(status(&answer), 401, "{answer}");
        assert_eq!(challenge(&answer), missing);
        assert_eq!(header(&answer, "Connection").as_deref(), Some("close"), "the body is not read");
    }
    assert_eq!(house.verified, 0, "nobody was asked about what is not there");
}

#[test]
fn a_header_that_cannot_be_read_is_the_fault_of_the_request() {
    let mut house = house();
    for credentials in [
        "Authorization: Bearer\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Bearer a b\r\n",
        "Authorization: Bearer \"a\"\r\n",
        "Authorization:\r\n",
        "Authorization: Bearer alice.mcp\r\nAuthorization: Bearer alice.mcp\r\n",
    ] {
        let answer = house.post(credentials, &initialize("2025-11-25"));
        assert_eq!(status(&answer), 400, "{credentials} {answer}");
        assert!(challenge(&answer).starts_with(r#"Bearer error="invalid_request", error_description=""#), "{answer}");
    }
    let answer = house.post("authorization: bEARER   alice.mcp\r\n", &initialize("2025-11-25"));
    assert_eq!(status(&answer), 200, "the name of the scheme is written in any way");
}

#[test]
fn a_token_that_is_not_good_is_said_to_be_so() {
    let mut house = house();
    for (token, why) in [
        ("nobody", "it was made by nobody"),
        ("EXPIRED.mcp", "the token has expired"),
        ("FOREIGN.mcp", "the token is for another resource"),
    ] {
        let answer = call(&mut house, token, "echo");
        assert_eq!(status(&answer), 401);
        let expected = format!(
            r#"Bearer error="invalid_token", error_description="{why}", resource_metadata="{METADATA}", scope="mcp""#
        );
        assert_eq!(challenge(&answer), expected);
    }
    let down = call(&mut house, "DOWN.mcp", "echo");
    assert_eq!((status(&down), header(&down, "Retry-After").as_deref()), (503, Some("1")));
    assert_eq!(header(&down, "WWW-Authenticate"), None, "another token would not help");
    assert!(house.principals.is_empty() && house.server.is_idle());
}

#[test]
fn who_needs_more_is_told_of_everything_at_once() {
    let mut house = house();
    let insufficient = |scopes: &str| {
        format!(
            "Bearer error=\"insufficient_scope\", error_description=\"the token does not allow this\", \
             resource_metadata=\"{METADATA}\", scope=\"{scopes}\""
        )
    };
    assert_eq!(status(&call(&mut house, "alice.mcp", "echo")), 200);
    for (token, tool, scopes) in [
        ("alice.mcp", "slow", "mcp write"),
        ("bob.write", "slow", "mcp write"),
        ("bob.other", "echo", "mcp"),
        ("bob.mcp", "slow", "mcp write"),
    ] {
        let answer = call(&mut house, token, tool);
        assert_eq!((status(&answer), challenge(&answer)), (403, insufficient(scopes)), "{token} {tool}");
        assert_eq!(header(&answer, "Connection"), None, "the request was read, and another may follow");
    }
    let answer = ask(&mut house, "alice.mcp", "prompts/list", "");
    assert_eq!((status(&answer), challenge(&answer)), (403, insufficient("mcp prompts")));
    let answer = raw(&mut house, &get("none", &bearer("alice.other")));
    assert_eq!((status(&answer), challenge(&answer)), (403, insufficient("mcp")));

    let conn = house.connect();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    house.write(conn, post(&(bearer("alice.mcp.write") + &headers), &request).as_bytes());
    house.answer_slow();
    assert_eq!(status(&house.read(conn)), 200);
}

#[test]
fn a_batch_needs_what_all_of_it_needs() {
    let mut house = house();
    let id = begin(&mut house, "alice.mcp", "2025-03-26");
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s\u006cow"}},{"jsonrpc":"2.0","id":3,"method":"prompts/list"}]"#;
    let answer = house.post(&(session(&id) + &bearer("alice.mcp")), batch);
    assert_eq!(status(&answer), 403, "{answer}");
    assert!(challenge(&answer).ends_with(r#"scope="mcp write prompts""#), "{answer}");
    assert!(house.slow.is_empty());
}

#[test]
fn origins_come_before_tokens() {
    let mut house = house();
    let (headers, request) = modern(1, "server/discover", "");
    let foreign = "Origin: https://evil.example.com\r\n";
    let answer = house.post(&format!("{foreign}{}{headers}", bearer("alice.mcp")), &request);
    assert_eq!((status(&answer), header(&answer, "WWW-Authenticate")), (403, None));
    assert_eq!(house.verified, 0);
}

#[test]
fn the_metadata_is_there_for_everybody() {
    let mut house = house();
    let expected = format!(
        r#"{{"resource":"{RESOURCE}","authorization_servers":["https://login.example.com"],"scopes_supported":["mcp","write"],"bearer_methods_supported":["header"]}}"#
    );
    let ask = |house: &mut House, method: &str, path: &str, more: &str| {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        raw(house, &format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n"))
    };
    for (path, more) in
        [("", ""), ("/mcp", ""), ("/mcp?x=1", "Origin: https://page.example.com\r\n"), ("", "Content-Length: 0\r\n")]
    {
        let answer = ask(&mut house, "GET", path, more);
        assert_eq!(status(&answer), 200, "{answer}");
        assert_eq!(header(&answer, "Content-Type").as_deref(), Some("application/json"));
        assert_eq!(header(&answer, "Access-Control-Allow-Origin").as_deref(), Some("*"));
        assert_eq!(body(&answer), expected);
    }
    for method in ["HEAD", "POST", "PUT", "OPTIONS", "DELETE"] {
        let answer = ask(&mut house, method, "/mcp", "");
        assert_eq!((status(&answer), header(&answer, "Allow").as_deref()), (405, Some("GET")), "{method}");
    }
    assert_eq!(status(&ask(&mut house, "GET", "/other", "")), 404);
    assert_eq!(status(&ask(&mut house, "GET", "/mcp", "Content-Length: 5\r\n")), 400, "nobody's body is read");
    let rebound = "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: evil.example.com\r\n\r\n";
    assert_eq!(status(&raw(&mut house, rebound)), 403);
    assert_eq!(status(&ask(&mut House::new(), "GET", "", "")), 404, "of a server that is not protected there is none");
}

#[test]
fn the_body_waits_until_it_is_known_who_sends_it() {
    let mut house = house();
    house.verifier = None;
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/call", r#""name":"echo","arguments":{}"#);
    let blanks = " ".repeat(200_000);
    let expects = format!("{}{headers}Expect: 100-continue\r\n", bearer("alice.mcp"));
    let message = post(&expects, &(request + &blanks));
    let rest = house.write(conn, message.as_bytes());
    assert!(message.len() - rest.len() <= 64 * 1024 + 1 + 400, "{} bytes are not read", rest.len());
    assert_eq!(house.read(conn), "", "nobody is encouraged to go on either");
    let (reply, token) = house.verifying.remove(0);
    house.server.verified(reply, verify(&token), house.now);
    house.settle();
    assert!(house.write(conn, rest).is_empty());
    let answer = house.read(conn);
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "{answer}");

    // If it is nobody, it never is.
    let conn = house.connect();
    let rest = house.write(conn, message.replace("alice", "nobody").replace("nobody.mcp", "nobody").as_bytes()).len();
    let (reply, token) = house.verifying.remove(0);
    house.server.verified(reply, verify(&token), house.now);
    house.settle();
    assert!(rest > 0 && status(&house.read(conn)) == 401 && !house.is_open(conn));
    assert!(house.server.is_idle());
}

#[test]
fn a_client_that_stops_sending_while_its_token_is_verified_is_answered() {
    let mut house = house();
    house.verifier = None;
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/call", r#""name":"echo","arguments":{}"#);
    house.write(conn, post(&(bearer("alice.mcp") + &headers), &request).as_bytes());
    house.stop_sending(conn);
    assert!(house.is_open(conn));
    let (reply, token) = house.verifying.remove(0);
    house.server.verified(reply, verify(&token), house.now);
    house.settle();
    assert_eq!(status(&house.read(conn)), 200);
}

#[test]
fn the_same_token_is_verified_once_while_that_is_fresh() {
    let mut house = house();
    for _ in 0..3 {
        assert_eq!(status(&call(&mut house, "alice.mcp", "echo")), 200);
    }
    assert_eq!(house.verified, 1);
    house.wait(Duration::from_millis(59_999));
    call(&mut house, "alice.mcp", "echo");
    assert_eq!(house.verified, 1);
    house.wait(Duration::from_millis(1));
    call(&mut house, "alice.mcp", "echo");
    assert_eq!(house.verified, 2, "after a minute it is old");
    for _ in 0..2 {
        call(&mut house, "nobody", "echo");
    }
    assert_eq!(house.verified, 4, "what is not good is not remembered");

    let mut house = with(|resource| resource.cache_for(Duration::ZERO));
    for _ in 0..2 {
        assert_eq!(status(&call(&mut house, "alice.mcp", "echo")), 200);
    }
    assert_eq!(house.verified, 2, "never, if that is wanted");
}

#[test]
fn a_token_that_is_remembered_expires_all_the_same() {
    let mut house = with(|resource| resource.cache_for(Duration::from_secs(10_000)));
    house.wait(Duration::from_secs(1020));
    assert_eq!(status(&call(&mut house, "alice.mcp", "echo")), 200, "clocks may differ a little");
    // What is under way goes on when the token expires; the next request needs another one.
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    house.write(conn, post(&(bearer("alice.mcp.write") + &headers), &request).as_bytes());
    house.wait(Duration::from_secs(10));
    let answer = call(&mut house, "alice.mcp", "echo");
    assert_eq!(status(&answer), 401);
    assert!(challenge(&answer).contains("the token has expired"));
    assert_eq!(house.verified, 2);
    house.answer_slow();
    assert_eq!(messages(&house.read(conn)).len(), 1);
}

#[test]
fn the_tokens_that_are_remembered_are_so_many_at_most() {
    let mut house = with(|mut resource| {
        resource.cached_tokens = 2;
        resource
    });
    for token in ["a.mcp", "b.mcp", "c.mcp", "b.mcp", "c.mcp"] {
        assert_eq!(status(&call(&mut house, token, "echo")), 200);
    }
    assert_eq!(house.verified, 3);
    call(&mut house, "a.mcp", "echo");
    assert_eq!(house.verified, 4, "the oldest made room");
    call(&mut house, "c.mcp", "echo");
    assert_eq!(house.verified, 4);
}

/// A connection on which a request with a token waits.
fn waiting(house: &mut House, token: &str) -> ConnId {
    let conn = house.connect();
    let (headers, request) = modern(1, "tools/call", r#""name":"echo","arguments":{}"#);
    house.write(conn, post(&(bearer(token) + &headers), &request).as_bytes());
    conn
}

#[test]
fn nobody_waits_for_a_verification_for_ever() {
    let mut house = house();
    house.verifier = None;
    let conns = [waiting(&mut house, "alice.mcp"), waiting(&mut house, "alice.mcp")];
    assert_eq!(house.verified, 1, "both wait for the same");
    house.wait(Duration::from_millis(9_999));
    assert!(conns.iter().all(|conn| house.is_open(*conn)) && !house.server.is_idle());
    house.wait(Duration::from_millis(1));
    for conn in conns {
        let answer = house.read(conn);
        assert_eq!((status(&answer), header(&answer, "Retry-After").as_deref()), (503, Some("1")));
        assert!(!house.is_open(conn));
    }
    let (reply, token) = house.verifying.remove(0);
    house.server.verified(reply, verify(&token), house.now);
    house.settle();
    assert!(house.server.is_idle() && house.principals.is_empty(), "too late is never");
    assert!(matches!(house.server.poll(), Output::Idle { deadline: None }), "no timer is left");
}

#[test]
fn a_flood_of_tokens_is_bounded() {
    let mut house = house();
    house.verifier = None;
    let most = resource().verifications;
    let conns: Vec<_> = (0..most).map(|number| waiting(&mut house, &format!("{number}.mcp"))).collect();
    let refused = waiting(&mut house, "late.mcp");
    let answer = house.read(refused);
    assert_eq!((status(&answer), header(&answer, "Retry-After").as_deref()), (503, Some("1")));
    assert_eq!(house.verifying.len(), most);
    for (reply, token) in std::mem::take(&mut house.verifying) {
        house.server.verified(reply, verify(&token), house.now);
    }
    house.settle();
    for conn in conns {
        assert_eq!(status(&house.read(conn)), 200);
    }
    assert_eq!(house.verified, most);
    let late = waiting(&mut house, "late.mcp");
    assert!(house.read(late).is_empty() && house.verifying.len() == 1, "there is room again");
}

#[test]
fn a_client_that_is_gone_leaves_nothing() {
    let mut house = house();
    house.verifier = None;
    let conn = waiting(&mut house, "alice.mcp");
    house.server.conn_failed(conn, windlass::ConnError::new(windlass::ConnErrorKind::Broken, "gone"), house.now);
    house.settle();
    let (reply, token) = house.verifying.remove(0);
    house.server.verified(reply, verify(&token), house.now);
    house.settle();
    assert!(house.server.is_idle() && house.principals.is_empty());
}

#[test]
fn a_server_that_closes_does_not_wait_for_verifications() {
    let mut house = house();
    house.verifier = None;
    let conn = waiting(&mut house, "alice.mcp");
    house.server.close(house.now);
    house.settle();
    let late = house.verifying.remove(0).0;
    house.server.verified(late, verify("alice.mcp"), house.now);
    house.wait(Duration::from_secs(30));
    assert!(house.closed && !house.is_open(conn));
    assert!(matches!(house.server.poll(), Output::Idle { deadline: None }));
}

/// Begins a legacy session with a token.
fn begin(house: &mut House, token: &str, version: &str) -> String {
    let answer = house.post(&bearer(token), &initialize(version));
    assert_eq!(status(&answer), 200, "{answer}");
    let id = header(&answer, "Mcp-Session-Id").unwrap();
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(status(&house.post(&(session(&id) + &bearer(token)), told)), 202);
    id
}

#[test]
fn a_session_belongs_to_who_began_it() {
    let mut house = house();
    let id = begin(&mut house, "alice.mcp", "2025-11-25");
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let unknown = house.post(&(session("made-up") + &bearer("bob.mcp")), list);
    let foreign = house.post(&(session(&id) + &bearer("bob.mcp")), list);
    assert_eq!((status(&foreign), &foreign), (404, &unknown), "it is as if there was none");
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}{}\r\n", session(&id), bearer("bob.mcp"));
    assert_eq!(status(&raw(&mut house, &delete)), 404);
    assert_eq!(status(&raw(&mut house, &get(&id, &bearer("bob.mcp")))), 404);
    // Another token of the same principal is as good.
    assert_eq!(status(&house.post(&(session(&id) + &bearer("alice.mcp.other")), list)), 200);
    assert_eq!(status(&house.post(&session(&id), list)), 401, "the session alone is no token");
    assert_eq!(house.server.sessions(), 1);
    assert_eq!(status(&raw(&mut house, &delete.replace("bob", "alice"))), 204);
}

#[test]
fn streams_are_resumed_by_who_had_them() {
    let mut house = house();
    let id = begin(&mut house, "alice.mcp.write", "2025-11-25");
    let conn = house.connect();
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}"#;
    house.write(conn, post(&(session(&id) + &bearer("alice.mcp.write")), request).as_bytes());
    let key = house.slow[0].key();
    house.server.interrupt(key);
    house.settle();
    let event = ids(&house.read(conn)).pop().expect("the stream can be resumed");
    house.answer_slow();
    let resume = |token: &str| get(&id, &format!("Last-Event-ID: {event}\r\n{}", bearer(token)));
    assert_eq!(status(&raw(&mut house, &resume("bob.mcp"))), 404);
    let own = begin(&mut house, "bob.mcp", "2025-11-25");
    let with_own = get(&own, &format!("Last-Event-ID: {event}\r\n{}", bearer("bob.mcp")));
    assert_eq!(status(&raw(&mut house, &with_own)), 400, "nor by a session of one's own");
    let resumed = raw(&mut house, &resume("alice.mcp"));
    assert_eq!(messages(&resumed).len(), 1, "{resumed}");
}

#[test]
fn the_state_of_a_call_belongs_to_who_made_it() {
    let mut house = house();
    let capable = |params: &str, token: &str| {
        let (headers, request) = modern(1, "tools/call", params);
        let capable = r#"clientCapabilities":{"elicitation":{"form":{}}}"#;
        (bearer(token) + &headers, request.replace(r#"clientCapabilities":{}"#, capable))
    };
    let first = r#""name":"ask","arguments":{},"inputResponses":{"city":{"action":"decline"}}"#;
    let (headers, request) = capable(first, "alice.mcp");
    let answer = body(&house.post(&headers, &request));
    let state = answer.split(r#""requestState":""#).nth(1).and_then(|rest| rest.split('"').next());
    let state = state.unwrap_or_else(|| panic!("no state in {answer}"));
    let again = format!(r#""name":"ask","arguments":{{}},"requestState":"{state}""#);
    for (token, opens) in [("bob.mcp", false), ("alice.mcp.other", true), ("alice.mcp", true)] {
        let (headers, request) = capable(&again, token);
        let answer = body(&house.post(&headers, &request));
        assert_eq!(answer.contains("input_required"), opens, "{token} {answer}");
        assert_eq!(answer.contains("belongs to another call"), !opens, "{token} {answer}");
    }
}

#[test]
fn tokens_are_nowhere_to_be_seen() {
    #[derive(Default)]
    struct Log(Mutex<String>);
    impl Observer for Log {
        fn observe(&self, observation: &Observation<'_>) {
            *self.0.lock().unwrap() += &format!("{observation:?}\n");
        }
    }
    let log = Arc::new(Log::default());
    let mut house = House::with_both(|config, http| {
        config.observer = log.clone().into();
        http.authorization = Some(resource());
    });
    house.verifier = Some(verify);
    let mut told = String::new();
    for token in ["alice.mcp", "alice.none", "EXPIRED.mcp", "alicewrong", "FOREIGN.alice", "DOWN.alice"] {
        let answer = call(&mut house, token, "echo");
        assert!(!answer.contains(token), "{answer}");
        told += &answer;
    }
    let conn = house.connect();
    house.write(conn, post(&bearer("alice?mcp"), "{}").as_bytes());
    told += &house.read(conn);
    let log = log.0.lock().unwrap();
    assert!(!told.contains("alice") && !log.contains("alice") && log.contains("tools/call"), "{told} {log}");
}
