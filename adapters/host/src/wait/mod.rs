//! Waiting for something that is no stream: an event that comes once, the end of what was opened.
//!
//! | module | what |
//! |---|---|
//! | `lock` | `Lock`: what threads share |
//! | `thread_waker` | a thread as something that can be woken |
//! | `waiters` | `Waiters`: those who wait for something that happens once; `Closure`: the end of a connection |
//! | `shutdown` | `Shutdown`: whether everything that was opened is gone |
//! | `leaving` | a thread that ends waits for what it has begun to end |

pub(crate) mod leaving;
mod lock;
mod shutdown;
pub(crate) mod thread_waker;
mod waiters;

pub(crate) use lock::Lock;
pub(crate) use shutdown::Held;
pub use shutdown::Shutdown;
#[cfg(feature = "client")]
pub(crate) use waiters::Place;
pub(crate) use waiters::{Closure, WaitClosed, Waiters};
