//! Handshakes: how a talk gets to where a test begins.

use windlass::client::{ClientConfig, Negotiation};
use windlass::link::http::HttpClientConfig;

use crate::talk::{DISCOVERED, Request, Talk, config, http, initialize_result, without_listener};

impl Talk {
    /// A modern client that is ready, against a server with tools, resources and prompts.
    pub(crate) fn modern() -> Self {
        Self::modern_with(config(), http())
    }

    pub(crate) fn modern_with(config: ClientConfig, http: HttpClientConfig) -> Self {
        let mut talk = Self::new(config, http);
        let probe = talk.request();
        talk.json(&probe, 200, &probe.result(DISCOVERED));
        assert!(talk.client.peer().is_some(), "{}", talk.transcript);
        talk
    }

    /// A legacy client that is ready, without a listening stream.
    pub(crate) fn legacy() -> Self {
        Self::legacy_with(config(), without_listener(), "2025-11-25", Some("s1"))
    }

    pub(crate) fn legacy_with(
        config: ClientConfig,
        http: HttpClientConfig,
        version: &str,
        session: Option<&str>,
    ) -> Self {
        let listen = http.listen;
        let (mut talk, initialize) = Self::at_initialize(config, http);
        talk.initialized(&initialize, version, session);
        if listen {
            let get = talk.request();
            assert_eq!(get.head.method, "GET");
            talk.plain(&get, 405, "");
        }
        talk.announced();
        talk
    }

    /// A legacy client that has asked for a session.
    pub(crate) fn at_initialize(mut config: ClientConfig, http: HttpClientConfig) -> (Self, Request) {
        config.negotiation = Negotiation::Legacy;
        let mut talk = Self::new(config, http);
        let initialize = talk.request();
        assert_eq!(initialize.says(), "initialize", "{}", talk.transcript);
        (talk, initialize)
    }

    /// A legacy client that wants to listen, and says nothing else before it knows whether it can.
    pub(crate) fn at_the_listener(
        config: ClientConfig,
        http: HttpClientConfig,
        session: Option<&str>,
    ) -> (Self, Request) {
        let (mut talk, initialize) = Self::at_initialize(config, http);
        talk.initialized(&initialize, "2025-11-25", session);
        let get = talk.request();
        assert_eq!((get.head.method.as_str(), get.header("accept")), ("GET", Some("text/event-stream")));
        assert_eq!((get.header("mcp-session-id"), get.header("last-event-id")), (session, None));
        talk.no_request();
        (talk, get)
    }

    /// A legacy client that has told the server that the session may begin, and does not listen.
    pub(crate) fn at_the_announcement(session: Option<&str>) -> (Self, Request) {
        let (mut talk, initialize) = Self::at_initialize(config(), without_listener());
        talk.initialized(&initialize, "2025-11-25", session);
        let announcement = talk.announcement();
        talk.no_request();
        (talk, announcement)
    }

    /// A client that has tried everything but the oldest transport.
    pub(crate) fn at_the_oldest(config: ClientConfig) -> (Self, Request) {
        let mut talk = Self::new(config, http());
        let probe = talk.request();
        talk.plain(&probe, 404, "");
        let initialize = talk.request();
        talk.plain(&initialize, 405, "");
        let get = talk.request();
        assert_eq!((get.head.method.as_str(), get.header("accept")), ("GET", Some("text/event-stream")));
        (talk, get)
    }

    /// The client asks once more what the server speaks: nothing has changed.
    #[track_caller]
    pub(crate) fn still_modern(&mut self) {
        let probe = self.request_for("server/discover");
        self.json(&probe, 200, &probe.result(DISCOVERED));
    }

    /// Answers `initialize`.
    #[track_caller]
    pub(crate) fn initialized(&mut self, initialize: &Request, version: &str, session: Option<&str>) {
        let body = initialize.result(&initialize_result(version));
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        self.say(initialize, 200, &format!("Content-Type: application/json\r\n{session}"), Some(&body));
    }

    /// The next request, which tells the server that the session may begin.
    #[track_caller]
    pub(crate) fn announcement(&mut self) -> Request {
        let announcement = self.request();
        assert_eq!(announcement.says(), "notifications/initialized", "{}", self.transcript);
        announcement
    }

    /// Takes that request.
    #[track_caller]
    pub(crate) fn announced(&mut self) {
        let announcement = self.announcement();
        self.plain(&announcement, 202, "");
    }

    /// A session is asked for and begins, without a listener.
    #[track_caller]
    pub(crate) fn begins(&mut self, version: &str, session: Option<&str>) {
        let initialize = self.request_for("initialize");
        assert_eq!((initialize.header("mcp-protocol-version"), initialize.header("mcp-session-id")), (None, None));
        self.initialized(&initialize, version, session);
        let announcement = self.announcement();
        assert_eq!(announcement.header("mcp-session-id"), session);
        self.plain(&announcement, 202, "");
    }

    /// A conversation over the oldest transport begins, on the stream that `get` has opened.
    #[track_caller]
    pub(crate) fn begins_at_the_oldest(&mut self, get: &Request, endpoint: &str) {
        self.lines(get, &format!("event: endpoint\ndata: {endpoint}\n\n"));
        let initialize = self.request_for("initialize");
        self.plain(&initialize, 202, "");
        self.event(get, &initialize.result(&initialize_result("2024-11-05")));
        self.announced();
    }
}
