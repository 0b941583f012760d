//! Where there is no browser, or no user: other devices, clients that are who it is for, statements of others, tokens that
//! are bound to a key.

use std::sync::Arc;
use std::time::Duration;

use windlass::Seed;
use windlass::auth::{AuthConfig, AuthError, Es256Signer, Grant, IdentityProvider, KnownClient, Secret, Signer as _};

use crate::issuer::Issuer;
use crate::world::{ISSUER, Setup, User, World, code_grant, grant};

/// In either era: connects, calls, and has tokens end.
fn works(config: impl Fn() -> AuthConfig, prepare: impl Fn(&mut World)) -> World {
    for is_modern in [false, true] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        prepare(&mut world);
        let agent = world.connect(config());
        world.pass(Duration::from_secs(60));
        world.is_ready(agent);
        assert!(world.calls(agent, "now").is_ok());
        world.issuers[0].revoke_access();
        let call = world.call(agent, "again");
        prepare_again(&mut world);
        world.pass(Duration::from_secs(60));
        let outcome = world.agent(agent).outcomes.remove(&call);
        assert!(matches!(outcome, Some(Ok(_))), "{outcome:?} {:#?}", world.asked);
        world.close_all();
        if is_modern {
            return world;
        }
    }
    unreachable!()
}

/// Statements are believed once: there is another one.
fn prepare_again(world: &mut World) {
    world.issuers[0].believes.insert("statement-of-the-platform".into());
}

fn signer() -> Arc<Es256Signer> {
    Arc::new(Es256Signer::from_seed(&Seed::from_number(7)))
}

#[test]
fn users_log_in_on_another_device() {
    let world = works(|| grant(Grant::Device), |_| {});
    assert_eq!(world.issuers[0].count("token device_code"), 3);
    assert_eq!(world.issuers[0].count("token refresh_token"), 1);
    assert_eq!(world.issuers[0].last_registration["grant_types"][0], "urn:ietf:params:oauth:grant-type:device_code");
}

#[test]
fn users_on_another_device_may_say_no_or_take_too_long() {
    for (denies, wait) in [(true, 60), (false, 299)] {
        let mut world = World::new();
        world.issuers[0].denies = denies;
        world.issuers[0].device_questions = 1_000;
        let agent = world.connect(grant(Grant::Device));
        world.pass(Duration::from_secs(wait));
        if !denies {
            assert!(world.agent(agent).closed.is_none());
            world.pass(Duration::from_secs(2));
        }
        let error = world.failure(agent);
        assert_eq!(matches!(error, AuthError::Denied { .. }), denies, "{error}");
        assert_eq!(error == AuthError::TimedOut, !denies);
        world.close_all();
    }
}

#[test]
fn a_program_may_give_up_a_login_on_another_device_at_any_time() {
    for latency in [0, 10] {
        let mut world = World::new();
        world.issuers[0].device_questions = 1_000;
        let agent = world.connect(grant(Grant::Device));
        world.latency = Duration::from_secs(latency);
        world.pass(Duration::from_secs(7));
        let now = world.now;
        world.agent(agent).client.finish_login(Err(AuthError::TimedOut), now);
        world.run();
        assert_eq!(world.failure(agent), AuthError::TimedOut);
        world.close_all();
    }
}

#[test]
fn pages_for_other_devices_are_looked_at_before_users_are_sent_there() {
    let answer = |uri: &str, complete: &str| {
        let body = serde_json::json!({
            "device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": uri,
            "verification_uri_complete": complete, "expires_in": 300,
        });
        crate::world::Answer::json(200, &body)
    };
    for uri in ["javascript:alert(1)", "http://as.example/activate", "https://127.0.0.1/"] {
        let mut world = World::new();
        world.instead.push_back((format!("POST {ISSUER}/device"), answer(uri, "https://as.example/a")));
        let agent = world.connect(grant(Grant::Device));
        assert!(matches!(world.failure(agent), AuthError::UrlRefused(_)));
        world.close_all();
        // One that is only for convenience is done without.
        let mut world = World::new();
        world.user = User::Absent;
        world.instead.push_back((format!("POST {ISSUER}/device"), answer("https://as.example/a", uri)));
        let agent = world.connect(grant(Grant::Device));
        let shown = format!("{:?}", world.agent(agent).prompts);
        assert!(shown.contains("complete_url: None"), "{shown}");
        world.close_all();
    }
}

#[test]
fn clients_with_passwords_are_who_it_is_for() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let world = works(
            || AuthConfig::new(Grant::ClientCredentials).client(KnownClient::new("robot").secret("pass word:1")),
            |world| {
                world.issuers[0].auth_method = method;
                world.issuers[0].knows("robot", Some("pass word:1"), method);
                world.secrets.keep("pass+word", "as.example");
            },
        );
        assert_eq!(world.issuers[0].count("token client_credentials"), 2);
        assert_eq!(world.issuers[0].count("register"), 0);
    }
}

#[test]
fn clients_with_keys_are_who_it_is_for() {
    let world = works(
        || AuthConfig::new(Grant::ClientCredentials).client(KnownClient::new("robot")).signer(signer()),
        |world| {
            world.issuers[0].auth_method = "private_key_jwt";
            world.issuers[0].knows("robot", None, "private_key_jwt");
            world.issuers[0].clients.get_mut("robot").unwrap().key = Some(signer().public_jwk());
        },
    );
    assert_eq!(world.issuers[0].count("token client_credentials"), 2);
}

#[test]
fn clients_with_keys_show_them_when_users_log_in_on_another_device() {
    works(
        || grant(Grant::Device).client(KnownClient::new("robot")).signer(signer()),
        |world| {
            world.issuers[0].auth_method = "private_key_jwt";
            world.issuers[0].knows("robot", None, "private_key_jwt");
            world.issuers[0].clients.get_mut("robot").unwrap().key = Some(signer().public_jwk());
        },
    );
}

