//! Events that wait for their turn, and how they are lent to the program.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use super::{Call, CallId, ChallengeReply, Client, ClientEvent, InputKey, InputReply, Peer, Update};
use crate::error::{CallError, HttpFailure};
use crate::json::Json;
use crate::jsonrpc::Malformed;
use crate::model::InputRequest;

/// An event that does not borrow from the bytes that came in.
pub(crate) enum Queued<T> {
    Ready(Arc<Peer>),
    Done {
        call: CallId,
        token: T,
        outcome: Result<Json, CallError>,
    },
    Input {
        reply: InputReply,
        request: Box<InputRequest>,
    },
    InputCancelled(InputKey),
    Update {
        call: CallId,
        update: Update<'static>,
    },
    /// A notification for a legacy subscription.
    Told {
        call: CallId,
        method: String,
        params: Option<Json>,
    },
    Malformed(Malformed),
    Renewed(Arc<Peer>),
    ToolLeftOut {
        name: String,
        reason: String,
    },
    Challenged {
        reply: ChallengeReply,
        challenge: Box<HttpFailure>,
    },
    NotDelivered(CallError),
}

impl<T> Queued<T> {
    /// What to do about it. The JSON that it owns is put where the event can borrow it from.
    pub(crate) fn lend(self, lent: &mut Option<Json>) -> Step<'_, T> {
        Step::Event(match self {
            Self::Ready(peer) => ClientEvent::Ready(peer),
            Self::Done { call, token, outcome } => {
                let outcome = outcome.map(|result| lent.insert(result).as_text());
                ClientEvent::Completed { call, token, outcome }
            }
            Self::Input { reply, request } => ClientEvent::Input { reply, request },
            Self::InputCancelled(key) => ClientEvent::InputCancelled(key),
            Self::Update { call, update } => return Step::Update { call, update },
            Self::Told { call, method, params } => {
                let params = params.map(|params| lent.insert(params).as_text());
                let update = Update::Notification { method: Cow::Owned(method), params };
                return Step::Update { call, update };
            }
            Self::Malformed(malformed) => ClientEvent::Malformed(malformed),
            Self::Renewed(peer) => ClientEvent::Renewed(peer),
            Self::ToolLeftOut { name, reason } => ClientEvent::ToolLeftOut { name, reason },
            Self::Challenged { reply, challenge } => ClientEvent::Challenged { reply, challenge },
            Self::NotDelivered(error) => ClientEvent::NotDelivered(error),
        })
    }
}

/// What came of one message.
pub(crate) enum Step<'a, T> {
    Event(ClientEvent<'a, T>),
    Update { call: CallId, update: Update<'a> },
}

impl<T> Client<T> {
    pub(crate) fn next_queued(&mut self) -> Option<Queued<T>> {
        self.queue.pop_front()
    }

    /// Something for the program that the link noticed.
    pub(crate) fn report(&mut self, queued: Queued<T>) {
        self.queue.push_back(queued);
    }

    /// A call is over without a result.
    pub(super) fn fail(&mut self, call: CallId, token: T, error: CallError) {
        self.queue.push_back(Queued::Done { call, token, outcome: Err(error) });
    }

    /// The token of an open call, for an update.
    pub(crate) fn token(&self, call: CallId) -> Option<&T> {
        if let Some(listen) = self.legacy_listens.get(&call) {
            return Some(listen.token());
        }
        match self.session.token(self.rounds.get(&call).copied().unwrap_or(call.0))? {
            Call::User(user) => Some(&user.token),
            _ => None,
        }
    }
}
