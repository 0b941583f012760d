//! What the servers of all adapters share: settings, and what becomes of a machine's events.
//!
//! | module | what |
//! |---|---|
//! | `context` | [`Context`](crate::Context): what a handler works with |
//! | `handler` | what is registered, and what comes of it |
//! | `handle` | what the handles and builders have in common |
//! | `asynchronous` | the handle for futures: a task for each handler |
//! | `sync` | the handle for threads |
//! | `worker_pool` | its threads: one reads and runs what is quick |
//! | `run_times` | which handlers are quick |
//! | `verifying` | whose tokens are, where a server is protected |
//! | `serve_error` | why a server stopped |

pub(crate) mod asynchronous;
pub(crate) mod context;
mod handle;
mod handler;
mod reply_bytes;
mod run_times;
pub(crate) mod serve_error;
pub(crate) mod sync;
#[cfg(feature = "auth")]
mod verifying;
mod worker_pool;

use std::collections::BTreeMap;
#[cfg(feature = "http")]
use std::net::IpAddr;
use std::sync::{Arc, MutexGuard};

use serde::Serialize;
#[cfg(feature = "auth")]
use windlass::auth::ProtectedResource;
use windlass::link::AnyServer;
#[cfg(feature = "http")]
use windlass::link::http::{HttpServer, HttpServerConfig};
use windlass::link::stdio::StdioServer;
use windlass::model::{Implementation, LoggingMessageParams};
use windlass::server::{CallId, CallOptions, Invocation, Registry, Reply, ReplyTo, ServerConfig, ServerEvent};
#[cfg(feature = "http")]
use windlass::{ConnId, Instant};
use windlass::{RequestKey, SendError};

#[cfg(feature = "auth")]
use crate::auth::Verifier;
#[cfg(feature = "http")]
use crate::drive::Reading;
use crate::drive::endpoint::Endpoint;
use crate::drive::shared::{self, Driven, HasHub, Shared, WritePolicy};
use crate::drive::{Hub, Program};
use crate::handles::call_back;
use crate::handles::completion::Token;
use crate::handles::server::context::{Cancellation, Link};
use crate::handles::server::handler::Handler;
#[cfg(feature = "auth")]
use crate::handles::server::verifying::{Verification, Verifying};
#[cfg(feature = "http")]
use crate::wait::Shutdown;
use crate::wait::{Closure, Lock, WaitClosed};
use crate::{Clock, Grace, seed};

pub(crate) use handle::{for_each_registration, server_handle, server_settings};

/// The machine of a server.
pub(crate) type Machine = AnyServer<Token, Handler>;

/// How a server is set up, before it serves.
pub(crate) struct ServerSettings {
    pub(crate) config: ServerConfig,
    pub(crate) registry: Registry<Handler>,
    /// How to behave towards clients over HTTP, if that was set.
    #[cfg(feature = "http")]
    pub(crate) http: Option<HttpServerConfig>,
    /// Who may call at all, and who says who calls.
    #[cfg(feature = "auth")]
    pub(crate) protection: Option<(ProtectedResource, Arc<dyn Verifier>)>,
    pub(crate) on_notification: Option<NotificationHandler>,
}

/// What a program has to say to a client's notifications: the method and the parameters.
pub(crate) type NotificationHandler = Arc<dyn Fn(&str, Option<windlass::Json>) + Send + Sync>;

impl ServerSettings {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Self {
            config: ServerConfig::new(Implementation::new(name, version)),
            registry: Registry::new(),
            #[cfg(feature = "http")]
            http: None,
            #[cfg(feature = "auth")]
            protection: None,
            on_notification: None,
        }
    }

    /// How to behave towards clients over HTTP: on the loopback interface, unless it was set, only its names are good.
    #[cfg(feature = "http")]
    pub(crate) fn clients_of(&self, listener: &crate::net::HttpListener) -> Clients {
        #[cfg_attr(not(feature = "auth"), expect(unused_mut))]
        let mut http = self.http.clone().unwrap_or_else(|| listener.suitable_config());
        #[cfg(feature = "auth")]
        if let Some((resource, _)) = &self.protection {
            http.authorization = Some(resource.clone());
        }
        Clients::OverHttp(Box::new(http))
    }
}

/// How clients come to a server.
pub(crate) enum Clients {
    /// One, on a stream.
    OnStream(Endpoint),
    /// Any number, by connections to an endpoint of HTTP.
    #[cfg(feature = "http")]
    OverHttp(Box<HttpServerConfig>),
}

