//! A call that is given up is given up on the other side too.

use std::time::Duration;

use serde_json::json;

use super::OWN_SERVER;
use super::adapter::{CallError, Canceller, Client, Error};
use super::eras::{ERAS, in_era};
use super::listening::tools_and_item;
use super::over_http::{every_way, serve};
use crate::peers::{PARTIES, server};

case!(a_call_that_times_out_cancels_its_handler_on_every_server, {
    for party in PARTIES {
        for negotiation in ERAS {
            let client = wait!(in_era(negotiation).connect(server(party))).unwrap();
            let outcome = wait!(client.with_idle_timeout(Duration::from_millis(50)).call_tool("never", json!({})));
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            // The message overtakes nothing, but the handler needs a moment to see it.
            while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
            wait!(client.close());
        }
    }
});

case!(closing_completes_what_is_open, {
    let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
    let waiting = client.clone();
    let open = start!({ wait!(waiting.call_tool("never", json!({}))) });
    while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 0" {}
    wait!(client.close());
    let outcome = join!(open);
    assert!(matches!(outcome, Err(Error::Call(CallError::Closed(_)))), "{outcome:?}");
});

case!(a_canceller_gives_calls_up_from_elsewhere_on_every_server, {
    for party in PARTIES {
        for negotiation in ERAS {
            let client = wait!(in_era(negotiation).connect(server(party))).unwrap();
            let canceller = Canceller::new();
            let open: Vec<_> = (0..3)
                .map(|_| {
                    let client = client.with_cancel(&canceller).with_idle_timeout(Duration::ZERO);
                    start!({ wait!(client.call_tool("never", json!({}))) })
                })
                .collect();
            while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "3 0" {}
            assert!(!canceller.is_cancelled());
            canceller.cancel();
            for call in open {
                assert_eq!(join!(call), Err(Error::Call(CallError::Cancelled)));
            }
            while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "3 3" {}
            // What comes later is not even sent.
            let late = wait!(client.with_cancel(&canceller).call_tool("never", json!({})));
            assert_eq!(late, Err(Error::Call(CallError::Cancelled)));
            assert_eq!(wait!(client.call_tool("counts", json!({}))).unwrap().text_content(), "3 3");
            wait!(client.close());
        }
    }
});

case!(a_canceller_gives_up_calls_over_http, {
    for way in every_way() {
        let (server, target) = serve(way);
        let client = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let canceller = Canceller::new();
        let calling = client.with_cancel(&canceller);
        let open = start!({ wait!(calling.call_tool("never", json!({}))) });
        while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 0" {}
        canceller.cancel();
        assert_eq!(join!(open), Err(Error::Call(CallError::Cancelled)));
        while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(a_server_hears_that_a_call_is_off_while_its_client_idles, {
    for way in every_way() {
        let (server, target) = serve(way);
        let idle = wait!(in_era(way.negotiation).connect(target.clone())).unwrap();
        let other = wait!(in_era(way.negotiation).connect(target)).unwrap();
        let outcome = wait!(idle.with_idle_timeout(Duration::from_millis(50)).call_tool("never", json!({})));
        assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
        // Whoever has no thread of its own is driven by its calls alone, and makes none.
        while wait!(other.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
        wait!(idle.close());
        wait!(other.close());
        wait!(server.close()).unwrap();
    }
});

case!(the_only_caller_is_cancelled_by_a_thread_and_by_its_own_callback, {
    for in_callback in [false, true] {
        let client = wait!(Client::connect(server(OWN_SERVER))).unwrap();
        let canceller = Canceller::new();
        let (tell, told) = std::sync::mpsc::channel();
        let own = canceller.clone();
        let calling = client.with_cancel(&canceller).with_idle_timeout(Duration::ZERO).on_progress(move |_| {
            if in_callback {
                own.cancel();
            }
            tell.send(()).unwrap();
        });
        let thread = std::thread::spawn(move || {
            told.recv().unwrap();
            canceller.cancel();
        });
        let outcome = wait!(calling.call_tool("never", json!({})));
        assert_eq!(outcome, Err(Error::Call(CallError::Cancelled)));
        thread.join().unwrap();
        while wait!(client.call_tool("counts", json!({}))).unwrap().text_content() != "1 1" {}
        wait!(client.close());
    }
});

case!(a_subscription_is_cancelled_from_elsewhere, {
    for negotiation in ERAS {
        let client = wait!(in_era(negotiation).connect(server(OWN_SERVER))).unwrap();
        let canceller = Canceller::new();
        let mut subscription = wait!(client.with_cancel(&canceller).listen(tools_and_item())).unwrap();
        let waiting = start!({
            let told = wait!(subscription.next());
            (told, subscription.ended())
        });
        canceller.cancel();
        assert_eq!(join!(waiting), (None, Some(Err(Error::Call(CallError::Cancelled)))));
        wait!(client.ping()).unwrap();
        wait!(client.close());
    }
});
