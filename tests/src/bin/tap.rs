//! `tap FOLDER SOURCE TEST CLIENT SERVER PROGRAM ARGUMENTS…` runs a server and records its standard input and output.
//!
//! The tap becomes the program, so that its id, its exit, its standard error and whatever signal it gets are its own.
//! What passes the lines on are two processes beside it, `tap --relay MARK` for each direction, which end when it does.
//!
//! `tap --http …` does the same for a server that says on its first line where it is to be reached over HTTP: the process
//! beside it is `tap --relay-http`, which says where itself is to be reached, and passes on what comes there.

use std::io::{self, BufRead as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};
use windlass_tests::wires::http::{self, HttpRecording};
use windlass_tests::wires::{self, Direction, Recording};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["--relay", mark, file] => relay(mark, file),
        ["--relay-http", file] => relay_http(file),
        ["--http", folder, source, test, client, server, program, arguments @ ..] => {
            start_http(folder, source, test, client, server)
                .and_then(|output| Err(Command::new(program).args(arguments).stdout(output).exec()))
        }
        [folder, source, test, client, server, program, arguments @ ..] => {
            start(folder, source, test, client, server).and_then(|ends| become_program(ends, program, arguments))
        }
        _ => Err(std::io::Error::other("usage: tap FOLDER SOURCE TEST CLIENT SERVER PROGRAM ARGUMENTS…")),
    };
    if let Err(error) = outcome {
        eprintln!("tap: {error}");
        std::process::exit(1);
    }
}

/// The program's ends of the pipes to the relays.
struct Ends {
    input: OwnedFd,
    output: OwnedFd,
}

/// Starts a recording, and a relay for each direction.
fn start(folder: &str, source: &str, test: &str, client: &str, server: &str) -> io::Result<Ends> {
    let recording = Recording::start(Path::new(folder), source, test, client, server)?;
    let (input, to_program) = pipe_with(PipeFlags::CLOEXEC)?;
    let (from_program, output) = pipe_with(PipeFlags::CLOEXEC)?;
    spawn(Direction::ToServer, recording.path(), Stdio::inherit(), to_program.into())?;
    spawn(Direction::ToClient, recording.path(), from_program.into(), Stdio::inherit())?;
    Ok(Ends { input, output })
}

/// Starts a recording of HTTP, and the relay that stands before the program; the program's end of the pipe to it.
fn start_http(folder: &str, source: &str, test: &str, client: &str, server: &str) -> io::Result<OwnedFd> {
    let recording = HttpRecording::start(Path::new(folder), source, test, client, server)?;
    let (from_program, output) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--relay-http").arg(recording.path()).stdin(from_program).process_group(0).spawn()?;
    Ok(output)
}

fn spawn(direction: Direction, file: &Path, input: Stdio, output: Stdio) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--relay", direction.mark()]).arg(file).stdin(input).stdout(output);
    // A standard error that somebody waits for the end of is not to be held open. And what is done to the group of
    // the program is not done to the relays: its last words are still to be passed on.
    command.stderr(Stdio::null()).process_group(0).spawn().map(drop)
}

/// Does not return if all is well.
fn become_program(ends: Ends, program: &str, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new(program);
    Err(command.args(arguments).stdin(ends.input).stdout(ends.output).exec())
}

/// Passes standard input on to standard output.
fn relay(mark: &str, file: &str) -> io::Result<()> {
    let directions = [Direction::ToServer, Direction::ToClient];
    let direction = directions.into_iter().find(|direction| direction.mark() == mark);
    let direction = direction.ok_or_else(|| io::Error::other("which direction?"))?;
    let mut recording = Recording::open(Path::new(file))?;
    wires::relay(&io::stdin(), &io::stdout(), |bytes| recording.take(direction, bytes))
}

/// Says where it is instead of the program, and passes on whatever else the program says, until that is over.
fn relay_http(file: &str) -> io::Result<()> {
    let mut program = io::BufReader::new(io::stdin());
    let mut url = String::new();
    program.read_line(&mut url)?;
    let (listener, tapped, server) = http::beside(url.trim_end())?;
    let relay = HttpRecording::open(Path::new(file))?.relay(listener, server);
    println!("{tapped}");
    io::copy(&mut program, &mut io::stdout())?;
    relay.finish();
    Ok(())
}
