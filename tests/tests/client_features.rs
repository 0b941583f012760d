//! What a client does beyond single calls: cached results, subscriptions in both eras, listings page by page.

mod common;

use std::time::Duration;

use windlass::client::{CallOptions, ClientConfig, PageError, PageLimits, Pages};
use windlass::model::{
    CallTool, CallToolParams, ElicitUrlParams, EmptyParams, Era, InputRequest, ListTools, PaginatedParams, Ping,
    ReadResource, ReadResourceParams, SubscriptionFilter,
};
use windlass::{CallError, Instant, Json, RpcError};
use windlass_sim::{InputAnswer, NetworkConditions, Script, SimClient};

use common::{Sim, client_config, legacy_client, legacy_config, modern_client, modern_client_with, server, tell};

const SECOND: Duration = Duration::from_secs(1);

fn finish<S: windlass_sim::Party>(sim: &mut Sim<SimClient, S>) {
    sim.client.close();
    sim.run_until_idle();
    sim.assert_nothing_left();
}

/// A modern client against a server that answers every request with a result that may be kept for a minute.
fn cached_client() -> Sim<SimClient, Script> {
    let mut sim = modern_client();
    sim.server.answer_with(|line| {
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        vec![format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[],"contents":[],"ttlMs":60000,"cacheScope":"private"}}}}"#
        )]
    });
    sim
}

/// How many requests reach the server when the tools are listed.
fn requests_for_tools(sim: &mut Sim<SimClient, Script>, options: &CallOptions) -> usize {
    let before = sim.server.heard().len();
    let call = sim.client.call_with::<ListTools>(&PaginatedParams::new(), options).unwrap();
    sim.settle();
    assert!(sim.client.result::<ListTools>(call).is_some(), "{}", sim.transcript());
    sim.server.heard().len() - before
}

#[test]
fn results_are_kept_for_as_long_as_they_say() {
    let mut sim = cached_client();
    let usual = CallOptions::new();
    assert_eq!(requests_for_tools(&mut sim, &usual), 1);
    assert_eq!(requests_for_tools(&mut sim, &usual), 0);
    assert_eq!(requests_for_tools(&mut sim, &CallOptions::new().fresh()), 1);
    sim.run_for(59 * SECOND);
    assert_eq!(requests_for_tools(&mut sim, &usual), 0);
    sim.run_for(SECOND);
    assert_eq!(requests_for_tools(&mut sim, &usual), 1, "at the end of its time a result is stale");
    finish(&mut sim);
}

#[test]
fn a_change_makes_results_stale() {
    let mut sim = cached_client();
    let usual = CallOptions::new();
    assert_eq!(requests_for_tools(&mut sim, &usual), 1);
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#);
    assert_eq!(requests_for_tools(&mut sim, &usual), 0, "that was another list");
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert_eq!(requests_for_tools(&mut sim, &usual), 1);
    finish(&mut sim);
}

#[test]
fn an_update_makes_that_resource_stale() {
    let mut sim = cached_client();
    let read = |sim: &mut Sim<SimClient, Script>, uri: &str| {
        let before = sim.server.heard().len();
        sim.client.call::<ReadResource>(&ReadResourceParams::new(uri)).unwrap();
        sim.settle();
        sim.server.heard().len() - before
    };
    assert_eq!((read(&mut sim, "file:///a"), read(&mut sim, "file:///b")), (1, 1));
    assert_eq!((read(&mut sim, "file:///a"), read(&mut sim, "file:///b")), (0, 0));
    tell(&mut sim, r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#);
    assert_eq!((read(&mut sim, "file:///a"), read(&mut sim, "file:///b")), (1, 0));
    finish(&mut sim);
}

#[test]
fn nothing_is_kept_that_does_not_say_so_and_pages_are_kept_apart() {
    let mut sim = modern_client();
    sim.server.answer_with(|line| {
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        let time = if line.contains("cursor") { "60000" } else { "-1" };
        vec![format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[],"ttlMs":{time}}}}}"#)]
    });
    let usual = CallOptions::new();
    assert_eq!(requests_for_tools(&mut sim, &usual), 1);
    assert_eq!(requests_for_tools(&mut sim, &usual), 1);
    let before = sim.server.heard().len();
    for cursor in ["a", "b", "a", "b"] {
        sim.client.call::<ListTools>(&PaginatedParams::at(Some(cursor.to_owned()))).unwrap();
        sim.settle();
    }
    assert_eq!(sim.server.heard().len() - before, 2);
    finish(&mut sim);
}

