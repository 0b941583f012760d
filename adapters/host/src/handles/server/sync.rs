//! Servers.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass::Json;
use windlass::model::*;
use windlass::server::{HandlerError, Reply};

use super::worker_pool::WorkerPool;
use crate::Error;
use crate::drive::endpoint::Endpoint;
use crate::drive::shared::{Driven, WritePolicy};
use crate::drive::sync::Drive;
use crate::drive::sync::attend::Post;
use crate::drive::sync::thread_pool::HANDLER_THREADS;
use crate::handles::completion::Slot;
use crate::handles::server::context::{Context, ResourceRequest, arguments};
use crate::handles::server::handler::{Handled, Handler};
use crate::handles::server::{
    Clients, ServerCore, ServerSettings, for_each_registration, server_handle, server_settings, start_call,
};
#[cfg(feature = "http")]
use crate::net::HttpListener;
use crate::wait::thread_waker::park_until;

/// A running server. Clones are the same server.
pub struct Server<D: Drive> {
    core: Arc<ServerCore>,
    drive: std::marker::PhantomData<D>,
}

impl<D: Drive> Clone for Server<D> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), drive: std::marker::PhantomData }
    }
}

impl<D: Drive> Server<D> {
    /// A server that introduces itself by this name and version, to be filled and started.
    pub fn builder(name: &str, version: &str) -> ServerBuilder<D> {
        ServerBuilder {
            settings: ServerSettings::new(name, version),
            handler_threads: HANDLER_THREADS,
            drive: std::marker::PhantomData,
        }
    }

    server_handle!(park_until, []);

    /// Adds a template for resources, or replaces the one with that URI template. Clients are told.
    ///
    /// # Errors
    ///
    /// When its URI template cannot be matched.
    pub fn add_resource_template<F>(&self, template: ResourceTemplate, handler: F) -> Result<(), UriTemplateError>
    where
        F: Fn(Context, ResourceRequest) -> Result<ReadResourceResult, HandlerError> + Send + Sync + 'static,
    {
        self.core.change(|machine, _| {
            machine
                .registry()
                .add_resource_template(template, handled(arguments::of_resource, handler, |result| Ok(result.into())))
        })
    }

    /// Calls a legacy client. In the modern era a server has no calls: handlers ask for input by their context, which
    /// works in both.
    pub fn call<M: Method>(&self, params: &M::Params) -> Result<M::Output, Error>
    where
        M::Output: Send + 'static,
    {
        let slot = Slot::of::<M>(None);
        start_call(&self.core, M::NAME, params, &Default::default(), slot.clone())?;
        park_until(|context| slot.poll(context))
    }
}

/// Fills a server and starts it. Handlers that take long run on threads of their own, several at once; short ones run
/// where requests are read.
pub struct ServerBuilder<D: Drive> {
    settings: ServerSettings,
    handler_threads: usize,
    drive: std::marker::PhantomData<D>,
}

impl<D: Drive> ServerBuilder<D> {
    server_settings!([]);

    /// How many handlers may run at the same time, each on a thread; the others wait until one is done, in order. Those
    /// that have been quick so far do not wait for slow ones: beyond the limit the thread that reads runs them itself, one
    /// at a time. The default is 512, the least is 1. Handlers that wait for other handlers need a thread each.
    ///
    /// Handlers that have given answers of more than a megabyte are begun only while those that run have less than 32 MB of
    /// such answers in their hands, or none: memory for what many ask for at once is not to be had so often.
    #[must_use]
    pub fn handler_threads(mut self, most: usize) -> Self {
        self.handler_threads = most.max(1);
        self
    }

    /// Adds a template for resources.
    ///
    /// # Errors
    ///
    /// When its URI template cannot be matched.
    pub fn resource_template<F>(mut self, template: ResourceTemplate, handler: F) -> Result<Self, UriTemplateError>
    where
        F: Fn(Context, ResourceRequest) -> Result<ReadResourceResult, HandlerError> + Send + Sync + 'static,
    {
        self.settings
            .registry
            .add_resource_template(template, handled(arguments::of_resource, handler, |result| Ok(result.into())))?;
        Ok(self)
    }

    /// Starts to serve on a thread of its own.
    ///
    /// # Errors
    ///
    /// When the system has no entropy, no descriptor or no thread to give.
    pub fn start(self, endpoint: Endpoint) -> io::Result<Server<D>> {
        self.launch(Clients::OnStream(endpoint), Post::new)
    }

    fn launch(
        self,
        clients: Clients,
        post: impl FnOnce(D, Arc<ServerCore>) -> Post<D, ServerCore>,
    ) -> io::Result<Server<D>> {
        let drive = D::new()?;
        let wake = Arc::new(drive.waker());
        let core = ServerCore::new(self.settings, clients, WritePolicy::AlwaysWrite, wake)?;
        let workers = WorkerPool::new(post(drive, core.clone()), self.handler_threads);
        thread::Builder::new().name("windlass-server".into()).spawn(move || workers.run())?;
        Ok(Server { core, drive: std::marker::PhantomData })
    }

    /// Starts to serve HTTP on a thread of its own, at `/mcp`. A server on the loopback interface is only reached by
    /// its names.
    ///
    /// # Errors
    ///
    /// When the system has no entropy, no descriptor or no thread to give.
    #[cfg(feature = "http")]
    pub fn start_http(self, listener: HttpListener) -> io::Result<Server<D>> {
        let clients = self.settings.clients_of(&listener);
        self.launch(clients, |drive, core| {
            let listener = listener.held_by(&core.shutdown());
            Post::listening(drive, core, listener)
        })
    }
}

macro_rules! registrations {
    ($(
        $(#[$doc:meta])* $name:ident,
        $(#[$add_doc:meta])* $add:ident($($entry:ident: $type:ty),+),
        $read:ident[$($chosen:ident)?]($given:ty) -> [$($made:ident: $bound:path)?] $result:ty = $reply:expr;
    )+) => {
        impl<D: Drive> ServerBuilder<D> {
            $($(#[$doc])*
            #[must_use]
            pub fn $name<F, $($chosen,)? $($made)?>(mut self, $($entry: $type,)+ handler: F) -> Self
            where
                F: Fn(Context, $given) -> Result<$result, HandlerError> + Send + Sync + 'static,
                $($chosen: DeserializeOwned,)?
                $($made: $bound,)?
            {
                let handler = handled(|context| arguments::$read(context), handler, $reply);
                self.settings.registry.$add($($entry,)+ handler);
                self
            })+
        }

        impl<D: Drive> Server<D> {
            $($(#[$add_doc])*
            pub fn $add<F, $($chosen,)? $($made)?>(&self, $($entry: $type,)+ handler: F)
            where
                F: Fn(Context, $given) -> Result<$result, HandlerError> + Send + Sync + 'static,
                $($chosen: DeserializeOwned,)?
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
fn handled<F, A, T>(
    read: impl Fn(&Context) -> Result<A, HandlerError> + Send + Sync + 'static,
    handler: F,
    reply: impl Fn(T) -> Result<Reply, HandlerError> + Send + Sync + 'static,
) -> Handler
where
    F: Fn(Context, A) -> Result<T, HandlerError> + Send + Sync + 'static,
{
    Arc::new(move |context| {
        let outcome = read(&context).and_then(|arguments| handler(context, arguments));
        Handled::Now(outcome.and_then(&reply))
    })
}
