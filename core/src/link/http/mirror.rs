//! What headers say of a body: `Mcp-Name` and `Mcp-Param-*`, their coding, and the `x-mcp-header` annotations of a
//! tool's schema that ask for them (revision 2026-07-28). Both roles read this by the same rules.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::{Fault, JsonText, MOST_LEVELS, elements, members};

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

/// Arguments of one tool that may be mirrored. A head holds at most 128 headers, of which a client needs a few itself.
const MOST_ANNOTATIONS: usize = 64;

/// Before the name that an annotation gives.
pub(crate) const PARAM_PREFIX: &str = "Mcp-Param-";

/// An argument that is also sent as a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Annotation {
    /// The names that lead to the argument, from the outermost object inwards.
    pub(crate) path: Vec<String>,
    /// The header, behind [`PARAM_PREFIX`].
    pub(crate) header: String,
}

/// Why a tool's annotations cannot be followed; the tool is then not to be used over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnnotationError {
    /// The schema is not one that can be read.
    Schema(String),
    /// The name is not a string, or empty, or has characters that a header's name cannot have.
    Name(String),
    /// Two arguments have the same header, which is compared without regard to case.
    Repeated(String),
    /// The argument is neither a string nor an integer nor a boolean.
    Type(String),
    /// The annotation is somewhere else than behind `properties` only, so that where its value is depends on the value.
    Unreachable(String),
    /// There are more than a head can hold.
    TooMany,
}

impl fmt::Display for AnnotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(detail) => write!(f, "its schema cannot be read: {detail}"),
            Self::Name(name) => write!(f, "x-mcp-header {name} cannot be a header's name"),
            Self::Repeated(name) => write!(f, "x-mcp-header {name:?} is there twice"),
            Self::Type(path) => write!(f, "{path} has an x-mcp-header but is no string, integer or boolean"),
            Self::Unreachable(key) => write!(f, "an x-mcp-header stands under {key:?}, not under properties only"),
            Self::TooMany => write!(f, "more than {MOST_ANNOTATIONS} arguments have an x-mcp-header"),
        }
    }
}

/// The annotations of a tool's `inputSchema`, or why the tool must not be used.
pub(crate) fn annotations(input_schema: JsonText<'_>) -> Result<Vec<Annotation>, AnnotationError> {
    let mut found = Vec::new();
    // Most schemas have none, and are not walked through.
    if memchr::memmem::find(input_schema.as_str().as_bytes(), b"x-mcp-header").is_none()
        && !input_schema.as_str().contains('\\')
    {
        return Ok(found);
    }
    if !input_schema.is_object() {
        return Ok(found);
    }
    walk(input_schema, &mut Vec::new(), true, &mut found)?;
    Ok(found)
}

/// One schema; `root` is the outermost, which is no argument.
fn walk(
    schema: JsonText<'_>,
    path: &mut Vec<String>,
    root: bool,
    found: &mut Vec<Annotation>,
) -> Result<(), AnnotationError> {
    let (mut properties, mut header, mut kind, mut others) = (None, None, None, Vec::new());
    members(schema.as_str(), MOST_LEVELS, |name, value| match &*name {
        "properties" => properties = Some(value),
        "x-mcp-header" => header = Some(value),
        "type" => kind = Some(value),
        // What these hold is data, not schemas.
        "enum" | "const" | "default" | "examples" | "title" | "description" => {}
        _ => others.push((name.to_string(), value)),
    })
    .map_err(|fault| unreadable(&fault))?;
    if let Some(header) = header {
        if root {
            return Err(AnnotationError::Unreachable("the schema itself".into()));
        }
        let header = valid_name(header)?;
        if !kind.is_some_and(is_plain_type) {
            return Err(AnnotationError::Type(path.join(".")));
        }
        if found.iter().any(|other: &Annotation| other.header.eq_ignore_ascii_case(&header)) {
            return Err(AnnotationError::Repeated(header));
        }
        if found.len() == MOST_ANNOTATIONS {
            return Err(AnnotationError::TooMany);
        }
        found.push(Annotation { path: path.clone(), header });
    }
    for (key, value) in others {
        if holds_annotation(value)? {
            return Err(AnnotationError::Unreachable(key));
        }
    }
    let Some(properties) = properties.filter(|properties| properties.is_object()) else { return Ok(()) };
    let mut inner = Vec::new();
    members(properties.as_str(), MOST_LEVELS, |name, value| inner.push((name.into_owned(), value)))
        .map_err(|fault| unreadable(&fault))?;
    for (name, value) in inner {
        if value.is_object() {
            path.push(name);
            walk(value, path, false, found)?;
            path.pop();
        }
    }
    Ok(())
}

