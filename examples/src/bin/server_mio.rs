//! A server with one tool of each kind, on mio.

use windlass_mio::model::{CallToolResult, ElicitAction, ElicitFormParams, StringSchema, Tool};
use windlass_mio::{Json, Server, run};

#[derive(serde::Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize)]
struct Nothing {}

fn example() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = Json::parse(
        r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}"#,
    )?;
    Server::builder("example-server", "1.0.0")
        .tool(Tool::new("add", numbers).with_description("Adds two numbers"), |context, sum: Add| {
            context.progress(1.0, Some(1.0), Some("adding"));
            Ok(format!("{}", sum.a + sum.b))
        })
        .tool(Tool::without_arguments("greet").with_description("Asks for a name"), |context, _: Nothing| {
            let form = ElicitFormParams::new("What is your name?").with_required_property("name", StringSchema::new());
            let answer = context.elicit("name", form)?;
            let name: Option<String> = answer.content.and_then(|content| content.get("name"));
            Ok(match (answer.action, name) {
                (ElicitAction::Accept, Some(name)) => CallToolResult::text(format!("Hello, {name}!")),
                _ => CallToolResult::text("Hello, whoever you are!"),
            })
        })
        .serve_stdio()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(example())
}
