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
    /// Whether there was no memory for more.
    starved: bool,
    /// What came since the last message was complete.
    came: usize,
    /// What the last message took: the next is probably as long, and is best read at once.
    room: usize,
}

/// Where in a [`ReadBuffer`] the next unread byte is. It lives beside the buffer, not in it: advancing it does not
/// end the borrow of an event.
pub(crate) type Cursor = usize;

impl ReadBuffer {
    /// Room to read into. Never empty unless `limit` bytes are already waiting, or there is no memory for more.
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
        // What there was no memory for last time says nothing about this time.
        let more = wanted.saturating_sub(self.bytes.len());
        self.starved = more > 0 && self.bytes.try_reserve_exact(more).is_err();
        if more > 0 && !self.starved {
            self.bytes.resize(wanted, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Whether there was no memory for what comes next, so that what has come will never be whole.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved && self.end == self.bytes.len()
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
    #[cfg(feature = "server")]
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
pub(crate) struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl WriteBuffer {
    /// What to write next; empty if nothing is.
    pub(crate) fn unwritten(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// What stands at a place that [`tail`](Self::tail) had, as long as nothing was written or appended since.
    pub(crate) fn get(&self, place: core::ops::Range<usize>) -> &[u8] {
        self.bytes.get(place).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_never_catches_up_does_not_let_the_written_part_grow() {
        let mut outbox = WriteBuffer::default();
        let (mut sent, mut taken) = (0_u32, 0_u32);
        for _ in 0..10_000 {
            // A hundred numbers at a time, of which ten always stay behind.
            for _ in 0..100 {
                outbox.tail().extend_from_slice(&sent.to_le_bytes());
                sent += 1;
            }
            let count = outbox.len() - 40;
            for number in outbox.unwritten()[..count].chunks_exact(4) {
                assert_eq!(number, taken.to_le_bytes(), "in order and nothing lost");
                taken += 1;
            }
            outbox.wrote(count);
            assert_eq!(outbox.len(), 40);
            assert_eq!(outbox.unwritten().len(), 40);
        }
        assert!(outbox.bytes.len() <= MAX_READ + 1024, "{}", outbox.bytes.len());
        assert!(outbox.written > 1024, "moving what waits each time would cost more than it saves");
        outbox.wrote(40);
        assert_eq!((outbox.len(), outbox.bytes.len(), outbox.written), (0, 0, 0));
    }

    #[test]
    fn what_waits_is_not_moved_while_it_is_most_of_the_buffer() {
        let mut outbox = WriteBuffer::default();
        outbox.tail().resize(4 * MAX_READ, 7);
        outbox.wrote(MAX_READ + 1);
        outbox.tail();
        assert_eq!(outbox.written, MAX_READ + 1);
        outbox.wrote(MAX_READ);
        outbox.tail();
        assert_eq!((outbox.written, outbox.len()), (0, 2 * MAX_READ - 1));
        outbox.trim();
        assert_eq!(outbox.len(), 2 * MAX_READ - 1, "what waits is not dropped");
        outbox.clear();
        assert_eq!(outbox.bytes.capacity(), 0);
    }

    #[test]
    fn room_for_a_read_grows_with_what_comes_up_to_a_limit() {
        let (mut buffer, mut cursor) = (ReadBuffer::default(), 0);
        assert_eq!(buffer.space(&mut cursor, usize::MAX).len(), MIN_READ);
        // A read that leaves room is met with as much again.
        buffer.filled(MIN_READ - 1);
        cursor = MIN_READ - 1;
        assert_eq!(buffer.space(&mut cursor, usize::MAX).len(), MIN_READ);
        assert_eq!(cursor, 0, "what was read is gone");
        // One that leaves none has more behind it, whether or not what it brought is taken at once.
        let (mut filled, mut taken) = (ReadBuffer::default(), 0);
        filled.space(&mut taken, usize::MAX);
        filled.filled(MIN_READ);
        taken = MIN_READ;
        assert_eq!(filled.space(&mut taken, usize::MAX).len(), 4 * MIN_READ);
        buffer.filled(MIN_READ);
        assert_eq!(buffer.space(&mut cursor, usize::MAX).len(), 3 * MIN_READ);
        buffer.filled(3 * MIN_READ);
        assert_eq!(buffer.space(&mut cursor, usize::MAX).len(), 12 * MIN_READ);
        assert_eq!(buffer.unread(0).len(), 4 * MIN_READ);
        // A limit is a limit, but there is always room for a read until it is reached.
        buffer.filled(12 * MIN_READ);
        assert_eq!(buffer.space(&mut cursor, 20 * MIN_READ).len(), 4 * MIN_READ);
        buffer.filled(4 * MIN_READ);
        assert_eq!(buffer.space(&mut cursor, 20 * MIN_READ).len(), 0);
        // A message of the same length is read at once next time.
        buffer.message_done();
        cursor = 20 * MIN_READ;
        buffer.trim(&mut cursor);
        assert_eq!((cursor, buffer.bytes.len()), (0, 0));
        assert_eq!(buffer.space(&mut cursor, usize::MAX).len(), 21 * MIN_READ);
    }

    #[test]
    fn room_grows_by_so_much_at_a_time_and_what_waits_is_not_given_back() {
        let (mut buffer, mut cursor) = (ReadBuffer::default(), 0);
        let mut total = 0;
        loop {
            let room = buffer.space(&mut cursor, usize::MAX).len();
            assert!(room <= MAX_READ);
            buffer.filled(room);
            total += room;
            if total > 3 * MAX_READ {
                break;
            }
        }
        assert_eq!(buffer.unread(0).len(), total);
        cursor = total - 1;
        buffer.trim(&mut cursor);
        assert_eq!((buffer.unread(cursor).len(), cursor), (1, total - 1), "a byte waits");
        // However long a message was, the first read of the next has so much room and no more.
        buffer.message_done();
        cursor = total;
        buffer.trim(&mut cursor);
        assert_eq!(buffer.space(&mut cursor, usize::MAX).len(), MOST_ROOM);
    }
}
