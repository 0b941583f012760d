//! Finding out who authorizes.

use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::origin;
use super::super::resource_metadata::{self, ResourceMetadata};
use super::super::server_metadata::{self, ServerMetadata};
use super::super::step::Fetched;
use super::super::token::{self};
use super::{Aim, Attempt, Authorization, FlowState, REDIRECTS, Search, is_unwell};
use crate::codec::http1::Headers;
use crate::error::AuthError;
use crate::time::Instant;
use crate::url::Url;

impl Authorization {
    pub(super) fn find_resource(&mut self, attempt: Attempt, now: Instant) {
        let named = attempt.wanted.resource_metadata.clone();
        let candidates = match &named {
            Some(url) => Vec::from([url.clone()]),
            None => resource_metadata::candidates(&self.server),
        };
        let state = |attempt, search| FlowState::FindingResource { attempt, search, named: named.is_some() };
        let host = self.server.host().to_string();
        self.search(attempt, candidates.into(), Some(&host), state, now);
    }

    /// Begins to look for a document, at the first of the places.
    pub(super) fn search(
        &mut self,
        attempt: Attempt,
        mut left: VecDeque<String>,
        host: Option<&str>,
        state: impl FnOnce(Attempt, Search) -> FlowState,
        now: Instant,
    ) {
        let Some(first) = left.pop_front() else { return };
        match self.guarded(&first, host) {
            Ok(at) => {
                self.get(&at);
                self.state = state(attempt, Search { at, left, redirects: 0 });
            }
            Err(error) => self.fail(error, now),
        }
    }

    pub(super) fn get(&mut self, url: &Url) {
        let headers = Headers::from([("Accept", "application/json"), ("MCP-Protocol-Version", "2025-11-25")]);
        self.fetch("GET", url.clone(), headers, Vec::new(), false);
    }

    /// Goes on with a search: to where the document has moved, or to the next place. Gives it back if there is none.
    pub(super) fn search_on(&mut self, mut search: Search, answer: &Fetched) -> Result<Search, Option<AuthError>> {
        let redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        let location = answer.headers.get("location").filter(|_| redirect && search.redirects < REDIRECTS);
        if let Some(location) = location {
            let moved = search.at.join(location).map_err(|error| self.unusable(&search.at, &error.to_string()))?;
            search.at = self.guarded(moved.as_str(), Some(search.at.host()))?;
            search.redirects += 1;
        } else {
            if is_unwell(answer.status) {
                let reason = alloc::format!("HTTP status {}", answer.status);
                return Err(Some(AuthError::Unavailable { url: search.at.to_string(), reason }));
            }
            let Some(next) = search.left.pop_front() else { return Err(None) };
            search.at = self.guarded(&next, None)?;
            search.redirects = 0;
        }
        self.get(&search.at);
        Ok(search)
    }

    pub(super) fn found_resource(
        &mut self,
        mut attempt: Attempt,
        search: Search,
        named: bool,
        answer: &Fetched,
        now: Instant,
    ) {
        if !answer.is_document() {
            match self.search_on(search, answer) {
                Ok(search) => self.state = FlowState::FindingResource { attempt, search, named },
                Err(Some(error)) => self.fail(error, now),
                Err(None) if named => {
                    let url = attempt.wanted.resource_metadata.unwrap_or_default();
                    let reason = alloc::format!("HTTP status {}, and no JSON", answer.status);
                    self.fail(AuthError::Unusable { url, reason }, now);
                }
                // As in revision 2025-03-26: the server authorizes for itself.
                Err(None) => self.find_server(attempt, origin(&self.server), true, now),
            }
            return;
        }
        let document = match ResourceMetadata::read(&answer.body) {
            Ok(document) => document,
            Err(reason) => {
                let error = self.unusable(&search.at, &reason);
                return self.fail(error, now);
            }
        };
        if !document.is_about(&self.server) {
            let reason = alloc::format!("it is about {}", crate::jsonrpc::excerpt(&document.resource));
            let error = self.unusable(&search.at, &reason);
            return self.fail(error, now);
        }
        let named = document.authorization_servers.clone().unwrap_or_default();
        // One that is known already is as good as the first.
        let known = |issuer: &&String| self.record().is_some_and(|record| record.issuers.contains_key(*issuer));
        let issuer = named.iter().find(known).or(named.first()).cloned();
        attempt.resource = Some(document);
        match issuer {
            Some(issuer) => self.find_server(attempt, issuer, false, now),
            None => self.find_server(attempt, origin(&self.server), true, now),
        }
    }

