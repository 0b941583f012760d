//! The life of a request that a handler serves: invoked, perhaps held up for input, answered once.
//!
//! ```text
//!   invoked ──► handler ──► result or error ──► answered
//!      ▲           │
//!      │           └─ needs input ─┬─ modern: answered with `input_required`; the client calls again with the answers
//!      │                           └─ legacy: held up; our requests go to the client ─┐
//!      └────────────────────────────────────────── all answers are in ◄──────────────┘
//! ```

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::config::Caller;
use super::invocation::{Invocation, Invoked, Reply, ReplyTo};
use super::params::{Params, read};
use super::state::{CallDigest, Carried, NotUsable, Sealer, StateId};
use super::{Server, ServerEvent};
use crate::json::{Json, JsonText, MOST_LEVELS, members};
use crate::jsonrpc::{RpcError, Splice, code, excerpt};
use crate::model::{
    CallTool, Complete, CompleteParams, CompleteResult, Era, GetPrompt, LoggingLevel, LoggingMessage,
    LoggingMessageParams, Meta, Method, Notice, Progress, ProgressParams, ProgressToken, ProtocolVersion, ReadResource,
    SubscriptionFilter, Within,
};
use crate::principal::Principal;
use crate::rpc::RequestKey;
use crate::time::Instant;

/// What a server knows of an open request.
pub(crate) struct ServerRequest {
    /// The revision that it is answered in; none before a legacy client has introduced itself.
    pub(super) version: Option<ProtocolVersion>,
    pub(super) progress_token: Option<ProgressToken>,
    pub(super) last_progress: f64,
    pub(super) log_level: Option<LoggingLevel>,
    /// On whose behalf it is made, where the server is protected.
    pub(super) principal: Option<Arc<Principal>>,
    pub(super) kind: RequestKind,
}

/// What is being done about it.
pub(super) enum RequestKind {
    /// It is answered at once.
    Immediate,
    /// A handler is at it, or waits for inputs that are still missing.
    Handler { invocation: Arc<Invocation>, missing: usize },
    /// It is a subscription, which stays open.
    Subscription(SubscriptionFilter),
}

/// What a handler is given beside the request: what the client says beside the protocol, and what is there from the rounds
/// before.
#[derive(Default)]
struct Given {
    meta: Option<Meta>,
    inputs: BTreeMap<String, Json>,
    state: Option<Json>,
    id: Option<StateId>,
}

impl ServerRequest {
    pub(super) fn is_modern(&self) -> bool {
        self.version.is_some_and(|version| version.era() == Era::Modern)
    }

    pub(super) fn is_subscription(&self) -> bool {
        matches!(self.kind, RequestKind::Subscription(_))
    }
}

impl<T, H: Clone> Server<T, H> {
    pub(super) fn call_tool(
        &mut self,
        key: RequestKey,
        params: &Params<'_>,
        caller: Arc<Caller>,
        now: Instant,
    ) -> Result<(), RpcError> {
        let name = params.name()?;
        let arguments = params.arguments()?;
        let Some((name, _, handler)) = self.offer.registry.tools.get(&name) else {
            return Err(RpcError::invalid_params(alloc::format!("unknown tool: {}", excerpt(&name))));
        };
        let (name, handler) = (name.clone(), handler.clone());
        self.invoke(key, handler, Invoked::Tool { name, arguments }, params, caller, now)
    }

    pub(super) fn read_resource(
        &mut self,
        key: RequestKey,
        params: &Params<'_>,
        caller: Arc<Caller>,
        now: Instant,
    ) -> Result<(), RpcError> {
        let uri = params.uri()?;
        let Some((handler, variables)) = self.offer.registry.find_resource(&uri) else {
            return Err(RpcError::resource_not_found(&uri));
        };
        let handler = handler.clone();
        self.invoke(key, handler, Invoked::Resource { uri: uri.into_owned(), variables }, params, caller, now)
    }

