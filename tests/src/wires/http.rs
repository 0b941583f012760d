//! Recording connections of HTTP: what each side says on each of them, byte for byte, in the order in which it comes. What
//! messages those are is found out by whoever reads the recording.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::{Direction, Recording, Wire, relay};

/// How much of a direction of a connection is recorded: all of it, but where a test pours out as much as it can.
pub const DIRECTION_BYTES: usize = 1 << 22;

/// The head of a recording that is not of lines but of connections.
pub const TRANSPORT: &str = "# transport: http";

/// A recording of connections. Each line is `> NUMBER TEXT` or `< NUMBER TEXT`, with the bytes as [`escaped`] text. The text
/// of a direction ends at `>. NUMBER` or `<. NUMBER`, and where there is more than is recorded, at `>… NUMBER` or
/// `<… NUMBER`.
pub struct HttpRecording {
    path: PathBuf,
    file: File,
    /// What was recorded so far.
    taken: BTreeMap<(u32, Direction), usize>,
}

impl HttpRecording {
    /// Starts a recording in a file of its own.
    pub fn start(folder: &Path, source: &str, test: &str, client: &str, server: &str) -> io::Result<Self> {
        let lines = Recording::start(folder, source, test, client, server)?;
        let mut started = Self::open(lines.path())?;
        writeln!(started.file, "{TRANSPORT}")?;
        Ok(started)
    }

    /// Goes on with a recording, for directions that nobody else records.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, taken: BTreeMap::new() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records what goes into one direction of a connection.
    pub fn take(&mut self, connection: u32, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        let taken = self.taken.entry((connection, direction)).or_default();
        let line = match *taken {
            before if before > DIRECTION_BYTES => return Ok(()),
            before if before + bytes.len() > DIRECTION_BYTES => format!("{}… {connection}\n", direction.mark()),
            _ => line(connection, direction, bytes),
        };
        *taken += bytes.len();
        self.file.write_all(line.as_bytes())
    }

    /// Records that a direction of a connection has ended.
    pub fn end(&mut self, connection: u32, direction: Direction) -> io::Result<()> {
        self.file.write_all(format!("{}. {connection}\n", direction.mark()).as_bytes())
    }

    /// Passes on what connections to a listener say to a server, on threads of its own.
    pub fn relay(self, listener: TcpListener, server: SocketAddr) -> Relay {
        let answers = Arc::<Mutex<Vec<JoinHandle<()>>>>::default();
        let relay = Relay { answers: answers.clone() };
        std::thread::spawn(move || -> io::Result<()> {
            for number in 1.. {
                let (client, _) = listener.accept()?;
                // A server that is gone is seen by the client as one that hangs up.
                let Ok(server) = TcpStream::connect(server) else { continue };
                pass(&self.path, number, Direction::ToServer, &client, &server)?;
                let answer = pass(&self.path, number, Direction::ToClient, &server, &client)?;
                answers.lock().map_err(|_| io::Error::other("a relay has panicked"))?.push(answer);
            }
            Ok(())
        });
        relay
    }
}

/// What passes on the connections of a server.
pub struct Relay {
    answers: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Relay {
    /// Waits until a server that is gone has been heard to its last word.
    pub fn finish(self) {
        let answers = self.answers.lock().map(|mut answers| std::mem::take(&mut *answers));
        for answer in answers.unwrap_or_default() {
            let _ = answer.join();
        }
    }
}

/// Passes on one direction of a connection.
fn pass(
    recording: &Path,
    number: u32,
    direction: Direction,
    from: &TcpStream,
    to: &TcpStream,
) -> io::Result<JoinHandle<()>> {
    let (from, to) = (from.try_clone()?, to.try_clone()?);
    to.set_nodelay(true)?;
    let mut recording = HttpRecording::open(recording)?;
    Ok(std::thread::spawn(move || {
        // However it ends, both sides are to see that it has.
        let _ = relay(&from, &to, |bytes| recording.take(number, direction, bytes));
        let _ = recording.end(number, direction);
        let _ = to.shutdown(Shutdown::Write);
        let _ = from.shutdown(Shutdown::Read);
    }))
}

impl Wire {
    /// The address under which a server is to be reached: its own, or where wires are recorded that of a relay on a
    /// thread of its own.
    ///
    /// # Panics
    ///
    /// If it is no address with a port.
    pub fn tapped_url(&self, url: &str) -> String {
        let Some(recording) = self.http_recording() else { return url.to_owned() };
        let (listener, tapped, server) = beside(url).unwrap_or_else(|error| panic!("{url} cannot be tapped: {error}"));
        recording.relay(listener, server);
        tapped
    }

    /// A recording of the connections of the running test, if wires are recorded.
    ///
    /// # Panics
    ///
    /// If there is no room for it.
    pub fn http_recording(&self) -> Option<HttpRecording> {
        let (client, server) = (self.client.name(), self.server.name());
        let started = HttpRecording::start(&super::folder()?, self.source, &super::test(), client, server);
        Some(started.unwrap_or_else(|error| panic!("the wire cannot be recorded: {error}")))
    }
}

/// A listener to stand before the server at a URL, its own URL, and where the server is.
pub fn beside(url: &str) -> io::Result<(TcpListener, String, SocketAddr)> {
    let wrong = || io::Error::other(format!("no address with a port is in {url}"));
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let server = authority.replace("localhost", "127.0.0.1").parse::<SocketAddr>().map_err(|_| wrong())?;
    let listener = TcpListener::bind((server.ip(), 0))?;
    let tapped = format!("http://{}{path}", listener.local_addr()?);
    Ok((listener, tapped, server))
}

/// The line of a recording for some bytes.
pub fn line(connection: u32, direction: Direction, bytes: &[u8]) -> String {
    format!("{} {connection} {}\n", direction.mark(), escaped(bytes))
}

/// Bytes as a text on one line.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b' '..=b'~' => text.push(byte as char),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text
}

/// The bytes of an escaped text; `None` if it is none.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                b'x' => {
                    let digit = |byte: u8| (byte as char).to_digit(16);
                    let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                    u8::try_from(high * 16 + low).ok()?
                }
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_on_one_line() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = escaped(&bytes);
        assert!(text.is_ascii() && !text.contains(char::is_control), "{text}");
        assert_eq!(unescaped(&text).unwrap(), bytes);
        for wrong in ["\\", "\\x1", "\\y", "\\xzz"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_tap_stands_on_the_same_address() {
        let (listener, url, server) = beside("http://127.0.0.1:9/a/b?c").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!((url, server.port()), (format!("http://127.0.0.1:{port}/a/b?c"), 9));
        assert!(beside("https://127.0.0.1:9/").is_err() && beside("http://127.0.0.1/").is_err());
    }
}
