//! The client's handle.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass::client::{CallId, CallOptions, InputResponse, ServerNotification};
use windlass::model::*;
use windlass::{CloseReason, Json, RpcError};

use crate::drive::asynchronous::driver::drive;
use crate::drive::asynchronous::{BoxFuture, Runtime, Wakeup};
use crate::drive::endpoint::Connector;
use crate::drive::shared::{Driven, Turn, Turned, WritePolicy};
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

/// What a handler for input promises.
type Answer = BoxFuture<Result<InputResponse, RpcError>>;

/// A connected client. Clones share the connection; when the last one is dropped, it is closed.
///
/// Dropping does not wait for a server that is a child process: it is ended in the background, by force if it heeds
/// nothing else. A program that returns from `main` meanwhile waits for that, for the rest of its [`Grace`](crate::Grace)
/// at most. [`close`](Self::close) waits where it is called.
///
/// Every call is cancelled on the wire when its future is dropped, or by a [`Canceller`](crate::Canceller).
pub struct Client<R: Runtime> {
    core: Arc<ClientCore>,
    guard: Arc<Guard>,
    style: CallStyle,
    runtime: PhantomData<R>,
}

/// Closes the connection when the last handle is gone.
struct Guard(Arc<ClientCore>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Cancels for Guard {
    fn cancel(&self, call: CallId, reason: &str) {
        self.0.cancel(call, reason);
    }
}

impl<R: Runtime> std::fmt::Debug for Client<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("peer", &self.core.peer()).finish_non_exhaustive()
    }
}

impl<R: Runtime> Clone for Client<R> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), guard: self.guard.clone(), style: self.style.clone(), runtime: PhantomData }
    }
}

impl<R: Runtime> Client<R> {
    /// Connects with the defaults: to a [`Command`](crate::Command) to start, or an [`Endpoint`](crate::Endpoint).
    ///
    /// # Errors
    ///
    /// When the server cannot be started, or there is no common protocol version.
    pub async fn connect(to: impl Into<Connector>) -> Result<Self, ConnectError> {
        Self::builder("windlass", env!("CARGO_PKG_VERSION")).connect(to).await
    }

    /// A client that introduces itself by this name and version, to be set up further.
    pub fn builder(name: &str, version: &str) -> ClientBuilder<R> {
        ClientBuilder {
            settings: ClientSettings::new(name, version),
            inputs: InputHandlers::none(),
            runtime: PhantomData,
        }
    }

    client_handle!();

    /// Calls a tool with arguments that serialise as an object.
    pub async fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, Error> {
        self.make::<CallTool, _>(&ToolCall { name, arguments: &arguments }).await
    }

    /// Makes any typed call.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        self.make::<M, _>(params).await
    }

    /// Makes a call of a method with parameters that are written as its own would be.
    async fn make<M: Method, P: Serialize>(&self, params: &P) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        self.outcome(M::NAME, params, &self.style.options, Slot::of::<M>(self.style.on_progress.clone())).await
    }

    /// Makes a call that has no type here, such as one of an extension.
    pub async fn call_raw(&self, method: &str, params: &impl Serialize) -> Result<Json, Error> {
        self.outcome(method, params, &self.style.options, Slot::raw(self.style.on_progress.clone())).await
    }

    /// Lists one page, and tells how many bytes it had.
    async fn page<M: Method>(&self, params: &M::Params, options: &CallOptions) -> Result<(M::Output, usize), Error>
    where
        M::Output: Send + 'static,
    {
        self.outcome(M::NAME, params, options, Slot::page_of::<M>(self.style.on_progress.clone())).await
    }

    async fn outcome<P: Serialize + ?Sized, O: Send + 'static>(
        &self,
        method: &str,
        params: &P,
        options: &CallOptions,
        slot: Arc<Slot<O>>,
    ) -> Result<O, Error> {
        let start = || self.core.start(method, params, options, slot.clone());
        let in_flight = InFlight::new(&self.guard, self.style.start(&self.guard, start)?);
        let outcome = poll_fn(|context| slot.poll(context)).await;
        in_flight.done();
        outcome
    }

    /// Subscribes to changes, in either era. The subscription ends when it is dropped.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, Error> {
        let feed = Feed::new();
        let start = || self.core.listen(filter, &self.style.options, feed.clone());
        let in_flight = InFlight::new(&self.guard, self.style.start(&self.guard, start)?);
        let honoured = poll_fn(|context| feed.poll_begun(context)).await?;
        Ok(Subscription { feed, honoured, _in_flight: in_flight })
    }

    /// Tells a legacy server that the roots have changed.
    pub async fn notify_roots_changed(&self) -> Result<(), Error> {
        self.core.notify_roots_changed()?;
        Ok(())
    }

    /// Closes the connection, and returns when a child is gone.
    pub async fn close(self) -> CloseReason {
        self.core.close();
        self.wait_closed().await
    }

    /// Waits until the connection is over, for whatever reason.
    pub async fn wait_closed(&self) -> CloseReason {
        let mut closed = self.core.wait_closed();
        poll_fn(|context| closed.poll(context)).await
    }
}

