//! Much at once on one connection.

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::Client;
use super::eras::{ERAS, in_era};
use crate::peers::{PARTIES, server};

const CALLERS: usize = 16;
const CALLS: usize = 200;

case!(every_one_of_many_callers_gets_its_own_answers, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let client = client.clone();
                start!({
                    for call in 0..CALLS {
                        let text = format!("{caller}/{call}");
                        let echoed = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
                        assert_eq!(echoed.text_content(), text);
                    }
                })
            })
            .collect();
        for caller in callers {
            join!(caller);
        }
        wait!(client.close());
    }
});

case!(messages_larger_than_any_pipe_pass_in_both_directions_at_once, {
    for party in PARTIES {
        let client = wait!(Client::connect(server(party))).unwrap();
        let callers: Vec<_> = (0..4)
            .map(|caller: u8| {
                let client = client.clone();
                start!({
                    let text = String::from(char::from(b'a' + caller)).repeat(1_000_000);
                    for _ in 0..2 {
                        let echoed = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
                        assert!(echoed.text_content() == text, "{} bytes", echoed.text_content().len());
                    }
                })
            })
            .collect();
        for caller in callers {
            join!(caller);
        }
        let grown = wait!(client.call_tool("grow", json!({"bytes": 3_000_000}))).unwrap();
        assert_eq!(grown.text_content().len(), 3_000_000);
        wait!(client.close());
    }
});

case!(connections_come_and_go_without_a_trace, {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            start!({
                for _ in 0..5 {
                    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
                    assert_eq!(wait!(client.call_tool("add", json!({"a": 1, "b": 1}))).unwrap().text_content(), "2");
                    wait!(client.close());
                }
            })
        })
        .collect();
    for task in tasks {
        join!(task);
    }
    // Other tests open and close descriptors too, so only a leak of every connection would show here.
    assert!(descriptors() < 500, "{} descriptors are open", descriptors());
});
