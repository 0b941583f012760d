//! What a server offers, and how that looks.

use std::fmt::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use windlass::client::Peer;
use windlass::jsonrpc::code;
use windlass::model::{
    Era, Implementation, Prompt, PromptArgument, Resource, ResourceTemplate, ServerCapabilities, Tool,
};
use windlass_host::Error;

use crate::coerce;
use crate::ordered::Members;
use crate::table::{aligned, first_line};

/// All that a server offers; `None` for what it does not declare.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) peer: Arc<Peer>,
    pub(crate) tools: Option<Vec<Tool>>,
    pub(crate) resources: Option<Vec<Resource>>,
    pub(crate) resource_templates: Option<Vec<ResourceTemplate>>,
    pub(crate) prompts: Option<Vec<Prompt>>,
}

/// A list that a server may lack although it declares the feature: many have resources and do not know templates.
pub(crate) fn if_known<V>(list: Result<Vec<V>, Error>) -> Result<Option<Vec<V>>, Error> {
    match list {
        Err(error) if error.remote().is_some_and(|remote| remote.code == code::METHOD_NOT_FOUND) => Ok(None),
        list => list.map(Some),
    }
}

/// Who the server is and what was negotiated, on one line.
pub(crate) fn introduction(peer: &Peer) -> String {
    let name = match &peer.info {
        Some(info) => first_line(&format!("{} {}", info.name, info.version)),
        None => "a server that does not say its name".into(),
    };
    let era = match peer.version.era() {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    };
    format!("{name}, protocol {} ({era})", peer.version)
}

/// Who the server is and what was negotiated, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Introduction<'a> {
    protocol_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_info: Option<&'a Implementation>,
}

impl<'a> Introduction<'a> {
    pub(crate) fn of(peer: &'a Peer) -> Self {
        Self { protocol_version: peer.version.as_str(), server_info: peer.info.as_ref() }
    }
}

/// Everything, for programs: as the server wrote it.
impl Serialize for Listing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Everything<'a> {
            #[serde(flatten)]
            introduction: Introduction<'a>,
            capabilities: &'a ServerCapabilities,
            #[serde(skip_serializing_if = "Option::is_none")]
            instructions: Option<&'a String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tools: Option<&'a Vec<Tool>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resources: Option<&'a Vec<Resource>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_templates: Option<&'a Vec<ResourceTemplate>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            prompts: Option<&'a Vec<Prompt>>,
        }

        let everything = Everything {
            introduction: Introduction::of(&self.peer),
            capabilities: &self.peer.capabilities,
            instructions: self.peer.instructions.as_ref(),
            tools: self.tools.as_ref(),
            resources: self.resources.as_ref(),
            resource_templates: self.resource_templates.as_ref(),
            prompts: self.prompts.as_ref(),
        };
        everything.serialize(serializer)
    }
}

impl Listing {
    /// What is known before anything was asked for.
    pub(crate) fn new(peer: Arc<Peer>) -> Self {
        Self { peer, tools: None, resources: None, resource_templates: None, prompts: None }
    }

    /// Everything, for people.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{}\n", introduction(&self.peer));
        for line in self.peer.instructions.iter().flat_map(|instructions| instructions.lines()) {
            let _ = writeln!(text, "  {}", first_line(line));
        }
        let sections = [
            self.tools.as_ref().map(|tools| ("tools", callable_lines(&rows(tools, tool)))),
            self.resources.as_ref().map(|resources| ("resources", aligned(2, &rows(resources, resource_row)))),
            self.resource_templates.as_ref().map(|all| ("resource templates", aligned(2, &rows(all, template_row)))),
            self.prompts.as_ref().map(|prompts| ("prompts", callable_lines(&rows(prompts, prompt)))),
        ];
        for (title, lines) in sections.into_iter().flatten() {
            let _ = write!(text, "\n{title}\n");
            for line in if lines.is_empty() { vec!["  none".into()] } else { lines } {
                text += &line;
                text.push('\n');
            }
        }
        text
    }

    /// The tools on one line each.
    pub(crate) fn tools_in_short(&self) -> String {
        aligned(2, &rows(self.tools.as_deref().unwrap_or_default(), tool_head)).join("\n") + "\n"
    }
}

