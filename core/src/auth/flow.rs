//! The states of a client's authorization, and all transitions between them. What a step says and reads is in the file of
//! that step; what follows from it is decided here and nowhere else.
//!
//! ```text
//!  Unread ── a request is to be made ──► Loading ──┬── nothing, or a token that is good ──► Open
//!                                                  ├── a user who came back ──► Storing(TakeLogin)
//!                                                  └── a token that ends soon ──► Storing(TakeLease)
//!  Open ──┬── a token that ends soon ──► Storing(TakeLease)
//!         └── 401, 403 ──► Loading ──┬── somebody else has stored a better one ──► Open
//!     ┌──────────────────────────────┘
//!     ▼
//!  FindingResource ──► FindingServer ──┬── a token to refresh ──► Storing(TakeLease) ──┬──► RequestingToken
//!   its metadata        its metadata   │    somebody else does ──► AwaitingOther       └── conflict: looks again
//!                                      │                            └── a little later ──► Loading, looks again
//!                                      ├── the client is not known there ──► Registering ──┐
//!                                      └─────────────────────────────────► asks: ◄─────────┘
//!  asks ──┬── of a user here ──► Storing(AddLogin) ──► AwaitingUser ──► Storing(TakeLogin) ──► RequestingToken
//!         ├── of a user elsewhere ──► StartingDevice ──► PollingDevice ◄── not yet ──► RequestingToken
//!         └── of nobody ──► RequestingToken, twice if somebody else has to state it first
//!
//!  RequestingToken ──┬── a token ──► Storing(PutTokens) ──► Open, also if it could not be stored
//!                    └── a refresh token, or the client, is refused ──► Storing(DropTokens, DropClient) ──► asks
//!  all ── whatever else goes wrong, or nobody answers ──► Storing(EndLease), if there is one ──► Open, with an error;
//!                                                         Unread, if what is stored could not be read
//! ```
//!
//! While it is not open, requests to the MCP server wait, and their time does not run. There is one request or one look at the
//! store at a time, and each has a deadline. What an attempt is for is its `Aim`, which outlasts the states that it goes
//! through: it decides what is tried and what failing means.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::challenge::Wanted;
use super::change::{Change, Changing, Source};
use super::config::{AuthConfig, Grant};
use super::device::{self, DeviceLogin};
use super::dpop::{self, Nonces};
use super::form::Form;
use super::jws::base64url;
use super::login::{self, Redirected};
use super::pkce::Verifier;
use super::registration::{self, ClientAuth};
use super::resource_metadata::{self, ResourceMetadata};
use super::secret::Secret;
use super::server_metadata::{self, ServerMetadata};
use super::step::{AuthStep, Fetch, Fetched, Reaction};
use super::store::{AuthRecord, PendingLogin, Registration, StoreError, Stored, Swap, Tokens};
use super::token::{self, AskedFor, Asking, TokenPurpose, TokenRequest};
use super::{AuthPrompt, StoreOperation, StoreOutcome, origin};
use crate::codec::http1::Headers;
use crate::entropy::{Entropy, Seed};
use crate::error::{AuthError, HttpFailure};
use crate::time::Instant;
use crate::url::Url;

/// How long a store may take. A disk that is busy, or another process that has the lock, takes no longer.
const STORE_TIME: Duration = Duration::from_secs(30);

/// How long an answer may take from its first byte to its last, which comes on top of the time for a request.
const BODY_TIME: Duration = Duration::from_secs(5);

/// How often somebody else's refresh is looked after.
const LEASE_LOOK: Duration = Duration::from_millis(200);

/// How often a record is tried to be changed while others change it, too.
const CONFLICTS: u32 = 20;

/// Redirects that the request for a document follows, each looked at by the guard.
const REDIRECTS: u32 = 3;

/// How long a token is left alone that was just had, or could not be refreshed early: some hardly last, and would be
/// refreshed without end.
const REFRESH_PAUSE: Duration = Duration::from_secs(10);

/// How often one request to the MCP server may be refused and authorized anew before it is given up, with the first time.
const MOST_TRIES: u32 = 3;

/// A client's authorization at one MCP server.
pub(crate) struct Authorization {
    config: Arc<AuthConfig>,
    server: Url,
    /// The wall clock at [`Instant::ZERO`], since 1970.
    unix_origin: Duration,
    entropy: Entropy,
    /// By what others know who has a lease.
    owner: String,
    state: FlowState,
    /// What the attempt under way is for.
    aim: Aim,
    /// When it is too late for what is waited for.
    deadline: Option<Instant>,
    /// What is stored, as far as is known.
    stored: Option<Stored>,
    /// What goes with requests.
    tokens: Option<InUse>,
    nonces: Nonces,
    /// No early refresh before this.
    refresh_after: Instant,
    steps: VecDeque<AuthStep>,
}

/// A token in use, and whose it is.
struct InUse {
    issuer: String,
    tokens: Tokens,
    source: Source,
    /// Whether others find it in the store. One that could not be kept there is the only one that can be refreshed.
    kept: bool,
}

enum FlowState {
    Unread,
    Open,
    Loading(Attempt),
    FindingResource { attempt: Attempt, search: Search, named: bool },
    FindingServer { attempt: Attempt, search: Search, assumed: bool },
    Registering(Attempt),
    Storing { attempt: Attempt, change: Change },
    AwaitingUser(Attempt),
    StartingDevice(Attempt),
    PollingDevice { attempt: Attempt, login: Box<DeviceLogin> },
    AwaitingOther(Attempt),
    RequestingToken { attempt: Attempt, request: TokenRequest, nonce_given: bool },
}

/// What is known in an attempt to be authorized.
#[derive(Default)]
struct Attempt {
    /// What the server said when it refused.
    wanted: Wanted,
    resource: Option<ResourceMetadata>,
    server: Option<ServerMetadata>,
    registration: Option<Registration>,
    /// What to ask for.
    scope: Option<String>,
    /// How often others have changed what is stored in the meantime.
    conflicts: u32,
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// To begin with what is stored.
    Begin,
    /// To have a token that lasts, before the one in use ends.
    Early,
    /// To have another token than the one that was refused.
    Other,
    /// The same, where refreshing has not helped.
    Anew,
    /// To be allowed more.
    More,
}

/// Places at which a document may be, in their order.
struct Search {
    at: Url,
    left: VecDeque<String>,
    redirects: u32,
}

impl Authorization {
    pub(crate) fn new(config: Arc<AuthConfig>, server: Url, seed: &Seed, unix_origin: Duration) -> Self {
        let mut entropy = Entropy::new(seed);
        let owner = base64url(&entropy.bytes::<12>());
        let state = if matches!(config.grant, Grant::Token(_)) { FlowState::Open } else { FlowState::Unread };
        Self {
            config,
            server,
            unix_origin,
            entropy,
            owner,
            state,
            aim: Aim::Begin,
            deadline: None,
            stored: None,
            tokens: None,
            nonces: Nonces::default(),
            refresh_after: Instant::ZERO,
            steps: VecDeque::new(),
        }
    }

