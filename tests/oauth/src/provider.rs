//! The authorization server, from outside.

use serde::Deserialize;
use windlass::link::http::Url;

use crate::Outcome;
use crate::browser::{encoded, exchange};

/// As whom protected servers ask about tokens.
pub const RESOURCE_SERVER: &str = "resource-server";

/// Where the authorization server is.
#[derive(Clone, Debug)]
pub struct Provider {
    /// What it calls itself.
    pub issuer: String,
    /// The password of [`RESOURCE_SERVER`].
    pub server_secret: String,
}

/// What a client has asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Log {
    /// How often it registered.
    pub registrations: u32,
    /// With which scopes users were sent there, or devices began.
    pub scopes: Vec<String>,
    /// For which resources.
    pub resources: Vec<String>,
    /// Codes that were exchanged.
    pub codes: u32,
    /// Device codes that were exchanged.
    pub devices: u32,
    /// Requests with a refresh token.
    pub refreshes: u32,
    /// Those of them that were refused.
    pub refused: u32,
    /// How often the refresh token that was shown most often was shown.
    pub most_shown: u32,
}

impl Provider {
    /// The one that `run` has started, at this issuer.
    ///
    /// # Errors
    ///
    /// When the environment does not say how servers ask it about tokens.
    pub fn from_environment(issuer: &str) -> Outcome<Self> {
        let server_secret = std::env::var("OAUTH_SERVER_SECRET").map_err(|_| "OAUTH_SERVER_SECRET is not set")?;
        Ok(Self { issuer: issuer.into(), server_secret })
    }

    /// What a client has asked for.
    ///
    /// # Errors
    ///
    /// When the provider does not answer.
    pub fn log(&self, client: &str) -> Outcome<Log> {
        let url = Url::parse(&format!("{}/test/log?client={}", self.issuer, encoded(client)))?;
        Ok(serde_json::from_str(&exchange("GET", url, "", None)?.body)?)
    }

    /// Ends the access tokens of a client, so that it has to refresh them. Signed ones are good all the same.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn end_access_tokens(&self, client: &str) -> Outcome {
        let url = Url::parse(&format!("{}/test/end?client={}", self.issuer, encoded(client)))?;
        match exchange("GET", url, "", None)?.body.as_str() {
            "0" => Err("there is no token to be ended".into()),
            _ => Ok(()),
        }
    }

    /// Revokes a token, and everything that was granted with it, as the client that it belongs to (RFC 7009).
    ///
    /// # Errors
    ///
    /// When it is not revoked.
    pub fn revoke(&self, client: &str, token: &str) -> Outcome {
        let url = Url::parse(&format!("{}/token/revocation", self.issuer))?;
        let form = format!("client_id={}&token={}", encoded(client), encoded(token));
        match exchange("POST", url, "", Some(&form))? {
            page if page.status == 200 => Ok(()),
            page => Err(format!("a token cannot be revoked: {} {}", page.status, page.body).into()),
        }
    }
}
