//! Questions of a server to the user.

use std::future::{Future, poll_fn};
use std::io::{self, BufRead, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use windlass::Json;
use windlass::model::{ElicitAction, ElicitContent, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams};

use crate::form;
use crate::screen::{self, Screen};
use crate::table::first_line;

/// Whether there is anybody to ask: someone who types, and sees what is asked.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the user on the terminal; where there is none, declines. Takes as long as the user does.
pub(crate) fn user(screen: Arc<Screen>, params: ElicitParams) -> ElicitResult {
    /// Two questions at once would share one keyboard.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let message = match &params {
        ElicitParams::Form(form) => &form.message,
        ElicitParams::Url(url) => &url.message,
        _ => "something that this program does not know",
    };
    screen.note(&format!("the server asks: {}", first_line(message)));
    if !is_possible() {
        screen.note("declined, because there is no terminal to ask the user on");
        return ElicitResult::decline();
    }
    let answer = match &params {
        ElicitParams::Form(form) => fill_in(form),
        ElicitParams::Url(url) => visit(url),
        _ => Some(ElicitResult::decline()),
    };
    answer.unwrap_or_else(|| {
        // The end of the input is the user's way to leave, and leaves the cursor where it is.
        screen::write("\n");
        ElicitResult::cancel()
    })
}

/// Does the same on a thread of its own, for a runtime whose threads have better to do than to wait for a person.
pub(crate) fn user_aside(screen: Arc<Screen>, params: ElicitParams) -> impl Future<Output = ElicitResult> + Send {
    #[derive(Default)]
    struct Shared {
        answer: Option<ElicitResult>,
        waker: Option<Waker>,
    }

    fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
        shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    let shared = Arc::new(Mutex::new(Shared::default()));
    let asked = shared.clone();
    std::thread::spawn(move || {
        let answer = user(screen, params);
        let mut shared = lock(&asked);
        shared.answer = Some(answer);
        if let Some(waker) = shared.waker.take() {
            waker.wake();
        }
    });
    poll_fn(move |context| {
        let mut shared = lock(&shared);
        match shared.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
}

/// Asks for each field until it is right; `None` at the end of the input.
fn fill_in(form: &ElicitFormParams) -> Option<ElicitResult> {
    screen::write("(Ctrl-D leaves without an answer)\n");
    let mut content = ElicitContent::new();
    for field in form::fields(&form.requested_schema) {
        screen::write(&format!("{}\n", field.question()));
        loop {
            screen::write(&field.prompt());
            match field.read(&typed_line()?) {
                Ok(value) => {
                    if let Some(value) = value {
                        content.insert_json(field.name, Json::from(value));
                    }
                    break;
                }
                Err(complaint) => screen::write(&format!("{complaint}\n")),
            }
        }
    }
    Some(ElicitResult::accept(content))
}

/// Shows a page to visit. It is for the user to open it, who sees where it leads.
fn visit(url: &ElicitUrlParams) -> Option<ElicitResult> {
    screen::write(&format!("it wants you to visit {}\ndo you agree? yes or no> ", first_line(&url.url)));
    let agreed = matches!(typed_line()?.trim(), "y" | "yes");
    Some(ElicitResult::new(if agreed { ElicitAction::Accept } else { ElicitAction::Decline }))
}

/// A line from the user; `None` at the end of the input.
fn typed_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(count) if count > 0 => Some(line),
        _ => None,
    }
}
