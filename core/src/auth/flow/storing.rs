//! What is stored, and changes to it, which are made again on what others have stored meanwhile.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use super::super::change::{Change, Changing, Source};
use super::super::login::{self, Redirected};
use super::super::step::AuthStep;
use super::super::store::{AuthRecord, StoreError, Stored, Swap, Tokens};
use super::super::token::{self};
use super::super::{AuthPrompt, StoreOperation, StoreOutcome};
use super::{
    Aim, Attempt, Authorization, BODY_TIME, CONFLICTS, FlowState, InUse, LONGEST_REQUEST, REFRESH_PAUSE, STORE_TIME,
};
use crate::error::AuthError;
use crate::time::Instant;

impl Authorization {
    pub(super) fn load(&mut self, attempt: Attempt, now: Instant) {
        self.state = FlowState::Loading(attempt);
        self.ask_store(StoreOperation::Load { server: self.key() }, now);
    }

    pub(super) fn ask_store(&mut self, operation: StoreOperation, now: Instant) {
        self.deadline = Some(now + STORE_TIME);
        self.steps.push_back(AuthStep::Store(operation));
    }

    /// The store has answered.
    pub(crate) fn stored(&mut self, outcome: Result<StoreOutcome, StoreError>, now: Instant) {
        if !matches!(self.state, FlowState::Loading(_) | FlowState::Storing { .. }) {
            // Nobody waits for it any more.
            return;
        }
        self.deadline = None;
        match (self.take_state(), outcome) {
            (FlowState::Loading(attempt), Ok(StoreOutcome::Loaded(stored))) => {
                self.stored = stored;
                self.loaded(attempt, now);
            }
            (FlowState::Storing { attempt, change }, Ok(StoreOutcome::Swapped(Swap::Done(version)))) => {
                if let Some(stored) = &mut self.stored {
                    stored.version = version;
                }
                self.changed(attempt, change, now);
            }
            (FlowState::Storing { mut attempt, change }, Ok(StoreOutcome::Swapped(Swap::Conflict(current)))) => {
                self.stored = current;
                attempt.conflicts += 1;
                match change {
                    // Perhaps there is nothing left to do.
                    Change::TakeLease { .. } => self.renew(attempt, now),
                    change => self.change(attempt, change, now),
                }
            }
            (state, Err(StoreError(why))) => self.not_stored(state, why, now),
            (state, Ok(_)) => self.not_stored(state, "it answers another question".into(), now),
        }
    }

    /// The store could not be used. A token that was just had is used nevertheless: there may be no other way to one.
    pub(super) fn not_stored(&mut self, state: FlowState, why: String, now: Instant) {
        match state {
            FlowState::Storing { change: Change::PutTokens { issuer, tokens, source, .. }, .. } => {
                self.use_tokens(InUse { issuer, tokens: *tokens, source, kept: false }, now);
                self.settle();
            }
            FlowState::Storing { change: Change::EndLease(error), .. } => self.end(*error, now),
            _ => self.end(AuthError::Store(why), now),
        }
    }

    /// What is stored is known.
    pub(super) fn loaded(&mut self, attempt: Attempt, now: Instant) {
        match self.aim {
            Aim::Begin => {
                self.tokens = self.stored_tokens();
                match self.config.redirected.clone() {
                    Some(redirected) if !self.was_finished(&redirected, now) => {
                        self.take_login(attempt, redirected, now)
                    }
                    _ if self.ends_soon(now) => {
                        self.aim = Aim::Early;
                        self.renew(attempt, now);
                    }
                    _ => self.state = FlowState::Open,
                }
            }
            Aim::Early => self.renew(attempt, now),
            Aim::Other | Aim::Anew | Aim::More if attempt.server.is_some() => self.renew(attempt, now),
            Aim::Other | Aim::Anew | Aim::More => match self.others_tokens(&attempt, now) {
                Some(tokens) => {
                    self.use_tokens(tokens, now);
                    self.settle();
                }
                None => self.find_resource(attempt, now),
            },
        }
    }

    /// Whether a login was finished by an earlier connection, with tokens that are good: whoever is started twice with the
    /// same settings goes on with those.
    fn was_finished(&self, redirected: &Redirected, now: Instant) -> bool {
        let under_way = self.record().is_some_and(|record| login::find(record, &redirected.state).is_some());
        let soon = self.unix_seconds(now);
        let good = |used: &InUse| {
            used.tokens.refresh_token.is_some() || used.tokens.expires_at.is_none_or(|until| until > soon)
        };
        !under_way && self.tokens.as_ref().is_some_and(good)
    }

