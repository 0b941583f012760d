//! Requests that have to be authorized: they wait until they are, show that they are, and are made again when that was not
//! enough.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::closing::Closing;
use super::config::HttpClientConfig;
use super::exchange::{Exchange, ExchangeState, Head, Outcome, Purpose};
use super::exchanges::Exchanges;
use super::request::{HttpRequest, replaced};
use crate::auth::{AuthError, AuthStep, Authorization, Fetch, Fetched, Reaction, Redirected, StoreError, StoreOutcome};
use crate::client::{Event, StoreReply};
use crate::codec::http1::Headers;
use crate::error::{CallError, ConnError, ConnErrorKind, HttpFailure};
use crate::time::Instant;

/// The authorization of a client, if it has one.
pub(super) struct Authorizing {
    flow: Option<Box<Authorization>>,
    /// Which look at the store is waited for.
    look: u64,
}

impl Authorizing {
    pub(super) fn new(http: &HttpClientConfig) -> Self {
        let flow = http.authorization.as_ref().map(|setup| {
            let config = setup.config.clone();
            Box::new(Authorization::new(config, http.url.clone(), &setup.seed, setup.unix_time_at_zero))
        });
        Self { flow, look: 0 }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.flow.as_ref()?.deadline()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flow.as_ref().is_none_or(|flow| flow.is_settled())
    }

    /// Whether a token is on its way that would be lost.
    pub(super) fn must_finish(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.must_finish())
    }

    /// A server has said by which nonce the next proof is to be made.
    pub(super) fn head(&mut self, request: &HttpRequest, headers: &Headers) {
        let Some(flow) = &mut self.flow else { return };
        if let Some(nonce) = headers.get("dpop-nonce") {
            flow.saw_nonce(&request.url, nonce);
        }
    }
}

impl<T> Exchanges<T> {
    /// Whether requests to the server may go out now.
    pub(super) fn may_send(&mut self) -> bool {
        let Some(flow) = &mut self.authorizing.flow else { return true };
        let waits = self.client.closed().is_none() && self.open.has_waiting();
        let open = !waits || flow.is_open(self.now);
        if !open {
            self.hold();
        }
        open
    }

    /// The time of requests that wait for authorization does not run.
    fn hold(&mut self) {
        let until = self.now + self.longest_wait();
        for id in self.with_state(|state| matches!(state, ExchangeState::Queued)) {
            let Some(exchange) = self.open.get_mut(id) else { continue };
            if exchange.held.is_some() || matches!(exchange.purpose, Purpose::Authorization) {
                continue;
            }
            exchange.held = Some(self.now);
            if let Some(number) = exchange.request_id() {
                self.client.postpone(number, until);
            }
            self.open.set_deadline(id, None);
        }
    }

    /// A request that had to wait is about to be made.
    fn release(&mut self, id: u32) {
        let Some(exchange) = self.open.get_mut(id) else { return };
        let Some(since) = exchange.held.take() else { return };
        match exchange.request_id() {
            Some(number) => self.client.restart_timeout(number, self.now.since(since), self.now),
            None => self.open.set_deadline(id, Some(self.now + self.http.message_timeout)),
        }
    }

    /// How long anything waits for authorization.
    fn longest_wait(&self) -> Duration {
        let login = self.authorizing.flow.as_ref().map(|flow| flow.longest_login());
        self.http.challenge_timeout.max(login.unwrap_or_default())
    }

    /// Adds to a request that is about to be made what shows that it is allowed. Returns whether it can be made.
    pub(super) fn authorize(&mut self, id: u32) -> bool {
        self.release(id);
        let Some(flow) = &mut self.authorizing.flow else { return true };
        let Some(exchange) = self.open.get_mut(id) else { return true };
        if matches!(exchange.purpose, Purpose::Authorization) {
            return true;
        }
        exchange.context.credentials = self.credentials;
        match flow.headers(exchange.request.method, &exchange.request.url, self.now) {
            Ok(headers) if headers.is_empty() => true,
            Ok(headers) => {
                let request = Arc::make_mut(&mut exchange.request);
                request.headers = replaced(&without_proof(&request.headers), &headers);
                true
            }
            Err(error) => {
                self.failed(id, ConnError::new(ConnErrorKind::NotOpened, error.to_string()), self.now);
                false
            }
        }
    }

