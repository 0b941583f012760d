//! A server's URL, with what belongs to it, as something to connect to.

use windlass::link::http::{Url, is_localhost, numeric_address, redacted};
use windlass_host::{HttpTarget, ServerTls, TlsOptions};

use crate::failure::Failure;
use crate::invocation::{Certificate, GivenHeader, HttpOptions};

/// The server at this URL, to be reached as the options say.
pub(crate) fn target(url: &str, options: &HttpOptions) -> Result<HttpTarget, Failure> {
    let target =
        HttpTarget::new(url).map_err(|error| Failure::usage(format!("{} cannot be used: {error}", redacted(url))))?;
    let mut tls = TlsOptions::new();
    for file in &options.authorities {
        let pem = contents(file)?;
        tls = tls.extra_ca_pem(&pem).map_err(|error| Failure::usage(format!("{file} cannot be used: {error}")))?;
    }
    if options.insecure {
        tls = tls.danger_accept_any_certificate();
    }
    let mut target = target.with_tls(tls);
    for header in &options.headers {
        let (line, source) = match header {
            GivenHeader::Line(line) => (line.clone(), "`--header`".to_owned()),
            GivenHeader::Variable(name) => (variable(name)?, format!("the environment variable {name}")),
        };
        // What is wrong is told without the value: it may be a secret.
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| Failure::usage(format!("{source} takes `NAME: VALUE`, with a colon")))?;
        let (name, value) = (name.trim(), value.trim());
        target = target
            .with_header(name, value)
            .map_err(|error| Failure::usage(format!("{source}: the header `{name}` cannot be sent: {error}")))?;
    }
    Ok(target)
}

/// Whether credentials are among the headers: then no others are looked for.
pub(crate) fn has_credentials(options: &HttpOptions) -> bool {
    options.headers.iter().any(|header| {
        let line = match header {
            GivenHeader::Line(line) => Some(line.clone()),
            GivenHeader::Variable(name) => std::env::var(name).ok(),
        };
        let name = line.as_deref().and_then(|line| line.split_once(':')).map(|(name, _)| name.trim());
        name.is_some_and(|name| name.eq_ignore_ascii_case("authorization"))
    })
}

/// Whether a URL leads to this machine and nowhere else.
pub(crate) fn is_on_this_machine(url: &Url) -> bool {
    let is_loopback = |address: std::net::IpAddr| address.to_canonical().is_loopback();
    is_localhost(url.host()) || numeric_address(url.host()).is_some_and(is_loopback)
}

/// The value of a variable of the environment.
pub(crate) fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| Failure::usage(format!("the environment variable {name} is not set, or not UTF-8")))
}

/// What the demo server shows to prove who it is.
pub(crate) fn certificate(files: &Certificate) -> Result<ServerTls, Failure> {
    let Certificate { chain, key } = files;
    ServerTls::from_pem(&contents(chain)?, &contents(key)?)
        .map_err(|error| Failure::usage(format!("{chain} with {key} cannot be used: {error}")))
}

fn contents(file: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::usage(format!("{file} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(url: &str, headers: &[&str]) -> String {
        let headers = headers.iter().map(|line| GivenHeader::Line((*line).to_owned())).collect();
        let options = HttpOptions { headers, ..HttpOptions::default() };
        format!("{:?}", target(url, &options).expect_err(url))
    }

    #[test]
    fn headers_are_taken_apart() {
        let headers =
            vec![GivenHeader::Line("Authorization: Bearer a:b".into()), GivenHeader::Line("X-Team:blue".into())];
        let options = HttpOptions { headers, ..HttpOptions::default() };
        let target = target("http://127.0.0.1:1/mcp", &options).unwrap();
        let shown = format!("{target:?}");
        assert!(shown.contains("Authorization") && shown.contains("X-Team") && !shown.contains("blue"), "{shown}");
    }

    #[test]
    fn credentials_are_seen() {
        let given = |line: &str| {
            let headers = vec![GivenHeader::Line(line.into())];
            has_credentials(&HttpOptions { headers, ..HttpOptions::default() })
        };
        assert!(given("authorization : Bearer x") && !given("X-Authorization: x") && !given("Authorization"));
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        let is = |url: &str| is_on_this_machine(&Url::parse(url).unwrap());
        assert!(
            ["http://localhost:1", "http://127.1.2.3/", "https://[::1]/", "http://[::ffff:127.0.0.1]/"].map(is)
                == [true; 4]
        );
        assert!(["https://mcp.example/", "http://192.168.0.1/", "http://localhost.example/"].map(is) == [false; 3]);
    }

    #[test]
    fn mistakes_are_told_without_secrets() {
        assert!(complaint("http://", &[]).contains("cannot be used"));
        assert!(complaint("http://h", &["hush"]).contains("NAME: VALUE"));
        assert!(!complaint("http://h", &["hush"]).contains("hush"));
        let reserved = complaint("http://h", &["Mcp-Method: hush"]);
        assert!(reserved.contains("`Mcp-Method`") && !reserved.contains("hush"), "{reserved}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let headers = vec![GivenHeader::Variable("WINDLASS_TEST_OF_NOTHING".into())];
        let options = HttpOptions { headers, ..HttpOptions::default() };
        assert!(format!("{:?}", target("http://h", &options)).contains("WINDLASS_TEST_OF_NOTHING"));
        let options = HttpOptions { authorities: vec!["/nonexistent.pem".into()], ..HttpOptions::default() };
        assert!(format!("{:?}", target("http://h", &options)).contains("/nonexistent.pem"));
    }
}
