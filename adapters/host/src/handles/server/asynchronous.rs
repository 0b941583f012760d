//! Servers.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass::Json;
use windlass::model::*;
use windlass::server::{CallId, HandlerError, Reply};

use crate::Error;
use crate::drive::asynchronous::driver::drive;
#[cfg(feature = "http")]
use crate::drive::asynchronous::driver::drive_listening;
use crate::drive::asynchronous::{Runtime, Wakeup};
use crate::drive::endpoint::Endpoint;
use crate::drive::shared::{Driven, Turned, WritePolicy};
use crate::handles::completion::Slot;
use crate::handles::server::context::{Context, ResourceRequest, arguments};
use crate::handles::server::handler::{Handled, Handler};
use crate::handles::server::{
    Clients, Job, Responding, ServerAction, ServerCore, ServerSettings, for_each_registration, server_handle,
    server_settings, start_call,
};
#[cfg(feature = "http")]
use crate::net::HttpListener;

/// A running server. Clones are the same server.
pub struct Server<R: Runtime> {
    core: Arc<ServerCore>,
    runtime: PhantomData<R>,
}

impl<R: Runtime> Clone for Server<R> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), runtime: PhantomData }
    }
}

impl<R: Runtime> Server<R> {
    /// A server that introduces itself by this name and version, to be filled and started.
    pub fn builder(name: &str, version: &str) -> ServerBuilder<R> {
        ServerBuilder { settings: ServerSettings::new(name, version), runtime: PhantomData }
    }

    server_handle!(poll_fn, [async] .await);

    /// Adds a template for resources, or replaces the one with that URI template. Clients are told.
    ///
    /// # Errors
    ///
    /// When its URI template cannot be matched.
    pub fn add_resource_template<F, O>(&self, template: ResourceTemplate, handler: F) -> Result<(), UriTemplateError>
    where
        F: Fn(Context, ResourceRequest) -> O + Send + Sync + 'static,
        O: Future<Output = Result<ReadResourceResult, HandlerError>> + Send + 'static,
    {
        self.core.change(|machine, _| {
            machine
                .registry()
                .add_resource_template(template, handled(arguments::of_resource, handler, |result| Ok(result.into())))
        })
    }

    /// Calls a legacy client. In the modern era a server has no calls: handlers ask for input by their context, which
    /// works in both. The call is cancelled on the wire when its future is dropped.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        let slot = Slot::of::<M>(None);
        let call = start_call(&self.core, M::NAME, params, &Default::default(), slot.clone())?;
        let mut in_flight = InFlight { core: Some(&self.core), call };
        let outcome = poll_fn(|context| slot.poll(context)).await;
        in_flight.core = None;
        outcome
    }
}

/// Cancels a call that is dropped before it is done.
struct InFlight<'a> {
    core: Option<&'a ServerCore>,
    call: CallId,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(core) = self.core {
            core.change(|machine, _| machine.cancel(self.call, "the caller does not wait any more"));
        }
    }
}

/// Fills a server and starts it.
pub struct ServerBuilder<R: Runtime> {
    settings: ServerSettings,
    runtime: PhantomData<R>,
}

impl<R: Runtime> ServerBuilder<R> {
    server_settings!([async] .await);

    /// Adds a template for resources.
    ///
    /// # Errors
    ///
    /// When its URI template cannot be matched.
    pub fn resource_template<F, O>(mut self, template: ResourceTemplate, handler: F) -> Result<Self, UriTemplateError>
    where
        F: Fn(Context, ResourceRequest) -> O + Send + Sync + 'static,
        O: Future<Output = Result<ReadResourceResult, HandlerError>> + Send + 'static,
    {
        self.settings
            .registry
            .add_resource_template(template, handled(arguments::of_resource, handler, |result| Ok(result.into())))?;
        Ok(self)
    }

    /// Starts to serve in the background.
    ///
    /// # Errors
    ///
    /// When the system has no entropy to give.
    pub fn start(self, endpoint: Endpoint) -> io::Result<Server<R>> {
        let (wakeup, wake) = Wakeup::new();
        let core =
            ServerCore::new(self.settings, Clients::OnStream(endpoint), WritePolicy::LeaveBatchesToDriver, wake)?;
        let driven = Arc::new(DrivenServer::<R> { core: core.clone(), runtime: PhantomData });
        R::spawn(drive::<R, _>(driven, wakeup));
        Ok(Server { core, runtime: PhantomData })
    }

