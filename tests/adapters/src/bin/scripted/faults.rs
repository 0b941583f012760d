//! The ways to misbehave.

use std::collections::BTreeMap;

/// What the arguments name, each with what stands behind its `=`.
pub(crate) struct Faults(BTreeMap<String, String>);

impl Faults {
    pub(crate) fn from_arguments() -> Self {
        let split = |argument: String| match argument.split_once('=') {
            Some((fault, how)) => (fault.to_owned(), how.to_owned()),
            None => (argument, String::new()),
        };
        Self(std::env::args().skip(1).map(split).collect())
    }

    pub(crate) fn has(&self, fault: &str) -> bool {
        self.0.contains_key(fault)
    }

    pub(crate) fn how(&self, fault: &str) -> Option<&str> {
        self.0.get(fault).map(String::as_str)
    }

    pub(crate) fn number(&self, fault: &str) -> Option<usize> {
        self.how(fault).map(|how| how.parse().expect("a number"))
    }
}
