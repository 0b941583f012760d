//! The rules of a session that no single transcript shows: deadlines, limits, closing, and what is merely counted.

mod common;

use std::time::Duration;

use windlass::client::{CallOptions, KeepAliveConfig};
use windlass::model::{
    CallTool, CallToolResult, ListTools, LoggingLevel, LoggingMessageParams, PaginatedParams, SubscriptionFilter, Tool,
};
use windlass::{CallError, CloseReason, SendError};
use windlass_sim::{NetworkConditions, Script, SimClient, SimServer, handler};

use common::{
    META, Sim, client_config, fresh_server, fresh_server_with, legacy, legacy_client, legacy_client_with,
    legacy_config, legacy_server_with, modern, modern_client, modern_client_with, registry, say, server_config, tell,
    tool,
};

const SECOND: Duration = Duration::from_secs(1);

fn finish(sim: &mut Sim<SimClient, Script>) {
    sim.client.close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

fn progress(sim: &mut Sim<SimClient, Script>, token: u32, progress: u32) {
    tell(
        sim,
        &format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
        ),
    );
}

#[test]
fn progress_restarts_the_idle_timeout_but_not_the_total_one() {
    let mut sim = modern_client();
    let options = CallOptions::new().idle_timeout(10 * SECOND).total_timeout(25 * SECOND);
    let call = sim.client.call_with::<CallTool>(&tool("steps"), &options).unwrap();
    for step in 1..=2 {
        sim.run_for(9 * SECOND);
        progress(&mut sim, 2, step);
    }
    // 18 seconds have passed; the idle time-out alone would allow 28, the total one allows 25.
    sim.run_for(6 * SECOND);
    assert!(sim.client.outcome(call).is_none());
    sim.run_for(SECOND);
    assert_eq!(sim.client.outcome(call), Some(&Err(CallError::TimedOut { after: 25 * SECOND })));
    finish(&mut sim);
}

#[test]
fn without_progress_the_idle_timeout_holds() {
    let mut sim = modern_client();
    let options = CallOptions::new().idle_timeout(10 * SECOND).total_timeout(25 * SECOND);
    let call = sim.client.call_with::<CallTool>(&tool("steps"), &options).unwrap();
    sim.run_for(10 * SECOND);
    assert_eq!(sim.client.outcome(call), Some(&Err(CallError::TimedOut { after: 10 * SECOND })));
    finish(&mut sim);
}

#[test]
fn a_question_to_the_user_stops_the_clock_up_to_the_total_timeout() {
    let mut sim = legacy_client("2025-11-25");
    let options = CallOptions::new().idle_timeout(10 * SECOND).total_timeout(25 * SECOND);
    let call = sim.client.call_with::<CallTool>(&tool("ask"), &options).unwrap();
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}"#,
    );
    sim.run_for(24 * SECOND);
    assert!(sim.client.outcome(call).is_none(), "the user thinks, and nobody answers for them");
    sim.run_for(SECOND);
    assert_eq!(sim.client.outcome(call), Some(&Err(CallError::TimedOut { after: 25 * SECOND })));
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#);
    finish(&mut sim);
}

#[test]
fn a_total_timeout_that_is_shorter_than_the_idle_one_wins() {
    let mut sim = modern_client();
    let total =
        sim.client.call_with::<CallTool>(&tool("steps"), &CallOptions::new().total_timeout(5 * SECOND)).unwrap();
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(7 * SECOND);
    let never_idle = sim.client.call_with::<CallTool>(&tool("steps"), &options).unwrap();
    for step in 1..=4 {
        sim.run_for(SECOND);
        progress(&mut sim, 2, step);
        progress(&mut sim, 3, step);
    }
    assert!(sim.client.outcome(total).is_none());
    sim.run_for(SECOND);
    assert_eq!(sim.client.outcome(total), Some(&Err(CallError::TimedOut { after: 5 * SECOND })));
    sim.run_for(2 * SECOND);
    assert_eq!(sim.client.outcome(never_idle), Some(&Err(CallError::TimedOut { after: 7 * SECOND })));
    finish(&mut sim);
}

