//! With the reference server, on all that it offers. It stands on the TypeScript SDK 1.x: the legacy era only.

use std::sync::Arc;

use super::helpful::helpful;
use super::{everything_asking, everything_changes, everything_offers, everything_tools};
use crate::heard::Heard;
use crate::peer::Peer;

program!(hold(peer: Peer), {
    let heard = Arc::new(Heard::default());
    let client = wait!(helpful(&peer, &heard).connect(peer.server())).unwrap();
    let server = client.peer();
    assert_eq!(server.version, peer.expected);
    assert_eq!(server.info.as_ref().map(|info| info.name.as_str()), Some("mcp-servers/everything"));
    assert!(server.instructions.as_ref().is_some_and(|instructions| !instructions.is_empty()));

    wait!(everything_tools::all_are_listed(&client, &heard));
    wait!(everything_tools::plain_results(&client, &heard));
    wait!(everything_tools::every_kind_of_content(&client, &heard));
    if peer.is_child() {
        wait!(everything_tools::the_environment_is_an_allow_list(&client, &heard));
    }
    wait!(everything_tools::wrong_calls_are_told(&client, &heard));
    wait!(everything_tools::progress_and_cancelling(&client, &heard));
    wait!(everything_offers::resources(&client, &heard));
    wait!(everything_offers::prompts(&client, &heard));
    wait!(everything_offers::completion(&client, &heard));
    wait!(everything_asking::forms(&client, &heard));
    wait!(everything_asking::pages(&client, &heard));
    wait!(everything_asking::the_model(&client, &heard));
    wait!(everything_asking::roots(&client, &heard));
    wait!(everything_changes::updates(&client, &heard));
    wait!(everything_changes::list_changed(&client, &heard));
    wait!(everything_changes::logging(&client, &heard));
    wait!(client.ping()).unwrap();
    wait!(client.close());
});
