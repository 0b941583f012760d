//! What our servers offer, the same on every runtime.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::json;

use super::adapter::model::*;
use super::adapter::{Endpoint, HttpListener, HttpServerConfig, Server, ServerBuilder};

/// Few enough that the listings take several pages.
const PAGE: usize = 4;

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Nothing {}

program!(main() -> Result<(), Box<dyn std::error::Error>>, { Ok(wait!(start()?.wait_closed())?) });

/// Serves everything on the standard streams; or over HTTP, if it is told how to answer there (`json`, as long as nothing
/// has to be said before an answer, or `streams` always), and then says first where.
fn start() -> io::Result<Server> {
    let itself = Arc::new(OnceLock::new());
    let builder = Server::builder("windlass", "1.0.0").instructions("For tests only.");
    let builder = builder.configure(|config| config.page_size = PAGE);
    let builder = with_results(with_prompts(with_resources(builder)));
    let builder = with_questions(with_patience(with_changes(builder, itself.clone())));
    let server = match std::env::args().nth(1) {
        None => builder.start(Endpoint::own_stdio()?)?,
        Some(answers) => {
            let mut http = HttpServerConfig::on_loopback();
            http.json_answers = answers == "json";
            let listener = HttpListener::bind("127.0.0.1:0")?;
            println!("{}", listener.url(&http.path));
            io::stdout().flush()?;
            builder.http(http).start_http(listener)?
        }
    };
    itself.get_or_init(|| server.clone());
    Ok(server)
}

fn with_results(builder: ServerBuilder) -> ServerBuilder {
    let number = json!({"type": "integer"});
    let sum = json!({"type": "object", "properties": {"sum": number}, "required": ["sum"]});
    let add = tool("add", json!({"a": number, "b": number})).with_output_schema(sum.into());
    builder
        .tool(tool("echo", json!({"text": {"type": "string"}})), |_, text: Text| answer!({ Ok(text.text) }))
        .tool(add, |_, sum: Sum| answer!({ Ok(CallToolResult::structured(&json!({"sum": sum.a + sum.b}))?) }))
        .tool(Tool::without_arguments("image"), |_, _: Nothing| {
            answer!({
                Ok(CallToolResult::new([
                    ContentBlock::image("iVBORw0KGgo=", "image/png"),
                    ContentBlock::audio("UklGRg==", "audio/wav"),
                    ContentBlock::resource(TextResourceContents::new("test://item", "the item")),
                    ContentBlock::resource_link(Resource::new("test://item", "item")),
                ]))
            })
        })
        .tool(Tool::without_arguments("fail"), |_, _: Nothing| {
            answer!({ Ok(CallToolResult::error("it did not work")) })
        })
        .tool(Tool::without_arguments("progress"), |context, _: Nothing| {
            answer!({
                for step in 1..=3 {
                    context.progress(f64::from(step), Some(3.0), Some(&format!("step {step}")));
                }
                Ok("done")
            })
        })
        .tool(Tool::without_arguments("log"), |context, _: Nothing| {
            answer!({
                context.log(LoggingLevel::Debug, "a detail");
                context.log(LoggingLevel::Warning, "a warning");
                Ok("logged")
            })
        })
        .tool(Tool::without_arguments("caller"), |context, _: Nothing| {
            answer!({
                let caller = context.caller();
                let name = caller.info.as_ref().map_or("nobody", |info| info.name.as_str());
                Ok(format!("{name} by {}", caller.version))
            })
        })
}

fn with_resources(builder: ServerBuilder) -> ServerBuilder {
    let item = Resource::new("test://item", "item").with_title("An item").with_mime_type("text/plain");
    builder
        .resource(item, |_, request| answer!({ Ok(ReadResourceResult::text(request.uri, "the item")) }))
        .resource(Resource::new("test://pixel", "pixel"), |_, request| {
            answer!({ Ok(ReadResourceResult::new([BlobResourceContents::new(request.uri, "iVBORw0KGgo=").into()])) })
        })
        .resource(Resource::new("test://secret", "secret"), |context, request| {
            answer!({
                let name = named(context.elicit("password", form("The password?"))?);
                Ok(ReadResourceResult::text(request.uri, format!("the secret of {name}")))
            })
        })
        .resource_template(ResourceTemplate::new("test://number/{number}", "number"), |_, request| {
            answer!({
                let number = request.variables["number"].clone();
                Ok(ReadResourceResult::text(request.uri, number))
            })
        })
        .expect("the template is well-formed")
        .resource_completion("test://number/{number}", "number", |_, typed| {
            answer!({ Ok(starting_with(&typed, &["1", "12", "2"])) })
        })
}

