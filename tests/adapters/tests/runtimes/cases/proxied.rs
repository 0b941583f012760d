//! Through a proxy: everything is said in tunnels, and a proxy that makes none is named.

use super::adapter::{DialOptions, HttpListener, HttpServerConfig, HttpTarget, ProxySettings};
use super::served;
use super::sockets::{converse, told};
use crate::certificates::Authority;
use crate::connect_proxy::ConnectProxy;

/// Through this proxy, by these credentials.
fn through(proxy: &ConnectProxy, credentials: &str) -> ProxySettings {
    ProxySettings::through(&format!("http://{credentials}{}", proxy.address())).unwrap()
}

case!(everything_is_said_through_a_proxy, {
    for secured in [false, true] {
        let authority = Authority::new();
        let mut listener = HttpListener::bind("127.0.0.1:0").unwrap();
        if secured {
            listener = listener.with_tls(authority.server(&["service.test"]));
        }
        let proxy = ConnectProxy::leading_to(listener.local_addr().unwrap());
        let mut config = HttpServerConfig::on_loopback();
        config.allowed_hosts = Some(vec!["service.test".to_owned()]);
        let server = served::start_http(listener, config).unwrap();
        // Nobody but the proxy knows this name.
        let (url, authority_of_url) = match secured {
            true => ("https://service.test/mcp", "service.test:443"),
            false => ("http://service.test:8080/mcp", "service.test:8080"),
        };
        let dial = DialOptions::new().proxy(through(&proxy, "user:secret@")).tls(authority.trusted());
        wait!(converse(&HttpTarget::new(url).unwrap().dial(dial)));
        let asked = proxy.asked();
        assert!(!asked.is_empty());
        for head in asked {
            assert!(head.starts_with(&format!("CONNECT {authority_of_url} HTTP/1.1\r\n")), "{head}");
            assert!(head.contains("\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"), "{head}");
        }
        wait!(server.close()).unwrap();
    }
});

case!(servers_on_this_machine_need_no_proxy, {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let (url, address) = (listener.url("/mcp"), listener.local_addr().unwrap());
    let proxy = ConnectProxy::leading_to(address);
    let server = served::start_http(listener, HttpServerConfig::on_loopback()).unwrap();
    let direct = DialOptions::new().proxy(through(&proxy, ""));
    wait!(converse(&HttpTarget::new(&url).unwrap().dial(direct)));
    assert_eq!(proxy.asked(), [""; 0]);
    let tunnelled = DialOptions::new().proxy(through(&proxy, "").including_loopback());
    wait!(converse(&HttpTarget::new(&url).unwrap().dial(tunnelled)));
    let asked = proxy.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|head| head.starts_with(&format!("CONNECT {address} HTTP/1.1\r\n"))), "{asked:?}");
    wait!(server.close()).unwrap();
});

case!(a_proxy_that_makes_no_tunnel_is_named, {
    for (status, clearly) in
        [("407 Proxy Authentication Required", "it wants other credentials"), ("502 Bad Gateway", "502 Bad Gateway")]
    {
        let proxy = ConnectProxy::refusing_with(status);
        for url in ["http://service.test/mcp", "https://service.test/mcp"] {
            let dial = DialOptions::new().proxy(through(&proxy, "user:secret@")).tls(Authority::new().trusted());
            let why = wait!(told(HttpTarget::new(url).unwrap().dial(dial)));
            assert!(why.contains(&format!("through the proxy {}: ", proxy.address())), "{why}");
            assert!(why.contains(clearly) && why.contains("service.test") && !why.contains("secret"), "{why}");
        }
    }
});
