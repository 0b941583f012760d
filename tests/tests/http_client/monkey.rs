//! A server, a program and a network that do anything at any time. Whatever they do, each call ends once and nothing is
//! left behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quickcheck::{Arbitrary, Gen, QuickCheck};
use windlass::Instant;
use windlass::client::{CallId, CallOptions};
use windlass::codec::http1::Headers;
use windlass::model::{
    CallTool, CallToolParams, ClientCapabilities, EmptyParams, ListRootsResult, ListTools, PaginatedParams, Ping,
    RootsListChanged, SubscriptionFilter,
};

use crate::talk::{DISCOVERED, Request, Talk, config, http, initialize_result};

#[derive(Clone, Debug)]
enum Step {
    Call(u8),
    Cancel(u8),
    Notify,
    Listen,
    Respond,
    Credentials(bool),
    /// The server does something about one of the requests that it has not answered completely.
    Serve(u8, Deed),
    Pass(u32),
    Unreachable(bool),
    Close,
}

#[derive(Clone, Debug)]
enum Deed {
    Right,
    Stream,
    Event(u8),
    End,
    /// A stream that is to be resumed.
    Pause,
    Refuse(u16),
    Cut,
    Break,
    Half,
    Garbage(Vec<u8>),
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        match u8::arbitrary(g) % 32 {
            0..6 => Self::Call(u8::arbitrary(g)),
            6 => Self::Cancel(u8::arbitrary(g)),
            7 => Self::Notify,
            8 => Self::Listen,
            9 => Self::Respond,
            10 => Self::Credentials(bool::arbitrary(g)),
            11 | 12 => Self::Pass(u32::arbitrary(g) % 2_000),
            13 => Self::Pass(u32::arbitrary(g) % 400_000),
            14 => Self::Unreachable(u8::arbitrary(g) % 4 == 0),
            15 if u8::arbitrary(g) % 8 == 0 => Self::Close,
            _ => Self::Serve(u8::arbitrary(g), Deed::arbitrary(g)),
        }
    }
}

impl Arbitrary for Deed {
    fn arbitrary(g: &mut Gen) -> Self {
        match u8::arbitrary(g) % 24 {
            0..9 => Self::Right,
            10 | 11 => Self::Stream,
            12..17 => Self::Event(u8::arbitrary(g)),
            17 => Self::End,
            18 | 19 => Self::Refuse(*g.choose(&[307, 400, 401, 403, 404, 404, 404, 405, 429, 500]).unwrap()),
            9 => Self::Pause,
            20 => Self::Cut,
            21 => Self::Break,
            22 => Self::Half,
            _ => Self::Garbage(Vec::arbitrary(g)),
        }
    }
}

/// What the server of these tests answers when it does what it should.
fn right(request: &Request) -> String {
    match request.says().as_str() {
        "server/discover" => request.result(DISCOVERED),
        "initialize" => request.result(&initialize_result("2025-11-25")),
        "tools/list" => request.result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}},"annotations":{"idempotentHint":true}}]}"#),
        _ => request.result(r#"{"content":[]}"#),
    }
}

fn event(request: &Request, which: u8) -> String {
    let id = request.id();
    match which % 9 {
        0 => format!("data: {}\n\n", right(request)),
        1 => "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n".into(),
        2 => "data: {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n\n".into(),
        3 => "id: 7\nretry: 100\ndata:\n\n".into(),
        4 => format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":3}}\n\n"),
        5 => format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{id},\"progress\":1}}}}\n\n"
        ),
        6 => "event: endpoint\ndata: /m\n\n".into(),
        7 => format!("data: {}\n\n", request.error(-32020, "headers")),
        _ => "data: nonsense\n\n".into(),
    }
}

