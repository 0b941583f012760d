//! What an authorization server says of itself (RFC 8414, OpenID Connect Discovery).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::origin;
use crate::url::Url;

/// As much of the document as a client needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) client_id_metadata_document_supported: Option<bool>,
    pub(super) authorization_response_iss_parameter_supported: Option<bool>,
}

/// Where the document of an issuer may be. One with a path has none at the root of its host: that is somebody else's.
pub(super) fn candidates(issuer: &Url) -> Vec<String> {
    let (origin, path) = (origin(issuer), issuer.target().trim_end_matches('/'));
    let mut all = Vec::from([
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ]);
    if !path.is_empty() {
        all.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    all
}

impl ServerMetadata {
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }

    /// What revision 2025-03-26 takes for granted of a server that authorizes for itself and publishes nothing.
    pub(super) fn assumed(server: &Url) -> Self {
        let origin = origin(server);
        Self {
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: Some(format!("{origin}/token")),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(Vec::from(["S256".to_string()])),
            issuer: origin,
            ..Self::default()
        }
    }

    /// Whether codes are protected from whoever else gets hold of them.
    pub(super) fn has_pkce(&self) -> bool {
        self.code_challenge_methods_supported.iter().flatten().any(|method| method == "S256")
    }

    pub(super) fn offers_scope(&self, scope: &str) -> bool {
        self.scopes_supported.iter().flatten().any(|offered| offered == scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_looked_for_where_issuers_have_them() {
        let at = |url: &str| candidates(&Url::parse(url).unwrap());
        assert_eq!(
            at("https://a/t"),
            [
                "https://a/.well-known/oauth-authorization-server/t",
                "https://a/.well-known/openid-configuration/t",
                "https://a/t/.well-known/openid-configuration",
            ]
        );
        let root =
            ["https://a:8/.well-known/oauth-authorization-server", "https://a:8/.well-known/openid-configuration"];
        assert_eq!(at("https://a:8"), root);
        assert_eq!(at("https://a:8/"), root);
    }

    #[test]
    fn only_s256_protects_codes() {
        let has = |methods: Option<&[&str]>| {
            let methods = methods.map(|methods| methods.iter().map(ToString::to_string).collect());
            ServerMetadata { code_challenge_methods_supported: methods, ..ServerMetadata::default() }.has_pkce()
        };
        assert!(has(Some(&["plain", "S256"])));
        assert!(!has(Some(&["plain"])) && !has(Some(&[])) && !has(None));
    }
}
