//! Requests for tokens, and what follows from their answers.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use super::super::change::{Change, Source};
use super::super::device::{self};
use super::super::dpop::{self};
use super::super::jws::base64url;
use super::super::origin;
use super::super::registration::{self, ClientAuth};
use super::super::server_metadata::ServerMetadata;
use super::super::step::Fetched;
use super::super::store::Registration;
use super::super::token::{self, AskedFor, Asking, TokenPurpose, TokenRequest};
use super::{Attempt, Authorization, FlowState, form_headers, is_unwell};
use crate::error::AuthError;
use crate::secret::Secret;
use crate::time::Instant;
use crate::url::Url;

impl Authorization {
    pub(super) fn request_token(
        &mut self,
        attempt: Attempt,
        mut request: TokenRequest,
        nonce_given: bool,
        now: Instant,
    ) {
        let mut headers = form_headers();
        let id = base64url(&self.entropy.bytes::<16>());
        let server = attempt.server.as_ref().filter(|_| !request.trusted);
        request.registration = self.with_method(request.registration, server);
        let asking = self.asking(&request.registration, server, &request.issuer, id, now);
        let form = match asking.identify(request.form(), &mut headers) {
            Ok(form) => form,
            Err(error) => return self.fail(AuthError::Signing(error.to_string()), now),
        };
        let bound = !matches!(request.purpose, TokenPurpose::Exchange { .. }) && self.binds_tokens(&attempt);
        if bound {
            match self.proof("POST", &request.endpoint, None, now) {
                Ok(proof) => headers.push("DPoP", proof.expose()),
                Err(error) => return self.fail(error, now),
            }
        }
        self.fetch("POST", request.endpoint.clone(), headers, form.finish().into_bytes(), request.trusted);
        self.state = FlowState::RequestingToken { attempt, request, nonce_given };
    }

    /// A client that says how it shows who it is: who refreshes a token later does not know what the server takes.
    pub(super) fn with_method(&self, mut registration: Registration, server: Option<&ServerMetadata>) -> Registration {
        let method = ClientAuth::of(&registration, server, self.config.signer.is_some());
        registration.auth_method.get_or_insert_with(|| method.name().into());
        registration
    }

    pub(super) fn asking<'a>(
        &'a self,
        registration: &'a Registration,
        server: Option<&ServerMetadata>,
        issuer: &'a str,
        id: String,
        now: Instant,
    ) -> Asking<'a> {
        let signer = self.config.signer.as_deref();
        Asking {
            registration,
            method: ClientAuth::of(registration, server, signer.is_some()),
            signer,
            audience: issuer,
            unix_now: self.unix_seconds(now),
            id,
        }
    }

    pub(super) fn token_answered(
        &mut self,
        attempt: Attempt,
        request: TokenRequest,
        nonce_given: bool,
        answer: &Fetched,
        now: Instant,
    ) {
        let failure = match token::read(answer.status, &answer.body) {
            Ok(given) => {
                if matches!(request.purpose, TokenPurpose::Exchange { .. }) {
                    return self.request_directly(attempt, TokenPurpose::JwtBearer(given.access_token), now);
                }
                let refresh_token = match &request.purpose {
                    TokenPurpose::Refresh(token) => Some(token),
                    _ => None,
                };
                let tokens = given.keep(&AskedFor {
                    scope: request.scope.as_deref(),
                    resource: request.resource.as_deref(),
                    token_endpoint: request.endpoint.as_str(),
                    refresh_token,
                    unix_now: self.unix_seconds(now),
                });
                let source = if refresh_token.is_some() { Source::Refreshed } else { Source::Granted };
                let registration = registration::kept(request.registration, &self.config);
                let (issuer, tokens) = (request.issuer, Box::new(tokens));
                let change = Change::PutTokens { issuer, registration, tokens, source };
                return self.change(attempt, change, now);
            }
            Err(mut failure) => {
                if request.is_repeated_in(&answer.body) {
                    failure.description = "what it says repeats what is secret".into();
                }
                if request.is_repeated_in(failure.error.as_bytes()) {
                    failure.error = alloc::format!("HTTP status {}", answer.status);
                }
                failure
            }
        };
        if failure.error == "use_dpop_nonce" && !nonce_given && answer.headers.contains("dpop-nonce") {
            return self.request_token(attempt, request, true, now);
        }
        let unwell = is_unwell(answer.status);
        let given = self.config.client.is_some();
        let forgotten = matches!(failure.error.as_str(), "invalid_client" | "unauthorized_client") && !given;
        match request.purpose {
            TokenPurpose::Device(login) if unwell => {
                self.wait_for_device(attempt, Box::new(device::slower(*login)), now);
            }
            TokenPurpose::Device(login) if device::goes_on(&failure.error) => {
                self.wait_for_device(attempt, Box::new(device::after(&failure.error, *login)), now);
            }
            TokenPurpose::Device(_) if failure.error == "expired_token" => self.fail(AuthError::TimedOut, now),
            TokenPurpose::Device(_) if failure.error == "access_denied" => {
                self.fail(AuthError::Denied { error: failure.error, description: failure.description }, now);
            }
            _ if unwell => {
                let reason = alloc::format!("HTTP status {}: {}", answer.status, failure.description);
                self.fail(AuthError::Unavailable { url: request.endpoint.to_string(), reason }, now);
            }
            TokenPurpose::Refresh(_) if forgotten => {
                self.tokens = None;
                let (issuer, client_id) = (request.issuer, request.registration.client_id);
                self.change(attempt, Change::DropClient { issuer, client_id, error: None }, now);
            }
            // Whatever is wrong with it, it will be the next time.
            TokenPurpose::Refresh(refused) if failure.is_said || matches!(answer.status, 400 | 401) => {
                self.tokens = None;
                self.change(attempt, Change::DropTokens { issuer: request.issuer, refused }, now);
            }
            // Somebody else is in the way, and the token may be good.
            TokenPurpose::Refresh(_) if answer.status >= 400 => {
                let reason = alloc::format!("HTTP status {}, and no word of the token", answer.status);
                self.fail(AuthError::Unavailable { url: request.endpoint.to_string(), reason }, now);
            }
            _ => {
                let (error, description) = (failure.error, failure.description);
                let error = AuthError::TokenRefused { error, description };
                if !forgotten || request.trusted {
                    return self.fail(error, now);
                }
                let (issuer, client_id) = (request.issuer, request.registration.client_id);
                self.change(attempt, Change::DropClient { issuer, client_id, error: Some(Box::new(error)) }, now);
            }
        }
    }

    /// Whether tokens are bound to our key.
    pub(super) fn binds_tokens(&self, attempt: &Attempt) -> bool {
        let bound = self.tokens.as_ref().is_some_and(|used| used.tokens.token_type.eq_ignore_ascii_case("dpop"));
        self.config.signer.is_some() && (self.config.dpop || attempt.wanted.dpop || bound)
    }

    /// A proof that a request is ours.
    pub(super) fn proof(
        &mut self,
        method: &str,
        url: &Url,
        token: Option<&Secret>,
        now: Instant,
    ) -> Result<Secret, AuthError> {
        let id = base64url(&self.entropy.bytes::<16>());
        let unix_now = self.unix_seconds(now);
        let signer = self.config.signer.as_deref().ok_or_else(|| AuthError::Signing("there is no signer".into()))?;
        let target = url.as_str().split('?').next().unwrap_or_default();
        let nonce = self.nonces.get(&origin(url));
        dpop::proof(signer, method, target, unix_now, &id, nonce, token)
            .map_err(|error| AuthError::Signing(error.to_string()))
    }
}
