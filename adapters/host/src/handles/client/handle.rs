//! What the handles and the builders of all adapters have in common: waiting is all that they do in their own ways.

use std::sync::{Arc, Weak};

use windlass::SendError;
use windlass::client::{CallId, CallOptions};
use windlass::model::ProgressParams;

use crate::handles::canceller::{Cancellable, Cancels};
use crate::handles::completion::ProgressHandler;
use crate::{Canceller, Error};

/// How a handle makes its calls: the options, and where progress goes.
#[derive(Clone, Default)]
pub(crate) struct CallStyle {
    pub(crate) options: CallOptions,
    pub(crate) on_progress: Option<ProgressHandler>,
    pub(crate) canceller: Option<Canceller>,
}

impl CallStyle {
    pub(crate) fn on_progress(&mut self, handler: impl Fn(ProgressParams) + Send + Sync + 'static) {
        self.options.progress = true;
        self.on_progress = Some(Arc::new(handler));
    }

    /// Starts a call, which its canceller knows of for as long as what it gives is kept.
    pub(crate) fn start<C: Cancels + 'static>(
        &self,
        client: &Arc<C>,
        start: impl FnOnce() -> Result<CallId, SendError>,
    ) -> Result<InFlight<C>, Error> {
        let (call, cancellable) = match &self.canceller {
            None => (start()?, None),
            Some(canceller) => {
                let client: Weak<C> = Arc::downgrade(client);
                let (call, cancellable) = canceller.start(client, start)?;
                (call, Some(cancellable))
            }
        };
        Ok(InFlight { client: client.clone(), call, done: false, _cancellable: cancellable })
    }
}

/// Cancels a call that is dropped before it is done.
pub(crate) struct InFlight<C: Cancels> {
    pub(crate) client: Arc<C>,
    call: CallId,
    done: bool,
    _cancellable: Option<Cancellable>,
}

impl<C: Cancels> InFlight<C> {
    pub(crate) fn done(mut self) {
        self.done = true;
    }
}

impl<C: Cancels> Drop for InFlight<C> {
    fn drop(&mut self) {
        if !self.done {
            self.client.cancel(self.call, "the caller does not wait any more");
        }
    }
}

