//! What a handler of a server works with: its context, whether it is still wanted, and what it was invoked with.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass::model::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult, LoggingLevel,
    LoggingMessageParams, Meta, Notice, TraceContext,
};
use windlass::server::{Asking, Caller, HandlerError, Invocation, Invoked, Principal, Reply};
use windlass::{Json, RequestKey, RpcError, SendError};

use crate::wait::thread_waker::of_this_thread;

/// What a handler can do besides computing its result. Clones are the same context.
#[derive(Clone)]
pub struct Context(Arc<Invoking>);

/// A handler's call, with what it has to do with.
struct Invoking {
    invocation: Arc<Invocation>,
    /// What is asked for and kept, from the first question on.
    asking: Mutex<Option<Asking>>,
    cancellation: Arc<Cancellation>,
    link: Arc<dyn Link>,
}

impl Context {
    pub(crate) fn new(invocation: Arc<Invocation>, cancellation: Arc<Cancellation>, link: Arc<dyn Link>) -> Self {
        Self(Arc::new(Invoking { invocation, asking: Mutex::default(), cancellation, link }))
    }

    /// Lets go of the connection that the request came on; the client comes back for the answer. Only legacy clients
    /// over HTTP can do that; for all others nothing happens.
    pub fn close_stream(&self) {
        self.0.link.close_stream(self.0.invocation.key);
    }

    /// Reports progress. `total` is what `progress` will be at the end, if that is known.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.0.link.progress(self.0.invocation.key, progress, total, message);
    }

    /// Logs to the client, if it wants messages of this severity.
    pub fn log(&self, level: LoggingLevel, message: impl Into<String>) {
        self.0.link.log(self.0.invocation.key, &LoggingMessageParams::text(level, message));
    }

    /// Logs structured data to the client, if it wants messages of this severity.
    pub fn log_data(&self, level: LoggingLevel, data: Json) {
        self.0.link.log(self.0.invocation.key, &LoggingMessageParams::new(level, data));
    }

    /// Tells those who subscribed that a resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.link.resource_updated(uri);
    }

    /// Tells the client something, as far as its revision has the notification. A legacy client can be told after the
    /// handler is done as well, by a clone of its context: that what its user was sent to a page for is complete.
    ///
    /// # Errors
    ///
    /// When the client is gone, or its revision or the protocol does not allow it.
    pub fn notify<N: Notice>(&self, params: &N::Params) -> Result<(), SendError> {
        self.notify_raw(N::NAME, params)
    }

    /// The same for a notification that has no type here.
    ///
    /// # Errors
    ///
    /// The same, and when the parameters are no JSON object.
    pub fn notify_raw<P: Serialize + ?Sized>(&self, method: &str, params: &P) -> Result<(), SendError> {
        let params = Json::of(params).map_err(|error| SendError::Unencodable(error.to_string()))?;
        self.0.link.notify(self.0.invocation.key, method, &params)
    }

    /// Asks the user, under a name that is unique in this handler. The first time this ends the handler by its `?`;
    /// it is run again with the answer.
    pub fn elicit(&self, name: &str, params: impl Into<ElicitParams>) -> Result<ElicitResult, HandlerError> {
        self.asking(|asking| asking.elicit(name, params))
    }

    /// Asks the client's model, in the same way.
    pub fn sample(&self, name: &str, params: CreateMessageParams) -> Result<CreateMessageResult, HandlerError> {
        self.asking(|asking| asking.sample(name, params))
    }

    /// Asks for the client's roots, in the same way.
    pub fn roots(&self, name: &str) -> Result<ListRootsResult, HandlerError> {
        self.asking(|asking| asking.roots(name))
    }

    /// What [`keep`](Self::keep) kept before the handler was run again.
    pub fn kept<V: DeserializeOwned>(&self) -> Option<V> {
        self.asking(|asking| asking.kept())
    }

    /// Keeps a value for when the handler is run again.
    pub fn keep<V: Serialize + ?Sized>(&self, value: &V) -> Result<(), HandlerError> {
        Ok(self.asking(|asking| asking.keep(value))?)
    }

    /// Whether the client does not want the result any more.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancellation.is_cancelled()
    }

    /// Waits until the client does not want the result any more.
    pub async fn cancelled(&self) {
        poll_fn(|context| self.0.cancellation.poll(context)).await;
    }

    /// Waits until the client does not want the result any more, but no longer than this; returns whether it came to
    /// that. For handlers that are not asynchronous.
    pub fn wait_cancelled(&self, at_most: Duration) -> bool {
        // A time that cannot be told is never reached.
        let until = Instant::now().checked_add(at_most);
        let waker = of_this_thread();
        let mut context = TaskContext::from_waker(&waker);
        loop {
            if self.0.cancellation.poll(&mut context).is_ready() {
                return true;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            match left {
                Some(left) if left.is_zero() => return false,
                Some(left) => std::thread::park_timeout(left),
                None => std::thread::park(),
            }
        }
    }

    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.0.invocation.caller
    }

    /// On whose behalf, where the server is protected; nobody's in particular elsewhere, and on streams of their own.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.invocation.principal.as_deref()
    }

    /// What the request's `_meta` says beside the protocol: keys of the client's own, or of an extension.
    pub fn meta(&self) -> Option<&Meta> {
        self.0.invocation.meta.as_ref()
    }

    /// The trace that the request belongs to, if the client names one.
    pub fn trace(&self) -> Option<TraceContext> {
        self.meta().and_then(TraceContext::read)
    }

    /// What is asked for.
    pub fn request(&self) -> &Invoked {
        &self.0.invocation.request
    }

    fn asking<V>(&self, ask: impl FnOnce(&mut Asking) -> V) -> V {
        let mut asking = self.0.asking.lock().unwrap_or_else(PoisonError::into_inner);
        ask(asking.get_or_insert_with(|| Asking::new(&self.0.invocation)))
    }

    /// What to answer.
    pub(crate) fn outcome(&self, outcome: Result<Reply, HandlerError>) -> Result<Reply, RpcError> {
        outcome.or_else(|error| error.into_outcome(&self.0.invocation.request, self.asking(|asking| asking.clone())))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("invocation", &self.0.invocation).finish_non_exhaustive()
    }
}