/// Cancels a call that is dropped before it is done.
struct InFlight {
    call: CallId,
    guard: Option<Arc<Guard>>,
    _cancellable: Option<Cancellable>,
}

impl InFlight {
    fn new(guard: &Arc<Guard>, (call, cancellable): (CallId, Option<Cancellable>)) -> Self {
        Self { call, guard: Some(guard.clone()), _cancellable: cancellable }
    }

    fn done(mut self) {
        self.guard = None;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.0.cancel(self.call, "the caller does not wait any more");
        }
    }
}

/// A subscription to changes on the server.
pub struct Subscription {
    feed: Arc<Feed>,
    honoured: SubscriptionFilter,
    _in_flight: InFlight,
}

impl Subscription {
    subscription_handle!();

    /// The next change; `None` when the subscription is over, and [`ended`](Self::ended) says why.
    pub async fn next(&mut self) -> Option<ServerNotification> {
        poll_fn(|context| self.feed.poll_next(context)).await
    }

    /// The next change if one has come already. [`ended`](Self::ended) says whether there may be more.
    pub fn try_next(&mut self) -> Option<ServerNotification> {
        self.feed.take()
    }
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $method:ident = $params:expr;)+) => {
        impl<R: Runtime> Client<R> {
            $($(#[$doc])*
            pub async fn $name(&self, $($argument: $type),*) -> crate::handles::client::CallResult<$method> {
                self.call::<$method>(&$params).await
            })+
        }
    };
}
windlass::for_each_client_call!(calls);

