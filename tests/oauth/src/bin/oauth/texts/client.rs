//! Our client, and what it has stored.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_oauth_tests::Outcome;
use windlass_oauth_tests::provider::{Log, Provider};

use super::adapter::auth::{AuthConfig, AuthStore, Grant, SharedStore, Tokens};
use super::adapter::{Client, ConnectError, Error, HttpTarget};
use crate::user::User;

/// Beyond what anything takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client that registers itself. Its tokens are refreshed when they have ended, and not before.
pub(super) fn config(user: &User) -> AuthConfig {
    of(Grant::code(user.redirect_uri()))
}

pub(super) fn of(grant: Grant) -> AuthConfig {
    let mut config = AuthConfig::new(grant).client_name("windlass-oauth").allow_local();
    config.early = Duration::ZERO;
    config
}

// Connects, for a user who logs in if there is one.
step!(connect(url: &str, config: AuthConfig, store: &SharedStore, user: Option<&User>) -> Result<Client, ConnectError>, {
    let target = HttpTarget::new(url).expect("it is a URL").with_authorization(config, store.clone());
    let mut builder = Client::builder("windlass-oauth", "1.0.0").configure(|config| config.handshake_timeout = PATIENCE);
    if let Some(user) = user.cloned() {
        builder = builder.on_login(move |login| {
            let prompt = login.prompt().clone();
            user.act(&prompt, |redirected| login.finish(redirected));
        });
    }
    wait!(builder.connect(target))
});

// Calls the tool that says who asks.
step!(read(client: &Client) -> Outcome<Value>, {
    let said = wait!(client.call_tool("read", json!({})))?;
    let said = said.structured_content.ok_or("the tool says nothing")?;
    Ok(serde_json::to_value(&said)?)
});

// Calls the tool that not everybody may call.
step!(write(client: &Client) -> Result<(), Error>, {
    wait!(client.call_tool("write", json!({}))).map(drop)
});

/// What is stored: as whom the client is known, and its tokens.
pub(super) fn stored(store: &SharedStore, url: &str) -> Outcome<(String, Option<Tokens>)> {
    let record = store.clone().load(url)?.ok_or("nothing is stored")?.record;
    let (_, known) = record.issuers.into_iter().next().ok_or("nobody is known")?;
    Ok((known.registration.ok_or("the client is not registered")?.client_id, known.tokens))
}

/// What the provider was asked for by whoever has this store.
pub(super) fn log(provider: &Provider, store: &SharedStore, url: &str) -> Outcome<Log> {
    provider.log(&stored(store, url)?.0)
}
