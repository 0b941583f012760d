//! With those servers beside this package that cannot speak by themselves: HTTP without sessions, and HTTP whose answers
//! are single documents.

use std::sync::Arc;

use super::helpful::helpful;
use super::workshop_scenes as scenes;
use crate::heard::Heard;
use crate::peer::{Peer, Text};

program!(hold(peer: Peer), {
    let heard = Arc::new(Heard::default());
    let client = wait!(helpful(&peer, &heard).connect(peer.server())).unwrap();
    assert_eq!(client.peer().version, peer.expected);

    wait!(scenes::tools(&client, &heard));
    if peer.text == Text::Stateless {
        wait!(scenes::progress(&client, &heard));
    }
    wait!(scenes::resources(&client, &heard));
    wait!(scenes::prompts_and_completion(&client, &heard));
    wait!(client.ping()).unwrap();
    wait!(client.close());
});
