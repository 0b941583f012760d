//! What goes out: messages that know what they are.
//!
//! On a byte stream they stand one behind the other, a line each, and nobody asks what they are: nothing is kept of them
//! but their bytes. Where each travels by itself, as over HTTP, the link takes them out one by one, with a label that says
//! all it has to know.

#[cfg(any(test, feature = "http"))]
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::RequestKey;
use crate::buffer::WriteBuffer;
use crate::json::{JsonText, first_member};
use crate::jsonrpc::{Splice, encode_request};
use crate::model::{Method, MethodInfo, Notice};

/// How a link carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// One after the other, on a byte stream.
    Stream,
    /// Each in an exchange of its own, whose response brings the answer. Closing it tells a modern server that nobody waits
    /// any more; and a server that cannot read a request refuses it, where one on a stream may stay silent.
    Exchanges,
}

/// What a session keeps for its next messages: enough for nearly all of them, and little enough for thousands of sessions.
const COMMON_ROOM: usize = 16 * 1024;

/// Messages to be sent, in order.
pub(crate) struct Outbox {
    buffer: WriteBuffer,
    /// What the messages are, if the link has to know.
    labels: Option<Box<Labels>>,
}

/// Labels of messages with their lengths, in order. There is mostly one, which needs no memory of its own.
#[derive(Default)]
struct Labels {
    first: Option<(Label, usize)>,
    others: VecDeque<(Label, usize)>,
}

/// What a message is.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) kind: OutgoingKind,
    /// The method; none for an answer.
    pub(crate) method: Option<MethodName>,
    /// Where its parameters stand in its bytes, or its result; empty if there are none.
    content: Range<usize>,
    /// Where the member of a request's parameters stands that says what it is about; empty if there is none.
    name: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutgoingKind {
    /// A request under this number. On the way to the answer to a request of the peer's, it belongs to that.
    Request { number: i64, about: Option<RequestKey> },
    /// A notification, which may belong to a request of the peer's as well.
    Notification { about: Option<RequestKey> },
    /// The answer to a request of the peer's, or to a message that did not become one. Its code, if it is an error.
    Answer { to: Option<RequestKey>, error: Option<i64> },
}

/// The name of a method, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) enum MethodName {
    Known(&'static MethodInfo),
    /// One of the program's own.
    Other(Box<str>),
}

/// A message that was taken out.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) label: Label,
    pub(crate) bytes: Vec<u8>,
}

impl Outbox {
    pub(crate) fn new(link: LinkKind) -> Self {
        Self { buffer: WriteBuffer::default(), labels: (link == LinkKind::Exchanges).then(Box::default) }
    }

    pub(crate) fn link(&self) -> LinkKind {
        if self.labels.is_some() { LinkKind::Exchanges } else { LinkKind::Stream }
    }

    /// Appends a message that `encode` writes, which says where its content stands. If it cannot be written, nothing is
    /// appended.
    pub(super) fn append<E>(
        &mut self,
        kind: OutgoingKind,
        method: Option<&str>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<Range<usize>, E>,
    ) -> Result<Range<usize>, E> {
        let out = self.buffer.tail();
        let start = out.len();
        let content = encode(out)?;
        match &mut self.labels {
            // The line that it is ends here.
            None => out.push(b'\n'),
            Some(labels) => {
                let content = content.start - start..content.end - start;
                labels.push(Label::new(kind, method, content, &out[start..]), out.len() - start);
            }
        }
        Ok(content)
    }

    /// The content of the message that was appended last.
    pub(super) fn content(&self, place: Range<usize>) -> &[u8] {
        self.buffer.get(place)
    }

    /// The first message. It stays there until [`Self::pass`].
    pub(crate) fn first(&self) -> Option<(&Label, &[u8])> {
        let (label, length) = self.labels.as_ref()?.first.as_ref()?;
        Some((label, self.buffer.unwritten().get(..*length)?))
    }

    /// The first message has been sent. With the last one the room of an uncommonly long one is given back.
    pub(crate) fn pass(&mut self) {
        if let Some((_, length)) = self.labels.as_mut().and_then(|labels| labels.pop()) {
            self.buffer.wrote(length);
        }
        self.trim_uncommon();
    }

    /// Takes out the first message. With the last one the room of an uncommonly long one is given back.
    pub(crate) fn take(&mut self) -> Option<Outgoing> {
        let (label, length) = self.labels.as_mut()?.pop()?;
        let bytes = self.buffer.unwritten().get(..length).unwrap_or_default().to_vec();
        self.buffer.wrote(length);
        self.trim_uncommon();
        Some(Outgoing { label, bytes })
    }

