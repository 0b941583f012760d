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

/// Lets time pass within a handler.
macro_rules! pause {
    ($duration:expr) => {
        std::thread::sleep($duration)
    };
}

/// What a client does in one scenario.
macro_rules! scenario {
    ($name:ident, |$task:ident| $body:block) => {
        pub(super) fn $name($task: &crate::task::Task) -> Result<(), Box<dyn std::error::Error>> {
            $body
        }
    };
}

/// A program with one argument.
macro_rules! program {
    (|$argument:ident: $type:ty| $body:block) => {
        pub(crate) fn main($argument: $type) -> Result<(), Box<dyn std::error::Error>> {
            $body
        }
    };
}
