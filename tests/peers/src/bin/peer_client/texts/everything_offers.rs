//! The reference server's resources and prompts, and what it completes.

use super::adapter::model::*;

scene!(resources, |client, _heard| {
    let resources = wait!(client.list_resources()).unwrap();
    assert!(resources.len() >= 7, "{resources:?}");
    for resource in &resources {
        let read = wait!(client.read_resource(&resource.uri)).unwrap();
        let [ResourceContents::Text(text)] = read.contents.as_slice() else { panic!("{read:?}") };
        assert_eq!((text.uri.as_str(), text.text.is_empty()), (resource.uri.as_str(), false));
    }

    let templates = wait!(client.list_resource_templates()).unwrap();
    let mut templates: Vec<_> = templates.iter().map(|template| template.uri_template.as_str()).collect();
    templates.sort_unstable();
    assert_eq!(
        templates,
        ["demo://resource/dynamic/blob/{resourceId}", "demo://resource/dynamic/text/{resourceId}"]
    );
    let read = wait!(client.read_resource("demo://resource/dynamic/text/3")).unwrap();
    assert!(matches!(&read.contents[0], ResourceContents::Text(text) if text.text.starts_with("Resource 3: ")));
    let read = wait!(client.read_resource("demo://resource/dynamic/blob/3")).unwrap();
    assert!(matches!(read.contents[0], ResourceContents::Blob(_)));

    let missing = wait!(client.read_resource("demo://resource/nowhere")).unwrap_err();
    assert!(missing.remote().is_some(), "{missing:?}");
});

scene!(prompts, |client, _heard| {
    assert_eq!(wait!(client.list_prompts()).unwrap().len(), 4);
    let simple = wait!(client.get_prompt(GetPromptParams::new("simple-prompt"))).unwrap();
    assert_eq!(simple.messages[0].content.as_text(), Some("This is a simple prompt without arguments."));

    let params = GetPromptParams::new("args-prompt").with_argument("city", "Turin").with_argument("state", "Piedmont");
    let weather = wait!(client.get_prompt(params)).unwrap();
    assert_eq!(weather.messages[0].content.as_text(), Some("What's weather in Turin, Piedmont?"));

    let params = GetPromptParams::new("resource-prompt");
    let params = params.with_argument("resourceType", "Text").with_argument("resourceId", "5");
    let embedding = wait!(client.get_prompt(params)).unwrap();
    let ContentBlock::Resource(embedded) = &embedding.messages[1].content else { panic!("{embedding:?}") };
    assert_eq!(embedded.resource.uri(), Some("demo://resource/dynamic/text/5"));

    let missing = wait!(client.get_prompt(GetPromptParams::new("args-prompt"))).unwrap_err();
    assert!(missing.remote().is_some(), "{missing:?}");
});

scene!(completion, |client, _heard| {
    let prompt = CompletionReference::prompt("completable-prompt");
    let departments = wait!(client.complete(CompleteParams::new(prompt.clone(), "department", "S"))).unwrap();
    assert_eq!(departments.completion.values, ["Sales", "Support"]);
    // What is chosen already narrows the rest.
    let params = CompleteParams::new(prompt, "name", "").with_known_argument("department", "Engineering");
    assert_eq!(wait!(client.complete(params)).unwrap().completion.values, ["Alice", "Bob", "Charlie"]);

    let template = CompletionReference::resource("demo://resource/dynamic/text/{resourceId}");
    let numbers = wait!(client.complete(CompleteParams::new(template, "resourceId", "12"))).unwrap();
    assert_eq!(numbers.completion.values, ["12"]);
});
