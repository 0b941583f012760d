//! How a connection comes about, or does not.

use std::time::{Duration, Instant};

use serde_json::json;

use super::adapter::model::ProtocolVersion;
use super::adapter::{Client, CloseReason, Command, ConnectError, Connector, Endpoint};
use crate::peers::{BY_SCRIPT, SCRIPTED, scripted};
use windlass::NegotiationError;

/// Less than the time that a server has to answer the probe.
const AT_ONCE: Duration = Duration::from_millis(2_500);

/// `unwrap_err`, for a client that has nothing to show.
fn refusal(outcome: Result<Client, ConnectError>) -> ConnectError {
    match outcome {
        Ok(_) => panic!("this cannot be connected to"),
        Err(error) => error,
    }
}

case!(a_legacy_server_that_exits_on_the_probe_is_started_again, {
    let client = wait!(Client::connect(scripted("exits_on_probe"))).unwrap();
    assert_eq!(client.peer().version, ProtocolVersion::V2025_06_18);
    assert_eq!(wait!(client.call_tool("echo", json!({"text": "again"}))).unwrap().text_content(), "again");
    wait!(client.close());
});

case!(a_legacy_server_that_ignores_the_probe_is_initialised_after_a_while, {
    let builder = Client::builder("prober", "1.0");
    let builder = builder.configure(|config| config.probe_timeout = Duration::from_millis(50));
    let client = wait!(builder.connect(scripted("silent_on_probe"))).unwrap();
    assert_eq!(wait!(client.call_tool("echo", json!({"text": "hello"}))).unwrap().text_content(), "hello");
    wait!(client.close());
});

case!(a_server_that_says_nothing_is_given_up, {
    let started = Instant::now();
    let builder = Client::builder("waiter", "1.0").configure(|config| {
        config.probe_timeout = Duration::from_millis(50);
        config.handshake_timeout = Duration::from_millis(50);
    });
    let error = refusal(wait!(builder.connect(scripted("mute"))));
    assert!(matches!(error.reason, CloseReason::Negotiation(NegotiationError::TimedOut { .. })), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
});

case!(whatever_else_is_answered_to_the_probe_means_a_legacy_server, {
    for answer in [
        r#"{"error":{"code":-32000,"message":"?"}}"#,
        r#"{"error":{"code":-32600,"message":"?"}}"#,
        r#"{"error":{"code":-32602,"message":"?"}}"#,
        r#"{"error":{"code":-32700,"message":"?"}}"#,
        r#"{"error":{"code":0,"message":"?"}}"#,
        r#"{"error":{"code":404,"message":"?","data":[1]}}"#,
        r#"{"error":"no"}"#,
        r#"{"error":{"code":"no"}}"#,
        r#"{"result":{}}"#,
        r#"{"result":null}"#,
        r#"{"result":{"supportedVersions":[]}}"#,
    ] {
        let started = Instant::now();
        let client = wait!(Client::connect(scripted(&format!("probe_answer={answer}")))).unwrap();
        assert!(started.elapsed() < AT_ONCE, "{answer} took {:?}", started.elapsed());
        assert_eq!(client.peer().version, ProtocolVersion::V2025_06_18, "{answer}");
        assert_eq!(wait!(client.call_tool("echo", json!({"text": "odd"}))).unwrap().text_content(), "odd");
        wait!(client.close());
    }
});

case!(a_modern_server_that_refuses_is_not_taken_for_a_legacy_one, {
    for (answer, named) in [
        (r#"{"error":{"code":-32021,"message":"no-sampling"}}"#, "no-sampling"),
        (r#"{"error":{"code":-32022,"message":"?","data":{"supported":["2099-01-01"]}}}"#, "2099-01-01"),
        (r#"{"error":{"code":-32022,"message":"?"}}"#, "none"),
        (r#"{"result":{"supportedVersions":["2099-01-01"],"capabilities":{}}}"#, "2099-01-01"),
    ] {
        let started = Instant::now();
        let error = refusal(wait!(Client::connect(scripted(&format!("probe_answer={answer}")))));
        assert!(started.elapsed() < AT_ONCE, "{answer} took {:?}", started.elapsed());
        assert!(matches!(error.reason, CloseReason::Negotiation(_)), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
});

case!(a_server_of_an_unknown_revision_is_named, {
    for revision in ["1999-12-31", "2099-12-31", "tomorrow"] {
        let started = Instant::now();
        let error = refusal(wait!(Client::connect(scripted(&format!("revision={revision}")))));
        assert!(matches!(error.reason, CloseReason::Negotiation(NegotiationError::NoCommonVersion { .. })), "{error}");
        assert!(error.to_string().contains(revision), "{error}");
        assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
    }
});

case!(a_server_that_ends_in_the_middle_of_its_first_line_is_an_error, {
    let started = Instant::now();
    let error = refusal(wait!(Client::connect(scripted("half_line"))));
    assert!(matches!(error.reason, CloseReason::Negotiation(NegotiationError::ClosedEarly)), "{error}");
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
});

case!(a_program_that_is_not_there_is_named, {
    let error = refusal(wait!(Client::connect(Command::new("/no/such/program"))));
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    let error = refusal(wait!(Client::connect(Command::new("no-such-program-anywhere"))));
    assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
});

case!(what_a_server_complained_of_before_it_exited_is_shown, {
    let error = refusal(wait!(Client::connect(scripted("complains"))));
    assert_eq!(error.stderr, ["no configuration file was found"]);
    assert!(error.to_string().contains("no configuration file was found"), "{error}");
});

case!(a_connector_of_ones_own_is_asked_again_for_a_second_stream, {
    let mut asked = 0;
    let connector = Connector::Custom(Box::new(move || {
        asked += 1;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        match asked {
            // The peer hangs up on the probe.
            1 => drop(theirs),
            _ => {
                let words = BY_SCRIPT.tapped(&[SCRIPTED, "legacy"], SCRIPTED);
                let mut command = std::process::Command::new(&words[0]);
                let output = std::os::fd::OwnedFd::from(theirs.try_clone()?);
                command.args(&words[1..]).stdin(std::os::fd::OwnedFd::from(theirs)).stdout(output);
                // The stream is all that ties it to us: it exits when that ends.
                let mut child = command.spawn()?;
                std::thread::spawn(move || child.wait());
            }
        }
        Endpoint::try_from(ours)
    }));
    let client = wait!(Client::connect(connector)).unwrap();
    assert_eq!(wait!(client.call_tool("echo", json!({"text": "socket"}))).unwrap().text_content(), "socket");
    wait!(client.close());
});

case!(a_stream_that_ends_during_the_handshake_is_an_error, {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(theirs);
    let error = refusal(wait!(Client::connect(Endpoint::try_from(ours).unwrap())));
    assert!(matches!(error.reason, CloseReason::Transport(_) | CloseReason::Negotiation(_)), "{error}");
});