#[test]
fn a_ping_always_reaches_the_server() {
    let mut sim = cached_client();
    let before = sim.server.heard().len();
    for _ in 0..3 {
        sim.client.call::<Ping>(&EmptyParams::new()).unwrap();
        sim.settle();
    }
    assert_eq!(sim.server.heard().len() - before, 3);
    finish(&mut sim);
}

#[test]
fn legacy_results_are_not_kept() {
    let mut sim = legacy_client("2025-11-25");
    sim.server.answer_with(|line| {
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        vec![format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"ttlMs":60000}}}}"#)]
    });
    assert_eq!(requests_for_tools(&mut sim, &CallOptions::new()), 1);
    assert_eq!(requests_for_tools(&mut sim, &CallOptions::new()), 1);
    finish(&mut sim);
}

#[test]
fn a_subscription_is_the_same_in_both_eras() {
    for legacy in [false, true] {
        let config = if legacy { legacy_config() } else { client_config() };
        let mut sim = Sim::new(1, NetworkConditions::ideal(), config, server);
        assert!(sim.run_until(|sim| sim.client.peer().is_some()));
        let uris = vec!["file:///a.txt".to_owned()];
        let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(uris);
        let listen = sim.client.listen(filter).unwrap();
        sim.settle();
        sim.server.machine().resource_updated("file:///a.txt");
        sim.server.machine().resource_updated("file:///b.txt");
        sim.server.machine().registry().remove_tool("grow");
        sim.settle();
        let updates: Vec<&str> =
            sim.client.updates(listen).iter().map(|update| update.split([' ', '{']).nth(1).unwrap_or("")).collect();
        let expected = ["to", "notifications/resources/updated", "notifications/tools/list_changed"];
        assert_eq!(updates, expected, "{}", sim.transcript());
        // It lives for as long as it is wanted.
        sim.run_for(3600 * SECOND);
        assert_eq!(sim.client.open_calls(), [listen]);
        sim.client.cancel(listen, "enough");
        sim.settle();
        assert_eq!(sim.client.outcome(listen), Some(&Err(CallError::Cancelled)));
        sim.server.machine().resource_updated("file:///a.txt");
        sim.settle();
        assert_eq!(sim.client.updates(listen).len(), 3, "nothing comes afterwards");
        finish(&mut sim);
    }
}

#[test]
fn a_subscription_that_nobody_acknowledges_times_out() {
    let mut sim = modern_client();
    let listen = sim.client.listen(SubscriptionFilter::new().with_tools_list_changed(true)).unwrap();
    sim.run_for(30 * SECOND);
    assert_eq!(sim.client.outcome(listen), Some(&Err(CallError::TimedOut { after: 30 * SECOND })));
    finish(&mut sim);
}

