//! What one peer sends and the other one sees. Refusals and random exchanges have files of their own.

mod exchange;
mod refusals;

use alloc::string::String;
use alloc::vec::Vec;

use super::*;

/// Frames as a person reads them: pieces of a body are joined, and a fault is the last.
#[derive(Clone, Debug, PartialEq)]
enum Seen<Head> {
    Head(Head),
    Body(Vec<u8>),
    End,
    Fault(HttpFault),
}

type Found<Head> = Result<(usize, Option<Frame<Head>>), HttpFault>;

/// What both decoders have in common.
trait Decode {
    type Head: Clone + core::fmt::Debug + PartialEq;
    fn next(&mut self, unread: &[u8]) -> Found<Self::Head>;
    fn finish(&mut self) -> Result<Option<Frame<Self::Head>>, HttpFault>;
}

impl Decode for RequestDecoder {
    type Head = RequestHead;
    fn next(&mut self, unread: &[u8]) -> Found<RequestHead> {
        self.next(unread)
    }
    fn finish(&mut self) -> Result<Option<Frame<RequestHead>>, HttpFault> {
        self.finish()
    }
}

impl Decode for ResponseDecoder {
    type Head = ResponseHead;
    fn next(&mut self, unread: &[u8]) -> Found<ResponseHead> {
        self.next(unread)
    }
    fn finish(&mut self) -> Result<Option<Frame<ResponseHead>>, HttpFault> {
        self.finish()
    }
}

/// Feeds `chunks` one after the other, as a link does, then the end of the connection.
fn decode<'a, D: Decode>(decoder: &mut D, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen<D::Head>> {
    let mut seen = Vec::new();
    let mut unread = Vec::new();
    for chunk in chunks {
        unread.extend_from_slice(chunk);
        loop {
            match decoder.next(&unread) {
                Ok((consumed, frame)) => {
                    let done = frame.is_none();
                    frame.into_iter().for_each(|frame| see(&mut seen, frame, &unread));
                    unread.drain(..consumed);
                    if done {
                        break;
                    }
                }
                Err(fault) => {
                    assert_eq!(decoder.next(&unread), Err(fault), "a fault is latched");
                    assert_eq!(decoder.finish(), Err(fault), "a fault is latched");
                    seen.push(Seen::Fault(fault));
                    return seen;
                }
            }
        }
    }
    loop {
        match decoder.finish() {
            Ok(Some(frame)) => see(&mut seen, frame, &unread),
            Ok(None) => break,
            Err(fault) => {
                seen.push(Seen::Fault(fault));
                break;
            }
        }
    }
    seen
}

fn see<Head>(seen: &mut Vec<Seen<Head>>, frame: Frame<Head>, unread: &[u8]) {
    match (frame, seen.last_mut()) {
        (Frame::Head(head), _) => seen.push(Seen::Head(head)),
        (Frame::Body(range), Some(Seen::Body(body))) => body.extend_from_slice(&unread[range]),
        (Frame::Body(range), _) => seen.push(Seen::Body(unread[range].to_vec())),
        (Frame::End, _) => seen.push(Seen::End),
    }
}

/// The same bytes whole and byte by byte, which must make no difference.
fn requests_within(bounds: Bounds, input: &[u8]) -> Vec<Seen<RequestHead>> {
    let whole = decode(&mut RequestDecoder::new(bounds), [input]);
    let bytewise = decode(&mut RequestDecoder::new(bounds), input.chunks(1));
    assert_eq!(whole, bytewise, "{}", String::from_utf8_lossy(input));
    whole
}

/// What is seen of `input`, also cut in two anywhere.
fn requests(input: &str) -> Vec<Seen<RequestHead>> {
    let whole = requests_within(Bounds::default(), input.as_bytes());
    for at in 0..input.len() {
        let (first, second) = input.as_bytes().split_at(at);
        let cut = decode(&mut RequestDecoder::new(Bounds::default()), [first, second]);
        assert_eq!(whole, cut, "{input:?} cut at {at}");
    }
    whole
}

fn response_decoder(bounds: Bounds, methods: &[&str]) -> ResponseDecoder {
    let mut decoder = ResponseDecoder::new(bounds);
    methods.iter().for_each(|method| decoder.expect(method));
    decoder
}

fn responses_within(bounds: Bounds, methods: &[&str], input: &[u8]) -> Vec<Seen<ResponseHead>> {
    let whole = decode(&mut response_decoder(bounds, methods), [input]);
    let bytewise = decode(&mut response_decoder(bounds, methods), input.chunks(1));
    assert_eq!(whole, bytewise, "{}", String::from_utf8_lossy(input));
    whole
}

/// What is seen of `input`, also cut in two anywhere.
fn responses(methods: &[&str], input: &str) -> Vec<Seen<ResponseHead>> {
    let whole = responses_within(Bounds::default(), methods, input.as_bytes());
    for at in 0..input.len() {
        let (first, second) = input.as_bytes().split_at(at);
        let cut = decode(&mut response_decoder(Bounds::default(), methods), [first, second]);
        assert_eq!(whole, cut, "{input:?} cut at {at}");
    }
    whole
}

