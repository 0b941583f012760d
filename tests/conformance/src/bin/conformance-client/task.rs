//! What the suite wants from the client.

use std::env;

use serde::de::DeserializeOwned;
use windlass::model::ProtocolVersion;

/// One scenario.
pub(crate) struct Task {
    /// Its name.
    pub(crate) scenario: String,
    /// Where the scenario's server is.
    pub(crate) url: String,
    /// The revision to speak.
    pub(crate) version: ProtocolVersion,
    context: Option<String>,
}

impl Task {
    /// Reads what the suite tells by environment variables.
    pub(crate) fn from_environment(url: String) -> Result<Self, String> {
        let scenario = variable("MCP_CONFORMANCE_SCENARIO")?;
        let version = variable("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
        let version = ProtocolVersion::parse(&version).ok_or_else(|| format!("there is no revision `{version}`"))?;
        Ok(Self { scenario, url, version, context: env::var("MCP_CONFORMANCE_CONTEXT").ok() })
    }

    /// What comes with the scenario.
    pub(crate) fn context<C: DeserializeOwned>(&self) -> Result<C, String> {
        let context = self.context.as_deref().ok_or("the suite gave no context")?;
        serde_json::from_str(context).map_err(|error| format!("the suite's context is strange: {error}"))
    }
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("{name} is not set: the suite starts this program"))
}

/// Fails a scenario whose server did not say what was expected.
pub(crate) fn expect(what: &str, is_so: bool) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("not as expected: {what}")) }
}
