//! The JSON-RPC envelope: ids, requests, notifications, responses, errors, batches.

mod encode;
mod envelope;
mod error;
mod id;
mod salvage;
mod values;

pub(crate) use crate::json::excerpt;
pub(crate) use encode::{Splice, encode_error, encode_notification, encode_request, encode_result};
pub use envelope::{Malformed, MalformedKind, Message, Parsed, parse, parse_entry};
pub use error::{RpcError, code};
pub use id::Id;
pub(crate) use salvage::salvage;
