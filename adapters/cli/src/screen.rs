//! What is said on standard error while a command runs: notes, and one line of progress that a terminal rewrites in place.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use windlass::client::ServerNotification;
use windlass::model::ProgressParams;

use crate::allowance::Allowance;
use crate::output;
use crate::table::{cut, first_line};

/// How wide the bar is, in characters.
const BAR: usize = 24;

/// How much of the message beside the bar is shown on a terminal: a line that it has to break is not rewritten in place.
const BESIDE_BAR: usize = 40;

/// Characters of one note. What a server says at such length is for a file.
const NOTE: usize = 2_000;

/// Notes that are kept while the user answers a question.
const HELD: usize = 100;

/// Back to the start of the line, and all of it gone.
const CLEAR: &str = "\r\x1b[2K";

/// Standard error, shared by all who have something to say while a call runs.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Whether the cursor stands at the end of a line of progress.
    in_line: bool,
    /// What the server may still have shown.
    allowance: Allowance,
    /// What the server said since the user was asked something, while that is not answered.
    held: Option<Vec<String>>,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let state = State { in_line: false, allowance: Allowance::new(Instant::now()), held: None };
        Self { terminal: stderr().is_terminal(), state: Mutex::new(state) }
    }

    /// Something that the server says, within limits. On a terminal it takes the place of the progress, which will be
    /// back.
    pub(crate) fn note(&self, text: &str) {
        let note = as_note(text);
        let mut state = self.state();
        if !state.allowance.allows(note.len(), Instant::now()) {
            return;
        }
        match &mut state.held {
            // Nothing comes between a question and its answer: it could pass for a question of ours.
            Some(held) if held.len() < HELD => held.push(note),
            Some(_) => state.allowance.leave_out(),
            None => state.show(&note),
        }
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
        if !self.terminal {
            let line = progress_line(progress, NOTE);
            return self.note(&format!("progress {line}"));
        }
        let line = progress_line(progress, BESIDE_BAR);
        let mut state = self.state();
        // What is not shown is soon overtaken.
        if state.held.is_none() && state.allowance.allows(line.len(), Instant::now()) {
            state.in_line = true;
            output::tell_after(CLEAR, &format!("  {line}"));
        }
    }

    /// Something of ours, in full.
    pub(crate) fn say(&self, text: &str) {
        let mut state = self.state();
        state.show(text);
    }

    /// Asks the user something, during which the server is not heard.
    pub(crate) fn ask<V>(&self, question: &str, answer: impl FnOnce() -> V) -> V {
        {
            let mut state = self.state();
            state.show(question);
            state.held = Some(Vec::new());
        }
        let answer = answer();
        let mut state = self.state();
        for note in state.held.take().unwrap_or_default() {
            state.show(&note);
        }
        answer
    }

    /// The line of progress stays as it is; what comes next begins below.
    pub(crate) fn finish_line(&self) {
        if std::mem::take(&mut self.state().in_line) {
            output::tell("\n");
        }
    }

    /// The end of it, with a word about what was not shown.
    pub(crate) fn finish(&self) {
        self.finish_line();
        self.state().tell_left_out();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn show(&mut self, note: &str) {
        self.tell_left_out();
        let clear = if std::mem::take(&mut self.in_line) { CLEAR } else { "" };
        output::tell_after(clear, &format!("{note}\n"));
    }

    fn tell_left_out(&mut self) {
        let count = self.allowance.take_left_out();
        if count > 0 {
            let clear = if std::mem::take(&mut self.in_line) { CLEAR } else { "" };
            output::tell_after(
                clear,
                &format!("[{count} lines of the server's are left out here: it says too much]\n"),
            );
        }
    }
}

/// A note of bounded length, whose further lines do not look like ours.
fn as_note(text: &str) -> String {
    indented(&cut(text.trim_end(), NOTE))
}

/// The lines after the first are set apart from those that begin a paragraph.
pub(crate) fn indented(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("\n  ")
}

fn progress_line(params: &ProgressParams, most: usize) -> String {
    let ProgressParams { progress, total, message, .. } = params;
    let message = message.as_deref().map(|text| format!("  {}", cut(&first_line(text), most))).unwrap_or_default();
    match total.filter(|total| *total > 0.0) {
        None => format!("{}{message}", short(*progress)),
        Some(total) => {
            let full = ((progress / total).clamp(0.0, 1.0) * BAR as f64).round() as usize;
            let bar = "█".repeat(full) + &"░".repeat(BAR - full);
            format!("{bar} {}/{}{message}", short(*progress), short(total))
        }
    }
}

/// A number in few digits: written in full, some take hundreds.
fn short(number: f64) -> String {
    let plain = number.to_string();
    if plain.len() > 12 { format!("{number:.3e}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass::model::ProgressToken;

    fn line(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
        let mut params = ProgressParams::new(ProgressToken::from("t"), progress);
        (params.total, params.message) = (total, message.map(str::to_owned));
        progress_line(&params, 10)
    }

    #[test]
    fn a_bar_needs_a_total() {
        assert_eq!(line(2.5, None, None), "2.5");
        assert_eq!(line(1.0, Some(0.0), Some("m\nn")), "1  m");
        let half = format!("{}{} 1/2  half", "█".repeat(12), "░".repeat(12));
        assert_eq!(line(1.0, Some(2.0), Some("half")), half);
        assert!(line(9.0, Some(2.0), None).starts_with(&"█".repeat(24)));
        assert!(line(-1.0, Some(2.0), None).starts_with(&"░".repeat(24)));
        assert!(line(f64::NAN, Some(2.0), None).starts_with(&"░".repeat(24)));
    }

    #[test]
    fn a_line_of_progress_is_a_line() {
        assert_eq!(line(f64::MAX, None, Some("a message of some length")), "1.798e308  a message…");
        assert_eq!(line(5e-324, None, None), "4.941e-324");
    }

    #[test]
    fn notes_are_bounded_and_look_like_nothing_else() {
        assert_eq!(as_note("a\nwindlass: b\r\n"), "a\n  windlass: b");
        assert!(as_note(&"x".repeat(100_000)).len() < 3_000);
    }
}
