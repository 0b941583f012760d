//! The store as a login sees it: what was granted before is not there, so that the user is asked anew; yet it stays until
//! something else was granted, so that a login that comes to nothing takes nothing away.
//!
//! The engine does not store the password of a client that a program gives it, because the program can give it again. The
//! commands that come after a login cannot, and could not refresh what was granted, so here it is stored with that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass::auth::{AuthRecord, AuthStore, KnownClient, Registration, Secret, StoreError, Stored, Swap, Tokens};
use windlass_host::auth::FileStore;

/// As often as somebody else may be faster when a login is given up.
const TRIES: u32 = 5;

/// What a login was granted.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) issuer: String,
    pub(crate) tokens: Tokens,
    /// Whether the client is known by what is stored, so that the token can be refreshed by it.
    pub(crate) has_client: bool,
}

/// A handle on it.
#[derive(Clone, Debug)]
pub(crate) struct FreshStore {
    files: FileStore,
    /// The client as whom a user logs in, if it is not one that registers itself.
    client: Option<KnownClient>,
    granted: Arc<Mutex<Option<Granted>>>,
}

impl FreshStore {
    pub(crate) fn new(files: FileStore) -> Self {
        Self { files, client: None, granted: Arc::default() }
    }

    /// The same, for a login as a client that was given.
    pub(crate) fn for_client(mut self, client: Option<KnownClient>) -> Self {
        self.client = client;
        self
    }

    /// What was granted since.
    pub(crate) fn granted(&self) -> Option<Granted> {
        self.lock().clone()
    }

