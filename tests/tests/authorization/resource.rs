//! An MCP server that lets nobody in without a token of its own.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass::link::http::HttpRequest;

use crate::issuer::{Access, Issuer};
use crate::proofs::proven;
use crate::world::Answer;

pub(crate) struct Resource {
    pub(crate) url: String,
    pub(crate) host: String,
    pub(crate) is_modern: bool,
    /// Its metadata, by path.
    pub(crate) documents: BTreeMap<String, Value>,
    /// What it says of its metadata in challenges.
    pub(crate) names_metadata: Option<String>,
    /// What it calls itself, as tokens have it.
    pub(crate) resource: String,
    /// What it asks for in challenges.
    pub(crate) challenge_scope: Option<String>,
    /// What tools want to be granted.
    pub(crate) tool_scope: Option<String>,
    pub(crate) scheme: &'static str,
    pub(crate) nonce: Option<String>,
    /// Takes no token at all.
    pub(crate) refuses_all: bool,
    /// Refuses tools, whatever was granted, with this status and challenge.
    pub(crate) refuses_tools: Option<(u16, String)>,
    /// Lets legacy clients listen.
    pub(crate) lets_listen: bool,
    pub(crate) refuses_listening: bool,
    /// Requests that were carried out: their methods, and the tokens that they came with.
    pub(crate) done: Vec<(String, String)>,
    pub(crate) refused: u32,
}

impl Resource {
    pub(crate) fn new(url: &str) -> Self {
        let host = url.split("//").nth(1).unwrap().split(['/', ':']).next().unwrap();
        Self {
            url: url.into(),
            host: host.into(),
            is_modern: true,
            documents: BTreeMap::new(),
            names_metadata: None,
            resource: url.into(),
            challenge_scope: None,
            tool_scope: None,
            scheme: "Bearer",
            nonce: None,
            refuses_all: false,
            refuses_tools: None,
            lets_listen: false,
            refuses_listening: false,
            done: Vec::new(),
            refused: 0,
        }
    }

    /// Metadata at this path, which names these authorization servers.
    pub(crate) fn names(&mut self, path: &str, issuers: &[&str]) {
        let document = json!({"resource": self.resource, "authorization_servers": issuers});
        self.documents.insert(path.into(), document);
    }

    fn challenge(&self, error: Option<&str>, scope: Option<&str>) -> String {
        let mut said = Vec::new();
        let mut say = |name: &str, value: &str| said.push(format!("{name}=\"{value}\""));
        error.inspect(|error| say("error", error));
        scope.inspect(|scope| say("scope", scope));
        self.names_metadata.as_deref().inspect(|url| say("resource_metadata", url));
        format!("{} {}", self.scheme, said.join(", "))
    }

    pub(crate) fn serve(&mut self, request: &HttpRequest, issuers: &[Issuer], unix: u64) -> Answer {
        let path = request.url.target();
        if !self.url.ends_with(path) {
            return match self.documents.get(path) {
                Some(document) => Answer::json(200, document),
                None => Answer::new(404),
            };
        }
        let scope = match self.admit(request, issuers, unix) {
            Ok(scope) => scope,
            Err(answer) => {
                self.refused += 1;
                return *answer;
            }
        };
        let shown = request.headers.get("authorization").unwrap_or_default();
        let token = shown.split_once(' ').map(|(_, token)| token.to_string()).unwrap_or_default();
        match request.method {
            "GET" if self.refuses_listening => Answer::new(401).header("WWW-Authenticate", &self.challenge(None, None)),
            "GET" if self.lets_listen => Answer::new(200).header("Content-Type", "text/event-stream").open(),
            "GET" => Answer::new(405),
            "DELETE" => Answer::new(200),
            _ => self.post(request, &scope, &token),
        }
    }

    /// What the token of a request grants.
    fn admit(&self, request: &HttpRequest, issuers: &[Issuer], unix: u64) -> Result<String, Box<Answer>> {
        let refuse = |error| {
            let challenge = self.challenge(error, self.challenge_scope.as_deref());
            Box::new(Answer::new(401).header("WWW-Authenticate", &challenge))
        };
        let Some((scheme, token)) = request.headers.get("authorization").and_then(|shown| shown.split_once(' ')) else {
            return Err(refuse(None));
        };
        let invalid = refuse(Some("invalid_token"));
        let named = self.documents.values().flat_map(|document| document["authorization_servers"].as_array());
        let named: Vec<&str> = named.flatten().filter_map(Value::as_str).collect();
        let trusted = |issuer: &&Issuer| named.is_empty() || named.contains(&issuer.issuer.as_str());
        let access: Option<&Access> = issuers.iter().filter(trusted).find_map(|issuer| issuer.is_good(token, unix));
        let Some(access) = access.filter(|_| !self.refuses_all) else { return Err(invalid) };
        assert_eq!(access.resource, self.resource, "a token for somebody else comes here");
        assert_eq!(scheme, if access.key.is_some() { "DPoP" } else { "Bearer" });
        if let Some(key) = &access.key {
            let proof = request.headers.get("dpop").expect("a proof");
            let Some((thumbprint, claims)) = proven(proof, request.method, request.url.as_str(), Some(token), unix)
            else {
                return Err(refuse(Some("invalid_dpop_proof")));
            };
            assert_eq!(thumbprint, *key);
            if claims["nonce"].as_str() != self.nonce.as_deref() {
                let nonce = self.nonce.as_deref().unwrap();
                return Err(Box::new(refuse(Some("use_dpop_nonce")).header("DPoP-Nonce", nonce)));
            }
        }
        Ok(access.scope.clone())
    }

    fn post(&mut self, request: &HttpRequest, scope: &str, token: &str) -> Answer {
        let message: Value = serde_json::from_slice(&request.body).expect("JSON");
        let (method, id) = (message["method"].as_str().unwrap_or_default().to_string(), message["id"].clone());
        if method == "tools/call" {
            if let Some((status, challenge)) = &self.refuses_tools {
                self.refused += 1;
                return Answer::new(*status).header("WWW-Authenticate", challenge);
            }
            let wanted = self.tool_scope.clone().unwrap_or_default();
            if !wanted.split_whitespace().all(|wanted| scope.split(' ').any(|granted| granted == wanted)) {
                self.refused += 1;
                let challenge = self.challenge(Some("insufficient_scope"), Some(&wanted));
                return Answer::new(403).header("WWW-Authenticate", &challenge);
            }
        }
        let named = message["params"]["name"].as_str().unwrap_or_default();
        self.done.push((format!("{method} {named}").trim_end().into(), token.into()));
        let result = match method.as_str() {
            "server/discover" if !self.is_modern => return Answer::new(404),
            "server/discover" => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private",
            }),
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            }),
            "tools/call" => json!({"content": [], "resultType": "complete"}),
            _ if id.is_null() => return Answer::new(202),
            other => panic!("{other} is not served"),
        };
        let answer = Answer::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
        if method == "initialize" { answer.header("Mcp-Session-Id", "session-1") } else { answer }
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.done.iter().filter(|(done, _)| done.starts_with(method)).count()
    }
}
