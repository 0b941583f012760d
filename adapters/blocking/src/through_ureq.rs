//! Clients whose requests are made by ureq: its proxies, its TLS, its timeouts.
//!
//! ureq waits, so each open exchange has a thread. An exchange has an agent to itself, which is what can be shut down to
//! give it up; agents whose exchange was not given up are used again, with the connections that they keep.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ureq::Agent;
use ureq::config::{AutoHeaderValue, Config, ConfigBuilder};
use ureq::http::{Request, Response};
use ureq::typestate::AgentScope;
use windlass::codec::http1::Headers;
use windlass::link::http::HttpRequest;
use windlass::{ConnError, ConnErrorKind, ConnId, Instant};
use windlass_host::{Carried, Carrier, Clock, HttpTarget};

/// Agents that are kept for later exchanges: enough for a burst of parallel calls.
const IDLE_AGENTS: usize = 8;

/// News that wait for a client that nobody drives. Beyond it the threads wait, and so do the servers.
const NEWS: usize = 64;

/// Bytes of a body that are read at a time.
const READ_BYTES: usize = 16 * 1024;

/// Has the requests to this server made by [ureq](ureq), set up as `config` says. Its redirects and its errors for
/// statuses are turned off: only the client knows what they mean.
///
/// Requests that may go to public addresses only, because a server has named the host, fail: ureq connects to whatever a name
/// leads to.
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
        let desk = Desk { config: config.clone(), clock, wake, state: Mutex::default(), room: Condvar::new() };
        Box::new(UreqCarrier(Arc::new(desk)))
    })
}

struct UreqCarrier(Arc<Desk>);

type News = (ConnId, Carried, Instant);

/// Where the threads of exchanges get what they make them with, and leave what comes of them.
struct Desk {
    config: Config,
    clock: Clock,
    wake: Arc<dyn Fn() + Send + Sync>,
    state: Mutex<DeskState>,
    /// There is room for more news, or an exchange is not open any more.
    room: Condvar,
}

#[derive(Default)]
struct DeskState {
    open: BTreeMap<ConnId, Agent>,
    idle: Vec<Agent>,
    news: VecDeque<News>,
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, exchange: ConnId) -> Agent {
        let mut state = self.state();
        let agent = state.idle.pop().unwrap_or_else(|| Agent::new_with_config(self.config.clone()));
        state.open.insert(exchange, agent.clone());
        agent
    }

    /// Leaves some news of an exchange when there is room. Returns whether it is still open.
    fn tell(&self, exchange: ConnId, news: Carried) -> bool {
        let mut state = self.state();
        while state.news.len() >= NEWS && state.open.contains_key(&exchange) {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.open.contains_key(&exchange) {
            return false;
        }
        let is_last = matches!(news, Carried::End | Carried::Failed(_));
        if is_last {
            // Whoever hears of it may begin the next exchange at once.
            let agent = state.open.remove(&exchange);
            let kept = IDLE_AGENTS.saturating_sub(state.idle.len());
            state.idle.extend(agent.into_iter().take(kept));
        }
        state.news.push_back((exchange, news, self.clock.now()));
        drop(state);
        (self.wake)();
        true
    }
}

impl Carrier for UreqCarrier {
    fn start(&mut self, exchange: ConnId, request: Arc<HttpRequest>) {
        let agent = self.0.open(exchange);
        let desk = self.0.clone();
        let started = thread::Builder::new().name("windlass-ureq".into()).spawn(move || {
            let outcome = perform(&agent, &request, |news| desk.tell(exchange, news));
            drop(agent);
            desk.tell(exchange, outcome);
        });
        if let Err(error) = started {
            let why = ConnError::new(ConnErrorKind::NotOpened, format!("there is no thread for ureq: {error}"));
            let mut state = self.0.state();
            state.open.remove(&exchange);
            // Room or not: nobody but this thread makes any.
            state.news.push_back((exchange, Carried::Failed(why), self.0.clock.now()));
        }
    }

    fn abort(&mut self, exchange: ConnId) {
        let mut state = self.0.state();
        let agent = state.open.remove(&exchange);
        state.news.retain(|(other, ..)| *other != exchange);
        drop(state);
        self.0.room.notify_all();
        if let Some(agent) = agent {
            agent.shutdown();
        }
    }

    fn next(&mut self) -> Option<News> {
        let news = self.0.state().news.pop_front();
        self.0.room.notify_one();
        news
    }
}

impl Drop for UreqCarrier {
    fn drop(&mut self) {
        let open = std::mem::take(&mut self.0.state().open);
        self.0.room.notify_all();
        open.into_values().for_each(Agent::shutdown);
    }
}

/// Makes a request and tells what comes of it, but for its end, which is returned.
fn perform(agent: &Agent, request: &HttpRequest, tell: impl Fn(Carried) -> bool) -> Carried {
    if request.public_only {
        // ureq looks names up itself, and connects to whatever they lead to.
        let detail = "ureq cannot be kept to public addresses, and a server may send nobody elsewhere";
        return failed(ConnErrorKind::NotOpened, request, detail);
    }
    let response = match ask(agent, request) {
        Ok(response) => response,
        Err(error) => return failed(ConnErrorKind::NotOpened, request, &error.to_string()),
    };
    let (head, body) = response.into_parts();
    let mut headers = Headers::new();
    for (name, value) in &head.headers {
        headers.push(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    tell(Carried::Response { status: head.status.as_u16(), headers });
    let mut body = body.into_reader();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Carried::End,
            Ok(count) if tell(Carried::Body(buffer[..count].to_vec())) => {}
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

#[cfg(test)]
mod tests {
    use windlass::Output;
    use windlass::client::ClientConfig;
    use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges};
    use windlass::model::Implementation;
    use windlass::{Machine, Target};

    use super::*;

    #[test]
    fn what_a_server_has_named_is_not_asked_for() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let http = HttpClientConfig::new(&format!("http://{}/mcp", server.local_addr().unwrap())).unwrap();
        let config = ClientConfig::new(Implementation::new("test", "1"));
        let mut machine: HttpClient<()> = HttpClient::new(config, http, Instant::ZERO).delegating();
        let exchange = loop {
            if let Output::Open { conn, target: Target::Exchange } = machine.poll() {
                break conn;
            }
        };
        let mut request = HttpRequest::clone(&machine.request(exchange).unwrap());
        request.public_only = true;
        let Carried::Failed(why) = perform(&Agent::new_with_defaults(), &request, |_| panic!("it was asked for"))
        else {
            panic!("it has not failed")
        };
        assert!(why.to_string().contains("ureq cannot be kept to public addresses"), "{why}");
        assert!(server.accept().is_err());
    }
}
