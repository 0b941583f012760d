//! What a server reports to its program.

use alloc::borrow::Cow;
use alloc::sync::Arc;

use super::config::Caller;
use super::invocation::{Invocation, ReplyTo};
use crate::call::CallId;
use crate::error::{CallError, CloseReason};
use crate::json::JsonText;
use crate::jsonrpc::Malformed;
use crate::principal::VerifyReply;
use crate::rpc::RequestKey;
use crate::secret::Secret;

/// Something for the program. `H` is what it registered, `T` the token that it gave with a call of its own.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerEvent<'a, T, H> {
    /// A legacy client has introduced itself. Modern clients need not.
    Initialized(Arc<Caller>),
    /// Run a handler, and give its outcome to `respond`.
    Invoke {
        /// To be given back with the outcome.
        reply: ReplyTo,
        /// What was registered.
        handler: H,
        /// What the client wants of it.
        invocation: Arc<Invocation>,
    },
    /// A client of a protected server shows a token: find out whose it is, and give that to `verified`. The same token is
    /// not asked about again while the answer is fresh.
    Verify {
        /// To be given back with the outcome.
        reply: VerifyReply,
        /// The token, which belongs in no log.
        token: Secret,
    },
    /// The client does not want the outcome any more. It may still be given, and is ignored.
    Cancelled(RequestKey),
    /// A call of the program's is over. Exactly one of these comes for each call that was accepted.
    Completed {
        /// Which call.
        call: CallId,
        /// The token that went in with it.
        token: T,
        /// The result as it came.
        outcome: Result<JsonText<'a>, CallError>,
    },
    /// The client tells something.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<JsonText<'a>>,
    },
    /// The client sent something that is no message. It was answered where the protocol has an answer.
    Malformed(Malformed),
    /// The connection is over. This is the last event.
    Closed(CloseReason),
}
