//! A client that starts a server, lists its tools and calls them, on smol.
//!
//! ```sh
//! cargo run --bin client_smol -- COMMAND ARGS…
//! ```

use windlass_smol::model::{ElicitContent, ElicitResult};
use windlass_smol::{Client, Command, run};

async fn example() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("usage: client COMMAND ARGS…")?;
    let client = Client::builder("example-client", "1.0.0")
        .on_elicit(|_| async move {
            let mut content = ElicitContent::new();
            content.insert("name", "Ada").map_err(|error| windlass_smol::RpcError::internal(error.to_string()))?;
            Ok(ElicitResult::accept(content))
        })
        .connect(Command::new(program).args(arguments))
        .await?;
    println!("speaking {}", client.peer().version);
    for tool in client.list_tools().await? {
        println!("tool {}", tool.name);
    }
    let watched = client.on_progress(|progress| println!("progress {}", progress.progress));
    let sum = watched.call_tool("add", serde_json::json!({"a": 2, "b": 3})).await?;
    println!("2 + 3 = {}", sum.text_content());
    println!("{}", client.call_tool("greet", serde_json::json!({})).await?.text_content());
    client.close().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
