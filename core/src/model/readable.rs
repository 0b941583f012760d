//! What the roles read by themselves.

use super::*;
use crate::json::JsonText;

/// A type that a role reads and that is neither a method's result nor what a notification says, which have a `read` of
/// their own.
///
/// Roles are generic over what programs give them, so their code is compiled by each crate that makes one concrete. How
/// these types are read would be compiled there as well, again and again, if it were not for implementations that belong
/// to this crate.
pub(crate) trait Readable: Sized {
    fn read(text: JsonText<'_>) -> Result<Self, serde_json::Error>;
}

macro_rules! readable {
    ($($type:ident)+) => {
        $(impl Readable for $type {
            fn read(text: JsonText<'_>) -> Result<Self, serde_json::Error> {
                text.read()
            }
        })+
    };
}

readable! {
    ClientCapabilities CompleteParams Implementation InitializeParams InputRequiredResult LoggingLevel RequiredPages
    SetLevelParams SubscribeParams SubscriptionsListenParams
}