/// Each message in a line: what was asked for or answered, the body, and how it ended.
fn summary<Head>(seen: &[Seen<Head>], name: impl Fn(&Head) -> String) -> String {
    let words: Vec<String> = seen
        .iter()
        .map(|seen| match seen {
            Seen::Head(head) => name(head),
            Seen::Body(body) => String::from_utf8_lossy(body).into_owned(),
            Seen::End => ".".into(),
            Seen::Fault(fault) => alloc::format!("{fault:?}"),
        })
        .collect();
    words.join(" ")
}

fn asked(input: &str) -> String {
    summary(&requests(input), |head| alloc::format!("{} {}", head.method, head.target))
}

fn answered(methods: &[&str], input: &str) -> String {
    summary(&responses(methods, input), |head| alloc::format!("{}", head.status))
}

#[test]
fn requests_follow_each_other() {
    let input = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello\
                 \r\nGET /b?c HTTP/1.1\r\nhost: h\r\n\r\n\
                 POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n\
                 3;name=\"v\"\r\nabc\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\nOther:\r\n\r\n\
                 \r\n\r\nDELETE /e HTTP/1.0\r\n\r\nignored";
    assert_eq!(asked(input), "POST /a hello . GET /b?c . POST /d abc0123456789 . DELETE /e .");
}

#[test]
fn what_a_request_says() {
    let input = "POST /x HTTP/1.1\r\nHost: [::1]:80\r\nX-Empty:\r\nX:  a\tb \t\r\nExpect: 100-Continue\r\n\
                 Content-Length: 0\r\nName: \u{e9}\r\n\r\n";
    let Seen::Head(head) = &requests(input)[0] else { panic!("a head") };
    assert_eq!((head.version, head.framing), (Version::Http11, Framing::Length(0)));
    assert_eq!(head.headers.get("x"), Some("a\tb"));
    assert_eq!(head.headers.get("x-empty"), Some(""));
    assert_eq!(head.headers.get("name"), Some("\u{e9}"));
    assert!(head.expects_continue());

    let latin = b"GET / HTTP/1.1\r\nHost: h\r\nName: \xe9\r\nExpect: 100-continue\r\n\r\n";
    let seen = requests_within(Bounds::default(), latin);
    let Seen::Head(head) = &seen[0] else { panic!("a head") };
    assert_eq!(head.headers.get("name"), Some("\u{fffd}"));
    assert!(!head.expects_continue(), "there is no body to wait with");
}

#[test]
fn who_keeps_the_connection() {
    for (line, keeps) in [
        ("HTTP/1.1\r\n", true),
        ("HTTP/1.1\r\nConnection: close\r\n", false),
        ("HTTP/1.1\r\nConnection: x, Close\r\n", false),
        ("HTTP/1.1\r\nConnection: x\r\nConnection: close\r\n", false),
        ("HTTP/1.1\r\nConnection: closed\r\n", true),
        ("HTTP/1.0\r\n", false),
        ("HTTP/1.0\r\nConnection: Keep-Alive\r\n", true),
        ("HTTP/1.0\r\nConnection: keep-alive, close\r\n", false),
    ] {
        let input = alloc::format!("GET /a {line}Host: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
        let expected = if keeps { "GET /a . GET /b ." } else { "GET /a ." };
        assert_eq!(asked(&input), expected, "{line}");

        let (version, headers) = line.split_once("\r\n").unwrap();
        let mut decoder = ResponseDecoder::new(Bounds::default());
        decoder.expect("GET");
        let input = alloc::format!("{version} 200 OK\r\n{headers}Content-Length: 0\r\n\r\n");
        let (consumed, _) = decoder.next(input.as_bytes()).unwrap();
        assert_eq!(consumed, input.len());
        assert_eq!(decoder.next(b""), Ok((0, Some(Frame::End))));
        assert_eq!(decoder.keep_alive(), keeps, "{line}");
    }
}

#[test]
fn responses_have_bodies_or_not() {
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(answered(&["GET"], &alloc::format!("{length}ok")), "200 ok .");
    assert_eq!(answered(&["HEAD", "GET"], &alloc::format!("{length}{length}ok")), "200 . 200 ok .");
    let none = "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304\r\nContent-Length: 7\r\n\r\n";
    assert_eq!(answered(&["GET", "GET", "GET"], &alloc::format!("{none}{length}ok")), "204 . 304 . 200 ok .");
    let chunked = "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    assert_eq!(answered(&["GET", "GET"], &alloc::format!("{chunked}{chunked}")), "200 ok . 200 ok .");
    assert_eq!(answered(&["GET"], "HTTP/1.1 200 OK\r\n\r\nuntil the end"), "200 until the end .");
    assert_eq!(answered(&["GET"], "HTTP/1.0 200 OK\r\n\r\n"), "200 .");
    assert_eq!(answered(&["GET"], "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nxjunk"), "200 x .");
}

#[test]
fn interim_responses_are_read_over() {
    let input = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                 HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answered(&["POST"], input), "202 .");
    assert_eq!(answered(&["POST"], "HTTP/1.1 100 Continue\r\n\r\n"), "Truncated");
}

