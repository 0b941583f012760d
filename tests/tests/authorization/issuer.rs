//! An authorization server that believes nothing: it checks who asks, for what, and by which code, and takes a refresh token
//! that comes twice for a stolen one.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windlass::link::http::HttpRequest;

use crate::proofs::{encoded, fields, hashed, proven, verified};
use crate::secrets::Secrets;
use crate::world::Answer;

pub(crate) struct Issuer {
    pub(crate) issuer: String,
    pub(crate) host: String,
    /// Where its metadata is.
    pub(crate) metadata_paths: Vec<String>,
    /// What it publishes beside the usual, or in its place; null is not published.
    pub(crate) publishes: BTreeMap<&'static str, Value>,
    pub(crate) clients: BTreeMap<String, Client>,
    /// How clients that register have to show who they are.
    pub(crate) auth_method: &'static str,
    pub(crate) token_lasts: Option<u64>,
    pub(crate) gives_refresh_tokens: bool,
    pub(crate) rotates: bool,
    /// What is said in place of `iss` when the user is sent back.
    pub(crate) iss: Option<String>,
    /// Says no to users.
    pub(crate) denies: bool,
    /// Wants proofs with this nonce.
    pub(crate) nonce: Option<String>,
    pub(crate) wants_proofs: bool,
    /// Whose assertions it believes.
    pub(crate) believes: BTreeSet<String>,
    pub(crate) device: Option<Device>,
    /// Questions after which a user on another device is done.
    pub(crate) device_questions: u32,
    pub(crate) codes: BTreeMap<String, Code>,
    pub(crate) refresh_tokens: BTreeMap<String, Refresh>,
    pub(crate) access_tokens: BTreeMap<String, Access>,
    families: u64,
    revoked: BTreeSet<u64>,
    pub(crate) reuses: u32,
    seen: BTreeSet<String>,
    /// What was asked of it: `authorize`, `token refresh_token`, `register`.
    pub(crate) asked: Vec<String>,
    /// The last form that came to the token endpoint.
    pub(crate) last_form: Vec<(String, String)>,
    pub(crate) last_login: Vec<(String, String)>,
    pub(crate) last_registration: Value,
}

pub(crate) struct Client {
    pub(crate) secret: Option<String>,
    pub(crate) method: &'static str,
    pub(crate) key: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
}

pub(crate) struct Code {
    client: String,
    challenge: String,
    redirect_uri: String,
    scope: String,
    resource: String,
    used: bool,
}

pub(crate) struct Refresh {
    client: String,
    family: u64,
    scope: String,
    resource: String,
    used: bool,
}

pub(crate) struct Access {
    pub(crate) scope: String,
    pub(crate) resource: String,
    pub(crate) until: Option<u64>,
    pub(crate) key: Option<String>,
    pub(crate) family: u64,
}

pub(crate) struct Device {
    code: String,
    scope: String,
    resource: String,
    pub(crate) questions: u32,
}

/// What the world lends while something is answered.
pub(crate) struct Now<'a> {
    pub(crate) secrets: &'a mut Secrets,
    pub(crate) unix: u64,
    /// The host whose tokens these are.
    pub(crate) resource_host: &'a str,
}

impl Issuer {
    pub(crate) fn new(issuer: &str) -> Self {
        let rest = issuer.strip_prefix("https://").or(issuer.strip_prefix("http://")).expect("a URL");
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Self {
            issuer: issuer.into(),
            host: authority.split(':').next().unwrap().into(),
            metadata_paths: vec![format!("/.well-known/oauth-authorization-server{path}")],
            publishes: BTreeMap::new(),
            clients: BTreeMap::new(),
            auth_method: "none",
            token_lasts: Some(3600),
            gives_refresh_tokens: true,
            rotates: true,
            iss: None,
            denies: false,
            nonce: None,
            wants_proofs: false,
            believes: BTreeSet::new(),
            device: None,
            device_questions: 3,
            codes: BTreeMap::new(),
            refresh_tokens: BTreeMap::new(),
            access_tokens: BTreeMap::new(),
            families: 0,
            revoked: BTreeSet::new(),
            reuses: 0,
            seen: BTreeSet::new(),
            asked: Vec::new(),
            last_form: Vec::new(),
            last_login: Vec::new(),
            last_registration: Value::Null,
        }
    }

    /// A client that it knows.
    pub(crate) fn knows(&mut self, id: &str, secret: Option<&str>, method: &'static str) {
        let secret = secret.map(String::from);
        let redirect_uris = vec![crate::world::REDIRECT.into()];
        self.clients.insert(id.into(), Client { secret, method, key: None, redirect_uris });
    }

