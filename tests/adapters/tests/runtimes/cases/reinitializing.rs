//! Servers that are restarted, over HTTP: what is safe to repeat is repeated, whatever the server speaks now.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::adapter::client::{Negotiation, ServerNotification};
use super::adapter::model::{Era, SubscriptionFilter, Tool, ToolAnnotations};
use super::adapter::{CallError, Error, HttpListener, HttpServerConfig, HttpTarget, Json, Server};
use super::eras::in_era;
use crate::changing_server::ChangingServer;

fn era(modern: bool) -> Era {
    if modern { Era::Modern } else { Era::Legacy }
}

case!(a_server_that_is_restarted_in_any_era_is_followed, {
    for first in [true, false] {
        let server = ChangingServer::start(first);
        let target = HttpTarget::new(&server.url()).unwrap();
        let client = wait!(in_era(Negotiation::Automatic).connect(target)).unwrap();
        assert_eq!(client.peer().version.era(), era(first));
        assert_eq!(wait!(client.list_tools()).unwrap().len(), 2);
        // The same era, the other, back, the other, and that again.
        for modern in [first, !first, first, !first, !first] {
            server.restart(modern);
            assert_eq!(wait!(client.call_tool("look", json!({}))).unwrap().text_content(), "look");
            assert_eq!(client.peer().version.era(), era(modern));
            assert_eq!(wait!(client.call_tool("act", json!({}))).unwrap().text_content(), "act");
        }
        assert_eq!(server.acts(), 5);
        // What is not safe to repeat is not repeated.
        server.restart(first);
        let lost = wait!(client.call_tool("act", json!({})));
        assert!(matches!(lost, Err(Error::Call(CallError::SessionLost))), "{lost:?}");
        assert_eq!(server.acts(), 5, "nothing is done twice");
        assert_eq!(wait!(client.call_tool("act", json!({}))).unwrap().text_content(), "act");
        assert_eq!(client.peer().version.era(), era(first));
        wait!(client.close());
    }
});

/// A server of ours with two tools: `look`, which is safe to repeat, and `act`, which is not and counts.
fn serve(name: &str, listener: HttpListener, config: HttpServerConfig, acts: &Arc<AtomicUsize>) -> Server {
    let acts = acts.clone();
    let read_only = ToolAnnotations::new().with_read_only_hint(true);
    Server::builder(name, "1")
        .tool(Tool::without_arguments("look").with_annotations(read_only), |_, _: Json| answer!({ Ok("look") }))
        .tool(Tool::without_arguments("act"), move |_, _: Json| {
            let acts = acts.clone();
            answer!({
                acts.fetch_add(1, Ordering::SeqCst);
                Ok("act")
            })
        })
        .http(config)
        .start_http(listener)
        .unwrap()
}

case!(a_client_initializes_again_when_a_restarted_server_has_forgotten_its_session, {
    // The socket outlives its servers, so that nobody else takes the port in between.
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = || HttpListener::from_std(socket.try_clone().unwrap()).unwrap();
    let (url, acts) = (listener().url("/mcp"), Arc::<AtomicUsize>::default());
    let mut server = serve("start 0", listener(), HttpServerConfig::on_loopback(), &acts);
    let client = wait!(in_era(Negotiation::Legacy).connect(HttpTarget::new(&url).unwrap())).unwrap();
    assert_eq!(wait!(client.list_tools()).unwrap().len(), 2);
    let mut subscription = wait!(client.listen(SubscriptionFilter::new().with_tools_list_changed(true))).unwrap();
    for start in 1..=3 {
        wait!(server.close()).unwrap();
        let name = format!("start {start}");
        server = serve(&name, listener(), HttpServerConfig::on_loopback(), &acts);
        assert_eq!(wait!(client.call_tool("look", json!({}))).unwrap().text_content(), "look");
        // The program sees whom it talks to now.
        assert_eq!(client.peer().info.as_ref().unwrap().name, name);
        assert_eq!(wait!(client.call_tool("act", json!({}))).unwrap().text_content(), "act");
        assert_eq!(acts.load(Ordering::SeqCst), start);
        // What was subscribed to is still.
        server.add_tool(Tool::without_arguments("new"), |_, _: Json| answer!({ Ok("new") }));
        assert_eq!(wait!(subscription.next()), Some(ServerNotification::ToolsListChanged));
    }
    wait!(client.close());
    wait!(server.close()).unwrap();
});

case!(a_client_initializes_again_when_its_session_was_idle_for_too_long, {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    // Whoever listens is not idle.
    let target = HttpTarget::new(&listener.url("/mcp")).unwrap().configure(|http| http.listen = false);
    let mut config = HttpServerConfig::on_loopback();
    config.session_idle = Duration::from_millis(100);
    config.sessions = 1;
    let acts = Arc::<AtomicUsize>::default();
    let server = serve("forgetful", listener, config, &acts);
    let client = wait!(in_era(Negotiation::Legacy).connect(target.clone())).unwrap();
    assert_eq!(wait!(client.list_tools()).unwrap().len(), 2);
    for tool in ["look", "act"] {
        let before = client.peer();
        eventually!("the session is forgotten", {
            // There is room for one: whoever gets in shows that the other is out.
            match wait!(in_era(Negotiation::Legacy).connect(target.clone())) {
                Ok(other) => {
                    wait!(other.close());
                    true
                }
                Err(_) => false,
            }
        });
        let outcome = wait!(client.call_tool(tool, json!({})));
        if tool == "look" {
            assert_eq!(outcome.unwrap().text_content(), tool);
        } else {
            assert!(matches!(outcome, Err(Error::Call(CallError::SessionLost))), "{outcome:?}");
        }
        assert_eq!(acts.load(Ordering::SeqCst), 0);
        eventually!("the program has another peer", wait!(client.ping()).is_ok() && !Arc::ptr_eq(&before, &client.peer()));
    }
    // In the session of now it is carried out, unless this machine is so busy that it is forgotten once more.
    eventually!("it is carried out", wait!(client.call_tool("act", json!({}))).is_ok());
    assert_eq!(acts.load(Ordering::SeqCst), 1);
    wait!(client.close());
    wait!(server.close()).unwrap();
});
