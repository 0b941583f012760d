//! How a handler gets its inputs in either era: what may be asked of whom, and what becomes of the answers.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use serde::{Serialize, Serializer};

use super::handling::{RequestKind, digest};
use super::invocation::{Invocation, Invoked, Needs};
use super::state::Carried;
use super::{Call, Server};
use crate::error::SendError;
use crate::json::Json;
use crate::jsonrpc::{RpcError, Splice, code};
use crate::model::{
    CallToolResult, ClientCapabilities, CreateMessage, Elicit, ElicitParams, Era, InputRequest, InputRequests,
    InputRequiredResult, Method, ProtocolVersion, Readable, RequiredPages, ToolMessagesError, Within,
};
use crate::rpc::{RequestKey, Timing};
use crate::time::Instant;

impl<T, H: Clone> Server<T, H> {
    /// A handler needs to know more before it can go on.
    pub(super) fn input_required(&mut self, key: RequestKey, needs: Needs, now: Instant) {
        let Some(invocation) = self.invocation(key).cloned() else { return };
        let version = invocation.caller.version;
        let required = capabilities_for(needs.requests.values(), version);
        if let Some(missing) = invocation.caller.capabilities.missing(&required) {
            return self.cannot_ask(key, &invocation, missing);
        }
        if let Err(error) = needs.requests.values().try_for_each(check) {
            let detail = alloc::format!("the handler asked for a message in a way that there is not: {error}");
            return self.fail(key, RpcError::internal(detail));
        }
        let modern = version.era() == Era::Modern;
        if needs.requests.is_empty() && !(modern && needs.state.is_some()) {
            return self.fail(key, RpcError::internal("the handler asked for input without saying for which"));
        }
        if !modern {
            return self.ask_legacy_client(key, &invocation, needs, now);
        }
        match invocation.request {
            Invoked::Tool { .. } | Invoked::Resource { .. } | Invoked::Prompt { .. } => {
                self.ask_modern_client(key, &invocation, needs, now);
            }
            _ => self.fail(key, RpcError::internal("only tools, resources and prompts can ask for input")),
        }
    }

    /// A handler wants the user to visit pages first. The modern era has no error for that: it asks.
    pub(super) fn pages_required(&mut self, key: RequestKey, error: RpcError, now: Instant) {
        let Some(invocation) = self.invocation(key).cloned() else { return };
        let required = ClientCapabilities::new().with_url_elicitation();
        if let Some(missing) = invocation.caller.capabilities.missing(&required) {
            return self.cannot_ask(key, &invocation, missing);
        }
        let pages = error.data.as_ref().and_then(|data| RequiredPages::read(data.as_text()).ok());
        let Some(pages) = pages.filter(|pages| !pages.elicitations.is_empty()) else {
            return self.fail(key, RpcError::internal("the handler wants pages to be visited without saying which"));
        };
        if invocation.caller.version.era() == Era::Legacy {
            return self.fail(key, error);
        }
        let mut needs = Needs::default();
        for (place, page) in pages.elicitations.into_iter().enumerate() {
            let name = page.elicitation_id.clone().unwrap_or_else(|| alloc::format!("page-{place}"));
            needs.requests.insert(name, InputRequest::Elicit(page.into()));
        }
        self.input_required(key, needs, now);
    }

