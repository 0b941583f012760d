//! What happens on connections, as events of the `tracing` crate.

use tracing::{debug, info, trace, warn};
use windlass::model::{CallTool, GetPrompt, Method, ReadResource};
use windlass::{Direction, Finished, Observation, Observer, Outcome, Passed, SessionId};

/// Has what happens on a connection told as events of [`tracing`](::tracing), by the names that OpenTelemetry has for MCP
/// and JSON-RPC. Messages are at the level of traces, requests that are over at that of debugging, connections and what was
/// negotiated are information, and what goes wrong is a warning. None of them holds contents, and URIs come without what may be
/// a secret in them. Requests of a legacy session over HTTP come with its id, `mcp.session.id`, as OpenTelemetry wants it: who
/// may read the log may know it.
///
/// ```no_run
/// use std::sync::Arc;
/// # fn builder(builder: windlass_host::sync::ClientBuilder<impl windlass_host::sync::Drive>) {
/// let builder = builder.observer(Arc::new(windlass_host::Tracing));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracing;

const SYSTEM: &str = "mcp";

impl Observer for Tracing {
    fn observe(&self, observation: &Observation<'_>) {
        match observation {
            Observation::Opened(conn) => info!(target: "windlass", connection = conn.number(), "opened"),
            Observation::Closed(conn) => info!(target: "windlass", connection = conn.number(), "closed"),
            Observation::Negotiated(version) => {
                info!(target: "windlass", { mcp.protocol.version = version.as_str() }, "negotiated");
            }
            Observation::Message(passed) => tell_message(passed),
            Observation::Finished(finished) => tell_finished(finished),
            Observation::Retry { id, method } => {
                info!(target: "windlass", { mcp.method.name = *method, jsonrpc.request.id = *id }, "retry");
            }
            Observation::Reconnect { after, attempt } => info!(target: "windlass", ?after, attempt, "reconnect"),
            Observation::LimitHit { limit } => warn!(target: "windlass", limit, "limit hit"),
            Observation::Failed { phase, error } => warn!(target: "windlass", ?phase, error = %error, "failed"),
            other => debug!(target: "windlass", "{other:?}"),
        }
    }
}

fn tell_message(passed: &Passed<'_>) {
    let Passed { direction, kind, method, id, bytes, .. } = passed;
    let way = if *direction == Direction::Outgoing { "SENT" } else { "RECEIVED" };
    trace!(
        target: "windlass",
        {
            rpc.system = SYSTEM,
            mcp.method.name = *method,
            jsonrpc.request.id = id.map(::tracing::field::debug),
            "rpc.message.type" = way,
            rpc.message.uncompressed_size = *bytes,
            kind = ?kind,
        },
        "message"
    );
}

