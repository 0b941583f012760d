//! A handle on any store.

use std::fmt;
use std::sync::Arc;

use windlass::auth::{AuthRecord, AuthStore, MemoryStore, StoreError, Stored, Swap};

use super::FileStore;
#[cfg(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows)))]
use super::KeychainStore;
use crate::wait::Lock;

/// A store that several clients share: a clone leads to the same one. One at a time is in it, so whoever must not wait
/// calls it from a thread that may.
///
/// ```
/// use windlass::auth::{AuthRecord, AuthStore, MemoryStore};
/// use windlass_host::auth::SharedStore;
///
/// let mut store = SharedStore::from(MemoryStore::new());
/// let mut same = store.clone();
/// store.swap("https://example.com/mcp", None, Some(&AuthRecord::default()))?;
/// assert!(same.load("https://example.com/mcp")?.is_some());
/// # Ok::<(), windlass::auth::StoreError>(())
/// ```
#[derive(Clone)]
pub struct SharedStore(Arc<Lock<Box<dyn AuthStore>>>);

impl SharedStore {
    /// Shares a store of one's own.
    pub fn new(store: impl AuthStore + 'static) -> Self {
        Self(Arc::new(Lock::new(Box::new(store))))
    }
}

impl AuthStore for SharedStore {
    fn load(&mut self, server: &str) -> Result<Option<Stored>, StoreError> {
        self.0.lock().load(server)
    }

    fn swap(&mut self, server: &str, expected: Option<u64>, record: Option<&AuthRecord>) -> Result<Swap, StoreError> {
        self.0.lock().swap(server, expected, record)
    }
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedStore(..)")
    }
}

impl From<FileStore> for SharedStore {
    fn from(store: FileStore) -> Self {
        Self::new(store)
    }
}

impl From<MemoryStore> for SharedStore {
    fn from(store: MemoryStore) -> Self {
        Self::new(store)
    }
}

#[cfg(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows)))]
impl From<KeychainStore> for SharedStore {
    fn from(store: KeychainStore) -> Self {
        Self::new(store)
    }
}
