//! A thermometer without `std`: its own allocator, its own panic handler, and the engine driven by hand.
//!
//! A client and a server speak with each other in memory, byte for byte as they would over a serial line. The client
//! asks for the tools and calls one; the program ends with code 0 if the answer is what was measured. To run it:
//! `cargo run --manifest-path examples/no-std/Cargo.toml`

#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

#[allow(unsafe_code)]
mod platform;

use alloc::boxed::Box;
use alloc::string::String;
use core::error::Error;

use windlass::client::{CallOptions, ClientConfig, ClientEvent};
use windlass::link::stdio::{StdioClient, StdioServer};
use windlass::model::{CallTool, CallToolParams, CallToolResult, Implementation, ListTools, ListToolsResult, Tool};
use windlass::server::{Registry, Reply, ServerConfig, ServerEvent};
use windlass::{ConnId, Instant, Machine, Output, Seed};

/// Nothing here takes time. A device reads its timer, and sets an alarm to the deadline that comes with `Output::Idle`.
const NOW: Instant = Instant::ZERO;

/// What the server registers as a handler; the engine hands it back when a client calls the tool.
type Sensor = fn() -> CallToolResult;

fn temperature() -> CallToolResult {
    CallToolResult::text("21.5 °C")
}

/// What the client gives with a call, to get it back with the result.
enum Asked {
    Tools,
    Temperature,
}

/// A machine at its end of the line.
struct End<M> {
    machine: M,
    line: Option<ConnId>,
}

/// Connects the two and returns what the client was told.
fn measure() -> Result<String, Box<dyn Error>> {
    let mut registry = Registry::new();
    registry.add_tool(Tool::without_arguments("temperature"), temperature as Sensor);
    let config = ServerConfig::new(Implementation::new("thermometer", "1.0.0"));
    // A device draws its seed from a hardware generator.
    let server: StdioServer<(), Sensor> = StdioServer::new(config, registry, &Seed::from_number(1), NOW);
    let client = StdioClient::new(ClientConfig::new(Implementation::new("display", "1.0.0")), NOW);

    let mut server = End { machine: server, line: None };
    let mut client = End { machine: client, line: None };
    let mut measured = None;
    loop {
        turn_client(&mut client, &mut measured)?;
        turn_server(&mut server);
        match (client.line, server.line) {
            (Some(_), Some(_)) => {
                if carry(&mut client, &mut server) + carry(&mut server, &mut client) == 0 {
                    return Err("both wait for the other".into());
                }
            }
            // The client has hung up, which the server has yet to learn.
            (None, Some(line)) => server.machine.read_eof(line, NOW),
            _ => break,
        }
    }
    if client.machine.is_idle() && server.machine.is_idle() {
        measured.ok_or_else(|| "the client was told nothing".into())
    } else {
        Err("something is left over".into())
    }
}

/// Lets the client say all it has to say.
fn turn_client(client: &mut End<StdioClient<Asked>>, measured: &mut Option<String>) -> Result<(), Box<dyn Error>> {
    let options = CallOptions::new();
    loop {
        match client.machine.poll() {
            Output::Open { conn, .. } => client.line = Some(conn),
            Output::Close(_) => client.line = None,
            Output::Idle { .. } => return Ok(()),
            Output::Event(ClientEvent::Ready(_)) => {
                let listing = client.machine.call::<ListTools>(&Default::default(), &options, Asked::Tools, NOW);
                listing.map_err(|refused| refused.why)?;
            }
            Output::Event(ClientEvent::Completed { token: Asked::Tools, outcome, .. }) => {
                let list: ListToolsResult = outcome?.decode()?;
                let tool = list.tools.first().ok_or("the server has no tools")?;
                let params = CallToolParams::new(tool.name.as_str());
                let calling = client.machine.call::<CallTool>(&params, &options, Asked::Temperature, NOW);
                calling.map_err(|refused| refused.why)?;
            }
            Output::Event(ClientEvent::Completed { token: Asked::Temperature, outcome, .. }) => {
                let result: CallToolResult = outcome?.decode()?;
                *measured = Some(result.text_content());
                client.machine.close(NOW);
            }
            Output::Event(_) => {}
        }
    }
}

/// Lets the server do what it was asked for.
fn turn_server(server: &mut End<StdioServer<(), Sensor>>) {
    loop {
        match server.machine.poll() {
            Output::Open { conn, .. } => server.line = Some(conn),
            Output::Close(_) => server.line = None,
            Output::Idle { .. } => return,
            Output::Event(ServerEvent::Invoke { reply, handler, .. }) => {
                server.machine.respond(reply, Ok(Reply::Tool(handler())), NOW);
            }
            Output::Event(_) => {}
        }
    }
}

/// Carries bytes from one end to the other, as many as are ready and fit; returns how many.
fn carry<A: Machine, B: Machine>(from: &mut End<A>, to: &mut End<B>) -> usize {
    let (Some(source), Some(sink)) = (from.line, to.line) else { return 0 };
    let bytes = from.machine.write_buf(source);
    let room = to.machine.read_buf(sink);
    let count = bytes.len().min(room.len());
    room[..count].copy_from_slice(&bytes[..count]);
    to.machine.read_done(sink, count, NOW);
    from.machine.write_done(source, count, NOW);
    count
}
