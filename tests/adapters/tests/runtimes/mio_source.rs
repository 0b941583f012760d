//! A connection in a loop of the program's own.

mod over_http;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use mio::{Events, Poll, Token};
use windlass::client::ClientConfig;
use windlass::link::stdio::StdioClient;
use windlass::model::Implementation;
use windlass::{CloseReason, Counters};
use windlass_host::Endpoint;
use windlass_mio::Source;
use windlass_tests::watchdog::within_deadline;

use crate::peers::{PARTIES, scripted, server};

const CALLS: u64 = 50;

/// Makes calls of `echo` in a loop, closes when all are answered, and returns how the connection ended.
macro_rules! conversation {
    ($source:expr, $clock:expr, $text:expr) => {{
        let (source, clock, text) = (&mut $source, $clock, $text);
        let mut poll = mio::Poll::new().unwrap();
        let mut events = mio::Events::with_capacity(16);
        let (mut answered, mut closed) = (Vec::new(), None);
        loop {
            let mut is_ready = false;
            let interest = source.drive(poll.registry(), |event| match event {
                windlass::client::ClientEvent::Ready(_) => is_ready = true,
                windlass::client::ClientEvent::Completed { token, outcome, .. } => {
                    let result: windlass::model::CallToolResult = outcome.unwrap().decode().unwrap();
                    assert!(result.text_content() == format!("{token} {text}"));
                    answered.push(token);
                }
                windlass::client::ClientEvent::Closed(reason) => closed = Some(reason),
                windlass::client::ClientEvent::Malformed(_) => {}
                other => panic!("{other:?}"),
            });
            let interest = interest.unwrap();
            if interest.finished {
                break;
            }
            if is_ready {
                for number in 0..$crate::mio_source::CALLS {
                    let arguments = serde_json::json!({"text": format!("{number} {text}")});
                    let arguments = windlass::Json::of(&arguments).unwrap();
                    let params = windlass::model::CallToolParams::new("echo").with_arguments(arguments);
                    let (options, now) = (windlass::client::CallOptions::new(), clock.now());
                    source.machine().call::<windlass::model::CallTool>(&params, &options, number, now).unwrap();
                }
                continue;
            }
            if answered.len() as u64 == $crate::mio_source::CALLS {
                answered.sort_unstable();
                assert!(answered.drain(..).eq(0..$crate::mio_source::CALLS));
                source.machine().close(clock.now());
                continue;
            }
            let at_most = interest.deadline.map(|deadline| clock.until(deadline));
            $crate::mio_source::wait_for(&mut poll, &mut events, at_most);
            for event in &events {
                assert!(source.ready(event), "{event:?}");
            }
        }
        closed.unwrap()
    }};
}
use conversation;

/// Waits as a loop does. A signal is no reason to give up.
fn wait_for(poll: &mut Poll, events: &mut Events, at_most: Option<Duration>) {
    match poll.poll(events, at_most) {
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => events.clear(),
        outcome => outcome.unwrap(),
    }
}

fn converse(command: windlass_host::Command, text: &str) -> CloseReason {
    converse_and_count(command, text).0
}

/// The same, with what was ignored on the way.
fn converse_and_count(command: windlass_host::Command, text: &str) -> (CloseReason, Counters) {
    let clock = windlass_host::Clock::new();
    let config = ClientConfig::new(Implementation::new("loop", "1.0"));
    let machine: StdioClient<u64> = StdioClient::new(config, clock.now());
    let mut source = Source::new(machine, clock, command, Token(7));
    let reason = conversation!(source, clock, text);
    (reason, source.machine().counters())
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

/// A peer that talks without end does not keep the loop from its other work.
#[test]
fn a_peer_that_always_has_more_to_say_does_not_hold_up_the_loop() {
    within_deadline(|| {
        let (mut peer, ours) = UnixStream::pair().unwrap();
        let flooding = std::thread::spawn(move || {
            let notifications = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}\n".repeat(1_000);
            while peer.write_all(notifications.as_bytes()).is_ok() {}
        });
        let clock = windlass_host::Clock::new();
        let mut config = ClientConfig::new(Implementation::new("loop", "1.0"));
        // The test has a deadline of its own.
        config.handshake_timeout = Duration::from_secs(600);
        let machine: StdioClient<u64> = StdioClient::new(config, clock.now());
        let mut source = Source::new(machine, clock, Endpoint::try_from(ours).unwrap(), Token(7));
        let mut poll = Poll::new().unwrap();
        let mut events = Events::with_capacity(16);
        let mut turns_before_its_end = 0;
        while turns_before_its_end < 3 {
            let interest = source.drive(poll.registry(), |_| {}).unwrap();
            assert!(!interest.finished);
            turns_before_its_end += u32::from(interest.deadline.is_some_and(|deadline| deadline <= clock.now()));
            wait_for(&mut poll, &mut events, interest.deadline.map(|deadline| clock.until(deadline)));
        }
        drop(source);
        flooding.join().unwrap();
    });
}
