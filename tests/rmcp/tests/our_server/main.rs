//! rmcp's client against our server on every runtime. A case is a function of the server's program.
#![cfg(unix)]
// The peer marks sampling, roots and logging as on their way out; here they are what is tested.
#![allow(deprecated)]

/// Makes tests of cases: one for every server, on its standard streams and over HTTP. There its answers are JSON where they
/// can be, or streams always.
macro_rules! on_every_runtime {
    ($($case:ident)+) => {
        on_every_runtime_by_stdio! { $($case)+ }

        mod over_http {
            $(mod $case {
                tests! { super::super::$case =>
                    of_tokio over_http(env!("CARGO_BIN_EXE_our_server_tokio"), "json")
                    of_async_std over_http(env!("CARGO_BIN_EXE_our_server_async_std"), "streams")
                    of_smol over_http(env!("CARGO_BIN_EXE_our_server_smol"), "streams")
                    of_blocking over_http(env!("CARGO_BIN_EXE_our_server_blocking"), "json")
                    of_mio over_http(env!("CARGO_BIN_EXE_our_server_mio"), "streams")
                }
            })+
        }
    };
}

/// Makes tests of cases that are about the standard streams.
macro_rules! on_every_runtime_by_stdio {
    ($($case:ident)+) => {
        $(mod $case {
            tests! { super::$case =>
                of_tokio by_stdio(env!("CARGO_BIN_EXE_our_server_tokio"))
                of_async_std by_stdio(env!("CARGO_BIN_EXE_our_server_async_std"))
                of_smol by_stdio(env!("CARGO_BIN_EXE_our_server_smol"))
                of_blocking by_stdio(env!("CARGO_BIN_EXE_our_server_blocking"))
                of_mio by_stdio(env!("CARGO_BIN_EXE_our_server_mio"))
            }
        })+
    };
}

macro_rules! tests {
    ($case:path => $($name:ident $how:ident($($argument:expr),+))+) => {
        $(#[test]
        fn $name() {
            crate::guest::run($case(crate::guest::Program::$how($($argument),+)));
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
