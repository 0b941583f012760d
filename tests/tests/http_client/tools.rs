//! Tools whose arguments are sent as headers too.

use windlass::Json;
use windlass::model::{CallTool, CallToolParams, ListTools, PaginatedParams};

use crate::talk::{Request, Talk};

fn tool(name: &str, properties: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#)
}

/// Lists these tools.
fn list(talk: &mut Talk, tools: &[String]) -> u32 {
    let (number, _) = talk.call::<ListTools>(&PaginatedParams::new());
    let list = talk.request();
    talk.json(&list, 200, &list.result(&format!(r#"{{"resultType":"complete","tools":[{}]}}"#, tools.join(","))));
    number
}

fn call(talk: &mut Talk, name: &str, arguments: &str) -> (u32, Request) {
    let params = CallToolParams::new(name).with_arguments(Json::parse(arguments).unwrap());
    let (number, _) = talk.call::<CallTool>(&params);
    (number, talk.request())
}

const REGION: &str = r#""region":{"type":"string","x-mcp-header":"Region"}"#;

#[test]
fn arguments_are_mirrored() {
    let mut talk = Talk::modern();
    let properties = r#""region":{"type":"string","x-mcp-header":"Region"},
        "priority":{"type":"integer","x-mcp-header":"Priority"},"verbose":{"type":"boolean","x-mcp-header":"Verbose"},
        "empty":{"type":"string","x-mcp-header":"Empty"},"method":{"type":"string","x-mcp-header":"Method"},
        "text":{"type":"string","x-mcp-header":"Text"},"none":{"type":"string","x-mcp-header":"None"},
        "deep":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"Deep"}}},"query":{"type":"string"}"#;
    list(&mut talk, &[tool("t", &properties.replace('\n', ""))]);
    let arguments = r#"{"region":"us-west1","priority":42,"verbose":false,"empty":"","method":"tools/list","text":" \u00e9\r\nX: y","none":null,"deep":{"x":"a b"},"query":"SELECT"}"#;
    let (_, request) = call(&mut talk, "t", arguments);
    for (header, value) in [
        ("Mcp-Param-Region", Some("us-west1")),
        ("Mcp-Param-Priority", Some("42")),
        ("Mcp-Param-Verbose", Some("false")),
        ("Mcp-Param-Empty", Some("")),
        ("Mcp-Param-Method", Some("tools/list")),
        ("Mcp-Param-Text", Some("=?base64?IMOpDQpYOiB5?=")),
        ("Mcp-Param-None", None),
        ("Mcp-Param-Deep", Some("a b")),
        ("Mcp-Param-Query", None),
    ] {
        assert_eq!(request.header(header), value, "{header}");
    }
    // Another tool has nothing of that.
    let (_, request) = call(&mut talk, "u", arguments);
    assert_eq!(request.header("Mcp-Param-Region"), None);
    talk.close_down();
}

#[test]
fn an_integer_that_readers_understand_differently_is_not_sent() {
    let mut talk = Talk::modern();
    list(&mut talk, &[tool("t", r#""n":{"type":"integer","x-mcp-header":"N"}"#)]);
    for (number, header) in [("9007199254740991", "9007199254740991"), ("-9007199254740991.0", "-9007199254740991")] {
        let (_, request) = call(&mut talk, "t", &format!(r#"{{"n":{number}}}"#));
        assert_eq!(request.header("Mcp-Param-N"), Some(header));
    }
    for number in ["9007199254740992", "-9007199254740992", "123456789012345678901234567890", "0.5"] {
        let arguments = Json::parse(format!(r#"{{"n":{number}}}"#)).unwrap();
        let (refused, _) = talk.call::<CallTool>(&CallToolParams::new("t").with_arguments(arguments));
        assert_eq!(
            talk.failed(refused),
            format!(
                "the request was not sent: the argument n is sent as a header, so {number} must be an integer within ±9007199254740991"
            )
        );
        talk.no_request();
    }
    talk.close_down();
}

#[test]
fn tools_that_cannot_be_used_are_left_out() {
    let mut talk = Talk::modern();
    let number = list(
        &mut talk,
        &[
            tool("invalid", r#""a":{"type":"number","x-mcp-header":"A"}"#),
            tool("valid", REGION),
            tool("twice", r#""a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}"#),
        ],
    );
    let listed = talk.outcome(number).as_ref().unwrap().as_str().to_owned();
    assert!(listed.contains("\"valid\"") && !listed.contains("invalid") && !listed.contains("twice"), "{listed}");
    talk.tells("! left out invalid: a has an x-mcp-header but is no string, integer or boolean");
    talk.tells("! left out twice: x-mcp-header \"a\" is there twice");
    talk.close_down();
}

#[test]
fn tools_of_a_legacy_server_are_left_as_they_are() {
    let mut talk = Talk::legacy();
    let tools = [tool("invalid", r#""a":{"type":"number","x-mcp-header":"A"}"#), tool("t", REGION)];
    let number = list(&mut talk, &tools);
    assert!(talk.outcome(number).as_ref().unwrap().as_str().contains("invalid"));
    let (_, request) = call(&mut talk, "t", r#"{"region":"x"}"#);
    assert_eq!(request.header("Mcp-Param-Region"), None);
    talk.close_down();
}

#[test]
fn a_mismatch_is_repaired_by_a_fresh_listing() {
    let mut talk = Talk::modern();
    let (number, first) = call(&mut talk, "t", r#"{"region":"eu"}"#);
    assert_eq!(first.header("Mcp-Param-Region"), None);
    talk.json(&first, 400, &first.error(-32020, "Mcp-Param-Region is missing"));
    let listing = talk.request();
    assert_eq!(listing.says(), "tools/list");
    // The tool is on the second page.
    talk.json(&listing, 200, &listing.result(r#"{"resultType":"complete","tools":[],"nextCursor":"2"}"#));
    let listing = talk.request();
    assert!(listing.body.contains(r#""cursor":"2""#));
    talk.json(&listing, 200, &listing.result(&format!(r#"{{"tools":[{}],"nextCursor":"3"}}"#, tool("t", REGION))));
    let again = talk.request();
    assert_eq!((again.says().as_str(), again.header("Mcp-Param-Region")), ("tools/call", Some("eu")));
    assert_ne!(first.id(), again.id());
    // Once is enough.
    talk.json(&again, 400, &again.error(-32020, "still wrong"));
    assert!(talk.failed(number).contains("still wrong (code -32020)"));
    talk.no_request();
    talk.close_down();
}

#[test]
fn a_mismatch_that_no_listing_repairs() {
    let mut talk = Talk::modern();
    let (number, first) = call(&mut talk, "t", "{}");
    talk.json(&first, 400, &first.error(-32020, "no"));
    let listing = talk.request();
    talk.plain(&listing, 500, "");
    assert!(talk.failed(number).contains("no (code -32020)"));
    // Cancelled while the tools are listed: nothing is made again.
    let params = CallToolParams::new("t");
    let (cancelled, id) = talk.call::<CallTool>(&params);
    let first = talk.request();
    talk.json(&first, 200, &first.error(-32020, "no"));
    let listing = talk.request();
    talk.client.cancel(id, "", talk.now);
    talk.run();
    assert_eq!(talk.failed(cancelled), "the call was cancelled");
    talk.json(&listing, 200, &listing.result(r#"{"tools":[]}"#));
    talk.no_request();
    talk.close_down();
}
