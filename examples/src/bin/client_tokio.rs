//! A guest of the tea house: a client that starts a server and uses what it offers, on tokio.
//!
//! `cargo build --bins && target/debug/client_tokio target/debug/server_tokio`, or with `--legacy` before the server to
//! speak the older era of the protocol. The program is the same for both.

use std::time::Duration;

use serde_json::json;
use windlass_tokio::client::{Negotiation, ServerNotification};
use windlass_tokio::model::*;
use windlass_tokio::{Client, Command, RpcError, run};

/// The server has a question for the user. A real client would show the form.
async fn answer(question: ElicitParams) -> Result<ElicitResult, RpcError> {
    let ElicitParams::Form(form) = question else { return Ok(ElicitResult::decline()) };
    println!("asked: {}", form.message);
    let mut content = ElicitContent::new();
    content.insert_json("cups", json!(2).into());
    Ok(ElicitResult::accept(content))
}

fn notified(notification: ServerNotification) {
    if let ServerNotification::Message(message) = notification {
        println!("log: {}", message.data);
    }
}

async fn example() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let legacy = arguments.next_if_eq("--legacy").is_some();
    let server = arguments.next().ok_or("usage: client_tokio [--legacy] SERVER ARGUMENTS…")?;
    let client = Client::builder("guest", "1.0.0")
        .negotiation(if legacy { Negotiation::Legacy } else { Negotiation::Automatic })
        .on_elicit(answer)
        .on_notification(notified)
        .connect(Command::new(server).args(arguments))
        .await?;
    println!("connected: {}", client.peer().version);
    client.set_log_level(LoggingLevel::Info).await?;
    for tool in client.list_tools().await? {
        println!("tool: {}", tool.name);
    }

    let ledger = SubscriptionFilter::new().with_resource_subscriptions(["tea://ledger".to_string()]);
    let mut changes = client.listen(ledger).await?;
    let patient = client.with_timeout(Duration::from_secs(60)).on_progress(|it| println!("progress: {}", it.progress));
    let tea = patient.call_tool("brew", json!({"tea": "oolong"})).await?;
    println!("brewed: {}", tea.structured_content.ok_or("brew has structured output")?);
    if let Some(ServerNotification::ResourceUpdated(changed)) = changes.next().await {
        println!("changed: {}", changed.uri);
    }
    for contents in client.read_resource("tea://ledger").await?.contents {
        println!("ledger: {contents:?}");
    }

    let mood = CompleteParams::new(CompletionReference::prompt("recommend"), "mood", "sl");
    let moods = client.complete(mood).await?.completion.values;
    println!("moods: {}", moods.join(", "));
    let prompt = client.get_prompt(GetPromptParams::new("recommend").with_argument("mood", &moods[0])).await?;
    println!("prompt: {:?}", prompt.messages[0].content.as_text());

    // A tool that fails has a result which says so, for a model to read; what is wrong with a call itself is an error.
    println!("refused: {}", client.call_tool("brew", json!({"tea": 7})).await?.text_content());
    match client.call_tool("juggle", json!({})).await {
        Ok(_) => println!("a tea house that juggles?"),
        Err(error) => println!("failed: {error}"),
    }
    println!("closed: {}", client.close().await);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
