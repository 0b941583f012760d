//! Whoever watches is told by both sides, over standard input and output and over HTTP.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass::{Finished, Observation, Observer, SessionId};

use super::adapter::client::Negotiation;
use super::adapter::{HttpListener, HttpServerConfig, HttpTarget};
use super::eras::{ERAS, in_era};
use super::{OWN_SERVER, served};
use crate::peers::server;

/// Takes note of what is opened, closed and over.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn observe(&self, observation: &Observation<'_>) {
        let line = match observation {
            Observation::Opened(_) => "opened".into(),
            Observation::Closed(_) => "closed".into(),
            Observation::Finished(Finished { method, name: Some(name), session, outcome, .. }) => {
                assert!(session.is_none_or(|id| id.as_str().len() > 20), "{session:?}");
                format!("{method} {name}: {outcome:?}, in a session: {}", session.map(SessionId::as_str).is_some())
            }
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

case!(a_client_that_is_watched_tells_what_happens_between_its_opening_and_its_closing, {
    for negotiation in ERAS {
        let notes = Arc::new(Notes::default());
        let client = wait!(in_era(negotiation).observer(notes.clone()).connect(server(OWN_SERVER))).unwrap();
        wait!(client.call_tool("add", json!({"a": 40, "b": 2}))).unwrap();
        wait!(client.read_resource("test://nobody:secret@number/7?key=secret")).unwrap_err();
        wait!(client.close());
        let told = notes.take();
        assert_eq!((&*told[0], &*told[1]), ("opened", "tools/call add: Result, in a session: false"), "{told:?}");
        assert!(told[2].starts_with("resources/read test://…@number/7?key=…: Error("), "{told:?}");
        assert_eq!(told[3..], ["closed"], "{told:?}");
    }
});

case!(both_sides_over_http_tell_the_same_of_a_call, {
    for negotiation in ERAS {
        let [ours, theirs] = [(); 2].map(|()| Arc::new(Notes::default()));
        let listener = HttpListener::bind("127.0.0.1:0").unwrap();
        let target = HttpTarget::new(&listener.url("/mcp")).unwrap();
        let config = HttpServerConfig::on_loopback();
        let watched = served::start_by(|builder| builder.http(config).observer(theirs.clone()).start_http(listener)).unwrap();
        let client = wait!(in_era(negotiation).observer(ours.clone()).connect(target)).unwrap();
        wait!(client.call_tool("add", json!({"a": 40, "b": 2}))).unwrap();
        wait!(client.close());
        wait!(watched.close()).unwrap();
        let legacy = negotiation == Negotiation::Legacy;
        for told in [ours.take(), theirs.take()] {
            assert_eq!(told[0], "opened");
            assert!(told.contains(&format!("tools/call add: Result, in a session: {legacy}")), "{told:?}");
            assert_eq!(told.last().map(String::as_str), Some("closed"), "{told:?}");
        }
    }
});
