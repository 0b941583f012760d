//! With the servers beside this package, which offer the same on every SDK.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::adapter::Client;
use super::helpful::helpful;
use super::workshop_scenes as scenes;
use crate::heard::Heard;
use crate::peer::Peer;

program!(hold(peer: Peer), {
    let heard = Arc::new(Heard::default());
    let client = wait!(helpful(&peer, &heard).connect(peer.server())).unwrap();
    let server = client.peer();
    assert_eq!(server.version, peer.expected);
    assert_eq!(server.instructions.as_deref(), Some("For tests only."));

    wait!(scenes::tools(&client, &heard));
    wait!(scenes::progress(&client, &heard));
    wait!(scenes::resources(&client, &heard));
    wait!(scenes::prompts_and_completion(&client, &heard));
    wait!(scenes::asking(&client, &heard));
    wait!(scenes::changes(&client, &heard));
    wait!(scenes::logging(&client, &heard));
    wait!(scenes::cancelling(&client, &heard));
    wait!(client.ping()).unwrap();
    wait!(client.close());

    // A client that declares nothing is not asked: the call fails, and the connection goes on. This one is hasty, too:
    // it gives up its probe before any server could start, and still they come together, in whichever era.
    let builder = Client::builder("windlass-peer-tests", "1.0.0").negotiation(peer.negotiation);
    let builder = builder.configure(|config| config.probe_timeout = Duration::from_millis(1));
    let client = wait!(builder.connect(peer.server())).unwrap();
    for tool in ["ask_user", "ask_model", "ask_roots"] {
        match wait!(client.call_tool(tool, json!({}))) {
            Ok(result) => assert!(result.is_failure(), "{tool}: {result:?}"),
            Err(error) => assert!(error.remote().is_some(), "{tool}: {error:?}"),
        }
    }
    wait!(client.ping()).unwrap();
    wait!(client.close());
});
