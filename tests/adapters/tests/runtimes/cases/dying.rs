//! Servers that die.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::client::Negotiation;
use super::adapter::{CallError, Client, CloseReason, Error, SendError};
use super::eras::{ERAS, in_era};
use crate::peers::{SHORT_GRACE, scripted, scripted_by_shell, server};
use crate::processes;

/// How many calls are open when a server dies.
const OPEN_CALLS: usize = 100;

case!(a_server_that_is_killed_completes_every_open_call, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
        let open: Vec<_> = (0..OPEN_CALLS)
            .map(|_| {
                let client = client.clone();
                start!({ wait!(client.call_tool("never", json!({}))) })
            })
            .collect();
        while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != format!("{OPEN_CALLS} 0") {}
        let killed = Instant::now();
        processes::kill(pid);
        for call in open {
            let outcome = join!(call);
            assert!(matches!(outcome, Err(Error::Call(CallError::Closed(_)))), "{outcome:?}");
        }
        assert_eq!(wait!(client.wait_closed()), CloseReason::PeerClosed);
        assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
        assert!(!processes::exists(pid), "it is reaped");
        assert_eq!(client.closed(), Some(CloseReason::PeerClosed));
        let outcome = wait!(client.call_tool("echo", json!({"text": "anybody?"})));
        assert!(matches!(outcome, Err(Error::NotSent(SendError::Closed))), "{outcome:?}");
        assert!(matches!(wait!(client.listen(Default::default())), Err(Error::NotSent(SendError::Closed))));
        assert_eq!(wait!(client.close()), CloseReason::PeerClosed);
    }
});

case!(a_server_that_dies_in_a_call_fails_it_with_a_reason, {
    let client = wait!(Client::connect(scripted("dies_in_call"))).unwrap();
    let outcome = wait!(client.call_tool("echo", json!({"text": "last words"})));
    assert!(matches!(outcome, Err(Error::Call(CallError::Closed(CloseReason::PeerClosed)))), "{outcome:?}");
    assert_eq!(wait!(client.wait_closed()), CloseReason::PeerClosed);
});

case!(a_server_that_ends_in_the_middle_of_its_answer_fails_it_with_a_reason, {
    let (tell, told) = channel();
    let builder = in_era(Negotiation::Automatic).on_malformed(move |detail| tell.send(detail).unwrap());
    let client = wait!(builder.connect(scripted("half_answer"))).unwrap();
    let outcome = wait!(client.call_tool("echo", json!({"text": "cut off"})));
    assert!(matches!(outcome, Err(Error::Call(CallError::Closed(CloseReason::PeerClosed)))), "{outcome:?}");
    assert_eq!(wait!(client.wait_closed()), CloseReason::PeerClosed);
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("ended inside a message"), "{told:?}");
});

case!(a_server_that_dies_and_leaves_a_child_that_holds_its_output_is_found_out_in_time, {
    let script = r#"sleep 600 & echo "$!" >&2; exec "$0" dies_in_call"#;
    let (tell, told) = channel();
    let command = scripted_by_shell(script).on_stderr(move |line| {
        let _ = tell.send(line.to_owned());
    });
    let builder = in_era(Negotiation::Legacy).grace(SHORT_GRACE).idle_timeout(Duration::from_millis(300));
    let client = wait!(builder.connect(command)).unwrap();
    let grandchild: u32 = told.recv().unwrap().parse().unwrap();
    assert!(processes::lives(grandchild));
    let started = Instant::now();
    // The end of the stream does not come: all that there is to see is the silence, and that nobody reads.
    let outcome = wait!(client.call_tool("echo", json!({"text": "last words"})));
    assert!(matches!(outcome, Err(Error::Call(_))), "{outcome:?}");
    while wait!(client.ping()).is_ok() {}
    assert_eq!(wait!(client.wait_closed()), CloseReason::PeerClosed);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    eventually!("the grandchild is gone", !processes::lives(grandchild));
});

case!(waiting_for_the_end_does_not_keep_others_from_calling, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            start!({ wait!(client.wait_closed()) })
        })
        .collect();
    for number in 0..50 {
        let sum = wait!(client.call_tool("add", json!({"a": number, "b": 1}))).unwrap();
        assert_eq!(sum.text_content(), (number + 1).to_string());
    }
    wait!(client.close());
    for task in waiting {
        assert_eq!(join!(task), CloseReason::Requested);
    }
});

case!(a_server_that_stops_reading_and_hangs_up_is_left, {
    let builder = in_era(Negotiation::Legacy).grace(SHORT_GRACE);
    let client = wait!(builder.connect(scripted("stops_reading"))).unwrap();
    let started = Instant::now();
    // More than its pipe holds, so that most of it can never be written.
    let outcome = wait!(client.call_tool("echo", json!({"text": "x".repeat(2_000_000)})));
    assert!(matches!(outcome, Err(Error::Call(CallError::Closed(_)))), "{outcome:?}");
    wait!(client.wait_closed());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
});
