//! Authorization servers, stores and settings that mean harm, or are merely odd.

use std::time::Duration;

use serde_json::json;
use windlass::auth::{AuthError, AuthPrompt, AuthStore as _, Grant};

use crate::world::{Answer, ISSUER, SERVER, Setup, User, World, code_grant, grant};

fn answers(text: &str) -> Answer {
    let answer = Answer { body: text.as_bytes().to_vec(), ..Answer::new(200) };
    answer.header("Content-Type", "application/json")
}

#[test]
fn a_token_in_an_answer_that_is_not_understood_is_not_told() {
    for answer in ["\"hunter2hunter2\"", "{\"access_token\":71234567890123}", "71234567890123"] {
        let mut world = World::new();
        world.instead.push_back((format!("POST {ISSUER}/token"), answers(answer)));
        let agent = world.connect(code_grant());
        let error = world.failure(agent);
        let told = format!("{error:?} {error}");
        assert!(!told.contains("hunter2") && !told.contains("71234567890123"), "{told}");
    }
}

#[test]
fn a_password_in_a_registration_that_is_not_understood_is_not_told() {
    let mut world = World::new();
    let answer = answers("{\"client_id\":\"c\",\"client_secret\":71234567890123}");
    world.instead.push_back((format!("POST {ISSUER}/register"), answer));
    let agent = world.connect(code_grant());
    let error = world.failure(agent);
    let told = format!("{error:?} {error}");
    assert!(!told.contains("71234567890123"), "{told}");
}

#[test]
fn a_token_that_cannot_stand_in_a_header_is_not_kept() {
    for token in ["a\r\nX-Evil: 1", "a b\n", "", "\u{e9}"] {
        let mut world = World::new();
        let answer = json!({"access_token": token, "token_type": "Bearer"}).to_string();
        world.instead.push_back((format!("POST {ISSUER}/token"), answers(&answer)));
        let agent = world.connect(code_grant());
        let error = world.failure(agent);
        assert!(matches!(error, AuthError::TokenRefused { .. }), "{token:?}: {error:?}");
        // The next one has a chance.
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        world.close_all();
    }
}

#[test]
fn a_lease_that_never_ends_holds_nobody_up_for_ever() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    let stored = world.store.load(SERVER).unwrap().unwrap();
    let mut record = serde_json::to_value(&stored.record).unwrap();
    record["lease"] = json!({"owner": "somebody", "until": u64::MAX});
    let record = serde_json::from_value(record).unwrap();
    world.store.swap(SERVER, Some(stored.version), Some(&record)).unwrap();
    world.issuers[0].revoke_access();
    let call = world.call(agent, "now");
    world.pass(Duration::from_secs(290));
    assert!(world.agent(agent).outcomes.is_empty(), "somebody may be at it");
    world.pass(Duration::from_secs(30));
    let outcome = world.agent(agent).outcomes.remove(&call);
    assert!(matches!(outcome, Some(Ok(_))), "{outcome:?}");
    assert_eq!(world.issuers[0].count("authorize"), 1);
    world.close_all();
}

#[test]
fn programs_that_want_to_wait_for_ever_may() {
    let mut config = code_grant();
    config.request_timeout = Duration::MAX;
    config.login_timeout = Duration::MAX;
    config.early = Duration::MAX;
    let mut world = World::new();
    let agent = world.connect(config.clone());
    world.is_ready(agent);
    world.issuers[0].revoke_access();
    assert!(world.calls(agent, "now").is_ok());
    world.close_all();
}

#[test]
fn a_page_in_the_way_does_not_cost_the_refresh_token() {
    for status in [403, 404, 407, 408] {
        let mut world = World::new();
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        world.user = User::Absent;
        world.issuers[0].revoke_access();
        let page = Answer { body: b"<html>Please log in to the network".to_vec(), ..Answer::new(status) };
        world.instead.push_back((format!("POST {ISSUER}/token"), page.header("Content-Type", "text/html")));
        let call = world.call(agent, "now");
        world.pass(Duration::from_secs(60));
        let outcome = world.agent(agent).outcomes.remove(&call);
        assert!(matches!(outcome, Some(Err(_))), "{status}: {outcome:?}");
        assert!(world.calls(agent, "now").is_ok(), "{status}");
        assert_eq!(world.issuers[0].count("authorize"), 1, "{status}");
        world.close_all();
    }
}

#[test]
fn errors_may_come_with_the_status_of_a_success() {
    let error = |error: &str| answers(&json!({"error": error}).to_string());
    let mut world = World::new();
    for _ in 0..3 {
        world.instead.push_back((format!("POST {ISSUER}/token"), error("authorization_pending")));
    }
    let agent = world.connect(grant(Grant::Device));
    world.pass(Duration::from_secs(60));
    world.is_ready(agent);
    world.close_all();
    // A refresh token that is no good any more.
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.issuers[0].revoke_access();
    world.instead.push_back((format!("POST {ISSUER}/token"), error("bad_refresh_token")));
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("authorize"), 2);
    world.close_all();
}

