//! Changes of what is stored. Each is made on the record as it was last seen, and again if that was not the newest.

use alloc::boxed::Box;
use alloc::string::String;

use super::login::{self, Redirected};
use super::store::{AuthRecord, Lease, PendingLogin, Registration, Tokens};
use crate::error::AuthError;
use crate::secret::Secret;

/// A change of what is stored, which is made again on what others have stored meanwhile.
pub(super) enum Change {
    AddLogin {
        state: String,
        pending: Box<PendingLogin>,
        url: String,
    },
    TakeLogin {
        redirected: Box<Redirected>,
        taken: Option<Box<PendingLogin>>,
    },
    TakeLease {
        until: u64,
    },
    PutTokens {
        issuer: String,
        registration: Registration,
        tokens: Box<Tokens>,
        source: Source,
    },
    /// A refresh token is refused.
    DropTokens {
        issuer: String,
        refused: Secret,
    },
    /// The client is not known any more, nor are its tokens.
    DropClient {
        issuer: String,
        client_id: String,
        /// What is told, if nothing follows from it here.
        error: Option<Box<AuthError>>,
    },
    /// The token was not refreshed: others may try.
    EndLease(Box<AuthError>),
}

/// Where a token comes from: what is left to try if it is refused at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It was there.
    Stored,
    /// It was had for another one. Perhaps a login helps.
    Refreshed,
    /// It was granted just so. Nothing helps.
    Granted,
}

/// Issuers of which something is kept. Servers have one, and had another before; one that names a new one every time is up to
/// no good.
const MOST_ISSUERS: usize = 16;

/// Makes room among those that never gave anything, and whom nobody is asked by.
fn forget_issuers(record: &mut AuthRecord, but: &str) {
    while record.issuers.len() > MOST_ISSUERS {
        let is_idle = |issuer: &String| issuer != but && !record.pending.values().any(|login| login.issuer == *issuer);
        let idle = record.issuers.iter().find(|(issuer, known)| known.tokens.is_none() && is_idle(issuer));
        let Some(idle) = idle.map(|(issuer, _)| issuer.clone()) else { return };
        record.issuers.remove(&idle);
    }
}

/// Who changes something, and when.
pub(super) struct Changing<'a> {
    /// By what others know who has a lease.
    pub(super) owner: &'a str,
    /// When a lease that is taken now ends, in milliseconds since 1970.
    pub(super) until: u64,
    pub(super) unix_now: u64,
}

impl Change {
    /// Makes the change, unless it is to take a login that is not there. Whatever is over ends our lease.
    pub(super) fn apply(&mut self, record: &mut AuthRecord, by: &Changing<'_>) -> bool {
        match self {
            Self::AddLogin { state, pending, .. } => {
                let known = record.issuers.entry(pending.issuer.clone()).or_default();
                known.registration = Some(pending.registration.clone());
                forget_issuers(record, &pending.issuer);
                login::keep(record, state.clone(), (**pending).clone(), by.unix_now);
            }
            Self::TakeLogin { redirected, taken } => {
                *taken = login::take(record, &redirected.state, by.unix_now).map(Box::new);
                return taken.is_some();
            }
            Self::TakeLease { until } => {
                *until = by.until;
                record.lease = Some(Lease { owner: by.owner.into(), until: by.until });
                return true;
            }
            Self::PutTokens { issuer, registration, tokens, .. } => {
                let known = record.issuers.entry(issuer.clone()).or_default();
                known.tokens = Some((**tokens).clone());
                known.registration = Some(registration.clone());
                record.issuer = Some(issuer.clone());
            }
            Self::DropTokens { issuer, refused } => {
                if let Some(known) = record.issuers.get_mut(issuer) {
                    // Those that somebody else has put there meanwhile are good.
                    known.tokens.take_if(|tokens| tokens.refresh_token.as_ref() == Some(refused));
                }
            }
            Self::DropClient { issuer, client_id, .. } => {
                let is_it = |known: &Registration| known.client_id == *client_id;
                if record.issuers.get(issuer).is_some_and(|known| known.registration.as_ref().is_some_and(is_it)) {
                    record.issuers.remove(issuer);
                }
            }
            Self::EndLease(_) => {}
        }
        record.lease.take_if(|lease| lease.owner == by.owner);
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::auth::IssuerRecord;

    #[test]
    fn issuers_that_gave_nothing_make_room_when_there_are_too_many() {
        let mut record = AuthRecord::default();
        let tokens = r#"{"accessToken":"a","tokenType":"Bearer","tokenEndpoint":"https://00/token"}"#;
        for number in 0..MOST_ISSUERS {
            record.issuers.insert(format!("https://{number:02}"), IssuerRecord::default());
        }
        forget_issuers(&mut record, "https://00");
        assert_eq!(record.issuers.len(), MOST_ISSUERS, "there is room for all");
        let first = record.issuers.get_mut("https://00").unwrap();
        first.tokens = Some(serde_json::from_str(tokens).unwrap());
        for number in MOST_ISSUERS..MOST_ISSUERS + 3 {
            record.issuers.insert(format!("https://{number:02}"), IssuerRecord::default());
        }
        forget_issuers(&mut record, "https://01");
        let left = ["https://00", "https://01", "https://05"].map(ToString::to_string);
        assert_eq!(record.issuers.len(), MOST_ISSUERS);
        assert!(left.iter().all(|issuer| record.issuers.contains_key(issuer)), "{:?}", record.issuers.keys());
        assert!(["https://02", "https://03", "https://04"].iter().all(|issuer| !record.issuers.contains_key(*issuer)));
    }
}
