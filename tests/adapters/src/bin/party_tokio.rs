//! A party to a conversation on tokio.

use windlass_tokio as adapter;

#[allow(unused_macros)]
#[macro_use]
#[path = "../words/asynchronous.rs"]
mod words;
#[path = "../party.rs"]
mod party;
#[path = "../served.rs"]
mod served;
#[path = "../swarm.rs"]
mod swarm;

mod runtime {
    pub(super) fn spawn<V: Send + 'static>(
        future: impl Future<Output = V> + Send + 'static,
    ) -> impl Future<Output = V> {
        let task = tokio::spawn(future);
        async { task.await.unwrap() }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    party::main()
}