/// Something to do once the machine is free.
pub(crate) enum ServerAction {
    /// Run a handler.
    Invoke(Job),
    /// Find out whose a token is.
    #[cfg(feature = "auth")]
    Verify(Verification),
    /// Wake whoever waits for a call of the server's own.
    Finish(Token),
    /// Tell a handler that it is not needed any more.
    Cancel(Arc<Cancellation>),
    /// Tell the program of a notification.
    Notification(Box<Notification>),
}

/// A notification of a client's, for a handler.
pub(crate) struct Notification {
    handler: NotificationHandler,
    method: String,
    params: Option<windlass::Json>,
}

impl ServerAction {
    /// Does it, or gives back what is to be handled.
    pub(crate) fn perform(self, core: &Arc<ServerCore>) -> Option<Job> {
        #[cfg(not(feature = "auth"))]
        let _ = core;
        match self {
            Self::Invoke(job) => return Some(job),
            #[cfg(feature = "auth")]
            Self::Verify(verification) => verification.perform(core),
            Self::Finish(token) => token.finish(),
            Self::Cancel(cancellation) => cancellation.cancel(),
            Self::Notification(notification) => {
                let Notification { handler, method, params } = *notification;
                call_back(|| handler(&method, params));
            }
        }
        None
    }
}

/// A request to be handled.
pub(crate) struct Job {
    reply: ReplyTo,
    handler: Handler,
    invocation: Arc<Invocation>,
    cancellation: Arc<Cancellation>,
}

/// What a server's driver, handlers and handles share.
pub(crate) struct ServerCore {
    shared: Lock<Shared<Machine, Self>>,
    running: Lock<BTreeMap<RequestKey, Arc<Cancellation>>>,
    closure: Closure,
    #[cfg(feature = "auth")]
    verifying: Verifying,
    /// Makes the driver look again.
    wake: Arc<dyn Fn() + Send + Sync>,
    on_notification: Option<NotificationHandler>,
}

impl ServerCore {
    pub(crate) fn new(
        settings: ServerSettings,
        clients: Clients,
        write_policy: WritePolicy,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> std::io::Result<Arc<Self>> {
        #[cfg(feature = "auth")]
        let verifying = Verifying::new(settings.protection.map(|(_, verifier)| verifier));
        let ServerSettings { mut config, registry, on_notification, .. } = settings;
        let (clock, seed) = (Clock::new(), seed()?);
        config.unix_time_at_origin = clock.unix_time_at_origin();
        let hub = match clients {
            Clients::OnStream(endpoint) => {
                let machine = StdioServer::new(config, registry, &seed, clock.now());
                Hub::new(machine.into(), clock, endpoint.into(), Grace::default())
            }
            #[cfg(feature = "http")]
            Clients::OverHttp(http) => {
                let machine = HttpServer::new(config, *http, registry, &seed, clock.now());
                Hub::serving_http(machine.into(), clock, wake.clone())
            }
        };
        let shared = Shared::new(hub, write_policy);
        let (running, closure) = (Lock::default(), Closure::default());
        Ok(Arc::new(Self {
            shared,
            running,
            closure,
            #[cfg(feature = "auth")]
            verifying,
            wake,
            on_notification,
        }))
    }

    /// Gives a handler's outcome to the machine.
    pub(crate) fn respond(&self, reply: ReplyTo, outcome: Result<Reply, windlass::RpcError>) {
        self.running.lock().remove(&reply.key());
        self.change(|machine, now| machine.respond(reply, outcome, now));
    }

    /// The same on the thread of the driver, which will take its turn: answers to many requests are written together.
    pub(crate) fn respond_before_turn(&self, reply: ReplyTo, outcome: Result<Reply, windlass::RpcError>) {
        self.running.lock().remove(&reply.key());
        let mut shared = self.shared();
        let now = shared.hub.now();
        shared.hub.machine.respond(reply, outcome, now);
        shared.changed_before_turn();
    }

    /// Waits until everything about the connection is over.
    pub(crate) fn wait_closed(&self) -> WaitClosed<'_> {
        self.closure.wait(self.shared().hub.shutdown())
    }

    /// Begins to close the server. Its driver has to know: nobody else can let go of what it listens on.
    pub(crate) fn close(&self) {
        self.change(|machine, now| machine.close(now));
        (self.wake)();
    }

    /// The end of everything that the server has opened.
    #[cfg(feature = "http")]
    pub(crate) fn shutdown(&self) -> Arc<Shutdown> {
        self.shared().hub.shutdown()
    }
}

impl HasHub for ServerCore {
    type Machine = Machine;

    fn with_hub<V>(&self, act: impl FnOnce(&mut Hub<Machine>) -> V) -> V {
        act(&mut self.shared().hub)
    }

