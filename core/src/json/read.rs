//! Reading JSON text into the types of the protocol.
//!
//! What serde_json compiles for a struct with ten members is five kilobytes, and there are a hundred structs. Here nearly
//! everything that does not depend on the type is done by code that all types share. And an object is read from an object
//! only, where serde_json would take an array of its members, too.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write as _;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Error;

use super::JsonText;
use super::scan::{Due, Fault, MOST_LEVELS, Scanner, Stop, content_of, elements, members};
use super::write::RAW_VALUE;

/// Reads one value, which is all of `text`.
pub(super) fn read<'de, V: Deserialize<'de>>(text: &'de str) -> Result<V, Error> {
    let mut reader = Reader { text, at: 0, levels: MOST_LEVELS };
    let value = V::deserialize(&mut reader).map_err(|error| reader.located(error))?;
    reader.scanner().end(reader.at).map_err(syntax)?;
    Ok(value)
}

/// A text and how far it has been read.
struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How many levels the next value may have.
    levels: usize,
}

/// A number, as it is told to visitors.
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

#[cold]
fn syntax(stop: Stop) -> Error {
    Error::custom(Fault::from(stop))
}

impl<'de> Reader<'de> {
    fn scanner(&self) -> Scanner<'de> {
        Scanner { bytes: self.text.as_bytes(), levels: self.levels }
    }

    /// The byte that the next value begins with.
    fn peek(&mut self) -> u8 {
        let (byte, at) = self.scanner().next(self.at);
        self.at = at;
        byte
    }

    /// Passes the next value.
    #[inline(never)]
    fn skip(&mut self) -> Result<&'de str, Error> {
        self.peek();
        let start = self.at;
        self.at = self.scanner().value(start).map_err(syntax)?;
        Ok(&self.text[start..self.at])
    }

    #[inline(never)]
    fn string(&mut self, expected: &dyn Expected) -> Result<Cow<'de, str>, Error> {
        if self.peek() != b'"' {
            return Err(self.wrong(expected));
        }
        content_of(self.skip()?).ok_or_else(|| Error::custom("a string has half a surrogate pair"))
    }

    fn number(&mut self, expected: &dyn Expected) -> Result<Number, Error> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.wrong(expected));
        }
        let text = self.skip()?;
        if let Ok(number) = text.parse() {
            return Ok(Number::Unsigned(number));
        }
        match text.parse() {
            // An integer has no negative zero.
            Ok(number) if number != 0 => Ok(Number::Signed(number)),
            _ => text.parse().map(Number::Float).map_err(Error::custom),
        }
    }

    fn boolean(&mut self, expected: &dyn Expected) -> Result<bool, Error> {
        match self.peek() {
            b't' | b'f' => Ok(self.skip()? == "true"),
            _ => Err(self.wrong(expected)),
        }
    }

    /// Passes a null, if that is what comes.
    fn null(&mut self) -> Result<bool, Error> {
        Ok(self.peek() == b'n' && self.skip().is_ok_and(|text| text == "null"))
    }

    /// Begins an object or an array.
    fn open(&mut self, bracket: u8, expected: &dyn Expected) -> Result<(), Error> {
        if self.peek() != bracket {
            return Err(self.wrong(expected));
        }
        self.levels = self.levels.checked_sub(1).ok_or_else(|| Error::custom(Fault::TooDeep))?;
        self.at += 1;
        Ok(())
    }

    /// The next value is not what was expected.
    #[cold]
    fn wrong(&mut self, expected: &dyn Expected) -> Error {
        let number;
        let string;
        let byte = self.peek();
        let start = self.at;
        let found = match byte {
            b'{' => Unexpected::Map,
            b'[' => Unexpected::Seq,
            b'"' => match self.string(expected) {
                Ok(text) => {
                    string = text;
                    Unexpected::Str(&string)
                }
                Err(error) => return error,
            },
            b'-' | b'0'..=b'9' => match self.number(expected) {
                Ok(found) => {
                    number = found;
                    match number {
                        Number::Unsigned(number) => Unexpected::Unsigned(number),
                        Number::Signed(number) => Unexpected::Signed(number),
                        Number::Float(number) => Unexpected::Float(number),
                    }
                }
                Err(error) => return error,
            },
            _ => match self.skip() {
                Ok("null") => Unexpected::Unit,
                Ok(text) => Unexpected::Bool(text == "true"),
                Err(error) => return error,
            },
        };
        self.at = start + 1;
        Error::invalid_type(found, expected)
    }

    /// An error, with the place of the value that it is about.
    #[cold]
    fn located(&self, error: Error) -> Error {
        let path = path_to(self.text, self.at.saturating_sub(1));
        if path.is_empty() { error } else { Error::custom(format_args!("{path}: {error}")) }
    }
}

