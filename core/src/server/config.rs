//! What a server is configured with.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::json::Json;
use crate::limits::Limits;
use crate::model::meta::is_valid_key;
use crate::model::{CacheScope, ClientCapabilities, Implementation, ProtocolVersion, ServerCapabilities};
use crate::observer::Observed;
use crate::rpc::KeepAliveConfig;

/// How a server introduces itself and behaves.
///
/// ```
/// use windlass::model::Implementation;
/// use windlass::server::ServerConfig;
///
/// let mut config = ServerConfig::new(Implementation::new("weather", "1.0.0"));
/// config.instructions = Some("Ask for forecasts by city name.".into());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Who the server is.
    pub info: Implementation,
    /// How it wants to be used, for the model to read.
    pub instructions: Option<String>,
    /// Whether the server logs to its clients.
    pub logging: bool,
    /// Entries in one page of a listing.
    pub page_size: usize,
    /// How long modern clients may use listings and resources again without asking. Zero is always right; longer
    /// saves requests, and changes are announced to those who subscribe.
    pub time_to_live: Duration,
    /// Whether what is cached may be shared between users.
    pub cache_scope: CacheScope,
    /// How long a legacy client may take to answer a request for input: a person may have to think.
    pub input_timeout: Duration,
    /// How long a modern client may take from one round to the next.
    pub state_lifetime: Duration,
    /// The key that seals the state of a call between rounds: the client can neither read nor change it, nor use it for
    /// another call. By default it is drawn from the machine's seed, which does for one process; instances that serve each
    /// other's rounds share a key, which is drawn at random and used for nothing else.
    pub state_key: Option<[u8; 32]>,
    /// Whether the state of a call may be used once only. Otherwise a client, or whoever has got hold of what it sent, may
    /// come back with it as often as they like within [`state_lifetime`](Self::state_lifetime); that matters where what a
    /// handler does in a later round must not be done twice. It is off by default, because a client whose connection broke
    /// before the answer came could not make that round again. Each machine knows of its own only: instances that share a
    /// key look at [`Invocation::state_id`](super::Invocation::state_id).
    pub single_use_state: bool,
    /// The time since the Unix epoch at the origin of the machine's clock, so that instances agree on expiry.
    pub unix_time_at_origin: Duration,
    /// Keep-alive pings, to legacy clients only.
    pub keep_alive: Option<KeepAliveConfig>,
    /// What the client may cost.
    pub limits: Limits,
    /// Who is told of what happens.
    pub observer: Observed,
    /// Extensions and experiments. Few servers have any, and the others have no more than a place for them.
    pub(super) declared: Option<Box<ServerCapabilities>>,
}

impl ServerConfig {
    /// A server with the defaults.
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            instructions: None,
            logging: true,
            page_size: 100,
            time_to_live: Duration::ZERO,
            cache_scope: CacheScope::Private,
            input_timeout: Duration::from_secs(600),
            state_lifetime: Duration::from_secs(600),
            state_key: None,
            single_use_state: false,
            unix_time_at_origin: Duration::ZERO,
            keep_alive: None,
            limits: Limits::default(),
            observer: Observed::default(),
            declared: None,
        }
    }

    /// Declares that the server has an extension, to clients of 2025-11-25 and later. What belongs to it the program
    /// serves by itself: [`Registry::add_method`](super::Registry::add_method).
    ///
    /// ```
    /// use windlass::Json;
    /// use windlass::model::Implementation;
    /// use windlass::server::ServerConfig;
    ///
    /// let mut config = ServerConfig::new(Implementation::new("weather", "1.0.0"));
    /// assert!(config.declare_extension("com.example/radar", Json::empty_object()).is_ok());
    /// assert!(config.declare_extension("radar", Json::empty_object()).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When the identifier is not written as the specification asks, `com.example/name`, or the settings are no object.
    pub fn declare_extension(&mut self, identifier: &str, settings: Json) -> Result<(), InvalidDeclaration> {
        if !(identifier.contains('/') && is_valid_key(identifier) && !identifier.ends_with('/')) {
            return Err(InvalidDeclaration::Identifier(identifier.into()));
        }
        let settings = InvalidDeclaration::unless_object(settings)?;
        self.declared.get_or_insert_default().extensions.get_or_insert_default().insert(identifier.into(), settings);
        Ok(())
    }

    /// Declares an ability that is in no specification, to clients of any revision.
    ///
    /// # Errors
    ///
    /// When the settings are no object.
    pub fn declare_experimental(&mut self, name: &str, settings: Json) -> Result<(), InvalidDeclaration> {
        let settings = InvalidDeclaration::unless_object(settings)?;
        self.declared.get_or_insert_default().experimental.get_or_insert_default().insert(name.into(), settings);
        Ok(())
    }
}

/// Why something cannot be declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidDeclaration {
    /// An extension is named by a domain of its makers, read backwards, and a name of its own.
    Identifier(String),
    /// Settings are a JSON object, an empty one if there are none.
    Settings(Json),
}

impl InvalidDeclaration {
    fn unless_object(settings: Json) -> Result<Json, Self> {
        if settings.as_text().is_object() { Ok(settings) } else { Err(Self::Settings(settings)) }
    }
}

impl fmt::Display for InvalidDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identifier(name) => write!(f, "{name:?} is no name of an extension: com.example/name would be one"),
            Self::Settings(settings) => write!(f, "the settings have to be a JSON object, not {settings}"),
        }
    }
}

impl core::error::Error for InvalidDeclaration {}

/// The key is a secret, so it is never printed.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("info", &self.info)
            .field("page_size", &self.page_size)
            .field("input_timeout", &self.input_timeout)
            .field("state_lifetime", &self.state_lifetime)
            .field("state_key", &self.state_key.map(|_| ".."))
            .field("single_use_state", &self.single_use_state)
            .field("keep_alive", &self.keep_alive)
            .field("limits", &self.limits)
            .field("observer", &self.observer)
            .finish_non_exhaustive()
    }
}

/// What a server knows of the client that a request comes from. In the modern era every request says it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Caller {
    /// The revision of the request.
    pub version: ProtocolVersion,
    /// What the client can do for the server.
    pub capabilities: ClientCapabilities,
    /// Who the client says it is. It decides nothing.
    pub info: Option<Implementation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_not_printed() {
        let mut config = ServerConfig::new(Implementation::new("s", "1"));
        config.state_key = Some([201; 32]);
        let printed = alloc::format!("{config:?}");
        assert!(!printed.contains("201") && printed.contains("state_key: Some(\"..\")"), "{printed}");
    }
}
