//! URI templates (RFC 6570), read both ways: to build a URI, and to take one apart.
//!
//! Taking apart is the risky way, because the URI comes from the peer. A table says for every position whether the rest
//! of the URI fits the rest of the template; filling it takes one step per position and part, whatever the URI is, so
//! there is nothing to backtrack over.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::percent::{percent_decode, percent_encode};

/// The longest URI that is taken apart, in bytes; the table grows with it. Web servers stop at an eighth of this.
pub const MAX_URI_LENGTH: usize = 64 * 1024;

/// The most variables that a template may have; the table grows with them.
pub const MAX_URI_TEMPLATE_VARIABLES: usize = 32;

/// A URI template.
///
/// Understood are `{var}`, which never takes in a `/`, `{+var}`, which takes in anything, and, as parts that a URI may
/// lack, `{/var}`, `{.var}`, `{#var}`, `{?a,b}` and `{&a,b}`.
///
/// A value is percent-decoded, so it may hold a `/` that was written `%2F`: [`relative_path`](super::relative_path) checks it
/// before it becomes part of a path.
/// Only the values of `{+var}` and `{#var}` stay as they came.
///
/// ```
/// use windlass::model::UriTemplate;
///
/// let template = UriTemplate::parse("db://{table}/rows{?limit}")?;
/// let values = template.matches("db://big%20table/rows?limit=5").unwrap();
/// assert_eq!(values["table"], "big table");
/// assert_eq!(values["limit"], "5");
/// assert_eq!(template.expand(&values), "db://big%20table/rows?limit=5");
/// assert_eq!(template.matches("db://a/b/rows"), None);
/// # Ok::<(), windlass::model::UriTemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// A variable; with a prefix, both may be missing from the URI.
    Variable {
        name: String,
        prefix: Option<u8>,
        kind: Kind,
    },
    /// `?a=1&b=2` or `&a=1&b=2`, which may be missing from the URI.
    Query {
        names: Vec<String>,
        start: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Within one segment, percent-encoded.
    Segment,
    /// Within one label of a segment, percent-encoded.
    Label,
    /// Anything, as it came.
    Reserved,
}

impl Kind {
    fn takes(self, byte: u8) -> bool {
        match self {
            Self::Segment => !matches!(byte, b'/' | b'?' | b'#'),
            Self::Label => !matches!(byte, b'/' | b'?' | b'#' | b'.'),
            Self::Reserved => true,
        }
    }
}

/// Why a text is no template that can be taken apart.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriTemplateError {
    /// A brace without its partner.
    Brace,
    /// An empty variable name, or one with characters that names cannot have.
    Name,
    /// A variable that occurs twice.
    Duplicate,
    /// An operator or modifier that is not understood.
    Unsupported,
    /// Two variables with nothing between them, so that nobody could say where one ends.
    Ambiguous,
    /// More than [`MAX_URI_TEMPLATE_VARIABLES`] variables.
    TooLong,
}

impl fmt::Display for UriTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Brace => "a brace without its partner",
            Self::Name => "not the name of a variable",
            Self::Duplicate => "a variable that occurs twice",
            Self::Unsupported => "an operator or modifier that is not supported",
            Self::Ambiguous => "two variables with nothing between them",
            Self::TooLong => "too many variables",
        })
    }
}

impl core::error::Error for UriTemplateError {}

