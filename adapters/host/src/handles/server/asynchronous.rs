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

use crate::drive::asynchronous::driver::drive;
#[cfg(feature = "http")]
use crate::drive::asynchronous::driver::drive_listening;
use crate::drive::asynchronous::{Runtime, Wakeup};
use crate::drive::endpoint::Endpoint;
use crate::drive::shared::{Driven, Turn, Turned, WritePolicy};
use crate::handles::completion::Slot;
use crate::handles::server::context::{Context, ResourceRequest, arguments};
use crate::handles::server::handler::{Handled, Handler};
use crate::handles::server::{
    Clients, Responding, ServerAction, ServerCore, ServerSettings, server_handle, server_settings, start_call,
};
#[cfg(feature = "http")]
use crate::net::HttpListener;
use crate::{Error, ServeError};

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

    server_handle!();

    /// Adds a tool, or replaces the one of that name. Clients are told.
    pub fn add_tool<F, A, O, T>(&self, tool: Tool, handler: F)
    where
        F: Fn(Context, A) -> O + Send + Sync + 'static,
        A: DeserializeOwned + Send,
        O: Future<Output = Result<T, HandlerError>> + Send + 'static,
        T: Into<CallToolResult>,
    {
        self.core.change(|machine, _| machine.registry().add_tool(tool, tool_handler(handler)));
    }

    /// Adds a resource, or replaces the one at that URI. Clients are told.
    pub fn add_resource<F, O>(&self, resource: Resource, handler: F)
    where
        F: Fn(Context, ResourceRequest) -> O + Send + Sync + 'static,
        O: Future<Output = Result<ReadResourceResult, HandlerError>> + Send + 'static,
    {
        self.core.change(|machine, _| machine.registry().add_resource(resource, resource_handler(handler)));
    }

    /// Adds a prompt, or replaces the one of that name. Clients are told.
    pub fn add_prompt<F, O>(&self, prompt: Prompt, handler: F)
    where
        F: Fn(Context, BTreeMap<String, String>) -> O + Send + Sync + 'static,
        O: Future<Output = Result<GetPromptResult, HandlerError>> + Send + 'static,
    {
        self.core.change(|machine, _| machine.registry().add_prompt(prompt, prompt_handler(handler)));
    }

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
        self.core.change(|machine, _| machine.registry().add_resource_template(template, resource_handler(handler)))
    }

    /// Completes an argument of a prompt from now on.
    pub fn add_prompt_completion<F, O>(&self, prompt: &str, argument: &str, handler: F)
    where
        F: Fn(Context, CompleteParams) -> O + Send + Sync + 'static,
        O: Future<Output = Result<CompleteResult, HandlerError>> + Send + 'static,
    {
        let handler = completion_handler(handler);
        self.core.change(|machine, _| machine.registry().add_prompt_completion(prompt, argument, handler));
    }

    /// Completes a variable of a resource template from now on.
    pub fn add_resource_completion<F, O>(&self, uri_template: &str, variable: &str, handler: F)
    where
        F: Fn(Context, CompleteParams) -> O + Send + Sync + 'static,
        O: Future<Output = Result<CompleteResult, HandlerError>> + Send + 'static,
    {
        let handler = completion_handler(handler);
        self.core.change(|machine, _| machine.registry().add_resource_completion(uri_template, variable, handler));
    }

    /// Serves a method that the protocol does not have from now on, in both eras.
    pub fn add_method<F, P, O, T>(&self, method: &str, handler: F)
    where
        F: Fn(Context, P) -> O + Send + Sync + 'static,
        P: DeserializeOwned + Send,
        O: Future<Output = Result<T, HandlerError>> + Send + 'static,
        T: Serialize,
    {
        self.core.change(|machine, _| machine.registry().add_method(method, method_handler(handler)));
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

    /// Ends the connection, and returns when the last words are written.
    pub async fn close(&self) -> Result<(), ServeError> {
        self.core.close();
        self.wait_closed().await
    }

    /// Waits until the connection is over.
    pub async fn wait_closed(&self) -> Result<(), ServeError> {
        let mut closed = self.core.wait_closed();
        ServeError::from_close(poll_fn(|context| closed.poll(context)).await)
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
    server_settings!();

    /// Adds a tool. Arguments that do not fit `A` are told to the caller as a result marked as an error.
    #[must_use]
    pub fn tool<F, A, O, T>(mut self, tool: Tool, handler: F) -> Self
    where
        F: Fn(Context, A) -> O + Send + Sync + 'static,
        A: DeserializeOwned + Send,
        O: Future<Output = Result<T, HandlerError>> + Send + 'static,
        T: Into<CallToolResult>,
    {
        self.settings.registry.add_tool(tool, tool_handler(handler));
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<F, O>(mut self, resource: Resource, handler: F) -> Self
    where
        F: Fn(Context, ResourceRequest) -> O + Send + Sync + 'static,
        O: Future<Output = Result<ReadResourceResult, HandlerError>> + Send + 'static,
    {
        self.settings.registry.add_resource(resource, resource_handler(handler));
        self
    }

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
        self.settings.registry.add_resource_template(template, resource_handler(handler))?;
        Ok(self)
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt<F, O>(mut self, prompt: Prompt, handler: F) -> Self
    where
        F: Fn(Context, BTreeMap<String, String>) -> O + Send + Sync + 'static,
        O: Future<Output = Result<GetPromptResult, HandlerError>> + Send + 'static,
    {
        self.settings.registry.add_prompt(prompt, prompt_handler(handler));
        self
    }

    /// Completes an argument of a prompt.
    #[must_use]
    pub fn prompt_completion<F, O>(mut self, prompt: &str, argument: &str, handler: F) -> Self
    where
        F: Fn(Context, CompleteParams) -> O + Send + Sync + 'static,
        O: Future<Output = Result<CompleteResult, HandlerError>> + Send + 'static,
    {
        self.settings.registry.add_prompt_completion(prompt, argument, completion_handler(handler));
        self
    }

    /// Completes a variable of a resource template.
    #[must_use]
    pub fn resource_completion<F, O>(mut self, uri_template: &str, variable: &str, handler: F) -> Self
    where
        F: Fn(Context, CompleteParams) -> O + Send + Sync + 'static,
        O: Future<Output = Result<CompleteResult, HandlerError>> + Send + 'static,
    {
        self.settings.registry.add_resource_completion(uri_template, variable, completion_handler(handler));
        self
    }

    /// Serves a method that the protocol does not have, in both eras. Parameters that do not fit `P` are refused; what is
    /// answered has to be a JSON object. `_meta` is not among the parameters; [`Context::request`] has it.
    #[must_use]
    pub fn method<F, P, O, T>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(Context, P) -> O + Send + Sync + 'static,
        P: DeserializeOwned + Send,
        O: Future<Output = Result<T, HandlerError>> + Send + 'static,
        T: Serialize,
    {
        self.settings.registry.add_method(method, method_handler(handler));
        self
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

    /// Serves a stream until its client is done.
    ///
    /// # Errors
    ///
    /// When the connection ends in another way than by the client closing it.
    pub async fn serve(self, endpoint: Endpoint) -> Result<(), ServeError> {
        self.start(endpoint)?.wait_closed().await
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

    /// Serves HTTP until the server is closed.
    ///
    /// # Errors
    ///
    /// When it ends in another way than by being closed.
    #[cfg(feature = "http")]
    pub async fn serve_http(self, listener: HttpListener) -> Result<(), ServeError> {
        self.start_http(listener)?.wait_closed().await
    }

    /// Serves standard input and output until the client is done. From then on nothing else in the process can write
    /// to standard output: what is printed goes to standard error.
    ///
    /// # Errors
    ///
    /// When they have been taken already, or the connection ends in another way than by the client closing it.
    pub async fn serve_stdio(self) -> Result<(), ServeError> {
        self.serve(Endpoint::own_stdio()?).await
    }
}

fn tool_handler<F, A, O, T>(handler: F) -> Handler
where
    F: Fn(Context, A) -> O + Send + Sync + 'static,
    A: DeserializeOwned + Send,
    O: Future<Output = Result<T, HandlerError>> + Send + 'static,
    T: Into<CallToolResult>,
{
    Arc::new(move |context| match arguments::of_tool(&context) {
        Ok(arguments) => {
            let outcome = handler(context, arguments);
            Handled::Later(Box::pin(async move { Ok(Reply::Tool(outcome.await?.into())) }))
        }
        Err(error) => Handled::Now(Err(error)),
    })
}

fn method_handler<F, P, O, T>(handler: F) -> Handler
where
    F: Fn(Context, P) -> O + Send + Sync + 'static,
    P: DeserializeOwned + Send,
    O: Future<Output = Result<T, HandlerError>> + Send + 'static,
    T: Serialize,
{
    Arc::new(move |context| match arguments::of_method(&context) {
        Ok(params) => {
            let outcome = handler(context, params);
            Handled::Later(Box::pin(async move { Ok(Reply::Method(Json::of(&outcome.await?)?)) }))
        }
        Err(error) => Handled::Now(Err(error)),
    })
}

/// One for each kind. No function does: what a kind is invoked with, and what it gives, have types of their own.
macro_rules! handlers {
    ($($function:ident($arguments:ident: $argument:ty) -> $result:ty;)+) => {
        $(fn $function<F, O>(handler: F) -> Handler
        where
            F: Fn(Context, $argument) -> O + Send + Sync + 'static,
            O: Future<Output = Result<$result, HandlerError>> + Send + 'static,
        {
            Arc::new(move |context| match arguments::$arguments(&context) {
                Ok(arguments) => {
                    let outcome = handler(context, arguments);
                    Handled::Later(Box::pin(async move { outcome.await.map(Reply::from) }))
                }
                Err(error) => Handled::Now(Err(error)),
            })
        })+
    };
}

handlers! {
    resource_handler(of_resource: ResourceRequest) -> ReadResourceResult;
    prompt_handler(of_prompt: BTreeMap<String, String>) -> GetPromptResult;
    completion_handler(of_completion: CompleteParams) -> CompleteResult;
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

    fn turn(self: &Arc<Self>) -> Turn {
        let mut actions = Vec::new();
        let interest = self.core.turn(&mut actions);
        let acted = actions.len();
        for action in actions {
            match action {
                ServerAction::Finish(token) => token.finish(),
                ServerAction::Cancel(cancellation) => cancellation.cancel(),
                ServerAction::Invoke(reply, handler, invocation, cancellation) => {
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
        }
        Turn { interest, acted }
    }
}
