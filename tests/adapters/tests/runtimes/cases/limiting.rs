//! Handlers have no more threads than they may.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::{Ping, Tool};
use super::adapter::{Endpoint, Server};
use super::eras::{ERAS, in_era};
use super::inputs::helpful;
use super::{OWN_SERVER, served};
use crate::peers::AMONG_US;
use crate::processes::{self, RawServer};

/// How many calls there are for a few threads.
const CALLS: usize = 40;

/// What a server allows that was not told otherwise.
const DEFAULT: usize = 512;

/// The threads that a server has besides: its main thread, its reader, its standby, and those of the tests' programs.
const BESIDES: usize = 8;

/// Handlers that wait until they are let go.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    began: Vec<usize>,
    inside: usize,
    most_inside: usize,
    open: bool,
}

#[derive(serde::Deserialize)]
struct Number {
    number: usize,
}

impl Gate {
    fn pass(&self, number: usize) {
        let mut state = self.state.lock().unwrap();
        state.began.push(number);
        state.inside += 1;
        state.most_inside = state.most_inside.max(state.inside);
        let mut state = self.changed.wait_while(state, |state| !state.open).unwrap();
        state.inside -= 1;
    }

    fn open(&self) {
        self.state.lock().unwrap().open = true;
        self.changed.notify_all();
    }
}

/// A legacy client that speaks raw lines.
struct RawClient {
    output: UnixStream,
    input: BufReader<UnixStream>,
}

impl RawClient {
    fn introduced(stream: UnixStream) -> Self {
        let mut client = Self { output: stream.try_clone().unwrap(), input: BufReader::new(stream) };
        client.say(concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
            r#""clientInfo":{"name":"raw","version":"0"}}}"#
        ));
        assert!(client.hear().contains(r#""id":1"#));
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn say(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.input.read_line(&mut line).unwrap();
        line
    }
}

case!(handlers_beyond_the_limit_wait_in_order_while_the_server_reads_on, {
    for most in [1, 4] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let gate = Arc::new(Gate::default());
        let waiting = gate.clone();
        let server = Server::builder("gate", "1.0")
            .handler_threads(most)
            .tool(Tool::without_arguments("pass"), move |_, number: Number| {
                waiting.pass(number.number);
                Ok("passed")
            })
            .start(Endpoint::try_from(theirs).unwrap())
            .unwrap();
        let mut client = RawClient::introduced(ours);
        for number in 0..CALLS {
            client.say(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"pass","arguments":{{"number":{number}}}}}}}"#,
                number + 100
            ));
        }
        // One that waits for its turn is given up like any other, and never runs.
        let given_up = CALLS - 2;
        client.say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#,
            given_up + 100
        ));
        eventually!("as many run as may", gate.state.lock().unwrap().began.len() == most);
        client.say(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
        assert!(client.hear().contains(r#""id":2"#), "nobody is done, and still the server answers");
        gate.open();
        for _ in 0..CALLS - 1 {
            assert!(client.hear().contains("passed"));
        }
        let mut state = gate.state.lock().unwrap();
        assert_eq!(state.most_inside, most);
        if most > 1 {
            state.began.sort_unstable();
        }
        assert_eq!(state.began, (0..CALLS).filter(|number| *number != given_up).collect::<Vec<_>>());
        drop(client);
        server.wait_closed().unwrap();
    }
});

