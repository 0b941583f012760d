//! Sending the user to the authorization server, and what comes back.

use alloc::string::{String, ToString};

use super::form::{self, Form};
use super::pkce;
use super::store::{AuthRecord, PendingLogin};
use crate::error::AuthError;
use crate::jsonrpc::excerpt;
use crate::secret::{Secret, is_equal};

/// What the user came back with: the query of the address to which the browser was sent.
///
/// ```
/// use windlass::auth::Redirected;
///
/// let back = Redirected::from_url("http://127.0.0.1:7777/callback?code=c&state=s&iss=https%3A%2F%2Fauth.example");
/// assert!(!format!("{back:?}").contains("code=c"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirected {
    /// Which login it belongs to.
    pub state: Secret,
    /// Who answers.
    pub iss: Option<String>,
    /// What a token is to be had for, or why there is none.
    pub outcome: Result<Secret, Denied>,
}

/// Why there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denied {
    /// The code of the error.
    pub error: String,
    /// What is said about it.
    pub description: String,
}

impl Redirected {
    /// What came back, taken apart already.
    pub fn new(code: impl Into<String>, state: impl Into<String>, iss: Option<String>) -> Self {
        Self { state: Secret::new(state), iss, outcome: Ok(Secret::new(code)) }
    }

    /// What came back, from the address or its query. Whatever is missing is found out when it is used.
    pub fn from_url(url: &str) -> Self {
        let query = url.split_once('?').map_or(url, |(_, query)| query);
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        let (mut code, mut state, mut iss, mut error, mut description) = (None, None, None, None, None);
        for (name, value) in form::parse(query) {
            let place = match name.as_str() {
                "code" => &mut code,
                "state" => &mut state,
                "iss" => &mut iss,
                "error" => &mut error,
                "error_description" => &mut description,
                _ => continue,
            };
            // The first counts, so that nothing that is added behind can take its place.
            place.get_or_insert(value);
        }
        let outcome = match (code, error) {
            (Some(code), None) => Ok(Secret::new(code)),
            (_, error) => Err(Denied {
                error: error.unwrap_or_else(|| "neither a code nor an error came back".into()),
                description: description.unwrap_or_default(),
            }),
        };
        Self { state: Secret::new(state.unwrap_or_default()), iss, outcome }
    }

    /// The code, if what came back is from whom it should be. Errors of somebody else are not even told.
    pub(super) fn code_for(&self, pending: &PendingLogin) -> Result<Secret, AuthError> {
        let unsaid = self.iss.is_none() && pending.requires_iss;
        // To the letter: whoever makes another spelling of an issuer may be somebody else.
        if unsaid || self.iss.as_ref().is_some_and(|iss| *iss != pending.issuer) {
            let found = self.iss.as_deref().map(|iss| excerpt(iss).to_string());
            return Err(AuthError::OtherIssuer { expected: pending.issuer.clone(), found });
        }
        self.outcome.clone().map_err(|denied| AuthError::Denied {
            error: excerpt(&denied.error).into(),
            description: excerpt(&denied.description).into(),
        })
    }
}

/// Takes the login that something belongs to out of a record: it can be answered once.
pub(super) fn take(record: &mut AuthRecord, state: &Secret, unix_now: u64) -> Option<PendingLogin> {
    let known = known(record, state)?.clone();
    record.pending.remove(&known).filter(|pending| pending.expires_at > unix_now)
}

/// The login that something belongs to.
pub(super) fn find<'a>(record: &'a AuthRecord, state: &Secret) -> Option<&'a PendingLogin> {
    record.pending.get(known(record, state)?)
}

fn known<'a>(record: &'a AuthRecord, state: &Secret) -> Option<&'a String> {
    // All are compared, whichever it is.
    record.pending.keys().fold(None, |found, known| if is_equal(known, state.expose()) { Some(known) } else { found })
}

/// Keeps a login. Old ones make room, for users who never come back are many.
pub(super) fn keep(record: &mut AuthRecord, state: String, pending: PendingLogin, unix_now: u64) {
    /// As many as may be under way at once for one server.
    const MOST: usize = 8;
    record.pending.retain(|_, pending| pending.expires_at > unix_now);
    while record.pending.len() >= MOST {
        let oldest =
            record.pending.iter().min_by_key(|(_, pending)| pending.expires_at).map(|(state, _)| state.clone());
        record.pending.remove(&oldest.unwrap_or_default());
    }
    record.pending.insert(state, pending);
}

/// The page to which the user is sent.
pub(super) fn url(endpoint: &str, pending: &PendingLogin, state: &str, challenge: &str) -> String {
    let scope = pending.scope.as_deref();
    // Servers give what lasts without the user only if the user was asked for it there and then.
    let lasting = scope.is_some_and(|scope| scope.split(' ').any(|scope| scope == "offline_access"));
    let form = Form::new()
        .add("response_type", "code")
        .add("client_id", &pending.registration.client_id)
        .add("redirect_uri", &pending.redirect_uri)
        .add("state", state)
        .add("code_challenge", challenge)
        .add("code_challenge_method", pkce::METHOD)
        .add_some("resource", pending.resource.as_deref())
        .add_some("scope", scope)
        .add_some("prompt", lasting.then_some("consent"));
    let joint = if endpoint.contains('?') { "&" } else { "?" };
    [endpoint, joint, &form.finish()].concat()
}