    /// The tokens that are stored, if there are any.
    pub(super) fn stored_tokens(&self) -> Option<InUse> {
        let record = self.record()?;
        let issuer = record.issuer.clone()?;
        let tokens = record.issuers.get(&issuer)?.tokens.clone()?;
        Some(InUse { issuer, tokens, source: Source::Stored, kept: true })
    }

    /// The tokens that somebody else has stored meanwhile, if they are what is wanted.
    pub(super) fn others_tokens(&self, attempt: &Attempt, now: Instant) -> Option<InUse> {
        let stored = self.stored_tokens().filter(|stored| self.is_better(&stored.tokens, now))?;
        let wanted = attempt.wanted.scope.as_deref();
        let enough = wanted.is_some_and(|wanted| token::covers(stored.tokens.scope.as_deref(), wanted));
        (self.aim != Aim::More || enough).then_some(stored)
    }

    /// Whether tokens are others than those in use, and last for a while.
    pub(super) fn is_better(&self, tokens: &Tokens, now: Instant) -> bool {
        let soon = self.unix_seconds(now + self.config.early.min(REFRESH_PAUSE));
        self.tokens.as_ref().is_none_or(|used| used.tokens.access_token != tokens.access_token)
            && tokens.expires_at.is_none_or(|until| until > soon)
    }

    /// Uses tokens from now on, for half of their time at least.
    pub(super) fn use_tokens(&mut self, tokens: InUse, now: Instant) {
        let unix_now = self.unix_seconds(now);
        let left = tokens.tokens.expires_at.map_or(0, |until| until.saturating_sub(unix_now));
        self.refresh_after = now + REFRESH_PAUSE.max(Duration::from_secs(left / 2));
        self.tokens = Some(tokens);
    }

    pub(super) fn record(&self) -> Option<&AuthRecord> {
        self.stored.as_ref().map(|stored| &stored.record)
    }

    /// Makes a change to what is stored, as far as that is known.
    pub(super) fn change(&mut self, attempt: Attempt, mut change: Change, now: Instant) {
        if attempt.conflicts > CONFLICTS {
            let why = "it is changed by others all the time".into();
            return self.not_stored(FlowState::Storing { attempt, change }, why, now);
        }
        let expected = self.stored.as_ref().map(|stored| stored.version);
        let mut record = self.record().cloned().unwrap_or_default();
        let unix_now = self.unix_seconds(now);
        let by = Changing { owner: &self.owner, until: self.unix_millis(now + self.lease_time()), unix_now };
        if !change.apply(&mut record, &by) {
            return self.fail(AuthError::UnknownLogin, now);
        }
        self.stored = Some(Stored { version: expected.unwrap_or_default(), record: record.clone() });
        self.state = FlowState::Storing { attempt, change };
        let record = Box::new(record);
        self.ask_store(StoreOperation::Swap { server: self.key(), expected, record }, now);
    }

    /// A change is stored.
    pub(super) fn changed(&mut self, attempt: Attempt, change: Change, now: Instant) {
        match change {
            Change::AddLogin { url, .. } if !self.config.interactive => self.fail(AuthError::LoginNeeded { url }, now),
            Change::AddLogin { url, .. } => {
                self.state = FlowState::AwaitingUser(attempt);
                self.deadline = Some(now + self.config.login_timeout);
                self.steps.push_back(AuthStep::Prompt(AuthPrompt::Browser { url }));
            }
            Change::TakeLogin { redirected, taken } => match taken {
                Some(pending) => self.exchange_code(attempt, &redirected, *pending, now),
                None => self.fail(AuthError::UnknownLogin, now),
            },
            // A store that took too long has used up what the request needs.
            Change::TakeLease { until } if until <= self.unix_millis(now + (self.lease_time() - STORE_TIME)) => {
                self.renew(attempt, now);
            }
            Change::TakeLease { .. } => self.refresh(attempt, now),
            Change::PutTokens { issuer, tokens, source, .. } => {
                self.use_tokens(InUse { issuer, tokens: *tokens, source, kept: true }, now);
                self.settle();
            }
            Change::EndLease(error) => self.end(*error, now),
            Change::DropClient { error: Some(error), .. } => self.fail(*error, now),
            Change::DropTokens { .. } | Change::DropClient { .. } => match self.stored_tokens() {
                // Somebody else has better ones.
                Some(stored) => {
                    self.use_tokens(stored, now);
                    self.settle();
                }
                None => self.not_renewed(attempt, now),
            },
        }
    }

    /// How long nobody else refreshes a token that we have begun to refresh: as long as it may take to hear that it is ours,
    /// to ask for another one, twice if it takes a nonce, and to store that. Whoever began earlier would use it twice.
    pub(super) fn lease_time(&self) -> Duration {
        (STORE_TIME + self.config.request_timeout.min(LONGEST_REQUEST) + BODY_TIME) * 2
    }
}
