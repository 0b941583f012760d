//! The header lines of a head, in their order.

use alloc::string::String;
use core::fmt;

use smallvec::SmallVec;

/// Names and values, in the order in which they were sent. Names are compared without regard to case.
///
/// All text is in one buffer, and where it is divided is noted in place for as many headers as are usual, so that a head
/// costs one allocation. Values are UTF-8: a
/// byte that is not becomes U+FFFD, so that a header that is there is never overlooked, and matches nothing sensible.
///
/// ```
/// use windlass::codec::http1::Headers;
///
/// let headers: Headers = [("Accept", "text/event-stream;q=0.5, application/json"), ("Connection", "close")].into();
/// assert_eq!(headers.get("connection"), Some("close"));
/// assert!(headers.accepts("application/json"));
/// assert!(!headers.accepts("text/html"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    text: String,
    /// Each field begins where the one before it ends.
    ends: SmallVec<[Ends; USUAL]>,
    /// The [`mark`]s of all names. Every request is asked for two dozen headers, and most of them are not there.
    seen: u64,
    /// The marks that came more than once.
    repeated: u64,
}

/// Headers of a request of ours, with some of the program's; responses have fewer.
const USUAL: usize = 10;

/// Where a name and a value end in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    name: u32,
    value: u32,
}

impl Ends {
    fn name(self) -> usize {
        self.name as usize
    }

    fn value(self) -> usize {
        self.value as usize
    }
}

/// A header is there more than once, where one was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated;

impl Headers {
    /// No headers.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with_capacity(count: usize, text_bytes: usize) -> Self {
        Self { text: String::with_capacity(text_bytes), ends: SmallVec::with_capacity(count), ..Self::default() }
    }

    /// Bytes of all names and values.
    #[cfg(feature = "client")]
    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Adds a header behind the others. What cannot be sent is found out when it is sent; what would make a head of four
    /// gigabytes is left out.
    pub fn push(&mut self, name: &str, value: &str) {
        let end = |length: usize| u32::try_from(self.text.len() + length).ok();
        let (Some(name_end), Some(value_end)) = (end(name.len()), end(name.len() + value.len())) else { return };
        let mark = mark(name);
        self.repeated |= self.seen & mark;
        self.seen |= mark;
        self.text.push_str(name);
        self.text.push_str(value);
        self.ends.push(Ends { name: name_end, value: value_end });
    }

    /// How many header lines there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |ends| {
            let field = (&self.text[start..ends.name()], &self.text[ends.name()..ends.value()]);
            start = ends.value();
            field
        })
    }

    /// The value of the first header called `name`. Where a second one would be an attack, use [`only`](Self::only).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.find(name, 0).map(|at| self.value(at))
    }

    /// The values of all headers called `name`, in order.
    pub fn get_all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let mut from = 0;
        core::iter::from_fn(move || {
            let at = self.find(name, from)?;
            from = at + 1;
            Some(self.value(at))
        })
    }

    /// The value of the header called `name`, unless there are two of them.
    pub fn only(&self, name: &str) -> Result<Option<&str>, Repeated> {
        let Some(first) = self.find(name, 0) else { return Ok(None) };
        let repeated = self.repeated & mark(name) != 0 && self.find(name, first + 1).is_some();
        if repeated { Err(Repeated) } else { Ok(Some(self.value(first))) }
    }

    /// Which header from this one on is called `name`.
    #[inline]
    fn find(&self, name: &str, from: usize) -> Option<usize> {
        if self.seen & mark(name) == 0 { None } else { self.search(name, from) }
    }

    fn search(&self, name: &str, from: usize) -> Option<usize> {
        let mut start = if from == 0 { 0 } else { self.ends.get(from - 1)?.value() };
        for (at, ends) in self.ends.iter().enumerate().skip(from) {
            if ends.name() - start == name.len()
                && self.text.as_bytes()[start..ends.name()].eq_ignore_ascii_case(name.as_bytes())
            {
                return Some(at);
            }
            start = ends.value();
        }
        None
    }

    fn value(&self, at: usize) -> &str {
        self.ends.get(at).map_or("", |ends| &self.text[ends.name()..ends.value()])
    }

    /// Whether a header called `name` is there.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name, 0).is_some()
    }

    /// The members of the comma-separated lists in all headers called `name`, without the blanks around them. A comma in
    /// quotes separates nothing.
    pub fn members<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.get_all(name).flat_map(|value| split_unquoted(value, b',')).filter(|member| !member.is_empty())
    }

    /// Whether `member` is in the lists of the headers called `name`, without regard to case: `Connection: close`.
    pub fn has_member(&self, name: &str, member: &str) -> bool {
        self.members(name).any(|found| found.eq_ignore_ascii_case(member))
    }

    /// Whether there is one `Content-Type` and it is `media_type`, whatever its parameters.
    pub fn content_type_is(&self, media_type: &str) -> bool {
        let Ok(Some(value)) = self.only("content-type") else { return false };
        split_unquoted(value, b';').next().is_some_and(|found| found.eq_ignore_ascii_case(media_type))
    }

    /// Whether the `Accept` headers admit `media_type`. The most specific range decides, as in RFC 9110 section 12.5.1.
    /// Without any `Accept` header everything is admitted.
    pub fn accepts(&self, media_type: &str) -> bool {
        !self.contains("accept") || self.acceptance([media_type])[0]
    }

    /// Which of these media types the `Accept` headers admit; none without such a header.
    pub(crate) fn acceptance<const N: usize>(&self, media_types: [&str; N]) -> [bool; N] {
        let mut best = [(0, false); N];
        for member in self.members("accept") {
            let (range, parameters) = match member.split_once(';') {
                Some((range, parameters)) => (range.trim_ascii(), Some(parameters)),
                None => (member, None),
            };
            for (best, media_type) in best.iter_mut().zip(media_types) {
                let specificity = specificity(range, media_type);
                if specificity > best.0 {
                    let refused = |parameters| split_unquoted(parameters, b';').any(is_zero_quality);
                    *best = (specificity, !parameters.is_some_and(refused));
                }
            }
        }
        best.map(|(_, admitted)| admitted)
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Headers {
    fn from(fields: [(&str, &str); N]) -> Self {
        let mut headers = Self::new();
        for (name, value) in fields {
            headers.push(name, value);
        }
        headers
    }
}

/// Secrets are left out: heads end up in logs.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECRET: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
        f.debug_map()
            .entries(self.iter().map(|(name, value)| {
                let secret = SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(name));
                (name, if secret { "…" } else { value })
            }))
            .finish()
    }
}

