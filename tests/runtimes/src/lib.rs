//! One text of a test or a program, compiled once for every runtime.
//!
//! `on!(tokio)` gives the rest of a module, and the modules in it, what differs between runtimes: `adapter`, which is the
//! crate to be tested, `runtime`, and these words:
//!
//! | word | |
//! |---|---|
//! | `wait!(call)` | waits for a call |
//! | `answer!({ … })` | the body of a handler |
//! | `answer_at_once!({ … })` | the body of a handler that fails before it has anything to wait for |
//! | `pause!(duration)` | lets time pass within a handler |
//! | `until_cancelled!(context)` | waits within a handler until its caller does not want the result any more |
//! | `forever!()` | never ends |
//! | `start!({ … })`, `join!(task)` | does something at the same time, and waits for it |
//! | `eventually!("it is so", condition)` | looks until something is so, while everything else goes on |
//! | `step!(name(argument: Type) -> Outcome, { … })` | something that texts wait for |
//! | `program!(name(argument: Type) -> Outcome, { … })` | something that is run from outside the runtime |
//! | `case!(name, { … })` | a test |
//! | `of_futures! { … }`, `of_threads! { … }` | what there is only where a call is a future, or where callbacks may call |

mod asynchronous;
pub mod pause;
pub mod runtimes;
mod synchronous;

pub use windlass_tests::watchdog;

/// Gives the words their meaning on a runtime: `async_std`, `blocking`, `mio`, `smol`, `tokio` or `tokio_threads`.
#[macro_export]
macro_rules! on {
    (blocking) => { $crate::words!(synchronous blocking $); };
    (mio) => { $crate::words!(synchronous mio $); };
    ($future:ident) => { $crate::words!(asynchronous $future $); };
}

/// Makes the modules `on_async_std`, `on_blocking`, `on_mio`, `on_smol` and `on_tokio` of the same items. The texts that
/// these name are in a folder beside.
#[macro_export]
macro_rules! on_every_runtime {
    ($folder:literal: $($items:tt)*) => {
        #[path = $folder]
        mod on_async_std { $crate::on!(async_std); $($items)* }
        #[path = $folder]
        mod on_blocking { $crate::on!(blocking); $($items)* }
        #[path = $folder]
        mod on_mio { $crate::on!(mio); $($items)* }
        #[path = $folder]
        mod on_smol { $crate::on!(smol); $($items)* }
        #[path = $folder]
        mod on_tokio { $crate::on!(tokio); $($items)* }
    };
}

/// Defines every word where it stands, because only such macros reach the modules below. What a word stands for is said by
/// [`asynchronous!`] or [`synchronous!`]. The dollar is handed in: a macro cannot write one for the macros that it defines.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($meaning:ident $runtime:ident $dollar:tt) => {
        #[allow(unused_imports)]
        use $crate::runtimes::$runtime::{self as runtime, adapter};

        $crate::words! { $meaning $dollar:
            wait answer answer_at_once pause until_cancelled forever start join eventually step program case
            of_futures of_threads
        }
    };
    ($meaning:ident $dollar:tt: $($word:ident)*) => {
        $(#[allow(unused_macros)]
        macro_rules! $word {
            ($dollar($dollar text:tt)*) => { $crate::$meaning! { $word $dollar($dollar text)* } };
        })*
    };
}

/// Looks until something is so.
#[doc(hidden)]
#[macro_export]
macro_rules! eventually {
    ($meaning:ident $what:literal, $is_so:expr) => {{
        let patience = $crate::watchdog::Patience::for_it_to_be_so_that($what);
        while !$is_so {
            patience.check();
            $crate::$meaning!(pause $crate::watchdog::Patience::PAUSE);
        }
    }};
}
