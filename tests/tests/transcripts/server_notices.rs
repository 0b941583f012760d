//! What a server tells its clients of changes.

use windlass::model::Tool;
use windlass_sim::{Script, SimServer, handler};

use crate::common::{Sim, fresh_server, fresh_server_with, legacy, legacy_server, modern, say, server_config};
use crate::end_and_expect;

/// Changes everything that can change.
fn change_everything(sim: &mut Sim<Script, SimServer>) {
    let registry = sim.server.machine().registry();
    registry.remove_tool("echo");
    registry
        .add_tool(Tool::without_arguments("echo"), handler(|_| Err(windlass::server::HandlerError::failed("gone"))));
    registry.remove_prompt("greet");
    registry.remove_resource_template("file:///notes/{name}");
    sim.server.machine().resource_updated("file:///a.txt");
    sim.server.machine().resource_updated("file:///b.txt");
    sim.settle();
}

#[test]
fn a_legacy_client_is_told_of_lists_and_of_what_it_subscribed_to() {
    let mut sim = legacy_server("2025-11-25");
    change_everything(&mut sim);
    say(&mut sim, &legacy(1, "resources/subscribe", r#""uri":"file:///a.txt""#));
    say(&mut sim, &legacy(2, "resources/subscribe", r#""uri":"file:///missing.txt""#));
    sim.server.machine().resource_updated("file:///a.txt");
    sim.server.machine().resource_updated("file:///b.txt");
    sim.settle();
    say(&mut sim, &legacy(3, "resources/unsubscribe", r#""uri":"file:///a.txt""#));
    sim.server.machine().resource_updated("file:///a.txt");
    sim.settle();
    say(&mut sim, &legacy(4, "tools/call", r#""name":"grow""#));
    end_and_expect(&mut sim, "server_legacy_changes");
}

#[test]
fn nobody_is_told_before_the_handshake_is_over() {
    let mut sim = fresh_server();
    change_everything(&mut sim);
    say(&mut sim, &crate::common::initialize("2025-11-25"));
    sim.server.machine().registry().remove_tool("slow");
    sim.settle();
    end_and_expect(&mut sim, "server_changes_before_handshake");
}

#[test]
fn a_modern_client_is_told_what_it_listens_to() {
    let mut sim = fresh_server();
    change_everything(&mut sim);
    say(
        &mut sim,
        &modern(
            1,
            "subscriptions/listen",
            r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a.txt"]}"#,
        ),
    );
    say(
        &mut sim,
        &modern(
            2,
            "subscriptions/listen",
            r#""notifications":{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":false}"#,
        )
        .replace("\"id\":2", "\"id\":\"two\""),
    );
    say(&mut sim, &modern(3, "subscriptions/listen", r#""notifications":{}"#));
    say(&mut sim, &modern(4, "subscriptions/listen", ""));
    change_everything(&mut sim);
    sim.server.machine().registry().add_prompt(
        windlass::model::Prompt::new("another"),
        handler(|_| Err(windlass::server::HandlerError::failed("none"))),
    );
    sim.settle();
    say(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    change_everything(&mut sim);
    end_and_expect(&mut sim, "server_modern_listen");
}

#[test]
fn a_client_may_listen_to_so_much_only() {
    let mut config = server_config();
    config.limits.subscriptions = 2;
    let mut sim = fresh_server_with(config);
    let uris = |count: usize| vec!["\"file:///a.txt\""; count].join(",");
    say(
        &mut sim,
        &modern(1, "subscriptions/listen", &format!(r#""notifications":{{"resourceSubscriptions":[{}]}}"#, uris(2))),
    );
    say(
        &mut sim,
        &modern(2, "subscriptions/listen", &format!(r#""notifications":{{"resourceSubscriptions":[{}]}}"#, uris(3))),
    );
    say(&mut sim, &modern(3, "subscriptions/listen", r#""notifications":{}"#));
    say(&mut sim, &modern(4, "subscriptions/listen", r#""notifications":{}"#));
    end_and_expect(&mut sim, "server_modern_listen_limits");
}

#[test]
fn a_server_without_lists_has_nothing_to_listen_to() {
    let server = SimServer::new(server_config(), windlass::server::Registry::new(), 1);
    let mut sim = Sim::with_scripted_client(1, windlass_sim::NetworkConditions::ideal(), server);
    say(&mut sim, &modern(1, "server/discover", ""));
    say(&mut sim, &modern(2, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#));
    say(&mut sim, &modern(3, "tools/list", ""));
    end_and_expect(&mut sim, "server_modern_nothing_to_listen_to");
}
