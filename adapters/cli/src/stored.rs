//! What earlier logins have left, for the commands that come after them.

use windlass::auth::{AuthConfig, AuthRecord, AuthStore, Grant, StoreError, Tokens, store_key};
use windlass::link::http::{Url, redacted};
use windlass_host::HttpTarget;
use windlass_host::auth::FileStore;

use crate::address::{has_credentials, is_on_this_machine};
use crate::failure::{Failure, FailureKind};
use crate::invocation::HttpOptions;
use crate::login::scopes;

/// Where it is kept.
pub(crate) fn store() -> Result<FileStore, Failure> {
    FileStore::of_user().map_err(unusable)
}

pub(crate) fn unusable(error: StoreError) -> Failure {
    Failure::new(FailureKind::Authorization, error.to_string())
}

/// By what a server is known in the store: its address, as the engine has it.
pub(crate) fn key(url: &str) -> Result<String, Failure> {
    let parsed =
        Url::parse(url).map_err(|error| Failure::usage(format!("{} cannot be used: {error}", redacted(url))))?;
    Ok(store_key(&parsed))
}

/// The tokens of a server, with whoever gave them.
pub(crate) fn tokens(record: &AuthRecord) -> Option<(&str, &Tokens)> {
    let issuer = record.issuer.as_deref()?;
    Some((issuer, record.issuers.get(issuer)?.tokens.as_ref()?))
}

/// What is allowed at a server by what is stored, as far as that is known.
pub(crate) fn granted(url: &str) -> Vec<String> {
    let stored = key(url).and_then(|server| store()?.load(&server).map_err(unusable)).ok().flatten();
    let tokens = stored.as_ref().and_then(|stored| tokens(&stored.record));
    // Whoever does not say what was granted has granted what was asked for (RFC 6749, 5.1).
    scopes(tokens.and_then(|(_, tokens)| tokens.scope.as_deref().or(tokens.requested_scope.as_deref())))
}

/// Shows a server what is stored for it, if there is something. Nobody is asked to log in, and nothing is registered:
/// whoever runs a command in a script does not want a browser. Where there is nothing, the server says itself what it wants.
pub(crate) fn authorized(target: HttpTarget, options: &HttpOptions) -> Result<HttpTarget, Failure> {
    if has_credentials(options) {
        return match options.auth.stored_only {
            true => Err(Failure::usage("`--stored-auth-only` does not go with a header `Authorization`")),
            false => Ok(target),
        };
    }
    // Whoever has no folder has nothing in it.
    let Ok(mut store) = FileStore::of_user() else { return Ok(target) };
    let Some(stored) = store.load(&key(target.url())?).map_err(unusable)? else { return Ok(target) };
    let Some((_, tokens)) = tokens(&stored.record) else { return Ok(target) };
    // Without a user and with `stored_only`, it is never begun.
    let mut config = configured(AuthConfig::new(Grant::Device), options);
    config.stored_only = true;
    // What was allowed at the login is so for as long as that lasts.
    config.guard.allowed_hosts.extend(Url::parse(&tokens.token_endpoint).map(|url| url.host().to_owned()));
    if Url::parse(target.url()).is_ok_and(|url| is_on_this_machine(&url)) {
        config = config.allow_local();
    }
    Ok(target.with_authorization(config, store))
}

/// What the options say about whom to trust.
pub(crate) fn configured(mut config: AuthConfig, options: &HttpOptions) -> AuthConfig {
    config.guard.allowed_hosts.extend(options.auth.hosts.iter().cloned());
    if options.auth.allow_local { config.allow_local() } else { config }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_address() {
        for (url, expected) in [
            ("https://H.example", "https://h.example"),
            ("https://h.example/", "https://h.example"),
            ("https://h.example/mcp/", "https://h.example/mcp/"),
            ("https://h.example/mcp?a=b#c", "https://h.example/mcp?a=b"),
        ] {
            assert_eq!(key(url).unwrap(), expected);
        }
        assert!(key("https://").is_err());
    }
}
