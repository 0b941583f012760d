//! A busy session under all network conditions: the seed decides everything, every call completes once, with what was asked for, and
//! nothing is left.

mod common;

use std::time::Duration;

use windlass::client::CallOptions;
use windlass::model::{
    CallTool, CallToolParams, EmptyParams, GetPrompt, GetPromptParams, ListTools, PaginatedParams, Ping, ReadResource,
    ReadResourceParams, SubscriptionFilter, Tool,
};
use windlass::{CallError, Json};
use windlass_sim::{InputAnswer, NetworkConditions, Random, SimClient, SimServer, handler};

use common::laws::{Held, assert_obeyed};
use common::{Sim, answer_to, client_config, legacy_config, registry, server_config, tool};

/// What a session came to.
#[derive(Debug, PartialEq)]
struct Summary {
    hash: u64,
    calls: u64,
    results: usize,
    cancelled: usize,
    timed_out: usize,
    closed: usize,
}

fn busy_session(seed: u64, conditions: NetworkConditions, legacy: bool) -> Summary {
    let mut config = if legacy { legacy_config() } else { client_config() };
    config.idle_timeout = Duration::from_secs(30);
    let mut random = Random::new(seed ^ 0xC0FFEE);
    let server_seed = random.next();
    let mut sim = Sim::new(seed, conditions, config, move || {
        let mut config = server_config();
        config.time_to_live = Duration::from_secs(5);
        SimServer::new(config, registry(), server_seed)
    });
    let mut answers = random.fork();
    sim.client.on_input(move |request| match answers.between(0, 3) {
        0 => InputAnswer::Later,
        1 => InputAnswer::After(Duration::from_millis(answers.between(1, 2000)), Ok(answer_to(request))),
        2 => InputAnswer::After(Duration::from_secs(1), Err(windlass::RpcError::internal("no"))),
        _ => InputAnswer::Now(Ok(answer_to(request))),
    });
    assert!(sim.run_until(|sim| sim.client.peer().is_some()), "{}", sim.transcript());
    let mut expected = Vec::new();
    for step in 0..40 {
        expected.extend(act(&mut sim, &mut random, step));
        sim.run_for(Duration::from_millis(random.between(0, 3000)));
    }
    // Some calls are open when the end comes.
    match random.between(0, 3) {
        0 => sim.server.close(),
        1 => sim.cut(),
        _ => sim.client.close(),
    }
    sim.run_until_idle();
    assert!(sim.client.closed().is_some() && sim.server.closed().is_some(), "{}", sim.transcript());
    sim.assert_nothing_left();
    // Whoever is closed has nothing to say and nothing to wait for.
    let (over, length) = (sim.now(), sim.transcript().len());
    sim.run_for(Duration::from_secs(3600));
    assert_eq!(sim.transcript().len(), length, "something is said after the end:\n{}", sim.transcript());
    sim.run_until_idle();
    assert_eq!(sim.now(), over + Duration::from_secs(3600), "somebody is woken after the end");
    assert_obeyed(sim.transcript(), Held::Both);
    for (call, expected) in expected {
        check(&sim, call, &expected);
    }
    summary(&sim)
}

/// What a call has to come to, if it comes to a result.
enum Expected {
    /// A text that is in no other result.
    Text(String),
    /// One of the texts of a tool that asks its user, who may decline.
    OneOf(&'static [&'static str]),
    /// Three steps of progress, or fewer if the call does not get that far, and a text.
    Steps,
    /// What a method says, of which the calls do not differ.
    Member(&'static str),
}

