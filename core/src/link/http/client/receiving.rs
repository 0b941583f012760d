//! From responses to messages.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use super::body::{Form, Item};
use super::events::{Held, Place};
use super::exchange::{self, Asked, Exchange, ExchangeState, Head, Purpose};
use super::exchanges::Exchanges;
use super::request;
use super::tools::{Listing, Mismatch};
use crate::client::Event;
use crate::codec::http1::Headers;
use crate::error::CallError;
use crate::jsonrpc::{Id, Malformed, MalformedKind, Message, Parsed, RpcError, code, parse};
use crate::model::{CallTool, Era, Initialize, ListTools};
use crate::rpc::LinkedRole;

/// How long the body of an error may take; the status says most of it.
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);

/// How long a stream may go on behind the answer that it was opened for.
const DRAIN_TIME: Duration = Duration::from_secs(5);

impl<T> Exchanges<T> {
    /// The head of a response is there: decides how to read its body.
    pub(super) fn head(&mut self, id: u32, status: u16, headers: &Headers) {
        if self.came_too_late(id, status) || self.redirected(id, status, headers) {
            return;
        }
        self.request_sent(id);
        let Some(exchange) = self.open.get_mut(id) else { return };
        self.authorizing.head(&exchange.request, headers);
        exchange.state = ExchangeState::Answering;
        exchange.head = Head::Accepted { at: self.now, session: None };
        let success = (200..300).contains(&status);
        let events = success && headers.content_type_is("text/event-stream");
        let resuming = exchange.request.method == "GET";
        let limits = self.client.limits();
        match &exchange.purpose {
            Purpose::Authorization => {
                exchange.head = Head::Document { status, headers: headers.clone() };
                self.read_excerpt(id);
            }
            // Nobody waits for what it says, but it may be tried again behind its last event.
            Purpose::Listen(_) if !success => exchange.head = Head::Refused(exchange::failure(status, headers)),
            _ if !success => {
                exchange.head = Head::Refused(exchange::failure(status, headers));
                self.read_excerpt(id);
            }
            Purpose::Request(_) | Purpose::Listen(_) | Purpose::Events if is_encoded(headers) => {
                self.wrong_type(id, headers);
            }
            Purpose::Request(_) | Purpose::Listen(_) | Purpose::Events if events => {
                exchange.body.read_events(limits);
            }
            Purpose::Listen(_) | Purpose::Events => self.wrong_type(id, headers),
            Purpose::Request(_) if resuming => self.wrong_type(id, headers),
            Purpose::Request(_) if headers.content_type_is("application/json") => exchange.body.form = Form::Json,
            Purpose::Request(_) if matches!(status, 202 | 204) => exchange.body.form = Form::Ignored,
            Purpose::Request(_) if !headers.contains("content-type") => exchange.body.form = Form::Json,
            Purpose::Request(_) => self.wrong_type(id, headers),
            Purpose::Posted(_) | Purpose::Message { .. } | Purpose::Delete => exchange.body.form = Form::Ignored,
        }
        if self.open.get(id).is_some_and(|exchange| matches!(exchange.head, Head::Accepted { .. })) {
            self.remember_redirect(id);
        }
        self.head_read(id, success, events, headers);
    }

    /// What a head means beyond its body.
    fn head_read(&mut self, id: u32, success: bool, events: bool, headers: &Headers) {
        let Some(exchange) = self.open.get(id) else { return };
        match &exchange.purpose {
            Purpose::Request(asked) if success && asked.is::<Initialize>() => {
                let granted = request::session_id(headers);
                if let Some(Head::Accepted { session, .. }) = self.open.get_mut(id).map(|exchange| &mut exchange.head) {
                    *session = granted;
                }
            }
            Purpose::Message { announces: true } if success => self.announced(),
            Purpose::Listen(_) if events => {
                self.open.set_deadline(id, None);
                if let Some(exchange) = self.open.get_mut(id) {
                    exchange.tried.authorizations = 0;
                }
                self.streams.lost_listener = false;
                self.listening_decided();
            }
            Purpose::Listen(_) => {
                let Some(exchange) = self.drop_exchange(id) else { return };
                let status = exchange.head.status_of_failure();
                if let Some(exchange) = self.retry_at_original(exchange, status.unwrap_or(404)) {
                    self.listening_decided();
                    match status {
                        Some(status) => self.listener_refused(exchange, status),
                        None => self.listener_lost(exchange.body.events().is_some()),
                    }
                }
            }
            _ => {}
        }
    }

    /// Something is wrong with the response: its first part tells what.
    fn read_excerpt(&mut self, id: u32) {
        if let Some(exchange) = self.open.get_mut(id) {
            exchange.body.read_excerpt();
            self.open.set_deadline(id, Some(self.now + ERROR_BODY_TIME));
        }
    }

