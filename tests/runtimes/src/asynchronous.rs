//! What the words mean where a call is a future.

#[doc(hidden)]
#[macro_export]
macro_rules! asynchronous {
    (wait $call:expr) => { $call.await };
    (answer $body:block) => { async move { $body } };
    (answer_at_once $body:block) => {{
        #[allow(clippy::diverging_sub_expression, unused_variables)]
        let value = $body;
        #[allow(unreachable_code)]
        std::future::ready(value)
    }};
    (pause $duration:expr) => { $crate::pause::pause($duration).await };
    (until_cancelled $context:expr) => { $context.cancelled().await };
    (forever) => { std::future::pending::<()>().await };
    (start $body:block) => { super::runtime::spawn(async move { $body }) };
    (join $task:expr) => { $task.await };
    (eventually $($text:tt)*) => { $crate::eventually!(asynchronous $($text)*) };
    (step $name:ident($($argument:ident: $type:ty),*) $(-> $outcome:ty)?, $body:block) => {
        pub(crate) async fn $name($($argument: $type),*) $(-> $outcome)? $body
    };
    (program $name:ident($($argument:ident: $type:ty),*) $(-> $outcome:ty)?, $body:block) => {
        pub(crate) fn $name($($argument: $type),*) $(-> $outcome)? {
            super::runtime::run(async move { $body })
        }
    };
    (case $name:ident, $body:block) => {
        #[test]
        fn $name() {
            $crate::watchdog::within_deadline(|| super::runtime::run(async move { $body }));
        }
    };
    (of_futures $($items:tt)*) => { $($items)* };
    (of_threads $($items:tt)*) => {};
}
