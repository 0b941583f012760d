//! What nobody can have without the feature `server`, so that drivers move connections in one way for both roles.

use std::io;
use std::time::Duration;

use super::SocketConnection;
use crate::io::Pollable;

/// Nobody listens.
pub(crate) enum HttpListener {}

impl HttpListener {
    pub(crate) const PAUSE: Duration = Duration::ZERO;

    pub(crate) fn pollable(&self) -> &Pollable {
        match *self {}
    }

    pub(crate) fn accept(&self) -> io::Result<SocketConnection> {
        match *self {}
    }
}
