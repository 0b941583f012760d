//! A record for each MCP server in the keychain of the system.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyring::Entry;
use windlass::auth::{AuthRecord, AuthStore, StoreError, Stored, Swap};

use super::FileStore;
use super::envelope;
use super::file_name::file_name;
use super::file_store::LOCK_TIMEOUT;
use super::folder::{Folder, Lock};

/// Under which keychains show what is ours.
const SERVICE: &str = "windlass";
/// How much goes into one entry. Windows takes 2560 bytes, and the kernel of Linux 32767; a record can be longer than both.
const PIECE: usize = if cfg!(windows) { 2048 } else { 30_000 };

/// Keeps a record for each MCP server in the keychain of the system: Keychain on macOS, the Credential Manager on Windows, and
/// on Linux the keys that the kernel keeps for a user, which are gone when the machine is started again, or a few days
/// after the last use, and take 20000 bytes in all unless the administrator allows more. A program that turns on the
/// feature `sync-secret-service` of the crate `keyring` has them in the Secret Service instead, which stays.
///
/// Keychains know no versions. A folder has locks for that, and must be the same for all processes that share the keychain;
/// there is no secret in it.
#[derive(Clone)]
pub struct KeychainStore {
    locks: PathBuf,
    lock_timeout: Duration,
    keychain: Keychain,
}

impl KeychainStore {
    /// A store that has its locks in this folder, which is made when it is needed.
    pub fn new(locks: impl Into<PathBuf>) -> Self {
        let entry = |name: &str| Entry::new(SERVICE, name).map(Arc::new);
        Self { locks: locks.into(), lock_timeout: LOCK_TIMEOUT, keychain: Keychain(Arc::new(entry)) }
    }

    /// A store that has them in the [default folder](FileStore::default_folder).
    ///
    /// # Errors
    ///
    /// When the environment does not say where the user's folders are.
    pub fn of_user() -> Result<Self, StoreError> {
        FileStore::default_folder().map(Self::new)
    }

    /// How long to wait for another process that is at the same record: ten seconds by default.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// The folder of the locks.
    pub fn locks(&self) -> &Path {
        &self.locks
    }

    /// Removes what is kept for a server, even if it is damaged. Says whether there was something.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn forget(&mut self, server: &str) -> Result<bool, StoreError> {
        let (name, mut lock) = self.lock(server)?;
        let current = self.read(&name, server).unwrap_or_default();
        self.remove(&name, current.map(|stored| stored.version), &mut lock).map(|(was_there, _)| was_there)
    }

    fn lock(&self, server: &str) -> Result<(String, Lock), StoreError> {
        let name = file_name(server);
        let lock = Folder::create(&self.locks)?.lock(&name, self.lock_timeout)?;
        Ok((name, lock))
    }

    fn read(&self, name: &str, server: &str) -> Result<Option<Stored>, StoreError> {
        let Some(bytes) = self.keychain.read(name)? else { return Ok(None) };
        envelope::decode_of(server, &bytes).map(Some).map_err(|why| unusable(name, &why))
    }

    /// Removes an entry. Says whether it was there, and what its version would be.
    fn remove(&self, name: &str, current: Option<u64>, lock: &mut Lock) -> Result<(bool, u64), StoreError> {
        let version = lock.next_version(current)?;
        lock.note(version)?;
        let was_there = self.keychain.remove(name)?;
        Ok((was_there, version))
    }
}

impl AuthStore for KeychainStore {
    fn load(&mut self, server: &str) -> Result<Option<Stored>, StoreError> {
        // Several entries are not replaced at once.
        let (name, _lock) = self.lock(server)?;
        self.read(&name, server)
    }

    fn swap(&mut self, server: &str, expected: Option<u64>, record: Option<&AuthRecord>) -> Result<Swap, StoreError> {
        let (name, mut lock) = self.lock(server)?;
        let current = self.read(&name, server)?;
        let version = current.as_ref().map(|stored| stored.version);
        if version != expected {
            return Ok(Swap::Conflict(current));
        }
        let Some(record) = record else {
            return self.remove(&name, version, &mut lock).map(|(_, version)| Swap::Done(version));
        };
        let version = lock.next_version(version)?;
        let bytes = envelope::encode(server, version, record).map_err(StoreError)?;
        self.keychain.write(&name, &bytes)?;
        Ok(Swap::Done(version))
    }
}

impl fmt::Debug for KeychainStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeychainStore")
            .field("locks", &self.locks)
            .field("lock_timeout", &self.lock_timeout)
            .finish_non_exhaustive()
    }
}

/// Values of any length in entries of a bounded one. What does not fit into an entry is cut into pieces, and the entry says
/// which: there are two sets of them, used in turn, so that a value is replaced when its entry is.
#[derive(Clone)]
struct Keychain(Arc<EntryOf>);

