//! Sessions in which everything breaks now and then, until nothing does.

use std::time::Duration;

use windlass::SendError;
use windlass::client::Negotiation;
use windlass::link::http::HttpServerConfig;
use windlass::model::{EmptyParams, ListTools, PaginatedParams, Ping, SubscriptionFilter};
use windlass_sim::{Faults, NetworkConditions, Random, SimClientId};

use crate::town::{ERAS, TOOLS, Town, address, server};

/// What came of a session.
#[derive(Debug, PartialEq)]
struct Summary {
    hash: u64,
    answers: u64,
    errors: u64,
    connections: u32,
    /// Clients that could not connect, and were started again.
    lost: u64,
}

/// A few clients do this and that under such conditions. When it is over, they are as well as ever.
fn session(seed: u64, conditions: &NetworkConditions) -> Summary {
    let mut random = Random::new(seed ^ 0x5708);
    let mut http = HttpServerConfig::on_loopback();
    http.json_answers = random.one_in(2);
    let mut town = Town::new(seed, conditions.clone(), http.clone());
    let mut clients = Vec::new();
    for name in ["ada", "bob", "cleo"] {
        let mut address = address();
        address.connections = random.between(2, 5) as usize;
        address.listen = random.one_in(2);
        clients.push(town.settle_in(name, *random.choose(&ERAS), address));
    }
    if conditions.faults.corrupted > 0 {
        town.spoilt.extend(&clients);
    }
    for _ in 0..8 {
        town.run_for(Duration::from_millis(random.between(0, 2000)));
        let client = *random.choose(&clients);
        act(&mut town, client, &mut random, &http, conditions);
    }

    town.set_conditions(NetworkConditions { faults: Faults::none(), ..conditions.clone() });
    town.refuse_connections(false);
    let lost = every_call_succeeds_now(&mut town, clients, &mut random);
    town.close();
    let [answers, errors] = town.count_outcomes();
    Summary { hash: town.trace().hash(), answers, errors, connections: town.opened(), lost }
}

/// Does one thing that may happen at any time.
fn act(
    town: &mut Town,
    client: SimClientId,
    random: &mut Random,
    http: &HttpServerConfig,
    conditions: &NetworkConditions,
) {
    let breaks = conditions.faults != Faults::none();
    // Whoever is not connected yet, or never will be, is refused.
    let _ = match random.between(0, 16) {
        0..8 => town.call(client, random.choose::<&str>(&TOOLS)),
        8 => town[client].call::<ListTools>(&PaginatedParams::new()),
        9 => town[client].call::<Ping>(&EmptyParams::new()),
        10 => town[client].listen(SubscriptionFilter::new().with_resource_subscriptions(["file:///a".to_owned()])),
        11 | 12 => {
            let open = town[client].open_calls();
            if !open.is_empty() {
                town[client].cancel(*random.choose(&open), "not wanted any more");
            }
            return;
        }
        13 if breaks => return town.refuse_connections(random.one_in(2)),
        14 if breaks => return town.reset_connections(),
        15 if breaks => {
            let seed = random.next();
            return town.restart_server(server(seed, http.clone()));
        }
        _ => return town.server.machine().resource_updated("file:///a"),
    };
}

/// Once nothing breaks any more, whoever is there is served; whoever could not connect is started again. How many those are.
fn every_call_succeeds_now(town: &mut Town, clients: Vec<SimClientId>, random: &mut Random) -> u64 {
    let mut lost = 0;
    for &client in &clients {
        // Subscriptions have connections that calls may need.
        for call in town[client].open_calls() {
            if !town.is_of_tool(client, call) {
                town[client].cancel(call, "the storm is over");
            }
        }
    }
    // What was begun under these conditions may still fail, at the latest when its time is up.
    assert!(town.run_until_answered(), "{}", town.transcript());
    for client in clients {
        let settled = town.run_until(|sim| sim[client].peer().is_some() || sim[client].closed().is_some());
        assert!(settled, "neither ready nor closed:\n{}", town.transcript());
        if town.spoilt.contains(&client) {
            // Its handshake may have come to anything.
            town[client].close();
        }
        // A server that was started again knows of no session. What is safe is repeated in a new one, as a list is.
        let list = town[client].call::<ListTools>(&PaginatedParams::new());
        let (client, list) =
            list.map_or_else(|why| (start_again(town, client, why), None), |list| (client, Some(list)));
        if let Some(list) = list {
            assert!(town.run_until(|sim| sim[client].outcome(list).is_some()), "{}", town.transcript());
            assert!(town[client].result::<ListTools>(list).is_some(), "{}", town.transcript());
        }
        lost += u64::from(list.is_none());
        let tool = *random.choose(if town.can_ask(client) { &TOOLS } else { &TOOLS[..3] });
        let call = town.call(client, tool).unwrap_or_else(|why| panic!("{why:?}:\n{}", town.transcript()));
        assert!(town.run_until(|sim| sim[client].outcome(call).is_some()), "{}", town.transcript());
        assert_eq!(town.outcome(client, call), Some(Ok(())), "{tool}:\n{}", town.transcript());
    }
    lost
}

