//! Servers that are restarted, over HTTP: what is safe to repeat is repeated, whatever the server speaks now.

use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::model::Era;
use super::adapter::{CallError, Error, HttpTarget};
use super::eras::in_era;
use crate::changing_server::ChangingServer;

fn era(modern: bool) -> Era {
    if modern { Era::Modern } else { Era::Legacy }
}

case!(a_server_that_is_restarted_in_any_era_is_followed, {
    for first in [true, false] {
        let server = ChangingServer::start(first);
        let target = HttpTarget::new(&server.url()).unwrap();
        let client = wait!(in_era(Negotiation::Automatic).connect(target)).unwrap();
        assert_eq!(client.peer().version.era(), era(first));
        assert_eq!(wait!(client.list_tools()).unwrap().len(), 2);
        // The same era, the other, back, the other, and that again.
        for modern in [first, !first, first, !first, !first] {
            server.restart(modern);
            assert_eq!(wait!(client.call_tool("look", json!({}))).unwrap().text_content(), "look");
            assert_eq!(client.peer().version.era(), era(modern));
            assert_eq!(wait!(client.call_tool("act", json!({}))).unwrap().text_content(), "act");
        }
        assert_eq!(server.acts(), 5);
        // What is not safe to repeat is not repeated.
        server.restart(first);
        let lost = wait!(client.call_tool("act", json!({})));
        assert!(matches!(lost, Err(Error::Call(CallError::SessionLost))), "{lost:?}");
        assert_eq!(server.acts(), 5, "nothing is done twice");
        assert_eq!(wait!(client.call_tool("act", json!({}))).unwrap().text_content(), "act");
        assert_eq!(client.peer().version.era(), era(first));
        wait!(client.close());
    }
});
