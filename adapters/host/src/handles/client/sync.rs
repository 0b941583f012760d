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
use windlass::client::{CallId, InputResponse, ServerNotification};
use windlass::model::*;
use windlass::{CloseReason, ConnError, ConnErrorKind, Json, RpcError};

use crate::drive::endpoint::Connector;
use crate::drive::shared::{Turned, WritePolicy};
use crate::drive::sync::Drive;
use crate::drive::sync::engine::Engine;
use crate::drive::sync::thread_pool::{HANDLER_THREADS, ThreadPool};
use crate::handles::canceller::Cancels;
use crate::handles::client::feed::Feed;
use crate::handles::client::{
    Answering, CallStyle, ClientAction, ClientCore, ClientSettings, InFlight, InputHandlers, all_pages, client_handle,
    client_settings, for_each_input, no_handler, params_of, subscription_handle,
};
use crate::handles::completion::Slot;
#[cfg(feature = "http")]
use crate::handles::completion::Token;
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

impl<D: Drive> Guard<D> {
    fn new(core: Arc<ClientCore>, inputs: InputHandlers<Answer>, drive: D, handler_threads: usize) -> Self {
        let pool = ThreadPool::new(handler_threads);
        let engine = Engine::new(drive, Arc::new(DrivenClient { core: core.clone(), inputs, pool }));
        Self { core, engine }
    }

    fn wait<V>(&self, poll: impl FnMut(&mut Context<'_>) -> Poll<V>) -> V {
        self.engine.wait(poll)
    }

    /// Sees to what was changed, if nobody else does.
    fn see_to_it(&self) {
        self.engine.turn_if_free();
    }
}

impl<D: Drive> Drop for Guard<D> {
    fn drop(&mut self) {
        self.core.leave();
        self.see_to_it();
    }
}

impl<D: Drive> Cancels for Guard<D> {
    fn cancel(&self, call: CallId, reason: &str) {
        self.core.cancel(call, reason);
        self.see_to_it();
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
    fn of(guard: Arc<Guard<D>>) -> Self {
        Self { core: guard.core.clone(), guard, style: CallStyle::default() }
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

    client_handle!(Subscription<D>, []);

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
        self.guard.engine.wait_until(over, until);
    }
}

/// A subscription to changes on the server.
pub struct Subscription<D: Drive> {
    feed: Arc<Feed>,
    honoured: SubscriptionFilter,
    in_flight: InFlight<Guard<D>>,
}

impl<D: Drive> Subscription<D> {
    subscription_handle!();

    /// The next change if one has come already; does not wait. [`ended`](Self::ended) says whether there may be more.
    pub fn try_next(&mut self) -> Option<ServerNotification> {
        let kept = self.feed.take();
        kept.or_else(|| {
            self.in_flight.client.engine.read_if_free();
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
        let next = self.in_flight.client.engine.wait_until(next, until);
        // One that waits for no time at all looks, too.
        next.or_else(|| self.try_next())
    }
}

impl<D: Drive> Iterator for Subscription<D> {
    type Item = ServerNotification;

    /// Waits for the next change; `None` when the subscription is over, and [`ended`](Subscription::ended) says why.
    fn next(&mut self) -> Option<ServerNotification> {
        self.in_flight.client.engine.wait(|context| self.feed.poll_next(context))
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
    client_settings!(Client<D>, []);

    /// How many handlers may run at the same time, each on a thread; the others wait until one is done, in order. The
    /// default is 512, the least is 1.
    #[must_use]
    pub fn handler_threads(mut self, most: usize) -> Self {
        self.handler_threads = most.max(1);
        self
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

    /// Begins to connect.
    fn begin(self, to: Connector) -> Result<Arc<Guard<D>>, ConnectError> {
        let drive = D::new().map_err(|error| not_opened(&error))?;
        let wake = Arc::new(drive.waker());
        let core = ClientCore::new(self.settings, to, WritePolicy::WriteUnlessDriverWorks, wake);
        let guard = Guard::new(core, self.inputs, drive, self.handler_threads);
        if D::OWN_THREAD {
            let engine = guard.engine.clone();
            let thread = thread::Builder::new().name("windlass-client".into());
            thread.spawn(move || engine.keep()).map_err(|error| not_opened(&error))?;
        }
        Ok(Arc::new(guard))
    }

    /// Begins to make one call.
    #[cfg(feature = "http")]
    fn begin_call<P: Serialize + ?Sized>(
        self,
        to: HttpTarget,
        version: ProtocolVersion,
        call: (&str, &P),
        token: Token,
    ) -> Result<Guard<D>, Error> {
        let drive = D::new().map_err(|_| SendError::Full)?;
        let policy = (WritePolicy::WriteUnlessDriverWorks, Arc::new(drive.waker()) as _);
        let core = ClientCore::for_one_call(self.settings, to, version, call, token, policy)?;
        Ok(Guard::new(core, self.inputs, drive, self.handler_threads))
    }
}

macro_rules! inputs {
    ($($(#[$doc:meta])* $name:ident($($params:ident: $type:ty)?) -> $result:ty = $input:ident, $declared:expr;)+) => {
        impl<D: Drive> ClientBuilder<D> {
            $($(#[$doc])*
            #[must_use]
            #[allow(unused_parens, reason = "what is given to none of them, or one, is written as one pattern")]
            pub fn $name<F>(mut self, handler: F) -> Self
            where
                F: Fn($($type)?) -> Result<$result, RpcError> + Send + Sync + 'static,
            {
                self.inputs.$input = Some(Arc::new(move |($($params)?)| handler($($params)?).map(InputResponse::from)));
                self.declare($declared)
            })+
        }
    };
}
for_each_input!(inputs);

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

    fn perform(&self, action: ClientAction) {
        let Some((reply, request)) = self.core.perform(action) else { return };
        let answering = Answering::new(self.core.clone(), reply);
        let answer = self.inputs.for_request(*request);
        self.pool.run(move || answering.answer(answer.map_or_else(|| Err(no_handler()), |answer| answer())));
    }
}