    /// Does what authorization wants to be done. Returns whether there was something.
    pub(super) fn advance_authorization(&mut self) -> bool {
        let Some(flow) = &mut self.authorizing.flow else { return false };
        let finishing = matches!(self.closing, Closing::No | Closing::Delivering { .. }) && flow.must_finish();
        if self.client.closed().is_some() && !finishing {
            flow.abandon();
            return false;
        }
        let Some(step) = flow.next_step() else { return false };
        match step {
            AuthStep::Fetch(fetch) => self.fetch(*fetch),
            AuthStep::Store(operation) => {
                self.authorizing.look += 1;
                let reply = StoreReply { look: self.authorizing.look };
                self.client.report(Event::Store { reply, operation: Box::new(operation) });
            }
            AuthStep::Prompt(prompt) => self.client.report(Event::Prompt(prompt)),
            AuthStep::Settled => self.authorized(),
            AuthStep::Failed { error, usable } => self.not_authorized(&error, usable),
        }
        true
    }

    fn fetch(&mut self, fetch: Fetch) {
        let Fetch { method, url, mut headers, body, public_only, timeout } = fetch;
        headers.push("User-Agent", super::request::USER_AGENT);
        let request = HttpRequest { method, url, headers, body, public_only };
        let mut exchange = Exchange::new(Purpose::Authorization, request);
        exchange.deadline = Some(self.now + timeout);
        self.start(exchange);
    }

    /// A request for the sake of authorization is over.
    pub(super) fn fetched(&mut self, id: u32, late: bool) {
        let Some(exchange) = self.drop_exchange(id) else { return };
        let answer = match (exchange.head, exchange.state) {
            _ if late => Err(String::from("it does not answer in time")),
            (_, ExchangeState::Over(Outcome::Broken(error))) => Err(error.to_string()),
            (Head::Document { status, headers }, _) => Ok(Fetched { status, headers, body: exchange.body.texts }),
            _ => Err(String::from("there is no answer")),
        };
        if let Some(flow) = &mut self.authorizing.flow {
            flow.fetched(&exchange.request.url, answer, self.now);
        }
    }

    /// What the wall clock says.
    pub(super) fn set_unix_time(&mut self, unix_time: Duration, now: Instant) {
        if let Some(flow) = &mut self.authorizing.flow {
            flow.set_unix_time(unix_time, now);
        }
    }

    /// The store has answered.
    pub(super) fn stored(&mut self, reply: StoreReply, outcome: Result<StoreOutcome, StoreError>, now: Instant) {
        self.now = now;
        if let Some(flow) = self.authorizing.flow.as_mut().filter(|_| reply.look == self.authorizing.look) {
            flow.stored(outcome, now);
        }
    }

    /// The user came back, or will not.
    pub(super) fn login_finished(&mut self, outcome: Result<Redirected, AuthError>, now: Instant) {
        self.now = now;
        if let Some(flow) = &mut self.authorizing.flow {
            match outcome {
                Ok(redirected) => flow.redirected(redirected, now),
                Err(error) => flow.login_refused(error, now),
            }
        }
    }

    pub(super) fn authorization_expired(&mut self) {
        if let Some(flow) = &mut self.authorizing.flow {
            flow.handle_timeout(self.now);
        }
    }

