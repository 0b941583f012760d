use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::KeyPair;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::*;
use crate::auth::introspection::IntrospectionVerifier;

const ISSUER: &str = "https://login.example.com";
const RESOURCE: &str = "https://files.example.com/mcp";
const NOW: u64 = 1_800_000_000;

/// A key of whoever issues tokens.
enum Signer {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Signer {
    fn ec() -> Self {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().serialize_der();
        Self::Ec(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &SystemRandom::new()).unwrap())
    }

    /// One that was made for this test and is used nowhere else: ring makes none.
    fn rsa() -> Self {
        let text: String = include_str!("test_rsa_pkcs8.txt").lines().collect();
        let key = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        Self::Rsa(RsaKeyPair::from_pkcs8(&key).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ec(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": encoded(x), "y": encoded(y)})
            }
            Self::Rsa(key) => {
                let public: ring::rsa::PublicKeyComponents<Vec<u8>> = key.public().into();
                let n = [&[0][..], &public.n].concat();
                json!({"kty": "RSA", "use": "sig", "kid": id, "n": encoded(&n), "e": encoded(&public.e)})
            }
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let text = format!("{}.{}", encoded(header.to_string().as_bytes()), encoded(claims.to_string().as_bytes()));
        let signature = match self {
            Self::Ec(key) => key.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{text}.{}", encoded(&signature))
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        self.sign(&json!({"alg": self.algorithm(), "kid": id, "typ": "at+jwt"}), claims)
    }
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": NOW + 60, "nbf": NOW - 60,
        "scope": "files:read files:write", "client_id": "app", "email": "alice@example.com",
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut claims = claims();
    change(&mut claims);
    claims
}

fn jwks(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

fn at(verifier: &JwtVerifier, token: &str) -> Result<Principal, TokenRejected> {
    verifier.verify_at(token, Duration::from_secs(NOW))
}

fn why(outcome: Result<Principal, TokenRejected>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn a_token_that_is_signed_says_whose_it_is() {
    for signer in [Signer::ec(), Signer::rsa()] {
        let verifier = JwtVerifier::with_keys(ISSUER, &jwks(&[signer.jwk("a")])).unwrap().audience(RESOURCE);
        let principal = at(&verifier, &signer.token("a", &claims())).unwrap();
        assert_eq!(principal.subject, "alice");
        assert_eq!(principal.issuer.as_deref(), Some(ISSUER));
        assert_eq!(principal.client_id.as_deref(), Some("app"));
        assert_eq!(principal.audience, [RESOURCE]);
        assert_eq!(principal.scopes, ["files:read", "files:write"]);
        assert_eq!(principal.expires_at, Some(NOW + 60));
        assert!(principal.claims.unwrap().as_str().contains("alice@example.com"));
        let other = with(|claims| {
            claims["aud"] = json!(["x", RESOURCE]);
            claims["scp"] = json!(["a", "b"]);
            claims.as_object_mut().unwrap().remove("scope");
        });
        // A token need not name its key.
        let unnamed = signer.sign(&json!({"alg": signer.algorithm()}), &other);
        assert_eq!(at(&verifier, &unnamed).unwrap().scopes, ["a", "b"]);
    }
}

#[test]
fn whatever_was_changed_is_noticed() {
    for signer in [Signer::ec(), Signer::rsa()] {
        let verifier = JwtVerifier::with_keys(ISSUER, &jwks(&[signer.jwk("a")])).unwrap();
        let token = signer.token("a", &claims());
        for at_byte in (0..token.len()).step_by(7) {
            let mut touched = token.clone().into_bytes();
            touched[at_byte] = if touched[at_byte] == b'A' { b'B' } else { b'A' };
            let touched = String::from_utf8(touched).unwrap();
            assert!(at(&verifier, &touched).is_err(), "byte {at_byte}");
        }
        let (signed, _) = token.rsplit_once('.').unwrap();
        for forged in [signed.to_owned(), format!("{signed}."), String::new(), "a.b.c".into(), "..".into()] {
            assert!(at(&verifier, &forged).is_err(), "{forged}");
        }
        let other = Signer::ec().token("a", &claims());
        assert_eq!(why(at(&verifier, &other)), "the signature is wrong");
        assert_eq!(why(at(&verifier, &signer.token("b", &claims()))), "the token is signed by an unknown key");
    }
}

#[test]
fn only_what_is_allowed_counts_as_a_signature() {
    let (ec, rsa) = (Signer::ec(), Signer::rsa());
    let verifier = JwtVerifier::with_keys(ISSUER, &jwks(&[ec.jwk("ec"), rsa.jwk("rsa")])).unwrap();
    let not_taken = "the token is signed in a way that is not taken";
    for alg in ["none", "None", "HS256", "RS512", "PS256", "ES384", "", "es256"] {
        let unsigned = format!("{}.{}.", encoded(json!({ "alg": alg }).to_string().as_bytes()), encoded(b"{}"));
        assert_eq!(why(at(&verifier, &unsigned)), not_taken, "{alg}");
        let token = rsa.sign(&json!({"alg": alg, "kid": "rsa"}), &claims());
        assert_eq!(why(at(&verifier, &token)), not_taken, "{alg}");
    }
    // A key is good for its own algorithm only, whatever the token says.
    for (signer, alg, kid) in
        [(&rsa, "ES256", "rsa"), (&ec, "RS256", "ec"), (&rsa, "RS256", "ec"), (&ec, "ES256", "rsa")]
    {
        let token = signer.sign(&json!({"alg": alg, "kid": kid}), &claims());
        assert_eq!(why(at(&verifier, &token)), "the signature is wrong", "{alg} {kid}");
    }
    let only_ec = JwtVerifier::with_keys(ISSUER, &jwks(&[ec.jwk("ec"), rsa.jwk("rsa")])).unwrap();
    let only_ec = only_ec.algorithms([Algorithm::Es256]);
    assert!(at(&only_ec, &ec.token("ec", &claims())).is_ok());
    assert_eq!(why(at(&only_ec, &rsa.token("rsa", &claims()))), not_taken);
    for header in [
        json!({"alg": "ES256", "kid": "ec", "typ": "dpop+jwt"}),
        json!({"alg": "ES256", "kid": "ec", "crit": ["b64"], "b64": false}),
        json!({"kid": "ec"}),
    ] {
        assert!(at(&verifier, &ec.sign(&header, &claims())).is_err(), "{header}");
    }
}

#[test]
fn issuer_audience_and_time_are_looked_at() {
    let signer = Signer::ec();
    let keys = jwks(&[signer.jwk("a")]);
    let verifier = JwtVerifier::with_keys(ISSUER, &keys).unwrap().audience(RESOURCE);
    let outcome = |change: fn(&mut Value)| at(&verifier, &signer.token("a", &with(change)));
    assert_eq!(why(outcome(|it| it["iss"] = json!("https://login.example.com/"))), "the token is of another issuer");
    assert_eq!(why(outcome(|it| it["iss"] = Value::Null)), "the token is of another issuer");
    for audience in [json!("https://files.example.com/mcp/"), json!([]), Value::Null] {
        let token = signer.token("a", &with(|it| it["aud"] = audience));
        assert_eq!(why(at(&verifier, &token)), "the token is for another resource");
    }
    assert!(outcome(|it| it["exp"] = json!(NOW - 29)).is_ok(), "clocks differ");
    assert_eq!(outcome(|it| it["exp"] = json!(NOW - 30)), Err(TokenRejected::Expired));
    assert_eq!(why(outcome(|it| it["exp"] = Value::Null)), "the token does not say when it expires");
    assert!(outcome(|it| it["nbf"] = json!(NOW + 30)).is_ok());
    assert_eq!(why(outcome(|it| it["nbf"] = json!(NOW + 31))), "the token is not good yet");
    assert!(outcome(|it| it["exp"] = json!(NOW as f64 + 0.5)).is_ok(), "times may have fractions");
    assert_eq!(outcome(|it| it["sub"] = Value::Null).unwrap().subject, "app", "a client on its own behalf");
    let strict = JwtVerifier::with_keys(ISSUER, &keys).unwrap().leeway(Duration::ZERO);
    let expired = signer.token("a", &with(|it| it["exp"] = json!(NOW)));
    assert_eq!(at(&strict, &expired), Err(TokenRejected::Expired));
}

#[test]
fn keys_that_cannot_be_used_are_said_to_be_so() {
    let rsa = Signer::rsa().jwk("a");
    let mut others = [rsa.clone(), rsa.clone(), rsa.clone(), json!({"kty": "oct", "k": "AAAA"})];
    others[0]["use"] = json!("enc");
    others[1]["alg"] = json!("PS256");
    others[2].as_object_mut().unwrap().remove("n");
    for text in ["", "{}", r#"{"keys":[]}"#, &jwks(&others), &jwks(&vec![rsa; 65])] {
        assert!(JwtVerifier::with_keys(ISSUER, text).is_err(), "{text}");
    }
}

/// A server that says what it is told to.
struct Answering {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    requests: Arc<Mutex<String>>,
    answer: Arc<Mutex<String>>,
}

impl Answering {
    fn new(status: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(Mutex::new(answer(status, body)));
        let (asked, requests) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<String>>::default());
        let (saying, counting, hearing) = (answer.clone(), asked.clone(), requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream: TcpStream = stream.unwrap();
                let mut request = Vec::new();
                let mut part = [0; 1024];
                while !is_whole(&request) {
                    match stream.read(&mut part) {
                        Ok(count @ 1..) => request.extend_from_slice(&part[..count]),
                        _ => break,
                    }
                }
                *hearing.lock().unwrap() = String::from_utf8_lossy(&request).into_owned();
                counting.fetch_add(1, Ordering::SeqCst);
                let said = saying.lock().unwrap().clone();
                // Byte by byte is as good as at once.
                let _ = said.as_bytes().chunks(97).try_for_each(|part| stream.write_all(part));
            }
        });
        Self { address, asked, requests, answer }
    }

    fn url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    fn says(&self, status: &str, body: &str) {
        *self.answer.lock().unwrap() = answer(status, body);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

fn fetching(server: &Answering, again: Duration) -> JwtVerifier {
    let keys = Keys::fetched(Url::parse(&server.url()).unwrap(), FetchOptions::new(), again);
    JwtVerifier::new(ISSUER.into(), keys)
}

#[test]
fn keys_are_fetched_once_and_again_when_there_is_a_new_one() {
    let (old, new) = (Signer::ec(), Signer::ec());
    let server = Answering::new("200 OK", &jwks(&[old.jwk("old")]));
    let verifier = fetching(&server, Duration::ZERO);
    for _ in 0..3 {
        assert!(at(&verifier, &old.token("old", &claims())).is_ok());
    }
    assert_eq!(server.asked(), 1);
    server.says("200 OK", &jwks(&[old.jwk("old"), new.jwk("new")]));
    assert!(at(&verifier, &new.token("new", &claims())).is_ok(), "the keys were rotated");
    assert_eq!(server.asked(), 2);
    server.says("200 OK", &jwks(&[new.jwk("new")]));
    assert!(at(&verifier, &old.token("unknown", &claims())).is_err());
    assert_eq!(why(at(&verifier, &old.token("old", &claims()))), "the token is signed by an unknown key");
    assert!(at(&verifier, &new.token("new", &claims())).is_ok());
    // When they cannot be had, those that were are as good for a while.
    server.says("500 Internal Server Error", "");
    assert!(at(&verifier, &old.token("unknown", &claims())).is_err());
    assert!(at(&verifier, &new.token("new", &claims())).is_ok());
}

#[test]
fn made_up_names_of_keys_do_not_have_them_fetched_over_and_over() {
    let signer = Signer::ec();
    let server = Answering::new("200 OK", &jwks(&[signer.jwk("a")]));
    let verifier = fetching(&server, AGAIN);
    for number in 0..10 {
        let token = signer.token(&format!("made-up-{number}"), &claims());
        assert_eq!(why(at(&verifier, &token)), "the token is signed by an unknown key");
    }
    assert!(at(&verifier, &signer.token("a", &claims())).is_ok());
    assert_eq!(server.asked(), 1);
}

#[test]
fn keys_that_cannot_be_had_are_no_fault_of_the_token() {
    let signer = Signer::ec();
    let long = jwks(&[json!({"kty": "oct", "k": "A".repeat(300 * 1024)})]);
    for (status, body) in [("503 Later", ""), ("200 OK", "{"), ("302 Found", ""), ("200 OK", &*long)] {
        let server = Answering::new(status, body);
        let verifier = fetching(&server, Duration::ZERO);
        let outcome = at(&verifier, &signer.token("a", &claims()));
        assert!(matches!(outcome, Err(TokenRejected::Unavailable(_))), "{status} {outcome:?}");
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let options = FetchOptions::new().timeout(Duration::from_millis(100));
    let verifier = JwtVerifier::fetching_with(ISSUER, &url, options).unwrap();
    let outcome = at(&verifier, &signer.token("a", &claims()));
    assert!(matches!(outcome, Err(TokenRejected::Unavailable(_))), "{outcome:?}");
}

#[test]
fn an_issuer_is_asked_about_tokens_that_only_it_can_read() {
    let said = claims().as_object().cloned().unwrap();
    let active = |more: Value| {
        let mut said = said.clone();
        said.insert("active".into(), json!(true));
        said.extend(more.as_object().cloned().unwrap());
        Value::Object(said).to_string()
    };
    let server = Answering::new("200 OK", &active(json!({})));
    let verifier = IntrospectionVerifier::new(&server.url(), "my server", "pass:word").unwrap().issuer(ISSUER);
    let principal = verifier.verify("to+ken/=").unwrap();
    assert_eq!((&*principal.subject, &*principal.audience), ("alice", &[RESOURCE.to_owned()][..]));
    let request = server.requests.lock().unwrap().clone();
    assert!(
        request.starts_with("POST /keys HTTP/1.1\r\n")
            && request.ends_with("token=to%2Bken%2F%3D&token_type_hint=access_token")
    );
    let credentials = base64::engine::general_purpose::STANDARD.encode("my+server:pass%3Aword");
    assert!(request.contains(&format!("Authorization: Basic {credentials}\r\n")), "{request}");
    assert!(!format!("{verifier:?}").contains("word"));

    server.says("200 OK", r#"{"active":false}"#);
    assert_eq!(why(verifier.verify("x")), "the token is not active");
    server.says("200 OK", &active(json!({"iss": "https://elsewhere"})));
    assert_eq!(why(verifier.verify("x")), "the token is of another issuer");
    server.says("200 OK", &active(json!({"iss": null, "aud": null})));
    let principal = verifier.verify("x").unwrap();
    assert_eq!((principal.issuer.as_deref(), principal.audience.len()), (Some(ISSUER), 0));
    let assuming = IntrospectionVerifier::new(&server.url(), "a", "b").unwrap().assume_audience(RESOURCE);
    assert_eq!(assuming.verify("x").unwrap().audience, [RESOURCE]);
    for (status, body) in [("401 Unauthorized", ""), ("200 OK", "[]"), ("200 OK", r#"{"active":"yes"}"#)] {
        server.says(status, body);
        assert!(matches!(verifier.verify("x"), Err(TokenRejected::Unavailable(_))), "{status} {body}");
    }
}

#[test]
fn keys_come_over_tls_from_whom_is_trusted() {
    let signer = Signer::ec();
    let rcgen::CertifiedKey { cert, key_pair } = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(key_pair.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(crate::net::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let said = answer("200 OK", &jwks(&[signer.jwk("a")]));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(session, stream.unwrap());
            let mut request = Vec::new();
            let mut part = [0; 1024];
            while !is_whole(&request) {
                match stream.read(&mut part) {
                    Ok(count @ 1..) => request.extend_from_slice(&part[..count]),
                    _ => break,
                }
            }
            let _ = stream.write_all(said.as_bytes()).and_then(|()| stream.flush());
        }
    });
    let url = format!("https://localhost:{port}/keys");
    let trusting = FetchOptions::new().extra_ca_pem(cert.pem().as_bytes()).unwrap();
    let verifier = JwtVerifier::fetching_with(ISSUER, &url, trusting).unwrap();
    assert!(at(&verifier, &signer.token("a", &claims())).is_ok());
    let verifier = JwtVerifier::fetching(ISSUER, &url).unwrap();
    let outcome = at(&verifier, &signer.token("a", &claims()));
    assert!(matches!(outcome, Err(TokenRejected::Unavailable(_))), "nobody vouches for it: {outcome:?}");
}
