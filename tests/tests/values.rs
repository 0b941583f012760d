//! What programs build is what goes over the wire, and reads back as the same.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use windlass::client::{ServerNotification, decode};
use windlass::model::*;
use windlass::{CallError, Instant, Json, JsonText, RpcError, Seed, SendError};

#[track_caller]
fn says<V: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: V, text: &str) {
    let written = Json::of(&value).expect("it can be written");
    assert_eq!(written.as_str(), text);
    assert_eq!(written.decode::<V>().expect("it can be read"), value);
}

fn meta() -> Meta {
    Meta::from_iter([("a".to_owned(), Json::parse("1").unwrap())])
}

#[test]
fn tools_and_their_results() {
    let tool = Tool::new("t", json!({"type": "object"}))
        .with_title("T")
        .with_description("d")
        .with_annotations(ToolAnnotations::new().with_title("A").with_read_only_hint(true).with_destructive_hint(false))
        .with_execution(ToolExecution::new(TaskSupport::Required))
        .with_icons([Icon::new("data:x").with_theme(IconTheme::Dark)]);
    assert_eq!(tool.display_name(), "T");
    says(
        tool.clone(),
        r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false},"execution":{"taskSupport":"required"},"icons":[{"src":"data:x","theme":"dark"}]}"#,
    );
    let mut untitled = tool;
    untitled.title = None;
    assert_eq!(untitled.display_name(), "A");
    untitled.annotations = Some(ToolAnnotations::new().with_idempotent_hint(true).with_open_world_hint(false));
    assert_eq!(untitled.display_name(), "t");
    let hints = Json::of(&untitled.annotations).unwrap();
    assert_eq!(hints.as_str(), r#"{"idempotentHint":true,"openWorldHint":false}"#);

    says(CallToolResult::from("a"), r#"{"content":[{"type":"text","text":"a"}]}"#);
    assert_eq!(CallToolResult::from("a".to_owned()), CallToolResult::text("a"));
    let structured = CallToolResult::structured(&json!({"a": 1})).unwrap();
    says(structured, r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#);
    let two = CallToolResult::text("a").with_content("b").with_content(ContentBlock::image("AA==", "image/png"));
    assert_eq!((two.text_content().as_str(), two.is_failure()), ("a\nb", false));
    assert!(CallToolResult::error("e").is_failure());
    assert!(!CallToolResult::text("e").with_is_error(false).is_failure());
    assert_eq!(ContentBlock::image("AA==", "image/png").as_text(), None);
}

#[test]
fn blocks_of_content_are_written_as_the_schema_has_them() {
    says(
        vec![
            ContentBlock::from("a"),
            ContentBlock::audio("AA==", "audio/wav"),
            ContentBlock::resource(TextResourceContents::new("a:b", "t")),
            ContentBlock::resource(BlobResourceContents::new("a:b", "AA==")),
            ContentBlock::resource_link(Resource::new("a:b", "n")),
            ContentBlock::Text(TextContent::new("t").with_annotations(Annotations::new().with_priority(0.5))),
        ],
        r#"[{"type":"text","text":"a"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"a:b","text":"t"}},{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}},{"type":"resource_link","uri":"a:b","name":"n"},{"type":"text","text":"t","annotations":{"priority":0.5}}]"#,
    );
    says(
        Annotations::new().with_audience([Role::User, Role::Assistant]).with_last_modified("2025-01-01T00:00:00Z"),
        r#"{"audience":["user","assistant"],"lastModified":"2025-01-01T00:00:00Z"}"#,
    );
}

#[test]
fn contents_of_resources_are_written_as_the_schema_has_them() {
    let text: ResourceContents = TextResourceContents::new("a:b", "t").with_mime_type("text/plain").into();
    let blob: ResourceContents = BlobResourceContents::new("a:c", "AA==").with_mime_type("image/png").into();
    let other: ResourceContents = Json::parse(r#"{"uri":"a:d"}"#).unwrap().decode().unwrap();
    assert_eq!([text.uri(), blob.uri(), other.uri()], [Some("a:b"), Some("a:c"), None]);
    assert_eq!([text.mime_type(), blob.mime_type(), other.mime_type()], [Some("text/plain"), Some("image/png"), None]);
    let all = vec![text, blob, TextResourceContents::new("a:e", "u").into(), other];
    let result = ReadResourceResult::new(all);
    assert_eq!(result.text_content(), "t\nu");
    says(
        result,
        r#"{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"t"},{"uri":"a:c","mimeType":"image/png","blob":"AA=="},{"uri":"a:e","text":"u"},{"uri":"a:d"}]}"#,
    );
    assert_eq!(ReadResourceResult::text("a:b", "").text_content(), "");
}

#[test]
fn completions_are_written_as_the_schema_has_them() {
    let params = CompleteParams::new(PromptReference::new("p").with_title("P"), "a", "v").with_known_argument("b", "w");
    says(
        params,
        r#"{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"w"}}}"#,
    );
    assert_eq!(CompletionReference::prompt("p"), PromptReference::new("p").into());
    assert_eq!(CompletionReference::resource("a:{b}"), ResourceTemplateReference::new("a:{b}").into());
    says(CompletionReference::resource("a:{b}"), r#"{"type":"ref/resource","uri":"a:{b}"}"#);
    for (total, more) in [(1, false), (2, false), (3, true)] {
        let completion = CompleteResult::new(["a", "b"]).with_total(total).completion;
        assert_eq!((completion.total, completion.has_more), (Some(total), Some(more)));
    }
    let hundred = CompleteResult::new((0..100).map(|number| number.to_string())).completion;
    assert_eq!((hundred.values.len(), hundred.total, hundred.has_more), (100, None, None));
    let more = CompleteResult::new((0..101).map(|number| number.to_string())).completion;
    assert_eq!((more.values.len(), more.total, more.has_more), (100, Some(101), Some(true)));
}

#[test]
fn forms_and_their_fields() {
    let form = ElicitFormParams::new("m")
        .with_property("a", NumberSchema::integer())
        .with_property("b", NumberSchema::number())
        .with_property("c", BooleanSchema::new())
        .with_property("d", UntitledSingleSelectEnumSchema::new(["x", "y"]))
        .with_property("e", TitledSingleSelectEnumSchema::new([EnumOption::new("x", "X")]))
        .with_property("f", UntitledMultiSelectEnumSchema::new(["x"]))
        .with_required_property("g", TitledMultiSelectEnumSchema::new([EnumOption::new("x", "X")]));
    says(
        form,
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"boolean"},"d":{"type":"string","enum":["x","y"]},"e":{"type":"string","oneOf":[{"const":"x","title":"X"}]},"f":{"type":"array","items":{"type":"string","enum":["x"]}},"g":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}},"required":["g"]}}"#,
    );
    let default = |schema: &str| {
        let schema: PropertySchema = Json::parse(schema).unwrap().decode().unwrap();
        schema.default_value().map(|json| json.as_str().to_owned())
    };
    for (schema, expected) in [
        (r#"{"type":"string","default":"d"}"#, Some("\"d\"")),
        (r#"{"type":"integer","default":3}"#, Some("3")),
        (r#"{"type":"number","default":0.5}"#, Some("0.5")),
        (r#"{"type":"boolean","default":false}"#, Some("false")),
        (r#"{"type":"string","enum":["x"],"default":"x"}"#, Some("\"x\"")),
        (r#"{"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"x"}"#, Some("\"x\"")),
        (r#"{"type":"array","items":{"type":"string","enum":["x"]},"default":["x"]}"#, Some(r#"["x"]"#)),
        (r#"{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]}"#, Some(r#"["x"]"#)),
        (r#"{"type":"colour","default":{"red":1}}"#, Some(r#"{"red":1}"#)),
        (r#"{"type":"string"}"#, None),
        (r#"{"type":"colour"}"#, None),
    ] {
        assert_eq!(default(schema).as_deref(), expected, "{schema}");
    }
    says(ElicitResult::cancel(), r#"{"action":"cancel"}"#);
    says(ElicitResult::decline(), r#"{"action":"decline"}"#);
    says(ElicitationCompleteParams::new("e"), r#"{"elicitationId":"e"}"#);
}

#[test]
fn maps_of_json_hold_what_was_put_in() {
    let mut content = ElicitContent::new();
    assert!(content.is_empty());
    content.insert("a", &1).unwrap();
    content.insert("b", "x").unwrap();
    assert_eq!((content.len(), content.is_empty()), (2, false));
    assert_eq!((content.get::<u8>("a"), content.get::<u8>("b"), content.get::<u8>("c")), (Some(1), None, None));
    assert_eq!(content.get_json("b").map(Json::as_str), Some("\"x\""));
    let entries: Vec<_> = content.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    assert_eq!(ElicitContent::from_iter(entries.clone()), content);
    assert_eq!(content.clone().into_iter().collect::<Vec<_>>(), entries);
    assert_eq!(content.remove("a").as_ref().map(Json::as_str), Some("1"));
    assert_eq!((content.remove("a"), content.len()), (None, 1));
    says(content, r#"{"b":"x"}"#);
}

#[test]
fn sampling_is_written_as_the_schema_has_it() {
    let mut params = CreateMessageParams::new(
        [
            SamplingMessage::user("a"),
            SamplingMessage::assistant(vec![SamplingContentBlock::text("b"), SamplingContentBlock::text("c")]),
        ],
        7,
    );
    params.model_preferences = Some(ModelPreferences::new().with_hint("m"));
    params.tool_choice = Some(ToolChoice::new(ToolChoiceMode::Required));
    params.include_context = Some(IncludeContext::ThisServer);
    assert_eq!(params.messages.iter().map(|message| message.content.blocks().len()).collect::<Vec<_>>(), [1, 2]);
    says(
        params,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}],"modelPreferences":{"hints":[{"name":"m"}]},"includeContext":"thisServer","maxTokens":7,"toolChoice":{"mode":"required"}}"#,
    );
    let mut result = CreateMessageResult::new("m", "a");
    result.stop_reason = Some(StopReason::EndTurn);
    says(result, r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"endTurn"}"#);
    says(
        ToolUseContent::new("1", "t", Json::empty_object()).with_meta(meta()),
        r#"{"id":"1","name":"t","input":{},"_meta":{"a":1}}"#,
    );
    says(ToolResultContent::new("1", ["a".into()]), r#"{"toolUseId":"1","content":[{"type":"text","text":"a"}]}"#);
}

#[test]
fn prompts_and_inputs_are_written_as_the_schema_has_them() {
    says(
        ListPromptsResult::new([Prompt::new("p")
            .with_argument(PromptArgument::required("a"))
            .with_argument(PromptArgument::new("b"))]),
        r#"{"prompts":[{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]}]}"#,
    );
    says(PromptMessage::assistant("a"), r#"{"role":"assistant","content":{"type":"text","text":"a"}}"#);
    let form: InputRequest = ElicitFormParams::new("m").into();
    let visit: InputRequest = ElicitUrlParams::new("m", "https://a.example").into();
    let either: InputRequest = ElicitParams::from(ElicitFormParams::new("m")).into();
    assert_eq!(form, either);
    let other = InputRequest::Other { method: "x/y".into(), params: None };
    let roots = InputRequest::Roots(ListRootsParams::default());
    let mut requests = InputRequests::new().with("form", form.clone()).with("visit", visit).with("roots", roots);
    assert!(requests.get("other").is_none());
    requests.insert("other", other);
    assert_eq!((requests.len(), requests.is_empty(), requests.get("form")), (4, false, Some(&form)));
    assert_eq!(requests.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["form", "other", "roots", "visit"]);
    says(
        InputRequiredResult::new(requests),
        r#"{"inputRequests":{"form":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}},"other":{"method":"x/y"},"roots":{"method":"roots/list"},"visit":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}}}"#,
    );
    says(InputRequiredResult::retry("s"), r#"{"requestState":"s"}"#);
    assert!(InputRequests::new().is_empty());
    let mut named = ListRootsParams::default();
    named.meta = Some(meta());
    says(InputRequest::Roots(named), r#"{"method":"roots/list","params":{"_meta":{"a":1}}}"#);
}

#[test]
fn notifications_and_results_are_written_as_the_schema_has_them() {
    says(CancelledParams::new(7).with_reason("r"), r#"{"requestId":7,"reason":"r"}"#);
    says(EmptyParams::new().with_meta(meta()), r#"{"_meta":{"a":1}}"#);
    says(EmptyResult::new(), "{}");
    says(
        SubscriptionsAcknowledgedParams::new(SubscriptionFilter::new().with_prompts_list_changed(true)),
        r#"{"notifications":{"promptsListChanged":true}}"#,
    );
    assert_eq!(Json::of(&ProtocolVersion::V2025_06_18).unwrap().as_str(), r#""2025-06-18""#);
    struct Own;
    impl Method for Own {
        const NAME: &'static str = "own/method";
        type Params = EmptyParams;
        type Output = EmptyResult;
    }
    impl Notice for Own {
        const NAME: &'static str = "notifications/own";
        type Params = EmptyParams;
    }
    let text = JsonText::parse(r#"{"_meta":{"a":1}}"#).unwrap();
    assert_eq!(<Own as Method>::read(text).unwrap().meta, Some(meta()));
    assert_eq!(<Own as Notice>::read(text).unwrap().meta, Some(meta()));
    assert!(<Own as Method>::read(JsonText::parse("7").unwrap()).is_err());
}

#[test]
fn capabilities_are_what_was_declared() {
    let none = ClientCapabilities::new();
    let settings = Json::empty_object;
    let all = ClientCapabilities::new()
        .with_roots(false)
        .with_sampling_context()
        .with_sampling_tools()
        .with_url_elicitation()
        .with_extension("a/b", settings());
    says(
        all.clone(),
        r#"{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"url":{}},"extensions":{"a/b":{}}}"#,
    );
    let declared = |it: &ClientCapabilities| {
        [
            it.supports_roots(),
            it.supports_sampling(),
            it.supports_sampling_tools(),
            it.supports_form_elicitation(),
            it.supports_url_elicitation(),
            it.supports_extension("a/b"),
            it.supports_extension("a/c"),
        ]
    };
    assert_eq!(declared(&none), [false; 7]);
    assert_eq!(declared(&all), [true, true, true, false, true, true, false]);
    let some = ClientCapabilities::new().with_sampling().with_form_elicitation();
    assert_eq!(declared(&some), [false, true, false, true, false, false, false]);
    let server = ServerCapabilities::new().with_extension("a/b", settings());
    assert!(server.supports_extension("a/b") && !server.supports_extension("a/c"));
    assert!(!ServerCapabilities::new().supports_extension("a/b"));
    says(server, r#"{"extensions":{"a/b":{}}}"#);
}

#[test]
fn small_things_show_what_they_are() {
    assert_eq!(format!("{:?}", Seed::from_number(7)), "Seed(..)", "a seed is a secret");
    assert_eq!(format!("{:?}", Instant::from_micros(1_500_000)), "1.5s");
    assert_eq!(Instant::from_micros(7).as_micros(), 7);
    let json = Json::parse(r#"{"a":1}"#).unwrap();
    assert_eq!(format!("{json:?} {:?}", JsonText::from(&json)), r#"{"a":1} {"a":1}"#);
    assert_eq!(json, JsonText::from(&json).to_json());
    assert_eq!(format!("{:?}", windlass::jsonrpc::Id::from("a")), r#""a""#);
    assert_eq!(format!("{:?}", windlass::jsonrpc::Id::Number(7)), "7");
    let template = UriTemplate::parse("a:{b}").unwrap();
    assert_eq!((template.as_str(), template.to_string()), ("a:{b}", "a:{b}".to_owned()));
    let raw = serde_json::value::RawValue::from_string("[1]".into()).unwrap();
    assert_eq!(Json::from(&*raw).as_str(), "[1]");
    #[derive(serde::Deserialize)]
    struct Borrowing<'a> {
        #[serde(borrow)]
        part: JsonText<'a>,
    }
    let part = serde_json::from_str::<Borrowing<'_>>(r#"{"part":[ 1 ]}"#).unwrap().part;
    assert_eq!(part.as_str(), "[ 1 ]");
    assert_eq!(part.decode::<Vec<u8>>().unwrap(), [1]);
    let wrong = serde_json::from_str::<u8>("x").unwrap_err();
    assert_eq!(RpcError::from(wrong).code, windlass::jsonrpc::code::INTERNAL_ERROR);
    assert_eq!(SendError::Closed.to_string(), "the connection is closed");
}

#[test]
fn notifications_are_read_into_their_types() {
    let read = |method: &str, params: &str| {
        let params = (!params.is_empty()).then(|| JsonText::parse(params).unwrap());
        ServerNotification::read(&format!("notifications/{method}"), params)
    };
    assert_eq!(read("tools/list_changed", ""), ServerNotification::ToolsListChanged);
    assert_eq!(read("prompts/list_changed", "{}"), ServerNotification::PromptsListChanged);
    assert_eq!(read("resources/list_changed", ""), ServerNotification::ResourcesListChanged);
    let updated = ServerNotification::ResourceUpdated(ResourceUpdatedParams::new("a:b"));
    assert_eq!(read("resources/updated", r#"{"uri":"a:b"}"#), updated);
    let message = ServerNotification::Message(LoggingMessageParams::text(LoggingLevel::Error, "m"));
    assert_eq!(read("message", r#"{"level":"error","data":"m"}"#), message);
    let complete = ServerNotification::ElicitationComplete(ElicitationCompleteParams::new("e"));
    assert_eq!(read("elicitation/complete", r#"{"elicitationId":"e"}"#), complete);
    // What is unknown, or not as it should be, is kept.
    for (method, params) in [("x", r#"{"a":1}"#), ("resources/updated", "{}"), ("message", "")] {
        let ServerNotification::Other { method: kept, params: came } = read(method, params) else { panic!("{method}") };
        assert_eq!(kept, format!("notifications/{method}"));
        assert_eq!(came.map_or_else(String::new, |came| came.as_str().to_owned()), params);
    }
}

#[test]
fn outcomes_are_read_into_their_types() {
    let read = |text: &str| decode::<ListTools>(Ok(JsonText::parse(text).unwrap()));
    assert_eq!(read(r#"{"tools":[]}"#).unwrap().tools, []);
    assert!(matches!(read("7"), Err(CallError::InvalidResponse(detail)) if detail.contains("tools/list")));
    assert_eq!(decode::<ListTools>(Err(CallError::Cancelled)).unwrap_err(), CallError::Cancelled);
}
