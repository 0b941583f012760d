//! A connection in a loop of the program's own.

use mio::{Events, Poll, Token};
use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::link::stdio::StdioClient;
use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation};
use windlass::{CloseReason, Counters, Json};
use windlass_mio::Source;

use crate::peers::{PARTIES, scripted, server};
use crate::watchdog::within_deadline;

const CALLS: u64 = 50;

/// Makes calls of `echo`, closes when all are answered, and returns how the connection ended.
fn converse(command: windlass_host::Command, text: &str) -> CloseReason {
    converse_and_count(command, text).0
}

/// The same, with what was ignored on the way.
fn converse_and_count(command: windlass_host::Command, text: &str) -> (CloseReason, Counters) {
    let clock = windlass_host::Clock::new();
    let config = ClientConfig::new(Implementation::new("loop", "1.0"));
    let machine: StdioClient<u64> = StdioClient::new(config, clock.now());
    let mut source = Source::new(machine, clock, command, Token(7));
    let mut poll = Poll::new().unwrap();
    let mut events = Events::with_capacity(16);
    let (mut answered, mut closed) = (Vec::new(), None);
    loop {
        let mut is_ready = false;
        let interest = source
            .drive(poll.registry(), |event| match event {
                ClientEvent::Ready(_) => is_ready = true,
                ClientEvent::Completed { token, outcome, .. } => {
                    let result: CallToolResult = outcome.unwrap().decode().unwrap();
                    assert!(result.text_content() == format!("{token} {text}"));
                    answered.push(token);
                }
                ClientEvent::Closed(reason) => closed = Some(reason),
                ClientEvent::Malformed(_) => {}
                other => panic!("{other:?}"),
            })
            .unwrap();
        if interest.finished {
            break;
        }
        if is_ready {
            for number in 0..CALLS {
                let arguments = Json::of(&serde_json::json!({"text": format!("{number} {text}")})).unwrap();
                let params = CallToolParams::new("echo").with_arguments(arguments);
                source.machine().call::<CallTool>(&params, &CallOptions::new(), number, clock.now()).unwrap();
            }
            continue;
        }
        if answered.len() as u64 == CALLS {
            answered.sort_unstable();
            assert!(answered.drain(..).eq(0..CALLS));
            source.machine().close(clock.now());
            continue;
        }
        poll.poll(&mut events, interest.deadline.map(|deadline| clock.until(deadline))).unwrap();
    }
    (closed.unwrap(), source.machine().counters())
}

#[test]
fn a_hand_written_loop_talks_to_every_server() {
    within_deadline(|| {
        for party in PARTIES {
            assert_eq!(converse(server(party), "short"), CloseReason::Requested);
            assert_eq!(converse(server(party), &"long".repeat(5_000)), CloseReason::Requested);
        }
    });
}

#[test]
fn a_hand_written_loop_starts_a_legacy_server_again() {
    within_deadline(|| assert_eq!(converse(scripted("exits_on_probe"), "again"), CloseReason::Requested));
}

#[test]
fn answers_to_nobody_are_counted() {
    within_deadline(|| {
        for (fault, unknown, late, malformed) in [
            ("legacy", 0, 0, 0),
            ("unknown_ids", 4 * CALLS, 0, 0),
            ("null_ids", CALLS, 0, CALLS),
            ("string_ids", CALLS, 0, 0),
            // The second answer to the last call is not waited for.
            ("answers_twice", 0, CALLS - 1, 0),
        ] {
            let (reason, counters) = converse_and_count(scripted(fault), "heard");
            assert_eq!(reason, CloseReason::Requested);
            assert_eq!((counters.unknown_answers, counters.malformed), (unknown, malformed), "{fault}");
            assert!((late..=late + 1).contains(&counters.late_answers), "{fault}: {counters:?}");
            assert_eq!((counters.stray_progress, counters.stray_cancellations), (0, 0), "{fault}");
        }
    });
}
