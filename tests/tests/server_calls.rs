//! A server that calls its client, driven by hand: what it may ask, how it takes a call back, and when it is idle.

use std::time::Duration;

use windlass::client::{CallId, CallOptions};
use windlass::link::AnyServer;
use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::link::stdio::StdioServer;
use windlass::model::{
    CreateMessage, CreateMessageParams, Elicit, ElicitFormParams, EmptyParams, Implementation, ListRoots,
    ListRootsParams, Method, Ping, SamplingContentBlock, SamplingMessage, Tool,
};
use windlass::server::{Registry, ServerConfig, ServerEvent};
use windlass::{CallError, CloseReason, ConnError, ConnErrorKind, ConnId, Instant, Machine, Output, Seed, SendError};

/// A server on one stream, and a client that is a text of the test.
struct Desk {
    server: StdioServer<u32, ()>,
    conn: ConnId,
    now: Instant,
    /// How calls ended, by their tokens.
    outcomes: Vec<(u32, Result<String, CallError>)>,
}

impl Desk {
    /// A server whose legacy client has these capabilities.
    fn new(capabilities: &str, change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut config = ServerConfig::new(Implementation::new("desk", "1"));
        change(&mut config);
        let mut registry = Registry::new();
        registry.add_tool(Tool::without_arguments("slow"), ());
        let mut server = StdioServer::new(config, registry, &Seed::from_number(1), Instant::ZERO);
        let Output::Open { conn, .. } = server.poll() else { panic!("it opens its stream first") };
        let mut desk = Self { server, conn, now: Instant::ZERO, outcomes: Vec::new() };
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        );
        assert_eq!(desk.hears(&initialize).len(), 1);
        assert!(desk.hears(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).is_empty());
        desk
    }

    /// The client says a line; what the server says then.
    fn hears(&mut self, line: &str) -> Vec<String> {
        let line = format!("{line}\n");
        self.server.read_buf(self.conn)[..line.len()].copy_from_slice(line.as_bytes());
        self.server.read_done(self.conn, line.len(), self.now);
        self.says()
    }

    /// What the server has to say.
    fn says(&mut self) -> Vec<String> {
        loop {
            match self.server.poll() {
                Output::Event(ServerEvent::Completed { token, outcome, .. }) => {
                    self.outcomes.push((token, outcome.map(|result| result.as_str().to_owned())));
                }
                Output::Event(_) | Output::Open { .. } | Output::Close(_) => {}
                Output::Idle { .. } => break,
            }
        }
        let said = String::from_utf8(self.server.write_buf(self.conn).to_vec()).unwrap();
        if !said.is_empty() {
            self.server.write_done(self.conn, said.len(), self.now);
        }
        said.lines().map(str::to_owned).collect()
    }

    fn call<M: Method>(&mut self, params: &M::Params, token: u32) -> Result<CallId, SendError> {
        self.server.call::<M>(params, &CallOptions::new(), token, self.now).map_err(|refused| refused.why)
    }

    fn pass(&mut self, time: Duration) -> Vec<String> {
        self.now = self.now + time;
        self.server.handle_timeout(self.now);
        self.says()
    }

    /// After a moment, in which it gives memory back, the server wants to be woken no more.
    fn rest(&mut self) {
        self.pass(Duration::from_secs(1));
        assert!(matches!(self.server.poll(), Output::Idle { deadline: None }));
    }
}

fn sample() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::user(SamplingContentBlock::text("hello"))], 5)
}

fn refusal(capability: &'static str, method: &str) -> Result<CallId, SendError> {
    Err(SendError::NotSupported { method: method.into(), capability })
}

