//! Who can reach the demo server over HTTP, and how that is told: nobody should learn it by accident.

use std::net::SocketAddr;

use windlass::link::http::HttpServerConfig;
use windlass_host::HttpListener;

use crate::invocation::HttpPlace;

/// The names by which programs on this machine call it.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Who is let in at a place that is listened on.
pub(crate) fn configuration(place: &HttpPlace, listener: &HttpListener) -> HttpServerConfig {
    let mut config = match listener.is_loopback() {
        true => HttpServerConfig::on_loopback(),
        false => HttpServerConfig::new(),
    };
    if !place.hosts.is_empty() {
        let own = OWN_NAMES.into_iter().map(str::to_owned).chain(listener.local_addr().and_then(own_name));
        config.allowed_hosts = Some(own.chain(place.hosts.iter().cloned()).collect());
    }
    // On a network, a page is somebody else's unless it was said to be ours.
    if !place.origins.is_empty() || !listener.is_loopback() {
        config.allowed_origins = Some(place.origins.clone());
    }
    config
}

/// Says who is let in.
pub(crate) fn announcement(place: &HttpPlace, config: &HttpServerConfig, listener: &HttpListener) -> String {
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    describe(&address, listener.is_loopback(), place.certificate.is_some(), config)
}

fn describe(address: &str, loopback: bool, encrypted: bool, config: &HttpServerConfig) -> String {
    let who = match loopback {
        true => "only programs on this machine reach it",
        false => "OPEN TO THE NETWORK: whoever reaches this machine reaches it",
    };
    let encryption = if encrypted || loopback { "" } else { ", and nothing is encrypted" };
    let hosts = match &config.allowed_hosts {
        Some(hosts) => hosts.join(", "),
        None => "any (--allow-host NAME to say which)".into(),
    };
    let pages = match &config.allowed_origins {
        Some(origins) if origins.is_empty() => "none (--allow-origin ORIGIN to let some in)".into(),
        Some(origins) => origins.join(", "),
        None => "those on these hosts".into(),
    };
    format!(
        "windlass: listening on {address}; {who}\n  \
         there is no authentication{encryption}: all who reach it may call it\n  \
         names that it answers to: {hosts}\n  web pages that may call it: {pages}\n"
    )
}

/// What a client that knows the address calls the server.
fn own_name(address: SocketAddr) -> Option<String> {
    match address {
        address if address.ip().is_unspecified() || address.ip().is_loopback() => None,
        SocketAddr::V4(address) => Some(address.ip().to_string()),
        SocketAddr::V6(address) => Some(format!("[{}]", address.ip())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(hosts: &[&str], origins: &[&str]) -> HttpPlace {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        HttpPlace { address: String::new(), certificate: None, hosts: texts(hosts), origins: texts(origins) }
    }

    #[test]
    fn on_loopback_only_this_machine_is_let_in() {
        let listener = HttpListener::bind("127.0.0.1:0").unwrap();
        let config = configuration(&place(&[], &[]), &listener);
        let told = announcement(&place(&[], &[]), &config, &listener);
        assert!(told.contains("listening on 127.0.0.1:") && told.contains("only programs on this machine"), "{told}");
        assert!(told.contains("localhost, 127.0.0.1, [::1]") && told.contains("no authentication:"), "{told}");
        assert!(told.contains("those on these hosts"), "{told}");
    }

    #[test]
    fn more_are_let_in_by_name() {
        let listener = HttpListener::bind("127.0.0.1:0").unwrap();
        let config = configuration(&place(&["mcp.example"], &["https://app.example"]), &listener);
        assert_eq!(config.allowed_hosts.as_ref().unwrap().last().unwrap(), "mcp.example");
        assert_eq!(config.allowed_origins, Some(vec!["https://app.example".to_owned()]));
        let told = describe("a:1", true, false, &config);
        assert!(told.contains("[::1], mcp.example\n") && told.contains("call it: https://app.example\n"), "{told}");
    }

    #[test]
    fn a_network_is_told_of() {
        let mut config = HttpServerConfig::new();
        config.allowed_origins = Some(Vec::new());
        let told = describe("0.0.0.0:80", false, false, &config);
        for part in
            ["OPEN TO THE NETWORK", "no authentication, and nothing is encrypted", "to: any (", "call it: none ("]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!describe("0.0.0.0:80", false, true, &config).contains("nothing is encrypted"));
        assert_eq!(own_name("192.0.2.1:80".parse().unwrap()).as_deref(), Some("192.0.2.1"));
        assert_eq!(own_name("[2001:db8::1]:80".parse().unwrap()).as_deref(), Some("[2001:db8::1]"));
        assert_eq!(own_name("0.0.0.0:80".parse().unwrap()), None);
    }
}
