//! How the result of a tool looks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use windlass::Json;
use windlass::model::{CallToolResult, ContentBlock, Resource, ResourceContents};

use crate::harmless;
use crate::ordered::pretty;
use crate::table::first_line;

/// Bytes of JSON that is set in lines: some thousand of them.
const LONGEST_PRETTY: usize = 64 * 1024;

/// The result for people: text as it is, structured content as JSON, the rest described.
pub(crate) fn to_text(result: &CallToolResult) -> String {
    let structured = result.structured_content.as_ref();
    let mut parts: Vec<String> = result
        .content
        .iter()
        .filter(|block| !structured.is_some_and(|structured| repeats(block, structured)))
        .map(block_text)
        .collect();
    parts.extend(structured.map(json_text));
    parts.iter().map(|part| format!("{}\n", part.trim_end_matches('\n'))).collect()
}

/// Whether a block is only there for clients that do not know structured content.
fn repeats(block: &ContentBlock, structured: &Json) -> bool {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    block.as_text().and_then(parsed).is_some_and(|value| parsed(structured.as_str()) == Some(value))
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image: {}, {}]", first_line(&image.mime_type), size(&image.data)),
        ContentBlock::Audio(audio) => format!("[audio: {}, {}]", first_line(&audio.mime_type), size(&audio.data)),
        ContentBlock::ResourceLink(resource) => link_text(resource),
        ContentBlock::Resource(embedded) => contents_text(&embedded.resource),
        ContentBlock::Other(json) => json_text(json),
        _ => "[content of a kind that this program does not know]".into(),
    }
}

fn link_text(resource: &Resource) -> String {
    let mut details = vec![first_line(&resource.uri)];
    details.extend(resource.mime_type.as_deref().map(first_line));
    details.extend(resource.size.map(|size| format!("{size} bytes")));
    format!("[link: {}] {}", details.join(", "), first_line(resource.title.as_deref().unwrap_or(&resource.name)))
}

fn contents_text(contents: &ResourceContents) -> String {
    let mime_type = contents.mime_type().map(|mime_type| format!(", {}", first_line(mime_type))).unwrap_or_default();
    match contents {
        ResourceContents::Text(text) => format!("[resource: {}{mime_type}]\n{}", first_line(&text.uri), text.text),
        ResourceContents::Blob(blob) => {
            format!("[resource: {}{mime_type}, {}]", first_line(&blob.uri), size(&blob.blob))
        }
        ResourceContents::Other(json) => json_text(json),
        _ => "[a resource of a kind that this program does not know]".into(),
    }
}

/// JSON for people. What is too long to be read is left as it is: with every value on a line of its own, indented by a
/// hundred levels, it would be a hundred times as long.
fn json_text(json: &Json) -> String {
    let text = harmless::json(json.as_str());
    if text.len() > LONGEST_PRETTY { text.into_owned() } else { pretty(&text) }
}

fn size(data: &str) -> String {
    match STANDARD.decode(data) {
        Ok(bytes) => format!("{} bytes", bytes.len()),
        Err(_) => "not valid base64".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_content_has_a_look() {
        let result = CallToolResult::text("hello\n")
            .with_content(ContentBlock::image("AAAA", "image/png"))
            .with_content(ContentBlock::audio("?", "audio/wav"))
            .with_content(ContentBlock::resource_link(
                Resource::new("file:///a", "a").with_title("A").with_mime_type("text/plain").with_size(7),
            ))
            .with_content(ContentBlock::resource(ResourceContents::text("file:///b", "text of b")))
            .with_content(ContentBlock::resource(ResourceContents::blob("file:///c", "AAA=")));
        let expected = "hello\n\
                        [image: image/png, 3 bytes]\n\
                        [audio: audio/wav, not valid base64]\n\
                        [link: file:///a, text/plain, 7 bytes] A\n\
                        [resource: file:///b]\ntext of b\n\
                        [resource: file:///c, 2 bytes]\n";
        assert_eq!(to_text(&result), expected);
    }

    #[test]
    fn json_does_not_grow_beyond_measure() {
        let long = format!("{}{}1{}", "[".repeat(100), "1,".repeat(100_000), "]".repeat(100));
        assert_eq!(json_text(&Json::parse(&long).unwrap()), long);
    }

    #[test]
    fn structured_content_is_shown_once() {
        let result = CallToolResult::structured(&serde_json::json!({"a": 1})).unwrap();
        assert_eq!(to_text(&result), "{\n  \"a\": 1\n}\n");
        assert_eq!(to_text(&result.with_content("more")), "more\n{\n  \"a\": 1\n}\n");
    }
}
