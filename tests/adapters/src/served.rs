//! What the servers of the tests offer, the same on every runtime.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use super::adapter::model::*;
use super::adapter::server::HandlerError;
use super::adapter::{Endpoint, HttpListener, HttpServerConfig, Json, Server, ServerBuilder};

/// The resource that changes when `touch` is called.
pub(crate) const ITEM: &str = "test://item";

/// Few enough that the tools take several pages.
const PAGE: usize = 4;

/// How long a request takes that is still open when its client is gone.
const SLOW: Duration = Duration::from_millis(60);

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Size {
    bytes: usize,
}

#[derive(Deserialize)]
struct Flood {
    messages: u32,
    bytes: usize,
}

#[derive(Deserialize)]
struct Nothing {}

/// What became of the calls of `never`.
#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    cancelled: AtomicUsize,
}

/// Serves everything on `endpoint`.
pub(crate) fn start(endpoint: Endpoint) -> io::Result<Server> {
    start_by(|builder| builder.start(endpoint))
}

/// Serves everything to those who connect.
pub(crate) fn start_http(listener: HttpListener, config: HttpServerConfig) -> io::Result<Server> {
    start_by(|builder| builder.http(config).start_http(listener))
}

/// Serves everything in a way of its own.
pub(crate) fn start_by(start: impl FnOnce(ServerBuilder) -> io::Result<Server>) -> io::Result<Server> {
    let itself = Itself::default();
    let builder = with_streams(with_inputs(with_changes(plain(), &itself)));
    // Requests are served before the handle is there; who needs it waits for it.
    let mut handle = itself.lock().unwrap_or_else(PoisonError::into_inner);
    let server = start(builder)?;
    *handle = Some(server.clone());
    Ok(server)
}

/// The server's own handle, for handlers that change it.
type Itself = Arc<Mutex<Option<Server>>>;

fn handle(itself: &Itself) -> Result<Server, HandlerError> {
    let handle = itself.lock().unwrap_or_else(PoisonError::into_inner).clone();
    handle.ok_or_else(|| HandlerError::failed("the server has not started"))
}

/// What needs no handle of the server itself.
pub(crate) fn plain() -> ServerBuilder {
    with_trouble(with_basics())
}

