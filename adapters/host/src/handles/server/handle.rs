//! What the handles and the builders of all adapters have in common: waiting is all that they do in their own ways, and how
//! handlers are written.

/// The parts of a server's builder that are the same for every adapter. They are no trait, which every program would have to
/// import, and whose methods are not listed with those of the type. What is given says whether its functions are `async`, and
/// how what they wait for is waited for.
macro_rules! server_settings {
    ([$($async:ident)?] $($await:tt)*) => {
        /// Tells clients how the server wants to be used, for the model to read.
        #[must_use]
        pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
            self.settings.config.instructions = Some(instructions.into());
            self
        }

        /// Tells `observer` of what happens on the connection: see [`Observer`](windlass::Observer).
        #[must_use]
        pub fn observer(mut self, observer: std::sync::Arc<impl windlass::Observer + 'static>) -> Self {
            self.settings.config.observer = observer.into();
            self
        }

        /// Hears of clients' notifications that mean nothing to the engine: of their roots, of an extension, of your own.
        /// Called where the connection is driven: do not block in it.
        #[must_use]
        pub fn on_notification(
            mut self,
            handler: impl Fn(&str, Option<windlass::Json>) + Send + Sync + 'static,
        ) -> Self {
            self.settings.on_notification = Some(std::sync::Arc::new(handler));
            self
        }

        /// How to behave towards clients over HTTP: the path, who may call, how long to wait. It is suitable for the
        /// address that is listened on unless this is called.
        #[cfg(feature = "http")]
        #[must_use]
        pub fn http(mut self, config: windlass::link::http::HttpServerConfig) -> Self {
            self.settings.http = Some(config);
            self
        }

        /// Only those may call, over HTTP, who have a token for it; whose one is, and whether it is good, the verifier says. It
        /// may be a function. It is run on threads of its own, several at a time, and may wait, but not for long. Handlers
        /// know who asks by [`Context::principal`]. A principal names the
        /// resource that its token is for: `Principal::audience`.
        #[cfg(feature = "auth")]
        #[must_use]
        pub fn protect(
            mut self,
            resource: windlass::auth::ProtectedResource,
            verifier: impl $crate::auth::Verifier + 'static,
        ) -> Self {
            self.settings.protection = Some((resource, std::sync::Arc::new(verifier)));
            self
        }

        /// Declares that the server has an extension, with its settings, to clients of 2025-11-25 and later. What belongs to
        /// it is served by [`method`](Self::method).
        ///
        /// # Errors
        ///
        /// When the identifier is not written as the specification asks, `com.example/name`, or the settings are no
        /// object.
        pub fn extension(
            mut self,
            identifier: &str,
            settings: impl Into<windlass::Json>,
        ) -> Result<Self, windlass::server::InvalidDeclaration> {
            self.settings.config.declare_extension(identifier, settings.into())?;
            Ok(self)
        }

        /// Declares an ability that is in no specification, with its settings.
        ///
        /// # Errors
        ///
        /// When the settings are no object.
        pub fn experimental(
            mut self,
            name: &str,
            settings: impl Into<windlass::Json>,
        ) -> Result<Self, windlass::server::InvalidDeclaration> {
            self.settings.config.declare_experimental(name, settings.into())?;
            Ok(self)
        }

        /// Changes anything else about the server: page size, caching, limits.
        #[must_use]
        pub fn configure(mut self, change: impl FnOnce(&mut windlass::server::ServerConfig)) -> Self {
            change(&mut self.settings.config);
            self
        }

        /// Serves a stream until its client is done, and waits for that. A handler that does not end is not waited for.
        ///
        /// # Errors
        ///
        /// When the connection ends in another way than by the client closing it.
        pub $($async)? fn serve(self, endpoint: $crate::Endpoint) -> Result<(), $crate::ServeError> {
            self.start(endpoint)?.wait_closed()$($await)*
        }

        /// Serves HTTP until the server is closed, and waits for that.
        ///
        /// # Errors
        ///
        /// When it ends in another way than by being closed.
        #[cfg(feature = "http")]
        pub $($async)? fn serve_http(self, listener: $crate::HttpListener) -> Result<(), $crate::ServeError> {
            self.start_http(listener)?.wait_closed()$($await)*
        }

        /// Serves standard input and output until the client is done, and waits for that. From then on nothing else in
        /// the process can write to standard output: what is printed goes to standard error.
        ///
        /// # Errors
        ///
        /// When they have been taken already, or the connection ends in another way than by the client closing it.
        pub $($async)? fn serve_stdio(self) -> Result<(), $crate::ServeError> {
            self.serve($crate::Endpoint::own_stdio()?)$($await)*
        }
    };
}
pub(crate) use server_settings;

