//! A child's standard error: always read, so that a full pipe never blocks the server, and kept as a short tail for the
//! message that explains why it died.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ChildStderr;
use std::sync::{Arc, Condvar, PoisonError};
use std::thread;
use std::time::Duration;

use super::command::StderrCallback;
use crate::wait::Lock;

/// Lines kept: a stack trace fits.
pub const TAIL_LINES: usize = 64;
/// Bytes kept: a host may hold many servers, and shows this to a person.
pub const TAIL_BYTES: usize = 16 * 1024;
/// Where a line is cut in two: a server that never ends its line must not fill the memory.
pub const LINE_BYTES: usize = 4 * 1024;

/// Bytes taken from the pipe at a time.
const READ_BYTES: usize = 8 * 1024;

/// The last lines that a child wrote to its standard error. Clones show the same tail, also after the child is gone.
///
/// At most [`TAIL_LINES`] lines and [`TAIL_BYTES`] bytes are kept. A line longer than [`LINE_BYTES`] is cut into
/// several; bytes that are not UTF-8 show as `U+FFFD`.
#[derive(Clone, Debug, Default)]
pub struct StderrTail {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    kept: Lock<Kept>,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
    closed: bool,
}

impl StderrTail {
    /// The tail as it is now, oldest line first.
    pub fn lines(&self) -> Vec<String> {
        self.shared.kept.lock().lines.iter().cloned().collect()
    }

    /// The tail once every process that held the child's standard error has closed it, or after `patience`: what a
    /// child wrote just before it died may still be in the pipe when its death is noticed.
    pub fn lines_at_end(&self, patience: Duration) -> Vec<String> {
        let still_open = |kept: &mut Kept| !kept.closed;
        let (kept, _) = self
            .shared
            .closed
            .wait_timeout_while(self.shared.kept.lock(), patience, still_open)
            .unwrap_or_else(PoisonError::into_inner);
        kept.lines.iter().cloned().collect()
    }

    /// A tail to which nothing will be added.
    pub(crate) fn closed() -> Self {
        let tail = Self::default();
        tail.close();
        tail
    }

    /// Reads `stderr` to its end on a thread of its own.
    pub(crate) fn drain(stderr: ChildStderr, callback: Option<StderrCallback>) -> io::Result<Self> {
        let tail = Self::default();
        let drained = tail.clone();
        thread::Builder::new().name("windlass-stderr".into()).spawn(move || {
            // A panic cannot pass the drain, so the tail is closed in every case.
            drain(stderr, &drained, callback);
            drained.close();
        })?;
        Ok(tail)
    }

    fn push(&self, line: &str) {
        let mut kept = self.shared.kept.lock();
        kept.bytes += line.len();
        kept.lines.push_back(line.to_owned());
        while kept.lines.len() > TAIL_LINES || kept.bytes > TAIL_BYTES {
            let oldest = kept.lines.pop_front().map_or(0, |line| line.len());
            kept.bytes -= oldest;
        }
    }

    fn close(&self) {
        self.shared.kept.lock().closed = true;
        self.shared.closed.notify_all();
    }
}

fn drain(mut stderr: impl Read, tail: &StderrTail, mut callback: Option<StderrCallback>) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut give = |line: &str| {
        tail.push(line);
        let panicked = callback.as_ref().is_some_and(|call| catch_unwind(AssertUnwindSafe(|| call(line))).is_err());
        // Without the callback reading goes on: the server must not suffer for the host's mistake.
        if panicked {
            callback = None;
        }
    };
    loop {
        match stderr.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => lines.push(&buffer[..count], &mut give),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    lines.finish(&mut give);
}

/// Cuts bytes into lines of bounded length.
#[derive(Default)]
struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    fn push(&mut self, bytes: &[u8], give: &mut impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(rest) => {
                    self.extend(rest, give);
                    self.give_line(give);
                }
                None => self.extend(piece, give),
            }
        }
    }

    fn finish(mut self, give: &mut impl FnMut(&str)) {
        if !self.partial.is_empty() {
            self.give_line(give);
        }
    }

    fn extend(&mut self, bytes: &[u8], give: &mut impl FnMut(&str)) {
        self.partial.extend_from_slice(bytes);
        while self.partial.len() > LINE_BYTES {
            let rest = self.partial.split_off(character_boundary(&self.partial, LINE_BYTES));
            self.give_line(give);
            self.partial = rest;
        }
    }

    fn give_line(&mut self, give: &mut impl FnMut(&str)) {
        let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        give(&String::from_utf8_lossy(line));
        self.partial.clear();
    }
}

/// The last place at or before `limit` that does not tear a character of UTF-8, which has at most four bytes.
fn character_boundary(bytes: &[u8], limit: usize) -> usize {
    let starts_character = |&at: &usize| bytes[at] & 0b1100_0000 != 0b1000_0000;
    (limit - 3..=limit).rev().find(starts_character).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(pieces: &[&[u8]]) -> Vec<String> {
        let mut given = Vec::new();
        let mut lines = Lines::default();
        let mut give = |line: &str| given.push(line.to_owned());
        for piece in pieces {
            lines.push(piece, &mut give);
        }
        lines.finish(&mut give);
        given
    }

    #[test]
    fn lines_end_in_either_way() {
        assert_eq!(lines_of(&[b"one\ntwo\r\n\nlast"]), ["one", "two", "", "last"]);
        assert_eq!(lines_of(&[]), [] as [&str; 0]);
    }

    #[test]
    fn splitting_makes_no_difference() {
        let text = format!("a\r\n{}\nüñ\u{1f980}\n\nend", "é".repeat(LINE_BYTES)).into_bytes();
        let byte_by_byte: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(lines_of(&[&text]), lines_of(&byte_by_byte));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let text = format!("x{}", "é".repeat(LINE_BYTES));
        let lines = lines_of(&[text.as_bytes()]);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| line.len() <= LINE_BYTES));
        assert_eq!(lines.concat(), text);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole() {
        let text = "y".repeat(LINE_BYTES);
        assert_eq!(lines_of(&[format!("{text}\n").as_bytes()]), [text]);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        assert_eq!(lines_of(&[b"a\xffb\n"]), ["a\u{fffd}b"]);
        assert_eq!(lines_of(&[&[0x80; LINE_BYTES + 1]]).len(), 2);
    }

    #[test]
    fn the_tail_keeps_the_last_lines() {
        let tail = StderrTail::default();
        for number in 0..TAIL_LINES + 10 {
            tail.push(&number.to_string());
        }
        let lines = tail.lines();
        assert_eq!(lines.len(), TAIL_LINES);
        assert_eq!(lines[0], "10");
    }

    #[test]
    fn the_tail_is_bounded_in_bytes() {
        let tail = StderrTail::default();
        for _ in 0..TAIL_LINES {
            tail.push(&"z".repeat(LINE_BYTES));
        }
        assert_eq!(tail.lines().len(), TAIL_BYTES / LINE_BYTES);
    }

    #[test]
    fn a_panicking_callback_does_not_stop_the_drain() {
        let tail = StderrTail::default();
        drain(&b"one\ntwo\n"[..], &tail, Some(Arc::new(|_: &str| panic!("the host's mistake"))));
        assert_eq!(tail.lines(), ["one", "two"]);
    }

    #[test]
    fn waiting_for_the_end_ends() {
        assert_eq!(StderrTail::closed().lines_at_end(Duration::MAX), [] as [&str; 0]);
        assert_eq!(StderrTail::default().lines_at_end(Duration::ZERO), [] as [&str; 0]);
    }
}