fn unreadable(fault: &Fault) -> AnnotationError {
    AnnotationError::Schema(fault.to_string())
}

fn valid_name(header: JsonText<'_>) -> Result<String, AnnotationError> {
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    match header.as_text() {
        Some(text) if is_token(&text) => Ok(text.into_owned()),
        _ => Err(AnnotationError::Name(crate::jsonrpc::excerpt(header.as_str()).into())),
    }
}

/// A type that fits into a header, or several of them.
fn is_plain_type(kind: JsonText<'_>) -> bool {
    let is_plain = |kind: JsonText<'_>| matches!(kind.as_str(), "\"string\"" | "\"integer\"" | "\"boolean\"");
    let (mut plain, mut count) = (true, 0);
    let listed = elements(kind.as_str(), MOST_LEVELS, |kind| {
        plain &= is_plain(kind);
        count += 1;
    });
    if listed.is_ok() { plain && count > 0 } else { is_plain(kind) }
}

/// Whether there is an annotation anywhere in `value`.
fn holds_annotation(value: JsonText<'_>) -> Result<bool, AnnotationError> {
    let mut open = alloc::vec![value];
    let mut found = false;
    while let Some(value) = open.pop().filter(|_| !found) {
        let walked = match value.as_str().as_bytes().first() {
            Some(b'{') => members(value.as_str(), MOST_LEVELS, |name, value| {
                found |= name == "x-mcp-header";
                if !matches!(&*name, "enum" | "const" | "default" | "examples") {
                    open.push(value);
                }
            }),
            Some(b'[') => elements(value.as_str(), MOST_LEVELS, |value| open.push(value)),
            _ => Ok(()),
        };
        walked.map_err(|fault| unreadable(&fault))?;
    }
    Ok(found)
}

/// The largest integer that every reader of JSON reads as itself, 2^53 - 1; the least is its negative.
const LARGEST_INTEGER: i64 = (1 << 53) - 1;

/// What an argument is as a header's value, before coding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    Integer(i64),
}

/// An argument is a number that no header may hold: not an integer, or not one that every reader understands alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnsafeNumber {
    path: String,
    number: String,
}

impl fmt::Display for UnsafeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, number } = self;
        write!(f, "the argument {path} is sent as a header, so {number} must be an integer within ±{LARGEST_INTEGER}")
    }
}

impl<'a> Value<'a> {
    /// The argument at a path; none if it is absent, null or neither text nor number nor boolean.
    pub(crate) fn at(arguments: JsonText<'a>, path: &[String]) -> Result<Option<Self>, UnsafeNumber> {
        let Some(value) = argument_at(arguments, path) else { return Ok(None) };
        match value.as_str() {
            "null" => Ok(None),
            "true" | "false" => Ok(Some(Self::Text(Cow::Borrowed(value.as_str())))),
            text if text.starts_with('"') => Ok(value.as_text().map(Self::Text)),
            text if text.starts_with(['{', '[']) => Ok(None),
            number => match integer(number) {
                Some(integer) => Ok(Some(Self::Integer(integer))),
                None => Err(UnsafeNumber { path: path.join("."), number: crate::jsonrpc::excerpt(number).into() }),
            },
        }
    }

    /// The value as text.
    #[cfg(feature = "client")]
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text,
            Self::Integer(integer) => Cow::Owned(integer.to_string()),
        }
    }

    /// Whether a header, decoded, says the same. `42.0` is 42.
    #[cfg(feature = "server")]
    pub(crate) fn is_said_by(&self, header: &str) -> bool {
        match self {
            Self::Text(text) => text == header,
            Self::Integer(expected) => integer(header) == Some(*expected),
        }
    }
}

fn argument_at<'a>(arguments: JsonText<'a>, path: &[String]) -> Option<JsonText<'a>> {
    let mut value = arguments;
    for wanted in path {
        let mut inner = None;
        members(value.as_str(), MOST_LEVELS, |name, value| {
            if name == *wanted {
                inner = Some(value);
            }
        })
        .ok()?;
        value = inner?;
    }
    Some(value)
}

/// The integer that a number is, if every reader understands it alike.
fn integer(number: &str) -> Option<i64> {
    let whole = || {
        let number: f64 = number.parse().ok()?;
        // What does not fit becomes the nearest that does, which is too large as well.
        Some(number as i64).filter(|&whole| whole as f64 == number)
    };
    let integer = number.parse().ok().or_else(whole)?;
    (-LARGEST_INTEGER..=LARGEST_INTEGER).contains(&integer).then_some(integer)
}

