//! On whose behalf a request is made, where a server is protected.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hmac_sha256::Hash;

use crate::json::Json;

/// Whoever a token was issued to, as the program that verified it says. The engine itself looks at the audience, the
/// expiry and the scopes, and takes two for the same whose issuer, subject and client are the same.
///
/// ```
/// use windlass::server::Principal;
///
/// let principal = Principal::new("alice").audience("https://example.com/mcp").scopes(["files:read"]);
/// assert_eq!(principal.scopes, ["files:read"]);
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Principal {
    /// Who it is, among those whom the issuer knows (`sub`).
    pub subject: String,
    /// Who issued the token (`iss`).
    pub issuer: Option<String>,
    /// The client that it was issued to (`client_id`).
    pub client_id: Option<String>,
    /// For whom the token is (`aud`). One that names nobody is for nobody.
    pub audience: Vec<String>,
    /// What it allows (`scope`).
    pub scopes: Vec<String>,
    /// When it stops being good, in seconds since the Unix epoch (`exp`).
    pub expires_at: Option<u64>,
    /// Whatever else is known of it, for handlers.
    pub claims: Option<Json>,
}

impl Principal {
    /// Somebody of whom nothing else is known. No server takes the token before it is said that it is
    /// [for it](Self::audience).
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            issuer: None,
            client_id: None,
            audience: Vec::new(),
            scopes: Vec::new(),
            expires_at: None,
            claims: None,
        }
    }

    /// The token was issued by this authorization server.
    #[must_use]
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        Self { issuer: Some(issuer.into()), ..self }
    }

    /// The token was issued to this client.
    #[must_use]
    pub fn client_id(self, client_id: impl Into<String>) -> Self {
        Self { client_id: Some(client_id.into()), ..self }
    }

    /// The token is for this resource, besides those that were named before.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience.push(audience.into());
        self
    }

    /// The token allows this, besides what was named before.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The token is good until then, in seconds since the Unix epoch.
    #[must_use]
    pub fn expires_at(self, expires_at: u64) -> Self {
        Self { expires_at: Some(expires_at), ..self }
    }

    /// What else is known, for handlers.
    #[must_use]
    pub fn claims(self, claims: Json) -> Self {
        Self { claims: Some(claims), ..self }
    }

    /// Tells this principal from all others: another token of the same is the same.
    pub(crate) fn identity(&self) -> Identity {
        let mut hash = Hash::new();
        for part in [self.issuer.as_deref(), Some(&self.subject), self.client_id.as_deref()] {
            hash.update([u8::from(part.is_some())]);
            let part = part.unwrap_or_default();
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Identity(hash.finalize())
    }
}

/// Claims may be anything, and nobody else's business.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("subject", &self.subject)
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("audience", &self.audience)
            .field("scopes", &self.scopes)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// What is the same for all tokens of a principal, and for nobody else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(pub(super) [u8; 32]);

/// Why a token is not taken. What it says is told to the client; it holds nothing of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenRejected {
    /// It is not good, or not any more: the client needs another one (401).
    Invalid(Cow<'static, str>),
    /// It is past its time (401).
    Expired,
    /// Whether it is good cannot be found out now: the client may come back with it (503).
    Unavailable(Cow<'static, str>),
}

impl TokenRejected {
    /// The token is not good.
    pub fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(why.into())
    }

    /// Whoever could tell is not to be had.
    pub fn unavailable(why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unavailable(why.into())
    }
}

impl fmt::Display for TokenRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::Expired => f.write_str("the token has expired"),
            Self::Unavailable(why) => write!(f, "the token cannot be verified now: {why}"),
        }
    }
}

impl core::error::Error for TokenRejected {}

/// Where the outcome of a verification goes. It cannot be copied, so that a token is not verified twice.
#[derive(Debug)]
pub struct VerifyReply(pub(crate) u64);

impl VerifyReply {
    /// The number of the verification, for logs: the token itself does not belong there.
    pub fn number(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_known_by_issuer_subject_and_client() {
        let alice = || Principal::new("alice").issuer("https://a").client_id("c");
        assert_eq!(alice().identity(), alice().scopes(["x"]).expires_at(7).audience("z").identity());
        let others = [
            Principal::new("alice"),
            Principal::new("alice").issuer("https://a"),
            Principal::new("alice").client_id("c"),
            Principal::new("alice").issuer("https://a").client_id(""),
            Principal::new("bob").issuer("https://a").client_id("c"),
            Principal::new("alice").issuer("https://b").client_id("c"),
            Principal::new("alic").issuer("https://a").client_id("ec"),
        ];
        for other in others {
            assert_ne!(alice().identity(), other.identity(), "{other:?}");
        }
    }

    #[test]
    fn claims_are_not_printed() {
        let principal = Principal::new("alice").claims(Json::of("secret").unwrap());
        assert!(!alloc::format!("{principal:?}").contains("secret"));
    }
}
