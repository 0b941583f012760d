//! What happened, in order: the whole of it as a hash, the readable part of it as a transcript.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use windlass::Instant;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// The side across.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    fn arrow(self) -> char {
        match self {
            Self::Client => '>',
            Self::Server => '<',
        }
    }
}

/// The record of a simulation.
///
/// In the transcript, `>` is a line from client to server, `<` one from server to client, `!` what a program saw, and
/// `@` the time when it has moved on. Where there are many connections, each has a number, which stands before its
/// lines; `+` is one that is opened, and `x` one that is closed or breaks.
#[derive(Debug)]
pub struct Trace {
    hash: Fnv,
    transcript: String,
    told: Instant,
    /// The beginnings of lines that are not complete yet.
    unfinished: BTreeMap<(Connection, Side), Vec<u8>>,
}

/// The number of a connection, where there are many.
pub(crate) type Connection = Option<u32>;

impl Default for Trace {
    fn default() -> Self {
        Self { hash: Fnv::new(), transcript: String::new(), told: Instant::ZERO, unfinished: BTreeMap::new() }
    }
}

impl Trace {
    /// A number that stands for everything that happened: the same seed gives the same.
    pub fn hash(&self) -> u64 {
        self.hash.0
    }

    /// The transcript so far.
    pub fn transcript(&self) -> &str {
        &self.transcript
    }

    /// A side wrote bytes.
    pub(crate) fn wrote(&mut self, side: Side, connection: Connection, bytes: &[u8], now: Instant) {
        self.record(b'w', side, connection, bytes, now);
        let unfinished = self.unfinished.entry((connection, side)).or_default();
        unfinished.extend_from_slice(bytes);
        // Most writes end no line, so the whole line is looked at only when one does.
        let Some(last) = bytes.iter().rposition(|&byte| byte == b'\n') else { return };
        let rest = unfinished.split_off(unfinished.len() - bytes.len() + last + 1);
        let lines = std::mem::replace(unfinished, rest);
        for line in lines[..lines.len() - 1].split(|&byte| byte == b'\n') {
            self.wire_line(side, connection, line, "", now);
        }
    }

    /// A side has nothing more to write for now. In HTTP the last line of a message has no end of its own.
    pub(crate) fn paused(&mut self, side: Side, connection: Connection, now: Instant) {
        if let Some(line) = self.unfinished.remove(&(connection, side)) {
            self.wire_line(side, connection, &line, "", now);
        }
    }

    /// A side writes no more: what it had begun is a last line.
    pub(crate) fn ended(&mut self, side: Side, connection: Connection, now: Instant) {
        self.record(b'e', side, connection, b"", now);
        if let Some(line) = self.unfinished.remove(&(connection, side)).filter(|line| !line.is_empty()) {
            self.wire_line(side, connection, &line, " (without a newline)", now);
        }
    }

    /// A connection begins, ends or breaks.
    pub(crate) fn connection(&mut self, mark: char, number: u32, what: &str, now: Instant) {
        self.record(b'c', Side::Client, Some(number), what.as_bytes(), now);
        self.line(mark, &format!("{number} {what}"), now);
    }

    /// A side was given bytes.
    pub(crate) fn read(&mut self, side: Side, connection: Connection, bytes: &[u8], now: Instant) {
        self.record(b'r', side, connection, bytes, now);
    }

    /// A side was told that its deadline has come.
    pub(crate) fn woke(&mut self, side: Side, now: Instant) {
        self.record(b't', side, None, b"", now);
    }

    /// A program saw something.
    pub(crate) fn saw(&mut self, side: Side, name: &str, what: &str, now: Instant) {
        self.record(b'!', side, None, what.as_bytes(), now);
        self.line('!', &format!("{name}: {what}"), now);
    }

    fn record(&mut self, kind: u8, side: Side, connection: Connection, bytes: &[u8], now: Instant) {
        self.hash.add(&now.as_micros().to_le_bytes());
        self.hash.add(&[kind, side as u8]);
        self.hash.add(&connection.unwrap_or_default().to_le_bytes());
        self.hash.add(&(bytes.len() as u64).to_le_bytes());
        self.hash.add(bytes);
    }

    fn wire_line(&mut self, side: Side, connection: Connection, line: &[u8], note: &str, now: Instant) {
        let Some(number) = connection else {
            return self.line(side.arrow(), &(printable(line) + note), now);
        };
        // In HTTP a return belongs to the end of a line, and empty lines say nothing to a person.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // What somebody may do nothing with but show it to the other side is not shown to whoever reads a transcript.
        let shown = line.split_inclusive(|byte| *byte == b':').next().unwrap_or_default();
        if shown.eq_ignore_ascii_case(b"authorization:") {
            return self.line(side.arrow(), &format!("{number} {} …{note}", printable(shown)), now);
        }
        if !line.is_empty() {
            self.line(side.arrow(), &format!("{number} {}{note}", printable(line)), now);
        }
    }

    fn line(&mut self, mark: char, text: &str, now: Instant) {
        if now != self.told {
            self.told = now;
            let _ = writeln!(self.transcript, "@ {:?}", Duration::from_micros(now.as_micros()));
        }
        let _ = writeln!(self.transcript, "{mark} {text}");
    }
}

/// FNV-1a with 64 bits: no keys, so no differences between runs.
#[derive(Debug)]
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// Bytes as text, with whatever cannot be seen written out.
fn printable(bytes: &[u8]) -> String {
    /// Lines beyond this are cut: nobody reads them, and limits are tested with long ones.
    const LONGEST: usize = 2000;
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\u{feff}' => text.push_str("\\u{feff}"),
                control if control.is_control() => text.extend(control.escape_default()),
                other => text.push(other),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    if text.len() > LONGEST {
        let end = (0..=80).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text = format!("{}… ({} bytes)", &text[..end], bytes.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_has_whole_lines_and_says_when_time_moves() {
        let mut trace = Trace::default();
        let later = Instant::from_micros(1_500_000);
        trace.wrote(Side::Client, None, b"{\"a\"", Instant::ZERO);
        trace.wrote(Side::Server, None, b"\xff\r\n[", Instant::ZERO);
        trace.wrote(Side::Client, None, b":1}\n", later);
        trace.saw(Side::Server, "server", "something", later);
        trace.ended(Side::Server, None, later);
        assert_eq!(
            trace.transcript(),
            "< \\xff\\r\n@ 1.5s\n> {\"a\":1}\n! server: something\n< [ (without a newline)\n"
        );
    }

    #[test]
    fn the_hash_tells_chunks_apart() {
        let hash = |chunks: &[&[u8]]| {
            let mut trace = Trace::default();
            for chunk in chunks {
                trace.read(Side::Client, None, chunk, Instant::ZERO);
            }
            trace.hash()
        };
        assert_eq!(hash(&[b"ab"]), hash(&[b"ab"]));
        assert_ne!(hash(&[b"ab"]), hash(&[b"a", b"b"]));
    }
}
