//! What programs hold: clients, servers, and what handlers and callbacks get. Read in this order:
//!
//! | module | what |
//! |---|---|
//! | `completion` | the token of a call, and who waits for it |
//! | `client` | what becomes of a client's events; in it the handle for threads (`sync`) and for futures (`asynchronous`) |
//! | `canceller`, `closer` | giving up calls, and connections, from elsewhere |
//! | `challenge`, `login` | a server that wants other credentials; one that wants the user to log in |
//! | `server` | what becomes of a server's events; its handles, and what handlers work with (`context`) |
//! | `error` | what calls fail with |

#[cfg(feature = "client")]
pub(crate) mod canceller;
#[cfg(all(feature = "client", feature = "http"))]
pub(crate) mod challenge;
#[cfg(feature = "client")]
pub(crate) mod client;
#[cfg(feature = "client")]
pub(crate) mod closer;
pub(crate) mod completion;
pub(crate) mod error;
#[cfg(all(feature = "client", feature = "auth"))]
pub(crate) mod login;
#[cfg(feature = "server")]
pub(crate) mod server;

/// Calls back into the program. A panic ends here, after its hook has reported it: it would end the driver, and then
/// nobody's calls would ever complete.
fn call_back(callback: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback));
}

/// Clients and servers for plain threads and for mio, and how an adapter waits.
pub mod sync {
    #[cfg(feature = "client")]
    pub use super::client::sync::{Client, ClientBuilder, Subscription};
    #[cfg(feature = "server")]
    pub use super::server::sync::{Server, ServerBuilder};
    pub use crate::drive::sync::*;
}

/// Clients and servers for runtimes with futures, and how an adapter waits.
pub mod asynchronous {
    #[cfg(feature = "client")]
    pub use super::client::asynchronous::{Client, ClientBuilder, Subscription};
    #[cfg(feature = "server")]
    pub use super::server::asynchronous::{Server, ServerBuilder};
    pub use crate::drive::asynchronous::*;
}
