//! A program that uses a client, whatever the client is on.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass::client::{
    CallId, CallOptions, ChallengeReply, ClientConfig, ClientEvent, InputReply, InputResponse, KeepAliveConfig,
    Negotiation, Update,
};
use windlass::codec::http1::Headers;
use windlass::link::AnyClient;
use windlass::model::{
    ClientCapabilities, CreateMessageResult, ElicitResult, EmptyParams, Implementation, InputRequest, ListRootsResult,
    ProtocolVersion, RootsListChanged, SamplingContentBlock, SubscriptionFilter,
};
use windlass::{JsonText, RpcError};

use crate::rig::{Rig, World};
use crate::tape::Step;

pub type Client = AnyClient<u32>;

/// What a program does, and what time and the network do to it. `C` calls, `S` subscribes, `X` cancels, `N` notifies, `R`
/// answers a request for input, `I` a challenge, `Q` closes; `T` lets time pass and `J` jump; `K` says how many bytes go in
/// at once, `D` how many come out; `Z` whether the driver is lazy.
pub const LETTERS: &[u8] = b"CSXNRIQTJKDZ";

/// Longer than any call may take, and any wait between two tries.
const FOR_EVER: Duration = Duration::from_secs(100_000);

#[derive(Default)]
pub struct Program {
    open: BTreeMap<u32, Call>,
    calls: u32,
    inputs: Vec<(InputReply, InputResponse)>,
    challenges: Vec<ChallengeReply>,
    pub cancelled: u32,
    pub reinitialized: bool,
    ready: bool,
    /// The planted bug: a call that an update is about is forgotten.
    forgets: Option<Forgets>,
}

/// Whether a call is forgotten because of what is told about it.
pub type Forgets = fn(&Program, u32, &Update<'_>) -> bool;

struct Call {
    id: CallId,
    listens: bool,
}

/// A world with such a program in it.
pub trait Inhabited: World<Client> {
    fn program(&mut self) -> &mut Program;
}

/// A client that can be asked for everything, and puts up with little.
pub fn config(choice: u8) -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("c", "1"));
    config.capabilities = ClientCapabilities::new().with_form_elicitation().with_roots(true).with_sampling();
    config.negotiation = match choice % 8 {
        0..4 => Negotiation::Automatic,
        4 | 5 => Negotiation::Legacy,
        6 => Negotiation::Pinned(ProtocolVersion::V2026_07_28),
        _ => Negotiation::Cached(windlass::model::Era::Legacy),
    };
    if choice & 8 != 0 {
        config.keep_alive = Some(KeepAliveConfig::every(Duration::from_secs(20)));
    }
    config.limits.message_bytes = 2048;
    config.limits.pending_calls = 6;
    config.limits.incoming_requests = 4;
    config.limits.input_rounds = 3;
    config.limits.input_requests = 3;
    config.limits.batch_entries = 4;
    config.limits.subscriptions = 3;
    config.limits.cached_results = 2;
    config.limits.cached_bytes = 512;
    config.limits.outbox_soft_bytes = 8 * 1024;
    config.limits.outbox_hard_bytes = 16 * 1024;
    config
}

