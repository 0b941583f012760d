//! What protects a server: whom it takes tokens of, for what, and what it says of that to clients (RFC 9728, RFC 6750).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::Serialize;

use crate::principal::{Principal, TokenRejected};
use crate::url::{Url, UrlError};

/// Where a resource says who authorizes for it; its own path follows.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What is told of why a token is not good. A verifier may have put the words of others into it.
const DESCRIPTION_BYTES: usize = 200;

/// A server that only those may call who have a token for it.
///
/// ```
/// use windlass::auth::ProtectedResource;
/// use windlass::link::http::HttpServerConfig;
///
/// let mut config = HttpServerConfig::new();
/// config.authorization = Some(
///     ProtectedResource::new("https://example.com/mcp", "https://login.example.com")?
///         .required_scopes(["files:read"])
///         .scope_for_tool("delete", ["files:write"])
///         .scope_implies("files:write", ["files:read"]),
/// );
/// # Ok::<(), windlass::auth::InvalidResource>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProtectedResource {
    resource: String,
    /// The path of the resource with its query, and what is before it.
    url: Url,
    authorization_servers: Vec<String>,
    /// What can be asked for, for clients that are not told what they need.
    pub scopes_supported: Vec<String>,
    /// What people are to know the server by.
    pub resource_name: Option<String>,
    /// A page for those who write clients.
    pub resource_documentation: Option<String>,
    /// A page on what may be done with what the server gives.
    pub resource_policy_uri: Option<String>,
    /// A page with the terms of service.
    pub resource_tos_uri: Option<String>,
    /// Whom a token may be for, besides the resource as it is published: former names of the server, names that an
    /// authorization server has for it. They are compared letter by letter.
    pub audiences: Vec<String>,
    /// What a token has to allow, whatever is asked for.
    pub required_scopes: Vec<String>,
    /// Where the metadata is found, if it is not where RFC 9728 has it: behind a proxy that takes it elsewhere.
    pub metadata_url: Option<String>,
    /// How far the clocks of authorization servers may be behind ours. They keep time, but not to the second.
    pub leeway: Duration,
    /// How long it may take to verify a token; then its request is answered with 503. A fetch of new keys fits into it, and
    /// clients do not wait much longer.
    pub verify_timeout: Duration,
    /// Tokens that are being verified at a time. Beyond it requests with others are answered with 503. Each holds one token,
    /// which is at most as long as the head of a request, so that those who show made-up tokens cannot take much.
    pub verifications: usize,
    /// For how long a token that was good is taken without asking again, so that not every request waits for a
    /// verification. A token that is revoked is good for as much longer. Zero for not at all.
    pub cache_for: Duration,
    /// Tokens that are remembered so at a time, with their principals; beyond it the oldest are forgotten. Only tokens that
    /// are good get here.
    pub cached_tokens: usize,
    method_scopes: BTreeMap<String, Vec<String>>,
    tool_scopes: BTreeMap<String, Vec<String>>,
    implied_scopes: BTreeMap<String, Vec<String>>,
}

/// Why a server cannot be protected so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidResource {
    /// The resource is no URL that clients could use.
    Resource(UrlError),
    /// The resource has a fragment, which identifiers of resources have not (RFC 8707).
    Fragment,
    /// The authorization server is no URL that clients could use.
    AuthorizationServer(UrlError),
}

impl fmt::Display for InvalidResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(error) => write!(f, "the resource: {error}"),
            Self::Fragment => f.write_str("the resource: a URL with a fragment names none"),
            Self::AuthorizationServer(error) => write!(f, "the authorization server: {error}"),
        }
    }
}

impl core::error::Error for InvalidResource {}

