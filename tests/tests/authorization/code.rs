//! Users who log in in a browser.

use std::time::Duration;

use windlass::auth::{AuthError, AuthPrompt, AuthStore as _, MemoryStore, Redirected};
use windlass::client::CallOptions;

use crate::world::{ISSUER, SERVER, Setup, User, World, code_grant};

#[test]
fn users_log_in_and_calls_go_on() {
    for is_modern in [true, false] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert!(world.calls(agent, "now").is_ok());
        let at = |path: &str| format!("{ISSUER}{path}");
        assert_eq!(
            world.asked,
            [
                "GET https://mcp.example/.well-known/oauth-protected-resource/mcp".to_string(),
                format!("GET {}", at("/.well-known/oauth-authorization-server")),
                format!("POST {}", at("/register")),
                format!("POST {}", at("/token")),
            ]
        );
        assert_eq!(world.issuers[0].asked, ["metadata", "register", "authorize", "token authorization_code"]);
        assert_eq!(world.server.count("tools/call"), 1);
        // Another client finds what is stored, and nobody logs in.
        let another = world.connect(code_grant());
        world.is_ready(another);
        assert!(world.calls(another, "now").is_ok());
        assert_eq!(world.issuers[0].asked.len(), 4);
        world.close_all();
    }
}

/// What a client that cannot ask for a login wants the user to do.
fn login_needed(world: &mut World) -> String {
    let mut config = code_grant();
    config.interactive = false;
    // Every process draws its own.
    let agent = world.start(Setup::new(config).seed(100 + world.looks as u64));
    world.run();
    let AuthError::LoginNeeded { url } = world.failure(agent) else { panic!() };
    world.close_all();
    url
}

#[test]
fn a_login_is_finished_by_a_later_connection() {
    let mut world = World::new();
    let url = login_needed(&mut world);
    let back = world.log_in(&url);
    world.pass(Duration::from_secs(60));
    let agent = world.connect(code_grant().finish(Redirected::from_url(&back)));
    world.is_ready(agent);
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("authorize"), 1);
    world.close_all();
    // What was used is used up, also if the code were not; whoever is started again with it goes on with what came of it.
    let again = world.connect(code_grant().finish(Redirected::from_url(&back)));
    world.is_ready(again);
    assert_eq!(world.issuers[0].count("token"), 1);
    world.close_all();
    world.store = MemoryStore::new();
    let again = world.connect(code_grant().finish(Redirected::from_url(&back)));
    assert_eq!(world.failure(again), AuthError::UnknownLogin);
    assert_eq!(world.issuers[0].count("token"), 1);
    world.close_all();
}

#[test]
fn a_login_that_cannot_be_gone_on_with_is_not_used_up() {
    let mut world = World::new();
    world.issuers[0].publish("token_endpoint", "https://tokens.example/token");
    let mut config = code_grant();
    config.guard.allowed_hosts.push("tokens.example".into());
    config.interactive = false;
    let agent = world.connect(config);
    let AuthError::LoginNeeded { url } = world.failure(agent) else { panic!() };
    world.close_all();
    let back = world.log_in(&url);
    for _ in 0..2 {
        let agent = world.connect(code_grant().finish(Redirected::from_url(&back)));
        assert!(matches!(world.failure(agent), AuthError::UrlRefused(_)));
        world.close_all();
    }
}

#[test]
fn a_login_that_nobody_asked_for_or_that_took_too_long_is_not_believed() {
    let mut world = World::new();
    let url = login_needed(&mut world);
    let back = world.log_in(&url);
    let foreign = Redirected::new("code", "state", None);
    for (wait, redirected) in [(0, foreign), (601, Redirected::from_url(&back))] {
        world.pass(Duration::from_secs(wait));
        let agent = world.connect(code_grant().finish(redirected));
        assert_eq!(world.failure(agent), AuthError::UnknownLogin);
        assert_eq!(world.issuers[0].count("token"), 0);
        world.close_all();
    }
}

