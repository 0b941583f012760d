//! From responses to messages.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use super::body::{Form, Item};
use super::events::{Held, Place};
use super::exchange::{self, Asked, Exchange, Purpose, Stage};
use super::exchanges::Exchanges;
use super::request;
use super::sending::{Gate, Mismatch};
use super::streams::Transport;
use super::tools::Listing;
use crate::client::Event;
use crate::codec::http1::Headers;
use crate::error::CallError;
use crate::jsonrpc::{Id, Malformed, MalformedKind, Message, Parsed, RpcError, code, parse};
use crate::model::{CallTool, Era, Initialize, ListTools};

/// How long the body of an error may take; the status says most of it.
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);

/// How long a stream may go on behind the answer that it was opened for.
const DRAIN_TIME: Duration = Duration::from_secs(5);

impl<T> Exchanges<T> {
    /// The head of a response is there: decides how to read its body.
    pub(super) fn head(&mut self, id: u64, status: u16, headers: &Headers) {
        if self.came_too_late(id, status) || self.redirected(id, status, headers) {
            return;
        }
        self.request_sent(id);
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        exchange.stage = Stage::Answering;
        let success = (200..300).contains(&status);
        let events = success && headers.content_type_is("text/event-stream");
        let resuming = exchange.request.method == "GET";
        let limits = self.client.limits();
        match &exchange.purpose {
            // Nobody waits for what it says, but it may be tried again behind its last event.
            Purpose::Listen(_) if !success => exchange.failure = Some(exchange::failure(status, headers)),
            _ if !success => {
                exchange.failure = Some(exchange::failure(status, headers));
                self.read_excerpt(id);
            }
            Purpose::Request(_) | Purpose::Listen(_) | Purpose::Events if is_encoded(headers) => {
                self.wrong_type(id, headers);
            }
            Purpose::Request(_) | Purpose::Listen(_) | Purpose::Events if events => {
                exchange.body.read_events(limits);
                exchange.streams_since = Some(self.now);
            }
            Purpose::Listen(_) | Purpose::Events => self.wrong_type(id, headers),
            Purpose::Request(_) if resuming => self.wrong_type(id, headers),
            Purpose::Request(_) if headers.content_type_is("application/json") => exchange.body.form = Form::Json,
            Purpose::Request(_) if matches!(status, 202 | 204) => exchange.body.form = Form::Ignored,
            Purpose::Request(_) if !headers.contains("content-type") => exchange.body.form = Form::Json,
            Purpose::Request(_) => self.wrong_type(id, headers),
            Purpose::Dropped(_) | Purpose::Message { .. } | Purpose::Delete => exchange.body.form = Form::Ignored,
        }
        if success && self.exchanges.get(&id).is_some_and(|exchange| exchange.wrong_type.is_none()) {
            self.found(id);
        }
        self.head_read(id, success, events, headers);
    }

