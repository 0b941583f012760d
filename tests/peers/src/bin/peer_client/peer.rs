//! With whom to talk, about what, and in which era.

use windlass::client::Negotiation;
use windlass::model::ProtocolVersion;
use windlass_tokio::Command;

/// What to talk about.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    Everything,
    Workshop,
    Revisions,
}

/// A server from outside.
pub(crate) struct Peer {
    pub(crate) text: Text,
    /// What is asked for.
    pub(crate) negotiation: Negotiation,
    /// What must come out of it.
    pub(crate) expected: ProtocolVersion,
    program: String,
    arguments: Vec<String>,
}

impl Peer {
    /// Reads the words after the runtime's name.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut next = |what: &str| words.next().ok_or_else(|| format!("{what} is missing"));
        let text = match next("the text")?.as_str() {
            "everything" => Text::Everything,
            "workshop" => Text::Workshop,
            "revisions" => Text::Revisions,
            other => return Err(format!("there is no text `{other}`")),
        };
        let negotiation = match next("the wanted era")?.as_str() {
            "automatic" => Negotiation::Automatic,
            "legacy" => Negotiation::Legacy,
            version => Negotiation::Pinned(revision(version)?),
        };
        let expected = revision(&next("the expected revision")?)?;
        let program = next("the program")?;
        Ok(Self { text, negotiation, expected, program, arguments: words.collect() })
    }

    /// How to start the server.
    pub(crate) fn command(&self) -> Command {
        // A server's last words help to find out why a conversation failed.
        Command::new(&self.program).args(&self.arguments).env("PEER_GREETING", "hello").inherit_stderr()
    }
}

fn revision(text: &str) -> Result<ProtocolVersion, String> {
    ProtocolVersion::parse(text).ok_or_else(|| format!("there is no revision `{text}`"))
}