impl UriTemplate {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, UriTemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            push_literal(&mut parts, literal)?;
            let (expression, after) = after.split_once('}').ok_or(UriTemplateError::Brace)?;
            push_expression(&mut parts, expression)?;
            rest = after;
        }
        push_literal(&mut parts, rest)?;
        check(&parts)?;
        Ok(Self { text: text.into(), parts })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The values of the variables in `uri`, if it has the form of this template. Where several readings are possible,
    /// earlier variables take in as much as they can.
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if uri.len() > MAX_URI_LENGTH {
            return None;
        }
        let table = Table::fill(&self.parts, uri.as_bytes());
        let mut values = BTreeMap::new();
        let mut position = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let (start, end) = table.extent(part, index, position, uri.as_bytes())?;
            // Ends lie beside ASCII characters or literals, so this never splits a character.
            let taken = uri.get(start..end)?;
            match part {
                Part::Literal(_) => {}
                Part::Variable { .. } if start == end => {}
                Part::Variable { name, kind: Kind::Reserved, .. } => {
                    values.insert(name.clone(), taken.into());
                }
                Part::Variable { name, .. } => {
                    values.insert(name.clone(), percent_decode(taken)?);
                }
                Part::Query { names, .. } => read_query(taken, names, &mut values)?,
            }
            position = end;
        }
        Some(values)
    }

    /// The URI with these values; a variable without a value leaves nothing behind.
    pub fn expand(&self, values: &BTreeMap<String, String>) -> String {
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => uri.push_str(literal),
                Part::Variable { name, prefix, kind } => {
                    let Some(value) = values.get(name) else { continue };
                    uri.extend(prefix.map(char::from));
                    percent_encode(value, *kind == Kind::Reserved, &mut uri);
                }
                Part::Query { names, start } => {
                    let mut separator = char::from(*start);
                    for name in names {
                        let Some(value) = values.get(name) else { continue };
                        uri.push(separator);
                        uri.push_str(name);
                        uri.push('=');
                        percent_encode(value, false, &mut uri);
                        separator = '&';
                    }
                }
            }
        }
        uri
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn push_literal(parts: &mut Vec<Part>, literal: &str) -> Result<(), UriTemplateError> {
    if literal.contains('}') {
        return Err(UriTemplateError::Brace);
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal.into()));
    }
    Ok(())
}

fn push_expression(parts: &mut Vec<Part>, expression: &str) -> Result<(), UriTemplateError> {
    let operator = expression.bytes().next().ok_or(UriTemplateError::Name)?;
    let is_operator = !operator.is_ascii_alphanumeric() && !matches!(operator, b'_' | b'%');
    let names = if is_operator { expression.get(1..).ok_or(UriTemplateError::Unsupported)? } else { expression };
    let names = names.split(',').map(variable_name).collect::<Result<Vec<_>, _>>()?;
    let (prefix, kind) = match operator {
        b'?' | b'&' => {
            parts.push(Part::Query { names, start: operator });
            return Ok(());
        }
        _ if !is_operator => (None, Kind::Segment),
        b'+' => (None, Kind::Reserved),
        b'#' => (Some(b'#'), Kind::Reserved),
        b'/' => (Some(b'/'), Kind::Segment),
        b'.' => (Some(b'.'), Kind::Label),
        _ => return Err(UriTemplateError::Unsupported),
    };
    // `{a,b}` joins its values with commas, which a value could hold as well.
    if names.len() > 1 && !matches!(prefix, Some(b'/' | b'.')) {
        return Err(UriTemplateError::Unsupported);
    }
    parts.extend(names.into_iter().map(|name| Part::Variable { name, prefix, kind }));
    Ok(())
}

fn variable_name(name: &str) -> Result<String, UriTemplateError> {
    if name.ends_with('*') || name.contains(':') {
        return Err(UriTemplateError::Unsupported);
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'%');
    if name.is_empty() || !name.bytes().all(is_name) { Err(UriTemplateError::Name) } else { Ok(name.into()) }
}

fn check(parts: &[Part]) -> Result<(), UriTemplateError> {
    let mut names = BTreeSet::new();
    let mut after_variable = false;
    for part in parts {
        let own: &[String] = match part {
            Part::Literal(_) => &[],
            Part::Variable { name, .. } => core::slice::from_ref(name),
            Part::Query { names, .. } => names,
        };
        if !own.iter().all(|name| names.insert(name)) {
            return Err(UriTemplateError::Duplicate);
        }
        let is_bare = matches!(part, Part::Variable { prefix: None, .. });
        if after_variable && is_bare {
            return Err(UriTemplateError::Ambiguous);
        }
        after_variable = !matches!(part, Part::Literal(_));
    }
    if names.len() > MAX_URI_TEMPLATE_VARIABLES { Err(UriTemplateError::TooLong) } else { Ok(()) }
}

