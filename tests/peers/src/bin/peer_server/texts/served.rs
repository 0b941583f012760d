//! What our server offers, the same on every runtime and the same as the servers in `node` and `python`.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::adapter::model::*;
use super::adapter::{Endpoint, HttpListener, HttpServerConfig, Json, RpcError, Server, ServerBuilder};

/// The resource that changes when `touch` is called.
const ITEM: &str = "test://item";
/// The template of the others.
const NUMBER: &str = "test://number/{number}";
/// Few enough that the tools take several pages.
const PAGE: usize = 5;

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize)]
struct Steps {
    steps: u32,
}

#[derive(Deserialize)]
struct Nothing {}

/// What became of the calls of `never`.
#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    cancelled: AtomicUsize,
}

program!(main() -> Result<(), Box<dyn std::error::Error>>, {
    let itself = Arc::new(OnceLock::new());
    let builder = Server::builder("windlass", "1.0.0")
        .configure(|config| config.page_size = PAGE)
        .instructions("For tests only.");
    let builder = with_questions(with_patience(with_tools(builder)));
    let builder = with_resources_and_prompts(with_changes(builder, itself.clone()))?;
    let server = match std::env::args().nth(2) {
        None => builder.start(Endpoint::own_stdio()?)?,
        Some(answers) => {
            let mut http = HttpServerConfig::on_loopback();
            http.json_answers = answers == "json";
            let listener = HttpListener::bind("127.0.0.1:0")?;
            println!("{}", listener.url(&http.path));
            std::io::stdout().flush()?;
            builder.http(http).start_http(listener)?
        }
    };
    itself.get_or_init(|| server.clone());
    wait!(server.wait_closed())?;
    Ok(())
});

fn with_tools(builder: ServerBuilder) -> ServerBuilder {
    let add = tool("add", r#"{"a":{"type":"integer"},"b":{"type":"integer"}}"#)
        .with_output_schema(object(r#"{"sum":{"type":"integer"}}"#));
    builder
        .tool(tool("echo", r#"{"text":{"type":"string"}}"#), |_, text: Text| answer!({ Ok(text.text) }))
        .tool(add, |_, numbers: Numbers| {
            answer!({ Ok(CallToolResult::structured(&Sum { sum: numbers.a + numbers.b })?) })
        })
        .tool(tool("count", r#"{"steps":{"type":"integer"}}"#), |context, Steps { steps }| {
            answer!({
                for step in 1..=steps {
                    context.progress(f64::from(step), Some(f64::from(steps)), Some(&format!("step {step}")));
                }
                Ok(format!("counted {steps}"))
            })
        })
        .tool(Tool::without_arguments("log"), |context, _: Nothing| {
            answer!({
                context.log(LoggingLevel::Debug, "a detail");
                context.log(LoggingLevel::Warning, "a warning");
                Ok("logged")
            })
        })
        .tool(Tool::without_arguments("fail"), |_, _: Nothing| {
            answer!({ Ok(CallToolResult::error("this tool always fails")) })
        })
}

fn with_patience(builder: ServerBuilder) -> ServerBuilder {
    let counts = Arc::new(Counts::default());
    let counted = counts.clone();
    builder
        .tool(Tool::without_arguments("never"), move |context, _: Nothing| {
            let counts = counted.clone();
            answer!({
                counts.started.fetch_add(1, Ordering::SeqCst);
                context.progress(1.0, None, Some("waiting"));
                until_cancelled!(context);
                counts.cancelled.fetch_add(1, Ordering::SeqCst);
                Ok("nobody hears this")
            })
        })
        .tool(Tool::without_arguments("counts"), move |_, _: Nothing| {
            let counts = counts.clone();
            answer!({
                let (started, cancelled) = (&counts.started, &counts.cancelled);
                Ok(format!("{} {}", started.load(Ordering::SeqCst), cancelled.load(Ordering::SeqCst)))
            })
        })
}

fn with_questions(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::without_arguments("ask_user"), |context, _: Nothing| {
            answer!({
                context.progress(1.0, None, Some("asking"));
                let form = ElicitFormParams::new("Your name?").with_required_property("name", StringSchema::new());
                let answer = context.elicit("name", form)?;
                let name: Option<String> = answer.content.and_then(|content| content.get("name"));
                Ok(name.unwrap_or_else(|| answer.action.to_string()))
            })
        })
        .tool(Tool::without_arguments("ask_model"), |context, _: Nothing| {
            answer!({
                let params = CreateMessageParams::new([SamplingMessage::user("Think of a word.")], 10);
                let answer = context.sample("word", params)?;
                match answer.content.blocks() {
                    [SamplingContentBlock::Text(word)] => Ok(format!("{} by {}", word.text, answer.model)),
                    other => Err(RpcError::internal(format!("one text was expected, not {other:?}")).into()),
                }
            })
        })
        .tool(Tool::without_arguments("ask_roots"), |context, _: Nothing| {
            answer!({
                let answer = context.roots("roots")?;
                Ok(answer.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
            })
        })
}

fn with_changes(builder: ServerBuilder, itself: Arc<OnceLock<Server>>) -> ServerBuilder {
    builder
        .tool(Tool::without_arguments("touch"), |context, _: Nothing| {
            answer!({
                context.resource_updated(ITEM);
                Ok("touched")
            })
        })
        .tool(Tool::without_arguments("add_tool"), move |_, _: Nothing| {
            let itself = itself.clone();
            answer!({
                let server = itself.get().ok_or_else(|| RpcError::internal("the server has not started"))?;
                server.add_tool(Tool::without_arguments("added"), |_, _: Nothing| answer!({ Ok("new") }));
                Ok("added")
            })
        })
}

fn with_resources_and_prompts(builder: ServerBuilder) -> Result<ServerBuilder, UriTemplateError> {
    let builder = builder
        .resource(Resource::new(ITEM, "item"), |_, request| {
            answer!({ Ok(ReadResourceResult::text(request.uri, "the item")) })
        })
        .resource_template(ResourceTemplate::new(NUMBER, "number"), |_, request| {
            answer!({
                let number = request.variables.get("number").cloned().unwrap_or_default();
                Ok(ReadResourceResult::text(request.uri, number))
            })
        })?
        .resource_completion(NUMBER, "number", |_, asked| answer!({ Ok(starting_with(&asked, &["1", "2"])) }))
        .prompt(Prompt::new("greeting").with_argument(PromptArgument::required("name")), |_, arguments| {
            answer!({ Ok(GetPromptResult::new([PromptMessage::user(format!("Hello, {}!", arguments["name"]))])) })
        })
        .prompt_completion("greeting", "name", |_, asked| {
            answer!({ Ok(starting_with(&asked, &["Ada", "Alan", "Grace"])) })
        });
    Ok(builder)
}

fn starting_with(asked: &CompleteParams, values: &[&str]) -> CompleteResult {
    CompleteResult::new(values.iter().copied().filter(|value| value.starts_with(&asked.argument.value)))
}

/// A tool with these properties, all of them required.
fn tool(name: &str, properties: &str) -> Tool {
    Tool::new(name, object(properties))
}

fn object(properties: &str) -> Json {
    let names: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(properties).expect("the properties are well-formed");
    let required: Vec<_> = names.keys().collect();
    Json::of(&serde_json::json!({ "type": "object", "properties": names, "required": required }))
        .expect("a schema is JSON")
}
