//! A tea house as a server, on tokio.
//!
//! It has a tool that asks the user for what is missing, reports progress, logs and returns structured output; a
//! resource that changes; and a prompt whose argument can be completed. It speaks on its standard input and output, so
//! a client starts it: `cargo build --bins && target/debug/client_tokio target/debug/server_tokio`

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use windlass_tokio::model::*;
use windlass_tokio::server::HandlerError;
use windlass_tokio::{Context, ResourceRequest, Server, run};

static CUPS_SERVED: AtomicU32 = AtomicU32::new(0);

/// The arguments of `brew`. A call whose arguments do not fit is refused before the handler runs.
#[derive(serde::Deserialize)]
struct Order {
    tea: String,
    cups: Option<u32>,
}

async fn brew(context: Context, order: Order) -> Result<CallToolResult, HandlerError> {
    let form = ElicitFormParams::new("How many cups?").with_required_property("cups", NumberSchema::integer());
    // A question ends the handler by its `?`, and the handler is run again with the answer: so questions come first.
    let cups = match order.cups {
        Some(cups) => cups,
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
    let mood = arguments.get("mood").ok_or_else(|| RpcError::invalid_params("which mood?"))?;
    Ok(GetPromptResult::new([PromptMessage::user(format!("Recommend a tea to someone who is {mood}."))]))
}

async fn moods(_: Context, asked: CompleteParams) -> Result<CompleteResult, HandlerError> {
    let known = ["sleepy", "slow", "thirsty"];
    Ok(CompleteResult::new(known.into_iter().filter(|mood| mood.starts_with(&asked.argument.value))))
}

async fn example() -> Result<(), Box<dyn std::error::Error>> {
    let order = json!({
        "type": "object",
        "properties": {"tea": {"type": "string"}, "cups": {"type": "integer", "minimum": 1}},
        "required": ["tea"],
    });
    Server::builder("tea-house", "1.0.0")
        .tool(Tool::new("brew", order.into()).with_description("Brews tea"), brew)
        .resource(Resource::new("tea://ledger", "ledger").with_mime_type("text/plain"), ledger)
        .prompt(Prompt::new("recommend").with_argument(PromptArgument::required("mood")), recommend)
        .prompt_completion("recommend", "mood", moods)
        .serve_stdio()
        .await?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
