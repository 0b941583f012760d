//! Requests to the token endpoint, and their answers.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::device::{self, DeviceLogin};
use super::form::{self, Form};
use super::jws::{self, SignError, Signer};
use super::registration::ClientAuth;
use super::store::{Registration, Tokens};
use crate::codec::http1::Headers;
use crate::jsonrpc::excerpt;
use crate::secret::Secret;
use crate::url::Url;

/// Who asks, and how that is shown.
pub(super) struct Asking<'a> {
    pub(super) registration: &'a Registration,
    pub(super) method: ClientAuth,
    pub(super) signer: Option<&'a dyn Signer>,
    /// Whom an assertion is for.
    pub(super) audience: &'a str,
    pub(super) unix_now: u64,
    /// What an assertion is known by.
    pub(super) id: String,
}

impl Asking<'_> {
    /// Adds who asks to a request.
    pub(super) fn identify(self, mut form: Form, headers: &mut Headers) -> Result<Form, SignError> {
        let Registration { client_id, client_secret, .. } = self.registration;
        match (self.method, client_secret) {
            (ClientAuth::Basic, Some(secret)) => {
                headers.push("Authorization", form::basic(client_id, secret).expose());
            }
            (ClientAuth::Post, Some(secret)) => {
                form = form.add("client_id", client_id).add("client_secret", secret.expose());
            }
            (ClientAuth::PrivateKeyJwt, _) => {
                let signer = self.signer.ok_or_else(|| SignError("there is no signer".into()))?;
                let assertion = jws::client_assertion(signer, client_id, self.audience, self.unix_now, &self.id)?;
                form = form
                    .add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
                    .add("client_assertion", assertion.expose());
            }
            (ClientAuth::None | ClientAuth::Basic | ClientAuth::Post, _) => form = form.add("client_id", client_id),
        }
        Ok(form)
    }
}

/// A request for a token.
pub(super) struct TokenRequest {
    pub(super) purpose: TokenPurpose,
    pub(super) endpoint: Url,
    pub(super) issuer: String,
    /// Whether it is the program's own word where it goes, and not a server's.
    pub(super) trusted: bool,
    pub(super) registration: Registration,
    pub(super) scope: Option<String>,
    pub(super) resource: Option<String>,
}

pub(super) enum TokenPurpose {
    Code {
        code: Secret,
        verifier: Secret,
        redirect_uri: String,
    },
    Refresh(Secret),
    Device(Box<DeviceLogin>),
    ClientCredentials,
    JwtBearer(Secret),
    /// The first half of `Grant::EnterpriseManaged`.
    Exchange {
        id_token: Secret,
        audience: String,
    },
}

impl TokenRequest {
    /// Whether it is asked whether a user on another device is done.
    pub(super) fn is_for_device(&self) -> bool {
        matches!(self.purpose, TokenPurpose::Device(_))
    }

    /// Whether a text repeats something secret of the request. Some say which token it is that they do not know.
    pub(super) fn is_repeated_in(&self, text: &[u8]) -> bool {
        /// Bytes of a secret. What is shorter may be a part of any word.
        const SHORTEST: usize = 12;
        let (one, other) = match &self.purpose {
            TokenPurpose::Code { code, verifier, .. } => (Some(code), Some(verifier)),
            TokenPurpose::Refresh(secret)
            | TokenPurpose::JwtBearer(secret)
            | TokenPurpose::Exchange { id_token: secret, .. } => (Some(secret), None),
            TokenPurpose::Device(login) => (Some(&login.device_code), None),
            TokenPurpose::ClientCredentials => (None, None),
        };
        let secrets = [one, other, self.registration.client_secret.as_ref()].into_iter().flatten();
        let mut secrets = secrets.map(|secret| secret.expose().as_bytes()).filter(|secret| secret.len() >= SHORTEST);
        secrets.any(|secret| memchr::memmem::find(text, secret).is_some())
    }

    /// What it says, but for who asks.
    pub(super) fn form(&self) -> Form {
        let grant = |name: &str| Form::new().add("grant_type", name);
        let form = match &self.purpose {
            TokenPurpose::Code { code, verifier, redirect_uri } => grant("authorization_code")
                .add("code", code.expose())
                .add("code_verifier", verifier.expose())
                .add("redirect_uri", redirect_uri),
            TokenPurpose::Refresh(token) => grant("refresh_token").add("refresh_token", token.expose()),
            TokenPurpose::Device(login) => grant(device::GRANT_TYPE).add("device_code", login.device_code.expose()),
            TokenPurpose::ClientCredentials => grant("client_credentials"),
            TokenPurpose::JwtBearer(assertion) => {
                grant("urn:ietf:params:oauth:grant-type:jwt-bearer").add("assertion", assertion.expose())
            }
            TokenPurpose::Exchange { id_token, audience } => grant("urn:ietf:params:oauth:grant-type:token-exchange")
                .add("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag")
                .add("subject_token", id_token.expose())
                .add("subject_token_type", "urn:ietf:params:oauth:token-type:id_token")
                .add("audience", audience),
        };
        // A code stands for what was asked for with it, and is not widened or narrowed any more.
        let asks =
            !matches!(self.purpose, TokenPurpose::Code { .. } | TokenPurpose::Refresh(_) | TokenPurpose::Device(_));
        form.add_some("resource", self.resource.as_deref()).add_some("scope", self.scope.as_deref().filter(|_| asks))
    }
}

