//! Where a server says who authorizes for it (RFC 9728).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::origin;
use crate::url::Url;

/// As much of the document as a client needs.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ResourceMetadata {
    /// What the server calls itself. It goes into requests for tokens to the letter.
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Option<Vec<String>>,
    #[serde(default)]
    pub(super) scopes_supported: Option<Vec<String>>,
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Where the document may be, if the server does not say where: for its path first, then for the whole host.
pub(super) fn candidates(server: &Url) -> Vec<String> {
    let root = [&origin(server), WELL_KNOWN].concat();
    match path(server).trim_end_matches('/') {
        "" => Vec::from([root]),
        path => Vec::from([[&root, path].concat(), root]),
    }
}

impl ResourceMetadata {
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }

    /// Whether the document is about this server: its own address, or one above it on the same host. Another's would have
    /// tokens made out to somebody else.
    pub(super) fn is_about(&self, server: &Url) -> bool {
        let Ok(resource) = Url::parse(&self.resource) else { return false };
        let (above, below) = (path(&resource).trim_end_matches('/'), path(server));
        resource.is_same_origin(server)
            && below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

fn path(url: &Url) -> &str {
    url.target().split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_looked_for_at_the_path_and_then_at_the_root() {
        let at = |url: &str| candidates(&Url::parse(url).unwrap());
        let root = "https://h:8/.well-known/oauth-protected-resource";
        assert_eq!(at("https://h:8/a/mcp?x=1"), [[root, "/a/mcp"].concat(), root.into()]);
        assert_eq!(at("https://h:8/mcp/"), [[root, "/mcp"].concat(), root.into()]);
        assert_eq!(at("https://h:8"), [root]);
    }

    #[test]
    fn a_document_is_about_a_server_at_or_below_its_address() {
        let is_about = |resource: &str, server: &str| {
            let document = ResourceMetadata { resource: resource.into(), ..ResourceMetadata::default() };
            document.is_about(&Url::parse(server).unwrap())
        };
        for resource in ["https://h/mcp", "https://h", "https://h/", "https://H:443/mcp", "https://h/mcp/"] {
            assert!(is_about(resource, "https://h/mcp"), "{resource}");
        }
        assert!(is_about("https://h/a", "https://h/a/b?x"));
        for resource in
            ["https://evil/mcp", "http://h/mcp", "https://h:8/mcp", "https://h/mc", "https://h/mcp/x", "", "x"]
        {
            assert!(!is_about(resource, "https://h/mcp"), "{resource}");
        }
    }
}
