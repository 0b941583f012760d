//! A user at this machine, who logs in whenever that is asked for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windlass::auth::{AuthPrompt, Redirected};
use windlass_oauth_tests::Outcome;
use windlass_oauth_tests::browser::Browser;
use windlass_tokio::auth::LoopbackRedirect;

/// How long a login may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A user.
#[derive(Clone)]
pub(crate) struct User {
    back: Arc<Mutex<LoopbackRedirect>>,
    asked: Arc<AtomicU32>,
}

impl User {
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self { back: Arc::new(Mutex::new(LoopbackRedirect::bind()?)), asked: Arc::default() })
    }

    /// Where the user comes back to.
    pub(crate) fn redirect_uri(&self) -> String {
        self.back.lock().unwrap_or_else(PoisonError::into_inner).redirect_uri()
    }

    /// How often the user was asked to log in.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Does what is asked for on a thread of its own, and says what came back.
    pub(crate) fn act(&self, prompt: &AuthPrompt, done: impl FnOnce(Redirected) + Send + 'static) {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let (prompt, back) = (prompt.clone(), self.back.clone());
        std::thread::spawn(move || {
            let acted = match prompt {
                AuthPrompt::Browser { url } => visit(&url, &back).map(done),
                AuthPrompt::Device { url, complete_url, .. } => {
                    Browser::default().visit(&complete_url.unwrap_or(url)).map(|_| ())
                }
                _ => Ok(()),
            };
            if let Err(error) = acted {
                eprintln!("the browser: {error}");
            }
        });
    }
}

/// Logs in, in a browser of its own: nobody is logged in there yet.
fn visit(url: &str, back: &Mutex<LoopbackRedirect>) -> Outcome<Redirected> {
    Browser::default().visit(url)?;
    Ok(back.lock().unwrap_or_else(PoisonError::into_inner).wait(PATIENCE)?)
}
