//! A tea house and its guest in one mio loop of your own, over HTTP: a server and a client, no runtime and no threads.
//!
//! The loop owns the `Poll`, and may have whatever else it likes in it; each [`Source`] has a range of its tokens. To run
//! it: `cargo run -p windlass-examples --bin your_own_mio_loop`. With the URL of another server behind it, such as
//! `server_tokio --http 127.0.0.1:0` prints, or one that begins with `https`, the guest goes there instead.

use std::error::Error;

use serde_json::json;
use windlass_mio::client::{CallOptions, ClientConfig, ClientEvent, decode};
use windlass_mio::link::http::{HttpClient, HttpServer};
use windlass_mio::model::{CallTool, CallToolParams, CallToolResult, Implementation, ListTools, Tool};
use windlass_mio::server::{Invocation, Invoked, Registry, ReplyTo, ServerConfig, ServerEvent};
use windlass_mio::{Clock, HttpListener, HttpTarget, Json, SendError, Source};

/// What goes in with a call, and comes back with its completion.
#[derive(Clone, Copy)]
enum Asked {
    Tools,
    Tea,
}

/// What is registered with a tool, and comes back with its calls.
type Handler = fn(&Invocation) -> CallToolResult;

fn brew(invocation: &Invocation) -> CallToolResult {
    match &invocation.request {
        Invoked::Tool { arguments, .. } => CallToolResult::text(format!("brewed as ordered: {}", arguments.as_str())),
        _ => CallToolResult::error("only tools are offered"),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = Clock::new();
    let mut poll = mio::Poll::new()?;
    let mut events = mio::Events::with_capacity(64);

    let listener = HttpListener::bind("127.0.0.1:0")?;
    let url = std::env::args().nth(1).unwrap_or_else(|| listener.url("/mcp"));
    let mut offer: Registry<Handler> = Registry::new();
    offer.add_tool(Tool::new("brew", json!({"type": "object"})).with_description("Brews tea"), brew);
    let house = ServerConfig::new(Implementation::new("tea-house", "1.0.0"));
    let mut house: Source<HttpServer<(), Handler>> =
        Source::http_server(house, None, offer, listener, clock, 10_000..50_000)?;

    let guest = ClientConfig::new(Implementation::new("guest", "1.0.0"));
    let mut guest: Source<HttpClient<Asked>> = Source::http_client(guest, HttpTarget::new(&url)?, clock, 1_000..2_000)?;

    let mut guest_is_here = true;
    loop {
        // Events borrow from the machine, so what they ask for is done when it is free again.
        let mut orders: Vec<(ReplyTo, CallToolResult)> = Vec::new();
        let of_house = house.drive(poll.registry(), |event| {
            if let ServerEvent::Invoke { reply, handler, invocation } = event {
                orders.push((reply, handler(&invocation)));
            }
        })?;
        let mut asks = Vec::new();
        let mut failure = None;
        let mut leaves = false;
        let of_guest = guest.drive(poll.registry(), |event| match event {
            ClientEvent::Ready(peer) => {
                println!("connected: {}", peer.version);
                asks.push(Asked::Tools);
            }
            ClientEvent::Completed { token: Asked::Tools, outcome, .. } => match decode::<ListTools>(outcome) {
                Ok(list) => {
                    list.tools.iter().for_each(|tool| println!("tool: {}", tool.name));
                    asks.push(Asked::Tea);
                }
                Err(error) => failure = Some(error.to_string()),
            },
            ClientEvent::Completed { token: Asked::Tea, outcome, .. } => match decode::<CallTool>(outcome) {
                Ok(result) => {
                    println!("result: {}", result.text_content());
                    leaves = true;
                }
                Err(error) => failure = Some(error.to_string()),
            },
            ClientEvent::Closed(reason) => println!("closed: {reason}"),
            _ => {}
        })?;
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        if of_house.finished {
            return Ok(());
        }

        let now = clock.now();
        let idle = orders.is_empty() && asks.is_empty() && !leaves;
        for (reply, result) in orders {
            house.machine().respond(reply, Ok(result.into()), now);
        }
        for asked in asks {
            let (machine, options) = (guest.machine(), CallOptions::new());
            let called = match asked {
                Asked::Tools => machine.call::<ListTools>(&Default::default(), &options, asked, now),
                Asked::Tea => {
                    let order = Json::of(&json!({"tea": "mint", "cups": 1}))?;
                    let call = CallToolParams::new("brew").with_arguments(order);
                    machine.call::<CallTool>(&call, &options, asked, now)
                }
            };
            called.map_err(SendError::from)?;
        }
        if leaves {
            guest.machine().close(now);
        }
        // When the guest is gone, the house closes.
        if guest_is_here && of_guest.finished {
            guest_is_here = false;
            house.machine().close(now);
        } else if idle {
            let deadline = [of_house, of_guest].iter().filter_map(|interest| interest.deadline).min();
            poll.poll(&mut events, deadline.map(|deadline| clock.until(deadline)))?;
            for event in &events {
                // One that is for neither would be the program's own.
                let _ = house.ready(event) || guest.ready(event);
            }
        }
    }
}
