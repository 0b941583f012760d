//! A user who has to log in.

use std::fmt;
use std::sync::Arc;

use windlass::auth::{AuthError, AuthPrompt, Redirected};

use super::client::ClientCore;

/// The server wants the user to log in. Requests wait until that is done; one that is dropped is given up, unless the user
/// logs in on another device, which nobody here has to be told of.
pub struct Login {
    prompt: AuthPrompt,
    waiting: Option<Arc<ClientCore>>,
}

impl Login {
    pub(crate) fn new(prompt: AuthPrompt, client: Arc<ClientCore>) -> Self {
        Self { prompt, waiting: Some(client) }
    }

    /// What the user is to be told.
    pub fn prompt(&self) -> &AuthPrompt {
        &self.prompt
    }

    /// Whether what a user came back with belongs to this login.
    pub fn is_answered_by(&self, redirected: &Redirected) -> bool {
        match &self.prompt {
            AuthPrompt::Browser { url } => redirected.state == Redirected::from_url(url).state,
            _ => false,
        }
    }

    /// Goes on with what the user came back with.
    pub fn finish(mut self, redirected: Redirected) {
        if let Some(client) = self.waiting.take() {
            client.finish_login(Ok(redirected));
        }
    }

    /// The user does not want to.
    pub fn refuse(mut self) {
        if let Some(client) = self.waiting.take() {
            let (error, description) = ("access_denied".into(), "the user does not want to log in".into());
            client.finish_login(Err(AuthError::Denied { error, description }));
        }
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let (Some(client), AuthPrompt::Browser { url }) = (self.waiting.take(), &self.prompt) else { return };
        client.finish_login(Err(AuthError::LoginNeeded { url: url.clone() }));
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("prompt", &self.prompt).finish_non_exhaustive()
    }
}
