//! Percent-encoding (RFC 3986).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// The text that `text` encodes; `None` if the bytes are no UTF-8.
///
/// A `%` without two hexadecimal digits stands for itself.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = if *first == b'%' { after.first_chunk::<2>() } else { None };
        match digits.and_then(|[high, low]| Some(hexadecimal(*high)? << 4 | hexadecimal(*low)?)) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Writes `text`, with all but unreserved characters encoded; with `reserved`, those and encoded ones stay too.
pub(super) fn percent_encode(text: &str, reserved: bool, uri: &mut String) {
    let bytes = text.as_bytes();
    for (position, byte) in bytes.iter().enumerate() {
        let is_encoded = || {
            let digits = bytes.get(position + 1..position + 3);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        let stays = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => true,
            b'%' => reserved && is_encoded(),
            _ => reserved && b":/?#[]@!$&'()*+,;=".contains(byte),
        };
        if stays {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_percent_sign_stands_for_itself() {
        for (text, decoded) in [("a%20b", Some("a b")), ("%C3%a9", Some("é")), ("%", Some("%")), ("%4", Some("%4"))] {
            assert_eq!(percent_decode(text).as_deref(), decoded);
        }
        assert_eq!(percent_decode("%C3"), None);
    }

    #[test]
    fn reserved_characters_stay_if_they_may() {
        let encoded = |reserved| {
            let mut uri = String::new();
            percent_encode("a/é %41%", reserved, &mut uri);
            uri
        };
        assert_eq!(encoded(false), "a%2F%C3%A9%20%2541%25");
        assert_eq!(encoded(true), "a/%C3%A9%20%41%25");
    }
}