#[test]
fn platforms_say_who_a_workload_is() {
    let world = works(
        || {
            let assertion = Secret::new("statement-of-the-platform");
            AuthConfig::new(Grant::JwtBearer { assertion }).client(KnownClient::new("robot"))
        },
        |world| {
            world.issuers[0].knows("robot", None, "none");
            world.issuers[0].believes.insert("statement-of-the-platform".into());
            world.secrets.keep("statement-of-the-platform", "as.example");
        },
    );
    assert_eq!(world.issuers[0].count("token jwt-bearer"), 2);
}

#[test]
fn a_statement_that_is_not_believed_is_not_sent_again() {
    let mut world = World::new();
    world.issuers[0].knows("robot", None, "none");
    let assertion = Secret::new("statement-of-nobody");
    world.secrets.keep("statement-of-nobody", "as.example");
    let agent = world.connect(AuthConfig::new(Grant::JwtBearer { assertion }).client(KnownClient::new("robot")));
    assert!(matches!(world.failure(agent), AuthError::TokenRefused { error, .. } if error == "invalid_grant"));
    assert_eq!(world.issuers[0].count("token"), 1);
    world.close_all();
}

#[test]
fn employers_say_who_a_user_is() {
    for is_modern in [false, true] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        let mut idp = Issuer::new("https://idp.example");
        idp.knows("app-at-idp", Some("idp-password"), "client_secret_basic");
        idp.believes.insert("identity-of-the-user".into());
        world.issuers.push(idp);
        world.issuers[0].auth_method = "client_secret_basic";
        world.issuers[0].knows("app-at-as", Some("as-password"), "client_secret_basic");
        world.secrets.keep("identity-of-the-user", "idp.example");
        world.secrets.keep("idp-password", "idp.example");
        world.secrets.keep("as-password", "as.example");
        let id_token = Secret::new("identity-of-the-user");
        let mut provider = IdentityProvider::new("https://idp.example/token", "app-at-idp", id_token);
        provider.client_secret = Some(Secret::new("idp-password"));
        let config = AuthConfig::new(Grant::EnterpriseManaged(provider))
            .client(KnownClient::new("app-at-as").secret("as-password"));
        let agent = world.start(Setup::new(config));
        // What the provider states, the authorization server believes.
        world.run_while(|world| world.asked.len() < 3);
        world.run_while(|world| world.issuers[1].asked.is_empty());
        world.issuers[0]
            .believes
            .extend((1..9).map(|n: u64| format!("statement-{n:06}-{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))));
        world.run();
        world.is_ready(agent);
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[1].asked, ["token token-exchange"]);
        assert_eq!(world.issuers[1].field("audience").as_deref(), Some(ISSUER));
        assert_eq!(world.issuers[1].field("resource").as_deref(), Some("https://mcp.example/mcp"));
        assert_eq!(world.issuers[0].asked, ["metadata", "token jwt-bearer"]);
        world.close_all();
    }
}

#[test]
fn a_token_of_the_program_is_shown_and_never_replaced() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    let token = world.server.done[0].1.clone();
    let another = world.connect(grant(Grant::Token(Secret::new(&token))));
    world.is_ready(another);
    assert!(world.calls(another, "now").is_ok());
    let asked = world.asked.len();
    world.server.tool_scope = Some("more".into());
    assert_eq!(world.refusal(another, "now"), AuthError::InsufficientScope { scope: "more".into() });
    world.issuers[0].revoke_access();
    assert_eq!(world.refusal(another, "now"), AuthError::TokenNotAccepted);
    assert_eq!(world.asked.len(), asked);
    world.close_all();
}

#[test]
fn tokens_are_bound_to_a_key() {
    for nonces in [false, true] {
        let mut world = works(
            || code_grant().signer(signer()).dpop(),
            |world| {
                world.server.scheme = "DPoP";
                world.issuers[0].wants_proofs = true;
                if nonces {
                    world.issuers[0].nonce = Some("nonce-of-the-issuer".into());
                    world.server.nonce = Some("nonce-of-the-server".into());
                    world.secrets.keep("nonce-of-the-issuer", "as.example");
                    world.secrets.keep("nonce-of-the-server", "mcp.example");
                }
            },
        );
        assert_eq!(world.issuers[0].last_registration["dpop_bound_access_tokens"], true);
        // Nonces change at any time.
        let agent = world.connect(code_grant().signer(signer()).dpop());
        world.is_ready(agent);
        if nonces {
            world.server.nonce = Some("another-nonce".into());
            world.issuers[0].nonce = Some("yet-another-nonce".into());
        }
        assert!(world.calls(agent, "now").is_ok());
        world.issuers[0].revoke_access();
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[0].count("authorize"), 1);
        world.close_all();
    }
}

#[test]
fn where_a_server_asks_for_it_tokens_are_bound_if_there_is_a_key() {
    works(
        || code_grant().signer(signer()),
        |world| {
            world.server.scheme = "DPoP";
            world.issuers[0].wants_proofs = true;
        },
    );
}

#[test]
fn a_server_that_never_has_enough_of_nonces_is_given_up() {
    let mut world = World::new();
    world.server.scheme = "DPoP";
    world.issuers[0].wants_proofs = true;
    let agent = world.connect(code_grant().signer(signer()).dpop());
    world.is_ready(agent);
    let challenge = "DPoP error=\"use_dpop_nonce\"".to_string();
    world.server.refuses_tools = Some((401, challenge));
    let requests = world.requests;
    assert!(world.calls(agent, "now").is_err());
    assert!(world.requests - requests < 30);
    world.close_all();
}
