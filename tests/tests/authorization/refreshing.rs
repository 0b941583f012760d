//! Tokens that end, are refreshed, or are refused.

use std::time::Duration;

use windlass::auth::AuthError;
use windlass::client::Negotiation;

use crate::world::{Answer, Fault, SERVER, Setup, User, World, code_grant};

#[test]
fn tokens_are_refreshed_a_minute_before_they_end() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.pass(Duration::from_secs(3600 - 61));
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("token refresh_token"), 0);
    world.pass(Duration::from_secs(1));
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("token refresh_token"), 1);
    assert_eq!(world.server.refused, 1, "only the first request of all was refused");
    // It rotates: the next is another one.
    for _ in 0..5 {
        world.pass(Duration::from_secs(3600));
        assert!(world.calls(agent, "now").is_ok());
    }
    assert_eq!((world.issuers[0].count("token refresh_token"), world.issuers[0].reuses), (6, 0));
    assert_eq!(world.issuers[0].count("authorize"), 1);
    world.close_all();
}

#[test]
fn tokens_that_nobody_needs_are_not_refreshed() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    let asked = world.asked.len();
    for _ in 0..10 {
        world.pass(Duration::from_secs(1000));
    }
    assert_eq!((world.asked.len(), world.deadline()), (asked, None));
    world.close(agent);
}

#[test]
fn refresh_tokens_that_do_not_rotate_are_kept() {
    let mut world = World::new();
    world.issuers[0].rotates = false;
    let agent = world.connect(code_grant());
    for _ in 0..3 {
        world.pass(Duration::from_secs(3600));
        assert!(world.calls(agent, "now").is_ok());
    }
    assert_eq!(world.issuers[0].count("token refresh_token"), 3);
    assert_eq!(world.issuers[0].count("authorize"), 1);
    world.close_all();
}

#[test]
fn a_token_that_ended_while_nobody_ran_is_refreshed_before_anything_is_sent() {
    for is_modern in [true, false] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        world.close_all();
        world.pass(Duration::from_secs(100_000));
        let refused = world.server.refused;
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert_eq!(world.server.refused, refused);
        assert_eq!(world.issuers[0].count("authorize"), 1);
        world.close_all();
    }
}

#[test]
fn tokens_that_hardly_last_are_not_refreshed_all_the_time() {
    for lasts in [0, 1, 30, 59, 60, 61, 90] {
        let mut world = World::new();
        world.issuers[0].token_lasts = Some(lasts);
        let agent = world.connect(code_grant());
        if lasts == 0 {
            assert_eq!(world.failure(agent), AuthError::TokenNotAccepted);
            world.close_all();
            continue;
        }
        for _ in 0..60 {
            world.pass(Duration::from_secs(1));
            let call = world.call(agent, "now");
            world.run();
            let outcome = world.agent(agent).outcomes.remove(&call).expect("it is over");
            assert!(outcome.is_ok() || lasts == 1, "{lasts}: {outcome:?}");
        }
        let most = if lasts <= 1 { 200 } else { 8 };
        let refreshed = world.issuers[0].count("token refresh_token");
        assert!(refreshed <= most, "{lasts}: {refreshed}");
        world.close_all();
    }
}

#[test]
fn a_refresh_token_that_was_revoked_leads_to_a_login() {
    for early in [true, false] {
        let mut world = World::new();
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        world.issuers[0].revoke_refresh();
        match early {
            true => world.pass(Duration::from_secs(3590)),
            false => world.issuers[0].revoke_access(),
        }
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[0].count("token refresh_token"), 1);
        assert_eq!(world.issuers[0].count("authorize"), 2);
        world.close_all();
    }
}

#[test]
fn a_token_is_used_for_as_long_as_it_is_good() {
    for fault in Fault::ALL {
        let mut world = World::new();
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        world.pass(Duration::from_secs(3545));
        world.fault = Some((world.asked.len() + 1, fault));
        let call = world.call(agent, "now");
        world.pass(Duration::from_secs(30));
        let outcome = world.agent(agent).outcomes.remove(&call);
        assert!(matches!(outcome, Some(Ok(_))), "{fault:?} {outcome:?}");
        world.close_all();
    }
}

