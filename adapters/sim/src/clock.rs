//! Virtual time: it stands still while anything can be done, then jumps to whatever comes next.

use std::time::Duration;

use windlass::{Instant, earliest};

/// Steps without the clock moving after which something must be going in circles. A long session in bytewise weather
/// takes some ten thousand.
pub(crate) const MOST_STEPS_AT_ONCE: u32 = 10_000_000;

/// What moves under the clock.
pub(crate) trait World {
    fn now(&self) -> Instant;

    fn transcript(&self) -> &str;

    /// One round at the present time. False if nothing moved.
    fn exchange(&mut self) -> bool;

    /// Wakes whoever's deadline has come.
    fn fire(&mut self) -> bool;

    fn next_deadline(&self) -> Option<Instant>;

    /// The next arrival that is still to come. What has arrived and is not read does not count.
    fn next_arrival(&self) -> Option<Instant>;

    /// The clock moves on, never back.
    fn set_time(&mut self, now: Instant);
}

pub(crate) fn settle(world: &mut impl World) {
    while world.exchange() || world.fire() || (world.next_arrival().is_some() && jump(world, None)) {}
}

pub(crate) fn run_until_idle(world: &mut impl World) {
    let week = world.now() + Duration::from_secs(7 * 24 * 3600);
    while world.exchange() || world.fire() || jump(world, None) {
        assert!(world.now() < week, "still busy after a virtual week:\n{}", world.transcript());
    }
}

pub(crate) fn run_for(world: &mut impl World, time: Duration) {
    let end = world.now() + time;
    while world.exchange() || world.fire() || jump(world, Some(end)) {}
    world.set_time(end);
    while world.exchange() || world.fire() {}
}

pub(crate) fn run_until<W: World>(world: &mut W, mut condition: impl FnMut(&mut W) -> bool) -> bool {
    loop {
        let moved = world.exchange();
        if condition(world) {
            return true;
        }
        if !(moved || world.fire() || jump(world, None)) {
            return false;
        }
    }
}

/// Moves the clock to whatever comes next, unless that is nothing or beyond `limit`.
fn jump(world: &mut impl World, limit: Option<Instant>) -> bool {
    match earliest(world.next_arrival(), world.next_deadline()) {
        Some(next) if limit.is_none_or(|limit| next <= limit) => {
            world.set_time(next);
            true
        }
        _ => false,
    }
}
