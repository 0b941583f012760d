//! Reading the recordings of wires: a head that says who spoke, then the lines of a transcript.

use windlass_sim::Side;
use windlass_tests::wires::Speaker;

/// What a recording says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Which tests it comes from.
    pub source: String,
    /// The name of the test.
    pub test: String,
    /// Who speaks as the client.
    pub client: Speaker,
    /// Who speaks as the server.
    pub server: Speaker,
}

impl Head {
    /// Reads `# NAME: VALUE` for each of the four.
    pub fn read(recording: &str) -> Result<Self, String> {
        let value = |name: &str| {
            let mut heads = recording.lines().map_while(|line| line.strip_prefix("# "));
            let found = heads.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.map(str::to_owned).ok_or_else(|| format!("the recording does not say its {name}"))
        };
        let speaker = |name: &str| {
            let value = value(name)?;
            let found = [Speaker::Ours, Speaker::Foreign, Speaker::Raw].into_iter().find(|who| who.name() == value);
            found.ok_or_else(|| format!("nobody speaks as `{value}`"))
        };
        let (client, server) = (speaker("client")?, speaker("server")?);
        Ok(Self { source: value("source")?, test: value("test")?, client, server })
    }

    /// Who speaks on a side.
    pub fn speaker(&self, side: Side) -> Speaker {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_and_a_recording_without_one_is_refused() {
        let text = "# source: a\n# test: b: c\n# client: ours\n# server: foreign\n> {}\n";
        let head = Head::read(text).unwrap();
        assert_eq!((head.source.as_str(), head.test.as_str()), ("a", "b: c"));
        assert_eq!((head.speaker(Side::Client), head.speaker(Side::Server)), (Speaker::Ours, Speaker::Foreign));
        assert!(Head::read("> {}\n# source: a\n").is_err());
        assert!(Head::read(&text.replace("ours", "theirs")).unwrap_err().contains("theirs"));
    }
}
