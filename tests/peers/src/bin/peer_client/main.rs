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

use peer::{Peer, Text};
use windlass_peer_tests::deadline::within_deadline;

/// The conversations, in the words of one runtime.
macro_rules! texts {
    () => {
        #[path = "texts/everything.rs"]
        mod everything;
        #[path = "texts/everything_asking.rs"]
        mod everything_asking;
        #[path = "texts/everything_changes.rs"]
        mod everything_changes;
        #[path = "texts/everything_offers.rs"]
        mod everything_offers;
        #[path = "texts/everything_tools.rs"]
        mod everything_tools;
        #[path = "texts/helpful.rs"]
        mod helpful;
        #[path = "texts/quiet.rs"]
        mod quiet;
        #[path = "texts/revisions.rs"]
        mod revisions;
        #[path = "texts/workshop.rs"]
        mod workshop;
        #[path = "texts/workshop_scenes.rs"]
        mod workshop_scenes;

        pub(crate) fn talk(peer: crate::Peer) {
            match peer.text {
                crate::Text::Everything => everything::hold(peer),
                crate::Text::Workshop => workshop::hold(peer),
                crate::Text::Revisions => revisions::hold(peer),
                crate::Text::Stateless | crate::Text::Json => quiet::hold(peer),
            }
        }
    };
}

mod on_async_std;
mod on_blocking;
mod on_mio;
mod on_smol;
mod on_tokio;

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
    within_deadline(move || talk(peer));
    Ok(())
}
