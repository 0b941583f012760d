//! The client on rmcp.

use std::future::Future;
use std::process::Stdio;

use rmcp::model::*;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, NotificationContext, RequestContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use windlass_tests::watchdog::within_deadline;
use windlass_tests::wires::{Speaker, Wire};

const WIRE: Wire = Wire { source: "rmcp", client: Speaker::Foreign, server: Speaker::Ours };

/// The same over HTTP.
const OVER_HTTP: Wire = Wire { source: "rmcp over http", ..WIRE };

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
    /// The server, if it does not end by itself.
    server: Option<Child>,
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

/// A program that is our server, and how it is reached.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    path: &'static str,
    /// Over HTTP, how it answers there.
    answers: Option<&'static str>,
}

impl Program {
    pub(crate) fn by_stdio(path: &'static str) -> Self {
        Self { path, answers: None }
    }

    pub(crate) fn over_http(path: &'static str, answers: &'static str) -> Self {
        Self { path, answers: Some(answers) }
    }

    /// How it is started on its standard streams.
    pub(crate) fn command(self) -> Command {
        let words = WIRE.tapped(&[self.path], self.path);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    /// Starts it over HTTP, and tells where it is.
    async fn listen(self, answers: &str) -> (Child, String) {
        let mut command = Command::new(self.path);
        let mut process = command.arg(answers).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).await.unwrap();
        (process, OVER_HTTP.tapped_url(url.trim_end()))
    }
}

/// Connects to a server that is started for it.
pub(crate) async fn connect(server: Program, era: ClientLifecycleMode) -> (Client, UnboundedReceiver<Heard>) {
    connect_as(server, era, ProtocolVersion::LATEST, Answers::Gladly).await.unwrap()
}

pub(crate) async fn connect_as(
    server: Program,
    era: ClientLifecycleMode,
    revision: ProtocolVersion,
    answers: Answers,
) -> Result<(Client, UnboundedReceiver<Heard>), Box<ClientInitializeError>> {
    let (heard, hearing) = unbounded_channel();
    let mut guest = Guest { revision, answers, heard, server: None };
    let client = match server.answers {
        None => {
            let process = TokioChildProcess::new(server.command()).unwrap();
            guest.serve_with_lifecycle(process, era).await?
        }
        Some(answers) => {
            let (process, url) = server.listen(answers).await;
            guest.server = Some(process);
            guest.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), era).await?
        }
    };
    Ok((client, hearing))
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