    pub(super) fn get_prompt(
        &mut self,
        key: RequestKey,
        params: &Params<'_>,
        caller: Arc<Caller>,
        now: Instant,
    ) -> Result<(), RpcError> {
        let name = params.name()?;
        let arguments = params.text_arguments()?;
        let Some((name, prompt, handler)) = self.offer.registry.prompts.get(&name) else {
            return Err(RpcError::invalid_params(alloc::format!("unknown prompt: {}", excerpt(&name))));
        };
        let required = prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
        if let Some(missing) = required.map(|argument| &argument.name).find(|name| !arguments.contains_key(*name)) {
            return Err(RpcError::invalid_params(alloc::format!("the prompt needs the argument {missing:?}")));
        }
        let (name, handler) = (name.clone(), handler.clone());
        self.invoke(key, handler, Invoked::Prompt { name, arguments }, params, caller, now)
    }

    pub(super) fn complete(
        &mut self,
        key: RequestKey,
        params: &Params<'_>,
        caller: Arc<Caller>,
    ) -> Result<(), RpcError> {
        let given = Given { meta: params.other_meta(), ..Given::default() };
        let params: CompleteParams = read(params.raw())?;
        match self.offer.registry.find_completion(&params.reference, &params.argument.name)?.cloned() {
            Some(handler) => self.start(key, handler, Invoked::Completion(params), caller, given),
            None => self.answer(key, &CompleteResult::new(core::iter::empty::<String>())),
        }
        Ok(())
    }

    /// Serves a method that the protocol does not have, if the program does.
    pub(super) fn serve_method(
        &mut self,
        key: RequestKey,
        method: &str,
        params: &Params<'_>,
        caller: Arc<Caller>,
    ) -> Result<(), RpcError> {
        let Some((method, handler)) = self.offer.registry.method(method) else {
            return Err(RpcError::method_not_found(method));
        };
        let (method, handler) = (method.clone(), handler.clone());
        let given = Given { meta: params.other_meta(), ..Given::default() };
        let params = params.raw().map_or_else(Json::empty_object, Json::from);
        self.start(key, handler, Invoked::Method { method, params }, caller, given);
        Ok(())
    }

    /// Answers by what a program made by itself.
    fn answer_method(&mut self, key: RequestKey, result: &Json) {
        let Some(result) = OwnResult::read(result) else {
            return self.fail(key, RpcError::internal("the handler's result is no JSON object"));
        };
        match self.version_of(key) {
            Some(version) if version.era() == Era::Modern && result.has("resultType") => {
                let splice = Splice { members: b"", meta: &self.offer.result_meta };
                self.rpc.answer(key, &result, splice);
            }
            _ => self.answer(key, &result),
        }
    }

    /// Runs a handler, with what the client has answered in earlier rounds.
    fn invoke(
        &mut self,
        key: RequestKey,
        handler: H,
        invoked: Invoked,
        params: &Params<'_>,
        caller: Arc<Caller>,
        now: Instant,
    ) -> Result<(), RpcError> {
        let mut given = Given { meta: params.other_meta(), ..Given::default() };
        if caller.version.era() == Era::Modern {
            if let Some(sealed) = params.request_state()? {
                given = Given { meta: given.meta, ..self.open_state(key, &sealed, &invoked, now)? };
            }
            given.inputs.extend(params.input_responses()?);
        }
        self.start(key, handler, invoked, caller, given);
        Ok(())
    }

    pub(super) fn sealer(&self) -> Sealer {
        let key = self.offer.config.state_key;
        Sealer::new(key.unwrap_or_else(|| unreachable!("a server that was given no key has drawn one")))
    }

