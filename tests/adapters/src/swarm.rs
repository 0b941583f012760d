//! Many callers who share one client.

use serde_json::json;

use super::adapter::Client;

/// How many call at once.
const CALLERS: usize = 64;

step!(call_at_once(client: &Client, calls: usize), {
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let client = client.clone();
            start!({
                for call in (caller..calls).step_by(CALLERS) {
                    let text = format!("{caller} makes call {call}");
                    let echoed = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
                    assert_eq!(echoed.text_content(), text);
                }
            })
        })
        .collect();
    for caller in callers {
        join!(caller);
    }
});
