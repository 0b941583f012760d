//! Servers that want credentials, and programs that have some.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::adapter::{Challenge, HttpTarget};
use super::eras::{ERAS, in_era};
use super::over_http::{every_way, serve};
use crate::porter::Porter;

case!(a_program_is_asked_for_credentials_once, {
    for way in every_way() {
        let (server, target) = serve(way);
        let porter = Porter::before(target.url());
        let asked = Arc::<AtomicUsize>::default();
        let asking = asked.clone();
        let answer = move |challenge: Challenge| {
            asking.fetch_add(1, Ordering::SeqCst);
            let said = &challenge.failure().www_authenticate;
            assert!(said.iter().any(|it| it.contains("porter")), "{said:?}");
            // On a thread of its own, as a program would that has to ask somebody.
            std::thread::spawn(move || challenge.answer([("Authorization", "Bearer right")]).unwrap());
        };
        let builder = in_era(way.negotiation).on_challenge(answer);
        let client = wait!(builder.connect(HttpTarget::new(&porter.url()).unwrap())).unwrap();
        for _ in 0..3 {
            let sum = wait!(client.call_tool("add", json!({"a": 1, "b": 1}))).unwrap();
            assert_eq!(sum.text_content(), "2", "{way:?}");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{way:?}");
        wait!(client.close());
        wait!(server.close()).unwrap();
    }
});

case!(a_program_without_credentials_is_told, {
    for negotiation in ERAS {
        let (server, target) = serve(every_way().next().unwrap());
        let porter = Porter::before(target.url());
        let builders = [in_era(negotiation), in_era(negotiation).on_challenge(drop)];
        for builder in builders {
            let refused = wait!(builder.connect(HttpTarget::new(&porter.url()).unwrap())).err().unwrap();
            let said = refused.to_string();
            assert!(said.contains("401") && said.contains("credentials"), "{said}");
        }
        assert!(porter.refused() >= 2);
        wait!(server.close()).unwrap();
    }
});
