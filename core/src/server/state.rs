//! The state of a call between two rounds, which travels through the client: sealed, bound to its call, and short-lived.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac_sha256::{HMAC, Hash};
use serde::{Deserialize, Serialize};

use crate::json::Json;

const SEAL_BYTES: usize = 32;

/// Seals and opens `requestState`.
#[derive(Clone)]
pub(super) struct Sealer {
    key: [u8; 32],
}

/// What is carried from one round to the next.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Carried {
    /// What the state is good for: a digest of the method and its parameters.
    call: String,
    /// When it stops being good, in milliseconds since the Unix epoch.
    expires: u64,
    /// The answers of earlier rounds. Clients send those of the last one only.
    pub(super) inputs: BTreeMap<String, Json>,
    /// What the handler kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<Json>,
}

impl Sealer {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    pub(super) fn seal(
        &self,
        call: &CallDigest,
        inputs: BTreeMap<String, Json>,
        state: Option<Json>,
        expires: Duration,
    ) -> Result<String, serde_json::Error> {
        let expires = u64::try_from(expires.as_millis()).unwrap_or(u64::MAX);
        let carried = Carried { call: call.0.clone(), expires, inputs, state };
        let content = serde_json::to_vec(&carried)?;
        let mut sealed: Vec<u8> = HMAC::mac(&content, self.key).to_vec();
        sealed.extend_from_slice(&content);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens a state; `None` if it was not sealed here, belongs to another call or is too old.
    pub(super) fn open(&self, sealed: &str, call: &CallDigest, now: Duration) -> Option<Carried> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (seal, content) = sealed.split_first_chunk::<SEAL_BYTES>()?;
        if !HMAC::verify(content, self.key, seal) {
            return None;
        }
        let carried: Carried = serde_json::from_slice(content).ok()?;
        let fresh = now.as_millis() <= u128::from(carried.expires);
        (fresh && carried.call == call.0).then_some(carried)
    }
}

/// Identifies a call by its method and parameters.
pub(super) struct CallDigest(String);

impl CallDigest {
    pub(super) fn of(method: &str, what: &str, arguments: &str) -> Self {
        let mut hash = Hash::new();
        for part in [method, what, arguments] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(60);

    #[test]
    fn only_an_untouched_fresh_state_of_the_same_call_opens() {
        let sealer = Sealer::new([7; 32]);
        let call = CallDigest::of("tools/call", "book", r#"{"seat":1}"#);
        let sealed = sealer.seal(&call, BTreeMap::new(), Some(Json::empty_object()), LATER).unwrap();
        assert!(sealer.open(&sealed, &call, Duration::ZERO).is_some());
        assert!(sealer.open(&sealed, &call, LATER + Duration::from_millis(1)).is_none(), "expired");
        assert!(sealer.open(&sealed, &CallDigest::of("tools/call", "book", r#"{"seat":2}"#), LATER).is_none());
        assert!(Sealer::new([8; 32]).open(&sealed, &call, LATER).is_none(), "another key");
        for at in 0..sealed.len() {
            let mut touched = sealed.clone().into_bytes();
            touched[at] = if touched[at] == b'A' { b'B' } else { b'A' };
            let touched = String::from_utf8(touched).unwrap();
            assert!(touched == sealed || sealer.open(&touched, &call, LATER).is_none(), "byte {at} was changed");
        }
        assert!(sealer.open("", &call, LATER).is_none());
    }
}
