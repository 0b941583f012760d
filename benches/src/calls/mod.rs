//! How calls between two processes are measured, whatever carries them.

mod cost;
pub(crate) mod echo;
pub(crate) mod measured;
pub(crate) mod phases;
pub(crate) mod pinning;

use windlass::model::Era;

/// How many calls are under way at once in the second phase.
pub(crate) const IN_FLIGHT: usize = 64;

/// How an era is called on a command line and in a title.
pub(crate) fn era_name(era: Era) -> &'static str {
    if era == Era::Legacy { "legacy" } else { "modern" }
}

/// The era of that name.
pub(crate) fn era_named(name: &str) -> Era {
    if name == "legacy" { Era::Legacy } else { Era::Modern }
}
