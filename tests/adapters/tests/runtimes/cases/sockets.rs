//! The ways to a server: secured, by a Unix socket, by name.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::{Client, DialOptions, HttpListener, HttpServerConfig, HttpTarget, Server};
use super::eras::{ERAS, in_era};
use super::inputs::helpful;
use super::listening::tools_and_item;
use super::served;
use super::talking::use_every_feature;
use crate::certificates::Authority;
use crate::http_party::{hear_to_end, send};
use crate::tls_server::{self, End};

fn serve(listener: HttpListener) -> Server {
    served::start_http(listener, HttpServerConfig::on_loopback()).unwrap()
}

// Everything once, in both eras.
step!(converse(target: &HttpTarget), {
    for negotiation in ERAS {
        let client = wait!(helpful(negotiation).connect(target.clone())).unwrap();
        wait!(use_every_feature(&client));
        assert_eq!(wait!(client.call_tool("ask_user", json!({}))).unwrap().text_content(), "Ada");
        let mut subscription = wait!(client.listen(tools_and_item())).unwrap();
        wait!(client.call_tool("touch", json!({}))).unwrap();
        assert!(wait!(subscription.next()).is_some());
        let text = "x".repeat(1 << 20);
        assert!(wait!(client.call_tool("echo", json!({ "text": text }))).unwrap().text_content() == text);
        wait!(client.close());
    }
});

// What a client is told that cannot connect, soon.
step!(told(target: HttpTarget) -> String, {
    let started = Instant::now();
    let why = wait!(Client::connect(target)).err().unwrap().to_string();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}: {why}", started.elapsed());
    why
});

case!(everything_is_said_over_tls, {
    let authority = Authority::new();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server(&["127.0.0.1", "localhost"]));
    let (url, port) = (listener.url("/mcp"), listener.local_addr().unwrap().port());
    let server = serve(listener);
    for url in [url, format!("https://localhost:{port}/mcp")] {
        let target = HttpTarget::new(&url).unwrap().dial(DialOptions::new().tls(authority.trusted()));
        wait!(converse(&target));
    }
    wait!(server.close()).unwrap();
});

case!(an_answer_that_somebody_may_have_cut_off_is_none, {
    let authority = Authority::new();
    for end in [End::Length, End::Goodbye, End::Cut, End::Reset] {
        let url = tls_server::start(&authority, end);
        let target = HttpTarget::new(&url).unwrap().dial(DialOptions::new().tls(authority.trusted()));
        let client = wait!(in_era(Negotiation::Legacy).connect(target)).unwrap();
        let outcome = wait!(client.call_tool("any", json!({})));
        match end {
            End::Length | End::Goodbye => assert_eq!(outcome.unwrap().text_content(), "done", "{end:?}"),
            End::Cut | End::Reset => {
                let why = outcome.unwrap_err().to_string();
                assert!(why.contains("without a goodbye (close_notify)"), "{end:?}: {why}");
            }
        }
        wait!(client.close());
    }
});

case!(a_certificate_of_a_stranger_is_refused, {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(Authority::new().server(&["127.0.0.1"]));
    let target = HttpTarget::new(&listener.url("/mcp")).unwrap();
    let server = serve(listener);
    for dial in [DialOptions::new(), DialOptions::new().tls(Authority::new().trusted())] {
        let why = wait!(told(target.clone().dial(dial)));
        assert!(why.contains("certificate") || why.contains("trusted"), "{why}");
    }
    wait!(server.close()).unwrap();
});

case!(a_certificate_of_another_name_is_refused, {
    let authority = Authority::new();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server(&["example.org"]));
    let target = HttpTarget::new(&listener.url("/mcp")).unwrap();
    let server = serve(listener);
    let why = wait!(told(target.dial(DialOptions::new().tls(authority.trusted()))));
    assert!(why.contains("certificate") && why.contains("127.0.0.1"), "{why}");
    wait!(server.close()).unwrap();
});

case!(a_server_that_is_not_secured_is_told_apart, {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let target = HttpTarget::new(&listener.url("/mcp").replace("http:", "https:")).unwrap();
    let server = serve(listener);
    let why = wait!(told(target.dial(DialOptions::new().tls(Authority::new().trusted()))));
    assert!(why.contains("TLS"), "{why}");
    wait!(server.close()).unwrap();
});

case!(a_client_that_does_not_secure_is_told, {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(Authority::new().server(&["127.0.0.1"]));
    let target = HttpTarget::new(&listener.url("/mcp").replace("https:", "http:")).unwrap();
    let server = serve(listener);
    let why = wait!(told(target));
    assert!(why.contains("the connection ended"), "{why}");
    wait!(server.close()).unwrap();
});

