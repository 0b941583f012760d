//! The two byte buffers of a stream: what came in and is not read yet, what goes out and is not written yet.

use alloc::vec::Vec;

/// The least room offered to a read. A small message fits; a larger one makes the buffer grow.
const MIN_READ: usize = 1024;

/// The most that the room for a read grows at a time: several times what a pipe holds on Linux.
const MAX_READ: usize = 256 * 1024;

/// The most room that is offered to the first read of a message because those before it needed so much.
const MOST_ROOM: usize = 64 * 1024;

/// A buffer of this size is not made larger for what has been read and is gone. Whoever pours out small messages would
/// otherwise be listened to for longer at a time than others can wait.
const MOST_AT_ONCE: usize = 8 * 1024;

/// How much a buffer grows that a read filled up: a long message then costs few reads and few moves.
const GROWTH: usize = 4;

/// Bytes that arrived. The adapter reads into [`space`](Self::space); the decoder reads from [`unread`](Self::unread).
///
/// Consuming moves a cursor only, so that events may borrow from the bytes until the next read.
#[derive(Default)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    end: usize,
    /// Whether the last read left no room, so that there is probably more.
    full: bool,
    /// What came since the last message was complete.
    came: usize,
    /// What the last message took: the next is probably as long, and is best read at once.
    room: usize,
}

/// Where in a [`ReadBuffer`] the next unread byte is. It lives beside the buffer, not in it: advancing it does not
/// end the borrow of an event.
pub(crate) type Cursor = usize;

impl ReadBuffer {
    /// Room to read into. Never empty unless `limit` bytes are already waiting.
    pub(crate) fn space(&mut self, cursor: &mut Cursor, limit: usize) -> &mut [u8] {
        if *cursor > 0 {
            self.bytes.copy_within(*cursor..self.end, 0);
            self.end -= *cursor;
            *cursor = 0;
        }
        let least = self.end + MIN_READ.max(self.room);
        let full = core::mem::take(&mut self.full) && self.bytes.len() < MOST_AT_ONCE;
        let wanted = if full || self.bytes.len() - self.end < MIN_READ {
            (self.bytes.len() * GROWTH).clamp(least, self.end + MAX_READ).min(limit.max(MIN_READ))
        } else {
            least.min(limit)
        };
        if wanted > self.bytes.len() {
            self.bytes.resize(wanted, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// The adapter has read `count` bytes into [`space`](Self::space).
    pub(crate) fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
        self.full = self.end == self.bytes.len();
        self.came += count;
    }

    /// A message is complete.
    pub(crate) fn message_done(&mut self) {
        // A read that leaves room is known to have read all there was, so there is some to leave.
        self.room = (self.came + 1).next_multiple_of(MIN_READ).min(MOST_ROOM);
        self.came = 0;
    }

    /// The bytes from `cursor` on.
    pub(crate) fn unread(&self, cursor: Cursor) -> &[u8] {
        self.bytes.get(cursor..self.end).unwrap_or_default()
    }

    /// The memory that it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives memory back if nothing waits in the buffer.
    pub(crate) fn trim(&mut self, cursor: &mut Cursor) {
        if *cursor == self.end {
            *self = Self { came: self.came, room: self.room, ..Self::default() };
            *cursor = 0;
        }
    }
}

/// Bytes to write, in order. Frames are appended at the end; the adapter takes from the front.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    /// What to write next; empty if nothing is.
    pub(crate) fn unwritten(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// The memory that it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The adapter has written `count` bytes.
    pub(crate) fn wrote(&mut self, count: usize) {
        self.written = (self.written + count).min(self.bytes.len());
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
        }
    }

    /// The end of the queue, to append a frame to. What lies before `len()` of it must not be touched.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        // A reader that never catches up completely would otherwise let the written part grow for ever.
        if self.written > MAX_READ && self.written > self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        &mut self.bytes
    }

    /// Drops everything that was not written, for a stream that is gone.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Gives memory back if nothing waits.
    pub(crate) fn trim(&mut self) {
        if self.len() == 0 {
            self.clear();
        }
    }
}
