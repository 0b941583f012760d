//! rmcp's client against our server on every runtime. A case is a function of the server's program.
#![cfg(unix)]
// The peer marks sampling, roots and logging as on their way out; here they are what is tested.
#![allow(deprecated)]

/// Makes tests of cases: one for every server.
macro_rules! on_every_runtime {
    ($($case:ident)+) => {
        $(mod $case {
            #[test]
            fn of_tokio() {
                crate::guest::run(super::$case(env!("CARGO_BIN_EXE_our_server_tokio")));
            }

            #[test]
            fn of_async_std() {
                crate::guest::run(super::$case(env!("CARGO_BIN_EXE_our_server_async_std")));
            }

            #[test]
            fn of_smol() {
                crate::guest::run(super::$case(env!("CARGO_BIN_EXE_our_server_smol")));
            }

            #[test]
            fn of_blocking() {
                crate::guest::run(super::$case(env!("CARGO_BIN_EXE_our_server_blocking")));
            }

            #[test]
            fn of_mio() {
                crate::guest::run(super::$case(env!("CARGO_BIN_EXE_our_server_mio")));
            }
        })+
    };
}

mod asking;
mod cancelling;
mod ending;
mod failing;
mod guest;
mod listening;
mod meeting;
mod talking;
