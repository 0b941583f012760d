//! One exchange: what it is for, how far it is.

use alloc::string::String;
use alloc::sync::Arc;

use super::super::url::redacted;
use super::body::Body;
use super::request::HttpRequest;
use crate::codec::http1::Headers;
use crate::error::{ConnError, HttpFailure};
use crate::model::{Method, MethodInfo};
use crate::session::{Label, MethodName, Outgoing};
use crate::time::Instant;

/// Names one request of HTTP and its response. It is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub(super) u64);

/// An exchange that is open.
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    pub(super) request: Arc<HttpRequest>,
    pub(super) stage: Stage,
    pub(super) body: Body,
    /// Of what a response says that is no success.
    pub(super) failure: Option<HttpFailure>,
    /// The type of a body that is not the one that was asked for.
    pub(super) wrong_type: Option<String>,
    /// Whether it was sent in a session.
    pub(super) in_session: bool,
    /// Which of the client's beginnings and credentials it was sent with.
    pub(super) beginning: u32,
    pub(super) credentials: u32,
    pub(super) redirects: u32,
    /// Whether it went where the program said, or where that has moved for good.
    pub(super) settled: bool,
    pub(super) challenged: bool,
    /// Whether it is made again, because it did not come in time.
    pub(super) late: bool,
    /// The session that the response grants, if it is that of a handshake.
    pub(super) granted: Option<String>,
    /// Since when there is a stream of events.
    pub(super) streams_since: Option<Instant>,
    /// Bytes of the request that are not sent yet.
    pub(super) unsent_bytes: usize,
    pub(super) deadline: Option<Instant>,
    /// Whether it counts among those that are made at a time.
    pub(super) has_turn: bool,
}

/// What an exchange is for.
pub(super) enum Purpose {
    /// A request, whose answer comes in the response.
    Request(Asked),
    /// A request, whose answer comes on the stream of the HTTP+SSE transport.
    Dropped(i64),
    /// A notification or an answer. Whether it is `notifications/initialized`, for which all others wait.
    Message { announces: bool },
    /// The stream on which a legacy server speaks unasked.
    Listen(Tries),
    /// The stream of the HTTP+SSE transport.
    Events,
    /// The end of the session.
    Delete,
}

/// What an exchange may have beyond its share of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing.
    Usual,
    /// The reserve, too: others may wait for it, so it must not wait for them.
    Urgent,
    /// A connection of its own. A stream on which the server may speak for hours would otherwise leave none to a client
    /// that may have only one.
    Standing,
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
    pub(super) tries: Tries,
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
pub(super) struct Tries {
    /// Since an event came on it, or it lasted.
    pub(super) silent: u32,
    /// Since it brought a message that was new, or lasted.
    pub(super) fruitless: u32,
}

/// What a stream that is over was good for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worth {
    pub(super) lively: bool,
    pub(super) fruitful: bool,
}

impl Tries {
    /// One more, after a stream that was worth this.
    pub(super) fn after(self, worth: Worth) -> Self {
        let silent = if worth.lively { 0 } else { self.silent };
        let fruitless = if worth.fruitful { 0 } else { self.fruitless };
        Self { silent: silent + 1, fruitless: fruitless + 1 }
    }
}

/// How far an exchange is.
pub(super) enum Stage {
    /// There is no response yet.
    Asked,
    /// The head is there.
    Answering,
    /// The response is there, or will never be.
    Over(Ending),
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
pub(super) enum Ending {
    Complete,
    Broken(ConnError),
}

impl Exchange {
    pub(super) fn new(purpose: Purpose, request: HttpRequest) -> Self {
        Self {
            purpose,
            request: Arc::new(request),
            stage: Stage::Asked,
            body: Body::default(),
            failure: None,
            wrong_type: None,
            in_session: false,
            beginning: 0,
            credentials: 0,
            redirects: 0,
            settled: true,
            challenged: false,
            late: false,
            granted: None,
            streams_since: None,
            unsent_bytes: 0,
            deadline: None,
            has_turn: false,
        }
    }

    /// The same, with another request in place of the one that was made.
    pub(super) fn with_request(self, request: HttpRequest) -> Self {
        Self {
            in_session: self.in_session,
            beginning: self.beginning,
            redirects: self.redirects,
            settled: self.settled,
            challenged: self.challenged,
            late: self.late,
            deadline: self.deadline,
            body: self.body.again(),
            ..Self::new(self.purpose, request)
        }
    }

    /// Whether somebody outside is at it.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Asked | Stage::Answering)
    }

    pub(super) fn claim(&self) -> Claim {
        match &self.purpose {
            Purpose::Message { .. } => Claim::Urgent,
            // Calls may hold all connections when the session is begun anew.
            Purpose::Request(asked) if asked.info().is_some_and(|info| info.handshake) => Claim::Urgent,
            Purpose::Listen(_) | Purpose::Events => Claim::Standing,
            Purpose::Request(_) | Purpose::Dropped(_) | Purpose::Delete => Claim::Usual,
        }
    }

    /// The message that it carries, to be sent once more; none if it is another try at its stream.
    pub(super) fn message(&self) -> Option<Outgoing> {
        let Purpose::Request(asked) = &self.purpose else { return None };
        let bytes = self.request.body.clone();
        (!bytes.is_empty()).then(|| Outgoing { label: asked.label.clone(), bytes })
    }

    /// The request whose answer is waited for here.
    pub(super) fn number(&self) -> Option<i64> {
        match &self.purpose {
            Purpose::Request(asked) if !asked.answered => Some(asked.number),
            Purpose::Dropped(number) => Some(*number),
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
    let location = headers.get("location").filter(|_| (300..400).contains(&status));
    failure.location = location.map(|location| redacted(crate::jsonrpc::excerpt(location)));
    failure
}
