//! Signed statements: JSON Web Signatures in their compact form (RFC 7515), and who signs them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

#[cfg(any(feature = "client", feature = "es256"))]
use base64::Engine as _;
#[cfg(any(feature = "client", feature = "es256"))]
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
#[cfg(feature = "client")]
use serde::Serialize;

#[cfg(feature = "client")]
use crate::json::Json;
#[cfg(feature = "client")]
use crate::secret::Secret;

/// Signs with a private key, which may be in memory, in a file or in a chip. With the feature `es256` there is one for keys
/// in memory.
pub trait Signer: Send + Sync {
    /// The algorithm, as JSON Web Algorithms call it: `ES256`.
    fn algorithm(&self) -> &str;

    /// The public key as a JSON Web Key: JSON text with the required members and no others, in lexicographic order and without
    /// blanks, so that its hash is the thumbprint of the key (RFC 7638).
    fn public_jwk(&self) -> String;

    /// By what name others know the key, if it has one.
    fn key_id(&self) -> Option<&str> {
        None
    }

    /// The signature of a message, in the form of JSON Web Algorithms: for `ES256` two numbers of 32 bytes each, not DER.
    ///
    /// # Errors
    ///
    /// When the key cannot be used.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// Why something could not be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignError(pub String);

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it cannot be signed: {}", self.0)
    }
}

impl core::error::Error for SignError {}

/// For how long an assertion is good, in seconds. It is used at once; but clocks differ by minutes.
#[cfg(feature = "client")]
const ASSERTION_SECONDS: u64 = 300;

/// Says who a client is in place of a password: `private_key_jwt` (RFC 7523 section 2.2). `audience` is the authorization
/// server, and `jti` a text that is used once.
#[cfg(feature = "client")]
pub(crate) fn client_assertion(
    signer: &dyn Signer,
    client_id: &str,
    audience: &str,
    issued_at_unix: u64,
    jti: &str,
) -> Result<Secret, SignError> {
    let header = Header { typ: "JWT", alg: signer.algorithm(), kid: signer.key_id() };
    let claims = Claims {
        iss: client_id,
        sub: client_id,
        aud: audience,
        iat: issued_at_unix,
        exp: issued_at_unix.saturating_add(ASSERTION_SECONDS),
        jti,
    };
    compact(&json(&header)?, &json(&claims)?, signer).map(Secret::new)
}

#[cfg(feature = "client")]
#[derive(Serialize)]
struct Header<'a> {
    typ: &'a str,
    alg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[cfg(feature = "client")]
#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
    jti: &'a str,
}

/// Signs claims: header, claims and signature in base64url, with dots between them.
#[cfg(feature = "client")]
pub(crate) fn compact(header_json: &str, claims_json: &str, signer: &dyn Signer) -> Result<String, SignError> {
    let mut statement = base64url(header_json.as_bytes());
    statement.push('.');
    URL_SAFE_NO_PAD.encode_string(claims_json, &mut statement);
    let signature = signer.sign(statement.as_bytes())?;
    statement.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut statement);
    Ok(statement)
}

/// The JSON text of a header or of claims.
#[cfg(feature = "client")]
pub(super) fn json<V: Serialize>(value: &V) -> Result<String, SignError> {
    match Json::of(value) {
        Ok(json) => Ok(json.as_str().into()),
        Err(error) => Err(SignError(alloc::format!("it has no JSON text: {error}"))),
    }
}

/// Bytes as text that may stand anywhere: letters, digits, `-` and `_`, without padding.
#[cfg(any(feature = "client", feature = "es256"))]
pub(super) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(all(test, feature = "client"))]
pub(super) mod tests {
    use super::*;

    /// Signs by saying how long the message is, so that tests see what was signed.
    pub(in crate::auth) struct Toy {
        pub(in crate::auth) key_id: Option<&'static str>,
        pub(in crate::auth) jwk: &'static str,
    }

    impl Signer for Toy {
        fn algorithm(&self) -> &str {
            "TOY"
        }

        fn public_jwk(&self) -> String {
            self.jwk.into()
        }

        fn key_id(&self) -> Option<&str> {
            self.key_id
        }

        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
            Ok(alloc::format!("{} bytes", message.len()).into_bytes())
        }
    }

    /// Header, claims and signature of a statement.
    pub(in crate::auth) fn parts(statement: &str) -> Vec<String> {
        let decoded = |part| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        statement.split('.').map(decoded).collect()
    }

    struct Broken;

    impl Signer for Broken {
        fn algorithm(&self) -> &str {
            "ES256"
        }

        fn public_jwk(&self) -> String {
            "{}".into()
        }

        fn sign(&self, _: &[u8]) -> Result<Vec<u8>, SignError> {
            Err(SignError("the chip is gone".into()))
        }
    }

    #[test]
    fn an_assertion_says_who_the_client_is() {
        let made =
            |key_id| client_assertion(&Toy { key_id, jwk: "" }, "me \"x\"", "https://as", 1_000, "once").unwrap();
        let statement = made(None);
        let (signed, _) = statement.expose().rsplit_once('.').unwrap();
        let claims = r#"{"iss":"me \"x\"","sub":"me \"x\"","aud":"https://as","iat":1000,"exp":1300,"jti":"once"}"#;
        let signature = alloc::format!("{} bytes", signed.len());
        assert_eq!(parts(statement.expose()), [r#"{"typ":"JWT","alg":"TOY"}"#, claims, &signature]);
        assert_eq!(parts(made(Some("k")).expose())[0], r#"{"typ":"JWT","alg":"TOY","kid":"k"}"#);
    }

    #[test]
    fn the_end_of_time_is_no_fault() {
        let statement = client_assertion(&Toy { key_id: None, jwk: "" }, "", "", u64::MAX, "").unwrap();
        assert!(parts(statement.expose())[1].contains(r#""exp":18446744073709551615"#));
    }

    #[test]
    fn a_signer_may_fail() {
        let failed = client_assertion(&Broken, "", "", 0, "").unwrap_err();
        assert_eq!(alloc::format!("{failed}"), "it cannot be signed: the chip is gone");
        assert_eq!(Broken.key_id(), None);
    }

    /// The example of RFC 7515 appendix A.3, but for its signature.
    #[test]
    fn statements_are_written_as_in_rfc_7515() {
        let claims = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
        let statement = compact(r#"{"alg":"ES256"}"#, claims, &Toy { key_id: None, jwk: "" }).unwrap();
        let (signed, _) = statement.rsplit_once('.').unwrap();
        assert_eq!(
            signed,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        );
    }
}
