//! The life of a request that a handler serves: invoked, perhaps held up for input, answered once.
//!
//! ```text
//!   invoked ──► handler ──► result or error ──► answered
//!      ▲           │
//!      │           └─ needs input ─┬─ modern: answered with `input_required`; the client calls again with the answers
//!      │                           └─ legacy: held up; our requests go to the client ─┐
//!      └────────────────────────────────────────── all answers are in ◄──────────────┘
//! ```

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use serde::Serialize;

use super::config::Caller;
use super::invocation::{Invocation, Invoked, Needs, Reply, ReplyTo};
use super::params::Params;
use super::state::{CallDigest, Carried, NotUsable, Sealer, StateId};
use super::{Call, Queued, Server};
use crate::json::Json;
use crate::jsonrpc::{RpcError, Splice, code, excerpt};
use crate::model::{
    CallToolResult, ClientCapabilities, CompleteParams, CompleteResult, ElicitParams, Era, InputRequest, InputRequests,
    InputRequiredResult, LoggingLevel, LoggingMessageParams, ProgressParams, ProgressToken, ProtocolVersion,
    SubscriptionFilter, Within,
};
use crate::session::{RequestKey, Route, Timing};
use crate::time::Instant;

/// What a server knows of an open request.
pub(crate) struct ServerRequest {
    /// The revision that it is answered in; none before a legacy client has introduced itself.
    pub(super) version: Option<ProtocolVersion>,
    pub(super) progress_token: Option<ProgressToken>,
    pub(super) last_progress: f64,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) kind: Kind,
}

/// What is being done about it.
pub(super) enum Kind {
    /// It is answered at once.
    Immediate,
    /// A handler is at it, or waits for inputs that are still missing.
    Handler { invocation: Arc<Invocation>, missing: usize },
    /// It is a subscription, which stays open.
    Subscription(SubscriptionFilter),
}

/// What a handler is given from the rounds before.
#[derive(Default)]
struct FromBefore {
    inputs: BTreeMap<String, Json>,
    state: Option<Json>,
    id: Option<StateId>,
}

impl ServerRequest {
    pub(super) fn is_modern(&self) -> bool {
        self.version.is_some_and(|version| version.era() == Era::Modern)
    }

    pub(super) fn is_subscription(&self) -> bool {
        matches!(self.kind, Kind::Subscription(_))
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
            return Err(unknown_resource(&uri, caller.version));
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
        params: CompleteParams,
        caller: Arc<Caller>,
    ) -> Result<(), RpcError> {
        match self.offer.registry.find_completion(&params.reference, &params.argument.name)?.cloned() {
            Some(handler) => self.start(key, handler, Invoked::Completion(params), caller, FromBefore::default()),
            None => self.answer(key, &CompleteResult::new(core::iter::empty::<String>())),
        }
        Ok(())
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
        let mut from_before = FromBefore::default();
        if caller.version.era() == Era::Modern {
            if let Some(sealed) = params.request_state()? {
                from_before = self.open_state(&sealed, &invoked, now)?;
            }
            from_before.inputs.extend(params.input_responses()?);
        }
        self.start(key, handler, invoked, caller, from_before);
        Ok(())
    }

    fn sealer(&self) -> Sealer {
        let key = self.offer.config.state_key;
        Sealer::new(key.unwrap_or_else(|| unreachable!("a server that was given no key has drawn one")))
    }

    /// What the round before has handed on.
    fn open_state(&mut self, sealed: &str, invoked: &Invoked, now: Instant) -> Result<FromBefore, RpcError> {
        let now = self.unix_time(now);
        let opened = self.sealer().open(sealed, &digest(invoked), now).ok_or_else(|| {
            RpcError::invalid_params(
                "the request state was changed, is too old, or belongs to another call; call anew without it",
            )
        })?;
        let config = &self.offer.config;
        if config.single_use_state {
            self.used_states.take(&opened, now, config.limits.used_states as usize).map_err(|why| match why {
                NotUsable::Again => {
                    RpcError::invalid_params("the request state was used already; call anew without it")
                }
                NotUsable::TooMany => RpcError::internal("too many calls are between two rounds; try again later"),
            })?;
        }
        let Carried { inputs, state } = opened.carried;
        Ok(FromBefore { inputs, state, id: Some(opened.id) })
    }

