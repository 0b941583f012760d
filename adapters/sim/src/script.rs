//! A peer whose every line is typed by the test.

use windlass::{ConnError, Instant};

use crate::party::{Closing, Log, Party, Turn};

/// A peer that says what it is told to, and remembers what it hears.
///
/// ```
/// use windlass::client::ClientConfig;
/// use windlass::model::Implementation;
/// use windlass_sim::{Sim, NetworkConditions};
///
/// let config = ClientConfig::new(Implementation::new("doc", "1"));
/// let mut sim = Sim::with_scripted_server(1, NetworkConditions::ideal(), config);
/// sim.settle();
/// assert!(sim.server.heard()[0].contains("server/discover"));
/// sim.server.say(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}"#);
/// sim.settle();
/// assert!(sim.server.heard()[1].contains("initialize"));
/// ```
#[derive(Default)]
pub struct Script {
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    heard: Vec<String>,
    answer: Option<Answer>,
    deaf: bool,
    heard_end: bool,
    closing: Option<Closing>,
}

/// What a script says to a line that it hears.
type Answer = Box<dyn FnMut(&str) -> Vec<String>>;

impl Script {
    /// A peer that says nothing by itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says a line.
    pub fn say(&mut self, line: &str) {
        self.say_bytes(line.as_bytes());
        self.say_bytes(b"\n");
    }

    /// Says bytes as they are.
    pub fn say_bytes(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
    }

    /// From now on says to every line that it hears what `answer` makes of it.
    pub fn answer_with(&mut self, answer: impl FnMut(&str) -> Vec<String> + 'static) {
        self.answer = Some(Box::new(answer));
    }

    /// Stops to read: what is written to it fills the pipe.
    pub fn stop_reading(&mut self) {
        self.deaf = true;
    }

    /// Reads again.
    pub fn resume_reading(&mut self) {
        self.deaf = false;
    }

    /// Says no more, but goes on to listen: what a client does that closes the server's input.
    pub fn end(&mut self) {
        self.closing.get_or_insert(Closing::Writing);
    }

    /// Is gone, as a process that exits.
    pub fn exit(&mut self) {
        self.closing = Some(Closing::Both);
    }

    /// The lines that it has heard; the last may lack its end, if the other side stopped inside of it.
    pub fn heard(&self) -> &[String] {
        &self.heard
    }

    /// Whether the other side has said that it is done.
    pub fn heard_end(&self) -> bool {
        self.heard_end
    }
}

impl Party for Script {
    fn set_time(&mut self, _: Instant) {}

    fn turn(&mut self, _: &mut Log<'_>) -> Turn {
        while let Some(end) = self.incoming.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.incoming.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            if let Some(answer) = &mut self.answer {
                for line in answer(&line) {
                    self.outgoing.extend_from_slice(line.as_bytes());
                    self.outgoing.push(b'\n');
                }
            }
            self.heard.push(line);
        }
        Turn { closes: self.closing.filter(|_| self.outgoing.is_empty()), ..Turn::default() }
    }

    fn unwritten(&self) -> &[u8] {
        &self.outgoing
    }

    fn wrote(&mut self, count: usize) {
        self.outgoing.drain(..count);
    }

    fn read(&mut self, bytes: &[u8]) -> usize {
        if self.deaf {
            return 0;
        }
        self.incoming.extend_from_slice(bytes);
        bytes.len()
    }

    fn read_end(&mut self) {
        self.heard_end = true;
        if !self.incoming.is_empty() {
            let rest = std::mem::take(&mut self.incoming);
            self.heard.push(String::from_utf8_lossy(&rest).into_owned());
        }
    }

    fn broke(&mut self, _: &ConnError) {
        self.heard_end = true;
    }

    fn timeout(&mut self) {}

    fn is_idle(&self) -> bool {
        // Whoever is gone has nothing to do, even if half a line had come.
        self.outgoing.is_empty() && (self.incoming.is_empty() || self.closing == Some(Closing::Both))
    }
}
