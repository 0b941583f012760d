//! Events on their way to the program.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

#[cfg(feature = "auth")]
use super::StoreReply;
use super::{Call, CallId, ChallengeReply, Client, ClientEvent, InputKey, InputReply, Peer, Update};
#[cfg(feature = "auth")]
use crate::auth::{AuthPrompt, StoreOperation};
use crate::error::{CallError, CloseReason, HttpFailure};
use crate::json::{Json, JsonText};
use crate::jsonrpc::Malformed;
use crate::model::{InputRequest, SubscriptionFilter};

/// An event before the program sees it as a [`ClientEvent`]. `J` is how it holds JSON: as text of the message that has just
/// come ([`JsonText`]), as its own while it waits ([`Json`]), or as the link does.
pub(crate) enum Event<'a, T, J> {
    Ready(Arc<Peer>),
    Completed {
        call: CallId,
        token: T,
        outcome: Result<J, CallError>,
    },
    Progress {
        call: CallId,
        params: J,
    },
    Subscribed {
        call: CallId,
        filter: SubscriptionFilter,
    },
    Notification {
        /// The subscription that it is for, if it is for one.
        call: Option<CallId>,
        method: Cow<'a, str>,
        params: Option<J>,
    },
    Input {
        reply: InputReply,
        request: Box<InputRequest>,
    },
    InputCancelled(InputKey),
    Malformed(Malformed),
    Reinitialized(Arc<Peer>),
    ToolLeftOut {
        name: String,
        reason: String,
    },
    Challenged {
        reply: ChallengeReply,
        challenge: Box<HttpFailure>,
    },
    #[cfg(feature = "auth")]
    Store {
        reply: StoreReply,
        operation: Box<StoreOperation>,
    },
    #[cfg(feature = "auth")]
    Prompt(AuthPrompt),
    NotDelivered(CallError),
    Closed(CloseReason),
}

impl<T, J> Event<'_, T, J> {
    /// The same event, with its JSON held in another way.
    pub(crate) fn hold<K>(self, held: impl FnOnce(J) -> K) -> Event<'static, T, K> {
        match self {
            Self::Completed { call, token, outcome } => Event::Completed { call, token, outcome: outcome.map(held) },
            Self::Progress { call, params } => Event::Progress { call, params: held(params) },
            Self::Notification { call, method, params } => {
                Event::Notification { call, method: Cow::Owned(method.into_owned()), params: params.map(held) }
            }
            Self::Ready(peer) => Event::Ready(peer),
            Self::Subscribed { call, filter } => Event::Subscribed { call, filter },
            Self::Input { reply, request } => Event::Input { reply, request },
            Self::InputCancelled(key) => Event::InputCancelled(key),
            Self::Malformed(malformed) => Event::Malformed(malformed),
            Self::Reinitialized(peer) => Event::Reinitialized(peer),
            Self::ToolLeftOut { name, reason } => Event::ToolLeftOut { name, reason },
            Self::Challenged { reply, challenge } => Event::Challenged { reply, challenge },
            #[cfg(feature = "auth")]
            Self::Store { reply, operation } => Event::Store { reply, operation },
            #[cfg(feature = "auth")]
            Self::Prompt(prompt) => Event::Prompt(prompt),
            Self::NotDelivered(error) => Event::NotDelivered(error),
            Self::Closed(reason) => Event::Closed(reason),
        }
    }

    /// The call that has to be open for the event to mean something.
    pub(crate) fn open_call(&self) -> Option<CallId> {
        match self {
            Self::Progress { call, .. } | Self::Subscribed { call, .. } => Some(*call),
            Self::Notification { call, .. } => *call,
            _ => None,
        }
    }
}

impl<'a, T> Event<'a, T, JsonText<'a>> {
    /// What the program sees; nothing if the event is for a call that is over by now.
    pub(crate) fn for_program(self, client: &'a Client<T>) -> Option<ClientEvent<'a, T>> {
        let update = |call, update| client.token(call).map(|token| ClientEvent::Update { call, token, update });
        Some(match self {
            Self::Completed { call, token, outcome } => ClientEvent::Completed { call, token, outcome },
            Self::Progress { call, params } => return update(call, Update::Progress(params)),
            Self::Subscribed { call, filter } => return update(call, Update::Subscribed(filter)),
            Self::Notification { call: Some(call), method, params } => {
                return update(call, Update::Notification { method, params });
            }
            Self::Notification { call: None, method, params } => ClientEvent::Notification { method, params },
            Self::Ready(peer) => ClientEvent::Ready(peer),
            Self::Input { reply, request } => ClientEvent::Input { reply, request },
            Self::InputCancelled(key) => ClientEvent::InputCancelled(key),
            Self::Malformed(malformed) => ClientEvent::Malformed(malformed),
            Self::Reinitialized(peer) => ClientEvent::Reinitialized(peer),
            Self::ToolLeftOut { name, reason } => ClientEvent::ToolLeftOut { name, reason },
            Self::Challenged { reply, challenge } => ClientEvent::Challenged { reply, challenge },
            #[cfg(feature = "auth")]
            Self::Store { reply, operation } => ClientEvent::Store { reply, operation },
            #[cfg(feature = "auth")]
            Self::Prompt(prompt) => ClientEvent::Prompt(prompt),
            Self::NotDelivered(error) => ClientEvent::NotDelivered(error),
            Self::Closed(reason) => ClientEvent::Closed(reason),
        })
    }
}

impl<T> Client<T> {
    pub(crate) fn next_event(&mut self) -> Option<Event<'static, T, Json>> {
        self.queue.pop_front()
    }

    /// Something for the program that the link noticed.
    pub(crate) fn report(&mut self, event: Event<'static, T, Json>) {
        self.queue.push_back(event);
    }

    /// A call is over without a result.
    pub(super) fn fail(&mut self, call: CallId, token: T, error: CallError) {
        self.queue.push_back(Event::Completed { call, token, outcome: Err(error) });
    }

    /// The token of an open call, for an update.
    pub(crate) fn token(&self, call: CallId) -> Option<&T> {
        if let Some(listen) = self.legacy_listens.get(&call) {
            return Some(listen.token());
        }
        match self.rpc.token(self.rounds.get(&call).copied().unwrap_or(call.0))? {
            Call::User(user) => Some(&user.token),
            _ => None,
        }
    }
}
