//! What the server asks of the program: elicitation, sampling, roots.
//!
//! In the legacy era these are requests of the server's; in the modern era a call's result says what is needed, and
//! the call is made again with the answers. The program sees the same event and gives the same answer in both.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::negotiate::Phase;
use super::{Call, CallId, Client, Event, UserCall};
use crate::error::CallError;
use crate::json::{Json, JsonText, MOST_LEVELS, members};
use crate::jsonrpc::{Id, RpcError, Splice, code};
use crate::model::{
    ClientCapabilities, CreateMessageResult, ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, InputRequest,
    InputRequiredResult, ListRootsResult, Method, MethodInfo, Ping, ProtocolVersion, Readable, Within, apply_defaults,
};
use crate::rpc::{RequestKey, Timing};
use crate::time::Instant;

/// Names one request for input while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputKey(u64);

/// Where an answer to a request for input goes. It cannot be copied, so nothing is answered twice.
#[derive(Debug)]
pub struct InputReply {
    key: InputKey,
    to: AnswerTo,
    /// The form that was shown, whose defaults complete the answer.
    form: Option<Box<ElicitFormParams>>,
}

#[derive(Debug)]
enum AnswerTo {
    /// A request of a legacy server's.
    Request(RequestKey),
    /// An entry of a modern call's round.
    Round { call: CallId, name: String },
}

impl InputReply {
    /// By which name [`ClientEvent::InputCancelled`](super::ClientEvent::InputCancelled) would withdraw the request.
    pub fn key(&self) -> InputKey {
        self.key
    }
}

/// What the program answers to a request for input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputResponse {
    /// What the user entered, or that they would not.
    Elicit(ElicitResult),
    /// What the model said.
    Sample(CreateMessageResult),
    /// The roots.
    Roots(ListRootsResult),
    /// The answer to a request that the specification does not have: a JSON object.
    Other(Json),
}

impl From<ElicitResult> for InputResponse {
    fn from(result: ElicitResult) -> Self {
        Self::Elicit(result)
    }
}

impl From<CreateMessageResult> for InputResponse {
    fn from(result: CreateMessageResult) -> Self {
        Self::Sample(result)
    }
}

impl From<ListRootsResult> for InputResponse {
    fn from(result: ListRootsResult) -> Self {
        Self::Roots(result)
    }
}

impl InputResponse {
    /// As JSON, for a server that speaks this revision.
    fn into_json(mut self, form: Option<&ElicitFormParams>, version: ProtocolVersion) -> Result<Json, RpcError> {
        match &mut self {
            Self::Sample(result) => result.keep_within(version),
            Self::Roots(result) => result.keep_within(version),
            Self::Elicit(_) | Self::Other(_) => {}
        }
        let written = match self {
            Self::Elicit(mut result) => {
                if let Some(form) = form {
                    if let Some(content) = result.content.as_mut().filter(|_| result.action == ElicitAction::Accept) {
                        apply_defaults(&form.requested_schema, content);
                    }
                }
                Json::of(&result)
            }
            Self::Sample(result) => Json::of(&result),
            Self::Roots(result) => {
                result.check().map_err(|error| RpcError::internal(error.to_string()))?;
                Json::of(&result)
            }
            Self::Other(result) => Ok(result),
        };
        written.map_err(|error| RpcError::internal(error.to_string()))
    }
}

/// A modern call between two rounds.
pub(super) struct Gathering<T> {
    user: UserCall<T>,
    retry: Box<Retry>,
    request_state: Option<String>,
    missing: BTreeMap<String, InputKey>,
    answers: BTreeMap<String, Json>,
}

/// What it takes to make a call again.
pub(crate) struct Retry {
    pub(super) method: &'static MethodInfo,
    /// The parameters of the first round. Rounds are rare, so they are taken apart only when one comes.
    pub(super) params: Vec<u8>,
    pub(super) rounds: u32,
    pub(super) timing: Timing,
}

