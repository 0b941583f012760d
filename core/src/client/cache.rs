//! Results that the server allowed to be used again for a while (`ttlMs`).
//!
//! One client serves one authorization context, so `public` and `private` results are kept alike; whoever changes the
//! credentials of a client makes a new one.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::Deserialize;

use crate::json::{Json, JsonText, pick};
use crate::limits::Limits;
use crate::model::MethodInfo;
use crate::time::Instant;

/// What a result answers: the method and the exact text of its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CacheKey {
    pub(super) method: String,
    pub(super) params: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Cache {
    entries: BTreeMap<CacheKey, Entry>,
    bytes: usize,
}

struct Entry {
    result: Json,
    expires: Instant,
}

impl Cache {
    /// The result for `key`, if it is fresh.
    pub(super) fn fresh(&mut self, key: &CacheKey, now: Instant) -> Option<Json> {
        let entry = self.entries.get(key)?;
        if entry.expires > now {
            return Some(entry.result.clone());
        }
        self.remove(&key.clone());
        None
    }

    /// Keeps a result for as long as it says it may be kept, if there is room.
    pub(super) fn store(&mut self, key: CacheKey, result: JsonText<'_>, limits: &Limits, now: Instant) {
        self.remove(&key);
        let time_to_live = time_to_live(result);
        let size = key.params.len() + result.as_str().len();
        if time_to_live.is_zero() || size > limits.cached_bytes / 4 {
            return;
        }
        self.make_room(size, limits, now);
        self.bytes += size;
        self.entries.insert(key, Entry { result: result.into(), expires: now + time_to_live });
    }

    /// A notification made results stale.
    pub(super) fn invalidate(&mut self, notification: &str, params: Option<JsonText<'_>>) {
        let Some(info) = MethodInfo::find(notification).filter(|info| !info.outdates.is_empty()) else { return };
        // The update of a resource may concern a part of what was read, so a prefix of its URI is stale too.
        let uri = params.and_then(|params| uri_of(params.as_str().as_bytes()));
        self.retain(|key| {
            !info.outdates.contains(&key.method.as_str()) || !stale(uri.as_deref(), uri_of(&key.params).as_deref())
        });
    }

    fn make_room(&mut self, size: usize, limits: &Limits, now: Instant) {
        if self.entries.len() < limits.cached_results && self.bytes + size <= limits.cached_bytes {
            return;
        }
        let expired: Vec<_> =
            self.entries.iter().filter(|(_, entry)| entry.expires <= now).map(|(key, _)| key.clone()).collect();
        for key in expired {
            self.remove(&key);
        }
        while self.entries.len() >= limits.cached_results || self.bytes + size > limits.cached_bytes {
            let soonest = self.entries.iter().min_by_key(|(_, entry)| entry.expires).map(|(key, _)| key.clone());
            let Some(soonest) = soonest else { return };
            self.remove(&soonest);
        }
    }

    fn retain(&mut self, keep: impl Fn(&CacheKey) -> bool) {
        let stale: Vec<_> = self.entries.keys().filter(|key| !keep(key)).cloned().collect();
        for key in stale {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= key.params.len() + entry.result.as_str().len();
        }
    }
}

/// Without knowing both URIs, better to ask again.
fn stale(updated: Option<&str>, read: Option<&str>) -> bool {
    match (updated, read) {
        (Some(updated), Some(read)) => updated.starts_with(read) || read.starts_with(updated),
        _ => true,
    }
}

fn uri_of(params: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    serde_json::from_slice::<Params>(params).ok().map(|params| params.uri)
}

/// A missing, negative or nonsensical time counts as none.
fn time_to_live(result: JsonText<'_>) -> Duration {
    let hint = pick(result, ["ttlMs"]).ok().and_then(|[hint]| hint);
    let millis = hint.and_then(|hint| hint.as_str().parse().ok());
    Duration::from_millis(millis.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_outdates_what_is_above_and_below_it() {
        assert!(stale(Some("a:b"), Some("a:b")));
        assert!(stale(Some("a:b/c"), Some("a:b")) && stale(Some("a:b"), Some("a:b/c")));
        assert!(!stale(Some("a:c"), Some("a:b")));
        assert!(stale(None, Some("a:b")) && stale(Some("a:b"), None));
    }

    #[test]
    fn results_that_are_many_bytes_make_room_for_others() {
        let limits = Limits { cached_bytes: 400, ..Limits::default() };
        let mut cache = Cache::default();
        let result = alloc::format!(r#"{{"ttlMs":60000,"contents":[{:?}]}}"#, "x".repeat(50));
        let result = JsonText::parse(&result).unwrap();
        for number in 0..9_u8 {
            let key = CacheKey { method: "resources/read".into(), params: [number].into() };
            cache.store(key, result, &limits, Instant::ZERO);
            assert!(cache.bytes <= limits.cached_bytes, "{number}: {}", cache.bytes);
        }
        let size = result.as_str().len() + 1;
        assert_eq!((cache.entries.len(), cache.bytes), (400 / size, 400 / size * size));
    }
}
