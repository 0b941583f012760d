//! What happens to a client that has to be authorized.

use std::time::Duration;

use serde_json::json;
use windlass_oauth_tests::provider::Log;
use windlass_oauth_tests::{Outcome, expect, expect_equal};

use super::adapter::{CallError, Error};
use super::adapter::auth::{AuthError, FileStore, Grant, MemoryStore, Secret, SharedStore};
use super::client::{config, connect, log, of, read, stored, write};
use super::server;
use super::shared;
use crate::task::Task;
use crate::user::User;

/// A little more than tokens are good for that are good for two seconds.
const EXPIRED: Duration = Duration::from_millis(2100);

program!(main(task: Task) -> Outcome, {
    match task.case.as_str() {
        "serve" => wait!(server::serve(&task)),
        "login" => wait!(login(&task)),
        "expiry" => wait!(expiry(&task)),
        "revoked" => wait!(revoked(&task)),
        "step-up" => wait!(step_up(&task)),
        "device" => wait!(device(&task)),
        "introspection" => wait!(introspection(&task)),
        "shared" => wait!(shared::shared(&task)),
        "storm" => wait!(shared::storm(&task)),
        "refresher" => wait!(shared::refresher(&task)),
        other => Err(format!("there is no case `{other}`").into()),
    }
});

/// A client that logged in once, and did nothing else.
fn one_login(url: &str) -> Log {
    Log {
        registrations: 1,
        scopes: vec!["tools:read offline_access".into()],
        resources: vec![url.into()],
        codes: 1,
        devices: 0,
        refreshes: 0,
        refused: 0,
        most_shown: 0,
    }
}

// A server does not take a token.
step!(expect_refusal(url: &str, what: &str, token: Secret) -> Outcome, {
    let store = SharedStore::from(MemoryStore::new());
    let error = wait!(connect(url, of(Grant::Token(token)), &store, None)).err();
    let error = error.ok_or_else(|| format!("a token is taken that {what}"))?;
    expect(&format!("{error}"), error.authorization() == Some(&AuthError::TokenNotAccepted))
});

// A user logs in; the tools can be called, and later by another client with the same store, without the user.
scene!(login, |task| {
    for kind in ["es256/60", "rs256/60"] {
        let (server, url) = server::start(&task.provider, kind)?;
        let user = User::new()?;
        let store = SharedStore::from(FileStore::new(&task.folder));
        let client = wait!(connect(&url, config(&user), &store, Some(&user)))?;
        let tools = wait!(client.list_tools())?;
        expect_equal("tools", &tools.len(), &2)?;
        let (known_as, _) = stored(&store, &url)?;
        let said = wait!(read(&client))?;
        expect_equal("who asks", &said, &json!({ "subject": "ada", "client": known_as, "scopes": ["tools:read"] }))?;
        wait!(client.close());

        let later = SharedStore::from(FileStore::new(&task.folder));
        let client = wait!(connect(&url, config(&user), &later, None))?;
        wait!(read(&client))?;
        wait!(client.close());
        expect_equal("logins", &user.asked(), &1)?;

        // The provider has signed it, but for somebody else; or somebody else has signed it.
        let token = stored(&later, &url)?.1.ok_or("there is no token")?.access_token;
        let (other, other_url) = server::start(&task.provider, kind)?;
        wait!(expect_refusal(&other_url, "is for another server", token.clone()))?;
        wait!(other.close())?;
        let (text, signature) = token.expose().rsplit_once('.').ok_or("it is not signed")?;
        let first = if signature.starts_with('A') { "B" } else { "A" };
        let forged = Secret::new(format!("{text}.{first}{}", &signature[1..]));
        wait!(expect_refusal(&url, "is forged", forged))?;
        expect_equal("what was asked for", &log(&task.provider, &later, &url)?, &one_login(&url))?;
        wait!(server.close())?;
    }
    Ok(())
});

// Tokens end, and are refreshed: each refresh token is shown once, and the user is asked once.
scene!(expiry, |task| {
    let (server, url) = server::start(&task.provider, "es256/2")?;
    let user = User::new()?;
    let store = SharedStore::from(MemoryStore::new());
    let client = wait!(connect(&url, config(&user), &store, Some(&user)))?;
    wait!(read(&client))?;
    let before = log(&task.provider, &store, &url)?.refreshes;
    let first = stored(&store, &url)?.1.ok_or("there is no token")?.access_token;
    for _ in 0..3 {
        pause!(EXPIRED);
        wait!(read(&client))?;
    }
    wait!(client.close());
    wait!(expect_refusal(&url, "has ended", first))?;
    // A later run begins with a token that has ended, and would refresh the next one a minute before its end: at once.
    pause!(EXPIRED);
    let mut early = config(&user);
    early.early = Duration::from_secs(60);
    let client = wait!(connect(&url, early, &store, None))?;
    wait!(read(&client))?;
    wait!(client.close());
    let log = log(&task.provider, &store, &url)?;
    // A busy machine may take as long as a token is good for.
    expect(&format!("it was refreshed each time: {log:?}"), (before + 4..before + 8).contains(&log.refreshes))?;
    expect_equal("refused, shown at most", &(log.refused, log.most_shown), &(0, 1))?;
    expect_equal("logins", &(user.asked(), log.codes), &(1, 1))?;
    wait!(server.close())?;
    Ok(())
});

