//! Which connections go through a proxy.

use crate::net::ProxySettings;
use crate::net::dial::Address;

fn settings(variables: &[(&str, &str)]) -> ProxySettings {
    ProxySettings::from_variables(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// The proxy for a URL-like address: `host:port`, or `https host:port`.
fn route(settings: &ProxySettings, target: &str) -> String {
    let (tls, authority) = match target.strip_prefix("https ") {
        Some(authority) => (true, authority),
        None => (false, target),
    };
    let (host, port) = authority.rsplit_once(':').unwrap();
    let address = Address { host: host.into(), port: port.parse().unwrap(), tls, public_only: false };
    match settings.for_address(&address) {
        None => "direct".into(),
        Some(Ok(proxy)) => proxy.to_string(),
        Some(Err(why)) => why.to_string(),
    }
}

#[test]
fn variables() {
    type Variables = &'static [(&'static str, &'static str)];
    let table: &[(Variables, &str, &str)] = &[
        (&[], "a.example:80", "direct"),
        (&[("HTTP_PROXY", "http://p:1")], "a.example:80", "p:1"),
        (&[("HTTP_PROXY", "http://p:1")], "https a.example:443", "direct"),
        (&[("HTTPS_PROXY", "http://p:1")], "https a.example:443", "p:1"),
        (&[("HTTPS_PROXY", "p:1")], "https a.example:443", "p:1"),
        (&[("HTTPS_PROXY", "http://p/")], "https a.example:443", "p:80"),
        (&[("HTTPS_PROXY", "http://[::2]:1")], "https a.example:443", "[::2]:1"),
        (&[("https_proxy", "http://low:1"), ("HTTPS_PROXY", "http://up:1")], "https a.example:443", "low:1"),
        (&[("ALL_PROXY", "http://p:1")], "a.example:80", "p:1"),
        (&[("ALL_PROXY", "http://p:1"), ("http_proxy", "http://q:1")], "a.example:80", "q:1"),
        (&[("ALL_PROXY", "http://p:1"), ("http_proxy", " ")], "a.example:80", "p:1"),
        // Under CGI anybody can set HTTP_PROXY.
        (&[("HTTP_PROXY", "http://evil:1"), ("REQUEST_METHOD", "GET")], "a.example:80", "direct"),
        (&[("http_proxy", "http://p:1"), ("REQUEST_METHOD", "GET")], "a.example:80", "p:1"),
        // This machine needs none.
        (&[("ALL_PROXY", "http://p:1")], "localhost:80", "direct"),
        (&[("ALL_PROXY", "http://p:1")], "127.0.0.1:80", "direct"),
        (&[("ALL_PROXY", "http://p:1")], "[::1]:80", "direct"),
        (&[("ALL_PROXY", "http://p:1")], "[::ffff:127.0.0.1]:80", "direct"),
        (&[("ALL_PROXY", "http://p:1")], "0x7f.1:80", "direct"),
        (&[("ALL_PROXY", "http://p:1"), ("NO_PROXY", "10.0.0.1")], "0xa.1:80", "direct"),
        (&[("ALL_PROXY", "http://p:1"), ("NO_PROXY", "1")], "0xa.1:80", "p:1"),
    ];
    for (variables, target, expected) in table {
        assert_eq!(&route(&settings(variables), target), expected, "{variables:?} {target}");
    }
}

#[test]
fn exceptions() {
    let table = [
        ("*", "a.example:80", true),
        ("a.example", "a.example:80", true),
        ("a.example", "A.Example.:80", true),
        ("a.example", "b.a.example:80", true),
        (".a.example", "a.example:80", true),
        ("*.a.example", "b.a.example:80", true),
        ("a.example", "ba.example:80", false),
        ("a.example", "a.example.org:80", false),
        ("b.example, a.example", "a.example:80", true),
        ("b.example a.example", "a.example:80", true),
        ("a.example:8080", "a.example:8080", true),
        ("a.example:8080", "a.example:80", false),
        ("10.0.0.1", "10.0.0.1:80", true),
        ("10.0.0.1:81", "10.0.0.1:80", false),
        ("10.0.0.1", "10.0.0.10:80", false),
        ("0.0.1", "10.0.0.1:80", false),
        ("::2", "[::2]:80", true),
        ("[::2]", "[0:0::2]:80", true),
        ("[::2]:81", "[::2]:80", false),
        (",, ,", "a.example:80", false),
        (".", "a.example:80", false),
    ];
    for (list, target, direct) in table {
        let settings = settings(&[("ALL_PROXY", "http://p:1"), ("NO_PROXY", list)]);
        assert_eq!(route(&settings, target) == "direct", direct, "{list} {target}");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_says_why_and_not_its_password() {
    let settings = settings(&[("ALL_PROXY", "socks5://user:secret@p:1")]);
    let why = route(&settings, "a.example:80");
    assert!(why.contains("http://host:port") && why.contains("ALL_PROXY"), "{why}");
    assert!(!format!("{settings:?} {why}").contains("secret"));
    for url in ["http://", "http://:1", "http://p:x", "http://p:65536", "http://u:%zz@p:1"] {
        assert!(ProxySettings::through(url).is_err(), "{url}");
    }
}

#[test]
fn credentials_are_hidden() {
    let settings = ProxySettings::through("http://user:secret@p:1").unwrap();
    let shown = format!("{settings:?}");
    assert!(shown.contains("hidden") && !shown.contains("secret") && !shown.contains("dXNl"), "{shown}");
}
