//! From failures to what they mean: another era, another session, other credentials, another try, or an error.

use alloc::boxed::Box;
use core::time::Duration;

use super::body::Form;
use super::exchange::{Asked, Exchange, ExchangeState, Head, Outcome, Purpose, is_passing};
use super::exchanges::Exchanges;
use super::request;
use crate::client::{ChallengeReply, Client, Event};
use crate::error::{CallError, HttpFailure};
use crate::json::Json;
use crate::jsonrpc::{Message, Parsed, RpcError, parse};
use crate::model::{Era, Initialize};
use crate::rpc::LinkedRole;

impl<T> Exchanges<T> {
    /// An exchange is over, and everything that came in it has been dealt with.
    pub(super) fn finished(&mut self, id: u32) {
        if self.open.get(id).is_some_and(|exchange| matches!(exchange.purpose, Purpose::Authorization)) {
            return self.fetched(id, false);
        }
        if self.challenges(id) {
            return;
        }
        let Some(exchange) = self.drop_exchange(id) else { return };
        let status = exchange.head.status_of_failure();
        let exchange = match status.filter(|_| self.error_in(&exchange).is_none()) {
            Some(status) => match self.retry_at_original(exchange, status) {
                Some(exchange) => exchange,
                None => return,
            },
            None => exchange,
        };
        match exchange.purpose {
            Purpose::Request(Asked { answered: true, .. }) => {}
            Purpose::Request(_) if exchange.head.failure().is_some() => self.refused(exchange),
            Purpose::Request(_) => self.unanswered(exchange),
            Purpose::Posted(number) => {
                if let Some(error) = error_of(&exchange) {
                    self.fail_call(number, error);
                }
            }
            Purpose::Message { announces } => {
                if let Some(error) = error_of(&exchange) {
                    self.client.report(Event::NotDelivered(error));
                }
                if announces {
                    self.announced();
                } else if status == Some(404) && exchange.context.in_session {
                    // Not for the announcement: with a server that never takes it there would be no end.
                    self.session_of_generation_lost(exchange.context.generation);
                }
            }
            Purpose::Listen(_) => self.listener_over(exchange),
            Purpose::Events => self.events_over(),
            Purpose::Delete => self.closing.deleted(),
            Purpose::Authorization => {}
        }
    }

    /// The server refused a request.
    fn refused(&mut self, exchange: Exchange) {
        let (Purpose::Request(asked), Some(failure)) = (&exchange.purpose, failure_of(&exchange)) else { return };
        let (number, status) = (asked.number, failure.status);
        let error = self.error_in(&exchange);
        if let Some(error) = &error {
            let message = Message::Response { id: Some(number.into()), outcome: Err(error.clone()) };
            self.client.observe_incoming(&message, exchange.body.texts.len());
        }
        if self.client.is_probe(number) {
            return match error {
                Some(error) if Client::<T>::shows_modern(&error) => self.answer_with(number, error),
                _ if matches!(status, 400 | 404 | 405 | 406 | 415 | 422) => self.client.probe_refused(number, self.now),
                _ => self.fail_call(number, CallError::Http(failure)),
            };
        }
        if exchange.request.method == "GET" {
            return self.not_resumed(exchange, &failure);
        }
        if status == 404 && exchange.context.in_session {
            return self.session_lost(&exchange);
        }
        let reinitializing = self.client.is_reinitializing();
        let may_be_older = (400..500).contains(&status) && !matches!(status, 401 | 403 | 408 | 429);
        if asked.is::<Initialize>() && may_be_older && error.is_none() && reinitializing {
            if !self.client.handshake_refused(number, self.now) {
                self.fail_call(number, CallError::Http(failure));
            }
            return;
        }
        if asked.is::<Initialize>() && may_be_older && !reinitializing {
            let says_more =
                error.as_ref().is_some_and(|error| Client::<T>::shows_modern(error) || error.data.is_some());
            if !says_more {
                let error = error.map_or_else(|| CallError::Http(failure), CallError::Remote);
                if let Some(handshake) = exchange.message() {
                    self.fall_back(handshake, error);
                }
                return;
            }
        }
        if !asked.is::<Initialize>() && self.may_mean_change(&exchange, status, error.as_ref()) {
            let error = error.map_or_else(|| CallError::Http(failure), CallError::Remote);
            return self.rejected(&exchange, error);
        }
        if let (Some(error), false) = (error, matches!(status, 401 | 403)) {
            let modern = self.client.is_ready_in(Era::Modern);
            return match exchange.mismatch(&error).filter(|_| modern) {
                Some(mismatch) => self.list_tools_again(mismatch, None),
                None => self.answer_with(number, error),
            };
        }
        match self.hold_back(exchange, &failure) {
            None => {}
            Some(_) => self.fail_call(number, CallError::Http(failure)),
        }
    }

