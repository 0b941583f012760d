//! What a handler is given, and what it gives back.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::config::Caller;
use super::state::StateId;
use crate::json::Json;
use crate::jsonrpc::RpcError;
use crate::model::{
    CallToolResult, CompleteParams, CompleteResult, CreateMessageParams, CreateMessageResult, ElicitParams,
    ElicitResult, GetPromptResult, InputRequest, ListRootsParams, ListRootsResult, LoggingLevel, Meta,
    ReadResourceResult, relative_path,
};
use crate::principal::Principal;
use crate::rpc::RequestKey;

/// Where the outcome of a handler goes. It cannot be copied, so nothing is answered twice.
#[derive(Debug)]
pub struct ReplyTo(pub(super) RequestKey);

impl ReplyTo {
    /// The name of the request, for progress, log messages and cancellation.
    pub fn key(&self) -> RequestKey {
        self.0
    }
}

/// One request for a handler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// The name of the request.
    pub key: RequestKey,
    /// What is wanted.
    pub request: Invoked,
    /// Who wants it.
    pub caller: Arc<Caller>,
    /// On whose behalf, where the server is protected.
    pub principal: Option<Arc<Principal>>,
    /// Whether the client wants to be told of progress.
    pub wants_progress: bool,
    /// The least severe log message that the client wants, if it wants any.
    pub log_level: Option<LoggingLevel>,
    /// What the request's `_meta` says beside the protocol: trace context, keys of the client's own.
    pub meta: Option<Meta>,
    /// The client's answers to what the handler asked for so far, as they came.
    pub inputs: BTreeMap<String, Json>,
    /// What the handler kept from the round before.
    pub state: Option<Json>,
    /// Names the state with which a modern client came back, if it did. Servers that share a key
    /// ([`ServerConfig::state_key`](super::ServerConfig::state_key)) and let no state be used twice keep those that they
    /// have seen in a place of their own, and fail a call that comes with one of them.
    pub state_id: Option<StateId>,
    /// How often the handler has asked for input.
    pub(super) rounds: u32,
}

/// What a client can want of a handler.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Invoked {
    /// Call a tool.
    Tool {
        /// Its name.
        name: Arc<str>,
        /// A JSON object, as it came: see [`Json`] for what it may hold.
        arguments: Json,
    },
    /// Read a resource.
    Resource {
        /// Its URI.
        uri: String,
        /// The variables of the template that the URI matched.
        variables: BTreeMap<String, String>,
    },
    /// Get a prompt.
    Prompt {
        /// Its name.
        name: Arc<str>,
        /// Its arguments.
        arguments: BTreeMap<String, String>,
    },
    /// Complete an argument.
    Completion(CompleteParams),
    /// Serve a method that the protocol does not have.
    Method {
        /// Its name.
        method: Arc<str>,
        /// Its parameters: a JSON object, as it came, `_meta` and all.
        params: Json,
    },
}

impl Invoked {
    /// The value of a template's variable that is to become part of a path: it leads below the folder that it is appended
    /// to, or it is refused.
    ///
    /// # Errors
    ///
    /// When the template has no such variable, or its value might lead elsewhere; see [`relative_path`]. The error goes to
    /// the client as it is.
    pub fn path(&self, variable: &str) -> Result<&str, RpcError> {
        match self {
            Self::Resource { variables, .. } => path_of(variables, variable),
            _ => Err(RpcError::internal("only resources have variables")),
        }
    }
}

/// The value of a variable that is to become part of a path; see [`Invoked::path`].
///
/// # Errors
///
/// When there is no such variable, or its value might lead elsewhere.
pub fn path_of<'a>(variables: &'a BTreeMap<String, String>, variable: &str) -> Result<&'a str, RpcError> {
    let Some(value) = variables.get(variable) else {
        return Err(RpcError::internal(alloc::format!("the template has no variable {variable:?}, or the URI none")));
    };
    relative_path(value)
        .map_err(|why| RpcError::invalid_params(alloc::format!("{variable} is no path that may be read: {why}")))
}

/// What a handler gives back.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// Of a tool.
    Tool(CallToolResult),
    /// Of a resource.
    Resource(ReadResourceResult),
    /// Of a prompt.
    Prompt(GetPromptResult),
    /// Of a completion.
    Completion(CompleteResult),
    /// Of a method that the protocol does not have: a JSON object. Modern clients get it marked as complete, unless it has
    /// a `resultType` of its own.
    Method(Json),
    /// The handler needs to know more, and will be invoked again with the answers.
    InputRequired(Needs),
}

impl From<CallToolResult> for Reply {
    fn from(result: CallToolResult) -> Self {
        Self::Tool(result)
    }
}

impl From<ReadResourceResult> for Reply {
    fn from(result: ReadResourceResult) -> Self {
        Self::Resource(result)
    }
}

