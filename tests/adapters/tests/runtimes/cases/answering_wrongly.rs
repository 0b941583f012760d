//! Servers whose answers are not what they should be. Nobody gets an answer that is not theirs, whoever waits for one
//! that cannot be read is told at once, and the connection goes on.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::adapter::client::PageError;
use super::adapter::{CallError, Client, Error};
use crate::peers::scripted;

/// Far less than a call waits for its answer.
const AT_ONCE: Duration = Duration::from_secs(5);

case!(answers_to_nobody_are_ignored_and_the_right_one_is_found, {
    for (fault, malformed) in [("unknown_ids", 0), ("null_ids", 1), ("string_ids", 0), ("answers_twice", 0)] {
        let skipped = Arc::new(Mutex::new(Vec::new()));
        let skipping = skipped.clone();
        let builder = Client::builder("asker", "1.0");
        let builder = builder.on_malformed(move |detail| skipping.lock().unwrap().push(detail));
        let client = wait!(builder.connect(scripted(fault))).unwrap();
        for number in 0..20 {
            let text = format!("answer {number}");
            let echoed = wait!(client.call_tool("echo", json!({ "text": text }))).unwrap();
            assert_eq!(echoed.text_content(), text, "{fault}");
        }
        wait!(client.ping()).unwrap();
        // A result that names no call is no message; an error without an id may be.
        assert_eq!(skipped.lock().unwrap().len(), 20 * malformed, "{fault}: {skipped:?}");
        wait!(client.close());
    }
});

case!(answers_after_a_cancellation_complete_nothing, {
    let client = wait!(Client::connect(scripted("answers_after_cancel"))).unwrap();
    let impatient = client.with_idle_timeout(Duration::from_millis(20));
    for _ in 0..5 {
        let outcome = wait!(impatient.call_tool("echo", json!({"text": "in time"})));
        assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
        // The answer to the call before comes before the answer to this.
        wait!(client.ping()).unwrap();
    }
    wait!(client.close());
});

case!(a_listing_without_end_is_given_up, {
    let builder = Client::builder("asker", "1.0").configure(|config| config.limits.listing_bytes = 10_000_000);
    let client = wait!(builder.connect(scripted("endless_pages=1000000"))).unwrap();
    assert_eq!(wait!(client.list_tools()), Err(Error::Pages(PageError::TooManyBytes)));
    assert_eq!(wait!(client.list_tools_page(None)).unwrap().next_cursor.as_deref(), Some("1"), "page by page there is no end");
    wait!(client.close());
});

case!(all_pages_of_a_listing_together_have_the_time_of_one_call, {
    let client = wait!(Client::connect(scripted("slow_pages=20"))).unwrap();
    let hasty = client.with_total_timeout(Duration::from_millis(500));
    // Each page alone comes in time.
    let outcome = wait!(hasty.list_tools());
    let timed_out = matches!(
        outcome,
        Err(Error::Call(CallError::TimedOut { .. }) | Error::Pages(PageError::TimedOut { .. }))
    );
    assert!(timed_out, "{outcome:?}");
    assert_eq!(wait!(client.list_tools_page(None)).unwrap().tools.len(), 1);
    wait!(client.close());
});

case!(an_answer_that_cannot_be_read_fails_its_call_at_once_and_nothing_else, {
    for (fault, reason, is_message) in [
        ("member_twice", "twice", false),
        ("nesting=10000", "nested too deeply", false),
        ("lone_surrogate", "content[0]: text: a string has half a surrogate pair", true),
    ] {
        let skipped = Arc::new(Mutex::new(Vec::new()));
        let skipping = skipped.clone();
        let builder = Client::builder("asker", "1.0");
        let builder = builder.on_malformed(move |detail| skipping.lock().unwrap().push(detail));
        let client = wait!(builder.connect(scripted(fault))).unwrap();
        for _ in 0..5 {
            let started = Instant::now();
            let outcome = wait!(client.call_tool("echo", json!({"text": "?"})));
            assert!(started.elapsed() < AT_ONCE, "{fault} took {:?}", started.elapsed());
            match outcome {
                Err(Error::Call(CallError::InvalidResponse(detail))) => assert!(detail.contains(reason), "{detail}"),
                other => panic!("{fault}: {other:?}"),
            }
            wait!(client.ping()).unwrap();
        }
        assert_eq!(skipped.lock().unwrap().len(), if is_message { 0 } else { 5 }, "{fault}: {skipped:?}");
        wait!(client.close());
    }
});