/// Finds the entry of a name.
type EntryOf = dyn Fn(&str) -> keyring::Result<Arc<Entry>> + Send + Sync;

/// Where the pieces of a value are.
struct Pieces {
    set: usize,
    count: usize,
    length: usize,
}

/// In front of where the pieces are. A value that is not in pieces is JSON, and does not begin like this.
const IN_PIECES: &str = "pieces ";

impl Keychain {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        if !value.starts_with(IN_PIECES.as_bytes()) {
            return Ok(Some(value));
        }
        let damaged = || unusable(name, "it is damaged: pieces of it are missing");
        let pieces = Pieces::parse(&value).ok_or_else(damaged)?;
        let mut whole = Vec::new();
        for number in 0..pieces.count {
            whole.extend(self.get(&piece_name(name, pieces.set, number))?.ok_or_else(damaged)?);
        }
        if whole.len() == pieces.length { Ok(Some(whole)) } else { Err(damaged()) }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let before = self.get(name)?.as_deref().and_then(Pieces::parse);
        let unused = before.map_or(0, |pieces| 1 - pieces.set);
        // Of a process that died.
        self.remove_pieces(name, unused)?;
        if bytes.len() <= PIECE {
            self.set(name, bytes)?;
        } else {
            for (number, piece) in bytes.chunks(PIECE).enumerate() {
                self.set(&piece_name(name, unused, number), piece)?;
            }
            let pieces = Pieces { set: unused, count: bytes.len().div_ceil(PIECE), length: bytes.len() };
            self.set(name, pieces.text().as_bytes())?;
        }
        self.remove_pieces(name, 1 - unused)
    }

    fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let was_there = self.delete(name)?;
        self.remove_pieces(name, 0)?;
        self.remove_pieces(name, 1)?;
        Ok(was_there)
    }

    /// From the last to the first, for they are counted from the first on: none is left behind if it is not finished.
    fn remove_pieces(&self, name: &str, set: usize) -> Result<(), StoreError> {
        let mut count = 0;
        while self.get(&piece_name(name, set, count))?.is_some() {
            count += 1;
        }
        for number in (0..count).rev() {
            self.delete(&piece_name(name, set, number))?;
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if_there(self.0(name).and_then(|entry| entry.get_secret()), name)
    }

    fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.0(name).and_then(|entry| entry.set_secret(value)).map_err(|error| failed(name, &error))
    }

    fn delete(&self, name: &str) -> Result<bool, StoreError> {
        Ok(if_there(self.0(name).and_then(|entry| entry.delete_credential()), name)?.is_some())
    }
}

impl Pieces {
    fn parse(value: &[u8]) -> Option<Self> {
        let mut numbers = std::str::from_utf8(value).ok()?.strip_prefix(IN_PIECES)?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let (set, count, length) = (next()?, next()?, next()?);
        let is_possible = set <= 1 && length <= envelope::LONGEST && count <= envelope::LONGEST.div_ceil(PIECE);
        is_possible.then_some(Self { set, count, length })
    }

    fn text(&self) -> String {
        format!("{IN_PIECES}{} {} {}", self.set, self.count, self.length)
    }
}

fn piece_name(name: &str, set: usize, number: usize) -> String {
    format!("{name} {set}.{number}")
}

fn if_there<T>(outcome: keyring::Result<T>, name: &str) -> Result<Option<T>, StoreError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(keyring::Error::NoEntry) => Ok(None),
        Err(error) => Err(failed(name, &error)),
    }
}

fn failed(name: &str, error: &keyring::Error) -> StoreError {
    let why = match error {
        // Their own words may hold what is secret.
        keyring::Error::Ambiguous(_) => "there are several of it".into(),
        keyring::Error::BadEncoding(_) => "it is damaged: it is no text".into(),
        other => other.to_string(),
    };
    StoreError(format!("entry {name:?} of {SERVICE:?} in the keychain: {why}"))
}