impl From<GetPromptResult> for Reply {
    fn from(result: GetPromptResult) -> Self {
        Self::Prompt(result)
    }
}

impl From<CompleteResult> for Reply {
    fn from(result: CompleteResult) -> Self {
        Self::Completion(result)
    }
}

/// What a handler needs before it can go on.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Needs {
    /// The requests, each under a name of the handler's choice.
    pub requests: BTreeMap<String, InputRequest>,
    /// What the handler wants to find again. It travels sealed: the client can neither read meaning into it nor
    /// change it unnoticed.
    pub state: Option<Json>,
}

/// Asks the client for input from within a handler, in the same words for both eras.
///
/// A handler is run from its start for every round; asking for something that was answered before gives the answer.
/// Ask for several things first and use `?` afterwards, and they are asked for in one round.
///
/// ```
/// use windlass::model::{ElicitFormParams, ElicitParams};
/// use windlass::server::{Asking, HandlerError};
///
/// fn greet(asking: &mut Asking) -> Result<String, HandlerError> {
///     let name = asking.elicit("name", ElicitFormParams::new("What is your name?"))?;
///     Ok(format!("{:?}", name.action))
/// }
/// let mut first_round = Asking::default();
/// assert!(matches!(greet(&mut first_round), Err(HandlerError::InputRequired)));
/// assert!(first_round.into_needs().requests.contains_key("name"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Asking {
    answers: BTreeMap<String, Json>,
    state: Option<Json>,
    needs: Needs,
}

impl Asking {
    /// What one invocation knows so far.
    pub fn new(invocation: &Invocation) -> Self {
        Self { answers: invocation.inputs.clone(), state: invocation.state.clone(), needs: Needs::default() }
    }

    /// Asks the user.
    pub fn elicit(&mut self, name: &str, params: impl Into<ElicitParams>) -> Result<ElicitResult, HandlerError> {
        self.ask(name, || InputRequest::Elicit(params.into()))
    }

    /// Asks the model.
    pub fn sample(&mut self, name: &str, params: CreateMessageParams) -> Result<CreateMessageResult, HandlerError> {
        self.ask(name, || InputRequest::Sample(params))
    }

    /// Asks for the client's roots.
    pub fn roots(&mut self, name: &str) -> Result<ListRootsResult, HandlerError> {
        let roots: ListRootsResult = self.ask(name, || InputRequest::Roots(ListRootsParams::default()))?;
        roots.check().map_err(|error| HandlerError::failed(alloc::format!("the client's roots are wrong: {error}")))?;
        Ok(roots)
    }

    fn ask<A: DeserializeOwned>(
        &mut self,
        name: &str,
        request: impl FnOnce() -> InputRequest,
    ) -> Result<A, HandlerError> {
        match self.answers.get(name).map(Json::decode::<A>) {
            Some(Ok(answer)) => Ok(answer),
            // An answer that makes no sense is asked for again.
            Some(Err(_)) | None => {
                self.needs.requests.insert(name.into(), request());
                Err(HandlerError::InputRequired)
            }
        }
    }

    /// What [`keep`](Self::keep) kept in the round before.
    pub fn kept<V: DeserializeOwned>(&self) -> Option<V> {
        self.state.as_ref()?.decode().ok()
    }

    /// Keeps a value for the next round.
    pub fn keep<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), serde_json::Error> {
        self.needs.state = Some(Json::of(value)?);
        Ok(())
    }

    /// What was asked for and not answered.
    pub fn into_needs(self) -> Needs {
        self.needs
    }
}

/// Why a handler has no result. Any error converts into it by `?`: a tool's caller sees its message as a result
/// marked as an error, which a model can read; an [`RpcError`] goes to the client as it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum HandlerError {
    /// The handler asked for input that is not there yet.
    InputRequired,
    /// The handler failed.
    Failed(String),
    /// The request is to be answered with this error.
    Rpc(RpcError),
}

impl HandlerError {
    /// A failure with a message.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// What to answer, given what the handler asked for.
    pub fn into_outcome(self, invoked: &Invoked, asking: Asking) -> Result<Reply, RpcError> {
        match self {
            Self::InputRequired => Ok(Reply::InputRequired(asking.into_needs())),
            Self::Failed(message) if matches!(invoked, Invoked::Tool { .. }) => {
                Ok(Reply::Tool(CallToolResult::error(message)))
            }
            Self::Failed(message) => Err(RpcError::internal(message)),
            Self::Rpc(error) => Err(error),
        }
    }
}

impl<E: core::error::Error + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        match (&error as &(dyn core::error::Error + 'static)).downcast_ref::<RpcError>() {
            Some(error) => Self::Rpc(error.clone()),
            None => Self::Failed(error.to_string()),
        }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InputRequired => f.write_str("the handler needs input first"),
            Self::Failed(message) => f.write_str(message),
            Self::Rpc(error) => fmt::Display::fmt(error, f),
        }
    }
}
