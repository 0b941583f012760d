//! Peers that say anything at any time: nothing panics, every call ends once, nothing is left.

mod common;

use std::time::Duration;

use windlass::client::{KeepAliveConfig, Negotiation};
use windlass::model::{CallTool, Elicit, ElicitFormParams, ListTools, PaginatedParams, SubscriptionFilter};
use windlass_sim::{InputAnswer, NetworkConditions, Random, Side};

use common::laws::{Held, assert_obeyed};
use common::{META, Sim, answer_to, client_config, initialize, initialize_answer, registry, server_config, tool};

/// Something that a server might say, with an id that is likely to mean something.
fn words_of_a_server(random: &mut Random) -> String {
    let id = random.between(0, 12);
    match random.between(0, 21) {
        0 => initialize_answer(id, random.choose::<&str>(&["2025-03-26", "2025-11-25", "2026-07-28", "x"])),
        1 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}}}}}"#
        ),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#),
        5 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"a":{{"method":"roots/list"}},"b":{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}}}}}"#
        ),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"strange"}}}}"#),
        7 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"m","data":{{"supported":["2026-07-28","2025-11-25"]}}}}}}"#
        ),
        8 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"m"}}}}"#),
        9 => r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#.into(),
        10 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":7}}"#),
        11 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}"#
        ),
        12 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#),
        13 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        14 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        15 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ),
        16 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        ),
        17 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        ),
        18 => r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#.into(),
        19 => format!(r#"[{{"jsonrpc":"2.0","id":{id},"result":{{}}}},{{"jsonrpc":"2.0","id":{id},"method":"ping"}}]"#),
        20 => "{".repeat(300),
        _ => "x".repeat(3000),
    }
}

#[test]
fn a_client_survives_any_server() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let mut config = client_config();
        config.negotiation = *random.choose(&[Negotiation::Automatic, Negotiation::Legacy]);
        config.limits.message_bytes = 2500;
        config.limits.pending_calls = 5;
        config.limits.input_rounds = 2;
        if random.one_in(3) {
            config.keep_alive = Some(KeepAliveConfig::every(Duration::from_secs(20)));
        }
        let conditions = random.choose(&[NetworkConditions::ideal(), NetworkConditions::rough()]).clone();
        let mut sim = Sim::with_scripted_server(seed, conditions, config);
        let mut answers = random.fork();
        sim.client.on_input(move |request| match answers.between(0, 2) {
            0 => InputAnswer::Later,
            1 => InputAnswer::Now(Ok(answer_to(request))),
            _ => InputAnswer::After(Duration::from_secs(3), Err(windlass::RpcError::internal("no"))),
        });
        for _ in 0..60 {
            let _ = match random.between(0, 6) {
                0 => sim.client.call::<CallTool>(&tool("a")),
                1 => sim.client.call::<ListTools>(&PaginatedParams::new()),
                2 => sim.client.listen(SubscriptionFilter::new().with_tools_list_changed(true)),
                3 => {
                    let open = sim.client.open_calls();
                    if !open.is_empty() {
                        sim.client.cancel(*random.choose(&open), "enough");
                    }
                    Ok(0)
                }
                _ => {
                    let words = words_of_a_server(&mut random);
                    sim.server.say(&words);
                    Ok(0)
                }
            };
            if random.one_in(40) {
                sim.server.exit();
            }
            sim.run_for(Duration::from_millis(random.between(0, 4000)));
        }
        sim.client.close();
        sim.run_until_idle();
        assert!(sim.client.closed().is_some(), "seed {seed}:\n{}", sim.transcript());
        sim.assert_nothing_left();
        assert_obeyed(sim.transcript(), Held::Only(Side::Client));
    }
}

/// Something that a client might say.
fn words_of_a_client(random: &mut Random) -> String {
    let id = random.between(0, 8);
    let name = *random.choose(&["echo", "slow", "steps", "ask", "ask-twice", "chatty", "grow", "missing"]);
    match random.between(0, 16) {
        0 => initialize(random.choose::<&str>(&["2025-03-26", "2025-11-25", "x"])),
        1 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        2 | 3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#),
        4 | 5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}",{META}}}}}"#),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"cursor":"{id}",{META}}}}}"#),
        7 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{META}}}}}"#
        ),
        8 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"file:///a.txt"}}}}"#
        ),
        9 | 10 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        11 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"name":"Ada"}}}}}}"#),
        12 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"m"}}}}"#),
        13 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":7}}"#),
        14 => format!(r#"[{{"jsonrpc":"2.0","id":{id},"method":"ping"}},7]"#),
        15 => "[".repeat(300),
        _ => "x".repeat(3000),
    }
}

#[test]
fn a_server_survives_any_client() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let mut config = server_config();
        config.limits.message_bytes = 2500;
        config.limits.incoming_requests = 5;
        config.limits.input_rounds = 2;
        config.input_timeout = Duration::from_secs(10);
        if random.one_in(3) {
            config.keep_alive = Some(KeepAliveConfig::every(Duration::from_secs(20)));
        }
        let conditions = random.choose(&[NetworkConditions::ideal(), NetworkConditions::rough()]).clone();
        let server = windlass_sim::SimServer::new(config, registry(), seed);
        let mut sim = Sim::with_scripted_client(seed, conditions, server);
        for _ in 0..60 {
            match random.between(0, 6) {
                0 => sim.server.machine().resource_updated("file:///a.txt"),
                1 => {
                    let _ = sim.server.call::<Elicit>(&ElicitFormParams::new("Anyone?").into());
                }
                _ => {
                    let words = words_of_a_client(&mut random);
                    sim.client.say(&words);
                }
            }
            sim.run_for(Duration::from_millis(random.between(0, 4000)));
        }
        match random.between(0, 2) {
            0 => sim.server.close(),
            1 => sim.cut(),
            _ => sim.client.end(),
        }
        sim.run_until_idle();
        assert!(sim.server.closed().is_some(), "seed {seed}:\n{}", sim.transcript());
        sim.assert_nothing_left();
        assert_obeyed(sim.transcript(), Held::Only(Side::Server));
    }
}
