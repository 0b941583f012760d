//! Tools in a conversation with a model (2025-11-25): what the messages must look like, so that every call of a tool has
//! its result.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{CreateMessageParams, IncludeContext, Role, SamplingContentBlock, SamplingMessage};

/// What is wrong with the calls and results of tools in a conversation.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolMessagesError {
    /// A message holds a result of a tool and something else besides.
    Mixed,
    /// A message of the user calls a tool, or one of the model holds a result.
    WrongRole,
    /// A call is not answered by the message that follows.
    Unanswered {
        /// Which call.
        id: String,
    },
    /// A result belongs to no call of the message before, or to one that has a result already.
    Stray {
        /// Which call it names.
        id: String,
    },
    /// Two calls in one message have the same id.
    Repeated {
        /// Which id.
        id: String,
    },
}

impl fmt::Display for ToolMessagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed => f.write_str("a message with a tool_result may hold nothing but tool_results"),
            Self::WrongRole => f.write_str("tool_use is the assistant's to say, tool_result the user's"),
            Self::Unanswered { id } => write!(f, "the tool_use {id:?} has no tool_result in the message after it"),
            Self::Stray { id } => write!(f, "the tool_result {id:?} has no tool_use of its own in the message before"),
            Self::Repeated { id } => write!(f, "the tool_use {id:?} is there twice"),
        }
    }
}

impl core::error::Error for ToolMessagesError {}

impl CreateMessageParams {
    /// Whether this needs a client whose models call tools: it offers some, or tells of calls and results.
    pub fn uses_tools(&self) -> bool {
        let is_of_tool = |block: &SamplingContentBlock| block.tool_use().is_some() || block.tool_result().is_some();
        self.tools.is_some()
            || self.tool_choice.is_some()
            || self.messages.iter().flat_map(|message| message.content.blocks()).any(is_of_tool)
    }

    /// Whether this asks for context of servers.
    pub fn includes_context(&self) -> bool {
        self.include_context.as_ref().is_some_and(|whose| *whose != IncludeContext::None)
    }

    /// Checks that every call of a tool is followed at once by a message of results, one for each call, and of nothing
    /// else.
    ///
    /// ```
    /// use windlass::Json;
    /// use windlass::model::*;
    ///
    /// let call = SamplingContentBlock::ToolUse(ToolUseContent::new("1", "dice", Json::empty_object()));
    /// let result = SamplingContentBlock::ToolResult(ToolResultContent::new("1", [ContentBlock::text("6")]));
    /// let mut messages = vec![SamplingMessage::user("Roll."), SamplingMessage::assistant(call)];
    /// let unanswered = CreateMessageParams::new(messages.clone(), 100);
    /// assert_eq!(unanswered.check_tool_messages(), Err(ToolMessagesError::Unanswered { id: "1".into() }));
    /// messages.push(SamplingMessage::user(result));
    /// assert_eq!(CreateMessageParams::new(messages, 100).check_tool_messages(), Ok(()));
    /// ```
    ///
    /// # Errors
    ///
    /// When a call has no result or a result no call, or when a message mixes results with something else.
    pub fn check_tool_messages(&self) -> Result<(), ToolMessagesError> {
        let mut open: Vec<&str> = Vec::new();
        for message in &self.messages {
            let results = results_in(message)?;
            for id in results {
                match open.iter().position(|call| *call == id) {
                    Some(at) => open.swap_remove(at),
                    None => return Err(ToolMessagesError::Stray { id: id.into() }),
                };
            }
            if let Some(&id) = open.first() {
                return Err(ToolMessagesError::Unanswered { id: id.into() });
            }
            open = calls_in(message)?;
        }
        match open.first() {
            Some(&id) => Err(ToolMessagesError::Unanswered { id: id.into() }),
            None => Ok(()),
        }
    }
}

/// The calls that a message's results name. It holds nothing else if it holds one.
fn results_in(message: &SamplingMessage) -> Result<Vec<&str>, ToolMessagesError> {
    let blocks = message.content.blocks();
    let results: Vec<_> = blocks.iter().filter_map(SamplingContentBlock::tool_result).collect();
    match results.len() {
        0 => Ok(results),
        _ if message.role != Role::User => Err(ToolMessagesError::WrongRole),
        count if count != blocks.len() => Err(ToolMessagesError::Mixed),
        _ => Ok(results),
    }
}