#[test]
fn only_what_the_client_declared_may_be_asked() {
    let form = ElicitFormParams::new("who?").into();
    let mut desk = Desk::new("{}", |_| ());
    assert_eq!(desk.call::<CreateMessage>(&sample(), 1), refusal("sampling", "sampling/createMessage"));
    assert_eq!(desk.call::<Elicit>(&form, 1), refusal("elicitation", "elicitation/create"));
    assert_eq!(desk.call::<ListRoots>(&ListRootsParams::default(), 1), refusal("roots", "roots/list"));
    assert!(desk.call::<Ping>(&EmptyParams::new(), 1).is_ok(), "a ping needs no capability");
    assert_eq!(desk.says().len(), 1);
    for (capabilities, method) in [
        (r#"{"sampling":{}}"#, "sampling/createMessage"),
        (r#"{"elicitation":{}}"#, "elicitation/create"),
        (r#"{"roots":{}}"#, "roots/list"),
    ] {
        let mut desk = Desk::new(capabilities, |_| ());
        let asked = [
            desk.call::<CreateMessage>(&sample(), 1).is_ok(),
            desk.call::<Elicit>(&form, 2).is_ok(),
            desk.call::<ListRoots>(&ListRootsParams::default(), 3).is_ok(),
        ];
        assert_eq!(asked.into_iter().filter(|asked| *asked).count(), 1, "{capabilities}");
        let said = desk.says();
        assert!(said.len() == 1 && said[0].contains(method), "{said:?}");
    }
}

#[test]
fn a_call_that_is_taken_back_ends_once_and_the_client_is_told() {
    let mut desk = Desk::new(r#"{"roots":{}}"#, |_| ());
    let one = desk.call::<ListRoots>(&ListRootsParams::default(), 1).unwrap();
    let two = desk.call::<ListRoots>(&ListRootsParams::default(), 2).unwrap();
    assert_eq!(desk.says().len(), 2);
    assert!(!desk.server.is_idle());
    desk.server.cancel(one, "not needed");
    let said = desk.says();
    assert_eq!(
        said,
        [r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"not needed"}}"#]
    );
    assert_eq!(desk.outcomes, [(1, Err(CallError::Cancelled))]);
    // Once is enough, and the answer comes too late.
    desk.server.cancel(one, "really");
    assert_eq!(desk.says(), Vec::<String>::new());
    desk.hears(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    assert_eq!(desk.server.counters().late_answers, 1);
    desk.hears(r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#);
    desk.server.cancel(two, "too late");
    assert_eq!(desk.says(), Vec::<String>::new());
    assert_eq!(desk.outcomes[1..], [(2, Ok(r#"{"roots":[]}"#.to_owned()))]);
    assert!(desk.server.is_idle());
    desk.rest();
}

#[test]
fn calls_beyond_the_limit_are_refused_and_waiting_ones_time_out() {
    let mut desk = Desk::new(r#"{"roots":{}}"#, |config| {
        config.limits.pending_calls = 2;
        config.input_timeout = Duration::from_secs(9);
    });
    for token in [1, 2] {
        desk.call::<ListRoots>(&ListRootsParams::default(), token).unwrap();
    }
    assert_eq!(desk.call::<ListRoots>(&ListRootsParams::default(), 3), Err(SendError::Full));
    desk.says();
    assert_eq!(desk.pass(Duration::from_millis(8999)), Vec::<String>::new());
    assert_eq!(desk.pass(Duration::from_millis(1)).len(), 2, "the client is told that nobody waits any more");
    let late = Err(CallError::TimedOut { after: Duration::from_secs(9) });
    assert_eq!(desk.outcomes, [(1, late.clone()), (2, late)]);
    assert!(desk.server.is_idle());
    desk.rest();
    // With a timeout of its own, or with none.
    let shorter = CallOptions::new().idle_timeout(Duration::from_secs(2));
    desk.server.call::<ListRoots>(&ListRootsParams::default(), &shorter, 4, desk.now).unwrap();
    let never = CallOptions::new().idle_timeout(Duration::ZERO).total_timeout(Duration::ZERO);
    desk.server.call::<ListRoots>(&ListRootsParams::default(), &never, 5, desk.now).unwrap();
    desk.says();
    desk.pass(Duration::from_secs(2));
    assert_eq!(desk.outcomes[2..], [(4, Err(CallError::TimedOut { after: Duration::from_secs(2) }))]);
    desk.rest();
    desk.hears(r#"{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"no"}}"#);
    assert!(matches!(&desk.outcomes[3], (5, Err(CallError::Remote(error))) if error.code == 1), "{:?}", desk.outcomes);
}

#[test]
fn progress_does_not_keep_a_call_alive_beyond_its_timeout() {
    let mut desk = Desk::new(r#"{"roots":{}}"#, |config| config.input_timeout = Duration::from_secs(10));
    desk.call::<ListRoots>(&ListRootsParams::default(), 1).unwrap();
    desk.says();
    desk.pass(Duration::from_secs(8));
    desk.hears(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#);
    desk.pass(Duration::from_secs(2));
    assert_eq!(desk.outcomes, [(1, Err(CallError::TimedOut { after: Duration::from_secs(10) }))]);
}

#[test]
fn a_server_is_not_idle_while_something_waits_for_its_program() {
    let mut desk = Desk::new("{}", |_| ());
    assert!(desk.server.is_idle());
    // A call that is taken back, of which the program does not know yet.
    let call = desk.call::<Ping>(&EmptyParams::new(), 1).unwrap();
    desk.says();
    desk.server.cancel(call, "enough");
    let written = desk.server.write_buf(desk.conn).len();
    desk.server.write_done(desk.conn, written, desk.now);
    assert!(!desk.server.is_idle(), "an event waits");
    assert_eq!(desk.says(), Vec::<String>::new());
    assert!(desk.server.is_idle());
    // A request that no handler has answered.
    desk.hears(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}"#);
    assert!(!desk.server.is_idle());
    desk.hears(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    assert!(desk.server.is_idle());
    // An answer that is not written.
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n";
    desk.server.read_buf(desk.conn)[..ping.len()].copy_from_slice(ping.as_bytes());
    desk.server.read_done(desk.conn, ping.len(), desk.now);
    assert!(matches!(desk.server.poll(), Output::Idle { .. }) && !desk.server.is_idle());
    assert_eq!(desk.says(), [r#"{"jsonrpc":"2.0","id":8,"result":{}}"#]);
    assert!(desk.server.is_idle());
}

#[test]
fn what_cannot_be_written_is_refused() {
    let mut desk = Desk::new("{}", |_| ());
    let unwritable = std::collections::BTreeMap::from([((), 1)]);
    let refused = desk.server.call_raw("x/y", &unwritable, &CallOptions::new(), 9, desk.now).unwrap_err();
    assert!(matches!(refused.why, SendError::Unencodable(_)), "{:?}", refused.why);
    assert_eq!(refused.token, 9, "the caller gets its token back");
    assert_eq!(desk.says(), Vec::<String>::new());
    assert!(desk.server.is_idle());
    // The next call is not affected.
    desk.call::<Ping>(&EmptyParams::new(), 1).unwrap();
    assert_eq!(desk.says(), [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]);
}

#[test]
fn a_driver_is_told_whether_there_is_something_to_do() {
    let mut desk = Desk::new("{}", |_| ());
    assert!(desk.server.reads(desk.conn) && !desk.server.is_over());
    assert!(!desk.server.takes_connections());
    assert_eq!(desk.server.next_to_move(), None, "there is one connection to look at");
    desk.server.close(desk.now);
    desk.says();
    assert!(desk.server.is_over() && !desk.server.reads(desk.conn));
    assert!(desk.server.read_buf(desk.conn).is_empty());
    assert_eq!(desk.call::<Ping>(&EmptyParams::new(), 1), Err(SendError::Closed));
}

#[test]
fn a_client_that_does_not_take_the_last_words_is_left() {
    let mut desk = Desk::new("{}", |_| ());
    desk.hears(r#"{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#);
    desk.server.close(desk.now);
    assert!(matches!(desk.server.poll(), Output::Idle { deadline: Some(_) }), "it wants to say that this is over");
    assert!(!desk.server.write_buf(desk.conn).is_empty() && !desk.server.is_over());
    desk.now = desk.now + Duration::from_millis(499);
    desk.server.handle_timeout(desk.now);
    assert!(matches!(desk.server.poll(), Output::Idle { .. }));
    desk.now = desk.now + Duration::from_millis(1);
    desk.server.handle_timeout(desk.now);
    assert!(matches!(desk.server.poll(), Output::Close(_)));
    assert!(matches!(desk.server.poll(), Output::Event(ServerEvent::Closed(_))));
    assert!(desk.server.is_over() && desk.server.write_buf(desk.conn).is_empty());
}

#[test]
fn any_server_does_what_its_kind_can() {
    let config = || ServerConfig::new(Implementation::new("any", "1"));
    let seed = Seed::from_number(1);
    let stdio = StdioServer::new(config(), Registry::new(), &seed, Instant::ZERO);
    let mut stdio: AnyServer<u32, ()> = stdio.into();
    assert_eq!(stdio.accept(Instant::ZERO), None, "it has its stream");
    assert!(!stdio.takes_connections() && !stdio.is_over());
    let Output::Open { conn, .. } = stdio.poll() else { panic!("it opens its stream first") };
    assert!(stdio.reads(conn));
    stdio.close(Instant::ZERO);
    while !matches!(stdio.poll(), Output::Idle { .. }) {}
    assert!(stdio.is_over() && stdio.is_idle());

    let http = HttpServer::new(config(), HttpServerConfig::on_loopback(), Registry::new(), &seed, Instant::ZERO);
    let mut http: AnyServer<u32, ()> = http.into();
    assert!(http.takes_connections());
    let conn = http.accept(Instant::ZERO).unwrap();
    assert!(http.reads(conn));
    let call = http.call_raw("ping", &EmptyParams::new(), &CallOptions::new(), 5, Instant::ZERO);
    assert!(call.is_err_and(|refused| refused.why == SendError::NotReady && refused.token == 5), "it has many clients");
    http.close(Instant::ZERO);
    while !matches!(http.poll(), Output::Idle { .. }) {}
    assert!(http.is_over() && !http.takes_connections() && !http.reads(conn));
}

#[test]
fn a_server_that_nobody_carries_on_is_over_and_says_why() {
    let config = || ServerConfig::new(Implementation::new("any", "1"));
    let seed = Seed::from_number(1);
    let stdio = StdioServer::<u32, ()>::new(config(), Registry::new(), &seed, Instant::ZERO);
    let http = HttpServer::new(config(), HttpServerConfig::on_loopback(), Registry::new(), &seed, Instant::ZERO);
    for mut server in [AnyServer::from(stdio), AnyServer::from(http)] {
        assert!(matches!(server.poll(), Output::Open { .. } | Output::Idle { .. }));
        let why = ConnError::new(ConnErrorKind::Broken, "the runtime is gone");
        server.abandon(why.clone(), Instant::ZERO);
        let mut last = None;
        loop {
            match server.poll() {
                Output::Event(ServerEvent::Closed(reason)) => last = Some(reason),
                Output::Idle { .. } => break,
                _ => {}
            }
        }
        assert_eq!(last, Some(CloseReason::Transport(why)));
        assert!(server.is_over());
    }
}

#[test]
fn what_happens_on_another_connection_is_none_of_its_business() {
    let mut desk = Desk::new("{}", |_| ());
    let config = ServerConfig::new(Implementation::new("other", "1"));
    let http = HttpServerConfig::on_loopback();
    let mut elsewhere: HttpServer<u32, ()> =
        HttpServer::new(config, http, Registry::new(), &Seed::from_number(1), Instant::ZERO);
    let conns = [elsewhere.accept(Instant::ZERO), elsewhere.accept(Instant::ZERO)];
    let other = conns.into_iter().find(|conn| *conn != desk.conn).unwrap();
    assert!(desk.server.read_buf(other).is_empty());
    desk.server.read_done(other, 5, desk.now);
    desk.server.read_eof(other, desk.now);
    desk.server.conn_failed(other, ConnError::new(ConnErrorKind::Broken, "reset"), desk.now);
    desk.call::<Ping>(&EmptyParams::new(), 1).unwrap();
    assert!(desk.server.write_buf(other).is_empty());
    desk.server.write_done(other, 5, desk.now);
    assert_eq!(desk.says(), [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]);
    desk.hears(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(desk.outcomes, [(1, Ok("{}".to_owned()))]);
}
