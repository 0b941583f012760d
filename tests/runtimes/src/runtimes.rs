//! The runtimes: the adapter to each, how to run a future there, and how to run one beside others.

/// async-std.
pub mod async_std {
    pub use ::async_std::task::spawn;
    pub use windlass_async_std::{self as adapter, run};

    /// Whether connections are driven on when the run that they were made in has ended.
    pub const GOES_ON: bool = true;
}

/// Plain threads.
pub mod blocking {
    pub use windlass_blocking as adapter;
}

/// mio's ready-made loop.
pub mod mio {
    pub use windlass_mio as adapter;
}

/// smol.
pub mod smol {
    pub use ::smol::spawn;
    pub use windlass_smol::{self as adapter, run};

    /// Whether connections are driven on when the run that they were made in has ended.
    pub const GOES_ON: bool = true;
}

/// tokio's runtime on one thread.
pub mod tokio {
    pub use windlass_tokio::{self as adapter, run};

    /// Whether connections are driven on when the run that they were made in has ended.
    pub const GOES_ON: bool = false;

    /// Runs a future beside others.
    pub fn spawn<V: Send + 'static>(future: impl Future<Output = V> + Send + 'static) -> impl Future<Output = V> {
        let task = ::tokio::spawn(future);
        async { task.await.unwrap() }
    }
}

/// tokio's runtime on several threads.
pub mod tokio_threads {
    pub use super::tokio::{GOES_ON, adapter, spawn};

    /// Runs a future to its end.
    pub fn run<V>(future: impl Future<Output = V>) -> V {
        let runtime = ::tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(future)
    }
}