/// What a token endpoint gives.
#[derive(Deserialize)]
pub(super) struct TokenAnswer {
    pub(super) access_token: Secret,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    expires_in: Option<Seconds>,
    #[serde(default)]
    refresh_token: Option<Secret>,
    #[serde(default)]
    scope: Option<String>,
}

/// Some write numbers as texts.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Seconds {
    Number(f64),
    Text(String),
}

impl Seconds {
    pub(super) fn whole(&self) -> Option<u64> {
        let seconds = match self {
            Self::Number(seconds) => *seconds,
            Self::Text(text) => text.trim().parse().ok()?,
        };
        // No number is too large to be cut off here, and none below zero is more than zero.
        Some(seconds as u64)
    }
}

/// Why a token endpoint gives nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenFailure {
    pub(super) error: String,
    pub(super) description: String,
    /// Whether it is said as OAuth has it. What is not may be somebody else's who is in the way: a proxy, or a page where one
    /// logs in to a network.
    pub(super) is_said: bool,
}

/// What was asked for, beside what the answer says.
pub(super) struct AskedFor<'a> {
    pub(super) scope: Option<&'a str>,
    pub(super) resource: Option<&'a str>,
    pub(super) token_endpoint: &'a str,
    /// The refresh token that goes on being good if no other one comes.
    pub(super) refresh_token: Option<&'a Secret>,
    pub(super) unix_now: u64,
}

/// Reads an answer.
pub(super) fn read(status: u16, body: &[u8]) -> Result<TokenAnswer, TokenFailure> {
    if !(200..300).contains(&status) {
        return Err(failure(status, body));
    }
    let answer: TokenAnswer = match serde_json::from_slice(body) {
        Ok(answer) => answer,
        // Some say with the status of a success that there is none.
        Err(error) => return Err(said(body).unwrap_or_else(|| not_understood(&error))),
    };
    let token = answer.access_token.expose();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let description = "the token is none that could be shown to a server".into();
        return Err(TokenFailure { description, ..unreadable() });
    }
    Ok(answer)
}

/// An answer that is a success, and cannot be read. It may hold a token, so nothing of it is shown.
pub(super) fn not_understood(error: &serde_json::Error) -> TokenFailure {
    TokenFailure { description: misread(error), ..unreadable() }
}

fn unreadable() -> TokenFailure {
    TokenFailure { error: "the answer is not understood".into(), ..TokenFailure::default() }
}

/// What is wrong with JSON that may hold secrets, without a word of it. The names of members are ours.
pub(super) fn misread(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.starts_with("missing field") {
        return text;
    }
    let what = match error.classify() {
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Data => "something in it is of another type",
        _ => "it is no JSON",
    };
    format!("{what}, at line {} column {}", error.line(), error.column())
}

/// Reads an answer that is no success.
pub(super) fn failure(status: u16, body: &[u8]) -> TokenFailure {
    said(body).unwrap_or_else(|| TokenFailure {
        error: format!("HTTP status {status}"),
        description: excerpt(&String::from_utf8_lossy(body)).into(),
        is_said: false,
    })
}

/// What an answer says of why there is none, if it says it as OAuth has it.
fn said(body: &[u8]) -> Option<TokenFailure> {
    #[derive(Deserialize)]
    struct Failure {
        error: String,
        #[serde(default)]
        error_description: Option<String>,
    }
    let failure: Failure = serde_json::from_slice(body).ok()?;
    Some(TokenFailure {
        error: excerpt(&failure.error).into(),
        description: excerpt(failure.error_description.as_deref().unwrap_or_default()).into(),
        is_said: true,
    })
}

impl TokenAnswer {
    /// What is kept of it.
    pub(super) fn keep(self, asked: &AskedFor<'_>) -> Tokens {
        let lasts = self.expires_in.as_ref().and_then(Seconds::whole);
        Tokens {
            access_token: self.access_token,
            token_type: self.token_type.unwrap_or_else(|| "Bearer".into()),
            expires_at: lasts.map(|seconds| asked.unix_now.saturating_add(seconds)),
            refresh_token: self.refresh_token.or_else(|| asked.refresh_token.cloned()),
            scope: self.scope.or_else(|| asked.scope.map(Into::into)),
            requested_scope: asked.scope.map(Into::into),
            resource: asked.resource.map(Into::into),
            token_endpoint: asked.token_endpoint.into(),
        }
    }
}

/// All scopes of two lists, each once, in their order.
pub(super) fn union(first: Option<&str>, second: Option<&str>) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for scope in [first, second].into_iter().flatten().flat_map(|scopes| scopes.split_ascii_whitespace()) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    (!all.is_empty()).then(|| all.join(" "))
}

/// Whether all scopes of `some` are among `all`.
pub(super) fn covers(all: Option<&str>, some: &str) -> bool {
    let all: Vec<&str> = all.unwrap_or_default().split_ascii_whitespace().collect();
    some.split_ascii_whitespace().all(|scope| all.contains(&scope))
}
