//! Who may see what. Every secret that comes into the world is registered with the hosts that it is meant for, and every
//! request, event and error is searched for all of them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass::link::http::HttpRequest;

#[derive(Default)]
pub(crate) struct Secrets {
    /// The hosts that may be shown each of them.
    known: BTreeMap<String, Vec<String>>,
    drawn: u64,
}

impl Secrets {
    /// A new secret, which looks like no other.
    pub(crate) fn draw(&mut self, kind: &str, host: &str) -> String {
        self.drawn += 1;
        let secret = format!("{kind}-{:06}-{:x}", self.drawn, self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        self.keep(&secret, host);
        secret
    }

    /// Something that somebody else drew.
    pub(crate) fn keep(&mut self, secret: &str, host: &str) {
        let hosts = self.known.entry(secret.into()).or_default();
        if !hosts.iter().any(|known| known == host) {
            hosts.push(host.into());
        }
    }

    /// A request may hold what is meant for its host, and shows nothing when it is printed.
    pub(crate) fn check_request(&self, request: &HttpRequest) {
        self.check_text(&format!("{request:?}"), &[]);
        let mut text = format!("{}\n{}\n", request.url, String::from_utf8_lossy(&request.body));
        for (name, value) in request.headers.iter() {
            text += &format!("{name}: {value}\n");
            if let Some(basic) = value.strip_prefix("Basic ").and_then(|basic| STANDARD.decode(basic).ok()) {
                text += &String::from_utf8_lossy(&basic);
            }
        }
        assert_eq!(request.url.target().split_once('?').map(|(_, query)| query), None, "queries end up in logs");
        for (secret, hosts) in self.known.iter().filter(|(secret, _)| text.contains(secret.as_str())) {
            assert!(
                hosts.iter().any(|host| host == request.url.host()),
                "{secret} is meant for {hosts:?}, and goes to {}",
                request.url
            );
        }
    }

    /// A text that may be printed holds no secret, but for those of these kinds.
    pub(crate) fn check_text(&self, text: &str, allowed: &[&str]) {
        for secret in self.known.keys().filter(|secret| !allowed.contains(&secret.as_str())) {
            assert!(!text.contains(secret.as_str()), "{secret} is printed: {text}");
        }
    }
}
