//! `windlass auth status` and `windlass logout`: what is stored, without a secret of it, and the end of it.

use serde::Serialize;
use windlass::auth::AuthStore;
use windlass::link::http::redacted;
use windlass_host::auth::FileStore;

use crate::failure::{Failure, FailureKind};
use crate::hint::LoginHint;
use crate::invocation::{Forgotten, HttpOptions};
use crate::login::scopes;
use crate::output::{print, print_json};
use crate::table::first_line;
use crate::{calendar, stored};

/// All that is stored.
#[derive(Serialize)]
struct Status {
    folder: String,
    servers: Vec<Account>,
    /// Files that cannot be read, and what to do about it.
    unreadable: Vec<String>,
}

/// What is stored of one server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Account {
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    scopes: Vec<String>,
    token: TokenState,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    can_refresh: bool,
    pending_logins: Vec<Pending>,
}

/// How it is with a token.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum TokenState {
    Good,
    Expired,
    None,
}

/// A login that was begun, and waits for the user.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pending {
    issuer: String,
    expires_at: u64,
}

/// Says what is stored, for all servers or for one. For one the exit code says whether it will do.
pub(crate) fn status(url: Option<&str>, json: bool) -> Result<(), Failure> {
    let mut store = stored::store()?;
    let now = calendar::now();
    let Some(url) = url else {
        let kept = store.servers().map_err(stored::unusable)?;
        let mut unreadable: Vec<String> = kept.unreadable.iter().map(ToString::to_string).collect();
        let mut servers = Vec::new();
        for server in &kept.servers {
            match account(&mut store, server, now) {
                Ok(account) => servers.extend(account),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        let status = Status { folder: store.folder().display().to_string(), servers, unreadable };
        if json {
            print_json(&status)
        } else {
            print(&status.to_text(now))
        }
        return Ok(());
    };
    let account = account(&mut store, &stored::key(url)?, now).map_err(stored::unusable)?;
    let missing = |what: &str| {
        let hint = LoginHint::new(url, &HttpOptions::default(), Vec::new());
        let advice = format!("{}: {what}; log in with `{}`", hint.url, hint.command());
        Err(Failure::new(FailureKind::Authorization, advice))
    };
    let Some(account) = account else { return missing("nothing is stored") };
    if json {
        print_json(&account)
    } else {
        print(&account.to_text(now))
    }
    match account.token {
        TokenState::Good => Ok(()),
        _ if account.can_refresh => Ok(()),
        TokenState::Expired => missing("the token has expired, and cannot be refreshed"),
        TokenState::None => missing("nobody has logged in"),
    }
}

fn account(store: &mut FileStore, server: &str, now: u64) -> Result<Option<Account>, windlass::auth::StoreError> {
    let Some(stored) = store.load(server)? else { return Ok(None) };
    let record = stored.record;
    let known = record.issuer.as_ref().and_then(|issuer| record.issuers.get(issuer));
    let registration = known.and_then(|known| known.registration.as_ref());
    let tokens = known.and_then(|known| known.tokens.as_ref());
    let is_over = |until: u64| until <= now;
    let pending = record.pending.values().filter(|pending| !is_over(pending.expires_at));
    Ok(Some(Account {
        server: redacted(server),
        client_id: registration.map(|registration| registration.client_id.clone()),
        scopes: scopes(tokens.and_then(|tokens| tokens.scope.as_deref())),
        token: match tokens {
            None => TokenState::None,
            Some(tokens) if tokens.expires_at.is_some_and(is_over) => TokenState::Expired,
            Some(_) => TokenState::Good,
        },
        expires_at: tokens.and_then(|tokens| tokens.expires_at),
        can_refresh: registration.is_some() && tokens.is_some_and(|tokens| tokens.refresh_token.is_some()),
        pending_logins: pending
            .map(|pending| Pending { issuer: pending.issuer.clone(), expires_at: pending.expires_at })
            .collect(),
        issuer: record.issuer,
    }))
}

impl Status {
    fn to_text(&self, now: u64) -> String {
        let mut text = String::new();
        for account in &self.servers {
            text += &account.to_text(now);
        }
        for file in &self.unreadable {
            text += &format!("{}\n", first_line(file));
        }
        match text.is_empty() {
            true => format!("nothing is stored in {}\n", self.folder),
            false => text,
        }
    }
}

impl Account {
    fn to_text(&self, now: u64) -> String {
        let mut text = format!("{}\n", first_line(&self.server));
        let mut line = |name: &str, value: &str| text += &format!("  {name:<8}{}\n", first_line(value));
        if let Some(issuer) = &self.issuer {
            line("by", issuer);
        }
        if !self.scopes.is_empty() {
            line("scopes", &self.scopes.join(" "));
        }
        let at = self.expires_at.map(|at| calendar::moment(at, now));
        let token = match (self.token, at) {
            (TokenState::None, _) => "none: nobody has logged in".into(),
            (TokenState::Good, Some(at)) => format!("good until {at}"),
            (TokenState::Good, None) => "good until the server says otherwise".into(),
            (TokenState::Expired, at) => format!("expired since {}", at.unwrap_or_default()),
        };
        line("token", &token);
        match (self.token, self.can_refresh) {
            (TokenState::None, _) => {}
            (_, true) => line("refresh", "by itself, when it is used"),
            (_, false) => line("refresh", "not possible; when it is over, log in again"),
        }
        for pending in &self.pending_logins {
            let until = calendar::moment(pending.expires_at, now);
            line("waiting", &format!("for a login at {}, until {until}", pending.issuer));
        }
        text
    }
}

/// What came of forgetting.
#[derive(Serialize)]
struct Gone {
    forgotten: Vec<String>,
}

/// Forgets what is stored.
pub(crate) fn logout(what: &Forgotten, json: bool) -> Result<(), Failure> {
    let mut store = stored::store()?;
    let (servers, unreadable) = match what {
        Forgotten::Server(url) => (vec![stored::key(url)?], Vec::new()),
        Forgotten::All => {
            let kept = store.servers().map_err(stored::unusable)?;
            (kept.servers, kept.unreadable)
        }
    };
    let mut gone = Gone { forgotten: Vec::new() };
    for server in &servers {
        if store.forget(server).map_err(stored::unusable)? {
            gone.forgotten.push(redacted(server));
        }
    }
    if json {
        print_json(&gone);
    } else {
        print(&gone.to_text(what));
    }
    match unreadable.first() {
        None => Ok(()),
        // Whose they are is not known, and they may hold secrets.
        Some(first) => Err(Failure::new(
            FailureKind::Authorization,
            format!("{} files are left, because they cannot be read; the first: {first}", unreadable.len()),
        )),
    }
}

impl Gone {
    fn to_text(&self, what: &Forgotten) -> String {
        match (what, self.forgotten.as_slice()) {
            (Forgotten::Server(url), []) => format!("nothing was stored for {}\n", first_line(&redacted(url))),
            (Forgotten::All, []) => "nothing was stored\n".into(),
            (_, forgotten) => {
                let lines: String =
                    forgotten.iter().map(|server| format!("forgotten: {}\n", first_line(server))).collect();
                lines + "the authorization server is not told; a token that somebody has copied is good until it ends\n"
            }
        }
    }
}
