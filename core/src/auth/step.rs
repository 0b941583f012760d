//! What authorization and whoever has the connections say to each other.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::{AuthPrompt, StoreOperation};
use crate::codec::http1::Headers;
use crate::error::AuthError;
use crate::url::Url;

/// What is to be done by whoever has the connections.
pub(crate) enum AuthStep {
    /// Make a request; `Authorization::fetched` takes the answer.
    Fetch(Box<Fetch>),
    /// Look into the store; `Authorization::stored` takes the answer.
    Store(StoreOperation),
    /// Tell the user.
    Prompt(AuthPrompt),
    /// Requests may go on; those that waited for other credentials are made again with those.
    Settled,
    /// Those that waited for other credentials fail; so do those that wait to be made, unless the token in use is as good as
    /// it was.
    Failed { error: AuthError, usable: bool },
}

/// A request to somebody who is needed for authorization.
pub(crate) struct Fetch {
    pub(crate) method: &'static str,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    /// Whether the address has to be a public one, whatever the name resolves to.
    pub(crate) public_only: bool,
    pub(crate) timeout: Duration,
}

/// What came back.
pub(crate) struct Fetched {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

impl Fetched {
    /// Whether it may be what was looked for. Many servers have a page for people at every address.
    pub(super) fn is_document(&self) -> bool {
        self.status == 200 && self.body.trim_ascii_start().starts_with(b"{")
    }
}

/// What is to be done about a request that was refused.
pub(crate) enum Reaction {
    /// It waits until authorization is settled.
    Wait,
    /// It is made again at once.
    Again,
    /// It fails.
    Refuse(AuthError),
    /// It has nothing to do with authorization.
    Pass,
}
