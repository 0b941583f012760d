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

/// A test.
macro_rules! case {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            windlass_rmcp_tests::watchdog::within_deadline(|| super::adapter::run(async move { $body }));
        }
    };
}
