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
        while !$context.wait_cancelled(std::time::Duration::from_secs(3600)) {}
    };
}

/// A test.
macro_rules! case {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            windlass_rmcp_tests::watchdog::within_deadline(|| $body);
        }
    };
}
