//! One exchange: what it is for, how far it is.

use alloc::string::String;
use alloc::sync::Arc;

use super::body::Body;
use super::request::HttpRequest;
use crate::codec::http1::Headers;
use crate::error::{ConnError, HttpFailure};
use crate::model::{Method, MethodInfo};
use crate::rpc::{Label, MethodName, Outgoing};
use crate::time::Instant;
use crate::url::redacted;

/// An exchange that is open.
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    pub(super) request: Arc<HttpRequest>,
    pub(super) state: ExchangeState,
    pub(super) head: Head,
    pub(super) body: Body,
    pub(super) context: Context,
    pub(super) tried: Tried,
    /// Bytes of the request that are not sent yet.
    pub(super) unsent_bytes: usize,
    pub(super) deadline: Option<Instant>,
    /// Since when it waits for credentials, which takes none of its time.
    pub(super) held: Option<Instant>,
}

/// What was so when an exchange was opened, and may have changed since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context {
    /// Which of the sessions it belongs to that client and server have had.
    pub(super) generation: u32,
    /// Whether its request names the session.
    pub(super) in_session: bool,
    /// Which of the program's credentials it was sent with.
    pub(super) credentials: u32,
}

/// What was done already to get an answer, so that nothing is done without end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tried {
    /// Redirects that were followed.
    pub(super) redirects: u32,
    /// It went elsewhere than to where the program said, or where that has moved for good.
    pub(super) elsewhere: bool,
    /// The program was asked for other credentials.
    pub(super) credentials: bool,
    /// How often it was made again because it was not allowed.
    pub(super) authorizations: u32,
    /// It was made again with a nonce that the server gave.
    #[cfg_attr(not(feature = "auth"), allow(dead_code))]
    pub(super) nonce: bool,
    /// It was made again because it did not come in time.
    pub(super) late: bool,
}

/// What the head of a response says.
pub(super) enum Head {
    /// It is not there yet.
    Awaited,
    /// Success, with a body of the kind that was asked for. A handshake may be granted a session.
    Accepted { at: Instant, session: Option<String> },
    /// No success.
    Refused(HttpFailure),
    /// Success, with a body of another type than the one that was asked for: this.
    WrongType(String),
    /// Whatever it is, somebody else makes sense of it.
    #[cfg_attr(not(feature = "auth"), allow(dead_code))]
    Document { status: u16, headers: Headers },
}

impl Head {
    /// What a response says that is no success.
    pub(super) fn failure(&self) -> Option<&HttpFailure> {
        if let Self::Refused(failure) = self { Some(failure) } else { None }
    }

    pub(super) fn status_of_failure(&self) -> Option<u16> {
        self.failure().map(|failure| failure.status)
    }
}

/// What an exchange is for.
pub(super) enum Purpose {
    /// A request, whose answer comes in the response.
    Request(Asked),
    /// A request, whose answer comes on the stream of the HTTP+SSE transport.
    Posted(i64),
    /// A notification or an answer. Whether it is `notifications/initialized`, for which all others wait.
    Message { announces: bool },
    /// The stream on which a legacy server speaks unasked.
    Listen(Attempts),
    /// The stream of the HTTP+SSE transport.
    Events,
    /// The end of the session.
    Delete,
    /// Something that is needed to be authorized.
    #[cfg_attr(not(feature = "auth"), allow(dead_code))]
    Authorization,
}

/// Whether an exchange may be made beyond the limit for exchanges at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    /// It may not.
    Usual,
    /// It may use the reserve: others may wait for it, so it must not wait for them.
    Urgent,
    /// It does not count. A stream on which the server may speak for hours would otherwise leave no connection to a
    /// client that may have only one.
    Standing,
    /// It does not count either, and all others wait for it.
    Authorization,
}

impl Priority {
    /// Whether it counts for the limit.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Usual | Self::Urgent)
    }
}

/// A request and what became of it.
pub(super) struct Asked {
    pub(super) number: i64,
    /// What it says of itself; its bytes are the body of the request of HTTP.
    pub(super) label: Label,
    /// What it is about, as `Mcp-Name` says it.
    pub(super) name: Option<String>,
    pub(super) answered: bool,
    /// Whether this is the second time.
    pub(super) repeated: bool,
    pub(super) attempts: Attempts,
}

