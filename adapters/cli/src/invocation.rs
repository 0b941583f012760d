//! What the command can be asked to do, as values.

use std::ffi::OsString;
use std::time::Duration;

use windlass::client::Negotiation;

use crate::arguments::Arguments;

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Invocation {
    Help,
    Version,
    /// Be the demo server.
    Serve(Runtime, Place),
    /// Be a client.
    Client(Request, Options),
}

/// What to do as a client, and with which server.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// Show around, with the demo server.
    Tour,
    List(ServerPlace),
    Call(ServerPlace, ToolCall),
    Ping(ServerPlace),
}

/// Where the demo server is to be found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    Stdio,
    Http(HttpPlace),
}

/// Where to listen, and to whom.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HttpPlace {
    pub(crate) address: String,
    /// What to show to prove who it is.
    pub(crate) certificate: Option<Certificate>,
    /// The names that it answers to, besides this machine's own.
    pub(crate) hosts: Vec<String>,
    /// The origins whose pages may call it.
    pub(crate) origins: Vec<String>,
}

/// Files with a certificate and its key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Certificate {
    pub(crate) chain: String,
    pub(crate) key: String,
}

/// How to get to the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerPlace {
    Command(ServerCommand),
    Url(String),
}

/// How to start the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerCommand {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

/// Which tool to call, with what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}

/// How to do it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) runtime: Runtime,
    pub(crate) negotiation: Negotiation,
    /// How long the whole command may take; zero for ever.
    pub(crate) timeout: Option<Duration>,
    pub(crate) json: bool,
    pub(crate) http: HttpOptions,
}

/// How to reach a URL.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct HttpOptions {
    pub(crate) headers: Vec<GivenHeader>,
    /// Files with certificate authorities.
    pub(crate) authorities: Vec<String>,
    pub(crate) insecure: bool,
}

/// Headers may be secrets.
impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions")
            .field("headers", &self.headers.len())
            .field("authorities", &self.authorities)
            .field("insecure", &self.insecure)
            .finish()
    }
}

/// A header to send.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GivenHeader {
    /// As it was typed.
    Line(String),
    /// In this variable of the environment.
    Variable(String),
}

/// The adapter to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Runtime {
    #[default]
    Blocking,
    Mio,
    Tokio,
    AsyncStd,
    Smol,
}

impl Runtime {
    pub(crate) const ALL: [Self; 5] = [Self::Blocking, Self::Mio, Self::Tokio, Self::AsyncStd, Self::Smol];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Mio => "mio",
            Self::Tokio => "tokio",
            Self::AsyncStd => "async-std",
            Self::Smol => "smol",
        }
    }
}
