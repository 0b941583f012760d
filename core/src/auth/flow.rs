//! The states of a client's authorization, and the transitions between them, drawn here and made by the parts in the folder:
//! `storing`, `refreshing`, `finding`, `asking` and `requesting`. What a step says and reads is in the file of that step, beside
//! this one.
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

mod asking;
mod finding;
mod refreshing;
mod requesting;
mod storing;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::challenge::Wanted;
use super::change::{Change, Source};
use super::config::{AuthConfig, Grant};
use super::device::{self, DeviceLogin};
use super::dpop::Nonces;
use super::jws::base64url;
use super::login::Redirected;
use super::resource_metadata::ResourceMetadata;
use super::server_metadata::ServerMetadata;
use super::step::{AuthStep, Fetch, Fetched, Reaction};
use super::store::{Lease, Registration, Stored, Tokens};
use super::token::{self, TokenPurpose, TokenRequest};
use super::{origin, store_key};

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

/// How long anybody's refresh is waited for, whatever its lease says: it may be that of a clock that is wrong, and of a process
/// that is gone. It is as long as one takes whose every request may take two minutes.
const LONGEST_LEASE: Duration = Duration::from_secs(5 * 60);

/// How long one request may take as far as leases go. A program that wants to wait for ever holds nobody else up for as long.
const LONGEST_REQUEST: Duration = Duration::from_secs(60 * 60);

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
    /// Whose refresh is waited for, and since when.
    awaited: Option<(Lease, Instant)>,
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
            awaited: None,
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

    /// What the wall clock says, since 1970. It may have been set, and time goes on while a machine sleeps.
    pub(crate) fn set_unix_time(&mut self, unix_time: Duration, now: Instant) {
        self.unix_origin = unix_time.saturating_sub(now.since(Instant::ZERO));
    }

    /// Whether nothing is waited for.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.state, FlowState::Open | FlowState::Unread) && self.steps.is_empty()
    }

    /// How long it may take until it is settled, with a user who is slow.
    pub(crate) fn longest_login(&self) -> Duration {
        // The requests before and behind the login have their time, too.
        self.config.login_timeout.saturating_add(self.config.request_timeout.saturating_mul(8))
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
                self.take_login(attempt, redirected, now);
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
        store_key(&self.server)
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
        let since = self.unix_origin.saturating_add(now.since(Instant::ZERO));
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn unix_seconds(&self, now: Instant) -> u64 {
        self.unix_millis(now) / 1000
    }
}

/// Whether a status says nothing but that it may be another one later.
fn is_unwell(status: u16) -> bool {
    status >= 500 || status == 429
}

fn form_headers() -> Headers {
    Headers::from([("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")])
}