    /// Keeps a request that a busy server wants to be asked again, if it may and it is worth waiting for. Returns it if not.
    fn hold_back(&mut self, mut exchange: Exchange, failure: &HttpFailure) -> Option<Exchange> {
        let Purpose::Request(asked) = &exchange.purpose else { return Some(exchange) };
        let seconds = failure.retry_after.as_deref().and_then(|after| after.trim().parse().ok());
        let after = seconds.map(Duration::from_secs).filter(|after| *after <= self.http.retry_after);
        let Some(after) = after.filter(|_| matches!(failure.status, 429 | 503)) else { return Some(exchange) };
        let in_time = self.client.deadline_of(asked.number).is_none_or(|deadline| self.now + after < deadline);
        if self.http.retry_after.is_zero() || !in_time || !self.may_repeat(asked) {
            return Some(exchange);
        }
        exchange.state = ExchangeState::HeldBack;
        exchange.deadline = Some(self.now + after);
        self.open.keep(exchange);
        None
    }

    /// The server does not go on with a stream that broke off, or not now.
    fn not_resumed(&mut self, exchange: Exchange, failure: &HttpFailure) {
        let waits = if is_passing(failure.status) { self.resume(exchange) } else { Some(exchange) };
        let Some(exchange) = waits else { return };
        let detail = alloc::format!("the stream broke, and the server does not resume it ({failure})");
        self.lost(&exchange, detail);
        if failure.status == 404 && exchange.context.in_session {
            self.session_of_generation_lost(exchange.context.generation);
        }
    }

    /// The error in the body of a refusal, if there is one for this request.
    fn error_in(&self, exchange: &Exchange) -> Option<RpcError> {
        exchange.request_id()?;
        let parsed = parse(exchange.body.texts.trim_ascii(), self.client.limits());
        match parsed {
            // Some write `"id":""` or a number of their own when they could not read ours: it is the only request here.
            Ok(Parsed::Message(Message::Response { outcome: Err(error), .. })) => Some(error),
            _ => None,
        }
    }

    /// Completes a request with an error of the server's.
    pub(super) fn answer_with(&mut self, number: i64, error: RpcError) {
        let message = Message::Response { id: Some(number.into()), outcome: Err(error) };
        if let Some(event) = self.client.handle(message, self.now) {
            self.client.report(event.hold(Json::from));
        }
    }

    /// The response ended without an answer.
    fn unanswered(&mut self, mut exchange: Exchange) {
        let Purpose::Request(asked) = &exchange.purpose else { return };
        let number = asked.number;
        if let Head::WrongType(found) = &mut exchange.head {
            let found = core::mem::take(found);
            self.forget_redirect(&exchange);
            let excerpt = exchange.body.excerpt(HttpFailure::EXCERPT);
            if exchange.request.method == "GET" {
                let detail = alloc::format!("the stream broke, and the server answers with {found} to go on with it");
                return self.lost(&exchange, detail);
            }
            let detail = alloc::format!("the answer is {found}, neither JSON nor a stream of events: {excerpt}");
            return self.unusable(number, detail);
        }
        let headless = matches!(exchange.body.form, Form::Unknown) && exchange.request.method != "GET";
        let detail = match exchange.state {
            // A probe that the network broke off says nothing about the server.
            ExchangeState::Over(Outcome::Broken(error)) if headless || self.client.is_probe(number) => {
                return self.fail_call(number, CallError::Transport(error));
            }
            ExchangeState::Over(Outcome::Broken(ref error)) => alloc::format!("{error}"),
            _ if matches!(exchange.body.form, Form::Events) => "the stream ended without it".into(),
            _ if exchange.body.texts.trim_ascii().is_empty() => "the body is empty".into(),
            _ => "the body answers another request".into(),
        };
        if let Some(exchange) = self.resume(exchange) {
            self.lost(&exchange, detail);
        }
    }

