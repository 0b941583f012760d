//! What is read is what serde_json would have read, but for arrays in the place of objects.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

use quickcheck::quickcheck;
use serde_json::Value;

use super::*;
use crate::json::scan::tests::pieced;
use crate::json::{Json, RawText};

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
    wrong(r#"{"float":1e999}"#, "float: a number is out of range");
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
    wrong(r#"{"plainText":"" 1}"#, "plainText: a comma or the end of the object is due at byte 16");
    wrong(r#"{"many":[{"plainText":""} 1]}"#, "a comma or the end of the array is due at byte 26");
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

#[test]
fn damaged_text_is_read_as_serde_json_reads_it() {
    for at in 0..EXAMPLE.len() {
        let damages = (0..=0x7F).map(Some).chain([None]);
        for damage in damages {
            let mut bytes = EXAMPLE.as_bytes().to_vec();
            match damage {
                Some(byte) => bytes[at] = byte,
                None => _ = bytes.remove(at),
            }
            let text = String::from_utf8(bytes).unwrap();
            assert!(agrees::<Everything<'_>>(&text), "{text}");
        }
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
}
