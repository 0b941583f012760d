//! The client's handle.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(feature = "http")]
use windlass::SendError;
use windlass::client::{CallId, CallOptions, InputResponse, ServerNotification};
use windlass::model::*;
use windlass::{CloseReason, ConnError, ConnErrorKind, Json, RpcError};

use crate::drive::endpoint::Connector;
use crate::drive::shared::{Driven, Turn, Turned, WritePolicy};
use crate::drive::sync::Drive;
use crate::drive::sync::engine::Engine;
use crate::drive::sync::thread_pool::{HANDLER_THREADS, ThreadPool};
use crate::handles::canceller::{Cancellable, Cancels};
use crate::handles::client::feed::Feed;
use crate::handles::client::{
    Answering, CallStyle, ClientCore, ClientSettings, InputHandlers, all_pages, client_handle, client_settings,
    no_handler, params_of, subscription_handle,
};
use crate::handles::completion::Slot;
#[cfg(feature = "http")]
use crate::net::HttpTarget;
use crate::{ConnectError, Error};

/// What a handler for input gives.
type Answer = Result<InputResponse, RpcError>;

/// A connected client. Clones share the connection, from as many threads as there are; when the last one is dropped,
/// it is closed. A call can be given up from another thread by a [`Canceller`](crate::Canceller).
///
/// Dropping does not wait for a server that is a child process: it is ended in the background, by force if it heeds
/// nothing else. A program that returns from `main` meanwhile waits for that, for the rest of its [`Grace`](crate::Grace)
/// at most. [`close`](Self::close) waits where it is called.
pub struct Client<D: Drive> {
    core: Arc<ClientCore>,
    guard: Arc<Guard<D>>,
    style: CallStyle,
}

/// Closes the connection when the last handle is gone.
struct Guard<D: Drive> {
    core: Arc<ClientCore>,
    engine: Arc<Engine<D, DrivenClient>>,
}

impl<D: Drive> Drop for Guard<D> {
    fn drop(&mut self) {
        self.core.leave();
        self.engine.turn_if_free();
    }
}

impl<D: Drive> Cancels for Guard<D> {
    fn cancel(&self, call: CallId, reason: &str) {
        self.core.cancel(call, reason);
        self.engine.turn_if_free();
    }
}

impl<D: Drive> std::fmt::Debug for Client<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("peer", &self.core.peer()).finish_non_exhaustive()
    }
}

impl<D: Drive> Clone for Client<D> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), guard: self.guard.clone(), style: self.style.clone() }
    }
}

impl<D: Drive> Client<D> {
    /// Connects with the defaults: to a [`Command`](crate::Command) to start, or an [`Endpoint`](crate::Endpoint).
    ///
    /// # Errors
    ///
    /// When the server cannot be started, or there is no common protocol version.
    pub fn connect(to: impl Into<Connector>) -> Result<Self, ConnectError> {
        Self::builder("windlass", env!("CARGO_PKG_VERSION")).connect(to)
    }

    /// A client that introduces itself by this name and version, to be set up further.
    pub fn builder(name: &str, version: &str) -> ClientBuilder<D> {
        ClientBuilder {
            settings: ClientSettings::new(name, version),
            inputs: InputHandlers::none(),
            handler_threads: HANDLER_THREADS,
            drive: std::marker::PhantomData,
        }
    }

    client_handle!();

    /// Calls a tool with arguments that serialise as an object.
    pub fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, Error> {
        self.make::<CallTool, _>(&ToolCall { name, arguments: &arguments })
    }

    /// Makes any typed call.
    pub fn call<M: Method>(&self, params: &M::Params) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        self.make::<M, _>(params)
    }

    /// Makes a call of a method with parameters that are written as its own would be.
    fn make<M: Method, P: Serialize>(&self, params: &P) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        self.outcome(M::NAME, params, &self.style.options, Slot::of::<M>(self.style.on_progress.clone()))
    }

    /// Makes a call that has no type here, such as one of an extension.
    pub fn call_raw(&self, method: &str, params: &impl Serialize) -> Result<Json, Error> {
        self.outcome(method, params, &self.style.options, Slot::raw(self.style.on_progress.clone()))
    }

    /// Lists one page, and tells how many bytes it had.
    fn page<M: Method>(&self, params: &M::Params, options: &CallOptions) -> Result<(M::Output, usize), Error>
    where
        M::Output: Send + 'static,
    {
        self.outcome(M::NAME, params, options, Slot::page_of::<M>(self.style.on_progress.clone()))
    }

    fn engine(&self) -> &Engine<D, DrivenClient> {
        &self.guard.engine
    }

    fn outcome<P: Serialize + ?Sized, O: Send + 'static>(
        &self,
        method: &str,
        params: &P,
        options: &CallOptions,
        slot: Arc<Slot<O>>,
    ) -> Result<O, Error> {
        let start = || self.core.start(method, params, options, slot.clone());
        let _started = self.style.start(&self.guard, start)?;
        self.engine().wait(|context| slot.poll(context))
    }

    /// Subscribes to changes, in either era. The subscription ends when it is dropped.
    pub fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription<D>, Error> {
        let feed = Feed::new();
        let (call, cancellable) =
            self.style.start(&self.guard, || self.core.listen(filter, &self.style.options, feed.clone()))?;
        let honoured = self.engine().wait(|context| feed.poll_begun(context))?;
        Ok(Subscription { feed, honoured, call, _cancellable: cancellable, guard: self.guard.clone() })
    }

    /// Tells a legacy server that the roots have changed.
    pub fn notify_roots_changed(&self) -> Result<(), Error> {
        self.core.notify_roots_changed()?;
        self.engine().turn_if_free();
        Ok(())
    }

    /// Drives the connection for as long as this, so that the server's notifications and requests are heard while no
    /// call is made. Adapters with a thread of their own do that all the time.
    pub fn drive_for(&self, duration: Duration) {
        // A time that cannot be told is never reached.
        let until = Instant::now().checked_add(duration);
        let is_past = || until.is_some_and(|until| Instant::now() >= until);
        let over = |_: &mut Context<'_>| match is_past() || self.closed().is_some() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        };
        self.engine().wait_until(over, until);
    }

    /// Closes the connection, and returns when a child is gone.
    pub fn close(self) -> CloseReason {
        self.core.close();
        self.wait_closed()
    }

    /// Waits until the connection is over, for whatever reason.
    pub fn wait_closed(&self) -> CloseReason {
        let mut closed = self.core.wait_closed();
        self.engine().wait(|context| closed.poll(context))
    }
}