// What was granted is taken back: whoever cannot ask the user is told, and whoever can asks.
scene!(revoked, |task| {
    let (server, url) = server::start(&task.provider, "es256/2")?;
    let user = User::new()?;
    let store = SharedStore::from(MemoryStore::new());
    let client = wait!(connect(&url, config(&user), &store, Some(&user)))?;
    wait!(read(&client))?;
    let (known_as, tokens) = stored(&store, &url)?;
    let refresh_token = tokens.and_then(|tokens| tokens.refresh_token).ok_or("there is no refresh token")?;
    task.provider.revoke(&known_as, refresh_token.expose())?;
    pause!(EXPIRED);

    let mut only_stored = config(&user);
    only_stored.stored_only = true;
    let error = wait!(connect(&url, only_stored, &store, None)).err().ok_or("connected without a login")?;
    expect(&format!("{error}"), error.authorization() == Some(&AuthError::NothingStored))?;
    let error = wait!(connect(&url, config(&user), &store, None)).err().ok_or("connected without a login")?;
    let page = error.login_url().ok_or_else(|| format!("no login is asked for: {error}"))?;
    expect(&format!("{page} is a page of the provider's"), page.starts_with(&task.provider.issuer))?;
    expect_equal("logins", &user.asked(), &1)?;

    // The first client is still there, and its user is.
    wait!(read(&client))?;
    expect_equal("logins", &user.asked(), &2)?;
    wait!(client.close());
    let log = log(&task.provider, &store, &url)?;
    expect_equal("shown at most", &log.most_shown, &1)?;
    expect_equal("codes", &log.codes, &2)?;
    wait!(server.close())?;
    Ok(())
});

// A tool needs more than was granted: the user is asked for all of it at once.
scene!(step_up, |task| {
    let (server, url) = server::start(&task.provider, "es256/60")?;
    let user = User::new()?;
    let store = SharedStore::from(MemoryStore::new());
    let client = wait!(connect(&url, config(&user), &store, Some(&user)))?;
    wait!(read(&client))?;
    expect_equal("logins", &user.asked(), &1)?;
    wait!(write(&client))?;
    expect_equal("logins", &user.asked(), &2)?;
    let said = wait!(read(&client))?;
    expect_equal("what is allowed", &said["scopes"], &json!(["tools:read", "tools:write"]))?;
    wait!(client.close());
    let log = log(&task.provider, &store, &url)?;
    let asked: Vec<Vec<&str>> = log.scopes.iter().map(|scope| scope.split(' ').collect()).collect();
    expect_equal("first", &asked[0], &vec!["tools:read", "offline_access"])?;
    let second = ["tools:read", "tools:write", "offline_access"].iter().all(|scope| asked[1].contains(scope));
    expect(&format!("then all of it: {:?}", asked[1]), second && asked.len() == 2)?;

    // Whoever cannot ask the user is told.
    let alone = SharedStore::from(MemoryStore::new());
    let first = wait!(connect(&url, config(&user), &alone, Some(&user)))?;
    wait!(first.close());
    let client = wait!(connect(&url, config(&user), &alone, None))?;
    let error = wait!(write(&client)).err().ok_or("written without a login")?;
    let needed = match &error {
        Error::Call(CallError::Authorization(error)) => matches!(**error, AuthError::LoginNeeded { .. }),
        _ => false,
    };
    expect(&format!("a login is needed: {error}"), needed)?;
    wait!(read(&client))?;
    wait!(client.close());
    wait!(server.close())?;
    Ok(())
});

// The user logs in on another device.
scene!(device, |task| {
    let (server, url) = server::start(&task.provider, "rs256/2")?;
    let user = User::new()?;
    let store = SharedStore::from(MemoryStore::new());
    let client = wait!(connect(&url, of(Grant::Device), &store, Some(&user)))?;
    wait!(read(&client))?;
    pause!(EXPIRED);
    let said = wait!(read(&client))?;
    expect_equal("who asks", &said["subject"], &json!("ada"))?;
    wait!(client.close());
    let log = log(&task.provider, &store, &url)?;
    expect_equal("logins", &(user.asked(), log.devices, log.codes), &(1, 1, 0))?;
    expect(&format!("it was refreshed: {log:?}"), log.refreshes >= 1 && log.refused == 0 && log.most_shown == 1)?;
    wait!(server.close())?;
    Ok(())
});

// Tokens that only the provider can read. One that has ended is refreshed; one that is revoked is refused at once, and then
// the user has to log in.
scene!(introspection, |task| {
    let (server, url) = server::start(&task.provider, "opaque/60")?;
    let user = User::new()?;
    let store = SharedStore::from(MemoryStore::new());
    let client = wait!(connect(&url, config(&user), &store, Some(&user)))?;
    let said = wait!(read(&client))?;
    let (known_as, tokens) = stored(&store, &url)?;
    expect_equal("who asks", &said, &json!({ "subject": "ada", "client": known_as, "scopes": ["tools:read"] }))?;
    let first = tokens.ok_or("there is no token")?.access_token;
    task.provider.end_access_tokens(&known_as)?;
    wait!(read(&client))?;
    let (_, tokens) = stored(&store, &url)?;
    let second = tokens.ok_or("there is no token")?.access_token;
    expect("there is another token", first != second)?;
    let before = log(&task.provider, &store, &url)?;
    expect_equal("refreshes, refused", &(before.refreshes, before.refused), &(1, 0))?;
    wait!(write(&client))?;
    expect_equal("logins", &user.asked(), &2)?;

    let third = stored(&store, &url)?.1.ok_or("there is no token")?.access_token;
    task.provider.revoke(&known_as, third.expose())?;
    wait!(read(&client))?;
    wait!(client.close());
    let log = log(&task.provider, &store, &url)?;
    expect_equal("refreshes, refused, shown at most", &(log.refreshes, log.refused, log.most_shown), &(2, 1, 1))?;
    expect_equal("logins", &(user.asked(), log.codes), &(3, 3))?;
    wait!(server.close())?;
    Ok(())
});