/// The parts of a builder that are the same for every adapter. They are no trait, which every program would have to import,
/// and whose methods are not listed with those of the type. What is given says whether its functions are `async`, and how what
/// they wait for is waited for.
macro_rules! client_settings {
    ($client:ty, [$($async:ident)?] $($await:tt)*) => {
        /// Connects to a [`Command`](crate::Command) to start, an `HttpTarget` with a URL, or an [`Endpoint`](crate::Endpoint).
        ///
        /// # Errors
        ///
        /// When the server cannot be started, or there is no common protocol version.
        pub $($async)? fn connect(self, to: impl Into<$crate::Connector>) -> Result<$client, $crate::ConnectError> {
            // The guard exists from here on, so that whoever gives up ends the attempt.
            let guard = self.begin(to.into())?;
            let core = guard.core.clone();
            let mut ready = core.wait_ready();
            if let Err(reason) = guard.wait(|context| ready.poll(context))$($await)* {
                // A program may exit on this error, and then nobody would be there to end the child.
                let mut closed = core.wait_closed();
                guard.wait(|context| closed.poll(context))$($await)*;
                return Err(core.not_connected(reason));
            }
            Ok(<$client>::of(guard))
        }

        /// Makes one call over HTTP to a server that is known to speak `version`: one request, one answer, no handshake
        /// before it and no session. Modern servers are made for this; a legacy one can be called so if it keeps no
        /// sessions.
        ///
        /// # Errors
        ///
        /// When the server cannot be reached, or does not answer as it should.
        #[cfg(feature = "http")]
        pub $($async)? fn call_once<M: Method>(
            self,
            to: $crate::HttpTarget,
            version: ProtocolVersion,
            params: &M::Params,
        ) -> Result<M::Output, $crate::Error>
        where
            M::Output: Send + 'static,
        {
            let slot = Slot::of::<M>(None);
            // Dropped with the future, it gives the call up.
            let guard = self.begin_call(to, version, (M::NAME, params), slot.clone())?;
            guard.wait(|context| slot.poll(context))$($await)*
        }

        /// How long a call waits while nothing is heard of it: progress restarts it. Zero sets no such limit, and the
        /// total one holds. The default is 30 seconds.
        #[must_use]
        pub fn idle_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.settings.config.idle_timeout = timeout;
            self
        }

        /// How long a call may take in all, whatever progress says and however long the idle time-out is. Zero sets no
        /// such limit. The default is 10 minutes.
        #[must_use]
        pub fn total_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.settings.config.total_timeout = timeout;
            self
        }

        /// Which era of the protocol to speak. By default the client finds out.
        #[must_use]
        pub fn negotiation(mut self, negotiation: windlass::client::Negotiation) -> Self {
            self.settings.config.negotiation = negotiation;
            self
        }

        /// Tells `observer` of what happens on the connection: see [`Observer`](windlass::Observer).
        #[must_use]
        pub fn observer(mut self, observer: std::sync::Arc<impl windlass::Observer + 'static>) -> Self {
            self.settings.config.observer = observer.into();
            self
        }

        /// Changes anything else about the client: timeouts, keep-alive, limits.
        #[must_use]
        pub fn configure(mut self, change: impl FnOnce(&mut windlass::client::ClientConfig)) -> Self {
            change(&mut self.settings.config);
            self
        }

        /// Has the connection closed by `closer`, too, from any thread and also while it is being made.
        #[must_use]
        pub fn closer(mut self, closer: &$crate::Closer) -> Self {
            self.settings.closer = closer.clone();
            self
        }

        /// How long a child is given to exit at each step of its shutdown.
        #[must_use]
        pub fn grace(mut self, grace: $crate::Grace) -> Self {
            self.settings.grace = grace;
            self
        }

        /// Hears of the server's notifications that belong to no subscription. Called where the connection is driven:
        /// do not block in it.
        #[must_use]
        pub fn on_notification(
            mut self,
            handler: impl Fn(windlass::client::ServerNotification) + Send + Sync + 'static,
        ) -> Self {
            self.settings.callbacks.on_notification = Some(std::sync::Arc::new(handler));
            self
        }

        /// Says which trace a call belongs to, whenever one begins: what the program's tracing has for the current thread
        /// or task. Calls whose options name a trace are left alone.
        #[must_use]
        pub fn trace_context(
            mut self,
            current: impl Fn() -> Option<windlass::model::TraceContext> + Send + Sync + 'static,
        ) -> Self {
            self.settings.callbacks.trace = Some(std::sync::Arc::new(current));
            self
        }

        /// Finds other credentials when a server over HTTP wants them. Called where the connection is driven: do not
        /// block in it, but hand the [`Challenge`](crate::Challenge) on to whoever finds them out.
        #[cfg(feature = "http")]
        #[must_use]
        pub fn on_challenge(mut self, handler: impl Fn($crate::Challenge) + Send + Sync + 'static) -> Self {
            self.settings.callbacks.on_challenge = Some(std::sync::Arc::new(handler));
            self
        }

        /// Sends users to log in, when a server over HTTP wants that and the target says how clients are authorized. Called
        /// where the connection is driven: do not block in it, but hand the [`Login`](crate::Login) on to whoever waits
        /// for the user. Without it a login that is needed is an error, from which a later connection can go on.
        #[cfg(feature = "auth")]
        #[must_use]
        pub fn on_login(mut self, handler: impl Fn($crate::Login) + Send + Sync + 'static) -> Self {
            self.settings.callbacks.on_login = Some(std::sync::Arc::new(handler));
            self
        }

        /// Hears of what went wrong without anybody waiting for it, for the log: lines of the server's that are no
        /// messages, tools that were left out, notifications that could not be delivered.
        #[must_use]
        pub fn on_malformed(mut self, handler: impl Fn(String) + Send + Sync + 'static) -> Self {
            self.settings.callbacks.on_malformed = Some(std::sync::Arc::new(handler));
            self
        }

        fn declare(
            mut self,
            declare: impl FnOnce(windlass::model::ClientCapabilities) -> windlass::model::ClientCapabilities,
        ) -> Self {
            let capabilities = std::mem::take(&mut self.settings.config.capabilities);
            self.settings.config.capabilities = declare(capabilities);
            self
        }
    };
}
pub(crate) use client_settings;

