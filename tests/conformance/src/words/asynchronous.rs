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

/// Lets time pass within a handler.
macro_rules! pause {
    ($duration:expr) => {
        windlass_adapter_tests::pause::pause($duration).await
    };
}

/// What a client does in one scenario.
macro_rules! scenario {
    ($name:ident, |$task:ident| $body:block) => {
        pub(super) async fn $name($task: &crate::task::Task) -> Result<(), Box<dyn std::error::Error>> {
            $body
        }
    };
}

/// A program with one argument.
macro_rules! program {
    (|$argument:ident: $type:ty| $body:block) => {
        pub(crate) fn main($argument: $type) -> Result<(), Box<dyn std::error::Error>> {
            super::adapter::run(async move { $body })
        }
    };
}
