//! Our client on every runtime against a server on rmcp. A case is written once, in the words of `src/words`; each module
//! below says what they mean there.
#![cfg(unix)]
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod peer;

/// What holds everywhere.
macro_rules! cases {
    () => {
        #[path = "cases/asking.rs"]
        mod asking;
        #[path = "cases/cancelling.rs"]
        mod cancelling;
        #[path = "cases/ending.rs"]
        mod ending;
        #[path = "cases/failing.rs"]
        mod failing;
        #[path = "cases/http.rs"]
        mod http;
        #[path = "cases/listening.rs"]
        mod listening;
        #[path = "cases/meeting.rs"]
        mod meeting;
        #[path = "cases/talking.rs"]
        mod talking;
    };
}

/// What holds where a call is a future.
macro_rules! cases_of_futures {
    () => {
        #[path = "cases/dropping.rs"]
        mod dropping;
    };
}

mod on_async_std;
mod on_blocking;
mod on_mio;
mod on_smol;
mod on_tokio;