#[test]
fn a_legacy_subscription_says_how_much_of_it_is_honoured() {
    let mut sim = legacy_client("2025-11-25");
    let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_prompts_list_changed(true);
    let listen = sim.client.listen(filter).unwrap();
    sim.settle();
    assert_eq!(sim.client.updates(listen), [r#"subscribed to {"toolsListChanged":true}"#], "it has no prompts");
    finish(&mut sim);
}

#[test]
fn a_legacy_server_refuses_one_of_several_resources() {
    let mut sim = legacy_client("2025-11-25");
    let uris = vec!["file:///a".to_owned(), "file:///b".to_owned()];
    let listen = sim.client.listen(SubscriptionFilter::new().with_resource_subscriptions(uris)).unwrap();
    sim.settle();
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    tell(&mut sim, r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32002,"message":"unknown resource"}}"#);
    assert!(matches!(sim.client.outcome(listen), Some(Err(CallError::Remote(_)))));
    let unsubscribed = sim.server.heard().iter().filter(|line| line.contains("resources/unsubscribe")).count();
    assert!(unsubscribed > 0, "what was subscribed is taken back");
    finish(&mut sim);
}

#[test]
fn a_listing_is_followed_page_by_page() {
    for legacy in [false, true] {
        let (config, era) = if legacy { (legacy_config(), Era::Legacy) } else { (client_config(), Era::Modern) };
        let mut sim = Sim::new(1, NetworkConditions::rough(), config, || {
            let mut config = common::server_config();
            config.page_size = 2;
            common::server_with(config)
        });
        assert!(sim.run_until(|sim| sim.client.peer().is_some()));
        let mut pages = Pages::new(PageLimits::of(&client_config()), era, CallOptions::new(), sim.now());
        let (mut names, mut cursor, mut requests) = (Vec::new(), None, 0);
        loop {
            let call = sim.client.call::<ListTools>(&PaginatedParams::at(cursor)).unwrap();
            assert!(sim.run_until(|sim| sim.client.outcome(call).is_some()));
            let bytes = sim.client.outcome(call).unwrap().as_ref().unwrap().as_str().len();
            let page = sim.client.result::<ListTools>(call).unwrap();
            requests += 1;
            names.extend(page.tools.into_iter().map(|tool| tool.name));
            cursor = pages.next(bytes, page.next_cursor).unwrap();
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((names.len(), requests), (7, 4), "{names:?}");
        finish(&mut sim);
    }
}

#[test]
fn a_listing_whose_cursor_is_not_known_any_more_begins_once_more() {
    let mut pages = Pages::new(PageLimits::of(&client_config()), Era::Modern, CallOptions::new(), Instant::ZERO);
    let unknown = CallError::Remote(RpcError::invalid_params("unknown cursor"));
    assert!(!pages.restarts_after(&unknown), "the first page has no cursor");
    assert_eq!(pages.next(1, Some("a".into())), Ok(Some("a".into())));
    assert!(!pages.restarts_after(&CallError::Remote(RpcError::internal("no"))));
    assert!(!pages.restarts_after(&CallError::Cancelled));
    assert!(pages.restarts_after(&unknown));
    assert_eq!(pages.next(1, Some("a".into())), Ok(Some("a".into())), "the same cursor again is no circle");
    assert!(!pages.restarts_after(&unknown), "once is enough");
}

#[test]
fn a_listing_that_goes_in_circles_or_on_for_ever_is_given_up() {
    let pages = |change: fn(&mut ClientConfig)| {
        let mut config = client_config();
        change(&mut config);
        Pages::new(PageLimits::of(&config), Era::Modern, CallOptions::new(), Instant::ZERO)
    };
    let mut circle = pages(|_| ());
    assert_eq!(circle.next(1, Some(String::new())), Ok(Some(String::new())), "an empty cursor is a cursor");
    assert_eq!(circle.next(1, Some("a".into())), Ok(Some("a".into())));
    assert_eq!(circle.next(1, Some(String::new())), Err(PageError::RepeatedCursor));
    let config = client_config();
    let mut legacy = Pages::new(PageLimits::of(&config), Era::Legacy, CallOptions::new(), Instant::ZERO);
    assert_eq!(legacy.next(1, Some("a".into())), Ok(Some("a".into())));
    assert_eq!(legacy.next(1, Some(String::new())), Ok(None), "legacy servers mean the end by it");
    let mut many = pages(|config| config.limits.pages = 3);
    assert!(many.next(1, Some("1".into())).is_ok());
    assert!(many.next(1, Some("2".into())).is_ok());
    assert_eq!(many.next(1, Some("3".into())), Err(PageError::TooManyPages));
    let mut long = pages(|config| config.limits.listing_bytes = 100);
    assert!(long.next(60, Some("1".into())).is_ok());
    assert!(long.next(40, Some("2".into())).is_ok(), "as much as is allowed");
    assert_eq!(long.next(1, None), Err(PageError::TooManyBytes), "the last page counts too");
}

#[test]
fn all_pages_of_a_listing_have_the_time_of_one_call() {
    let config = client_config();
    let second = Duration::from_secs(1);
    let left = |pages: &Pages, after| pages.options(Instant::ZERO + after).map(|options| options.total_timeout);
    let pages = Pages::new(PageLimits::of(&config), Era::Modern, CallOptions::new(), Instant::ZERO);
    assert_eq!(left(&pages, second), Ok(Some(config.total_timeout - second)));
    assert_eq!(left(&pages, config.total_timeout), Err(PageError::TimedOut { after: config.total_timeout }));

    let hasty = CallOptions::new().total_timeout(10 * second);
    let pages = Pages::new(PageLimits::of(&config), Era::Modern, hasty, Instant::ZERO + 5 * second);
    assert_eq!(left(&pages, 6 * second), Ok(Some(9 * second)));
    assert_eq!(left(&pages, 15 * second), Err(PageError::TimedOut { after: 10 * second }));

    let patient = CallOptions::new().total_timeout(Duration::ZERO);
    let pages = Pages::new(PageLimits::of(&config), Era::Modern, patient, Instant::ZERO);
    assert_eq!(left(&pages, 1000 * config.total_timeout), Ok(Some(Duration::ZERO)));
}

#[test]
fn half_a_surrogate_pair_is_passed_on_where_nobody_reads_it() {
    const CUT_OFF: &str = r#"{"title":"Hi \ud83d","stars":5}"#;
    // To a handler and back; not among what is held against the schemas, whose reader takes no such text.
    let mut sim = windlass_sim::Sim::new(1, NetworkConditions::rough(), client_config(), server);
    assert!(sim.run_until(|sim| sim.client.peer().is_some()));
    let params = CallToolParams::new("echo").with_arguments(Json::parse(CUT_OFF).unwrap());
    let call = sim.client.call::<CallTool>(&params).unwrap();
    assert!(sim.run_until(|sim| sim.client.outcome(call).is_some()));
    assert_eq!(sim.client.result::<CallTool>(call).unwrap().text_content(), CUT_OFF);
    sim.client.close();
    sim.run_until_idle();
    sim.assert_nothing_left();

    // In a result, unless it is where the protocol has text.
    let mut sim = modern_client();
    for (id, content, passes) in [(2, r#""ok""#, true), (3, r#""\ud83d""#, false)] {
        let call = sim.client.call::<CallTool>(&CallToolParams::new("any")).unwrap();
        sim.settle();
        let content = format!(r#"[{{"type":"text","text":{content}}}]"#);
        let result = format!(r#"{{"resultType":"complete","content":{content},"structuredContent":{CUT_OFF}}}"#);
        tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        let outcome = sim.client.outcome(call).unwrap().clone();
        let decoded = windlass::client::decode::<CallTool>(outcome.as_ref().map(Json::as_text).map_err(Clone::clone));
        match decoded {
            Ok(result) => assert_eq!((result.structured_content.unwrap().as_str(), passes), (CUT_OFF, true)),
            Err(error) => assert!(!passes && error.to_string().contains("half a surrogate pair"), "{error}"),
        }
    }
    finish(&mut sim);
}

/// A client that keeps so much, and a server whose answers say how long they may be kept: as many seconds as the name in the
/// request says.
fn keeping(change: fn(&mut ClientConfig)) -> Sim<SimClient, Script> {
    let mut config = client_config();
    change(&mut config);
    let mut sim = modern_client_with(config);
    sim.server.answer_with(|line| {
        let after = |name: &str| line.split(name).nth(1).and_then(|rest| rest.split(['"', ',']).next()).unwrap_or("0");
        let (id, seconds) = (after(r#""id":"#), after("test://"));
        vec![format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","contents":[],"ttlMs":{seconds}000,"cacheScope":"private"}}}}"#
        )]
    });
    sim
}

/// Whether what may be kept for so many seconds is asked for.
fn is_asked_for(sim: &mut Sim<SimClient, Script>, seconds: u32) -> bool {
    let before = sim.server.heard().len();
    sim.client.call::<ReadResource>(&ReadResourceParams::new(format!("test://{seconds}"))).unwrap();
    sim.settle();
    sim.server.heard().len() > before
}

#[test]
fn what_would_be_stale_first_makes_room() {
    const NONE: [u32; 0] = [];
    // Four results, or as many bytes as four take.
    let limits: [fn(&mut ClientConfig); 2] =
        [|config| config.limits.cached_results = 4, |config| config.limits.cached_bytes = 400];
    for change in limits {
        let mut sim = keeping(change);
        let asked = |sim: &mut Sim<SimClient, Script>, kept: &[u32]| {
            kept.iter().copied().filter(|&seconds| is_asked_for(sim, seconds)).collect::<Vec<_>>()
        };
        assert_eq!(asked(&mut sim, &[30, 10, 20, 60]), [30, 10, 20, 60]);
        assert_eq!(asked(&mut sim, &[30, 10, 20, 60]), NONE, "all four are kept");
        assert_eq!(asked(&mut sim, &[40]), [40]);
        assert_eq!(
            asked(&mut sim, &[30, 20, 60, 40]),
            NONE,
            "the one that would be stale first was let go, and no other"
        );
        // What is stale makes room, and nothing else goes.
        sim.run_for(25 * SECOND);
        assert_eq!(asked(&mut sim, &[50]), [50]);
        assert_eq!(asked(&mut sim, &[30, 40, 50, 60]), NONE);
        finish(&mut sim);
    }
}

#[test]
fn a_result_that_would_push_out_most_others_is_not_kept() {
    let mut sim = keeping(|config| config.limits.cached_bytes = 400);
    sim.server.answer_with(|line| {
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        let text = "x".repeat(100);
        vec![format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","contents":[],"x":"{text}","ttlMs":9000}}}}"#
        )]
    });
    assert!(is_asked_for(&mut sim, 9));
    assert!(is_asked_for(&mut sim, 9));
    finish(&mut sim);
}

#[test]
fn an_error_that_sends_the_user_elsewhere_says_where() {
    let mut sim = legacy_client("2025-11-25");
    let elicitation = r#"{"mode":"url","elicitationId":"e1","url":"https://example.com/login","message":"Log in"}"#;
    sim.server.answer_with(move |line| {
        let id = line.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        vec![format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32042,"message":"log in first","data":{{"elicitations":[{elicitation}]}}}}}}"#
        )]
    });
    let call = sim.client.call::<CallTool>(&CallToolParams::new("private")).unwrap();
    sim.settle();
    let Some(Err(CallError::Remote(error))) = sim.client.outcome(call) else { panic!("{}", sim.transcript()) };
    assert_eq!(error.code, windlass::jsonrpc::code::URL_ELICITATION_REQUIRED);
    let wanted: std::collections::BTreeMap<String, Vec<ElicitUrlParams>> =
        error.data.as_ref().unwrap().decode().unwrap();
    let [visit] = &wanted["elicitations"][..] else { panic!("one place to go") };
    assert_eq!((&*visit.url, visit.elicitation_id.as_deref()), ("https://example.com/login", Some("e1")));
    // The server may say when the user has been there; a program that retries is served then.
    tell(
        &mut sim,
        r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}"#,
    );
    assert_eq!(sim.client.counters().malformed, 0);
    finish(&mut sim);
}