/// The handle of a running server, the same for every adapter. No trait, as above.
macro_rules! server_handle {
    ($wait:ident, [$($async:ident)?] $($await:tt)*) => {
        /// Ends the connection, and returns when the last words are written.
        pub $($async)? fn close(&self) -> Result<(), $crate::ServeError> {
            self.core.close();
            self.wait_closed()$($await)*
        }

        /// Waits until the connection is over.
        pub $($async)? fn wait_closed(&self) -> Result<(), $crate::ServeError> {
            let mut closed = self.core.wait_closed();
            $crate::ServeError::from_close($wait(|context| closed.poll(context))$($await)*)
        }

        /// How many legacy sessions there are over HTTP.
        #[cfg(feature = "http")]
        pub fn sessions(&self) -> usize {
            match &self.core.shared().hub.machine {
                windlass::link::AnyServer::Stdio(_) => 0,
                windlass::link::AnyServer::Http(machine) => machine.sessions(),
            }
        }

        /// Removes a tool; false if there is none of that name. Clients are told.
        pub fn remove_tool(&self, name: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_tool(name))
        }

        /// Removes a resource; false if there is none at that URI. Clients are told.
        pub fn remove_resource(&self, uri: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_resource(uri))
        }

        /// Removes a template for resources; false if there is none. Clients are told.
        pub fn remove_resource_template(&self, uri_template: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_resource_template(uri_template))
        }

        /// Removes what completes an argument of a prompt; false if nothing does.
        pub fn remove_prompt_completion(&self, prompt: &str, argument: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_prompt_completion(prompt, argument))
        }

        /// Removes what completes a variable of a resource template; false if nothing does.
        pub fn remove_resource_completion(&self, uri_template: &str, variable: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_resource_completion(uri_template, variable))
        }

        /// Removes a prompt; false if there is none of that name. Clients are told.
        pub fn remove_prompt(&self, name: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_prompt(name))
        }

        /// Serves a method of the program's own no longer; false if it was not served.
        pub fn remove_method(&self, method: &str) -> bool {
            self.core.change(|machine, _| machine.registry().remove_method(method))
        }

        /// Tells legacy clients something, as far as their revisions have the notification; what belongs to a request
        /// is told by the handler's context, in both eras.
        ///
        /// # Errors
        ///
        /// When there is no such client, or the protocol does not allow it.
        pub fn notify<N: windlass::model::Notice>(&self, params: &N::Params) -> Result<(), windlass::SendError> {
            self.notify_raw(N::NAME, params)
        }

        /// The same for a notification that has no type here.
        ///
        /// # Errors
        ///
        /// The same, and when the parameters are no JSON object.
        pub fn notify_raw<P: serde::Serialize + ?Sized>(
            &self,
            method: &str,
            params: &P,
        ) -> Result<(), windlass::SendError> {
            self.core.change(|machine, _| machine.notify_raw(None, method, params))
        }

        /// Tells those who subscribed that a resource has changed.
        pub fn resource_updated(&self, uri: &str) {
            self.core.change(|machine, _| machine.resource_updated(uri));
        }

        /// Logs to a legacy client, if it wants messages of this severity. Modern clients get only what belongs to a
        /// request, by the handler's context.
        pub fn log(&self, level: windlass::model::LoggingLevel, message: impl Into<String>) {
            let message = windlass::model::LoggingMessageParams::text(level, message);
            self.core.change(|machine, _| machine.log(None, &message));
        }
    };
}
pub(crate) use server_handle;

/// Hands the list of what a server runs handlers for to another macro. For each: the builder's function, that of a running
/// server with what the registry wants to know, how the handler's arguments are read and what type they have, what it gives
/// and how that becomes a reply. In brackets are types that the program chooses.
macro_rules! for_each_registration {
    ($callback:ident) => {
        $callback! {
            /// Adds a tool. Arguments that do not fit `A` are told to the caller as a result marked as an error.
            tool,
            /// Adds a tool, or replaces the one of that name. Clients are told.
            add_tool(tool: Tool),
            of_tool[A](A) -> [T: Into<CallToolResult>] T = |result| Ok(Reply::Tool(result.into()));

            /// Adds a resource.
            resource,
            /// Adds a resource, or replaces the one at that URI. Clients are told.
            add_resource(resource: Resource),
            of_resource[](ResourceRequest) -> [] ReadResourceResult = |result| Ok(Reply::from(result));

            /// Adds a prompt.
            prompt,
            /// Adds a prompt, or replaces the one of that name. Clients are told.
            add_prompt(prompt: Prompt),
            of_prompt[](BTreeMap<String, String>) -> [] GetPromptResult = |result| Ok(Reply::from(result));

            /// Completes an argument of a prompt.
            prompt_completion,
            /// Completes an argument of a prompt from now on.
            add_prompt_completion(prompt: &str, argument: &str),
            of_completion[](CompleteParams) -> [] CompleteResult = |result| Ok(Reply::from(result));

            /// Completes a variable of a resource template.
            resource_completion,
            /// Completes a variable of a resource template from now on.
            add_resource_completion(uri_template: &str, variable: &str),
            of_completion[](CompleteParams) -> [] CompleteResult = |result| Ok(Reply::from(result));

            /// Serves a method that the protocol does not have, in both eras. Parameters that do not fit `P` are refused;
            /// what is answered has to be a JSON object. `_meta` is not among the parameters; [`Context::request`] has it.
            method,
            /// Serves a method that the protocol does not have from now on, in both eras.
            add_method(method: &str),
            of_method[P](P) -> [T: Serialize] T = |result| Ok(Reply::Method(Json::of(&result)?));
        }
    };
}
pub(crate) use for_each_registration;
