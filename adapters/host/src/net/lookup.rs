//! Work that cannot but wait: the system's resolver, and the disk where it keeps its certificates. A few threads do it,
//! and end when there is nothing left to do.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use super::Wake;
use crate::wait::Lock;

/// Lookups at a time. A name that does not resolve holds its thread for the resolver's own timeout, up to half a
/// minute; beyond this number others wait for their turn.
const THREADS: usize = 8;

/// The addresses of a name, as soon as they are known. Dropping it gives up the lookup, if that has not begun.
pub(super) struct Lookup {
    slot: Arc<Slot>,
}

type Slot = Lock<Option<io::Result<Vec<SocketAddr>>>>;

/// What finds the addresses, and may wait meanwhile.
pub(super) type Search = Box<dyn FnOnce() -> io::Result<Vec<SocketAddr>> + Send>;

/// Something that may wait, for as long as somebody wants to know.
struct Job {
    is_wanted: Box<dyn Fn() -> bool + Send>,
    work: Work,
}

/// Something that may wait.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// Does something on a thread that may wait. Gives it back if there is no thread to be had.
#[cfg(feature = "auth")]
pub(crate) fn in_background(work: Work) -> Result<(), Work> {
    submit(Job { is_wanted: Box::new(|| true), work }).map_err(|(_, job)| job.work)
}

impl Lookup {
    /// Begins to search. `wake` is called when there is an answer.
    pub(super) fn begin(search: Search, wake: Wake) -> Self {
        let slot = Arc::new(Slot::default());
        let (wanted, waiting) = (Arc::downgrade(&slot), Arc::downgrade(&slot));
        let work = move || {
            let addresses = search();
            if let Some(slot) = Weak::upgrade(&waiting) {
                *slot.lock() = Some(addresses);
                wake();
            }
        };
        let job = Job { is_wanted: Box::new(move || wanted.strong_count() > 0), work: Box::new(work) };
        if let Err((error, _)) = submit(job) {
            *slot.lock() = Some(Err(error));
        }
        Self { slot }
    }

    /// The answer, once.
    pub(super) fn take(&self) -> Option<io::Result<Vec<SocketAddr>>> {
        self.slot.lock().take()
    }
}

struct Queue {
    waiting: VecDeque<Job>,
    threads: usize,
}

static QUEUE: Lock<Queue> = Lock::new(Queue { waiting: VecDeque::new(), threads: 0 });

fn submit(job: Job) -> Result<(), (io::Error, Job)> {
    let mut queue = QUEUE.lock();
    // Where names take long, those that nobody waits for any more would pile up.
    queue.waiting.retain(|job| (job.is_wanted)());
    queue.waiting.push_back(job);
    if queue.threads == THREADS {
        return Ok(());
    }
    match std::thread::Builder::new().name("windlass-lookup".into()).spawn(work) {
        Ok(_) => queue.threads += 1,
        // Those that run already will come to it.
        Err(_) if queue.threads > 0 => {}
        Err(error) => {
            if let Some(job) = queue.waiting.pop_back() {
                return Err((error, job));
            }
        }
    }
    Ok(())
}

fn work() {
    loop {
        let job = {
            let mut queue = QUEUE.lock();
            match queue.waiting.pop_front() {
                Some(job) => job,
                None => {
                    queue.threads -= 1;
                    return;
                }
            }
        };
        // A driver's wake that panics must not take the place of a thread with it.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if (job.is_wanted)() {
                (job.work)();
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_nobody_waits_for_does_not_pile_up() {
        // As many as there are threads are at it, and do not get on.
        let (go_on, stuck): (Vec<_>, Vec<_>) = (0..THREADS)
            .map(|_| {
                let (go_on, is_to_go_on) = channel::<()>();
                let search = move || {
                    let _ = is_to_go_on.recv();
                    Ok(Vec::new())
                };
                (go_on, Lookup::begin(Box::new(search), Arc::new(|| {})))
            })
            .unzip();
        for _ in 0..1000 {
            drop(Lookup::begin(Box::new(|| Ok(Vec::new())), Arc::new(|| {})));
        }
        // Other tests look up names as well.
        let waiting = QUEUE.lock().waiting.len();
        assert!(waiting < 100, "{waiting}");
        drop((go_on, stuck));
    }
}
