//! The recording of one wire: a head that says who spoke, then the lines of a transcript.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// How much of a string is recorded. Schemas look at the kinds of things, and tests pass megabytes.
const STRING_BYTES: usize = 256;

/// How much of a line is recorded. What is longer, with its strings cut, is no frame of ours.
const LINE_BYTES: usize = 1 << 18;

/// Which way a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
}

impl Direction {
    /// As transcripts write it.
    pub fn mark(self) -> &'static str {
        match self {
            Self::ToServer => ">",
            Self::ToClient => "<",
        }
    }
}

/// The recording of a wire.
pub struct Recording {
    path: PathBuf,
    file: File,
    /// What is not complete yet, by direction.
    unfinished: [Line; 2],
}

impl Recording {
    /// Starts a recording in a file of its own.
    pub fn start(folder: &Path, source: &str, test: &str, client: &str, server: &str) -> io::Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        loop {
            let number = STARTED.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{source}-{process}-{number}.txt").replace(' ', "_"));
            // The ids of processes come round again.
            let mut file = match OpenOptions::new().append(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let head = format!("# source: {source}\n# test: {test}\n# client: {client}\n# server: {server}\n");
            file.write_all(head.as_bytes())?;
            return Ok(Self { path, file, unfinished: Default::default() });
        }
    }

    /// Goes on with a recording, for a direction that nobody else records. Only whole lines are written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, unfinished: Default::default() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records what goes into one direction, line by line. What is never finished is no line.
    pub fn take(&mut self, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        let line = &mut self.unfinished[direction as usize];
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            line.take(&rest[..end]);
            lines.extend_from_slice(direction.mark().as_bytes());
            lines.push(b' ');
            lines.extend(line.finish());
            lines.push(b'\n');
            rest = &rest[end + 1..];
        }
        line.take(rest);
        self.file.write_all(&lines)
    }

    /// Records what was said without an end, for a reader that takes it for a line.
    pub fn end(&mut self, direction: Direction) -> io::Result<()> {
        if self.unfinished[direction as usize].length > 0 { self.take(direction, b"\n") } else { Ok(()) }
    }

    /// Records a transcript that is complete.
    pub(super) fn transcript(&mut self, transcript: &str) -> io::Result<()> {
        self.file.write_all(transcript.as_bytes())
    }
}

/// A line that is not complete yet, with its long strings cut.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    length: usize,
    place: Place,
}

#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Outside,
    /// In a string, this far.
    String(usize),
    /// Behind a backslash in a string, this far.
    Escape(usize),
    /// In the digits of an escape in a string, this far, before so many digits.
    Digits(usize, u8),
    /// In the part of a string that is left out.
    Dropped,
    DroppedEscape,
}

impl Line {
    fn take(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.kept.len() > LINE_BYTES {
                return;
            }
            if let Place::Dropped = self.place {
                let Some(next) = memchr::memchr2(b'"', b'\\', rest) else { return };
                self.place = if rest[next] == b'"' { Place::Outside } else { Place::DroppedEscape };
                if rest[next] == b'"' {
                    self.kept.push(b'"');
                }
                rest = &rest[next + 1..];
                continue;
            }
            rest = after;
            self.place = match (self.place, byte) {
                (Place::Outside, b'"') => Place::String(0),
                (Place::Outside, _) => Place::Outside,
                (Place::String(_), b'"') => Place::Outside,
                (Place::String(length), b'\\') => Place::Escape(length + 1),
                // Neither a character nor an escape nor a pair of escapes is cut in two.
                (Place::String(length), _) if length >= STRING_BYTES && begins_character(byte) => Place::Dropped,
                (Place::String(length), _) => Place::String(length + 1),
                (Place::Escape(length), b'u') => Place::Digits(length + 1, 4),
                (Place::Digits(length, left @ 2..), _) => Place::Digits(length + 1, left - 1),
                (Place::Escape(length) | Place::Digits(length, _), _) => Place::String(length + 1),
                (Place::DroppedEscape | Place::Dropped, _) => Place::Dropped,
            };
            if !matches!(self.place, Place::Dropped) {
                self.kept.push(byte);
            }
        }
    }

    fn finish(&mut self) -> Vec<u8> {
        let Self { mut kept, length, .. } = std::mem::take(self);
        if kept.len() > LINE_BYTES {
            kept.truncate(STRING_BYTES);
            kept.extend_from_slice(format!("… ({length} bytes)").as_bytes());
        }
        kept
    }
}

/// Whether a byte is not a later one of a character in UTF-8.
fn begins_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(pieces: &[&[u8]]) -> String {
        let mut line = Line::default();
        for piece in pieces {
            line.take(piece);
        }
        String::from_utf8(line.finish()).unwrap()
    }

    #[test]
    fn a_short_line_is_recorded_as_it_is_however_it_comes() {
        let text = r#"{"a":"\"\\ \ud83d\ude00 é","b":[1,"c"]}"#;
        assert_eq!(recorded(&[text.as_bytes()]), text);
        assert_eq!(recorded(&text.as_bytes().chunks(1).collect::<Vec<_>>()), text);
    }

    #[test]
    fn long_strings_are_cut_and_what_follows_is_not() {
        let text = format!(r#"{{"a":"{}\"\\é","b":1}}"#, "x".repeat(10_000));
        let expected = format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(STRING_BYTES));
        assert_eq!(recorded(&[text.as_bytes()]), expected);
        assert_eq!(recorded(&text.as_bytes().chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn a_cut_string_is_still_one() {
        for long in [r"\ud83d\ude00".repeat(1000), "é".repeat(1000), r"\\".repeat(1000), "é\\n".repeat(1000)] {
            let text = format!(r#"["{long} and so on and on", 7]"#);
            let recorded: serde_json::Value = serde_json::from_str(&recorded(&[text.as_bytes()])).unwrap();
            assert_eq!(recorded[1], 7);
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let mut line = Line::default();
        for _ in 0..1000 {
            line.take(&[b'['; 1000]);
        }
        assert!(line.kept.len() <= LINE_BYTES + 1);
        assert!(String::from_utf8(line.finish()).unwrap().ends_with("… (1000000 bytes)"));
    }
}
