//! A protected MCP server and the authorization server that it names, on two ports of this machine. Both do what they have
//! to and check what they can: PKCE, redirect addresses, rotated refresh tokens, resources.

pub(crate) mod http;

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Request, Response, encoded, form};
use serde_json::{Value, json};

/// What all secrets begin with, so that none is overlooked.
pub(crate) const SECRET: &str = "hush-";

/// The one client that is known without registering: its password is in the tests' environment.
pub(crate) const KNOWN_CLIENT: &str = "known";
pub(crate) const KNOWN_SECRET: &str = "hush-password";

#[derive(Clone)]
pub(crate) struct Authority {
    /// The MCP server.
    pub(crate) url: String,
    pub(crate) issuer: String,
    state: Arc<Mutex<State>>,
}

pub(crate) struct State {
    pub(crate) is_protected: bool,
    /// How long tokens last.
    pub(crate) expires_in: u64,
    /// What its metadata says in place of the truth.
    pub(crate) metadata: BTreeMap<&'static str, Value>,
    /// What it says in place of a code.
    pub(crate) denial: Option<(String, String)>,
    /// How often a device is told to wait.
    pub(crate) device_waits: u32,
    /// Endpoints that were used, in their order.
    pub(crate) used: Vec<String>,
    /// What comes with refused requests, and what a token has to be for.
    pub(crate) scope: &'static str,
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
    /// Refresh tokens that were used once.
    spent: BTreeSet<String>,
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// The clients that have registered, and where their users come back to.
    clients: BTreeMap<String, Vec<String>>,
    count: u32,
}

impl State {
    fn draw(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{SECRET}{what}-{}", self.count)
    }

    fn grant(&mut self, scope: &str, refreshable: bool) -> Response {
        let access = self.draw("access");
        self.access.insert(access.clone(), scope.to_owned());
        let mut given = json!({"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in,
            "scope": scope});
        if refreshable {
            let refresh = self.draw("refresh");
            self.refresh.insert(refresh.clone(), scope.to_owned());
            given["refresh_token"] = refresh.into();
        }
        Response::json("200 OK", &given)
    }
}

