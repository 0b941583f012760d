//! Tests of the whole: on the simulation, against real peers, with real processes.

pub mod hand_written;
pub mod watchdog;
pub mod wires;
