//! Proofs that a token is ours to use (RFC 9449): each request has a statement of its own, signed with the key that the token
//! is bound to. A server may ask for a nonce of its own in it, which it gives in an answer.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use hmac_sha256::Hash;
use serde::Serialize;

use super::jws::{SignError, Signer, base64url, compact, json};
use crate::json::Json;
use crate::secret::Secret;

/// Proves that a request with the method `htm` to the URL `htu` is sent by whoever has the key. `jti` is a text that is used
/// once; `nonce` is what the server gave last; the token is named where one is shown, so not at the token endpoint.
pub(crate) fn proof(
    signer: &dyn Signer,
    htm: &str,
    htu: &str,
    issued_at_unix: u64,
    jti: &str,
    nonce: Option<&str>,
    access_token: Option<&Secret>,
) -> Result<Secret, SignError> {
    let header = Header { typ: "dpop+jwt", alg: signer.algorithm(), jwk: public_jwk(signer)? };
    let claims = Claims {
        jti,
        htm,
        // What is compared has neither query nor fragment.
        htu: htu.split(['?', '#']).next().unwrap_or(htu),
        iat: issued_at_unix,
        nonce,
        ath: access_token.map(|token| base64url(&Hash::hash(token.expose().as_bytes()))),
    };
    compact(&json(&header)?, &json(&claims)?, signer).map(Secret::new)
}

#[derive(Serialize)]
struct Header<'a> {
    typ: &'a str,
    alg: &'a str,
    jwk: Json,
}

#[derive(Serialize)]
struct Claims<'a> {
    jti: &'a str,
    htm: &'a str,
    htu: &'a str,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ath: Option<String>,
}

/// The public key, which goes out with every request. A program that mistakes its private one for it would give it away.
fn public_jwk(signer: &dyn Signer) -> Result<Json, SignError> {
    const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
    let refused = |why: &str| SignError(why.into());
    let jwk = Json::parse(signer.public_jwk()).map_err(|_| refused("the public key is no JSON"))?;
    let members: BTreeMap<String, Json> = jwk.decode().map_err(|_| refused("the public key is no JSON object"))?;
    if PRIVATE.iter().any(|name| members.contains_key(*name)) {
        return Err(refused("the key that is to be shown is a private one"));
    }
    Ok(jwk)
}

/// Servers whose nonces are kept: the MCP server, its authorization server, and some that they were before.
const MOST_NONCES: usize = 8;

/// The last nonce of each server, by its origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nonces {
    /// The newest is last.
    entries: VecDeque<(String, String)>,
}

impl Nonces {
    /// Keeps what a server gave, in place of what it gave before, or of what is oldest if there are too many.
    pub(crate) fn keep(&mut self, origin: &str, nonce: &str) {
        self.entries.retain(|(other, _)| other != origin);
        if self.entries.len() >= MOST_NONCES {
            self.entries.pop_front();
        }
        self.entries.push_back((origin.into(), nonce.into()));
    }

    /// What a server gave last.
    pub(crate) fn get(&self, origin: &str) -> Option<&str> {
        self.entries.iter().find(|(other, _)| other == origin).map(|(_, nonce)| nonce.as_str())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::super::jws::tests::{Toy, parts};
    use super::*;

    const JWK: &str = r#"{"crv":"P-256","kty":"EC","x":"eA","y":"eQ"}"#;

    #[test]
    fn a_proof_names_the_request_and_the_token() {
        let signer = Toy { key_id: Some("not named"), jwk: JWK };
        let bare = proof(&signer, "POST", "https://as/token?a=b#c", 7, "once", None, None).unwrap();
        let bare = parts(bare.expose());
        assert_eq!(bare[0], format!(r#"{{"typ":"dpop+jwt","alg":"TOY","jwk":{JWK}}}"#));
        assert_eq!(bare[1], r#"{"jti":"once","htm":"POST","htu":"https://as/token","iat":7}"#);
        // The token of RFC 9449 section 7.1, and its hash there.
        let token = Secret::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
        let full = proof(&signer, "GET", "https://rs/", 7, "once", Some("n\"1"), Some(&token)).unwrap();
        assert_eq!(
            parts(full.expose())[1],
            r#"{"jti":"once","htm":"GET","htu":"https://rs/","iat":7,"nonce":"n\"1","ath":"fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"}"#
        );
    }

    #[test]
    fn a_private_key_is_not_sent() {
        let made = |jwk| proof(&Toy { key_id: None, jwk }, "GET", "https://rs/", 0, "once", None, None);
        assert!(made(JWK).is_ok());
        for jwk in ["", "x", "[]", r#"{"kty":"EC","d":"eA"}"#, r#"{"kty":"EC","\u0064":"eA"}"#, r#"{"k":"eA"}"#] {
            assert!(made(jwk).is_err(), "{jwk}");
        }
    }

    #[test]
    fn the_newest_nonces_are_kept() {
        let mut nonces = Nonces::default();
        assert_eq!(nonces.get("https://0"), None);
        for number in 0..MOST_NONCES {
            nonces.keep(&format!("https://{number}"), "old");
        }
        nonces.keep("https://0", "new");
        nonces.keep("https://x", "one too many");
        assert_eq!((nonces.get("https://0"), nonces.get("https://x")), (Some("new"), Some("one too many")));
        assert_eq!((nonces.get("https://1"), nonces.get("https://2")), (None, Some("old")));
        assert_eq!(nonces.entries.len(), MOST_NONCES);
    }
}