    /// There will be no answer to a request, and nobody knows whether it was carried out.
    fn lost(&mut self, exchange: &Exchange, detail: alloc::string::String) {
        let Purpose::Request(asked) = &exchange.purpose else { return };
        if self.client.is_probe(asked.number) {
            // A modern server would have said something.
            return self.client.probe_refused(asked.number, self.now);
        }
        if self.may_repeat(asked) && self.repeat_exchange(exchange) {
            return;
        }
        self.fail_call(asked.number, CallError::NoResponse { id: asked.number, detail });
    }

    pub(super) fn may_repeat(&self, asked: &Asked) -> bool {
        let method = asked.label.method.as_ref().filter(|_| !asked.repeated);
        method.is_some_and(|method| request::is_repeatable(method, asked.name.as_deref(), &self.tools))
    }

    /// Makes a request again that the server says it did not get in time; not a second time. Some say so of a request that
    /// they got and did not answer in time: one that was sent as a whole and may do something twice is not made again.
    pub(super) fn came_too_late(&mut self, id: u32, status: u16) -> bool {
        let Some(exchange) = self.open.get(id).filter(|exchange| status == 408 && !exchange.tried.late) else {
            return false;
        };
        let harmless = match &exchange.purpose {
            Purpose::Request(asked) => asked.is::<Initialize>() || self.may_repeat(asked),
            Purpose::Message { .. } => true,
            _ => false,
        };
        if exchange.request.method != "POST" || !(harmless || exchange.unsent_bytes > 0) {
            return false;
        }
        let may_have_come = exchange.unsent_bytes == 0;
        let Some(old) = self.drop_exchange(id) else { return false };
        // An id may be used only once, and what the server spoke before only by then.
        let outdated = old.context.generation != self.handshake.generation;
        if (may_have_come || outdated) && self.repeat_exchange(&old) {
            return true;
        }
        let request = (*old.request).clone();
        let mut exchange = old.with_request(request);
        exchange.tried.late = true;
        self.start(exchange);
        true
    }

    /// Asks the program for other credentials, if the server wants them and the program has them to give. Returns whether
    /// the exchange goes on.
    fn challenges(&mut self, id: u32) -> bool {
        let Some(exchange) = self.open.get(id) else { return false };
        let refused = matches!(exchange.head.status_of_failure(), Some(401 | 403));
        let askable = !matches!(exchange.purpose, Purpose::Listen(_) | Purpose::Delete);
        if !refused || !askable {
            return false;
        }
        if let Some(goes_on) = failure_of(exchange).and_then(|failure| self.not_allowed(id, &failure)) {
            return goes_on;
        }
        let Some(exchange) = self.open.get(id) else { return false };
        if !self.http.answers_challenges || exchange.tried.credentials {
            return false;
        }
        // The rest of what it says is not waited for.
        self.open.stop(id);
        let Some(exchange) = self.open.get_mut(id) else { return false };
        if exchange.context.credentials < self.credentials {
            // Somebody else has been asked meanwhile.
            self.replay(id);
            return true;
        }
        let Some(challenge) = failure_of(exchange) else { return false };
        exchange.state = ExchangeState::Challenged;
        exchange.held = Some(self.now);
        let until = self.now + self.http.challenge_timeout;
        if let Some(number) = exchange.request_id() {
            self.client.postpone(number, until);
        }
        self.open.set_deadline(id, Some(until));
        self.client.report(Event::Challenged { reply: ChallengeReply { exchange: id }, challenge });
        true
    }

    /// The program has answered a challenge.
    pub(super) fn challenge_answered(&mut self, id: u32, with_headers: bool) {
        let Some(exchange) = self.open.get_mut(id) else { return };
        if !matches!(exchange.state, ExchangeState::Challenged) {
            return;
        }
        if with_headers {
            self.replay(id);
        } else {
            exchange.tried.credentials = true;
            exchange.state = ExchangeState::Over(Outcome::Complete);
            self.open.set_deadline(id, None);
            self.open.mark_ready(id);
        }
    }

