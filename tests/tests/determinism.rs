//! A busy session in every weather: the seed decides everything, every call completes once, and nothing is left.

mod common;

use std::time::Duration;

use windlass::CallError;
use windlass::client::CallOptions;
use windlass::model::{
    CallTool, EmptyParams, GetPrompt, GetPromptParams, ListTools, PaginatedParams, Ping, ReadResource,
    ReadResourceParams, SubscriptionFilter, Tool,
};
use windlass_sim::{InputAnswer, Random, SimClient, SimServer, Weather, handler};

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

fn busy_session(seed: u64, weather: Weather, legacy: bool) -> Summary {
    let mut config = if legacy { legacy_config() } else { client_config() };
    config.idle_timeout = Duration::from_secs(30);
    let mut random = Random::new(seed ^ 0xC0FFEE);
    let server_seed = random.next();
    let mut sim = Sim::new(seed, weather, config, move || {
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
    for step in 0..40 {
        act(&mut sim, &mut random, step);
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
    summary(&sim)
}

fn act(sim: &mut Sim<SimClient, SimServer>, random: &mut Random, step: u32) {
    let slow = CallOptions::new().idle_timeout(Duration::from_secs(90));
    let accepted = match random.between(0, 13) {
        0 | 1 => sim.client.call::<CallTool>(&tool("echo")),
        2 => sim.client.call::<CallTool>(&tool("slow")),
        3 => sim.client.call_with::<CallTool>(&tool("slow"), &slow),
        4 => sim.client.call::<CallTool>(&tool("steps")),
        5 => sim.client.call::<CallTool>(&tool("ask")),
        6 => sim.client.call::<CallTool>(&tool("ask-twice")),
        7 => sim.client.call::<ListTools>(&PaginatedParams::new()),
        8 => sim.client.call::<ReadResource>(&ReadResourceParams::new("file:///a.txt")),
        9 => sim.client.call::<GetPrompt>(&GetPromptParams::new("greet").with_argument("name", "Ada")),
        10 => sim.client.call::<Ping>(&EmptyParams::new()),
        11 => {
            let uris = vec!["file:///a.txt".to_owned()];
            let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(uris);
            sim.client.listen(filter)
        }
        12 => {
            let open = sim.client.open_calls();
            if !open.is_empty() {
                sim.client.cancel(*random.choose(&open), "not wanted any more");
            }
            return;
        }
        _ => {
            let machine = sim.server.machine();
            let name = format!("tool-{step}");
            machine.registry().add_tool(
                Tool::without_arguments(name),
                handler(|_| Ok(windlass::model::CallToolResult::text("new").into())),
            );
            machine.resource_updated("file:///a.txt");
            return;
        }
    };
    assert!(accepted.is_ok(), "{accepted:?}");
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
fn same_seed_same_run(weather: &Weather) {
    let mut total = [0; 5];
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let legacy = seed % 2 == 0;
        let once = busy_session(seed, weather.clone(), legacy);
        let again = busy_session(seed, weather.clone(), legacy);
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
fn calm() {
    same_seed_same_run(&Weather::calm());
}

#[test]
fn bytewise() {
    same_seed_same_run(&Weather::bytewise());
}

#[test]
fn rough() {
    same_seed_same_run(&Weather::rough());
}

#[test]
fn the_weather_changes_no_answer() {
    // The same calls, one after the other, in every weather: what the program sees is the same.
    let run = |weather: Weather, legacy: bool| {
        let config = if legacy { legacy_config() } else { client_config() };
        let mut sim = Sim::new(3, weather, config, common::server);
        common::answer_everything(&mut sim.client);
        sim.run_until(|sim| sim.client.peer().is_some());
        let mut outcomes = Vec::new();
        for name in ["echo", "ask", "steps", "missing", "chatty"] {
            let call = sim.client.call::<CallTool>(&tool(name)).unwrap();
            sim.run_until(|sim| sim.client.outcome(call).is_some());
            outcomes.push((format!("{:?}", sim.client.outcome(call)), sim.client.updates(call).to_vec()));
        }
        sim.client.close();
        sim.run_until_idle();
        sim.assert_nothing_left();
        outcomes
    };
    for legacy in [true, false] {
        let calm = run(Weather::calm(), legacy);
        assert_eq!(calm, run(Weather::bytewise(), legacy));
        assert_eq!(calm, run(Weather::rough(), legacy));
    }
}
