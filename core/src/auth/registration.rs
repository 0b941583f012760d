//! How a client becomes known to an authorization server.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::config::{AuthConfig, Grant};
use super::server_metadata::ServerMetadata;
use super::store::Registration;
use super::token;
use crate::secret::Secret;
use crate::url::Url;

/// How a client shows who it is at a token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuth {
    None,
    Basic,
    Post,
    PrivateKeyJwt,
}

impl ClientAuth {
    const ALL: [Self; 4] = [Self::None, Self::Basic, Self::Post, Self::PrivateKeyJwt];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What a registered client uses: what it was told when it registered, else the first that it can and the server takes.
    pub(super) fn of(registration: &Registration, server: Option<&ServerMetadata>, has_signer: bool) -> Self {
        if let Some(method) = registration.auth_method.as_deref().and_then(Self::named) {
            return method;
        }
        let supported = server.and_then(|server| server.token_endpoint_auth_methods_supported.as_ref());
        let takes = |method: Self| supported.is_none_or(|all| all.iter().any(|other| other == method.name()));
        let said = |method: Self| supported.is_some() && takes(method);
        match registration.client_secret {
            Some(_) if takes(Self::Basic) => Self::Basic,
            Some(_) if takes(Self::Post) => Self::Post,
            Some(_) => Self::Basic,
            None if has_signer && said(Self::PrivateKeyJwt) => Self::PrivateKeyJwt,
            None => Self::None,
        }
    }
}

/// The client as the program gave it, if it is known to this authorization server.
pub(super) fn given(config: &AuthConfig, issuer: &str) -> Option<Registration> {
    let client = config.client.as_ref()?;
    if client.issuer.as_ref().is_some_and(|known_to| known_to != issuer) {
        return None;
    }
    Some(Registration { client_secret: client.client_secret.clone(), ..Registration::new(&client.client_id) })
}

/// As much of a client as is stored: passwords that the program gave, it gives again.
pub(super) fn kept(registration: Registration, config: &AuthConfig) -> Registration {
    let client_secret = registration.client_secret.filter(|_| config.client.is_none());
    Registration { client_secret, ..registration }
}

/// A client that was stored, with the password that the program gives for it.
pub(super) fn with_password(registration: Registration, config: &AuthConfig) -> Registration {
    let given = config.client.as_ref().filter(|given| given.client_id == registration.client_id);
    let password = given.and_then(|given| given.client_secret.clone());
    Registration { client_secret: password.or(registration.client_secret), ..registration }
}

/// The client by its own document, if this authorization server reads such.
pub(super) fn by_document(config: &AuthConfig, server: &ServerMetadata) -> Option<Registration> {
    let url = config.client_metadata_url.as_ref()?;
    server.client_id_metadata_document_supported.filter(|supported| *supported)?;
    Some(Registration::new(url))
}

/// Whether a client that registered itself earlier can be used for this.
pub(super) fn is_usable(registration: &Registration, grant: &Grant, unix_now: u64) -> bool {
    let in_time = registration.secret_expires_at.is_none_or(|until| until > unix_now);
    // Servers compare to the letter where users may be sent back to.
    let returns = match grant {
        Grant::Code { redirect_uri } => registration.redirect_uris.contains(redirect_uri),
        // One that was registered to send users back is not known to be allowed anything else.
        _ => registration.redirect_uris.is_empty(),
    };
    in_time && returns
}

/// What a client says of itself when it registers (RFC 7591).
#[derive(Serialize)]
struct Request<'a> {
    client_name: &'a str,
    redirect_uris: Vec<&'a str>,
    grant_types: Vec<&'static str>,
    response_types: Vec<&'static str>,
    token_endpoint_auth_method: &'static str,
    application_type: &'static str,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    dpop_bound_access_tokens: bool,
}

/// The body of a registration.
pub(super) fn request(config: &AuthConfig, server: &ServerMetadata) -> Vec<u8> {
    let (redirect_uri, first, response) = match &config.grant {
        Grant::Code { redirect_uri } => (Some(redirect_uri.as_str()), "authorization_code", Some("code")),
        Grant::Device => (None, "urn:ietf:params:oauth:grant-type:device_code", None),
        Grant::ClientCredentials => (None, "client_credentials", None),
        Grant::JwtBearer { .. } | Grant::EnterpriseManaged(_) | Grant::Token(_) => {
            (None, "urn:ietf:params:oauth:grant-type:jwt-bearer", None)
        }
    };
    let supported = server.token_endpoint_auth_methods_supported.as_deref();
    let takes = |method: &ClientAuth| supported.is_none_or(|all| all.iter().any(|other| other == method.name()));
    let method = [ClientAuth::None, ClientAuth::Basic, ClientAuth::Post].into_iter().find(takes);
    let mut grant_types = Vec::from([first]);
    if config.grant.needs_user() {
        grant_types.push("refresh_token");
    }
    let request = Request {
        client_name: &config.client_name,
        redirect_uris: redirect_uri.into_iter().collect(),
        grant_types,
        response_types: response.into_iter().collect(),
        token_endpoint_auth_method: method.unwrap_or(ClientAuth::None).name(),
        application_type: if redirect_uri.is_none_or(is_native) { "native" } else { "web" },
        dpop_bound_access_tokens: config.dpop,
    };
    serde_json::to_vec(&request).unwrap_or_default()
}

/// Whether users are sent back to a program on their own machine, and not to a page of the web.
fn is_native(redirect_uri: &str) -> bool {
    let loopback = |host: &str| matches!(host, "localhost" | "127.0.0.1" | "::1");
    Url::parse(redirect_uri).map_or(true, |url| loopback(url.host()))
}

/// What a server says to a registration.
#[derive(Deserialize)]
struct Answer {
    client_id: String,
    #[serde(default)]
    client_secret: Option<Secret>,
    #[serde(default)]
    client_secret_expires_at: Option<u64>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

pub(super) fn read(body: &[u8], grant: &Grant) -> Result<Registration, String> {
    let answer: Answer = serde_json::from_slice(body).map_err(|error| token::misread(&error))?;
    let redirect_uris = match grant {
        Grant::Code { redirect_uri } => Vec::from([redirect_uri.clone()]),
        _ => Vec::new(),
    };
    Ok(Registration {
        client_id: answer.client_id,
        client_secret: answer.client_secret.filter(|secret| !secret.expose().is_empty()),
        // Zero is for ever.
        secret_expires_at: answer.client_secret_expires_at.filter(|until| *until > 0),
        auth_method: answer.token_endpoint_auth_method,
        redirect_uris,
    })
}
