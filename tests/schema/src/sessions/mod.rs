//! Busy sessions in the simulation, in every revision and under all network conditions: both sides are ours and say a little of everything.

mod answers;
mod offers;
pub mod over_http;

use std::time::Duration;

use windlass::client::{CallOptions, ClientConfig, KeepAliveConfig, Negotiation};
use windlass::model::{
    CallTool, CallToolParams, ClientCapabilities, Complete, CompleteParams, CompletionReference, EmptyParams, Era,
    GetPrompt, GetPromptParams, Icon, IconTheme, Implementation, ListPrompts, ListResourceTemplates, ListResources,
    ListTools, LoggingLevel, PaginatedParams, Ping, ProtocolVersion, ReadResource, ReadResourceParams,
    RootsListChanged, SetLevel, SetLevelParams, SubscriptionFilter,
};
use windlass::server::ServerConfig;
use windlass::{Json, SendError};
use windlass_sim::{NetworkConditions, Random, Sim, SimClient, SimServer};

/// How many things happen in one session.
const STEPS: u32 = 60;

/// The transcript of a session that the seed decides.
pub fn transcript(seed: u64, conditions: NetworkConditions, version: ProtocolVersion) -> Result<String, String> {
    let mut random = Random::new(seed);
    let server_seed = random.next();
    let mut sim = Sim::new(seed, conditions, client(version), move || {
        SimServer::new(server(version), offers::registry(), server_seed)
    });
    let mut answers = random.fork();
    sim.client.on_input(move |request| answers::answer(request, version, &mut answers));
    if !sim.run_until(|sim| sim.client.peer().is_some()) {
        return Err(format!("the session does not begin:\n{}", sim.transcript()));
    }
    for step in 0..STEPS {
        match act(&mut sim.client, &mut random) {
            Ok(Act::Call) => {}
            Ok(Act::Change) => offers::change(sim.server.machine(), step),
            Err(error) => return Err(format!("{error}:\n{}", sim.transcript())),
        }
        sim.run_for(Duration::from_millis(random.between(0, 3000)));
    }
    match random.between(0, 2) {
        0 => sim.server.close(),
        1 => sim.cut(),
        _ => sim.client.close(),
    }
    sim.run_until_idle();
    Ok(sim.transcript().to_owned())
}

fn client(version: ProtocolVersion) -> ClientConfig {
    let mut config = ClientConfig::new(introduction("client"));
    config.capabilities = ClientCapabilities::new()
        .with_roots(true)
        .with_sampling_tools()
        .with_sampling_context()
        .with_form_elicitation()
        .with_url_elicitation()
        .with_extension("com.example/extra", Json::empty_object());
    config.negotiation = Negotiation::Pinned(version);
    config.keep_alive = keep_alive(version);
    config
}

fn server(version: ProtocolVersion) -> ServerConfig {
    let mut config = ServerConfig::new(introduction("server"));
    config.instructions = Some("Ask for anything.".to_owned());
    config.page_size = 3;
    config.time_to_live = Duration::from_secs(5);
    config.keep_alive = keep_alive(version);
    config
}

/// An introduction with everything that one can say of oneself.
fn introduction(name: &str) -> Implementation {
    let icon = Icon::new("https://example.com/icon.png")
        .with_mime_type("image/png")
        .with_sizes(["48x48".to_owned()])
        .with_theme(IconTheme::Dark);
    Implementation::new(name, "1.0.0")
        .with_title("A title")
        .with_description("What it is")
        .with_website_url("https://example.com/")
        .with_icons([icon])
}

fn keep_alive(version: ProtocolVersion) -> Option<KeepAliveConfig> {
    (version.era() == Era::Legacy).then(|| KeepAliveConfig::every(Duration::from_secs(20)))
}

/// What is done by a client, and what by the server.
enum Act {
    Call,
    Change,
}

/// Does one thing that a client might do at any time, or says that the server is to do one.
fn act(client: &mut SimClient, random: &mut Random) -> Result<Act, SendError> {
    let hurried = CallOptions::new().idle_timeout(Duration::from_secs(2));
    match random.between(0, 17) {
        0 => client.call::<ListTools>(&PaginatedParams::new())?,
        1 => client.call::<ListResources>(&PaginatedParams::new())?,
        2 => client.call::<ListResourceTemplates>(&PaginatedParams::new())?,
        3 => client.call::<ListPrompts>(&PaginatedParams::new())?,
        4 => client.call::<ReadResource>(&ReadResourceParams::new(*random.choose(&offers::URIS)))?,
        5 => client.call::<GetPrompt>(&GetPromptParams::new("review").with_argument("language", "Rust"))?,
        6 => client.call::<Ping>(&EmptyParams::new())?,
        7 => {
            let prompt = CompleteParams::new(CompletionReference::prompt("review"), "language", "R");
            client.call::<Complete>(&prompt.with_known_argument("style", "kind"))?
        }
        8 => client.call::<Complete>(&CompleteParams::new(
            CompletionReference::resource(offers::TEMPLATE),
            "name",
            "x",
        ))?,
        9 => {
            let level = *random.choose(&[LoggingLevel::Debug, LoggingLevel::Warning]);
            client.call::<SetLevel>(&SetLevelParams::new(level))?
        }
        10 => {
            let filter = SubscriptionFilter::new()
                .with_tools_list_changed(true)
                .with_prompts_list_changed(true)
                .with_resources_list_changed(true)
                .with_resource_subscriptions([offers::URIS[0]]);
            client.listen(filter)?
        }
        11 => {
            let open = client.open_calls();
            if !open.is_empty() {
                client.cancel(*random.choose(&open), "not wanted any more");
            }
            return Ok(Act::Call);
        }
        12 => {
            // Only a legacy server is told; the client refuses where there is no such notification.
            let _ = client.notify::<RootsListChanged>(&EmptyParams::new());
            return Ok(Act::Call);
        }
        13 => return Ok(Act::Change),
        14 => client.call_with::<CallTool>(&CallToolParams::new("steps"), &hurried)?,
        _ => {
            let arguments = Json::from(serde_json::json!({"text": "hello", "number": 1.5, "nothing": null}));
            let tool = CallToolParams::new(*random.choose(&offers::TOOLS)).with_arguments(arguments);
            client.call::<CallTool>(&tool)?
        }
    };
    Ok(Act::Call)
}
