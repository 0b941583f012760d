//! The types of the Model Context Protocol, for all five revisions.
//!
//! One set of types serves every revision: what a later revision added is an `Option` here, and what it removed stays,
//! marked with the revision that knows it. What a revision may say on the wire is the engine's business; these types
//! only say what can be said. There is one file per feature, and everything is re-exported here.
//!
//! - Unknown members of a peer's object are skipped, unknown enumeration values and union branches are kept (`Other`).
//! - JSON that the protocol only carries (schemas, arguments, `_meta` values) stays text: [`Json`](crate::json::Json).
//! - Every params and result type declares `meta` first, so `_meta` is the first member of its text. The engine relies
//!   on this when it adds its own keys.
//! - Results have no `resultType` member: the engine writes it, and reads it through [`ResultHead`].
//! - They can be read from anything that serde reads. What stays text is kept verbatim if it comes from JSON text.

#[macro_use]
mod macros;
mod wire;

mod annotations;
mod base64;
mod caching;
mod call_tool;
mod cancellation;
mod capabilities;
mod completion;
mod content;
mod elicitation;
mod elicitation_schema;
mod enum_schema;
mod implementation;
mod input_required;
mod lifecycle;
mod logging;
pub mod meta;
mod method;
// One table for both roles, each of which asks for some of its columns.
#[cfg_attr(not(all(feature = "client", feature = "server")), allow(dead_code))]
mod methods;
mod pagination;
mod path;
mod percent;
mod progress;
mod prompts;
mod property_schema;
mod readable;
mod resource_contents;
mod resources;
mod result;
mod roots;
mod sampling;
mod subscriptions;
mod tool_messages;
mod tools;
mod trace_context;
mod uri_template;
mod version;
#[cfg(any(feature = "client", feature = "server"))]
mod within;

pub use annotations::{Annotations, Role};
pub use base64::InvalidBase64;
pub use caching::CacheScope;
pub use call_tool::{CallToolParams, CallToolResult, ToolCall};
pub use cancellation::CancelledParams;
pub use capabilities::{
    ClientCapabilities, ElicitationCapability, PromptsCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities, ToolsCapability,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    MAX_COMPLETION_VALUES, PromptReference, ResourceTemplateReference,
};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent, ToolResultContent, ToolUseContent,
};
pub(crate) use elicitation::RequiredPages;
pub use elicitation::{
    ElicitAction, ElicitContent, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, FormMode, UrlMode,
};
pub use elicitation_schema::{ElicitSchema, ObjectType, apply_defaults};
pub use enum_schema::{
    ArrayType, EnumItems, EnumOption, TitledEnumItems, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
pub use implementation::{Icon, IconTheme, Implementation};
pub use input_required::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
pub use lifecycle::{DiscoverResult, InitializeParams, InitializeResult};
pub use logging::{LoggingLevel, LoggingMessageParams, SetLevelParams};
#[cfg(feature = "server")]
pub use meta::RequestMeta;
pub use meta::{Meta, key};
pub use method::{EmptyParams, EmptyResult, Method, Notice};
#[cfg(feature = "server")]
pub(crate) use methods::Capability;
#[cfg(all(feature = "client", feature = "http"))]
pub(crate) use methods::Repeats;
pub use methods::{
    CallTool, Cancelled, Complete, CreateMessage, Discover, Elicit, ElicitationComplete, GetPrompt, Initialize,
    Initialized, ListPrompts, ListResourceTemplates, ListResources, ListRoots, ListTools, Listen, LoggingMessage, Ping,
    Progress, PromptListChanged, ReadResource, ResourceListChanged, ResourceUpdated, RootsListChanged, SetLevel,
    Subscribe, SubscriptionsAcknowledged, ToolListChanged, Unsubscribe,
};
pub(crate) use methods::{MethodInfo, Side};
pub use pagination::{Cursor, PaginatedParams};
pub use path::{UnsafePath, relative_path};
pub use progress::{ProgressParams, ProgressToken};
pub use prompts::{GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use property_schema::{
    BooleanSchema, BooleanType, NumberSchema, NumberType, PropertySchema, StringFormat, StringSchema, StringType,
};
pub(crate) use readable::Readable;
pub use resource_contents::{BlobResourceContents, ResourceContents, TextResourceContents};
pub use resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, Resource,
    ResourceTemplate, ResourceUpdatedParams, SubscribeParams, UnsubscribeParams,
};
pub use result::{ResultHead, ResultType};
pub use roots::{ListRootsParams, ListRootsResult, NotAFile, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingContent,
    SamplingContentBlock, SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
};
pub use subscriptions::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult,
};
pub use tool_messages::ToolMessagesError;
pub use tools::{ListToolsResult, TaskSupport, Tool, ToolAnnotations, ToolExecution};
pub use trace_context::TraceContext;
pub use uri_template::{MAX_URI_LENGTH, MAX_URI_TEMPLATE_VARIABLES, UriTemplate, UriTemplateError};
pub use version::{Era, ProtocolVersion};
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use within::Within;
