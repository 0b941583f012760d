//! Who authorizes for a server, and where that is found out.

use serde_json::json;
use windlass::auth::AuthError;

use crate::issuer::Issuer;
use crate::world::{Answer, ISSUER, PRM, Setup, World, code_grant};

const ROOT: &str = "/.well-known/oauth-protected-resource";

fn gets(world: &World) -> Vec<&str> {
    world.asked.iter().filter_map(|asked| asked.strip_prefix("GET https://")).collect()
}

#[test]
fn metadata_is_where_the_challenge_says() {
    let mut world = World::new();
    world.server.documents.clear();
    world.server.names("/elsewhere", &[ISSUER]);
    world.server.names_metadata = Some("https://mcp.example/elsewhere".into());
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    assert_eq!(gets(&world), ["mcp.example/elsewhere", "as.example/.well-known/oauth-authorization-server"]);
    world.close_all();
}

#[test]
fn where_the_challenge_names_metadata_nothing_else_is_looked_at() {
    let mut world = World::new();
    world.server.names_metadata = Some("https://mcp.example/nothing".into());
    let agent = world.connect(code_grant());
    assert!(matches!(world.failure(agent), AuthError::Unusable { .. }));
    assert_eq!(gets(&world), ["mcp.example/nothing"]);
    world.close_all();
}

#[test]
fn metadata_is_at_the_path_or_at_the_root() {
    let mut world = World::new();
    world.server.documents.clear();
    world.server.resource = "https://mcp.example".into();
    world.server.names(ROOT, &["https://as.example/tenant1"]);
    world.issuers = vec![Issuer::new("https://as.example/tenant1"), Issuer::new("https://as.example")];
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    assert_eq!(
        gets(&world),
        [
            "mcp.example/.well-known/oauth-protected-resource/mcp",
            "mcp.example/.well-known/oauth-protected-resource",
            "as.example/.well-known/oauth-authorization-server/tenant1",
        ]
    );
    // To the letter, without a slash behind it.
    assert_eq!(world.issuers[0].login_field("resource"), Some("https://mcp.example"));
    assert_eq!(world.issuers[0].field("resource").as_deref(), Some("https://mcp.example"));
    assert!(world.issuers[1].asked.is_empty());
    world.close_all();
}

#[test]
fn pages_that_are_there_for_every_address_are_no_metadata() {
    let mut world = World::new();
    world.server.documents.clear();
    world.server.names(ROOT, &[ISSUER]);
    let page = || Answer { body: b"<!doctype html>".to_vec(), ..Answer::new(200) }.header("Content-Type", "text/html");
    world.instead.push_back((format!("GET https://mcp.example{PRM}"), page()));
    world.issuers[0].metadata_paths = vec!["/.well-known/openid-configuration".into()];
    world.instead.push_back((format!("GET {ISSUER}/.well-known/oauth-authorization-server"), page()));
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.close_all();
}

#[test]
fn issuers_have_their_metadata_in_three_places() {
    for (issuer, path, looked) in [
        ("https://as.example", "/.well-known/oauth-authorization-server", 1),
        ("https://as.example", "/.well-known/openid-configuration", 2),
        ("https://as.example/t", "/.well-known/oauth-authorization-server/t", 1),
        ("https://as.example/t", "/.well-known/openid-configuration/t", 2),
        ("https://as.example/t", "/t/.well-known/openid-configuration", 3),
    ] {
        let mut world = World::new();
        world.server.names(PRM, &[issuer]);
        world.issuers = vec![Issuer::new(issuer)];
        world.issuers[0].metadata_paths = vec![path.into()];
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert_eq!(gets(&world).len(), 1 + looked);
        world.close_all();
    }
    // One with a path has nothing at the root.
    let mut world = World::new();
    world.server.names(PRM, &["https://as.example/t"]);
    let agent = world.connect(code_grant());
    assert!(matches!(world.failure(agent), AuthError::Unusable { .. }));
    assert!(world.issuers[0].count("metadata") == 0);
    world.close_all();
}

