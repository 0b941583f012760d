//! The server's own end, and its start on other streams than standard input and output.

use std::time::{Duration, Instant};

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::{
    CompleteParams, CompleteResult, CompletionReference, GetPromptParams, GetPromptResult, Prompt, PromptMessage,
    ReadResourceResult, Resource, ResourceTemplate,
};
use super::adapter::{Client, CloseReason, Endpoint};
use super::eras::{ERAS, in_era};
use super::{OWN_SERVER, served};
use crate::peers::AMONG_US;
use crate::processes::RawServer;

case!(a_server_exits_when_its_input_ends, {
    let mut server = RawServer::start(OWN_SERVER);
    let started = Instant::now();
    server.end_input();
    assert_eq!(server.hear(), "");
    server.wait_for_exit();
    assert!(started.elapsed() < Duration::from_millis(300), "{:?}", started.elapsed());
});

case!(a_server_exits_when_its_input_ends_though_a_handler_does_not, {
    for tool in ["stuck", "never"] {
        let mut server = RawServer::start(OWN_SERVER);
        server.call_tool(2, tool);
        server.call_tool(3, "pid");
        assert!(server.hear().contains(r#""id":3"#));
        let started = Instant::now();
        server.end_input();
        server.wait_for_exit();
        assert!(started.elapsed() < Duration::from_secs(2), "{tool}: {:?}", started.elapsed());
    }
});

case!(a_program_that_only_serves_ends_with_its_client_though_a_handler_does_not, {
    let mut server = RawServer::start_in_mode(OWN_SERVER, "serve_here");
    server.call_tool(2, "stuck");
    server.call_tool(3, "pid");
    assert!(server.hear().contains(r#""id":3"#));
    server.end_input();
    server.wait_for_exit();
});

case!(what_was_asked_before_the_input_ended_is_answered, {
    let mut server = RawServer::start(OWN_SERVER);
    for id in 2..12 {
        server.call_tool(id, "slow");
    }
    server.end_input();
    let mut answers = Vec::new();
    loop {
        let line = server.hear();
        if line.is_empty() {
            break;
        }
        answers.push(line);
    }
    assert_eq!(answers.len(), 10, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.contains("done at last")), "{answers:?}");
    server.wait_for_exit();
});

case!(a_pair_of_sockets_is_a_connection, {
    for negotiation in ERAS {
        let (ours, theirs) = AMONG_US.pair().unwrap();
        let server = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
        let builder = in_era(negotiation);
        let client = wait!(builder.connect(Endpoint::try_from(ours).unwrap())).unwrap();
        for number in 0..100 {
            let sum = wait!(client.call_tool("add", json!({"a": number, "b": 1}))).unwrap();
            assert_eq!(sum.text_content(), (number + 1).to_string());
        }
        let text = "y".repeat(300_000);
        assert!(wait!(client.call_tool("echo", json!({ "text": text }))).unwrap().text_content() == text);
        assert_eq!(wait!(client.close()), CloseReason::Requested);
        wait!(server.wait_closed()).unwrap();
    }
});

case!(every_kind_of_entry_comes_and_goes_at_run_time, {
    for negotiation in ERAS {
        let (ours, theirs) = AMONG_US.pair().unwrap();
        let server = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
        let builder = in_era(negotiation);
        let client = wait!(builder.connect(Endpoint::try_from(ours).unwrap())).unwrap();

        server.add_resource(Resource::new("late:///one", "one"), |_, request| {
            answer!({ Ok(ReadResourceResult::text(request.uri, "one")) })
        });
        let template = ResourceTemplate::new("late:///page/{number}", "page");
        let added = server.add_resource_template(template, |_, request| {
            answer!({ Ok(ReadResourceResult::text(request.uri, request.variables["number"].clone())) })
        });
        assert!(added.is_ok());
        server.add_prompt(Prompt::new("late"), |_, _| {
            answer!({ Ok(GetPromptResult::new(vec![PromptMessage::user("at last")])) })
        });
        server.add_prompt_completion("late", "word", |_, _| answer!({ Ok(CompleteResult::new(["prompt"])) }));
        server.add_resource_completion("late:///page/{number}", "number", |_, _| {
            answer!({ Ok(CompleteResult::new(["page"])) })
        });

        let of_prompt = || CompleteParams::new(CompletionReference::prompt("late"), "word", "");
        let of_page = || CompleteParams::new(CompletionReference::resource("late:///page/{number}"), "number", "");
        assert_eq!(wait!(client.read_resource("late:///one")).unwrap().text_content(), "one");
        assert_eq!(wait!(client.read_resource("late:///page/7")).unwrap().text_content(), "7");
        assert_eq!(wait!(client.get_prompt(GetPromptParams::new("late"))).unwrap().messages.len(), 1);
        assert_eq!(wait!(client.complete(of_prompt())).unwrap().completion.values, ["prompt"]);
        assert_eq!(wait!(client.complete(of_page())).unwrap().completion.values, ["page"]);

        assert!(server.remove_prompt_completion("late", "word") && !server.remove_prompt_completion("late", "word"));
        assert!(server.remove_resource_completion("late:///page/{number}", "number"));
        assert!(wait!(client.complete(of_prompt())).unwrap().completion.values.is_empty());
        assert!(wait!(client.complete(of_page())).unwrap().completion.values.is_empty());
        assert!(server.remove_resource("late:///one") && !server.remove_resource("late:///one"));
        assert!(server.remove_resource_template("late:///page/{number}"));
        assert!(server.remove_prompt("late"));
        assert!(wait!(client.read_resource("late:///one")).is_err());
        assert!(wait!(client.read_resource("late:///page/7")).is_err());
        assert!(wait!(client.get_prompt(GetPromptParams::new("late"))).is_err());
        wait!(client.close());
        wait!(server.wait_closed()).unwrap();
    }
});

case!(a_tcp_connection_is_a_connection, {
    let (ours, theirs) = AMONG_US.tcp_pair().unwrap();
    let server = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
    let client = wait!(Client::connect(Endpoint::try_from(ours).unwrap())).unwrap();
    let text = "z".repeat(300_000);
    assert!(wait!(client.call_tool("echo", json!({ "text": text }))).unwrap().text_content() == text);
    wait!(client.close());
    wait!(server.wait_closed()).unwrap();
});

case!(a_server_that_closes_ends_the_connection, {
    let (ours, theirs) = AMONG_US.pair().unwrap();
    let server = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
    let client = wait!(Client::connect(Endpoint::try_from(ours).unwrap())).unwrap();
    wait!(client.ping()).unwrap();
    wait!(server.close()).unwrap();
    assert_eq!(wait!(client.wait_closed()), CloseReason::PeerClosed);
});

case!(a_legacy_client_can_be_called, {
    let (ours, theirs) = AMONG_US.pair().unwrap();
    let server = served::start(Endpoint::try_from(theirs).unwrap()).unwrap();
    let builder = in_era(Negotiation::Legacy);
    let client = wait!(builder.connect(Endpoint::try_from(ours).unwrap())).unwrap();
    wait!(client.ping()).unwrap();
    let calling = server.clone();
    let called = start!({ wait!(calling.call::<super::adapter::model::Ping>(&Default::default())) });
    // Whoever has no thread of its own hears the call while it waits for something.
    wait!(client.call_tool("slow", json!({}))).unwrap();
    join!(called).unwrap();
    wait!(client.close());
    wait!(server.wait_closed()).unwrap();
});
