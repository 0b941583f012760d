//! A simulation that leaves a recording of its wire, where wires are recorded.

use std::ops::{Deref, DerefMut};

use windlass::client::ClientConfig;
use windlass_sim::{NetworkConditions, Party, Script, SimClient, SimServer};
use windlass_tests::wires::{Speaker, Wire};

/// [`windlass_sim::Sim`], recorded when it is over.
pub(crate) struct Sim<C: Party, S: Party> {
    sim: windlass_sim::Sim<C, S>,
    wire: Wire,
}

impl Sim<SimClient, SimServer> {
    pub(crate) fn new(
        seed: u64,
        conditions: NetworkConditions,
        client: ClientConfig,
        server: impl FnMut() -> SimServer + 'static,
    ) -> Self {
        let wire = Wire { source: "simulation", client: Speaker::Ours, server: Speaker::Ours };
        Self { sim: windlass_sim::Sim::new(seed, conditions, client, server), wire }
    }
}

impl Sim<SimClient, Script> {
    pub(crate) fn with_scripted_server(seed: u64, conditions: NetworkConditions, client: ClientConfig) -> Self {
        let wire = Wire { source: "simulation", client: Speaker::Ours, server: Speaker::Raw };
        Self { sim: windlass_sim::Sim::with_scripted_server(seed, conditions, client), wire }
    }
}

impl Sim<Script, SimServer> {
    pub(crate) fn with_scripted_client(seed: u64, conditions: NetworkConditions, server: SimServer) -> Self {
        let wire = Wire { source: "simulation", client: Speaker::Raw, server: Speaker::Ours };
        Self { sim: windlass_sim::Sim::with_scripted_client(seed, conditions, server), wire }
    }
}

impl<C: Party, S: Party> Deref for Sim<C, S> {
    type Target = windlass_sim::Sim<C, S>;

    fn deref(&self) -> &Self::Target {
        &self.sim
    }
}

impl<C: Party, S: Party> DerefMut for Sim<C, S> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.sim
    }
}

impl<C: Party, S: Party> Drop for Sim<C, S> {
    fn drop(&mut self) {
        self.wire.simulated(self.sim.transcript());
    }
}
