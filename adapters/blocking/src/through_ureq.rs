//! Clients whose requests are made by ureq: its proxies, its TLS, its timeouts.
//!
//! ureq waits, so each open exchange has a thread. An exchange has an agent to itself, which is what can be shut down to
//! give it up; agents whose exchange went well are used again, with the connections that they keep.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ureq::Agent;
use ureq::config::{AutoHeaderValue, Config, ConfigBuilder};
use ureq::http::{Request, Response};
use ureq::typestate::AgentScope;
use windlass::codec::http1::Headers;
use windlass::link::http::{Carried, Carrier, ExchangeId, HttpRequest};
use windlass::{ConnError, ConnErrorKind, Instant};
use windlass_host::{Clock, HttpTarget};

/// Agents that are kept for later exchanges: enough for a burst of parallel calls.
const IDLE_AGENTS: usize = 8;

/// News that wait for a client that nobody drives. Beyond it the threads wait, and so do the servers.
const NEWS: usize = 64;

/// Bytes of a body that are read at a time.
const READ_BYTES: usize = 16 * 1024;

/// Has the requests to this server made by [ureq](ureq), set up as `config` says. Its redirects and its errors for
/// statuses are turned off: only the client knows what they mean.
///
/// ```no_run
/// use windlass_blocking::ureq::Agent;
/// use windlass_blocking::{Client, HttpTarget, through_ureq};
///
/// fn example() -> Result<(), Box<dyn std::error::Error>> {
///     let target = HttpTarget::new("https://example.com/mcp")?;
///     let client = Client::connect(through_ureq(target, Agent::config_builder()))?;
///     println!("{:?}", client.list_tools()?);
///     Ok(())
/// }
/// ```
#[must_use]
pub fn through_ureq(target: HttpTarget, config: ConfigBuilder<AgentScope>) -> HttpTarget {
    let config = config
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        // A stream of events that is compressed comes late.
        .accept_encoding(AutoHeaderValue::None)
        .build();
    target.through(move |clock, wake| {
        let (told, news) = sync_channel(NEWS);
        let agents = Arc::new(Agents { config: config.clone(), state: Mutex::default() });
        Box::new(UreqCarrier { agents, told, news, unstarted: Vec::new(), clock, wake })
    })
}

struct UreqCarrier {
    agents: Arc<Agents>,
    told: SyncSender<News>,
    news: Receiver<News>,
    /// Exchanges that could not even begin.
    unstarted: Vec<News>,
    clock: Clock,
    wake: Arc<dyn Fn() + Send + Sync>,
}

type News = (ExchangeId, Carried, Instant);

struct Agents {
    config: Config,
    state: Mutex<AgentsState>,
}

#[derive(Default)]
struct AgentsState {
    open: BTreeMap<ExchangeId, Agent>,
    idle: Vec<Agent>,
}

impl Agents {
    fn state(&self) -> MutexGuard<'_, AgentsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, exchange: ExchangeId) -> Agent {
        let mut state = self.state();
        let agent = state.idle.pop().unwrap_or_else(|| Agent::new_with_config(self.config.clone()));
        state.open.insert(exchange, agent.clone());
        agent
    }

    /// An exchange is over. One that was given up has no agent any more.
    fn give_back(&self, exchange: ExchangeId) {
        let mut state = self.state();
        if let Some(agent) = state.open.remove(&exchange) {
            if state.idle.len() < IDLE_AGENTS {
                state.idle.push(agent);
            }
        }
    }

    fn shut_down(&self, exchange: ExchangeId) {
        let agent = self.state().open.remove(&exchange);
        if let Some(agent) = agent {
            agent.shutdown();
        }
    }
}

impl Carrier for UreqCarrier {
    fn start(&mut self, exchange: ExchangeId, request: Arc<HttpRequest>) {
        let agent = self.agents.take(exchange);
        let teller = Teller { exchange, told: self.told.clone(), clock: self.clock, wake: self.wake.clone() };
        let agents = self.agents.clone();
        let started = thread::Builder::new().name("windlass-ureq".into()).spawn(move || {
            let outcome = perform(&agent, &request, &teller);
            drop(agent);
            agents.give_back(exchange);
            teller.tell(outcome);
        });
        if let Err(error) = started {
            self.agents.give_back(exchange);
            let why = ConnError::new(ConnErrorKind::NotOpened, format!("there is no thread for ureq: {error}"));
            // Not by the channel, which may be full: nobody but this thread empties it.
            self.unstarted.push((exchange, Carried::Failed(why), self.clock.now()));
        }
    }

    fn abort(&mut self, exchange: ExchangeId) {
        self.agents.shut_down(exchange);
    }

    fn next(&mut self) -> Option<News> {
        self.unstarted.pop().or_else(|| self.news.try_recv().ok())
    }
}

impl Drop for UreqCarrier {
    fn drop(&mut self) {
        let open = std::mem::take(&mut self.agents.state().open);
        open.into_values().for_each(Agent::shutdown);
    }
}

/// What the thread of an exchange tells by.
struct Teller {
    exchange: ExchangeId,
    told: SyncSender<News>,
    clock: Clock,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Teller {
    /// Returns whether anybody listens.
    fn tell(&self, news: Carried) -> bool {
        let heard = self.told.send((self.exchange, news, self.clock.now())).is_ok();
        (self.wake)();
        heard
    }
}

/// Makes a request and tells what comes of it, but for its end, which is returned.
fn perform(agent: &Agent, request: &HttpRequest, teller: &Teller) -> Carried {
    let response = match ask(agent, request) {
        Ok(response) => response,
        Err(error) => return failed(ConnErrorKind::NotOpened, request, &error.to_string()),
    };
    let (head, body) = response.into_parts();
    let mut headers = Headers::new();
    for (name, value) in &head.headers {
        headers.push(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    teller.tell(Carried::Response { status: head.status.as_u16(), headers });
    let mut body = body.into_reader();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Carried::End,
            Ok(count) if teller.tell(Carried::Body(buffer[..count].to_vec())) => {}
            Ok(_) => return Carried::End,
            Err(error) => return failed(ConnErrorKind::Broken, request, &error.to_string()),
        }
    }
}

fn ask(agent: &Agent, request: &HttpRequest) -> Result<Response<ureq::Body>, ureq::Error> {
    let mut builder = Request::builder().method(request.method).uri(request.url.as_str());
    for (name, value) in request.headers.iter() {
        builder = builder.header(name, value);
    }
    match request.method {
        "POST" => agent.run(builder.body(&request.body[..])?),
        _ => agent.run(builder.body(())?),
    }
}

fn failed(kind: ConnErrorKind, request: &HttpRequest, detail: &str) -> Carried {
    Carried::Failed(ConnError::new(kind, format!("{}: {detail}", request.url.authority())))
}
