//! All that is known of methods and notifications, in one table: what each is called, who sends it, which revisions have
//! it, what the other side must have declared, and what may be done with it. Their types are in the files of the features.
//!
//! Whoever has to decide something by a method asks [`MethodInfo::find`]; nobody else compares names for that.

use super::{
    CallToolParams, CallToolResult, CancelledParams, ClientCapabilities, CompleteParams, CompleteResult,
    CreateMessageParams, CreateMessageResult, DiscoverResult, ElicitParams, ElicitResult, ElicitationCompleteParams,
    EmptyParams, EmptyResult, GetPromptParams, GetPromptResult, InitializeParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsParams, ListRootsResult, ListToolsResult,
    LoggingMessageParams, Method, PaginatedParams, ProgressParams, ProtocolVersion, ReadResourceParams,
    ReadResourceResult, ResourceUpdatedParams, ServerCapabilities, SetLevelParams, SubscribeParams,
    SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult, UnsubscribeParams,
};
use Capability::{Completions, Elicitation, Logging, Prompts, Resources, Roots, Sampling, Subscriptions, Tools};
use Repeats::{Always, IfToolSaysSo};
use Side::{Client, Server};

/// What is known of a method or a notification.
#[derive(Debug)]
pub(crate) struct MethodInfo {
    pub(crate) name: &'static str,
    /// Who sends it; none if either may.
    sender: Option<Side>,
    since: ProtocolVersion,
    until: ProtocolVersion,
    /// What the other side must have declared.
    pub(crate) capability: Option<Capability>,
    /// What the sender itself must have declared.
    pub(crate) of_offer: Option<Capability>,
    /// Whether a client does something of its own in revisions that do not have it any more.
    substituted: bool,
    /// Whether its result may be cached.
    pub(crate) cacheable: bool,
    /// The methods whose results it makes stale in a cache: those about the same resource, if it names one, else all.
    pub(crate) outdates: &'static [&'static str],
    /// Whether it may be sent again when nobody knows whether the first was carried out.
    pub(crate) repeats: Repeats,
    /// Whether a handler of the program's runs behind it, perhaps for long: it asks for progress, and in the modern era it
    /// may be answered that input is needed.
    pub(crate) handled: bool,
    /// The member of its parameters that says what it is about, which `Mcp-Name` mirrors.
    pub(crate) named_by: Option<&'static str>,
    /// Whether it is part of the handshake, for which everything else waits.
    pub(crate) handshake: bool,
    /// Whether the engine only knows of it, and programs send and serve it.
    left_to_programs: bool,
}

/// One of the two sides of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Whether something may be done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    Always,
    /// If the annotations of the tool say that it does no harm.
    IfToolSaysSo,
    Never,
}

/// What a side declares before the other may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    Tools,
    Resources,
    /// `resources.subscribe`.
    Subscriptions,
    Prompts,
    Completions,
    Logging,
    Roots,
    Sampling,
    Elicitation,
}

