//! Who is measured.

use super::start::Started;
use super::{Plan, bare, ours, rmcp};
use crate::calls::measured::Measured;
use crate::in_process::rmcp::{current_thread, multi_thread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    BarePipe,
    Blocking,
    Mio,
    Tokio,
    Smol,
    AsyncStd,
    /// A current-thread runtime on either end, and pipes that are not moved to other threads.
    RmcpBest,
    /// What its documentation begins with: a multi-thread runtime and `stdio()`.
    RmcpDefault,
}

impl Party {
    pub(super) const ALL: [Self; 8] = [
        Self::BarePipe,
        Self::Blocking,
        Self::Mio,
        Self::Tokio,
        Self::Smol,
        Self::AsyncStd,
        Self::RmcpBest,
        Self::RmcpDefault,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BarePipe => "bare pipe",
            Self::Blocking => "windlass-blocking",
            Self::Mio => "windlass-mio",
            Self::Tokio => "windlass-tokio",
            Self::Smol => "windlass-smol",
            Self::AsyncStd => "windlass-async-std",
            Self::RmcpBest => "rmcp, current-thread",
            Self::RmcpDefault => "rmcp, default",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|party| party.name() == name)
    }

    pub(super) fn is_ours(self) -> bool {
        !matches!(self, Self::BarePipe | Self::RmcpBest | Self::RmcpDefault)
    }

    /// Whether calls are futures.
    pub(super) fn is_asynchronous(self) -> bool {
        !matches!(self, Self::BarePipe | Self::Blocking | Self::Mio)
    }

    /// Calls a server of the same kind.
    pub(super) fn call(self, plan: &Plan) -> Measured {
        let started = Started::new(self, plan);
        match self {
            Self::BarePipe => bare::call(started, plan),
            Self::Blocking => ours::call::<windlass_blocking::Blocking>(started, plan),
            Self::Mio => ours::call::<windlass_mio::Mio>(started, plan),
            Self::Tokio => windlass_tokio::run(ours::call_async::<windlass_tokio::Tokio>(started, plan)),
            Self::Smol => windlass_smol::run(ours::call_async::<windlass_smol::Smol>(started, plan)),
            Self::AsyncStd => windlass_async_std::run(ours::call_async::<windlass_async_std::AsyncStd>(started, plan)),
            Self::RmcpBest => current_thread().block_on(rmcp::call(started, plan)),
            Self::RmcpDefault => multi_thread().block_on(rmcp::call(started, plan)),
        }
    }

    /// Answers on the standard streams until they end. The bare pipe's answers are this long.
    pub(super) fn answer(self, response: usize) {
        match self {
            Self::BarePipe => bare::answer(response),
            Self::Blocking => ours::answer::<windlass_blocking::Blocking>(),
            Self::Mio => ours::answer::<windlass_mio::Mio>(),
            Self::Tokio => windlass_tokio::run(ours::answer_async::<windlass_tokio::Tokio>()),
            Self::Smol => windlass_smol::run(ours::answer_async::<windlass_smol::Smol>()),
            Self::AsyncStd => windlass_async_std::run(ours::answer_async::<windlass_async_std::AsyncStd>()),
            Self::RmcpBest => current_thread().block_on(rmcp::answer(::rmcp::transport::stdio_pipes)),
            Self::RmcpDefault => multi_thread().block_on(rmcp::answer(::rmcp::transport::stdio)),
        }
    }
}