/// The way to the innermost value at a place in the text: `tools[3].name`.
fn path_to(mut text: &str, mut place: usize) -> String {
    let mut path = String::new();
    loop {
        let mut found = None;
        let mut index = 0;
        let mut look = |name: Option<Cow<'_, str>>, value: JsonText<'_>| {
            // It is a part of the text.
            let start = value.as_str().as_ptr() as usize - text.as_ptr() as usize;
            let end = start + value.as_str().len();
            if (start..end).contains(&place) {
                match name {
                    Some(name) if path.is_empty() => path.push_str(&name),
                    Some(name) => path.extend([".", &name]),
                    None => _ = write!(path, "[{index}]"),
                }
                found = Some(start..end);
            }
            index += 1;
        };
        // What may be broken behind it is of no interest.
        let _ = match text.trim_start().starts_with('[') {
            true => elements(text, MOST_LEVELS, |value| look(None, value)),
            false => members(text, MOST_LEVELS, |name, value| look(Some(name), value)),
        };
        let Some(found) = found else { return path };
        place -= found.start;
        text = &text[found];
    }
}

/// A walk over the members of an object, or the elements of an array.
struct Walk<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// What ends it.
    bracket: u8,
    begun: bool,
    over: bool,
}

impl<'a, 'de> Walk<'a, 'de> {
    fn over_members(reader: &'a mut Reader<'de>, expected: &dyn Expected) -> Result<Self, Error> {
        reader.open(b'{', expected)?;
        Ok(Self { reader, bracket: b'}', begun: false, over: false })
    }

    fn over_elements(reader: &'a mut Reader<'de>, expected: &dyn Expected) -> Result<Self, Error> {
        reader.open(b'[', expected)?;
        Ok(Self { reader, bracket: b']', begun: false, over: false })
    }

    /// Goes to where another member or element begins; false if there is none.
    fn goes_on(&mut self) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        let due = if self.bracket == b'}' { Due::ObjectEnd } else { Due::ArrayEnd };
        if core::mem::replace(&mut self.begun, true) {
            let (more, at) = self.reader.scanner().goes_on(self.reader.at, self.bracket, due).map_err(syntax)?;
            self.reader.at = at;
            self.over = !more;
        } else if self.reader.peek() == self.bracket {
            self.reader.at += 1;
            self.over = true;
        }
        Ok(!self.over)
    }

    #[inline(never)]
    fn name(&mut self) -> Result<Option<Cow<'de, str>>, Error> {
        if !self.goes_on()? {
            return Ok(None);
        }
        let name = self.reader.scanner().name(self.reader.at).map_err(syntax)?;
        self.reader.at = name.colon + 1;
        let text = &self.reader.text[name.start..name.end];
        if name.plain {
            return Ok(Some(Cow::Borrowed(&text[1..text.len() - 1])));
        }
        content_of(text).map(Some).ok_or_else(|| Error::custom("a name has half a surrogate pair"))
    }

    /// There must be nothing left.
    fn end(mut self) -> Result<(), Error> {
        if self.goes_on()? {
            return Err(Error::custom("there are more elements than there should be"));
        }
        self.reader.levels += 1;
        Ok(())
    }
}

