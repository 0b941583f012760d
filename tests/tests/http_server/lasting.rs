//! What goes on for long: sessions whose calls do, clients that read all the while, and a server with nothing to do.

use std::time::Duration;

use windlass::{Instant, Machine, Output};

use crate::guest::{House, get, ids, messages, modern, post, session, status};

const MINUTE: Duration = Duration::from_secs(60);
const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"slow","arguments":{}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;

/// When the server wants to be woken, if it has nothing to do now.
fn deadline(house: &mut House) -> Option<Instant> {
    match house.server.poll() {
        Output::Idle { deadline } => deadline,
        _ => panic!("there is something to do"),
    }
}

/// Wakes the server whenever it wants to be, for as long as is asked for, and says how often that was.
fn live(house: &mut House, duration: Duration) -> usize {
    let end = house.now + duration;
    let mut woken = 0;
    while let Some(at) = deadline(house).filter(|at| *at <= end) {
        assert!(at > house.now, "what is due is done at once");
        house.wait(at.since(house.now));
        woken += 1;
        assert!(woken < 10_000, "it is woken without end");
    }
    house.wait(end.since(house.now));
    woken
}

#[test]
fn a_session_does_not_idle_out_while_its_call_runs() {
    let mut house = House::with(|config| config.session_idle = MINUTE);
    let (busy, idle) = (house.initialize("2025-11-25"), house.initialize("2025-11-25"));
    let conn = house.connect();
    house.write(conn, post(&session(&busy), CALL).as_bytes());
    house.server.progress(house.slow[0].key(), 1.0, None, None);
    house.settle();
    let seen = ids(&house.read(conn));
    house.hang_up(conn);
    live(&mut house, 10 * MINUTE);
    assert_eq!(house.server.sessions(), 1, "the idle one is over");
    assert_eq!(status(&house.post(&session(&idle), PING)), 404);
    assert_eq!(house.cancelled, []);
    house.answer_slow();
    let conn = house.connect();
    house.write(conn, get(&busy, &format!("Last-Event-ID: {}\r\n", seen[0])).as_bytes());
    assert_eq!(messages(&house.read(conn)).len(), 2, "the client comes back for its answer");
    live(&mut house, MINUTE + MINUTE);
    assert_eq!(house.server.sessions(), 0, "with nothing to do it is idle too");
    assert_eq!(deadline(&mut house), None, "nothing is left to wait for");
}

#[test]
fn every_request_shows_that_a_session_is_in_use() {
    let mut house = House::with(|config| config.session_idle = MINUTE);
    let id = house.initialize("2025-11-25");
    for _ in 0..5 {
        live(&mut house, MINUTE - Duration::from_secs(1));
        assert_eq!(status(&house.post(&session(&id), PING)), 200);
    }
    live(&mut house, MINUTE - Duration::from_secs(1));
    assert_eq!(house.server.sessions(), 1);
    live(&mut house, Duration::from_secs(2));
    assert_eq!(house.server.sessions(), 0);
}

#[test]
fn a_server_with_nothing_to_do_is_not_woken() {
    let mut house = House::new();
    assert_eq!(deadline(&mut house), None);
    let (headers, request) = modern(1, "tools/list", "");
    for _ in 0..3 {
        assert_eq!(status(&house.post(&headers, &request)), 200);
    }
    // Three connections that are kept for a while.
    let woken = live(&mut house, 10 * MINUTE);
    assert!(woken <= 6, "{woken}");
    assert_eq!(deadline(&mut house), None);
    assert_eq!(house.gone.len(), 3);
    // One that listens is woken for its heartbeats alone.
    let id = house.initialize("2025-11-25");
    let conn = house.connect();
    house.write(conn, get(&id, "").as_bytes());
    house.read(conn);
    let woken = live(&mut house, 10 * MINUTE);
    let beats = house.read(conn).matches("\n: \n").count();
    assert_eq!(beats, 40, "one every fifteen seconds");
    assert!(woken <= beats + 5, "{woken}");
}

#[test]
fn a_reader_that_never_catches_up_is_kept_and_loses_nothing() {
    let mut house = House::new();
    let id = house.initialize("2025-11-25");
    house.reads = false;
    let conn = house.connect();
    house.write(conn, post(&session(&id), CALL).as_bytes());
    let key = house.slow[0].key();
    let text = "x".repeat(1000);
    let mut taken = Vec::new();
    let mut most = 0;
    for step in 0..3000 {
        house.server.progress(key, f64::from(step + 1), None, Some(&text));
        house.settle();
        // It takes nearly as much as there is.
        let waiting = house.server.write_buf(conn).to_vec();
        most = most.max(waiting.len());
        let count = waiting.len().saturating_sub(700);
        taken.extend_from_slice(&waiting[..count]);
        house.server.write_done(conn, count, house.now);
        house.wait(Duration::from_millis(200));
        assert!(house.is_open(conn), "after {step}");
    }
    assert!(most < 10_000, "{most}");
    house.answer_slow();
    taken.extend_from_slice(house.server.write_buf(conn));
    let all = String::from_utf8(taken).unwrap();
    let steps: Vec<f64> = messages(&all)
        .iter()
        .filter_map(|message| {
            serde_json::from_str::<serde_json::Value>(message).unwrap()["params"]["progress"].as_f64()
        })
        .collect();
    assert!(steps.iter().copied().eq((1..=3000).map(f64::from)), "{} steps", steps.len());
    assert!(all.contains(r#""id":2,"result""#) && all.ends_with("0\r\n\r\n"));
}
