//! One byte stream that carries a message per line, in both directions: its buffers, its end, its life.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::Range;
use core::time::Duration;

use crate::buffer::{Cursor, ReadBuffer};
use crate::codec::ndjson::{Frame, LineDecoder, Oversized};
use crate::json::JsonText;
use crate::jsonrpc::{Malformed, MalformedKind, Message, Parsed, parse, parse_entry, salvage};
use crate::limits::Limits;
use crate::machine::ConnId;
use crate::rpc::Outbox;
use crate::time::Instant;

/// How long the last words to a peer may take before the stream is closed regardless.
const LINGER: Duration = Duration::from_millis(500);

/// After this long, what is not needed any more is given back, so that an idle session is small.
const QUIET: Duration = Duration::from_secs(1);

/// A stream as the machines see it. Its parts are apart, so that an event may borrow from the bytes that came in while
/// everything else moves on.
pub(super) struct LineStream {
    pub(super) inbox: ReadBuffer,
    pub(super) reader: Reader,
    pub(super) life: Life,
}

/// Which stream it is, whether it is open, and for how long its buffers have been idle.
pub(super) struct Life {
    conn: ConnId,
    state: StreamState,
    quiet_at: Option<Instant>,
}

/// Where a stream is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    /// To be opened.
    Wanted,
    Open,
    /// The last words are being written.
    Closing {
        until: Instant,
    },
    /// To be closed.
    Done,
    Closed,
}

/// What a stream asks of the adapter.
pub(super) enum StreamControl {
    Open(ConnId),
    Close(ConnId),
}

/// Finds messages in the bytes that came in. It is apart from the bytes, so that a message may borrow from them while
/// the reader moves on.
pub(super) struct Reader {
    cursor: Cursor,
    decoder: LineDecoder,
    batch: Option<Box<Batch>>,
    end: End,
}

/// A batch whose entries are given out one by one. Its line is kept in the buffer until then.
struct Batch {
    line_bytes: usize,
    /// Relative to the first unread byte.
    entries: VecDeque<Range<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    /// The stream has ended; a last line without its newline may be left.
    Seen,
    Reported,
}

/// What the reader found.
pub(super) enum Incoming<'a> {
    /// A message, and how long it is.
    Message(Message<'a>, usize),
    Malformed(Malformed),
    /// The peer sends nothing more.
    End,
}

impl LineStream {
    /// A stream that the adapter is asked to open.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            inbox: ReadBuffer::default(),
            reader: Reader {
                cursor: 0,
                decoder: LineDecoder::new(limits.message_bytes),
                batch: None,
                end: End::NotYet,
            },
            life: Life { conn: ConnId(0), state: StreamState::Wanted, quiet_at: None },
        }
    }

    /// Whether `conn` is this stream, and open.
    pub(super) fn is(&self, conn: ConnId) -> bool {
        self.life.conn == conn && matches!(self.life.state, StreamState::Open | StreamState::Closing { .. })
    }

    pub(super) fn read_buf(&mut self, limits: &Limits) -> &mut [u8] {
        // The end of a stream stays readable; a driver that asks before it reads is not kept busy by it.
        if self.life.state != StreamState::Open || self.reader.end != End::NotYet {
            return &mut [];
        }
        // A line just beyond the limit must be seen to be too long.
        self.inbox.space(&mut self.reader.cursor, limits.message_bytes.saturating_add(2))
    }

    pub(super) fn read_done(&mut self, count: usize, now: Instant) {
        self.inbox.filled(count);
        self.life.quiet_at.get_or_insert(now + QUIET);
    }

    pub(super) fn read_eof(&mut self) {
        if self.reader.end == End::NotYet {
            self.reader.end = End::Seen;
        }
    }

    pub(super) fn write_done(&mut self, outbox: &mut Outbox, count: usize, now: Instant) {
        outbox.wrote(count);
        self.life.quiet_at.get_or_insert(now + QUIET);
    }

    /// Says whether it is time to give back memory.
    pub(super) fn handle_timeout(&mut self, outbox: &mut Outbox, now: Instant) -> bool {
        if matches!(self.life.state, StreamState::Closing { until } if until <= now) {
            outbox.clear();
        }
        let quiet = self.life.quiet_at.take_if(|quiet| *quiet <= now).is_some();
        if quiet {
            self.inbox.trim(&mut self.reader.cursor);
        }
        quiet
    }
}

impl Life {
    /// The stream is gone: there is nothing to flush and nothing to read.
    pub(super) fn broke(&mut self) {
        self.state = StreamState::Done;
    }

    /// Begins to close: what waits is written first.
    pub(super) fn close(&mut self, now: Instant) {
        match self.state {
            StreamState::Open => self.state = StreamState::Closing { until: now + LINGER },
            StreamState::Wanted => self.state = StreamState::Closed,
            _ => {}
        }
    }

    /// Asks for another stream in place of this one.
    #[cfg(feature = "client")]
    pub(super) fn reopen(&mut self) {
        self.conn = ConnId(self.conn.0 + 1);
        self.state = StreamState::Wanted;
    }