    /// Makes a request again with the credentials of now.
    pub(super) fn replay(&mut self, id: u32) {
        let Some(old) = self.drop_exchange(id) else { return };
        let number = old.request_id();
        let waited = old.held.map_or(Duration::ZERO, |since| self.now.since(since));
        let headers = request::replaced(&old.request.headers, &self.http.headers);
        let request = request::HttpRequest { headers, ..(*old.request).clone() };
        let mut exchange = old.with_request(request);
        exchange.tried.credentials = true;
        exchange.deadline = Some(self.now + self.http.message_timeout).filter(|_| number.is_none());
        if let Some(number) = number {
            self.client.restart_timeout(number, waited, self.now);
        }
        self.start(exchange);
    }

    /// The time of an exchange is up.
    pub(super) fn expired(&mut self, id: u32) {
        let Some(exchange) = self.open.get_mut(id) else { return };
        match (&exchange.state, &exchange.purpose) {
            (ExchangeState::Waiting, _) => self.reconnect(id),
            (ExchangeState::HeldBack, _) => {
                if let Some(exchange) = self.drop_exchange(id) {
                    self.repeat_exchange(&exchange);
                }
            }
            (ExchangeState::Challenged, _) => {
                exchange.tried.credentials = true;
                exchange.state = ExchangeState::Over(Outcome::Complete);
                self.finished(id);
            }
            (_, Purpose::Authorization) => self.fetched(id, true),
            // The body of an error is not worth more time: what is there has to do.
            (ExchangeState::Answering, _) if matches!(exchange.body.form, Form::Excerpt) => self.finished(id),
            (_, Purpose::Request(Asked { answered: true, .. })) => drop(self.drop_exchange(id)),
            // The server has taken the request; its answer is waited for elsewhere.
            (ExchangeState::Answering, Purpose::Posted(_)) => drop(self.drop_exchange(id)),
            (_, Purpose::Posted(number)) => {
                let (number, after) = (*number, self.http.message_timeout);
                self.drop_exchange(id);
                self.fail_call(number, CallError::TimedOut { after });
            }
            (_, Purpose::Message { announces }) => {
                let announces = *announces;
                let answered = matches!(exchange.state, ExchangeState::Answering);
                self.drop_exchange(id);
                if !answered {
                    let after = self.http.message_timeout;
                    self.client.report(Event::NotDelivered(CallError::TimedOut { after }));
                }
                if announces {
                    self.announced();
                }
            }
            (_, Purpose::Listen(_)) => {
                if let Some(exchange) = self.drop_exchange(id) {
                    self.listener_over(exchange);
                }
            }
            (_, Purpose::Events) => {
                self.drop_exchange(id);
                self.events_over();
            }
            (_, Purpose::Delete) => {
                self.drop_exchange(id);
                self.closing.deleted();
            }
            (_, Purpose::Request(_)) => {}
        }
    }

    /// Whether the server speaks the legacy era over Streamable HTTP, where streams can be resumed.
    pub(super) fn may_resume(&self) -> bool {
        self.transport.is_streamable() && self.client.spoken().is_none_or(|version| version.era() == Era::Legacy)
    }
}

/// What a response that is no success says, with the first part of its body.
fn failure_of(exchange: &Exchange) -> Option<Box<HttpFailure>> {
    let body = exchange.body.excerpt(HttpFailure::EXCERPT);
    exchange.head.failure().map(|failure| Box::new(HttpFailure { body, ..failure.clone() }))
}

/// Why a message was not delivered, if it was not.
fn error_of(exchange: &Exchange) -> Option<CallError> {
    match (failure_of(exchange), &exchange.state) {
        (Some(failure), _) => Some(CallError::Http(failure)),
        // The server has said that it got the message; what it says beyond that nobody reads.
        (None, ExchangeState::Over(Outcome::Broken(error))) if matches!(exchange.body.form, Form::Unknown) => {
            Some(CallError::Transport(error.clone()))
        }
        _ => None,
    }
}
