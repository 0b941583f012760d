//! Random exchanges: what one side writes is what the other one reads, however the bytes are cut; and random bytes.

use alloc::string::ToString;

use quickcheck::{Arbitrary, Gen, quickcheck};

use super::*;

/// Messages as their writer means them.
#[derive(Clone, Debug)]
struct Message {
    method: &'static str,
    target: String,
    status: u16,
    headers: Vec<(String, String)>,
    /// The pieces in which the body is written.
    body: Vec<Vec<u8>>,
    chunked: bool,
}

impl Arbitrary for Message {
    fn arbitrary(g: &mut Gen) -> Self {
        let text = |g: &mut Gen, alphabet: &[char]| -> String {
            (0..usize::arbitrary(g) % 12).map(|_| *g.choose(alphabet).unwrap()).collect()
        };
        let headers = (0..usize::arbitrary(g) % 40)
            .map(|_| {
                let name = alloc::format!("X{}", text(g, &['a', 'Z', '-', '_', '7', '!', '~']));
                let value = text(g, &['a', ':', ' ', '\t', ',', '"', ';', '\u{e9}', '\u{1f600}', '%']);
                (name, value.trim_matches([' ', '\t']).to_string())
            })
            .collect();
        Self {
            method: g.choose(&["GET", "POST", "DELETE", "HEAD", "x!"]).unwrap(),
            target: alloc::format!("/{}", text(g, &['a', '/', '?', '%', '=', '~', '#'])),
            status: *g.choose(&[200, 202, 400, 404, 500, 299, 999]).unwrap(),
            headers,
            body: (0..usize::arbitrary(g) % 4).map(|_| Vec::arbitrary(g)).collect(),
            chunked: bool::arbitrary(g),
        }
    }
}

impl Message {
    fn framing(&self) -> Framing {
        if self.chunked { Framing::Chunked } else { Framing::Length(self.body.concat().len() as u64) }
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        for piece in &self.body {
            if self.chunked { write_chunk(out, piece) } else { out.extend_from_slice(piece) }
        }
        if self.chunked {
            write_last_chunk(out);
        }
    }

    fn write_request(&self, out: &mut Vec<u8>) {
        let headers = self.headers.iter().map(|(name, value)| (&name[..], &value[..]));
        let headers = core::iter::once(("Host", "h")).chain(headers);
        write_request(out, self.method, &self.target, headers, self.framing()).unwrap();
        self.write_body(out);
    }

    fn write_response(&self, out: &mut Vec<u8>) {
        let headers = self.headers.iter().map(|(name, value)| (&name[..], &value[..]));
        write_response(out, self.status, headers, self.framing()).unwrap();
        if self.method != "HEAD" {
            self.write_body(out);
        }
    }

    /// What is behind the head.
    fn seen_body<Head>(&self, with_body: bool) -> impl Iterator<Item = Seen<Head>> {
        let body = self.body.concat();
        let body = (with_body && !body.is_empty()).then_some(Seen::Body(body));
        body.into_iter().chain([Seen::End])
    }

    fn has_headers(&self, headers: &Headers) -> bool {
        let ours = headers.iter().filter(|(name, _)| name.starts_with('X'));
        ours.eq(self.headers.iter().map(|(name, value)| (&name[..], &value[..])))
    }
}

