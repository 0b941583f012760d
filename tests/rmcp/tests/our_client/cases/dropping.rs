//! A call whose future is dropped is cancelled on the server.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use serde_json::json;

use super::adapter::Client;
use crate::peer::{ERAS, rmcp_server};

/// Polls a future once, and says whether it is still pending.
async fn is_pending(mut future: Pin<&mut impl Future>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

case!(a_call_whose_future_is_dropped_is_cancelled_on_the_server, {
    for negotiation in ERAS {
        let client = Client::builder("dropper", "1.0").negotiation(negotiation).connect(rmcp_server()).await.unwrap();
        let counted = async |counts: &str| {
            while !client.call_tool("counts", json!({})).await.unwrap().text_content().starts_with(counts) {}
        };
        {
            let mut calls: Vec<_> = (0..3).map(|_| Box::pin(client.call_tool("never", json!({})))).collect();
            for call in &mut calls {
                assert!(is_pending(call.as_mut()).await);
            }
            counted("started 3, cancelled 0").await;
        }
        counted("started 3, cancelled 3").await;
        client.close().await;
    }
});
