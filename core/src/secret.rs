//! Text that is not printed, and what of a URI is.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A token, a password, a key: text that is never printed. Whoever needs it says so by [`expose`](Self::expose). It is
/// written as it is where it is serialised, which is for stores alone.
///
/// ```
/// use windlass::Secret;
///
/// let token = Secret::new("eyJhbGciOi");
/// assert_eq!(format!("{token:?}"), "Secret(..)");
/// assert_eq!(token.expose(), "eyJhbGciOi");
/// ```
#[derive(Clone, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text from being printed.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Takes as long whatever the other is, so that a secret cannot be guessed letter by letter.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Compares without saying by its time where the first difference is. Lengths are no secret.
pub(crate) fn is_equal(one: &str, other: &str) -> bool {
    let difference = one.bytes().zip(other.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b));
    one.len() == other.len() && core::hint::black_box(difference) == 0
}

/// A URI without what may be a secret: user name and password, the values of the query, and the fragment. `credentials_end` is
/// at which `@` behind the scheme the user info ends.
pub(crate) fn redacted_behind(credentials_end: Option<usize>, scheme: &str, rest: &str) -> String {
    let (mark, rest) = credentials_end.map_or(("", rest), |end| ("…@", &rest[end + 1..]));
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let Some((path, query)) = rest.split_once('?') else { return [scheme, mark, rest].concat() };
    let mut shown = [scheme, mark, path].concat();
    for (at, pair) in query.split('&').enumerate() {
        shown.push(if at == 0 { '?' } else { '&' });
        // A part without a name may be a secret as a whole.
        if let Some((name, _)) = pair.split_once('=') {
            shown.extend([name, "="]);
        }
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_equal_if_their_texts_are() {
        assert_eq!(Secret::new("abc"), Secret::new("abc"));
        assert_ne!(Secret::new("abc"), Secret::new("abd"));
        assert_ne!(Secret::new("abc"), Secret::new("ab"));
        assert_ne!(Secret::new(""), Secret::new("a"));
    }
}