    /// What the adapter is to do about this stream.
    pub(super) fn control(&mut self, outbox: &Outbox) -> Option<StreamControl> {
        match self.state {
            StreamState::Wanted => {
                self.state = StreamState::Open;
                Some(StreamControl::Open(self.conn))
            }
            StreamState::Closing { .. } if outbox.len() > 0 => None,
            StreamState::Closing { .. } | StreamState::Done => {
                self.state = StreamState::Closed;
                Some(StreamControl::Close(self.conn))
            }
            StreamState::Open | StreamState::Closed => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == StreamState::Open
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state == StreamState::Closed
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.state {
            StreamState::Closing { until } => Some(until),
            StreamState::Open => self.quiet_at,
            _ => None,
        }
    }
}

impl Reader {
    /// The next message in `inbox`, or what is there instead of one.
    pub(super) fn next<'a>(&mut self, inbox: &'a ReadBuffer, limits: &Limits, batches: bool) -> Option<Incoming<'a>> {
        loop {
            let unread = inbox.unread(self.cursor);
            if let Some(entry) = self.next_entry(unread) {
                return Some(entry);
            }
            let unread = inbox.unread(self.cursor);
            let (consumed, frame) = self.decoder.next(unread);
            let line = match frame {
                Some(Frame::Line(line)) => line,
                Some(Frame::Oversized(line)) => {
                    self.cursor += consumed;
                    let detail = match line.length > limits.message_bytes as u64 {
                        true => alloc::format!("{} bytes, {} are allowed", line.length, limits.message_bytes),
                        false => alloc::format!("{} bytes, and there was no memory for them", line.length),
                    };
                    return Some(Incoming::Malformed(salvage(&line, Malformed::new(MalformedKind::TooLong, detail))));
                }
                None => {
                    self.cursor += consumed;
                    if inbox.is_starved() {
                        self.cursor += self.decoder.skip(inbox.unread(self.cursor));
                    }
                    return self.at_end(inbox, limits);
                }
            };
            match parse(&unread[line.clone()], limits) {
                Ok(Parsed::Message(message)) => {
                    self.cursor += consumed;
                    return Some(Incoming::Message(message, line.len()));
                }
                Ok(Parsed::Batch(entries)) if batches => {
                    let entries = entries.into_iter().map(|entry| range_in(unread, entry)).collect();
                    self.batch = Some(Box::new(Batch { line_bytes: consumed, entries }));
                }
                Ok(Parsed::Batch(_)) => {
                    self.cursor += consumed;
                    return Some(Incoming::Malformed(Malformed::new(MalformedKind::BatchNotAllowed, "")));
                }
                Err(malformed) if matches!(malformed.kind, MalformedKind::TooDeep | MalformedKind::TooManyValues) => {
                    // It is not read, but whoever waits for it is told.
                    self.cursor += consumed;
                    return Some(Incoming::Malformed(salvage(&Oversized::of(&unread[line]), malformed)));
                }
                Err(malformed) => {
                    self.cursor += consumed;
                    return Some(Incoming::Malformed(malformed.on_line(&unread[line])));
                }
            }
        }
    }

    fn next_entry<'a>(&mut self, unread: &'a [u8]) -> Option<Incoming<'a>> {
        let batch = self.batch.as_mut()?;
        let Some(range) = batch.entries.pop_front() else {
            self.cursor += batch.line_bytes;
            self.batch = None;
            return None;
        };
        // The entry was found to be JSON when the batch was read.
        let entry = JsonText::parse(core::str::from_utf8(unread.get(range)?).ok()?).ok()?;
        Some(match parse_entry(entry) {
            Ok(message) => Incoming::Message(message, entry.as_str().len()),
            Err(malformed) => Incoming::Malformed(malformed),
        })
    }

    /// Forgets the stream that was, for another in its place.
    #[cfg(feature = "client")]
    pub(super) fn restart(&mut self, inbox: &ReadBuffer, limits: &Limits) {
        let skipped = self.cursor + inbox.unread(self.cursor).len();
        *self =
            Self { cursor: skipped, decoder: LineDecoder::new(limits.message_bytes), batch: None, end: End::NotYet };
    }

    /// Nothing complete is left. At the end of the stream, a last line may lack its newline.
    fn at_end<'a>(&mut self, inbox: &'a ReadBuffer, limits: &Limits) -> Option<Incoming<'a>> {
        if self.end != End::Seen {
            return None;
        }
        let unread = inbox.unread(self.cursor);
        self.cursor += unread.len();
        match self.decoder.finish(unread) {
            None => {
                self.end = End::Reported;
                Some(Incoming::End)
            }
            Some(Frame::Line(line)) => match parse(&unread[line], limits) {
                Ok(Parsed::Message(message)) => Some(Incoming::Message(message, unread.len())),
                _ => Some(Incoming::Malformed(Malformed::new(MalformedKind::Truncated, ""))),
            },
            Some(Frame::Oversized(line)) => {
                Some(Incoming::Malformed(salvage(&line, Malformed::new(MalformedKind::Truncated, ""))))
            }
        }
    }
}

/// Where `entry`, which was read from `text`, lies in it.
fn range_in(text: &[u8], entry: JsonText<'_>) -> Range<usize> {
    let start = (entry.as_str().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + entry.as_str().len()
}
