//! Scenarios about authorization.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::adapter::auth::{AuthConfig, AuthPrompt, Grant, IdentityProvider, KnownClient, MemoryStore, Secret};
use super::adapter::{Client, HttpTarget};
use super::perform::{client, target};
use crate::browser::{CALLBACK, visit};
use crate::task::{Task, expect};

/// What comes with some of the scenarios.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Given {
    client_id: String,
    client_secret: String,
    private_key_pem: String,
    idp_client_id: String,
    idp_id_token: String,
    idp_token_endpoint: String,
    valid_jwt: String,
}

/// A user who logs in, and a client that registers itself where it has to. The suite's servers are on this machine.
fn user() -> AuthConfig {
    AuthConfig::new(Grant::code(CALLBACK)).client_name("windlass-conformance").allow_local()
}

fn authorized_target(task: &Task, config: AuthConfig) -> Result<HttpTarget, Box<dyn std::error::Error>> {
    Ok(target(task)?.with_authorization(config, MemoryStore::new()))
}

step!(talk(task: &Task, config: AuthConfig) -> Result<(), Box<dyn std::error::Error>>, {
    let builder = client(task).on_login(|login| {
        let AuthPrompt::Browser { url } = login.prompt() else { return };
        let url = url.clone();
        std::thread::spawn(move || match visit(&url) {
            Ok(redirected) => login.finish(redirected),
            Err(error) => eprintln!("the browser: {error}"),
        });
    });
    let client: Client = wait!(builder.connect(authorized_target(task, config)?))?;
    let outcome = wait!(use_tools(&client));
    wait!(client.close());
    outcome
});

step!(use_tools(client: &Client) -> Result<(), Box<dyn std::error::Error>>, {
    for tool in wait!(client.list_tools())? {
        wait!(client.call_tool(&tool.name, json!({})))?;
    }
    Ok(())
});

scenario!(logs_in, |task| {
    wait!(talk(task, user()))
});

scenario!(by_document, |task| {
    wait!(talk(task, user().client_metadata_url("https://conformance-test.local/client-metadata.json")))
});

scenario!(pre_registered, |task| {
    let given: Given = task.context()?;
    wait!(talk(task, user().client(KnownClient::new(given.client_id).secret(given.client_secret))))
});

// The server or the authorization server cannot be trusted, and the client says so.
scenario!(refuses, |task| {
    let error = match wait!(talk(task, user())) {
        Ok(()) => return Err("the client was authorized by somebody whom it cannot trust".into()),
        Err(error) => error.to_string(),
    };
    expect(&format!("the reason: {error}"), !error.contains("time"))?;
    Ok(())
});

scenario!(client_credentials, |task| {
    let given: Given = task.context()?;
    let known = KnownClient::new(given.client_id).secret(given.client_secret);
    wait!(talk(task, AuthConfig::new(Grant::ClientCredentials).client(known).allow_local()))
});

scenario!(client_credentials_by_signature, |task| {
    let given: Given = task.context()?;
    let signer = Arc::new(windlass::auth::Es256Signer::from_pkcs8_pem(&given.private_key_pem)?);
    let config = AuthConfig::new(Grant::ClientCredentials).client(KnownClient::new(given.client_id));
    wait!(talk(task, config.signer(signer).allow_local()))
});

scenario!(enterprise_managed, |task| {
    let given: Given = task.context()?;
    let id_token = Secret::new(given.idp_id_token);
    let provider = IdentityProvider::new(given.idp_token_endpoint, given.idp_client_id, id_token);
    let known = KnownClient::new(given.client_id).secret(given.client_secret);
    wait!(talk(task, AuthConfig::new(Grant::EnterpriseManaged(provider)).client(known).allow_local()))
});

scenario!(workload, |task| {
    let given: Given = task.context()?;
    let grant = Grant::JwtBearer { assertion: Secret::new(given.valid_jwt) };
    wait!(talk(task, AuthConfig::new(grant).client(KnownClient::new(given.client_id)).allow_local()))
});

scenario!(bound_tokens, |task| {
    let seed = super::adapter::host::seed()?;
    let signer = Arc::new(windlass::auth::Es256Signer::from_seed(&seed));
    wait!(talk(task, user().signer(signer).dpop()))
});
