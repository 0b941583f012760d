//! A protected server: clients with good tokens and bad ones, and verifications that take their time.

use std::time::Duration;

use windlass::auth::{Principal, ProtectedResource, TokenRejected};
use windlass::link::http::HttpServerConfig;
use windlass_sim::NetworkConditions;

use crate::town::{ERAS, Town, address, server};

const RESOURCE: &str = "http://localhost/mcp";

fn verify(token: &str) -> (Duration, Result<Principal, TokenRejected>) {
    let alice = Principal::new("alice").audience(RESOURCE).scopes(["mcp"]);
    match token {
        "good" => (Duration::from_millis(300), Ok(alice)),
        "late" => (Duration::from_secs(60), Ok(alice)),
        _ => (Duration::ZERO, Err(TokenRejected::invalid("nobody made it"))),
    }
}

fn town(seed: u64) -> Town {
    let mut http = HttpServerConfig::on_loopback();
    let resource = ProtectedResource::new(RESOURCE, "https://login.example.com").expect("a URL");
    http.authorization = Some(resource.required_scopes(["mcp"]));
    let mut town = Town::new(seed, NetworkConditions::ideal(), http.clone());
    town.server = server(seed, http).verified_by(verify);
    town
}

#[test]
fn who_has_a_token_is_served_and_nobody_else_is() {
    for (seed, era) in (0..).zip(ERAS) {
        let mut town = town(seed);
        let with = |token: &str| address().header("Authorization", &format!("Bearer {token}")).expect("a header");
        let good = town.settle_in("good", era, with("good"));
        let strangers = [
            town.settle_in("wrong", era, with("wrong")),
            town.settle_in("late", era, with("late")),
            town.settle_in("nobody", era, address()),
        ];
        let _ = town.run_until(|sim| strangers.iter().all(|client| sim[*client].closed().is_some()));
        assert_eq!(town.server.requests(), 0, "{}", town.transcript());
        let calls: Vec<_> = ["echo", "late", "steps"].map(|tool| town.call(good, tool).expect("it is ready")).into();
        let _ = town.run_until(|sim| calls.iter().all(|call| sim[good].outcome(*call).is_some()));
        for call in calls {
            assert_eq!(town.outcome(good, call), Some(Ok(())), "{}", town.transcript());
        }
        for client in strangers {
            assert!(town[client].closed().is_some(), "{}", town.transcript());
        }
        let transcript = town.transcript();
        assert!(transcript.contains("uthorization: …") && transcript.contains("to be verified"), "{transcript}");
        assert!(!transcript.contains("Bearer good"), "{transcript}");
        town.close();
    }
}
