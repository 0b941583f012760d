//! Tokens that are signed statements (RFC 7519, RFC 9068).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use windlass::Json;
use windlass::auth::{Principal, TokenRejected};
use windlass::link::http::{Url, UrlError};

use super::fetch::FetchOptions;
use super::jwks::{AGAIN, InvalidKeys, Keys};
use super::verify::Verifier;

/// How tokens are signed. What is not here is not taken: neither no signature at all, nor one by a secret that is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 and SHA-256, by keys of 2048 bits and more.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

/// Verifies tokens that are signed by their issuer.
///
/// The issuer, the expiry (which has to be there), the beginning and the signature are looked at; whom a token is for the
/// engine looks at, against the resource as it is published, and here as well if [`audience`](Self::audience) is called.
///
/// ```no_run
/// use windlass_host::auth::JwtVerifier;
///
/// let verifier = JwtVerifier::fetching("https://login.example.com", "https://login.example.com/keys")?;
/// # Ok::<(), windlass::link::http::UrlError>(())
/// ```
#[derive(Debug)]
pub struct JwtVerifier {
    issuer: String,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    leeway: Duration,
    keys: Keys,
}

/// What stands before the claims.
#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

/// The claims that are known here.
#[derive(Deserialize)]
pub(super) struct Claims {
    #[serde(default)]
    pub(super) iss: Option<String>,
    #[serde(default)]
    pub(super) sub: Option<String>,
    #[serde(default)]
    pub(super) aud: OneOrMany,
    #[serde(default)]
    pub(super) exp: Option<f64>,
    #[serde(default)]
    pub(super) nbf: Option<f64>,
    #[serde(default)]
    pub(super) scope: OneOrMany,
    /// As some authorization servers call it.
    #[serde(default)]
    scp: OneOrMany,
    #[serde(default)]
    pub(super) client_id: Option<String>,
    /// As some authorization servers call it.
    #[serde(default)]
    azp: Option<String>,
}

/// A text, or several.
#[derive(Default, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }

    /// Scopes are several in one text, or in several.
    fn words(self) -> Vec<String> {
        let texts = self.into_vec();
        texts.iter().flat_map(|text| text.split_ascii_whitespace()).map(ToOwned::to_owned).collect()
    }
}

impl Claims {
    /// Whom they are about, with everything that was said.
    pub(super) fn into_principal(self, said: &[u8]) -> Result<Principal, TokenRejected> {
        let client = self.client_id.or(self.azp);
        let subject = self.sub.or_else(|| client.clone()).filter(|subject| !subject.is_empty());
        let subject = subject.ok_or_else(|| TokenRejected::invalid("the token is about nobody"))?;
        let mut principal = Principal::new(subject);
        principal.issuer = self.iss;
        principal.client_id = client;
        principal.audience = self.aud.into_vec();
        principal.scopes = [self.scope.words(), self.scp.words()].concat();
        principal.expires_at = self.exp.map(|exp| exp as u64);
        principal.claims = std::str::from_utf8(said).ok().and_then(|said| Json::parse(said).ok());
        Ok(principal)
    }
}

impl JwtVerifier {
    /// Verifies tokens of this issuer by a set of keys: the text of a JWKS.
    ///
    /// # Errors
    ///
    /// When there is no key in it that could be used.
    pub fn with_keys(issuer: impl Into<String>, jwks: &str) -> Result<Self, InvalidKeys> {
        Ok(Self::new(issuer.into(), Keys::given(jwks)?))
    }

    /// Verifies tokens of this issuer by its keys, which are fetched from there when they are needed, kept, and fetched again
    /// when they are old or a token names one that is not among them, at most once in a minute.
    ///
    /// # Errors
    ///
    /// When that is no URL.
    pub fn fetching(issuer: impl Into<String>, jwks_url: &str) -> Result<Self, UrlError> {
        Self::fetching_with(issuer, jwks_url, FetchOptions::new())
    }

    /// The same, in another way than usual.
    ///
    /// # Errors
    ///
    /// When that is no URL.
    pub fn fetching_with(issuer: impl Into<String>, jwks_url: &str, options: FetchOptions) -> Result<Self, UrlError> {
        Ok(Self::new(issuer.into(), Keys::fetched(Url::parse(jwks_url)?, options, AGAIN)))
    }

    pub(super) fn new(issuer: String, keys: Keys) -> Self {
        let algorithms = vec![Algorithm::Rs256, Algorithm::Es256];
        Self { issuer, audiences: Vec::new(), algorithms, leeway: Duration::from_secs(30), keys }
    }

    /// Tokens have to be for this, or for another that is given so.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Takes tokens that are signed so and in no other way.
    #[must_use]
    pub fn algorithms(self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        Self { algorithms: algorithms.into_iter().collect(), ..self }
    }

    /// How far the issuer's clock may be off. Half a minute unless this is called; the engine has a leeway of its own.
    #[must_use]
    pub fn leeway(self, leeway: Duration) -> Self {
        Self { leeway, ..self }
    }

    fn verify_at(&self, token: &str, now: Duration) -> Result<Principal, TokenRejected> {
        let malformed = || TokenRejected::invalid("the token is none that can be read");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| malformed())?;
        let algorithm = self.algorithm(&header)?;
        self.keys.have_signed(header.kid.as_deref(), algorithm, signed.as_bytes(), &decode(signature)?)?;
        // From here on it is known who says so.
        let said = decode(claims)?;
        let claims: Claims = serde_json::from_slice(&said).map_err(|_| malformed())?;
        if claims.iss.as_deref() != Some(&self.issuer) {
            return Err(TokenRejected::invalid("the token is of another issuer"));
        }
        let (now, leeway) = (now.as_secs_f64(), self.leeway.as_secs_f64());
        match claims.exp {
            None => return Err(TokenRejected::invalid("the token does not say when it expires")),
            Some(exp) if exp + leeway > now => {}
            Some(_) => return Err(TokenRejected::Expired),
        }
        if claims.nbf.is_some_and(|nbf| nbf - leeway > now) {
            return Err(TokenRejected::invalid("the token is not good yet"));
        }
        let principal = claims.into_principal(&said)?;
        let is_ours = |audience: &String| self.audiences.contains(audience);
        if !(self.audiences.is_empty() || principal.audience.iter().any(is_ours)) {
            return Err(TokenRejected::invalid("the token is for another resource"));
        }
        Ok(principal)
    }

    fn algorithm(&self, header: &Header) -> Result<Algorithm, TokenRejected> {
        if header.crit.is_some() {
            return Err(TokenRejected::invalid("the token has critical extensions, which are not known here"));
        }
        // Statements for other purposes may be signed by the same keys.
        let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
        if !matches!(kind.as_deref(), None | Some("jwt" | "at+jwt" | "application/at+jwt")) {
            return Err(TokenRejected::invalid("the token is no access token"));
        }
        let algorithm = match &*header.alg {
            "RS256" => Some(Algorithm::Rs256),
            "ES256" => Some(Algorithm::Es256),
            _ => None,
        };
        let algorithm = algorithm.filter(|algorithm| self.algorithms.contains(algorithm));
        algorithm.ok_or_else(|| TokenRejected::invalid("the token is signed in a way that is not taken"))
    }
}

impl Verifier for JwtVerifier {
    fn verify(&self, token: &str) -> Result<Principal, TokenRejected> {
        self.verify_at(token, SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
