//! The text inside a `RawValue`, which is copied as it stands.

use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;
use serde::ser::{Error as _, Impossible, Serializer};
use serde_json::Error;

pub(super) struct RawText<'a> {
    pub(super) out: &'a mut Vec<u8>,
}

fn refused<V>() -> Result<V, Error> {
    Err(Error::custom("a raw value holds text"))
}

macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $output:ty;)+) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$output, Error> { refused() })+
    };
}

impl Serializer for RawText<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        if text.len() > super::LONG {
            super::make_room(self.out, text.len())?;
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<V: Serialize + ?Sized>(self, _: &V) -> Result<(), Error> {
        refused()
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, _: &V) -> Result<(), Error> {
        refused()
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &V,
    ) -> Result<(), Error> {
        refused()
    }

    fn collect_str<V: fmt::Display + ?Sized>(self, _: &V) -> Result<(), Error> {
        refused()
    }
}
