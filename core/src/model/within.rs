//! What a revision does not have is not said to those who speak it: it is left out, or said in words that they know.
//!
//! Every rule about which members, blocks and error codes go to which revision is here and below; who answers a request
//! brings its answer [`Within`] the revision of the request, and knows no more about it. The newest revisions have
//! nearly everything, so for them this is a comparison or two.

mod asked;
mod content;
mod error;
mod offered;

use super::{Annotations, Meta, ProtocolVersion};

/// From here on there is all that blocks, messages and contents are made of today.
const ALL_CONTENT: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// Something that is said to a peer, some of which older revisions do not have.
pub(crate) trait Within {
    /// Leaves out what the revision does not have, or says it in its words.
    fn keep_within(&mut self, version: ProtocolVersion);
}

impl<T: Within> Within for [T] {
    fn keep_within(&mut self, version: ProtocolVersion) {
        for entry in self {
            entry.keep_within(version);
        }
    }
}

impl Within for Option<Annotations> {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if let Some(annotations) = self.as_mut().filter(|_| !version.has_last_modified()) {
            annotations.last_modified = None;
        }
    }
}

/// The metadata of something inside of a result. That of the result itself all revisions have.
impl Within for Option<Meta> {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if !version.has_inner_meta() {
            *self = None;
        }
    }
}