    /// The handler needs what this client cannot give.
    fn cannot_ask(&mut self, key: RequestKey, invocation: &Invocation, missing: ClientCapabilities) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            required_capabilities: ClientCapabilities,
        }
        let message = "this needs a client capability that was not declared";
        let detail = Json::of(&missing).map_or_else(|_| message.to_owned(), |it| alloc::format!("{message}: {it}"));
        if invocation.caller.version.era() == Era::Modern {
            let error = RpcError::new(code::MISSING_REQUIRED_CLIENT_CAPABILITY, detail)
                .with_data(&Data { required_capabilities: missing });
            return self.fail(key, error);
        }
        self.give_up(key, invocation, detail);
    }

    /// Ends a request for which no input can be had: a tool says so in its result, which a model can read.
    fn give_up(&mut self, key: RequestKey, invocation: &Invocation, detail: String) {
        match invocation.request {
            Invoked::Tool { .. } => self.answer(key, &CallToolResult::error(detail)),
            _ => self.fail(key, RpcError::internal(detail)),
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
            let call = digest(&invocation.request, invocation.principal.as_deref());
            let carried = Carried { inputs: invocation.inputs.clone(), state: needs.state };
            match self.sealer().seal(&call, &carried, expires, key) {
                Ok(sealed) => result.request_state = Some(sealed),
                Err(error) => return self.fail(key, RpcError::internal(error.to_string())),
            }
        }
        let splice = Splice { members: br#""resultType":"input_required""#, meta: &self.offer.result_meta };
        self.rpc.answer(key, &result, splice);
    }

    fn ask_legacy_client(&mut self, key: RequestKey, invocation: &Arc<Invocation>, needs: Needs, now: Instant) {
        if invocation.rounds >= self.offer.config.limits.input_rounds {
            self.rpc.limit_hit("input_rounds");
            let detail = alloc::format!("the handler still asked for input after {} rounds", invocation.rounds);
            return self.fail(key, RpcError::internal(detail));
        }
        let mut next = Invocation::clone(invocation);
        next.rounds += 1;
        if needs.state.is_some() {
            next.state = needs.state;
        }
        if let Some(request) = self.rpc.request_mut(key) {
            request.data.kind = RequestKind::Handler { invocation: Arc::new(next), missing: needs.requests.len() };
        }
        let timing = Timing::exactly(self.offer.config.input_timeout);
        for (name, mut request) in needs.requests {
            let method = request.method().to_owned();
            self.prepare(&mut request, invocation.caller.version);
            let (params, call) = (ParamsOf(&request), Call::Input { request: key, name });
            let sent = self.rpc.call(Some(key), &method, &params, Splice::default(), timing, call, now);
            if let Err(refused) = sent {
                return self.fail(key, RpcError::internal(refused.why.to_string()));
            }
        }
    }

    /// Brings the next request to a legacy client into the form that its revision has.
    fn prepare(&self, request: &mut InputRequest, version: ProtocolVersion) {
        if let InputRequest::Elicit(ElicitParams::Url(page)) = request {
            let number = self.rpc.next_number();
            page.elicitation_id.get_or_insert_with(|| alloc::format!("elicitation-{number}"));
        }
        request.keep_within(version);
    }

    /// What the program asks of its legacy client by a call of its own: the same rules hold as for handlers.
    pub(super) fn asked_by_call<P: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Option<InputRequest>, SendError> {
        let Some(caller) = self.legacy.caller.as_ref().filter(|_| matches!(method, Elicit::NAME | CreateMessage::NAME))
        else {
            return Ok(None);
        };
        let unencodable = |error: serde_json::Error| SendError::Unencodable(error.to_string());
        let params = Json::of(params).map_err(unencodable)?;
        let mut request = InputRequest::read(method, Some(params.as_text())).map_err(unencodable)?;
        let required = capabilities_for([&request], caller.version);
        if let Some(missing) = caller.capabilities.missing(&required) {
            return Err(SendError::NotSupported { method: method.to_owned(), capability: name_of(&missing) });
        }
        check(&request).map_err(|error| SendError::Invalid(error.to_string()))?;
        self.prepare(&mut request, caller.version);
        Ok(Some(request))
    }

    /// A legacy client has answered one of a handler's requests for input.
    pub(super) fn input_arrived(&mut self, key: RequestKey, name: String, answer: Result<Json, RpcError>) {
        let Some(request) = self.rpc.request_mut(key) else { return };
        let RequestKind::Handler { invocation, missing } = &mut request.data.kind else { return };
        match answer {
            Ok(answer) => {
                Arc::make_mut(invocation).inputs.insert(name, answer);
                *missing = missing.saturating_sub(1);
                if *missing > 0 {
                    return;
                }
                let invocation = invocation.clone();
                match self.handler_for(&invocation.request) {
                    Some(handler) => self.queue_invocation(handler, invocation),
                    None => self.fail(key, RpcError::internal("the handler was removed meanwhile")),
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

    /// The client will answer nothing any more: what waits for it is given up.
    pub(crate) fn stop_waiting_for_input(&mut self) {
        let waiting: alloc::vec::Vec<_> = self
            .rpc
            .requests()
            .filter(|(_, request)| matches!(request.data.kind, RequestKind::Handler { missing: 1.., .. }))
            .map(|(key, _)| key)
            .collect();
        for key in waiting {
            self.fail(key, RpcError::internal("the client closed its end before it gave the input"));
        }
    }
}

/// What a client must have declared to be asked for this.
fn capabilities_for<'a>(
    requests: impl IntoIterator<Item = &'a InputRequest>,
    version: ProtocolVersion,
) -> ClientCapabilities {
    let mut required = ClientCapabilities::new();
    for request in requests {
        required = match request {
            InputRequest::Elicit(ElicitParams::Url(_)) => required.with_url_elicitation(),
            InputRequest::Elicit(_) => required.with_form_elicitation(),
            InputRequest::Sample(params) => {
                let mut required = required.with_sampling();
                if params.uses_tools() {
                    required = required.with_sampling_tools();
                }
                // Before 2025-11-25 there was no capability for context, and any client could be asked for it.
                if params.includes_context() && version.has_sampling_tools() {
                    required = required.with_sampling_context();
                }
                required
            }
            InputRequest::Roots(_) => required.with_roots(false),
            InputRequest::Other { .. } => required,
        };
    }
    required
}

/// Whether the protocol allows to ask this.
fn check(request: &InputRequest) -> Result<(), ToolMessagesError> {
    match request {
        InputRequest::Sample(params) => params.check_tool_messages(),
        _ => Ok(()),
    }
}

/// The first thing that is missing.
fn name_of(missing: &ClientCapabilities) -> &'static str {
    match (&missing.sampling, &missing.elicitation) {
        (Some(sampling), _) if sampling.tools.is_some() => "sampling.tools",
        (Some(sampling), _) if sampling.context.is_some() => "sampling.context",
        (Some(_), _) => "sampling",
        (None, Some(elicitation)) if elicitation.url.is_some() => "elicitation.url",
        (None, _) => "elicitation.form",
    }
}

/// What a request for input says, without its method.
pub(super) struct ParamsOf<'a>(pub(super) &'a InputRequest);

impl Serialize for ParamsOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            InputRequest::Elicit(params) => params.serialize(serializer),
            InputRequest::Sample(params) => params.serialize(serializer),
            InputRequest::Roots(params) => params.serialize(serializer),
            InputRequest::Other { params, .. } => params.serialize(serializer),
        }
    }
}
