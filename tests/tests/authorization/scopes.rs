//! What is asked for, and how much more.

use serde_json::json;
use windlass::auth::AuthError;

use crate::world::{PRM, World, code_grant};

fn publishes(world: &mut World, scopes: &[&str]) {
    world.server.documents.get_mut(PRM).unwrap()["scopes_supported"] = json!(scopes);
}

fn asked(world: &World) -> Option<&str> {
    world.issuers[0].login_field("scope")
}

#[test]
fn the_challenge_says_what_to_ask_for_or_else_the_metadata() {
    for (challenge, published, expected) in [
        (Some("mcp:basic"), &["mcp:basic", "mcp:read"][..], Some("mcp:basic")),
        (None, &["mcp:basic", "mcp:read", "mcp:write"], Some("mcp:basic mcp:read mcp:write")),
        (None, &[], None),
    ] {
        let mut world = World::new();
        world.server.challenge_scope = challenge.map(String::from);
        if !published.is_empty() {
            publishes(&mut world, published);
        }
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert_eq!(asked(&world), expected);
        world.close_all();
    }
    let mut world = World::new();
    world.server.challenge_scope = Some("mcp:basic".into());
    let agent = world.connect(code_grant().scopes(["mine"]));
    world.is_ready(agent);
    assert_eq!(asked(&world), Some("mine"));
    world.close_all();
}

#[test]
fn what_lasts_is_asked_for_where_it_is_offered() {
    for (offered, expected) in [(true, "mcp:basic offline_access"), (false, "mcp:basic")] {
        let mut world = World::new();
        world.server.challenge_scope = Some("mcp:basic".into());
        if offered {
            world.issuers[0].publish("scopes_supported", json!(["mcp:basic", "offline_access"]));
        }
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert_eq!(asked(&world), Some(expected));
        assert_eq!(world.issuers[0].login_field("prompt"), offered.then_some("consent"));
        world.close_all();
    }
}

#[test]
fn more_is_asked_for_with_what_was_asked_for_before() {
    for is_modern in [true, false] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        world.server.challenge_scope = Some("mcp:basic".into());
        publishes(&mut world, &["mcp:basic", "mcp:profile"]);
        world.server.tool_scope = Some("mcp:write".into());
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert_eq!(asked(&world), Some("mcp:basic"));
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(asked(&world), Some("mcp:basic mcp:write"));
        assert_eq!(world.issuers[0].count("authorize"), 2);
        assert_eq!(world.server.count("tools/call"), 1);
        world.server.tool_scope = Some("mcp:admin".into());
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(asked(&world), Some("mcp:basic mcp:write mcp:admin"));
        world.close_all();
    }
}

#[test]
fn a_client_that_uses_only_what_is_stored_says_what_it_would_need() {
    let mut world = World::new();
    world.server.challenge_scope = Some("mcp:basic".into());
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.close_all();
    let mut config = code_grant();
    config.stored_only = true;
    let agent = world.connect(config);
    world.is_ready(agent);
    world.server.tool_scope = Some("mcp:write".into());
    let scope = "mcp:write".to_owned();
    assert_eq!(world.refusal(agent, "now"), AuthError::InsufficientScope { scope });
    assert_eq!(world.issuers[0].count("authorize"), 1);
    world.close_all();
}

#[test]
fn what_another_client_was_granted_meanwhile_is_used() {
    let mut world = World::new();
    let (one, other) = (world.connect(code_grant()), world.connect(code_grant()));
    world.is_ready(other);
    world.server.tool_scope = Some("more".into());
    assert!(world.calls(one, "now").is_ok());
    assert!(world.calls(other, "now").is_ok());
    assert_eq!(world.issuers[0].count("authorize"), 2);
    world.close_all();
}

#[test]
fn a_server_that_never_has_enough_is_given_up() {
    for scope in ["scope=\"mcp:write\"", "scope=\"a\"", ""] {
        let mut world = World::new();
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        let challenge = format!("Bearer error=\"insufficient_scope\", {scope}");
        world.server.refuses_tools = Some((403, challenge));
        let before = world.issuers[0].count("authorize");
        assert!(matches!(world.refusal(agent, "now"), AuthError::InsufficientScope { .. }));
        assert!(world.issuers[0].count("authorize") - before <= 2);
        assert!(world.issuers[0].count("authorize") <= 3);
        world.close_all();
    }
}

#[test]
fn a_server_that_wants_something_else_each_time_is_given_up() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    let call = world.call(agent, "now");
    for round in 0..10 {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"s{round}\"");
        world.server.refuses_tools = Some((403, challenge));
        let refused = world.server.refused;
        world.run_while(|world| world.server.refused == refused);
    }
    world.run();
    let outcome = world.agent(agent).outcomes.remove(&call);
    assert!(matches!(outcome, Some(Err(windlass::CallError::Authorization(_)))), "{outcome:?}");
    assert!(world.issuers[0].count("authorize") <= 4, "one login, and at most three more");
    world.close_all();
}

#[test]
fn calls_that_need_no_more_go_on_when_more_is_refused() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.server.tool_scope = Some("more".into());
    world.user = crate::world::User::Absent;
    let first = world.call(agent, "first");
    world.run();
    let second = world.call(agent, "second");
    world.run();
    world.server.tool_scope = None;
    let now = world.now;
    let denied = AuthError::Denied { error: "no".into(), description: String::new() };
    world.agent(agent).client.finish_login(Err(denied), now);
    world.run();
    assert!(matches!(world.agent(agent).outcomes.remove(&first), Some(Err(_))));
    assert!(matches!(world.agent(agent).outcomes.remove(&second), Some(Ok(_))));
    world.close_all();
}
