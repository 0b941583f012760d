//! What our client heard from the server, and how its user is disposed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::client::ServerNotification;
use windlass::model::{ElicitParams, LoggingLevel, ProgressParams};

/// What was heard since it was last asked for.
#[derive(Default)]
pub(crate) struct Heard {
    notifications: Mutex<Vec<ServerNotification>>,
    progress: Mutex<Vec<ProgressParams>>,
    questions: Mutex<Vec<ElicitParams>>,
    declining: AtomicBool,
}

impl Heard {
    pub(crate) fn notification(&self, notification: ServerNotification) {
        self.notifications.lock().unwrap().push(notification);
    }

    pub(crate) fn progress(&self, progress: ProgressParams) {
        self.progress.lock().unwrap().push(progress);
    }

    pub(crate) fn question(&self, question: ElicitParams) {
        self.questions.lock().unwrap().push(question);
    }

    /// The log messages, as their level and their data.
    pub(crate) fn take_log(&self) -> Vec<(LoggingLevel, String)> {
        let notifications = std::mem::take(&mut *self.notifications.lock().unwrap());
        let messages = notifications.into_iter().filter_map(|notification| match notification {
            ServerNotification::Message(message) => Some((message.level, message.data.as_str().to_owned())),
            _ => None,
        });
        messages.collect()
    }

    pub(crate) fn take_progress(&self) -> Vec<ProgressParams> {
        std::mem::take(&mut self.progress.lock().unwrap())
    }

    pub(crate) fn take_questions(&self) -> Vec<ElicitParams> {
        std::mem::take(&mut self.questions.lock().unwrap())
    }

    /// Whether the user declines what is asked from now on.
    pub(crate) fn decline(&self, declining: bool) {
        self.declining.store(declining, Ordering::SeqCst);
    }

    pub(crate) fn is_declining(&self) -> bool {
        self.declining.load(Ordering::SeqCst)
    }
}
