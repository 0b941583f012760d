//! Listening for changes (2026-07-28).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{EmptyResult, Meta, ServerCapabilities};

/// Which changes to listen for; absent and false both mean not.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Changes of the list of prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// Changes of the list of resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Changes of these resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// Changes of these tasks (the tasks extension).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_ids: Option<Vec<String>>,
}

impl SubscriptionFilter {
    /// No change at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds resources to listen to.
    #[must_use]
    pub fn with_resource_subscriptions<U: Into<String>>(mut self, uris: impl IntoIterator<Item = U>) -> Self {
        self.resource_subscriptions.get_or_insert_default().extend(uris.into_iter().map(Into::into));
        self
    }

    /// The resources to listen to.
    pub fn resources(&self) -> &[String] {
        self.resource_subscriptions.as_deref().unwrap_or_default()
    }

    /// Whether changes of the resource at `uri` are wanted: of it, or of something that it is a part of.
    pub fn wants_resource(&self, uri: &str) -> bool {
        self.resources().iter().any(|watched| {
            uri.strip_prefix(watched.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
        })
    }

    /// What of this filter a server of these capabilities honours. Tasks are left out: their extension decides.
    pub fn honoured_by(&self, capabilities: &ServerCapabilities) -> Self {
        let kept =
            |wanted: Option<bool>, offered: Option<bool>| wanted.filter(|wanted| *wanted && offered == Some(true));
        let tools = capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        let prompts = capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed);
        let resources = capabilities.resources.as_ref();
        let subscribe = resources.and_then(|resources| resources.subscribe) == Some(true);
        Self {
            tools_list_changed: kept(self.tools_list_changed, tools),
            prompts_list_changed: kept(self.prompts_list_changed, prompts),
            resources_list_changed: kept(
                self.resources_list_changed,
                resources.and_then(|resources| resources.list_changed),
            ),
            resource_subscriptions: self.resource_subscriptions.clone().filter(|_| subscribe),
            task_ids: None,
        }
    }
}

setters!(SubscriptionFilter {
    with_tools_list_changed(tools_list_changed: bool),
    with_prompts_list_changed(prompts_list_changed: bool),
    with_resources_list_changed(resources_list_changed: bool),
    with_task_ids(task_ids: impl Into<Vec<String>>),
});

/// What to listen for.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionsListenParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The changes.
    pub notifications: SubscriptionFilter,
}

impl SubscriptionsListenParams {
    /// Listens for what `notifications` asks.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self { meta: None, notifications }
    }
}

setters!(SubscriptionsListenParams { with_meta(meta: Meta), });

/// The end of a stream, in good order; `_meta` names the subscription.
pub type SubscriptionsListenResult = EmptyResult;

/// What a stream will carry.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionsAcknowledgedParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The part of the filter that the server honours.
    #[serde(default)]
    pub notifications: SubscriptionFilter,
}

impl SubscriptionsAcknowledgedParams {
    /// A stream of what `notifications` asks.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self { meta: None, notifications }
    }
}

setters!(SubscriptionsAcknowledgedParams { with_meta(meta: Meta), });

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn only_what_is_offered_is_honoured() {
        let wanted = SubscriptionFilter::new()
            .with_tools_list_changed(true)
            .with_prompts_list_changed(false)
            .with_resources_list_changed(true)
            .with_resource_subscriptions(vec!["file:///a".to_string()]);
        let offered = ServerCapabilities::new().with_tools(true).with_prompts(true).with_resources(true, false);
        assert_eq!(
            serde_json::to_string(&wanted.honoured_by(&offered)).unwrap(),
            r#"{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}"#
        );
        assert_eq!(wanted.honoured_by(&ServerCapabilities::new()), SubscriptionFilter::new());
    }
}