impl ProtectedResource {
    /// A server that is published at `resource`, to be used with tokens of an authorization server, which is named by its
    /// issuer. The resource is what tokens have to be for, letter by letter.
    ///
    /// # Errors
    ///
    /// When either is no URL that clients could use.
    pub fn new(resource: impl Into<String>, authorization_server: impl Into<String>) -> Result<Self, InvalidResource> {
        let resource = resource.into();
        if resource.contains('#') {
            return Err(InvalidResource::Fragment);
        }
        let url = Url::parse(&resource).map_err(InvalidResource::Resource)?;
        let new = Self {
            resource,
            url,
            authorization_servers: Vec::new(),
            scopes_supported: Vec::new(),
            resource_name: None,
            resource_documentation: None,
            resource_policy_uri: None,
            resource_tos_uri: None,
            audiences: Vec::new(),
            required_scopes: Vec::new(),
            metadata_url: None,
            leeway: Duration::from_secs(30),
            verify_timeout: Duration::from_secs(10),
            verifications: 256,
            cache_for: Duration::from_secs(60),
            cached_tokens: 1024,
            method_scopes: BTreeMap::new(),
            tool_scopes: BTreeMap::new(),
            implied_scopes: BTreeMap::new(),
        };
        new.authorization_server(authorization_server)
    }

    /// Tokens of this authorization server are good as well.
    ///
    /// # Errors
    ///
    /// When it is no URL that clients could use.
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Result<Self, InvalidResource> {
        let issuer = issuer.into();
        Url::parse(&issuer).map_err(InvalidResource::AuthorizationServer)?;
        self.authorization_servers.push(issuer);
        Ok(self)
    }

    /// Clients can ask for these scopes.
    #[must_use]
    pub fn scopes_supported<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes_supported.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Whatever is asked for, a token has to allow this.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.required_scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// What people are to know the server by.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { resource_name: Some(name.into()), ..self }
    }

    /// A page for those who write clients.
    #[must_use]
    pub fn documentation(self, url: impl Into<String>) -> Self {
        Self { resource_documentation: Some(url.into()), ..self }
    }

    /// A token may also be for this, letter by letter.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// For how long a token that was good is taken without asking again; zero for not at all.
    #[must_use]
    pub fn cache_for(self, cache_for: Duration) -> Self {
        Self { cache_for, ..self }
    }

    /// Who calls a method, or sends a notification, needs these scopes besides those that everybody needs.
    #[must_use]
    pub fn scope_for_method<S: Into<String>>(
        mut self,
        method: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.method_scopes.entry(method.into()).or_default().extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Who calls a tool needs these scopes besides those that everybody needs, and those for `tools/call`. Clients are told of it
    /// when they call the tool, and log in again then; what [`scopes_supported`](Self::scopes_supported) names they ask for
    /// when they log in first.
    #[must_use]
    pub fn scope_for_tool<S: Into<String>>(
        mut self,
        tool: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.tool_scopes.entry(tool.into()).or_default().extend(scopes.into_iter().map(Into::into));
        self
    }

    /// A token with this scope allows what those allow, and what they imply.
    #[must_use]
    pub fn scope_implies<S: Into<String>>(
        mut self,
        scope: impl Into<String>,
        implied: impl IntoIterator<Item = S>,
    ) -> Self {
        self.implied_scopes.entry(scope.into()).or_default().extend(implied.into_iter().map(Into::into));
        self
    }

    /// The resource, as it is published.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Whose tokens are good.
    pub fn authorization_servers(&self) -> &[String] {
        &self.authorization_servers
    }

    /// Where clients find the metadata.
    pub fn metadata_url(&self) -> String {
        match &self.metadata_url {
            Some(url) => url.clone(),
            None => {
                let scheme = if self.url.is_secure() { "https://" } else { "http://" };
                let target = if self.url.target() == "/" { "" } else { self.url.target() };
                [scheme, self.url.authority(), WELL_KNOWN, target].concat()
            }
        }
    }

    /// Whether the metadata is what a path asks for, of a server whose endpoint has a path of its own.
    pub(crate) fn has_metadata_at(&self, path: &str, endpoint: &str) -> bool {
        let own = self.url.target().split('?').next().unwrap_or_default();
        path.strip_prefix(WELL_KNOWN).is_some_and(|of| of.is_empty() || of == own || of == endpoint)
    }

    /// What clients are told (RFC 9728 section 2).
    pub(crate) fn metadata(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Metadata<'a> {
            resource: &'a str,
            authorization_servers: &'a [String],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            scopes_supported: &'a [String],
            bearer_methods_supported: [&'static str; 1],
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_name: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_documentation: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_policy_uri: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_tos_uri: Option<&'a str>,
        }
        let metadata = Metadata {
            resource: &self.resource,
            authorization_servers: &self.authorization_servers,
            scopes_supported: &self.scopes_supported,
            bearer_methods_supported: ["header"],
            resource_name: self.resource_name.as_deref(),
            resource_documentation: self.resource_documentation.as_deref(),
            resource_policy_uri: self.resource_policy_uri.as_deref(),
            resource_tos_uri: self.resource_tos_uri.as_deref(),
        };
        serde_json::to_vec(&metadata).unwrap_or_default()
    }

    /// Whether a token that was verified is one for this server, and still good; `now` is the time since the Unix epoch.
    pub(crate) fn check(&self, principal: &Principal, now: Duration) -> Result<(), TokenRejected> {
        let is_ours = |audience: &String| *audience == self.resource || self.audiences.contains(audience);
        if !principal.audience.iter().any(is_ours) {
            return Err(TokenRejected::invalid(match principal.audience.is_empty() {
                true => "nobody says for which resource the token is",
                false => "the token is for another resource",
            }));
        }
        match principal.expires_at {
            Some(until) if Duration::from_secs(until).saturating_add(self.leeway) <= now => Err(TokenRejected::Expired),
            _ => Ok(()),
        }
    }

    /// What is needed, in all, to send these: methods, with the tools that they name.
    pub(crate) fn needed<'a>(&'a self, asked: &[(&str, Option<&str>)]) -> Vec<&'a str> {
        let mut needed: Vec<&str> = Vec::new();
        let mut need = |scopes: &'a [String]| {
            for scope in scopes {
                if !needed.contains(&&**scope) {
                    needed.push(scope);
                }
            }
        };
        need(&self.required_scopes);
        for (method, tool) in asked {
            need(self.method_scopes.get(*method).map_or(&[], Vec::as_slice));
            need(tool.and_then(|tool| self.tool_scopes.get(tool)).map_or(&[], Vec::as_slice));
        }
        needed
    }

    /// Whether a principal may do what needs these.
    pub(crate) fn allows(&self, principal: &Principal, needed: &[&str]) -> bool {
        let has = |scope: &&str| principal.scopes.iter().any(|granted| granted == *scope);
        if needed.iter().all(has) {
            return true;
        }
        let mut granted: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = principal.scopes.iter().map(String::as_str).collect();
        while let Some(scope) = open.pop() {
            if granted.insert(scope) {
                open.extend(self.implied_scopes.get(scope).into_iter().flatten().map(String::as_str));
            }
        }
        needed.iter().all(|scope| granted.contains(scope))
    }

    /// What a request is answered with that may not be made so: what is wrong, and what is needed.
    pub(crate) fn challenge(&self, error: Option<(&str, &str)>, scopes: &[&str]) -> String {
        let mut challenge = String::from("Bearer ");
        if let Some((code, description)) = error {
            parameter(&mut challenge, "error", code);
            challenge.push_str(", ");
            parameter(&mut challenge, "error_description", shortened(description));
            challenge.push_str(", ");
        }
        parameter(&mut challenge, "resource_metadata", &self.metadata_url());
        if !scopes.is_empty() {
            challenge.push_str(", ");
            parameter(&mut challenge, "scope", &scopes.join(" "));
        }
        challenge
    }

    /// What everybody needs.
    pub(crate) fn needed_by_all(&self) -> Vec<&str> {
        self.needed(&[])
    }
}