fn tell_finished(finished: &Finished<'_>) {
    let Finished { direction, id, method, name, session, latency, outcome, .. } = finished;
    let named = |wanted: &str| name.filter(|_| *method == wanted);
    let code = if let Outcome::Error(code) = outcome { Some(*code) } else { None };
    debug!(
        target: "windlass",
        {
            rpc.system = SYSTEM,
            rpc.jsonrpc.version = "2.0",
            rpc.jsonrpc.error_code = code,
            mcp.method.name = *method,
            jsonrpc.request.id = ?id,
            mcp.session.id = session.map(SessionId::as_str),
            gen_ai.tool.name = named(CallTool::NAME),
            gen_ai.prompt.name = named(GetPrompt::NAME),
            mcp.resource.uri = named(ReadResource::NAME),
            span.kind = if *direction == Direction::Outgoing { "client" } else { "server" },
            seconds = latency.as_secs_f64(),
            outcome = ?outcome,
        },
        "finished"
    );
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};
    use windlass::client::{CallOptions, ClientConfig};
    use windlass::link::stdio::StdioClient;
    use windlass::model::{CallToolParams, Implementation};
    use windlass::{Instant, Machine, Output};

    use super::*;

    /// Writes every event down.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0 += &format!(" {}={value:?}", field.name());
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "windlass"
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_call_is_told_by_the_names_that_others_know() {
        let notes = Notes::default();
        tracing::subscriber::with_default(notes.clone(), || {
            let mut config = ClientConfig::new(Implementation::new("c", "1"));
            config.observer = Arc::new(Tracing).into();
            let mut client: StdioClient<()> = StdioClient::new(config, Instant::ZERO);
            let Output::Open { conn, .. } = client.poll() else { panic!("the first thing is a stream") };
            let say = |client: &mut StdioClient<()>, line: &str| {
                let space = client.read_buf(conn);
                space[..line.len()].copy_from_slice(line.as_bytes());
                client.read_done(conn, line.len(), Instant::ZERO);
                while !matches!(client.poll(), Output::Idle { .. }) {}
            };
            let discovered = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
            say(&mut client, &format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{discovered}}}\n"));
            let params = CallToolParams::new("weather");
            client.call::<CallTool>(&params, &CallOptions::new(), (), Instant::ZERO).unwrap();
            say(&mut client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"secret\"}}\n");
        });
        let told = notes.0.lock().unwrap().join("\n");
        for part in [
            "INFO mcp.protocol.version=\"2026-07-28\" message=negotiated",
            "TRACE rpc.system=\"mcp\" mcp.method.name=\"tools/call\" jsonrpc.request.id=2 rpc.message.type=\"SENT\"",
            "DEBUG rpc.system=\"mcp\" rpc.jsonrpc.version=\"2.0\" rpc.jsonrpc.error_code=-32603 mcp.method.name=\"tools/call\" jsonrpc.request.id=2 gen_ai.tool.name=\"weather\"",
        ] {
            let order = told.lines().any(|line| part.split(' ').all(|word| line.contains(word)));
            assert!(order, "{part}\n{told}");
        }
        assert!(!told.contains("secret"));
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_request_in_a_session_is_told_with_its_id_and_without_secrets() {
        use windlass::client::Negotiation;
        use windlass::codec::http1::Headers;
        use windlass::link::http::{HttpClient, HttpClientConfig, HttpExchanges};
        use windlass::model::ReadResourceParams;

        fn next(client: &mut HttpClient<()>) -> windlass::ConnId {
            loop {
                match client.poll() {
                    Output::Open { conn, .. } => return conn,
                    Output::Idle { .. } => panic!("nothing is asked"),
                    _ => {}
                }
            }
        }

        let (notes, now) = (Notes::default(), Instant::ZERO);
        tracing::subscriber::with_default(notes.clone(), || {
            let mut config = ClientConfig::new(Implementation::new("c", "1"));
            config.observer = Arc::new(Tracing).into();
            config.negotiation = Negotiation::Legacy;
            let mut http = HttpClientConfig::new("http://localhost/mcp").unwrap();
            http.listen = false;
            let mut client: HttpClient<()> = HttpClient::new(config, http, now).delegating();
            let answer = |client: &mut HttpClient<()>, id: u32, result: &str| {
                let exchange = next(client);
                let headers = Headers::from([("Content-Type", "application/json"), ("Mcp-Session-Id", "s-17")]);
                client.response(exchange, 200, &headers, now);
                client.body(exchange, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).as_bytes(), now);
                client.read_eof(exchange, now);
            };
            let server = r#""capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"}"#;
            answer(&mut client, 1, &format!(r#"{{"protocolVersion":"2025-11-25",{server}}}"#));
            let announced = next(&mut client);
            client.response(announced, 202, &Headers::new(), now);
            client.read_eof(announced, now);
            let params = ReadResourceParams::new("db://me:secret@host/x?key=secret");
            client.call::<ReadResource>(&params, &CallOptions::new(), (), now).unwrap();
            answer(&mut client, 2, r#"{"contents":[]}"#);
            while !matches!(client.poll(), Output::Idle { .. }) {}
        });
        let told = notes.0.lock().unwrap().join("\n");
        let read = told.lines().find(|line| line.starts_with("DEBUG") && line.contains("resources/read"));
        let read = read.unwrap_or_else(|| panic!("{told}"));
        assert!(read.contains(r#"mcp.session.id="s-17""#), "{read}");
        assert!(read.contains(r#"mcp.resource.uri="db://…@host/x?key=…""#), "{read}");
        assert!(!told.contains("secret"), "{told}");
    }
}