fn rows<V, R>(entries: &[V], row: impl Fn(&V) -> R) -> Vec<R> {
    entries.iter().map(row).collect()
}

/// A tool or a prompt: its name and what it is about, and its arguments.
type Callable = ([String; 2], Vec<[String; 3]>);

/// The names in one column, each with its arguments below.
fn callable_lines(callables: &[Callable]) -> Vec<String> {
    let heads: Vec<_> = callables.iter().map(|(head, _)| head.clone()).collect();
    let with_arguments = |(head, (_, arguments)): (String, &Callable)| {
        std::iter::once(head).chain(aligned(6, arguments)).collect::<Vec<_>>()
    };
    aligned(2, &heads).into_iter().zip(callables).flat_map(with_arguments).collect()
}

fn tool(tool: &Tool) -> Callable {
    #[derive(Default, Deserialize)]
    struct Schema {
        #[serde(default)]
        properties: Members,
        #[serde(default)]
        required: Vec<String>,
    }

    let root: Value = tool.input_schema.decode().unwrap_or_default();
    // A schema of another form than this is legal, and has nothing to show on a line.
    let schema: Schema = tool.input_schema.decode().unwrap_or_default();
    let row = |(name, property): &(String, Value)| {
        let kind = coerce::type_name(property, &root);
        argument_row(name, &kind, schema.required.contains(name), property["description"].as_str())
    };
    (tool_head(tool), rows(&schema.properties.0, row))
}

fn tool_head(tool: &Tool) -> [String; 2] {
    [first_line(&tool.name), about(tool.title.as_deref(), tool.description.as_deref())]
}

fn prompt(prompt: &Prompt) -> Callable {
    let row = |argument: &PromptArgument| {
        let about = argument.description.as_deref().or(argument.title.as_deref());
        argument_row(&argument.name, "string", argument.required == Some(true), about)
    };
    let about = about(prompt.title.as_deref(), prompt.description.as_deref());
    ([first_line(&prompt.name), about], rows(prompt.arguments.as_deref().unwrap_or_default(), row))
}

fn argument_row(name: &str, kind: &str, required: bool, about: Option<&str>) -> [String; 3] {
    let kind = if required { format!("{kind}, required") } else { kind.to_owned() };
    [first_line(name), first_line(&kind), first_line(about.unwrap_or_default())]
}

fn resource_row(resource: &Resource) -> [String; 3] {
    let about = about(resource.title.as_deref().or(Some(&resource.name)), resource.description.as_deref());
    [first_line(&resource.uri), first_line(resource.mime_type.as_deref().unwrap_or_default()), about]
}

fn template_row(template: &ResourceTemplate) -> [String; 3] {
    let about = about(template.title.as_deref().or(Some(&template.name)), template.description.as_deref());
    [first_line(&template.uri_template), first_line(template.mime_type.as_deref().unwrap_or_default()), about]
}

/// The description says more than the title, where there is one.
fn about(title: Option<&str>, description: Option<&str>) -> String {
    let description = description.map(first_line).filter(|line| !line.is_empty());
    description.unwrap_or_else(|| first_line(title.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass::Json;
    use windlass::RpcError;

    #[test]
    fn tools_stand_in_columns_with_their_arguments_in_order() {
        let schema = r#"{
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where"},
                "a": {"type": "integer", "description": "How many\nmore"}
            },
            "required": ["city"]
        }"#;
        let weather = Tool::new("weather", Json::parse(schema).unwrap()).with_description("The weather\nin a city");
        let now = Tool::without_arguments("now").with_title("Now");
        let odd = Tool::new("odd", Json::parse("[]").unwrap());
        assert_eq!(
            callable_lines(&rows(&[weather, now, odd], tool)),
            [
                "  weather  The weather",
                "      city  string, required  Where",
                "      a     integer           How many",
                "  now      Now",
                "  odd",
            ]
        );
    }

    #[test]
    fn only_an_unknown_method_is_forgiven() {
        let failed = |error: RpcError| if_known::<Tool>(Err(windlass::CallError::Remote(error).into()));
        assert_eq!(failed(RpcError::method_not_found("x")), Ok(None));
        assert!(failed(RpcError::internal("x")).is_err());
        assert_eq!(if_known::<Tool>(Ok(Vec::new())), Ok(Some(Vec::new())));
    }
}
