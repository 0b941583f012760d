//! The revisions of the protocol, and what each of them knows.

use core::fmt;

use serde::{Serialize, Serializer};

/// A protocol revision that this engine speaks, ordered by age.
///
/// ```
/// use windlass::model::{Era, ProtocolVersion};
///
/// let version = ProtocolVersion::parse("2025-06-18").unwrap();
/// assert_eq!(version.era(), Era::Legacy);
/// assert!(version.has_elicitation() && version < ProtocolVersion::LATEST);
/// // Versions are opaque strings: nothing that merely looks like a date is one.
/// assert_eq!(ProtocolVersion::parse("2025-06-19"), None);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolVersion {
    /// 2024-11-05, the first.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches, audio, tool annotations.
    V2025_03_26,
    /// 2025-06-18: structured results, elicitation, resource links; no batches.
    V2025_06_18,
    /// 2025-11-25: URL elicitation, sampling with tools, icons.
    V2025_11_25,
    /// 2026-07-28: no sessions, every request stands alone.
    V2026_07_28,
}

/// The two ways of the protocol, which differ in how a conversation starts and who may ask whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to 2025-11-25: an `initialize` handshake, then a session.
    Legacy,
    /// From 2026-07-28: every request carries its version and capabilities.
    Modern,
}

impl ProtocolVersion {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The revisions with a handshake, oldest first.
    pub const LEGACY: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision that `text` names, if it is one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// Which of the two ways this revision goes.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// Whether a peer may send JSON-RPC batches: 2025-03-26 says so, 2024-11-05 does not forbid them.
    pub fn allows_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Whether every error response must carry an id, so that one without is none.
    pub fn requires_id_in_errors(self) -> bool {
        self <= Self::V2025_06_18
    }

    /// Whether completion has a capability of its own; before, the method stood open.
    pub fn has_completions_capability(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether audio content blocks exist.
    pub fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether tools carry annotations.
    pub fn has_tool_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether progress notifications carry a message.
    pub fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether tools declare an output schema and return structured content.
    pub fn has_structured_output(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether structured content may be any JSON value, not just an object.
    pub fn allows_any_structured_content(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether servers may ask the user for input.
    pub fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether servers may send the user to a URL.
    pub fn has_url_elicitation(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether resource links are content blocks.
    pub fn has_resource_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether names come with a title for display.
    pub fn has_titles(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether tools, resources, prompts, contents and blocks carry metadata of their own.
    pub fn has_inner_meta(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether annotations say when something was last changed.
    pub fn has_last_modified(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether descriptions come with icons.
    pub fn has_icons(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether sampling messages may hold tool calls, and several blocks.
    pub fn has_sampling_tools(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether the core protocol has (experimental) tasks.
    pub fn has_core_tasks(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether capabilities name extensions. The schema has them since 2026-07-28; the proposal that brought them was
    /// written for the revision before, and extensions are in use there.
    pub fn has_extensions(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether results carry caching hints.
    pub fn has_caching(self) -> bool {
        self >= Self::V2026_07_28
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_reads_back_in_order() {
        for version in ProtocolVersion::ALL {
            assert_eq!(ProtocolVersion::parse(version.as_str()), Some(version));
        }
        assert!(ProtocolVersion::ALL.is_sorted());
        assert_eq!(ProtocolVersion::parse(""), None);
        assert_eq!(ProtocolVersion::parse("2026-07-28 "), None);
    }

    #[test]
    fn what_each_revision_has() {
        type Row = (fn(ProtocolVersion) -> bool, [u8; 5]);
        let table: [Row; 19] = [
            (ProtocolVersion::allows_batches, [1, 1, 0, 0, 0]),
            (ProtocolVersion::requires_id_in_errors, [1, 1, 1, 0, 0]),
            (ProtocolVersion::has_completions_capability, [0, 1, 1, 1, 1]),
            (ProtocolVersion::has_audio, [0, 1, 1, 1, 1]),
            (ProtocolVersion::has_tool_annotations, [0, 1, 1, 1, 1]),
            (ProtocolVersion::has_progress_message, [0, 1, 1, 1, 1]),
            (ProtocolVersion::has_structured_output, [0, 0, 1, 1, 1]),
            (ProtocolVersion::has_elicitation, [0, 0, 1, 1, 1]),
            (ProtocolVersion::has_resource_links, [0, 0, 1, 1, 1]),
            (ProtocolVersion::has_titles, [0, 0, 1, 1, 1]),
            (ProtocolVersion::has_inner_meta, [0, 0, 1, 1, 1]),
            (ProtocolVersion::has_last_modified, [0, 0, 1, 1, 1]),
            (ProtocolVersion::has_url_elicitation, [0, 0, 0, 1, 1]),
            (ProtocolVersion::has_icons, [0, 0, 0, 1, 1]),
            (ProtocolVersion::has_sampling_tools, [0, 0, 0, 1, 1]),
            (ProtocolVersion::has_core_tasks, [0, 0, 0, 1, 0]),
            (ProtocolVersion::has_extensions, [0, 0, 0, 1, 1]),
            (ProtocolVersion::allows_any_structured_content, [0, 0, 0, 0, 1]),
            (ProtocolVersion::has_caching, [0, 0, 0, 0, 1]),
        ];
        for (row, (has, expected)) in table.iter().enumerate() {
            assert_eq!(ProtocolVersion::ALL.map(|version| u8::from(has(version))), *expected, "row {row}");
        }
    }
}