    fn start(&mut self, key: RequestKey, handler: H, request: Invoked, caller: Arc<Caller>, from_before: FromBefore) {
        let Some(open) = self.session.request_mut(key) else { return };
        let wants_progress = open.data.progress_token.is_some();
        let log_level = open.data.log_level;
        let FromBefore { inputs, state, id: state_id } = from_before;
        let invocation = Arc::new(Invocation {
            key,
            request,
            caller,
            wants_progress,
            log_level,
            inputs,
            state,
            state_id,
            rounds: 0,
        });
        open.data.kind = Kind::Handler { invocation: invocation.clone(), missing: 0 };
        self.queue.push_back(Queued::Invoke { handler, invocation });
    }

    fn unix_time(&self, now: Instant) -> core::time::Duration {
        self.offer.config.unix_time_at_origin.saturating_add(now.since(Instant::ZERO))
    }

    /// A handler is done. A request that was cancelled meanwhile gets no answer.
    pub(crate) fn respond(&mut self, reply: ReplyTo, outcome: Result<Reply, RpcError>, now: Instant) {
        let ReplyTo(key) = reply;
        let Some(version) = self.version_of(key) else { return };
        match outcome {
            Ok(Reply::Tool(mut result)) => {
                result.keep_within(version);
                self.answer(key, &result);
            }
            Ok(Reply::Prompt(mut result)) => {
                result.keep_within(version);
                self.answer(key, &result);
            }
            Ok(Reply::Completion(result)) => self.answer(key, &result),
            Ok(Reply::Resource(mut result)) => {
                result.ttl_ms.get_or_insert(self.ttl_ms());
                result.cache_scope.get_or_insert(self.offer.config.cache_scope.clone());
                result.keep_within(version);
                self.answer(key, &result);
            }
            Ok(Reply::InputRequired(needs)) => self.input_required(key, needs, now),
            Err(error) => self.session.fail(key, &error),
        }
    }

    /// The revision that an open request is to be answered in.
    pub(super) fn version_of(&self, key: RequestKey) -> Option<ProtocolVersion> {
        self.session.request(key)?.data.version
    }

    fn invocation(&self, key: RequestKey) -> Option<&Arc<Invocation>> {
        match &self.session.request(key)?.data.kind {
            Kind::Handler { invocation, .. } => Some(invocation),
            _ => None,
        }
    }

    fn input_required(&mut self, key: RequestKey, needs: Needs, now: Instant) {
        let Some(invocation) = self.invocation(key).cloned() else { return };
        let required = capabilities_for(&needs.requests);
        if let Some(missing) = invocation.caller.capabilities.missing(&required) {
            return self.cannot_ask(key, &invocation, missing);
        }
        let modern = invocation.caller.version.era() == Era::Modern;
        if needs.requests.is_empty() && !(modern && needs.state.is_some()) {
            let error = RpcError::internal("the handler asked for input without saying for which");
            return self.session.fail(key, &error);
        }
        if modern {
            self.ask_modern_client(key, &invocation, needs, now);
        } else {
            self.ask_legacy_client(key, &invocation, needs, now);
        }
    }

