//! A resource: a short guide to the server.

use windlass::model::{ReadResourceResult, Resource, TextResourceContents};

const URI: &str = "demo://guide";

const GUIDE: &str = "\
# The demo server of Windlass

It is small, but nothing in it is made up: use it to see whether a client does what it should.

| what | shows |
|---|---|
| tool `echo` | a text result |
| tool `word_count` | structured output with an output schema |
| tool `chart` | an image |
| tool `countdown` | progress and cancellation |
| tool `greet` | a question to the user (elicitation) |
| resource `demo://guide` | this text |
| template `demo://convert/{value}/{from}/{to}` | a resource template, with completion of the units |
| prompt `code_review` | a prompt, with completion of `language` |

For example: `windlass call chart 'values=[3,1,4,1,5]' -- windlass serve`
";

pub(crate) fn definition() -> Resource {
    Resource::new(URI, "guide")
        .with_title("Guide")
        .with_description("What this server has, and what each part shows")
        .with_mime_type("text/markdown")
        .with_size(GUIDE.len() as u64)
}

pub(crate) fn read() -> ReadResourceResult {
    ReadResourceResult::new(vec![TextResourceContents::new(URI, GUIDE).with_mime_type("text/markdown").into()])
}
