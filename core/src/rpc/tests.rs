//! A session by itself: what becomes of calls and requests, and when.

use alloc::vec::Vec;
use core::time::Duration;

use super::incoming::NotBegun;
use super::*;
use crate::jsonrpc::{Id, RpcError, Splice};
use crate::limits::Limits;
use crate::model::{CallTool, EmptyParams, Initialized};
use crate::observer::{Observed, Outcome};

type Own = Rpc<&'static str, u8>;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::from_micros(seconds * 1_000_000)
}

fn limits() -> Limits {
    Limits {
        pending_calls: 2,
        incoming_requests: 2,
        outbox_soft_bytes: 200,
        outbox_hard_bytes: 400,
        ..Limits::default()
    }
}

fn call(session: &mut Own, token: &'static str, timing: Timing, now: Instant) -> i64 {
    let params = EmptyParams::new();
    session.call(None, "m", &params, Splice::default(), timing, token, now).unwrap().number
}

fn extended(idle: u64, total: u64) -> Timing {
    Timing { idle: Some(Duration::from_secs(idle)), total: Some(Duration::from_secs(total)) }
}

#[test]
fn a_call_is_settled_once() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    let (one, two) =
        (call(&mut session, "one", extended(5, 5), at(0)), call(&mut session, "two", extended(9, 9), at(1)));
    assert_eq!((one, two, session.next_number()), (1, 2, 3));
    assert_eq!(session.deadline(), Some(at(5)));
    assert_eq!((session.token(1), session.token(3)), (Some(&"one"), None));
    assert_eq!(session.find(|token| *token == "two"), Some(2));
    assert_eq!(
        session.settle(&Id::Number(1), || Outcome::Result).map(|(number, pending)| (number, pending.token)),
        Some((1, "one"))
    );
    assert_eq!(session.deadline(), Some(at(10)));
    for id in [Id::Number(1), Id::Number(0), Id::Number(3), Id::Number(-1), Id::from("2")] {
        assert!(session.settle(&id, || Outcome::Result).is_none(), "{id:?}");
    }
    let counters = session.counters();
    assert_eq!((counters.late_answers, counters.unknown_answers), (1, 4));
    assert!(!session.is_idle());
    assert_eq!(session.abandon(), [(2, "two")]);
    assert!(session.is_idle() && session.deadline().is_none());
}

#[test]
fn a_call_expires_at_its_deadline_and_not_before() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    call(&mut session, "one", extended(5, 5), at(0));
    call(&mut session, "two", Timing::exactly(3 * SECOND), at(0));
    let before = Instant::from_micros(2_999_999);
    assert!(session.expire(before).is_none());
    let (number, pending) = session.expire(at(3)).unwrap();
    assert_eq!((number, pending.token, pending.waited(at(4))), (2, "two", 4 * SECOND));
    assert!(session.expire(at(3)).is_none());
    assert_eq!(session.expire(at(100)).map(|(number, _)| number), Some(1));
    assert!(session.is_idle());
}

#[test]
fn progress_extends_a_deadline_up_to_the_total() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    let number = call(&mut session, "one", extended(10, 25), at(0));
    session.extend(number, at(9));
    assert_eq!(session.deadline(), Some(at(19)));
    session.extend(number, at(18));
    assert_eq!(session.deadline(), Some(at(25)), "the total");
    session.extend(number + 1, at(18));
    assert!(session.expire(at(24)).is_none());
    assert!(session.expire(at(25)).is_some());
    let number = call(&mut session, "two", extended(10, 1), at(30));
    assert_eq!(session.deadline(), Some(at(31)), "a total that is less than the idle time-out is what counts");
    session.extend(number, at(31));
    assert_eq!(session.deadline(), Some(at(31)));
}

#[test]
fn what_is_due_can_be_extended_lifted_postponed_and_restarted() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    let one = call(&mut session, "one", extended(10, 100), at(0));
    let two = call(&mut session, "two", extended(20, 100), at(0));
    session.extend_due(at(10));
    assert_eq!(session.deadline(), Some(at(20)), "both are due at the same time now");
    assert_eq!(session.expire(at(20)).map(|(number, _)| number), Some(one));
    session.lift_deadline(two);
    assert_eq!(session.deadline(), None);
    session.lift_deadline(99);
    session.postpone(two, at(50));
    assert_eq!(session.deadline(), Some(at(50)));
    session.postpone(two, at(60));
    assert_eq!(session.deadline(), Some(at(60)));
    session.restart(two, 10 * SECOND, at(60));
    assert_eq!(session.deadline(), None, "a call that may take for ever may do so again");
    assert_eq!(session.withdraw(two).map(|pending| pending.waited(at(60))), Some(50 * SECOND), "ten do not count");

    let three = call(&mut session, "three", extended(10, 15), at(100));
    session.postpone(three, at(200));
    session.restart(three, 90 * SECOND, at(190));
    assert_eq!(session.deadline(), Some(at(200)), "its whole time from now on");
    session.restart(three, Duration::ZERO, at(199));
    assert_eq!(session.deadline(), Some(at(205)), "up to its maximum, without what it waited for others");
    session.restart(99, SECOND, at(190));
    session.postpone(99, at(1));
    assert_eq!(session.deadline(), Some(at(205)));
    session.withdraw(three);
    assert!(session.is_idle());
}