methods! {
    requests {
        /// The handshake (until 2025-11-25).
        Initialize: InitializeParams => InitializeResult
            = "initialize".by(Client).until(ProtocolVersion::LATEST_LEGACY).handshake();
        /// What a server is and can do (2026-07-28).
        Discover: EmptyParams => DiscoverResult
            = "server/discover".by(Client).since(ProtocolVersion::V2026_07_28).handshake().cacheable().repeats(Always);
        /// Are you there (until 2025-11-25)?
        Ping: EmptyParams => EmptyResult
            = "ping".until(ProtocolVersion::LATEST_LEGACY).substituted().repeats(Always);

        /// The tools of a server.
        ListTools: PaginatedParams => ListToolsResult
            = "tools/list".by(Client).needs(Tools).cacheable().repeats(Always);
        /// Calls a tool.
        CallTool: CallToolParams => CallToolResult
            = "tools/call".by(Client).needs(Tools).repeats(IfToolSaysSo).handled().named_by("name");

        /// The resources of a server.
        ListResources: PaginatedParams => ListResourcesResult
            = "resources/list".by(Client).needs(Resources).cacheable().repeats(Always);
        /// The families of resources of a server.
        ListResourceTemplates: PaginatedParams => ListResourceTemplatesResult
            = "resources/templates/list".by(Client).needs(Resources).cacheable().repeats(Always);
        /// Reads a resource.
        ReadResource: ReadResourceParams => ReadResourceResult
            = "resources/read".by(Client).needs(Resources).cacheable().repeats(Always).handled().named_by("uri");
        /// Asks to be told when a resource changes (until 2025-11-25).
        Subscribe: SubscribeParams => EmptyResult
            = "resources/subscribe".by(Client).needs(Subscriptions).until(ProtocolVersion::LATEST_LEGACY);
        /// Asks to be told no longer (until 2025-11-25).
        Unsubscribe: UnsubscribeParams => EmptyResult
            = "resources/unsubscribe".by(Client).needs(Subscriptions).until(ProtocolVersion::LATEST_LEGACY);
        /// Opens a stream of notifications (2026-07-28).
        Listen: SubscriptionsListenParams => SubscriptionsListenResult
            = "subscriptions/listen".by(Client).since(ProtocolVersion::V2026_07_28);

        /// The prompts of a server.
        ListPrompts: PaginatedParams => ListPromptsResult
            = "prompts/list".by(Client).needs(Prompts).cacheable().repeats(Always);
        /// A prompt, with its arguments filled in.
        GetPrompt: GetPromptParams => GetPromptResult
            = "prompts/get".by(Client).needs(Prompts).repeats(Always).handled().named_by("name");

        /// Proposes values for an argument.
        Complete: CompleteParams => CompleteResult
            = "completion/complete".by(Client).needs(Completions).repeats(Always);
        /// Sets the least severe level that the server is to send (until 2025-11-25).
        SetLevel: SetLevelParams => EmptyResult
            = "logging/setLevel".by(Client).needs(Logging).until(ProtocolVersion::LATEST_LEGACY).substituted();

        /// Asks the client's model for a message: a request until 2025-11-25, an input request in 2026-07-28.
        CreateMessage: CreateMessageParams => CreateMessageResult
            = "sampling/createMessage".by(Server).needs(Sampling).until(ProtocolVersion::LATEST_LEGACY);
        /// The client's roots: a request until 2025-11-25, an input request in 2026-07-28.
        ListRoots: ListRootsParams => ListRootsResult, checked by ListRootsResult::check
            = "roots/list".by(Server).needs(Roots).until(ProtocolVersion::LATEST_LEGACY);
        /// Asks the user: a request in 2025-06-18 and 2025-11-25, an input request in 2026-07-28.
        Elicit: ElicitParams => ElicitResult
            = "elicitation/create".by(Server).needs(Elicitation)
                .since(ProtocolVersion::V2025_06_18).until(ProtocolVersion::LATEST_LEGACY);
    }

    notifications {
        /// The client has taken the handshake's answer (until 2025-11-25).
        Initialized: EmptyParams
            = "notifications/initialized".by(Client).until(ProtocolVersion::LATEST_LEGACY).handshake();
        /// The sender no longer wants an answer.
        Cancelled: CancelledParams = "notifications/cancelled";
        /// How far a request has come.
        Progress: ProgressParams = "notifications/progress";
        /// The client's roots have changed (until 2025-11-25).
        RootsListChanged: EmptyParams
            = "notifications/roots/list_changed".by(Client).until(ProtocolVersion::LATEST_LEGACY);

        /// A log message.
        LoggingMessage: LoggingMessageParams = "notifications/message".by(Server).of_offer(Logging);
        /// The list of tools has changed.
        ToolListChanged: EmptyParams
            = "notifications/tools/list_changed".by(Server).of_offer(Tools).outdates(&[ListTools::NAME]);
        /// The list of prompts has changed.
        PromptListChanged: EmptyParams
            = "notifications/prompts/list_changed".by(Server).of_offer(Prompts).outdates(&[ListPrompts::NAME]);
        /// The list of resources has changed.
        ResourceListChanged: EmptyParams
            = "notifications/resources/list_changed".by(Server).of_offer(Resources)
                .outdates(&[ListResources::NAME, ListResourceTemplates::NAME]);
        /// A watched resource, or one below it, has changed.
        ResourceUpdated: ResourceUpdatedParams
            = "notifications/resources/updated".by(Server).of_offer(Resources).outdates(&[ReadResource::NAME]);
        /// The stream is open, and what it will carry (2026-07-28).
        SubscriptionsAcknowledged: SubscriptionsAcknowledgedParams
            = "notifications/subscriptions/acknowledged".by(Server).since(ProtocolVersion::V2026_07_28);
        /// What the user was sent to a URL for is done (2025-11-25 only).
        ElicitationComplete: ElicitationCompleteParams
            = "notifications/elicitation/complete".by(Server)
                .since(ProtocolVersion::V2025_11_25).until(ProtocolVersion::V2025_11_25);
    }

    // Tasks, whose types are the program's own.
    untyped {
        "tasks/get".by(Client).named_by("taskId").left_to_programs();
        "tasks/update".by(Client).named_by("taskId").left_to_programs();
        "tasks/cancel".by(Client).named_by("taskId").left_to_programs();
        "notifications/tasks/status".by(Server)
            .since(ProtocolVersion::V2025_11_25).until(ProtocolVersion::V2025_11_25).left_to_programs();
    }
}