    pub(crate) fn publish(&mut self, name: &'static str, value: impl Into<Value>) {
        self.publishes.insert(name, value.into());
    }

    pub(crate) fn count(&self, asked: &str) -> usize {
        self.asked.iter().filter(|other| other.starts_with(asked)).count()
    }

    /// All that it gave so far is good no longer.
    pub(crate) fn revoke_access(&mut self) {
        self.access_tokens.clear();
    }

    pub(crate) fn revoke_refresh(&mut self) {
        self.refresh_tokens.clear();
    }

    pub(crate) fn is_good(&self, token: &str, unix: u64) -> Option<&Access> {
        let access = self.access_tokens.get(token)?;
        let good = access.until.is_none_or(|until| until > unix) && !self.revoked.contains(&access.family);
        good.then_some(access)
    }

    fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let mut document = json!({
            "issuer": self.issuer,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "registration_endpoint": at("/register"),
            "device_authorization_endpoint": at("/device"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [self.auth_method],
        });
        for (name, value) in &self.publishes {
            document[*name] = value.clone();
        }
        if let Value::Object(members) = &mut document {
            members.retain(|_, value| !value.is_null());
        }
        document
    }

    pub(crate) fn serve(&mut self, request: &HttpRequest, now: &mut Now<'_>) -> Answer {
        let path = request.url.target();
        let body = String::from_utf8(request.body.clone()).expect("UTF-8");
        match (request.method, path.rsplit('/').next().unwrap_or_default()) {
            ("GET", _) if self.metadata_paths.iter().any(|known| known == path) => {
                self.asked.push("metadata".into());
                Answer::json(200, &self.metadata())
            }
            ("POST", "register") => self.register(&body, now),
            ("POST", "token") => self.token(request, &body, now),
            ("POST", "device") => self.device_asked(request, &body, now),
            _ => {
                self.asked.push(format!("nothing at {path}"));
                Answer::new(404)
            }
        }
    }

    fn register(&mut self, body: &str, now: &mut Now<'_>) -> Answer {
        self.asked.push("register".into());
        let said: Value = serde_json::from_str(body).expect("JSON");
        let id = format!("client-{}-of-{}", self.clients.len() + 1, self.host);
        let secret = (self.auth_method != "none").then(|| now.secrets.draw("password", &self.host));
        let uris = said["redirect_uris"].as_array().cloned().unwrap_or_default();
        let redirect_uris = uris.iter().filter_map(|uri| uri.as_str().map(String::from)).collect();
        let mut answer = json!({"client_id": id, "token_endpoint_auth_method": self.auth_method});
        if let Some(secret) = &secret {
            answer["client_secret"] = json!(secret);
            answer["client_secret_expires_at"] = json!(0);
        }
        self.clients.insert(id, Client { secret, method: self.auth_method, key: None, redirect_uris });
        self.last_registration = said;
        Answer::json(201, &answer)
    }

    /// The user opens the page. Returns where the browser is sent.
    pub(crate) fn authorize(&mut self, query: &str, now: &mut Now<'_>) -> String {
        self.asked.push("authorize".into());
        let said = fields(query);
        let get = |name: &str| said.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let need = |name: &str| get(name).unwrap_or_else(|| panic!("{name} is missing in {query}"));
        let (client, redirect_uri) = (need("client_id"), need("redirect_uri"));
        if let Some(known) = self.clients.get(&client) {
            assert!(known.redirect_uris.contains(&redirect_uri), "users are not sent to {redirect_uri}");
        } else {
            assert!(self.publishes.contains_key("client_id_metadata_document_supported"), "nobody knows {client}");
            let redirect_uris = vec![redirect_uri.clone()];
            self.clients.insert(client.clone(), Client { secret: None, method: "none", key: None, redirect_uris });
        }
        assert_eq!((need("response_type"), need("code_challenge_method")), ("code".into(), "S256".into()));
        let (state, challenge, resource) = (need("state"), need("code_challenge"), need("resource"));
        assert!(state.len() >= 32 && challenge.len() == 43);
        now.secrets.keep(&state, &self.host);
        let scope = get("scope").unwrap_or_default();
        self.last_login = said;
        let mut back = format!("{redirect_uri}?state={}", encoded(&state));
        if self.denies {
            back += "&error=access_denied&error_description=not+today";
        } else {
            let code = now.secrets.draw("code", &self.host);
            back += &format!("&code={code}");
            let used = false;
            self.codes.insert(code, Code { client, challenge, redirect_uri, scope, resource, used });
        }
        if let Some(iss) = &self.iss {
            back += &format!("&iss={}", encoded(iss));
        }
        back
    }

