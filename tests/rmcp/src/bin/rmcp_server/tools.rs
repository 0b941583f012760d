//! The tools.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::{Value, json};

use super::asking::{Asked, ask, failed, form, is_modern, page_to_visit, roots, sampling};
use super::offers::named;
use super::{Context, Everything};

/// The list, with the tool that can be added while the server runs.
pub(super) fn offered(with_added: bool) -> Vec<Tool> {
    let number = json!({"type": "integer"});
    let sum = object(json!({"type": "object", "properties": {"sum": number}, "required": ["sum"]}));
    let without_arguments = [
        "progress",
        "ask_user",
        "ask_visit",
        "ask_model",
        "ask_roots",
        "ask_twice",
        "never",
        "counts",
        "fail",
        "image",
        "log",
        "add_tool",
        "change_lists",
        "touch",
        "caller",
        "pid",
    ];
    let mut tools = vec![
        tool("echo", json!({"text": {"type": "string"}})).with_annotations(ToolAnnotations::new().read_only(true)),
        tool("add", json!({"a": number, "b": number})).with_raw_output_schema(Arc::new(sum)),
    ];
    tools.extend(without_arguments.map(|name| tool(name, json!({}))));
    if with_added {
        tools.push(tool("added", json!({})));
    }
    tools
}

fn tool(name: &'static str, properties: Value) -> Tool {
    Tool::new(name, format!("The tool {name}"), object(json!({"type": "object", "properties": properties})))
}

impl Everything {
    pub(super) async fn run_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let text = match request.name.as_ref() {
            "echo" => arguments["text"].as_str().unwrap_or_default().to_owned(),
            "add" => {
                let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
                return Ok(CallToolResult::structured(json!({"sum": sum})).into());
            }
            "fail" => {
                return Ok(CallToolResult::error(vec![ContentBlock::text("it did not work")]).into());
            }
            "image" => {
                let blocks = vec![
                    ContentBlock::image("iVBORw0KGgo=", "image/png"),
                    ContentBlock::audio("UklGRg==", "audio/wav"),
                    ContentBlock::embedded_text("test://item", "the item"),
                    ContentBlock::resource_link(Resource::new("test://item", "item")),
                ];
                return Ok(CallToolResult::success(blocks).into());
            }
            "progress" => self.report_progress(&context).await?,
            "log" => self.log(&context).await?,
            "never" => self.wait_until_cancelled(&context).await,
            "counts" => {
                let (started, cancelled) = (&self.started, &self.cancelled);
                let (listeners, roots) = (self.changes.listeners(), self.roots_changed.load(Ordering::SeqCst));
                let (started, cancelled) = (started.load(Ordering::SeqCst), cancelled.load(Ordering::SeqCst));
                format!("started {started}, cancelled {cancelled}, listeners {listeners}, roots changed {roots}")
            }
            "add_tool" => self.changes.add_tool(&context).await.map(|()| "added".to_owned())?,
            "added" if self.changes.has_added_tool() => "new".to_owned(),
            "change_lists" => self.changes.change_lists(&context).await.map(|()| "changed".to_owned())?,
            "touch" => self.changes.touch("test://item", &context).await.map(|()| "touched".to_owned())?,
            "caller" => caller(&context),
            "pid" => std::process::id().to_string(),
            "ask_twice" => return ask_twice(&request, &context).await,
            name => match question(name) {
                Some(question) => match ask(&context, request.input_responses.as_ref(), name, question).await? {
                    Asked::Answer(answer) => told(name, &answer),
                    Asked::Open(open) => return Ok(open.into()),
                },
                None => return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None)),
            },
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    async fn report_progress(&self, context: &Context) -> Result<String, ErrorData> {
        let Some(token) = context.meta.get_progress_token() else { return Ok("nobody wants to know".to_owned()) };
        for step in 1..=3 {
            let params = ProgressNotificationParam::new(token.clone(), f64::from(step));
            let params = params.with_total(3.0).with_message(format!("step {step}"));
            context.peer.notify_progress(params).await.map_err(failed)?;
        }
        Ok("done".to_owned())
    }

    async fn log(&self, context: &Context) -> Result<String, ErrorData> {
        let wanted = match is_modern(context) {
            true => context.meta.log_level(),
            false => Some(*self.log_level.lock().unwrap()),
        };
        for (level, text) in [(LoggingLevel::Debug, "a detail"), (LoggingLevel::Warning, "a warning")] {
            if wanted.is_some_and(|wanted| severity(level) >= severity(wanted)) {
                let params = LoggingMessageNotificationParam::new(level, json!(text)).with_logger("everything");
                context.peer.notify_logging_message(params).await.map_err(failed)?;
            }
        }
        Ok("logged".to_owned())
    }

    async fn wait_until_cancelled(&self, context: &Context) -> String {
        self.started.fetch_add(1, Ordering::SeqCst);
        context.ct.cancelled().await;
        self.cancelled.fetch_add(1, Ordering::SeqCst);
        "nobody hears this".to_owned()
    }
}

/// rmcp does not order the levels.
fn severity(level: LoggingLevel) -> usize {
    use LoggingLevel::*;
    [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency].iter().position(|it| *it == level).unwrap_or(0)
}

/// What the tools ask that ask once.
fn question(tool: &str) -> Option<InputRequest> {
    Some(match tool {
        "ask_user" => form("Your name?", "name"),
        "ask_visit" => page_to_visit("Please sign in.", "https://example.com/sign-in"),
        "ask_model" => sampling("Think of a word."),
        "ask_roots" => roots(),
        _ => return None,
    })
}

/// What they tell of the answer.
fn told(tool: &str, answer: &Value) -> String {
    match tool {
        "ask_model" => format!(
            "{} by {}",
            answer["content"]["text"].as_str().unwrap_or_default(),
            answer["model"].as_str().unwrap_or_default()
        ),
        "ask_roots" => {
            let roots = answer["roots"].as_array().into_iter().flatten();
            roots.filter_map(|root| root["uri"].as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => named(answer),
    }
}

/// Asks the user and then the model. What the user said travels in the state that the client gives back.
async fn ask_twice(request: &CallToolRequestParams, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let name = match &request.request_state {
        Some(name) => name.clone(),
        None => match ask(context, responses, "name", form("Your name?", "name")).await? {
            Asked::Answer(answer) => named(&answer),
            Asked::Open(open) => return Ok(open.into()),
        },
    };
    match ask(context, responses, "word", sampling("Think of a word.")).await? {
        Asked::Answer(answer) => {
            let text = format!("{name}: {}", told("ask_model", &answer));
            Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
        }
        Asked::Open(mut open) => {
            open.request_state = Some(name);
            Ok(open.into())
        }
    }
}

/// What the server knows of its client.
fn caller(context: &Context) -> String {
    let name = context.client_info().map(|info| info.name).unwrap_or_default();
    let version = context.protocol_version().map(|version| version.to_string()).unwrap_or_default();
    let can = context.client_capabilities().unwrap_or_default();
    let (elicits, samples, has_roots) = (can.elicitation.is_some(), can.sampling.is_some(), can.roots.is_some());
    format!("{name} by {version}, elicitation {elicits}, sampling {samples}, roots {has_roots}")
}
