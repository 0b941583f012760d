//! What a client is configured with, and what it learns of its server.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::time::Duration;

use crate::limits::Limits;
use crate::model::{ClientCapabilities, Era, Implementation, ProtocolVersion, ServerCapabilities};
use crate::observer::Observed;
use crate::rpc::KeepAliveConfig;

/// How a client introduces itself and behaves.
///
/// ```
/// use windlass::client::{ClientConfig, Negotiation};
/// use windlass::model::Implementation;
///
/// let mut config = ClientConfig::new(Implementation::new("my-editor", "1.0.0"));
/// config.negotiation = Negotiation::Legacy;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Who the client is.
    pub info: Implementation,
    /// What the client can do for the server. Declare only what the program answers to.
    pub capabilities: ClientCapabilities,
    /// Which era to speak, and how to find out.
    pub negotiation: Negotiation,
    /// How long a call waits while nothing is heard of it: progress restarts it. Zero sets no such limit, and the
    /// total one holds. 30 s is what most clients use.
    pub idle_timeout: Duration,
    /// How long a call may take in all, whatever progress says and however long the idle time-out is; what the program
    /// takes to answer a modern server's question does not count. Zero sets no such limit. 10 minutes are more than nearly
    /// any tool takes.
    pub total_timeout: Duration,
    /// How long the handshake may take.
    pub handshake_timeout: Duration,
    /// How long a server may think about the first probe before it is taken for a legacy one. Legacy servers that
    /// ignore what they do not know cost this much once; modern ones answer in milliseconds.
    pub probe_timeout: Duration,
    /// Keep-alive pings, in the legacy era only: the modern one has none.
    pub keep_alive: Option<KeepAliveConfig>,
    /// What the server may cost.
    pub limits: Limits,
    /// Who is told of what happens.
    pub observer: Observed,
    /// Methods that the program answers. Few have any, and the others have no more than a place for them.
    #[expect(clippy::box_collection, reason = "every client has a place for it, and hardly any uses it")]
    pub(super) methods: Option<Box<BTreeSet<String>>>,
}

impl ClientConfig {
    /// A client that declares no capabilities and speaks either era.
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            capabilities: ClientCapabilities::default(),
            negotiation: Negotiation::Automatic,
            idle_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(600),
            handshake_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(3),
            keep_alive: None,
            limits: Limits::default(),
            observer: Observed::default(),
            methods: None,
        }
    }

    /// The program answers requests of a legacy server's by this method, which the specification does not have: they come
    /// as [`InputRequest::Other`](crate::model::InputRequest::Other). All others are refused by the engine.
    pub fn answer_method(&mut self, method: &str) {
        self.methods.get_or_insert_default().insert(method.into());
    }
}

/// Which era of the protocol to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Negotiation {
    /// Probe for the modern era, fall back to the legacy one.
    #[default]
    Automatic,
    /// The legacy era only, offering its newest revision.
    Legacy,
    /// Exactly this revision.
    Pinned(ProtocolVersion),
    /// What [`Peer::verdict`] said last time. It saves a legacy server the probe; a server that has changed since is
    /// probed again.
    Cached(Era),
}

impl Negotiation {
    /// Whether a modern revision may come out of it.
    pub(crate) fn allows(self, version: ProtocolVersion) -> bool {
        match self {
            Self::Automatic | Self::Cached(_) => true,
            Self::Legacy => version.era() == Era::Legacy,
            Self::Pinned(pinned) => version == pinned,
        }
    }
}

/// What the client knows of its server once the connection is negotiated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Peer {
    /// The revision that both speak.
    pub version: ProtocolVersion,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// Who the server says it is. Modern servers may keep that to themselves.
    pub info: Option<Implementation>,
    /// How the server wants to be used, for the model to read.
    pub instructions: Option<String>,
}

impl Peer {
    /// What to pass as [`Negotiation::Cached`] next time.
    pub fn verdict(&self) -> Era {
        self.version.era()
    }
}