/// A call that has a result has its own.
fn check(sim: &Sim<SimClient, SimServer>, call: u64, expected: &Expected) {
    let updates = sim.client.updates(call);
    let steps = matches!(expected, Expected::Steps);
    for (update, step) in updates.iter().zip(1..) {
        let said = format!(r#""progress":{step},"total":3"#);
        assert!(steps && update.starts_with("progress ") && update.contains(&said), "call {call}: {updates:?}");
    }
    assert!(updates.len() <= 3, "call {call}: {updates:?}");
    let Some(Ok(result)) = sim.client.outcome(call) else { return };
    let result = result.as_str();
    let is_right = match expected {
        Expected::Text(text) => result.contains(text),
        Expected::OneOf(texts) => texts.iter().any(|text| result.contains(text)),
        Expected::Steps => updates.len() == 3 && result.contains("three steps"),
        Expected::Member(member) => result.contains(member),
    };
    assert!(is_right, "call {call} has another's result {result}:\n{}", sim.transcript());
}

/// Does one thing that may happen at any time. If it is a call, says what is to come of it.
fn act(sim: &mut Sim<SimClient, SimServer>, random: &mut Random, step: u32) -> Option<(u64, Expected)> {
    let slow = CallOptions::new().idle_timeout(Duration::from_secs(90));
    let mark = format!("step {step} of {}", random.next());
    let marked = CallToolParams::new("echo").with_arguments(Json::from(serde_json::json!({ "mark": mark })));
    let (accepted, expected) = match random.between(0, 13) {
        0 | 1 => (sim.client.call::<CallTool>(&marked), Expected::Text(mark)),
        2 => (sim.client.call::<CallTool>(&tool("slow")), Expected::OneOf(&[])),
        3 => (sim.client.call_with::<CallTool>(&tool("slow"), &slow), Expected::Text("at last".into())),
        4 => (sim.client.call::<CallTool>(&tool("steps")), Expected::Steps),
        5 => (sim.client.call::<CallTool>(&tool("ask")), Expected::OneOf(&["accept: ", "could not answer"])),
        6 => (sim.client.call::<CallTool>(&tool("ask-twice")), Expected::OneOf(&["Ada\\\"} {", "could not answer"])),
        7 => (sim.client.call::<ListTools>(&PaginatedParams::new()), Expected::Member(r#""tools":[{"name":"echo""#)),
        8 => {
            let params = ReadResourceParams::new(format!("file:///notes/{step}"));
            (sim.client.call::<ReadResource>(&params), Expected::Text(format!("note {step}\"")))
        }
        9 => {
            let params = GetPromptParams::new("greet").with_argument("name", mark.clone());
            (sim.client.call::<GetPrompt>(&params), Expected::Text(format!("Greet {mark}")))
        }
        10 => (sim.client.call::<Ping>(&EmptyParams::new()), Expected::Member("{")),
        11 => {
            let uris = vec!["file:///a.txt".to_owned()];
            let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(uris);
            let accepted = sim.client.listen(filter);
            assert!(accepted.is_ok(), "{accepted:?}");
            return None;
        }
        12 => {
            let open = sim.client.open_calls();
            if !open.is_empty() {
                sim.client.cancel(*random.choose(&open), "not wanted any more");
            }
            return None;
        }
        _ => {
            let machine = sim.server.machine();
            let name = format!("tool-{step}");
            machine.registry().add_tool(
                Tool::without_arguments(name),
                handler(|_| Ok(windlass::model::CallToolResult::text("new").into())),
            );
            machine.resource_updated("file:///a.txt");
            return None;
        }
    };
    let call = accepted.unwrap_or_else(|why| panic!("{why:?}:\n{}", sim.transcript()));
    Some((call, expected))
}

/// Counts how the calls ended. That each ended once is asserted by the client itself.
fn summary(sim: &Sim<SimClient, SimServer>) -> Summary {
    let mut summary = Summary {
        hash: sim.trace().hash(),
        calls: sim.client.calls(),
        results: 0,
        cancelled: 0,
        timed_out: 0,
        closed: 0,
    };
    assert_eq!(sim.client.open_calls(), Vec::<u64>::new(), "every call is over:\n{}", sim.transcript());
    for call in 1..=summary.calls {
        match sim.client.outcome(call).expect("every call is over") {
            Ok(_) => summary.results += 1,
            Err(CallError::Cancelled) => summary.cancelled += 1,
            Err(CallError::TimedOut { .. }) => summary.timed_out += 1,
            Err(CallError::Closed(_)) => summary.closed += 1,
            Err(CallError::InputFailed(_)) => {}
            Err(other) => panic!("call {call} failed in a way that nobody asked for: {other:?}\n{}", sim.transcript()),
        }
    }
    summary
}

/// Runs 200 seeds in both eras, each twice.
fn same_seed_same_run(conditions: &NetworkConditions) {
    let mut total = [0; 5];
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let legacy = seed % 2 == 0;
        let once = busy_session(seed, conditions.clone(), legacy);
        let again = busy_session(seed, conditions.clone(), legacy);
        assert_eq!(once, again, "seed {seed}");
        hashes.insert(once.hash);
        let counts = [once.calls as usize, once.results, once.cancelled, once.timed_out, once.closed];
        for (total, count) in total.iter_mut().zip(counts) {
            *total += count;
        }
    }
    assert_eq!(hashes.len(), 200, "another seed is another run");
    assert!(total.iter().all(|&count| count > 50), "every way to end was taken: {total:?}");
}

#[test]
fn the_same_seed_is_the_same_run_where_nothing_is_late() {
    same_seed_same_run(&NetworkConditions::ideal());
}

#[test]
fn the_same_seed_is_the_same_run_byte_by_byte() {
    same_seed_same_run(&NetworkConditions::bytewise());
}

#[test]
fn the_same_seed_is_the_same_run_on_a_rough_network() {
    same_seed_same_run(&NetworkConditions::rough());
}

#[test]
fn network_conditions_change_no_answer() {
    // The same calls, one after the other, under all network conditions: what the program sees is the same.
    let run = |conditions: NetworkConditions, legacy: bool| {
        let config = if legacy { legacy_config() } else { client_config() };
        let mut sim = Sim::new(3, conditions, config, common::server);
        common::answer_everything(&mut sim.client);
        assert!(sim.run_until(|sim| sim.client.peer().is_some()));
        let mut outcomes = Vec::new();
        for name in ["echo", "ask", "steps", "missing", "chatty"] {
            let call = sim.client.call::<CallTool>(&tool(name)).unwrap();
            assert!(sim.run_until(|sim| sim.client.outcome(call).is_some()));
            outcomes.push((format!("{:?}", sim.client.outcome(call)), sim.client.updates(call).to_vec()));
        }
        sim.client.close();
        sim.run_until_idle();
        sim.assert_nothing_left();
        outcomes
    };
    for legacy in [true, false] {
        let calm = run(NetworkConditions::ideal(), legacy);
        assert_eq!(calm, run(NetworkConditions::bytewise(), legacy));
        assert_eq!(calm, run(NetworkConditions::rough(), legacy));
    }
}
