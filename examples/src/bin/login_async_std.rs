//! A client whose user logs in where the server wants that, on async-std.
//!
//! To run it against a server of your own: `cargo run -p windlass-examples --bin login_async_std -- https://example.com/mcp`.
//! With `--local` before the URL it goes to servers on this machine, too. The next run finds what was granted.

use std::sync::Arc;
use std::time::Duration;

use windlass_async_std::auth::{AuthConfig, AuthPrompt, FileStore, Grant, LoopbackRedirect};
use windlass_async_std::{Client, HttpTarget, run};

/// How long the user may take.
const PATIENCE: Duration = Duration::from_secs(300);

async fn example() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let local = arguments.next_if_eq("--local").is_some();
    let url = arguments.next().ok_or("usage: login_async_std [--local] URL")?;
    let back = Arc::new(LoopbackRedirect::bind()?);
    let mut config = AuthConfig::new(Grant::code(back.redirect_uri())).client_name("Windlass example");
    if local {
        config = config.allow_local();
    }
    let target = HttpTarget::new(&url)?.with_authorization(config, FileStore::of_user()?);
    let client = Client::builder("visitor", "1.0.0")
        .on_login(move |login| {
            // A program with a window would open the page itself.
            if let AuthPrompt::Browser { url } = login.prompt() {
                println!("log in: {url}");
            }
            back.finish(login, PATIENCE);
        })
        .connect(target)
        .await?;
    println!("connected: {}", client.peer().version);
    for tool in client.list_tools().await? {
        println!("tool: {}", tool.name);
    }
    println!("closed: {}", client.close().await);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
