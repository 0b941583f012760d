//! Error codes.

use super::super::{Era, ProtocolVersion};
use super::Within;
use crate::jsonrpc::{RpcError, code};

/// What the specification keeps for itself since 2026-07-28: nobody may use a code in here that it does not define.
const RESERVED: core::ops::RangeInclusive<i64> = -32099..=-32020;

impl Within for RpcError {
    fn keep_within(&mut self, version: ProtocolVersion) {
        if version.era() == Era::Legacy {
            return;
        }
        self.code = match self.code {
            code::RESOURCE_NOT_FOUND => code::INVALID_PARAMS,
            code @ (code::HEADER_MISMATCH
            | code::MISSING_REQUIRED_CLIENT_CAPABILITY
            | code::UNSUPPORTED_PROTOCOL_VERSION) => code,
            code if RESERVED.contains(&code) => code::INTERNAL_ERROR,
            code => code,
        };
    }
}