#[test]
fn what_is_shown_of_a_login_elsewhere_is_plain() {
    let mut world = World::new();
    world.user = User::Absent;
    let answer = json!({
        "device_code": "d", "user_code": "AB\u{1b}[2J\nCD", "expires_in": 60,
        "verification_uri": format!("{ISSUER}/device#\u{1b}[2J\nrun this"),
        "verification_uri_complete": format!("  {ISSUER}/device?x#\n\u{7}"),
    });
    world.instead.push_back((format!("POST {ISSUER}/device"), answers(&answer.to_string())));
    let agent = world.connect(grant(Grant::Device));
    for prompt in &world.agent(agent).prompts {
        let AuthPrompt::Device { url, complete_url, user_code } = prompt else { panic!() };
        for text in [url, user_code].into_iter().chain(complete_url) {
            assert!(!text.contains(char::is_control), "{prompt:?}");
        }
    }
}

#[test]
fn a_clock_that_stood_still_does_not_make_two_use_a_refresh_token() {
    for seed in 0..100 {
        let mut world = World::new();
        let first = world.connect(code_grant());
        world.is_ready(first);
        let second = world.start(Setup::new(code_grant()).seed(2).behind(8 * 3600));
        world.run();
        world.user = User::Absent;
        world.random = windlass_sim::Random::new(seed);
        world.latency = Duration::from_millis(900);
        world.store_latency = Duration::from_millis(30);
        world.issuers[0].revoke_access();
        let calls = [(second, world.call(second, "now")), (first, world.call(first, "now"))];
        world.pass(Duration::from_secs(300));
        assert_eq!(world.issuers[0].reuses, 0, "{seed}");
        for (agent, call) in calls {
            let outcome = world.agent(agent).outcomes.remove(&call);
            assert!(matches!(outcome, Some(Ok(_))), "{seed}: {outcome:?}");
        }
    }
}

#[test]
fn an_assertion_is_not_shown_to_whoever_the_server_names() {
    use windlass::auth::{AuthConfig, KnownClient, Secret};
    let mut world = World::new();
    world.issuers[0].publish("client_id_metadata_document_supported", true);
    let config = AuthConfig::new(Grant::JwtBearer { assertion: Secret::new("workload-assertion") })
        .client(KnownClient::new("me").issuer("https://real-as.example"))
        .client_metadata_url("https://me.example/client.json");
    let _ = world.connect(config);
    let shown = world.issuers[0].last_form.iter().any(|(_, value)| value == "workload-assertion");
    assert!(!shown, "{:?}", world.issuers[0].last_form);
}

#[test]
fn a_server_that_names_ever_other_issuers_fills_no_disk() {
    let mut world = World::new();
    world.issuers.clear();
    for n in 0..40 {
        let issuer = format!("https://as{n}.example");
        world.issuers = vec![crate::issuer::Issuer::new(&issuer)];
        world.server.names(crate::world::PRM, &[&issuer]);
        let mut config = code_grant();
        config.interactive = false;
        let agent = world.connect(config);
        assert!(matches!(world.failure(agent), AuthError::LoginNeeded { .. }));
    }
    let stored = world.store.load(SERVER).unwrap().unwrap();
    assert!(stored.record.issuers.len() <= 16, "{}", stored.record.issuers.len());
}

#[test]
fn what_an_authorization_server_repeats_of_a_request_is_not_told() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.issuers[0].revoke_access();
    let stored = world.store.load(SERVER).unwrap().unwrap();
    let token = stored.record.issuers.values().find_map(|known| known.tokens.clone()).unwrap().refresh_token.unwrap();
    let answer = Answer { status: 503, ..answers(&format!("no such token: {}", token.expose())) };
    world.instead.push_back((format!("POST {ISSUER}/token"), answer));
    let error = world.refusal(agent, "now");
    assert!(!format!("{error:?} {error}").contains(token.expose()), "{error}");
}

#[test]
fn a_page_of_the_servers_own_is_a_page() {
    let mut world = World::new();
    world.user = User::Absent;
    world.server.documents.clear();
    world.issuers = vec![crate::issuer::Issuer::new("https://mcp.example")];
    world.issuers[0].publish("authorization_endpoint", "https://mcp.example/authorize\"|calc`x`");
    let agent = world.connect(code_grant());
    let error = world.failure(agent);
    assert!(matches!(error, AuthError::UrlRefused(_)), "{error:?}");
    assert!(world.agent(agent).prompts.is_empty());
}

#[test]
fn numbers_of_a_login_elsewhere_may_be_written_in_any_way() {
    for number in ["0", "18446744073709551615", "1e300", "-1", "5.0", "\"5\"", "\"x\""] {
        let mut world = World::new();
        let answer = format!(
            "{{\"device_code\":\"d\",\"user_code\":\"u\",\"verification_uri\":\"{ISSUER}/device\",\"interval\":{number}}}"
        );
        world.user = User::Absent;
        world.instead.push_back((format!("POST {ISSUER}/device"), answers(&answer)));
        let pending = || answers("{\"error\":\"authorization_pending\"}");
        world.instead.push_back((format!("POST {ISSUER}/token"), pending()));
        let agent = world.connect(grant(Grant::Device));
        world.pass(Duration::from_secs(61));
        assert_eq!(world.agent(agent).prompts.len(), 1, "{number}");
        assert!(world.asked.iter().any(|asked| asked.ends_with("/token")), "{number}");
    }
}