/// The parts of a handle that are the same for every adapter. No trait, as above.
macro_rules! client_handle {
    ($subscription:ty, [$($async:ident)?] $($await:tt)*) => {
        /// Connects with the defaults: to a [`Command`](crate::Command) to start, an `HttpTarget` with a URL, or an
        /// [`Endpoint`](crate::Endpoint).
        ///
        /// # Errors
        ///
        /// When the server cannot be started, or there is no common protocol version.
        pub $($async)? fn connect(to: impl Into<$crate::Connector>) -> Result<Self, $crate::ConnectError> {
            Self::builder("windlass", env!("CARGO_PKG_VERSION")).connect(to)$($await)*
        }

        /// Calls a tool with arguments that serialise as an object.
        pub $($async)? fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, $crate::Error> {
            self.make::<CallTool, _>(&ToolCall { name, arguments: &arguments })$($await)*
        }

        /// Makes any typed call.
        pub $($async)? fn call<M: Method>(&self, params: &M::Params) -> Result<M::Output, $crate::Error>
        where
            M::Output: Send + 'static,
        {
            self.make::<M, _>(params)$($await)*
        }

        /// Makes a call of a method with parameters that are written as its own would be.
        $($async)? fn make<M: Method, P: Serialize>(&self, params: &P) -> Result<M::Output, $crate::Error>
        where
            M::Output: Send + 'static,
        {
            let slot = Slot::of::<M>(self.style.on_progress.clone());
            self.outcome(M::NAME, params, &self.style.options, slot)$($await)*
        }

        /// Makes a call that has no type here, such as one of an extension.
        pub $($async)? fn call_raw(&self, method: &str, params: &impl Serialize) -> Result<windlass::Json, $crate::Error> {
            let slot = Slot::raw(self.style.on_progress.clone());
            self.outcome(method, params, &self.style.options, slot)$($await)*
        }

        /// Lists one page, and tells how many bytes it had.
        $($async)? fn page<M: Method>(
            &self,
            params: &M::Params,
            options: &windlass::client::CallOptions,
        ) -> Result<(M::Output, usize), $crate::Error>
        where
            M::Output: Send + 'static,
        {
            self.outcome(M::NAME, params, options, Slot::page_of::<M>(self.style.on_progress.clone()))$($await)*
        }

        $($async)? fn outcome<P: Serialize + ?Sized, O: Send + 'static>(
            &self,
            method: &str,
            params: &P,
            options: &windlass::client::CallOptions,
            slot: std::sync::Arc<Slot<O>>,
        ) -> Result<O, $crate::Error> {
            let start = || self.core.start(method, params, options, slot.clone());
            let in_flight = self.style.start(&self.guard, start)?;
            let outcome = self.guard.wait(|context| slot.poll(context))$($await)*;
            in_flight.done();
            outcome
        }

        /// Subscribes to changes, in either era. The subscription ends when it is dropped.
        pub $($async)? fn listen(&self, filter: SubscriptionFilter) -> Result<$subscription, $crate::Error> {
            let feed = $crate::handles::client::feed::Feed::new();
            let start = || self.core.listen(filter, &self.style.options, feed.clone());
            let in_flight = self.style.start(&self.guard, start)?;
            let honoured = self.guard.wait(|context| feed.poll_begun(context))$($await)*?;
            Ok(Subscription { feed, honoured, in_flight })
        }

        /// Tells a legacy server that the roots have changed.
        pub $($async)? fn notify_roots_changed(&self) -> Result<(), $crate::Error> {
            self.notify::<RootsListChanged>(&EmptyParams::default())$($await)*
        }

        /// Tells the server something.
        pub $($async)? fn notify<N: Notice>(&self, params: &N::Params) -> Result<(), $crate::Error> {
            self.notify_raw(N::NAME, params)$($await)*
        }

        /// The same for a notification that has no type here: one of an extension, or of your own.
        pub $($async)? fn notify_raw<P: Serialize + ?Sized>(
            &self,
            method: &str,
            params: &P,
        ) -> Result<(), $crate::Error> {
            self.core.notify(method, params)?;
            self.guard.see_to_it();
            Ok(())
        }

        /// Closes the connection, and returns when a child is gone.
        pub $($async)? fn close(self) -> windlass::CloseReason {
            self.core.close();
            self.wait_closed()$($await)*
        }

        /// Waits until the connection is over, for whatever reason.
        pub $($async)? fn wait_closed(&self) -> windlass::CloseReason {
            let mut closed = self.core.wait_closed();
            self.guard.wait(|context| closed.poll(context))$($await)*
        }

        /// The same connection, with calls made through this handle waiting this long while nothing is heard of them:
        /// progress restarts it. Zero sets no such limit, and the total one holds.
        #[must_use]
        pub fn with_idle_timeout(&self, timeout: std::time::Duration) -> Self {
            self.styled(|style| style.options.idle_timeout = Some(timeout))
        }

        /// The same connection, with calls made through this handle taking at most this long in all, whatever progress
        /// says and however long the idle time-out is. Zero sets no such limit.
        #[must_use]
        pub fn with_total_timeout(&self, timeout: std::time::Duration) -> Self {
            self.styled(|style| style.options.total_timeout = Some(timeout))
        }

        /// The same connection, with progress on calls made through this handle reported to `handler`. It is called
        /// where the connection is driven: do not block in it.
        #[must_use]
        pub fn on_progress(&self, handler: impl Fn(windlass::model::ProgressParams) + Send + Sync + 'static) -> Self {
            self.styled(|style| style.on_progress(handler))
        }

        /// The same connection, with other options for calls made through this handle.
        #[must_use]
        pub fn with_options(&self, options: windlass::client::CallOptions) -> Self {
            self.styled(|style| style.options = options)
        }

        /// The same connection, with calls made through this handle given up when `canceller` is used, which any thread
        /// or task can do.
        #[must_use]
        pub fn with_cancel(&self, canceller: &$crate::Canceller) -> Self {
            self.styled(|style| style.canceller = Some(canceller.clone()))
        }

        fn styled(&self, change: impl FnOnce(&mut $crate::handles::client::CallStyle)) -> Self {
            let mut client = self.clone();
            change(&mut client.style);
            client
        }

        /// What is known of the server.
        pub fn peer(&self) -> std::sync::Arc<windlass::client::Peer> {
            // A handle is given out when the connection is ready, so the peer is known.
            self.core.peer().unwrap_or_else(|| unreachable!("a client that is not connected is not given out"))
        }

        /// What was ignored so far: answers that came late, lines that were no messages.
        pub fn counters(&self) -> windlass::Counters {
            self.core.counters()
        }

        /// Why the connection is over, if it is.
        pub fn closed(&self) -> Option<windlass::CloseReason> {
            self.core.closed()
        }
    };
}
pub(crate) use client_handle;

