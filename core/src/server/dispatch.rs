//! Which methods a server has, in which era, and what becomes of each.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use super::config::Caller;
use super::handling::{RequestKind, ServerRequest};
use super::params::{Params, read};
use super::{Call, LastCaller, Server, ServerEvent};
use crate::json::{Fault, JsonText};
use crate::jsonrpc::{Id, RpcError, Splice, code};
use crate::model::{
    CallTool, Cancelled, Capability, ClientCapabilities, Complete, Discover, DiscoverResult, EmptyResult, Era,
    GetPrompt, Implementation, Initialize, InitializeParams, InitializeResult, Initialized, ListPrompts,
    ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources, ListResourcesResult,
    ListTools, ListToolsResult, Listen, LoggingLevel, Method, MethodInfo, Notice, Ping, Progress, ProgressParams,
    ProtocolVersion, ReadResource, Readable, RequestMeta, ServerCapabilities, SetLevel, SetLevelParams, Side,
    Subscribe, SubscribeParams, Unsubscribe, Within, key,
};
use crate::observer::Observation;
use crate::principal::Principal;
use crate::rpc::{KeepAlive, RequestKey};
use crate::time::Instant;

impl<T, H: Clone> Server<T, H> {
    /// A request of the client's. Every one gets exactly one answer, unless the client cancels it. It has a key if it was
    /// taken in; otherwise it has been refused.
    pub(crate) fn request(
        &mut self,
        id: &Id,
        method: &str,
        params: Result<Params<'_>, Fault>,
        principal: Option<&Arc<Principal>>,
        now: Instant,
    ) -> Option<RequestKey> {
        self.rpc.watch_at(now);
        let unreadable = |fault| RpcError::invalid_params(alloc::format!("the parameters cannot be read: {fault}"));
        let admitted = params.map_err(unreadable).and_then(|params| {
            let (caller, mut data) = self.admit(method, &params)?;
            data.principal = principal.cloned();
            Ok((params, caller, data))
        });
        let (params, caller, data) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => {
                self.rpc.refuse(Some(id), false, &error);
                return None;
            }
        };
        match self.rpc.begin(id, data) {
            Err(refused) => {
                self.rpc.refuse(Some(id), false, &refused.error());
                None
            }
            Ok(key) => {
                self.rpc.watch_request(key, method, params.raw());
                if let Err(error) = self.dispatch(key, method, &params, caller, now) {
                    self.fail(key, error);
                }
                Some(key)
            }
        }
    }

    /// Finds out who asks, in which era, and whether they may.
    fn admit(&mut self, method: &str, params: &Params<'_>) -> Result<(Option<Arc<Caller>>, ServerRequest), RpcError> {
        let meta = params.meta()?;
        let progress_token = meta.progress_token.and_then(Id::from_text);
        let request = |caller: Option<&Arc<Caller>>, log_level| ServerRequest {
            version: caller.map(|caller| caller.version),
            progress_token,
            last_progress: f64::NEG_INFINITY,
            log_level,
            principal: None,
            kind: RequestKind::Immediate,
        };
        let modern_meta = meta.protocol_version.is_some() || meta.client_capabilities.is_some();
        if modern_meta || method == Discover::NAME || self.rpc.is_anonymous() {
            let caller = self.modern_caller(meta)?;
            let wrong_level = |_| RpcError::invalid_params("the log level is none of the eight that there are");
            let log_level = meta.log_level.map(|level| LoggingLevel::read(level));
            let request = request(Some(&caller), log_level.transpose().map_err(wrong_level)?);
            return Ok((Some(caller), request));
        }
        let caller = self.legacy.caller.clone();
        match (&caller, method) {
            (None, Initialize::NAME) | (_, Ping::NAME) | (Some(_), _) => {
                let request = request(caller.as_ref(), Some(self.legacy.log_level));
                Ok((caller, request))
            }
            (None, _) => Err(RpcError::invalid_request(
                "the session is not initialized: send initialize first, or state the protocol version in _meta",
            )),
        }
    }

    /// What a modern request says of its client. Nothing is remembered from other requests, but most requests of a
    /// client say the same, and the same text need not be read twice.
    fn modern_caller(&mut self, meta: &RequestMeta<'_>) -> Result<Arc<Caller>, RpcError> {
        let missing = |what| RpcError::invalid_params(alloc::format!("_meta has no {what}, which every request needs"));
        let version = meta.protocol_version.ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
        let capabilities = meta.client_capabilities.ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
        let text = [version.as_str(), capabilities.as_str(), meta.client_info.map_or("", JsonText::as_str)];
        if let Some(last) = self.last_caller.as_ref().filter(|last| last.text.iter().map(|text| &**text).eq(text)) {
            return Ok(last.caller.clone());
        }
        let capabilities = ClientCapabilities::read(capabilities)
            .map_err(|error| RpcError::invalid_params(alloc::format!("the client capabilities are wrong: {error}")))?;
        let version =
            version.as_text().ok_or_else(|| RpcError::invalid_params("the protocol version is not a string"))?;
        let Some(version) = ProtocolVersion::parse(&version).filter(|version| version.era() == Era::Modern) else {
            return Err(unsupported_version(&version));
        };
        let info = meta.client_info.and_then(|info| Implementation::read(info).ok());
        let caller = Arc::new(Caller { version, capabilities, info });
        self.last_caller = Some(LastCaller { text: text.map(Box::from), caller: caller.clone() });
        Ok(caller)
    }

    fn dispatch(
        &mut self,
        key: RequestKey,
        method: &str,
        params: &Params<'_>,
        caller: Option<Arc<Caller>>,
        now: Instant,
    ) -> Result<(), RpcError> {
        let raw = params.raw();
        let version = caller.as_ref().map(|caller| caller.version);
        let of_the_protocol = MethodInfo::find(method).filter(|known| known.is_for_engine(Side::Client));
        if let Some(known) = of_the_protocol {
            // A method of the protocol's that the revision or this server does not have is not found, whatever the program
            // has registered.
            let offered = known.capability.is_none_or(|capability| self.offers(capability));
            if !offered || version.is_some_and(|version| !known.is_in(version)) {
                return Err(RpcError::method_not_found(method));
            }
        }
        // What is asked for most comes first.
        match (method, caller) {
            (CallTool::NAME, Some(caller)) => self.call_tool(key, params, caller, now),
            (ReadResource::NAME, Some(caller)) => self.read_resource(key, params, caller, now),
            (GetPrompt::NAME, Some(caller)) => self.get_prompt(key, params, caller, now),
            (Initialize::NAME, None) => self.initialize(key, read(raw)?, now),
            (Initialize::NAME, Some(_)) => Err(RpcError::invalid_request("the session is initialized already")),
            (Ping::NAME, _) => {
                self.answer(key, &EmptyResult::default());
                Ok(())
            }
            (Discover::NAME, Some(_)) => {
                self.discover(key);
                Ok(())
            }
            (SetLevel::NAME, Some(_)) => {
                self.legacy.log_level = read::<SetLevelParams>(raw)?.level;
                self.answer(key, &EmptyResult::default());
                Ok(())
            }
            (Subscribe::NAME, Some(_)) => self.subscribe(key, read::<SubscribeParams>(raw)?),
            (Unsubscribe::NAME, Some(_)) => {
                self.unsubscribe(key, &read::<SubscribeParams>(raw)?);
                Ok(())
            }
            (Listen::NAME, Some(_)) => self.listen(key, read(raw)?),
            (ListTools::NAME, Some(_)) => self.list_tools(key, params),
            (ListResources::NAME, Some(_)) => self.list_resources(key, params),
            (ListResourceTemplates::NAME, Some(_)) => self.list_resource_templates(key, params),
            (ListPrompts::NAME, Some(_)) => self.list_prompts(key, params),
            (Complete::NAME, Some(caller)) => self.complete(key, params, caller),
            (_, Some(caller)) => self.serve_method(key, method, params, caller),
            (_, None) => Err(RpcError::method_not_found(method)),
        }
    }

    /// Whether anything is served for which this has to be declared.
    pub(super) fn offers(&self, capability: Capability) -> bool {
        let registry = &self.offer.registry;
        match capability {
            Capability::Tools => registry.tools.were_offered(),
            Capability::Resources | Capability::Subscriptions => registry.offers_resources(),
            Capability::Prompts => registry.prompts.were_offered(),
            Capability::Completions => registry.has_completions(),
            Capability::Logging => self.offer.config.logging,
            Capability::Roots | Capability::Sampling | Capability::Elicitation => false,
        }
    }

    /// Answers a request with a complete result.
    pub(super) fn answer<R: Serialize + ?Sized>(&mut self, key: RequestKey, result: &R) {
        self.answer_in_era(key, result, self.is_modern(key));
    }

    /// The same, where it is known how the request was asked.
    pub(super) fn answer_in_era<R: Serialize + ?Sized>(&mut self, key: RequestKey, result: &R, modern: bool) {
        let splice = if modern {
            Splice { members: br#""resultType":"complete""#, meta: &self.offer.result_meta }
        } else {
            Splice::default()
        };
        self.rpc.answer(key, result, splice);
    }

    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = self.offer.config.declared.as_deref().cloned().unwrap_or_default();
        if self.offer.config.logging {
            capabilities = capabilities.with_logging();
        }
        if self.offer.registry.tools.were_offered() {
            capabilities = capabilities.with_tools(true);
        }
        if self.offer.registry.offers_resources() {
            capabilities = capabilities.with_resources(true, true);
        }
        if self.offer.registry.prompts.were_offered() {
            capabilities = capabilities.with_prompts(true);
        }
        if self.offer.registry.has_completions() {
            capabilities = capabilities.with_completions();
        }
        capabilities
    }

    fn initialize(&mut self, key: RequestKey, params: InitializeParams, now: Instant) -> Result<(), RpcError> {
        // Versions are names, not numbers: what is not known gets the newest of the era as a counter-offer.
        let version = ProtocolVersion::parse(&params.protocol_version)
            .filter(|version| version.era() == Era::Legacy)
            .unwrap_or(ProtocolVersion::LATEST_LEGACY);
        let mut result = InitializeResult::new(version, self.capabilities(), self.offer.config.info.clone());
        result.instructions = self.offer.config.instructions.clone();
        result.keep_within(version);
        let capabilities = params.capabilities.within(version);
        let caller = Arc::new(Caller { version, capabilities, info: Some(params.client_info) });
        self.legacy.caller = Some(caller.clone());
        self.rpc.observe(|| Observation::Negotiated(version));
        self.keep_alive = self.offer.config.keep_alive.map(|config| Box::new(KeepAlive::new(config, now)));
        self.answer(key, &result);
        self.queue.push_back(ServerEvent::Initialized(caller));
        Ok(())
    }

    fn discover(&mut self, key: RequestKey) {
        let modern = ProtocolVersion::ALL.into_iter().filter(|version| version.era() == Era::Modern);
        let mut result = DiscoverResult::new(modern, self.capabilities());
        result.instructions = self.offer.config.instructions.clone();
        result.ttl_ms = Some(self.ttl_ms());
        result.cache_scope = Some(self.offer.config.cache_scope.clone());
        self.answer(key, &result);
    }

    pub(super) fn ttl_ms(&self) -> u64 {
        u64::try_from(self.offer.config.time_to_live.as_millis()).unwrap_or(u64::MAX)
    }

    fn is_modern(&self, key: RequestKey) -> bool {
        self.rpc.request(key).is_some_and(|request| request.data.is_modern())
    }

    /// A client's notification. Nothing is ever answered to one.
    pub(super) fn notification<'a>(
        &mut self,
        method: Cow<'a, str>,
        params: Option<JsonText<'a>>,
        now: Instant,
    ) -> Option<ServerEvent<'a, T, H>> {
        match &*method {
            Initialized::NAME => {
                self.legacy.operating = self.legacy.caller.is_some();
                None
            }
            Cancelled::NAME => {
                let cancelled = Cancelled::read(params?).ok()?;
                let (key, request) = self.rpc.cancelled(&cancelled.request_id?)?;
                self.forget_request(key, &request);
                None
            }
            name if name == Progress::NAME => {
                // Progress on a call of ours keeps it alive.
                if let Ok(ProgressParams { progress_token: Id::Number(number), .. }) = Progress::read(params?) {
                    self.rpc.extend(number, now);
                }
                None
            }
            _ => Some(ServerEvent::Notification { method, params }),
        }
    }

    /// The client of a request is gone, which cancels it.
    pub(crate) fn withdraw_request(&mut self, key: RequestKey) {
        if let Some(request) = self.rpc.end(key) {
            self.forget_request(key, &request.data);
        }
    }

    /// A request was cancelled: its handler is not run, or told to stop.
    fn forget_request(&mut self, key: RequestKey, request: &ServerRequest) {
        self.withdraw_inputs(key);
        self.queue.retain(|event| !matches!(event, ServerEvent::Invoke { invocation, .. } if invocation.key == key));
        if !request.is_subscription() {
            self.queue.push_back(ServerEvent::Cancelled(key));
        }
    }

    /// Takes back the requests for input that a request no longer needs.
    pub(super) fn withdraw_inputs(&mut self, key: RequestKey) {
        while let Some(number) = self.rpc.find(|call| matches!(call, Call::Input { request, .. } if *request == key)) {
            self.rpc.withdraw(number);
            self.rpc.notify_cancelled(number, "the request that needed this was cancelled");
        }
    }
}

