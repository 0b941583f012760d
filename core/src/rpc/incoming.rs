//! The life of the peer's requests: begun, then answered by us or cancelled by the peer, whichever comes first.

use alloc::vec::Vec;

use serde::Serialize;

use super::{OutgoingKind, Rpc};
use crate::jsonrpc::{Id, RpcError, Splice, encode_result};
use crate::observer::Outcome;

/// Names a request of the peer's while it is open. Unlike the peer's own id it is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey {
    session: u32,
    number: u64,
}

/// A request that waits for our answer.
pub(crate) struct OpenRequest<I> {
    pub(crate) id: Id,
    pub(crate) data: I,
}

/// Why a request was not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// A request with this id is still open.
    DuplicateId,
    /// Too many requests are open.
    TooMany,
}

impl NotBegun {
    pub(crate) fn error(&self) -> RpcError {
        match self {
            Self::DuplicateId => RpcError::invalid_request("a request with this id is still open"),
            Self::TooMany => RpcError::internal("too many requests are open; wait for answers before sending more"),
        }
    }
}

impl RequestKey {
    /// Which session of the machine it belongs to.
    pub(crate) fn session(self) -> u32 {
        self.session
    }

    /// No other request of the machine has the same.
    pub(crate) fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.session.to_le_bytes());
        bytes[4..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    #[cfg(test)]
    pub(crate) fn of(session: u32, number: u64) -> Self {
        Self { session, number }
    }
}

impl<T, I> Rpc<T, I> {
    /// Takes in a request.
    pub(crate) fn begin(&mut self, id: &Id, data: I) -> Result<RequestKey, NotBegun> {
        if !self.anonymous && self.keys.contains(id) {
            return Err(NotBegun::DuplicateId);
        }
        if self.incoming.len() >= self.room.incoming_requests as usize {
            self.limit_hit("incoming_requests");
            return Err(NotBegun::TooMany);
        }
        let key = RequestKey { session: self.index, number: self.next_key };
        self.next_key += 1;
        if !self.anonymous {
            self.keys.insert(id.clone(), key);
        }
        self.incoming.insert(key, OpenRequest { id: id.clone(), data });
        Ok(key)
    }

    /// An open request.
    pub(crate) fn request(&self, key: RequestKey) -> Option<&OpenRequest<I>> {
        self.incoming.get(&key)
    }

    /// An open request.
    pub(crate) fn request_mut(&mut self, key: RequestKey) -> Option<&mut OpenRequest<I>> {
        self.incoming.get_mut(&key)
    }

    /// All open requests, oldest first.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (RequestKey, &OpenRequest<I>)> {
        self.incoming.iter().map(|(&key, request)| (key, request))
    }

    /// The peer cancelled a request: nothing more is sent for it.
    pub(crate) fn cancelled(&mut self, id: &Id) -> Option<(RequestKey, I)> {
        let Some(key) = self.keys.get(id).copied() else {
            self.counters.stray_cancellations += 1;
            return None;
        };
        self.end(key).map(|request| (key, request.data))
    }

    /// Takes a request off the table that will not be answered.
    pub(crate) fn end(&mut self, key: RequestKey) -> Option<OpenRequest<I>> {
        let request = self.remove_request(key)?;
        if let Some(watch) = &mut self.watch {
            watch.theirs_finished(key, Outcome::Cancelled);
        }
        Some(request)
    }

    fn remove_request(&mut self, key: RequestKey) -> Option<OpenRequest<I>> {
        let request = self.incoming.remove(&key)?;
        self.keys.remove(&request.id);
        Some(request)
    }

    /// Answers a request with a result. A request that was cancelled meanwhile gets no answer.
    pub(crate) fn answer<R: Serialize + ?Sized>(&mut self, key: RequestKey, result: &R, splice: Splice<'_>) {
        if self.overflows() {
            self.end(key);
            return;
        }
        let Some(request) = self.remove_request(key) else { return };
        let encode = |out: &mut Vec<u8>| encode_result(out, &request.id, result, splice);
        if let Err(error) =
            self.append(OutgoingKind::Answer { to: Some(key), error: None }, None, Some(&request.id), encode)
        {
            let error = RpcError::internal(alloc::format!("the result cannot be written as JSON: {error}"));
            self.append_error(Some(key), Some(&request.id), false, &error);
        }
    }

    /// Answers a request with an error.
    pub(crate) fn fail(&mut self, key: RequestKey, error: &RpcError) {
        if let Some(request) = self.remove_request(key) {
            self.append_error(Some(key), Some(&request.id), false, error);
        }
    }

    /// Every open request, for a connection that is over.
    pub(crate) fn forget_requests(&mut self) -> Vec<I> {
        self.keys.clear();
        if let Some(watch) = &mut self.watch {
            watch.theirs_forgotten();
        }
        self.incoming.take().map(|(_, request)| request.data).collect()
    }
}