impl MethodInfo {
    /// Nothing in particular: either side may send it, in any revision.
    const fn named(name: &'static str) -> Self {
        Self {
            name,
            sender: None,
            since: ProtocolVersion::V2024_11_05,
            until: ProtocolVersion::LATEST,
            capability: None,
            of_offer: None,
            substituted: false,
            cacheable: false,
            outdates: &[],
            repeats: Repeats::Never,
            handled: false,
            named_by: None,
            handshake: false,
            left_to_programs: false,
        }
    }

    const fn by(self, side: Side) -> Self {
        Self { sender: Some(side), ..self }
    }

    const fn since(self, version: ProtocolVersion) -> Self {
        Self { since: version, ..self }
    }

    const fn until(self, version: ProtocolVersion) -> Self {
        Self { until: version, ..self }
    }

    const fn needs(self, capability: Capability) -> Self {
        Self { capability: Some(capability), ..self }
    }

    const fn of_offer(self, capability: Capability) -> Self {
        Self { of_offer: Some(capability), ..self }
    }

    const fn substituted(self) -> Self {
        Self { substituted: true, ..self }
    }

    const fn cacheable(self) -> Self {
        Self { cacheable: true, ..self }
    }

    const fn outdates(self, methods: &'static [&'static str]) -> Self {
        Self { outdates: methods, ..self }
    }

    const fn repeats(self, repeats: Repeats) -> Self {
        Self { repeats, ..self }
    }

    const fn handled(self) -> Self {
        Self { handled: true, ..self }
    }

    const fn named_by(self, member: &'static str) -> Self {
        Self { named_by: Some(member), ..self }
    }

    const fn handshake(self) -> Self {
        Self { handshake: true, ..self }
    }

    const fn left_to_programs(self) -> Self {
        Self { left_to_programs: true, ..self }
    }

    /// Whether this side sends it, and the engine of the other side knows what to do.
    pub(crate) fn is_for_engine(&self, sender: Side) -> bool {
        self.is_sent_by(sender) && !self.left_to_programs
    }

    /// Whether this side sends it.
    pub(crate) fn is_sent_by(&self, side: Side) -> bool {
        self.sender.is_none_or(|sender| sender == side)
    }

    /// Whether a revision has it.
    pub(crate) fn is_in(&self, version: ProtocolVersion) -> bool {
        (self.since..=self.until).contains(&version)
    }

    /// Whether a client can do it in a revision, if need be by something else.
    pub(crate) fn can_be_asked_for_in(&self, version: ProtocolVersion) -> bool {
        self.is_in(version) || self.substituted
    }
}