    /// What to write next to a byte stream; empty if nothing is.
    pub(crate) fn unwritten(&self) -> &[u8] {
        self.buffer.unwritten()
    }

    /// So much of it has been written.
    pub(crate) fn wrote(&mut self, count: usize) {
        self.buffer.wrote(count);
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Drops everything, for a link that is gone.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.link());
    }

    /// Gives memory back if nothing waits.
    pub(crate) fn trim(&mut self) {
        if self.len() == 0 {
            self.clear();
        }
    }

    /// Whoever sends long messages seldom would otherwise keep the room of the longest until the session ends.
    fn trim_uncommon(&mut self) {
        if self.buffer.capacity() > COMMON_ROOM {
            self.trim();
        }
    }

    /// The memory that the messages take.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Fills it up, to see what becomes of a peer that does not read.
    #[cfg(test)]
    pub(super) fn fill(&mut self, bytes: usize) {
        self.buffer.tail().resize(bytes, b'x');
    }
}

impl Labels {
    fn push(&mut self, label: Label, length: usize) {
        match self.first {
            None => self.first = Some((label, length)),
            Some(_) => self.others.push_back((label, length)),
        }
    }

    fn pop(&mut self) -> Option<(Label, usize)> {
        core::mem::replace(&mut self.first, self.others.pop_front())
    }
}

impl Label {
    /// The label of a message that has just been written.
    fn new(kind: OutgoingKind, method: Option<&str>, content: Range<usize>, message: &[u8]) -> Self {
        let method = method.map(MethodName::of);
        let is_request = matches!(kind, OutgoingKind::Request { .. });
        let member = method.as_ref().filter(|_| is_request).and_then(|method| method.info()?.named_by);
        let name = member.and_then(|member| {
            let params = core::str::from_utf8(message.get(content.clone())?).ok()?;
            let name = first_member(JsonText::trusted(params), member)?.as_str();
            let start = content.start + (name.as_ptr() as usize - params.as_ptr() as usize);
            Some(start..start + name.len())
        });
        Self { kind, method, content, name: name.unwrap_or_default() }
    }
}

impl MethodName {
    fn of(name: &str) -> Self {
        MethodInfo::find(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(info) => info.name,
            Self::Other(name) => name,
        }
    }

    /// What is known of it, if it is one of the protocol's.
    pub(crate) fn info(&self) -> Option<&'static MethodInfo> {
        if let Self::Known(info) = self { Some(info) } else { None }
    }

    pub(crate) fn is<M: Method>(&self) -> bool {
        self.as_str() == M::NAME
    }
}

impl Outgoing {
    /// Whether it is this notification.
    pub(crate) fn tells<N: Notice>(&self) -> bool {
        self.label.method.as_ref().is_some_and(|method| method.as_str() == N::NAME)
    }

    /// The number of a request.
    pub(crate) fn request_id(&self) -> Option<i64> {
        if let OutgoingKind::Request { number, .. } = self.label.kind { Some(number) } else { None }
    }

    /// Its parameters, or its result.
    pub(crate) fn content(&self) -> Option<JsonText<'_>> {
        self.text(&self.label.content)
    }

    /// What a request is about: the name of a tool or a prompt, the URI of a resource.
    #[cfg(any(test, feature = "http"))]
    pub(crate) fn name(&self) -> Option<Cow<'_, str>> {
        self.text(&self.label.name)?.as_text()
    }

    fn text(&self, place: &Range<usize>) -> Option<JsonText<'_>> {
        let text = core::str::from_utf8(self.bytes.get(place.clone())?).ok()?;
        (!text.is_empty()).then(|| JsonText::trusted(text))
    }

    /// A request with other parameters or another number.
    pub(crate) fn request<P: serde::Serialize + ?Sized>(
        number: i64,
        method: &str,
        params: &P,
        splice: Splice<'_>,
    ) -> Result<Self, serde_json::Error> {
        let mut bytes = Vec::new();
        let content = encode_request(&mut bytes, number, method, params, splice)?;
        let kind = OutgoingKind::Request { number, about: None };
        Ok(Self { label: Label::new(kind, Some(method), content, &bytes), bytes })
    }

    /// The same request under another number.
    pub(crate) fn renumbered(&self, number: i64) -> Option<Self> {
        let params = self.content().unwrap_or(JsonText::EMPTY_OBJECT);
        Self::request(number, self.label.method.as_ref()?.as_str(), &params, Splice::default()).ok()
    }
}
