//! The same calls under all network conditions.

use std::time::Duration;

use windlass::client::Negotiation;
use windlass::link::http::HttpServerConfig;
use windlass_sim::NetworkConditions;

use crate::town::{ERAS, TOOLS, Town, address};

/// What a client sees of its calls, one after the other.
fn seen(conditions: NetworkConditions, negotiation: Negotiation, json_answers: bool) -> Vec<(String, Vec<String>)> {
    let mut http = HttpServerConfig::on_loopback();
    http.json_answers = json_answers;
    let mut town = Town::new(3, conditions, http);
    let client = town.settle_in("ada", negotiation, address());
    assert!(town.run_until(|sim| sim[client].peer().is_some()), "{}", town.transcript());
    let mut seen = Vec::new();
    for tool in TOOLS.into_iter().chain(["missing"]) {
        let call = town.call(client, tool).unwrap();
        assert!(town.run_until(|sim| sim[client].outcome(call).is_some()), "{}", town.transcript());
        // Each call has its own answer, so that failing alike everywhere is no agreement.
        let is_answered = tool != "missing" && (tool != "ask" || town.can_ask(client));
        let outcome = town.outcome(client, call).expect("the call is over");
        assert_eq!(outcome.is_ok(), is_answered, "{tool}, {negotiation:?}: {outcome:?}\n{}", town.transcript());
        seen.push((format!("{:?}", town[client].outcome(call)), town[client].updates(call).to_vec()));
    }
    town.close();
    seen
}

#[test]
fn network_conditions_change_no_answer() {
    for negotiation in ERAS {
        for json_answers in [true, false] {
            let calm = seen(NetworkConditions::ideal(), negotiation, json_answers);
            assert_eq!(calm, seen(NetworkConditions::bytewise(), negotiation, json_answers), "{negotiation:?}");
            assert_eq!(calm, seen(NetworkConditions::rough(), negotiation, json_answers), "{negotiation:?}");
            let narrow = NetworkConditions {
                capacity: 7,
                delay: Duration::ZERO..=Duration::from_millis(3),
                ..NetworkConditions::rough()
            };
            assert_eq!(calm, seen(narrow, negotiation, json_answers), "{negotiation:?}");
        }
    }
}