case!(handlers_that_are_quick_do_not_wait_for_those_that_have_all_threads, {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let gate = Arc::new(Gate::default());
    let waiting = gate.clone();
    let server = Server::builder("gate", "1.0")
        .handler_threads(2)
        .tool(Tool::without_arguments("pass"), move |_, number: Number| {
            waiting.pass(number.number);
            Ok("passed")
        })
        .tool(Tool::without_arguments("quick"), |_, _: Number| Ok("done"))
        .start(Endpoint::try_from(theirs).unwrap())
        .unwrap();
    let mut client = RawClient::introduced(ours);
    let call = |id: u32, tool: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"number":0}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    // Until the server has seen that it is: whatever else the machine is busy with, once in a while it is quick.
    for id in 10..200 {
        client.say(&call(id, "quick"));
        assert!(client.hear().contains("done"));
    }
    (300..305).for_each(|id| client.say(&call(id, "pass")));
    eventually!("as many run as may", gate.state.lock().unwrap().began.len() == 2);
    client.say(&call(400, "quick"));
    assert!(client.hear().contains(r#""id":400"#), "nobody else is done");
    gate.open();
    (300..305).for_each(|_| assert!(client.hear().contains("passed")));
    drop(client);
    server.wait_closed().unwrap();
});

case!(handlers_with_large_answers_run_few_at_a_time_and_others_do_not_wait_for_them, {
    /// So long that there is room for two.
    const LARGE: usize = 14_000_000;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let gate = Arc::new(Gate::default());
    let (large, small) = (gate.clone(), gate.clone());
    let server = Server::builder("gate", "1.0")
        .tool(Tool::without_arguments("large"), move |_, number: Number| {
            if number.number == 0 {
                return Ok("x".repeat(LARGE));
            }
            large.pass(number.number);
            Ok(String::new())
        })
        .tool(Tool::without_arguments("small"), move |_, number: Number| {
            small.pass(number.number);
            Ok("small")
        })
        .start(Endpoint::try_from(theirs).unwrap())
        .unwrap();
    let mut client = RawClient::introduced(ours);
    let call = |tool: &str, number: u32| {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"number":{number}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{params}}}"#, number + 10)
    };
    client.say(&call("large", 0));
    assert!(client.hear().len() > LARGE);
    (1..=10).for_each(|number| client.say(&call("large", number)));
    (11..=20).for_each(|number| client.say(&call("small", number)));
    let began = |few: std::ops::RangeInclusive<usize>| {
        gate.state.lock().unwrap().began.iter().filter(|number| few.contains(number)).count()
    };
    eventually!("all small ones run", began(11..=20) == 10);
    eventually!("as many large ones as there is room for", began(1..=10) == 2);
    gate.open();
    let mut answered: Vec<_> = (0..20).map(|_| client.hear()).collect();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!((answered.len(), began(1..=20)), (20, 20));
    drop(client);
    server.wait_closed().unwrap();
});

case!(a_thousand_handlers_that_wait_do_not_have_a_thousand_threads, {
    let mut server = RawServer::start(OWN_SERVER);
    for id in 0..1000 {
        server.call_tool(id + 10, "never");
    }
    server.say(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert!(server.hear().contains(r#""id":2"#));
    eventually!("all threads are there", processes::threads(server.pid()) >= DEFAULT);
    server.say(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    assert!(server.hear().contains(r#""id":3"#));
    let threads = processes::threads(server.pid());
    assert!(threads <= DEFAULT + BESIDES, "{threads}");
    // Those that wait are given up as well as those that run.
    for id in 0..1000 {
        let id = id + 10;
        server.say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ));
    }
    server.call_tool(4, "pid");
    assert!(server.hear().contains(r#""id":4"#));
    server.end_input();
    server.wait_for_exit();
});

case!(handlers_that_ask_back_need_one_thread_for_all, {
    for negotiation in ERAS {
        let (ours, theirs) = AMONG_US.pair().unwrap();
        let endpoint = Endpoint::try_from(theirs).unwrap();
        let server = served::start_by(|builder| builder.handler_threads(1).start(endpoint)).unwrap();
        let builder = helpful(negotiation).handler_threads(1);
        let client = builder.connect(Endpoint::try_from(ours).unwrap()).unwrap();
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let client = client.clone();
                std::thread::spawn(move || client.call_tool("ask_user", json!({})).unwrap().text_content())
            })
            .collect();
        for caller in callers {
            assert_eq!(caller.join().unwrap(), "Ada");
        }
        client.close();
        server.wait_closed().unwrap();
    }
});

case!(a_handler_that_calls_the_client_gets_its_answer_though_it_has_the_only_thread, {
    let (ours, theirs) = AMONG_US.pair().unwrap();
    let itself: Arc<Mutex<Option<Server>>> = Arc::default();
    let calling = itself.clone();
    let server = Server::builder("caller", "1.0")
        .handler_threads(1)
        .tool(Tool::without_arguments("call_back"), move |_, _: serde_json::Value| {
            let server = calling.lock().unwrap().clone().unwrap();
            server.call::<Ping>(&Default::default())?;
            Ok("answered")
        })
        .start(Endpoint::try_from(theirs).unwrap())
        .unwrap();
    *itself.lock().unwrap() = Some(server.clone());
    let client = in_era(Negotiation::Legacy).connect(Endpoint::try_from(ours).unwrap()).unwrap();
    for _ in 0..4 {
        assert_eq!(client.call_tool("call_back", json!({})).unwrap().text_content(), "answered");
    }
    client.close();
    server.wait_closed().unwrap();
});