#[test]
fn a_client_that_uses_only_what_is_stored_asks_nobody() {
    let stored_only = || {
        let mut config = code_grant();
        config.stored_only = true;
        config
    };
    let mut world = World::new();
    let agent = world.connect(stored_only());
    assert_eq!(world.failure(agent), AuthError::NothingStored);
    world.close_all();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.close_all();
    world.pass(Duration::from_secs(10_000));
    let agent = world.connect(stored_only());
    world.is_ready(agent);
    assert_eq!(world.issuers[0].count("token refresh_token"), 1);
    world.issuers[0].revoke_access();
    world.issuers[0].revoke_refresh();
    assert_eq!(world.refusal(agent, "now"), AuthError::NothingStored);
    assert_eq!(world.issuers[0].count("authorize"), 1);
    world.close_all();
}

#[test]
fn a_server_that_accepts_no_token_is_given_up() {
    for is_modern in [true, false] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        world.server.refuses_all = true;
        let agent = world.connect(code_grant());
        assert_eq!(world.failure(agent), AuthError::TokenNotAccepted);
        assert_eq!(world.issuers[0].count("authorize"), 1, "a login is not asked for twice");
        world.close_all();
        // With a token that can be refreshed that is tried, and then a login.
        let mut world = World::new();
        world.server.is_modern = is_modern;
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        world.server.refuses_all = true;
        assert_eq!(world.refusal(agent, "now"), AuthError::TokenNotAccepted);
        let asked = |what| world.issuers[0].count(what);
        assert_eq!((asked("token refresh_token"), asked("authorize")), (1, 2));
        world.close_all();
    }
}

#[test]
fn calls_wait_for_a_refresh_and_are_made_once_with_the_new_token() {
    for early in [true, false] {
        for is_modern in [true, false] {
            let mut world = World::new();
            world.server.is_modern = is_modern;
            let agent = world.connect(code_grant());
            world.is_ready(agent);
            world.latency = Duration::from_millis(100);
            if early {
                world.pass(Duration::from_secs(3550));
            }
            let done = world.server.done.len();
            let first: Vec<_> = (0..10).map(|call| world.call(agent, &format!("a{call}"))).collect();
            if !early {
                world.issuers[0].revoke_access();
            }
            world.run_while(|world| world.asked.len() < 5);
            let more: Vec<_> = (0..10).map(|call| world.call(agent, &format!("b{call}"))).collect();
            world.run();
            for call in first.into_iter().chain(more) {
                assert!(matches!(world.agent(agent).outcomes.remove(&call), Some(Ok(_))));
            }
            let mut done = world.server.done.split_off(done);
            done.sort();
            let count = done.len();
            done.dedup_by(|one, other| one.0 == other.0);
            assert_eq!((count, done.len()), (20, 20), "each is carried out once");
            assert!(done.iter().all(|(_, token)| *token == done[0].1));
            assert_eq!(world.issuers[0].count("token refresh_token"), 1);
            world.close_all();
        }
    }
}

#[test]
fn a_listening_stream_is_opened_again_with_other_credentials() {
    let mut world = World::new();
    world.server.is_modern = false;
    world.server.lets_listen = true;
    let listening = || {
        let mut setup = Setup::new(code_grant());
        setup.http.listen = true;
        setup.client.negotiation = Negotiation::Legacy;
        setup
    };
    let agent = world.start(listening());
    world.run();
    world.is_ready(agent);
    world.close_all();
    // A token that is refused when the client begins to listen.
    world.server.refuses_listening = true;
    let agent = world.start(listening());
    world.run();
    world.is_ready(agent);
    assert!(world.calls(agent, "now").is_ok());
    world.pass(Duration::from_secs(100));
    let asked = |what| world.issuers[0].count(what);
    assert_eq!((asked("authorize"), asked("token refresh_token")), (1, 1), "a stream is not worth more");
    assert!(world.requests < 60, "{}", world.requests);
    world.server.refuses_listening = false;
    world.issuers[0].revoke_access();
    assert!(world.calls(agent, "now").is_ok());
    world.close_all();
}

#[test]
fn a_refusal_that_is_none_of_its_business_does_not_wait_for_a_login() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.latency = Duration::from_millis(100);
    world.user = User::Absent;
    let plain = world.call(agent, "plain");
    world.instead.push_back((format!("POST {}", SERVER), Answer::new(403)));
    let login = world.call(agent, "login");
    world.server.tool_scope = Some("more".into());
    world.run();
    let mut outcomes = std::mem::take(&mut world.agent(agent).outcomes);
    let outcome = outcomes.remove(&plain).or(outcomes.remove(&login));
    assert!(matches!(outcome, Some(Err(windlass::CallError::Http(_)))), "{outcome:?}");
    world.close_all();
}