impl Asked {
    /// What is known of its method.
    pub(super) fn info(&self) -> Option<&'static MethodInfo> {
        self.label.method.as_ref()?.info()
    }

    pub(super) fn is<M: Method>(&self) -> bool {
        self.label.method.as_ref().is_some_and(MethodName::is::<M>)
    }
}

/// How often a stream was opened again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    /// Since an event came on it, or it lasted.
    pub(super) without_event: u32,
    /// Since it brought a message that was new, or lasted.
    pub(super) without_progress: u32,
}

/// What a stream that is over has brought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Yield {
    pub(super) event: bool,
    pub(super) progress: bool,
}

impl Attempts {
    /// One more, after a stream that has brought this.
    pub(super) fn after(self, brought: Yield) -> Self {
        let without_event = if brought.event { 0 } else { self.without_event };
        let without_progress = if brought.progress { 0 } else { self.without_progress };
        Self { without_event: without_event + 1, without_progress: without_progress + 1 }
    }
}

/// How far an exchange is.
pub(super) enum ExchangeState {
    /// It is yet to be made.
    Queued,
    /// There is no response yet.
    Asked,
    /// The head is there.
    Answering,
    /// The response is there, or will never be.
    Over(Outcome),
    /// The program was asked for credentials.
    Challenged,
    /// A stream is to be opened again when its time comes.
    Waiting,
    /// A request is to be made again when its time comes.
    HeldBack,
    /// A stream is to be opened again when there are other credentials.
    Refused,
}

/// How a response ended.
pub(super) enum Outcome {
    Complete,
    Broken(ConnError),
}

impl Exchange {
    pub(super) fn new(purpose: Purpose, request: HttpRequest) -> Self {
        Self {
            purpose,
            request: Arc::new(request),
            state: ExchangeState::Queued,
            head: Head::Awaited,
            body: Body::default(),
            context: Context::default(),
            tried: Tried::default(),
            unsent_bytes: 0,
            deadline: None,
            held: None,
        }
    }

    /// The same, with another request in place of the one that was made.
    pub(super) fn with_request(self, request: HttpRequest) -> Self {
        Self {
            context: self.context,
            tried: self.tried,
            deadline: self.deadline,
            body: self.body.again(),
            ..Self::new(self.purpose, request)
        }
    }

    /// Whether it is being made, or will be.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.state, ExchangeState::Queued | ExchangeState::Asked | ExchangeState::Answering)
    }

    pub(super) fn priority(&self) -> Priority {
        match &self.purpose {
            Purpose::Message { .. } => Priority::Urgent,
            // Calls may hold all connections when the session has to be initialised again.
            Purpose::Request(asked) if asked.info().is_some_and(|info| info.handshake) => Priority::Urgent,
            Purpose::Listen(_) | Purpose::Events => Priority::Standing,
            Purpose::Authorization => Priority::Authorization,
            Purpose::Request(_) | Purpose::Posted(_) | Purpose::Delete => Priority::Usual,
        }
    }

    /// The message that it carries, to be sent once more; none if it is another try at its stream.
    pub(super) fn message(&self) -> Option<Outgoing> {
        let Purpose::Request(asked) = &self.purpose else { return None };
        let bytes = self.request.body.clone();
        (!bytes.is_empty()).then(|| Outgoing { label: asked.label.clone(), bytes })
    }

    /// The request whose answer is waited for here.
    pub(super) fn request_id(&self) -> Option<i64> {
        match &self.purpose {
            Purpose::Request(asked) if !asked.answered => Some(asked.number),
            Purpose::Posted(number) => Some(*number),
            _ => None,
        }
    }
}

/// Whether a refusal may be over soon, and says nothing about what was refused.
pub(super) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..600)
}

/// Keeps what helps to do something about a response that is no success.
pub(super) fn failure(status: u16, headers: &Headers) -> HttpFailure {
    /// Challenges that are kept; one is usual.
    const MOST: usize = 8;
    let text = |name| headers.get(name).map(|value| crate::jsonrpc::excerpt(value).into());
    let mut failure = HttpFailure::new(status);
    failure.www_authenticate = headers.get_all("www-authenticate").take(MOST).map(String::from).collect();
    failure.auth_server = text("mcp-auth-server");
    failure.retry_after = text("retry-after");
    failure.dpop_nonce = headers.contains("dpop-nonce");
    let location = headers.get("location").filter(|_| (300..400).contains(&status));
    failure.location = location.map(|location| redacted(crate::jsonrpc::excerpt(location)));
    failure
}