/// A subscription to changes on the server.
pub struct Subscription<D: Drive> {
    feed: Arc<Feed>,
    honoured: SubscriptionFilter,
    call: CallId,
    _cancellable: Option<Cancellable>,
    guard: Arc<Guard<D>>,
}

impl<D: Drive> Subscription<D> {
    subscription_handle!();

    /// The next change if one has come already; does not wait. [`ended`](Self::ended) says whether there may be more.
    pub fn try_next(&mut self) -> Option<ServerNotification> {
        let kept = self.feed.take();
        kept.or_else(|| {
            self.guard.engine.read_if_free();
            self.feed.take()
        })
    }

    /// Waits for the next change, but no longer than this. [`ended`](Self::ended) says whether there may be more.
    pub fn next_timeout(&mut self, at_most: Duration) -> Option<ServerNotification> {
        // A time that cannot be told is never reached.
        let until = Instant::now().checked_add(at_most);
        let is_past = || until.is_some_and(|until| Instant::now() >= until);
        let next = |context: &mut Context<'_>| match self.feed.poll_next(context) {
            Poll::Pending if is_past() => Poll::Ready(None),
            next => next,
        };
        let next = self.guard.engine.wait_until(next, until);
        // One that waits for no time at all looks, too.
        next.or_else(|| self.try_next())
    }
}

impl<D: Drive> Iterator for Subscription<D> {
    type Item = ServerNotification;

    /// Waits for the next change; `None` when the subscription is over, and [`ended`](Subscription::ended) says why.
    fn next(&mut self) -> Option<ServerNotification> {
        self.guard.engine.wait(|context| self.feed.poll_next(context))
    }
}

impl<D: Drive> Drop for Subscription<D> {
    fn drop(&mut self) {
        self.guard.cancel(self.call, "the subscriber does not listen any more");
    }
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $method:ident = $params:expr;)+) => {
        impl<D: Drive> Client<D> {
            $($(#[$doc])*
            pub fn $name(&self, $($argument: $type),*) -> crate::handles::client::CallResult<$method> {
                self.call::<$method>(&$params)
            })+
        }
    };
}
windlass::for_each_client_call!(calls);

