//! What every store has to do, for the tests of those who write one.

use serde_json::json;
use windlass::auth::{AuthRecord, AuthStore, Stored, Swap};

const SERVER: &str = "https://mcp.example.com/check";
/// Its beginning is that of the other: a store that cuts names off mixes them up.
const OTHER_SERVER: &str = "https://mcp.example.com/check?tenant=2";
/// Longer than any token is: some authorization servers put all groups of a user into theirs.
const LONG: usize = 64 << 10;

/// Does to a store what clients do, and panics if something comes out that they could not live with. Every call of `make`
/// gives a handle on the same store, as another process would have it; it is empty in the beginning and in the end.
///
/// ```
/// use windlass::auth::MemoryStore;
/// use windlass_host::auth::{SharedStore, check_store};
///
/// let store = SharedStore::from(MemoryStore::new());
/// check_store(|| Box::new(store.clone()));
/// ```
///
/// # Panics
///
/// If the store does not do what it has to.
#[track_caller]
pub fn check_store(mut make: impl FnMut() -> Box<dyn AuthStore>) {
    let (mut one, mut other) = (make(), make());
    let (full, empty) = (full_record(), AuthRecord::default());
    let mut versions = Vec::new();

    // There is nothing, and whoever expects something is told so.
    assert_eq!(one.load(SERVER), Ok(None), "nothing was kept yet");
    assert_eq!(one.swap(SERVER, Some(1), Some(&full)), Ok(Swap::Conflict(None)), "there is no version 1");
    assert_eq!(one.swap(SERVER, Some(1), None), Ok(Swap::Conflict(None)), "there is no version 1 to remove");
    assert_eq!(one.load(SERVER), Ok(None), "a conflict keeps nothing");

    // What is kept comes back as it was, to everybody, also later.
    let first = done(one.swap(SERVER, None, Some(&full)), &mut versions);
    let stored = Stored { version: first, record: full.clone() };
    assert_eq!(one.load(SERVER).as_ref(), Ok(&Some(stored.clone())), "a record comes back as it was kept");
    assert_eq!(other.load(SERVER).as_ref(), Ok(&Some(stored.clone())), "another handle sees it");
    let again = make().load(SERVER).expect("a new handle can read it").expect("a new handle sees it");
    assert_eq!(text(&again.record), text(&full), "not a byte of it is another");
    assert_eq!(one.load(OTHER_SERVER), Ok(None), "it is kept for its own server");

    // Whoever does not know the newest version changes nothing, and is told what there is.
    let conflict = Ok(Swap::Conflict(Some(stored)));
    assert_eq!(other.swap(SERVER, None, Some(&empty)), conflict, "it is there already");
    assert_eq!(other.swap(SERVER, Some(first.wrapping_add(1)), Some(&empty)), conflict, "there is no such version");
    assert_eq!(other.swap(SERVER, None, None), conflict, "nobody removes what they did not see");
    let second = done(other.swap(SERVER, Some(first), Some(&empty)), &mut versions);
    let stored = Stored { version: second, record: empty.clone() };
    assert_eq!(one.swap(SERVER, Some(first), Some(&full)), Ok(Swap::Conflict(Some(stored.clone()))), "it was replaced");
    assert_eq!(one.swap(SERVER, Some(first), None), Ok(Swap::Conflict(Some(stored.clone()))), "it was replaced");
    assert_eq!(one.load(SERVER), Ok(Some(stored)), "conflicts change nothing");

    // A version is another one even if the record is the same.
    let third = done(one.swap(SERVER, Some(second), Some(&empty)), &mut versions);

    // What is removed is gone, for everybody, and no version comes back.
    done(other.swap(SERVER, Some(third), None), &mut versions);
    assert_eq!(one.load(SERVER), Ok(None), "it was removed");
    assert_eq!(one.swap(SERVER, Some(third), Some(&full)), Ok(Swap::Conflict(None)), "it was removed");
    done(one.swap(SERVER, None, None), &mut versions);
    for handle in [&mut one, &mut other] {
        let version = done(handle.swap(SERVER, None, Some(&empty)), &mut versions);
        done(handle.swap(SERVER, Some(version), None), &mut versions);
    }
    let version = done(make().swap(SERVER, None, Some(&full)), &mut versions);

    // Servers have nothing to do with each other.
    let elsewhere = done(other.swap(OTHER_SERVER, None, Some(&empty)), &mut Vec::new());
    assert_eq!(one.load(SERVER), Ok(Some(Stored { version, record: full })), "another server's record is another one");
    done(one.swap(SERVER, Some(version), None), &mut versions);
    assert_eq!(one.load(OTHER_SERVER), Ok(Some(Stored { version: elsewhere, record: empty })), "it is still there");
    done(one.swap(OTHER_SERVER, Some(elsewhere), None), &mut Vec::new());
    assert_eq!(make().load(OTHER_SERVER), Ok(None), "it was removed");
}

/// The version of what was kept, which is later than all before.
#[track_caller]
fn done(outcome: Result<Swap, windlass::auth::StoreError>, versions: &mut Vec<u64>) -> u64 {
    let Ok(Swap::Done(version)) = outcome else { panic!("nobody else was there, but: {outcome:?}") };
    assert!(versions.last().is_none_or(|last| *last < version), "version {version} comes after {versions:?}");
    versions.push(version);
    version
}

fn text(record: &AuthRecord) -> String {
    serde_json::to_string(record).expect("records can be written as JSON")
}

/// A record in which everything is used that there is, with all letters that make trouble.
fn full_record() -> AuthRecord {
    let odd = "\u{0}\u{1f}\"\\/\u{7f}\u{85}\u{2028}\u{feff}é𝄞\u{10ffff} \r\n\t";
    let long: String = ('!'..='~').cycle().take(LONG).collect();
    let registration = json!({
        "clientId": format!("client {odd}"),
        "clientSecret": format!("secret {odd}"),
        "secretExpiresAt": u64::MAX,
        "authMethod": "client_secret_basic",
        "redirectUris": ["http://127.0.0.1:8000/", "", odd],
    });
    let record = json!({
        "issuer": format!("https://issuer.example/{odd}"),
        "issuers": {
            format!("https://issuer.example/{odd}"): {
                "registration": registration,
                "tokens": {
                    "accessToken": long,
                    "tokenType": "DPoP",
                    "expiresAt": 0,
                    "refreshToken": format!("{odd}{long}"),
                    "scope": "files:read files:write",
                    "resource": SERVER,
                    "tokenEndpoint": "https://issuer.example/token",
                },
            },
            "": {},
        },
        "pending": {
            odd: {
                "issuer": "https://issuer.example",
                "requiresIss": true,
                "codeVerifier": odd,
                "redirectUri": "http://127.0.0.1:8000/",
                "tokenEndpoint": "https://issuer.example/token",
                "registration": registration,
                "scope": "",
                "resource": SERVER,
                "expiresAt": 1_900_000_000,
            },
        },
        "lease": { "owner": odd, "until": u64::MAX },
    });
    serde_json::from_value(record).expect("it is a record")
}
