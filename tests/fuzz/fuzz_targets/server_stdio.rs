//! A server on a byte stream, with a client and handlers that do anything at any time: no request is answered twice, every
//! call ends once, nothing is left behind, and whatever the server says is a message.
//!
//! The first byte of the tape configures the server. Beside the letters of a server's program, `L` is a line that the client
//! says, `B` bytes that need not be one; `W` a message out of a table, whose first number says which and whose second one is
//! its id, that of the server's last request if there is none; `E` and `F` end and break the stream.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use windlass::codec::ndjson::{Frame, LineDecoder};
use windlass::jsonrpc::{Id, MalformedKind, Message, Parsed, parse, parse_entry};
use windlass::link::stdio::StdioServer;
use windlass::server::ServerEvent;
use windlass::{ConnId, Instant, Limits, Seed};
use windlass_fuzz::canary;
use windlass_fuzz::rig::{Bounds, Rig, World};
use windlass_fuzz::server::{
    Handler, Inhabited, Program, Server, config, finish, play, quieten, registry, state_of, word,
};
use windlass_fuzz::tape::steps;

const LETTERS: &[u8] = b"RPVUACXIQTJKDZWWWWLBEF";

fuzz_target!(|tape: &[u8]| {
    let Some((&choice, tape)) = tape.split_first() else { return };
    let config = config(choice);
    let limits = config.limits.clone();
    let bounds = Bounds { read: limits.message_bytes + 2, write: limits.outbox_hard_bytes + 16 * 1024, streams: 1 };
    let server = StdioServer::new(config, registry(), &Seed::from_number(u64::from(choice)), Instant::ZERO);
    let mut rig = Rig::new(server.into(), bounds);
    let mut world = Client {
        program: Program::default(),
        heard: Heard::new(limits),
        line: Vec::new(),
        last: 0,
        state: String::new(),
    };
    rig.settle(&mut world);
    for step in steps(tape, LETTERS) {
        match (step.letter, rig.pick(0)) {
            (b'L', Some(conn)) => say(&mut rig, &mut world, conn, &[step.text, b"\n"].concat()),
            (b'B', Some(conn)) => say(&mut rig, &mut world, conn, step.text),
            (b'W', Some(conn)) => {
                let (which, rest) = step.split();
                let id = match rest {
                    [] => world.last,
                    [digit, ..] => i64::from(digit & 7),
                };
                let word = word(which, id, &world.state);
                say(&mut rig, &mut world, conn, (word + "\n").as_bytes());
            }
            (b'E', Some(conn)) => {
                world.heard.end();
                rig.end(conn, &mut world);
            }
            (b'F', Some(conn)) => rig.fail(conn, &mut world),
            _ => play(&step, &mut rig, &mut world),
        }
    }
    quieten(&mut rig, &mut world);
    finish(rig, world);
});

fn say(rig: &mut Rig<Server>, world: &mut Client, conn: ConnId, bytes: &[u8]) {
    for piece in bytes.chunks(512) {
        rig.feed(conn, piece, world);
    }
}

/// A client that listens to what it is told.
struct Client {
    program: Program,
    heard: Heard,
    /// What is written of a line.
    line: Vec<u8>,
    /// The id of the server's last request.
    last: i64,
    /// The state that the server's last answer wants back.
    state: String,
}

/// What the server was asked, by our own reading.
struct Heard {
    decoder: LineDecoder,
    unread: Vec<u8>,
    limits: Limits,
    /// How often each id was asked under and not answered.
    open: BTreeMap<Id, u32>,
    /// Whether all of it was understood. What is too long or too deep is answered by a guess at its id.
    certain: bool,
}

impl Heard {
    fn new(limits: Limits) -> Self {
        let decoder = LineDecoder::new(limits.message_bytes);
        Self { decoder, unread: Vec::new(), limits, open: BTreeMap::new(), certain: true }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        loop {
            let (consumed, frame) = self.decoder.next(&self.unread);
            let unread: Vec<u8> = self.unread.drain(..consumed).collect();
            match frame {
                None => return,
                Some(Frame::Line(range)) => self.line(&unread[range]),
                Some(Frame::Oversized(_)) => self.certain = false,
            }
        }
    }

    /// A last line may have no end.
    fn end(&mut self) {
        let unread = std::mem::take(&mut self.unread);
        match self.decoder.finish(&unread) {
            None => {}
            Some(Frame::Line(range)) => self.line(&unread[range]),
            Some(Frame::Oversized(_)) => self.certain = false,
        }
    }

    fn line(&mut self, line: &[u8]) {
        let limits = self.limits.clone();
        let mut ask = |id: Option<Id>| id.into_iter().for_each(|id| *self.open.entry(id).or_default() += 1);
        match parse(line, &limits) {
            Ok(Parsed::Message(message)) => ask(asked(message)),
            Ok(Parsed::Batch(entries)) => {
                for entry in entries {
                    match parse_entry(entry) {
                        Ok(message) => ask(asked(message)),
                        Err(malformed) => ask(malformed.id),
                    }
                }
            }
            Err(malformed) => {
                self.certain &= malformed.kind != MalformedKind::TooDeep;
                if let Some(id) = malformed.id {
                    *self.open.entry(id).or_default() += 1;
                }
            }
        }
    }

    fn answered(&mut self, id: Id) {
        if self.certain {
            let open = self.open.get_mut(&id).filter(|open| **open > 0);
            *open.unwrap_or_else(|| panic!("{id} is answered, and was not asked")) -= 1;
        }
    }
}

fn asked(message: Message<'_>) -> Option<Id> {
    match message {
        Message::Request { id, .. } => Some(id),
        _ => None,
    }
}

impl World<Server> for Client {
    fn told(&mut self, event: ServerEvent<'_, u32, Handler>) -> bool {
        self.program.told(event)
    }

    fn act(&mut self, server: &mut Server, now: Instant) {
        self.program.act(server, now);
    }

    fn opened(&mut self, _: ConnId) -> bool {
        true
    }

    fn comes(&mut self, _: ConnId, bytes: &[u8]) {
        self.heard.take(bytes);
    }

    fn wrote(&mut self, _: ConnId, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match parse(&line, &Limits::default()) {
                Ok(Parsed::Message(Message::Request { id: Id::Number(id), .. })) => {
                    assert!(id > self.last, "no id is used twice");
                    self.last = id;
                }
                Ok(Parsed::Message(Message::Response { id: Some(id), outcome })) => {
                    if let Some(state) = outcome.as_ref().ok().and_then(|result| state_of(result.as_str())) {
                        self.state = state;
                    }
                    // The planted bug: a failure is heard twice, if a handler that asked was answered and something was
                    // cancelled before.
                    if canary() && outcome.is_err() && self.program.rounds > 1 && self.program.cancelled > 1 {
                        self.heard.answered(id.clone());
                    }
                    self.heard.answered(id);
                }
                Ok(Parsed::Message(_)) => {}
                other => panic!("the server said {other:?}"),
            }
        }
    }

    fn closed(&mut self, _: ConnId) {}
}

impl Inhabited for Client {
    fn program(&mut self) -> &mut Program {
        &mut self.program
    }
}
