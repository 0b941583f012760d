//! Clients whose users log in at an authorization server, on connections that break: every call ends, with its own answer or an
//! error; when nothing breaks any more, all are served; and no secret is ever in bytes to somebody else.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use windlass::Seed;
use windlass::auth::{
    AuthConfig, AuthPrompt, Grant, MemoryStore, Principal, ProtectedResource, Redirected, TokenRejected,
};
use windlass::link::http::HttpServerConfig;
use windlass_sim::{Faults, NetworkConditions, Random, Side, SimClientId, SimRequest, SimResponse, SimStore};

use crate::town::{ERAS, Town, address, server};

const RESOURCE: &str = "http://localhost/mcp";
const HOST: &str = "auth.example.com";
const ISSUER: &str = "http://auth.example.com";

/// How long a token is good.
const LASTS: u64 = 100;

/// An authorization server. What it gives out begins with what it is: `at-` a token, `rt-` one to refresh it with, `cd-` a
/// code.
#[derive(Default)]
struct Issuer {
    made: u64,
    codes: BTreeSet<String>,
    refresh: BTreeSet<String>,
    /// Tokens and when they end.
    tokens: BTreeMap<String, u64>,
}

impl Issuer {
    fn make(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}-{}-0123456789abcdef", self.made)
    }

    /// A user logs in on the page.
    fn log_in(&mut self, page: &str) -> Redirected {
        let (_, query) = page.split_once('?').expect("a page with a query");
        let state = query.split('&').find_map(|pair| pair.strip_prefix("state=")).expect("a state");
        let code = self.make("cd");
        self.codes.insert(code.clone());
        Redirected::new(code, state, Some(ISSUER.to_owned()))
    }

    fn answer(&mut self, request: &SimRequest) -> SimResponse {
        let body = String::from_utf8_lossy(&request.body);
        let field = |name: &str| body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        match (&request.method[..], &request.target[..]) {
            ("GET", "/.well-known/oauth-authorization-server") => {
                let metadata = serde_json::json!({
                    "issuer": ISSUER,
                    "authorization_endpoint": format!("{ISSUER}/authorize"),
                    "token_endpoint": format!("{ISSUER}/token"),
                    "registration_endpoint": format!("{ISSUER}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                SimResponse::json(200, metadata.to_string())
            }
            ("POST", "/register") => SimResponse::json(201, r#"{"client_id":"somebody"}"#),
            ("POST", "/token") => {
                let good = match field("grant_type") {
                    Some("authorization_code") => field("code").is_some_and(|code| self.codes.remove(code)),
                    Some("refresh_token") => field("refresh_token").is_some_and(|token| self.refresh.remove(token)),
                    _ => false,
                };
                if !good {
                    return SimResponse::json(400, r#"{"error":"invalid_grant"}"#);
                }
                let (access, refresh) = (self.make("at"), self.make("rt"));
                self.tokens.insert(access.clone(), request.at.as_micros() / 1_000_000 + LASTS);
                self.refresh.insert(refresh.clone());
                let answer = serde_json::json!({
                    "access_token": access, "token_type": "Bearer", "expires_in": LASTS, "refresh_token": refresh,
                });
                SimResponse::json(200, answer.to_string())
            }
            _ => SimResponse::new(404, ""),
        }
    }

    /// Whose a token is.
    fn verify(&self, token: &str) -> Result<Principal, TokenRejected> {
        let until = self.tokens.get(token).ok_or_else(|| TokenRejected::invalid("nobody made it"))?;
        Ok(Principal::new("alice").audience(RESOURCE).expires_at(*until))
    }
}

struct Place {
    town: Town,
    issuer: Rc<RefCell<Issuer>>,
    store: SimStore,
    /// What clients have written, by connection.
    written: Rc<RefCell<BTreeMap<u32, Vec<u8>>>>,
    seed: u64,
    clients: u64,
}

impl Place {
    fn new(seed: u64, conditions: NetworkConditions) -> Self {
        let issuer = Rc::new(RefCell::new(Issuer::default()));
        let mut http = HttpServerConfig::on_loopback();
        http.authorization = Some(ProtectedResource::new(RESOURCE, ISSUER).expect("URLs"));
        let mut town = Town::new(seed, conditions, http.clone());
        let verifier = issuer.clone();
        town.server =
            server(seed, http).verified_by(move |token| (Duration::from_millis(10), verifier.borrow().verify(token)));
        let answering = issuer.clone();
        town.add_host(HOST, move |request| answering.borrow_mut().answer(request));
        let written = Rc::new(RefCell::new(BTreeMap::<u32, Vec<u8>>::new()));
        let heard = written.clone();
        town.tap(move |connection, side, bytes| {
            if side == Side::Client {
                heard.borrow_mut().entry(connection).or_default().extend_from_slice(bytes);
            }
        });
        let store: SimStore = Rc::new(RefCell::new(MemoryStore::new()));
        Self { town, issuer, store, written, seed, clients: 0 }
    }

    /// One more client of the same user.
    fn client(&mut self, random: &mut Random) -> SimClientId {
        self.clients += 1;
        let mut config = AuthConfig::new(Grant::code("http://127.0.0.1:7777/callback")).allow_local();
        config.interactive = true;
        let seed = Seed::from_number(self.seed << 8 | self.clients);
        let address = address().authorization(config, seed, Duration::ZERO);
        let name = format!("client-{}", self.clients);
        let client = self.town.settle_in(&name, *random.choose(&ERAS), address);
        let issuer = self.issuer.clone();
        self.town[client].share_store(self.store.clone());
        self.town[client].on_login(move |prompt| match prompt {
            AuthPrompt::Browser { url } => Some(Ok(issuer.borrow_mut().log_in(url))),
            _ => None,
        });
        client
    }

    /// No secret is in bytes to anybody but whom it is for.
    fn check_secrets(&self) {
        for (connection, bytes) in self.written.borrow().iter() {
            let text = String::from_utf8_lossy(bytes);
            let others: &[&str] = match self.town.host_of(*connection) {
                Some(_) => &["at-"],
                None => &["rt-", "cd-", "code_verifier"],
            };
            for secret in others {
                assert!(!text.contains(secret), "{secret} on connection {connection}:\n{text}");
            }
        }
        let transcript = self.town.transcript();
        for secret in ["at-", "rt-", "cd-"] {
            let shown = transcript.lines().find(|line| line.contains(secret) && line.contains("0123456789abcdef"));
            assert_eq!(shown, None);
        }
    }
}

/// Clients of one user do this and that while everything breaks, and tokens end meanwhile.
fn session(seed: u64, conditions: &NetworkConditions) -> u64 {
    let mut random = Random::new(seed ^ 0xA07);
    let mut place = Place::new(seed, conditions.clone());
    let mut clients: Vec<_> = (0..2).map(|_| place.client(&mut random)).collect();
    for _ in 0..6 {
        place.town.run_for(Duration::from_millis(random.between(0, 80_000)));
        let client = *random.choose(&clients);
        // Whoever is not connected is refused.
        let _ = place.town.call(client, "echo");
        if conditions.faults != Faults::none() && random.one_in(4) {
            place.town.reset_connections();
        }
    }
    place.town.set_conditions(NetworkConditions { faults: Faults::none(), ..conditions.clone() });
    let _ = place
        .town
        .run_until(|sim| clients.iter().all(|client| sim[*client].peer().is_some() || sim[*client].closed().is_some()));
    for client in &mut clients {
        if place.town[*client].closed().is_some() {
            *client = place.client(&mut random);
        }
    }
    let _ = place.town.run_until(|sim| clients.iter().all(|client| sim[*client].peer().is_some()));
    let calls: Vec<_> = clients
        .iter()
        .map(|client| {
            let call = place.town.call(*client, "echo");
            (*client, call.unwrap_or_else(|why| panic!("{seed}: {why}\n{}", place.town.transcript())))
        })
        .collect();
    assert!(place.town.run_until_answered(), "{seed}:\n{}", place.town.transcript());
    for (client, call) in calls {
        assert_eq!(place.town.outcome(client, call), Some(Ok(())), "{seed}:\n{}", place.town.transcript());
    }
    place.town.close();
    place.town.count_outcomes();
    place.check_secrets();
    place.town.trace().hash()
}

#[test]
fn users_log_in_once_and_tokens_are_refreshed_for_all_their_clients() {
    for seed in 0..20 {
        let hash = session(seed, &NetworkConditions::rough());
        assert_eq!(session(seed, &NetworkConditions::rough()), hash, "the same seed is the same run");
    }
}

#[test]
fn whatever_breaks_on_the_way_to_a_token_clients_are_served_afterwards() {
    let mut conditions = NetworkConditions::faulty();
    // What is spoilt may be anything.
    conditions.faults.corrupted = 0;
    for seed in 0..100 {
        session(seed, &conditions);
    }
}
