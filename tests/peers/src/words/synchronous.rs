//! What the words of the texts mean without a runtime.

/// Waits for a call.
macro_rules! wait {
    ($call:expr) => {
        $call
    };
}

/// The body of a handler.
macro_rules! answer {
    ($body:block) => {
        $body
    };
}

/// Waits within a handler until its caller does not want the result any more.
macro_rules! until_cancelled {
    ($context:expr) => {
        while !$context.wait_cancelled(std::time::Duration::MAX) {}
    };
}

/// One part of a conversation.
macro_rules! scene {
    ($name:ident, |$client:ident, $heard:ident| $body:block) => {
        pub(super) fn $name($client: &super::adapter::Client, $heard: &std::sync::Arc<crate::heard::Heard>) {
            $body
        }
    };
}

/// A whole conversation.
macro_rules! conversation {
    (|$peer:ident| $body:block) => {
        pub(super) fn hold($peer: crate::peer::Peer) {
            $body
        }
    };
}

/// A program.
macro_rules! program {
    ($body:block) => {
        pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
            super::adapter::run((|| $body)())
        }
    };
}