fn calls_in(message: &SamplingMessage) -> Result<Vec<&str>, ToolMessagesError> {
    let mut calls: Vec<&str> = message.content.blocks().iter().filter_map(SamplingContentBlock::tool_use).collect();
    if !calls.is_empty() && message.role != Role::Assistant {
        return Err(ToolMessagesError::WrongRole);
    }
    calls.sort_unstable();
    match calls.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(ToolMessagesError::Repeated { id: two[0].into() }),
        None => Ok(calls),
    }
}

impl SamplingContentBlock {
    /// The id of the call, if it is one.
    fn tool_use(&self) -> Option<&str> {
        match self {
            Self::ToolUse(call) => Some(&call.id),
            _ => None,
        }
    }

    /// The id of the call whose result this is, if it is one.
    fn tool_result(&self) -> Option<&str> {
        match self {
            Self::ToolResult(result) => Some(&result.tool_use_id),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::model::{ToolChoice, ToolResultContent, ToolUseContent};
    use alloc::vec;

    fn call(id: &str) -> SamplingContentBlock {
        SamplingContentBlock::ToolUse(ToolUseContent::new(id, "t", Json::empty_object()))
    }

    fn result(id: &str) -> SamplingContentBlock {
        SamplingContentBlock::ToolResult(ToolResultContent::new(id, []))
    }

    fn text() -> SamplingContentBlock {
        SamplingContentBlock::text("x")
    }

    fn check(messages: Vec<SamplingMessage>) -> Result<(), ToolMessagesError> {
        CreateMessageParams::new(messages, 1).check_tool_messages()
    }

    #[test]
    fn calls_and_results_belong_together() {
        let user = |blocks: Vec<SamplingContentBlock>| SamplingMessage::user(blocks);
        let model = |blocks: Vec<SamplingContentBlock>| SamplingMessage::assistant(blocks);
        let id = String::from;
        assert_eq!(check(vec![user(vec![text(), text()]), model(vec![text()])]), Ok(()));
        let both = model(vec![text(), call("1"), call("2")]);
        assert_eq!(
            check(vec![
                both.clone(),
                user(vec![result("2"), result("1")]),
                model(vec![call("1")]),
                user(vec![result("1")])
            ]),
            Ok(())
        );
        assert_eq!(
            check(vec![both.clone(), user(vec![result("1")])]),
            Err(ToolMessagesError::Unanswered { id: id("2") })
        );
        assert_eq!(check(vec![both.clone()]), Err(ToolMessagesError::Unanswered { id: id("1") }));
        assert_eq!(
            check(vec![both.clone(), model(vec![text()]), user(vec![result("1"), result("2")])]),
            Err(ToolMessagesError::Unanswered { id: id("1") })
        );
        assert_eq!(
            check(vec![both.clone(), user(vec![result("1"), result("2"), text()])]),
            Err(ToolMessagesError::Mixed)
        );
        assert_eq!(check(vec![user(vec![result("1")])]), Err(ToolMessagesError::Stray { id: id("1") }));
        assert_eq!(
            check(vec![model(vec![call("1")]), user(vec![result("1"), result("1")])]),
            Err(ToolMessagesError::Stray { id: id("1") })
        );
        assert_eq!(check(vec![model(vec![call("1"), call("1")])]), Err(ToolMessagesError::Repeated { id: id("1") }));
        assert_eq!(check(vec![user(vec![call("1")])]), Err(ToolMessagesError::WrongRole));
        assert_eq!(check(vec![model(vec![result("1")])]), Err(ToolMessagesError::WrongRole));
    }

    #[test]
    fn what_needs_tools_and_context() {
        let plain = CreateMessageParams::new([SamplingMessage::user("x")], 1);
        assert!(!plain.uses_tools() && !plain.includes_context());
        assert!(plain.clone().with_tools([]).uses_tools());
        assert!(plain.clone().with_tool_choice(ToolChoice::default()).uses_tools());
        assert!(CreateMessageParams::new([SamplingMessage::assistant(call("1"))], 1).uses_tools());
        assert!(CreateMessageParams::new([SamplingMessage::user(result("1"))], 1).uses_tools());
        assert!(!plain.clone().with_include_context(IncludeContext::None).includes_context());
        assert!(plain.with_include_context(IncludeContext::ThisServer).includes_context());
    }
}