/// A bit that names have in common which differ in nothing but case; others seldom have it.
#[inline]
fn mark(name: &str) -> u64 {
    let first = name.as_bytes().first().map_or(0, |first| usize::from(first | 0x20));
    1 << ((first + 7 * name.len()) % 64)
}

/// Zero if `range` does not admit `media_type`, and the more the closer it names it.
fn specificity(range: &str, media_type: &str) -> u8 {
    if range.eq_ignore_ascii_case(media_type) {
        return 3;
    }
    match (range.split_once('/'), media_type.split_once('/')) {
        (Some(("*", "*")), _) => 1,
        (Some((family, "*")), Some((ours, _))) if family.eq_ignore_ascii_case(ours) => 2,
        _ => 0,
    }
}

/// Whether a parameter is `q=0`, in any of its spellings.
fn is_zero_quality(parameter: &str) -> bool {
    let Some(quality) = parameter.strip_prefix(['q', 'Q']).and_then(|rest| rest.strip_prefix('=')) else {
        return false;
    };
    !quality.is_empty() && quality.bytes().all(|byte| byte == b'0' || byte == b'.')
}

/// The parts of `value` between `separator`s that are not in quotes, without the blanks around them.
fn split_unquoted(value: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(value);
    core::iter::from_fn(move || {
        let text = rest?;
        let (part, after) = match unquoted(text, separator) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        rest = after;
        Some(part.trim_ascii())
    })
}

