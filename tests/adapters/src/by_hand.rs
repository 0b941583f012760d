//! Requests over HTTP, written by hand.

/// What a modern client sends: the head and the body of a call.
pub fn modern_request(method: &str, name: Option<&str>, params: &str) -> String {
    let body = format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{"#,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientInfo":{{"name":"by hand","version":"0"}},"#,
            r#""io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":1}},{params}}}}}"#
        ),
        method = method,
        params = params
    );
    let name = name.map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
         {name}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The same, for a tool.
pub fn modern_call(tool: &str, arguments: &str) -> String {
    modern_request("tools/call", Some(tool), &format!(r#""name":"{tool}","arguments":{arguments}"#))
}
