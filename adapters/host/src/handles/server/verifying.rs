//! Whose tokens are, where a server is protected: verifiers may wait, so they are run on threads of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::Secret;
use windlass::auth::{Principal, TokenRejected, VerifyReply};

use crate::auth::Verifier;
use crate::drive::shared::Driven;
use crate::drive::sync::thread_pool::ThreadPool;
use crate::handles::server::ServerCore;

/// How many verifiers run at a time. Those that wait, wait for the same authorization server, which more of them would not
/// make any faster.
const VERIFIER_THREADS: usize = 16;

/// How many may wait for one of these threads. The machine asks about so many tokens at a time, by default four times fewer;
/// but it gives up on those that take too long, and they are still in the queue.
const MOST_WAITING: usize = 1024;

/// Who verifies, and where.
pub(crate) struct Verifying {
    verifier: Option<Arc<dyn Verifier>>,
    threads: ThreadPool,
    waiting: AtomicUsize,
}

/// A token to be verified.
pub(crate) struct Verification {
    pub(crate) reply: VerifyReply,
    pub(crate) token: Secret,
}

impl Verifying {
    pub(crate) fn new(verifier: Option<Arc<dyn Verifier>>) -> Self {
        Self { verifier, threads: ThreadPool::new(VERIFIER_THREADS), waiting: AtomicUsize::new(0) }
    }
}

impl Verification {
    /// Has it verified, or says at once that nobody can.
    pub(crate) fn perform(self, core: &Arc<ServerCore>) {
        let Verifying { verifier, threads, waiting } = &core.verifying;
        let Some(verifier) = verifier.clone() else {
            return self.give(core, Err(TokenRejected::unavailable("the server has no verifier")));
        };
        if waiting.fetch_add(1, Ordering::SeqCst) >= MOST_WAITING {
            waiting.fetch_sub(1, Ordering::SeqCst);
            return self.give(core, Err(TokenRejected::unavailable("too many tokens wait to be verified")));
        }
        let core = core.clone();
        threads.run(move || {
            core.verifying.waiting.fetch_sub(1, Ordering::SeqCst);
            let verified = catch_unwind(AssertUnwindSafe(|| verifier.verify(self.token.expose())));
            // A panic has been reported by its hook.
            let failed = |_| Err(TokenRejected::unavailable("the verifier failed"));
            self.give(&core, verified.unwrap_or_else(failed));
        });
    }

    fn give(self, core: &ServerCore, outcome: Result<Principal, TokenRejected>) {
        core.change(|machine, now| machine.verified(self.reply, outcome, now));
    }
}