#[test]
fn all_rounds_of_a_call_together_have_its_total_timeout() {
    let mut sim = modern_client();
    let options = CallOptions::new().idle_timeout(20 * SECOND).total_timeout(25 * SECOND);
    let call = sim.client.call_with::<CallTool>(&tool("ask"), &options).unwrap();
    for id in 2..=3 {
        sim.run_for(10 * SECOND);
        let needed = r#"{"resultType":"input_required","requestState":"again"}"#;
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{needed}}}"#));
    }
    sim.run_for(4 * SECOND);
    assert!(sim.client.outcome(call).is_none());
    sim.run_for(SECOND);
    assert!(matches!(sim.client.outcome(call), Some(Err(CallError::TimedOut { .. }))), "{}", sim.transcript());
    finish(&mut sim);
}

#[test]
fn progress_counts_from_the_start_in_every_round_of_a_call() {
    let mut sim = modern_client();
    let options = CallOptions::new().progress().idle_timeout(10 * SECOND).total_timeout(60 * SECOND);
    let call = sim.client.call_with::<CallTool>(&tool("ask"), &options).unwrap();
    sim.settle();
    progress(&mut sim, 2, 90);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"again"}}"#);
    for step in 1..=3 {
        sim.run_for(9 * SECOND);
        progress(&mut sim, 2, step);
    }
    assert!(sim.client.outcome(call).is_none(), "{}", sim.transcript());
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}"#);
    assert!(sim.client.result::<CallTool>(call).is_some());
    finish(&mut sim);
}

