//! A guest of the tea house: a client that starts a server, or goes to its URL, and uses all that it offers, on tokio.
//!
//! To run it: `cargo build -p windlass-examples && target/debug/client_tokio target/debug/server_tokio`. With `--legacy`
//! before the server's name they speak the older era of the protocol; nothing else differs. The URL of a server that runs
//! already, such as `server_tokio --http 127.0.0.1:0` prints, goes in place of its name.

use std::time::Duration;

use serde_json::json;
use windlass_tokio::client::{Negotiation, ServerNotification};
use windlass_tokio::model::*;
use windlass_tokio::{Client, Command, Connector, HttpTarget, RpcError, run};

/// The server has a question for the user. A real client would show the form.
async fn answer(question: ElicitParams) -> Result<ElicitResult, RpcError> {
    let ElicitParams::Form(form) = question else { return Ok(ElicitResult::decline()) };
    println!("asked: {}", form.message);
    Ok(ElicitResult::accept([("cups".to_string(), json!(2).into())].into_iter().collect()))
}

async fn example() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let legacy = arguments.next_if_eq("--legacy").is_some();
    let server = arguments.next().ok_or("usage: client_tokio [--legacy] URL, or SERVER ARGUMENTS…")?;
    let server: Connector = match server.starts_with("http") {
        true => HttpTarget::new(&server)?.into(),
        false => Command::new(server).args(arguments).into(),
    };
    let client = Client::builder("guest", "1.0.0")
        .negotiation(if legacy { Negotiation::Legacy } else { Negotiation::Automatic })
        .on_elicit(answer)
        .on_notification(|notification| println!("notified: {notification:?}"))
        .connect(server)
        .await?;
    println!("connected: {}", client.peer().version);
    client.set_log_level(LoggingLevel::Info).await?;
    println!("tools: {:?}", client.list_tools().await?.iter().map(Tool::display_name).collect::<Vec<_>>());

    let filter = SubscriptionFilter::new().with_resource_subscriptions(["tea://ledger"]);
    let mut changes = client.listen(filter).await?;
    let patient =
        client.with_idle_timeout(Duration::from_secs(60)).on_progress(|it| println!("progress: {}", it.progress));
    let tea = patient.call_tool("brew", json!({"tea": "oolong"})).await?;
    println!("brewed: {:?}", tea.structured_content);
    if let Some(ServerNotification::ResourceUpdated(changed)) = changes.next().await {
        println!("changed: {}", changed.uri);
    }
    println!("ledger: {:?}", client.read_resource("tea://ledger").await?.contents);

    let mood = CompleteParams::new(CompletionReference::prompt("recommend"), "mood", "sl");
    println!("moods: {:?}", client.complete(mood).await?.completion.values);
    let prompt = client.get_prompt(GetPromptParams::new("recommend").with_argument("mood", "slow")).await?;
    println!("prompt: {:?}", prompt.messages[0].content.as_text());

    // A tool's failure is a result, for a model to read and do better; a call that finds no tool is an error.
    println!("refused: {}", client.call_tool("brew", json!({"tea": 7})).await?.text_content());
    if let Err(error) = client.call_tool("juggle", json!({})).await {
        println!("failed: {error}");
    }
    println!("closed: {}", client.close().await);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
