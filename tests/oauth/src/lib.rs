//! Authorization by a server that nobody here wrote: `oidc-provider` from npm, with a user who says yes to everything.
//!
//! - `provider.mjs` is the authorization server, and counts what is asked of it.
//! - `oauth` is our client and our protected server, a process for each case, on the runtime that is named.
//! - `rmcp_client`, `client_1.mjs` and `client_2.mjs` are clients of others against our protected server.
//!
//! `run` installs the provider and starts all of them. Nothing of it happens in `cargo test`, which has no provider.

pub mod browser;
pub mod provider;

/// What goes wrong, whoever says so.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Fails a case in which something is not as it has to be.
///
/// # Errors
///
/// When it is not so.
pub fn expect(what: &str, is_so: bool) -> Outcome {
    if is_so { Ok(()) } else { Err(format!("not as expected: {what}").into()) }
}

/// Fails a case in which something is something else than it has to be.
///
/// # Errors
///
/// When it is not so.
pub fn expect_equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}").into()) }
}
