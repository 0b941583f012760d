//! PENDING: stands in for the HTTP parts of the adapters until they are there. Every use of it fails at run time.
//!
//! Then delete this file, and take from `super::adapter` what the texts take from `super::pending`.
// Each program uses one half.
#![allow(dead_code)]

use std::fmt;
use std::io;

use super::adapter::{Command, Connector, Context, Server, ServerBuilder};

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "the adapters do not speak HTTP yet")
}

pub(super) struct HttpListener;

impl HttpListener {
    pub(super) fn bind(_: String) -> io::Result<Self> {
        Err(unsupported())
    }
}

impl fmt::Display for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nowhere")
    }
}

pub(super) trait StartHttp {
    fn start_http(self, listener: HttpListener) -> io::Result<Server>;
}

impl StartHttp for ServerBuilder {
    fn start_http(self, _: HttpListener) -> io::Result<Server> {
        Err(unsupported())
    }
}

pub(super) trait CloseStream {
    fn close_stream(&self);
}

impl CloseStream for Context {
    fn close_stream(&self) {}
}

pub(super) struct HttpTarget;

impl HttpTarget {
    pub(super) fn new(_: &str) -> io::Result<Self> {
        Err(unsupported())
    }
}

impl From<HttpTarget> for Connector {
    fn from(_: HttpTarget) -> Self {
        Command::new("false").into()
    }
}