fn serve(talk: &mut Talk, open: &mut Vec<Request>, which: u8, deed: &Deed) {
    while talk.requests_left() > 0 {
        open.push(talk.request());
    }
    open.retain(|request| talk.is_open(request.conn));
    if open.is_empty() {
        return;
    }
    let at = usize::from(which) % open.len();
    let request = open.remove(at);
    match deed {
        Deed::Right if request.id() > 0 => talk.json(&request, 200, &right(&request)),
        Deed::Right if request.head.method == "GET" => {
            talk.stream(&request);
            open.push(request);
        }
        Deed::Right => talk.plain(&request, 202, ""),
        Deed::Stream => {
            talk.stream(&request);
            open.push(request);
        }
        Deed::Event(which) => {
            talk.lines(&request, &event(&request, *which));
            open.push(request);
        }
        Deed::End => talk.end(&request),
        Deed::Pause => {
            talk.stream(&request);
            // In the middle of something else, the client may have heard enough.
            if talk.is_open(request.conn) {
                talk.lines(&request, &event(&request, 3));
            }
            if talk.is_open(request.conn) {
                talk.end(&request);
            }
        }
        Deed::Refuse(status) => talk.say(&request, *status, "Location: /elsewhere\r\n", Some("no")),
        Deed::Cut => talk.cut(&request),
        Deed::Break => talk.breaks(request.conn, "reset"),
        Deed::Half => talk.raw(request.conn, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le"),
        Deed::Garbage(bytes) => talk.raw(request.conn, bytes),
    }
}

/// The time of every step is what `clock` makes of the latest that there was.
fn run(legacy: bool, steps: &[Step], mut clock: impl FnMut(Instant) -> Instant) -> Talk {
    let mut config = config();
    config.capabilities = ClientCapabilities::new().with_roots(true);
    let mut http = http();
    http.answers_challenges = true;
    http.connections = 3;
    let mut talk = match legacy {
        true => Talk::legacy_with(config, http, "2025-11-25", Some("s1")),
        false => Talk::modern_with(config, http),
    };
    let (mut open, mut calls, mut accepted): (Vec<Request>, Vec<CallId>, Vec<u32>) = Default::default();
    let mut token = 1000;
    let mut latest = talk.now;
    for step in steps {
        talk.now = clock(latest);
        match step {
            Step::Call(which) => {
                let options = CallOptions::new();
                let made = match which % 3 {
                    0 => talk.try_call::<Ping>(&EmptyParams::new(), &options),
                    1 => talk.try_call::<ListTools>(&PaginatedParams::new(), &options),
                    _ => talk.try_call::<CallTool>(&CallToolParams::new("t"), &options),
                };
                if let Ok((number, call)) = made {
                    accepted.push(number);
                    calls.push(call);
                }
            }
            Step::Listen => {
                token += 1;
                let filter = SubscriptionFilter::new().with_resource_subscriptions(vec!["file:///a".to_owned()]);
                if let Ok(call) = talk.client.listen(filter, &CallOptions::new(), token, talk.now) {
                    accepted.push(token);
                    calls.push(call);
                }
                talk.run();
            }
            Step::Cancel(which) if !calls.is_empty() => {
                let call = calls[usize::from(*which) % calls.len()];
                talk.client.cancel(call, "why not", talk.now);
                talk.run();
            }
            Step::Cancel(_) => {}
            Step::Notify => {
                let _ = talk.client.notify::<RootsListChanged>(&EmptyParams::new(), talk.now);
                talk.run();
            }
            Step::Respond => {
                if let Some(reply) = talk.inputs.pop() {
                    talk.client.respond(reply, Ok(ListRootsResult::new([]).into()), talk.now);
                    talk.run();
                }
            }
            Step::Credentials(give) => {
                if let Some(reply) = talk.challenges.pop() {
                    let headers = Headers::from([("Authorization", "Bearer x")]);
                    talk.client.answer_challenge(reply, give.then_some(&headers), talk.now).unwrap();
                    talk.run();
                }
            }
            Step::Serve(which, deed) => serve(&mut talk, &mut open, *which, deed),
            Step::Pass(millis) => talk.pass(Duration::from_millis(u64::from(*millis))),
            Step::Unreachable(unreachable) => talk.unreachable = *unreachable,
            Step::Close => talk.close(),
        }
        latest = latest.max(talk.now);
    }
    talk.now = latest;
    talk.close();
    talk.pass(Duration::from_secs(10));
    talk.nothing_left();
    for number in accepted {
        assert!(talk.outcomes.contains_key(&number), "call {number} is open:\n{}", talk.transcript);
    }
    talk
}

/// What must have been said at least once for the test to mean anything.
const PHRASES: [&str; 8] = [
    "! reinitialized",
    "! challenged",
    "Bearer x",
    "no response received",
    "forgotten the session",
    "! not delivered",
    "last-event-id",
    "DELETE",
];

static SEEN: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

#[test]
fn anything_at_any_time() {
    fn property(legacy: bool, steps: Vec<Step>) -> bool {
        let talk = run(legacy, &steps, |latest| latest);
        for (phrase, seen) in PHRASES.iter().zip(&SEEN) {
            seen.fetch_add(usize::from(talk.transcript.contains(phrase)), Ordering::Relaxed);
        }
        true
    }
    QuickCheck::new().tests(1000).quickcheck(property as fn(bool, Vec<Step>) -> bool);
    for (phrase, seen) in PHRASES.iter().zip(&SEEN) {
        assert!(seen.load(Ordering::Relaxed) > 0, "nobody ever said {phrase:?}");
    }
}

#[test]
fn anything_on_a_clock_that_jumps_to_and_fro() {
    fn property(legacy: bool, steps: Vec<Step>, jumps: Vec<u64>) -> bool {
        let mut jumps = jumps.into_iter();
        run(legacy, &steps, |latest| {
            let jump = jumps.next().filter(|jump| jump % 2 == 0);
            jump.map_or(latest, |jump| Instant::from_micros(jump % (latest.as_micros() + 1)))
        });
        true
    }
    QuickCheck::new().tests(500).quickcheck(property as fn(bool, Vec<Step>, Vec<u64>) -> bool);
}