/// The way from a context back to its server.
pub(crate) trait Link: Send + Sync {
    fn progress(&self, key: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>);
    fn log(&self, key: RequestKey, message: &LoggingMessageParams);
    fn resource_updated(&self, uri: &str);
    fn notify(&self, key: RequestKey, method: &str, params: &Json) -> Result<(), SendError>;
    fn close_stream(&self, key: RequestKey);
}

/// Whether a request is still wanted.
#[derive(Debug, Default)]
pub struct Cancellation {
    cancelled: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Cancellation {
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        for waker in std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner)) {
            waker.wake();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    fn poll(&self, context: &mut TaskContext<'_>) -> Poll<()> {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// What is to be read: a URI, with the variables of the template that it matched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceRequest {
    /// The URI.
    pub uri: String,
    /// The variables of the template.
    pub variables: BTreeMap<String, String>,
}

impl ResourceRequest {
    /// The value of a variable that is to become part of a path: it leads below the folder that it is appended to, or it
    /// is refused.
    ///
    /// # Errors
    ///
    /// When the template has no such variable, or its value might lead elsewhere; see
    /// [`relative_path`](windlass::model::relative_path). The error goes to the client as it is.
    pub fn path(&self, variable: &str) -> Result<&str, RpcError> {
        windlass::server::path_of(&self.variables, variable)
    }
}

/// Takes apart what a handler is invoked with.
pub(crate) mod arguments {
    use super::*;
    use windlass::model::CompleteParams;

    pub(crate) fn of_tool<A: DeserializeOwned>(context: &Context) -> Result<A, HandlerError> {
        let Invoked::Tool { name, arguments } = context.request() else { return Err(misplaced()) };
        // Whoever takes no arguments may say so by `()`.
        let none = arguments.as_str() == "{}" && size_of::<A>() == 0;
        let nothing = || serde_json::from_str("null").ok().filter(|_| none);
        arguments
            .decode()
            .or_else(|error| nothing().ok_or(error))
            .map_err(|error| HandlerError::failed(format!("the arguments of {name:?} are wrong: {error}")))
    }

    pub(crate) fn of_resource(context: &Context) -> Result<ResourceRequest, HandlerError> {
        let Invoked::Resource { uri, variables } = context.request() else { return Err(misplaced()) };
        Ok(ResourceRequest { uri: uri.clone(), variables: variables.clone() })
    }

    pub(crate) fn of_prompt(context: &Context) -> Result<BTreeMap<String, String>, HandlerError> {
        let Invoked::Prompt { arguments, .. } = context.request() else { return Err(misplaced()) };
        Ok(arguments.clone())
    }

    /// What is said beside the parameters is not one of them: a type that takes any member does not get it.
    pub(crate) fn of_method<P: DeserializeOwned>(context: &Context) -> Result<P, HandlerError> {
        let Invoked::Method { method, params } = context.request() else { return Err(misplaced()) };
        let wrong = |error| RpcError::invalid_params(format!("the parameters of {method} are wrong: {error}"));
        let mut members: BTreeMap<String, Json> = params.decode().map_err(wrong)?;
        members.remove("_meta");
        Ok(Json::of(&members).and_then(|params| params.decode()).map_err(wrong)?)
    }

    pub(crate) fn of_completion(context: &Context) -> Result<CompleteParams, HandlerError> {
        let Invoked::Completion(params) = context.request() else { return Err(misplaced()) };
        Ok(params.clone())
    }

    /// The registry ties every handler to its kind, so this cannot be seen.
    fn misplaced() -> HandlerError {
        HandlerError::failed("a handler was invoked for something else than what it was registered for")
    }
}
