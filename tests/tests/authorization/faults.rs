//! Everything that can go wrong, at every point where it can: there are tokens in the end, or one clear error.

use std::sync::Arc;
use std::time::Duration;

use windlass::auth::{AuthConfig, AuthError, Es256Signer, Grant, KnownClient};
use windlass::{CallError, CloseReason, NegotiationError, Seed};

use crate::world::{Fault, Setup, StoreFault, World, code_grant, grant};

/// A way to a token.
struct Way {
    name: &'static str,
    config: fn() -> AuthConfig,
    prepare: fn(&mut World),
}

const WAYS: [Way; 6] = [
    Way { name: "code", config: code_grant, prepare: |_| {} },
    Way {
        name: "code at a server of the first revision",
        config: code_grant,
        prepare: |world| {
            world.server.is_modern = false;
            world.server.documents.clear();
            world.issuers = vec![crate::issuer::Issuer::new("https://mcp.example")];
        },
    },
    Way { name: "device", config: || grant(Grant::Device), prepare: |_| {} },
    Way {
        name: "client",
        config: || AuthConfig::new(Grant::ClientCredentials).client(KnownClient::new("robot").secret("pass")),
        prepare: |world| {
            world.issuers[0].auth_method = "client_secret_basic";
            world.issuers[0].knows("robot", Some("pass"), "client_secret_basic");
        },
    },
    Way {
        name: "key",
        config: || code_grant().signer(Arc::new(Es256Signer::from_seed(&Seed::from_number(7)))).dpop(),
        prepare: |world| {
            world.server.scheme = "DPoP";
            world.issuers[0].wants_proofs = true;
            world.issuers[0].nonce = Some("nonce".into());
        },
    },
    Way {
        name: "refresh",
        config: code_grant,
        prepare: |world| {
            let agent = world.connect(code_grant());
            world.is_ready(agent);
            world.close_all();
            world.issuers[0].revoke_access();
        },
    },
];

/// Connects and calls, whatever happens; returns whether the fault came into play.
fn ends_well(way: &Way, world: &mut World, what: &str) {
    let what = format!("{}, {what}", way.name);
    let before = world.requests;
    let agent = world.start(Setup::new((way.config)()));
    world.pass(Duration::from_secs(400));
    let connected = world.agent(agent).ready && world.agent(agent).closed.is_none();
    if !connected {
        let closed = world.agent(agent).closed.clone();
        let Some(CloseReason::Negotiation(NegotiationError::Authorization(error))) = closed else {
            panic!("{what}: {closed:?}\n{:#?}", world.asked);
        };
        is_clear(&error, &what);
    }
    assert!(world.requests - before < 40, "{what}: {}", world.requests - before);
    world.close_all();
    // It does not last: the next client has what it wants.
    (world.fault, world.store_fault) = (None, None);
    let agent = world.start(Setup::new((way.config)()).seed(2));
    world.pass(Duration::from_secs(400));
    world.is_ready(agent);
    let call = world.call(agent, "now");
    world.pass(Duration::from_secs(400));
    let outcome = world.agent(agent).outcomes.remove(&call);
    assert!(matches!(outcome, Some(Ok(_))), "{what}: {outcome:?}");
    world.close_all();
}

fn is_clear(error: &AuthError, what: &str) {
    let text = error.to_string();
    assert!(text.len() > 10 && text.len() < 2_000, "{what}: {text}");
}

#[test]
fn every_exchange_of_every_way_fails_in_every_way() {
    for way in &WAYS {
        for fault in Fault::ALL {
            for at in 1.. {
                let mut world = World::new();
                (way.prepare)(&mut world);
                let before = world.asked.len();
                world.fault = Some((before + at, fault));
                let agent = world.start(Setup::new((way.config)()));
                world.run_while(|world| world.asked.len() < before + at);
                world.pass(Duration::from_secs(0));
                let mut reached = world.asked.len() >= before + at;
                world.kill(agent);
                if way.name == "device" && !reached {
                    // Other devices take their time.
                    reached = at <= 8;
                }
                if !reached {
                    assert!(at > 1, "{}", way.name);
                    break;
                }
                let mut world = World::new();
                (way.prepare)(&mut world);
                world.fault = Some((world.asked.len() + at, fault));
                ends_well(way, &mut world, &format!("{fault:?} at {at}"));
                assert!(at < 20, "{}: there is no end", way.name);
            }
        }
    }
}

#[test]
fn every_look_into_the_store_fails_in_every_way() {
    for way in &WAYS {
        for fault in [StoreFault::Error, StoreFault::ErrorAfter, StoreFault::Silent, StoreFault::Conflict] {
            for at in 1..10 {
                let mut world = World::new();
                (way.prepare)(&mut world);
                world.store_fault = Some((world.looks + at, fault));
                ends_well(way, &mut world, &format!("{fault:?} at {at}"));
            }
        }
    }
}

#[test]
fn a_call_in_the_middle_ends_in_every_case() {
    for way in &WAYS {
        for fault in Fault::ALL {
            for at in 1..6 {
                let mut world = World::new();
                (way.prepare)(&mut world);
                let agent = world.start(Setup::new((way.config)()));
                world.pass(Duration::from_secs(60));
                world.is_ready(agent);
                world.issuers[0].revoke_access();
                if at % 2 == 0 {
                    world.issuers[0].revoke_refresh();
                }
                world.fault = Some((world.asked.len() + at, fault));
                let call = world.call(agent, "now");
                world.pass(Duration::from_secs(400));
                let outcome = world.agent(agent).outcomes.remove(&call);
                match outcome {
                    Some(Ok(_)) => {}
                    Some(Err(CallError::Authorization(error))) => is_clear(&error, way.name),
                    other => panic!("{} {fault:?} {at}: {other:?}", way.name),
                }
                assert!(world.server.count("tools/call") <= 1);
                world.close_all();
            }
        }
    }
}

#[test]
fn closing_in_the_middle_leaves_nothing() {
    for way in &WAYS {
        for stop in 0..16 {
            let mut world = World::new();
            (way.prepare)(&mut world);
            let before = world.requests + world.looks;
            let agent = world.start(Setup::new((way.config)()));
            world.run_while(|world| world.requests + world.looks - before < stop);
            world.close(agent);
        }
    }
}
