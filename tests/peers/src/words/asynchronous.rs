//! What the words of the texts mean on an asynchronous runtime.

/// Waits for a call.
macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

/// The body of a handler.
macro_rules! answer {
    ($body:block) => {
        async move { $body }
    };
}

/// Waits within a handler until its caller does not want the result any more.
macro_rules! until_cancelled {
    ($context:expr) => {
        $context.cancelled().await
    };
}

/// One part of a conversation.
macro_rules! scene {
    ($name:ident, |$client:ident, $heard:ident| $body:block) => {
        pub(super) async fn $name($client: &super::adapter::Client, $heard: &std::sync::Arc<crate::heard::Heard>) {
            $body
        }
    };
}

/// A whole conversation.
macro_rules! conversation {
    (|$peer:ident| $body:block) => {
        pub(super) fn hold($peer: crate::peer::Peer) {
            super::adapter::run(async move { $body });
        }
    };
}

/// A program.
macro_rules! program {
    ($body:block) => {
        pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
            super::adapter::run(async move { $body })
        }
    };
}