    /// The server refused a request for want of authorization. Returns whether the request goes on.
    pub(super) fn not_allowed(&mut self, id: u32, failure: &HttpFailure) -> Option<bool> {
        let (flow, exchange) = (self.authorizing.flow.as_mut()?, self.open.get_mut(id)?);
        if exchange.context.credentials < self.credentials {
            // There are others meanwhile.
            self.authorize_anew(id);
            return Some(true);
        }
        match flow.refused(failure, exchange.tried.authorizations, exchange.tried.nonce, self.now) {
            Reaction::Pass => return Some(false),
            Reaction::Again => {
                exchange.tried.nonce = true;
                self.open.stop(id);
                self.replay(id);
            }
            Reaction::Refuse(error) => self.fail_unauthorized(id, &error),
            Reaction::Wait => {
                self.open.stop(id);
                let until = self.now + self.longest_wait();
                let Some(exchange) = self.open.get_mut(id) else { return Some(true) };
                exchange.state = ExchangeState::Challenged;
                exchange.held = Some(self.now);
                if let Some(number) = exchange.request_id() {
                    self.client.postpone(number, until);
                }
                self.open.set_deadline(id, Some(until));
            }
        }
        Some(true)
    }

    /// Makes a request again with the credentials of now, for which it is one try more.
    fn authorize_anew(&mut self, id: u32) {
        self.open.stop(id);
        if let Some(exchange) = self.open.get_mut(id) {
            exchange.tried.authorizations += 1;
        }
        self.replay(id);
    }

    /// The server does not let this client listen: it may do so when there are other credentials, which are asked for once for
    /// the sake of listening.
    pub(super) fn listener_wants_authorization(&mut self, exchange: &Exchange) -> bool {
        let (Some(flow), Some(failure)) = (&mut self.authorizing.flow, exchange.head.failure()) else { return false };
        let outdated = exchange.context.credentials < self.credentials;
        let tries = exchange.tried.authorizations;
        outdated
            || tries > 0
            || matches!(flow.refused(failure, tries, false, self.now), Reaction::Wait | Reaction::Again)
    }

    /// There are other credentials: whatever waited for them is made again.
    fn authorized(&mut self) {
        self.drop_where(|purpose| matches!(purpose, Purpose::Authorization));
        self.credentials += 1;
        self.client.drop_cache();
        self.listen_with_other_credentials();
        for id in self.challenged() {
            self.authorize_anew(id);
        }
    }

    /// There are none to be had. Whatever waited for them fails, and what is not made yet does unless it is allowed what it
    /// was before.
    fn not_authorized(&mut self, error: &AuthError, usable: bool) {
        self.drop_where(|purpose| matches!(purpose, Purpose::Authorization));
        let mut waiting = self.challenged();
        if !usable {
            waiting.extend(self.with_state(|state| matches!(state, ExchangeState::Queued)));
        }
        for id in waiting {
            self.fail_unauthorized(id, error);
        }
    }

    fn challenged(&self) -> Vec<u32> {
        self.with_state(|state| matches!(state, ExchangeState::Challenged))
    }

    fn with_state(&self, is: impl Fn(&ExchangeState) -> bool) -> Vec<u32> {
        self.open.iter().filter(|(_, exchange)| is(&exchange.state)).map(|(id, _)| id).collect()
    }

    fn fail_unauthorized(&mut self, id: u32, error: &AuthError) {
        let Some(exchange) = self.drop_exchange(id) else { return };
        let error = CallError::Authorization(Box::new(error.clone()));
        match exchange.purpose {
            Purpose::Request(asked) => self.fail_call(asked.number, error),
            Purpose::Posted(number) => self.fail_call(number, error),
            Purpose::Message { announces } => {
                self.client.report(Event::NotDelivered(error));
                if announces {
                    self.announced();
                }
            }
            Purpose::Listen(_) => self.listener_over(exchange),
            Purpose::Events => self.events_over(),
            Purpose::Delete => self.closing.deleted(),
            Purpose::Authorization => {}
        }
    }
}

/// The same headers without a proof, which is for one request alone.
fn without_proof(headers: &Headers) -> Headers {
    let mut others = Headers::new();
    for (name, value) in headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("dpop")) {
        others.push(name, value);
    }
    others
}
