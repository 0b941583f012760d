//! The keys that tokens are signed by: a set of them (RFC 7517) as text, or fetched from whoever issues the tokens.
//!
//! Fetched keys are kept. They are fetched again when they are old, so that a key that was withdrawn is not trusted for ever,
//! and when a token names a key that is not among them, so that a new one is known at once; but not more often than once in a
//! while, because anybody can make up names.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use windlass::auth::TokenRejected;
use windlass::link::http::Url;

use super::fetch::{Exchange, FetchOptions};
use super::jwt::Algorithm;

/// Bytes of a set of keys. A key of 8192 bits with a chain of certificates takes some ten thousand.
const MOST_BYTES: usize = 256 * 1024;

/// Keys of a set. Issuers have two or three, and the largest a few dozen; a token that names none is tried with all of them.
const MOST_KEYS: usize = 64;

/// How soon keys that were fetched are fetched again, whatever happens.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// For how long they are good when they cannot be: an issuer that is down for a while takes nobody else down.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// How soon they are fetched again when that was in vain, or a token names a key that is not there.
pub(super) const AGAIN: Duration = Duration::from_secs(60);

/// A set of keys that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidKeys(String);

impl fmt::Display for InvalidKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the keys cannot be used: {}", self.0)
    }
}

impl std::error::Error for InvalidKeys {}

/// A key that signatures are checked by.
#[derive(Debug)]
pub(super) struct Key {
    id: Option<String>,
    public: Public,
}

#[derive(Debug)]
enum Public {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256 { point: Vec<u8> },
}

impl Key {
    /// Whether a text was signed by it. A key is good for the one algorithm that it is made for.
    pub(super) fn has_signed(&self, algorithm: Algorithm, text: &[u8], signature: &[u8]) -> bool {
        match (&self.public, algorithm) {
            (Public::Rsa { modulus, exponent }, Algorithm::Rs256) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, text, signature).is_ok()
            }
            (Public::P256 { point }, Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, signature).is_ok()
            }
            _ => false,
        }
    }

    fn is_named(&self, id: Option<&str>) -> bool {
        id.is_none() || self.id.as_deref() == id
    }
}

/// Reads a set of keys. What is not understood is left out: a set may hold keys for other uses.
fn parse(text: &[u8]) -> Result<Vec<Key>, InvalidKeys> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<serde_json::Value>,
    }
    let set: Set = serde_json::from_slice(text).map_err(|error| InvalidKeys(error.to_string()))?;
    if set.keys.len() > MOST_KEYS {
        return Err(InvalidKeys(format!("there are more than {MOST_KEYS}")));
    }
    let keys: Vec<_> = set.keys.iter().filter_map(read_key).collect();
    if keys.is_empty() { Err(InvalidKeys("there is none for RS256 or ES256".into())) } else { Ok(keys) }
}

fn read_key(key: &serde_json::Value) -> Option<Key> {
    let text = |name: &str| key.get(name).and_then(|value| value.as_str());
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
    if text("use").is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let public = match (text("kty")?, text("crv"), text("alg")) {
        ("RSA", _, None | Some("RS256")) => {
            let mut modulus = bytes("n")?;
            modulus.drain(..modulus.iter().take_while(|byte| **byte == 0).count());
            Public::Rsa { modulus, exponent: bytes("e")? }
        }
        ("EC", Some("P-256"), None | Some("ES256")) => {
            let (x, y) = (bytes("x")?, bytes("y")?);
            ((x.len(), y.len()) == (32, 32)).then(|| Public::P256 { point: [&[4][..], &x, &y].concat() })?
        }
        _ => return None,
    };
    Some(Key { id: text("kid").map(ToOwned::to_owned), public })
}

/// Where keys come from, and those that are there.
#[derive(Debug)]
pub(super) struct Keys {
    source: Option<Source>,
    kept: Mutex<Kept>,
    /// When they were last fetched, or that was tried. Whoever fetches holds it, and the others who need to wait for it.
    tried: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Source {
    url: Url,
    options: FetchOptions,
    again: Duration,
}

#[derive(Clone, Debug)]
struct Kept {
    keys: Arc<Vec<Key>>,
    since: Option<Instant>,
}

impl Keys {
    pub(super) fn given(text: &str) -> Result<Self, InvalidKeys> {
        let kept = Kept { keys: Arc::new(parse(text.as_bytes())?), since: None };
        Ok(Self { source: None, kept: Mutex::new(kept), tried: Mutex::default() })
    }

    pub(super) fn fetched(url: Url, options: FetchOptions, again: Duration) -> Self {
        let kept = Kept { keys: Arc::default(), since: None };
        Self { source: Some(Source { url, options, again }), kept: Mutex::new(kept), tried: Mutex::default() }
    }

    /// Whether a key that may have signed a text has done so: the one that is named, or any.
    pub(super) fn have_signed(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        text: &[u8],
        signature: &[u8],
    ) -> Result<(), TokenRejected> {
        let has_signed = |kept: &Kept| {
            let mut candidates = kept.keys.iter().filter(|key| key.is_named(id));
            candidates.any(|key| key.has_signed(algorithm, text, signature))
        };
        let is_known = |kept: &Kept| kept.keys.iter().any(|key| key.is_named(id));
        let mut kept = self.kept();
        let age = |kept: &Kept| kept.since.map(|since| since.elapsed());
        if let Some(source) = &self.source {
            let is_fresh = age(&kept).is_some_and(|age| age < FRESH);
            if !(is_fresh && is_known(&kept)) {
                let refreshed = self.refresh(source, &kept);
                kept = self.kept();
                let is_good = age(&kept).is_some_and(|age| age < STALE);
                // What exactly is wrong is for whoever runs the server, and not for its clients.
                if refreshed.is_err() && !is_good {
                    return Err(TokenRejected::unavailable("there are no keys"));
                }
            }
        }
        match (is_known(&kept), has_signed(&kept)) {
            (_, true) => Ok(()),
            (false, _) => Err(TokenRejected::invalid("the token is signed by an unknown key")),
            (true, _) => Err(TokenRejected::invalid("the signature is wrong")),
        }
    }

    fn kept(&self) -> Kept {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches the keys, unless somebody else just did, or it was tried a moment ago.
    fn refresh(&self, source: &Source, seen: &Kept) -> Result<(), String> {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if self.kept().since != seen.since {
            return Ok(());
        }
        if tried.is_some_and(|tried| tried.elapsed() < source.again) {
            return Err("it was tried a moment ago".into());
        }
        *tried = Some(Instant::now());
        let exchange = Exchange { url: &source.url, body: None, authorization: None, most_bytes: MOST_BYTES };
        let keys = parse(&exchange.perform(&source.options)?).map_err(|error| error.to_string())?;
        let kept = Kept { keys: Arc::new(keys), since: Some(Instant::now()) };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(())
    }
}
