//! Who is measured.

use super::start::Started;
use super::{Plan, bare, ours, rmcp};
use crate::calls::measured::Measured;
use crate::in_process::rmcp::{current_thread, multi_thread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    BareSocket,
    Blocking,
    Mio,
    Tokio,
    Smol,
    AsyncStd,
    /// The settings that make it fastest.
    RmcpTuned,
    /// What its documentation begins with: a multi-thread runtime, and a client that opens a connection for each call.
    RmcpDefault,
}

impl Party {
    pub(super) const ALL: [Self; 8] = [
        Self::BareSocket,
        Self::Blocking,
        Self::Mio,
        Self::Tokio,
        Self::Smol,
        Self::AsyncStd,
        Self::RmcpTuned,
        Self::RmcpDefault,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BareSocket => "bare socket",
            Self::Blocking => "windlass-blocking",
            Self::Mio => "windlass-mio",
            Self::Tokio => "windlass-tokio",
            Self::Smol => "windlass-smol",
            Self::AsyncStd => "windlass-async-std",
            Self::RmcpTuned => "rmcp, tuned",
            Self::RmcpDefault => "rmcp, default",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|party| party.name() == name)
    }

    pub(super) fn is_ours(self) -> bool {
        !matches!(self, Self::BareSocket | Self::RmcpTuned | Self::RmcpDefault)
    }

    /// Calls a server of the same kind.
    pub(super) fn call(self, plan: &Plan) -> Measured {
        let server = Started::new(self, plan);
        match self {
            Self::BareSocket => bare::call(&server, plan),
            Self::Blocking => ours::call::<windlass_blocking::Blocking>(&server, plan),
            Self::Mio => ours::call::<windlass_mio::Mio>(&server, plan),
            Self::Tokio => windlass_tokio::run(ours::call_async::<windlass_tokio::Tokio>(&server, plan)),
            Self::Smol => windlass_smol::run(ours::call_async::<windlass_smol::Smol>(&server, plan)),
            Self::AsyncStd => windlass_async_std::run(ours::call_async::<windlass_async_std::AsyncStd>(&server, plan)),
            Self::RmcpTuned => current_thread().block_on(rmcp::call(rmcp::tuned(&server.url), &server, plan)),
            Self::RmcpDefault => multi_thread().block_on(rmcp::call(rmcp::default(&server.url), &server, plan)),
        }
    }

    /// Answers until the process is ended.
    pub(super) fn answer(self, plan: &Plan) {
        match self {
            Self::BareSocket => bare::answer(plan),
            Self::Blocking => ours::answer::<windlass_blocking::Blocking>(plan),
            Self::Mio => ours::answer::<windlass_mio::Mio>(plan),
            Self::Tokio => windlass_tokio::run(ours::answer_async::<windlass_tokio::Tokio>(plan)),
            Self::Smol => windlass_smol::run(ours::answer_async::<windlass_smol::Smol>(plan)),
            Self::AsyncStd => windlass_async_std::run(ours::answer_async::<windlass_async_std::AsyncStd>(plan)),
            Self::RmcpTuned => current_thread().block_on(rmcp::answer(plan)),
            Self::RmcpDefault => multi_thread().block_on(rmcp::answer(plan)),
        }
    }
}