    /// The handler needs what this client cannot give.
    fn cannot_ask(&mut self, key: RequestKey, invocation: &Invocation, missing: ClientCapabilities) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            required_capabilities: ClientCapabilities,
        }
        let message = "this needs a client capability that was not declared";
        if invocation.caller.version.era() == Era::Modern {
            let error = RpcError::new(code::MISSING_REQUIRED_CLIENT_CAPABILITY, message)
                .with_data(&Data { required_capabilities: missing });
            return self.session.fail(key, &error);
        }
        let detail = Json::of(&missing).map_or_else(|_| message.to_owned(), |it| alloc::format!("{message}: {it}"));
        self.give_up(key, invocation, detail);
    }

    /// Ends a request for which no input can be had: a tool says so in its result, which a model can read.
    fn give_up(&mut self, key: RequestKey, invocation: &Invocation, detail: String) {
        match invocation.request {
            Invoked::Tool { .. } => self.answer(key, &CallToolResult::error(detail)),
            _ => self.session.fail(key, &RpcError::internal(detail)),
        }
    }

    fn ask_modern_client(&mut self, key: RequestKey, invocation: &Invocation, needs: Needs, now: Instant) {
        let mut result = InputRequiredResult::default();
        if !needs.requests.is_empty() {
            let within = |(name, mut request): (String, InputRequest)| {
                request.keep_within(invocation.caller.version);
                (name, request)
            };
            result.input_requests = Some(needs.requests.into_iter().map(within).collect::<InputRequests>());
        }
        if needs.state.is_some() || !invocation.inputs.is_empty() {
            let expires = self.unix_time(now) + self.offer.config.state_lifetime;
            let call = digest(&invocation.request);
            let carried = Carried { inputs: invocation.inputs.clone(), state: needs.state };
            match self.sealer().seal(&call, &carried, expires, key) {
                Ok(sealed) => result.request_state = Some(sealed),
                Err(error) => return self.session.fail(key, &RpcError::internal(error.to_string())),
            }
        }
        let splice = Splice { members: br#""resultType":"input_required""#, meta: &self.offer.result_meta };
        self.session.answer(key, &result, splice);
    }

    fn ask_legacy_client(&mut self, key: RequestKey, invocation: &Arc<Invocation>, needs: Needs, now: Instant) {
        if invocation.rounds >= self.offer.config.limits.input_rounds {
            let detail = alloc::format!("the handler still asked for input after {} rounds", invocation.rounds);
            return self.session.fail(key, &RpcError::internal(detail));
        }
        let mut next = Invocation::clone(invocation);
        next.rounds += 1;
        if needs.state.is_some() {
            next.state = needs.state;
        }
        if let Some(request) = self.session.request_mut(key) {
            request.data.kind = Kind::Handler { invocation: Arc::new(next), missing: needs.requests.len() };
        }
        let timing = Timing::exactly(self.offer.config.input_timeout);
        for (name, mut request) in needs.requests {
            request.keep_within(invocation.caller.version);
            let method = request.method().to_owned();
            let call = Call::Input { request: key, name };
            let number = self.session.next_number();
            let sent = match &request {
                InputRequest::Elicit(ElicitParams::Url(params)) => {
                    let mut params = params.clone();
                    params.elicitation_id.get_or_insert_with(|| alloc::format!("elicitation-{number}"));
                    self.session.call(Route::Request(key), &method, &params, Splice::default(), timing, call, now)
                }
                InputRequest::Elicit(params) => {
                    self.session.call(Route::Request(key), &method, params, Splice::default(), timing, call, now)
                }
                InputRequest::Sample(params) => {
                    self.session.call(Route::Request(key), &method, params, Splice::default(), timing, call, now)
                }
                InputRequest::Roots(params) => {
                    self.session.call(Route::Request(key), &method, params, Splice::default(), timing, call, now)
                }
                InputRequest::Other { params, .. } => {
                    self.session.call(Route::Request(key), &method, params, Splice::default(), timing, call, now)
                }
            };
            if let Err(refused) = sent {
                return self.session.fail(key, &RpcError::internal(refused.why.to_string()));
            }
        }
    }

    /// A legacy client has answered one of a handler's requests for input.
    pub(super) fn input_arrived(&mut self, key: RequestKey, name: String, answer: Result<Json, RpcError>) {
        let Some(request) = self.session.request_mut(key) else { return };
        let Kind::Handler { invocation, missing } = &mut request.data.kind else { return };
        match answer {
            Ok(answer) => {
                Arc::make_mut(invocation).inputs.insert(name, answer);
                *missing = missing.saturating_sub(1);
                if *missing > 0 {
                    return;
                }
                let invocation = invocation.clone();
                match self.handler_for(&invocation.request) {
                    Some(handler) => self.queue.push_back(Queued::Invoke { handler, invocation }),
                    None => self.session.fail(key, &RpcError::internal("the handler was removed meanwhile")),
                }
            }
            Err(error) => {
                let invocation = invocation.clone();
                self.withdraw_inputs(key);
                let detail = alloc::format!("the client could not answer the request for input {name:?}: {error}");
                self.give_up(key, &invocation, detail);
            }
        }
    }

    fn handler_for(&self, request: &Invoked) -> Option<H> {
        match request {
            Invoked::Tool { name, .. } => self.offer.registry.tools.get(name).map(|(_, _, handler)| handler.clone()),
            Invoked::Prompt { name, .. } => {
                self.offer.registry.prompts.get(name).map(|(_, _, handler)| handler.clone())
            }
            Invoked::Resource { uri, .. } => self.offer.registry.find_resource(uri).map(|(handler, _)| handler.clone()),
            Invoked::Completion(params) => {
                self.offer.registry.find_completion(&params.reference, &params.argument.name).ok()?.cloned()
            }
        }
    }

    /// The client will answer nothing any more: what waits for it is given up.
    pub(crate) fn stop_waiting_for_input(&mut self) {
        let waiting: alloc::vec::Vec<_> = self
            .session
            .requests()
            .filter(|(_, request)| matches!(request.data.kind, Kind::Handler { missing: 1.., .. }))
            .map(|(key, _)| key)
            .collect();
        for key in waiting {
            self.session.fail(key, &RpcError::internal("the client closed its end before it gave the input"));
        }
    }

    /// Reports progress on a request, if the client wants it and it goes forward.
    pub(crate) fn progress(&mut self, key: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(request) = self.session.request_mut(key) else { return };
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
        self.session.notify(Route::Request(key), "notifications/progress", &params, Splice::default());
    }

    /// Logs to the client, if it wants messages of this severity. With a request, the message belongs to it; modern
    /// clients get no others.
    pub(crate) fn log(&mut self, key: Option<RequestKey>, message: &LoggingMessageParams) {
        let least = match key {
            Some(key) => self.session.request(key).and_then(|request| match request.data.is_modern() {
                true => request.data.log_level,
                false => Some(self.legacy.log_level),
            }),
            None => self.legacy.operating.then_some(self.legacy.log_level),
        };
        if self.offer.config.logging && least.is_some_and(|least| message.level >= least) {
            let route = key.map_or(Route::Connection, Route::Request);
            self.session.notify(route, "notifications/message", message, Splice::default());
        }
    }
}