    /// What the round before has handed on.
    fn open_state(
        &mut self,
        key: RequestKey,
        sealed: &str,
        invoked: &Invoked,
        now: Instant,
    ) -> Result<Given, RpcError> {
        let now = self.unix_time(now);
        let principal = self.rpc.request(key).and_then(|request| request.data.principal.as_deref());
        let opened = self.sealer().open(sealed, &digest(invoked, principal), now).ok_or_else(|| {
            RpcError::invalid_params(
                "the request state was changed, is too old, or belongs to another call; call again without it",
            )
        })?;
        let config = &self.offer.config;
        if config.single_use_state {
            self.used_states.take(&opened, now, config.limits.used_states as usize).map_err(|why| match why {
                NotUsable::Again => {
                    RpcError::invalid_params("the request state was used already; call again without it")
                }
                NotUsable::TooMany => {
                    self.rpc.limit_hit("used_states");
                    RpcError::internal("too many calls are between two rounds; try again later")
                }
            })?;
        }
        let Carried { inputs, state } = opened.carried;
        Ok(Given { meta: None, inputs, state, id: Some(opened.id) })
    }

    fn start(&mut self, key: RequestKey, handler: H, request: Invoked, caller: Arc<Caller>, given: Given) {
        let Some(open) = self.rpc.request_mut(key) else { return };
        let wants_progress = open.data.progress_token.is_some();
        let log_level = open.data.log_level;
        let principal = open.data.principal.clone();
        let Given { meta, inputs, state, id: state_id } = given;
        let invocation = Arc::new(Invocation {
            key,
            request,
            caller,
            principal,
            wants_progress,
            log_level,
            meta,
            inputs,
            state,
            state_id,
            rounds: 0,
        });
        open.data.kind = RequestKind::Handler { invocation: invocation.clone(), missing: 0 };
        self.queue_invocation(handler, invocation);
    }

    pub(super) fn queue_invocation(&mut self, handler: H, invocation: Arc<Invocation>) {
        self.queue.push_back(ServerEvent::Invoke { reply: ReplyTo(invocation.key), handler, invocation });
    }

    pub(super) fn unix_time(&self, now: Instant) -> core::time::Duration {
        self.offer.config.unix_time_at_origin.saturating_add(now.since(Instant::ZERO))
    }

    /// A handler is done. A request that was cancelled meanwhile gets no answer.
    pub(crate) fn respond(&mut self, reply: ReplyTo, outcome: Result<Reply, RpcError>, now: Instant) {
        let ReplyTo(key) = reply;
        self.rpc.watch_at(now);
        let Some(version) = self.version_of(key) else { return };
        let modern = version.era() == Era::Modern;
        match outcome {
            Ok(Reply::Tool(mut result)) => {
                result.keep_within(version);
                self.answer_in_era(key, &result, modern);
            }
            Ok(Reply::Prompt(mut result)) => {
                result.keep_within(version);
                self.answer_in_era(key, &result, modern);
            }
            Ok(Reply::Completion(result)) => self.answer_in_era(key, &result, modern),
            Ok(Reply::Method(result)) => self.answer_method(key, &result),
            Ok(Reply::Resource(mut result)) => {
                result.ttl_ms.get_or_insert(self.ttl_ms());
                result.cache_scope.get_or_insert(self.offer.config.cache_scope.clone());
                result.keep_within(version);
                self.answer_in_era(key, &result, modern);
            }
            Ok(Reply::InputRequired(needs)) => self.input_required(key, needs, now),
            Err(error) if error.code == code::URL_ELICITATION_REQUIRED => self.pages_required(key, error, now),
            Err(error) => self.fail(key, error),
        }
    }

    /// Answers a request with an error, by the code that its revision has for it.
    pub(super) fn fail(&mut self, key: RequestKey, mut error: RpcError) {
        if let Some(version) = self.version_of(key) {
            error.keep_within(version);
        }
        self.rpc.fail(key, &error);
    }

    /// The revision that an open request is to be answered in.
    pub(super) fn version_of(&self, key: RequestKey) -> Option<ProtocolVersion> {
        self.rpc.request(key)?.data.version
    }