/// What is called.
const CALLS: [(&str, &str); 10] = [
    ("ping", "{}"),
    ("tools/list", "{}"),
    ("tools/call", r#"{"name":"t","arguments":{"a":"b c","n":7}}"#),
    ("tools/call", r#"{"name":"ask"}"#),
    ("resources/read", r#"{"uri":"file:///a"}"#),
    ("prompts/get", r#"{"name":"p","arguments":{"a":"b"}}"#),
    ("resources/list", "{}"),
    ("resources/subscribe", r#"{"uri":"file:///a"}"#),
    ("logging/setLevel", r#"{"level":"info"}"#),
    ("example.com/method", r#"{"_meta":{"k":1},"a":[]}"#),
];

/// Does what a step says, if it is one of a program's.
pub fn play<W: Inhabited>(step: &Step<'_>, rig: &mut Rig<Client>, world: &mut W) {
    let now = rig.now;
    let number = step.number();
    let at = number as usize;
    match step.letter {
        b'C' => {
            let (method, params) = *step.choose(&CALLS);
            let options = match at / CALLS.len() % 4 {
                0 => CallOptions::new(),
                1 => CallOptions::new().progress().idle_timeout(Duration::from_secs(5)),
                2 => CallOptions::new().fresh(),
                _ => CallOptions::new().idle_timeout(Duration::from_millis(1)).total_timeout(Duration::from_secs(1)),
            };
            let params = JsonText::parse(params).expect("the table's own JSON");
            let program = world.program();
            program.calls += 1;
            let token = program.calls;
            let called = rig.machine.call_raw(method, &params, &options, token, now);
            program.called(token, called, false);
        }
        b'S' => {
            let uris = (0..number % 3).map(|uri| format!("file:///{uri}"));
            let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(uris);
            let program = world.program();
            program.calls += 1;
            let token = program.calls;
            let called = rig.machine.listen(filter, &CallOptions::new(), token, now);
            program.called(token, called, true);
        }
        b'X' => {
            let program = world.program();
            if !program.open.is_empty() {
                let call = program.open.values().nth(at % program.open.len()).expect("it is one of them").id;
                program.cancelled += 1;
                rig.machine.cancel(call, "why not", now);
            }
        }
        b'N' => drop(rig.machine.notify::<RootsListChanged>(&EmptyParams::new(), now)),
        b'R' => {
            let inputs = &mut world.program().inputs;
            if !inputs.is_empty() {
                let (reply, answer) = inputs.remove(at % inputs.len());
                let answer = if at % 5 == 4 { Err(RpcError::internal("no")) } else { Ok(answer) };
                rig.machine.respond(reply, answer, now);
            }
        }
        b'I' => {
            let challenges = &mut world.program().challenges;
            if !challenges.is_empty() {
                let reply = challenges.remove(at % challenges.len());
                let headers = Headers::from([("Authorization", "Bearer x")]);
                let answered = rig.machine.answer_challenge(reply, (at % 3 > 0).then_some(&headers), now);
                assert_eq!(answered, Ok(()));
            }
        }
        b'Q' => rig.machine.close(now),
        b'T' => return rig.pass(Duration::from_millis(number), world),
        b'J' => return rig.jump(Duration::from_millis(number), world),
        b'K' => rig.chunk = at.max(1),
        b'D' => rig.thirst = at,
        b'Z' => rig.lazy = number % 2 == 1,
        _ => {}
    }
    rig.rest(world);
}

/// The peers fall silent, and the program comes to its end: every call completes, and nothing is left.
pub fn finish<W: Inhabited>(mut rig: Rig<Client>, mut world: W) {
    rig.lazy = false;
    rig.thirst = usize::MAX;
    rig.settle(&mut world);
    answer_everything(&mut rig, &mut world);
    rig.pass(FOR_EVER, &mut world);
    answer_everything(&mut rig, &mut world);
    rig.pass(FOR_EVER, &mut world);
    let program = world.program();
    let waiting = program.open.iter().find(|(_, call)| !call.listens);
    assert!(waiting.is_none() || !program.inputs.is_empty(), "call {:?} never ends", waiting.map(|(token, _)| token));
    rig.machine.close(rig.now);
    rig.pass(FOR_EVER, &mut world);
    assert!(world.program().open.is_empty(), "every call completes");
    let idle = rig.machine.is_idle();
    rig.nothing_left(idle);
}

fn answer_everything<W: Inhabited>(rig: &mut Rig<Client>, world: &mut W) {
    while let Some((reply, answer)) = world.program().inputs.pop() {
        rig.machine.respond(reply, Ok(answer), rig.now);
        rig.settle(world);
    }
    while let Some(reply) = world.program().challenges.pop() {
        let answered = rig.machine.answer_challenge(reply, None, rig.now);
        assert_eq!(answered, Ok(()));
        rig.settle(world);
    }
}

impl Program {
    pub fn new(forgets: Forgets) -> Self {
        Self { forgets: Some(forgets), ..Self::default() }
    }

    pub fn listens(&self) -> bool {
        self.open.values().any(|call| call.listens)
    }

    fn called(&mut self, token: u32, called: Result<CallId, windlass::Refused<u32>>, listens: bool) {
        match called {
            Ok(id) => drop(self.open.insert(token, Call { id, listens })),
            Err(refused) => assert_eq!(refused.token, token, "the token is given back"),
        }
    }

    pub fn told(&mut self, event: ClientEvent<'_, u32>) -> bool {
        match event {
            ClientEvent::Ready(_) => assert!(!std::mem::replace(&mut self.ready, true), "it is ready once"),
            ClientEvent::Reinitialized(_) => self.reinitialized = true,
            ClientEvent::Completed { call, token, outcome } => {
                let open = self.open.remove(&token).expect("a call completes once");
                assert_eq!(open.id, call);
                if let Err(error) = outcome {
                    assert!(!error.to_string().is_empty());
                }
            }
            ClientEvent::Update { call, token, update } => {
                let token = *token;
                assert_eq!(self.open.get(&token).map(|open| open.id), Some(call), "an open call has news");
                if crate::canary() && self.forgets.is_some_and(|forgets| forgets(self, token, &update)) {
                    self.open.remove(&token);
                }
            }
            ClientEvent::Input { reply, request } => {
                let answer = match *request {
                    InputRequest::Roots(_) => ListRootsResult::new([]).into(),
                    InputRequest::Sample(_) => CreateMessageResult::new("m", SamplingContentBlock::text("t")).into(),
                    _ => ElicitResult::decline().into(),
                };
                self.inputs.push((reply, answer));
            }
            ClientEvent::InputCancelled(key) => self.inputs.retain(|(reply, _)| reply.key() != key),
            ClientEvent::Challenged { reply, .. } => self.challenges.push(reply),
            ClientEvent::Closed(_) => {
                assert!(self.open.is_empty(), "the last event comes behind every call's completion");
                return true;
            }
            _ => {}
        }
        false
    }
}
