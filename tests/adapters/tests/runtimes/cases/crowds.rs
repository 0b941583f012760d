//! Much at once on one connection.

use serde_json::json;

use super::adapter::Client;
use super::eras::{ERAS, in_era};
use super::{OWN_SERVER, swarm};
use crate::peers::{PARTIES, server};

/// All callers together, in each era. `party_* swarm 100000 PROGRAM` makes as many as one likes.
const CALLS: usize = 10_000;

/// Several times what a pipe holds.
const LARGE: usize = 250_000;

case!(every_one_of_many_callers_gets_its_own_answers, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        wait!(swarm::call_at_once(&client, CALLS));
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
                    let text = String::from(char::from(b'a' + caller)).repeat(LARGE);
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
        let grown = wait!(client.call_tool("grow", json!({"bytes": 4 * LARGE}))).unwrap();
        assert_eq!(grown.text_content().len(), 4 * LARGE);
        wait!(client.close());
    }
});

case!(connections_come_and_go_at_once, {
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
});
