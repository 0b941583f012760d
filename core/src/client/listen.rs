//! Subscriptions: one API over `subscriptions/listen` (modern) and `resources/subscribe` with unasked-for list changes
//! (legacy).

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use serde::Deserialize;

use super::{Call, CallId, CallOptions, Client, Event, ServerNotification, UserCall};
use crate::error::{CallError, Refused, SendError};
use crate::json::{Json, JsonText};
use crate::jsonrpc::{Id, RpcError, Splice};
use crate::model::{
    CancelledParams, Era, Listen, Method, MethodInfo, Notice, Subscribe, SubscribeParams, SubscriptionFilter,
    SubscriptionsAcknowledged, SubscriptionsListenParams, Unsubscribe, key,
};
use crate::rpc::Pending;
use crate::time::Instant;

/// A subscription of the legacy era, which lives on this side only.
pub(super) struct LegacyListen<T> {
    token: T,
    filter: SubscriptionFilter,
    /// Subscriptions of single resources that the server has not confirmed yet.
    unconfirmed: usize,
}

impl<T> LegacyListen<T> {
    pub(super) fn token(&self) -> &T {
        &self.token
    }

    pub(super) fn into_token(self) -> T {
        self.token
    }
}

impl<T> Client<T> {
    /// Begins a subscription. It is a call that stays open: an update says when it has begun, others bring what was
    /// asked for, and it completes when the server ends it or it is cancelled.
    pub(crate) fn listen(
        &mut self,
        filter: SubscriptionFilter,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> Result<CallId, Refused<T>> {
        let modern = self.is_modern();
        let method = match (modern, filter.resources().is_empty()) {
            (true, _) => MethodInfo::find(Listen::NAME),
            (false, false) => MethodInfo::find(Subscribe::NAME),
            // A legacy server tells of changes unasked.
            (false, true) => None,
        };
        let wanted = filter.resources().len();
        match self.admitted(method) {
            Err(why) => Err(Refused::new(why, token)),
            Ok(_) if wanted + self.legacy_listens.len() > self.config.limits.subscriptions => {
                self.rpc.limit_hit("subscriptions");
                Err(Refused::new(SendError::Full, token))
            }
            Ok(peer) if peer.version.era() == Era::Modern => {
                // Until it is acknowledged it may time out like any call; then it lives for as long as it is wanted.
                let user = UserCall {
                    call: CallId(0),
                    token,
                    retry: None,
                    cache: None,
                    listen: true,
                    progress: f64::NEG_INFINITY,
                };
                self.send((Listen::NAME, method), &SubscriptionsListenParams::new(filter), options, user, now)
            }
            Ok(peer) => {
                // What the server does not offer is left out here, as a modern server leaves it out of its acknowledgement.
                let honoured = filter.honoured_by(&peer.capabilities);
                Ok(self.listen_to_legacy(honoured, options, token, now))
            }
        }
    }

    fn listen_to_legacy(
        &mut self,
        filter: SubscriptionFilter,
        options: &CallOptions,
        token: T,
        now: Instant,
    ) -> CallId {
        let call = CallId(self.rpc.take_number());
        let timing = self.timing(options);
        for uri in filter.resources() {
            let params = SubscribeParams::new(uri.clone());
            let subscribe = Call::Subscribe(call);
            let sent = self.rpc.call(None, Subscribe::NAME, &params, Splice::default(), timing, subscribe, now);
            debug_assert!(sent.is_ok(), "a URI always serialises");
        }
        let unconfirmed = filter.resources().len();
        self.legacy_listens.insert(call, LegacyListen { token, filter, unconfirmed });
        self.confirm(call);
        call
    }

    /// Reports that a legacy subscription has begun, once the server has confirmed all of it.
    fn confirm(&mut self, call: CallId) {
        if let Some(listen) = self.legacy_listens.get(&call).filter(|listen| listen.unconfirmed == 0) {
            self.queue.push_back(Event::Subscribed { call, filter: listen.filter.clone() });
        }
    }

    /// A request on behalf of a legacy subscription failed on its way.
    pub(super) fn legacy_subscribe_failed(&mut self, call: CallId, error: CallError, now: Instant) {
        if let Some(listen) = self.legacy_listens.remove(&call) {
            self.end_legacy_listen(call, listen, error, now);
        }
    }

    /// Subscribes again to everything, in a session that knows nothing of the last one's.
    pub(super) fn resubscribe(&mut self, now: Instant) {
        let mut uris: Vec<_> =
            self.legacy_listens.values().flat_map(|listen| listen.filter.resources()).cloned().collect();
        uris.sort();
        uris.dedup();
        let timing = self.timing(&CallOptions::new());
        for uri in uris {
            let sent = self.rpc.call(
                None,
                Subscribe::NAME,
                &SubscribeParams::new(uri),
                Splice::default(),
                timing,
                Call::Ignored,
                now,
            );
            debug_assert!(sent.is_ok(), "a URI always serialises");
        }
    }

    pub(super) fn legacy_subscribed(&mut self, call: CallId, outcome: Result<(), RpcError>, now: Instant) {
        match outcome {
            Ok(()) => {
                if let Some(listen) = self.legacy_listens.get_mut(&call) {
                    listen.unconfirmed = listen.unconfirmed.saturating_sub(1);
                }
                self.confirm(call);
            }
            Err(error) => {
                if let Some(listen) = self.legacy_listens.remove(&call) {
                    self.end_legacy_listen(call, listen, CallError::Remote(error), now);
                }
            }
        }
    }

    pub(super) fn legacy_subscribe_expired(&mut self, call: CallId, after: Duration, now: Instant) {
        self.legacy_subscribe_failed(call, CallError::TimedOut { after }, now);
    }

    /// Unsubscribes from what no other subscription needs.
    pub(super) fn end_legacy_listen(&mut self, call: CallId, listen: LegacyListen<T>, why: CallError, now: Instant) {
        let timing = self.timing(&CallOptions::new());
        for uri in listen.filter.resources() {
            if self.legacy_listens.values().any(|other| other.filter.resources().contains(uri)) {
                continue;
            }
            let params = SubscribeParams::new(uri.clone());
            let ignored = Call::Ignored;
            let sent = self.rpc.call(None, Unsubscribe::NAME, &params, Splice::default(), timing, ignored, now);
            debug_assert!(sent.is_ok(), "a URI always serialises");
        }
        self.fail(call, listen.token, why);
    }

    /// Whether there are subscriptions that the era of the server knows nothing of.
    #[cfg(feature = "http")]
    pub(crate) fn has_legacy_listens(&self) -> bool {
        !self.legacy_listens.is_empty()
    }

    /// Nothing will come any more for legacy subscriptions. There is nobody to be told that they are over.
    #[cfg(feature = "http")]
    pub(crate) fn end_legacy_listens(&mut self, why: &CallError) {
        for (call, listen) in core::mem::take(&mut self.legacy_listens) {
            self.fail(call, listen.into_token(), why.clone());
        }
    }

    /// Passes a notification to the legacy subscriptions that want it; false if none does.
    pub(super) fn tell_legacy_listens(&mut self, method: &str, params: Option<JsonText<'_>>) -> bool {
        let calls: Vec<_> = self
            .legacy_listens
            .iter()
            .filter(|(_, listen)| wanted_by(&listen.filter, method, params))
            .map(|(&call, _)| call)
            .collect();
        for &call in &calls {
            let (method, params) = (method.to_string().into(), params.map(Json::from));
            self.queue.push_back(Event::Notification { call: Some(call), method, params });
        }
        !calls.is_empty()
    }

    /// The modern subscription that a notification says it belongs to.
    pub(super) fn subscription_of(&self, params: JsonText<'_>) -> Option<CallId> {
        if !self.is_modern() {
            return None;
        }
        self.open_listen(&named_subscription(params)?)
    }

    fn open_listen(&self, id: &Id) -> Option<CallId> {
        let Id::Number(number) = *id else { return None };
        match self.rpc.token(number) {
            Some(Call::User(user)) if user.listen => Some(user.call),
            _ => None,
        }
    }

    pub(super) fn acknowledged(&mut self, params: JsonText<'_>) {
        let Ok(params) = SubscriptionsAcknowledged::read(params) else { return };
        let id = params.meta.as_ref().and_then(|meta| meta.get::<Id>(key::SUBSCRIPTION_ID));
        if let Some(call) = id.and_then(|id| self.open_listen(&id)) {
            self.rpc.lift_deadline(call.0);
            self.queue.push_back(Event::Subscribed { call, filter: params.notifications });
        }
    }

    /// The server cancels: its own request (legacy), or a subscription of ours (modern).
    pub(super) fn cancelled_by_server(&mut self, cancelled: CancelledParams) {
        let Some(id) = cancelled.request_id else { return };
        if !self.is_modern() {
            if let Some((_, input)) = self.rpc.cancelled(&id) {
                self.queue.push_back(Event::InputCancelled(input));
            }
            return;
        }
        let Some(call) = self.open_listen(&id) else { return };
        if let Some(Pending { token: Call::User(user), .. }) = self.rpc.withdraw(call.0) {
            self.close_stream_of(call.0);
            let outcome = Ok(Json::empty_object());
            self.queue.push_back(Event::Completed { call, token: user.token, outcome });
        }
    }
}

/// Whether a subscription asked for a notification.
fn wanted_by(filter: &SubscriptionFilter, method: &str, params: Option<JsonText<'_>>) -> bool {
    match ServerNotification::read(method, params) {
        ServerNotification::ToolsListChanged => filter.tools_list_changed == Some(true),
        ServerNotification::PromptsListChanged => filter.prompts_list_changed == Some(true),
        ServerNotification::ResourcesListChanged => filter.resources_list_changed == Some(true),
        ServerNotification::ResourceUpdated(updated) => filter.wants_resource(&updated.uri),
        _ => false,
    }
}

/// The subscription that the parameters of a notification name.
fn named_subscription(params: JsonText<'_>) -> Option<Id> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: crate::model::Meta,
    }
    let params: Params = params.read().ok()?;
    params.meta.get(key::SUBSCRIPTION_ID)
}
