//! What a client reports to its program.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use super::config::Peer;
use super::input::{InputKey, InputReply};
#[cfg(feature = "auth")]
use crate::auth::{AuthPrompt, StoreOperation};
use crate::call::CallId;
use crate::error::{CallError, CloseReason, HttpFailure};
use crate::json::JsonText;
use crate::jsonrpc::Malformed;
use crate::model::{InputRequest, SubscriptionFilter};

/// Something for the program. `T` is the token that it gave with a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent<'a, T> {
    /// The connection is negotiated: calls may be made.
    Ready(Arc<Peer>),
    /// A call is over. Exactly one of these comes for each call that was accepted.
    Completed {
        /// Which call.
        call: CallId,
        /// The token that went in with it.
        token: T,
        /// The result as it came, to be decoded by the call's own method.
        outcome: Result<JsonText<'a>, CallError>,
    },
    /// Something happened to a call that stays open.
    Update {
        /// Which call.
        call: CallId,
        /// The token that went in with it.
        token: &'a T,
        /// What happened.
        update: Update<'a>,
    },
    /// The server wants something of the user or the host: answer with `respond`. In the legacy era this was a request
    /// of the server's, in the modern era it is part of a call's result; here it is the same.
    Input {
        /// To be given back with the answer.
        reply: InputReply,
        /// What is wanted.
        request: Box<InputRequest>,
    },
    /// The server does not need that input any more. An answer will be ignored.
    InputCancelled(InputKey),
    /// The server tells something that belongs to no subscription.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<JsonText<'a>>,
    },
    /// The server sent something that is no message. It was skipped; this is for the log.
    Malformed(Malformed),
    /// The server was initialised again: it had forgotten the session, or speaks another revision
    /// than it did. Resources are subscribed to again where the legacy era goes on; whatever else the program set, such
    /// as the log level, it has to set again. Over HTTP only.
    Reinitialized(Arc<Peer>),
    /// A tool was left out of a listing, because what it wants to be sent as headers cannot be. This is for the log.
    /// Over HTTP, in the modern era only.
    ToolLeftOut {
        /// What the tool is called.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server wants other credentials: answer with `answer_challenge`. Comes only if the configuration says that
    /// the program answers. Over HTTP only.
    Challenged {
        /// To be given back with the answer.
        reply: ChallengeReply,
        /// What the server said: status, `WWW-Authenticate`.
        challenge: Box<HttpFailure>,
    },
    /// Something is to be looked up or kept in the program's [`AuthStore`](crate::auth::AuthStore):
    /// [`StoreOperation::perform`], then `stored`. Over HTTP, with authorization only.
    #[cfg(feature = "auth")]
    Store {
        /// To be given back with what came of it.
        reply: StoreReply,
        /// What is to be done.
        operation: Box<StoreOperation>,
    },
    /// The user is to log in. Comes only if the configuration says that users can be asked. Over HTTP, with authorization
    /// only.
    #[cfg(feature = "auth")]
    Prompt(AuthPrompt),
    /// A notification, or an answer to a request of the server's, could not be delivered. This is for the log. Over HTTP
    /// only: elsewhere nobody says whether a message arrived.
    NotDelivered(CallError),
    /// The connection is over. This is the last event.
    Closed(CloseReason),
}

/// Where credentials go that a server asked for. It cannot be copied, so nothing is answered twice.
#[derive(Debug)]
pub struct ChallengeReply {
    pub(crate) exchange: u32,
}

/// Where the answer of a store goes. It cannot be copied, so nothing is answered twice.
#[cfg(feature = "auth")]
#[derive(Debug)]
pub struct StoreReply {
    pub(crate) look: u64,
}

/// What can happen to a call that stays open.
#[derive(Debug)]
#[non_exhaustive]
pub enum Update<'a> {
    /// The server reports progress: `ProgressParams`.
    Progress(JsonText<'a>),
    /// A subscription has begun, with this much of what was asked for.
    Subscribed(SubscriptionFilter),
    /// A notification that a subscription asked for.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<JsonText<'a>>,
    },
}