#[test]
fn metadata_of_another_issuer_is_not_used() {
    for other in ["https://evil.example", "https://as.example/", "https://AS.example", "https://as.example:443"] {
        let mut world = World::new();
        world.issuers[0].publish("issuer", other);
        let agent = world.connect(code_grant());
        assert!(matches!(world.failure(agent), AuthError::Unusable { .. }));
        assert_eq!(world.issuers[0].asked, ["metadata"]);
        world.close_all();
    }
}

#[test]
fn metadata_about_another_server_is_not_used() {
    for other in
        ["https://evil.example/mcp", "https://mcp.example/mcp2", "https://mcp.example/mcp/x", "http://mcp.example"]
    {
        let mut world = World::new();
        world.server.documents.insert(PRM.into(), json!({"resource": other, "authorization_servers": [ISSUER]}));
        let agent = world.connect(code_grant());
        assert!(matches!(world.failure(agent), AuthError::Unusable { .. }));
        assert!(world.issuers[0].asked.is_empty());
        world.close_all();
    }
}

#[test]
fn of_several_issuers_the_one_that_is_known_is_asked_again() {
    let mut world = World::new();
    world.issuers.push(Issuer::new("https://as2.example"));
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.server.names(PRM, &["https://as2.example", ISSUER]);
    world.issuers[0].revoke_access();
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("token refresh_token"), 1);
    assert!(world.issuers[1].asked.is_empty());
    world.close_all();
}

#[test]
fn servers_of_the_first_revision_authorize_for_themselves() {
    for has_metadata in [true, false] {
        for is_modern in [true, false] {
            let mut world = World::new();
            world.server.is_modern = is_modern;
            world.server.documents.clear();
            let mut issuer = Issuer::new("https://mcp.example");
            if has_metadata {
                issuer.publish("authorization_endpoint", "https://mcp.example/oauth/authorize");
                issuer.publish("token_endpoint", "https://mcp.example/oauth/token");
                issuer.publish("registration_endpoint", "https://mcp.example/oauth/register");
            } else {
                issuer.metadata_paths.clear();
            }
            world.issuers = vec![issuer];
            let agent = world.connect(code_grant());
            world.is_ready(agent);
            assert!(world.calls(agent, "now").is_ok());
            let token = if has_metadata { "/oauth/token" } else { "/token" };
            assert_eq!(world.asked.last().unwrap(), &format!("POST https://mcp.example{token}"));
            world.close_all();
        }
    }
}

#[test]
fn endpoints_are_on_the_host_of_their_issuer_unless_others_are_allowed() {
    for (name, path) in
        [("token_endpoint", "/token"), ("registration_endpoint", "/register"), ("authorization_endpoint", "/authorize")]
    {
        for host in ["tokens.example", "mcp.example"] {
            let mut world = World::new();
            world.issuers[0].publish(name, format!("https://{host}{path}"));
            let agent = world.connect(code_grant());
            let error = world.failure(agent);
            assert!(matches!(&error, AuthError::UrlRefused(why) if why.contains(host)), "{name} {host}: {error}");
            assert!(!world.asked.iter().any(|asked| asked.contains(&format!("{host}{path}"))));
            world.close_all();
        }
    }
    let mut world = World::new();
    world.issuers[0].publish("authorization_endpoint", "https://login.example/authorize");
    let mut config = code_grant();
    config.guard.allowed_hosts.push("login.example".into());
    let agent = world.connect(config);
    world.is_ready(agent);
    world.close_all();
}

