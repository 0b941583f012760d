//! However the bytes are cut up, the machines see the same and say the same.

mod common;

use quickcheck::{Arbitrary, Gen, QuickCheck};
use windlass::client::{CallOptions, ClientEvent};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallTool, CallToolResult};
use windlass::server::{Registry, ServerConfig, ServerEvent};
use windlass::{Instant, Machine, Output, Seed};
use windlass_tests::wires::{Direction, Recording, Speaker, Wire};

use common::{META, client_config, legacy_config, server_config};

/// Small enough for some of the lines below to be too long.
const MESSAGE_BYTES: usize = 400;

/// Lines that a server may hear: right ones, wrong ones, and no ones at all.
fn to_server(g: &mut Gen) -> Vec<u8> {
    let id = *g.choose(&[0_i64, 1, 2, 3, -7]).unwrap();
    let text = match u8::arbitrary(g) % 24 {
        0 | 1 => common::initialize(g.choose(&["2025-03-26", "2025-06-18", "2025-11-25", "x"]).unwrap()),
        2 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"now"}}}}"#),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"later"}}}}"#),
        7 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"now",{META}}}}}"#),
        8 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"later",{META}}}}}"#),
        9 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        10 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{}},{META}}}}}"#
        ),
        other => return anything(g, other),
    };
    framed(g, text.into_bytes())
}

/// Lines that a client may hear.
fn to_client(g: &mut Gen) -> Vec<u8> {
    let id = *g.choose(&[1_i64, 2, 3, 4, 99]).unwrap();
    let text = match u8::arbitrary(g) % 24 {
        0 | 1 => common::initialize_answer(1, g.choose(&["2025-03-26", "2025-06-18", "2025-11-25", "x"]).unwrap()),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"\u00e9"}}}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#),
        6 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ),
        7 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        8 => r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.into(),
        9 => r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#
            .into(),
        10 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#),
        other => return anything(g, other),
    };
    framed(g, text.into_bytes())
}

/// Lines that nobody should say.
fn anything(g: &mut Gen, which: u8) -> Vec<u8> {
    let long = "x".repeat(usize::arbitrary(g) % 3 + MESSAGE_BYTES - 1);
    let text = match which {
        11 => Vec::new(),
        12 => b"  \t ".to_vec(),
        13 => b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec(),
        14 => long.into_bytes(),
        15 => format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"x":"{long}"}}}}"#).into_bytes(),
        16 => format!(r#"{{"jsonrpc":"2.0","id":2,"method":"ping","params":{{"x":"{long}"}}}}"#).into_bytes(),
        17 => br#"[{"jsonrpc":"2.0","id":5,"method":"ping"},7,{"jsonrpc":"2.0","id":2,"result":{}}]"#.to_vec(),
        18 => b"[]".to_vec(),
        19 => {
            format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"x":{}{}}}}}"#, "[".repeat(30), "]".repeat(30)).into_bytes()
        }
        20 => br#"{"jsonrpc":"2.0","id":1,"method":"#.to_vec(),
        21 => br#"{"jsonrpc":"2.0","id":2,"result":7}"#.to_vec(),
        _ => Vec::<u8>::arbitrary(g),
    };
    framed(g, text)
}

fn framed(g: &mut Gen, mut line: Vec<u8>) -> Vec<u8> {
    let end: &[u8] = match u8::arbitrary(g) % 16 {
        0 => b"\r\n",
        1 => b" \n\n",
        2 => b"",
        _ => b"\n",
    };
    line.extend_from_slice(end);
    line
}

/// What one side hears, and where it is cut.
#[derive(Clone, Debug)]
struct Heard<const SERVER: bool> {
    bytes: Vec<u8>,
    cuts: Vec<usize>,
}

impl<const SERVER: bool> Arbitrary for Heard<SERVER> {
    fn arbitrary(g: &mut Gen) -> Self {
        let count = usize::arbitrary(g) % 20;
        let bytes = (0..count).flat_map(|_| if SERVER { to_server(g) } else { to_client(g) }).collect();
        Self { bytes, cuts: Vec::arbitrary(g) }
    }
}

impl<const SERVER: bool> Heard<SERVER> {
    fn whole(&self) -> Vec<&[u8]> {
        vec![&self.bytes]
    }

    fn bytewise(&self) -> Vec<&[u8]> {
        self.bytes.chunks(1).collect()
    }

    fn cut(&self) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let mut rest = &self.bytes[..];
        for cut in &self.cuts {
            let (piece, after) = rest.split_at(cut % 97 % (rest.len() + 1));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        pieces
    }
}

/// What a machine made of its input: every event as text, and every byte that it wrote. Streams are opened and closed
/// in the same order too, but when one is closed depends on how soon the last words are written.
#[derive(Debug, PartialEq)]
struct Made {
    events: Vec<String>,
    streams: Vec<String>,
    written: Vec<u8>,
}

fn server_hears(chunks: &[&[u8]]) -> Made {
    let mut config: ServerConfig = server_config();
    config.limits.message_bytes = MESSAGE_BYTES;
    config.limits.nesting = 20;
    let mut registry = Registry::new();
    registry.add_tool(windlass::model::Tool::without_arguments("now"), "now");
    registry.add_tool(windlass::model::Tool::without_arguments("later"), "later");
    let now = Instant::ZERO;
    let mut machine: StdioServer<u64, &str> = StdioServer::new(config, registry, &Seed::from_number(1), now);
    let mut held = Vec::new();
    let mut answer = |machine: &mut StdioServer<u64, &'static str>, made: &mut Made| {
        loop {
            let (reply, handler) = match machine.poll() {
                Output::Event(ServerEvent::Invoke { reply, handler, invocation }) => {
                    made.events.push(format!("invoke {:?} {:?}", invocation.request, invocation.caller.version));
                    (reply, handler)
                }
                Output::Event(event) => {
                    made.events.push(format!("{event:?}"));
                    continue;
                }
                Output::Idle { .. } => return,
                other => {
                    made.streams.push(format!("{other:?}"));
                    continue;
                }
            };
            match handler {
                "now" => machine.respond(reply, Ok(CallToolResult::text("now").into()), now),
                _ => held.push(reply),
            }
        }
    };
    let wire = Wire { source: "chunks", client: Speaker::Raw, server: Speaker::Ours };
    run(&mut machine, wire, chunks, &mut answer)
}

