//! Writing JSON text to the end of a buffer.
//!
//! serde_json writes without `std` only into a fresh vector of its own, one allocation and one copy per message; and it
//! looks at every byte of a string by itself. This writer appends, and looks at strings 32 bytes at a time.

use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use serde::Serialize;
use serde::ser::{self, Error as _};
use serde_json::Error;

use super::search::first_special;

/// The name by which serde_json's `RawValue` makes itself known to a serializer. The tests of this module would notice
/// if it changed.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A text of more bytes than this is long: whether there is memory for it is asked before it is written, so that the lack of
/// it fails a message and not the program.
const LONG: usize = 64 * 1024;

/// How much of a long text is written at a time.
const PIECE: usize = 4 * 1024;

/// What a byte takes at the most: `\u001f`.
const LONGEST_ESCAPE: usize = 6;

/// Room for a few escapes in a long text, and for what mostly follows it: for want of a last brace the buffer would become
/// twice as large.
const SLACK: usize = (LONGEST_ESCAPE + 1) * PIECE;

/// Appends the JSON text of `value`. After an error, `out` holds a part of it.
pub(crate) fn write_json<V: Serialize + ?Sized>(out: &mut Vec<u8>, value: &V) -> Result<(), Error> {
    value.serialize(Writer { out })
}

/// Gives `text`, which is JSON, to a serializer as it stands.
pub(super) fn serialize_verbatim<S: ser::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
    ser::SerializeStruct::serialize_field(&mut raw, RAW_VALUE, text)?;
    ser::SerializeStruct::end(raw)
}

/// Appends `text` as a JSON string.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    out.push(b'"');
    match first_special(text) {
        None => out.extend_from_slice(text),
        Some(at) => write_escaped(out, text, at),
    }
    out.push(b'"');
}

/// Appends a long `text` as a JSON string. After an error, `out` holds a part of it.
#[cold]
fn write_long_text(out: &mut Vec<u8>, text: &str) -> Result<(), Error> {
    let mut rest = text.as_bytes();
    make_room(out, rest.len())?;
    out.push(b'"');
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.len().min(PIECE));
        match first_special(piece) {
            None => out.extend_from_slice(piece),
            Some(at) => write_escaped(out, piece, at),
        }
        rest = later;
        if out.capacity() - out.len() < rest.len() + LONGEST_ESCAPE * PIECE {
            make_room(out, rest.len())?;
        }
    }
    out.push(b'"');
    Ok(())
}

/// Makes room for as many bytes and what may come with them, if there is memory.
fn make_room(out: &mut Vec<u8>, bytes: usize) -> Result<(), Error> {
    out.try_reserve(bytes + SLACK).map_err(|_| Error::custom("there is no memory for it"))
}

/// Appends a text with escapes, the first of them at a place. It is apart, so that names and short texts, which have none,
/// are written with less ado.
#[cold]
fn write_escaped(out: &mut Vec<u8>, text: &[u8], mut at: usize) {
    let mut rest = text;
    loop {
        out.extend_from_slice(&rest[..at]);
        escape(out, rest[at]);
        rest = &rest[at + 1..];
        match first_special(rest) {
            Some(next) => at = next,
            None => return out.extend_from_slice(rest),
        }
    }
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]];
            out.extend_from_slice(b"\\u00");
            return out.extend_from_slice(&digits);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn integer(self, value: impl itoa::Integer) -> Result<(), Error> {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        Ok(())
    }

    fn float(self, value: f64) -> Result<(), Error> {
        match value.is_finite() {
            true => self.display(format_args!("{value:?}")),
            false => self.serialize_unit_value(),
        }
    }

    fn display(self, text: fmt::Arguments<'_>) -> Result<(), Error> {
        Text(self.out).write_fmt(text).map_err(Error::custom)
    }

    fn serialize_unit_value(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }
}

/// A buffer as the target of formatting.
struct Text<'a>(&'a mut Vec<u8>);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// An array or object that has been opened.
struct Compound<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
    close: &'static [u8],
}

impl<'a> Compound<'a> {
    fn open(out: &'a mut Vec<u8>, open: &[u8], close: &'static [u8]) -> Result<Self, Error> {
        out.extend_from_slice(open);
        Ok(Self { out, first: true, close })
    }

    fn open_variant(out: &'a mut Vec<u8>, name: &str, open: &[u8], close: &'static [u8]) -> Result<Self, Error> {
        out.push(b'{');
        write_text(out, name);
        out.push(b':');
        Self::open(out, open, close)
    }

    fn comma(&mut self) {
        if !core::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }

