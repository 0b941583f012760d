//! What is to happen, as a fuzzer tells it.

/// The most steps of a tape that are played. Longer ones find nothing that shorter ones do not, only later.
const MOST_STEPS: usize = 120;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// What: one of the letters that the target knows.
    pub letter: u8,
    /// Whatever else there is to say about it.
    pub text: &'a [u8],
}

/// The steps on a tape: 0xFF, which is in no UTF-8 text, ends each of them, and its first byte is its letter. A byte that is
/// none of `letters` stands for one of them, so that none is wasted.
pub fn steps<'a>(tape: &'a [u8], letters: &'static [u8]) -> impl Iterator<Item = Step<'a>> {
    let steps = tape.split(|byte| *byte == 0xFF).filter_map(|step| step.split_first());
    steps.take(MOST_STEPS).map(move |(&letter, text)| {
        let known = letters.contains(&letter);
        Step { letter: if known { letter } else { letters[usize::from(letter) % letters.len()] }, text }
    })
}

impl<'a> Step<'a> {
    /// The number that the text begins with, digits or else a byte.
    pub fn number(&self) -> u64 {
        self.split().0
    }

    /// The number that the text begins with, and what is behind it.
    pub fn split(&self) -> (u64, &'a [u8]) {
        let digits = self.text.iter().take(7).take_while(|byte| byte.is_ascii_digit()).count();
        match (digits, self.text) {
            (0, []) => (0, &[]),
            (0, [byte, rest @ ..]) => (u64::from(*byte), rest),
            (_, text) => {
                let number = text[..digits].iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
                (number, text[digits..].strip_prefix(b" ").unwrap_or(&text[digits..]))
            }
        }
    }

    /// One of `choices`, as the number says.
    pub fn choose<'c, T>(&self, choices: &'c [T]) -> &'c T {
        &choices[self.number() as usize % choices.len()]
    }
}