/// The parts of a subscription that are the same for every adapter. No trait, as above.
macro_rules! subscription_handle {
    () => {
        /// What the server agreed to tell.
        pub fn honoured(&self) -> &windlass::model::SubscriptionFilter {
            &self.honoured
        }

        /// How it ended, when it has and all that it told is taken; `None` before. It is `Ok` if the server ended it in
        /// order, and the reason if not: the connection broke, or this side has closed it or given the subscription up.
        pub fn ended(&self) -> Option<Result<(), $crate::Error>> {
            self.feed.ended()
        }

        /// How many changes are lost because they were not taken in time: the newest 1,024 are kept, or a mebibyte of them.
        pub fn missed(&self) -> u64 {
            self.feed.missed()
        }
    };
}
pub(crate) use subscription_handle;

/// Hands the list of what a server may ask of a client to another macro. For each: the builder's function, what its handler
/// is given and gives, which of the [`InputHandlers`](super::InputHandlers) it is, and the capabilities that it declares.
macro_rules! for_each_input {
    ($callback:ident) => {
        $callback! {
            /// Answers the server's questions to the user, by forms.
            on_elicit(params: ElicitParams) -> ElicitResult = elicit, ClientCapabilities::with_form_elicitation;
            /// Answers the server's questions to the user, by forms and by pages to visit.
            on_elicit_with_urls(params: ElicitParams) -> ElicitResult = elicit,
                |capabilities| capabilities.with_form_elicitation().with_url_elicitation();
            /// Answers the server's questions to the model.
            on_sample(params: CreateMessageParams) -> CreateMessageResult = sample, ClientCapabilities::with_sampling;
            /// Tells the server which roots there are.
            on_roots() -> ListRootsResult = roots, |capabilities| capabilities.with_roots(true);
        }
    };
}
pub(crate) use for_each_input;

/// Follows all pages of a listing. No function: it waits in the way of its handle, and entries have a name in each method.
macro_rules! all_pages {
    ($client:expr, $method:ident, $entries:ident, $($await:tt)*) => {{
        let mut pages = $client.core.pages(&$client.style.options);
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let options = pages.options($client.core.now())?;
            let (page, bytes) = match $client.page::<$method>(&PaginatedParams::at(cursor), &options)$($await)* {
                Ok(page) => page,
                Err($crate::Error::Call(error)) if pages.restarts_after(&error) => {
                    all.clear();
                    cursor = None;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let next = pages.next(bytes, page.next_cursor)?;
            all.extend(page.$entries);
            match next {
                Some(next) => cursor = Some(next),
                None => return Ok(all),
            }
        }
    }};
}
pub(crate) use all_pages;

/// The result of a call on a handle.
pub(crate) type CallResult<M> = Result<<M as windlass::model::Method>::Output, Error>;
