//! Running a program and its connections on one thread, for runtimes whose executor has threads of its own.
//!
//! Were a connection driven on another thread than the one that waits for its calls, every message would have to wake
//! that thread, and that thread the caller.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_executor::Executor;

use super::BoxFuture;
use super::own_reactor::OwnReactor;

/// What a thread runs, and how it waits.
#[derive(Clone)]
struct Program {
    tasks: Arc<Executor<'static>>,
    reactor: Arc<OwnReactor>,
}

thread_local! {
    /// The program that this thread runs at the moment.
    static CURRENT: RefCell<Option<Program>> = const { RefCell::new(None) };
}

/// Runs `future` together with all that it [spawns](spawn), to be waited for by a thread that has nothing else to do.
/// What is left when it is done, such as connections that are not closed yet, goes on by `in_background`.
pub async fn run<V>(future: impl Future<Output = V>, in_background: impl FnOnce(BoxFuture<()>)) -> V {
    // Without descriptors for it there is no thread of its own; connections are driven as everything else is.
    let Ok(reactor) = OwnReactor::new() else { return future.await };
    let program = Program { tasks: Arc::default(), reactor };
    let tasks = program.tasks.clone();
    let waker = Waker::from(program.reactor.clone());
    let running = Running { program, in_background: Some(in_background) };
    let mut future = pin!(tasks.run(future));
    poll_fn(|_| {
        let _within = Within::new(running.program.clone());
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => running.program.reactor.wait(),
                ready => return ready,
            }
        }
    })
    .await
}

/// Spawns a future on the thread that runs this program; gives it back if none does.
///
/// # Errors
///
/// The future, when this thread runs no program.
pub fn spawn<F: Future<Output = ()> + Send + 'static>(future: F) -> Result<(), F> {
    match current() {
        Some(program) => {
            program.tasks.spawn(future).detach();
            Ok(())
        }
        None => Err(future),
    }
}

/// How this thread waits, if it runs a program.
pub(super) fn reactor() -> Option<Arc<OwnReactor>> {
    current().map(|program| program.reactor)
}

fn current() -> Option<Program> {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
}

/// Hands the rest of the tasks on at the end, also when the program panics.
struct Running<B: FnOnce(BoxFuture<()>)> {
    program: Program,
    in_background: Option<B>,
}

impl<B: FnOnce(BoxFuture<()>)> Drop for Running<B> {
    fn drop(&mut self) {
        self.program.reactor.close();
        let tasks = self.program.tasks.clone();
        if tasks.is_empty() {
            return;
        }
        if let Some(in_background) = self.in_background.take() {
            in_background(Box::pin(async move {
                while !tasks.is_empty() {
                    tasks.tick().await;
                }
            }));
        }
    }
}

/// Sets the current program for as long as it lives. Programs may be run within programs.
struct Within(Option<Program>);

impl Within {
    fn new(program: Program) -> Self {
        Self(CURRENT.with(|current| current.replace(Some(program))))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        let outer = self.0.take();
        CURRENT.with(|current| *current.borrow_mut() = outer);
    }
}
