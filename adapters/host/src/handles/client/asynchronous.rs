//! The client's handle.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass::client::{CallId, InputResponse, ServerNotification};
use windlass::model::*;
use windlass::{Json, RpcError};

use crate::drive::asynchronous::driver::drive;
use crate::drive::asynchronous::{BoxFuture, Runtime, Wakeup};
use crate::drive::endpoint::Connector;
use crate::drive::shared::{Turned, WritePolicy};
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
struct Guard {
    core: Arc<ClientCore>,
}

impl Guard {
    async fn wait<V>(&self, poll: impl FnMut(&mut Context<'_>) -> Poll<V>) -> V {
        poll_fn(poll).await
    }

    /// The driver sees to what was changed.
    fn see_to_it(&self) {}
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.core.leave();
    }
}

impl Cancels for Guard {
    fn cancel(&self, call: CallId, reason: &str) {
        self.core.cancel(call, reason);
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
    fn of(guard: Arc<Guard>) -> Self {
        Self { core: guard.core.clone(), guard, style: CallStyle::default(), runtime: PhantomData }
    }

    /// A client that introduces itself by this name and version, to be set up further.
    pub fn builder(name: &str, version: &str) -> ClientBuilder<R> {
        ClientBuilder {
            settings: ClientSettings::new(name, version),
            inputs: InputHandlers::none(),
            runtime: PhantomData,
        }
    }

    client_handle!(Subscription, [async] .await);
}

/// A subscription to changes on the server.
pub struct Subscription {
    feed: Arc<Feed>,
    honoured: SubscriptionFilter,
    #[expect(dead_code, reason = "it is over when this is dropped")]
    in_flight: InFlight<Guard>,
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
    client_settings!(Client<R>, [async] .await);

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

    /// Begins to connect.
    fn begin(self, to: Connector) -> Result<Arc<Guard>, ConnectError> {
        let (wakeup, wake) = Wakeup::new();
        let core = ClientCore::new(self.settings, to, WritePolicy::LeaveBatchesToDriver, wake);
        Ok(Arc::new(Self::drive(core, self.inputs, wakeup)))
    }

    /// Begins to make one call.
    #[cfg(feature = "http")]
    fn begin_call<P: Serialize + ?Sized>(
        self,
        to: HttpTarget,
        version: ProtocolVersion,
        call: (&str, &P),
        token: Token,
    ) -> Result<Guard, Error> {
        let (wakeup, wake) = Wakeup::new();
        let policy = (WritePolicy::LeaveBatchesToDriver, wake);
        let core = ClientCore::for_one_call(self.settings, to, version, call, token, policy)?;
        Ok(Self::drive(core, self.inputs, wakeup))
    }

    fn drive(core: Arc<ClientCore>, inputs: InputHandlers<Answer>, wakeup: Arc<Wakeup>) -> Guard {
        let driven = Arc::new(DrivenClient::<R> { core: core.clone(), inputs, runtime: PhantomData });
        R::spawn(drive::<R, _>(driven, wakeup));
        Guard { core }
    }
}

macro_rules! inputs {
    ($($(#[$doc:meta])* $name:ident($($params:ident: $type:ty)?) -> $result:ty = $input:ident, $declared:expr;)+) => {
        impl<R: Runtime> ClientBuilder<R> {
            $($(#[$doc])*
            #[must_use]
            #[allow(unused_parens, reason = "what is given to none of them, or one, is written as one pattern")]
            pub fn $name<F, A>(mut self, handler: F) -> Self
            where
                F: Fn($($type)?) -> A + Send + Sync + 'static,
                A: Future<Output = Result<$result, RpcError>> + Send + 'static,
            {
                self.inputs.$input = Some(Arc::new(move |($($params)?)| {
                    let answer = handler($($params)?);
                    Box::pin(async move { answer.await.map(InputResponse::from) })
                }));
                self.declare($declared)
            })+
        }
    };
}
for_each_input!(inputs);

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

    fn perform(&self, action: ClientAction) {
        let Some((reply, request)) = self.core.perform(action) else { return };
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
}
