//! What a server runs when it is called.

use std::sync::Arc;

use windlass::server::{HandlerError, Reply};

use crate::drive::asynchronous::BoxFuture;
use crate::handles::server::context::Context;
use crate::wait::thread_waker::park_until;

/// What is registered for a tool, a resource, a prompt or a completion.
///
/// There is one type for handlers that wait and for those that promise, so that servers of both kinds have the same
/// machine, which is compiled here and not again by each program.
pub(crate) type Handler = Arc<dyn Fn(Context) -> Handled + Send + Sync>;

/// What comes of a handler.
pub(crate) enum Handled {
    /// It is done.
    Now(Result<Reply, HandlerError>),
    /// It will be.
    Later(BoxFuture<Result<Reply, HandlerError>>),
}

impl Handled {
    /// The outcome, for a thread that can wait.
    pub(crate) fn wait(self) -> Result<Reply, HandlerError> {
        match self {
            Self::Now(outcome) => outcome,
            Self::Later(mut outcome) => park_until(|context| outcome.as_mut().poll(context)),
        }
    }

    /// The outcome, for a task.
    pub(crate) async fn promised(self) -> Result<Reply, HandlerError> {
        match self {
            Self::Now(outcome) => outcome,
            Self::Later(outcome) => outcome.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::thread;

    use windlass::model::CallToolResult;

    use super::*;

    /// Done when another thread has woken whoever waits.
    fn later() -> Handled {
        let mut asked = false;
        Handled::Later(Box::pin(poll_fn(move |context| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(Ok(reply()));
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        })))
    }

    fn reply() -> Reply {
        Reply::Tool(CallToolResult::from("done"))
    }

    fn is_done(outcome: Result<Reply, HandlerError>) -> bool {
        matches!(outcome, Ok(Reply::Tool(result)) if result.text_content() == "done")
    }

    #[test]
    fn threads_and_tasks_get_the_outcome_of_either_kind() {
        for handled in [|| Handled::Now(Ok(reply())), later] {
            assert!(is_done(handled().wait()));
            let mut promised = Box::pin(handled().promised());
            assert!(is_done(park_until(|context| promised.as_mut().poll(context))));
        }
    }
}
