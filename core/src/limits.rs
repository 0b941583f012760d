//! Everything that a peer can grow has a limit. Here are those that hold for a role on any link. What HTTP adds has its limits
//! in `HttpServerConfig` and `HttpClientConfig`; what nobody needs another value for is a constant beside the code it bounds.

/// How much of everything a machine puts up with.
///
/// The defaults suit a desktop program; firmware lowers them, a gateway raises them.
///
/// ```
/// use windlass::Limits;
///
/// let mut limits = Limits::default();
/// limits.message_bytes = 64 * 1024;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message. 16 MiB carries a large image in base64; more belongs into a resource link.
    pub message_bytes: usize,
    /// Levels of nesting in one message. serde_json itself stops at 128, so deeper messages could not be decoded anyway.
    pub nesting: usize,
    /// Values in one message: numbers, strings, objects, arrays. A tree of a quarter of a million takes up to 80 MB, where the
    /// text took 1; a table of that size has 25,000 rows of ten columns. Beyond it the message is refused unread.
    pub message_values: usize,
    /// Entries of one batch (only revisions before 2025-06-18 have batches). No peer is known to send more than a few.
    pub batch_entries: usize,
    /// Our own calls that wait for an answer. Beyond it new calls are refused, so a silent peer costs bounded memory.
    pub pending_calls: usize,
    /// The peer's requests that we have not answered. Beyond it requests are answered with an error at once.
    pub incoming_requests: usize,
    /// Bytes queued for writing above which new calls are refused. It holds 64 calls of 256 KiB with room to spare.
    pub outbox_soft_bytes: usize,
    /// Bytes queued for writing above which the connection is closed: the peer has stopped reading.
    pub outbox_hard_bytes: usize,
    /// Rounds of `input_required` for one call. Ten is what other implementations allow; a form takes one or two.
    pub input_rounds: u32,
    /// Requests for input in one round.
    pub input_requests: usize,
    /// Open `subscriptions/listen` requests, and resources subscribed by one legacy client.
    pub subscriptions: usize,
    /// Pages that a listing of everything follows. With the usual 50 entries a page this is far beyond real servers.
    pub pages: usize,
    /// Bytes of all pages together that a listing of everything follows, as they came. A thousand tools with schemas of
    /// 16 KB each; more would fill the memory of a program, and no model could read it.
    pub listing_bytes: usize,
    /// States of calls between two rounds that a server remembers as used, where each may be used once. 65,536 in ten minutes
    /// are a hundred rounds a second, and take 4 MB; beyond it rounds are refused.
    pub used_states: u32,
    /// Results in the cache.
    pub cached_results: usize,
    /// Bytes of results in the cache.
    pub cached_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 16 * 1024 * 1024,
            nesting: 128,
            message_values: 250_000,
            batch_entries: 128,
            pending_calls: 4096,
            incoming_requests: 1024,
            outbox_soft_bytes: 32 * 1024 * 1024,
            outbox_hard_bytes: 64 * 1024 * 1024,
            input_rounds: 10,
            input_requests: 32,
            subscriptions: 256,
            pages: 1000,
            listing_bytes: 16 * 1024 * 1024,
            used_states: 65_536,
            cached_results: 256,
            cached_bytes: 4 * 1024 * 1024,
        }
    }
}
