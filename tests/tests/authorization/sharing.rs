//! Several clients share a store, and a refresh token that may be used once: whoever uses it twice loses all.

use std::time::Duration;

use windlass::auth::AuthStore as _;

use crate::world::{SERVER, Setup, StoreFault, User, World, code_grant};

const LASTS: u64 = 600;

/// A token is there, and nobody is who could log in.
fn world(seed: u64, clients: usize) -> (World, Vec<usize>) {
    let mut world = World::new();
    world.issuers[0].token_lasts = Some(LASTS);
    let first = world.start(Setup::new(code_grant()).seed(seed));
    world.run();
    world.is_ready(first);
    world.random = windlass_sim::Random::new(seed);
    let clients = (1..clients as u64).map(|n| world.start(Setup::new(code_grant()).seed(seed * 100 + n)));
    let clients = std::iter::once(first).chain(clients.collect::<Vec<_>>()).collect();
    world.user = User::Absent;
    world.run();
    (world, clients)
}

fn good(world: &mut World) {
    assert_eq!(world.issuers[0].reuses, 0, "a refresh token was used twice");
    assert_eq!(world.issuers[0].count("authorize"), 1, "a credential was lost");
    let stored = world.store.load(SERVER).unwrap().unwrap();
    let tokens = stored.record.issuers.values().find_map(|issuer| issuer.tokens.clone()).expect("tokens");
    assert!(tokens.refresh_token.is_some());
}

#[test]
fn clients_that_refresh_at_once_use_no_token_twice() {
    for seed in 0..2_000 {
        let (mut world, clients) = world(seed, 2 + usize::from(seed % 5 == 0));
        world.latency = Duration::from_millis([0, 1, 50, 900][seed as usize % 4]);
        world.store_latency = Duration::from_millis([0, 1, 30, 200, 2_000][seed as usize % 5]);
        for round in 0..4 {
            if (seed + round) % 3 == 0 {
                world.issuers[0].revoke_access();
            } else {
                world.pass(Duration::from_secs(LASTS - 30));
            }
            for client in &clients {
                let wait = world.random.between(0, 100);
                world.pass(Duration::from_millis(wait));
                world.call(*client, "now");
            }
            world.run();
            world.pass(Duration::from_secs(20));
            for client in &clients {
                let outcomes = std::mem::take(&mut world.agent(*client).outcomes);
                assert!(outcomes.values().all(Result::is_ok) && outcomes.len() == 1, "{seed}: {outcomes:?}");
            }
            good(&mut world);
        }
        let refreshed = world.issuers[0].count("token refresh_token");
        assert!(refreshed <= 8, "{seed}: {refreshed}");
        world.close_all();
    }
}

#[test]
fn a_client_that_dies_in_the_middle_holds_nobody_up_for_ever() {
    for seed in 0..300 {
        let (mut world, clients) = world(seed, 2);
        world.latency = Duration::from_millis(50);
        world.store_latency = Duration::from_millis(50);
        world.pass(Duration::from_secs(LASTS - 30));
        let asked = world.asked.len();
        world.call(clients[0], "now");
        // It dies before its request is made: what it took with it otherwise, nobody can know.
        let (looks, most) = (world.looks, seed as usize % 3);
        world.run_while(|world| world.looks - looks < most && world.asked.len() == asked);
        let wait = world.random.between(0, 60);
        world.pass(Duration::from_millis(wait));
        if world.asked.len() > asked {
            continue;
        }
        world.kill(clients[0]);
        let call = world.call(clients[1], "now");
        world.pass(Duration::from_secs(200));
        let outcome = world.agent(clients[1]).outcomes.remove(&call);
        assert!(matches!(outcome, Some(Ok(_))), "{seed}: {outcome:?}");
        good(&mut world);
        world.close_all();
    }
}

#[test]
fn a_client_that_is_closed_in_the_middle_loses_nothing() {
    for seed in 0..300 {
        let (mut world, clients) = world(seed, 1);
        world.latency = Duration::from_millis(100);
        world.store_latency = Duration::from_millis(100);
        match seed % 2 {
            0 => world.issuers[0].revoke_access(),
            _ => world.pass(Duration::from_secs(LASTS - 30)),
        }
        world.call(clients[0], "now");
        let wait = world.random.between(0, 1_500);
        world.pass(Duration::from_millis(wait));
        world.close_all();
        let next = world.start(Setup::new(code_grant()).seed(seed + 10_000));
        world.pass(Duration::from_secs(300));
        world.is_ready(next);
        good(&mut world);
        world.close_all();
    }
}

#[test]
fn stores_that_are_slow_do_not_outlast_what_they_lease() {
    for seed in 0..300 {
        let (mut world, clients) = world(seed, 2);
        world.latency = Duration::from_secs(9);
        world.store_latency = Duration::from_secs(14);
        world.pass(Duration::from_secs(LASTS + 1));
        for client in &clients {
            world.call(*client, "now");
        }
        world.pass(Duration::from_secs(400));
        good(&mut world);
        world.close_all();
    }
}

#[test]
fn others_who_write_in_between_disturb_nothing() {
    for at in 1..12 {
        let (mut world, clients) = world(at as u64, 2);
        world.pass(Duration::from_secs(LASTS - 30));
        world.store_fault = Some((world.looks + at, StoreFault::Conflict));
        for client in &clients {
            world.call(*client, "now");
        }
        world.run();
        world.pass(Duration::from_secs(2));
        for client in &clients {
            let outcomes = std::mem::take(&mut world.agent(*client).outcomes);
            assert!(outcomes.values().all(Result::is_ok) && outcomes.len() == 1, "{outcomes:?}");
        }
        good(&mut world);
        world.close_all();
    }
}

#[test]
fn a_token_that_cannot_be_kept_is_used_nevertheless() {
    for fault in [StoreFault::Error, StoreFault::ErrorAfter, StoreFault::Silent] {
        let (mut world, clients) = world(1, 1);
        world.pass(Duration::from_secs(LASTS - 30));
        // One look for the lease, one for the tokens.
        world.store_fault = Some((world.looks + 2, fault));
        let call = world.call(clients[0], "now");
        world.pass(Duration::from_secs(60));
        let outcome = world.agent(clients[0]).outcomes.remove(&call);
        assert!(matches!(outcome, Some(Ok(_))), "{fault:?}: {outcome:?}");
        // And refreshed by what came with it.
        for _ in 0..2 {
            world.pass(Duration::from_secs(LASTS));
            assert!(world.calls(clients[0], "now").is_ok());
            good(&mut world);
        }
        world.close_all();
    }
}
