//! Which cores the two processes may use.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pinning {
    /// Both on the same.
    OneCore,
    /// One for each.
    TwoCores,
}

impl Pinning {
    pub(crate) const BOTH: [Self; 2] = [Self::OneCore, Self::TwoCores];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneCore => "one core",
            Self::TwoCores => "two cores",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|pinning| pinning.name() == name)
    }

    /// Why this cannot be measured here, if it cannot.
    pub(crate) fn is_possible(self) -> Result<(), String> {
        let allowed = sched_getaffinity(None).map_err(|error| format!("the cores are not known: {error}"))?;
        let first = *cores_in(&allowed).first().ok_or("there is no core")?;
        sched_setaffinity(None, &only(first)).map_err(|error| format!("processes cannot be pinned here: {error}"))?;
        sched_setaffinity(None, &allowed).map_err(|error| format!("processes cannot be released here: {error}"))?;
        match self {
            Self::TwoCores if cores_in(&allowed).len() < 2 => Err("there is only one core here".into()),
            _ => Ok(()),
        }
    }

    /// The core of the client and that of the server.
    pub(crate) fn cores(self) -> (usize, usize) {
        let cores = cores_in(&sched_getaffinity(None).expect("the cores are known"));
        match self {
            Self::OneCore => (cores[0], cores[0]),
            Self::TwoCores => (cores[0], cores[1]),
        }
    }
}

/// From now on this process, with all the threads it will start, runs on one core.
pub(crate) fn pin_to(core: usize) {
    sched_setaffinity(None, &only(core)).expect("pinning is possible, as was found out before");
}

fn cores_in(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

fn only(core: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core);
    set
}