fn with_basics() -> ServerBuilder {
    let number = ResourceTemplate::new("test://number/{number}", "number");
    Server::builder("served", "1.0.0")
        .configure(|config| config.page_size = PAGE)
        .instructions("For tests only.")
        .tool(tool("add", r#"{"a":{"type":"integer"},"b":{"type":"integer"}}"#), |context, sum: Sum| {
            answer!({
                for step in 1..=3 {
                    context.progress(f64::from(step), Some(3.0), Some("adding"));
                }
                Ok(format!("{}", sum.a + sum.b))
            })
        })
        .tool(tool("echo", r#"{"text":{"type":"string"}}"#), |_, text: Text| answer!({ Ok(text.text) }))
        .tool(tool("grow", r#"{"bytes":{"type":"integer"}}"#), |_, size: Size| answer!({ Ok("x".repeat(size.bytes)) }))
        .tool(Tool::without_arguments("pid"), |_, _: Nothing| answer!({ Ok(std::process::id().to_string()) }))
        .tool(Tool::without_arguments("log"), |context, _: Nothing| {
            answer!({
                context.log(LoggingLevel::Debug, "a detail");
                context.log(LoggingLevel::Warning, "a warning");
                Ok("logged")
            })
        })
        .resource(Resource::new(ITEM, "item"), |_, request| {
            answer!({ Ok(ReadResourceResult::text(request.uri, "the item")) })
        })
        .resource_template(number, |_, request| {
            answer!({
                let number = request.variables.get("number").cloned().unwrap_or_default();
                Ok(ReadResourceResult::text(request.uri, number))
            })
        })
        .expect("the template is well-formed")
        .resource_completion("test://number/{number}", "number", |_, _| {
            answer!({ Ok(CompleteResult::new(["1", "2"])) })
        })
        .prompt(Prompt::new("greeting").with_argument(PromptArgument::required("name")), |_, arguments| {
            answer!({ Ok(GetPromptResult::new([PromptMessage::user(format!("Hello, {}!", arguments["name"]))])) })
        })
        .prompt_completion("greeting", "name", |_, params| {
            answer!({
                let names = ["Ada", "Alan", "Grace"].into_iter();
                Ok(CompleteResult::new(names.filter(|name| name.starts_with(&params.argument.value))))
            })
        })
}

fn with_changes(builder: ServerBuilder, itself: &Itself) -> ServerBuilder {
    let (growing, shrinking) = (itself.clone(), itself.clone());
    builder
        .tool(Tool::without_arguments("add_tool"), move |_, _: Nothing| {
            let itself = growing.clone();
            answer!({
                handle(&itself)?.add_tool(Tool::without_arguments("added"), |_, _: Nothing| answer!({ Ok("new") }));
                Ok("added")
            })
        })
        .tool(Tool::without_arguments("remove_tool"), move |_, _: Nothing| {
            let itself = shrinking.clone();
            answer!({ Ok(handle(&itself)?.remove_tool("added").to_string()) })
        })
        .tool(Tool::without_arguments("touch"), |context, _: Nothing| {
            answer!({
                context.resource_updated(ITEM);
                Ok("touched")
            })
        })
}

fn with_trouble(builder: ServerBuilder) -> ServerBuilder {
    let counts = Arc::new(Counts::default());
    let counted = counts.clone();
    builder
        .tool(Tool::without_arguments("never"), move |context, _: Nothing| {
            let counts = counted.clone();
            answer!({
                counts.started.fetch_add(1, Ordering::SeqCst);
                context.progress(1.0, None, Some("waiting"));
                until_cancelled!(context);
                assert!(context.is_cancelled());
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
        .tool(Tool::without_arguments("stuck"), |_, _: Nothing| {
            answer!({
                let started = true;
                if started {
                    forever!();
                }
                Ok("never")
            })
        })
        .tool(Tool::without_arguments("slow"), |_, _: Nothing| {
            answer!({
                pause!(SLOW);
                Ok("done at last")
            })
        })
        .tool(Tool::without_arguments("fail"), |_, _: Nothing| {
            answer!({
                let number: i32 = "seven".parse()?;
                Ok(number.to_string())
            })
        })
        .tool(Tool::without_arguments("panic"), |_, _: Nothing| answer!({ panicking("a handler's mistake") }))
        .tool(Tool::without_arguments("panic_at_once"), |_, _: Nothing| {
            answer_at_once!({ panicking("a handler's early mistake") })
        })
        .tool(tool("print", r#"{"text":{"type":"string"}}"#), |_, text: Text| {
            answer!({
                println!("{}", text.text);
                Ok("printed")
            })
        })
        .tool(tool("complain", r#"{"bytes":{"type":"integer"}}"#), |_, size: Size| {
            answer!({
                for _ in 0..size.bytes / 100 {
                    eprintln!("{}", "!".repeat(99));
                }
                Ok("complained")
            })
        })
}

fn with_inputs(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::without_arguments("ask_user"), |context, _: Nothing| {
            answer!({
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
                Ok(format!("{} by {}", sampled_text(&answer), answer.model))
            })
        })
        .tool(Tool::without_arguments("ask_roots"), |context, _: Nothing| {
            answer!({
                let answer = context.roots("roots")?;
                Ok(answer.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
            })
        })
}

/// What says something before its answer.
fn with_streams(builder: ServerBuilder) -> ServerBuilder {
    let gate = Arc::new(AtomicBool::new(false));
    let opened = gate.clone();
    builder
        .tool(Tool::without_arguments("wait_for_gate"), move |context, _: Nothing| {
            let gate = gate.clone();
            answer!({
                context.progress(1.0, Some(2.0), Some("waiting"));
                while !gate.swap(false, Ordering::SeqCst) {
                    pause!(Duration::from_millis(2));
                }
                Ok("the gate was opened")
            })
        })
        .tool(Tool::without_arguments("open_gate"), move |_, _: Nothing| {
            opened.store(true, Ordering::SeqCst);
            answer!({ Ok("opened") })
        })
        .tool(Tool::without_arguments("interrupt"), |context, _: Nothing| {
            answer!({
                context.progress(1.0, Some(2.0), Some("before"));
                context.close_stream();
                pause!(SLOW);
                Ok("after the interruption")
            })
        })
        .tool(
            tool("flood", r#"{"messages":{"type":"integer"},"bytes":{"type":"integer"}}"#),
            |context, flood: Flood| {
                answer!({
                    let text = "~".repeat(flood.bytes);
                    for number in 0..flood.messages {
                        context.progress(f64::from(number), None, Some(&text));
                    }
                    Ok("all is said")
                })
            },
        )
}

fn panicking(why: &str) -> Result<String, HandlerError> {
    panic!("{why}, which is part of the test");
}

fn sampled_text(answer: &CreateMessageResult) -> String {
    let texts = answer.content.blocks().iter().map(|block| match block {
        SamplingContentBlock::Text(text) => text.text.clone(),
        other => format!("{other:?}"),
    });
    texts.collect()
}

/// A tool with these properties, all required to be there by the handler's own type.
fn tool(name: &str, properties: &str) -> Tool {
    let schema = format!(r#"{{"type":"object","properties":{properties}}}"#);
    Tool::new(name, Json::parse(schema).expect("the schema is well-formed"))
}
