//! The state of a call between two rounds, which travels through the client: sealed, bound to its call, and short-lived.
//!
//! ```text
//!   salt (24 bytes) | ChaCha20-Poly1305 of: expiry (8 bytes) | {"inputs":…,"state":…}   | tag (16 bytes)
//! ```
//!
//! Each state is encrypted with a key of its own, which is drawn from the server's key and the salt. The call that it
//! belongs to is authenticated with it and not in it, and so is the principal who made it, where a server is protected: nobody
//! else can go on with it. Calls of the modern era have no sessions to be bound to.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20_poly1305::{ChaCha20Poly1305, Key, Nonce};
use hmac_sha256::{HMAC, Hash};
use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::principal::Identity;
use crate::rpc::RequestKey;

const SALT_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const EXPIRY_BYTES: usize = 8;

/// Tell these uses of the server's key from any other, and from each other.
const SEALING: &[u8] = b"windlass requestState 1 key";
const SALTING: &[u8] = b"windlass requestState 1 salt";

/// Tells calls of principals from those of nobody in particular.
const MADE_BY: &[u8] = b"windlass requestState 1 made by";

/// Seals and opens `requestState`. It is made of the key when it is needed, for that is rare.
pub(super) struct Sealer {
    key: [u8; 32],
}

/// Names one state that was given to a client between two rounds of a call. No other ever has the same name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId([u8; SALT_BYTES]);

/// As text that may stand anywhere: letters, digits, `-` and `_`.
impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateId({self})")
    }
}

/// A state that was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) id: StateId,
    /// When it stops being good, in milliseconds since the Unix epoch.
    expires: u64,
    pub(super) carried: Carried,
}

/// What is carried from one round to the next.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Carried {
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

    /// Seals what the round of this request hands on to the next.
    pub(super) fn seal(
        &self,
        call: &CallDigest,
        carried: &Carried,
        expires: Duration,
        round: RequestKey,
    ) -> Result<String, serde_json::Error> {
        let mut content = millis(expires).to_le_bytes().to_vec();
        content.extend(serde_json::to_vec(carried)?);
        let salt = self.salt(&content, round);
        let tag = self.cipher(salt).encrypt(&mut content, Some(&call.bound()));
        let mut sealed = Vec::with_capacity(SALT_BYTES + content.len() + TAG_BYTES);
        sealed.extend_from_slice(&salt.0);
        sealed.extend_from_slice(&content);
        sealed.extend_from_slice(&tag);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens a state; `None` if it was not sealed here, belongs to another call or is too old.
    pub(super) fn open(&self, sealed: &str, call: &CallDigest, now: Duration) -> Option<Opened> {
        let mut sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (salt, rest) = sealed.split_first_chunk_mut::<SALT_BYTES>()?;
        let (content, tag) = rest.split_last_chunk_mut::<TAG_BYTES>()?;
        let id = StateId(*salt);
        self.cipher(id).decrypt(content, *tag, Some(&call.bound())).ok()?;
        let (expires, content) = content.split_first_chunk::<EXPIRY_BYTES>()?;
        let expires = u64::from_le_bytes(*expires);
        let carried = serde_json::from_slice(content).ok()?;
        (millis(now) <= expires).then_some(Opened { id, expires, carried })
    }

    /// A salt that no other state has: it depends on the round, of which this machine has no two alike, and on all that is
    /// sealed, its expiry included. Another machine with the same key gives the same salt to the same content at most, and
    /// then both seal the same.
    fn salt(&self, content: &[u8], round: RequestKey) -> StateId {
        let mut salt = HMAC::new(self.key);
        salt.update(SALTING);
        salt.update(round.to_bytes());
        salt.update(content);
        let mut id = [0; SALT_BYTES];
        id.copy_from_slice(&salt.finalize()[..SALT_BYTES]);
        StateId(id)
    }

    fn cipher(&self, salt: StateId) -> ChaCha20Poly1305 {
        let mut key = HMAC::new(self.key);
        key.update(SEALING);
        key.update(salt.0);
        // The key is used once, so the nonce says nothing.
        ChaCha20Poly1305::new(Key::new(key.finalize()), Nonce::new([0; 12]))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Identifies a call by its method and parameters, and by who makes it if that is known.
pub(super) struct CallDigest([u8; 32]);

impl CallDigest {
    pub(super) fn of(method: &str, what: &str, arguments: &str) -> Self {
        let mut hash = Hash::new();
        for part in [method, what, arguments] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize())
    }

    /// The same call, made by somebody. It is another one than that of nobody in particular.
    pub(super) fn made_by(self, principal: Option<Identity>) -> Self {
        let Some(Identity(principal)) = principal else { return self };
        let mut hash = Hash::new();
        hash.update(MADE_BY);
        hash.update(self.0);
        hash.update(principal);
        Self(hash.finalize())
    }

    /// What is authenticated with a state of this call.
    fn bound(&self) -> [u8; 32] {
        self.0
    }
}

/// The states that were opened and are not too old yet, for servers that let each be used once. Most servers do not, and
/// have nothing but an empty place here.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "every session has a place for it, and hardly any uses it")]
pub(super) struct UsedStates(Option<Box<BTreeSet<(u64, StateId)>>>);

/// Why a state may not be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotUsable {
    /// It was used before.
    Again,
    /// So many were used that it could not be remembered that this one was.
    TooMany,
}

