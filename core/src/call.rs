//! What calls of either role have in common: how they are named, how one differs from the others, and how it is taken back.

use core::time::Duration;

use serde::Serialize;

use crate::error::CallError;
use crate::json::JsonText;
use crate::jsonrpc::Splice;
use crate::model::{Cancelled, Meta, Method, Notice, TraceContext};
use crate::rpc::Rpc;

/// Names one call of the program's, from its start to its completion, however many requests it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) i64);

/// How one call differs from the others.
///
/// ```
/// use core::time::Duration;
/// use windlass::client::CallOptions;
///
/// let patient = CallOptions::new().idle_timeout(Duration::from_secs(300));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long to wait while nothing is heard of the call: progress restarts it. `None` for the client's default,
    /// zero for no such limit.
    pub idle_timeout: Option<Duration>,
    /// How long the call may take in all, whatever progress says and however long the idle time-out is. `None` for the
    /// client's default, zero for no such limit.
    pub total_timeout: Option<Duration>,
    /// Whether to ask for progress. Calls that run handlers of the server's ask for it anyway, so that progress keeps
    /// them alive.
    pub progress: bool,
    /// Whether to ask the server even if an answer is cached.
    pub fresh: bool,
    /// More members for the request's `_meta`: trace context, keys of your own.
    pub meta: Option<Meta>,
}

impl CallOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits this long while nothing is heard of the call; progress restarts it. Zero sets no such limit: then the
    /// total time-out alone holds.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Lets the call take this long in all, whatever progress says. It wins over an idle time-out that is longer. Zero
    /// sets no such limit.
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout = Some(timeout);
        self
    }

    /// Asks for progress.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Passes by the cache.
    pub fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    /// Adds members to the request's `_meta`.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Says which trace the call belongs to, beside whatever else its `_meta` says.
    pub fn trace(mut self, trace: &TraceContext) -> Self {
        trace.write(self.meta.get_or_insert_default());
        self
    }
}

/// Reads a call's outcome by the call's own method, so that a result is never guessed at.
///
/// ```
/// use windlass::JsonText;
/// use windlass::client::decode;
/// use windlass::model::ListTools;
///
/// let result = JsonText::parse(r#"{"tools":[]}"#)?;
/// assert!(decode::<ListTools>(Ok(result)).is_ok_and(|page| page.tools.is_empty()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn decode<M: Method>(outcome: Result<JsonText<'_>, CallError>) -> Result<M::Output, CallError> {
    M::read(outcome?).map_err(|error| CallError::InvalidResponse(alloc::format!("the result of {}: {error}", M::NAME)))
}

impl<T, I> Rpc<T, I> {
    /// Tells the peer that a call is off.
    pub(crate) fn notify_cancelled(&mut self, number: i64, reason: &str) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            request_id: i64,
            reason: &'a str,
        }
        self.notify(None, Cancelled::NAME, &Params { request_id: number, reason }, Splice::default());
    }
}