#[test]
fn what_the_user_leaves_as_it_is_has_the_defaults_of_the_form() {
    const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"city":{"type":"string","default":"Paris"},"name":{"type":"string"}}}}"#;
    let accept = |request: &InputRequest| {
        assert!(matches!(request, InputRequest::Elicit(_)));
        InputAnswer::Now(Ok(common::accept_name().into()))
    };
    let mut sim = legacy_client("2025-11-25");
    sim.client.on_input(accept);
    tell(&mut sim, &format!(r#"{{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{FORM}}}"#));
    let answered = sim.server.heard().last().unwrap().clone();
    assert!(answered.contains(r#""content":{"city":"Paris","name":"Ada"}"#), "{answered}");
    finish(&mut sim);

    let mut sim = modern_client();
    sim.client.on_input(accept);
    sim.client.call::<CallTool>(&common::tool("ask")).unwrap();
    sim.settle();
    let asked = format!(r#"{{"form":{{"method":"elicitation/create","params":{FORM}}}}}"#);
    tell(
        &mut sim,
        &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"input_required","inputRequests":{asked}}}}}"#),
    );
    let answered = sim.server.heard().last().unwrap().clone();
    assert!(answered.contains(r#""content":{"city":"Paris","name":"Ada"}"#), "{answered}");
    finish(&mut sim);
}
