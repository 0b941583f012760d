//! Futures that are dropped before they are done.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

use serde_json::json;
use smol::future::poll_once;

use super::adapter::model::Ping;
use super::adapter::{Client, Endpoint};
use super::eras::{ERAS, in_era};
use super::over_http::{every_way, serve};
use super::{OWN_SERVER, served};
use crate::peers::{PARTIES, scripted, scripted_by_shell, server};
use crate::processes;

case!(a_call_whose_future_is_dropped_cancels_its_handler_on_every_server, {
    for party in PARTIES {
        for negotiation in ERAS {
            let client = in_era(negotiation).connect(server(party)).await.unwrap();
            {
                let mut calls: Vec<_> = (0..5).map(|_| Box::pin(client.call_tool("never", json!({})))).collect();
                for call in &mut calls {
                    assert!(poll_once(call).await.is_none());
                }
                while client.call_tool("counts", json!({})).await.unwrap().text_content() != "5 0" {}
            }
            while client.call_tool("counts", json!({})).await.unwrap().text_content() != "5 5" {}
            client.close().await;
        }
    }
});

case!(a_call_over_http_whose_future_is_dropped_cancels_its_handler, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = in_era(way.negotiation).connect(target).await.unwrap();
        {
            let mut calls: Vec<_> = (0..5).map(|_| Box::pin(client.call_tool("never", json!({})))).collect();
            for call in &mut calls {
                assert!(poll_once(call).await.is_none());
            }
            while client.call_tool("counts", json!({})).await.unwrap().text_content() != "5 0" {}
        }
        while client.call_tool("counts", json!({})).await.unwrap().text_content() != "5 5" {}
        client.close().await;
        server.close().await.unwrap();
    }
});

case!(a_call_of_the_servers_whose_future_is_dropped_is_cancelled, {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
    let (mut output, input) = (ours.try_clone().unwrap(), BufReader::new(ours));
    let client = std::thread::spawn(move || {
        let initialize = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
            r#""capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}"#
        );
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        output.write_all(format!("{initialize}\n{initialized}\n").as_bytes()).unwrap();
        input.lines().map(Result::unwrap).collect::<Vec<_>>()
    });
    let mut refused;
    eventually!("the client can be called", {
        let nothing = Default::default();
        let mut call = Box::pin(server.call::<Ping>(&nothing));
        refused = poll_once(&mut call).await;
        refused.is_none()
    });
    server.close().await.unwrap();
    let heard = client.join().unwrap();
    let about: Vec<_> = heard.iter().filter(|line| line.contains("ping") || line.contains("cancelled")).collect();
    assert_eq!(about.len(), 2, "{heard:?}");
    assert!(about[0].contains(r#""method":"ping""#) && about[1].contains("notifications/cancelled"), "{heard:?}");
});

case!(a_call_that_is_dropped_unpolled_was_never_made, {
    let client = Client::connect(server(OWN_SERVER)).await.unwrap();
    drop(client.call_tool("never", json!({})));
    assert_eq!(client.call_tool("counts", json!({})).await.unwrap().text_content(), "0 0");
    client.close().await;
});

case!(a_connection_attempt_that_is_dropped_leaves_no_server_behind, {
    let (tell, told) = channel();
    let command = scripted_by_shell(r#"echo "$$" >&2; exec "$0" mute"#)
        .on_stderr(move |line| tell.send(line.parse::<u32>().unwrap()).unwrap());
    let mut attempt = Box::pin(Client::connect(command));
    let mut started;
    eventually!("the server is started", {
        assert!(poll_once(&mut attempt).await.is_none());
        started = told.try_recv().ok();
        started.is_some()
    });
    drop(attempt);
    eventually!("the server is gone", !processes::exists(started.unwrap()));
});

case!(a_dropped_subscriber_and_a_dropped_waiter_do_not_disturb_the_others, {
    let client = Client::connect(scripted("legacy")).await.unwrap();
    for _ in 0..10 {
        let waiting = client.clone();
        let mut waiter = Box::pin(async move { waiting.wait_closed().await });
        assert!(poll_once(&mut waiter).await.is_none());
        drop(waiter);
        client.ping().await.unwrap();
    }
    client.close().await;
});
