//! Walking over JSON text: what its members are, where its values end, and whether it is JSON at all.
//!
//! A message is looked at once. Values are found as text, and only what somebody wants to know is decoded. There is no
//! recursion, so nesting costs a peer's reader no stack.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use super::JsonText;
use super::search::{first_special, first_special_of_eight};

/// The deepest nesting that can be followed: one bit per level. serde_json decodes no deeper either.
pub(crate) const MOST_LEVELS: usize = 128;

/// Why a text is no JSON value, or none that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Something else is due at a byte.
    Syntax { at: usize, due: &'static str },
    /// Brackets nest deeper than allowed.
    TooDeep,
    /// A member that is wanted is there twice: two readers could understand it differently.
    Twice(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { at, due } => write!(f, "{due} is due at byte {at}"),
            Self::TooDeep => f.write_str("it is nested too deeply"),
            Self::Twice(name) => write!(f, "{name:?} is there twice"),
        }
    }
}

/// Walks over the members of the object that `text` is; its own level counts.
pub(crate) fn members<'a>(
    text: &'a str,
    levels: usize,
    each: impl FnMut(Cow<'a, str>, JsonText<'a>),
) -> Result<(), Fault> {
    let scanner = Scanner { bytes: text.as_bytes(), levels: MOST_LEVELS };
    let at = scanner.open(b'{', Due::Object)?;
    match scanner.next(at) {
        (b'}', end) if levels > 0 => Ok(scanner.end(end + 1)?),
        _ => members_from(text, at, levels, each),
    }
}

/// The same from a place on at which a member is due.
#[inline(always)]
pub(crate) fn members_from<'a>(
    text: &'a str,
    mut at: usize,
    levels: usize,
    mut each: impl FnMut(Cow<'a, str>, JsonText<'a>),
) -> Result<(), Fault> {
    let levels = levels.min(MOST_LEVELS).checked_sub(1).ok_or(Fault::TooDeep)?;
    let scanner = Scanner { bytes: text.as_bytes(), levels };
    loop {
        let name = scanner.name(at)?;
        let (_, start) = scanner.next(name.colon + 1);
        let end = scanner.value(start)?;
        let content = &text[name.start + 1..name.end - 1];
        // A name that cannot be decoded, for half a surrogate pair, is no name that anybody asks for.
        let unescaped = if name.plain { None } else { content_of(&text[name.start..name.end]) };
        each(unescaped.unwrap_or(Cow::Borrowed(content)), JsonText(&text[start..end]));
        let (more, after) = scanner.goes_on(end, b'}', Due::ObjectEnd)?;
        if !more {
            return Ok(scanner.end(after)?);
        }
        at = after;
    }
}

/// The members of the object `text` that have these names, each as it stands. Null counts as absent.
pub(crate) fn pick<'a, const N: usize>(
    text: JsonText<'a>,
    names: [&'static str; N],
) -> Result<[Option<JsonText<'a>>; N], Fault> {
    pick_and_count(text, names).map(|(picked, _)| picked)
}

/// The same, and how many members have other names.
#[inline]
pub(crate) fn pick_and_count<'a, const N: usize>(
    text: JsonText<'a>,
    names: [&'static str; N],
) -> Result<([Option<JsonText<'a>>; N], usize), Fault> {
    let mut picked = [None; N];
    let (mut twice, mut others) = (None, 0);
    members(text.as_str(), MOST_LEVELS, |name, value| match names.iter().position(|wanted| *wanted == name) {
        None => others += 1,
        Some(_) if value.is_null() => {}
        Some(at) => {
            if picked[at].replace(value).is_some() {
                twice = Some(names[at]);
            }
        }
    })?;
    twice.map_or(Ok((picked, others)), |name| Err(Fault::Twice(name)))
}

/// The first member of the object `text` that is called `wanted`. What comes behind it is not looked at.
pub(crate) fn first_member<'a>(text: JsonText<'a>, wanted: &str) -> Option<JsonText<'a>> {
    let text = text.as_str();
    let scanner = Scanner { bytes: text.as_bytes(), levels: MOST_LEVELS };
    let mut at = scanner.open(b'{', Due::Object).ok()?;
    loop {
        let name = scanner.name(at).ok()?;
        let (_, start) = scanner.next(name.colon + 1);
        let end = scanner.value(start).ok()?;
        if content_of(&text[name.start..name.end]).is_some_and(|name| name == wanted) {
            return Some(JsonText(&text[start..end]));
        }
        let (more, after) = scanner.goes_on(end, b'}', Due::ObjectEnd).ok()?;
        at = more.then_some(after)?;
    }
}

