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

    /// Starts a call, which its canceller knows of for as long as the second of what it gives is kept.
    pub(crate) fn start<C: Cancels + 'static>(
        &self,
        client: &Arc<C>,
        start: impl FnOnce() -> Result<CallId, SendError>,
    ) -> Result<(CallId, Option<Cancellable>), Error> {
        match &self.canceller {
            None => Ok((start()?, None)),
            Some(canceller) => {
                let client: Weak<C> = Arc::downgrade(client);
                canceller.start(client, start).map(|(call, cancellable)| (call, Some(cancellable)))
            }
        }
    }
}

/// The parts of a builder that are the same for every adapter. They are no trait, which every program would have to import,
/// and whose methods are not listed with those of the type.
macro_rules! client_settings {
    () => {
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
    () => {
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
