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

use super::scan::{Due, Fault, MOST_LEVELS, Scanner, Stop, content_of, elements, members};
use super::write::RAW_VALUE;
use super::{JsonText, excerpt};

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

impl From<Number> for Unexpected<'_> {
    fn from(number: Number) -> Self {
        match number {
            Number::Unsigned(number) => Self::Unsigned(number),
            Number::Signed(number) => Self::Signed(number),
            Number::Float(number) => Self::Float(number),
        }
    }
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
            _ => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Number::Float(number)),
                _ => Err(Error::custom("a number is out of range")),
            },
        }
    }

    fn boolean(&mut self, expected: &dyn Expected) -> Result<bool, Error> {
        match self.peek() {
            b't' | b'f' => Ok(self.skip()? == "true"),
            _ => Err(self.wrong(expected)),
        }
    }

    /// Passes a null, if that is what comes.
    fn null(&mut self) -> bool {
        self.peek() == b'n' && self.skip().is_ok()
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
        let byte = self.peek();
        let start = self.at;
        let error = match byte {
            b'{' => Ok(Error::invalid_type(Unexpected::Map, expected)),
            b'[' => Ok(Error::invalid_type(Unexpected::Seq, expected)),
            b'"' => self.string(expected).map(|text| Error::invalid_type(Unexpected::Str(excerpt(&text)), expected)),
            b'-' | b'0'..=b'9' => self.number(expected).map(|number| Error::invalid_type(number.into(), expected)),
            _ => self.skip().map(|text| match text {
                "null" => Error::invalid_type(Unexpected::Unit, expected),
                truth => Error::invalid_type(Unexpected::Bool(truth == "true"), expected),
            }),
        };
        self.at = start + 1;
        error.unwrap_or_else(|broken| broken)
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
                    Some(name) if path.is_empty() => path.push_str(excerpt(&name)),
                    Some(name) => path.extend([".", excerpt(&name)]),
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
///
/// What is not to be inlined would be there for each member of that type in each struct.
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
            _ if self.null() => visitor.visit_unit(),
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
        if self.null() { visitor.visit_none() } else { visitor.visit_some(self) }
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
mod tests;