    /// Starts to serve HTTP in the background, at `/mcp`. A server on the loopback interface is only reached by its
    /// names.
    ///
    /// # Errors
    ///
    /// When the system has no entropy to give.
    #[cfg(feature = "http")]
    pub fn start_http(self, listener: HttpListener) -> io::Result<Server<R>> {
        let clients = self.settings.clients_of(&listener);
        let (wakeup, wake) = Wakeup::new();
        let core = ServerCore::new(self.settings, clients, WritePolicy::LeaveBatchesToDriver, wake)?;
        let driven = Arc::new(DrivenServer::<R> { core: core.clone(), runtime: PhantomData });
        R::spawn(drive_listening::<R, _>(driven, wakeup, listener.held_by(&core.shutdown())));
        Ok(Server { core, runtime: PhantomData })
    }
}

macro_rules! registrations {
    ($(
        $(#[$doc:meta])* $name:ident,
        $(#[$add_doc:meta])* $add:ident($($entry:ident: $type:ty),+),
        $read:ident[$($chosen:ident)?]($given:ty) -> [$($made:ident: $bound:path)?] $result:ty = $reply:expr;
    )+) => {
        impl<R: Runtime> ServerBuilder<R> {
            $($(#[$doc])*
            #[must_use]
            pub fn $name<F, $($chosen,)? O, $($made)?>(mut self, $($entry: $type,)+ handler: F) -> Self
            where
                F: Fn(Context, $given) -> O + Send + Sync + 'static,
                $($chosen: DeserializeOwned + Send,)?
                O: Future<Output = Result<$result, HandlerError>> + Send + 'static,
                $($made: $bound,)?
            {
                let handler = handled(|context| arguments::$read(context), handler, $reply);
                self.settings.registry.$add($($entry,)+ handler);
                self
            })+
        }

        impl<R: Runtime> Server<R> {
            $($(#[$add_doc])*
            pub fn $add<F, $($chosen,)? O, $($made)?>(&self, $($entry: $type,)+ handler: F)
            where
                F: Fn(Context, $given) -> O + Send + Sync + 'static,
                $($chosen: DeserializeOwned + Send,)?
                O: Future<Output = Result<$result, HandlerError>> + Send + 'static,
                $($made: $bound,)?
            {
                let handler = handled(|context| arguments::$read(context), handler, $reply);
                self.core.change(|machine, _| machine.registry().$add($($entry,)+ handler));
            })+
        }
    };
}
for_each_registration!(registrations);

/// What is registered: it reads its arguments, runs the program's handler and makes a reply of the result.
fn handled<F, A, O, T>(
    read: impl Fn(&Context) -> Result<A, HandlerError> + Send + Sync + 'static,
    handler: F,
    reply: impl Fn(T) -> Result<Reply, HandlerError> + Clone + Send + Sync + 'static,
) -> Handler
where
    F: Fn(Context, A) -> O + Send + Sync + 'static,
    O: Future<Output = Result<T, HandlerError>> + Send + 'static,
{
    Arc::new(move |context| match read(&context) {
        Ok(arguments) => {
            let (outcome, reply) = (handler(context, arguments), reply.clone());
            Handled::Later(Box::pin(async move { reply(outcome.await?) }))
        }
        Err(error) => Handled::Now(Err(error)),
    })
}

struct DrivenServer<R> {
    core: Arc<ServerCore>,
    runtime: PhantomData<R>,
}

impl<R: Runtime> Turned for DrivenServer<R> {
    type Core = ServerCore;

    fn core(&self) -> &Arc<ServerCore> {
        &self.core
    }

    fn perform(&self, action: ServerAction) {
        let Some(Job { reply, handler, invocation, cancellation }) = action.perform(&self.core) else { return };
        let core = self.core.clone();
        let context = Context::new(invocation, cancellation, core.clone());
        let responding = Responding::new(core, reply);
        // The handler is called by the task, so that it cannot hold up or end the driver.
        R::spawn(async move {
            let outcome = handler(context.clone()).promised().await;
            responding.respond(context.outcome(outcome));
        });
    }
}
