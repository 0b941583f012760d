//! Standard error: notes, and one line of progress that a terminal rewrites in place.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass::client::ServerNotification;
use windlass::model::ProgressParams;

use crate::table::first_line;

/// How wide the bar is, in characters.
const BAR: usize = 24;

/// Back to the start of the line, and all of it gone.
const CLEAR: &str = "\r\x1b[2K";

/// Writes to standard error. If nobody reads it, there is nobody to tell.
pub(crate) fn write(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}

/// Standard error, shared by all who have something to say while a call runs.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: bool,
    /// Whether the cursor stands at the end of a line of progress.
    in_line: Mutex<bool>,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self { terminal: stderr().is_terminal(), in_line: Mutex::default() }
    }

    /// A line of its own. On a terminal it takes the place of the progress, which will be back.
    pub(crate) fn note(&self, line: &str) {
        let mut in_line = self.in_line();
        let clear = if std::mem::take(&mut *in_line) { CLEAR } else { "" };
        write(&format!("{clear}{line}\n"));
    }

    /// Something that the server tells without being asked. Only what it logs is for the user.
    pub(crate) fn notification(&self, notification: &ServerNotification) {
        if let ServerNotification::Message(message) = notification {
            let text = message.data.decode::<String>().unwrap_or_else(|_| message.data.to_string());
            self.note(&format!("server ({}): {text}", message.level.as_str()));
        }
    }

    /// How far a call is.
    pub(crate) fn progress(&self, progress: &ProgressParams) {
        let line = progress_line(progress.progress, progress.total, progress.message.as_deref());
        if self.terminal {
            *self.in_line() = true;
            write(&format!("{CLEAR}  {line}"));
        } else {
            self.note(&format!("progress {line}"));
        }
    }

    /// The line of progress stays as it is; what comes next begins below.
    pub(crate) fn finish_line(&self) {
        if std::mem::take(&mut *self.in_line()) {
            write("\n");
        }
    }

    fn in_line(&self) -> MutexGuard<'_, bool> {
        self.in_line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn progress_line(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let message = message.map(|message| format!("  {}", first_line(message))).unwrap_or_default();
    match total.filter(|total| *total > 0.0) {
        None => format!("{progress}{message}"),
        Some(total) => {
            let full = ((progress / total).clamp(0.0, 1.0) * BAR as f64).round() as usize;
            let bar = "█".repeat(full) + &"░".repeat(BAR - full);
            format!("{bar} {progress}/{total}{message}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_needs_a_total() {
        assert_eq!(progress_line(2.5, None, None), "2.5");
        assert_eq!(progress_line(1.0, Some(0.0), Some("m\nn")), "1  m");
        let half = format!("{}{} 1/2  half", "█".repeat(12), "░".repeat(12));
        assert_eq!(progress_line(1.0, Some(2.0), Some("half")), half);
        assert!(progress_line(9.0, Some(2.0), None).starts_with(&"█".repeat(24)));
        assert!(progress_line(-1.0, Some(2.0), None).starts_with(&"░".repeat(24)));
        assert!(progress_line(f64::NAN, Some(2.0), None).starts_with(&"░".repeat(24)));
    }
}
