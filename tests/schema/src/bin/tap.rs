//! `tap MARK FILE`: passes lines on from standard input to standard output, and writes each into a transcript first,
//! so that what a line causes comes after it there.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, mark, file] = words.as_slice() else {
        return Err(io::Error::other("usage: tap MARK FILE"));
    };
    let mut transcript = OpenOptions::new().create(true).append(true).open(file)?;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        // One write for one line: the tap of the other direction appends to the same file.
        transcript.write_all(&[mark.as_bytes(), b" ", &line].concat())?;
        output.write_all(&line)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
