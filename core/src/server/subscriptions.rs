//! Who wants to be told of what, and telling them.

use alloc::vec::Vec;

use serde::Serialize;

use super::Server;
use super::handling::RequestKind;
use super::registry::Changes;
use crate::json::write_json;
use crate::jsonrpc::{Id, RpcError, Splice};
use crate::model::{
    Cancelled, EmptyParams, EmptyResult, Listen, Method, Notice, PromptListChanged, ResourceListChanged,
    ResourceUpdated, ResourceUpdatedParams, SubscribeParams, SubscriptionFilter, SubscriptionsAcknowledged,
    SubscriptionsListenParams, ToolListChanged, key,
};
use crate::rpc::RequestKey;

/// Something that clients may want to be told of.
#[derive(Clone, Copy)]
enum Change<'a> {
    Tools,
    Resources,
    Prompts,
    Resource(&'a str),
}

impl Change<'_> {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => ToolListChanged::NAME,
            Self::Resources => ResourceListChanged::NAME,
            Self::Prompts => PromptListChanged::NAME,
            Self::Resource(_) => ResourceUpdated::NAME,
        }
    }

    fn is_wanted_by(self, filter: &SubscriptionFilter) -> bool {
        match self {
            Self::Tools => filter.tools_list_changed == Some(true),
            Self::Resources => filter.resources_list_changed == Some(true),
            Self::Prompts => filter.prompts_list_changed == Some(true),
            Self::Resource(uri) => filter.wants_resource(uri),
        }
    }
}

impl<T, H: Clone> Server<T, H> {
    pub(super) fn subscribe(&mut self, key: RequestKey, params: SubscribeParams) -> Result<(), RpcError> {
        if self.offer.registry.find_resource(&params.uri).is_none() {
            return Err(RpcError::resource_not_found(&params.uri));
        }
        let subscribed = self.legacy.subscriptions.resource_subscriptions.get_or_insert_default();
        if !subscribed.contains(&params.uri) {
            if subscribed.len() >= self.offer.config.limits.subscriptions {
                return Err(self.too_many_subscriptions());
            }
            subscribed.push(params.uri);
        }
        self.answer(key, &EmptyResult::default());
        Ok(())
    }

    fn too_many_subscriptions(&self) -> RpcError {
        self.rpc.limit_hit("subscriptions");
        RpcError::internal("too many subscriptions; end some first")
    }

    pub(super) fn unsubscribe(&mut self, key: RequestKey, params: &SubscribeParams) {
        if let Some(subscribed) = &mut self.legacy.subscriptions.resource_subscriptions {
            subscribed.retain(|uri| *uri != params.uri);
        }
        self.answer(key, &EmptyResult::default());
    }

    /// A modern client listens: it is told what of its wishes can be met, then of every change.
    pub(super) fn listen(&mut self, key: RequestKey, params: SubscriptionsListenParams) -> Result<(), RpcError> {
        let capabilities = self.capabilities();
        let subscribable =
            capabilities.tools.is_some() || capabilities.resources.is_some() || capabilities.prompts.is_some();
        if !subscribable {
            return Err(RpcError::method_not_found(Listen::NAME));
        }
        // Many clients together may listen as often as they have connections.
        let open = match self.rpc.is_anonymous() {
            true => 0,
            false => self.open_subscriptions(|_| true).len(),
        };
        let resources = params.notifications.resource_subscriptions.as_ref().map_or(0, Vec::len);
        if open >= self.offer.config.limits.subscriptions || resources > self.offer.config.limits.subscriptions {
            return Err(self.too_many_subscriptions());
        }
        let honoured = params.notifications.honoured_by(&capabilities);
        let Some(request) = self.rpc.request_mut(key) else { return Ok(()) };
        let meta = subscription_meta(&request.id);
        request.data.kind = RequestKind::Subscription(honoured.clone());

        #[derive(Serialize)]
        struct Acknowledged {
            notifications: SubscriptionFilter,
        }
        self.rpc.notify(
            Some(key),
            SubscriptionsAcknowledged::NAME,
            &Acknowledged { notifications: honoured },
            Splice { members: b"", meta: &meta },
        );
        Ok(())
    }

    /// Tells clients of lists that have changed since the last time. Many changes in a row are told once.
    pub(crate) fn flush_changes(&mut self) {
        if self.offer.registry.changes == Changes::default() {
            return;
        }
        let changes = core::mem::take(&mut self.registry().changes);
        self.tell_changes(changes);
    }

    pub(crate) fn tell_changes(&mut self, changes: Changes) {
        for (changed, change) in
            [(changes.tools, Change::Tools), (changes.resources, Change::Resources), (changes.prompts, Change::Prompts)]
        {
            if changed {
                self.announce(change, &EmptyParams::default());
            }
        }
    }

    /// Tells those who subscribed that a resource has changed.
    pub(crate) fn resource_updated(&mut self, uri: &str) {
        self.announce(Change::Resource(uri), &ResourceUpdatedParams::new(uri));
    }

    fn announce<P: Serialize>(&mut self, change: Change<'_>, params: &P) {
        if self.closed.is_some() {
            return;
        }
        // A legacy client gets changes of lists unasked, and of the resources that it subscribed to.
        if self.legacy.operating && change.is_wanted_by(&self.legacy.subscriptions) {
            self.rpc.notify(None, change.method(), params, Splice::default());
        }
        for (key, id) in self.open_subscriptions(|filter| change.is_wanted_by(filter)) {
            let meta = subscription_meta(&id);
            self.rpc.notify(Some(key), change.method(), params, Splice { members: b"", meta: &meta });
        }
    }

    fn open_subscriptions(&self, wanted: impl Fn(&SubscriptionFilter) -> bool) -> Vec<(RequestKey, Id)> {
        let wanted = |kind: &RequestKind| matches!(kind, RequestKind::Subscription(filter) if wanted(filter));
        let open = self.rpc.requests().filter(|(_, request)| wanted(&request.data.kind));
        open.map(|(key, request)| (key, request.id.clone())).collect()
    }

    /// Ends every subscription in order: on a shared stream the client is told by a cancellation, and the request is
    /// settled by its result.
    pub(crate) fn end_subscriptions(&mut self) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Ended<'a> {
            request_id: &'a Id,
            reason: &'a str,
        }
        for (key, id) in self.open_subscriptions(|_| true) {
            let cancelled = Ended { request_id: &id, reason: "the server is shutting down" };
            if !self.rpc.is_anonymous() {
                self.rpc.notify(Some(key), Cancelled::NAME, &cancelled, Splice::default());
            }
            let mut meta = subscription_meta(&id);
            meta.push(b',');
            meta.extend_from_slice(&self.offer.result_meta);
            let splice = Splice { members: br#""resultType":"complete""#, meta: &meta };
            self.rpc.answer(key, &EmptyResult::default(), splice);
        }
    }
}

fn subscription_meta(id: &Id) -> Vec<u8> {
    let mut meta = Vec::new();
    let _ = write_json(&mut meta, key::SUBSCRIPTION_ID);
    meta.push(b':');
    let _ = write_json(&mut meta, id);
    meta
}
