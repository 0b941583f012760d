//! What a program does with a client, whatever the client is on: one list for all of them.

/// The methods that every client has. The type says how its role is reached: `at` for doing something at a time, `role`
/// for looking.
///
/// They are functions of the types themselves: a trait would have to be imported by every program that calls something, and
/// would show how the role is reached, which is nobody's business.
macro_rules! client_methods {
    () => {
        /// Starts a call.
        pub fn call<M: crate::model::Method>(
            &mut self,
            params: &M::Params,
            options: &crate::client::CallOptions,
            token: T,
            now: crate::time::Instant,
        ) -> Result<crate::client::CallId, crate::error::Refused<T>> {
            self.call_raw(M::NAME, params, options, token, now)
        }

        /// Starts a call of a method that has no type here: one of an extension, or one with parameters at hand as JSON.
        pub fn call_raw<P: serde::Serialize + ?Sized>(
            &mut self,
            method: &str,
            params: &P,
            options: &crate::client::CallOptions,
            token: T,
            now: crate::time::Instant,
        ) -> Result<crate::client::CallId, crate::error::Refused<T>> {
            self.at(now).call(method, params, options, token, now)
        }

        /// Begins a subscription, in either era. It is a call that stays open until it is cancelled or the server ends it.
        pub fn listen(
            &mut self,
            filter: crate::model::SubscriptionFilter,
            options: &crate::client::CallOptions,
            token: T,
            now: crate::time::Instant,
        ) -> Result<crate::client::CallId, crate::error::Refused<T>> {
            self.at(now).listen(filter, options, token, now)
        }

        /// Gives up a call. It completes as cancelled, unless its answer was faster.
        pub fn cancel(&mut self, call: crate::client::CallId, reason: &str, now: crate::time::Instant) {
            self.at(now).cancel(call, reason, now);
        }

        /// Sends a notification.
        pub fn notify<N: crate::model::Notice>(
            &mut self,
            params: &N::Params,
            now: crate::time::Instant,
        ) -> Result<(), crate::error::SendError> {
            self.notify_raw(N::NAME, params, now)
        }

        /// The same for a notification that has no type here.
        pub fn notify_raw<P: serde::Serialize + ?Sized>(
            &mut self,
            method: &str,
            params: &P,
            now: crate::time::Instant,
        ) -> Result<(), crate::error::SendError> {
            self.at(now).notify(method, params)
        }

        /// Answers a request for input.
        pub fn respond(
            &mut self,
            reply: crate::client::InputReply,
            answer: Result<crate::client::InputResponse, crate::jsonrpc::RpcError>,
            now: crate::time::Instant,
        ) {
            self.at(now).respond(reply, answer, now);
        }

        /// Closes the connection. Open calls complete; `Closed` is the last event.
        pub fn close(&mut self, now: crate::time::Instant) {
            crate::rpc::LinkedRole::close(self.at(now), crate::error::CloseReason::Requested);
        }

        /// Ends the connection because nobody is left to carry it on, which is told as the reason. Open calls complete,
        /// the server hears no last words; `Closed` is the last event.
        pub fn abandon(&mut self, why: crate::error::ConnError, now: crate::time::Instant) {
            crate::rpc::LinkedRole::close(self.at(now), crate::error::CloseReason::Transport(why));
        }

        /// What is known of the server, once it is.
        pub fn peer(&self) -> Option<&alloc::sync::Arc<crate::client::Peer>> {
            self.role().peer()
        }

        /// What was ignored so far.
        pub fn counters(&self) -> crate::rpc::Counters {
            crate::rpc::LinkedRole::counters(self.role())
        }
    };
}
