//! One server that uses everything that the newest revision has, seen by a client of each revision.

use windlass::model::{
    Annotations, BooleanSchema, CallToolResult, ContentBlock, CreateMessageParams, ElicitFormParams, ElicitUrlParams,
    EnumOption, GetPromptResult, Icon, Implementation, Meta, NumberSchema, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, SamplingContentBlock, SamplingMessage,
    StringSchema, TaskSupport, TextContent, TextResourceContents, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, Tool, ToolAnnotations, ToolExecution, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
use windlass::server::{Registry, ServerConfig};
use windlass_sim::{Handler, NetworkConditions, Script, SimServer, handler};

use crate::common::{META, Sim, initialize, json, legacy, modern, say};
use crate::end_and_expect;

const EVERYTHING: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}"#;

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn meta() -> Meta {
    let mut meta = Meta::new();
    meta.insert("com.example/shelf", &7).expect("a number is JSON");
    meta
}

fn icons() -> [Icon; 1] {
    [Icon::new("data:image/png;base64,AA==")]
}

fn annotations() -> Annotations {
    Annotations::new().with_priority(0.5).with_last_modified("2026-01-01T00:00:00Z")
}

fn report() -> Resource {
    Resource::new("file:///report.pdf", "report")
        .with_title("The report")
        .with_description("All numbers")
        .with_mime_type("application/pdf")
        .with_annotations(annotations())
        .with_icons(icons())
        .with_meta(meta())
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new();
    let rich = Tool::without_arguments("rich")
        .with_title("Rich")
        .with_output_schema(json(r#"{"type":"object"}"#))
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true))
        .with_execution(ToolExecution::new(TaskSupport::Optional))
        .with_icons(icons())
        .with_meta(meta());
    registry.add_tool(
        rich,
        handler(|_| {
            Ok(CallToolResult::new(Vec::new())
                .with_content(ContentBlock::Text(
                    TextContent::new("sounds:").with_annotations(annotations()).with_meta(meta()),
                ))
                .with_content(ContentBlock::audio("AAAA", "audio/wav"))
                .with_content(ContentBlock::resource(TextResourceContents::new("a:b", "c").with_meta(meta())))
                .with_content(ContentBlock::resource_link(report()))
                .with_structured_content(json(r#"{"loud":true}"#))
                .into())
        }),
    );
    // Any value may be structured content in 2026-07-28; what a text block says already is not said twice.
    let list = Tool::without_arguments("list").with_output_schema(json(r#"{"type":"array"}"#));
    registry.add_tool(list, handler(|_| Ok(CallToolResult::structured(&[1, 2])?.into())));
    registry.add_tool(
        Tool::without_arguments("sample"),
        handler(|context| {
            let blocks = vec![
                SamplingContentBlock::text("What is this?"),
                SamplingContentBlock::Audio(windlass::model::AudioContent::new("AAAA", "audio/wav")),
            ];
            let params = CreateMessageParams::new([SamplingMessage::user(blocks).with_meta(meta())], 9);
            let said = context.asking.sample("words", params)?;
            Ok(CallToolResult::text(said.model).into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("form"),
        handler(|context| {
            let options = || [EnumOption::new("r", "Red"), EnumOption::new("g", "Green")];
            let form = ElicitFormParams::new("Which?")
                .with_mode(windlass::model::FormMode)
                .with_required_property("name", StringSchema::new().with_default("Ada"))
                .with_property("age", NumberSchema::integer().with_default(30.0))
                .with_property("sure", BooleanSchema::new().with_default(true))
                .with_property("size", UntitledSingleSelectEnumSchema::new(["s", "m"]).with_default("m"))
                .with_property("colour", TitledSingleSelectEnumSchema::new(options()).with_default("r"))
                .with_property("sizes", UntitledMultiSelectEnumSchema::new(["s", "m"]).with_description("Yours"))
                .with_property("colours", TitledMultiSelectEnumSchema::new(options()));
            let chosen = context.asking.elicit("which", form)?;
            Ok(CallToolResult::text(chosen.action.as_str()).into())
        }),
    );
    registry.add_tool(
        Tool::without_arguments("visit"),
        handler(|context| {
            let page = ElicitUrlParams::new("Log in.", "https://example.com/login").with_elicitation_id("login-1");
            let visited = context.asking.elicit("where", page)?;
            Ok(CallToolResult::text(visited.action.as_str()).into())
        }),
    );
    registry.add_resource(
        report(),
        handler(|_| {
            let contents = TextResourceContents::new("file:///report.pdf", "1, 2, 3").with_meta(meta());
            Ok(ReadResourceResult::new([ResourceContents::Text(contents)]).with_ttl_ms(5).into())
        }),
    );
    let notes = ResourceTemplate::new("note:{name}", "note")
        .with_title("Notes")
        .with_annotations(annotations())
        .with_icons(icons())
        .with_meta(meta());
    let read = handler(|_| Ok(ReadResourceResult::text("note:a", "a").into()));
    registry.add_resource_template(notes, read).expect("the template can be matched");
    registry.add_prompt(
        Prompt::new("greet")
            .with_title("Greet")
            .with_icons(icons())
            .with_meta(meta())
            .with_argument(PromptArgument::new("tone").with_title("Tone")),
        handler(|_| {
            Ok(GetPromptResult::new([
                PromptMessage::user(ContentBlock::audio("AAAA", "audio/wav")),
                PromptMessage::assistant(ContentBlock::resource_link(report())),
            ])
            .into())
        }),
    );
    registry.add_prompt_completion(
        "greet",
        "tone",
        handler(|_| Ok(windlass::model::CompleteResult::new(["dry"]).into())),
    );
    registry
}

fn server() -> Sim<Script, SimServer> {
    let info = Implementation::new("server", "1")
        .with_title("Server")
        .with_description("Serves")
        .with_website_url("https://example.com/")
        .with_icons(icons());
    Sim::with_scripted_client(1, NetworkConditions::ideal(), SimServer::new(ServerConfig::new(info), registry(), 1))
}

const ASKED: [(&str, &str); 10] = [
    ("tools/list", ""),
    ("resources/list", ""),
    ("resources/templates/list", ""),
    ("prompts/list", ""),
    ("tools/call", r#""name":"rich""#),
    ("tools/call", r#""name":"list""#),
    ("resources/read", r#""uri":"file:///report.pdf""#),
    ("prompts/get", r#""name":"greet""#),
    ("completion/complete", r#""ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"tone","value":""}"#),
    ("resources/read", r#""uri":"note:a""#),
];

#[test]
fn clients_of_the_legacy_era_get_what_their_revision_has() {
    for version in LEGACY {
        let mut sim = server();
        say(&mut sim, &initialize(version).replace(r#"{"elicitation":{}}"#, EVERYTHING));
        say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        for (id, (method, params)) in ASKED.into_iter().enumerate() {
            say(&mut sim, &legacy(id as u64, method, params));
        }
        let sampled = r#""role":"assistant","content":{"type":"text","text":"A sound."},"model":"m""#;
        let answers = [("sample", sampled), ("form", r#""action":"decline""#), ("visit", r#""action":"accept""#)];
        for (id, (what, answer)) in answers.into_iter().enumerate() {
            let asked = sim.client.heard().iter().filter(|line| line.contains(r#""method""#)).count();
            say(&mut sim, &legacy(20 + id as u64, "tools/call", &format!(r#""name":"{what}""#)));
            // Where the revision has no such question, the tool has failed already.
            let now = sim.client.heard().iter().filter(|line| line.contains(r#""method""#)).count();
            if now > asked {
                say(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{now},"result":{{{answer}}}}}"#));
            }
        }
        end_and_expect(&mut sim, &format!("server_revision_{version}"));
    }
}

#[test]
fn clients_of_the_modern_era_get_everything_that_is_left() {
    let mut sim = server();
    for (id, (method, params)) in ASKED.into_iter().enumerate() {
        say(&mut sim, &modern(id as u64, method, params));
    }
    let with_everything = META.replace(r#"{"elicitation":{}}"#, EVERYTHING);
    for (id, what) in ["sample", "form", "visit"].into_iter().enumerate() {
        let asked = modern(20 + id as u64, "tools/call", &format!(r#""name":"{what}""#));
        say(&mut sim, &asked.replace(META, &with_everything));
    }
    end_and_expect(&mut sim, "server_revision_2026-07-28");
}