fn unknown_resource(uri: &str, version: ProtocolVersion) -> RpcError {
    #[derive(Serialize)]
    struct Data<'a> {
        uri: &'a str,
    }
    let mut error = RpcError::new(code::RESOURCE_NOT_FOUND, alloc::format!("unknown resource: {}", excerpt(uri)))
        .with_data(&Data { uri });
    error.keep_within(version);
    error
}

/// What a call is, for the state that travels between its rounds.
fn digest(request: &Invoked) -> CallDigest {
    match request {
        Invoked::Tool { name, arguments } => CallDigest::of("tools/call", name, arguments.as_str()),
        Invoked::Resource { uri, .. } => CallDigest::of("resources/read", uri, ""),
        Invoked::Prompt { name, arguments } => {
            let arguments = Json::of(arguments).unwrap_or_else(|_| Json::empty_object());
            CallDigest::of("prompts/get", name, arguments.as_str())
        }
        Invoked::Completion(_) => CallDigest::of("completion/complete", "", ""),
    }
}

/// What a client must have declared to be asked for this.
fn capabilities_for(requests: &BTreeMap<String, InputRequest>) -> ClientCapabilities {
    let mut required = ClientCapabilities::new();
    for request in requests.values() {
        required = match request {
            InputRequest::Elicit(ElicitParams::Url(_)) => required.with_url_elicitation(),
            InputRequest::Elicit(_) => required.with_form_elicitation(),
            InputRequest::Sample(params) if params.tools.is_some() => required.with_sampling_tools(),
            InputRequest::Sample(_) => required.with_sampling(),
            InputRequest::Roots(_) => required.with_roots(false),
            InputRequest::Other { .. } => required,
        };
    }
    required
}
