//! A server that wants other credentials.

use std::fmt;
use std::sync::Arc;

use windlass::HttpFailure;
use windlass::client::ChallengeReply;
use windlass::codec::http1::Headers;
use windlass::link::http::HeaderError;

use super::client::ClientCore;

/// A server wants other credentials (401 or 403). The request waits until this is answered, here or on any other thread
/// or task; a challenge that is dropped is given up, and the request fails with what the server said.
pub struct Challenge {
    failure: Box<HttpFailure>,
    waiting: Option<(Arc<ClientCore>, ChallengeReply)>,
}

impl Challenge {
    pub(crate) fn new(failure: Box<HttpFailure>, client: Arc<ClientCore>, reply: ChallengeReply) -> Self {
        Self { failure, waiting: Some((client, reply)) }
    }

    /// What the server said: its status, `WWW-Authenticate`.
    pub fn failure(&self) -> &HttpFailure {
        &self.failure
    }

    /// Makes the request once more with these headers, which from now on go with every request.
    ///
    /// # Errors
    ///
    /// When one of them cannot be a header, or is one that the client sends itself. The request fails then.
    pub fn answer<'a>(mut self, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), HeaderError> {
        let mut given = Headers::new();
        for (name, value) in headers {
            given.push(name, value);
        }
        match self.waiting.take() {
            Some((client, reply)) => client.answer_challenge(reply, Some(&given)),
            None => Ok(()),
        }
    }
}

impl Drop for Challenge {
    fn drop(&mut self) {
        if let Some((client, reply)) = self.waiting.take() {
            // Giving up has nothing in it that could be wrong.
            let _ = client.answer_challenge(reply, None);
        }
    }
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenge").field("failure", &self.failure).finish_non_exhaustive()
    }
}