/// For every part and position, whether the URI from there on fits the template from there on.
struct Table {
    /// Row by part, before it has taken in anything.
    before: Vec<Vec<bool>>,
}

impl Table {
    fn fill(parts: &[Part], uri: &[u8]) -> Self {
        let positions = uri.len() + 1;
        let mut after = vec![false; positions];
        if let Some(end) = after.last_mut() {
            *end = true;
        }
        let mut before = vec![after];
        for part in parts.iter().rev() {
            let row = match before.last() {
                Some(after) => Self::row(part, uri, after),
                None => break,
            };
            before.push(row);
        }
        before.reverse();
        Self { before }
    }

    /// The row of `part`, given the row `after` it; filled from the end, so that every step looks at known entries.
    fn row(part: &Part, uri: &[u8], after: &[bool]) -> Vec<bool> {
        let fits = |row: &[bool], position: usize| row.get(position).copied().unwrap_or(false);
        let mut row = vec![false; after.len()];
        let mut inside = vec![false; after.len()];
        for position in (0..after.len()).rev() {
            let rest = uri.get(position..).unwrap_or_default();
            let taken_on = part.takes(rest.first()) && fits(&inside, position + 1);
            let here = match part {
                Part::Literal(literal) => rest.starts_with(literal.as_bytes()) && fits(after, position + literal.len()),
                Part::Variable { prefix: None, .. } => taken_on,
                Part::Variable { prefix: Some(prefix), .. } => {
                    fits(after, position)
                        || rest.first() == Some(prefix) && part.takes(rest.get(1)) && fits(&inside, position + 2)
                }
                Part::Query { start, .. } => {
                    fits(after, position) || rest.first() == Some(start) && fits(&inside, position + 1)
                }
            };
            if let Some(entry) = row.get_mut(position) {
                *entry = here;
            }
            if let Some(entry) = inside.get_mut(position) {
                *entry = fits(after, position) || taken_on;
            }
        }
        row
    }

    fn fits(&self, index: usize, position: usize) -> bool {
        self.before.get(index).and_then(|row| row.get(position)).copied().unwrap_or(false)
    }

    /// What the part at `index` takes in from `position` on, without its prefix; the longest that lets the rest fit.
    fn extent(&self, part: &Part, index: usize, position: usize, uri: &[u8]) -> Option<(usize, usize)> {
        if !self.fits(index, position) {
            return None;
        }
        let longest = |start: usize, least: usize| {
            let mut end = start;
            let mut found = None;
            loop {
                if end >= start + least && self.fits(index + 1, end) {
                    found = Some((start, end));
                }
                if !part.takes(uri.get(end)) {
                    return found;
                }
                end += 1;
            }
        };
        let skipped = self.fits(index + 1, position).then_some((position, position));
        match part {
            Part::Literal(literal) => Some((position, position + literal.len())),
            Part::Variable { prefix: None, .. } => longest(position, 1),
            Part::Variable { prefix: Some(prefix), .. } if uri.get(position) == Some(prefix) => {
                longest(position + 1, 1).or(skipped)
            }
            Part::Query { start, .. } if uri.get(position) == Some(start) => longest(position + 1, 0).or(skipped),
            Part::Variable { .. } | Part::Query { .. } => skipped,
        }
    }
}

impl Part {
    /// Whether a variable's value may go on with this byte.
    fn takes(&self, byte: Option<&u8>) -> bool {
        match (self, byte) {
            (Self::Variable { kind, .. }, Some(byte)) => kind.takes(*byte),
            (Self::Query { .. }, Some(byte)) => *byte != b'#',
            _ => false,
        }
    }
}

