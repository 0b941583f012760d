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

/// The body of a handler that fails before it has anything to wait for.
macro_rules! answer_at_once {
    ($body:block) => {{
        #[allow(clippy::diverging_sub_expression, unused_variables)]
        let value = $body;
        #[allow(unreachable_code)]
        std::future::ready(value)
    }};
}

/// Lets time pass within a handler.
macro_rules! pause {
    ($duration:expr) => {
        windlass_adapter_tests::pause::pause($duration).await
    };
}

/// Waits within a handler until its caller does not want the result any more.
macro_rules! until_cancelled {
    ($context:expr) => {
        $context.cancelled().await
    };
}

/// Never ends.
macro_rules! forever {
    () => {
        std::future::pending::<()>().await
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

/// Something that several texts do.
macro_rules! step {
    ($name:ident($($argument:ident: $type:ty),*) $(-> $outcome:ty)?, $body:block) => {
        pub(crate) async fn $name($($argument: $type),*) $(-> $outcome)? $body
    };
}

/// A test.
macro_rules! case {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            crate::watchdog::within_deadline(|| super::runtime::run(async move { $body }));
        }
    };
}

/// Does something at the same time.
macro_rules! start {
    ($body:block) => {
        super::runtime::spawn(async move { $body })
    };
}

/// Waits for what was started.
macro_rules! join {
    ($task:expr) => {
        $task.await
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
