//! Waiting for something that is no stream: an event that comes once, the end of what was opened.
//!
//! | module | what |
//! |---|---|
//! | `thread_waker` | a thread as something that can be woken |
//! | `waiters` | `Waiters`: those who wait for something that happens once; `Closure`: the end of a connection |
//! | `ending` | `Ending`: whether everything that was opened is gone |
//! | `leaving` | a thread that ends waits for what it has begun to end |

mod ending;
pub(crate) mod leaving;
pub(crate) mod thread_waker;
mod waiters;

pub use ending::Ending;
pub(crate) use ending::Held;
#[cfg(feature = "client")]
pub(crate) use waiters::Place;
pub(crate) use waiters::{Closure, WaitClosed, Waiters};