impl<'de> MapAccess<'de> for &mut Walk<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.name()? {
            Some(Cow::Borrowed(name)) => seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some),
            Some(name) => seed.deserialize(name.into_deserializer()).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> SeqAccess<'de> for &mut Walk<'_, 'de> {
    type Error = Error;

    fn next_element_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<Option<V::Value>, Error> {
        if self.goes_on()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

/// Numbers of any size are told as they are; it is for the visitor to say which it takes.
macro_rules! numbers {
    ($($name:ident)+) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.number(&visitor)? {
                Number::Unsigned(number) => visitor.visit_u64(number),
                Number::Signed(number) => visitor.visit_i64(number),
                Number::Float(number) => visitor.visit_f64(number),
            }
        })+
    };
}

/// The shapes of the protocol: objects, arrays, text, numbers, truth. Enumerations are text.
impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    numbers! { deserialize_i64 deserialize_u64 deserialize_f64 deserialize_u32 deserialize_i32 }

    forward_to_deserialize_any! {
        i8 i16 u8 u16 f32 char bytes byte_buf unit unit_struct tuple tuple_struct
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b'{' => self.deserialize_map(visitor),
            b'[' => self.deserialize_seq(visitor),
            b'"' => self.deserialize_str(visitor),
            b'-' | b'0'..=b'9' => self.deserialize_f64(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            _ if self.null()? => visitor.visit_unit(),
            _ => Err(self.wrong(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let truth = self.boolean(&visitor)?;
        visitor.visit_bool(truth)
    }

    #[inline(never)]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.string(&visitor)? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    #[inline(never)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match name {
            RAW_VALUE => visitor.visit_borrowed_str(self.skip()?),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    #[inline(never)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut walk = Walk::over_elements(self, &visitor)?;
        let value = visitor.visit_seq(&mut walk)?;
        walk.end()?;
        Ok(value)
    }

    #[inline(never)]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut walk = Walk::over_members(self, &visitor)?;
        let value = visitor.visit_map(&mut walk)?;
        walk.end()?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text: CowStrDeserializer<'_, Error> = self.string(&visitor)?.into_deserializer();
        visitor.visit_enum(text)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use quickcheck::quickcheck;
    use serde_json::Value;

    use super::super::scan::tests::pieced;
    use super::super::{Json, RawText};
    use super::*;

    /// A bit of everything that the model has.
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Everything<'a> {
        plain_text: String,
        #[serde(borrow, default)]
        lent: Cow<'a, str>,
        #[serde(default)]
        whole: Option<u64>,
        #[serde(default)]
        signed: i64,
        #[serde(default)]
        float: f64,
        #[serde(default)]
        small: u32,
        #[serde(default)]
        truth: Option<bool>,
        #[serde(default)]
        level: Option<Level>,
        #[serde(default)]
        many: Vec<Everything<'a>>,
        #[serde(default)]
        verbatim: Option<Json>,
        #[serde(default)]
        named: BTreeMap<String, Json>,
        #[serde(default)]
        pair: Option<(u8, String)>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Level {
        Low,
        High,
    }

    const EXAMPLE: &str = r#" { "plainText" : "a\u00e9\n" , "lent":"as it is", "whole":18446744073709551615,"signed":-7,
        "float":1.5e3, "small":4294967295, "truth":null, "level":"high", "unknown":[{"x":[]}], "verbatim": {"b" : 1.0},
        "named":{"":null,"\u0061":[ 1 ]}, "pair":[1,"two"],
        "many":[{"plainText":"","truth":true},{"plainText":"x","signed":0,"float":-0}] } "#;

    #[test]
    fn everything_is_read_as_serde_json_reads_it() {
        let everything: Everything<'_> = read(EXAMPLE).unwrap();
        assert_eq!(everything, serde_json::from_str(EXAMPLE).unwrap());
        assert!(matches!(everything.lent, Cow::Borrowed("as it is")));
        assert_eq!(everything.verbatim.unwrap().as_str(), r#"{"b" : 1.0}"#);
        let raw: RawText<'_> = read(" [ 1 ] ").unwrap();
        assert_eq!(raw.as_text().as_str(), "[ 1 ]");
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        let wrong = |text: &str, expected: &str| {
            assert_eq!(read::<Everything<'_>>(text).unwrap_err().to_string(), expected, "{text}");
        };
        wrong("{}", "missing field `plainText`");
        wrong(r#"{"plainText":[1]}"#, "plainText: invalid type: sequence, expected a string");
        wrong(r#"{"small":4294967296}"#, "small: invalid value: integer `4294967296`, expected u32");
        wrong(r#"{"whole":-1}"#, "whole: invalid value: integer `-1`, expected u64");
        wrong(r#"{"truth": "yes" }"#, "truth: invalid type: string \"yes\", expected a boolean");
        wrong(r#"{"level":"middle"}"#, "level: unknown variant `middle`, expected `low` or `high`");
        wrong(r#"{"many":[{"plainText":""},{}]}"#, "many[1]: missing field `plainText`");
        wrong(
            r#"{"many":[{"many":[{"truth":1}]}]}"#,
            "many[0].many[0].truth: invalid type: integer `1`, expected a boolean",
        );
        wrong(r#"{"plainText":"","plainText":""}"#, "duplicate field `plainText`");
        wrong(r#"{"plainText":"\ud800"}"#, "plainText: a string has half a surrogate pair");
        wrong(r#"{"plainText":""} 1"#, "the end is due at byte 17");
        wrong("{", "the name of a member is due at byte 1");
        wrong(r#"{"pair":[1,"",2]}"#, "pair: there are more elements than there should be");
        // serde_json would take these for the members, in order.
        wrong(r#"["text"]"#, "invalid type: sequence, expected struct Everything");
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read::<Value>(&nested(128)).is_ok());
        assert_eq!(read::<Value>(&nested(129)).unwrap_err().to_string(), "it is nested too deeply");
        assert!(read::<Value>(&"[".repeat(1_000_000)).is_err());
    }

    fn agrees<'de, V: Deserialize<'de> + PartialEq>(text: &'de str) -> bool {
        match (read::<V>(text), serde_json::from_str::<V>(text)) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            (Err(_), Err(_)) => true,
            _ => false,
        }
    }

    /// A value whose numbers are equal if they nearly are: serde_json may be off in the last bit.
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Near(Value);

    impl PartialEq for Near {
        fn eq(&self, other: &Self) -> bool {
            match (&self.0, &other.0) {
                (Value::Number(one), Value::Number(other)) => match (one.as_f64(), other.as_f64()) {
                    (Some(one), Some(other)) => one == other || (one / other - 1.0).abs() < 1e-14,
                    (one, other) => one == other,
                },
                (Value::Array(ones), Value::Array(others)) => {
                    ones.len() == others.len()
                        && ones.iter().zip(others).all(|(one, other)| Self(one.clone()) == Self(other.clone()))
                }
                (Value::Object(ones), Value::Object(others)) => {
                    ones.len() == others.len()
                        && ones.iter().all(|(name, one)| {
                            others.get(name).is_some_and(|other| Self(one.clone()) == Self(other.clone()))
                        })
                }
                (one, other) => one == other,
            }
        }
    }

    quickcheck! {
        fn what_is_nearly_json_is_read_as_serde_json_reads_it(choices: Vec<u8>) -> bool {
            let text = pieced(&choices);
            agrees::<Near>(&text) && agrees::<Option<Vec<i64>>>(&text)
        }

        fn numbers_are_the_same(whole: i64, float: f64) -> bool {
            let written = whole.to_string();
            agrees::<Value>(&written)
                && agrees::<u64>(&written)
                && read::<i64>(&written).is_ok_and(|number| number == whole)
                && (!float.is_finite() || read::<f64>(&float.to_string()).is_ok_and(|number| number == float))
        }

        fn damaged_text_is_read_as_serde_json_reads_it(at: usize, byte: u8, remove: bool) -> bool {
            let mut bytes = EXAMPLE.as_bytes().to_vec();
            let at = at % bytes.len();
            if remove { _ = bytes.remove(at) } else { bytes[at] = byte & 0x7F }
            let Ok(text) = String::from_utf8(bytes) else { return true };
            agrees::<Everything<'_>>(&text)
        }
    }
}
