//! A signer that holds a P-256 key in memory.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

#[cfg(any(feature = "client", feature = "server"))]
use hmac_sha256::HMAC;
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::DecodePrivateKey as _;

use super::jws::{SignError, Signer, base64url};
#[cfg(any(feature = "client", feature = "server"))]
use crate::entropy::Seed;

/// Signs by ECDSA with P-256 and SHA-256. Signatures are drawn from the key and the message (RFC 6979), so they need no
/// randomness, and the same message has the same signature.
///
/// ```
/// use windlass::Seed;
/// use windlass::auth::{Es256Signer, Signer};
///
/// // A key for one run. An adapter fills the seed from the system's generator.
/// let signer = Es256Signer::from_seed(&Seed::from_number(7)).with_key_id("mine");
/// assert_eq!((signer.algorithm(), signer.key_id()), ("ES256", Some("mine")));
/// assert_eq!(signer.sign(b"message")?.len(), 64);
/// # Ok::<(), windlass::auth::SignError>(())
/// ```
#[derive(Clone)]
pub struct Es256Signer {
    key: SigningKey,
    key_id: Option<String>,
}

/// A text or some bytes are no private key of the curve P-256. What they are is not told: it may be a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    expected: &'static str,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no private key of P-256: it should be {}", self.expected)
    }
}

impl core::error::Error for KeyError {}

impl Es256Signer {
    /// Reads a key as most programs write it: `BEGIN PRIVATE KEY`.
    ///
    /// # Errors
    ///
    /// When it is none of P-256, or encrypted.
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self, KeyError> {
        match SecretKey::from_pkcs8_pem(block(pem, "PRIVATE KEY")) {
            Ok(key) => Ok(Self::new(key.into())),
            Err(_) => Err(KeyError { expected: "PEM with BEGIN PRIVATE KEY, not encrypted" }),
        }
    }

    /// Reads a key as OpenSSL's `ecparam` writes it: `BEGIN EC PRIVATE KEY`, with or without its parameters before it.
    ///
    /// # Errors
    ///
    /// When it is none of P-256, or encrypted.
    pub fn from_sec1_pem(pem: &str) -> Result<Self, KeyError> {
        match SecretKey::from_sec1_pem(block(pem, "EC PRIVATE KEY")) {
            Ok(key) => Ok(Self::new(key.into())),
            Err(_) => Err(KeyError { expected: "PEM with BEGIN EC PRIVATE KEY, not encrypted" }),
        }
    }

    /// Takes the number that is the key: `d` of a JSON Web Key.
    ///
    /// # Errors
    ///
    /// When it is zero, or not less than the order of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        match SigningKey::from_slice(bytes) {
            Ok(key) => Ok(Self::new(key)),
            Err(_) => Err(KeyError { expected: "a number above zero and below the order of the curve" }),
        }
    }

    /// Draws a key: the same seed gives the same. What a machine draws of the same seed has nothing to do with it.
    #[cfg(any(feature = "client", feature = "server"))]
    pub fn from_seed(seed: &Seed) -> Self {
        let mut tries = 0_u64;
        loop {
            let bytes = HMAC::mac([b"windlass es256 key 1 ".as_slice(), &tries.to_le_bytes()].concat(), seed.0);
            if let Ok(signer) = Self::from_bytes(&bytes) {
                return signer;
            }
            // One in four thousand million: hashes are sometimes beyond the order of the curve.
            tries = tries.wrapping_add(1);
        }
    }

    fn new(key: SigningKey) -> Self {
        Self { key, key_id: None }
    }

    /// Names the key, so that whoever knows several of them can tell which it is.
    #[must_use]
    pub fn with_key_id(mut self, key_id: impl Into<String>) -> Self {
        self.key_id = Some(key_id.into());
        self
    }
}

impl Signer for Es256Signer {
    fn algorithm(&self) -> &str {
        "ES256"
    }

    fn public_jwk(&self) -> String {
        let point = self.key.verifying_key().to_encoded_point(false);
        let [x, y] = [point.x(), point.y()].map(|number| number.map(|bytes| base64url(bytes)).unwrap_or_default());
        format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)
    }

    fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let signature: Result<Signature, _> = self.key.try_sign(message);
        signature.map(|signature| signature.to_bytes().to_vec()).map_err(|error| SignError(error.to_string()))
    }
}