macro_rules! listings {
    ($($(#[$doc:meta])* $name:ident = $method:ident.$entries:ident -> $entry:ident;)+) => {
        impl<D: Drive> Client<D> {
            $($(#[$doc])*
            pub fn $name(&self) -> Result<Vec<$entry>, Error> {
                all_pages!(self, $method, $entries,)
            })+
        }
    };
}
windlass::for_each_client_listing!(listings);

/// Sets up a client.
pub struct ClientBuilder<D: Drive> {
    settings: ClientSettings,
    inputs: InputHandlers<Answer>,
    handler_threads: usize,
    drive: std::marker::PhantomData<D>,
}

impl<D: Drive> ClientBuilder<D> {
    client_settings!();

    /// How many handlers may run at the same time, each on a thread; the others wait until one is done, in order. The
    /// default is 512, the least is 1.
    #[must_use]
    pub fn handler_threads(mut self, most: usize) -> Self {
        self.handler_threads = most.max(1);
        self
    }

    /// Answers the server's questions to the user, by forms. Handlers run on threads of their own.
    #[must_use]
    pub fn on_elicit<F>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitParams) -> Result<ElicitResult, RpcError> + Send + Sync + 'static,
    {
        self.inputs.elicit = Some(Arc::new(move |params| handler(params).map(InputResponse::from)));
        self.declare(ClientCapabilities::with_form_elicitation)
    }

    /// Answers the server's questions to the user, by forms and by pages to visit.
    #[must_use]
    pub fn on_elicit_with_urls<F>(self, handler: F) -> Self
    where
        F: Fn(ElicitParams) -> Result<ElicitResult, RpcError> + Send + Sync + 'static,
    {
        self.on_elicit(handler).declare(ClientCapabilities::with_url_elicitation)
    }

    /// Answers the server's questions to the model.
    #[must_use]
    pub fn on_sample<F>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams) -> Result<CreateMessageResult, RpcError> + Send + Sync + 'static,
    {
        self.inputs.sample = Some(Arc::new(move |params| handler(params).map(InputResponse::from)));
        self.declare(ClientCapabilities::with_sampling)
    }

    /// Answers a request of a legacy server's that the specification does not have.
    #[must_use]
    pub fn on_request<F, P, T>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(P) -> Result<T, RpcError> + Send + Sync + 'static,
        P: DeserializeOwned,
        T: Serialize,
    {
        let name: Box<str> = method.into();
        let answer = move |params: Json| Ok(InputResponse::Other(Json::of(&handler(params_of(&name, &params)?)?)?));
        self.inputs.methods.insert(method.into(), Arc::new(answer));
        self.settings.config.answer_method(method);
        self
    }

    /// Tells the server which roots there are.
    #[must_use]
    pub fn on_roots<F>(mut self, handler: F) -> Self
    where
        F: Fn() -> Result<ListRootsResult, RpcError> + Send + Sync + 'static,
    {
        self.inputs.roots = Some(Arc::new(move |()| handler().map(InputResponse::from)));
        self.declare(|capabilities| capabilities.with_roots(true))
    }

    /// Makes one call over HTTP to a server that is known to speak `version`: one request, one answer, no handshake
    /// before it and no session. Modern servers are made for this; a legacy one can be called so if it keeps no
    /// sessions.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not answer as it should.
    #[cfg(feature = "http")]
    pub fn call_once<M: Method>(
        self,
        to: HttpTarget,
        version: ProtocolVersion,
        params: &M::Params,
    ) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        let drive = D::new().map_err(|_| SendError::Full)?;
        let slot = Slot::of::<M>(None);
        let policy = (WritePolicy::WriteUnlessDriverWorks, Arc::new(drive.waker()) as _);
        let core = ClientCore::for_one_call(self.settings, to, version, (M::NAME, params), slot.clone(), policy)?;
        let pool = ThreadPool::new(self.handler_threads);
        let engine = Engine::new(drive, Arc::new(DrivenClient { core: core.clone(), inputs: self.inputs, pool }));
        let guard = Guard { core, engine };
        guard.engine.wait(|context| slot.poll(context))
    }

    /// Connects to a [`Command`](crate::Command) to start, or an [`Endpoint`](crate::Endpoint).
    ///
    /// # Errors
    ///
    /// When the server cannot be started, or there is no common protocol version.
    pub fn connect(self, to: impl Into<Connector>) -> Result<Client<D>, ConnectError> {
        let drive = D::new().map_err(|error| not_opened(&error))?;
        let wake = Arc::new(drive.waker());
        let core = ClientCore::new(self.settings, to.into(), WritePolicy::WriteUnlessDriverWorks, wake);
        let pool = ThreadPool::new(self.handler_threads);
        let engine = Engine::new(drive, Arc::new(DrivenClient { core: core.clone(), inputs: self.inputs, pool }));
        if D::OWN_THREAD {
            let engine = engine.clone();
            let thread = thread::Builder::new().name("windlass-client".into());
            thread.spawn(move || engine.keep()).map_err(|error| not_opened(&error))?;
        }
        let guard = Arc::new(Guard { core: core.clone(), engine });
        let mut ready = core.wait_ready();
        if let Err(reason) = guard.engine.wait(|context| ready.poll(context)) {
            // A program may exit on this error, and then nobody would be there to end the child.
            let mut closed = core.wait_closed();
            guard.engine.wait(|context| closed.poll(context));
            return Err(core.not_connected(reason));
        }
        drop(ready);
        Ok(Client { core, guard, style: CallStyle::default() })
    }
}

fn not_opened(error: &io::Error) -> ConnectError {
    let error = ConnError::new(ConnErrorKind::NotOpened, error.to_string());
    ConnectError::new(CloseReason::Transport(error), Vec::new())
}

struct DrivenClient {
    core: Arc<ClientCore>,
    inputs: InputHandlers<Answer>,
    pool: ThreadPool,
}

impl Turned for DrivenClient {
    type Core = ClientCore;

    fn core(&self) -> &Arc<ClientCore> {
        &self.core
    }

    fn turn(self: &Arc<Self>) -> Turn {
        let mut actions = Vec::new();
        let interest = self.core.turn(&mut actions);
        let acted = actions.len();
        for action in actions {
            let Some((reply, request)) = self.core.perform(action) else { continue };
            let answering = Answering::new(self.core.clone(), reply);
            let answer = self.inputs.for_request(*request);
            self.pool.run(move || answering.answer(answer.map_or_else(|| Err(no_handler()), |answer| answer())));
        }
        Turn { interest, acted }
    }
}