    /// Gives a login up that nobody will come back to. Of a server that is known by that alone nothing is kept.
    pub(crate) fn give_up(&self, server: &str, state: Option<&Secret>) {
        let mut files = self.files.clone();
        let mut current = files.load(server);
        for _ in 0..TRIES {
            let Ok(Some(Stored { version, mut record })) = current else { return };
            let before = record.pending.len();
            record.pending.retain(|pending, _| state.map(Secret::expose) != Some(pending));
            let worthless = record.pending.is_empty() && record.issuers.values().all(|known| known.tokens.is_none());
            if before == record.pending.len() && !worthless {
                return;
            }
            match files.swap(server, Some(version), (!worthless).then_some(&record)) {
                Ok(Swap::Conflict(other)) => current = Ok(other),
                _ => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Granted>> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what later commands need to know of the client.
    fn complete(&self, record: &mut AuthRecord) {
        let Some(client) = &self.client else { return };
        let complete = |registration: &mut Registration| {
            if registration.client_id == client.client_id {
                registration.client_secret = client.client_secret.clone();
            }
        };
        for known in record.issuers.values_mut().filter(|known| known.tokens.is_some()) {
            complete(known.registration.get_or_insert_with(|| Registration::new(&client.client_id)));
        }
        record.pending.values_mut().for_each(|pending| complete(&mut pending.registration));
    }

    /// As the login sees it.
    fn fresh(&self, mut stored: Stored) -> Stored {
        if self.lock().is_none() {
            stored.record.issuers.values_mut().for_each(|known| known.tokens = None);
        }
        stored
    }
}

impl AuthStore for FreshStore {
    fn load(&mut self, server: &str) -> Result<Option<Stored>, StoreError> {
        Ok(self.files.load(server)?.map(|stored| self.fresh(stored)))
    }

    fn swap(&mut self, server: &str, expected: Option<u64>, record: Option<&AuthRecord>) -> Result<Swap, StoreError> {
        let Some(record) = record.filter(|_| self.lock().is_none()) else {
            return self.files.swap(server, expected, record);
        };
        let mut kept = record.clone();
        self.complete(&mut kept);
        let before = self.files.load(server)?.filter(|stored| Some(stored.version) == expected);
        for (issuer, known) in before.map(|stored| stored.record.issuers).unwrap_or_default() {
            if let Some(now) = kept.issuers.get_mut(&issuer).filter(|now| now.tokens.is_none()) {
                now.tokens = known.tokens;
            }
        }
        let swapped = self.files.swap(server, expected, Some(&kept))?;
        if let Swap::Conflict(current) = swapped {
            return Ok(Swap::Conflict(current.map(|stored| self.fresh(stored))));
        }
        // It saw none, so those that it has are new.
        *self.lock() = record.issuers.iter().find_map(|(issuer, known)| {
            let has_client = kept.issuers.get(issuer).is_some_and(|known| known.registration.is_some());
            Some(Granted { issuer: issuer.clone(), tokens: known.tokens.clone()?, has_client })
        });
        Ok(swapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://h/mcp";

    fn record(token: &str, pending: bool) -> AuthRecord {
        let tokens = match token {
            "" => serde_json::Value::Null,
            token => serde_json::json!({
                "accessToken": token, "tokenType": "Bearer", "tokenEndpoint": "https://as/token",
            }),
        };
        let login = serde_json::json!({"issuer": "https://as", "requiresIss": false, "codeVerifier": "v",
            "redirectUri": "http://127.0.0.1:1/", "tokenEndpoint": "https://as/token",
            "registration": {"clientId": "c"}, "expiresAt": 1});
        let pending = if pending { serde_json::json!({"s": login}) } else { serde_json::json!({}) };
        let record = serde_json::json!({"issuer": "https://as", "issuers": {"https://as": {"tokens": tokens}},
            "pending": pending});
        serde_json::from_value(record).unwrap()
    }

    fn token(stored: &Stored) -> Option<&str> {
        Some(stored.record.issuers["https://as"].tokens.as_ref()?.access_token.expose())
    }

    #[test]
    fn a_client_that_was_given_is_stored_with_what_it_was_granted() {
        let client = Some(KnownClient::new("c").secret("hush"));
        let fresh = FreshStore::new(FileStore::new("/nonexistent")).for_client(client);
        let secret = |registration: &Registration| registration.client_secret.clone();
        let mut begun = record("", true);
        fresh.complete(&mut begun);
        assert_eq!(begun.issuers["https://as"].registration, None);
        assert_eq!(secret(&begun.pending["s"].registration), Some(Secret::new("hush")));
        let mut granted = record("new", false);
        fresh.complete(&mut granted);
        assert_eq!(granted.issuers["https://as"].registration.as_ref().and_then(secret), Some(Secret::new("hush")));
    }

    #[test]
    fn a_login_sees_nothing_that_was_granted_and_takes_nothing_away() {
        let folder = std::env::temp_dir().join(format!("windlass-fresh-store-{}", std::process::id()));
        let mut files = FileStore::new(&folder);
        let mut fresh = FreshStore::new(files.clone());
        assert_eq!(fresh.load(SERVER).unwrap(), None);
        files.swap(SERVER, None, Some(&record("old", false))).unwrap();
        let seen = fresh.load(SERVER).unwrap().unwrap();
        assert_eq!(token(&seen), None);

        // A login begins: what is good stays.
        let Ok(Swap::Done(version)) = fresh.swap(SERVER, Some(seen.version), Some(&record("", true))) else { panic!() };
        assert_eq!(token(&files.load(SERVER).unwrap().unwrap()), Some("old"));
        assert!(fresh.granted().is_none());
        // Somebody else is faster, which is not seen either.
        let Ok(Swap::Conflict(Some(seen))) = fresh.swap(SERVER, None, Some(&record("", true))) else { panic!() };
        assert_eq!((token(&seen), seen.version), (None, version));

        // It is given up, which takes nothing but itself.
        fresh.give_up(SERVER, Some(&Secret::new("s")));
        let seen = files.load(SERVER).unwrap().unwrap();
        assert_eq!((token(&seen), seen.record.pending.len()), (Some("old"), 0));

        // Another one is granted something.
        assert!(matches!(fresh.swap(SERVER, Some(seen.version), Some(&record("new", false))), Ok(Swap::Done(_))));
        assert_eq!(fresh.granted().unwrap().tokens.access_token.expose(), "new");
        assert_eq!(token(&fresh.load(SERVER).unwrap().unwrap()), Some("new"));

        // Of a server that has granted nothing, nothing is left.
        files.swap("https://other", None, Some(&record("", true))).unwrap();
        fresh.give_up("https://other", Some(&Secret::new("s")));
        assert_eq!(files.load("https://other").unwrap(), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