/// A parameter of a challenge. Whatever could end it early, or is nothing for a header, is another character there.
fn parameter(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    out.push_str("=\"");
    out.extend(value.chars().map(|letter| match letter {
        '"' | '\\' => '\'',
        ' '..='~' => letter,
        _ => '?',
    }));
    out.push('"');
}

fn shortened(text: &str) -> &str {
    let end = (0..=DESCRIPTION_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource() -> ProtectedResource {
        ProtectedResource::new("https://Example.com/mcp", "https://as.example.com").unwrap()
    }

    #[test]
    fn the_metadata_is_where_rfc_9728_has_it() {
        let at = |resource: &str| ProtectedResource::new(resource, "https://as").unwrap().metadata_url();
        assert_eq!(at("https://example.com/mcp"), "https://example.com/.well-known/oauth-protected-resource/mcp");
        assert_eq!(at("http://a:1/b?c=d"), "http://a:1/.well-known/oauth-protected-resource/b?c=d");
        assert_eq!(at("https://example.com"), "https://example.com/.well-known/oauth-protected-resource");
        assert_eq!(at("https://example.com/"), "https://example.com/.well-known/oauth-protected-resource");
        let has = |path: &str| resource().has_metadata_at(path, "/inner");
        for path in ["", "/mcp", "/inner"] {
            assert!(has(&[WELL_KNOWN, path].concat()), "{path}");
        }
        for path in ["/mcp", "", "/.well-known/oauth-protected-resourcemcp", "/.well-known/oauth-protected-resource/x"]
        {
            assert!(!has(path), "{path}");
        }
    }

    #[test]
    fn the_metadata_says_who_authorizes() {
        let resource = resource().authorization_server("https://two").unwrap().scopes_supported(["a"]).name("Files");
        assert_eq!(
            String::from_utf8(resource.metadata()).unwrap(),
            r#"{"resource":"https://Example.com/mcp","authorization_servers":["https://as.example.com","https://two"],"scopes_supported":["a"],"bearer_methods_supported":["header"],"resource_name":"Files"}"#,
        );
    }

    #[test]
    fn what_is_no_resource_is_said_at_once() {
        let fails = |resource: &str, server: &str| ProtectedResource::new(resource, server).unwrap_err();
        assert_eq!(fails("https://a/#b", "https://as"), InvalidResource::Fragment);
        assert_eq!(fails("urn:a", "https://as"), InvalidResource::Resource(UrlError::Scheme));
        assert_eq!(fails("https://a", "as"), InvalidResource::AuthorizationServer(UrlError::Scheme));
    }

    #[test]
    fn the_audience_is_compared_letter_by_letter_and_time_with_leeway() {
        let resource = resource().audience("api://old");
        let check = |audience: &str, expires: u64, now: u64| {
            let principal = Principal::new("a").audience(audience).expires_at(expires);
            resource.check(&principal, Duration::from_secs(now))
        };
        assert_eq!(check("https://Example.com/mcp", 100, 129), Ok(()));
        assert_eq!(check("https://Example.com/mcp", 100, 130), Err(TokenRejected::Expired));
        assert_eq!(check("https://Example.com/mcp", u64::MAX, 130), Ok(()));
        assert_eq!(check("api://old", 100, 1), Ok(()));
        for other in ["https://example.com/mcp", "https://Example.com/mcp/", "https://Example.com", ""] {
            assert!(matches!(check(other, 100, 1), Err(TokenRejected::Invalid(_))), "{other}");
        }
        assert!(resource.check(&Principal::new("a"), Duration::ZERO).is_err(), "for nobody");
    }

    #[test]
    fn scopes_are_needed_together_and_imply_others() {
        let resource = resource()
            .required_scopes(["mcp"])
            .scope_for_method("tools/call", ["call", "mcp"])
            .scope_for_tool("delete", ["write"])
            .scope_implies("admin", ["write", "call"])
            .scope_implies("write", ["mcp", "admin"]);
        assert_eq!(resource.needed_by_all(), ["mcp"]);
        let needed = resource.needed(&[("tools/call", Some("delete")), ("ping", None)]);
        assert_eq!(needed, ["mcp", "call", "write"]);
        let may = |scopes: &[&str]| resource.allows(&Principal::new("a").scopes(scopes.iter().copied()), &needed);
        assert!(may(&["call", "write", "mcp"]) && may(&["admin"]) && may(&["write"]));
        assert!(!may(&["call", "mcp"]) && !may(&[]));
    }

    #[test]
    fn a_challenge_stays_within_its_quotes() {
        let resource = resource();
        assert_eq!(
            resource.challenge(None, &[]),
            r#"Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource/mcp""#
        );
        let challenge = resource.challenge(Some(("invalid_token", "a\"b\\c\r\nd: é")), &["x", "y\"z"]);
        assert_eq!(
            challenge,
            "Bearer error=\"invalid_token\", error_description=\"a'b'c??d: ?\", \
             resource_metadata=\"https://example.com/.well-known/oauth-protected-resource/mcp\", scope=\"x y'z\""
        );
        assert_eq!(shortened(&"é".repeat(300)).len(), DESCRIPTION_BYTES);
        assert_eq!(shortened(&["x", &"é".repeat(300)].concat()).len(), DESCRIPTION_BYTES - 1);
    }
}