/// A client whose handshake came to nothing is over; another takes its place.
fn start_again(town: &mut Town, client: SimClientId, why: SendError) -> SimClientId {
    assert_eq!(why, SendError::Closed, "{}", town.transcript());
    assert!(town.run_until(|sim| sim[client].closed().is_some()), "{}", town.transcript());
    let again = town.settle_in("dora", Negotiation::Automatic, address());
    assert!(town.run_until(|sim| sim[again].peer().is_some()), "{}", town.transcript());
    again
}

/// Many seeds, some of them twice. How many calls had an answer, how many an error, and how many clients were lost.
fn many(seeds: u64, conditions: &NetworkConditions) -> [u64; 3] {
    let mut total = [0; 3];
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 0..seeds {
        let once = session(seed, conditions);
        if seed % 10 == 0 {
            assert_eq!(once, session(seed, conditions), "seed {seed}");
        }
        hashes.insert(once.hash);
        for (total, count) in total.iter_mut().zip([once.answers, once.errors, once.lost]) {
            *total += count;
        }
    }
    assert_eq!(hashes.len() as u64, seeds, "another seed is another run");
    total
}

/// Pieces as large as those of a real network, mostly.
fn fragmented() -> NetworkConditions {
    NetworkConditions { chunk: 1..=3000, capacity: 1 << 16, ..NetworkConditions::rough() }
}

#[test]
fn where_nothing_breaks_every_client_is_served() {
    let [answers, errors, lost] = many(200, &fragmented());
    assert!(answers > 2 * errors && lost == 0, "{answers} answers, {errors} errors, {lost} lost");
}

#[test]
fn whatever_breaks_every_call_ends_and_every_client_is_served_afterwards() {
    let [answers, errors, lost] = many(400, &NetworkConditions::faulty());
    assert!(answers > 400 && errors > 400 && lost > 50, "{answers} answers, {errors} errors, {lost} lost");
}

#[test]
fn connections_are_refused_and_reset() {
    let faults = Faults { refused: 5, reset: 10, ..Faults::none() };
    let [answers, errors, lost] = many(400, &NetworkConditions { faults, ..fragmented() });
    assert!(answers > 400 && errors > 400 && lost > 50, "{answers} answers, {errors} errors, {lost} lost");
}

#[test]
fn one_direction_ends() {
    let faults = Faults { half_closed: 10, ..Faults::none() };
    let [answers, errors, lost] = many(400, &NetworkConditions { faults, ..fragmented() });
    assert!(answers > 400 && errors > 400 && lost > 50, "{answers} answers, {errors} errors, {lost} lost");
}

#[test]
fn bytes_are_spoilt() {
    let faults = Faults { corrupted: 10, ..Faults::none() };
    let [answers, errors, lost] = many(400, &NetworkConditions { faults, ..fragmented() });
    assert!(answers > 400 && errors > 400 && lost > 50, "{answers} answers, {errors} errors, {lost} lost");
}

#[test]
fn everything_takes_long() {
    let faults = Faults { stalled: 4, stall: Duration::from_secs(1)..=Duration::from_secs(100), ..Faults::none() };
    let [answers, errors, _] = many(400, &NetworkConditions { faults, ..fragmented() });
    assert!(answers > 400 && errors > 400, "{answers} answers, {errors} errors");
}