impl Authority {
    pub(crate) fn start() -> Self {
        let [server, authority] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let origin = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let state = State {
            is_protected: true,
            expires_in: 3600,
            metadata: BTreeMap::new(),
            denial: None,
            device_waits: 1,
            used: Vec::new(),
            scope: "mcp",
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            spent: BTreeSet::new(),
            codes: BTreeMap::new(),
            clients: BTreeMap::new(),
            count: 0,
        };
        let this =
            Self { url: origin(&server) + "/mcp", issuer: origin(&authority), state: Arc::new(Mutex::new(state)) };
        let (at_server, at_authority) = (this.clone(), this.clone());
        http::serve(server, move |request| at_server.serve(request));
        http::serve(authority, move |request| at_authority.authorize(request));
        this
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The endpoints that were used since the last look.
    pub(crate) fn used(&self) -> Vec<String> {
        std::mem::take(&mut self.state().used)
    }

    /// No token that was given so far is good any more, but refresh tokens are.
    pub(crate) fn expire_tokens(&self) {
        self.state().access.clear();
    }

    pub(crate) fn revoke_everything(&self) {
        self.state().access.clear();
        self.state().refresh.clear();
    }

    // --- The MCP server --------------------------------------------------------------------------------------------

    fn serve(&self, request: &Request) -> Response {
        if request.path == "/.well-known/oauth-protected-resource/mcp" {
            return Response::json(
                "200 OK",
                &json!({"resource": self.url, "authorization_servers": [self.issuer], "scopes_supported": ["mcp"]}),
            );
        }
        let state = self.state();
        let shown = request.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let granted = shown.and_then(|token| state.access.get(token));
        let origin = self.url.strip_suffix("/mcp").unwrap();
        let wanted = |error: &str| {
            let value = format!(
                "Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", scope=\"{}\"{error}",
                state.scope
            );
            vec![("WWW-Authenticate", value)]
        };
        match granted {
            _ if !state.is_protected => {}
            None => return Response { headers: wanted(""), ..Response::empty("401 Unauthorized") },
            Some(granted) if !granted.split(' ').any(|scope| scope == state.scope) => {
                let headers = wanted(", error=\"insufficient_scope\"");
                return Response { headers, ..Response::empty("403 Forbidden") };
            }
            Some(_) => {}
        }
        match request.method.as_str() {
            "POST" => answer(&serde_json::from_str(&request.body).unwrap()),
            "DELETE" => Response::empty("204 No Content"),
            _ => Response::empty("405 Method Not Allowed"),
        }
    }

    // --- The authorization server ----------------------------------------------------------------------------------

    fn authorize(&self, request: &Request) -> Response {
        let endpoint = request.path.trim_start_matches('/').to_owned();
        let given = form(&request.body);
        let what = match given.get("grant_type") {
            Some(grant) => format!("{endpoint} {}", grant.rsplit(':').next().unwrap_or_default()),
            None => endpoint.clone(),
        };
        let mut state = self.state();
        state.used.push(what);
        match endpoint.as_str() {
            ".well-known/oauth-authorization-server" => {
                let mut metadata = json!({
                    "issuer": self.issuer,
                    "authorization_endpoint": format!("{}/authorize", self.issuer),
                    "token_endpoint": format!("{}/token", self.issuer),
                    "registration_endpoint": format!("{}/register", self.issuer),
                    "device_authorization_endpoint": format!("{}/device", self.issuer),
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                });
                for (name, value) in &state.metadata {
                    metadata[*name] = value.clone();
                }
                Response::json("200 OK", &metadata)
            }
            "register" => {
                let asked: Value = serde_json::from_str(&request.body).unwrap();
                let back = asked["redirect_uris"].as_array().into_iter().flatten();
                let back: Vec<_> = back.map(|uri| uri.as_str().unwrap().to_owned()).collect();
                let id = format!("client-{}", state.clients.len());
                state.clients.insert(id.clone(), back);
                Response::json("201 Created", &json!({"client_id": id, "token_endpoint_auth_method": "none"}))
            }
            "authorize" => self.log_in(&mut state, &request.query),
            "device" => {
                // It said what it is for when it registered.
                let for_browsers =
                    given.get("client_id").and_then(|id| state.clients.get(id)).is_some_and(|back| !back.is_empty());
                if for_browsers {
                    return Response::json("400 Bad Request", &json!({"error": "unauthorized_client"}));
                }
                let code = state.draw("device");
                let page = format!("{}/activate", self.issuer);
                Response::json(
                    "200 OK",
                    &json!({"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": page,
                        "verification_uri_complete": format!("{page}?user_code=WDJB-MJHT"), "expires_in": 60,
                        "interval": 1}),
                )
            }
            "token" => {
                let outcome = self.token(&mut state, request, &given);
                outcome.unwrap_or_else(|error| {
                    let problem = json!({"error": error, "error_description": "\u{1b}[2Jno"});
                    Response::json("400 Bad Request", &problem)
                })
            }
            _ => Response::empty("404 Not Found"),
        }
    }

    /// A user who agrees to everything.
    fn log_in(&self, state: &mut State, asked: &BTreeMap<String, String>) -> Response {
        let known = state.clients.get(&asked["client_id"]).is_some_and(|back| back.contains(&asked["redirect_uri"]));
        assert!(known || asked["client_id"] == KNOWN_CLIENT, "{asked:?}");
        assert_eq!((&*asked["response_type"], &*asked["code_challenge_method"]), ("code", "S256"));
        assert_eq!(asked["resource"], self.url);
        let outcome = match &state.denial {
            Some((error, description)) => format!("error={error}&error_description={}", encoded(description)),
            None => {
                let code = state.draw("code");
                state.codes.insert(code.clone(), asked.clone());
                format!("code={code}")
            }
        };
        let (back, login) = (&asked["redirect_uri"], encoded(&asked["state"]));
        let location = format!("{back}?{outcome}&state={login}&iss={}", encoded(&self.issuer));
        Response { headers: vec![("Location", location)], ..Response::empty("302 Found") }
    }

    fn token(
        &self,
        state: &mut State,
        request: &Request,
        given: &BTreeMap<String, String>,
    ) -> Result<Response, &'static str> {
        assert_eq!(given["resource"], self.url);
        let basic = format!("Basic {}", STANDARD.encode(format!("{KNOWN_CLIENT}:{KNOWN_SECRET}")));
        let is_known_client = request.headers.get("authorization") == Some(&basic);
        let client = if is_known_client { KNOWN_CLIENT } else { given.get("client_id").ok_or("invalid_client")? };
        if client == KNOWN_CLIENT && !is_known_client {
            return Err("invalid_client");
        }
        match given["grant_type"].as_str() {
            "authorization_code" => {
                let asked = state.codes.remove(&given["code"]).ok_or("invalid_grant")?;
                let challenge = URL_SAFE_NO_PAD.encode(hmac_sha256::Hash::hash(given["code_verifier"].as_bytes()));
                let is_same = asked["code_challenge"] == challenge
                    && asked["redirect_uri"] == given["redirect_uri"]
                    && asked["client_id"] == client;
                if !is_same {
                    return Err("invalid_grant");
                }
                let scope = asked.get("scope").map_or("", String::as_str);
                Ok(state.grant(scope, true))
            }
            "refresh_token" => {
                let token = given["refresh_token"].clone();
                // One that comes twice was stolen.
                assert!(!state.spent.contains(&token), "{token} was used twice");
                let scope = state.refresh.remove(&token).ok_or("invalid_grant")?;
                state.spent.insert(token);
                Ok(state.grant(&scope, true))
            }
            "urn:ietf:params:oauth:grant-type:device_code" if state.device_waits > 0 => {
                state.device_waits -= 1;
                Err("authorization_pending")
            }
            "urn:ietf:params:oauth:grant-type:device_code" => Ok(state.grant("mcp", true)),
            "client_credentials" if is_known_client => Ok(state.grant("mcp", false)),
            _ => Err("unauthorized_client"),
        }
    }
}

/// A small legacy server.
fn answer(message: &Value) -> Response {
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "vault", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "open", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "it is open"}]}),
        "ping" => json!({}),
        _ if message["id"].is_null() => return Response::empty("202 Accepted"),
        _ => {
            let error = json!({"code": -32601, "message": "unknown"});
            return Response::json("200 OK", &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    Response::json("200 OK", &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