case!(a_client_that_has_to_show_a_certificate_and_does_not_is_told, {
    let authority = Authority::new();
    let demanding = authority.server_for_those_it_knows(&["127.0.0.1"]);
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(demanding);
    let target = HttpTarget::new(&listener.url("/mcp")).unwrap();
    let server = serve(listener);
    let nothing_shown = authority.trusted();
    let shown_by_a_stranger = Authority::new().client(authority.trusted());
    for (tls, clearly) in [(nothing_shown, "CertificateRequired"), (shown_by_a_stranger, "UnknownCA")] {
        let why = wait!(told(target.clone().dial(DialOptions::new().tls(tls))));
        assert!(why.contains(clearly), "{why}");
    }
    wait!(converse(&target.dial(DialOptions::new().tls(authority.client(authority.trusted())))));
    wait!(server.close()).unwrap();
});

case!(a_handshake_that_stalls_ends_in_time_and_holds_nobody_up, {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = HttpTarget::new(&format!("https://{}/mcp", silent.local_addr().unwrap())).unwrap();
    let dial = DialOptions::new().tls(Authority::new().trusted()).connect_timeout(Duration::from_millis(200));
    let why = wait!(told(target.dial(dial)));
    assert!(why.contains("the TLS handshake was not finished within 200ms"), "{why}");

    let authority = Authority::new();
    let listener = HttpListener::bind("127.0.0.1:0").unwrap().with_tls(authority.server(&["127.0.0.1"]));
    let address = listener.local_addr().unwrap();
    let target = HttpTarget::new(&listener.url("/mcp")).unwrap().dial(DialOptions::new().tls(authority.trusted()));
    let server = serve(listener);
    let silent: Vec<_> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    let client = wait!(Client::connect(target)).unwrap();
    wait!(client.ping()).unwrap();
    wait!(client.close());
    drop(silent);
    wait!(server.close()).unwrap();
});

case!(those_who_do_not_get_to_their_first_request_are_let_go_soon, {
    for secured in [false, true] {
        let mut listener = HttpListener::bind("127.0.0.1:0").unwrap();
        if secured {
            listener = listener.with_tls(Authority::new().server(&["127.0.0.1"]));
        }
        let address = listener.local_addr().unwrap();
        let mut config = HttpServerConfig::on_loopback();
        // Everything else is waited for far longer than anybody has the patience to listen here.
        config.head_timeout = Duration::from_millis(200);
        let server = served::start_http(listener, config).unwrap();
        let begun = if secured { "\u{16}\u{3}\u{1}" } else { "POST /mcp HT" };
        for said in ["", begun] {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            send(&stream, said);
            let listening = std::thread::spawn(move || hear_to_end(&stream));
            eventually!("the server hangs up", listening.is_finished());
            let heard = listening.join().unwrap();
            let expected = if said.is_empty() || secured { "" } else { "HTTP/1.1 408 " };
            assert!(heard.starts_with(expected) && heard.is_empty() == expected.is_empty(), "{said:?}: {heard}");
        }
        wait!(server.close()).unwrap();
    }
});

case!(everything_is_said_by_a_unix_socket, {
    let path = std::env::temp_dir().join(format!("windlass-{}-{}", std::process::id(), super::RUNTIME));
    for _ in 0..2 {
        let server = serve(HttpListener::bind_unix(&path).unwrap());
        let target = HttpTarget::new("http://localhost/mcp").unwrap().dial(DialOptions::new().unix_socket(&path));
        wait!(converse(&target));
        wait!(server.close()).unwrap();
        assert!(!path.exists(), "the socket's file is removed");
    }
});

case!(everything_is_said_to_localhost, {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        // Not every machine has both.
        let Ok(listener) = HttpListener::bind(address) else { continue };
        let port = listener.local_addr().unwrap().port();
        let server = serve(listener);
        wait!(converse(&HttpTarget::new(&format!("http://localhost:{port}/mcp")).unwrap()));
        wait!(server.close()).unwrap();
    }
});

case!(another_name_than_the_servers_own_is_refused, {
    let listener = HttpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = serve(listener);
    let why = wait!(told(HttpTarget::new(&format!("http://rebound.localhost:{port}/mcp")).unwrap()));
    assert!(why.contains("403"), "{why}");
    // The rest of the test is that those who know better are served.
    let client = wait!(in_era(ERAS[0]).connect(HttpTarget::new(&format!("http://localhost:{port}/mcp")).unwrap()));
    wait!(client.unwrap().close());
    wait!(server.close()).unwrap();
});