/// Where the first `separator` is that is not in quotes.
fn unquoted(text: &str, separator: u8) -> Option<usize> {
    // Hardly any list has quotes in it.
    let first = memchr::memchr2(separator, b'"', text.as_bytes())?;
    if text.as_bytes()[first] == separator {
        return Some(first);
    }
    let mut quoted = false;
    let mut escaped = false;
    text.bytes().position(|byte| {
        if core::mem::take(&mut escaped) {
            return false;
        }
        match byte {
            b'"' => quoted = !quoted,
            b'\\' => escaped = quoted,
            _ => return byte == separator && !quoted,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn lookup_ignores_case_and_keeps_order() {
        let headers: Headers = [("Via", "a"), ("Host", "h"), ("VIA", "b"), ("Empty", "")].into();
        assert_eq!(headers.get("via"), Some("a"));
        assert_eq!(headers.get_all("Via").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(headers.get("empty"), Some(""));
        assert_eq!(headers.get("none"), None);
        assert_eq!(
            (headers.only("host"), headers.only("via"), headers.only("x")),
            (Ok(Some("h")), Err(Repeated), Ok(None))
        );
        assert_eq!((headers.len(), headers.is_empty(), headers.contains("Host")), (4, false, true));
    }

    #[test]
    fn lists_are_split_at_commas_outside_of_quotes() {
        let headers: Headers = [("A", " x , \"y, \\\", z\" ,, q\t"), ("a", "w"), ("b", "\"open, end")].into();
        assert_eq!(headers.members("a").collect::<Vec<_>>(), ["x", "\"y, \\\", z\"", "q", "w"]);
        assert_eq!(headers.members("b").collect::<Vec<_>>(), ["\"open, end"]);
        assert!(headers.has_member("a", "W") && !headers.has_member("a", "y"));
    }

    #[test]
    fn types_are_accepted_by_range_and_weight() {
        for (accept, json, stream) in [
            ("application/json, text/event-stream", true, true),
            ("Application/JSON;charset=utf-8", true, false),
            ("*/*", true, true),
            ("text/*", false, true),
            ("*/*, text/*;q=0", true, false),
            ("text/event-stream, */*; q=0.000", false, true),
            ("application/json; q=0.001", true, false),
            ("application/*;q=0, application/json", true, false),
            ("x/y; p=\"application/json, text/event-stream\"", false, false),
            ("", false, false),
            ("application", false, false),
        ] {
            let headers: Headers = [("Accept", accept)].into();
            let found = (headers.accepts("application/json"), headers.accepts("text/event-stream"));
            assert_eq!(found, (json, stream), "{accept}");
        }
        assert!(Headers::new().accepts("a/b"));
    }

    #[test]
    fn content_types_are_compared_without_parameters() {
        let is_json = |value: &str| Headers::from([("Content-Type", value)]).content_type_is("application/json");
        assert!(is_json("application/json") && is_json("Application/Json ; charset=utf-8"));
        assert!(!is_json("application/jsonl") && !is_json("") && !is_json("text/plain; x=application/json"));
        let twice: Headers = [("content-type", "application/json"), ("content-type", "application/json")].into();
        assert!(!twice.content_type_is("application/json"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = alloc::format!("{:?}", Headers::from([("Authorization", "Bearer secret"), ("Host", "h")]));
        assert_eq!(shown, r#"{"Authorization": "…", "Host": "h"}"#);
    }

    quickcheck::quickcheck! {
        fn whatever_is_there_is_found(fields: Vec<(usize, u32)>) -> bool {
            const NAMES: [&str; 6] = ["host", "accept", "expect", "origin", "content-length", "mcp-session-id"];
            let cased = |name: &str, cases: u32| -> String {
                let case = |(at, letter): (usize, char)| if cases >> at & 1 == 1 { letter.to_ascii_uppercase() } else { letter };
                name.chars().enumerate().map(case).collect()
            };
            let mut headers = Headers::new();
            for (at, (name, cases)) in fields.iter().enumerate() {
                headers.push(&cased(NAMES[name % 6], *cases), &alloc::format!("{at}"));
            }
            NAMES.iter().enumerate().all(|(number, name)| {
                let places = fields.iter().enumerate().filter(|(_, field)| field.0 % 6 == number);
                let values: Vec<_> = places.map(|(at, _)| alloc::format!("{at}")).collect();
                let only = if values.len() > 1 { Err(Repeated) } else { Ok(values.first().map(String::as_str)) };
                headers.get_all(name).eq(values.iter()) && headers.only(name) == only
            })
        }
    }
}
