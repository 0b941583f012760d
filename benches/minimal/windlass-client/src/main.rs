//! The least that a client can do: start a server, list its tools, call one.

use serde_json::json;
use windlass_blocking::{Client, Command};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::args().nth(1).ok_or("usage: minimal-windlass-client SERVER")?;
    let client = Client::connect(Command::new(server))?;
    for tool in client.list_tools()? {
        println!("{}", tool.name);
    }
    println!("{}", client.call_tool("echo", json!({"text": "hello"}))?.text_content());
    client.close();
    Ok(())
}