    fn element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.comma();
        write_json(self.out, value)
    }

    fn member<V: Serialize + ?Sized>(&mut self, name: &str, value: &V) -> Result<(), Error> {
        self.comma();
        write_text(self.out, name);
        self.out.push(b':');
        write_json(self.out, value)
    }

    fn close(self) -> Result<(), Error> {
        self.out.extend_from_slice(self.close);
        Ok(())
    }
}

/// A struct, or a raw value in the guise of one.
enum Struct<'a> {
    Object(Compound<'a>),
    Raw(&'a mut Vec<u8>),
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Struct<'a>;
    type SerializeStructVariant = Compound<'a>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        match value.is_finite() {
            true => self.display(format_args!("{value:?}")),
            false => self.serialize_unit_value(),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        if value.len() > LONG {
            return write_long_text(self.out, value);
        }
        write_text(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        let mut array = Compound::open(self.out, b"[", b"]")?;
        for byte in value {
            array.element(byte)?;
        }
        array.close()
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit_value()
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.serialize_unit_value()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit_value()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, value: &V) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &V,
    ) -> Result<(), Error> {
        let mut object = Compound::open(self.out, b"{", b"}")?;
        object.member(variant, value)?;
        object.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Compound::open(self.out, b"[", b"]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'a>, Error> {
        Compound::open(self.out, b"[", b"]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'a>, Error> {
        Compound::open(self.out, b"[", b"]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Error> {
        Compound::open_variant(self.out, variant, b"[", b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Compound::open(self.out, b"{", b"}")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Struct<'a>, Error> {
        match name {
            RAW_VALUE => Ok(Struct::Raw(self.out)),
            _ => Compound::open(self.out, b"{", b"}").map(Struct::Object),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Error> {
        Compound::open_variant(self.out, variant, b"{", b"}}")
    }

    fn collect_str<V: fmt::Display + ?Sized>(self, value: &V) -> Result<(), Error> {
        self.serialize_str(&alloc::format!("{value}"))
    }
}

impl ser::SerializeSeq for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTuple for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        self.comma();
        let start = self.out.len();
        write_json(self.out, key)?;
        // JSON has text for keys only; numbers become one, as serde_json does it.
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'-' | b'0'..=b'9') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
            _ => return Err(Error::custom("the key of a map must be a string")),
        }
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.out.push(b':');
        write_json(self.out, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<(), Error> {
        match self {
            Self::Object(object) => object.member(name, value),
            Self::Raw(out) => value.serialize(RawText { out }),
        }
    }

    fn end(self) -> Result<(), Error> {
        match self {
            Self::Object(object) => object.close(),
            Self::Raw(_) => Ok(()),
        }
    }
}

impl ser::SerializeStructVariant for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<(), Error> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

mod raw;
use raw::RawText;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use alloc::borrow::ToOwned;
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use quickcheck::quickcheck;

    fn written<V: Serialize + ?Sized>(value: &V) -> String {
        let mut out = Vec::new();
        write_json(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(u8, i64),
        Struct { a: Option<bool>, b: char },
    }

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        let shapes = [Shape::Unit, Shape::Newtype(1), Shape::Tuple(2, -3), Shape::Struct { a: None, b: '"' }];
        assert_eq!(written(&shapes), serde_json::to_string(&shapes).unwrap());
        let numbers = (1.0_f64, -2.5_f32, f64::NAN, u64::MAX, i64::MIN, 0.1_f32, i128::MAX);
        assert_eq!(written(&numbers), serde_json::to_string(&numbers).unwrap());
        let map: BTreeMap<u8, &str> = [(1, "a"), (2, "b\u{7f}\u{1f}")].into();
        assert_eq!(written(&map), serde_json::to_string(&map).unwrap());
        assert!(write_json(&mut Vec::new(), &BTreeMap::from([(Some(true), 1)])).is_err());
    }

    #[test]
    fn long_texts_are_written_alike_and_take_little_more_room_than_they_need() {
        let plain = "x".repeat(LONG + 1);
        let sparse = "one line\n".to_owned() + &"ä\u{10ffff}".repeat(LONG);
        let escaped = "\u{1}\"x".repeat(LONG);
        for text in [&plain, &sparse, &escaped] {
            let mut out = Vec::new();
            write_json(&mut out, &(1, text, "behind")).unwrap();
            assert_eq!(out, serde_json::to_vec(&(1, text, "behind")).unwrap());
            if text.len() != escaped.len() {
                assert!(out.capacity() < out.len() + 2 * SLACK, "{} for {}", out.capacity(), out.len());
            }
            let json = Json::parse(core::str::from_utf8(&out).unwrap()).unwrap();
            let mut again = Vec::new();
            write_json(&mut again, &[&json]).unwrap();
            assert_eq!(again, [b"[", &out[..], b"]"].concat());
            assert!(again.capacity() < again.len() + 2 * SLACK);
        }
    }

    /// One of every kind of value that serde knows.
    struct Every;

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Newtype(i8);

    #[derive(Serialize)]
    struct Tuple(i16, u16);

    /// Bytes, which serde's own types write as sequences.
    struct Bytes(&'static [u8]);

    impl Serialize for Bytes {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(self.0)
        }
    }

    impl Every {
        fn each(mut meet: impl FnMut(&dyn Fn(&mut Vec<u8>, bool) -> Result<(), Error>, &str)) {
            macro_rules! meet {
                ($($value:expr => $text:expr),+ $(,)?) => {
                    $(meet(
                        &|out, raw| if raw { write_json(out, &Forged($value)) } else { write_json(out, &$value) },
                        $text,
                    );)+
                };
            }
            meet! {
                true => "true", false => "false", -1_i8 => "-1", -2_i16 => "-2", -3_i32 => "-3", -4_i64 => "-4",
                -5_i128 => "-5", 1_u8 => "1", 2_u16 => "2", 3_u32 => "3", 4_u64 => "4", 5_u128 => "5",
                0.5_f32 => "0.5", 1.0_f64 => "1.0", f32::INFINITY => "null", f64::NEG_INFINITY => "null",
                '\n' => r#""\n""#, Bytes(&[1, 2]) => "[1,2]", Bytes(&[]) => "[]", None::<u8> => "null",
                Some(3) => "3", () => "null", Unit => "null", Newtype(-7) => "-7", Tuple(8, 9) => "[8,9]",
                Shape::Unit => r#""Unit""#, Shape::Newtype(1) => r#"{"Newtype":1}"#,
                Shape::Tuple(1, 2) => r#"{"Tuple":[1,2]}"#,
                Shape::Struct { a: Some(true), b: 'b' } => r#"{"Struct":{"a":true,"b":"b"}}"#,
                [1, 2].as_slice() => "[1,2]", (1, "a") => r#"[1,"a"]"#,
                BTreeMap::from([(-1, 2), (3, 4)]) => r#"{"-1":2,"3":4}"#, format_args!("{}\"", 1) => r#""1\"""#,
            }
        }
    }

    /// Something that is no text in the guise of a raw value.
    struct Forged<V>(V);

    impl<V: Serialize> Serialize for Forged<V> {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
            ser::SerializeStruct::serialize_field(&mut raw, RAW_VALUE, &self.0)?;
            ser::SerializeStruct::end(raw)
        }
    }

    #[test]
    fn every_kind_of_value_has_its_text() {
        Every::each(|write, text| {
            let mut out = Vec::new();
            write(&mut out, false).unwrap();
            assert_eq!(core::str::from_utf8(&out), Ok(text));
        });
    }

    #[test]
    fn a_raw_value_holds_text_and_nothing_else() {
        assert_eq!(written(&Forged("[1, 2]")), "[1, 2]");
        Every::each(|write, text| {
            let mut out = Vec::new();
            assert!(write(&mut out, true).is_err(), "{text}");
            assert!(out.is_empty(), "{text}");
        });
    }

    #[test]
    fn the_keys_of_a_map_are_texts() {
        for value in [true, false] {
            assert!(write_json(&mut Vec::new(), &BTreeMap::from([(value, 1)])).is_err());
        }
        assert!(write_json(&mut Vec::new(), &BTreeMap::from([((), 1)])).is_err());
        assert!(write_json(&mut Vec::new(), &BTreeMap::from([([1, 2], 1)])).is_err());
        assert_eq!(written(&BTreeMap::from([('"', 1)])), r#"{"\"":1}"#);
    }

    #[test]
    fn raw_json_passes_through_as_it_is() {
        let text = r#"{ "b" : 1.0, "a":[ 1 ] }"#;
        assert_eq!(written(&[Json::parse(text).unwrap()]), alloc::format!("[{text}]"));
    }

    quickcheck! {
        fn strings_are_written_as_serde_json_writes_them(text: String) -> bool {
            written(&text) == serde_json::to_string(&text).unwrap()
        }

        fn long_strings_too(text: String, before: usize) -> bool {
            let text = "x".repeat(before % 100) + &text + &"y".repeat(70);
            written(&text) == serde_json::to_string(&text).unwrap()
        }

        fn numbers_survive(number: f64) -> bool {
            !number.is_finite() || written(&number).parse::<f64>().unwrap().to_bits() == number.to_bits()
        }

        fn bytes_are_numbers(bytes: Vec<u8>) -> bool {
            written(&bytes) == serde_json::to_string(&bytes).unwrap()
        }
    }
}