/// What the calls that are over need no more, for those to come: nearly every call of the modern era is kept until its
/// answer is known, and nearly none of them is made again.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "it is the boxes that are used again")]
pub(super) struct SpareRetries(Vec<Box<Retry>>);

impl SpareRetries {
    /// Enough for a busy client; more would be memory that a burst leaves behind.
    const MOST: usize = 16;
    /// The room of parameters longer than these is not kept.
    const LONGEST: usize = 16 * 1024;

    pub(super) fn fill(&mut self, method: &'static MethodInfo, params: &[u8], timing: Timing) -> Box<Retry> {
        let fresh = || Box::new(Retry { method, params: Vec::new(), rounds: 0, timing });
        let mut retry = self.0.pop().unwrap_or_else(fresh);
        retry.params.extend_from_slice(params);
        let params = core::mem::take(&mut retry.params);
        *retry = Retry { method, params, rounds: 0, timing };
        retry
    }

    pub(super) fn put_back(&mut self, mut retry: Box<Retry>) {
        if self.0.len() < Self::MOST && retry.params.capacity() <= Self::LONGEST {
            retry.params.clear();
            self.0.push(retry);
        }
    }

    pub(super) fn trim(&mut self) {
        self.0 = Vec::new();
    }
}

impl<T> Gathering<T> {
    pub(super) fn open_inputs(&self) -> impl Iterator<Item = InputKey> + use<T> {
        self.missing.values().copied().collect::<Vec<_>>().into_iter()
    }

    pub(super) fn into_token(self) -> T {
        self.user.token
    }
}

