//! Our client, on the runtime that is named, in a conversation with the server that is named:
//!
//! `peer_client RUNTIME TEXT WANTED EXPECTED PROGRAM ARGUMENTS…`
//! `peer_client RUNTIME TEXT WANTED EXPECTED URL`
//!
//! TEXT is what to talk about: `everything` with the reference server, `workshop` with the servers beside this package,
//! `stateless` and `json` with those that remember nothing or say nothing before their answers, `revisions` for all
//! legacy revisions in turn. WANTED is the era to ask for (`automatic`, `legacy` or a revision), and
//! EXPECTED the revision that must come out of it.
// Compiling one text several times is the idea here.
#![allow(clippy::duplicate_mod)]

mod heard;
mod peer;

use std::time::Duration;

use peer::{Peer, Text};
use windlass_test_runtimes::watchdog::within;

/// Less than `run` lets a conversation take, so that one that hangs can still say so.
const DEADLINE: Duration = Duration::from_secs(40);

/// One part of a conversation.
macro_rules! scene {
    ($name:ident, |$client:ident, $heard:ident| $body:block) => {
        step!($name($client: &super::adapter::Client, $heard: &std::sync::Arc<crate::heard::Heard>), $body);
    };
}

windlass_test_runtimes::on_every_runtime! { "texts":
    mod everything;
    mod everything_asking;
    mod everything_changes;
    mod everything_offers;
    mod everything_tools;
    mod helpful;
    mod quiet;
    mod revisions;
    mod workshop;
    mod workshop_scenes;

    pub(crate) fn talk(peer: crate::Peer) {
        match peer.text {
            crate::Text::Everything => everything::hold(peer),
            crate::Text::Workshop => workshop::hold(peer),
            crate::Text::Revisions => revisions::hold(peer),
            crate::Text::Stateless | crate::Text::Json => quiet::hold(peer),
        }
    }
}

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let runtime = words.next().ok_or("which runtime?")?;
    let talk = match runtime.as_str() {
        "async-std" => on_async_std::talk,
        "blocking" => on_blocking::talk,
        "mio" => on_mio::talk,
        "smol" => on_smol::talk,
        "tokio" => on_tokio::talk,
        other => return Err(format!("there is no runtime `{other}`")),
    };
    let peer = Peer::read(words)?;
    within(DEADLINE, move || talk(peer));
    Ok(())
}
