//! Asking for authorization: as a client that is known, of the user or of nobody.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use super::super::change::Change;
use super::super::config::Grant;
use super::super::device::{self, DeviceLogin};
use super::super::form::Form;
use super::super::guard::{has_odd_letters, odd_page};
use super::super::jws::base64url;
use super::super::login::{self, Redirected};
use super::super::origin;
use super::super::pkce::Verifier;
use super::super::registration;
use super::super::server_metadata::ServerMetadata;
use super::super::step::{AuthStep, Fetched};
use super::super::store::{PendingLogin, Registration};
use super::super::token::{self, TokenPurpose, TokenRequest};
use super::{Aim, Attempt, Authorization, FlowState, form_headers, is_unwell};
use crate::codec::http1::Headers;
use crate::error::AuthError;
use crate::time::Instant;
use crate::url::Url;

impl Authorization {
    /// Who authorizes is known, and no token that could be refreshed.
    pub(super) fn authorize(&mut self, mut attempt: Attempt, now: Instant) {
        if self.config.stored_only {
            let wanted = attempt.wanted.scope.take().filter(|_| self.aim == Aim::More);
            return self
                .fail(wanted.map_or(AuthError::NothingStored, |scope| AuthError::InsufficientScope { scope }), now);
        }
        let Some(server) = &attempt.server else { return self.find_resource(attempt, now) };
        let issuer = server.issuer.clone();
        if self.vouched_elsewhere(&issuer) {
            return self.fail(AuthError::NoClient { issuer }, now);
        }
        let stored = self.record().and_then(|record| record.issuers.get(&issuer)?.registration.clone());
        let usable = |registration: &Registration| {
            registration::is_usable(registration, &self.config.grant, self.unix_seconds(now))
        };
        let known = self
            .given_client(&issuer)
            .or_else(|| registration::by_document(&self.config, server))
            .or_else(|| stored.filter(usable));
        if let Some(registration) = known {
            attempt.registration = Some(registration);
            return self.ask(attempt, now);
        }
        // Whoever registers by itself is somebody that nobody vouches for.
        let vouched = self.config.client.is_some() || matches!(self.config.grant, Grant::ClientCredentials);
        let register = server.registration_endpoint.clone().filter(|_| !vouched);
        let Some(endpoint) = register else { return self.fail(AuthError::NoClient { issuer }, now) };
        let endpoint = match self.endpoint(&endpoint, &issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let body = registration::request(&self.config, server);
        let headers = Headers::from([("Content-Type", "application/json"), ("Accept", "application/json")]);
        self.fetch("POST", endpoint, headers, body, false);
        self.state = FlowState::Registering(attempt);
    }

    /// Whether what others say of the client is meant for another authorization server, which alone may see it: whoever has it
    /// can use it there.
    fn vouched_elsewhere(&self, issuer: &str) -> bool {
        let known_to = self.config.client.as_ref().and_then(|client| client.issuer.as_ref());
        matches!(self.config.grant, Grant::JwtBearer { .. }) && known_to.is_some_and(|known_to| known_to != issuer)
    }

    /// The client that the program gave, if it may be shown to this issuer. If the program does not say whom it is known to,
    /// it is to whoever was first shown it.
    pub(super) fn given_client(&self, issuer: &str) -> Option<Registration> {
        let given = registration::given(&self.config, issuer)?;
        let says = self.config.client.as_ref().is_some_and(|client| client.issuer.is_some());
        let is_it = |known: &Registration| known.client_id == given.client_id;
        let elsewhere = self.record().is_some_and(|record| {
            let mut others = record.issuers.iter().filter(|(other, _)| *other != issuer);
            others.any(|(_, known)| known.registration.as_ref().is_some_and(is_it))
        });
        (says || !elsewhere).then_some(given)
    }

    pub(super) fn registered(&mut self, mut attempt: Attempt, answer: &Fetched, now: Instant) {
        let url = || {
            let endpoint = attempt.server.as_ref().and_then(|server| server.registration_endpoint.clone());
            endpoint.unwrap_or_default()
        };
        if !(200..300).contains(&answer.status) {
            let token::TokenFailure { error, description, .. } = token::failure(answer.status, &answer.body);
            let reason = alloc::format!("the client cannot register, {error}: {description}");
            let error = match is_unwell(answer.status) {
                true => AuthError::Unavailable { url: url(), reason },
                false => AuthError::Unusable { url: url(), reason },
            };
            return self.fail(error, now);
        }
        match registration::read(&answer.body, &self.config.grant) {
            Ok(registration) => {
                attempt.registration = Some(registration);
                self.ask(attempt, now);
            }
            Err(reason) => {
                let url = url();
                self.fail(AuthError::Unusable { url, reason }, now);
            }
        }
    }

    /// The client is known: asks for what it is to get, in the way that the program wants.
    pub(super) fn ask(&mut self, attempt: Attempt, now: Instant) {
        let config = self.config.clone();
        let purpose = match &config.grant {
            Grant::Code { redirect_uri } => return self.send_user(attempt, redirect_uri.clone(), now),
            Grant::Device => return self.start_device(attempt, now),
            Grant::ClientCredentials => TokenPurpose::ClientCredentials,
            Grant::JwtBearer { assertion } => TokenPurpose::JwtBearer(assertion.clone()),
            Grant::EnterpriseManaged(provider) => {
                let client_secret = provider.client_secret.clone();
                let registration = Registration { client_secret, ..Registration::new(&provider.client_id) };
                let audience = attempt.server.as_ref().map(|server| server.issuer.clone()).unwrap_or_default();
                let endpoint = match Url::parse(&provider.token_endpoint) {
                    Ok(endpoint) => endpoint,
                    Err(error) => {
                        let (url, reason) = (provider.token_endpoint.clone(), error.to_string());
                        return self.fail(AuthError::Unusable { url, reason }, now);
                    }
                };
                let request = TokenRequest {
                    purpose: TokenPurpose::Exchange { id_token: provider.id_token.clone(), audience },
                    issuer: origin(&endpoint),
                    endpoint,
                    trusted: true,
                    registration,
                    scope: attempt.scope.clone(),
                    resource: Some(self.resource(&attempt)),
                };
                return self.request_token(attempt, request, false, now);
            }
            Grant::Token(_) => return self.fail(AuthError::TokenNotAccepted, now),
        };
        self.request_directly(attempt, purpose, now);
    }

    /// Asks for a token that takes no user.
    pub(super) fn request_directly(&mut self, attempt: Attempt, purpose: TokenPurpose, now: Instant) {
        let (Some(server), Some(registration)) = (&attempt.server, &attempt.registration) else {
            return self.authorize(attempt, now);
        };
        let issuer = server.issuer.clone();
        let endpoint = match self.endpoint(server.token_endpoint.as_deref().unwrap_or_default(), &issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let request = TokenRequest {
            purpose,
            endpoint,
            issuer,
            trusted: false,
            registration: registration.clone(),
            scope: attempt.scope.clone(),
            resource: Some(self.resource(&attempt)),
        };
        self.request_token(attempt, request, false, now);
    }

    /// Remembers what is needed to go on, and has the user sent away.
    pub(super) fn send_user(&mut self, mut attempt: Attempt, redirect_uri: String, now: Instant) {
        let (Some(server), Some(registration)) = (&attempt.server, attempt.registration.clone()) else {
            return self.authorize(attempt, now);
        };
        if !server.has_pkce() {
            let reason = "it does not offer PKCE with S256, without which a code can be stolen".to_string();
            return self.fail(AuthError::Unusable { url: server.issuer.clone(), reason }, now);
        }
        let authorization = server.authorization_endpoint.clone().unwrap_or_default();
        let token = server.token_endpoint.clone().unwrap_or_default();
        // The page as it was understood: whatever else stood there, behind a `#` or around it, is nothing to show to users.
        let authorization = match self.endpoint(&authorization, &server.issuer) {
            Ok(page) if has_odd_letters(page.target()) => {
                return self.fail(AuthError::UrlRefused(odd_page(&authorization).to_string()), now);
            }
            Ok(page) => page.as_str().to_string(),
            Err(error) => return self.fail(error, now),
        };
        if let Err(error) = self.endpoint(&token, &server.issuer) {
            return self.fail(error, now);
        }
        attempt.scope = self.with_offline_access(attempt.scope.take(), server);
        let verifier = Verifier::draw(&mut self.entropy);
        let challenge = verifier.challenge();
        let state = base64url(&self.entropy.bytes::<24>());
        let pending = PendingLogin {
            issuer: server.issuer.clone(),
            requires_iss: server.authorization_response_iss_parameter_supported == Some(true),
            redirect_uri,
            token_endpoint: token,
            registration: registration::kept(self.with_method(registration, Some(server)), &self.config),
            scope: attempt.scope.clone(),
            resource: Some(self.resource(&attempt)),
            expires_at: self.unix_seconds(now + self.config.login_timeout),
            code_verifier: verifier.into_secret(),
        };
        let url = login::url(&authorization, &pending, &state, &challenge);
        self.change(attempt, Change::AddLogin { state, pending: Box::new(pending), url }, now);
    }

    /// What lasts without the user is asked for where it is offered, beside something that is asked for.
    pub(super) fn with_offline_access(&self, scope: Option<String>, server: &ServerMetadata) -> Option<String> {
        let offered = server.offers_scope("offline_access");
        scope.and_then(|scope| token::union(Some(&scope), offered.then_some("offline_access")))
    }

    /// The user came back, it seems. The login is taken out of what is stored if it can be gone on with: it can be once.
    pub(super) fn take_login(&mut self, attempt: Attempt, redirected: Redirected, now: Instant) {
        let pending = self.record().and_then(|record| login::find(record, &redirected.state));
        if let Some(Err(error)) = pending.map(|pending| self.endpoint(&pending.token_endpoint, &pending.issuer)) {
            return self.fail(error, now);
        }
        self.change(attempt, Change::TakeLogin { redirected: Box::new(redirected), taken: None }, now);
    }

    /// The user came back, for the first time with this.
    pub(super) fn exchange_code(
        &mut self,
        attempt: Attempt,
        redirected: &Redirected,
        pending: PendingLogin,
        now: Instant,
    ) {
        let code = match redirected.code_for(&pending) {
            Ok(code) => code,
            Err(error) => return self.fail(error, now),
        };
        let endpoint = match self.endpoint(&pending.token_endpoint, &pending.issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let registration = registration::with_password(pending.registration, &self.config);
        let request = TokenRequest {
            purpose: TokenPurpose::Code { code, verifier: pending.code_verifier, redirect_uri: pending.redirect_uri },
            endpoint,
            issuer: pending.issuer,
            trusted: false,
            registration,
            scope: pending.scope,
            resource: pending.resource,
        };
        self.request_token(attempt, request, false, now);
    }

    pub(super) fn start_device(&mut self, mut attempt: Attempt, now: Instant) {
        let (Some(server), Some(registration)) = (&attempt.server, &attempt.registration) else {
            return self.authorize(attempt, now);
        };
        let Some(endpoint) = server.device_authorization_endpoint.clone() else {
            let reason = "it does not let users log in on another device".to_string();
            return self.fail(AuthError::Unusable { url: server.issuer.clone(), reason }, now);
        };
        let endpoint = match self.endpoint(&endpoint, &server.issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let scope = self.with_offline_access(attempt.scope.clone(), server);
        let form = Form::new().add("resource", &self.resource(&attempt)).add_some("scope", scope.as_deref());
        let id = base64url(&self.entropy.bytes::<16>());
        let asking = self.asking(registration, attempt.server.as_ref(), &server.issuer, id, now);
        let mut headers = form_headers();
        match asking.identify(form, &mut headers) {
            Ok(form) => self.fetch("POST", endpoint, headers, form.finish().into_bytes(), false),
            Err(error) => return self.fail(AuthError::Signing(error.to_string()), now),
        }
        attempt.scope = scope;
        self.state = FlowState::StartingDevice(attempt);
    }

    pub(super) fn device_started(&mut self, attempt: Attempt, answer: &Fetched, now: Instant) {
        let mut login = match device::read(answer.status, &answer.body, now, self.config.login_timeout) {
            Ok(login) => login,
            Err(failure) => {
                let (error, description) = (failure.error, failure.description);
                return self.fail(AuthError::TokenRefused { error, description }, now);
            }
        };
        login.verification_uri = match self.page(&login.verification_uri) {
            Ok(page) => page,
            Err(error) => return self.fail(error, now),
        };
        let complete = login.verification_uri_complete.take();
        login.verification_uri_complete = complete.and_then(|url| self.page(&url).ok());
        self.steps.push_back(AuthStep::Prompt(login.prompt()));
        self.wait_for_device(attempt, Box::new(login), now);
    }

    /// A page to show to users, as the server wrote it: what stands behind its `#` the guard does not look at.
    fn page(&self, url: &str) -> Result<String, AuthError> {
        let url = url.trim_ascii();
        let read = self.guarded(url, None)?;
        if has_odd_letters(read.target()) {
            return Err(AuthError::UrlRefused(odd_page(url).to_string()));
        }
        let plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && !has_odd_letters(url);
        Ok(if plain { url } else { read.as_str() }.to_string())
    }

    pub(super) fn wait_for_device(&mut self, attempt: Attempt, login: Box<DeviceLogin>, now: Instant) {
        if login.until <= now {
            return self.fail(AuthError::TimedOut, now);
        }
        self.deadline = Some((now + login.interval).min(login.until));
        self.state = FlowState::PollingDevice { attempt, login };
    }

    pub(super) fn poll_device(&mut self, attempt: Attempt, login: Box<DeviceLogin>, now: Instant) {
        if login.until <= now {
            return self.fail(AuthError::TimedOut, now);
        }
        self.request_directly(attempt, TokenPurpose::Device(login), now);
    }
}
