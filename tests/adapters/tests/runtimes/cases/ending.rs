//! No process is left behind.

use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::{Client, CloseReason, Closer, Grace};
use super::eras::{ERAS, in_era};
use crate::peers::{PARTIES, SCRIPTED, SHORT_GRACE, scripted_by_shell, server};
use crate::processes;

case!(closing_returns_when_the_server_is_gone, {
    for party in PARTIES {
        let client = wait!(Client::connect(server(party))).unwrap();
        let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
        assert!(processes::lives(pid));
        let started = Instant::now();
        assert_eq!(wait!(client.close()), CloseReason::Requested);
        assert!(!processes::exists(pid), "{party}");
        // The end of its input is all that a server of ours needs.
        assert!(started.elapsed() < Duration::from_millis(400), "{party} took {:?}", started.elapsed());
    }
});

case!(a_client_that_is_dropped_leaves_no_server_behind, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
        let clone = client.clone();
        drop(client);
        wait!(clone.ping()).unwrap();
        drop(clone);
        eventually!("the server is gone", !processes::exists(pid));
    }
});

case!(a_subscription_holds_the_connection_for_as_long_as_it_lives, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let mut filter = super::adapter::model::SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    let subscription = wait!(client.listen(filter)).unwrap();
    let pid: u32 = wait!(client.call_tool("pid", json!({}))).unwrap().text_content().parse().unwrap();
    drop(client);
    assert!(processes::lives(pid));
    drop(subscription);
    eventually!("the server is gone", !processes::exists(pid));
});

case!(a_server_that_heeds_nothing_is_gone_with_its_own_children, {
    // What is ignored before a program is started stays ignored in it.
    let script = r#"trap "" TERM; sleep 600 & echo "$$ $!" >&2; exec "$0" stubborn"#;
    let (tell, told) = channel();
    let command = scripted_by_shell(script).on_stderr(move |line| {
        let _ = tell.send(line.to_owned());
    });
    let client = wait!(Client::builder("ender", "1.0").grace(SHORT_GRACE).connect(command)).unwrap();
    let line = told.recv().unwrap();
    let pids: Vec<u32> = line.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|&pid| processes::lives(pid)), "{pids:?}");
    let started = Instant::now();
    wait!(client.close());
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert!(!processes::exists(pids[0]));
    assert!(!processes::lives(pids[1]), "the grandchild");
});

case!(a_server_that_heeds_nothing_and_says_nothing_is_given_up_and_gone, {
    let script = r#"trap "" TERM; sleep 600 & echo "$$ $!" >&2; exec "$0" mute stubborn"#;
    let command = scripted_by_shell(script);
    let builder = Client::builder("ender", "1.0").grace(SHORT_GRACE).configure(|config| {
        config.probe_timeout = Duration::from_millis(50);
        config.handshake_timeout = Duration::from_millis(50);
    });
    let started = Instant::now();
    let Err(error) = wait!(builder.connect(command)) else { panic!("it says nothing") };
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert!(error.to_string().contains("did not answer the handshake"), "{error}");
    let pids: Vec<u32> = error.stderr[0].split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(!processes::exists(pids[0]));
    assert!(!processes::lives(pids[1]), "the grandchild");
});

case!(a_program_that_ends_without_closing_leaves_no_server_behind, {
    let script = r#"trap "" TERM; sleep 600 & echo "$$ $!" >&2; exec "$0" stubborn"#;
    let output = Command::new(OWN_SERVER).args(["forget", "sh", "-c", script, SCRIPTED]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let pids: Vec<u32> = told.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2, "{told:?}");
    // The program is gone, so that nobody is left to end them but whoever inherits them.
    let left: Vec<_> = pids.into_iter().filter(|&pid| processes::lives(pid)).collect();
    left.iter().for_each(|&pid| processes::kill(pid));
    assert!(left.is_empty(), "{left:?}");
});

case!(a_connection_is_closed_from_outside_while_it_is_made, {
    let script = r#"trap "" TERM; sleep 600 & echo "$$ $!" >&2; exec "$0" mute stubborn"#;
    let closer = Closer::new();
    let (closing, (tell, told)) = (closer.clone(), channel());
    let command = scripted_by_shell(script).on_stderr(move |line| {
        let _ = tell.send(line.to_owned());
        closing.close();
    });
    let builder = Client::builder("ender", "1.0").grace(SHORT_GRACE).closer(&closer).configure(|config| {
        config.probe_timeout = Duration::from_secs(3_600);
        config.handshake_timeout = Duration::from_secs(3_600);
    });
    let Err(error) = wait!(builder.connect(command)) else { panic!("it says nothing") };
    assert_eq!(error.reason, CloseReason::Requested);
    let line = told.recv().unwrap();
    let pids: Vec<u32> = line.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(!processes::exists(pids[0]));
    assert!(!processes::lives(pids[1]), "the grandchild");
});

case!(what_is_closed_before_it_is_made_is_never_made, {
    let closer = Closer::new();
    closer.close();
    let Err(error) = wait!(Client::builder("ender", "1.0").closer(&closer).connect(server(OWN_SERVER))) else {
        panic!("it was closed")
    };
    assert_eq!(error.reason, CloseReason::Requested);
});

case!(whoever_hurries_leaves_no_grace, {
    let script = r#"trap "" TERM; sleep 600 & echo "$$ $!" >&2; exec "$0" stubborn"#;
    let (tell, told) = channel();
    let command = scripted_by_shell(script).on_stderr(move |line| {
        let _ = tell.send(line.to_owned());
    });
    let hour = Duration::from_secs(3_600);
    let closer = Closer::new();
    let builder = Client::builder("ender", "1.0").grace(Grace { eof: hour, terminate: hour }).closer(&closer);
    let client = wait!(builder.connect(command)).unwrap();
    let line = told.recv().unwrap();
    let pids: Vec<u32> = line.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|&pid| processes::lives(pid)), "{pids:?}");
    closer.kill();
    assert!(!processes::exists(pids[0]));
    assert!(!processes::lives(pids[1]), "the grandchild");
    assert_eq!(wait!(client.wait_closed()), CloseReason::Requested);
});