/// `input` in pieces.
fn cut<'a>(input: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = input;
    for cut in cuts {
        let (piece, after) = rest.split_at(cut % (rest.len() + 1));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Pieces of the grammar, whole and broken.
const FRAGMENTS: [&[u8]; 48] = [
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Upgrade\r\n\r\n",
    b"GET",
    b"POST",
    b" ",
    b"/",
    b" HTTP/1.1\r\n",
    b" HTTP/1.0\r\n",
    b"HTTP/1.1 ",
    b"HTTP/2.0 ",
    b"200 ",
    b"304",
    b"Host: h\r\n",
    b"Host:",
    b"Content-Length: ",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding:",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"X: y\r\n",
    b":",
    b"\r\n",
    b"\r\n\r\n",
    b"\r",
    b"\n",
    b"\t",
    b"\0",
    b"\xff",
    b"0\r\n\r\n",
    b"0\r\n",
    b"3\r\nabc\r\n",
    b"a\r\n0123456789\r\n",
    b"5;x=y\r\nhello\r\n",
    b"fffffffffffffffff\r\n",
    b"ffffffffffffffff",
    b"A: b\r\n\r\n",
    b";",
    b"abc",
    b"0",
    b"7",
];

fn sown(picks: &[u8]) -> Vec<u8> {
    picks.iter().flat_map(|pick| FRAGMENTS[usize::from(*pick) % FRAGMENTS.len()]).copied().collect()
}

/// Small enough for random input to reach them.
const TIGHT: Bounds = Bounds {
    start_line_bytes: 40,
    head_bytes: 90,
    headers: 3,
    chunk_line_bytes: 6,
    chunk_surplus_bytes: 16,
    trailer_bytes: 14,
    interim_responses: 2,
};

quickcheck! {
    fn requests_are_read_as_they_were_written(messages: (Message, Message, Message), cuts: Vec<usize>) -> bool {
        let messages = [messages.0, messages.1, messages.2];
        let mut wire = Vec::new();
        messages.iter().for_each(|message| message.write_request(&mut wire));
        let seen = requests_within(Bounds::default(), &wire);
        let mut expected = Vec::new();
        let mut heads = seen.iter().filter_map(|seen| if let Seen::Head(head) = seen { Some(head) } else { None });
        for message in &messages {
            let Some(head) = heads.next() else { return false };
            assert_eq!((&head.method[..], &head.target, head.framing), (message.method, &message.target, message.framing()));
            assert!(message.has_headers(&head.headers) && head.keep_alive());
            expected.push(Seen::Head(head.clone()));
            expected.extend(message.seen_body(true));
        }
        seen == expected && seen == decode(&mut RequestDecoder::new(Bounds::default()), cut(&wire, &cuts))
    }

    fn responses_are_read_as_they_were_written(messages: (Message, Message, Message), cuts: Vec<usize>) -> bool {
        let messages = [messages.0, messages.1, messages.2];
        let methods: Vec<&str> = messages.iter().map(|message| message.method).collect();
        let mut wire = Vec::new();
        messages.iter().for_each(|message| message.write_response(&mut wire));
        let seen = responses_within(Bounds::default(), &methods, &wire);
        let mut expected = Vec::new();
        let mut heads = seen.iter().filter_map(|seen| if let Seen::Head(head) = seen { Some(head) } else { None });
        for message in &messages {
            let Some(head) = heads.next() else { return false };
            assert_eq!((head.status, &head.reason[..]), (message.status, reason_phrase(message.status)));
            assert!(message.has_headers(&head.headers) && head.keep_alive());
            expected.push(Seen::Head(head.clone()));
            expected.extend(message.seen_body(message.method != "HEAD"));
        }
        seen == expected && seen == decode(&mut response_decoder(Bounds::default(), &methods), cut(&wire, &cuts))
    }

    fn chunking_changes_nothing_for_any_bytes(picks: Vec<u8>, noise: Vec<u8>, cuts: Vec<usize>, tight: bool) -> bool {
        let bounds = if tight { TIGHT } else { Bounds::default() };
        [sown(&picks), noise].iter().all(|input| {
            let pieces = cut(input, &cuts);
            let requests = requests_within(bounds, input);
            let methods = ["GET", "HEAD", "CONNECT", "POST"];
            let responses = responses_within(bounds, &methods, input);
            requests == decode(&mut RequestDecoder::new(bounds), pieces.clone())
                && responses == decode(&mut response_decoder(bounds, &methods), pieces)
        })
    }

    fn a_head_is_written_whole_or_not_at_all(method: String, target: String, name: String, value: String) -> bool {
        let mut out = b"before".to_vec();
        let headers = [("Host", "h"), (&name[..], &value[..])];
        if write_request(&mut out, &method, &target, headers, Framing::Empty).is_err() {
            return out == b"before";
        }
        let seen = requests_within(Bounds::default(), &out[6..]);
        let [Seen::Head(head), Seen::End] = &seen[..] else { return false };
        head.method == method && head.target == target && head.headers.iter().eq(headers)
    }

    fn a_chunk_wraps_what_was_appended(before: Vec<u8>, bytes: Vec<u8>) -> bool {
        let mut out = before.clone();
        out.extend_from_slice(&bytes);
        wrap_chunk(&mut out, before.len());
        let mut expected = before;
        if !bytes.is_empty() {
            expected.extend_from_slice(alloc::format!("{:x}\r\n", bytes.len()).as_bytes());
            expected.extend_from_slice(&bytes);
            expected.extend_from_slice(b"\r\n");
        }
        out == expected
    }
}
