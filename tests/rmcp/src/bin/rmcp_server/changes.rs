//! What changes, and who is told: everybody of what they subscribed to, in the way of their era.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{SubscriptionContext, SubscriptionSendError, SubscriptionSink};

use super::Context;
use super::asking::{failed, is_modern};

#[derive(Default)]
pub(super) struct Changes {
    added_tool: AtomicBool,
    /// The resources that a legacy client has subscribed to.
    watched: Mutex<BTreeSet<String>>,
    /// The subscriptions of a modern client.
    sinks: Mutex<Vec<SubscriptionSink>>,
}

impl Changes {
    pub(super) fn has_added_tool(&self) -> bool {
        self.added_tool.load(Ordering::SeqCst)
    }

    pub(super) fn watch(&self, uri: String) {
        self.watched.lock().unwrap().insert(uri);
    }

    pub(super) fn unwatch(&self, uri: &str) {
        self.watched.lock().unwrap().remove(uri);
    }

    /// Keeps a subscription for as long as its client wants it.
    pub(super) async fn listen(&self, subscription: SubscriptionContext) {
        self.sinks.lock().unwrap().push(subscription.sink().clone());
        subscription.cancelled().await;
        self.sinks.lock().unwrap().retain(|sink| sink.id() != subscription.sink().id());
    }

    pub(super) fn listeners(&self) -> usize {
        self.sinks.lock().unwrap().len()
    }

    /// Adds a tool to the list.
    pub(super) async fn add_tool(&self, context: &Context) -> Result<(), ErrorData> {
        self.added_tool.store(true, Ordering::SeqCst);
        if !is_modern(context) {
            return context.peer.notify_tool_list_changed().await.map_err(failed);
        }
        for sink in self.sinks() {
            allowed(sink.notify_tool_list_changed().await)?;
        }
        Ok(())
    }

    /// Says that the lists of prompts and resources have changed.
    pub(super) async fn change_lists(&self, context: &Context) -> Result<(), ErrorData> {
        if !is_modern(context) {
            context.peer.notify_prompt_list_changed().await.map_err(failed)?;
            return context.peer.notify_resource_list_changed().await.map_err(failed);
        }
        for sink in self.sinks() {
            allowed(sink.notify_prompt_list_changed().await)?;
            allowed(sink.notify_resource_list_changed().await)?;
        }
        Ok(())
    }

    /// Says that a resource has changed.
    pub(super) async fn touch(&self, uri: &str, context: &Context) -> Result<(), ErrorData> {
        if !is_modern(context) {
            if self.watched.lock().unwrap().contains(uri) {
                let params = ResourceUpdatedNotificationParam::new(uri);
                context.peer.notify_resource_updated(params).await.map_err(failed)?;
            }
            return Ok(());
        }
        for sink in self.sinks() {
            allowed(sink.notify_resource_updated(uri).await)?;
        }
        Ok(())
    }

    fn sinks(&self) -> Vec<SubscriptionSink> {
        self.sinks.lock().unwrap().clone()
    }
}

/// A subscription that did not ask for this, or has just ended, is no failure.
fn allowed(sent: Result<(), SubscriptionSendError>) -> Result<(), ErrorData> {
    match sent {
        Err(SubscriptionSendError::NotificationNotAccepted(_) | SubscriptionSendError::SubscriptionClosed) => Ok(()),
        sent => sent.map_err(failed),
    }
}
