//! How clients become known to authorization servers, and that nothing of one is shown to another.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass::Seed;
use windlass::auth::{AuthError, AuthStore as _, Es256Signer, KnownClient, Redirected, Signer as _};

use crate::issuer::Issuer;
use crate::world::{Answer, ISSUER, PRM, SERVER, World, code_grant};

#[test]
fn clients_show_who_they_are_as_they_were_told() {
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let mut world = World::new();
        world.issuers[0].auth_method = method;
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert_eq!(world.issuers[0].last_registration["token_endpoint_auth_method"], method);
        world.issuers[0].revoke_access();
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[0].count("token refresh_token"), 1);
        world.close_all();
    }
}

#[test]
fn clients_say_what_they_are_when_they_register() {
    let mut world = World::new();
    let agent = world.connect(code_grant().client_name("Field notes"));
    world.is_ready(agent);
    let said = &world.issuers[0].last_registration;
    assert_eq!((&said["client_name"], &said["application_type"]), (&json!("Field notes"), &json!("native")));
    assert_eq!(said["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(said["response_types"], json!(["code"]));
    world.close_all();
}

#[test]
fn a_client_that_is_known_already_does_not_register() {
    for (method, secret) in [
        ("client_secret_basic", Some("known-password")),
        ("client_secret_post", Some("known-password")),
        ("none", None),
    ] {
        let mut world = World::new();
        world.secrets.keep("known-password", "as.example");
        world.issuers[0].auth_method = method;
        world.issuers[0].knows("known", secret, method);
        let mut client = KnownClient::new("known").issuer(ISSUER);
        if let Some(secret) = secret {
            client = client.secret(secret);
        }
        let agent = world.connect(code_grant().client(client));
        world.is_ready(agent);
        world.issuers[0].revoke_access();
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[0].asked.iter().filter(|asked| *asked == "register").count(), 0);
        // What the program gives, it gives again: its password is not kept.
        let stored = serde_json::to_string(&world.store.load(SERVER).unwrap().unwrap().record).unwrap();
        assert!(!stored.contains("known-password"), "{stored}");
        world.close_all();
    }
}

#[test]
fn how_a_client_shows_who_it_is_is_known_later() {
    for method in ["client_secret_post", "client_secret_basic", "private_key_jwt"] {
        let signer = Arc::new(Es256Signer::from_seed(&Seed::from_number(7)));
        let mut world = World::new();
        world.issuers[0].auth_method = method;
        let keyed = method == "private_key_jwt";
        world.issuers[0].knows("known", Some("known-password").filter(|_| !keyed), method);
        world.issuers[0].clients.get_mut("known").unwrap().key = keyed.then(|| signer.public_jwk());
        let config = || match keyed {
            true => code_grant().client(KnownClient::new("known")).signer(signer.clone()),
            false => code_grant().client(KnownClient::new("known").secret("known-password")),
        };
        // A login that another connection finishes, without a look at any metadata.
        let mut first = config();
        first.interactive = false;
        let agent = world.connect(first);
        let AuthError::LoginNeeded { url } = world.failure(agent) else { panic!() };
        let back = world.log_in(&url);
        let asked = world.asked.len();
        let agent = world.connect(config().finish(Redirected::from_url(&back)));
        world.is_ready(agent);
        // And a token that is refreshed early.
        world.pass(Duration::from_secs(3550));
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.asked[asked..], [format!("POST {ISSUER}/token"), format!("POST {ISSUER}/token")]);
        world.close_all();
    }
}

#[test]
fn a_client_that_another_issuer_knows_is_not_shown_to_this_one() {
    let mut world = World::new();
    let agent = world.connect(code_grant().client(KnownClient::new("known").issuer("https://other.example")));
    assert_eq!(world.failure(agent), AuthError::NoClient { issuer: ISSUER.into() });
    assert_eq!(world.issuers[0].asked, ["metadata"]);
    world.close_all();
}

#[test]
fn a_client_is_known_by_its_document_where_such_are_read() {
    for supported in [true, false] {
        let mut world = World::new();
        if supported {
            world.issuers[0].publish("client_id_metadata_document_supported", true);
        }
        let agent = world.connect(code_grant().client_metadata_url("https://app.example/client.json"));
        world.is_ready(agent);
        let id = world.issuers[0].login_field("client_id").unwrap();
        assert_eq!(id == "https://app.example/client.json", supported);
        assert_eq!(world.issuers[0].count("register"), usize::from(!supported));
        world.issuers[0].revoke_access();
        assert!(world.calls(agent, "now").is_ok());
        world.close_all();
    }
}

#[test]
fn a_client_that_cannot_become_known_is_told_so() {
    let mut world = World::new();
    world.issuers[0].publish("registration_endpoint", serde_json::Value::Null);
    let agent = world.connect(code_grant());
    assert_eq!(world.failure(agent), AuthError::NoClient { issuer: ISSUER.into() });
    world.close_all();
    let mut world = World::new();
    let refusal = json!({"error": "invalid_redirect_uri", "error_description": "not here"});
    world.instead.push_back((format!("POST {ISSUER}/register"), Answer::json(400, &refusal)));
    let agent = world.connect(code_grant());
    let error = world.failure(agent).to_string();
    assert!(error.contains("invalid_redirect_uri") && error.contains("not here"), "{error}");
    world.close_all();
}

#[test]
fn a_client_that_was_forgotten_registers_again() {
    let mut world = World::new();
    let agent = world.connect(code_grant());
    world.is_ready(agent);
    world.issuers[0].clients.clear();
    // So that the second is not called like the first.
    world.issuers[0].knows("other", None, "none");
    world.issuers[0].revoke_access();
    assert!(world.calls(agent, "now").is_ok());
    assert_eq!(world.issuers[0].count("register"), 2);
    assert_eq!(world.issuers[0].count("authorize"), 2);
    world.close_all();
}

/// The server moves to another authorization server.
fn move_to_another(world: &mut World) {
    world.issuers.push(Issuer::new("https://as2.example"));
    world.server.names(PRM, &["https://as2.example"]);
}

#[test]
fn a_server_may_move_to_another_issuer() {
    for is_modern in [true, false] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        let agent = world.connect(code_grant());
        assert!(world.calls(agent, "now").is_ok());
        // The second would not know the client of the first, and says so.
        move_to_another(&mut world);
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[1].asked, ["metadata", "register", "authorize", "token authorization_code"]);
        assert_eq!(world.issuers[1].login_field("client_id"), Some("client-1-of-as2.example"));
        // And back: what is known there is used again.
        world.server.names(PRM, &[ISSUER]);
        assert!(world.calls(agent, "now").is_ok());
        assert_eq!(world.issuers[0].count("register"), 1);
        assert_eq!(world.issuers[1].asked.len(), 4);
        world.close_all();
    }
}

#[test]
fn a_client_that_one_issuer_knows_does_not_move_to_another() {
    for issuer in [Some(ISSUER), None] {
        let mut world = World::new();
        world.issuers[0].knows("known", None, "none");
        let mut client = KnownClient::new("known");
        client.issuer = issuer.map(String::from);
        let agent = world.connect(code_grant().client(client));
        world.is_ready(agent);
        move_to_another(&mut world);
        let error = world.refusal(agent, "now");
        assert_eq!(error, AuthError::NoClient { issuer: "https://as2.example".into() });
        assert_eq!(world.issuers[1].asked, ["metadata"]);
        world.close_all();
    }
}
