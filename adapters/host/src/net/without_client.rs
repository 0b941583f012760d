//! What nobody can have without the feature `client`, so that the life of a connection is told once for both roles.

use std::io;

use windlass::Instant;

use super::connection::Readiness;
use super::transport_stream::TransportStream;
use crate::io::Pollable;

/// Nobody is on the way to a server.
pub(super) enum Approach {}

/// Nobody dials.
pub(super) enum Dialled {}

/// Nobody gets any further.
#[allow(dead_code, reason = "there is nobody to make one")]
pub(super) enum Step {
    OnTheWay,
    Reached(TransportStream),
    Failed(String),
}

impl Approach {
    pub(super) fn is_dialing(&self) -> bool {
        match *self {}
    }

    pub(super) fn pollable(&self) -> Option<&Pollable> {
        match *self {}
    }

    pub(super) fn interest(&self) -> Readiness {
        match *self {}
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match *self {}
    }

    pub(super) fn read(&mut self, _: &Dialled) -> io::Result<Step> {
        match *self {}
    }

    pub(super) fn write(&mut self, _: &Dialled, _: Instant) -> io::Result<Step> {
        match *self {}
    }

    pub(super) fn progress(&self) -> String {
        match *self {}
    }
}

impl Dialled {
    pub(super) fn deadline(&self) -> Instant {
        match *self {}
    }

    pub(super) fn about(&self, _: &str) -> String {
        match *self {}
    }

    pub(super) fn late(&self, _: &str) -> String {
        match *self {}
    }
}