impl UsedStates {
    /// Uses a state, if nobody has; at most `most` are remembered at a time.
    pub(super) fn take(&mut self, opened: &Opened, now: Duration, most: usize) -> Result<(), NotUsable> {
        let (used, now) = (self.0.get_or_insert_default(), millis(now));
        while used.first().is_some_and(|&(expires, _)| expires < now) {
            used.pop_first();
        }
        let state = (opened.expires, opened.id);
        if used.contains(&state) {
            return Err(NotUsable::Again);
        }
        if used.len() >= most {
            return Err(NotUsable::TooMany);
        }
        used.insert(state);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Principal;

    const LATER: Duration = Duration::from_secs(60);

    fn sealer() -> Sealer {
        Sealer::new([7; 32])
    }

    fn call() -> CallDigest {
        CallDigest::of("tools/call", "book", r#"{"seat":1}"#)
    }

    fn kept(secret: &str) -> Carried {
        Carried { inputs: BTreeMap::new(), state: Json::of(secret).ok() }
    }

    fn seal(sealer: &Sealer, round: u64) -> String {
        sealer.seal(&call(), &kept("secret"), LATER, RequestKey::of(0, round)).unwrap()
    }

    #[test]
    fn only_an_untouched_fresh_state_of_the_same_call_opens() {
        let sealer = sealer();
        let sealed = seal(&sealer, 1);
        let opened = sealer.open(&sealed, &call(), Duration::ZERO).unwrap();
        assert_eq!(opened.carried.state, Json::of("secret").ok());
        assert!(sealer.open(&sealed, &call(), LATER).is_some());
        assert!(sealer.open(&sealed, &call(), LATER + Duration::from_millis(1)).is_none(), "expired");
        assert!(sealer.open(&sealed, &CallDigest::of("tools/call", "book", r#"{"seat":2}"#), LATER).is_none());
        assert!(Sealer::new([8; 32]).open(&sealed, &call(), LATER).is_none(), "another key");
        for at in 0..sealed.len() {
            let mut touched = sealed.clone().into_bytes();
            touched[at] = if touched[at] == b'A' { b'B' } else { b'A' };
            let touched = String::from_utf8(touched).unwrap();
            assert!(touched == sealed || sealer.open(&touched, &call(), LATER).is_none(), "byte {at} was changed");
        }
        for length in 0..sealed.len() {
            assert!(sealer.open(&sealed[..length], &call(), LATER).is_none(), "cut off at {length}");
        }
    }

    #[test]
    fn only_who_made_the_call_can_go_on_with_it() {
        let (sealer, alice, bob) = (sealer(), Principal::new("alice"), Principal::new("bob"));
        let by = |who: &Principal| call().made_by(Some(who.identity()));
        let sealed = sealer.seal(&by(&alice), &kept("secret"), LATER, RequestKey::of(0, 1)).unwrap();
        assert!(sealer.open(&sealed, &by(&alice), LATER).is_some());
        assert!(sealer.open(&sealed, &by(&bob), LATER).is_none());
        assert!(sealer.open(&sealed, &call(), LATER).is_none());
        assert!(sealer.open(&seal(&sealer, 1), &by(&alice), LATER).is_none());
    }

    #[test]
    fn a_state_shows_nothing_of_what_is_in_it() {
        let sealed = seal(&sealer(), 1);
        let bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        for word in ["secret", "inputs", "state"] {
            assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word} can be read");
        }
    }

    #[test]
    fn no_two_states_are_alike() {
        let sealer = sealer();
        let later = sealer.seal(&call(), &kept("secret"), 2 * LATER, RequestKey::of(0, 1)).unwrap();
        let sealed = [seal(&sealer, 1), seal(&sealer, 2), later];
        let ids: BTreeSet<_> = sealed.iter().map(|it| sealer.open(it, &call(), LATER).unwrap().id).collect();
        assert_eq!(ids.len(), 3, "{ids:?}");
        let (shown, text) = ids.iter().map(|id| (alloc::format!("{id:?}"), alloc::format!("{id}"))).next().unwrap();
        assert_eq!(shown, alloc::format!("StateId({text})"));
        // Not even what is the same in both is seen to be.
        let (one, two) = (URL_SAFE_NO_PAD.decode(&sealed[0]).unwrap(), URL_SAFE_NO_PAD.decode(&sealed[1]).unwrap());
        let alike = one.iter().zip(&two).filter(|(one, two)| one == two).count();
        assert!(alike < one.len() / 4, "{alike} of {} bytes", one.len());
    }

    #[test]
    fn the_cipher_is_that_of_rfc_8439() {
        // 2.8.2: 80 81 82 …, 07 00 00 00 40 41 42 43 …, 50 51 52 53 c0 c1 c2 c3 c4 c5 c6 c7.
        let key: [u8; 32] = core::array::from_fn(|at| 0x80 + at as u8);
        let nonce = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
        let bound = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
        let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
            sunscreen would be it.";
        let tag = ChaCha20Poly1305::new(Key::new(key), Nonce::new(nonce)).encrypt(&mut text, Some(&bound));
        assert_eq!(text[..8], [0xd3, 0x1a, 0x8d, 0x34, 0x64, 0x8e, 0x60, 0xdb]);
        let expected = [0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a, 0x7e, 0x90, 0x2e, 0xcb, 0xd0, 0x60, 0x06, 0x91];
        assert_eq!(tag, expected);
    }

    #[test]
    fn a_state_is_used_once_and_forgotten_when_it_is_too_old() {
        let sealer = sealer();
        let open = |round| sealer.open(&seal(&sealer, round), &call(), Duration::ZERO).unwrap();
        let mut used = UsedStates::default();
        assert_eq!(used.take(&open(1), LATER, 2), Ok(()));
        assert_eq!(used.take(&open(1), LATER, 2), Err(NotUsable::Again));
        assert_eq!(used.take(&open(2), LATER, 2), Ok(()));
        assert_eq!(used.take(&open(3), LATER, 2), Err(NotUsable::TooMany), "none is forgotten while it could be used");
        assert_eq!(used.take(&open(1), LATER, 2), Err(NotUsable::Again));
        assert_eq!(used.take(&open(3), LATER + Duration::from_millis(1), 2), Ok(()));
        assert_eq!(used.0.unwrap().len(), 1);
    }
}
