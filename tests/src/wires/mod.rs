//! Recording what the tests put on a wire, so that it can be held against the official schemas.
//!
//! Where the environment names a folder in [`FOLDER`], every wire of every test leaves a recording there: who spoke on
//! it, and each line in both directions, or over [HTTP](http) what is said on each connection. Without it nothing is
//! recorded, and nothing stands between the peers.

pub mod http;
mod recording;
mod relay;

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{Shutdown, shutdown};

pub use recording::{Direction, Recording};
pub use relay::relay;

/// The variable that names the folder for the recordings, by an absolute path.
pub const FOLDER: &str = "WINDLASS_WIRES";

/// Who speaks on one side of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A machine of ours. Each of its frames must be valid.
    Ours,
    /// Somebody else's implementation. What is wrong with its frames is told, and is none of our business.
    Foreign,
    /// A text of the test, which may be wrong on purpose.
    Raw,
}

impl Speaker {
    /// As recordings write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Foreign => "foreign",
            Self::Raw => "raw",
        }
    }
}

/// A kind of wire that some tests have.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Which tests these are.
    pub source: &'static str,
    /// Who speaks as the client.
    pub client: Speaker,
    /// Who speaks as the server.
    pub server: Speaker,
}

impl Wire {
    /// The words that start a program on such a wire. Where wires are recorded, those of the program `tap` come first,
    /// which lies beside any other program of ours.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn tapped(&self, words: &[&str], beside: &str) -> Vec<String> {
        let mut tapped = Vec::new();
        if let Some(folder) = folder() {
            let tap = Path::new(beside).with_file_name("tap");
            assert!(tap.exists(), "{} is not built: cargo build -p windlass-tests", tap.display());
            tapped.extend([text(&tap), text(&folder), self.source.to_owned(), test()]);
            tapped.extend([self.client.name().to_owned(), self.server.name().to_owned()]);
        }
        tapped.extend(words.iter().map(|&word| word.to_owned()));
        tapped
    }

    /// Two streams that are the ends of such a wire, the client's first.
    pub fn pair(&self) -> io::Result<(UnixStream, UnixStream)> {
        let (client, server) = UnixStream::pair()?;
        let Some(recording) = self.recording() else { return Ok((client, server)) };
        let (relay, beyond) = UnixStream::pair()?;
        relay_both(&recording, &server.into(), &relay.into())?;
        Ok((client, beyond))
    }

    /// The same as connections over the network of this machine.
    pub fn tcp_pair(&self) -> io::Result<(TcpStream, TcpStream)> {
        let (client, server) = connected()?;
        let Some(recording) = self.recording() else { return Ok((client, server)) };
        let (relay, beyond) = connected()?;
        relay_both(&recording, &server.into(), &relay.into())?;
        Ok((client, beyond))
    }

    /// Records a wire that was there in a simulation only.
    ///
    /// # Panics
    ///
    /// If there is no room for it.
    pub fn simulated(&self, transcript: &str) {
        if let Some(mut recording) = self.recording() {
            let written = recording.transcript(transcript);
            assert!(written.is_ok(), "the wire cannot be recorded: {written:?}");
        }
    }

    /// A recording of the running test, if wires are recorded.
    ///
    /// # Panics
    ///
    /// If there is no room for it.
    pub fn recording(&self) -> Option<Recording> {
        let started = Recording::start(&folder()?, self.source, &test(), self.client.name(), self.server.name());
        Some(started.unwrap_or_else(|error| panic!("the wire cannot be recorded: {error}")))
    }
}

fn connected() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    Ok((client, listener.accept()?.0))
}

/// Passes on what two sockets say, on threads of their own, for as long as they do.
fn relay_both(recording: &Recording, client: &OwnedFd, server: &OwnedFd) -> io::Result<()> {
    for (direction, from, to) in [(Direction::ToServer, client, server), (Direction::ToClient, server, client)] {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        let mut recording = Recording::open(recording.path())?;
        std::thread::spawn(move || {
            // However it ends, both sides are to see that it has.
            let _ = relay(&from, &to, |bytes| recording.take(direction, bytes));
            let _ = shutdown(&to, Shutdown::Write);
            let _ = shutdown(&from, Shutdown::Read);
        });
    }
    Ok(())
}

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from)?;
    // Every test program has a working directory of its own.
    assert!(folder.is_absolute(), "{FOLDER} is not an absolute path: {}", folder.display());
    Some(folder)
}

/// The name of the running test, which is that of its thread. Threads that a test starts have none.
fn test() -> String {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str).unwrap_or_default();
    // Cargo adds a hash.
    let program = program.rsplit_once('-').map_or(program, |(name, _)| name);
    format!("{program} {}", std::thread::current().name().unwrap_or("(a thread of its own)"))
}

fn text(path: &Path) -> String {
    path.to_str().unwrap_or_else(|| panic!("{} is no text", path.display())).to_owned()
}