    #[cfg(feature = "http")]
    fn read_connection(&self, conn: ConnId) -> Reading {
        self.shared().read_connection(conn)
    }

    #[cfg(feature = "http")]
    fn accepted(&self, machine: &mut Machine, client: Option<IpAddr>, now: Instant) -> Option<ConnId> {
        machine.accept_from(client, now)
    }
}

impl Driven for ServerCore {
    fn shared(&self) -> MutexGuard<'_, Shared<Machine, Self>> {
        self.shared.lock()
    }

    fn wake_driver(&self) {
        (self.wake)();
    }

    /// The driver is gone: handlers are told, every call completes, and the server is over.
    fn abandon(self: &Arc<Self>) {
        let why = shared::driver_gone();
        let mut actions = Vec::new();
        let mut shared = self.shared();
        let now = shared.hub.now();
        shared.hub.machine.abandon(why.clone(), now);
        shared.abandon(&why, self, &mut actions);
        drop(shared);
        actions.into_iter().for_each(|action| drop(action.perform(self)));
    }
}

impl Program<Machine> for ServerCore {
    type Action = ServerAction;

    fn take(&self, event: ServerEvent<'_, Token, Handler>, actions: &mut Vec<ServerAction>) {
        match event {
            ServerEvent::Invoke { reply, handler, invocation } => {
                let cancellation = Arc::new(Cancellation::default());
                self.running.lock().insert(reply.key(), cancellation.clone());
                actions.push(ServerAction::Invoke(Job { reply, handler, invocation, cancellation }));
            }
            #[cfg(feature = "auth")]
            ServerEvent::Verify { reply, token } => actions.push(ServerAction::Verify(Verification { reply, token })),
            ServerEvent::Cancelled(key) => {
                if let Some(cancellation) = self.running.lock().remove(&key) {
                    actions.push(ServerAction::Cancel(cancellation));
                }
            }
            ServerEvent::Completed { token, outcome, .. } => {
                token.complete(outcome);
                actions.push(ServerAction::Finish(token));
            }
            ServerEvent::Notification { method, params } => {
                if let Some(handler) = self.on_notification.clone() {
                    let (method, params) = (method.into_owned(), params.map(windlass::Json::from));
                    actions.push(ServerAction::Notification(Box::new(Notification { handler, method, params })));
                }
            }
            ServerEvent::Closed(reason) => {
                actions.extend(std::mem::take(&mut *self.running.lock()).into_values().map(ServerAction::Cancel));
                self.closure.close(reason);
            }
            _ => {}
        }
    }
}

/// Gives the outcome of a handler, whatever becomes of it: one that panics is answered for.
pub(crate) struct Responding {
    core: Arc<ServerCore>,
    reply: Option<ReplyTo>,
}

impl Responding {
    pub(crate) fn new(core: Arc<ServerCore>, reply: ReplyTo) -> Self {
        Self { core, reply: Some(reply) }
    }

    pub(crate) fn respond(mut self, outcome: Result<Reply, windlass::RpcError>) {
        if let Some(reply) = self.reply.take() {
            self.core.respond(reply, outcome);
        }
    }
}

impl Drop for Responding {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            self.core.respond(reply, Err(panicked()));
        }
    }
}

/// What a client hears of a handler that did not get to its end.
pub(crate) fn panicked() -> windlass::RpcError {
    windlass::RpcError::internal("the handler panicked or was stopped")
}

impl Link for ServerCore {
    fn progress(&self, key: RequestKey, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.change(|machine, _| machine.progress(key, progress, total, message));
    }

    fn log(&self, key: RequestKey, message: &LoggingMessageParams) {
        self.change(|machine, _| machine.log(Some(key), message));
    }

    fn resource_updated(&self, uri: &str) {
        self.change(|machine, _| machine.resource_updated(uri));
    }

    fn notify(&self, key: RequestKey, method: &str, params: &windlass::Json) -> Result<(), SendError> {
        self.change(|machine, _| machine.notify_raw(Some(key), method, params))
    }

    fn close_stream(&self, key: RequestKey) {
        #[cfg(feature = "http")]
        self.change(|machine, _| machine.interrupt(key));
        #[cfg(not(feature = "http"))]
        let _ = key;
    }
}

/// Starts a call of the server's own.
pub(crate) fn start_call<P: Serialize + ?Sized>(
    core: &ServerCore,
    method: &str,
    params: &P,
    options: &CallOptions,
    token: Token,
) -> Result<CallId, SendError> {
    core.change(|machine, now| machine.call_raw(method, params, options, token, now)).map_err(|refused| refused.why)
}
