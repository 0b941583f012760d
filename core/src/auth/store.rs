//! What the host keeps between two runs, and how two processes share it.
//!
//! There is a record for each MCP server, and in it what belongs to each authorization server that it ever named. A record is
//! replaced as a whole, and only by whoever knows its newest version: of two processes that change it at once, one is told
//! what the other wrote, and looks again. Before a refresh token is used, the record is leased, so that nobody else uses it,
//! too: authorization servers take a token that comes twice for a stolen one.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// Where records are kept. Machines do not call it: they ask for it to be called, by an event, for it may wait for a disk
/// or for another process.
pub trait AuthStore: Send {
    /// What is kept for the MCP server at this URL.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn load(&mut self, server: &str) -> Result<Option<Stored>, StoreError>;

    /// Keeps `record` in place of the version `expected`, where `None` is that there is none; without a record it is removed.
    /// If another version is there, nothing is changed and that one is given back.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written.
    fn swap(&mut self, server: &str, expected: Option<u64>, record: Option<&AuthRecord>) -> Result<Swap, StoreError>;
}

/// A record and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Given by the store, and another one after every change.
    pub version: u64,
    /// What is kept.
    pub record: AuthRecord,
}

/// What came of an [`AuthStore::swap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// It is kept, in this version.
    Done(u64),
    /// Somebody else was faster: this is what is there now.
    Conflict(Option<Stored>),
}

/// Why a store could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stored credentials cannot be used: {}", self.0)
    }
}

impl core::error::Error for StoreError {}

/// What is kept for one MCP server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct AuthRecord {
    /// The authorization server that was used last.
    pub issuer: Option<String>,
    /// What belongs to each authorization server, by its issuer. Nothing of one is ever shown to another.
    pub issuers: BTreeMap<String, IssuerRecord>,
    /// Logins that wait for the user to come back, by their `state`.
    pub pending: BTreeMap<String, PendingLogin>,
    /// Who refreshes the token at present.
    pub lease: Option<Lease>,
}

/// Logins are known by what nobody else may know.
impl fmt::Debug for AuthRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthRecord")
            .field("issuer", &self.issuer)
            .field("issuers", &self.issuers)
            .field("pending", &self.pending.values().collect::<Vec<_>>())
            .field("lease", &self.lease)
            .finish()
    }
}

/// What is known at one authorization server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct IssuerRecord {
    /// The client as it was registered there.
    pub registration: Option<Registration>,
    /// What it gave.
    pub tokens: Option<Tokens>,
}

/// A client that an authorization server knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Registration {
    /// Its id.
    pub client_id: String,
    /// Its password, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
    /// When the password ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_expires_at: Option<u64>,
    /// How it shows who it is at the token endpoint: `token_endpoint_auth_method`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_method: Option<String>,
    /// Where users may be sent back to.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
}

impl Registration {
    /// A client without a password.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            secret_expires_at: None,
            auth_method: None,
            redirect_uris: Vec::new(),
        }
    }
}

/// Tokens, and where they are refreshed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tokens {
    /// What is shown to the MCP server.
    pub access_token: Secret,
    /// `Bearer` or `DPoP`.
    pub token_type: String,
    /// When it ends, in seconds since 1970, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What another one is to be had for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// What was granted if the server said so, else what was asked for: scopes between blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_scope: Option<String>,
    /// The resource that it is for, as the server published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Where it came from, and is refreshed.
    pub token_endpoint: String,
}

/// A login that waits for the user to come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PendingLogin {
    /// Who was to authorize it, and whether it says so when the user comes back (RFC 9207).
    pub issuer: String,
    /// Whether an answer without `iss` is to be refused.
    pub requires_iss: bool,
    /// What shows that it was us who asked (RFC 7636).
    pub code_verifier: Secret,
    /// Where the user comes back to.
    pub redirect_uri: String,
    /// Where the code is exchanged.
    pub token_endpoint: String,
    /// The client that asked.
    pub registration: Registration,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The resource that it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// When it is too late, in seconds since 1970.
    pub expires_at: u64,
}

/// Somebody refreshes the token: others wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Lease {
    /// Who, by a name drawn at random.
    pub owner: String,
    /// When it is taken to have failed, in milliseconds since 1970.
    pub until: u64,
}

/// A store that forgets everything when it is dropped.
///
/// ```
/// use windlass::auth::{AuthRecord, AuthStore, MemoryStore, Swap};
///
/// let mut store = MemoryStore::new();
/// let Swap::Done(first) = store.swap("https://example.com/mcp", None, Some(&AuthRecord::default()))? else { panic!() };
/// // Whoever did not see the first version does not replace it.
/// let late = store.swap("https://example.com/mcp", None, Some(&AuthRecord::default()))?;
/// assert!(matches!(late, Swap::Conflict(Some(stored)) if stored.version == first));
/// # Ok::<(), windlass::auth::StoreError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<String, Stored>,
    last_version: u64,
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }
}

impl AuthStore for MemoryStore {
    fn load(&mut self, server: &str) -> Result<Option<Stored>, StoreError> {
        Ok(self.records.get(server).cloned())
    }

    fn swap(&mut self, server: &str, expected: Option<u64>, record: Option<&AuthRecord>) -> Result<Swap, StoreError> {
        let current = self.records.get(server);
        if current.map(|stored| stored.version) != expected {
            return Ok(Swap::Conflict(current.cloned()));
        }
        self.last_version += 1;
        match record.cloned() {
            Some(record) => {
                let stored = Stored { version: self.last_version, record };
                self.records.insert(server.into(), stored);
            }
            None => drop(self.records.remove(server)),
        }
        Ok(Swap::Done(self.last_version))
    }
}
