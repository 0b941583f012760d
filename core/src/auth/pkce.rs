//! What shows that the code was asked for by whoever exchanges it (RFC 7636): the request has the hash of a text, the exchange
//! has the text.

use alloc::string::String;

use hmac_sha256::Hash;

use super::jws::base64url;
use crate::entropy::Entropy;
use crate::secret::Secret;

/// How a verifier is hashed, as requests name it. The other way, `plain`, protects from nothing.
pub(crate) const METHOD: &str = "S256";

/// A text that nobody else knows: 43 letters, digits, `-` and `_`, of 32 random bytes.
#[derive(Debug)]
pub(crate) struct Verifier(Secret);

impl Verifier {
    /// Draws one.
    pub(crate) fn draw(entropy: &mut Entropy) -> Self {
        Self::of(&entropy.bytes())
    }

    fn of(bytes: &[u8; 32]) -> Self {
        Self(Secret::new(base64url(bytes)))
    }

    /// The `code_challenge` of the request.
    pub(crate) fn challenge(&self) -> String {
        base64url(&Hash::hash(self.0.expose().as_bytes()))
    }

    /// The `code_verifier` of the exchange, to be kept until then.
    pub(crate) fn into_secret(self) -> Secret {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Seed;

    #[test]
    fn the_challenge_is_that_of_rfc_7636() {
        let verifier = Verifier::of(&[
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191,
            240, 91, 88, 5, 88, 83, 132, 141, 121,
        ]);
        assert_eq!(METHOD, "S256");
        assert_eq!(verifier.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_eq!(verifier.into_secret().expose(), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    }

    #[test]
    fn every_verifier_is_another() {
        let mut entropy = Entropy::new(&Seed::from_number(1));
        let [one, other] = [(); 2].map(|()| Verifier::draw(&mut entropy));
        assert_ne!(one.challenge(), other.challenge());
        let text = one.into_secret();
        assert_eq!(text.expose().len(), 43);
        assert!(text.expose().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)));
        assert_ne!(text, other.into_secret());
    }
}
