//! What the server tells without being asked.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;

use serde::Deserialize;

use super::{Call, CallId, Client, Event};
use crate::json::{Json, JsonText};
use crate::jsonrpc::Id;
use crate::model::{
    Cancelled, ElicitationComplete, ElicitationCompleteParams, LoggingMessage, LoggingMessageParams, Notice, Progress,
    PromptListChanged, ResourceListChanged, ResourceUpdated, ResourceUpdatedParams, SubscriptionsAcknowledged,
    ToolListChanged,
};
use crate::time::Instant;

/// A notification of the server's, read into its type.
///
/// ```
/// use windlass::client::ServerNotification;
///
/// let told = ServerNotification::read("notifications/tools/list_changed", None);
/// assert_eq!(told, ServerNotification::ToolsListChanged);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServerNotification {
    /// The list of tools has changed.
    ToolsListChanged,
    /// The list of prompts has changed.
    PromptsListChanged,
    /// The list of resources has changed.
    ResourcesListChanged,
    /// A resource has changed.
    ResourceUpdated(ResourceUpdatedParams),
    /// A message for the log.
    Message(LoggingMessageParams),
    /// The user has finished what a URL elicitation asked for (2025-11-25).
    ElicitationComplete(ElicitationCompleteParams),
    /// Something else.
    Other {
        /// What it is about.
        method: String,
        /// Its parameters, as they came.
        params: Option<Json>,
    },
}

impl ServerNotification {
    /// Reads a notification. What is unknown, or not as the specification has it, is kept as it is.
    pub fn read(method: &str, params: Option<JsonText<'_>>) -> Self {
        let typed = match method {
            ToolListChanged::NAME => Some(Self::ToolsListChanged),
            PromptListChanged::NAME => Some(Self::PromptsListChanged),
            ResourceListChanged::NAME => Some(Self::ResourcesListChanged),
            ResourceUpdated::NAME => read::<ResourceUpdated>(params).map(Self::ResourceUpdated),
            LoggingMessage::NAME => read::<LoggingMessage>(params).map(Self::Message),
            ElicitationComplete::NAME => read::<ElicitationComplete>(params).map(Self::ElicitationComplete),
            _ => None,
        };
        typed.unwrap_or_else(|| Self::Other { method: method.to_owned(), params: params.map(Json::from) })
    }
}

fn read<N: Notice>(params: Option<JsonText<'_>>) -> Option<N::Params> {
    N::read(params?).ok()
}

/// The call that progress is told of, and how far it is.
fn progress_of(params: JsonText<'_>) -> Option<(CallId, f64)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Progress {
        progress_token: Id,
        progress: f64,
    }
    match params.read() {
        Ok(Progress { progress_token: Id::Number(number), progress }) => Some((CallId(number), progress)),
        _ => None,
    }
}

impl<T> Client<T> {
    pub(super) fn notification<'a>(
        &mut self,
        method: Cow<'a, str>,
        params: Option<JsonText<'a>>,
        now: Instant,
    ) -> Option<Event<'a, T, JsonText<'a>>> {
        match &*method {
            Progress::NAME => return self.progress(params?, now),
            Cancelled::NAME => {
                if let Some(cancelled) = read::<Cancelled>(params) {
                    self.cancelled_by_server(cancelled);
                }
                return None;
            }
            SubscriptionsAcknowledged::NAME => {
                self.acknowledged(params?);
                return None;
            }
            _ => self.cache.invalidate(&method, params),
        }
        if let Some(call) = params.and_then(|params| self.subscription_of(params)) {
            return Some(Event::Notification { call: Some(call), method, params });
        }
        if self.tell_legacy_listens(&method, params) {
            return None;
        }
        Some(Event::Notification { call: None, method, params })
    }

    /// Progress keeps a call alive and is passed on, unless it is for nothing that is open.
    fn progress<'a>(&mut self, params: JsonText<'a>, now: Instant) -> Option<Event<'a, T, JsonText<'a>>> {
        let (call, progress) = progress_of(params).unwrap_or((CallId(0), 0.0));
        let number = self.rounds.get(&call).copied().unwrap_or(call.0);
        match self.rpc.token_mut(number) {
            Some(Call::User(user)) if user.call == call && progress > user.progress => user.progress = progress,
            _ => {
                self.rpc.count(|counters| counters.stray_progress += 1);
                return None;
            }
        }
        self.rpc.extend(number, now);
        Some(Event::Progress { call, params })
    }
}