/// Walks over the elements of the array that `text` is; its own level counts.
pub(crate) fn elements<'a>(text: &'a str, levels: usize, mut each: impl FnMut(JsonText<'a>)) -> Result<(), Fault> {
    let levels = levels.min(MOST_LEVELS).checked_sub(1).ok_or(Fault::TooDeep)?;
    let scanner = Scanner { bytes: text.as_bytes(), levels };
    let mut at = scanner.open(b'[', Due::Array)?;
    let (byte, start) = scanner.next(at);
    if byte == b']' {
        return Ok(scanner.end(start + 1)?);
    }
    loop {
        let (_, start) = scanner.next(at);
        let end = scanner.value(start)?;
        each(JsonText(&text[start..end]));
        let (more, after) = scanner.goes_on(end, b']', Due::ArrayEnd)?;
        if !more {
            return Ok(scanner.end(after)?);
        }
        at = after;
    }
}

/// Whether `text` is one JSON value.
pub(crate) fn check(text: &str, levels: usize) -> Result<(), Fault> {
    let scanner = Scanner { bytes: text.as_bytes(), levels: levels.min(MOST_LEVELS) };
    Ok(scanner.end(scanner.value(0)?)?)
}

/// The content of a JSON string, borrowed where it holds no escape.
pub(crate) fn content_of(string: &str) -> Option<Cow<'_, str>> {
    let inner = string.strip_prefix('"')?.strip_suffix('"')?;
    // What is not simply text in a string is an escape.
    if first_special(inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(string).ok().map(Cow::Owned)
}

/// What is due where something else was found.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Due {
    Object,
    Array,
    Value,
    Name,
    Colon,
    ObjectEnd,
    ArrayEnd,
    End,
    StringEnd,
    ControlEscape,
    Escape,
    HexDigit,
    Digit,
    /// Not a matter of syntax.
    FewerLevels,
}

const DUE: [&str; 13] = [
    "an object",
    "an array",
    "a value",
    "the name of a member",
    "a colon",
    "a comma or the end of the object",
    "a comma or the end of the array",
    "the end",
    "the end of a string",
    "an escape for a control character",
    "an escape that JSON has",
    "a hexadecimal digit",
    "a digit",
];

/// A place and what is due there, in one word: results that fit two registers make the scanner a third faster.
pub(super) struct Stop(u64);

impl Stop {
    #[cold]
    fn at<V>(at: usize, due: Due) -> Result<V, Self> {
        Err(Self((at as u64) << 8 | due as u64))
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Self {
        match DUE.get((stop.0 & 0xFF) as usize) {
            Some(due) => Self::Syntax { at: (stop.0 >> 8) as usize, due },
            None => Self::TooDeep,
        }
    }
}

/// A member's name.
pub(super) struct Name {
    /// Where its quotes are.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) colon: usize,
    /// Whether it is known to hold no escape.
    pub(super) plain: bool,
}

/// Every function takes a place in the text and returns the place after what it passed.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    pub(super) bytes: &'a [u8],
    /// How many levels a value may have.
    pub(super) levels: usize,
}

