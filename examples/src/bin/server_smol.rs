//! A tea house as a server, on smol.
//!
//! It has a tool that asks the user, reports progress, logs and returns structured output; a resource that changes; and
//! a prompt whose argument completes. A client starts it and speaks with it over its standard streams. To run both:
//! `cargo build -p windlass-examples && target/debug/client_smol target/debug/server_smol`
//!
//! With `--http 127.0.0.1:8080` it waits for clients at a URL instead, which it prints: port 0 takes any that is free.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use windlass_smol::model::*;
use windlass_smol::server::HandlerError;
use windlass_smol::{Context, HttpListener, ResourceRequest, ServeError, Server, run};

static CUPS_SERVED: AtomicU32 = AtomicU32::new(0);

/// The arguments of `brew`. If a call's do not fit, its caller is told so and the handler does not run.
#[derive(serde::Deserialize)]
struct Order {
    tea: String,
    cups: Option<u32>,
}

async fn brew(context: Context, order: Order) -> Result<CallToolResult, HandlerError> {
    let form = ElicitFormParams::new("How many cups?").with_required_property("cups", NumberSchema::integer());
    let cups: u32 = match order.cups {
        Some(cups) => cups,
        // An open question ends the handler by its `?`, and its answer runs it again. So questions come first.
        None => context.elicit("cups", form)?.content.and_then(|content| content.get("cups")).unwrap_or(1),
    };
    for cup in 1..=cups {
        context.progress(cup.into(), Some(cups.into()), Some("pouring"));
    }
    CUPS_SERVED.fetch_add(cups, Ordering::Relaxed);
    context.log(LoggingLevel::Info, format!("the {} is ready", order.tea));
    context.resource_updated("tea://ledger");
    Ok(CallToolResult::structured(&json!({"tea": order.tea, "cups": cups}))?)
}

async fn ledger(_: Context, request: ResourceRequest) -> Result<ReadResourceResult, HandlerError> {
    Ok(ReadResourceResult::text(request.uri, format!("cups served: {}", CUPS_SERVED.load(Ordering::Relaxed))))
}

async fn recommend(_: Context, arguments: BTreeMap<String, String>) -> Result<GetPromptResult, HandlerError> {
    // A prompt is not asked for without its required arguments: the engine sees to it.
    let text = format!("Recommend a tea to someone who is {}.", arguments["mood"]);
    Ok(GetPromptResult::new([PromptMessage::user(text)]))
}

async fn moods(_: Context, typed: CompleteParams) -> Result<CompleteResult, HandlerError> {
    let moods = ["sleepy", "slow", "thirsty"].into_iter();
    Ok(CompleteResult::new(moods.filter(|mood| mood.starts_with(&typed.argument.value))))
}

async fn example() -> Result<(), ServeError> {
    let properties = json!({"tea": {"type": "string"}, "cups": {"type": "integer", "minimum": 1}});
    let order = json!({"type": "object", "properties": properties, "required": ["tea"]});
    let tea_house = Server::builder("tea-house", "1.0.0")
        .tool(Tool::new("brew", order).with_description("Brews tea"), brew)
        .resource(Resource::new("tea://ledger", "ledger").with_mime_type("text/plain"), ledger)
        .prompt(Prompt::new("recommend").with_argument(PromptArgument::required("mood")), recommend)
        .prompt_completion("recommend", "mood", moods);
    match std::env::args().skip_while(|argument| argument != "--http").nth(1) {
        None => tea_house.serve_stdio().await,
        Some(address) => {
            let listener = HttpListener::bind(address)?;
            println!("{}", listener.url("/mcp"));
            tea_house.serve_http(listener).await
        }
    }
}

fn main() -> Result<(), ServeError> {
    run(example())
}
