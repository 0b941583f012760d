//! Forms: `application/x-www-form-urlencoded`, as bodies of requests to the token endpoint, in the queries of URLs, and in
//! what the user comes back with.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::secret::Secret;

/// A form that is being written. It may hold secrets, so it is not printed.
#[derive(Default)]
pub(crate) struct Form {
    text: String,
}

impl Form {
    /// A form without fields.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    pub(crate) fn add(mut self, name: &str, value: &str) -> Self {
        if !self.text.is_empty() {
            self.text.push('&');
        }
        encode(name, &mut self.text);
        self.text.push('=');
        encode(value, &mut self.text);
        self
    }

    /// Adds a field if there is something to put into it.
    pub(crate) fn add_some(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.add(name, value),
            None => self,
        }
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// The fields of a form, decoded once. Bytes that are no UTF-8 become replacement characters.
pub(crate) fn parse(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split('&').filter(|field| !field.is_empty()).map(|field| {
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        (decode(name), decode(value))
    })
}

/// What goes into `Authorization` for a client with a password: `Basic`, with both encoded as in a form (RFC 6749 section
/// 2.3.1), so that an id may hold a colon.
pub(crate) fn basic(client_id: &str, client_secret: &Secret) -> Secret {
    let mut both = String::new();
    encode(client_id, &mut both);
    both.push(':');
    encode(client_secret.expose(), &mut both);
    let mut header = String::from("Basic ");
    STANDARD.encode_string(both, &mut header);
    Secret::new(header)
}

/// Writes a text as browsers do: a blank is `+`, and all is percent-encoded that is neither letter nor digit nor one of `*-._`.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
}

/// Reads a text back. A `%` without two hexadecimal digits stands for itself.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = if *first == b'%' { after.split_first_chunk() } else { None };
        let encoded = digits.and_then(|([high, low], after)| Some((digit(*high)? << 4 | digit(*low)?, after)));
        let (byte, after) = match (encoded, first) {
            (Some(encoded), _) => encoded,
            (None, b'+') => (b' ', after),
            (None, _) => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The value of a hexadecimal digit.
fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        parse(text).collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    #[test]
    fn fields_are_written_as_browsers_do() {
        let form = Form::new().add("grant_type", "a b").add("ü", "~*-._&=+%/").add("", "").add_some("no", None);
        assert_eq!(form.add_some("yes", Some("1")).finish(), "grant_type=a+b&%C3%BC=%7E*-._%26%3D%2B%25%2F&=&yes=1");
        assert_eq!(Form::new().finish(), "");
    }

    #[test]
    fn fields_are_decoded_once() {
        assert_eq!(read("code=a%2Bb+c&state=%2541"), [pair("code", "a+b c"), pair("state", "%41")]);
        assert_eq!(read("&&a&=b&c=d=e&"), [pair("a", ""), pair("", "b"), pair("c", "d=e")]);
        assert_eq!(read("%=%4&a=%zz%c3%BC"), [pair("%", "%4"), pair("a", "%zzü")]);
        assert_eq!(read("a=%FF%"), [pair("a", "\u{FFFD}%")]);
        assert_eq!(read("a=%+1"), [pair("a", "% 1")]);
        assert_eq!(read(""), []);
    }

    #[test]
    fn passwords_are_encoded_before_they_are_joined() {
        assert_eq!(
            basic("s6BhdRkqt3", &Secret::new("7Fjfp0ZBr1KtDRbnfVdmIw")).expose(),
            "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3"
        );
        let header = basic("https://a:b", &Secret::new("p w:d"));
        let decoded = STANDARD.decode(header.expose().strip_prefix("Basic ").unwrap()).unwrap();
        assert_eq!(decoded, b"https%3A%2F%2Fa%3Ab:p+w%3Ad");
    }

    quickcheck::quickcheck! {
        fn what_is_written_is_read(fields: Vec<(String, String)>) -> bool {
            let form = fields.iter().fold(Form::new(), |form, (name, value)| form.add(name, value)).finish();
            form.is_ascii() && read(&form) == fields
        }

        fn any_text_can_be_read(text: String) -> bool {
            parse(&text).count() <= text.len()
        }
    }
}
