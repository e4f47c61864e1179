//! The machine goes down: the program ends at an operation on a file of its own, what it had not
//! synced is lost, in part or all of it, and the server comes back from its log.
//!
//! A small load goes through every prefix of what it does: after each operation that changes something,
//! and between any two steps. The table has to be the old one or the new one, and the same command has
//! to lead to the new one. `INRUSH_TEST_FAULTS=all` has several parts lost at each, in both modes, and a
//! larger table too.

use std::os::unix::process::ExitStatusExt;

use testkit::{TestServer, TestServerOptions};

use crate::crashes::faults::{KILL, is_thorough, operations};
use crate::scene::{Mode, Scene};
use crate::support::run;

/// The losses: all that was not synced; some of it, by a seed. Nothing is lost where the machine
/// goes on (`kill.rs`).
const LOSSES: [&str; 5] = ["power.all", "power.1", "power.2", "power.3", "power.4"];

/// The machine goes down before an operation.
fn power_cut(scene: &mut Scene<'_>, nth: usize, loss: &str, operations: &[String]) {
    let when = format!("{loss} at {nth}, before {:?}", operations[nth - 1]);
    scene.reset();
    let outcome = run(scene.command().env("INRUSH_FAULT", format!("{nth}:{loss}")));
    assert_eq!(outcome.status.signal(), Some(KILL), "{when}: {outcome:?}");
    scene.server.kill_9().unwrap();
    scene.server.restart().unwrap_or_else(|e| panic!("{when}: {e}\n{}", scene.server.error_log()));
    scene.reconnect();
    scene.again(&when);
}

/// The operations, numbered from 1, before which the state differs from that before their
/// predecessor. Reads change nothing; a line of the journal changes the report of the load alone;
/// the server is asked between two such lines.
fn prefixes(operations: &[String]) -> Vec<usize> {
    let changes =
        |operation: &str| !operation.starts_with("open ") && !operation.starts_with("read ");
    let is_line =
        |at: usize| operations[at] == "sync journal" && operations[at - 1] == "write journal";
    (1..operations.len())
        .filter(|&at| changes(&operations[at - 1]) && !is_line(at))
        .map(|at| at + 1)
        .collect()
}

fn durable() -> Option<TestServer> {
    TestServer::start_with(&TestServerOptions { durable: true, ..TestServerOptions::default() })
}

#[test]
fn a_load_survives_a_power_cut_after_every_operation() {
    let Some(server) = durable() else { return };
    let modes: &[Mode] =
        if is_thorough() { &[Mode::Insert, Mode::Replace] } else { &[Mode::Replace] };
    for &mode in modes {
        let mut scene = Scene::new(&server, mode, 40);
        let operations = operations(&mut scene);
        let prefixes = prefixes(&operations);
        println!("{} of {} operations", prefixes.len(), operations.len());
        for (turn, &nth) in prefixes.iter().enumerate() {
            let losses = if is_thorough() { &LOSSES } else { &LOSSES[turn % 2..][..1] };
            for loss in losses {
                power_cut(&mut scene, nth, loss, &operations);
            }
        }
    }
}

#[test]
#[ignore = "minutes long; make soak runs it"]
fn a_larger_load_survives_a_power_cut_after_every_operation() {
    let Some(server) = durable() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 1_500);
    let operations = operations(&mut scene);
    for nth in prefixes(&operations) {
        power_cut(&mut scene, nth, "power.1", &operations);
    }
}
