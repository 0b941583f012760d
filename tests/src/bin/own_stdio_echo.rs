//! Echoes standard input to standard output, having taken both; for the tests of `OwnStdio`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use windlass_host::OwnStdio;

const BEGIN: &str = "<begin>";
const STRAY: &str = "a stray line";

fn main() {
    let OwnStdio { input, output, pump } = OwnStdio::take().unwrap();
    assert!(OwnStdio::take().is_err(), "there is only one standard input");
    assert!(!is_blocking(&input) && !is_blocking(&output));
    println!("{STRAY}");
    assert_eq!(io::stdin().read(&mut [0; 1]).unwrap(), 0, "descriptor 0 is empty");

    let (mut input, mut output) = (File::from(input), File::from(output));
    write_all(&mut output, BEGIN.as_bytes());
    let mut buffer = [0; 4096];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => write_all(&mut output, &buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(&input, PollFlags::IN),
            Err(error) => panic!("{error}"),
        }
    }
    drop(output);
    pump.finish().unwrap();
}

fn write_all(output: &mut File, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(output, PollFlags::OUT),
            Err(error) => panic!("{error}"),
        }
    }
}

fn wait(file: &File, readiness: PollFlags) {
    poll(&mut [PollFd::new(file, readiness)], None).unwrap();
}

fn is_blocking(descriptor: &OwnedFd) -> bool {
    !fcntl_getfl(descriptor).unwrap().contains(OFlags::NONBLOCK)
}
