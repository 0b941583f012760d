//! What goes on for long: sessions whose calls do, clients that read all the while, and a server with nothing to do.

use std::time::Duration;

use windlass::{Instant, Machine, Output};
use windlass_sim::Random;

use crate::guest::{House, get, header, ids, initialize, messages, modern, post, session, status};

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

#[test]
fn nothing_lasts_for_ever_on_a_clock_that_jumps_to_and_fro() {
    let (mut answered, mut expired) = (0, 0);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut house = House::with(|config| config.session_idle = MINUTE);
        let (mut latest, mut conns, mut sessions) = (house.now, Vec::new(), Vec::new());
        for _ in 0..100 {
            latest = latest.max(house.now) + Duration::from_millis(random.between(0, 5000));
            house.now = match random.one_in(2) {
                true => Instant::from_micros(random.between(0, latest.as_micros())),
                false => latest,
            };
            match random.between(0, 9) {
                0 => answered += usize::from(house.call("echo").starts_with("HTTP/1.1 200 ")),
                1 | 2 => {
                    let conn = house.connect();
                    let (headers, call) = modern(1, "tools/call", r#""name":"slow","arguments":{}"#);
                    let request = post(&headers, &call);
                    // Some never come to the end of what they ask for.
                    let end = if random.one_in(2) { request.len() } else { request.len() / 2 };
                    house.write(conn, &request.as_bytes()[..end]);
                    conns.push(conn);
                }
                3 => {
                    let begun = house.post("", &initialize("2025-11-25"));
                    sessions.extend(header(&begun, "Mcp-Session-Id"));
                }
                4 if !sessions.is_empty() => {
                    let conn = house.connect();
                    let id = random.choose(&sessions);
                    let request = if random.one_in(2) { get(id, "") } else { post(&session(id), CALL) };
                    house.write(conn, request.as_bytes());
                    conns.push(conn);
                }
                5 if !house.slow.is_empty() => house.answer_slow(),
                6 if !conns.is_empty() => {
                    let at = random.between(0, conns.len() as u64 - 1) as usize;
                    house.hang_up(conns.swap_remove(at));
                }
                7 if !house.slow.is_empty() => {
                    let key = random.choose(&house.slow).key();
                    house.server.progress(key, latest.as_micros() as f64, None, None);
                    house.settle();
                }
                _ => house.wait(Duration::from_millis(random.between(0, 2000))),
            }
        }
        // Once everything is answered and everybody is gone, all that had a deadline comes to its end.
        house.now = latest.max(house.now);
        while !house.slow.is_empty() {
            house.answer_slow();
        }
        for conn in conns {
            house.hang_up(conn);
        }
        expired += house.server.sessions();
        house.wait(Duration::ZERO);
        live(&mut house, 60 * MINUTE);
        assert_eq!((house.server.sessions(), deadline(&mut house)), (0, None), "seed {seed}");
        assert!(house.server.is_idle(), "seed {seed}");
    }
    assert!(answered > 100 && expired > 100, "{answered} {expired}");
}
