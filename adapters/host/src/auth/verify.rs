//! Whoever says whose a token is.

use windlass::auth::{Principal, TokenRejected};

/// Verifies the tokens that a protected server is shown. Its audience, its expiry and its scopes the engine looks at itself,
/// as far as the principal has them: a verifier says whose the token is, and that whoever issued it did so.
///
/// It is called on a thread where it may wait, by several at a time. What it takes longer than
/// [`verify_timeout`](windlass::auth::ProtectedResource::verify_timeout) for is not waited for. A function is a verifier:
///
/// ```
/// use windlass::auth::{Principal, TokenRejected};
/// use windlass_host::auth::Verifier;
///
/// let verifier = |token: &str| match token {
///     "letmein" => Ok(Principal::new("alice").audience("https://example.com/mcp").scopes(["files:read"])),
///     _ => Err(TokenRejected::invalid("nobody knows it")),
/// };
/// assert_eq!(verifier.verify("letmein").unwrap().subject, "alice");
/// ```
pub trait Verifier: Send + Sync {
    /// Whose a token is.
    ///
    /// # Errors
    ///
    /// When it is not good, or that cannot be found out now. What the error says is told to the client.
    fn verify(&self, token: &str) -> Result<Principal, TokenRejected>;
}

impl<F: Fn(&str) -> Result<Principal, TokenRejected> + Send + Sync> Verifier for F {
    fn verify(&self, token: &str) -> Result<Principal, TokenRejected> {
        self(token)
    }
}