#[test]
fn a_call_that_is_made_again_has_another_number_and_the_same_deadline() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    let number = call(&mut session, "one", extended(10, 10), at(0));
    assert_eq!(session.renumber(number), Some(2));
    assert_eq!((session.token(number), session.token(2)), (None, Some(&"one")));
    assert_eq!(session.deadline(), Some(at(10)));
    assert_eq!(session.renumber(number), None);
    *session.token_mut(2).unwrap() = "two";
    assert_eq!(session.take_number(), 3);
    assert_eq!(session.expire(at(10)).map(|(number, pending)| (number, pending.token)), Some((2, "two")));
    assert!(session.is_idle());
}

#[test]
fn there_is_room_for_so_many_calls_and_bytes() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    assert!(session.has_room());
    call(&mut session, "one", Timing::UNLIMITED, at(0));
    assert!(session.has_room());
    call(&mut session, "two", Timing::UNLIMITED, at(0));
    assert!(!session.has_room(), "two are the most");
    session.withdraw(1);
    assert!(session.has_room() && session.deadline().is_none());
    let waiting = session.outbox.len();
    session.unsent_bytes = 200 - waiting;
    assert!(session.has_room(), "as much as may wait");
    session.unsent_bytes += 1;
    assert!(!session.has_room());
    // What cannot be written is given back, and nothing of it is left.
    let unwritable = alloc::collections::BTreeMap::from([((), 1)]);
    let refused = session.call(None, "m", &unwritable, Splice::default(), Timing::UNLIMITED, "three", at(0));
    assert!(refused.is_err_and(|refused| refused.token == "three"));
    assert_eq!((session.outbox.len(), session.next_number()), (waiting, 3));
}

#[test]
fn a_request_is_taken_in_once_and_answered_once() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    let key = session.begin(&Id::from("a"), 7).unwrap();
    assert_eq!(session.begin(&Id::from("a"), 8), Err(NotBegun::DuplicateId));
    let other = session.begin(&Id::Number(1), 9).unwrap();
    assert_eq!(session.begin(&Id::Number(2), 9), Err(NotBegun::TooMany));
    assert!(key < other);
    assert_eq!(session.requests().map(|(_, request)| request.data).collect::<Vec<_>>(), [7, 9]);
    session.request_mut(key).unwrap().data = 6;
    assert_eq!(session.request(key).map(|request| request.data), Some(6));
    assert_eq!(session.cancelled(&Id::from("b")), None);
    assert_eq!(session.counters().stray_cancellations, 1);
    assert_eq!(session.cancelled(&Id::from("a")), Some((key, 6)));
    // Whoever cancelled gets no answer, and the id is free.
    session.answer(key, &EmptyParams::new(), Splice::default());
    session.fail(key, &RpcError::internal("late"));
    assert_eq!(session.outbox.len(), 0);
    assert!(session.begin(&Id::from("a"), 5).is_ok());
    session.fail(other, &RpcError::internal("no"));
    assert_eq!(
        session.outbox.unwritten(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}\n"
    );
    assert!(!session.is_idle());
    assert_eq!(session.forget_requests(), [5]);
    assert!(session.is_idle());
}

#[test]
fn many_clients_may_use_the_same_id() {
    let mut session = Own::one_of_many(&limits(), &Observed::default(), 3, true);
    assert!(session.is_anonymous());
    let (one, two) = (session.begin(&Id::Number(1), 1).unwrap(), session.begin(&Id::Number(1), 2).unwrap());
    assert_eq!((one.session(), two.session()), (3, 3));
    assert_eq!(session.cancelled(&Id::Number(1)), None, "nobody can name the other's");
    session.answer(two, &EmptyParams::new(), Splice::default());
    session.refuse(Some(&Id::Number(9)), false, &RpcError::internal("no"));
    session.notify(None, "n", &EmptyParams::new(), Splice::default());
    let mut kinds = Vec::new();
    while let Some((label, message)) = session.outbox.first() {
        assert!(message.starts_with(b"{") && message.ends_with(b"}"));
        kinds.push(label.kind);
        session.outbox.pass();
    }
    assert_eq!(
        kinds,
        [
            OutgoingKind::Answer { to: Some(two), error: None },
            OutgoingKind::Answer { to: None, error: Some(-32603) },
            OutgoingKind::Notification { about: None }
        ]
    );
    assert_eq!(session.outbox.len(), 0);
    session.outbox.pass();
    session.room.set_incoming_requests(1);
    assert_eq!(session.begin(&Id::Number(5), 1), Err(NotBegun::TooMany));
}