impl<T> Client<T> {
    /// A request of the server's.
    pub(super) fn request<'a>(
        &mut self,
        id: Id,
        method: &str,
        params: Option<JsonText<'a>>,
    ) -> Option<Event<'a, T, JsonText<'a>>> {
        if self.is_modern() {
            // A modern client may not answer, so there is nothing to do but to notice.
            self.rpc.count(|counters| counters.malformed += 1);
            return None;
        }
        if method == Ping::NAME {
            self.rpc.answer_at_once(&id, &Json::empty_object());
            return None;
        }
        if !matches!(*self.phase, Phase::Ready) {
            self.rpc.refuse(Some(&id), false, &RpcError::invalid_request("the session is not initialized yet"));
            return None;
        }
        let request = match self.input_request(method, params) {
            Ok(request) => request,
            Err(error) => {
                self.rpc.refuse(Some(&id), false, &error);
                return None;
            }
        };
        let key = self.next_input_key();
        match self.rpc.begin(&id, key) {
            Ok(request_key) => {
                let reply = InputReply { key, to: AnswerTo::Request(request_key), form: form_of(&request) };
                Some(Event::Input { reply, request: Box::new(request) })
            }
            Err(refused) => {
                self.rpc.refuse(Some(&id), false, &refused.error());
                None
            }
        }
    }

    /// Reads a legacy request for input. Only what was declared is served.
    fn input_request(&self, method: &str, params: Option<JsonText<'_>>) -> Result<InputRequest, RpcError> {
        let request =
            InputRequest::read(method, params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        match &request {
            InputRequest::Other { method, .. }
                if self.config.methods.as_ref().is_some_and(|own| own.contains(method)) => {}
            _ => check_declared(&request, &self.config.capabilities)?,
        }
        Ok(request)
    }

    fn next_input_key(&mut self) -> InputKey {
        let key = InputKey(self.next_input);
        self.next_input += 1;
        key
    }

    /// A modern call needs input: asks the program for all of it.
    pub(super) fn gather(
        &mut self,
        mut user: UserCall<T>,
        result: JsonText<'_>,
        waited: Duration,
        now: Instant,
    ) -> Result<(), (UserCall<T>, CallError)> {
        let invalid = |detail: &str| CallError::InvalidResponse(detail.to_string());
        let Some(mut retry) = user.retry.take() else {
            return Err((user, invalid("the server asks for input where the protocol has none")));
        };
        if retry.rounds >= self.config.limits.input_rounds {
            let rounds = retry.rounds;
            self.rpc.limit_hit("input_rounds");
            return Err((user, CallError::TooManyRounds { rounds }));
        }
        retry.rounds += 1;
        // A server that asks gains no time by it; the user's time is not the server's.
        retry.timing = retry.timing.after(waited);
        let needed = match InputRequiredResult::read(result) {
            Ok(needed) => needed,
            Err(error) => return Err((user, invalid(&error.to_string()))),
        };
        let requests = needed.input_requests.unwrap_or_default();
        if requests.is_empty() && needed.request_state.is_none() {
            return Err((user, invalid("the server asks for input but does not say for which")));
        }
        if requests.len() > self.config.limits.input_requests {
            self.rpc.limit_hit("input_requests");
            return Err((user, invalid("the server asks for too many inputs at once")));
        }
        if let Some(error) =
            requests.iter().find_map(|(_, request)| check_declared(request, &self.config.capabilities).err())
        {
            let detail = alloc::format!("the server asks for input that it may not ask for: {}", error.message);
            return Err((user, CallError::InvalidResponse(detail)));
        }
        let call = user.call;
        // What depends on answers of the user's is nobody else's business.
        user.cache = None;
        let mut missing = BTreeMap::new();
        for (name, request) in requests {
            let key = self.next_input_key();
            let to = AnswerTo::Round { call, name: name.clone() };
            let reply = InputReply { key, to, form: form_of(&request) };
            missing.insert(name, key);
            self.queue.push_back(Event::Input { reply, request: Box::new(request) });
        }
        let ready = missing.is_empty();
        let request_state = needed.request_state;
        self.gathering.insert(call, Gathering { user, retry, request_state, missing, answers: BTreeMap::new() });
        if ready {
            self.next_round(call, now);
        }
        Ok(())
    }

    /// The program answers a request for input. An answer to a request that was withdrawn is ignored.
    pub(crate) fn respond(&mut self, reply: InputReply, answer: Result<InputResponse, RpcError>, now: Instant) {
        let version = self.peer.as_ref().map_or(ProtocolVersion::LATEST, |peer| peer.version);
        let answer = answer.and_then(|response| response.into_json(reply.form.as_deref(), version));
        match (reply.to, answer) {
            (AnswerTo::Request(request), Ok(answer)) => self.rpc.answer(request, &answer, Splice::default()),
            (AnswerTo::Request(request), Err(error)) => self.rpc.fail(request, &error),
            (AnswerTo::Round { call, name }, Ok(answer)) => {
                let Some(gathering) = self.gathering.get_mut(&call) else { return };
                if gathering.missing.get(&name) != Some(&reply.key) {
                    return;
                }
                gathering.missing.remove(&name);
                gathering.answers.insert(name, answer);
                if gathering.missing.is_empty() {
                    self.next_round(call, now);
                }
            }
            (AnswerTo::Round { call, name }, Err(error)) => {
                // There is no way to tell a modern server that an input failed: the call is not made again.
                let Some(mut gathering) = self.gathering.remove(&call) else { return };
                gathering.missing.remove(&name);
                self.queue.extend(gathering.open_inputs().map(Event::InputCancelled));
                self.fail(call, gathering.into_token(), CallError::InputFailed(error));
            }
        }
    }

    /// Makes a call again, with all that was asked for.
    fn next_round(&mut self, call: CallId, now: Instant) {
        let Some(Gathering { mut user, retry, request_state, answers, .. }) = self.gathering.remove(&call) else {
            return;
        };
        let params = match RoundParams::new(&retry.params, &answers, request_state.as_deref()) {
            Some(params) => params,
            None => {
                debug_assert!(false, "parameters are an object");
                return self.fail(call, user.token, CallError::InvalidResponse("the call cannot be repeated".into()));
            }
        };
        // A round is a request of its own, whose progress starts from nothing.
        user.progress = f64::NEG_INFINITY;
        let (method, timing) = (retry.method.name, retry.timing);
        match self.rpc.call(None, method, &params, Splice::default(), timing, Call::User(user), now) {
            Ok(sent) => {
                if let Some(Call::User(user)) = self.rpc.token_mut(sent.number) {
                    user.retry = Some(retry);
                }
                self.rounds.insert(call, sent.number);
            }
            Err(refused) => {
                if let Call::User(user) = refused.token {
                    self.fail(call, user.token, CallError::InvalidResponse(refused.why.to_string()));
                }
            }
        }
    }
}

