//! What the words mean where a call returns when it is done.

#[doc(hidden)]
#[macro_export]
macro_rules! synchronous {
    (wait $call:expr) => { $call };
    (answer $body:block) => { $body };
    (answer_at_once $body:block) => { $body };
    (pause $duration:expr) => { std::thread::sleep($duration) };
    (until_cancelled $context:expr) => { assert!($context.wait_cancelled(std::time::Duration::MAX)) };
    (forever) => { loop { std::thread::park() } };
    (start $body:block) => { std::thread::spawn(move || $body) };
    (join $task:expr) => { $task.join().unwrap() };
    (eventually $($text:tt)*) => { $crate::eventually!(synchronous $($text)*) };
    (step $name:ident($($argument:ident: $type:ty),*) $(-> $outcome:ty)?, $body:block) => {
        pub(crate) fn $name($($argument: $type),*) $(-> $outcome)? $body
    };
    (program $($program:tt)*) => { $crate::synchronous!(step $($program)*); };
    (case $name:ident, $body:block) => {
        #[test]
        fn $name() {
            $crate::watchdog::within_deadline(|| $body);
        }
    };
    (of_futures $($items:tt)*) => {};
    (of_threads $($items:tt)*) => { $($items)* };
}