impl Capability {
    /// Its name in the object of capabilities.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Subscriptions => "resources.subscribe",
            Self::Prompts => "prompts",
            Self::Completions => "completions",
            Self::Logging => "logging",
            Self::Roots => "roots",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
        }
    }

    /// Whether a server of this revision has declared it.
    pub(crate) fn is_declared_by_server(self, server: &ServerCapabilities, version: ProtocolVersion) -> bool {
        match self {
            Self::Tools => server.tools.is_some(),
            Self::Resources => server.resources.is_some(),
            Self::Subscriptions => server.resources.as_ref().is_some_and(|it| it.subscribe == Some(true)),
            Self::Prompts => server.prompts.is_some(),
            // The first revision had completion, but no capability to declare it by.
            Self::Completions => server.completions.is_some() || !version.has_completions_capability(),
            Self::Logging => server.logging.is_some(),
            Self::Roots | Self::Sampling | Self::Elicitation => false,
        }
    }

    /// Whether a client has declared it.
    pub(crate) fn is_declared_by_client(self, client: &ClientCapabilities) -> bool {
        match self {
            Self::Roots => client.supports_roots(),
            Self::Sampling => client.supports_sampling(),
            Self::Elicitation => client.elicitation.is_some(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Era, Method, Notice};

    #[test]
    fn every_method_is_found_by_its_name_and_nothing_else_is() {
        for name in MethodInfo::NAMES {
            assert_eq!(MethodInfo::find(name).map(|info| info.name), Some(*name));
        }
        assert!(["", "tools", "tools/call ", "Tools/call"].iter().all(|name| MethodInfo::find(name).is_none()));
        assert_eq!((CallTool::NAME, Cancelled::NAME), ("tools/call", "notifications/cancelled"));
    }

    #[test]
    fn engines_know_what_the_other_side_sends_unless_it_is_left_to_programs() {
        let known = |name, sender| MethodInfo::find(name).is_some_and(|info| info.is_for_engine(sender));
        assert!(known("tools/call", Side::Client) && !known("tools/call", Side::Server));
        assert!(known("sampling/createMessage", Side::Server) && !known("sampling/createMessage", Side::Client));
        assert!(known("ping", Side::Client) && known("ping", Side::Server));
        assert!(!known("tasks/get", Side::Client) && !known("tasks/get", Side::Server));
    }

    #[test]
    fn revisions_have_what_they_have() {
        let has = |name: &str| {
            let info = MethodInfo::find(name).unwrap();
            ProtocolVersion::ALL.map(|version| u8::from(info.is_in(version)))
        };
        assert_eq!(has("tools/call"), [1, 1, 1, 1, 1]);
        assert_eq!(has("initialize"), [1, 1, 1, 1, 0]);
        assert_eq!(has("server/discover"), [0, 0, 0, 0, 1]);
        assert_eq!(has("elicitation/create"), [0, 0, 1, 1, 0]);
        assert_eq!(has("notifications/elicitation/complete"), [0, 0, 0, 1, 0]);
        let ping = MethodInfo::find("ping").unwrap();
        assert!(ping.can_be_asked_for_in(ProtocolVersion::LATEST) && !ping.is_in(ProtocolVersion::LATEST));
        // Every revision of an era has the same methods to begin with.
        for version in ProtocolVersion::ALL {
            let discovers = MethodInfo::find("server/discover").unwrap().is_in(version);
            assert_eq!(discovers, version.era() == Era::Modern);
        }
    }

    #[test]
    fn sides_send_what_is_theirs() {
        let sent = |name: &str| [Client, Server].map(|side| MethodInfo::find(name).unwrap().is_sent_by(side));
        assert_eq!(sent("tools/list"), [true, false]);
        assert_eq!(sent("roots/list"), [false, true]);
        assert_eq!([sent("ping"), sent("notifications/progress")], [[true, true]; 2]);
    }
}