impl Scanner<'_> {
    /// The byte at a place; 0, which JSON has nowhere, at the end.
    #[inline(always)]
    fn byte(self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next byte that is no white space, and its place.
    #[inline(always)]
    pub(super) fn next(self, mut at: usize) -> (u8, usize) {
        loop {
            let byte = self.byte(at);
            // Nearly always it is the first one, and no blank.
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return (byte, at);
            }
            at += 1;
        }
    }

    fn open(self, bracket: u8, due: Due) -> Result<usize, Stop> {
        match self.next(0) {
            (byte, at) if byte == bracket => Ok(at + 1),
            (_, at) => Stop::at(at, due),
        }
    }

    /// Passes the comma before another value, or the bracket that ends them.
    #[inline(always)]
    pub(super) fn goes_on(self, at: usize, bracket: u8, due: Due) -> Result<(bool, usize), Stop> {
        match self.next(at) {
            (b',', at) => Ok((true, at + 1)),
            (byte, at) if byte == bracket => Ok((false, at + 1)),
            (_, at) => Stop::at(at, due),
        }
    }

    pub(super) fn end(self, at: usize) -> Result<(), Stop> {
        let (_, at) = self.next(at);
        if at < self.bytes.len() { Stop::at(at, Due::End) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn name(self, at: usize) -> Result<Name, Stop> {
        let (byte, start) = self.next(at);
        if byte != b'"' {
            return Stop::at(start, Due::Name);
        }
        let (end, plain) = match self.short_string(start) {
            Some(end) => (end, true),
            None => (self.long_string(start + 1)?, false),
        };
        match self.next(end) {
            (b':', colon) => Ok(Name { start, end, colon, plain }),
            (_, at) => Stop::at(at, Due::Colon),
        }
    }

    /// Passes one value and everything in it.
    pub(super) fn value(self, mut at: usize) -> Result<usize, Stop> {
        // What is open, innermost last: 1 for an object, 0 for an array.
        let mut open: u128 = 0;
        let mut depth = 0;
        loop {
            let (byte, start) = self.next(at);
            at = match byte {
                b'"' => self.string(start)?,
                b'{' | b'[' => {
                    if depth == self.levels {
                        return Stop::at(start, Due::FewerLevels);
                    }
                    let object = byte == b'{';
                    // The bracket that closes is two further in ASCII than the one that opens.
                    let (next, after) = self.next(start + 1);
                    if next != byte + 2 {
                        depth += 1;
                        open = open << 1 | u128::from(object);
                        at = if object { self.name(after)?.colon + 1 } else { after };
                        continue;
                    }
                    after + 1
                }
                b'-' | b'0'..=b'9' => self.number(start)?,
                b't' => self.literal(start, b"true")?,
                b'f' => self.literal(start, b"false")?,
                b'n' => self.literal(start, b"null")?,
                _ => return Stop::at(start, Due::Value),
            };
            while depth > 0 {
                let object = open & 1 == 1;
                let (bracket, due) = if object { (b'}', Due::ObjectEnd) } else { (b']', Due::ArrayEnd) };
                let (more, after) = self.goes_on(at, bracket, due)?;
                at = after;
                if more {
                    if object {
                        at = self.name(at)?.colon + 1;
                    }
                    break;
                }
                open >>= 1;
                depth -= 1;
            }
            if depth == 0 {
                return Ok(at);
            }
        }
    }

    /// Passes a string.
    #[inline(always)]
    fn string(self, quote: usize) -> Result<usize, Stop> {
        match self.short_string(quote) {
            Some(end) => Ok(end),
            None => self.long_string(quote + 1),
        }
    }

    /// Passes a string without escapes that ends within sixteen bytes, as most names do.
    #[inline(always)]
    fn short_string(self, quote: usize) -> Option<usize> {
        let text = self.bytes.get(quote + 1..)?;
        let found = match first_special_of_eight(text) {
            Some(found) => found,
            None => 8 + first_special_of_eight(text.get(8..)?)?,
        };
        (text[found] == b'"').then_some(quote + found + 2)
    }

    fn long_string(self, mut at: usize) -> Result<usize, Stop> {
        loop {
            match first_special(self.bytes.get(at..).unwrap_or_default()) {
                None => return Stop::at(self.bytes.len(), Due::StringEnd),
                Some(found) => at += found,
            }
            at = match self.bytes[at] {
                b'"' => return Ok(at + 1),
                b'\\' => self.escape(at + 1)?,
                _ => return Stop::at(at, Due::ControlEscape),
            };
        }
    }

    fn escape(self, at: usize) -> Result<usize, Stop> {
        match self.byte(at) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
            b'u' => match (at + 1..at + 5).find(|&at| !self.byte(at).is_ascii_hexdigit()) {
                Some(at) => Stop::at(at, Due::HexDigit),
                None => Ok(at + 5),
            },
            _ => Stop::at(at, Due::Escape),
        }
    }

    fn number(self, mut at: usize) -> Result<usize, Stop> {
        at += usize::from(self.byte(at) == b'-');
        at = if self.byte(at) == b'0' { at + 1 } else { self.digits(at)? };
        if self.byte(at) == b'.' {
            at = self.digits(at + 1)?;
        }
        if matches!(self.byte(at), b'e' | b'E') {
            at += 1;
            at += usize::from(matches!(self.byte(at), b'+' | b'-'));
            at = self.digits(at)?;
        }
        Ok(at)
    }

    #[inline(always)]
    fn digits(self, start: usize) -> Result<usize, Stop> {
        let mut at = start;
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        if at == start { Stop::at(at, Due::Digit) } else { Ok(at) }
    }

    fn literal(self, at: usize, word: &[u8]) -> Result<usize, Stop> {
        if !self.bytes[at..].starts_with(word) {
            return Stop::at(at, Due::Value);
        }
        Ok(at + word.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use quickcheck::quickcheck;
    use serde::de::IgnoredAny;

    #[test]
    fn values_are_found_as_they_stand() {
        let text = "{ \"a\" : [1, {\"b\":\"}\\\"\"}] ,\"\\u0062\":-1.5e+3,\"\":null}\n";
        let mut found = Vec::new();
        members(text, 128, |name, value| found.push((name.into_owned(), value.as_str()))).unwrap();
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(found, [("a", "[1, {\"b\":\"}\\\"\"}]"), ("b", "-1.5e+3"), ("", "null")]);
        let mut found = Vec::new();
        elements("[ [] , {} ,true,\"x\" ]", 128, |value| found.push(value.as_str())).unwrap();
        assert_eq!(found, ["[]", "{}", "true", "\"x\""]);
    }

    #[test]
    fn members_are_picked_by_name() {
        let text = JsonText(r#"{"b":[1],"x":2,"a":null,"\u0063":3}"#);
        let [a, b, c] = pick(text, ["a", "b", "c"]).unwrap();
        assert_eq!((a, b.map(JsonText::as_str), c.map(JsonText::as_str)), (None, Some("[1]"), Some("3")));
        assert_eq!(pick(JsonText(r#"{"a":1,"x":1,"x":2,"a":2}"#), ["a"]), Err(Fault::Twice("a")));
        let first = |wanted| first_member(text, wanted).map(JsonText::as_str);
        assert_eq!((first("b"), first("c"), first("a"), first("y")), (Some("[1]"), Some("3"), Some("null"), None));
        assert_eq!(first_member(JsonText("{}"), "a"), None);
    }

    #[test]
    fn levels_are_counted() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check(&nested(128), 128), Ok(()));
        assert_eq!(check(&nested(129), 129), Err(Fault::TooDeep));
        assert_eq!(check(&nested(3), 2), Err(Fault::TooDeep));
        assert_eq!(members(r#"{"a":[[]]}"#, 3, |_, _| ()), Ok(()));
        assert_eq!(members(r#"{"a":[[]]}"#, 2, |_, _| ()), Err(Fault::TooDeep));
        assert_eq!(elements("[]", 0, |_| ()), Err(Fault::TooDeep));
        assert!(check(&"[".repeat(1_000_000), 128).is_err(), "without a stack that could overflow");
    }

    #[test]
    fn a_fault_says_what_is_due_where() {
        let fault = |text| alloc::format!("{}", check(text, 128).unwrap_err());
        assert_eq!(fault(r#"{"a" 1}"#), "a colon is due at byte 5");
        assert_eq!(fault("[1 2]"), "a comma or the end of the array is due at byte 3");
        assert_eq!(fault("\"abc"), "the end of a string is due at byte 4");
        assert_eq!(fault("{} {}"), "the end is due at byte 3");
        assert_eq!(fault(""), "a value is due at byte 0");
    }

    /// Texts that are nearly JSON: pieces of it in any order.
    pub(in crate::json) fn pieced(choices: &[u8]) -> String {
        const PIECES: [&str; 34] = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\"a\"",
            "\"\\n\"",
            "\"\\u00e9\"",
            "\"\\ud800\"",
            "\\",
            "0",
            "-",
            "1",
            "12",
            ".",
            "e",
            "E+",
            "01",
            "1.5",
            "-0",
            "true",
            "false",
            "null",
            "nul",
            " ",
            "\t",
            "\n",
            "\r",
            "\u{c}",
            "é",
            "\u{1}",
            "\"x\":",
        ];
        choices.iter().map(|&choice| PIECES[usize::from(choice) % PIECES.len()]).collect()
    }

    quickcheck! {
        fn serde_json_agrees_on_what_is_json(choices: Vec<u8>) -> bool {
            let text = pieced(&choices);
            check(&text, 127).is_ok() == serde_json::from_str::<IgnoredAny>(&text).is_ok()
        }

        fn what_serde_json_writes_is_json(text: String, number: f64, names: Vec<(String, Vec<i64>)>) -> bool {
            let names: alloc::collections::BTreeMap<_, _> = names.into_iter().collect();
            let value = serde_json::json!({"t": text, "n": number, "m": names});
            let written = if text.len() % 2 == 0 { value.to_string() } else { alloc::format!("{value:#}") };
            check(&written, 128).is_ok()
        }
    }
}
