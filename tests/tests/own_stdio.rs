//! Our own standard input and output, in a process of its own: taking them is for good.

#![cfg(unix)]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;

use rustix::fs::{OFlags, fcntl_getfl};

/// What the server writes before its echo.
const BEGIN: &str = "<begin>";
const STRAY: &str = "a stray line";
/// More than any pipe or socket holds, so that both sides have to wait for each other.
const INPUT_BYTES: usize = 1_000_000;

fn echo_server() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own_stdio_echo"));
    command.stderr(Stdio::piped());
    command
}

fn input() -> Vec<u8> {
    (0..INPUT_BYTES).map(|index| b'a' + u8::try_from(index % 23).unwrap()).collect()
}

fn assert_echoed(output: &[u8], errors: &[u8]) {
    let echoed = output.strip_prefix(BEGIN.as_bytes()).expect("nothing comes before the beginning");
    assert!(echoed == input(), "the echo differs");
    let printed = String::from_utf8_lossy(errors);
    assert!(printed.contains(STRAY), "standard error has: {printed}");
}

fn is_blocking(descriptor: &OwnedFd) -> bool {
    !fcntl_getfl(descriptor).unwrap().contains(OFlags::NONBLOCK)
}

#[test]
fn pipes_keep_the_flags_that_the_parent_shares() {
    let (their_input, our_input) = rustix::pipe::pipe().unwrap();
    let (our_output, their_output) = rustix::pipe::pipe().unwrap();
    for end in [&our_input, &our_output] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC).unwrap();
    }
    let shared = [their_input.try_clone().unwrap(), their_output.try_clone().unwrap()];
    let mut server = echo_server().stdin(their_input).stdout(their_output).spawn().unwrap();

    let writer = thread::spawn(move || File::from(our_input).write_all(&input()).unwrap());
    let mut output = File::from(our_output);
    let mut echoed = vec![0; BEGIN.len() + INPUT_BYTES];
    output.read_exact(&mut echoed).unwrap();
    // While the server lives: it uses them in non-blocking mode, and we do not.
    assert!(shared.iter().all(is_blocking));
    drop(shared);
    output.read_to_end(&mut echoed).unwrap();
    writer.join().unwrap();

    let mut errors = Vec::new();
    server.stderr.take().unwrap().read_to_end(&mut errors).unwrap();
    assert!(server.wait().unwrap().success());
    assert_echoed(&echoed, &errors);
}

#[test]
fn files_are_pumped_to_their_end() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(directory.join("own-stdio-input"), input()).unwrap();
    let source = File::open(directory.join("own-stdio-input")).unwrap();
    let mut sink = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(directory.join("own-stdio-output"))
        .unwrap();
    let server = echo_server().stdin(source).stdout(sink.try_clone().unwrap()).output().unwrap();
    assert!(server.status.success(), "{server:?}");

    let mut echoed = Vec::new();
    sink.rewind().unwrap();
    sink.read_to_end(&mut echoed).unwrap();
    assert_echoed(&echoed, &server.stderr);
}

#[test]
fn a_socket_that_the_parent_made_non_blocking_is_pumped() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let their_output = OwnedFd::from(theirs.try_clone().unwrap());
    let mut server = echo_server().stdin(OwnedFd::from(theirs)).stdout(their_output).spawn().unwrap();

    let mut to_server = ours.try_clone().unwrap();
    let writer = thread::spawn(move || {
        to_server.write_all(&input()).unwrap();
        to_server.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut echoed = Vec::new();
    (&ours).read_to_end(&mut echoed).unwrap();
    writer.join().unwrap();

    let mut errors = Vec::new();
    server.stderr.take().unwrap().read_to_end(&mut errors).unwrap();
    assert!(server.wait().unwrap().success());
    assert_echoed(&echoed, &errors);
}
