//! Virtual time: it stands still while anything can be done, then jumps to whatever comes next.

use std::time::Duration;

use windlass::{Instant, earliest};

use crate::scene::Scene;

/// What moves under the clock.
pub(crate) trait World {
    fn scene(&self) -> &Scene;

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
    let week = world.scene().now + Duration::from_secs(7 * 24 * 3600);
    while world.exchange() || world.fire() || jump(world, None) {
        assert!(world.scene().now < week, "still busy after a virtual week:\n{}", world.scene().trace.transcript());
    }
}

pub(crate) fn run_for(world: &mut impl World, time: Duration) {
    let end = world.scene().now + time;
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

/// What a test can ask of a world, its clock and its record.
macro_rules! under_the_clock {
    () => {
        /// The virtual time.
        pub fn now(&self) -> windlass::Instant {
            self.scene.now
        }

        /// What happened so far.
        pub fn trace(&self) -> &$crate::trace::Trace {
            &self.scene.trace
        }

        /// What happened so far, for a person to read.
        pub fn transcript(&self) -> &str {
            self.scene.trace.transcript()
        }

        /// Runs until nothing is on its way. Timers fire only as far as time moves for arrivals; no time is waited out.
        pub fn settle(&mut self) {
            $crate::clock::settle(self);
        }

        /// Runs until nothing is on its way and no timer is armed, however long that takes. Over HTTP, connections that
        /// are kept and sessions that nobody uses end on the way.
        ///
        /// # Panics
        ///
        /// If that takes more than a virtual week: something then re-arms its timer for ever, as keep-alive does, and
        /// an open stream of a server's over HTTP.
        pub fn run_until_idle(&mut self) {
            $crate::clock::run_until_idle(self);
        }

        /// Runs for so much virtual time.
        pub fn run_for(&mut self, time: std::time::Duration) {
            $crate::clock::run_for(self, time);
        }

        /// Runs until a condition holds; false if it does not when everything is idle.
        #[must_use = "a condition that never holds is a failed test"]
        pub fn run_until(&mut self, condition: impl FnMut(&mut Self) -> bool) -> bool {
            $crate::clock::run_until(self, condition)
        }
    };
}
pub(crate) use under_the_clock;
