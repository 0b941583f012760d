//! How a client gets its tokens.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::guard::GuardPolicy;
use super::jws::Signer;
use super::login::Redirected;
use crate::secret::Secret;

/// How a client gets its tokens, and how much it puts up with on the way there.
///
/// ```
/// use windlass::auth::{AuthConfig, Grant};
///
/// let config = AuthConfig::new(Grant::code("http://127.0.0.1:7777/callback")).client_name("Field notes");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct AuthConfig {
    /// What tokens are given for.
    pub grant: Grant,
    /// A client that the authorization server knows already.
    pub client: Option<KnownClient>,
    /// Where a document about this client is published (Client ID Metadata Document): its id at servers that read it.
    pub client_metadata_url: Option<String>,
    /// What the client is called where it registers itself.
    pub client_name: String,
    /// What to ask for, in place of what the server says. What it wants later is added to it.
    pub scopes: Option<Vec<String>>,
    /// Which URLs that a server names may be fetched.
    pub guard: GuardPolicy,
    /// What signs: assertions of who the client is, and proofs that a token is its own.
    pub signer: Option<Arc<dyn Signer>>,
    /// Whether tokens are bound to the signer's key (RFC 9449). Where a server asks for it they are in any case, if there
    /// is a signer.
    pub dpop: bool,
    /// Whether users can be asked: the program acts on prompts. If it does not, a login that is needed is an error.
    pub interactive: bool,
    /// Whether only what is stored is used: tokens are refreshed, but nobody logs in.
    pub stored_only: bool,
    /// What the user came back with from a login of an earlier connection.
    pub redirected: Option<Redirected>,
    /// How long one request to an authorization server may take. 20 s are longer than any answers that is well.
    pub request_timeout: Duration,
    /// How long before its end a token is refreshed. A minute is more than clocks differ by, and requests take.
    pub early: Duration,
    /// How long a login may take. Authorization servers give up after ten minutes or so.
    pub login_timeout: Duration,
}

/// What tokens are given for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Grant {
    /// The user logs in on a page in a browser, and is sent back (RFC 6749, 4.1, with PKCE).
    Code {
        /// Where to: a loopback address of this machine, or a page of the program's own.
        redirect_uri: String,
    },
    /// The user logs in on another device (RFC 8628).
    Device,
    /// The client itself is who it is for (RFC 6749, 4.4).
    ClientCredentials,
    /// Somebody else says who it is for, by a signed statement (RFC 7523): a platform, of the workload that runs on it. It is
    /// shown to the authorization server that the MCP server names, which could use it elsewhere: say by
    /// [`KnownClient::issuer`] which one it is meant for.
    JwtBearer {
        /// The statement.
        assertion: Secret,
    },
    /// The user's employer says so: the identity provider exchanges the user's identity for a statement to the
    /// authorization server.
    EnterpriseManaged(IdentityProvider),
    /// The program has a token.
    Token(Secret),
}

/// Where a user has logged in already, for [`Grant::EnterpriseManaged`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Its token endpoint. It is the program's word, so the guard does not look at it.
    pub token_endpoint: String,
    /// As what the client is known there.
    pub client_id: String,
    /// Its password there, if it has one.
    pub client_secret: Option<Secret>,
    /// What it says of the user.
    pub id_token: Secret,
}

impl IdentityProvider {
    /// A provider without a password for the client.
    pub fn new(token_endpoint: impl Into<String>, client_id: impl Into<String>, id_token: Secret) -> Self {
        Self { token_endpoint: token_endpoint.into(), client_id: client_id.into(), client_secret: None, id_token }
    }
}

/// A client that an authorization server knows already.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KnownClient {
    /// Its id.
    pub client_id: String,
    /// Its password, if it has one.
    pub client_secret: Option<Secret>,
    /// The authorization server that knows it. Without one it is taken to be the first that the server names.
    pub issuer: Option<String>,
}

impl KnownClient {
    /// A client without a password.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self { client_id: client_id.into(), client_secret: None, issuer: None }
    }

    /// The same, with a password.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(Secret::new(secret));
        self
    }

    /// The same, known to this authorization server and no other.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

impl Grant {
    /// The user logs in on a page in a browser, and is sent back to this address.
    pub fn code(redirect_uri: impl Into<String>) -> Self {
        Self::Code { redirect_uri: redirect_uri.into() }
    }

    /// The program has a token.
    pub fn token(token: impl Into<Secret>) -> Self {
        Self::Token(token.into())
    }

    /// Somebody else says who it is for, by this signed statement.
    pub fn jwt_bearer(assertion: impl Into<Secret>) -> Self {
        Self::JwtBearer { assertion: assertion.into() }
    }

    /// Whether it takes a user who does something.
    pub(super) fn needs_user(&self) -> bool {
        matches!(self, Self::Code { .. } | Self::Device)
    }
}

impl AuthConfig {
    /// A client that registers itself where it has to.
    pub fn new(grant: Grant) -> Self {
        Self {
            grant,
            client: None,
            client_metadata_url: None,
            client_name: String::from("windlass"),
            scopes: None,
            guard: GuardPolicy::default(),
            signer: None,
            dpop: false,
            interactive: false,
            stored_only: false,
            redirected: None,
            request_timeout: Duration::from_secs(20),
            early: Duration::from_secs(60),
            login_timeout: Duration::from_secs(600),
        }
    }

    /// A client that the authorization server knows already.
    #[must_use]
    pub fn client(mut self, client: KnownClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Where a document about this client is published.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// What the client is called where it registers itself: users see it when they log in.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// What to ask for, in place of what the server says.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// What signs.
    #[must_use]
    pub fn signer(mut self, signer: Arc<dyn Signer>) -> Self {
        self.signer = Some(signer);
        self
    }

    /// Binds tokens to the signer's key (RFC 9449).
    #[must_use]
    pub fn dpop(mut self) -> Self {
        self.dpop = true;
        self
    }

    /// Allows http, and addresses of this machine and of private networks: for local development alone.
    #[must_use]
    pub fn allow_local(mut self) -> Self {
        self.guard.allow_http = true;
        self.guard.allow_private = true;
        self
    }

    /// The program acts on prompts, so users can be asked. Adapters say so by themselves where there is an `on_login`.
    #[must_use]
    pub fn interactive(mut self) -> Self {
        self.interactive = true;
        self
    }

    /// Goes on with a login of an earlier connection: with what the user came back with. The store and the server have to be
    /// the same.
    #[must_use]
    pub fn finish(mut self, redirected: Redirected) -> Self {
        self.redirected = Some(redirected);
        self
    }
}

impl fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthConfig")
            .field("grant", &self.grant)
            .field("client", &self.client)
            .field("client_name", &self.client_name)
            .field("scopes", &self.scopes)
            .field("guard", &self.guard)
            .field("stored_only", &self.stored_only)
            .finish_non_exhaustive()
    }
}