#[test]
fn several_logins_may_be_under_way_at_once() {
    let mut world = World::new();
    let urls: Vec<_> = (0..3).map(|_| login_needed(&mut world)).collect();
    assert_eq!(world.issuers[0].count("register"), 1, "a client registers once");
    for url in urls.iter().rev() {
        let back = world.log_in(url);
        let agent = world.connect(code_grant().finish(Redirected::from_url(&back)));
        world.is_ready(agent);
        world.close_all();
    }
    let stored = world.store.load(SERVER).unwrap().unwrap();
    assert!(stored.record.pending.is_empty());
}

#[test]
fn logins_that_are_never_finished_make_room() {
    let mut world = World::new();
    for _ in 0..20 {
        login_needed(&mut world);
    }
    let stored = world.store.load(SERVER).unwrap().unwrap();
    assert_eq!(stored.record.pending.len(), 8);
}

#[test]
fn users_come_back_once_and_only_when_they_were_sent() {
    let mut world = World::new();
    world.user = User::Absent;
    let setup = Setup::new(code_grant());
    let agent = world.start(setup);
    // Nobody was sent yet.
    let now = world.now;
    world.agent(agent).client.finish_login(Ok(Redirected::new("c", "s", None)), now);
    world.run_while(|world| world.asked.len() < 2);
    let now = world.now;
    world.agent(agent).client.finish_login(Ok(Redirected::new("c", "s", None)), now);
    world.run();
    let AuthPrompt::Browser { url } = world.agent(agent).prompts[0].clone() else { panic!() };
    let back = Redirected::from_url(&world.log_in(&url));
    let now = world.now;
    world.agent(agent).client.finish_login(Ok(back.clone()), now);
    world.agent(agent).client.finish_login(Ok(back.clone()), now);
    world.run();
    let now = world.now;
    world.agent(agent).client.finish_login(Ok(back), now);
    world.is_ready(agent);
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("token"), 1);
    world.close_all();
}

#[test]
fn users_who_come_back_with_something_else_are_told_so() {
    let mut world = World::new();
    world.user = User::Absent;
    let agent = world.connect(code_grant());
    let now = world.now;
    world.agent(agent).client.finish_login(Ok(Redirected::new("c", "s", None)), now);
    world.run();
    assert_eq!(world.failure(agent), AuthError::UnknownLogin);
    world.close_all();
}

#[test]
fn users_may_say_no() {
    for user in [User::Unwilling, User::Willing] {
        let mut world = World::new();
        world.issuers[0].denies = true;
        world.user = user;
        let agent = world.connect(code_grant());
        let AuthError::Denied { error, .. } = world.failure(agent) else { panic!() };
        assert_eq!(error, if user == User::Willing { "access_denied" } else { "closed" });
        assert_eq!(world.issuers[0].count("token"), 0);
        world.close_all();
    }
}

#[test]
fn who_answers_a_login_is_whom_it_was_asked_of() {
    let slash = format!("{ISSUER}/");
    let capital = "https://AS.example";
    for (supported, iss, believed) in [
        (Some(true), Some(ISSUER), true),
        (Some(true), None, false),
        (Some(true), Some("https://evil.example"), false),
        (Some(true), Some(&*slash), false),
        (None, None, true),
        (Some(false), None, true),
        (None, Some(ISSUER), true),
        (None, Some("https://evil.example"), false),
        (None, Some(&*slash), false),
        (None, Some(capital), false),
    ] {
        for denies in [false, true] {
            let mut world = World::new();
            if let Some(supported) = supported {
                world.issuers[0].publish("authorization_response_iss_parameter_supported", supported);
            }
            world.issuers[0].iss = iss.map(String::from);
            world.issuers[0].denies = denies;
            let agent = world.connect(code_grant());
            if believed && !denies {
                world.is_ready(agent);
            } else {
                let error = world.failure(agent);
                assert_eq!(world.issuers[0].count("token"), 0);
                // Errors of somebody else are not told either.
                assert_eq!(
                    matches!(error, AuthError::OtherIssuer { .. }),
                    !believed,
                    "{supported:?} {iss:?} {error:?}"
                );
            }
            world.close_all();
        }
    }
}