/// The value as it goes into a header: itself, or in base64 where it could not stand there.
#[cfg(feature = "client")]
pub(crate) fn encode(value: &str) -> Cow<'_, str> {
    let printable = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_coded = value.starts_with(BEGIN) && value.ends_with(END);
    if printable && !padded && !looks_coded {
        return Cow::Borrowed(value);
    }
    Cow::Owned([BEGIN, &STANDARD.encode(value), END].concat())
}

/// The value that a header stands for; none if it is marked as base64 but is not.
#[cfg(feature = "server")]
pub(crate) fn decode(header: &str) -> Option<Cow<'_, str>> {
    let coded = header.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    match coded {
        None => Some(Cow::Borrowed(header)),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: &str) -> Result<Vec<Annotation>, AnnotationError> {
        annotations(JsonText::parse(schema).unwrap())
    }

    fn property(schema: &str) -> Result<Vec<Annotation>, AnnotationError> {
        of(&alloc::format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#))
    }

    #[test]
    fn values_that_cannot_stand_in_a_header_are_coded() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("a b", "a b"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?no end", "=?base64?no end"),
            ("no beginning?=", "no beginning?="),
            ("a\tb", "=?base64?YQli?="),
            ("line\nbreak", "=?base64?bGluZQpicmVhaw==?="),
        ] {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header).as_deref(), Some(value));
        }
    }

    #[test]
    fn only_exact_markers_mean_base64() {
        assert_eq!(decode("=?BASE64?YQ==?=").as_deref(), Some("=?BASE64?YQ==?="));
        assert_eq!(decode("=?base64?YQ==").as_deref(), Some("=?base64?YQ=="));
        assert_eq!(decode("YQ==?=").as_deref(), Some("YQ==?="));
        for broken in ["=?base64?YQ?=", "=?base64?Y Q=?=", "=?base64?-_==?=", "=?base64?/w==?="] {
            assert_eq!(decode(broken), None, "{broken}");
        }
        assert_eq!(decode("=?base64??=").as_deref(), Some(""));
    }

    #[test]
    fn annotations_are_found_where_properties_lead() {
        let schema = r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Method"},"x":{}}},
            "flag":{"type":["boolean","string"],"x-mcp-header":"f"},
            "plain":{"type":"number"}}}"#;
        let found = of(schema).unwrap();
        let found: Vec<_> = found.iter().map(|it| (it.path.join("."), it.header.as_str())).collect();
        assert_eq!(found, [("region".into(), "Region"), ("deep.n".into(), "Method"), ("flag".into(), "f")]);
        assert_eq!(of(r#"{"type":"object"}"#), Ok(Vec::new()));
        // An argument that is itself called so is no annotation.
        assert_eq!(of(r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#), Ok(Vec::new()));
        assert_eq!(property(r#"{"type":"object","default":{"x-mcp-header":"d"}}"#), Ok(Vec::new()));
    }

    #[test]
    fn annotations_that_cannot_be_followed() {
        let string = |name: &str| alloc::format!(r#"{{"type":"string","x-mcp-header":{name}}}"#);
        for name in ["\"\"", "\"a b\"", "\"a:b\"", "\"é\"", "\"a\\u0001\"", "7", "null", "\"a\\r\\nb\""] {
            assert!(matches!(property(&string(name)), Err(AnnotationError::Name(_))), "{name}");
        }
        for kind in ["\"number\"", "\"object\"", "\"array\"", "\"null\"", "[\"string\",\"null\"]", "[]", "7"] {
            let schema = alloc::format!(r#"{{"type":{kind},"x-mcp-header":"a"}}"#);
            assert!(matches!(property(&schema), Err(AnnotationError::Type(_))), "{kind}");
        }
        assert!(matches!(property(r#"{"x-mcp-header":"a"}"#), Err(AnnotationError::Type(_))));
        let twice = r#""a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}"#;
        let schema = alloc::format!(r#"{{"properties":{{{twice}}}}}"#);
        assert_eq!(of(&schema), Err(AnnotationError::Repeated("x".into())));
        let inner = string("\"a\"");
        for key in ["items", "additionalProperties", "not", "if", "then", "else", "contains", "x-other"] {
            let schema = alloc::format!(r#"{{"type":"array","{key}":{inner}}}"#);
            assert_eq!(property(&schema), Err(AnnotationError::Unreachable(key.into())));
        }
        for key in ["oneOf", "anyOf", "allOf", "prefixItems"] {
            let schema = alloc::format!(r#"{{"{key}":[{inner}]}}"#);
            assert_eq!(property(&schema), Err(AnnotationError::Unreachable(key.into())));
        }
        for key in ["$defs", "definitions", "patternProperties"] {
            let schema = alloc::format!(r#"{{"{key}":{{"d":{inner}}},"properties":{{}}}}"#);
            assert_eq!(of(&schema), Err(AnnotationError::Unreachable(key.into())));
        }
        assert!(matches!(of(r#"{"x-mcp-header":"a","type":"string"}"#), Err(AnnotationError::Unreachable(_))));
    }

    #[test]
    fn there_are_so_many_annotations_and_no_more() {
        let many = |count: usize| {
            let properties: Vec<_> = (0..count)
                .map(|number| alloc::format!(r#""p{number}":{{"type":"string","x-mcp-header":"H{number}"}}"#))
                .collect();
            of(&alloc::format!(r#"{{"properties":{{{}}}}}"#, properties.join(",")))
        };
        assert_eq!(many(MOST_ANNOTATIONS).map(|found| found.len()), Ok(MOST_ANNOTATIONS));
        assert_eq!(many(MOST_ANNOTATIONS + 1), Err(AnnotationError::TooMany));
    }

    #[test]
    fn what_is_no_schema_has_no_annotations_or_cannot_be_read() {
        assert_eq!(of(r#""x-mcp-header""#), Ok(Vec::new()));
        assert_eq!(of(r#"["x-mcp-header"]"#), Ok(Vec::new()));
        assert_eq!(of(r#"{"properties":["x-mcp-header"]}"#), Ok(Vec::new()));
        assert_eq!(of(r#"{"properties":{"a":"x-mcp-header","b":7}}"#), Ok(Vec::new()));
        let escaped = r#"{"properties":{"a":{"type":"string","x-mcp\u002dheader":"A"}}}"#;
        assert_eq!(of(escaped).map(|found| found.len()), Ok(1), "however it is spelt");
        let deep = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            of(&alloc::format!(r#"{{"a":{open}{close},"b":{{"default":"x-mcp-header"}}}}"#))
        };
        assert_eq!(deep(2), Ok(Vec::new()));
        assert!(matches!(deep(MOST_LEVELS + 1), Err(AnnotationError::Schema(_))));
    }

    #[test]
    fn values_are_read_at_their_path() {
        let arguments = JsonText::parse(
            r#"{"s":"é\n","n":42,"b":false,"z":null,"e":"","o":{"i":-7},"l":[1],"s2":"a","s2":"last"}"#,
        )
        .unwrap();
        let at = |path: &[&str]| {
            let path: Vec<_> = path.iter().map(|name| name.to_string()).collect();
            Value::at(arguments, &path).unwrap().map(Value::into_text)
        };
        for (path, value) in [
            (&["s"][..], Some("é\n")),
            (&["n"], Some("42")),
            (&["b"], Some("false")),
            (&["z"], None),
            (&["e"], Some("")),
            (&["o", "i"], Some("-7")),
            (&["o"], None),
            (&["l"], None),
            (&["n", "x"], None),
            (&["absent"], None),
            (&["s2"], Some("last")),
        ] {
            assert_eq!(at(path).as_deref(), value, "{path:?}");
        }
    }

    #[test]
    fn integers_are_those_that_every_reader_understands_alike() {
        let at = |number: &str| {
            let arguments = alloc::format!(r#"{{"o":{{"n":{number}}}}}"#);
            let value = Value::at(JsonText::parse(&arguments).unwrap(), &["o".to_string(), "n".to_string()]);
            value.map(|value| value.unwrap().into_text().into_owned()).map_err(|refused| refused.to_string())
        };
        for (number, header) in [
            ("9007199254740991", "9007199254740991"),
            ("-9007199254740991", "-9007199254740991"),
            ("42.0", "42"),
            ("-0", "0"),
            ("1.5e3", "1500"),
        ] {
            assert_eq!(at(number).as_deref(), Ok(header));
        }
        for number in ["9007199254740992", "-9007199254740992", "9223372036854775808", "1e300", "1e999", "0.5"] {
            let says = alloc::format!(
                "the argument o.n is sent as a header, so {number} must be an integer within ±9007199254740991"
            );
            assert_eq!(at(number), Err(says));
        }
    }

    #[test]
    fn a_header_says_the_same_number_or_the_same_text() {
        for header in ["42", "42.0", "4.2e1"] {
            assert!(Value::Integer(42).is_said_by(header));
        }
        for header in ["43", "", "forty-two", "42 ", "inf", "NaN"] {
            assert!(!Value::Integer(42).is_said_by(header));
        }
        assert!(!Value::Integer(9_007_199_254_740_991).is_said_by("9007199254740992"));
        assert!(Value::Text("42".into()).is_said_by("42") && !Value::Text("42".into()).is_said_by("42.0"));
    }
}