    /// Who asks, if that is shown as it should be.
    fn client(&mut self, request: &HttpRequest, now: &Now<'_>) -> Result<String, String> {
        let get = |name: &str| self.last_form.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let basic = request.headers.get("authorization").and_then(|value| value.strip_prefix("Basic "));
        let (id, secret, method) = match (basic, get("client_assertion")) {
            (Some(basic), None) => {
                let both = String::from_utf8(STANDARD.decode(basic).expect("base64")).expect("UTF-8");
                let (id, secret) = both.split_once(':').expect("a colon");
                let decoded = |text: &str| fields(&format!("x={text}"))[0].1.clone();
                assert_eq!((get("client_id"), get("client_secret")), (None, None), "it is said twice who asks");
                (decoded(id), Some(decoded(secret)), "client_secret_basic")
            }
            (None, Some(assertion)) => {
                let kind = get("client_assertion_type");
                assert_eq!(kind.as_deref(), Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
                let (id, client) = self.clients.iter().find(|(_, client)| client.key.is_some()).expect("a key");
                let (_, claims) = verified(&assertion, client.key.as_deref()).ok_or("invalid_client")?;
                assert_eq!((&claims["iss"], &claims["sub"]), (&json!(id), &json!(id)));
                assert_eq!(claims["aud"], json!(self.issuer));
                assert!(claims["exp"].as_u64().unwrap() > now.unix && claims["iat"].as_u64().unwrap() <= now.unix);
                let id = id.clone();
                assert!(self.seen.insert(claims["jti"].to_string()), "an assertion comes twice");
                return Ok(id);
            }
            (None, None) => {
                let secret = get("client_secret");
                let method = if secret.is_some() { "client_secret_post" } else { "none" };
                (get("client_id").ok_or("invalid_client")?, secret, method)
            }
            (Some(_), Some(_)) => panic!("it is said twice who asks"),
        };
        let client = self.clients.get(&id).ok_or("invalid_client")?;
        assert_eq!(client.method, method, "{id} shows who it is in another way");
        if client.secret == secret { Ok(id) } else { Err("invalid_client".into()) }
    }

    fn token(&mut self, request: &HttpRequest, body: &str, now: &mut Now<'_>) -> Answer {
        assert_eq!(request.headers.get("content-type"), Some("application/x-www-form-urlencoded"));
        self.last_form = fields(body);
        let grant = self.field("grant_type").expect("a grant");
        self.asked.push(format!("token {}", grant.rsplit(':').next().unwrap()));
        let refuse = |error: &str| Answer::json(400, &json!({"error": error}));
        let mut key = None;
        if self.wants_proofs {
            let url = request.url.as_str();
            let proof = request.headers.get("dpop").and_then(|proof| proven(proof, "POST", url, None, now.unix));
            let Some((thumbprint, claims)) = proof else { return refuse("invalid_dpop_proof") };
            assert!(self.seen.insert(claims["jti"].to_string()), "a proof comes twice");
            if claims["nonce"].as_str() != self.nonce.as_deref() {
                return refuse("use_dpop_nonce").header("DPoP-Nonce", self.nonce.as_deref().unwrap());
            }
            key = Some(thumbprint);
        }
        let client = match self.client(request, now) {
            Ok(client) => client,
            Err(error) => return refuse(&error),
        };
        let resource = self.field("resource");
        let given = match grant.as_str() {
            "authorization_code" => self.for_code(&client),
            "refresh_token" => self.for_refresh(&client),
            "urn:ietf:params:oauth:grant-type:device_code" => self.for_device(),
            "client_credentials" => Ok((self.field("scope").unwrap_or_default(), resource.clone().unwrap(), None)),
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                let assertion = self.field("assertion").expect("an assertion");
                match self.believes.remove(&assertion) {
                    true => Ok((self.field("scope").unwrap_or_default(), resource.clone().unwrap(), None)),
                    false => Err("invalid_grant"),
                }
            }
            "urn:ietf:params:oauth:grant-type:token-exchange" => return self.exchange(now),
            other => panic!("{other} is no grant"),
        };
        match given {
            Ok((scope, meant_for, family)) => {
                assert_eq!(resource, Some(meant_for.clone()), "the token is for another resource");
                self.give(client, scope, meant_for, family, key, &grant, now)
            }
            Err(error) => refuse(error),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.last_form.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    }

    pub(crate) fn login_field(&self, name: &str) -> Option<&str> {
        self.last_login.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn for_code(&mut self, client: &str) -> Result<(String, String, Option<u64>), &'static str> {
        let (verifier, redirect_uri) = (self.field("code_verifier"), self.field("redirect_uri"));
        let code = self.codes.get_mut(&self.last_form.iter().find(|(name, _)| name == "code").expect("a code").1);
        let code = code.ok_or("invalid_grant")?;
        assert!(!std::mem::replace(&mut code.used, true), "a code comes twice");
        assert_eq!(verifier.as_deref().map(hashed), Some(code.challenge.clone()), "the verifier is another one's");
        assert_eq!((client, redirect_uri), (code.client.as_str(), Some(code.redirect_uri.clone())));
        Ok((code.scope.clone(), code.resource.clone(), None))
    }

    fn for_refresh(&mut self, client: &str) -> Result<(String, String, Option<u64>), &'static str> {
        let token = self.field("refresh_token").expect("a token");
        let refresh = self.refresh_tokens.get_mut(&token).ok_or("invalid_grant")?;
        assert_eq!(refresh.client, client, "the token is another client's");
        if refresh.used {
            self.reuses += 1;
            self.revoked.insert(refresh.family);
        }
        if self.revoked.contains(&refresh.family) {
            return Err("invalid_grant");
        }
        refresh.used = self.rotates;
        Ok((refresh.scope.clone(), refresh.resource.clone(), Some(refresh.family)))
    }

