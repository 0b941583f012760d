//! The cases on tokio's runtime on several threads.

use windlass_tokio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../../src/words/asynchronous.rs"]
mod words;

/// What this is called.
const RUNTIME: &str = "tokio_threads";

/// The server that runs on the same runtime.
const OWN_SERVER: &str = crate::peers::PARTY_TOKIO;

/// Whether connections are driven on when the run that they were made in has ended.
const GOES_ON: bool = false;

mod runtime {
    pub(super) fn run<V>(future: impl Future<Output = V>) -> V {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(future)
    }

    pub(super) fn spawn<V: Send + 'static>(
        future: impl Future<Output = V> + Send + 'static,
    ) -> impl Future<Output = V> {
        let task = tokio::spawn(future);
        async { task.await.unwrap() }
    }
}

cases!();
cases_of_futures!();
