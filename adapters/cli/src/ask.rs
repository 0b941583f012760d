//! Questions of a server to the user.

use std::future::{Future, poll_fn};
use std::io::{self, BufRead, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use windlass::Json;
use windlass::model::{ElicitAction, ElicitContent, ElicitFormParams, ElicitParams, ElicitResult};

use crate::output;
use crate::screen::{Screen, indented};
use crate::table::cut;
use crate::{form, page};

/// Questions that wait for their turn. A server that asks more at once asks nobody.
const MOST_WAITING: usize = 8;

/// Characters of a question. Whoever has to read more does not read it.
const QUESTION: usize = 4_000;

/// Whether there is anybody to ask: someone who types, and sees what is asked.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the user on the terminal; where there is none, declines. Takes as long as the user does.
pub(crate) fn user(screen: Arc<Screen>, params: ElicitParams) -> ElicitResult {
    /// Two questions at once would share one keyboard.
    static TURN: Mutex<()> = Mutex::new(());
    let Some(_place) = Place::take() else {
        screen.note("declined a question of the server's, because it asks too many at once");
        return ElicitResult::decline();
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let message = match &params {
        ElicitParams::Form(form) => &form.message,
        ElicitParams::Url(url) => &url.message,
        _ => "something that this program does not know",
    };
    let question = format!("the server asks: {}", indented(&cut(message.trim(), QUESTION)));
    let decline = |why: &str| {
        screen.note(&question);
        screen.note(why);
        ElicitResult::decline()
    };
    if !is_possible() {
        return decline("declined, because there is no terminal to ask the user on");
    }
    let answer = match &params {
        ElicitParams::Form(form) => screen.ask(&question, || fill_in(form)),
        ElicitParams::Url(url) => match page::invitation(&url.url) {
            Ok(invitation) => screen.ask(&question, || visit(&invitation)),
            Err(why) => return decline(&why),
        },
        _ => return decline("declined, because this program does not know how to ask it"),
    };
    answer.unwrap_or_else(ElicitResult::cancel)
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
    let spawned = std::thread::Builder::new().spawn(move || {
        let answer = user(screen, params);
        let mut shared = lock(&asked);
        shared.answer = Some(answer);
        if let Some(waker) = shared.waker.take() {
            waker.wake();
        }
    });
    if spawned.is_err() {
        lock(&shared).answer = Some(ElicitResult::decline());
    }
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

/// A place among those who wait to ask.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let place = Self;
        // If there is none, this is given back at once.
        (Self::taken().fetch_add(1, Ordering::Relaxed) < MOST_WAITING).then_some(place)
    }

    fn taken() -> &'static AtomicUsize {
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        &TAKEN
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        Self::taken().fetch_sub(1, Ordering::Relaxed);
    }
}

/// Asks for each field until it is right; `None` at the end of the input.
fn fill_in(form: &ElicitFormParams) -> Option<ElicitResult> {
    output::tell("(Ctrl-D leaves without an answer)\n");
    let mut content = ElicitContent::new();
    for field in form::fields(&form.requested_schema) {
        output::tell(&format!("{}\n", field.question()));
        loop {
            output::tell(&field.prompt());
            match field.read(&typed_line()?) {
                Ok(value) => {
                    if let Some(value) = value {
                        content.insert_json(field.name, Json::from(value));
                    }
                    break;
                }
                Err(complaint) => output::tell(&format!("{complaint}\n")),
            }
        }
    }
    Some(ElicitResult::accept(content))
}

/// Shows a page to visit. It is for the user to open it, who sees where it leads.
fn visit(invitation: &str) -> Option<ElicitResult> {
    output::tell(invitation);
    let agreed = matches!(typed_line()?.trim(), "y" | "yes");
    Some(ElicitResult::new(if agreed { ElicitAction::Accept } else { ElicitAction::Decline }))
}

/// A line from the user; `None` at the end of the input, which is the user's way to leave.
fn typed_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(count) if count > 0 => Some(line),
        _ => {
            // It leaves the cursor where it is.
            output::tell("\n");
            None
        }
    }
}