macro_rules! listings {
    ($($(#[$doc:meta])* $name:ident = $method:ident.$entries:ident -> $entry:ident;)+) => {
        impl<R: Runtime> Client<R> {
            $($(#[$doc])*
            pub async fn $name(&self) -> Result<Vec<$entry>, Error> {
                all_pages!(self, $method, $entries, .await)
            })+
        }
    };
}
windlass::for_each_client_listing!(listings);

/// Sets up a client.
pub struct ClientBuilder<R: Runtime> {
    settings: ClientSettings,
    inputs: InputHandlers<Answer>,
    runtime: PhantomData<R>,
}

impl<R: Runtime> ClientBuilder<R> {
    client_settings!();

    /// Answers the server's questions to the user, by forms.
    #[must_use]
    pub fn on_elicit<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitParams) -> A + Send + Sync + 'static,
        A: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        self.inputs.elicit = Some(Arc::new(move |params| {
            let answer = handler(params);
            Box::pin(async move { answer.await.map(InputResponse::from) })
        }));
        self.declare(ClientCapabilities::with_form_elicitation)
    }

    /// Answers the server's questions to the user, by forms and by pages to visit.
    #[must_use]
    pub fn on_elicit_with_urls<F, A>(self, handler: F) -> Self
    where
        F: Fn(ElicitParams) -> A + Send + Sync + 'static,
        A: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        self.on_elicit(handler).declare(ClientCapabilities::with_url_elicitation)
    }

    /// Answers the server's questions to the model.
    #[must_use]
    pub fn on_sample<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.inputs.sample = Some(Arc::new(move |params| {
            let answer = handler(params);
            Box::pin(async move { answer.await.map(InputResponse::from) })
        }));
        self.declare(ClientCapabilities::with_sampling)
    }

    /// Answers a request of a legacy server's that the specification does not have.
    #[must_use]
    pub fn on_request<F, A, P, T>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(P) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, RpcError>> + Send + 'static,
        P: DeserializeOwned,
        T: Serialize,
    {
        let name: Box<str> = method.into();
        let answer = move |params: Json| -> Answer {
            match params_of(&name, &params) {
                Ok(params) => {
                    let answer = handler(params);
                    Box::pin(async move { Ok(InputResponse::Other(Json::of(&answer.await?)?)) })
                }
                Err(error) => Box::pin(async move { Err(error) }),
            }
        };
        self.inputs.methods.insert(method.into(), Arc::new(answer));
        self.settings.config.answer_method(method);
        self
    }

    /// Tells the server which roots there are.
    #[must_use]
    pub fn on_roots<F, A>(mut self, handler: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<ListRootsResult, RpcError>> + Send + 'static,
    {
        self.inputs.roots = Some(Arc::new(move |()| {
            let answer = handler();
            Box::pin(async move { answer.await.map(InputResponse::from) })
        }));
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
    pub async fn call_once<M: Method>(
        self,
        to: HttpTarget,
        version: ProtocolVersion,
        params: &M::Params,
    ) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        let (wakeup, wake) = Wakeup::new();
        let slot = Slot::of::<M>(None);
        let policy = (WritePolicy::LeaveBatchesToDriver, wake);
        let core = ClientCore::for_one_call(self.settings, to, version, (M::NAME, params), slot.clone(), policy)?;
        let driven = Arc::new(DrivenClient::<R> { core: core.clone(), inputs: self.inputs, runtime: PhantomData });
        R::spawn(drive::<R, _>(driven, wakeup));
        // Dropping this future gives the call up.
        let _guard = Guard(core);
        poll_fn(|context| slot.poll(context)).await
    }

    /// Connects to a [`Command`](crate::Command) to start, or an [`Endpoint`](crate::Endpoint).
    ///
    /// # Errors
    ///
    /// When the server cannot be started, or there is no common protocol version.
    pub async fn connect(self, to: impl Into<Connector>) -> Result<Client<R>, ConnectError> {
        let (wakeup, wake) = Wakeup::new();
        let core = ClientCore::new(self.settings, to.into(), WritePolicy::LeaveBatchesToDriver, wake);
        let driven = Arc::new(DrivenClient::<R> { core: core.clone(), inputs: self.inputs, runtime: PhantomData });
        R::spawn(drive::<R, _>(driven, wakeup));
        // The guard exists from here on, so that dropping this future ends the attempt.
        let guard = Arc::new(Guard(core.clone()));
        let mut ready = core.wait_ready();
        if let Err(reason) = poll_fn(|context| ready.poll(context)).await {
            // A program may exit on this error, and then nobody would be there to end the child.
            let mut closed = core.wait_closed();
            poll_fn(|context| closed.poll(context)).await;
            return Err(core.not_connected(reason));
        }
        drop(ready);
        Ok(Client { core, guard, style: CallStyle::default(), runtime: PhantomData })
    }
}

struct DrivenClient<R> {
    core: Arc<ClientCore>,
    inputs: InputHandlers<Answer>,
    runtime: PhantomData<R>,
}

impl<R: Runtime> Turned for DrivenClient<R> {
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
            // The handler is called by the task, so that it cannot hold up or end the driver.
            R::spawn(async move {
                answering.answer(match answer {
                    Some(answer) => answer().await,
                    None => Err(no_handler()),
                });
            });
        }
        Turn { interest, acted }
    }
}