#[test]
fn another_protocol_is_left_alone() {
    for (method, head) in [("GET", "HTTP/1.1 101 Switching Protocols\r\n\r\n"), ("CONNECT", "HTTP/1.1 200 OK\r\n\r\n")]
    {
        let mut decoder = ResponseDecoder::new(Bounds::default());
        decoder.expect(method);
        let input = alloc::format!("{head}tunnelled");
        let (consumed, frame) = decoder.next(input.as_bytes()).unwrap();
        assert!(matches!(frame, Some(Frame::Head(_))));
        assert_eq!(&input[consumed..], "tunnelled");
        assert_eq!(decoder.next(b"tunnelled"), Ok((0, None)));
        assert!(decoder.is_upgraded() && !decoder.keep_alive());
        assert_eq!(decoder.finish(), Ok(None));
    }
    assert_eq!(answered(&["CONNECT"], "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"), "403 no .");
}

#[test]
fn what_the_end_of_the_connection_means() {
    let head = "POST / HTTP/1.1\r\nHost: h\r\n";
    assert_eq!(asked(""), "");
    assert_eq!(asked("\r\n"), "");
    assert_eq!(asked("G"), "Truncated");
    assert_eq!(asked(head), "Truncated");
    assert_eq!(asked(&alloc::format!("{head}Content-Length: 3\r\n\r\nab")), "POST / ab Truncated");
    assert_eq!(
        asked(&alloc::format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n")),
        "POST / ab Truncated"
    );
    assert_eq!(answered(&[], ""), "");
    assert_eq!(answered(&["GET"], ""), "Unanswered");
    assert_eq!(answered(&["GET"], "HTTP/1.1 200 OK\r\n"), "Truncated");
    let last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answered(&["GET", "GET"], last), "200 . Unanswered");
    assert_eq!(answered(&[], "HTTP/1.1 408 Request Timeout\r\n\r\n"), "Unsolicited");
    assert_eq!(answered(&["HEAD"], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"), "200 . Unsolicited");
}

#[test]
fn no_byte_of_a_body_waits() {
    // Whatever is fed of a body is consumed at once, so that no byte of it can be looked at again.
    let mut decoder = RequestDecoder::new(Bounds::default());
    let head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(decoder.next(head).unwrap().0, head.len());
    for byte in b"1;x=y\r\na\r\n0\r\nA: b\r\n\r\n" {
        assert_eq!(decoder.next(&[*byte]).unwrap().0, 1);
    }
    assert_eq!(decoder.next(b"").unwrap(), (0, None));
}

#[test]
fn every_status_in_common_use_has_words_of_its_own() {
    let known = [
        (100, "Continue"),
        (101, "Switching Protocols"),
        (200, "OK"),
        (201, "Created"),
        (202, "Accepted"),
        (204, "No Content"),
        (301, "Moved Permanently"),
        (302, "Found"),
        (303, "See Other"),
        (304, "Not Modified"),
        (307, "Temporary Redirect"),
        (308, "Permanent Redirect"),
        (400, "Bad Request"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (406, "Not Acceptable"),
        (408, "Request Timeout"),
        (409, "Conflict"),
        (411, "Length Required"),
        (413, "Content Too Large"),
        (414, "URI Too Long"),
        (415, "Unsupported Media Type"),
        (417, "Expectation Failed"),
        (421, "Misdirected Request"),
        (422, "Unprocessable Content"),
        (426, "Upgrade Required"),
        (429, "Too Many Requests"),
        (431, "Request Header Fields Too Large"),
        (500, "Internal Server Error"),
        (501, "Not Implemented"),
        (502, "Bad Gateway"),
        (503, "Service Unavailable"),
        (504, "Gateway Timeout"),
        (505, "HTTP Version Not Supported"),
    ];
    let said: Vec<_> =
        (0..1000).map(|status| (status, reason_phrase(status))).filter(|(_, words)| !words.is_empty()).collect();
    assert_eq!(said, known);
}

#[test]
fn names_of_headers_may_be_as_long_as_a_head() {
    let names: Vec<String> = [1, 63, 64, 500, 5000].into_iter().map(|length| "n".repeat(length)).collect();
    let mut headers = Headers::new();
    for name in &names {
        headers.push(name, "v");
    }
    for name in &names {
        assert_eq!(headers.only(&name.to_uppercase()), Ok(Some("v")), "{}", name.len());
    }
    assert_eq!(headers.only("nn"), Ok(None));
}
