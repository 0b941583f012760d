//! Paths out of URIs: what a peer wrote must not lead out of the folder that it is looked up in.

use core::fmt;

/// Why a text may not become part of a path.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsafePath {
    /// There is nothing in it.
    Empty,
    /// It begins at the root of a file system or on a drive, wherever it is appended.
    Absolute,
    /// It leads upwards: a part of it is `..`.
    Upwards,
    /// It has a backslash, which is a separator on some systems and part of a name on others.
    Backslash,
    /// It has a control character; some systems end a path at a NUL.
    Control,
    /// It has a percent-encoded dot, separator, NUL or percent sign, which whoever decodes it again would find.
    Encoded,
}

impl fmt::Display for UnsafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::Absolute => "it is absolute",
            Self::Upwards => "it leads upwards",
            Self::Backslash => "it has a backslash",
            Self::Control => "it has a control character",
            Self::Encoded => "it has an encoded dot, separator, NUL or percent sign",
        })
    }
}

impl core::error::Error for UnsafePath {}

/// Gives the text back if it is a path that leads below whatever folder it is appended to, by itself: what symbolic links
/// in there do is for the program to see to.
///
/// ```
/// use windlass::model::{UnsafePath, relative_path};
///
/// assert_eq!(relative_path("2026/notes.txt"), Ok("2026/notes.txt"));
/// assert_eq!(relative_path("../../etc/passwd"), Err(UnsafePath::Upwards));
/// assert_eq!(relative_path("/etc/passwd"), Err(UnsafePath::Absolute));
/// assert_eq!(relative_path("..%2fetc/passwd"), Err(UnsafePath::Encoded));
/// ```
///
/// # Errors
///
/// When it is empty or absolute, leads upwards, or is written so that somebody might read it to do so.
pub fn relative_path(text: &str) -> Result<&str, UnsafePath> {
    let bytes = text.as_bytes();
    let is_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    if bytes.is_empty() {
        Err(UnsafePath::Empty)
    } else if text.chars().any(char::is_control) {
        Err(UnsafePath::Control)
    } else if bytes.contains(&b'\\') {
        Err(UnsafePath::Backslash)
    } else if bytes[0] == b'/' || is_drive {
        Err(UnsafePath::Absolute)
    } else if bytes.windows(3).any(is_encoded) {
        Err(UnsafePath::Encoded)
    } else if text.split('/').any(is_upwards) {
        Err(UnsafePath::Upwards)
    } else {
        Ok(text)
    }
}

/// Some systems drop dots and spaces from the end of a name.
fn is_upwards(part: &str) -> bool {
    let name = part.trim_end_matches(' ');
    name.len() >= 2 && name.bytes().all(|byte| byte == b'.')
}

fn is_encoded(three: &[u8]) -> bool {
    let [percent, high, low] = three else { return false };
    *percent == b'%'
        && matches!((high, low.to_ascii_lowercase()), (b'2', b'e' | b'f' | b'5') | (b'5', b'c') | (b'0', b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_below_and_what_does_not() {
        for good in
            ["a", "a/b.txt", "a/./b", "a//b", ".hidden", "a..b", "..a", "a%20b", "100%", "é/ü", "12:30.txt", "a/"]
        {
            assert_eq!(relative_path(good), Ok(good));
        }
        for (bad, why) in [
            ("", UnsafePath::Empty),
            ("/a", UnsafePath::Absolute),
            ("//server/share", UnsafePath::Absolute),
            ("C:a", UnsafePath::Absolute),
            ("c:/a", UnsafePath::Absolute),
            ("..", UnsafePath::Upwards),
            ("a/..", UnsafePath::Upwards),
            ("a/../b", UnsafePath::Upwards),
            (".. ", UnsafePath::Upwards),
            ("a/.../b", UnsafePath::Upwards),
            ("..\\a", UnsafePath::Backslash),
            ("a\\b", UnsafePath::Backslash),
            ("a\0b", UnsafePath::Control),
            ("a\nb", UnsafePath::Control),
            ("%2e%2e/a", UnsafePath::Encoded),
            ("a%2Fb", UnsafePath::Encoded),
            ("a%5cb", UnsafePath::Encoded),
            ("a%00b", UnsafePath::Encoded),
            ("a%252fb", UnsafePath::Encoded),
        ] {
            assert_eq!(relative_path(bad), Err(why), "{bad:?}");
        }
    }
}
