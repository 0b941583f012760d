//! Our client on every runtime against a server on rmcp. A case is written once, in the words of `windlass-test-runtimes`.
#![cfg(unix)]
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod peer;

windlass_test_runtimes::on_every_runtime! { "cases":
    mod asking;
    mod cancelling;
    mod ending;
    mod failing;
    mod http;
    mod listening;
    mod meeting;
    mod talking;

    of_futures! {
        mod dropping;
    }
}