/// Reads `a=1&b=2`; `None` if it has a name that is not in `names`.
fn read_query(query: &str, names: &[String], values: &mut BTreeMap<String, String>) -> Option<()> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = names.iter().find(|own| own.as_str() == name)?;
        values.insert(name.clone(), percent_decode(value)?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn matched(template: &str, uri: &str) -> Option<String> {
        let values = UriTemplate::parse(template).unwrap().matches(uri)?;
        Some(values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn uris_are_taken_apart() {
        for (template, uri, values) in [
            ("test://static", "test://static", Some("")),
            ("test://static", "test://static/", None),
            ("test://template/{id}/data", "test://template/123/data", Some("id=123")),
            ("test://template/{id}/data", "test://template//data", None),
            ("test://template/{id}/data", "test://template/1/2/data", None),
            ("a:{x}", "a:1%2F2%zz", Some("x=1/2%zz")),
            ("a:{x}", "a:%ff", None),
            ("a:{x}", "a:é", Some("x=é")),
            ("file:///{+path}", "file:///a/b%20c?d#e", Some("path=a/b%20c?d#e")),
            ("f:{+path}/{name}.{ext}", "f:a/b/c.tar.gz", Some("ext=gz name=c.tar path=a/b")),
            ("f:{+a}x{b}", "f:1x2/3x4", Some("a=1x2/3 b=4")),
            ("f:{a}{/b,c}", "f:1/2", Some("a=1 b=2")),
            ("f:{a}{/b,c}", "f:1/2/3", Some("a=1 b=2 c=3")),
            ("f:{a}{/b,c}", "f:1/2/3/4", None),
            ("f:{a}{/b}", "f:1/", None),
            ("f:{.a}", "f:.x", Some("a=x")),
            ("s:{?q,n}", "s:", Some("")),
            ("s:{?q,n}", "s:?n=1&q=a%26b", Some("n=1 q=a&b")),
            ("s:{?q,n}", "s:?z=1", None),
            ("s:?x=1{&q}{#f}", "s:?x=1&q=2#top", Some("f=top q=2")),
        ] {
            assert_eq!(matched(template, uri).as_deref(), values, "{template} {uri}");
        }
    }

    #[test]
    fn what_cannot_be_taken_apart_is_refused() {
        for (template, error) in [
            ("a:{x", UriTemplateError::Brace),
            ("a:x}", UriTemplateError::Brace),
            ("a:{}", UriTemplateError::Name),
            ("a:{x y}", UriTemplateError::Name),
            ("a:{é}", UriTemplateError::Unsupported),
            ("a:{x*}", UriTemplateError::Unsupported),
            ("a:{x:3}", UriTemplateError::Unsupported),
            ("a:{x,y}", UriTemplateError::Unsupported),
            ("a:{;x}", UriTemplateError::Unsupported),
            ("a:{x}{y}", UriTemplateError::Ambiguous),
            ("a:{/x}{+y}", UriTemplateError::Ambiguous),
            ("a:{x}/{x}", UriTemplateError::Duplicate),
        ] {
            assert_eq!(UriTemplate::parse(template), Err(error), "{template}");
        }
        let many: String = (0..=MAX_URI_TEMPLATE_VARIABLES).map(|number| format!("{{v{number}}}/")).collect();
        assert_eq!(UriTemplate::parse(&many), Err(UriTemplateError::TooLong));
    }

    #[test]
    fn values_survive_the_way_there_and_back() {
        let template = UriTemplate::parse("x://{host}{/path}/y{?q,r}").unwrap();
        for value in ["plain", "a/b?c#d&e=f", "100%", "%41", "é ü", "+"] {
            let values: BTreeMap<String, String> =
                ["host", "path", "q"].map(|name| (name.into(), value.into())).into_iter().collect();
            assert_eq!(template.matches(&template.expand(&values)), Some(values), "{value}");
        }
        let reserved = UriTemplate::parse("{+x}").unwrap();
        let values = BTreeMap::from([("x".into(), "a/b%20c d%".into())]);
        assert_eq!(reserved.expand(&values), "a/b%20c%20d%25");
    }

    #[test]
    fn hostile_uris_cost_no_more_than_others() {
        // A backtracking matcher would try every way of splitting this among twenty variables.
        let template: String = (0..20).map(|number| format!("{{+v{number}}}a")).collect();
        let template = UriTemplate::parse(&format!("{template}!")).unwrap();
        assert_eq!(template.matches(&"a".repeat(10_000)), None);
        assert_eq!(template.matches(&"a".repeat(MAX_URI_LENGTH + 1)), None);
    }
}