#[test]
fn addresses_that_are_not_public_are_not_asked() {
    for issuer in [
        "http://as.example",
        "https://127.0.0.1",
        "https://localhost",
        "https://169.254.169.254",
        "https://[::1]",
        "file:///etc",
    ] {
        let mut world = World::new();
        world.server.names(PRM, &[issuer]);
        let agent = world.connect(code_grant());
        assert!(matches!(world.failure(agent), AuthError::UrlRefused(_)), "{issuer}");
        assert_eq!(world.asked.len(), 1);
        world.close_all();
    }
    for named in ["https://10.0.0.1/prm", "https://elsewhere.example/prm", "http://mcp.example/prm"] {
        let mut world = World::new();
        world.server.names_metadata = Some(named.into());
        let agent = world.connect(code_grant());
        assert!(matches!(world.failure(agent), AuthError::UrlRefused(_)), "{named}");
        assert!(world.asked.is_empty());
        world.close_all();
    }
}

#[test]
fn local_servers_are_asked_where_that_is_allowed() {
    for allowed in [false, true] {
        let mut world = World::new();
        world.server.names(PRM, &["http://localhost:9000"]);
        world.issuers = vec![Issuer::new("http://localhost:9000")];
        let config = if allowed { code_grant().allow_local() } else { code_grant() };
        let agent = world.connect(config);
        match allowed {
            true => world.is_ready(agent),
            false => assert!(matches!(world.failure(agent), AuthError::UrlRefused(_))),
        }
        world.close_all();
    }
}

#[test]
fn documents_that_moved_are_followed_as_far_as_the_guard_allows() {
    let from = format!("{ISSUER}/.well-known/oauth-authorization-server");
    for (to, followed) in [
        ("/moved", true),
        ("https://as.example/moved", true),
        ("https://other.example/moved", false),
        ("http://as.example/moved", false),
        ("https://127.0.0.1/moved", false),
    ] {
        let mut world = World::new();
        world.redirects.insert(from.clone(), to.into());
        world.issuers[0].metadata_paths = vec!["/moved".into()];
        let agent = world.connect(code_grant());
        if followed {
            world.is_ready(agent);
        } else {
            assert!(matches!(world.failure(agent), AuthError::UrlRefused(_)), "{to}");
            assert!(!world.asked.iter().any(|asked| asked.ends_with("/moved")));
        }
        world.close_all();
    }
    // Round and round is not followed for long.
    let mut world = World::new();
    world.redirects.insert(from.clone(), from);
    let agent = world.connect(code_grant());
    assert!(matches!(world.failure(agent), AuthError::Unusable { .. }));
    assert!(world.asked.len() < 10);
    world.close_all();
}

#[test]
fn tokens_are_not_asked_for_elsewhere() {
    let mut world = World::new();
    world.redirects.insert(format!("{ISSUER}/token"), format!("{ISSUER}/token2"));
    let agent = world.connect(code_grant());
    assert!(matches!(world.failure(agent), AuthError::TokenRefused { .. }));
    assert!(!world.asked.iter().any(|asked| asked.ends_with("/token2")));
    world.close_all();
}

#[test]
fn a_refusal_that_asks_for_nothing_is_an_error_of_http() {
    for challenge in ["", "Bearer error=\"invalid_request\"", "Basic realm=\"x\""] {
        let mut world = World::new();
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        let asked = world.asked.len();
        world.server.refuses_tools = Some((403, challenge.into()));
        let outcome = world.calls(agent, "now");
        assert!(matches!(outcome, Err(windlass::CallError::Http(failure)) if failure.status == 403));
        assert_eq!(world.asked.len(), asked);
        world.close_all();
    }
}

#[test]
fn a_server_on_this_machine_that_the_program_named_is_asked() {
    let url = "http://localhost:3000/mcp";
    let mut world = World::new();
    world.server = crate::resource::Resource::new(url);
    world.server.names(PRM, &["http://localhost:3000"]);
    world.issuers = vec![Issuer::new("http://localhost:3000")];
    let mut setup = Setup::new(code_grant());
    setup.http = windlass::link::http::HttpClientConfig::new(url).unwrap();
    let agent = world.start(setup);
    world.run();
    world.is_ready(agent);
    assert!(world.calls(agent, "now").is_ok());
    world.close_all();
}