fn with_prompts(builder: ServerBuilder) -> ServerBuilder {
    builder
        .prompt(Prompt::new("greeting").with_argument(PromptArgument::required("name")), |_, arguments| {
            answer!({ Ok(GetPromptResult::new([PromptMessage::user(format!("Hello, {}!", arguments["name"]))])) })
        })
        .prompt_completion("greeting", "name", |_, typed| {
            answer!({ Ok(starting_with(&typed, &["Ada", "Alan", "Grace"])) })
        })
        .prompt(Prompt::new("question"), |context, _| {
            answer!({
                let name = named(context.elicit("name", form("Your name?"))?);
                Ok(GetPromptResult::new([PromptMessage::user(format!("I am {name}."))]))
            })
        })
}

fn with_changes(builder: ServerBuilder, itself: Arc<OnceLock<Server>>) -> ServerBuilder {
    let elsewhere = itself.clone();
    builder
        .tool(Tool::without_arguments("add_tool"), move |_, _: Nothing| {
            let itself = itself.clone();
            answer!({
                let server = itself.wait();
                server.add_tool(Tool::without_arguments("added"), |_, _: Nothing| answer!({ Ok("new") }));
                Ok("added")
            })
        })
        .tool(Tool::without_arguments("change_lists"), move |_, _: Nothing| {
            let itself = elsewhere.clone();
            answer!({
                let server = itself.wait();
                server.remove_prompt("question");
                server.remove_resource("test://pixel");
                Ok("changed")
            })
        })
        .tool(Tool::without_arguments("touch"), |context, _: Nothing| {
            answer!({
                context.resource_updated("test://item");
                Ok("touched")
            })
        })
}

/// A tool that runs until it is cancelled, and one that tells whether that was seen.
fn with_patience(builder: ServerBuilder) -> ServerBuilder {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let counted = counts.clone();
    builder
        .tool(Tool::without_arguments("never"), move |context, _: Nothing| {
            let counts = counted.clone();
            answer!({
                counts[0].fetch_add(1, Ordering::SeqCst);
                until_cancelled!(context);
                counts[1].fetch_add(1, Ordering::SeqCst);
                Ok("nobody hears this")
            })
        })
        .tool(Tool::without_arguments("counts"), move |_, _: Nothing| {
            let counts = counts.clone();
            answer!({
                let [started, cancelled] = [&counts[0], &counts[1]].map(|count| count.load(Ordering::SeqCst));
                Ok(format!("started {started}, cancelled {cancelled}"))
            })
        })
}

fn with_questions(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::without_arguments("ask_user"), |context, _: Nothing| {
            answer!({ Ok(named(context.elicit("name", form("Your name?"))?)) })
        })
        .tool(Tool::without_arguments("ask_visit"), |context, _: Nothing| {
            answer!({
                let page = ElicitUrlParams::new("Please sign in.", "https://example.com/sign-in");
                Ok(named(context.elicit("visit", page)?))
            })
        })
        .tool(Tool::without_arguments("ask_visit_by_id"), |context, _: Nothing| {
            answer!({
                let page = ElicitUrlParams::new("Please sign in.", "https://example.com/sign-in");
                Ok(named(context.elicit("visit", page.with_elicitation_id("visit-1"))?))
            })
        })
        .tool(Tool::without_arguments("ask_model"), |context, _: Nothing| {
            answer!({ Ok(sampled(&context.sample("word", word())?)) })
        })
        .tool(Tool::without_arguments("ask_roots"), |context, _: Nothing| {
            answer!({
                let roots = context.roots("roots")?.roots;
                Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
            })
        })
        .tool(Tool::without_arguments("ask_twice"), |context, _: Nothing| {
            answer!({
                let name = named(context.elicit("name", form("Your name?"))?);
                let word = sampled(&context.sample("word", word())?);
                Ok(format!("{name}: {word}"))
            })
        })
}

fn tool(name: &str, properties: serde_json::Value) -> Tool {
    Tool::new(name, json!({"type": "object", "properties": properties}))
}

fn form(message: &str) -> ElicitFormParams {
    ElicitFormParams::new(message).with_required_property("name", StringSchema::new())
}

/// The name in the answer, or what the user did instead.
fn named(answer: ElicitResult) -> String {
    answer.content.and_then(|content| content.get("name")).unwrap_or_else(|| answer.action.to_string())
}

fn word() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::user("Think of a word.")], 10)
}

fn sampled(answer: &CreateMessageResult) -> String {
    let texts = answer.content.blocks().iter().map(|block| match block {
        SamplingContentBlock::Text(text) => text.text.clone(),
        other => format!("{other:?}"),
    });
    format!("{} by {}", texts.collect::<String>(), answer.model)
}

fn starting_with(typed: &CompleteParams, known: &[&str]) -> CompleteResult {
    CompleteResult::new(known.iter().copied().filter(|value| value.starts_with(&typed.argument.value)))
}
