//! What a server wants to be shown: `WWW-Authenticate` (RFC 9110 section 11.6.1).
//!
//! ```text
//! WWW-Authenticate: Basic realm="x", Bearer resource_metadata="https://…", scope="a b", Negotiate YWJj
//!                   scheme params    scheme params                                      scheme token68
//! ```
//!
//! A comma stands between challenges and between the parameters of one; which it is shows behind it: a parameter has a `=`.
//! Servers write these by hand, so what cannot be read is passed over, and what is sound around it is kept.

use alloc::string::String;
use alloc::vec::Vec;

/// Challenges of one response. Few servers have more than two, and a head full of commas would make thousands.
const MOST_CHALLENGES: usize = 16;

/// Parameters of one challenge. Those that are known are a dozen.
const MOST_PARAMS: usize = 32;

/// One way to show that a request is authorized, as a server offers it.
///
/// ```
/// use windlass::auth::parse_challenges;
///
/// let header = r#"Basic realm="x", Bearer error="invalid_token", scope="read write""#.to_string();
/// let challenges = parse_challenges(&[header]);
/// assert_eq!((challenges.len(), challenges[1].scheme.as_str()), (2, "Bearer"));
/// assert_eq!(challenges[1].param("Scope"), Some("read write"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthChallenge {
    /// The kind, as it was written: `Bearer`, `basic`. Case has no meaning.
    pub scheme: String,
    params: Vec<(String, String)>,
    token68: Option<String>,
}

impl AuthChallenge {
    /// Whether it is of this scheme, without regard to case.
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// The parameter of this name, without regard to case; the first, if there are several.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// What some schemes have in place of parameters: `Negotiate YWJj`.
    pub fn token68(&self) -> Option<&str> {
        self.token68.as_deref()
    }
}

/// Reads the `WWW-Authenticate` headers of a response, which are one list.
pub fn parse_challenges(headers: &[String]) -> Vec<AuthChallenge> {
    let mut challenges = Vec::new();
    for header in headers {
        Reader { rest: header }.read(&mut challenges);
    }
    challenges
}

/// What a server wants of a client that has a token or can get one.
#[cfg(feature = "client")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Where it says who authorizes for it (RFC 9728).
    pub(crate) resource_metadata: Option<String>,
    /// What the token has to be good for: scopes between blanks.
    pub(crate) scope: Option<String>,
    /// Why the token that was shown will not do: `invalid_token`, `insufficient_scope`, `use_dpop_nonce`.
    pub(crate) error: Option<String>,
    /// Whether it takes tokens that are bound to a key (RFC 9449). That it takes others, too, is not told here.
    pub(crate) dpop: bool,
}

#[cfg(feature = "client")]
impl Wanted {
    /// What the `Bearer` and `DPoP` challenges of a response say together. What two say differently, the first decides; empty
    /// text says nothing.
    pub(crate) fn of(headers: &[String]) -> Self {
        let mut challenges = parse_challenges(headers);
        challenges.retain(|challenge| challenge.is("Bearer") || challenge.is("DPoP"));
        let first = |name| {
            let mut values = challenges.iter().filter_map(|challenge| challenge.param(name));
            values.find(|value| !value.is_empty()).map(String::from)
        };
        Self {
            resource_metadata: first("resource_metadata"),
            scope: first("scope"),
            error: first("error"),
            dpop: challenges.iter().any(|challenge| challenge.is("DPoP")),
        }
    }
}

/// Reads one header from its beginning to its end, and looks at no character more than a few times.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn read(mut self, challenges: &mut Vec<AuthChallenge>) {
        // A scheme begins the header or stands behind a comma. Without that `scope=a b` would make a scheme of `b`.
        let mut is_first = true;
        loop {
            is_first |= self.take(|letter| is_blank(letter) || letter == ',').contains(',');
            if self.rest.is_empty() {
                return;
            }
            let name = self.take(is_token);
            let is_apart = self.rest.is_empty() || self.rest.starts_with(|letter| is_blank(letter) || letter == ',');
            self.take(is_blank);
            if name.is_empty() {
                self.skip();
            } else if let Some(after) = self.rest.strip_prefix('=') {
                self.rest = after;
                self.take(is_blank);
                let value = self.value();
                let challenge = challenges.last_mut().filter(|challenge| challenge.params.len() < MOST_PARAMS);
                if let (Some(challenge), Some(value)) = (challenge, value) {
                    challenge.params.push((name.into(), value));
                }
            } else if !is_apart {
                self.skip();
            } else if is_first {
                if challenges.len() == MOST_CHALLENGES {
                    return;
                }
                let token68 = self.token68().map(String::from);
                challenges.push(AuthChallenge { scheme: name.into(), params: Vec::new(), token68 });
            }
            is_first = false;
        }
    }

    /// Takes all characters up to the first that does not belong to them.
    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter| !belongs(letter)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// What stands behind the `=` of a parameter. Without quotes it may be only a token; URLs without them are seen, too.
    fn value(&mut self) -> Option<String> {
        if self.rest.starts_with('"') {
            return self.quoted();
        }
        let value = self.take(|letter| !is_blank(letter) && letter != ',');
        (!value.is_empty()).then(|| value.into())
    }

    /// The text in the quotes that begin here; nothing is left if they do not end.
    fn quoted(&mut self) -> Option<String> {
        let text = core::mem::take(&mut self.rest);
        let mut value = String::new();
        let mut letters = text.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &text[at + 1..];
                    return Some(value);
                }
                '\\' => value.push(letters.next()?.1),
                _ => value.push(letter),
            }
        }
        None
    }

    /// What stands behind a scheme, if it is that and not a parameter.
    fn token68(&mut self) -> Option<&'a str> {
        let mut ahead = Reader { rest: self.rest };
        let letters = ahead.take(|letter| letter.is_ascii_alphanumeric() || "-._~+/".contains(letter));
        let length = letters.len() + ahead.take(|letter| letter == '=').len();
        ahead.take(is_blank);
        if letters.is_empty() || !(ahead.rest.is_empty() || ahead.rest.starts_with(',')) {
            return None;
        }
        let (token68, _) = self.rest.split_at(length);
        self.rest = ahead.rest;
        Some(token68)
    }

    /// Passes over what cannot be read, up to the next blank or comma that is not in quotes.
    fn skip(&mut self) {
        loop {
            self.take(|letter| !is_blank(letter) && letter != ',' && letter != '"');
            if !self.rest.starts_with('"') || self.quoted().is_none() {
                return;
            }
        }
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_ascii_whitespace()
}