    // --- What whoever has the connections asks ---------------------------------------------------------------------

    pub(crate) fn next_step(&mut self) -> Option<AuthStep> {
        self.steps.pop_front()
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether nothing is waited for.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.state, FlowState::Open | FlowState::Unread) && self.steps.is_empty()
    }

    /// How long it may take until it is settled, with a user who is slow.
    pub(crate) fn longest_login(&self) -> Duration {
        // The requests before and behind the login have their time, too.
        self.config.login_timeout + self.config.request_timeout * 8
    }

    /// Whether requests to the MCP server may go out now. Asking is what begins a look at the store, and a refresh.
    pub(crate) fn is_open(&mut self, now: Instant) -> bool {
        // Whoever waited is told first how it ended.
        if !self.steps.is_empty() {
            return false;
        }
        match self.state {
            FlowState::Unread => {
                self.aim = Aim::Begin;
                self.load(Attempt::default(), now);
            }
            FlowState::Open if self.ends_soon(now) => {
                self.aim = Aim::Early;
                self.renew(Attempt::default(), now);
            }
            _ => {}
        }
        matches!(self.state, FlowState::Open)
    }

    /// Whether a token is on its way that would be lost with what was given for it.
    pub(crate) fn must_finish(&self) -> bool {
        match &self.state {
            FlowState::RequestingToken { request, .. } => !request.is_for_device(),
            FlowState::Storing { change, .. } => matches!(change, Change::PutTokens { .. }),
            _ => false,
        }
    }

    /// Nothing is wanted any more but headers for the last requests.
    pub(crate) fn abandon(&mut self) {
        self.state = FlowState::Open;
        self.deadline = None;
        self.steps.clear();
    }

    /// The headers that show that a request to the MCP server is allowed.
    pub(crate) fn headers(&mut self, method: &str, url: &Url, now: Instant) -> Result<Headers, AuthError> {
        let mut headers = Headers::new();
        let (scheme, token) = match (&self.config.grant, &self.tokens) {
            (Grant::Token(token), _) => ("Bearer", token.clone()),
            (_, Some(InUse { tokens, .. })) if tokens.token_type.eq_ignore_ascii_case("dpop") => {
                ("DPoP", tokens.access_token.clone())
            }
            (_, Some(InUse { tokens, .. })) => ("Bearer", tokens.access_token.clone()),
            (_, None) => return Ok(headers),
        };
        headers.push("Authorization", &[scheme, " ", token.expose()].concat());
        if scheme == "DPoP" {
            let proof = self.proof(method, url, Some(&token), now)?;
            headers.push("DPoP", proof.expose());
        }
        Ok(headers)
    }

    /// A server has said by which nonce the next proof is to be made.
    pub(crate) fn saw_nonce(&mut self, url: &Url, nonce: &str) {
        self.nonces.keep(&origin(url), nonce);
    }

    /// A request to the MCP server was refused, with 401 or 403. `tries` is how often that one was authorized anew already, and
    /// `has_nonce` whether it was made again because of a nonce.
    pub(crate) fn refused(&mut self, failure: &HttpFailure, tries: u32, has_nonce: bool, now: Instant) -> Reaction {
        let wanted = Wanted::of(&failure.www_authenticate);
        let error = wanted.error.as_deref();
        let more = failure.status == 403;
        if more && error != Some("insufficient_scope") {
            return Reaction::Pass;
        }
        if error == Some("use_dpop_nonce") && failure.dpop_nonce && !has_nonce {
            return Reaction::Again;
        }
        if !matches!(self.state, FlowState::Open | FlowState::Unread) {
            return Reaction::Wait;
        }
        let aim = if more { self.after_too_little(&wanted, tries) } else { self.after_refusal(tries) };
        match aim {
            Ok(aim) => {
                self.aim = aim;
                // Others may have been here before.
                self.load(Attempt { wanted, ..Attempt::default() }, now);
                Reaction::Wait
            }
            Err(error) => Reaction::Refuse(error),
        }
    }

    /// What to try when a token is refused.
    fn after_refusal(&self, tries: u32) -> Result<Aim, AuthError> {
        let source = self.tokens.as_ref().map(|used| used.source);
        match source {
            _ if tries >= MOST_TRIES || matches!(self.config.grant, Grant::Token(_)) => {
                Err(AuthError::TokenNotAccepted)
            }
            _ if tries == 0 => Ok(Aim::Other),
            Some(Source::Granted) => Err(AuthError::TokenNotAccepted),
            Some(Source::Refreshed) => Ok(Aim::Anew),
            Some(Source::Stored) | None => Ok(Aim::Other),
        }
    }

    /// What to try when a token is good for too little.
    fn after_too_little(&self, wanted: &Wanted, tries: u32) -> Result<Aim, AuthError> {
        let used = self.tokens.as_ref().map(|used| &used.tokens);
        let granted = used.and_then(|used| token::union(used.requested_scope.as_deref(), used.scope.as_deref()));
        // Whatever it was, it was asked for and granted, and is still not enough.
        let in_vain = tries > 0 && wanted.scope.as_ref().is_none_or(|scope| token::covers(granted.as_deref(), scope));
        if in_vain || tries >= MOST_TRIES || matches!(self.config.grant, Grant::Token(_)) {
            let scope = wanted.scope.clone().or(granted).unwrap_or_default();
            return Err(AuthError::InsufficientScope { scope });
        }
        Ok(Aim::More)
    }

    /// The user came back.
    pub(crate) fn redirected(&mut self, redirected: Redirected, now: Instant) {
        match self.take_state() {
            FlowState::AwaitingUser(attempt) => {
                self.change(attempt, Change::TakeLogin { redirected: Box::new(redirected), taken: None }, now);
            }
            // Nobody was sent away.
            state => self.state = state,
        }
    }

    /// The user will not come back.
    pub(crate) fn login_refused(&mut self, why: AuthError, now: Instant) {
        let asking = TokenRequest::is_for_device;
        match &self.state {
            FlowState::AwaitingUser(_) | FlowState::PollingDevice { .. } => self.fail(why, now),
            FlowState::RequestingToken { request, .. } if asking(request) => self.fail(why, now),
            _ => {}
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.deadline = None;
        match self.take_state() {
            FlowState::AwaitingOther(attempt) => self.load(attempt, now),
            FlowState::PollingDevice { attempt, login } => self.poll_device(attempt, login, now),
            state @ (FlowState::Loading(_) | FlowState::Storing { .. }) => {
                self.not_stored(state, "it does not answer".into(), now);
            }
            FlowState::AwaitingUser(_) => self.fail(AuthError::TimedOut, now),
            // Requests have deadlines of their own.
            state => self.state = state,
        }
    }

    // --- The store -------------------------------------------------------------------------------------------------

    fn load(&mut self, attempt: Attempt, now: Instant) {
        self.state = FlowState::Loading(attempt);
        self.ask_store(StoreOperation::Load { server: self.key() }, now);
    }

    fn ask_store(&mut self, operation: StoreOperation, now: Instant) {
        self.deadline = Some(now + STORE_TIME);
        self.steps.push_back(AuthStep::Store(operation));
    }

    /// The store has answered.
    pub(crate) fn stored(&mut self, outcome: Result<StoreOutcome, StoreError>, now: Instant) {
        if !matches!(self.state, FlowState::Loading(_) | FlowState::Storing { .. }) {
            // Nobody waits for it any more.
            return;
        }
        self.deadline = None;
        match (self.take_state(), outcome) {
            (FlowState::Loading(attempt), Ok(StoreOutcome::Loaded(stored))) => {
                self.stored = stored;
                self.loaded(attempt, now);
            }
            (FlowState::Storing { attempt, change }, Ok(StoreOutcome::Swapped(Swap::Done(version)))) => {
                if let Some(stored) = &mut self.stored {
                    stored.version = version;
                }
                self.changed(attempt, change, now);
            }
            (FlowState::Storing { mut attempt, change }, Ok(StoreOutcome::Swapped(Swap::Conflict(current)))) => {
                self.stored = current;
                attempt.conflicts += 1;
                match change {
                    // Perhaps there is nothing left to do.
                    Change::TakeLease { .. } => self.renew(attempt, now),
                    change => self.change(attempt, change, now),
                }
            }
            (state, Err(StoreError(why))) => self.not_stored(state, why, now),
            (state, Ok(_)) => self.not_stored(state, "it answers another question".into(), now),
        }
    }

    /// The store could not be used. A token that was just had is used nevertheless: there may be no other way to one.
    fn not_stored(&mut self, state: FlowState, why: String, now: Instant) {
        match state {
            FlowState::Storing { change: Change::PutTokens { issuer, tokens, source, .. }, .. } => {
                self.use_tokens(InUse { issuer, tokens: *tokens, source, kept: false }, now);
                self.settle();
            }
            FlowState::Storing { change: Change::EndLease(error), .. } => self.end(*error, now),
            _ => self.end(AuthError::Store(why), now),
        }
    }

    /// What is stored is known.
    fn loaded(&mut self, attempt: Attempt, now: Instant) {
        match self.aim {
            Aim::Begin => {
                self.tokens = self.stored_tokens();
                match self.config.redirected.clone() {
                    Some(redirected) => {
                        let change = Change::TakeLogin { redirected: Box::new(redirected), taken: None };
                        self.change(attempt, change, now);
                    }
                    None if self.ends_soon(now) => {
                        self.aim = Aim::Early;
                        self.renew(attempt, now);
                    }
                    None => self.state = FlowState::Open,
                }
            }
            Aim::Early => self.renew(attempt, now),
            Aim::Other | Aim::Anew | Aim::More if attempt.server.is_some() => self.renew(attempt, now),
            Aim::Other | Aim::Anew | Aim::More => match self.others_tokens(&attempt, now) {
                Some(tokens) => {
                    self.use_tokens(tokens, now);
                    self.settle();
                }
                None => self.find_resource(attempt, now),
            },
        }
    }

    /// The tokens that are stored, if there are any.
    fn stored_tokens(&self) -> Option<InUse> {
        let record = self.record()?;
        let issuer = record.issuer.clone()?;
        let tokens = record.issuers.get(&issuer)?.tokens.clone()?;
        Some(InUse { issuer, tokens, source: Source::Stored, kept: true })
    }

    /// The tokens that somebody else has stored meanwhile, if they are what is wanted.
    fn others_tokens(&self, attempt: &Attempt, now: Instant) -> Option<InUse> {
        let stored = self.stored_tokens().filter(|stored| self.is_better(&stored.tokens, now))?;
        let wanted = attempt.wanted.scope.as_deref();
        let enough = wanted.is_some_and(|wanted| token::covers(stored.tokens.scope.as_deref(), wanted));
        (self.aim != Aim::More || enough).then_some(stored)
    }

    /// Whether tokens are others than those in use, and last for a while.
    fn is_better(&self, tokens: &Tokens, now: Instant) -> bool {
        let soon = self.unix_seconds(now + self.config.early.min(REFRESH_PAUSE));
        self.tokens.as_ref().is_none_or(|used| used.tokens.access_token != tokens.access_token)
            && tokens.expires_at.is_none_or(|until| until > soon)
    }

    /// Uses tokens from now on, for half of their time at least.
    fn use_tokens(&mut self, tokens: InUse, now: Instant) {
        let unix_now = self.unix_seconds(now);
        let left = tokens.tokens.expires_at.map_or(0, |until| until.saturating_sub(unix_now));
        self.refresh_after = now + REFRESH_PAUSE.max(Duration::from_secs(left / 2));
        self.tokens = Some(tokens);
    }

    fn record(&self) -> Option<&AuthRecord> {
        self.stored.as_ref().map(|stored| &stored.record)
    }

    /// Makes a change to what is stored, as far as that is known.
    fn change(&mut self, attempt: Attempt, mut change: Change, now: Instant) {
        if attempt.conflicts > CONFLICTS {
            let why = "it is changed by others all the time".into();
            return self.not_stored(FlowState::Storing { attempt, change }, why, now);
        }
        let expected = self.stored.as_ref().map(|stored| stored.version);
        let mut record = self.record().cloned().unwrap_or_default();
        let unix_now = self.unix_seconds(now);
        let by = Changing { owner: &self.owner, until: self.unix_millis(now + self.lease_time()), unix_now };
        if !change.apply(&mut record, &by) {
            return self.fail(AuthError::UnknownLogin, now);
        }
        self.stored = Some(Stored { version: expected.unwrap_or_default(), record: record.clone() });
        self.state = FlowState::Storing { attempt, change };
        let record = Box::new(record);
        self.ask_store(StoreOperation::Swap { server: self.key(), expected, record }, now);
    }

    /// A change is stored.
    fn changed(&mut self, attempt: Attempt, change: Change, now: Instant) {
        match change {
            Change::AddLogin { url, .. } if !self.config.interactive => self.fail(AuthError::LoginNeeded { url }, now),
            Change::AddLogin { url, .. } => {
                self.state = FlowState::AwaitingUser(attempt);
                self.deadline = Some(now + self.config.login_timeout);
                self.steps.push_back(AuthStep::Prompt(AuthPrompt::Browser { url }));
            }
            Change::TakeLogin { redirected, taken } => match taken {
                Some(pending) => self.exchange_code(attempt, &redirected, *pending, now),
                None => self.fail(AuthError::UnknownLogin, now),
            },
            // A store that took too long has used up what the request needs.
            Change::TakeLease { until } if until <= self.unix_millis(now + (self.lease_time() - STORE_TIME)) => {
                self.renew(attempt, now);
            }
            Change::TakeLease { .. } => self.refresh(attempt, now),
            Change::PutTokens { issuer, tokens, source, .. } => {
                self.use_tokens(InUse { issuer, tokens: *tokens, source, kept: true }, now);
                self.settle();
            }
            Change::EndLease(error) => self.end(*error, now),
            Change::DropClient { error: Some(error), .. } => self.fail(*error, now),
            Change::DropTokens { .. } | Change::DropClient { .. } => match self.stored_tokens() {
                // Somebody else has better ones.
                Some(stored) => {
                    self.use_tokens(stored, now);
                    self.settle();
                }
                None => self.not_renewed(attempt, now),
            },
        }
    }

    /// How long nobody else refreshes a token that we have begun to refresh: as long as it may take to hear that it is ours,
    /// to ask for another one, twice if it takes a nonce, and to store that. Whoever began earlier would use it twice.
    fn lease_time(&self) -> Duration {
        (STORE_TIME + self.config.request_timeout + BODY_TIME) * 2
    }

    // --- Refreshing ------------------------------------------------------------------------------------------------

    /// Whether the token in use is to be refreshed before anything else is done with it.
    fn ends_soon(&self, now: Instant) -> bool {
        let Some(InUse { tokens, .. }) = &self.tokens else { return false };
        let soon = self.unix_seconds(now + self.config.early);
        tokens.refresh_token.is_some()
            && tokens.expires_at.is_some_and(|until| until <= soon)
            && now >= self.refresh_after
    }

    /// Has the token refreshed by us or by somebody else, if it can be; otherwise asks for authorization anew.
    fn renew(&mut self, attempt: Attempt, now: Instant) {
        let issuer = match &attempt.server {
            Some(server) => Some(server.issuer.clone()),
            None => self.tokens.as_ref().map(|used| used.issuer.clone()),
        };
        let stored = issuer.as_ref().and_then(|issuer| self.record()?.issuers.get(issuer)?.tokens.clone());
        let anew = matches!(self.aim, Aim::Anew | Aim::More);
        match (&issuer, stored.filter(|stored| !anew && self.is_better(stored, now))) {
            (Some(issuer), Some(tokens)) => {
                let issuer = issuer.clone();
                self.use_tokens(InUse { issuer, tokens, source: Source::Stored, kept: true }, now);
                return self.settle();
            }
            (Some(issuer), None) if !anew && self.refreshable(issuer).is_some() => {}
            _ => return self.not_renewed(attempt, now),
        }
        let lease = self.record().and_then(|record| record.lease.as_ref());
        if lease.is_some_and(|lease| lease.owner != self.owner && lease.until > self.unix_millis(now)) {
            self.state = FlowState::AwaitingOther(attempt);
            self.deadline = Some(now + LEASE_LOOK);
            return;
        }
        self.change(attempt, Change::TakeLease { until: 0 }, now);
    }

    /// Tokens of an issuer that can be refreshed: those that are stored, unless newer ones could not be.
    fn refreshable(&self, issuer: &str) -> Option<Tokens> {
        let used = self.tokens.as_ref().filter(|used| used.issuer == issuer && !used.kept).map(|used| &used.tokens);
        let stored = || self.record()?.issuers.get(issuer)?.tokens.as_ref();
        used.or_else(stored).filter(|tokens| tokens.refresh_token.is_some()).cloned()
    }

    /// There is nothing to refresh.
    fn not_renewed(&mut self, attempt: Attempt, now: Instant) {
        match self.aim {
            Aim::Begin | Aim::Early => {
                // The server will say what it wants.
                self.tokens = None;
                self.settle();
            }
            Aim::Other | Aim::Anew | Aim::More => self.authorize(attempt, now),
        }
    }

    /// The token is ours to refresh.
    fn refresh(&mut self, attempt: Attempt, now: Instant) {
        let issuer = match (&attempt.server, &self.tokens) {
            (Some(server), _) => server.issuer.clone(),
            (None, Some(used)) => used.issuer.clone(),
            (None, None) => return self.not_renewed(attempt, now),
        };
        let stored = self.record().and_then(|record| record.issuers.get(&issuer)?.registration.clone());
        let registration = match (self.given_client(&issuer), stored) {
            // How it shows who it is, it found out before.
            (Some(given), Some(stored)) if attempt.server.is_none() && given.client_id == stored.client_id => {
                Some(registration::with_password(stored, &self.config))
            }
            (given, stored) => given.or(stored),
        };
        let (Some(tokens), Some(registration)) = (self.refreshable(&issuer), registration) else {
            return self.not_renewed(attempt, now);
        };
        let Some(refresh_token) = tokens.refresh_token else { return self.not_renewed(attempt, now) };
        let endpoint = attempt.server.as_ref().and_then(|server| server.token_endpoint.clone());
        let endpoint = match self.endpoint(&endpoint.unwrap_or(tokens.token_endpoint), &issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let request = TokenRequest {
            purpose: TokenPurpose::Refresh(refresh_token),
            endpoint,
            issuer,
            trusted: false,
            registration,
            scope: tokens.requested_scope,
            resource: tokens.resource,
        };
        self.request_token(attempt, request, false, now);
    }

    // --- Finding out who authorizes --------------------------------------------------------------------------------

    fn find_resource(&mut self, attempt: Attempt, now: Instant) {
        let named = attempt.wanted.resource_metadata.clone();
        let candidates = match &named {
            Some(url) => Vec::from([url.clone()]),
            None => resource_metadata::candidates(&self.server),
        };
        let state = |attempt, search| FlowState::FindingResource { attempt, search, named: named.is_some() };
        let host = self.server.host().to_string();
        self.search(attempt, candidates.into(), Some(&host), state, now);
    }

    /// Begins to look for a document, at the first of the places.
    fn search(
        &mut self,
        attempt: Attempt,
        mut left: VecDeque<String>,
        host: Option<&str>,
        state: impl FnOnce(Attempt, Search) -> FlowState,
        now: Instant,
    ) {
        let Some(first) = left.pop_front() else { return };
        match self.guarded(&first, host) {
            Ok(at) => {
                self.get(&at);
                self.state = state(attempt, Search { at, left, redirects: 0 });
            }
            Err(error) => self.fail(error, now),
        }
    }

    fn get(&mut self, url: &Url) {
        let headers = Headers::from([("Accept", "application/json"), ("MCP-Protocol-Version", "2025-11-25")]);
        self.fetch("GET", url.clone(), headers, Vec::new(), false);
    }

    /// Goes on with a search: to where the document has moved, or to the next place. Gives it back if there is none.
    fn search_on(&mut self, mut search: Search, answer: &Fetched) -> Result<Search, Option<AuthError>> {
        let redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        let location = answer.headers.get("location").filter(|_| redirect && search.redirects < REDIRECTS);
        if let Some(location) = location {
            let moved = search.at.join(location).map_err(|error| self.unusable(&search.at, &error.to_string()))?;
            search.at = self.guarded(moved.as_str(), Some(search.at.host()))?;
            search.redirects += 1;
        } else {
            if is_unwell(answer.status) {
                let reason = alloc::format!("HTTP status {}", answer.status);
                return Err(Some(AuthError::Unavailable { url: search.at.to_string(), reason }));
            }
            let Some(next) = search.left.pop_front() else { return Err(None) };
            search.at = self.guarded(&next, None)?;
            search.redirects = 0;
        }
        self.get(&search.at);
        Ok(search)
    }

    fn found_resource(&mut self, mut attempt: Attempt, search: Search, named: bool, answer: &Fetched, now: Instant) {
        if !answer.is_document() {
            match self.search_on(search, answer) {
                Ok(search) => self.state = FlowState::FindingResource { attempt, search, named },
                Err(Some(error)) => self.fail(error, now),
                Err(None) if named => {
                    let url = attempt.wanted.resource_metadata.unwrap_or_default();
                    let reason = alloc::format!("HTTP status {}, and no JSON", answer.status);
                    self.fail(AuthError::Unusable { url, reason }, now);
                }
                // As in revision 2025-03-26: the server authorizes for itself.
                Err(None) => self.find_server(attempt, origin(&self.server), true, now),
            }
            return;
        }
        let document = match ResourceMetadata::read(&answer.body) {
            Ok(document) => document,
            Err(reason) => {
                let error = self.unusable(&search.at, &reason);
                return self.fail(error, now);
            }
        };
        if !document.is_about(&self.server) {
            let reason = alloc::format!("it is about {}", crate::jsonrpc::excerpt(&document.resource));
            let error = self.unusable(&search.at, &reason);
            return self.fail(error, now);
        }
        let named = document.authorization_servers.clone().unwrap_or_default();
        // One that is known already is as good as the first.
        let known = |issuer: &&String| self.record().is_some_and(|record| record.issuers.contains_key(*issuer));
        let issuer = named.iter().find(known).or(named.first()).cloned();
        attempt.resource = Some(document);
        match issuer {
            Some(issuer) => self.find_server(attempt, issuer, false, now),
            None => self.find_server(attempt, origin(&self.server), true, now),
        }
    }

    fn find_server(&mut self, mut attempt: Attempt, issuer: String, assumed: bool, now: Instant) {
        let url = match self.guarded(&issuer, None) {
            Ok(url) => url,
            Err(error) => return self.fail(error, now),
        };
        let candidates = server_metadata::candidates(&url).into();
        attempt.server = Some(ServerMetadata { issuer, ..ServerMetadata::default() });
        self.search(
            attempt,
            candidates,
            None,
            |attempt, search| FlowState::FindingServer { attempt, search, assumed },
            now,
        );
    }

    fn found_server(&mut self, mut attempt: Attempt, search: Search, assumed: bool, answer: &Fetched, now: Instant) {
        let issuer = attempt.server.as_ref().map(|server| server.issuer.clone()).unwrap_or_default();
        if !answer.is_document() {
            match self.search_on(search, answer) {
                Ok(search) => self.state = FlowState::FindingServer { attempt, search, assumed },
                Err(Some(error)) => self.fail(error, now),
                Err(None) if assumed => {
                    attempt.server = Some(ServerMetadata::assumed(&self.server));
                    self.known_server(attempt, now);
                }
                Err(None) => {
                    let reason = "it publishes no metadata that is found".to_string();
                    self.fail(AuthError::Unusable { url: issuer, reason }, now);
                }
            }
            return;
        }
        let mut document = match ServerMetadata::read(&answer.body) {
            Ok(document) => document,
            Err(reason) => {
                let error = self.unusable(&search.at, &reason);
                return self.fail(error, now);
            }
        };
        // To the letter: whoever is somebody else's issuer would get what is meant for that one.
        if document.issuer != issuer && !assumed {
            let reason =
                alloc::format!("it is of the issuer {}, not of {issuer}", crate::jsonrpc::excerpt(&document.issuer));
            let error = self.unusable(&search.at, &reason);
            return self.fail(error, now);
        }
        if assumed {
            // Revision 2025-03-26 knows no issuers, but for who is asked.
            document.issuer = issuer;
        }
        attempt.server = Some(document);
        self.known_server(attempt, now);
    }

    /// Who authorizes is known.
    fn known_server(&mut self, mut attempt: Attempt, now: Instant) {
        let issuer = attempt.server.as_ref().map(|server| server.issuer.as_str()).unwrap_or_default();
        let moved = self.tokens.as_ref().is_some_and(|used| used.issuer != issuer);
        if moved {
            // What another one gave is no good here.
            self.tokens = None;
        }
        let before = self.tokens.as_ref().and_then(|used| used.tokens.requested_scope.as_deref());
        let published = attempt.resource.as_ref().and_then(|resource| resource.scopes_supported.as_ref());
        let published = published.map(|scopes| scopes.join(" ")).filter(|scopes| !scopes.is_empty());
        let configured = self.config.scopes.as_ref().map(|scopes| scopes.join(" "));
        attempt.scope = match self.aim {
            Aim::More => token::union(before, attempt.wanted.scope.as_deref().or(published.as_deref())),
            _ => configured.or_else(|| attempt.wanted.scope.clone()).or(published),
        };
        self.renew(attempt, now);
    }

    // --- Becoming authorized ---------------------------------------------------------------------------------------

    /// Who authorizes is known, and no token that could be refreshed.
    fn authorize(&mut self, mut attempt: Attempt, now: Instant) {
        if self.config.stored_only {
            return self.fail(AuthError::NothingStored, now);
        }
        let Some(server) = &attempt.server else { return self.find_resource(attempt, now) };
        let issuer = server.issuer.clone();
        let stored = self.record().and_then(|record| record.issuers.get(&issuer)?.registration.clone());
        let usable = |registration: &Registration| {
            registration::is_usable(registration, &self.config.grant, self.unix_seconds(now))
        };
        let known = self
            .given_client(&issuer)
            .or_else(|| registration::by_document(&self.config, server))
            .or_else(|| stored.filter(usable));
        if let Some(registration) = known {
            attempt.registration = Some(registration);
            return self.ask(attempt, now);
        }
        let register = server.registration_endpoint.clone().filter(|_| self.config.client.is_none());
        let Some(endpoint) = register else { return self.fail(AuthError::NoClient { issuer }, now) };
        let endpoint = match self.endpoint(&endpoint, &issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let body = registration::request(&self.config, server);
        let headers = Headers::from([("Content-Type", "application/json"), ("Accept", "application/json")]);
        self.fetch("POST", endpoint, headers, body, false);
        self.state = FlowState::Registering(attempt);
    }

    /// The client that the program gave, if it may be shown to this issuer. If the program does not say whom it is known to,
    /// it is to whoever was first shown it.
    fn given_client(&self, issuer: &str) -> Option<Registration> {
        let given = registration::given(&self.config, issuer)?;
        let says = self.config.client.as_ref().is_some_and(|client| client.issuer.is_some());
        let is_it = |known: &Registration| known.client_id == given.client_id;
        let elsewhere = self.record().is_some_and(|record| {
            let mut others = record.issuers.iter().filter(|(other, _)| *other != issuer);
            others.any(|(_, known)| known.registration.as_ref().is_some_and(is_it))
        });
        (says || !elsewhere).then_some(given)
    }

    fn registered(&mut self, mut attempt: Attempt, answer: &Fetched, now: Instant) {
        let url = || {
            let endpoint = attempt.server.as_ref().and_then(|server| server.registration_endpoint.clone());
            endpoint.unwrap_or_default()
        };
        if !(200..300).contains(&answer.status) {
            let token::TokenFailure { error, description } = token::failure(answer.status, &answer.body);
            let reason = alloc::format!("the client cannot register, {error}: {description}");
            let error = match is_unwell(answer.status) {
                true => AuthError::Unavailable { url: url(), reason },
                false => AuthError::Unusable { url: url(), reason },
            };
            return self.fail(error, now);
        }
        match registration::read(&answer.body, &self.config.grant) {
            Ok(registration) => {
                attempt.registration = Some(registration);
                self.ask(attempt, now);
            }
            Err(reason) => {
                let url = url();
                self.fail(AuthError::Unusable { url, reason }, now);
            }
        }
    }

    /// The client is known: asks for what it is to get, in the way that the program wants.
    fn ask(&mut self, attempt: Attempt, now: Instant) {
        let config = self.config.clone();
        let purpose = match &config.grant {
            Grant::Code { redirect_uri } => return self.send_user(attempt, redirect_uri.clone(), now),
            Grant::Device => return self.start_device(attempt, now),
            Grant::ClientCredentials => TokenPurpose::ClientCredentials,
            Grant::JwtBearer { assertion } => TokenPurpose::JwtBearer(assertion.clone()),
            Grant::EnterpriseManaged(provider) => {
                let registration = Registration {
                    client_id: provider.client_id.clone(),
                    client_secret: provider.client_secret.clone(),
                    secret_expires_at: None,
                    auth_method: None,
                    redirect_uris: Vec::new(),
                };
                let audience = attempt.server.as_ref().map(|server| server.issuer.clone()).unwrap_or_default();
                let endpoint = match Url::parse(&provider.token_endpoint) {
                    Ok(endpoint) => endpoint,
                    Err(error) => {
                        let (url, reason) = (provider.token_endpoint.clone(), error.to_string());
                        return self.fail(AuthError::Unusable { url, reason }, now);
                    }
                };
                let request = TokenRequest {
                    purpose: TokenPurpose::Exchange { id_token: provider.id_token.clone(), audience },
                    issuer: origin(&endpoint),
                    endpoint,
                    trusted: true,
                    registration,
                    scope: attempt.scope.clone(),
                    resource: Some(self.resource(&attempt)),
                };
                return self.request_token(attempt, request, false, now);
            }
            Grant::Token(_) => return self.fail(AuthError::TokenNotAccepted, now),
        };
        self.request_directly(attempt, purpose, now);
    }

    /// Asks for a token that takes no user.
    fn request_directly(&mut self, attempt: Attempt, purpose: TokenPurpose, now: Instant) {
        let (Some(server), Some(registration)) = (&attempt.server, &attempt.registration) else {
            return self.authorize(attempt, now);
        };
        let issuer = server.issuer.clone();
        let endpoint = match self.endpoint(server.token_endpoint.as_deref().unwrap_or_default(), &issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let request = TokenRequest {
            purpose,
            endpoint,
            issuer,
            trusted: false,
            registration: registration.clone(),
            scope: attempt.scope.clone(),
            resource: Some(self.resource(&attempt)),
        };
        self.request_token(attempt, request, false, now);
    }

    /// Remembers what is needed to go on, and has the user sent away.
    fn send_user(&mut self, mut attempt: Attempt, redirect_uri: String, now: Instant) {
        let (Some(server), Some(registration)) = (&attempt.server, attempt.registration.clone()) else {
            return self.authorize(attempt, now);
        };
        if !server.has_pkce() {
            let reason = "it does not offer PKCE with S256, without which a code can be stolen".to_string();
            return self.fail(AuthError::Unusable { url: server.issuer.clone(), reason }, now);
        }
        let authorization = server.authorization_endpoint.clone().unwrap_or_default();
        let token = server.token_endpoint.clone().unwrap_or_default();
        // The page as it was understood: whatever else stood there, behind a `#` or around it, is nothing to show to users.
        let authorization = match self.endpoint(&authorization, &server.issuer) {
            Ok(page) => page.as_str().to_string(),
            Err(error) => return self.fail(error, now),
        };
        if let Err(error) = self.endpoint(&token, &server.issuer) {
            return self.fail(error, now);
        }
        attempt.scope = self.with_offline_access(attempt.scope.take(), server);
        let verifier = Verifier::draw(&mut self.entropy);
        let challenge = verifier.challenge();
        let state = base64url(&self.entropy.bytes::<24>());
        let pending = PendingLogin {
            issuer: server.issuer.clone(),
            requires_iss: server.authorization_response_iss_parameter_supported == Some(true),
            redirect_uri,
            token_endpoint: token,
            registration: registration::kept(self.with_method(registration, Some(server)), &self.config),
            scope: attempt.scope.clone(),
            resource: Some(self.resource(&attempt)),
            expires_at: self.unix_seconds(now + self.config.login_timeout),
            code_verifier: verifier.into_secret(),
        };
        let url = login::url(&authorization, &pending, &state, &challenge);
        self.change(attempt, Change::AddLogin { state, pending: Box::new(pending), url }, now);
    }

    /// What lasts without the user is asked for where it is offered, beside something that is asked for.
    fn with_offline_access(&self, scope: Option<String>, server: &ServerMetadata) -> Option<String> {
        let offered = server.offers_scope("offline_access");
        scope.and_then(|scope| token::union(Some(&scope), offered.then_some("offline_access")))
    }

    /// The user came back, for the first time with this.
    fn exchange_code(&mut self, attempt: Attempt, redirected: &Redirected, pending: PendingLogin, now: Instant) {
        let code = match redirected.code_for(&pending) {
            Ok(code) => code,
            Err(error) => return self.fail(error, now),
        };
        let endpoint = match self.endpoint(&pending.token_endpoint, &pending.issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let registration = registration::with_password(pending.registration, &self.config);
        let request = TokenRequest {
            purpose: TokenPurpose::Code { code, verifier: pending.code_verifier, redirect_uri: pending.redirect_uri },
            endpoint,
            issuer: pending.issuer,
            trusted: false,
            registration,
            scope: pending.scope,
            resource: pending.resource,
        };
        self.request_token(attempt, request, false, now);
    }

    fn start_device(&mut self, mut attempt: Attempt, now: Instant) {
        let (Some(server), Some(registration)) = (&attempt.server, &attempt.registration) else {
            return self.authorize(attempt, now);
        };
        let Some(endpoint) = server.device_authorization_endpoint.clone() else {
            let reason = "it does not let users log in on another device".to_string();
            return self.fail(AuthError::Unusable { url: server.issuer.clone(), reason }, now);
        };
        let endpoint = match self.endpoint(&endpoint, &server.issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let scope = self.with_offline_access(attempt.scope.clone(), server);
        let form = Form::new().add("resource", &self.resource(&attempt)).add_some("scope", scope.as_deref());
        let id = base64url(&self.entropy.bytes::<16>());
        let asking = self.asking(registration, attempt.server.as_ref(), &server.issuer, id, now);
        let mut headers = form_headers();
        match asking.identify(form, &mut headers) {
            Ok(form) => self.fetch("POST", endpoint, headers, form.finish().into_bytes(), false),
            Err(error) => return self.fail(AuthError::Signing(error.to_string()), now),
        }
        attempt.scope = scope;
        self.state = FlowState::StartingDevice(attempt);
    }

    fn device_started(&mut self, attempt: Attempt, answer: &Fetched, now: Instant) {
        let mut login = match device::read(answer.status, &answer.body, now, self.config.login_timeout) {
            Ok(login) => login,
            Err(failure) => {
                let (error, description) = (failure.error, failure.description);
                return self.fail(AuthError::TokenRefused { error, description }, now);
            }
        };
        if let Err(error) = self.guarded(&login.verification_uri, None) {
            return self.fail(error, now);
        }
        login.verification_uri_complete.take_if(|url| self.guarded(url, None).is_err());
        self.steps.push_back(AuthStep::Prompt(login.prompt()));
        self.wait_for_device(attempt, Box::new(login), now);
    }

    fn wait_for_device(&mut self, attempt: Attempt, login: Box<DeviceLogin>, now: Instant) {
        if login.until <= now {
            return self.fail(AuthError::TimedOut, now);
        }
        self.deadline = Some((now + login.interval).min(login.until));
        self.state = FlowState::PollingDevice { attempt, login };
    }

    fn poll_device(&mut self, attempt: Attempt, login: Box<DeviceLogin>, now: Instant) {
        if login.until <= now {
            return self.fail(AuthError::TimedOut, now);
        }
        self.request_directly(attempt, TokenPurpose::Device(login), now);
    }

    // --- Tokens ----------------------------------------------------------------------------------------------------

    fn request_token(&mut self, attempt: Attempt, mut request: TokenRequest, nonce_given: bool, now: Instant) {
        let mut headers = form_headers();
        let id = base64url(&self.entropy.bytes::<16>());
        let server = attempt.server.as_ref().filter(|_| !request.trusted);
        request.registration = self.with_method(request.registration, server);
        let asking = self.asking(&request.registration, server, &request.issuer, id, now);
        let form = match asking.identify(request.form(), &mut headers) {
            Ok(form) => form,
            Err(error) => return self.fail(AuthError::Signing(error.to_string()), now),
        };
        let bound = !matches!(request.purpose, TokenPurpose::Exchange { .. }) && self.binds_tokens(&attempt);
        if bound {
            match self.proof("POST", &request.endpoint, None, now) {
                Ok(proof) => headers.push("DPoP", proof.expose()),
                Err(error) => return self.fail(error, now),
            }
        }
        self.fetch("POST", request.endpoint.clone(), headers, form.finish().into_bytes(), request.trusted);
        self.state = FlowState::RequestingToken { attempt, request, nonce_given };
    }

    /// A client that says how it shows who it is: who refreshes a token later does not know what the server takes.
    fn with_method(&self, mut registration: Registration, server: Option<&ServerMetadata>) -> Registration {
        let method = ClientAuth::of(&registration, server, self.config.signer.is_some());
        registration.auth_method.get_or_insert_with(|| method.name().into());
        registration
    }

    fn asking<'a>(
        &'a self,
        registration: &'a Registration,
        server: Option<&ServerMetadata>,
        issuer: &'a str,
        id: String,
        now: Instant,
    ) -> Asking<'a> {
        let signer = self.config.signer.as_deref();
        Asking {
            registration,
            method: ClientAuth::of(registration, server, signer.is_some()),
            signer,
            audience: issuer,
            unix_now: self.unix_seconds(now),
            id,
        }
    }

    fn token_answered(
        &mut self,
        attempt: Attempt,
        request: TokenRequest,
        nonce_given: bool,
        answer: &Fetched,
        now: Instant,
    ) {
        let failure = match token::read(answer.status, &answer.body) {
            Ok(given) => {
                if matches!(request.purpose, TokenPurpose::Exchange { .. }) {
                    return self.request_directly(attempt, TokenPurpose::JwtBearer(given.access_token), now);
                }
                let refresh_token = match &request.purpose {
                    TokenPurpose::Refresh(token) => Some(token),
                    _ => None,
                };
                let tokens = given.keep(&AskedFor {
                    scope: request.scope.as_deref(),
                    resource: request.resource.as_deref(),
                    token_endpoint: request.endpoint.as_str(),
                    refresh_token,
                    unix_now: self.unix_seconds(now),
                });
                let source = if refresh_token.is_some() { Source::Refreshed } else { Source::Granted };
                let registration = registration::kept(request.registration, &self.config);
                let (issuer, tokens) = (request.issuer, Box::new(tokens));
                let change = Change::PutTokens { issuer, registration, tokens, source };
                return self.change(attempt, change, now);
            }
            Err(failure) => failure,
        };
        if failure.error == "use_dpop_nonce" && !nonce_given && answer.headers.contains("dpop-nonce") {
            return self.request_token(attempt, request, true, now);
        }
        let unwell = is_unwell(answer.status);
        let given = self.config.client.is_some();
        let forgotten = matches!(failure.error.as_str(), "invalid_client" | "unauthorized_client") && !given;
        match request.purpose {
            TokenPurpose::Device(login) if unwell => {
                self.wait_for_device(attempt, Box::new(device::slower(*login)), now);
            }
            TokenPurpose::Device(login) if device::goes_on(&failure.error) => {
                self.wait_for_device(attempt, Box::new(device::after(&failure.error, *login)), now);
            }
            TokenPurpose::Device(_) if failure.error == "expired_token" => self.fail(AuthError::TimedOut, now),
            TokenPurpose::Device(_) if failure.error == "access_denied" => {
                self.fail(AuthError::Denied { error: failure.error, description: failure.description }, now);
            }
            _ if unwell => {
                let reason = alloc::format!("HTTP status {}: {}", answer.status, failure.description);
                self.fail(AuthError::Unavailable { url: request.endpoint.to_string(), reason }, now);
            }
            TokenPurpose::Refresh(_) if forgotten => {
                self.tokens = None;
                let (issuer, client_id) = (request.issuer, request.registration.client_id);
                self.change(attempt, Change::DropClient { issuer, client_id, error: None }, now);
            }
            // Whatever is wrong with it, it will be the next time.
            TokenPurpose::Refresh(refused) if answer.status >= 400 => {
                self.tokens = None;
                self.change(attempt, Change::DropTokens { issuer: request.issuer, refused }, now);
            }
            _ => {
                let (error, description) = (failure.error, failure.description);
                let error = AuthError::TokenRefused { error, description };
                if !forgotten || request.trusted {
                    return self.fail(error, now);
                }
                let (issuer, client_id) = (request.issuer, request.registration.client_id);
                self.change(attempt, Change::DropClient { issuer, client_id, error: Some(Box::new(error)) }, now);
            }
        }
    }

    /// Whether tokens are bound to our key.
    fn binds_tokens(&self, attempt: &Attempt) -> bool {
        let bound = self.tokens.as_ref().is_some_and(|used| used.tokens.token_type.eq_ignore_ascii_case("dpop"));
        self.config.signer.is_some() && (self.config.dpop || attempt.wanted.dpop || bound)
    }

    /// A proof that a request is ours.
    fn proof(&mut self, method: &str, url: &Url, token: Option<&Secret>, now: Instant) -> Result<Secret, AuthError> {
        let id = base64url(&self.entropy.bytes::<16>());
        let unix_now = self.unix_seconds(now);
        let signer = self.config.signer.as_deref().ok_or_else(|| AuthError::Signing("there is no signer".into()))?;
        let target = url.as_str().split('?').next().unwrap_or_default();
        let nonce = self.nonces.get(&origin(url));
        dpop::proof(signer, method, target, unix_now, &id, nonce, token)
            .map_err(|error| AuthError::Signing(error.to_string()))
    }

    // --- Requests --------------------------------------------------------------------------------------------------

    fn fetch(&mut self, method: &'static str, url: Url, headers: Headers, body: Vec<u8>, trusted: bool) {
        let ours = trusted || url.is_same_origin(&self.server);
        let public_only = !ours && !self.config.guard.allow_private;
        let timeout = self.config.request_timeout;
        self.steps.push_back(AuthStep::Fetch(Box::new(Fetch { method, url, headers, body, public_only, timeout })));
    }

    /// A request was answered, or could not be made.
    pub(crate) fn fetched(&mut self, url: &Url, answer: Result<Fetched, String>, now: Instant) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(reason) => return self.not_fetched(url, reason, now),
        };
        if let Some(nonce) = answer.headers.get("dpop-nonce") {
            self.saw_nonce(url, nonce);
        }
        match self.take_state() {
            FlowState::FindingResource { attempt, search, named } => {
                self.found_resource(attempt, search, named, &answer, now);
            }
            FlowState::FindingServer { attempt, search, assumed } => {
                self.found_server(attempt, search, assumed, &answer, now);
            }
            FlowState::Registering(attempt) => self.registered(attempt, &answer, now),
            FlowState::StartingDevice(attempt) => self.device_started(attempt, &answer, now),
            FlowState::RequestingToken { attempt, request, nonce_given } => {
                self.token_answered(attempt, request, nonce_given, &answer, now);
            }
            state => self.state = state,
        }
    }

    fn not_fetched(&mut self, url: &Url, reason: String, now: Instant) {
        match self.take_state() {
            // Users take longer than networks are down.
            FlowState::RequestingToken {
                attempt,
                request: TokenRequest { purpose: TokenPurpose::Device(login), .. },
                ..
            } => {
                self.wait_for_device(attempt, Box::new(device::slower(*login)), now);
            }
            FlowState::FindingResource { .. }
            | FlowState::FindingServer { .. }
            | FlowState::Registering(_)
            | FlowState::StartingDevice(_)
            | FlowState::RequestingToken { .. } => {
                self.fail(AuthError::Unavailable { url: origin(url), reason }, now);
            }
            // Nobody waits for it any more.
            state => self.state = state,
        }
    }

    /// A URL that a server named, if it may be fetched. What the program itself named may be.
    fn guarded(&self, url: &str, host: Option<&str>) -> Result<Url, AuthError> {
        if let Some(own) = Url::parse(url).ok().filter(|url| url.is_same_origin(&self.server)) {
            return Ok(own);
        }
        self.config.guard.check(url, host).map_err(|refused| AuthError::UrlRefused(refused.to_string()))
    }

    /// An endpoint of an authorization server: on its own host, unless the program allows others.
    fn endpoint(&self, url: &str, issuer: &str) -> Result<Url, AuthError> {
        if url.is_empty() {
            let reason = "it names no endpoint for this".to_string();
            return Err(AuthError::Unusable { url: issuer.into(), reason });
        }
        let issuer = self.guarded(issuer, None)?;
        if issuer.is_same_origin(&self.server) {
            return self.guarded(url, Some(issuer.host()));
        }
        // The MCP server's own host is no better than any other.
        self.config.guard.check(url, Some(issuer.host())).map_err(|refused| AuthError::UrlRefused(refused.to_string()))
    }

    fn unusable(&self, url: &Url, reason: &str) -> AuthError {
        AuthError::Unusable { url: url.to_string(), reason: reason.into() }
    }

    /// Whom tokens are for, as the server has it, or by its address if it does not say.
    fn resource(&self, attempt: &Attempt) -> String {
        match &attempt.resource {
            Some(resource) => resource.resource.clone(),
            None => self.key(),
        }
    }

    /// By what the server is known in the store.
    fn key(&self) -> String {
        key(&self.server)
    }

    // --- The end of an attempt -------------------------------------------------------------------------------------

    fn take_state(&mut self) -> FlowState {
        core::mem::replace(&mut self.state, FlowState::Open)
    }

    fn settle(&mut self) {
        self.state = FlowState::Open;
        self.deadline = None;
        self.steps.push_back(AuthStep::Settled);
    }

    /// An attempt came to nothing.
    fn fail(&mut self, error: AuthError, now: Instant) {
        let leased =
            self.record().and_then(|record| record.lease.as_ref()).is_some_and(|lease| lease.owner == self.owner);
        if leased {
            self.change(Attempt::default(), Change::EndLease(Box::new(error)), now);
        } else {
            self.end(error, now);
        }
    }

    /// An attempt came to nothing, and nobody waits for us. A token that could not be refreshed early is used for as long as
    /// it is good.
    fn end(&mut self, error: AuthError, now: Instant) {
        self.refresh_after = now + REFRESH_PAUSE;
        if self.aim == Aim::Early {
            return self.settle();
        }
        // What could not be read is read when it is needed again.
        let unread = self.aim == Aim::Begin && matches!(error, AuthError::Store(_));
        self.state = if unread { FlowState::Unread } else { FlowState::Open };
        self.deadline = None;
        self.steps.push_back(AuthStep::Failed { error, usable: self.aim == Aim::More });
    }

    fn unix_millis(&self, now: Instant) -> u64 {
        let since = self.unix_origin + now.since(Instant::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn unix_seconds(&self, now: Instant) -> u64 {
        self.unix_millis(now) / 1000
    }
}

/// By what a server is known in a store: its address, without what is not sent.
pub(crate) fn key(server: &Url) -> String {
    let text = server.as_str();
    text.strip_suffix('/').filter(|_| server.target() == "/").unwrap_or(text).to_string()
}

/// Whether a status says nothing but that it may be another one later.
fn is_unwell(status: u16) -> bool {
    status >= 500 || status == 429
}

fn form_headers() -> Headers {
    Headers::from([("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")])
}
