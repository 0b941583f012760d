//! Tokens that are refreshed, by one process at a time.

use super::super::change::{Change, Source};
use super::super::registration;
use super::super::store::Tokens;
use super::super::token::{TokenPurpose, TokenRequest};
use super::{Aim, Attempt, Authorization, FlowState, InUse, LEASE_LOOK, LONGEST_LEASE};
use crate::time::Instant;

impl Authorization {
    /// Whether the token in use is to be refreshed before anything else is done with it.
    pub(super) fn ends_soon(&self, now: Instant) -> bool {
        let Some(InUse { tokens, .. }) = &self.tokens else { return false };
        let soon = self.unix_seconds(now + self.config.early);
        tokens.refresh_token.is_some()
            && tokens.expires_at.is_some_and(|until| until <= soon)
            && now >= self.refresh_after
    }

    /// Has the token refreshed by us or by somebody else, if it can be; otherwise asks for authorization anew.
    pub(super) fn renew(&mut self, attempt: Attempt, now: Instant) {
        let issuer = match &attempt.server {
            Some(server) => Some(server.issuer.clone()),
            None => self.tokens.as_ref().map(|used| used.issuer.clone()),
        };
        let stored = issuer.as_ref().and_then(|issuer| self.record()?.issuers.get(issuer)?.tokens.clone());
        let anew = matches!(self.aim, Aim::Anew | Aim::More);
        match (&issuer, stored.filter(|stored| !anew && self.is_better(stored, now))) {
            (Some(issuer), Some(tokens)) => {
                let issuer = issuer.clone();
                self.use_tokens(InUse { issuer, tokens, source: Source::Stored, kept: true }, now);
                return self.settle();
            }
            (Some(issuer), None) if !anew && self.refreshable(issuer).is_some() => {}
            _ => return self.not_renewed(attempt, now),
        }
        if self.is_leased_to_others(now) {
            self.state = FlowState::AwaitingOther(attempt);
            self.deadline = Some(now + LEASE_LOOK);
            return;
        }
        self.change(attempt, Change::TakeLease { until: 0 }, now);
    }

    /// Whether somebody else refreshes the token, and not for longer than that can take.
    fn is_leased_to_others(&mut self, now: Instant) -> bool {
        let lease = self.record().and_then(|record| record.lease.clone());
        let lease = lease.filter(|lease| lease.owner != self.owner && lease.until > self.unix_millis(now));
        let since = match (&lease, &self.awaited) {
            (Some(lease), Some((awaited, since))) if lease == awaited => *since,
            _ => now,
        };
        self.awaited = lease.map(|lease| (lease, since));
        self.awaited.is_some() && now.since(since) < self.lease_time().max(LONGEST_LEASE)
    }

    /// Tokens of an issuer that can be refreshed: those that are stored, unless newer ones could not be.
    pub(super) fn refreshable(&self, issuer: &str) -> Option<Tokens> {
        let used = self.tokens.as_ref().filter(|used| used.issuer == issuer && !used.kept).map(|used| &used.tokens);
        let stored = || self.record()?.issuers.get(issuer)?.tokens.as_ref();
        used.or_else(stored).filter(|tokens| tokens.refresh_token.is_some()).cloned()
    }

    /// There is nothing to refresh.
    pub(super) fn not_renewed(&mut self, attempt: Attempt, now: Instant) {
        match self.aim {
            Aim::Begin | Aim::Early => {
                // The server will say what it wants.
                self.tokens = None;
                self.settle();
            }
            Aim::Other | Aim::Anew | Aim::More => self.authorize(attempt, now),
        }
    }

    /// The token is ours to refresh.
    pub(super) fn refresh(&mut self, attempt: Attempt, now: Instant) {
        let issuer = match (&attempt.server, &self.tokens) {
            (Some(server), _) => server.issuer.clone(),
            (None, Some(used)) => used.issuer.clone(),
            (None, None) => return self.not_renewed(attempt, now),
        };
        let stored = self.record().and_then(|record| record.issuers.get(&issuer)?.registration.clone());
        let registration = match (self.given_client(&issuer), stored) {
            // How it shows who it is, it found out before.
            (Some(given), Some(stored)) if attempt.server.is_none() && given.client_id == stored.client_id => {
                Some(registration::with_password(stored, &self.config))
            }
            (given, stored) => given.or(stored),
        };
        let (Some(tokens), Some(registration)) = (self.refreshable(&issuer), registration) else {
            return self.not_renewed(attempt, now);
        };
        let Some(refresh_token) = tokens.refresh_token else { return self.not_renewed(attempt, now) };
        let endpoint = attempt.server.as_ref().and_then(|server| server.token_endpoint.clone());
        let endpoint = match self.endpoint(&endpoint.unwrap_or(tokens.token_endpoint), &issuer) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.fail(error, now),
        };
        let request = TokenRequest {
            purpose: TokenPurpose::Refresh(refresh_token),
            endpoint,
            issuer,
            trusted: false,
            registration,
            scope: tokens.requested_scope,
            resource: tokens.resource,
        };
        self.request_token(attempt, request, false, now);
    }
}
