//! Examples: a client and a server for each runtime, and a port to a runtime of your own. They are in `src/bin`.

/// The programs in the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
