//! What the command can be asked to do, as values.

use std::ffi::OsString;
use std::time::Duration;

use windlass::auth::Secret;
use windlass::client::Negotiation;

use crate::arguments::Arguments;

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Invocation {
    /// Say what there is to know, of everything or of one command.
    Help(Option<String>),
    Version,
    /// Be the demo server.
    Serve(Runtime, Place),
    /// Be a client.
    Client(Request, Options),
    /// Forget what is stored; as JSON or not.
    Logout(Forgotten, bool),
    /// Say what is stored, for all servers or for one; as JSON or not.
    AuthStatus(Option<String>, bool),
}

/// What to forget.
#[derive(Debug, PartialEq)]
pub(crate) enum Forgotten {
    Server(String),
    All,
}

/// What to do as a client, and with which server.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// Show around, with the demo server.
    Tour,
    List(ServerPlace),
    Call(ServerPlace, ToolCall),
    Ping(ServerPlace),
    /// Log in at the server with this URL.
    Login(String, LoginPlan),
}

/// How to log in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoginPlan {
    pub(crate) way: LoginWay,
    /// A client that the authorization server knows.
    pub(crate) client: Option<GivenClient>,
    /// Where a document about this client is published.
    pub(crate) client_metadata_url: Option<String>,
    /// What to ask for; what the server says if there is nothing.
    pub(crate) scopes: Vec<String>,
}

/// By which way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LoginWay {
    /// A browser on this machine, which is opened or not.
    Browser { open: bool },
    /// Any browser, on another device.
    Device,
    /// Nobody logs in: the client is who it is for.
    ClientCredentials,
    /// A browser somewhere else, for somebody who brings back where it ended up.
    PrintUrl { redirect_uri: String },
    /// Where it ended up; `-` if that is to be read from standard input.
    Finish(Secret),
}

/// A client that an authorization server knows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenClient {
    pub(crate) id: String,
    /// The variable of the environment that has its password.
    pub(crate) secret_from: Option<String>,
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
    pub(crate) auth: AuthOptions,
}

/// How far to go for authorization.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AuthOptions {
    /// Whether http and private addresses will do, for local development.
    pub(crate) allow_local: bool,
    /// Hosts that an authorization server may have beside its own.
    pub(crate) hosts: Vec<String>,
    /// Whether it was said that only what is stored is used, which all but `login` do anyway.
    pub(crate) stored_only: bool,
}

/// Headers may be secrets.
impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions")
            .field("headers", &self.headers.len())
            .field("authorities", &self.authorities)
            .field("insecure", &self.insecure)
            .field("auth", &self.auth)
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
