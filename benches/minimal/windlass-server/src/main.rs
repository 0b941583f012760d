//! The least that a server can do: one tool.

use windlass_blocking::model::{CallToolResult, Tool};
use windlass_blocking::{ServeError, Server};

/// What the tool takes.
#[derive(serde::Deserialize)]
struct Text {
    text: String,
}

fn main() -> Result<(), ServeError> {
    Server::builder("minimal", "1")
        .tool(Tool::without_arguments("echo"), |_, Text { text }: Text| Ok(CallToolResult::text(text)))
        .serve_stdio()
}
