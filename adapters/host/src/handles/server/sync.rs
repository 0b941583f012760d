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
use crate::drive::endpoint::Endpoint;
use crate::drive::shared::{Driven, WritePolicy};
use crate::drive::sync::Drive;
use crate::drive::sync::attend::Post;
use crate::drive::sync::thread_pool::HANDLER_THREADS;
use crate::handles::completion::Slot;
use crate::handles::server::context::{Context, ResourceRequest, arguments};
use crate::handles::server::handler::{Handled, Handler};
use crate::handles::server::{Clients, ServerCore, ServerSettings, server_handle, server_settings, start_call};
#[cfg(feature = "http")]
use crate::net::HttpListener;
use crate::wait::thread_waker::park_until;
use crate::{Error, ServeError};

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

    server_handle!();

    /// Adds a tool, or replaces the one of that name. Clients are told.
    pub fn add_tool<F, A, T>(&self, tool: Tool, handler: F)
    where
        F: Fn(Context, A) -> Result<T, HandlerError> + Send + Sync + 'static,
        A: DeserializeOwned,
        T: Into<CallToolResult>,
    {
        self.core.change(|machine, _| machine.registry().add_tool(tool, tool_handler(handler)));
    }

    /// Adds a resource, or replaces the one at that URI. Clients are told.
    pub fn add_resource<F>(&self, resource: Resource, handler: F)
    where
        F: Fn(Context, ResourceRequest) -> Result<ReadResourceResult, HandlerError> + Send + Sync + 'static,
    {
        self.core.change(|machine, _| machine.registry().add_resource(resource, resource_handler(handler)));
    }

    /// Adds a prompt, or replaces the one of that name. Clients are told.
    pub fn add_prompt<F>(&self, prompt: Prompt, handler: F)
    where
        F: Fn(Context, BTreeMap<String, String>) -> Result<GetPromptResult, HandlerError> + Send + Sync + 'static,
    {
        self.core.change(|machine, _| machine.registry().add_prompt(prompt, prompt_handler(handler)));
    }

    /// Adds a template for resources, or replaces the one with that URI template. Clients are told.
    ///
    /// # Errors
    ///
    /// When its URI template cannot be matched.
    pub fn add_resource_template<F>(&self, template: ResourceTemplate, handler: F) -> Result<(), UriTemplateError>
    where
        F: Fn(Context, ResourceRequest) -> Result<ReadResourceResult, HandlerError> + Send + Sync + 'static,
    {
        self.core.change(|machine, _| machine.registry().add_resource_template(template, resource_handler(handler)))
    }

    /// Completes an argument of a prompt from now on.
    pub fn add_prompt_completion<F>(&self, prompt: &str, argument: &str, handler: F)
    where
        F: Fn(Context, CompleteParams) -> Result<CompleteResult, HandlerError> + Send + Sync + 'static,
    {
        let handler = completion_handler(handler);
        self.core.change(|machine, _| machine.registry().add_prompt_completion(prompt, argument, handler));
    }

    /// Completes a variable of a resource template from now on.
    pub fn add_resource_completion<F>(&self, uri_template: &str, variable: &str, handler: F)
    where
        F: Fn(Context, CompleteParams) -> Result<CompleteResult, HandlerError> + Send + Sync + 'static,
    {
        let handler = completion_handler(handler);
        self.core.change(|machine, _| machine.registry().add_resource_completion(uri_template, variable, handler));
    }

    /// Serves a method that the protocol does not have from now on, in both eras.
    pub fn add_method<F, P, T>(&self, method: &str, handler: F)
    where
        F: Fn(Context, P) -> Result<T, HandlerError> + Send + Sync + 'static,
        P: DeserializeOwned,
        T: Serialize,
    {
        self.core.change(|machine, _| machine.registry().add_method(method, method_handler(handler)));
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

    /// Ends the connection, and returns when the last words are written.
    pub fn close(&self) -> Result<(), ServeError> {
        self.core.close();
        self.wait_closed()
    }

    /// Waits until the connection is over.
    pub fn wait_closed(&self) -> Result<(), ServeError> {
        let mut closed = self.core.wait_closed();
        ServeError::from_close(park_until(|context| closed.poll(context)))
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
    server_settings!();

    /// How many handlers may run at the same time, each on a thread; the others wait until one is done, in order. The
    /// default is 512, the least is 1. Handlers that wait for other handlers need a thread each.
    #[must_use]
    pub fn handler_threads(mut self, most: usize) -> Self {
        self.handler_threads = most.max(1);
        self
    }

    /// Adds a tool. Arguments that do not fit `A` are told to the caller as a result marked as an error.
    #[must_use]
    pub fn tool<F, A, T>(mut self, tool: Tool, handler: F) -> Self
    where
        F: Fn(Context, A) -> Result<T, HandlerError> + Send + Sync + 'static,
        A: DeserializeOwned,
        T: Into<CallToolResult>,
    {
        self.settings.registry.add_tool(tool, tool_handler(handler));
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<F>(mut self, resource: Resource, handler: F) -> Self
    where
        F: Fn(Context, ResourceRequest) -> Result<ReadResourceResult, HandlerError> + Send + Sync + 'static,
    {
        self.settings.registry.add_resource(resource, resource_handler(handler));
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
        self.settings.registry.add_resource_template(template, resource_handler(handler))?;
        Ok(self)
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt<F>(mut self, prompt: Prompt, handler: F) -> Self
    where
        F: Fn(Context, BTreeMap<String, String>) -> Result<GetPromptResult, HandlerError> + Send + Sync + 'static,
    {
        self.settings.registry.add_prompt(prompt, prompt_handler(handler));
        self
    }

    /// Completes an argument of a prompt.
    #[must_use]
    pub fn prompt_completion<F>(mut self, prompt: &str, argument: &str, handler: F) -> Self
    where
        F: Fn(Context, CompleteParams) -> Result<CompleteResult, HandlerError> + Send + Sync + 'static,
    {
        self.settings.registry.add_prompt_completion(prompt, argument, completion_handler(handler));
        self
    }

    /// Completes a variable of a resource template.
    #[must_use]
    pub fn resource_completion<F>(mut self, uri_template: &str, variable: &str, handler: F) -> Self
    where
        F: Fn(Context, CompleteParams) -> Result<CompleteResult, HandlerError> + Send + Sync + 'static,
    {
        self.settings.registry.add_resource_completion(uri_template, variable, completion_handler(handler));
        self
    }

    /// Serves a method that the protocol does not have, in both eras. Parameters that do not fit `P` are refused; what is
    /// answered has to be a JSON object. `_meta` is not among the parameters; [`Context::request`] has it.
    #[must_use]
    pub fn method<F, P, T>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(Context, P) -> Result<T, HandlerError> + Send + Sync + 'static,
        P: DeserializeOwned,
        T: Serialize,
    {
        self.settings.registry.add_method(method, method_handler(handler));
        self
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

    /// Serves a stream until its client is done, and waits for that. A handler that does not end is not waited for.
    ///
    /// # Errors
    ///
    /// When the connection ends in another way than by the client closing it.
    pub fn serve(self, endpoint: Endpoint) -> Result<(), ServeError> {
        self.start(endpoint)?.wait_closed()
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

    /// Serves HTTP until the server is closed, and waits for that.
    ///
    /// # Errors
    ///
    /// When it ends in another way than by being closed.
    #[cfg(feature = "http")]
    pub fn serve_http(self, listener: HttpListener) -> Result<(), ServeError> {
        self.start_http(listener)?.wait_closed()
    }

    /// Serves standard input and output until the client is done, and waits for that. From then on nothing else in the
    /// process can write to standard output: what is printed goes to standard error.
    ///
    /// # Errors
    ///
    /// When they have been taken already, or the connection ends in another way than by the client closing it.
    pub fn serve_stdio(self) -> Result<(), ServeError> {
        self.serve(Endpoint::own_stdio()?)
    }
}

fn tool_handler<F, A, T>(handler: F) -> Handler
where
    F: Fn(Context, A) -> Result<T, HandlerError> + Send + Sync + 'static,
    A: DeserializeOwned,
    T: Into<CallToolResult>,
{
    Arc::new(move |context| {
        let arguments = arguments::of_tool(&context);
        let outcome = arguments.and_then(|arguments| handler(context, arguments));
        Handled::Now(outcome.map(|result| Reply::Tool(result.into())))
    })
}

fn method_handler<F, P, T>(handler: F) -> Handler
where
    F: Fn(Context, P) -> Result<T, HandlerError> + Send + Sync + 'static,
    P: DeserializeOwned,
    T: Serialize,
{
    Arc::new(move |context| {
        let params = arguments::of_method(&context);
        let outcome = params.and_then(|params| handler(context, params));
        Handled::Now(outcome.and_then(|result| Ok(Reply::Method(Json::of(&result)?))))
    })
}

/// One for each kind. No function does: what a kind is invoked with, and what it gives, have types of their own.
macro_rules! handlers {
    ($($function:ident($arguments:ident: $argument:ty) -> $result:ty;)+) => {
        $(fn $function<F>(handler: F) -> Handler
        where
            F: Fn(Context, $argument) -> Result<$result, HandlerError> + Send + Sync + 'static,
        {
            Arc::new(move |context| {
                let arguments = arguments::$arguments(&context);
                Handled::Now(arguments.and_then(|arguments| handler(context, arguments)).map(Reply::from))
            })
        })+
    };
}

handlers! {
    resource_handler(of_resource: ResourceRequest) -> ReadResourceResult;
    prompt_handler(of_prompt: BTreeMap<String, String>) -> GetPromptResult;
    completion_handler(of_completion: CompleteParams) -> CompleteResult;
}
