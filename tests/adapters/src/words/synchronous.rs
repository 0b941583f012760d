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

/// The body of a handler that fails before it has anything to wait for.
macro_rules! answer_at_once {
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

/// Waits within a handler until its caller does not want the result any more.
macro_rules! until_cancelled {
    ($context:expr) => {
        assert!($context.wait_cancelled(std::time::Duration::MAX))
    };
}

/// Never ends.
macro_rules! forever {
    () => {
        loop {
            std::thread::park()
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

/// Something that several texts do.
macro_rules! step {
    ($name:ident($($argument:ident: $type:ty),*) $(-> $outcome:ty)?, $body:block) => {
        pub(crate) fn $name($($argument: $type),*) $(-> $outcome)? $body
    };
}

/// A test.
macro_rules! case {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            crate::watchdog::within_deadline(|| $body);
        }
    };
}

/// Does something at the same time.
macro_rules! start {
    ($body:block) => {
        std::thread::spawn(move || $body)
    };
}

/// Waits for what was started.
macro_rules! join {
    ($task:expr) => {
        $task.join().unwrap()
    };
}

/// Looks until something is so, while everything else goes on.
macro_rules! eventually {
    ($what:literal, $is_so:expr) => {{
        let patience = crate::watchdog::Patience::for_it_to_be_so_that($what);
        while !$is_so {
            patience.check();
            pause!(crate::watchdog::Patience::PAUSE);
        }
    }};
}
