//! A client on a byte stream, with a server and a program that do anything at any time: every call ends once, nothing is
//! left behind, and whatever the client says is a message.
//!
//! The first byte of the tape configures the client. Beside the letters of a client's program, `L` is a line that the server
//! says, `B` bytes that need not be one; `W` a message out of a table, whose first number says which and whose second one is
//! its id, that of the client's last request if there is none; `E` and `F` end and break the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass::client::{ClientEvent, Update};
use windlass::jsonrpc::{Id, Message, Parsed, parse};
use windlass::link::stdio::StdioClient;
use windlass::{ConnId, Instant, Limits};
use windlass_fuzz::client::{Client, Inhabited, Program, config, finish, play};
use windlass_fuzz::rig::{Bounds, Rig, World};
use windlass_fuzz::tape::steps;

const LETTERS: &[u8] = b"CSXNRIQTJKDZWWWWLBEF";

fuzz_target!(|tape: &[u8]| {
    let Some((&choice, tape)) = tape.split_first() else { return };
    let config = config(choice);
    let bounds = Bounds {
        read: config.limits.message_bytes + 2,
        // What is beyond the limit is noticed with the next look.
        write: config.limits.outbox_hard_bytes + 16 * 1024,
        streams: 1,
    };
    let mut rig = Rig::new(StdioClient::new(config, Instant::ZERO).into(), bounds);
    let mut world = Server { program: Program::new(forgets), line: Vec::new(), last: 0 };
    rig.settle(&mut world);
    for step in steps(tape, LETTERS) {
        let conn = rig.pick(0);
        match (step.letter, conn) {
            (b'L', Some(conn)) => rig.feed(conn, &[step.text, b"\n"].concat(), &mut world),
            (b'B', Some(conn)) => rig.feed(conn, step.text, &mut world),
            (b'W', Some(conn)) => {
                let (which, rest) = step.split();
                let id = match rest {
                    [] => world.last,
                    [digit, ..] => i64::from(digit & 15),
                };
                let word = WORDS[which as usize % WORDS.len()].replace("{id}", &id.to_string());
                rig.feed(conn, (word + "\n").as_bytes(), &mut world);
            }
            (b'E', Some(conn)) => rig.end(conn, &mut world),
            (b'F', Some(conn)) => rig.fail(conn, &mut world),
            _ => play(&step, &mut rig, &mut world),
        }
    }
    finish(rig, world);
});

/// What a server might say.
const WORDS: [&str; 24] = [
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}},"ttlMs":5000,"cacheScope":"private"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28","2025-11-25"]}}}"#,
    r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"complete","content":[],"ttlMs":1000}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"c"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"input_required","requestState":"s"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"strange"}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":7}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":"{id}","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":{id},"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{id}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{id},"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{id},"progress":2.5}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":{id}}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":{id}}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///0"}}"#,
    r#"[{"jsonrpc":"2.0","id":{id},"result":{}},{"jsonrpc":"2.0","id":{id},"method":"ping"}]"#,
    r#"{"jsonrpc":"2.0","id":{id},"result":{}}"#,
];

/// A server that listens to what it is told.
struct Server {
    program: Program,
    /// What is written of a line.
    line: Vec<u8>,
    /// The id of the last request.
    last: i64,
}

impl World<Client> for Server {
    fn told(&mut self, event: ClientEvent<'_, u32>) -> bool {
        self.program.told(event)
    }

    fn act(&mut self, _: &mut Client, _: Instant) {}

    fn opened(&mut self, _: ConnId) -> bool {
        self.line.clear();
        true
    }

    fn wrote(&mut self, _: ConnId, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let message = parse(&line, &Limits::default());
            let Ok(Parsed::Message(message)) = message else { panic!("the client said {message:?}") };
            if let Message::Request { id: Id::Number(id), .. } = message {
                assert!(id > self.last, "no id is used twice");
                self.last = id;
            }
        }
    }

    fn closed(&mut self, _: ConnId) {}
}

impl Inhabited for Server {
    fn program(&mut self) -> &mut Program {
        &mut self.program
    }
}

/// The planted bug: progress of the third call makes the program forget it, if another one was cancelled before.
fn forgets(program: &Program, token: u32, update: &Update<'_>) -> bool {
    if let Update::Progress(_) = update {
        if token == 3 && program.cancelled > 0 {
            return true;
        }
    }
    false
}