    pub(super) fn invocation(&self, key: RequestKey) -> Option<&Arc<Invocation>> {
        match &self.rpc.request(key)?.data.kind {
            RequestKind::Handler { invocation, .. } => Some(invocation),
            _ => None,
        }
    }

    pub(super) fn handler_for(&self, request: &Invoked) -> Option<H> {
        match request {
            Invoked::Tool { name, .. } => self.offer.registry.tools.get(name).map(|(_, _, handler)| handler.clone()),
            Invoked::Prompt { name, .. } => {
                self.offer.registry.prompts.get(name).map(|(_, _, handler)| handler.clone())
            }
            Invoked::Resource { uri, .. } => self.offer.registry.find_resource(uri).map(|(handler, _)| handler.clone()),
            Invoked::Method { method, .. } => self.offer.registry.method(method).map(|(_, handler)| handler.clone()),
            Invoked::Completion(params) => {
                self.offer.registry.find_completion(&params.reference, &params.argument.name).ok()?.cloned()
            }
        }
    }

    /// Reports progress on a request, if the client wants it and it goes forward.
    pub(crate) fn progress(&mut self, key: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(request) = self.rpc.request_mut(key) else { return };
        let Some(token) = request.data.progress_token.clone() else { return };
        if !progress.is_finite() || progress <= request.data.last_progress {
            return;
        }
        request.data.last_progress = progress;
        let mut params = ProgressParams::new(token, progress);
        params.total = total;
        params.message = message.map(ToOwned::to_owned);
        if let Some(version) = self.version_of(key) {
            params.keep_within(version);
        }
        self.rpc.notify(Some(key), Progress::NAME, &params, Splice::default());
    }

    /// Logs to the client, if it wants messages of this severity. With a request, the message belongs to it; modern
    /// clients get no others.
    pub(crate) fn log(&mut self, key: Option<RequestKey>, message: &LoggingMessageParams) {
        let least = match key {
            Some(key) => self.rpc.request(key).and_then(|request| match request.data.is_modern() {
                true => request.data.log_level,
                false => Some(self.legacy.log_level),
            }),
            None => self.legacy.operating.then_some(self.legacy.log_level),
        };
        if self.offer.config.logging && least.is_some_and(|least| message.level >= least) {
            self.rpc.notify(key, LoggingMessage::NAME, message, Splice::default());
        }
    }
}

/// A result that a program made by itself, with its `_meta` at the front, where the engine adds to it.
struct OwnResult<'a>(Vec<(Cow<'a, str>, JsonText<'a>)>);

impl<'a> OwnResult<'a> {
    fn read(result: &'a Json) -> Option<Self> {
        let mut all = Vec::new();
        members(result.as_str(), MOST_LEVELS, |name, value| all.push((name, value))).ok()?;
        if let Some(meta) = all.iter().position(|(name, _)| name == "_meta") {
            all[..=meta].rotate_right(1);
            if !all[0].1.is_object() {
                return None;
            }
        }
        Some(Self(all))
    }

    fn has(&self, wanted: &str) -> bool {
        self.0.iter().any(|(name, _)| name == wanted)
    }
}

impl Serialize for OwnResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What a call is, and whose, for the state that travels between its rounds.
pub(super) fn digest(request: &Invoked, principal: Option<&Principal>) -> CallDigest {
    let call = match request {
        Invoked::Tool { name, arguments } => CallDigest::of(CallTool::NAME, name, arguments.as_str()),
        Invoked::Resource { uri, .. } => CallDigest::of(ReadResource::NAME, uri, ""),
        Invoked::Prompt { name, arguments } => {
            let arguments = Json::of(arguments).unwrap_or_else(|_| Json::empty_object());
            CallDigest::of(GetPrompt::NAME, name, arguments.as_str())
        }
        Invoked::Method { method, params } => CallDigest::of(method, "", params.as_str()),
        Invoked::Completion(_) => CallDigest::of(Complete::NAME, "", ""),
    };
    call.made_by(principal.map(Principal::identity))
}
