//! Handles that outlive the run of the runtime they were made on, as between two tests that share a client.

use std::sync::mpsc::channel;

use serde_json::json;
use smol::future::poll_once;
use windlass_tests::watchdog::within_deadline;

use super::adapter::{
    CallError, Client, CloseReason, Endpoint, Error, HttpListener, HttpServerConfig, HttpTarget, SendError, ServeError,
};
use super::eras::{ERAS, in_era};
use super::listening::tools_and_item;
use super::runtime::{self, GOES_ON};
use super::{OWN_SERVER, served};
use crate::http_party::HttpParty;
use crate::peers::{AMONG_US, SHORT_GRACE, scripted_by_shell, server};
use crate::processes;

/// What a connection that is not driven any more is closed with.
fn is_abandoned(reason: &CloseReason) -> bool {
    matches!(reason, CloseReason::Transport(error) if error.detail.contains("nobody drives it any more"))
}

#[test]
fn a_client_outlives_its_runtime_as_a_closed_one() {
    within_deadline(|| {
        for negotiation in ERAS {
            let (client, call, mut subscription, pid) = runtime::run(async move {
                let client = in_era(negotiation).connect(server(OWN_SERVER)).await.unwrap();
                let subscription = client.listen(tools_and_item()).await.unwrap();
                let pid: u32 = client.call_tool("pid", json!({})).await.unwrap().text_content().parse().unwrap();
                let calling = client.clone();
                let mut call = Box::pin(async move { calling.call_tool("never", json!({})).await });
                assert!(poll_once(&mut call).await.is_none());
                (client, call, subscription, pid)
            });
            runtime::run(async move {
                if GOES_ON {
                    drop(call);
                    client.ping().await.unwrap();
                    assert_eq!(client.close().await, CloseReason::Requested);
                } else {
                    match call.await {
                        Err(Error::Call(CallError::Closed(reason))) => assert!(is_abandoned(&reason), "{reason}"),
                        other => panic!("{other:?}"),
                    }
                    assert!(client.closed().is_some_and(|reason| is_abandoned(&reason)), "{:?}", client.closed());
                    let late = client.ping().await;
                    assert!(matches!(late, Err(Error::NotSent(SendError::Closed))), "{late:?}");
                    assert!(is_abandoned(&client.wait_closed().await));
                    assert!(is_abandoned(&client.close().await));
                }
                assert_eq!(subscription.next().await, None);
                assert!(!processes::exists(pid), "it is gone when closing is done");
            });
        }
    });
}

#[test]
fn a_client_over_http_outlives_its_runtime_as_a_closed_one() {
    within_deadline(|| {
        for negotiation in ERAS {
            let party = HttpParty::start(OWN_SERVER, "json");
            let target = HttpTarget::new(party.url()).unwrap();
            let (client, call) = runtime::run(async move {
                let client = in_era(negotiation).connect(target).await.unwrap();
                client.ping().await.unwrap();
                let calling = client.clone();
                let mut call = Box::pin(async move { calling.call_tool("never", json!({})).await });
                assert!(poll_once(&mut call).await.is_none());
                (client, call)
            });
            runtime::run(async move {
                if GOES_ON {
                    drop(call);
                    client.ping().await.unwrap();
                    assert_eq!(client.close().await, CloseReason::Requested);
                } else {
                    match call.await {
                        Err(Error::Call(CallError::Closed(reason))) => assert!(is_abandoned(&reason), "{reason}"),
                        other => panic!("{other:?}"),
                    }
                    assert!(is_abandoned(&client.close().await));
                }
            });
        }
    });
}

#[test]
fn a_server_outlives_its_runtime_as_a_closed_one() {
    within_deadline(|| {
        let (ours, theirs) = AMONG_US.pair().unwrap();
        let listener = HttpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
        let (on_stream, over_http) = runtime::run(async move {
            let on_stream = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
            let over_http = served::start_http(listener, HttpServerConfig::on_loopback()).unwrap();
            let client = Client::connect(Endpoint::try_from(ours).unwrap()).await.unwrap();
            client.ping().await.unwrap();
            // The server's stream stays open: nothing but the end of its runtime ends it.
            std::mem::forget(client);
            (on_stream, over_http)
        });
        runtime::run(async move {
            for server in [on_stream, over_http] {
                if GOES_ON {
                    server.close().await.unwrap();
                    continue;
                }
                for outcome in [server.wait_closed().await, server.close().await] {
                    match outcome {
                        Err(ServeError::Closed(reason)) => assert!(is_abandoned(&reason), "{reason}"),
                        other => panic!("{other:?}"),
                    }
                }
            }
        });
        assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
    });
}

#[test]
fn a_connection_attempt_that_its_runtime_does_not_outlive_fails() {
    within_deadline(|| {
        let (tell, told) = channel();
        let command = scripted_by_shell(r#"echo "$$" >&2; exec "$0" mute"#)
            .on_stderr(move |line| tell.send(line.parse::<u32>().unwrap()).unwrap());
        let mut attempt = Box::pin(Client::builder("outliver", "1.0").grace(SHORT_GRACE).connect(command));
        let (attempt, pid) = runtime::run(async move {
            let mut started;
            eventually!("the server is started", {
                assert!(poll_once(&mut attempt).await.is_none());
                started = told.try_recv().ok();
                started.is_some()
            });
            (attempt, started.unwrap())
        });
        runtime::run(async move {
            if GOES_ON {
                drop(attempt);
            } else {
                let Err(error) = attempt.await else { panic!("it says nothing") };
                assert!(is_abandoned(&error.reason), "{error}");
            }
            eventually!("the server is gone", !processes::exists(pid));
        });
    });
}

#[test]
fn a_thread_that_ends_right_after_its_last_client_leaves_no_server_behind() {
    within_deadline(|| {
        let script = r#"trap "" TERM; sleep 600 & echo "$$ $!" >&2; exec "$0" stubborn"#;
        let (tell, told) = channel();
        let command = scripted_by_shell(script).on_stderr(move |line| {
            let _ = tell.send(line.to_owned());
        });
        let thread = std::thread::spawn(move || {
            runtime::run(async move {
                let client = Client::builder("leaver", "1.0").grace(SHORT_GRACE).connect(command).await.unwrap();
                client.ping().await.unwrap();
            });
        });
        thread.join().unwrap();
        let line = told.recv().unwrap();
        for pid in line.split(' ').map(|pid| pid.parse().unwrap()) {
            assert!(!processes::lives(pid), "{pid}");
        }
    });
}