#[test]
fn progress_that_goes_back_or_stands_still_keeps_no_call_alive_and_is_not_told() {
    for mut sim in [modern_client(), legacy_client("2025-11-25")] {
        let options = CallOptions::new().progress().idle_timeout(10 * SECOND).total_timeout(60 * SECOND);
        let call = sim.client.call_with::<CallTool>(&tool("steps"), &options).unwrap();
        sim.run_for(9 * SECOND);
        progress(&mut sim, 2, 5);
        for (at, said) in ["5", "5.0", "4.999", "0", "-1", "-1e9999", "null"].into_iter().enumerate() {
            sim.run_for(SECOND);
            let params = format!(r#"{{"progressToken":2,"progress":{said}}}"#);
            tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#));
            assert_eq!(sim.client.updates(call).len(), 1, "{}", sim.transcript());
            assert_eq!(sim.client.counters().stray_progress, at as u64 + 1);
        }
        sim.run_for(3 * SECOND - Duration::from_micros(1));
        assert!(sim.client.outcome(call).is_none(), "ten seconds after the last that was some");
        sim.run_for(Duration::from_micros(1));
        assert_eq!(sim.client.outcome(call), Some(&Err(CallError::TimedOut { after: 19 * SECOND })));
        finish(&mut sim);
    }
}

#[test]
fn progress_that_goes_back_or_stands_still_is_not_sent() {
    let mut registry = registry();
    registry.add_tool(
        Tool::without_arguments("wavering"),
        handler(|context| {
            for step in [1.0, 1.0, 0.5, f64::NAN, 2.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, 2.0, 2.5] {
                context.progress(step, Some(3.0));
            }
            Ok(CallToolResult::text("done").into())
        }),
    );
    let server = SimServer::new(server_config(), registry, 1);
    let mut sim = Sim::with_scripted_client(1, NetworkConditions::ideal(), server);
    let steps = |sim: &Sim<Script, SimServer>, token: u64| {
        let told = |line: &String| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["params"]["progressToken"] == token).then(|| line["params"]["progress"].as_f64().unwrap())
        };
        sim.client.heard().iter().filter_map(told).collect::<Vec<_>>()
    };
    // Each request has a progress of its own.
    for token in [7, 8] {
        let meta = META.replacen('{', &format!(r#"{{"progressToken":{token},"#), 1);
        let params = format!(r#"{{"name":"wavering",{meta}}}"#);
        say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{token},"method":"tools/call","params":{params}}}"#));
        assert_eq!(steps(&sim, token), [1.0, 2.0, 2.5], "{}", sim.transcript());
    }
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn time_outs_of_zero_wait_for_ever() {
    let mut sim = modern_client();
    let options = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    let call = sim.client.call_with::<CallTool>(&tool("slow"), &options).unwrap();
    sim.run_for(Duration::from_secs(365 * 24 * 3600));
    assert!(sim.client.outcome(call).is_none());
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#);
    assert!(sim.client.result::<CallTool>(call).is_some());
    finish(&mut sim);
}

#[test]
fn a_peer_that_answers_pings_is_kept() {
    let mut config = legacy_config();
    config.keep_alive = Some(KeepAliveConfig::every(10 * SECOND));
    let mut sim = legacy_client_with("2025-11-25", config);
    sim.server.answer_with(|line| {
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        vec![format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)]
    });
    sim.run_for(95 * SECOND);
    let pings = sim.server.heard().iter().filter(|line| line.contains(r#""method":"ping""#)).count();
    assert_eq!(pings, 9);
    assert!(sim.client.closed().is_none());
    finish(&mut sim);
}

#[test]
fn a_client_gives_up_a_server_that_answers_no_pings() {
    let mut config = legacy_config();
    config.keep_alive = Some(KeepAliveConfig::every(10 * SECOND));
    let mut sim = legacy_client_with("2025-11-25", config);
    let call = sim
        .client
        .call_with::<CallTool>(
            &tool("slow"),
            &CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO),
        )
        .unwrap();
    sim.run_until_idle();
    // The first ping goes out after one interval, each of the three waits for one more.
    assert_eq!(sim.now().as_micros(), 40_000_000);
    let gone = CloseReason::KeepAliveFailed { missed: 3 };
    assert_eq!(sim.client.closed(), Some(&gone));
    assert_eq!(sim.client.outcome(call), Some(&Err(CallError::Closed(gone))));
    sim.assert_nothing_left();
}

#[test]
fn a_server_gives_up_a_client_that_answers_no_pings() {
    let mut config = server_config();
    config.keep_alive = Some(KeepAliveConfig::every(10 * SECOND));
    let mut sim = legacy_server_with("2025-11-25", config);
    say(&mut sim, &legacy(1, "tools/call", r#""name":"slow""#));
    sim.run_until_idle();
    assert_eq!(sim.server.closed(), Some(&CloseReason::KeepAliveFailed { missed: 3 }));
    assert_eq!(sim.server.cancelled(), [1], "its handlers are told to stop");
    sim.assert_nothing_left();
}

#[test]
fn a_modern_connection_is_not_pinged() {
    let mut config = client_config();
    config.keep_alive = Some(KeepAliveConfig::every(10 * SECOND));
    let mut sim = modern_client_with(config);
    let heard = sim.server.heard().len();
    sim.run_for(100 * SECOND);
    assert_eq!(sim.server.heard().len(), heard);
    finish(&mut sim);
}

#[test]
fn too_many_open_calls_are_refused() {
    let mut config = client_config();
    config.limits.pending_calls = 2;
    let mut sim = modern_client_with(config);
    sim.client.call::<CallTool>(&tool("a")).unwrap();
    sim.client.call::<CallTool>(&tool("b")).unwrap();
    assert_eq!(sim.client.call::<CallTool>(&tool("c")), Err(SendError::Full));
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#);
    sim.client.call::<CallTool>(&tool("c")).unwrap();
    finish(&mut sim);
}

#[test]
fn calls_are_refused_while_too_many_bytes_wait() {
    let mut config = client_config();
    config.limits.outbox_soft_bytes = 100_000;
    let mut sim = modern_client_with(config);
    sim.server.stop_reading();
    let refused = (0..10_000).find_map(|_| {
        let called = sim.client.call::<CallTool>(&tool("a"));
        sim.settle();
        called.err()
    });
    assert_eq!(refused, Some(SendError::Full));
    // As soon as the server reads again there is room again.
    sim.server.resume_reading();
    sim.settle();
    sim.client.call::<CallTool>(&tool("a")).unwrap();
    finish(&mut sim);
}

#[test]
fn a_server_that_stops_reading_is_given_up() {
    let mut config = legacy_config();
    config.limits.outbox_hard_bytes = 10_000;
    let mut sim = legacy_client_with("2025-11-25", config);
    let call = sim.client.call::<CallTool>(&tool("a")).unwrap();
    sim.server.stop_reading();
    // Pings have to be answered, but this server does not take the answers.
    for id in 0..5_000 {
        sim.server.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    }
    assert!(sim.run_until(|sim| sim.client.closed().is_some()));
    assert_eq!(sim.client.closed(), Some(&CloseReason::PeerStoppedReading));
    assert_eq!(sim.client.outcome(call), Some(&Err(CallError::Closed(CloseReason::PeerStoppedReading))));
    sim.server.resume_reading();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_client_that_stops_reading_is_given_up() {
    let mut config = server_config();
    config.limits.outbox_hard_bytes = 10_000;
    let mut sim = legacy_server_with("2025-11-25", config);
    say(&mut sim, &legacy(1, "tools/call", r#""name":"slow""#));
    say(&mut sim, &modern(2, "subscriptions/listen", r#""notifications":{}"#));
    sim.client.stop_reading();
    let message = LoggingMessageParams::text(LoggingLevel::Error, "x".repeat(1000));
    for _ in 0..200 {
        sim.server.machine().log(None, &message);
        sim.settle();
    }
    assert!(sim.run_until(|sim| sim.server.closed().is_some()));
    assert_eq!(sim.server.closed(), Some(&CloseReason::PeerStoppedReading));
    assert_eq!(sim.server.cancelled(), [1]);
    sim.client.resume_reading();
    sim.run_until_idle();
    let last = sim.client.heard().last().unwrap();
    assert!(!last.contains("cancelled"), "no last words behind half a message: {last}");
    sim.assert_nothing_left();
}

#[test]
fn every_open_call_completes_before_closed() {
    for cut in [false, true] {
        let mut sim = modern_client();
        let calls: Vec<u64> = (0..5).map(|_| sim.client.call::<CallTool>(&tool("slow")).unwrap()).collect();
        sim.settle();
        if cut {
            sim.cut()
        } else {
            sim.server.exit()
        }
        sim.run_until_idle();
        let transcript = sim.transcript().to_owned();
        for call in calls {
            assert!(matches!(sim.client.outcome(call), Some(Err(CallError::Closed(_)))), "{transcript}");
            assert!(transcript.find(&format!("call {call} failed")) < transcript.find("client: closed"));
        }
        assert_eq!(sim.client.call::<CallTool>(&tool("late")), Err(SendError::Closed));
        sim.assert_nothing_left();
    }
}

#[test]
fn what_nobody_asked_for_is_counted() {
    let mut sim = modern_client();
    sim.client.call::<CallTool>(&tool("a")).unwrap();
    sim.settle();
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#;
    tell(&mut sim, &answer.replace(r#""id":2"#, r#""id":77"#));
    // Ids are compared with their type.
    tell(&mut sim, &answer.replace(r#""id":2"#, r#""id":"2""#));
    tell(&mut sim, r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#);
    tell(&mut sim, answer);
    tell(&mut sim, answer);
    tell(&mut sim, "garbage");
    let counters = sim.client.counters();
    assert_eq!((counters.unknown_answers, counters.late_answers, counters.malformed), (3, 1, 1));
    finish(&mut sim);
}

#[test]
fn an_oversized_answer_completes_its_call() {
    let mut config = client_config();
    config.limits.message_bytes = 2000;
    let mut sim = modern_client_with(config);
    let long = "x".repeat(3000);
    let answers = [
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"x":"{long}"}}}}"#),
        format!(r#"{{"result":{{"x":"{long}"}},"jsonrpc":"2.0","id":3}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":4,"result":{{"x":{}0{}}}}}"#, "[".repeat(200), "]".repeat(200)),
    ];
    for answer in answers {
        let call = sim.client.call::<CallTool>(&tool("a")).unwrap();
        sim.settle();
        tell(&mut sim, &answer);
        assert!(
            matches!(sim.client.outcome(call), Some(Err(CallError::InvalidResponse(_)))),
            "{:?}",
            sim.client.outcome(call)
        );
    }
    finish(&mut sim);
}

/// Answers to the call with this id that say neither what came of it nor what went wrong, or both.
fn answers_without_an_outcome(id: u64) -> [(String, &'static str); 2] {
    [
        (format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#), "the response has neither a result nor an error"),
        (
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"error":{{"code":1,"message":"m"}}}}"#),
            "a response has one id and either a result or an error",
        ),
    ]
}

#[test]
fn an_answer_without_an_outcome_fails_its_call_at_once() {
    for (mut sim, first) in [(modern_client(), 2), (legacy_client("2025-11-25"), 2)] {
        let other = sim.client.call::<CallTool>(&tool("other")).unwrap();
        for (id, which) in [(first + 1, 0), (first + 2, 1)] {
            let call = sim.client.call::<CallTool>(&tool("a")).unwrap();
            sim.settle();
            let heard = sim.server.heard().len();
            let (answer, says) = answers_without_an_outcome(id)[which].clone();
            tell(&mut sim, &answer);
            assert_eq!(sim.client.outcome(call), Some(&Err(CallError::InvalidResponse(says.into()))));
            assert_eq!(sim.server.heard().len(), heard, "an answer is not answered");
        }
        assert!(sim.client.outcome(other).is_none());
        finish(&mut sim);
    }
}

#[test]
fn a_request_without_a_method_is_answered_where_its_id_is_nobodys() {
    let mut sim = legacy_client("2025-11-25");
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":99}"#);
    assert!(sim.server.heard().last().unwrap().contains(r#""id":99,"error""#), "{:?}", sim.server.heard());
    finish(&mut sim);
}

#[test]
fn an_answer_of_a_client_without_an_outcome_fails_the_call_at_once() {
    for which in 0..2 {
        let mut sim = legacy_server_with("2025-11-25", server_config());
        say(&mut sim, &legacy(7, "tools/call", r#""name":"ask""#));
        assert!(sim.client.heard().last().unwrap().contains("elicitation/create"));
        let (answer, says) = answers_without_an_outcome(1)[which].clone();
        say(&mut sim, &answer);
        let last = sim.client.heard().last().unwrap().clone();
        assert!(last.contains(r#""id":7"#) && last.contains(says), "{last}");
        sim.client.end();
        sim.run_until_idle();
        sim.assert_nothing_left();
    }
}

#[test]
fn only_the_exact_name_of_a_member_counts_in_what_clients_say() {
    let mut sim = legacy_server_with("2025-11-25", server_config());
    let echo = r#""method":"tools/call","params":{"name":"echo"}"#;
    for (line, answer) in [
        (r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#.into(), Some(r#""id":1,"error":{"code":-32600"#)),
        (r#"{"jsonrpc":"2.0","id":2,"method\u0000":"ping"}"#.into(), Some(r#""id":2,"error":{"code":-32600"#)),
        (r#"{"Jsonrpc":"2.0","id":3,"method":"ping"}"#.into(), Some(r#""id":3,"error":{"code":-32600"#)),
        // Without an id it is a notification, which nobody answers.
        (r#"{"jsonrpc":"2.0","ID":4,"ıd":4,"method":"ping"}"#.into(), None),
        // What has another name is not there twice, and does not take the place of the right one.
        (format!(r#"{{"jsonrpc":"2.0","id":5,"ID":6,"Id":true,{echo}}}"#), Some(r#""id":5,"result":{"content""#)),
        (format!(r#"{{"jsonrpc":"2.0","id":6,"METHOD":"ping",{echo}}}"#), Some(r#""id":6,"result":{"content""#)),
        (format!(r#"{{"jsonrpc":"2.0","id":7,{echo},"Params":7,"paramſ":[]}}"#), Some(r#""id":7,"result":{"content""#)),
        (legacy(8, "tools/call", r#""Name":"slow","name":"echo""#), Some(r#""id":8,"result":{"content""#)),
        // An error is no answer to a client, but one in other letters is not even that.
        (
            format!(r#"{{"jsonrpc":"2.0","id":9,{echo},"Result":{{}},"Error":{{}}}}"#),
            Some(r#""id":9,"result":{"content""#),
        ),
        (echo.replace("params", "paramſ"), Some("-32602")),
        (echo.replace("params", "PARAMS"), Some("-32602")),
        (echo.replace("name", "Name"), Some("-32602")),
        // The same name, written another way.
        (r#"{"jsonrpc":"2.0","\u0069d":10,"\u006dethod":"ping"}"#.into(), Some(r#""id":10,"result":{}"#)),
    ] {
        let line = if line.starts_with('{') { line } else { format!(r#"{{"jsonrpc":"2.0","id":99,{line}}}"#) };
        let before = sim.client.heard().len();
        say(&mut sim, &line);
        let heard = &sim.client.heard()[before..];
        match answer {
            Some(answer) => assert!(matches!(heard, [one] if one.contains(answer)), "{line}: {heard:?}"),
            None => assert!(heard.is_empty(), "{line}: {heard:?}"),
        }
    }
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn only_the_exact_name_of_a_member_counts_in_what_servers_say() {
    let mut sim = modern_client();
    let neither = "the response has neither a result nor an error";
    for (id, answer, outcome) in [
        (2, r#""jsonrpc":"2.0","Result":{"content":[]}"#, Err(neither)),
        (3, r#""jsonrpc":"2.0","reſult":{"content":[]}"#, Err(neither)),
        (4, r#""jsonrpc":"2.0","Error":{"code":1,"message":"m"}"#, Err(neither)),
        (5, r#""JSONRPC":"2.0","result":{"content":[]}"#, Err(r#""jsonrpc" is not "2.0""#)),
        (6, r#""jsonrpc":"2.0","result":{"content":[]},"Error":{"code":1,"message":"m"},"reſult":7,"ID":7"#, Ok(())),
        // In other letters it does not ask for anything.
        (7, r#""jsonrpc":"2.0","result":{"ResultType":"input_required","content":[]}"#, Ok(())),
        (8, r#""jsonrpc":"2.0","\u0072esult":{"content":[]}"#, Ok(())),
    ] {
        let call = sim.client.call::<CallTool>(&tool("a")).unwrap();
        sim.settle();
        // Whose id has another name, its answer is nobody's.
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","ID":{id},"İd":{id},"result":{{"content":[]}}}}"#));
        assert!(sim.client.outcome(call).is_none(), "{}", sim.transcript());
        tell(&mut sim, &format!(r#"{{"id":{id},{answer}}}"#));
        match (outcome, sim.client.outcome(call)) {
            (Ok(()), Some(Ok(_))) => {}
            (Err(says), Some(Err(CallError::InvalidResponse(detail)))) => assert!(detail.contains(says), "{detail}"),
            (_, other) => panic!("{answer}: {other:?}"),
        }
    }
    finish(&mut sim);
}

/// Numbers that no integer of 64 bits is, or not as they are written: some readers would take them for others.
const NO_INTEGERS: [&str; 14] = [
    "18446744073709551616",
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775809",
    "-0",
    "0.0",
    "-0.0",
    "1e2",
    "1E+2",
    "2.0",
    "20e-1",
    "1e9999",
    "-1e9999",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
];

#[test]
fn an_id_that_no_integer_is_is_refused_and_the_next_request_is_answered() {
    for (mut sim, no_id) in [
        (fresh_server(), r#"{"jsonrpc":"2.0","error":"#),
        (legacy_server_with("2025-06-18", server_config()), r#"{"jsonrpc":"2.0","id":null,"error":"#),
    ] {
        for id in NO_INTEGERS {
            let before = sim.client.heard().len();
            say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
            say(&mut sim, &legacy(1, "ping", ""));
            let heard = &sim.client.heard()[before..];
            assert_eq!(heard.len(), 2, "{id}: {heard:?}");
            assert!(heard[0].starts_with(no_id) && heard[0].contains(r#""code":-32600"#), "{id}: {heard:?}");
            assert_eq!(heard[1], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "{id}");
        }
        // The ends of what an integer is come back as they came; what is no number at all is no JSON.
        for (id, answer) in [
            ("9223372036854775807", r#""id":9223372036854775807,"result""#),
            ("-9223372036854775808", r#""id":-9223372036854775808,"result""#),
            ("0", r#""id":0,"result""#),
            ("01", r#""code":-32700"#),
            ("+1", r#""code":-32700"#),
            ("0x1", r#""code":-32700"#),
            ("NaN", r#""code":-32700"#),
        ] {
            say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
            let heard = sim.client.heard().last().unwrap();
            assert!(heard.contains(answer), "{id}: {heard}");
        }
        sim.client.end();
        sim.run_until_idle();
        sim.assert_nothing_left();
    }
}

#[test]
fn an_id_that_no_integer_is_is_the_id_of_no_call() {
    let mut sim = modern_client();
    let call = sim.client.call::<CallTool>(&tool("a")).unwrap();
    sim.settle();
    // The last is 2 in arithmetic that overflows.
    for id in NO_INTEGERS.into_iter().chain(["2e0", "18446744073709551618"]) {
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#));
        let token = format!(r#"{{"progressToken":{id},"progress":1}}"#);
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{token}}}"#));
        assert!(sim.client.outcome(call).is_none() && sim.client.updates(call).is_empty(), "{}", sim.transcript());
    }
    let counters = sim.client.counters();
    assert_eq!((counters.malformed, counters.unknown_answers, counters.stray_progress), (16, 0, 16));
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
    assert!(sim.client.result::<CallTool>(call).is_some(), "{}", sim.transcript());
    finish(&mut sim);

    let mut sim = legacy_server_with("2025-11-25", server_config());
    say(&mut sim, &legacy(2, "tools/call", r#""name":"slow""#));
    for id in NO_INTEGERS.into_iter().chain(["2e0", "18446744073709551618"]) {
        say(
            &mut sim,
            &format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        );
    }
    assert!(sim.server.cancelled().is_empty(), "{}", sim.transcript());
    sim.run_for(60 * SECOND);
    assert!(sim.client.heard().last().unwrap().contains("at last"));
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn nesting_counts_brackets_outside_of_strings() {
    let mut config = server_config();
    config.limits.nesting = 10;
    let mut sim = fresh_server_with(config);
    let request = |id: u64, inner: &str| legacy(id, "ping", &format!(r#""x":{inner}"#));
    say(&mut sim, &request(1, &format!("{}{}", "[".repeat(8), "]".repeat(8))));
    say(&mut sim, &request(2, &format!("{}{}", "[".repeat(9), "]".repeat(9))));
    say(&mut sim, &request(3, &format!("{:?}", "[".repeat(100))));
    say(&mut sim, &request(4, &format!("[{}]", vec!["[]"; 100].join(","))));
    let answers: Vec<&str> =
        sim.client.heard().iter().map(|line| if line.contains("error") { "error" } else { "result" }).collect();
    assert_eq!(answers, ["result", "error", "result", "result"]);
    assert!(sim.client.heard()[1].contains(r#""id":2"#), "the sender is told which request it was");
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_message_has_so_many_values_and_no_more() {
    let mut config = server_config();
    config.limits.message_values = 100;
    let mut sim = fresh_server_with(config);
    // The envelope has five values of its own, and the parameters' array is one.
    let request = |id: u64, inner: usize| legacy(id, "ping", &format!(r#""x":[{}]"#, vec!["0"; inner].join(",")));
    say(&mut sim, &request(1, 94));
    say(&mut sim, &request(2, 95));
    say(&mut sim, &legacy(3, "ping", &format!(r#""x":"{}""#, ",[{".repeat(100))));
    let heard = sim.client.heard();
    let answers: Vec<_> = heard.iter().map(|line| line.contains("the message has too many values")).collect();
    assert_eq!(answers, [false, true, false], "{heard:?}");
    assert!(heard[1].contains(r#""id":2"#), "the sender is told which request it was");
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn a_server_that_keeps_asking_is_given_up() {
    let mut config = client_config();
    config.limits.input_rounds = 3;
    let mut sim = modern_client_with(config);
    let call = sim.client.call::<CallTool>(&tool("a")).unwrap();
    sim.settle();
    for id in 2..=5 {
        tell(
            &mut sim,
            &format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"again"}}}}"#
            ),
        );
    }
    assert_eq!(sim.client.outcome(call), Some(&Err(CallError::TooManyRounds { rounds: 3 })));
    finish(&mut sim);
}

#[test]
fn a_handler_that_keeps_asking_a_legacy_client_is_given_up() {
    let mut config = server_config();
    config.limits.input_rounds = 3;
    let mut sim = legacy_server_with("2025-11-25", config);
    sim.client.answer_with(|line| {
        // An answer that makes no sense is asked for again.
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        match line.contains("elicitation/create") {
            true => vec![format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":7}}}}"#)],
            false => Vec::new(),
        }
    });
    say(&mut sim, &legacy(7, "tools/call", r#""name":"ask""#));
    let asked = sim.client.heard().iter().filter(|line| line.contains("elicitation/create")).count();
    assert_eq!(asked, 3);
    assert!(sim.client.heard().last().unwrap().contains("after 3 rounds"));
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

#[test]
fn calls_that_the_server_cannot_serve_fail_at_once() {
    let mut sim = legacy_client("2025-11-25");
    let prompts = sim.client.call::<windlass::model::ListPrompts>(&PaginatedParams::new());
    assert!(matches!(prompts, Err(SendError::NotSupported { capability: "prompts", .. })));
    let discover = sim.client.call::<windlass::model::Discover>(&windlass::model::EmptyParams::new());
    assert!(matches!(discover, Err(SendError::NotInRevision { .. })));
    finish(&mut sim);

    let mut sim = Sim::with_scripted_server(1, windlass_sim::NetworkConditions::ideal(), client_config());
    assert_eq!(sim.client.call::<ListTools>(&PaginatedParams::new()), Err(SendError::NotReady));
    finish(&mut sim);
}

/// A client of a legacy server that offers only this.
fn client_of(version: &str, capabilities: &str) -> Sim<SimClient, Script> {
    let mut sim = Sim::with_scripted_server(1, windlass_sim::NetworkConditions::ideal(), legacy_config());
    sim.settle();
    tell(
        &mut sim,
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ),
    );
    assert!(sim.client.peer().is_some(), "{}", sim.transcript());
    sim
}

/// The capability that each method lacks, if it lacks one.
fn missing(sim: &mut Sim<SimClient, Script>) -> Vec<(&'static str, &'static str)> {
    use windlass::model::*;

    fn lack<M: Method>(sim: &mut Sim<SimClient, Script>, params: &M::Params) -> Option<(&'static str, &'static str)> {
        match sim.client.call::<M>(params) {
            Ok(_) => None,
            Err(SendError::NotSupported { method, capability }) => {
                assert_eq!(method, M::NAME);
                Some((M::NAME, capability))
            }
            Err(other) => panic!("{other}"),
        }
    }
    let page = PaginatedParams::new();
    [
        lack::<ListTools>(sim, &page),
        lack::<CallTool>(sim, &tool("t")),
        lack::<ListResources>(sim, &page),
        lack::<ListResourceTemplates>(sim, &page),
        lack::<ReadResource>(sim, &ReadResourceParams::new("a:b")),
        lack::<Subscribe>(sim, &SubscribeParams::new("a:b")),
        lack::<Unsubscribe>(sim, &UnsubscribeParams::new("a:b")),
        lack::<ListPrompts>(sim, &page),
        lack::<GetPrompt>(sim, &GetPromptParams::new("p")),
        lack::<Complete>(sim, &CompleteParams::new(PromptReference::new("p"), "a", "v")),
        lack::<SetLevel>(sim, &SetLevelParams::new(LoggingLevel::Error)),
        lack::<Ping>(sim, &EmptyParams::new()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_method_needs_what_the_server_declares_for_it() {
    let all = [
        ("tools/list", "tools"),
        ("tools/call", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resources"),
        ("resources/read", "resources"),
        ("resources/subscribe", "resources.subscribe"),
        ("resources/unsubscribe", "resources.subscribe"),
        ("prompts/list", "prompts"),
        ("prompts/get", "prompts"),
        ("completion/complete", "completions"),
        ("logging/setLevel", "logging"),
    ];
    let without = |capability: &str| -> Vec<_> {
        all.into_iter().filter(|(_, needed)| !needed.starts_with(capability)).collect()
    };
    for (version, capabilities, expected) in [
        ("2025-11-25", "{}", all.to_vec()),
        ("2025-11-25", r#"{"tools":{}}"#, without("tools")),
        ("2025-11-25", r#"{"resources":{"subscribe":true}}"#, without("resources")),
        ("2025-11-25", r#"{"prompts":{}}"#, without("prompts")),
        ("2025-11-25", r#"{"completions":{}}"#, without("completions")),
        ("2025-11-25", r#"{"logging":{}}"#, without("logging")),
        // The first revision has completion, but nothing to declare it by.
        ("2024-11-05", "{}", without("completions")),
    ] {
        let mut sim = client_of(version, capabilities);
        assert_eq!(missing(&mut sim), expected, "{version} {capabilities}");
        finish(&mut sim);
    }
    let mut sim = client_of("2025-11-25", r#"{"resources":{"subscribe":false}}"#);
    let expected: Vec<_> = all.into_iter().filter(|(_, needed)| *needed != "resources").collect();
    assert_eq!(missing(&mut sim), expected);
    finish(&mut sim);
}

#[test]
fn subscriptions_of_a_client_go_up_to_their_limit() {
    let mut config = legacy_config();
    config.limits.subscriptions = 3;
    let mut sim = legacy_client_with("2025-11-25", config);
    let watching = |uris: &[&str]| {
        SubscriptionFilter::new().with_resource_subscriptions(uris.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(sim.client.listen(watching(&["a:1", "a:2", "a:3", "a:4"])), Err(SendError::Full));
    let listen = sim.client.listen(watching(&["a:1", "a:2"]).with_resources_list_changed(true)).unwrap();
    assert_eq!(sim.client.listen(watching(&["a:3", "a:4", "a:5"])), Err(SendError::Full));
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
    for told in ["resources/list_changed", "tools/list_changed", "message"] {
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/{told}"}}"#));
    }
    let updates = sim.client.updates(listen);
    assert_eq!(updates.len(), 2, "{updates:?}");
    assert!(updates[1].contains("resources/list_changed"), "{updates:?}");
    finish(&mut sim);
}

#[test]
fn requests_beyond_the_limit_are_refused_one_by_one() {
    let mut config = server_config();
    config.limits.incoming_requests = 3;
    let mut sim = fresh_server_with(config);
    for id in 1..=5 {
        say(&mut sim, &modern(id, "tools/call", r#""name":"slow""#));
    }
    assert_eq!(sim.client.heard().len(), 2);
    sim.run_for(60 * SECOND);
    assert_eq!(sim.client.heard().len(), 5, "each was answered once");
    sim.client.end();
    sim.run_until_idle();
    sim.assert_nothing_left();
}
