//! How large an answer is, before it is written.

use windlass::RpcError;
use windlass::model::{ContentBlock, ResourceContents};
use windlass::server::Reply;

/// The bytes of what may be long in a handler's outcome.
pub(super) fn bytes_of(outcome: &Result<Reply, RpcError>) -> usize {
    match outcome {
        Ok(Reply::Tool(result)) => {
            let structured = result.structured_content.as_ref().map_or(0, |json| json.as_str().len());
            structured + result.content.iter().map(of_block).sum::<usize>()
        }
        Ok(Reply::Resource(result)) => result.contents.iter().map(of_contents).sum(),
        Ok(Reply::Prompt(result)) => result.messages.iter().map(|message| of_block(&message.content)).sum(),
        Ok(Reply::Method(result)) => result.as_str().len(),
        _ => 0,
    }
}

fn of_block(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Resource(embedded) => of_contents(&embedded.resource),
        ContentBlock::Other(json) => json.as_str().len(),
        _ => 0,
    }
}

fn of_contents(contents: &ResourceContents) -> usize {
    match contents {
        ResourceContents::Text(text) => text.text.len(),
        ResourceContents::Blob(blob) => blob.blob.len(),
        ResourceContents::Other(json) => json.as_str().len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use windlass::Json;
    use windlass::model::{CallToolResult, GetPromptResult, PromptMessage, ReadResourceResult, Role};

    use super::*;

    #[test]
    fn whatever_may_be_long_is_counted() {
        let blocks = [
            ContentBlock::text("1234"),
            ContentBlock::image("1234", "image/png"),
            ContentBlock::audio("1234", "audio/wav"),
            ContentBlock::resource(ResourceContents::text("test://a", "1234")),
            ContentBlock::resource(ResourceContents::blob("test://a", "1234")),
        ];
        let mut tool = CallToolResult::new(blocks);
        tool.structured_content = Some(Json::parse("1234").unwrap());
        assert_eq!(bytes_of(&Ok(Reply::Tool(tool))), 24);
        let contents = [ResourceContents::text("test://a", "1234"), ResourceContents::blob("test://a", "1234")];
        assert_eq!(bytes_of(&Ok(Reply::Resource(ReadResourceResult::new(contents)))), 8);
        let prompt = GetPromptResult::new([PromptMessage::new(Role::User, ContentBlock::text("1234"))]);
        assert_eq!(bytes_of(&Ok(Reply::Prompt(prompt))), 4);
        assert_eq!(bytes_of(&Ok(Reply::Method(Json::parse("{}").unwrap()))), 2);
        assert_eq!(bytes_of(&Err(RpcError::internal("no"))), 0);
    }
}