#[test]
fn codes_that_can_be_stolen_are_not_asked_for() {
    for methods in [serde_json::Value::Null, serde_json::json!(["plain"]), serde_json::json!([])] {
        let mut world = World::new();
        world.issuers[0].publish("code_challenge_methods_supported", methods);
        let agent = world.connect(code_grant());
        let AuthError::Unusable { reason, .. } = world.failure(agent) else { panic!() };
        assert!(reason.contains("S256"));
        assert_eq!(world.issuers[0].count("authorize"), 0);
        world.close_all();
    }
}

#[test]
fn time_does_not_run_while_users_log_in() {
    for waits in [Duration::from_secs(500), Duration::from_secs(599)] {
        let mut world = World::new();
        world.user = User::Absent;
        world.server.tool_scope = Some("tools".into());
        let agent = world.connect(code_grant());
        world.pass(waits);
        let AuthPrompt::Browser { url } = world.agent(agent).prompts[0].clone() else { panic!() };
        let back = world.log_in(&url);
        let now = world.now;
        world.agent(agent).client.finish_login(Ok(Redirected::from_url(&back)), now);
        world.run();
        world.is_ready(agent);
        // A call that may take a minute in all, and others behind it, wait for more to be allowed.
        let options = CallOptions::new().idle_timeout(Duration::from_secs(30)).total_timeout(Duration::from_secs(60));
        let first = world.call_with(agent, "first", &options);
        world.run();
        let second = world.call_with(agent, "second", &options);
        world.pass(waits);
        assert!(world.agent(agent).outcomes.is_empty(), "{:?}", world.agent(agent).outcomes);
        let AuthPrompt::Browser { url } = world.agent(agent).prompts[1].clone() else { panic!() };
        let back = world.log_in(&url);
        let now = world.now;
        world.agent(agent).client.finish_login(Ok(Redirected::from_url(&back)), now);
        // The answer takes long, but not too long.
        world.latency = Duration::from_secs(5);
        world.run();
        for call in [first, second] {
            let outcome = world.agent(agent).outcomes.remove(&call);
            assert!(matches!(outcome, Some(Ok(_))), "{outcome:?}");
        }
        assert_eq!(world.server.count("tools/call"), 2);
        world.close_all();
    }
}

#[test]
fn users_who_do_not_come_back_are_not_waited_for_without_end() {
    let mut world = World::new();
    world.user = User::Absent;
    let agent = world.connect(code_grant());
    world.pass(Duration::from_secs(599));
    assert!(world.agent(agent).closed.is_none());
    world.pass(Duration::from_secs(1));
    assert_eq!(world.failure(agent), AuthError::TimedOut);
    world.close_all();
}

#[test]
fn closing_does_not_wait_for_users() {
    for is_modern in [true, false] {
        for stop in 0..12 {
            let mut world = World::new();
            world.server.is_modern = is_modern;
            world.user = User::Absent;
            let agent = world.start(Setup::new(code_grant()));
            world.run_while(|world| world.requests + world.looks < stop);
            world.close(agent);
            assert_eq!(world.now.as_micros(), 0, "closing takes no time");
        }
    }
}

#[test]
fn calls_that_wait_for_a_login_fail_with_it_and_ask_for_no_other() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.issuers[0].revoke_access();
    world.issuers[0].revoke_refresh();
    world.user = User::Absent;
    let first = world.call(agent, "first");
    world.run();
    let others: Vec<_> = (0..5).map(|_| world.call(agent, "other")).collect();
    world.run();
    assert_eq!(world.agent(agent).prompts.len(), 2);
    let now = world.now;
    let denied = AuthError::Denied { error: "closed".into(), description: String::new() };
    world.agent(agent).client.finish_login(Err(denied), now);
    world.run();
    for call in others.into_iter().chain([first]) {
        assert!(matches!(world.agent(agent).outcomes.remove(&call), Some(Err(_))), "{call}");
    }
    assert_eq!(world.agent(agent).prompts.len(), 2, "nobody is asked again for what was refused");
    // But for what comes later.
    world.user = User::Willing;
    assert!(world.calls(agent, "later").is_ok());
    world.close_all();
}
