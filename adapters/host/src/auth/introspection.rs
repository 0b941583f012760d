//! Tokens that only their issuer can read: it is asked about them (RFC 7662).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use windlass::Secret;
use windlass::auth::{Principal, TokenRejected};
use windlass::link::http::{Url, UrlError};

use super::fetch::{Exchange, FetchOptions};
use super::jwt::Claims;
use super::verify::Verifier;

/// Bytes of an answer. It says as much as a token would, and no more fits into the head of a request.
const MOST_BYTES: usize = 64 * 1024;

/// Verifies tokens by asking the authorization server, for each that is not known already.
///
/// ```no_run
/// use windlass_host::auth::IntrospectionVerifier;
///
/// let url = "https://login.example.com/introspect";
/// let verifier = IntrospectionVerifier::new(url, "my-server", "its password")?.issuer("https://login.example.com");
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
pub struct IntrospectionVerifier {
    url: Url,
    credentials: Secret,
    issuer: Option<String>,
    assumed_audience: Option<String>,
    options: FetchOptions,
}

impl IntrospectionVerifier {
    /// Asks there, as this client, by `client_secret_basic`.
    ///
    /// # Errors
    ///
    /// When that is no URL.
    pub fn new(url: &str, client_id: &str, client_secret: &str) -> Result<Self, UrlError> {
        let pair = format!("{}:{}", form_encoded(client_id), form_encoded(client_secret));
        let credentials = Secret::new(format!("Basic {}", STANDARD.encode(pair)));
        let url = Url::parse(url)?;
        Ok(Self { url, credentials, issuer: None, assumed_audience: None, options: FetchOptions::new() })
    }

    /// Tokens are of this issuer: if the answer names another one, they are not taken, and if it names none, this is meant.
    #[must_use]
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        Self { issuer: Some(issuer.into()), ..self }
    }

    /// Whom tokens are for of which the answer does not say it. Otherwise they are for nobody, and not taken. It is right for
    /// an authorization server that issues tokens for this server only.
    #[must_use]
    pub fn assume_audience(self, audience: impl Into<String>) -> Self {
        Self { assumed_audience: Some(audience.into()), ..self }
    }

    /// Asks in another way than usual.
    #[must_use]
    pub fn options(self, options: FetchOptions) -> Self {
        Self { options, ..self }
    }

    fn read(&self, answer: &[u8]) -> Result<Principal, TokenRejected> {
        #[derive(Deserialize)]
        struct Answer {
            active: bool,
        }
        let unreadable = |_| TokenRejected::unavailable("the authorization server's answer cannot be read");
        let Answer { active } = serde_json::from_slice(answer).map_err(unreadable)?;
        if !active {
            return Err(TokenRejected::invalid("the token is not active"));
        }
        let claims: Claims = serde_json::from_slice(answer).map_err(unreadable)?;
        let mut principal = claims.into_principal(answer)?;
        match (&principal.issuer, &self.issuer) {
            (Some(said), Some(expected)) if said != expected => {
                return Err(TokenRejected::invalid("the token is of another issuer"));
            }
            (None, Some(expected)) => principal.issuer = Some(expected.clone()),
            _ => {}
        }
        if principal.audience.is_empty() {
            principal.audience.extend(self.assumed_audience.clone());
        }
        Ok(principal)
    }
}

impl Verifier for IntrospectionVerifier {
    fn verify(&self, token: &str) -> Result<Principal, TokenRejected> {
        let form = format!("token={}&token_type_hint=access_token", form_encoded(token));
        let exchange = Exchange {
            url: &self.url,
            body: Some(("application/x-www-form-urlencoded", form.as_bytes())),
            authorization: Some(self.credentials.expose()),
            most_bytes: MOST_BYTES,
        };
        // What exactly went wrong is for whoever runs the server, and not for its clients.
        let unavailable = |_| TokenRejected::unavailable("the authorization server cannot be asked");
        self.read(&exchange.perform(&self.options).map_err(unavailable)?)
    }
}

impl fmt::Debug for IntrospectionVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrospectionVerifier").field("url", &self.url).finish_non_exhaustive()
    }
}

/// As `application/x-www-form-urlencoded` has it.
fn form_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => encoded.push(byte.into()),
            b' ' => encoded.push('+'),
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}