    /// What a head means beyond its body.
    fn head_read(&mut self, id: u64, success: bool, events: bool, headers: &Headers) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
        match &exchange.purpose {
            Purpose::Request(asked) if success && asked.is::<Initialize>() => {
                let granted = request::session_id(headers);
                if let Some(exchange) = self.exchanges.get_mut(&id) {
                    exchange.granted = granted;
                }
            }
            Purpose::Message { announces: true } if success => self.announced(),
            Purpose::Listen(_) if events => {
                self.set_deadline(id, None);
                self.lost_listener = false;
                self.listening_decided();
            }
            Purpose::Listen(_) => {
                let Some(exchange) = self.drop_exchange(id) else { return };
                let status = exchange.failure.as_ref().map(|failure| failure.status);
                if let Some(exchange) = self.goes_back(exchange, status.unwrap_or(404)) {
                    self.listening_decided();
                    if let Some(status) = status {
                        self.listener_refused(exchange, status);
                    }
                }
            }
            _ => {}
        }
    }

    /// Something is wrong with the response: its first part tells what.
    fn read_excerpt(&mut self, id: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.body.read_excerpt();
            self.set_deadline(id, Some(self.now + ERROR_BODY_TIME));
        }
    }

    fn wrong_type(&mut self, id: u64, headers: &Headers) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            let mut found = String::from(headers.get("content-type").unwrap_or("no content type"));
            if let Some(coding) = headers.get("content-encoding").filter(|_| is_encoded(headers)) {
                found = alloc::format!("{found} encoded by {coding}, which was not asked for");
            }
            exchange.wrong_type = Some(crate::jsonrpc::excerpt(&found).into());
            self.read_excerpt(id);
        }
    }

    /// Deals with one thing that came for an exchange.
    pub(super) fn receive(&mut self, id: u64) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        let item = exchange.body.items.pop_front();
        if !exchange.body.items.is_empty() || (item.is_some() && matches!(exchange.stage, Stage::Over(_))) {
            self.ready.push_front(id);
        }
        match item {
            Some(Item::Text(place)) => self.text(id, place),
            Some(Item::Named(name, place)) => self.named(id, &name, place),
            Some(Item::Malformed(malformed)) => self.malformed(id, malformed),
            None if exchange.body.overflowed => self.overflowed(id),
            None if matches!(exchange.stage, Stage::Over(_)) => self.finished(id),
            None => {}
        }
    }

    /// An event with a name of its own, of which there is only one that means something.
    fn named(&mut self, id: u64, name: &str, place: Range<usize>) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
        if matches!(exchange.purpose, Purpose::Events) && name == "endpoint" {
            let endpoint = exchange.body.texts.get(place).map(String::from_utf8_lossy).unwrap_or_default();
            let endpoint = endpoint.into_owned();
            self.endpoint_named(id, &endpoint);
        }
    }

    /// A message, or a batch of them.
    fn text(&mut self, id: u64, mut place: Range<usize>) {
        let listing = self.listing(id, &mut place);
        let batches = self.client.spoken().is_some_and(|version| version.allows_batches());
        let was_ready = self.client.is_ready_in(Era::Legacy);
        let number = self.exchanges.get(&id).and_then(|exchange| exchange.number());
        let renewal = self.renewal().filter(|renewal| Some(renewal.number) == number);
        if renewal.is_some() {
            // What was written before the answer is of the old beginning.
            self.park_written();
        }
        let modern = self.client.is_ready_in(Era::Modern);
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
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
                return self.ready.push_front(id);
            }
            Ok(Parsed::Batch(_)) => return self.malformed(id, Malformed::new(MalformedKind::BatchNotAllowed, "")),
            Err(malformed) => return self.malformed(id, malformed),
        };
        // What the server asked before it began anew, it does not know of any more.
        let outdated = match exchange.purpose {
            Purpose::Request(_) if exchange.beginning != self.beginnings => true,
            _ => matches!(self.gate, Gate::Renewing(_)) && renewal.is_none(),
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
                Purpose::Events if matches!(self.transport, Transport::Events { .. }) => {}
                _ => return self.client.count_unknown_answer(),
            }
            let complaint = outcome.as_ref().err().filter(|_| modern);
            if let Some(mismatch) = complaint.and_then(|error| exchange.mismatch(error)) {
                self.answered(id);
                return self.list_tools_again(mismatch, None);
            }
        }
        exchange.body.telling = true;
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
        if let Some(renewal) = renewal.filter(|_| !self.client.is_renewing() && self.client.closed().is_none()) {
            self.renewal_over(renewal);
            if let Some(handshake) = self.exchanges.get_mut(&id) {
                handshake.beginning = self.beginnings;
            }
        }
        if self.client.is_ready_in(Era::Legacy) && !was_ready {
            self.session = self.exchanges.get_mut(&id).and_then(|exchange| exchange.granted.take());
            self.handshake_over();
        }
    }

    /// If a message answers a request for tools, learns from it; leaves out what cannot be used.
    fn listing(&mut self, id: u64, place: &mut Range<usize>) -> Option<Listing> {
        let exchange = self.exchanges.get_mut(&id)?;
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
    fn answered(&mut self, id: u64) {
        if self.exchanges.get(&id).is_some_and(|exchange| exchange.is_running()) {
            self.set_deadline(id, Some(self.now + DRAIN_TIME));
        }
    }

    /// Something that is no message.
    fn malformed(&mut self, id: u64, mut malformed: Malformed) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        let number = exchange.number();
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
            if let Some(Purpose::Request(asked)) = self.exchanges.get_mut(&id).map(|exchange| &mut exchange.purpose) {
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
    fn overflowed(&mut self, id: u64) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
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
                if let Some(number) = exchange.number() {
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