    fn wrong_type(&mut self, id: u32, headers: &Headers) {
        if let Some(exchange) = self.open.get_mut(id) {
            let mut found = String::from(headers.get("content-type").unwrap_or("no content type"));
            if let Some(coding) = headers.get("content-encoding").filter(|_| is_encoded(headers)) {
                found = alloc::format!("{found} encoded by {coding}, which was not asked for");
            }
            exchange.head = Head::WrongType(crate::jsonrpc::excerpt(&found).into());
            self.read_excerpt(id);
        }
    }

    /// Deals with one thing that came for an exchange.
    pub(super) fn receive(&mut self, id: u32) {
        let Some(exchange) = self.open.get_mut(id) else { return };
        let item = exchange.body.items.pop_front();
        let overflowed = exchange.body.overflowed;
        let over = matches!(exchange.state, ExchangeState::Over(_));
        if !exchange.body.items.is_empty() || (item.is_some() && over) {
            self.open.mark_next(id);
        }
        match item {
            Some(Item::Text(place)) => self.text(id, place),
            Some(Item::Named(name, place)) => self.named(id, &name, place),
            Some(Item::Malformed(malformed)) => self.malformed(id, malformed),
            None if overflowed => self.overflowed(id),
            None if over => self.finished(id),
            None => {}
        }
    }

    /// An event with a name of its own, of which there is only one that means something.
    fn named(&mut self, id: u32, name: &str, place: Range<usize>) {
        let Some(exchange) = self.open.get(id) else { return };
        if matches!(exchange.purpose, Purpose::Events) && name == "endpoint" {
            let endpoint = exchange.body.texts.get(place).map(String::from_utf8_lossy).unwrap_or_default();
            let endpoint = endpoint.into_owned();
            self.endpoint_named(id, &endpoint);
        }
    }

    /// A message, or a batch of them.
    fn text(&mut self, id: u32, mut place: Range<usize>) {
        let listing = self.listing(id, &mut place);
        let batches = self.client.spoken().is_some_and(|version| version.allows_batches());
        let was_ready = self.client.is_ready_in(Era::Legacy);
        let number = self.open.get(id).and_then(|exchange| exchange.request_id());
        let again = self.handshake.reinitialization();
        let answers_handshake = again.filter(|again| Some(again.number) == number);
        if answers_handshake.is_some() {
            // What was written before the answer is of the old session.
            self.defer_written();
        }
        let modern = self.client.is_ready_in(Era::Modern);
        let Some(exchange) = self.open.get_mut(id) else { return };
        let texts = &exchange.body.texts[..];
        let text = texts.get(place).unwrap_or_default();
        let mut message = match parse(text, self.client.limits()) {
            Ok(Parsed::Message(message)) => {
                self.client.observe_incoming(&message, text.len());
                message
            }
            Ok(Parsed::Batch(entries)) if batches => {
                let entries = entries.into_iter().map(|entry| Item::Text(Place::of(entry, id, texts).range));
                for entry in entries.rev().collect::<Vec<_>>() {
                    exchange.body.items.push_front(entry);
                }
                exchange.body.is_batch = true;
                return self.open.mark_next(id);
            }
            Ok(Parsed::Batch(_)) => return self.malformed(id, Malformed::new(MalformedKind::BatchNotAllowed, "")),
            Err(malformed) => return self.malformed(id, malformed),
        };
        // What the server asked in another session, it does not know of any more.
        let outdated = match exchange.purpose {
            Purpose::Request(_) if exchange.context.generation != self.handshake.generation => true,
            _ => again.is_some() && answers_handshake.is_none(),
        };
        if outdated && matches!(message, Message::Request { .. }) {
            return;
        }
        let mut answered = None;
        if let Message::Response { id: answers, outcome } = &mut message {
            match &mut exchange.purpose {
                // Answers belong to the stream of their request.
                Purpose::Request(asked) if asked.is_answered_by(answers.as_ref(), outcome.is_err()) => {
                    asked.answered = true;
                    answered = Some(asked.number);
                    *answers = Some(Id::Number(asked.number));
                }
                Purpose::Events if !self.transport.is_streamable() => {}
                _ => return self.client.count_unknown_answer(),
            }
            let complaint = outcome.as_ref().err().filter(|_| modern);
            if let Some(mismatch) = complaint.and_then(|error| exchange.mismatch(error)) {
                self.answered(id);
                return self.list_tools_again(mismatch, None);
            }
        }
        exchange.body.has_message = true;
        if let Some(event) = self.client.handle(message, self.now) {
            let event = event.hold(|text| Held::In(Place::of(text, id, texts)));
            self.prepare(event);
        }
        if let Some(number) = answered {
            self.answered(id);
            if let Some(listing) = listing {
                self.tools_listed(number, listing.next_cursor);
            }
        }
        let over = !self.client.is_reinitializing() && self.client.closed().is_none();
        if let Some(again) = answers_handshake.filter(|_| over) {
            self.reinitialized(again);
            if let Some(handshake) = self.open.get_mut(id) {
                handshake.context.generation = self.handshake.generation;
            }
        }
        if self.client.is_ready_in(Era::Legacy) && !was_ready {
            if let Some(Head::Accepted { session, .. }) = self.open.get_mut(id).map(|exchange| &mut exchange.head) {
                self.handshake.session = session.take();
            }
            self.handshake_over();
        }
    }