    pub(super) fn find_server(&mut self, mut attempt: Attempt, issuer: String, assumed: bool, now: Instant) {
        let url = match self.guarded(&issuer, None) {
            Ok(url) => url,
            Err(error) => return self.fail(error, now),
        };
        let candidates = server_metadata::candidates(&url).into();
        attempt.server = Some(ServerMetadata { issuer, ..ServerMetadata::default() });
        self.search(
            attempt,
            candidates,
            None,
            |attempt, search| FlowState::FindingServer { attempt, search, assumed },
            now,
        );
    }

    pub(super) fn found_server(
        &mut self,
        mut attempt: Attempt,
        search: Search,
        assumed: bool,
        answer: &Fetched,
        now: Instant,
    ) {
        let issuer = attempt.server.as_ref().map(|server| server.issuer.clone()).unwrap_or_default();
        if !answer.is_document() {
            match self.search_on(search, answer) {
                Ok(search) => self.state = FlowState::FindingServer { attempt, search, assumed },
                Err(Some(error)) => self.fail(error, now),
                Err(None) if assumed => {
                    attempt.server = Some(ServerMetadata::assumed(&self.server));
                    self.known_server(attempt, now);
                }
                Err(None) => {
                    let reason = "it publishes no metadata that is found".to_string();
                    self.fail(AuthError::Unusable { url: issuer, reason }, now);
                }
            }
            return;
        }
        let mut document = match ServerMetadata::read(&answer.body) {
            Ok(document) => document,
            Err(reason) => {
                let error = self.unusable(&search.at, &reason);
                return self.fail(error, now);
            }
        };
        // To the letter: whoever is somebody else's issuer would get what is meant for that one.
        if document.issuer != issuer && !assumed {
            let reason =
                alloc::format!("it is of the issuer {}, not of {issuer}", crate::jsonrpc::excerpt(&document.issuer));
            let error = self.unusable(&search.at, &reason);
            return self.fail(error, now);
        }
        if assumed {
            // Revision 2025-03-26 knows no issuers, but for who is asked.
            document.issuer = issuer;
        }
        attempt.server = Some(document);
        self.known_server(attempt, now);
    }

    /// Who authorizes is known.
    pub(super) fn known_server(&mut self, mut attempt: Attempt, now: Instant) {
        let issuer = attempt.server.as_ref().map(|server| server.issuer.as_str()).unwrap_or_default();
        let moved = self.tokens.as_ref().is_some_and(|used| used.issuer != issuer);
        if moved {
            // What another one gave is no good here.
            self.tokens = None;
        }
        let before = self.tokens.as_ref().and_then(|used| used.tokens.requested_scope.as_deref());
        let published = attempt.resource.as_ref().and_then(|resource| resource.scopes_supported.as_ref());
        let published = published.map(|scopes| scopes.join(" ")).filter(|scopes| !scopes.is_empty());
        let configured = self.config.scopes.as_ref().map(|scopes| scopes.join(" "));
        attempt.scope = match self.aim {
            Aim::More => token::union(before, attempt.wanted.scope.as_deref().or(published.as_deref())),
            _ => configured.or_else(|| attempt.wanted.scope.clone()).or(published),
        };
        self.renew(attempt, now);
    }
}
