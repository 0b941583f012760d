//! What an authorization server or a protected server makes of signed statements and of forms.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac_sha256::Hash;
use p256::EncodedPoint;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::Value;

pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The hash of a text as PKCE and DPoP write it.
pub(crate) fn hashed(text: &str) -> String {
    base64url(&Hash::hash(text.as_bytes()))
}

/// The fields of a form, decoded.
pub(crate) fn fields(form: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            let digits = (first == b'%').then(|| std::str::from_utf8(&after[..2]).expect("two digits"));
            bytes.push(digits.map_or(first, |digits| u8::from_str_radix(digits, 16).expect("hexadecimal")));
            rest = if digits.is_some() { &after[2..] } else { after };
        }
        String::from_utf8(bytes).expect("UTF-8")
    };
    let fields = form.split('&').filter(|field| !field.is_empty());
    let fields: Vec<_> = fields
        .map(|field| field.split_once('=').map(|(name, value)| (decode(name), decode(value))).expect("a field"))
        .collect();
    for (at, (name, _)) in fields.iter().enumerate() {
        assert!(!fields[..at].iter().any(|(other, _)| other == name), "{name} is given twice");
    }
    fields
}

pub(crate) fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Header and claims of a statement, if it is signed with this key, or with the one that it shows.
pub(crate) fn verified(statement: &str, key: Option<&str>) -> Option<(Value, Value)> {
    let (signed, signature) = statement.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let read = |text: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(text).ok()?).ok();
    let (header, claims) = (read(header)?, read(claims)?);
    let jwk = match key {
        Some(key) => serde_json::from_str(key).ok()?,
        None => header["jwk"].clone(),
    };
    let number = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str()?).ok();
    let (x, y): ([u8; 32], [u8; 32]) = (number("x")?.try_into().ok()?, number("y")?.try_into().ok()?);
    let key = VerifyingKey::from_encoded_point(&EncodedPoint::from_affine_coordinates(&x.into(), &y.into(), false));
    let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
    key.ok()?.verify(signed.as_bytes(), &signature).ok()?;
    (header["alg"] == "ES256").then_some((header, claims))
}

/// The thumbprint of the key of a proof, if the proof is for this request.
pub(crate) fn proven(
    proof: &str,
    method: &str,
    url: &str,
    token: Option<&str>,
    unix_now: u64,
) -> Option<(String, Value)> {
    let (header, claims) = verified(proof, None)?;
    let said = |name: &str| claims[name].as_str().map(String::from);
    let right = header["typ"] == "dpop+jwt"
        && said("htm").as_deref() == Some(method)
        && said("htu").as_deref() == Some(url)
        && said("jti").is_some_and(|jti| !jti.is_empty())
        && said("ath") == token.map(hashed)
        && claims["iat"].as_u64()?.abs_diff(unix_now) <= 5;
    right.then(|| (hashed(&header["jwk"].to_string()), claims))
}
