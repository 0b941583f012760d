//! What goes over the wire, in both eras and both roles, as text that a person can read.
//!
//! Expected transcripts are in the files beside this one. `UPDATE_TRANSCRIPTS=1 cargo test` rewrites them; read the
//! difference before keeping it.

#[path = "../common/mod.rs"]
mod common;

mod client_asked;
mod client_legacy;
mod client_modern;
mod negotiation;
mod paths;
mod server_codes;
mod server_edges;
mod server_legacy;
mod server_malformed;
mod server_modern;
mod server_notices;
mod server_own;
mod server_revisions;
mod server_rounds;
mod server_sampling;

use windlass_sim::{Party, assert_transcript_file};

use common::Sim;

/// Compares the transcript with the file of that name.
#[track_caller]
fn expect<C: Party, S: Party>(sim: &Sim<C, S>, name: &str) {
    let path = format!("{}/tests/transcripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    assert_transcript_file(sim.transcript(), path);
}

/// Closes from the client's side, compares the transcript, and sees that nothing is left.
#[track_caller]
fn close_and_expect<S: Party>(sim: &mut Sim<windlass_sim::SimClient, S>, name: &str) {
    sim.client.close();
    sim.run_until_idle();
    expect(sim, name);
    sim.assert_nothing_left();
}

/// Ends the scripted client's side, compares the transcript, and sees that nothing is left.
#[track_caller]
fn end_and_expect(sim: &mut Sim<windlass_sim::Script, windlass_sim::SimServer>, name: &str) {
    sim.client.end();
    sim.run_until_idle();
    expect(sim, name);
    sim.assert_nothing_left();
}