fn client_hears(legacy: bool, chunks: &[&[u8]]) -> Made {
    let mut config = if legacy { legacy_config() } else { client_config() };
    config.limits.message_bytes = MESSAGE_BYTES;
    config.limits.nesting = 20;
    let now = Instant::ZERO;
    let mut machine: StdioClient<u64> = StdioClient::new(config, now);
    let mut inputs = Vec::new();
    let mut act = |machine: &mut StdioClient<u64>, made: &mut Made| {
        loop {
            let mut ready = false;
            match machine.poll() {
                Output::Event(ClientEvent::Input { reply, request }) => {
                    made.events.push(format!("input {request:?}"));
                    inputs.push(reply);
                }
                Output::Event(event) => {
                    ready = matches!(event, ClientEvent::Ready(_));
                    made.events.push(format!("{event:?}"));
                }
                Output::Idle { .. } => return,
                other => made.streams.push(format!("{other:?}")),
            }
            if ready {
                for token in 2..5 {
                    let called = machine.call::<CallTool>(&common::tool("echo"), &CallOptions::new(), token, now);
                    made.events.push(format!("{:?}", called.is_ok()));
                }
            }
        }
    };
    let wire = Wire { source: "chunks", client: Speaker::Ours, server: Speaker::Raw };
    run(&mut machine, wire, chunks, &mut act)
}

fn run<M: Machine>(machine: &mut M, wire: Wire, chunks: &[&[u8]], turn: &mut dyn FnMut(&mut M, &mut Made)) -> Made {
    let now = Instant::ZERO;
    let mut made = Made { events: Vec::new(), streams: Vec::new(), written: Vec::new() };
    let Output::Open { conn, .. } = machine.poll() else { panic!("a stream comes first") };
    // Cut up it is heard and said again, all the same.
    let mut recording = if chunks.len() == 1 { wire.recording() } else { None };
    let (said, heard) = match wire.client {
        Speaker::Ours => (Direction::ToServer, Direction::ToClient),
        _ => (Direction::ToClient, Direction::ToServer),
    };
    let write = |machine: &mut M, made: &mut Made, recording: &mut Option<Recording>| {
        let bytes = machine.write_buf(conn).to_vec();
        record(recording, said, &bytes);
        machine.write_done(conn, bytes.len(), now);
        made.written.extend_from_slice(&bytes);
    };
    turn(machine, &mut made);
    write(machine, &mut made, &mut recording);
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let buffer = machine.read_buf(conn);
            if buffer.is_empty() {
                break;
            }
            let count = buffer.len().min(rest.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            record(&mut recording, heard, &rest[..count]);
            machine.read_done(conn, count, now);
            rest = &rest[count..];
            turn(machine, &mut made);
            write(machine, &mut made, &mut recording);
        }
    }
    if let Some(recording) = &mut recording {
        recording.end(heard).expect("there is room for it");
    }
    machine.read_eof(conn, now);
    turn(machine, &mut made);
    write(machine, &mut made, &mut recording);
    turn(machine, &mut made);
    made
}

fn record(recording: &mut Option<Recording>, direction: Direction, bytes: &[u8]) {
    if let Some(recording) = recording {
        recording.take(direction, bytes).expect("there is room for it");
    }
}

#[test]
fn a_server_sees_the_same_however_its_input_is_cut() {
    fn same(heard: Heard<true>) -> bool {
        let whole = server_hears(&heard.whole());
        whole == server_hears(&heard.bytewise()) && whole == server_hears(&heard.cut())
    }
    QuickCheck::new().tests(400).quickcheck(same as fn(Heard<true>) -> bool);
}

#[test]
fn a_client_sees_the_same_however_its_input_is_cut() {
    fn same(heard: Heard<false>, legacy: bool) -> bool {
        let whole = client_hears(legacy, &heard.whole());
        whole == client_hears(legacy, &heard.bytewise()) && whole == client_hears(legacy, &heard.cut())
    }
    QuickCheck::new().tests(400).quickcheck(same as fn(Heard<false>, bool) -> bool);
}

#[test]
fn every_single_cut_of_a_session_is_harmless() {
    let mut bytes = Vec::new();
    for line in [
        "\u{feff}".to_owned() + &common::initialize("2025-03-26"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        "\r".into(),
        format!("[{},{}]", common::legacy(1, "ping", ""), common::legacy(2, "tools/call", r#""name":"now""#)),
        "x".repeat(MESSAGE_BYTES + 1),
        "{\"jsonrpc\":\"2.0\",\"id\":\"é\",\"method\":\"ping\"}\r".into(),
        common::modern(3, "tools/list", ""),
    ] {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    let whole = server_hears(&[&bytes]);
    assert!(whole.events.len() > 3, "{whole:?}");
    for at in 0..=bytes.len() {
        assert_eq!(server_hears(&[&bytes[..at], &bytes[at..]]), whole, "cut at {at}");
    }
}
