//! The client on rmcp.

use std::future::Future;

use rmcp::model::*;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, NotificationContext, RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use windlass_rmcp_tests::watchdog::within_deadline;
use windlass_tests::wires::{Speaker, Wire};

const WIRE: Wire = Wire { source: "rmcp", client: Speaker::Foreign, server: Speaker::Ours };

pub(crate) type Client = RunningService<RoleClient, Guest>;

/// What the server said without being asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Progress(f64, Option<f64>, Option<String>),
    Log(LoggingLevel, Value),
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated(String),
}

/// A client that answers every question, and keeps what it hears.
pub(crate) struct Guest {
    revision: ProtocolVersion,
    answers: Answers,
    heard: UnboundedSender<Heard>,
}

/// How it answers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Answers {
    Gladly,
    Declining,
    Failing,
    /// Not at all, and it says so beforehand.
    Never,
}

/// The handshake, by rmcp's default: it offers 2026-07-28, which has none, and is answered with an older revision.
pub(crate) fn legacy() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

/// The modern era, without a way back.
pub(crate) fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Both eras.
pub(crate) fn eras() -> [ClientLifecycleMode; 2] {
    [legacy(), modern()]
}

/// Runs a test to its end, or to its deadline.
pub(crate) fn run(test: impl Future<Output = ()> + Send + 'static) {
    within_deadline(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test);
    });
}

/// How a server is started.
pub(crate) fn start(server: &str) -> Command {
    let words = WIRE.tapped(&[server], server);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Connects to a server that is started for it.
pub(crate) async fn connect(server: &str, era: ClientLifecycleMode) -> (Client, UnboundedReceiver<Heard>) {
    connect_as(server, era, ProtocolVersion::LATEST, Answers::Gladly).await.unwrap()
}

pub(crate) async fn connect_as(
    server: &str,
    era: ClientLifecycleMode,
    revision: ProtocolVersion,
    answers: Answers,
) -> Result<(Client, UnboundedReceiver<Heard>), Box<ClientInitializeError>> {
    let process = TokioChildProcess::new(start(server)).unwrap();
    let (heard, hearing) = unbounded_channel();
    let guest = Guest { revision, answers, heard };
    Ok((guest.serve_with_lifecycle(process, era).await?, hearing))
}

/// The text of a tool's result.
pub(crate) fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().map_or("no text", |content| &content.text)
}

/// Calls a tool without arguments.
pub(crate) async fn call(client: &Client, tool: &'static str) -> String {
    text(&client.call_tool(CallToolRequestParams::new(tool)).await.unwrap()).to_owned()
}

impl Guest {
    fn tell(&self, heard: Heard) {
        let _ = self.heard.send(heard);
    }
}

impl ClientHandler for Guest {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.answers != Answers::Never {
            let both = ElicitationCapability::new().with_form(Default::default()).with_url(Default::default());
            capabilities =
                ClientCapabilities::builder().enable_roots().enable_sampling().enable_elicitation_with(both).build();
        }
        let info = Implementation::new("guest", "3.8.0");
        ClientConfig::new(capabilities, info).with_protocol_version(self.revision.clone())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match (self.answers, request) {
            (Answers::Failing, _) => Err(ErrorData::internal_error("nobody is at home", None)),
            (Answers::Declining, _) => Ok(ElicitResult::new(ElicitationAction::Decline)),
            (_, ElicitRequestParams::FormElicitationParams { requested_schema, .. }) => {
                assert!(requested_schema.properties.contains_key("name"), "{requested_schema:?}");
                Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
            }
            (_, ElicitRequestParams::UrlElicitationParams { url, .. }) => {
                assert_eq!(url, "https://example.com/sign-in");
                Ok(ElicitResult::new(ElicitationAction::Accept))
            }
            (_, other) => Err(ErrorData::invalid_params(format!("{other:?}"), None)),
        }
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        assert_eq!(request.max_tokens, 10);
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("windlass"), "a-model".to_owned()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///one"), Root::new("file:///two").with_name("two")]))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell(Heard::Progress(params.progress, params.total, params.message));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell(Heard::Log(params.level, params.data));
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell(Heard::ResourceUpdated(params.uri));
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell(Heard::ResourcesChanged);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell(Heard::ToolsChanged);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell(Heard::PromptsChanged);
    }
}