/// The parameters of a later round: those of the first, with the answers and the server's state.
struct RoundParams<'a> {
    first: Vec<(Cow<'a, str>, JsonText<'a>)>,
    answers: &'a BTreeMap<String, Json>,
    state: Option<&'a str>,
}

impl<'a> RoundParams<'a> {
    /// None if the first are not an object.
    fn new(params: &'a [u8], answers: &'a BTreeMap<String, Json>, state: Option<&'a str>) -> Option<Self> {
        let mut first = Vec::new();
        // A program may have begun with answers and a state of its own, which these take the place of.
        members(core::str::from_utf8(params).ok()?, MOST_LEVELS, |name, value| {
            if !matches!(&*name, "inputResponses" | "requestState") {
                first.push((name, value));
            }
        })
        .ok()?;
        Some(Self { first, answers, state })
    }
}

impl Serialize for RoundParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.first {
            map.serialize_entry(name, value)?;
        }
        if !self.answers.is_empty() {
            map.serialize_entry("inputResponses", self.answers)?;
        }
        if let Some(state) = self.state {
            map.serialize_entry("requestState", state)?;
        }
        map.end()
    }
}

fn form_of(request: &InputRequest) -> Option<Box<ElicitFormParams>> {
    match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => Some(Box::new(form.clone())),
        _ => None,
    }
}

/// Only what the client declared may be asked of it.
fn check_declared(request: &InputRequest, declared: &ClientCapabilities) -> Result<(), RpcError> {
    let undeclared = |what: &str| RpcError::invalid_params(alloc::format!("this client did not declare {what}"));
    match request {
        InputRequest::Elicit(_) if declared.elicitation.is_none() => {
            Err(RpcError::new(code::METHOD_NOT_FOUND, "this client did not declare elicitation"))
        }
        InputRequest::Elicit(ElicitParams::Form(_)) if !declared.supports_form_elicitation() => {
            Err(undeclared("elicitation by form"))
        }
        InputRequest::Elicit(ElicitParams::Url(_)) if !declared.supports_url_elicitation() => {
            Err(undeclared("elicitation by URL"))
        }
        InputRequest::Elicit(ElicitParams::Other(_)) => Err(undeclared("this mode of elicitation")),
        InputRequest::Sample(_) if declared.sampling.is_none() => {
            Err(RpcError::new(code::METHOD_NOT_FOUND, "this client did not declare sampling"))
        }
        InputRequest::Sample(params) if params.uses_tools() && !declared.supports_sampling_tools() => {
            Err(undeclared("sampling with tools"))
        }
        InputRequest::Sample(params) => {
            params.check_tool_messages().map_err(|error| RpcError::invalid_params(error.to_string()))
        }
        InputRequest::Roots(_) if declared.roots.is_none() => {
            Err(RpcError::new(code::METHOD_NOT_FOUND, "this client did not declare roots"))
        }
        InputRequest::Other { method, .. } => Err(RpcError::new(
            code::METHOD_NOT_FOUND,
            alloc::format!("method not found: {}", crate::jsonrpc::excerpt(method)),
        )),
        _ => Ok(()),
    }
}