    fn for_device(&mut self) -> Result<(String, String, Option<u64>), &'static str> {
        let code = self.field("device_code").expect("a code");
        let device = self.device.as_mut().filter(|device| device.code == code).ok_or("expired_token")?;
        device.questions += 1;
        match device.questions {
            _ if self.denies => Err("access_denied"),
            1 => Err("slow_down"),
            questions if questions < self.device_questions => Err("authorization_pending"),
            _ => {
                let device = self.device.take().unwrap();
                Ok((device.scope, device.resource, None))
            }
        }
    }

    fn exchange(&mut self, now: &mut Now<'_>) -> Answer {
        let id_token = self.field("subject_token").expect("an identity");
        assert!(self.believes.contains(&id_token), "nobody knows this user");
        assert_eq!(
            self.field("requested_token_type").as_deref(),
            Some("urn:ietf:params:oauth:token-type:id-jag"),
            "{:?}",
            self.last_form
        );
        let audience = self.field("audience").expect("an audience");
        assert!(self.field("resource").is_some());
        let host = audience.strip_prefix("https://").unwrap();
        let statement = now.secrets.draw("statement", host);
        let kind = "urn:ietf:params:oauth:token-type:id-jag";
        let answer = json!({"access_token": statement, "issued_token_type": kind, "token_type": "N_A"});
        Answer::json(200, &answer)
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is what a token is for")]
    fn give(
        &mut self,
        client: String,
        scope: String,
        resource: String,
        family: Option<u64>,
        key: Option<String>,
        grant: &str,
        now: &mut Now<'_>,
    ) -> Answer {
        let family = family.unwrap_or_else(|| {
            self.families += 1;
            self.families
        });
        let access = now.secrets.draw("access", now.resource_host);
        let kind = if key.is_some() { "DPoP" } else { "Bearer" };
        let mut answer = json!({"access_token": access, "token_type": kind, "scope": scope});
        if let Some(lasts) = self.token_lasts {
            answer["expires_in"] = json!(lasts);
        }
        let until = self.token_lasts.map(|lasts| now.unix + lasts);
        let has_user = grant != "client_credentials" && !grant.ends_with("jwt-bearer");
        if self.gives_refresh_tokens && has_user && (self.rotates || grant != "refresh_token") {
            let refresh = now.secrets.draw("refresh", &self.host);
            answer["refresh_token"] = json!(refresh);
            let kept = Refresh { client, family, scope: scope.clone(), resource: resource.clone(), used: false };
            self.refresh_tokens.insert(refresh, kept);
        }
        self.access_tokens.insert(access, Access { scope, resource, until, key, family });
        Answer::json(200, &answer)
    }

    fn device_asked(&mut self, request: &HttpRequest, body: &str, now: &mut Now<'_>) -> Answer {
        self.asked.push("device".into());
        self.last_form = fields(body);
        if let Err(error) = self.client(request, now) {
            return Answer::json(401, &json!({"error": error}));
        }
        let code = now.secrets.draw("device", &self.host);
        let (scope, resource) = (self.field("scope").unwrap_or_default(), self.field("resource").unwrap());
        self.device = Some(Device { code: code.clone(), scope, resource, questions: 0 });
        Answer::json(
            200,
            &json!({
                "device_code": code, "user_code": "WDJB-MJHT", "interval": 5, "expires_in": 300,
                "verification_uri": format!("{}/activate", self.issuer),
                "verification_uri_complete": format!("{}/activate?code=WDJB-MJHT", self.issuer),
            }),
        )
    }
}
