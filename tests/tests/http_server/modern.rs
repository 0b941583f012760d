//! The modern era: every request stands alone.

use std::time::Duration;

use windlass::Machine;
use windlass::model::Tool;

use crate::guest::{House, META, body, header, messages, modern, post, status};

#[test]
fn an_answer_is_json_when_nothing_comes_before_it() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"echo","arguments":{}"#);
    let answer = house.post(&headers, &request);
    assert_eq!(status(&answer), 200);
    assert_eq!(header(&answer, "Content-Type").as_deref(), Some("application/json"));
    assert_eq!(header(&answer, "Mcp-Session-Id"), None);
    assert!(body(&answer).contains(r#""id":1,"result":{"resultType":"complete""#), "{answer}");
    assert!(house.server.is_idle());
}

#[test]
fn progress_makes_it_a_stream() {
    let mut house = House::new();
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{{},"name":"slow","arguments":{{}}}}}}"#,
        META.replacen('{', r#"{"progressToken":5,"#, 1)
    );
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: slow\r\n";
    let conn = house.connect();
    house.write(conn, post(headers, &request).as_bytes());
    assert_eq!(house.read(conn), "", "nothing is said before there is something to say");
    let key = house.slow[0].key();
    house.server.progress(key, 1.0, Some(2.0), None);
    house.settle();
    let begun = house.read(conn);
    assert_eq!(header(&begun, "Content-Type").as_deref(), Some("text/event-stream"));
    assert_eq!(header(&begun, "X-Accel-Buffering").as_deref(), Some("no"));
    assert_eq!(header(&begun, "Cache-Control").as_deref(), Some("no-cache"));
    assert!(begun.contains(r#""method":"notifications/progress""#) && !begun.contains("id: "), "{begun}");
    house.answer_slow();
    let ended = house.read(conn);
    assert!(ended.contains(r#""id":"a","result""#) && ended.ends_with("0\r\n\r\n"), "{ended}");
    assert!(house.is_open(conn) && house.server.is_idle());
    // The connection is good for another request.
    let (headers, request) = modern(2, "tools/list", "");
    house.write(conn, post(&headers, &request).as_bytes());
    assert_eq!(status(&house.read(conn)), 200);
}

#[test]
fn a_slow_answer_becomes_a_stream_with_heartbeats() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    house.wait(Duration::from_secs(5));
    let begun = house.read(conn);
    assert_eq!(header(&begun, "Content-Type").as_deref(), Some("text/event-stream"), "{begun}");
    assert!(body(&begun).starts_with(':'), "{begun}");
    house.wait(Duration::from_secs(15));
    assert!(house.read(conn).contains("\r\n: \n"), "a sign of life");
    house.answer_slow();
    assert_eq!(messages(&house.read(conn)).len(), 1);
}

#[test]
fn a_client_that_goes_away_has_cancelled() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    let key = house.slow[0].key();
    house.hang_up(conn);
    assert!(house.cancelled.is_empty() && house.is_open(conn), "it could be waiting for the answer");
    house.wait(Duration::from_millis(25));
    house.wait(Duration::from_millis(50));
    assert_eq!(house.cancelled, [key]);
    assert!(!house.is_open(conn));
    house.answer_slow();
    assert!(!house.read(conn).contains("done"));
    assert!(house.server.is_idle());
}

#[test]
fn a_client_that_only_stops_sending_gets_all_its_answers() {
    let mut house = House::new();
    let request = |id, name| {
        let (headers, request) = modern(id, "tools/call", &format!(r#""name":"{name}","arguments":{{}}"#));
        post(&headers, &request)
    };
    let conn = house.connect();
    let all = ["echo", "slow", "slow", "echo"].iter().zip(1..).map(|(name, id)| request(id, name)).collect::<String>();
    house.write(conn, all.as_bytes());
    assert!(body(&house.read(conn)).contains(r#""id":1,"result""#));
    assert!(house.server.reads(conn), "its end is to be seen");
    house.stop_sending(conn);
    assert!(!house.server.reads(conn), "what has ended would be ready to be read for ever");
    house.answer_slow();
    let quick = house.read(conn);
    assert_eq!(header(&quick, "Content-Type").as_deref(), Some("application/json"), "{quick}");
    assert!(body(&quick).contains(r#""id":2,"result""#), "{quick}");
    assert_eq!(house.read(conn), "");
    // The next one takes longer, and the client hears that it is at work.
    for _ in 0..40 {
        house.wait(Duration::from_millis(25));
    }
    let lives = house.read(conn);
    assert_eq!(body(&lives).matches(": \n").count(), 5, "after 25, 75, 175, 375 and 775 milliseconds: {lives}");
    for _ in 0..120 {
        house.wait(Duration::from_secs(1));
    }
    let lives = house.read(conn);
    assert!((8..20).contains(&lives.matches(": \n").count()), "from then on by and by: {lives}");
    assert!(house.is_open(conn) && house.cancelled.is_empty());
    house.answer_slow();
    let last = house.read(conn);
    assert!(messages(&last)[0].contains(r#""id":3,"result""#) && last.contains(r#""id":4,"result""#), "{last}");
    assert!(!house.is_open(conn), "nothing more can come");
    assert!(house.server.is_idle());
}

#[test]
fn a_client_of_old_that_stops_sending_gets_its_answer() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    for hangs_up in [false, true] {
        let conn = house.connect();
        house.write(conn, post(&headers, &request).replace("HTTP/1.1", "HTTP/1.0").as_bytes());
        match hangs_up {
            false => house.stop_sending(conn),
            true => house.hang_up(conn),
        }
        house.wait(Duration::from_millis(25));
        house.wait(Duration::from_millis(50));
        assert_eq!(house.is_open(conn), !hangs_up);
        house.answer_slow();
        assert_eq!(house.read(conn).contains("done"), !hangs_up);
        assert!(!house.is_open(conn) && house.server.is_idle());
    }
    assert_eq!(house.cancelled.len(), 1);
}

#[test]
fn a_client_that_stops_sending_with_nothing_to_wait_for_is_let_go() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let request = post(&headers, &request);
    for sent in [0, 10, request.len() - 1] {
        let conn = house.connect();
        house.write(conn, &request.as_bytes()[..sent]);
        house.stop_sending(conn);
        assert!(!house.is_open(conn), "after {sent} bytes");
        assert_eq!(house.read(conn), "");
    }
    assert!(house.slow.is_empty() && house.server.is_idle());
}

#[test]
fn clients_know_nothing_of_each_others_ids() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let conns = [house.connect(), house.connect()];
    for conn in conns {
        house.write(conn, post(&headers, &request).as_bytes());
    }
    house.fail_slow();
    house.answer_slow();
    assert!(house.read(conns[0]).contains(r#""id":1,"error":{"code":-32603"#));
    assert!(house.read(conns[1]).contains(r#""id":1,"result""#));
}

#[test]
fn listeners_are_told_of_changes() {
    let mut house = House::new();
    let (headers, request) = modern(9, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    let begun = house.read(conn);
    assert!(messages(&begun)[0].contains("notifications/subscriptions/acknowledged"), "{begun}");
    house.server.registry().add_tool(Tool::without_arguments("new"), "echo");
    house.settle();
    let told = house.read(conn);
    assert!(told.contains("notifications/tools/list_changed") && told.contains(r#"subscriptionId":9"#), "{told}");
    let (headers, request) = modern(1, "tools/list", "");
    assert!(house.post(&headers, &request).contains(r#""name":"new""#));
    // A server that closes ends what listens in order.
    house.server.close(house.now);
    house.settle();
    let last = house.read(conn);
    assert!(messages(&last)[0].contains(r#""id":9,"result""#) && last.ends_with("0\r\n\r\n"), "{last}");
    assert!(house.closed && house.server.is_idle());
}

#[test]
fn a_server_that_closes_takes_nobody_in_and_answers_what_is_open() {
    let mut house = House::new();
    let (headers, request) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
    let conn = house.connect();
    house.write(conn, post(&headers, &request).as_bytes());
    assert!(house.server.takes_connections());
    house.server.close(house.now);
    house.settle();
    assert!(!house.server.takes_connections() && !house.closed);
    let late = house.connect();
    assert!(!house.is_open(late) && house.is_open(conn));
    house.answer_slow();
    assert!(house.read(conn).contains("done"));
    assert!(house.closed && !house.is_open(conn) && !house.server.takes_connections());
}

#[test]
fn what_is_wrong_with_a_request_is_said_by_status_and_code() {
    let mut house = House::new();
    let (headers, request) = modern(3, "tools/call", r#""name":"echo","arguments":{}"#);
    let mut case = |headers: &str, body: &str, expected: (u16, i64)| {
        let answer = house.post(headers, body);
        let error: serde_json::Value = serde_json::from_str(&self::body(&answer)).unwrap();
        let found = (status(&answer), error["error"]["code"].as_i64().unwrap());
        assert_eq!(found, expected, "{headers}\n{body}\n{answer}");
        error["id"].clone()
    };
    let without =
        |line: &str| headers.split_inclusive("\r\n").filter(|header| !header.starts_with(line)).collect::<String>();
    assert_eq!(case(&without("Mcp-Method"), &request, (400, -32020)), 3);
    case(&without("Mcp-Name"), &request, (400, -32020));
    case(&without("MCP-Protocol"), &request, (400, -32020));
    case(&headers.replace("tools/call", "TOOLS/CALL"), &request, (400, -32020));
    case(&format!("{headers}Mcp-Method: tools/call\r\n"), &request, (400, -32020));
    case(&headers.replace("Name: echo", "Name: =?base64?ZWNobw=?="), &request, (400, -32020));
    case(&headers, &request.replace("2026-07-28", "v999"), (400, -32020));
    case(&headers.replace("2026-07-28", "v999"), &request.replace("2026-07-28", "v999"), (400, -32022));
    case(&headers, r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#, (400, -32602));
    case(&headers, r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}"#, (400, -32602));
    let (removed, ping) = modern(3, "ping", "");
    assert_eq!(case(&removed, &ping, (404, -32601)), 3);
    let (unknown, tool) = modern(3, "tools/call", r#""name":"none","arguments":{}"#);
    case(&unknown, &tool, (200, -32602));
    case(&headers, "{", (400, -32700));
    case(&headers, "[]", (400, -32600));
    case(&headers, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, (400, -32600));
    let encoded = headers.replace("Name: echo", "Name: =?base64?ZWNobw==?=");
    assert_eq!(status(&house.post(&encoded, &request)), 200, "the same name in base64");
    assert_eq!(status(&house.post(&headers.replace("Name: echo", "Name:   echo  "), &request)), 200);
    assert_eq!(status(&house.post("MCP-Protocol-Version: 2026-07-28\r\n", r#"{"jsonrpc":"2.0","method":"x"}"#)), 202);
    assert!(house.server.is_idle());
}

#[test]
fn arguments_that_a_tool_wants_in_headers_are_compared() {
    let mut house = House::new();
    let mut call = |arguments: &str, mirrored: &str| {
        let (headers, request) = modern(1, "tools/call", &format!(r#""name":"mirrored","arguments":{arguments}"#));
        status(&house.post(&format!("{headers}{mirrored}"), &request))
    };
    assert_eq!(call("{}", ""), 200);
    assert_eq!(call(r#"{"region":null}"#, ""), 200);
    assert_eq!(call(r#"{"region":"north"}"#, ""), 400, "it is missing");
    assert_eq!(call(r#"{"region":"north"}"#, "Mcp-Param-Region: north\r\n"), 200);
    assert_eq!(call(r#"{"region":"north"}"#, "mcp-param-region: =?base64?bm9ydGg=?=\r\n"), 200);
    assert_eq!(call(r#"{"region":"north"}"#, "Mcp-Param-Region: =?base64?bm9ydGg?=\r\n"), 400, "padding");
    assert_eq!(call(r#"{"region":"=?base64?x"}"#, "Mcp-Param-Region: =?base64?x\r\n"), 200, "a text like any other");
    assert_eq!(call(r#"{"region":"north"}"#, "Mcp-Param-Region: South\r\n"), 400);
    assert_eq!(call("{}", "Mcp-Param-Region: north\r\n"), 400, "the message does not say so");
    assert_eq!(call(r#"{"size":42}"#, "Mcp-Param-Size: 42.0\r\n"), 200, "the same number");
    assert_eq!(call(r#"{"size":42}"#, "Mcp-Param-Size: 43\r\n"), 400);
    assert_eq!(call(r#"{"region":"42"}"#, "Mcp-Param-Region: 42.0\r\n"), 400, "a text is no number");
    let largest = 9_007_199_254_740_991_i64;
    let sized = |size: &str| (format!(r#"{{"size":{size}}}"#), format!("Mcp-Param-Size: {size}\r\n"));
    for safe in [largest, -largest] {
        let (arguments, header) = sized(&safe.to_string());
        assert_eq!(call(&arguments, &header), 200, "{safe}");
    }
    for size in [&(largest + 1).to_string()[..], &(-largest - 1).to_string(), "1e30", "0.5"] {
        let (arguments, header) = sized(size);
        assert_eq!(call(&arguments, &header), 400, "{size}");
        assert_eq!(call(&arguments, ""), 400, "{size} without a header");
    }
    assert_eq!(call("{}", "Mcp-Param-Other: x\r\n"), 200, "nobody asked for it");
}
