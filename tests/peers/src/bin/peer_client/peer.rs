//! With whom to talk, about what, and in which era.

use windlass::client::Negotiation;
use windlass::model::ProtocolVersion;
use windlass_tokio::{Command, Connector, HttpTarget};

/// What to talk about.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Text {
    Everything,
    Workshop,
    Revisions,
    Stateless,
    Json,
}

/// A server from outside.
pub(crate) struct Peer {
    pub(crate) text: Text,
    /// What is asked for.
    pub(crate) negotiation: Negotiation,
    /// What must come out of it.
    pub(crate) expected: ProtocolVersion,
    place: Place,
}

/// Where the server is.
enum Place {
    /// It is a program to be started.
    Program(String, Vec<String>),
    /// It is there already.
    Url(Box<HttpTarget>),
}

impl Peer {
    /// Reads the words after the runtime's name.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut next = |what: &str| words.next().ok_or_else(|| format!("{what} is missing"));
        let text = match next("the text")?.as_str() {
            "everything" => Text::Everything,
            "workshop" => Text::Workshop,
            "revisions" => Text::Revisions,
            "stateless" => Text::Stateless,
            "json" => Text::Json,
            other => return Err(format!("there is no text `{other}`")),
        };
        let negotiation = match next("the wanted era")?.as_str() {
            "automatic" => Negotiation::Automatic,
            "legacy" => Negotiation::Legacy,
            version => Negotiation::Pinned(revision(version)?),
        };
        let expected = revision(&next("the expected revision")?)?;
        let program = next("the program or the URL")?;
        let place = if program.starts_with("http://") {
            Place::Url(Box::new(HttpTarget::new(&program).map_err(|error| format!("{program}: {error}"))?))
        } else {
            Place::Program(program, words.collect())
        };
        Ok(Self { text, negotiation, expected, place })
    }

    /// How to reach the server. A program is started anew each time.
    pub(crate) fn server(&self) -> Connector {
        match &self.place {
            // A server's last words help to find out why a conversation failed.
            Place::Program(program, arguments) => {
                Command::new(program).args(arguments).env("PEER_GREETING", "hello").inherit_stderr().into()
            }
            Place::Url(target) => HttpTarget::clone(target).into(),
        }
    }

    /// Whether the server is a child of ours.
    pub(crate) fn is_child(&self) -> bool {
        matches!(self.place, Place::Program(..))
    }
}

fn revision(text: &str) -> Result<ProtocolVersion, String> {
    ProtocolVersion::parse(text).ok_or_else(|| format!("there is no revision `{text}`"))
}