fn unusable(name: &str, why: &str) -> StoreError {
    let entry = format!("entry {name:?} of {SERVICE:?} in the keychain");
    StoreError(format!("{entry}: {why}; remove it, or forget the server, and log in again"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use keyring::mock::{self, MockCredential};
    use serde_json::json;

    use super::*;
    use crate::auth::tests::scratch::Scratch;
    use crate::auth::{SharedStore, check_store};

    const SERVER: &str = "https://mcp.example.com/mcp";

    /// A keychain that several stores share. Entries of keyring's mock know nothing of each other, so each is made once.
    #[derive(Clone, Default)]
    struct Mocked(Arc<Mutex<BTreeMap<String, Arc<Entry>>>>);

    impl Mocked {
        fn store(&self, locks: &Path) -> KeychainStore {
            let mocked = self.clone();
            KeychainStore { keychain: Keychain(Arc::new(move |name| mocked.entry(name))), ..KeychainStore::new(locks) }
        }

        fn entry(&self, name: &str) -> keyring::Result<Arc<Entry>> {
            let mut entries = self.0.lock().unwrap();
            if let Some(entry) = entries.get(name) {
                return Ok(entry.clone());
            }
            let credential = mock::default_credential_builder().build(None, SERVICE, name)?;
            let entry = Arc::new(Entry::new_with_credential(credential));
            entries.insert(name.into(), entry.clone());
            Ok(entry)
        }

        /// The names of entries that have a value.
        fn names(&self) -> Vec<String> {
            let entries = self.0.lock().unwrap();
            entries.iter().filter(|(_, entry)| entry.get_secret().is_ok()).map(|(name, _)| name.clone()).collect()
        }
    }

    fn record(length: usize) -> AuthRecord {
        let token = "hunter2".repeat(length / 7);
        serde_json::from_value(json!({ "issuers": { "https://issuer.example": { "tokens": {
            "accessToken": token, "tokenType": "Bearer", "tokenEndpoint": "https://issuer.example/token",
        } } } }))
        .unwrap()
    }

    #[test]
    fn keychains_keep_the_contract() {
        let (locks, mocked) = (Scratch::new(), Mocked::default());
        check_store(|| Box::new(mocked.store(&locks)));
        check_store(|| Box::new(SharedStore::from(mocked.store(&locks))));
        assert_eq!(mocked.names(), [""; 0], "nothing is left");
    }

    #[test]
    fn long_records_are_in_pieces_and_leave_none() {
        let (locks, mocked) = (Scratch::new(), Mocked::default());
        let (mut store, name) = (mocked.store(&locks), file_name(SERVER));
        let mut version = None;
        for (length, pieces) in [(10, 0), (PIECE, 2), (4 * PIECE, 5), (PIECE, 2), (10, 0), (4 * PIECE, 5)] {
            let record = record(length);
            let Ok(Swap::Done(next)) = store.swap(SERVER, version, Some(&record)) else { panic!() };
            assert_eq!(store.load(SERVER), Ok(Some(Stored { version: next, record })));
            assert_eq!(mocked.names().len(), 1 + pieces);
            version = Some(next);
        }

        // A piece that is gone is noticed, until the record is forgotten.
        let piece = mocked.names().pop().unwrap();
        mocked.entry(&piece).unwrap().delete_credential().unwrap();
        let error = store.load(SERVER).unwrap_err().to_string();
        assert!(error.contains(&name) && error.contains("damaged") && !error.contains("hunter2"), "{error}");
        store.swap(SERVER, version, None).unwrap_err();
        assert_eq!(store.forget(SERVER), Ok(true));
        assert_eq!(store.forget(SERVER), Ok(false));
        assert_eq!(mocked.names(), [""; 0]);
        let Ok(Swap::Done(next)) = store.swap(SERVER, None, Some(&record(10))) else { panic!() };
        assert!(Some(next) > version);
    }

    #[test]
    fn what_is_not_replaced_entirely_is_not_replaced() {
        let (locks, mocked) = (Scratch::new(), Mocked::default());
        let (mut store, name) = (mocked.store(&locks), file_name(SERVER));
        let long = record(4 * PIECE);
        let Ok(Swap::Done(version)) = store.swap(SERVER, None, Some(&long)) else { panic!() };

        let entry = mocked.entry(&piece_name(&name, 1, 2)).unwrap();
        let mock: &MockCredential = entry.get_credential().downcast_ref().unwrap();
        mock.set_error(keyring::Error::Ambiguous(vec![]));
        let error = store.swap(SERVER, Some(version), Some(&long)).unwrap_err().to_string();
        assert!(error.contains("several of it"), "{error}");
        assert_eq!(store.load(SERVER), Ok(Some(Stored { version, record: long.clone() })));

        let short = record(10);
        let Ok(Swap::Done(version)) = store.swap(SERVER, Some(version), Some(&short)) else { panic!() };
        assert_eq!(store.load(SERVER), Ok(Some(Stored { version, record: short })));
        assert_eq!(mocked.names(), [name], "what was begun is gone");
    }

    #[test]
    fn nothing_secret_is_printed_nor_in_the_folder() {
        let (locks, mocked) = (Scratch::new(), Mocked::default());
        let mut store = mocked.store(&locks);
        store.swap(SERVER, None, Some(&record(70))).unwrap();
        assert!(!format!("{store:?}").contains("hunter2"));
        for entry in std::fs::read_dir(&*locks).unwrap() {
            assert!(!std::fs::read_to_string(entry.unwrap().path()).unwrap().contains("hunter2"));
        }
    }
}