/// Without the key.
impl fmt::Debug for Es256Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Es256Signer").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// The part of a file that is of this kind, or all of it if there is none.
fn block<'a>(pem: &'a str, label: &str) -> &'a str {
    let end = format!("-----END {label}-----");
    let start = pem.find(&format!("-----BEGIN {label}-----"));
    let block = start.and_then(|start| pem.get(start..)).unwrap_or(pem);
    block.find(&end).and_then(|at| block.get(..at + end.len())).unwrap_or(block)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use hmac_sha256::Hash;
    use p256::ecdsa::signature::Verifier as _;
    use p256::pkcs8::{EncodePrivateKey as _, LineEnding};

    use super::*;

    fn decoded(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// The key of RFC 7515 appendix A.3.
    fn signer() -> Es256Signer {
        let bytes = decoded("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI");
        Es256Signer::from_bytes(bytes.as_slice().try_into().unwrap()).unwrap()
    }

    fn is_signed(signer: &Es256Signer, message: &[u8], signature: &[u8]) -> bool {
        signer.key.verifying_key().verify(message, &Signature::from_slice(signature).unwrap()).is_ok()
    }

    #[test]
    fn the_key_and_the_signature_of_rfc_7515_are_understood() {
        const SIGNED: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signer = signer();
        assert_eq!(
            signer.public_jwk(),
            r#"{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
        );
        let theirs = decoded("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
        let ours = signer.sign(SIGNED.as_bytes()).unwrap();
        for signature in [&theirs, &ours] {
            assert!(is_signed(&signer, SIGNED.as_bytes(), signature));
            assert!(!is_signed(&signer, &SIGNED.as_bytes()[1..], signature));
        }
    }

    #[test]
    fn signatures_are_those_of_rfc_6979() {
        let hexadecimal = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        };
        let key = hexadecimal("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721");
        let signer = Es256Signer::from_bytes(key.as_slice().try_into().unwrap()).unwrap();
        let expected = hexadecimal(concat!(
            "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
            "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
        ));
        assert_eq!(signer.sign(b"sample").unwrap(), expected);
    }

    /// The key and the thumbprint of RFC 9449 section 6.1.
    #[test]
    fn public_keys_are_in_the_order_of_thumbprints() {
        let jwk = r#"{"crv":"P-256","kty":"EC","x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs","y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"}"#;
        assert_eq!(base64url(&Hash::hash(jwk.as_bytes())), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
        let names = |jwk: &str| jwk.split('"').skip(1).step_by(4).map(String::from).collect::<Vec<_>>();
        assert_eq!(names(&signer().public_jwk()), names(jwk));
    }

    #[test]
    fn keys_are_read_from_files() {
        let secret: SecretKey = signer().key.as_nonzero_scalar().into();
        let pkcs8 = secret.to_pkcs8_pem(LineEnding::LF).unwrap();
        let sec1 = secret.to_sec1_pem(LineEnding::CRLF).unwrap();
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
        let expected = signer().public_jwk();
        for text in [pkcs8.to_string(), format!("\n{}\n\n", *pkcs8)] {
            assert_eq!(Es256Signer::from_pkcs8_pem(&text).unwrap().public_jwk(), expected);
            assert!(Es256Signer::from_sec1_pem(&text).is_err());
        }
        for text in [sec1.to_string(), format!("{parameters}{}  ", *sec1)] {
            assert_eq!(Es256Signer::from_sec1_pem(&text).unwrap().public_jwk(), expected);
            assert!(Es256Signer::from_pkcs8_pem(&text).is_err());
        }
        let cut = &pkcs8[..pkcs8.len() / 2];
        for text in ["", "-----BEGIN PRIVATE KEY-----", cut, &pkcs8.replace("MIGH", "MIGI"), parameters] {
            assert!(Es256Signer::from_pkcs8_pem(text).is_err() && Es256Signer::from_sec1_pem(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_no_keys_are_refused() {
        assert!(Es256Signer::from_bytes(&[0; 32]).is_err());
        assert!(Es256Signer::from_bytes(&[255; 32]).is_err());
        let order = decoded("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE");
        let mut bytes: [u8; 32] = order.as_slice().try_into().unwrap();
        assert!(Es256Signer::from_bytes(&bytes).is_err());
        bytes[31] -= 1;
        assert!(Es256Signer::from_bytes(&bytes).is_ok());
    }

    #[cfg(any(feature = "client", feature = "server"))]
    #[test]
    fn seeds_give_keys_that_machines_do_not_draw() {
        let jwk = |number| Es256Signer::from_seed(&Seed::from_number(number)).public_jwk();
        assert_eq!(jwk(1), jwk(1));
        assert_ne!(jwk(1), jwk(2));
        let drawn = crate::entropy::Entropy::new(&Seed::from_number(1)).bytes();
        assert_ne!(Es256Signer::from_bytes(&drawn).unwrap().public_jwk(), jwk(1));
        assert_ne!(Es256Signer::from_bytes(&Seed::from_number(1).0).unwrap().public_jwk(), jwk(1));
    }

    #[test]
    fn keys_are_not_shown() {
        let signer = signer().with_key_id("mine");
        assert_eq!(format!("{signer:?}"), r#"Es256Signer { key_id: Some("mine"), .. }"#);
        let failed = Es256Signer::from_pkcs8_pem("key").unwrap_err();
        let expected = "this is no private key of P-256: it should be PEM with BEGIN PRIVATE KEY, not encrypted";
        assert_eq!(failed.to_string(), expected);
    }

    /// What RFC 9449 section 4.3 has a server check of a proof that can be checked by itself.
    #[cfg(feature = "client")]
    #[test]
    fn proofs_hold_with_the_key_in_them() {
        let signer = signer();
        let proof = super::super::dpop::proof(&signer, "POST", "https://as/token", 7, "once", None, None).unwrap();
        let (signed, signature) = proof.expose().rsplit_once('.').unwrap();
        assert!(is_signed(&signer, signed.as_bytes(), &decoded(signature)));
        let header: serde_json::Value = serde_json::from_slice(&decoded(signed.split('.').next().unwrap())).unwrap();
        assert_eq!((&header["typ"], &header["alg"]), (&"dpop+jwt".into(), &"ES256".into()));
        assert_eq!(header["jwk"].to_string(), signer.public_jwk());
    }
}
