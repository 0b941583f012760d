//! Streams of messages to a client: each carries the answers to one POST, or what belongs to no request. In the legacy
//! era a stream outlives its connection, and what a client missed is told again when it comes back.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use crate::machine::ConnId;
use crate::model::ProtocolVersion;
use crate::rpc::RequestKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamId(pub(super) u64);

#[derive(Default)]
pub(super) struct ResponseStream {
    /// The session it belongs to; 0 for the modern era, which has none.
    pub(super) session: u32,
    /// The connection that carries it now.
    pub(super) conn: Option<ConnId>,
    /// The requests that are not answered yet.
    pub(super) open: Vec<RequestKey>,
    /// Bytes of those requests.
    pub(super) in_flight: usize,
    /// Whether it stays open when there is no open request: what a GET began.
    pub(super) standalone: bool,
    /// Whether its answer may be JSON.
    pub(super) json: bool,
    /// The session that the client is to be told of with the first answer.
    pub(super) announced: Option<Box<str>>,
    /// What can be told again. Only the legacy era has that.
    pub(super) log: Option<EventLog>,
}

/// The last events of a stream.
pub(super) struct EventLog {
    /// Clients of the newest legacy revision are told at once how to resume.
    pub(super) primes: bool,
    next: u64,
    kept: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    /// The last event that was sent to a connection.
    sent: u64,
}

impl EventLog {
    pub(super) fn new(version: Option<ProtocolVersion>) -> Self {
        let primes = version.is_some_and(|version| version >= ProtocolVersion::V2025_11_25);
        Self { primes, next: 1, kept: VecDeque::new(), bytes: 0, sent: 0 }
    }

    /// The name of the last event that was sent, or of the beginning.
    pub(super) fn last_id(&self, stream: StreamId) -> String {
        event_id(stream, self.sent)
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps an event, and says what it is called.
    pub(super) fn keep(
        &mut self,
        stream: StreamId,
        message: &[u8],
        most: usize,
        most_bytes: usize,
        sent: bool,
    ) -> String {
        let number = self.next;
        self.next += 1;
        if sent {
            self.sent = number;
        }
        self.kept.push_back((number, message.to_vec()));
        self.bytes += message.len();
        // The newest is kept however large it is: it may be the answer.
        while self.kept.len() > most.max(1) || (self.bytes > most_bytes && self.kept.len() > 1) {
            let Some((_, dropped)) = self.kept.pop_front() else { break };
            self.bytes -= dropped.len();
        }
        event_id(stream, number)
    }

    /// What came after an event, or after the last one that was sent; it is to be sent now.
    pub(super) fn after(&mut self, stream: StreamId, number: Option<u64>) -> Vec<(String, Vec<u8>)> {
        let number = number.unwrap_or(self.sent);
        self.sent = self.next - 1;
        let after = self.kept.iter().filter(|(kept, _)| *kept > number);
        after.map(|(kept, message)| (event_id(stream, *kept), message.clone())).collect()
    }
}

/// The stream is a part of the id, so that ids are unique and tell where to go on.
fn event_id(stream: StreamId, number: u64) -> String {
    alloc::format!("{}-{number}", stream.0)
}

pub(super) fn parse_event_id(id: &str) -> Option<(StreamId, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((StreamId(stream.parse().ok()?), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept() {
        let mut log = EventLog::new(None);
        for (text, sent) in [("one", true), ("two", true), ("three", false)] {
            log.keep(StreamId(7), text.as_bytes(), 2, 100, sent);
        }
        let mut after = |number| log.after(StreamId(7), number);
        assert_eq!(after(None), [("7-3".into(), b"three".to_vec())], "what was not sent");
        assert_eq!(after(Some(0)), [("7-2".into(), b"two".to_vec()), ("7-3".into(), b"three".to_vec())]);
        assert_eq!(after(Some(2)), [("7-3".into(), b"three".to_vec())]);
        assert_eq!(after(None), []);
        log.keep(StreamId(7), &[b'x'; 200], 2, 100, true);
        assert_eq!(log.after(StreamId(7), Some(0)).len(), 1, "the newest stays");
        assert_eq!(parse_event_id("7-3"), Some((StreamId(7), 3)));
        for wrong in ["", "7", "7-", "-3", "a-b", "7-3-1"] {
            assert!(parse_event_id(wrong).is_none(), "{wrong}");
        }
    }
}