fn unsupported_version(requested: &str) -> RpcError {
    #[derive(Serialize)]
    struct Data<'a> {
        supported: Vec<&'static str>,
        requested: &'a str,
    }
    let supported =
        ProtocolVersion::ALL.iter().filter(|version| version.era() == Era::Modern).map(|version| version.as_str());
    RpcError::new(code::UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version")
        .with_data(&Data { supported: supported.collect(), requested })
}

/// One listing each: the entries of a page, and hints for modern clients on how long it may be kept.
macro_rules! listings {
    ($($function:ident: $table:ident => $result:ident, $entry:expr;)+) => {
        impl<T, H: Clone> Server<T, H> {
            $(
                fn $function(&mut self, key: RequestKey, params: &Params<'_>) -> Result<(), RpcError> {
                    let cursor = params.cursor()?;
                    let (page, next) = self.offer.registry.$table.page(cursor.as_deref(), self.offer.config.page_size)?;
                    let mut page = page.into_iter().map($entry).collect::<Vec<_>>();
                    if let Some(version) = self.version_of(key) {
                        page.keep_within(version);
                    }
                    let mut result = $result::new(page);
                    result.next_cursor = next;
                    if self.is_modern(key) {
                        result.ttl_ms = Some(self.ttl_ms());
                        result.cache_scope = Some(self.offer.config.cache_scope.clone());
                    }
                    self.answer(key, &result);
                    Ok(())
                }
            )+
        }
    };
}

listings! {
    list_tools: tools => ListToolsResult, Clone::clone;
    list_resources: resources => ListResourcesResult, Clone::clone;
    list_resource_templates: templates => ListResourceTemplatesResult, |(template, _)| template.clone();
    list_prompts: prompts => ListPromptsResult, Clone::clone;
}