/// Whether names may have it.
fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// Challenges in short: `scheme[token68](name=value)(name=value)`.
    fn read(headers: &[&str]) -> Vec<String> {
        let headers: Vec<String> = headers.iter().map(|header| String::from(*header)).collect();
        let shown = |challenge: &AuthChallenge| {
            let token68 = challenge.token68().map(|token| format!("[{token}]")).unwrap_or_default();
            let params: String = challenge.params.iter().map(|(name, value)| format!("({name}={value})")).collect();
            format!("{}{token68}{params}", challenge.scheme)
        };
        parse_challenges(&headers).iter().map(shown).collect()
    }

    #[test]
    fn challenges_are_told_from_parameters() {
        for (header, expected) in [
            ("", &[][..]),
            (" , ,", &[]),
            ("Bearer", &["Bearer"]),
            ("Bearer, Basic", &["Bearer", "Basic"]),
            ("Bearer realm=\"a, b\",scope = x", &["Bearer(realm=a, b)(scope=x)"]),
            ("Bearer , realm=a", &["Bearer(realm=a)"]),
            ("Negotiate YWJj==, Bearer a=b", &["Negotiate[YWJj==]", "Bearer(a=b)"]),
            ("Negotiate a/b+c , NTLM", &["Negotiate[a/b+c]", "NTLM"]),
            ("A b=\"\\\"q\\\\ \\x\", C d=\"\"", &["A(b=\"q\\ x)", "C(d=)"]),
            // The example of RFC 9110.
            (
                "Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"",
                &["Basic(realm=simple)", "Newauth(realm=apps)(type=1)(title=Login to \"apps\")"],
            ),
        ] {
            assert_eq!(read(&[header]), expected, "{header}");
        }
        assert_eq!(read(&["Basic a=1", "Bearer b=2", "c=3"]), ["Basic(a=1)", "Bearer(b=2)(c=3)"]);
    }

    #[test]
    fn what_is_sound_is_kept() {
        for (header, expected) in [
            ("a=b, Bearer c=d", &["Bearer(c=d)"][..]),
            ("Bearer a=\"1\" b=\"2\"", &["Bearer(a=1)(b=2)"]),
            ("Bearer a=https://x.y/z?q=1, b=2", &["Bearer(a=https://x.y/z?q=1)(b=2)"]),
            ("Bearer scope=a b, c=d", &["Bearer(scope=a)(c=d)"]),
            ("Bearer @@ a=1, =x, ü, b=2", &["Bearer(a=1)(b=2)"]),
            ("Bearer a=, b=2", &["Bearer[a=](b=2)"]),
            ("Bearer b=1, a=, c=2", &["Bearer(b=1)(c=2)"]),
            ("Bearer a=\"1\"x, b=2", &["Bearer(a=1)(b=2)"]),
            ("Bearer a=1, b=\"2", &["Bearer(a=1)"]),
            ("Bearer a=1, b=\"2\\", &["Bearer(a=1)"]),
            ("Bearer a=1\", b=2", &["Bearer(a=1\")(b=2)"]),
            ("Basic:x, \"y, Basic\" Bearer, Bearer a=1", &["Bearer(a=1)"]),
        ] {
            assert_eq!(read(&[header]), expected, "{header}");
        }
        assert_eq!(read(&["Bearer a=\"1", "b=2"]), ["Bearer(b=2)"], "a quote ends with its header");
    }

    #[test]
    fn a_response_has_so_many_challenges_and_parameters_and_no_more() {
        let header = format!("{} z=1", "a,".repeat(MOST_CHALLENGES * 2));
        assert_eq!(read(&[&header]).len(), MOST_CHALLENGES);
        let header = format!("a {}", "b=c,".repeat(MOST_PARAMS * 2));
        assert_eq!(read(&[&header])[0], format!("a{}", "(b=c)".repeat(MOST_PARAMS)));
    }

    #[cfg(feature = "client")]
    #[test]
    fn only_challenges_for_tokens_say_what_is_wanted() {
        let wanted = |header: &str| Wanted::of(&[header.into()]);
        assert_eq!(wanted("Basic scope=a, resource_metadata=\"https://x\""), Wanted::default());
        let found = wanted("Digest scope=a, bearer SCOPE=\"b c\", scope=d, Error=invalid_token, dpop scope=e");
        let expected = Wanted { scope: Some("b c".into()), error: Some("invalid_token".into()), ..Wanted::default() };
        assert_eq!(found, Wanted { dpop: true, ..expected });
        let found = wanted("Bearer resource_metadata=\"https://a\", resource_metadata=\"https://b\"");
        assert_eq!(found.resource_metadata.as_deref(), Some("https://a"));
        let found = wanted("Bearer scope=\"\", DPoP algs=\"ES256\", scope=a, error=\"use_dpop_nonce\"");
        assert_eq!(
            (found.scope.as_deref(), found.error.as_deref(), found.dpop),
            (Some("a"), Some("use_dpop_nonce"), true)
        );
    }

    /// Writes challenges with blanks, empty members and quotes where `style` has a bit for them.
    fn write(challenges: &[AuthChallenge], style: u64) -> Vec<String> {
        let mut bits = (0..).map(|at| style >> (at % 64) & 1 == 1);
        let mut when = |text: &'static str| if bits.next() == Some(true) { text } else { "" };
        let mut headers = alloc::vec![String::new()];
        for (number, challenge) in challenges.iter().enumerate() {
            match headers.last_mut() {
                Some(header) if number > 0 && when("x").is_empty() => *header += when(" ,\t,"),
                _ => headers.push(String::new()),
            }
            let header = headers.last_mut().unwrap();
            *header += if number > 0 { "," } else { "" };
            *header += &format!("{}{}{}", when(" "), challenge.scheme, when("\t"));
            if let Some(token68) = &challenge.token68 {
                *header += &format!(" {token68}{}", when(" ,"));
            }
            for (at, (name, value)) in challenge.params.iter().enumerate() {
                *header += if at == 0 && challenge.token68.is_none() { " " } else { "," };
                *header += &format!("{}{name}{}={}", when(" ,"), when(" "), when("\t"));
                if !value.is_empty() && value.chars().all(is_token) && when("x").is_empty() {
                    *header += value;
                    continue;
                }
                header.push('"');
                for letter in value.chars() {
                    if letter == '"' || letter == '\\' || !when("x").is_empty() {
                        header.push('\\');
                    }
                    header.push(letter);
                }
                header.push('"');
            }
        }
        headers
    }

    quickcheck::quickcheck! {
        fn what_is_written_is_read(parts: Vec<(usize, Option<usize>, String)>, style: u64) -> bool {
            const SCHEMES: [&str; 4] = ["Bearer", "dpop", "Basic", "x-!#$%&'*+-.^_`|~9"];
            const NAMES: [&str; 4] = ["resource_metadata", "scope", "ERROR", "~"];
            const TOKENS: [&str; 4] = ["a", "YWJj==", "-._~+/", "0="];
            let mut made: Vec<AuthChallenge> = Vec::new();
            for (pick, token, value) in parts {
                let count = made.len();
                match made.last_mut() {
                    Some(last) if pick % 12 > 3 && last.params.len() < MOST_PARAMS => {
                        last.params.push((NAMES[pick % 4].into(), value));
                    }
                    _ if count < MOST_CHALLENGES => {
                        let token68 = token.map(|token| TOKENS[token % 4].into());
                        made.push(AuthChallenge { scheme: SCHEMES[pick % 4].into(), params: Vec::new(), token68 });
                    }
                    _ => break,
                }
            }
            parse_challenges(&write(&made, style)) == made
        }

        fn any_text_can_be_read(headers: Vec<String>) -> bool {
            parse_challenges(&headers).len() <= MOST_CHALLENGES
        }

        fn any_text_of_what_has_meaning_can_be_read(letters: Vec<usize>) -> bool {
            const PARTS: [&str; 10] = ["Bearer", " ", ",", "=", "\"", "\\", "scope", "ü", "@", "\t"];
            let header: String = letters.into_iter().map(|letter| PARTS[letter % 10]).collect();
            // Whatever is broken ends with its header.
            let headers = [header, ",DPoP scope=a".into()];
            let found = parse_challenges(&headers);
            found.len() == MOST_CHALLENGES || found.last().is_some_and(|last| last.is("DPoP") && last.param("scope") == Some("a"))
        }
    }
}