#[test]
fn messages_that_travel_by_themselves_know_what_they_are() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Exchanges);
    let params = serde_json::json!({"name": "a\"b"});
    let sent = session.call(None, "tools/call", &params, Splice::default(), Timing::UNLIMITED, "one", at(0)).unwrap();
    assert_eq!(session.params_of(&sent), br#"{"name":"a\"b"}"#);
    session.notify(None, "notifications/initialized", &EmptyParams::new(), Splice::default());
    session.answer_at_once(&Id::from("x"), &EmptyParams::new());

    let call = session.outbox.take().unwrap();
    assert_eq!((call.request_id(), call.content().map(|text| text.as_str())), (Some(1), Some(r#"{"name":"a\"b"}"#)));
    assert!(call.label.method.as_ref().is_some_and(MethodName::is::<CallTool>));
    assert_eq!(call.bytes, br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\"b"}}"#);
    assert_eq!(call.name().as_deref(), Some("a\"b"), "what it is about");
    // The same once more, under another number.
    let again = call.renumbered(12).unwrap();
    assert_eq!(again.name(), call.name());
    assert_eq!(again.bytes, br#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"a\"b"}}"#);
    assert_eq!((again.request_id(), again.content()), (Some(12), call.content()));

    let told = session.outbox.take().unwrap();
    assert!(told.tells::<Initialized>() && told.request_id().is_none() && told.content().is_none());
    assert!(told.name().is_none());
    assert!(told.renumbered(1).is_some_and(|request| request.content().is_none()));
    let answer = session.outbox.take().unwrap();
    assert!(answer.label.method.is_none() && answer.renumbered(1).is_none());
    assert_eq!(answer.content().map(|text| text.as_str()), Some("{}"));
    assert!(session.outbox.take().is_none() && session.outbox.len() == 0);

    // A method of the program's own may be any text.
    session.notify(None, "a\\\"b", &EmptyParams::new(), Splice::default());
    let own = session.outbox.take().and_then(|message| message.label.method).unwrap();
    assert_eq!((own.as_str(), own.info().is_none()), ("a\\\"b", true));
}

#[test]
fn the_room_of_a_long_message_is_given_back_with_the_last_and_that_of_short_ones_is_kept() {
    let long = serde_json::json!({"text": "t".repeat(100_000)});
    let short = serde_json::json!({"text": "t".repeat(100)});
    for send in [|outbox: &mut Outbox| outbox.pass(), |outbox: &mut Outbox| drop(outbox.take())] {
        let mut session = Own::one_of_many(&Limits::default(), &Observed::default(), 3, true);
        session.notify(None, "n", &short, Splice::default());
        send(&mut session.outbox);
        let common = session.outbox.capacity();
        assert!((100..1000).contains(&common), "the next is as short: {common}");
        session.notify(None, "n", &long, Splice::default());
        session.notify(None, "n", &short, Splice::default());
        assert!(session.outbox.capacity() > 100_000);
        send(&mut session.outbox);
        assert!(session.outbox.first().is_some(), "what waits is not dropped");
        send(&mut session.outbox);
        assert_eq!((session.outbox.len(), session.outbox.capacity()), (0, 0));
        // When all is quiet, that of short ones is given back as well, but for what waits.
        session.notify(None, "n", &short, Splice::default());
        session.trim();
        assert!(session.outbox.first().is_some());
        send(&mut session.outbox);
        assert!(session.outbox.capacity() > 0);
        session.trim();
        assert_eq!(session.outbox.capacity(), 0);
    }
}

#[test]
fn a_peer_that_stops_reading_is_noticed_and_nothing_more_is_kept_for_it() {
    let mut session = Own::new(&limits(), &Observed::default(), LinkKind::Stream);
    let key = session.begin(&Id::Number(1), 1).unwrap();
    session.outbox.fill(400);
    assert!(!session.is_overflowing(), "as much as may wait");
    session.outbox.fill(401);
    assert!(session.is_overflowing());
    session.notify(None, "n", &EmptyParams::new(), Splice::default());
    session.answer(key, &EmptyParams::new(), Splice::default());
    assert_eq!(session.outbox.len(), 401);
    session.outbox.clear();
    assert!(session.is_overflowing(), "what was dropped is missing from now on");
    assert!(session.is_idle());
}

#[test]
fn pings_are_sent_one_at_a_time_until_too_many_are_missed() {
    let mut alive = KeepAlive::new(KeepAliveConfig { interval: 10 * SECOND, misses_allowed: 2 }, at(0));
    assert_eq!(alive.deadline(), Some(at(10)));
    assert_eq!(alive.due(Instant::from_micros(9_999_999)), None);
    assert_eq!(alive.due(at(10)), Some(KeepAliveStep::Ping(10 * SECOND)));
    assert_eq!((alive.due(at(11)), alive.deadline()), (None, None));
    assert_eq!(alive.missed(), KeepAliveStep::Ping(10 * SECOND));
    alive.answered(at(25));
    assert_eq!(alive.deadline(), Some(at(35)));
    assert_eq!(alive.missed(), KeepAliveStep::Ping(10 * SECOND), "an answer makes up for what was missed");
    assert_eq!(alive.missed(), KeepAliveStep::GiveUp { missed: 2 });
}
