//! Too many clients, too many sessions, too much memory: who waits, who goes, and who is served all the same.

use std::time::Duration;

use windlass::model::CallToolResult;
use windlass::server::Reply;
use windlass::{ConnId, Machine};

use crate::guest::{House, header, initialize, modern, post, status};

const MIB: usize = 1 << 20;

/// The memory of a server that has little.
const LITTLE: usize = 8 * MIB;

fn little() -> House {
    House::with(|http| http.memory_bytes = LITTLE)
}

/// A call with an argument of as many bytes.
fn large(tool: &str, bytes: usize) -> Vec<u8> {
    let filler = "f".repeat(bytes);
    let (headers, body) = modern(1, "tools/call", &format!(r#""name":"{tool}","arguments":{{"filler":"{filler}"}}"#));
    post(&headers, &body).into_bytes()
}

fn is_served(house: &mut House) {
    let answer = house.call("echo");
    assert_eq!(status(&answer), 200, "{answer}");
}

#[test]
fn bodies_that_stall_hold_up_nobody_for_long() {
    let mut house = little();
    let call = large("echo", MIB);
    // All but the last bytes, as far as they are read.
    let stalled: Vec<_> = (0..40)
        .map(|_| {
            let conn = house.connect();
            (conn, call.len() - 10 - house.write(conn, &call[..call.len() - 10]).len())
        })
        .collect();
    let read: usize = stalled.iter().map(|(_, read)| read).sum();
    assert!(read <= LITTLE, "{read} bytes were read");
    assert!(read >= LITTLE / 2, "{read} bytes were read");
    is_served(&mut house);

    let honest = house.connect();
    let rest = house.write(honest, &call).len();
    assert!(rest > MIB / 2, "there is no memory for it yet");
    house.wait(Duration::from_secs(4));
    let answer = house.read(stalled[0].0);
    assert_eq!((status(&answer), header(&answer, "Retry-After").as_deref()), (503, Some("1")), "{answer}");
    assert!(!house.is_open(stalled[0].0));
    let rest = house.write(honest, &call[call.len() - rest..]);
    assert!(rest.is_empty(), "{} bytes are not read", rest.len());
    assert_eq!(status(&house.read(honest)), 200);
    is_served(&mut house);
}

#[test]
fn bodies_that_come_in_turn_do_not_wait_for_each_other() {
    let mut house = little();
    let call = large("echo", MIB);
    let mut unsent: Vec<_> = (0..20).map(|_| (house.connect(), &call[..])).collect();
    // A part of each in turn, as a network would bring them.
    while !unsent.is_empty() {
        let before: usize = unsent.iter().map(|(_, rest)| rest.len()).sum();
        for (conn, rest) in &mut unsent {
            let (part, later) = rest.split_at(rest.len().min(MIB / 16));
            let unread = house.write(*conn, part).len();
            *rest = &rest[rest.len() - later.len() - unread..];
        }
        let after: usize = unsent.iter().map(|(_, rest)| rest.len()).sum();
        assert!(after < before, "{} clients wait for each other's memory", unsent.len());
        unsent.retain(|(conn, rest)| {
            if rest.is_empty() {
                assert_eq!(status(&house.read(*conn)), 200);
            }
            !rest.is_empty()
        });
    }
}

#[test]
fn room_that_was_promised_to_one_is_not_given_to_another() {
    let mut house = little();
    let call = large("echo", MIB);
    let begin = |house: &mut House| {
        let conn = house.connect();
        assert!(house.write(conn, &call[..1000]).is_empty());
        conn
    };
    let conns: Vec<_> = (0..20).map(|_| begin(&mut house)).collect();
    // A driver may read on all of them before the machine sees what came.
    let given = conns.iter().filter(|conn| !house.server.read_buf(**conn).is_empty()).count();
    assert!((5..=7).contains(&given), "{given} clients may send a mebibyte each");
}

#[test]
fn those_who_have_waited_for_memory_are_told_so() {
    let mut house = little();
    let call = large("slow", 6 * MIB + 3 * MIB / 4);
    let working = house.connect();
    assert!(house.write(working, &call).is_empty());
    assert_eq!(house.slow.len(), 1, "a request that is not answered has its memory");
    let waiting = house.connect();
    assert!(!house.write(waiting, &large("echo", 2 * MIB)).is_empty());
    house.wait(Duration::from_secs(30));
    is_served(&mut house);
    house.wait(Duration::from_secs(31));
    let answer = house.read(waiting);
    assert_eq!(status(&answer), 503, "{answer}");
    house.answer_slow();
    assert!(house.read(working).contains("done"));
    let again = house.connect();
    assert!(house.write(again, &large("echo", 2 * MIB)).is_empty(), "the memory is there again");
    assert_eq!(status(&house.read(again)), 200);
}

#[test]
fn requests_of_clients_that_are_gone_keep_their_memory_until_they_are_answered() {
    let mut house = little();
    let session = format!("Mcp-Session-Id: {}\r\n", house.initialize("2025-06-18"));
    let filler = "f".repeat(3 * MIB);
    let call = |id: u32| {
        let params = format!(r#"{{"name":"slow","arguments":{{"filler":"{filler}"}}}}"#);
        post(&session, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#))
    };
    for id in 1..=3 {
        let conn = house.connect();
        house.write(conn, call(id).as_bytes());
        house.hang_up(conn);
        house.wait(Duration::from_secs(1));
    }
    assert_eq!(house.slow.len(), 2, "the third does not fit");
    house.answer_slow();
    let conn = house.connect();
    assert!(house.write(conn, call(4).as_bytes()).is_empty());
}

/// Answers the oldest handler at length.
fn answer_at_length(house: &mut House, bytes: usize) {
    let reply = house.slow.remove(0);
    house.server.respond(reply, Ok(Reply::Tool(CallToolResult::text("a".repeat(bytes)))), house.now);
    house.settle();
}

#[test]
fn answers_that_nobody_takes_are_bounded_together() {
    let mut house = little();
    let (headers, body) = modern(1, "tools/call", r#""name":"slow""#);
    let ask = |house: &mut House| {
        let conn = house.connect();
        house.write(conn, post(&headers, &body).as_bytes());
        answer_at_length(house, MIB);
        conn
    };
    house.reads = false;
    let deaf: Vec<_> = (0..40).map(|_| ask(&mut house)).collect();
    let waiting = |house: &House| deaf.iter().map(|conn| house.unwritten(*conn)).sum::<usize>();
    assert!((LITTLE / 2..LITTLE).contains(&waiting(&house)), "{} bytes wait", waiting(&house));
    let refused = |conn: &&ConnId| house.unwritten(**conn) < MIB;
    let refused = *deaf.iter().find(refused).unwrap();
    // Whoever takes nothing for a while makes room for whoever comes next.
    house.wait(Duration::from_secs(4));
    let honest = ask(&mut house);
    assert!(!house.is_open(deaf[0]));
    house.reads = true;
    house.settle();
    assert_eq!(status(&house.read(honest)), 200);
    let answer = house.read(refused);
    assert_eq!((status(&answer), header(&answer, "Retry-After").as_deref()), (503, Some("1")), "{answer}");
    is_served(&mut house);
}

#[test]
fn streams_that_nobody_takes_are_bounded_together() {
    let mut house = House::with(|http| {
        http.memory_bytes = LITTLE;
        http.json_answers = false;
    });
    house.reads = false;
    let (headers, body) = modern(1, "tools/call", r#""name":"slow""#);
    let deaf: Vec<_> = (0..40)
        .map(|_| {
            let conn = house.connect();
            house.write(conn, post(&headers, &body).as_bytes());
            answer_at_length(&mut house, MIB);
            conn
        })
        .collect();
    let waiting: usize = deaf.iter().map(|conn| house.unwritten(*conn)).sum();
    assert!((LITTLE / 2..LITTLE).contains(&waiting), "{waiting} bytes wait");
    assert!(deaf.iter().any(|conn| !house.is_open(*conn)), "those for whom there is none are closed");
    house.reads = true;
    house.settle();
    is_served(&mut house);
}

#[test]
fn what_is_kept_for_clients_that_may_come_back_makes_room_first() {
    let mut house = little();
    for _ in 0..5 {
        let session = format!("Mcp-Session-Id: {}\r\n", house.initialize("2025-11-25"));
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#;
        let conn = house.connect();
        house.write(conn, post(&session, body).as_bytes());
        house.hang_up(conn);
        house.wait(Duration::from_secs(1));
        answer_at_length(&mut house, MIB);
    }
    let conn = house.connect();
    let call = large("echo", 4 * MIB);
    let rest = house.write(conn, &call).len();
    house.wait(Duration::from_secs(2));
    assert!(house.write(conn, &call[call.len() - rest..]).is_empty());
    assert_eq!(status(&house.read(conn)), 200);
}

#[test]
fn idle_connections_are_evicted_those_of_the_client_with_the_most_first() {
    let mut house = House::with(|http| http.connections = 10);
    let honest = house.connect_from([10, 0, 0, 1]);
    house.wait(Duration::from_secs(1));
    let many: Vec<_> = (0..9).map(|_| house.connect_from([10, 0, 0, 2])).collect();
    let late = house.connect_from([10, 0, 0, 3]);
    assert!(house.is_open(honest) && house.is_open(late) && !house.is_open(many[0]), "{:?} are gone", house.gone);
    let (headers, body) = modern(1, "tools/call", r#""name":"slow""#);
    let call = post(&headers, &body);
    for conn in many[1..].iter().chain([&honest, &late]) {
        house.write(*conn, call.as_bytes());
    }
    let too_late = house.connect_from([10, 0, 0, 4]);
    assert!(!house.is_open(too_late), "nobody is idle");
    assert_eq!(house.slow.len(), 10);
}

/// Begins a session and does not come back to it; the id.
fn begin(house: &mut House, client: [u8; 4]) -> Option<String> {
    let conn = house.connect_from(client);
    house.write(conn, post("", &initialize("2025-06-18")).as_bytes());
    header(&house.read(conn), "Mcp-Session-Id")
}

fn ping(house: &mut House, session: &str) -> u16 {
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    status(&house.post(&format!("Mcp-Session-Id: {session}\r\n"), ping))
}

#[test]
fn sessions_that_nobody_comes_back_to_lock_nobody_out() {
    let mut house = House::with(|http| {
        http.sessions = 20;
        http.fresh_sessions = 5;
    });
    let honest = house.initialize("2025-06-18");
    let left: Vec<_> = (0..1_000).filter_map(|_| begin(&mut house, [10, 0, 0, 2])).collect();
    assert_eq!(left.len(), 1_000, "each is told of its session");
    assert_eq!(house.server.sessions(), 6);
    let late = begin(&mut house, [10, 0, 0, 3]).unwrap();
    assert_eq!((ping(&mut house, &honest), ping(&mut house, &late)), (200, 200));
    assert_eq!(ping(&mut house, &left[0]), 404);
    house.wait(Duration::from_secs(61));
    assert_eq!(house.server.sessions(), 2, "those that are only begun end soon");
    assert_eq!((ping(&mut house, &honest), ping(&mut house, &late)), (200, 200));
}

#[test]
fn sessions_that_are_idle_make_room_and_those_in_use_do_not() {
    let mut house = House::with(|http| http.sessions = 4);
    let heard_of = |house: &mut House, client| {
        let session = begin(house, client).unwrap();
        assert_eq!(ping(house, &session), 200);
        house.wait(Duration::from_secs(1));
        session
    };
    let other = heard_of(&mut house, [10, 0, 0, 1]);
    let many: Vec<_> = (0..3).map(|_| heard_of(&mut house, [10, 0, 0, 2])).collect();
    let late = heard_of(&mut house, [10, 0, 0, 3]);
    assert_eq!(ping(&mut house, &many[0]), 404, "of those with the most, the one that was idle for longest");
    assert_eq!(ping(&mut house, &other), 200);
    for session in [&other, &many[1], &many[2], &late] {
        let slow = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}"#;
        let conn = house.connect();
        house.write(conn, post(&format!("Mcp-Session-Id: {session}\r\n"), slow).as_bytes());
    }
    let conn = house.connect();
    house.write(conn, post("", &initialize("2025-06-18")).as_bytes());
    let answer = house.read(conn);
    assert_eq!((status(&answer), header(&answer, "Retry-After").as_deref()), (503, Some("1")), "all are in use");
    house.answer_slow();
    assert!(begin(&mut house, [10, 0, 0, 4]).is_some());
}