    /// If a message answers a request for tools, learns from it; leaves out what cannot be used.
    fn listing(&mut self, id: u32, place: &mut Range<usize>) -> Option<Listing> {
        let exchange = self.open.get_mut(id)?;
        let Purpose::Request(asked) = &exchange.purpose else { return None };
        if asked.answered || !asked.is::<ListTools>() {
            return None;
        }
        let modern = self.client.is_ready_in(Era::Modern);
        let text = exchange.body.texts.get(place.clone())?;
        let mut listing = self.tools.learn(text, modern, self.client.limits())?;
        if let Some(rewritten) = listing.rewritten.take() {
            let start = exchange.body.texts.len();
            exchange.body.texts.extend_from_slice(&rewritten);
            *place = start..exchange.body.texts.len();
        }
        for (name, reason) in core::mem::take(&mut listing.left_out) {
            self.client.report(Event::ToolLeftOut { name, reason });
        }
        Some(listing)
    }

    /// A request has its answer: what still comes on its stream may come, but not for long.
    fn answered(&mut self, id: u32) {
        if self.open.get(id).is_some_and(|exchange| exchange.is_under_way()) {
            self.open.set_deadline(id, Some(self.now + DRAIN_TIME));
        }
    }

    /// Something that is no message.
    fn malformed(&mut self, id: u32, mut malformed: Malformed) {
        let Some(exchange) = self.open.get_mut(id) else { return };
        let number = exchange.request_id();
        // What pretends to answer a request of another stream is not believed.
        let ours = malformed.id.as_ref().is_some_and(|id| number.is_some_and(|number| *id == Id::Number(number)));
        let believed = ours || matches!(exchange.purpose, Purpose::Events);
        self.client.recognize(&mut malformed);
        if malformed.response && !believed {
            malformed.id = None;
        }
        let whole = matches!(exchange.body.form, Form::Json) && !exchange.body.is_batch;
        let detail = malformed.to_string();
        self.client.malformed(malformed, self.now);
        let Some(number) = number else { return };
        if whole && self.client.is_open(number) {
            self.unusable(number, detail);
        }
        if !self.client.is_open(number) {
            if let Some(Purpose::Request(asked)) = self.open.get_mut(id).map(|exchange| &mut exchange.purpose) {
                asked.answered = true;
            }
            self.answered(id);
        }
    }

    /// A response is a success of HTTP, but not an answer.
    pub(super) fn unusable(&mut self, number: i64, detail: String) {
        if self.client.is_probe(number) {
            self.client.probe_refused(number, self.now);
        } else {
            self.fail_call(number, CallError::InvalidResponse(detail));
        }
    }

    /// More came than is kept.
    fn overflowed(&mut self, id: u32) {
        let Some(exchange) = self.open.get(id) else { return };
        if matches!(exchange.body.form, Form::Excerpt) {
            return self.finished(id);
        }
        let limit = self.client.limits().message_bytes;
        let detail = match exchange.body.form {
            _ if exchange.body.no_memory => "there is no memory for what the server says".into(),
            Form::Events => alloc::format!("an event goes on beyond {limit} bytes without an end"),
            _ => alloc::format!("the answer is longer than {limit} bytes"),
        };
        let Some(exchange) = self.drop_exchange(id) else { return };
        match &exchange.purpose {
            Purpose::Listen(_) => {
                self.client.malformed(Malformed::new(MalformedKind::TooLong, detail), self.now);
                self.listener_over(exchange);
            }
            Purpose::Events => self.events_broken(detail),
            _ => {
                if let Some(number) = exchange.request_id() {
                    self.unusable(number, detail);
                }
            }
        }
    }
}

impl Exchange {
    /// What it takes to make a tool call again with other headers, if the server complains of them for the first time.
    pub(super) fn mismatch(&self, error: &RpcError) -> Option<Mismatch> {
        let Purpose::Request(asked) = &self.purpose else { return None };
        if error.code != code::HEADER_MISMATCH || asked.repeated || !asked.is::<CallTool>() {
            return None;
        }
        Some(Mismatch { message: self.message()?, tool: asked.name.clone()?, error: error.clone(), pages: 0 })
    }
}

impl Asked {
    /// Whether a response with this id answers the request. An error may come without an id.
    fn is_answered_by(&self, id: Option<&Id>, is_error: bool) -> bool {
        let ours = match id {
            Some(id) => *id == Id::Number(self.number),
            None => is_error,
        };
        ours && !self.answered
    }
}

/// Whether a body is not what it is said to be before it is decoded, which nobody here does.
fn is_encoded(headers: &Headers) -> bool {
    headers.get("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"))
}
