//! Servers that do not exist, and what the controller makes of them.
//!
//! Connections share a server whose speed is a curve over their number; chunks take as long as their
//! share of it says, more or less by chance. Compared with the same load at every fixed number of
//! connections, on the same server.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::pressure::Pressure;
use crate::retry::Cause;
use server::replication::lag::{Following, Lag};

use super::tuner::{Begun, Tuner};
use super::{Limits, Settled};

const CHUNK_BYTES: u64 = 8 << 20;
const ROW_BYTES: u64 = 128;
const SECOND: u64 = 1_000_000_000;

/// The capacity of a server.
struct Server {
    /// Chunks a second over connections.
    curve: fn(f64) -> f64,
    /// The cost of a statement's size, 1 at best.
    statement: fn(f64) -> f64,
    /// Standard deviation of a chunk's work, as a share.
    noise: f64,
    /// How far the whole server's speed wanders, as a share.
    weather: f64,
    /// The curve after half of the load, where it changes.
    later: Option<fn(f64) -> f64>,
    /// Chunks in a thousand that meet a deadlock, for each other connection.
    deadlocks: f64,
}

const QUIET: Server = Server {
    curve: two_cores,
    statement: |_| 1.0,
    noise: 0.1,
    weather: 0.05,
    later: None,
    deadlocks: 0.0,
};

/// Client and server on 2 cores: 2, 4 and 8 connections measured, one guessed.
fn two_cores(n: f64) -> f64 {
    between(&[(1.0, 5.0), (2.0, 9.5), (4.0, 10.0), (8.0, 6.6), (64.0, 3.0)], n)
}

/// The same with secondary indexes.
fn two_cores_indexed(n: f64) -> f64 {
    between(&[(1.0, 2.8), (2.0, 3.1), (4.0, 5.3), (8.0, 4.7), (64.0, 3.0)], n)
}

/// A large server: as 1 - 1 / (1 + n / 8), with a cost of each connection.
fn large(n: f64) -> f64 {
    400.0 * n / (n + 8.0) * (1.0 - n / 400.0)
}

/// A far one: each connection waits for the network most of the time.
fn far(n: f64) -> f64 {
    (0.8 * n).min(30.0) * (1.0 - n / 500.0)
}

/// More connections never help.
fn one_is_best(n: f64) -> f64 {
    10.0 / (1.0 + 0.1 * (n - 1.0))
}

fn between(points: &[(f64, f64)], n: f64) -> f64 {
    let after = points.iter().position(|point| point.0 >= n).unwrap_or(points.len() - 1).max(1);
    let ((a, low), (b, high)) = (points[after - 1], points[after]);
    low + (high - low) * ((n - a) / (b - a)).clamp(0.0, 1.0)
}

/// Numbers that look random; xorshift64*.
struct Dice(u64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, of mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

struct SimulatedConnection {
    begun: Begun,
    /// Chunks left of its own.
    left: f64,
    troubled: bool,
}

/// A load of `chunks` and what came of it: seconds, and what was settled on.
fn run(server: &Server, limits: &Limits, chunks: usize, seed: u64) -> (f64, Settled) {
    run_observed(server, limits, chunks, seed, |_, _| None)
}

/// The same, the server looked at each second.
fn run_observed(
    server: &Server,
    limits: &Limits,
    chunks: usize,
    seed: u64,
    mut look: impl FnMut(f64, f64) -> Option<Pressure>,
) -> (f64, Settled) {
    let mut tuner = Tuner::new(limits);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut connections: Vec<Option<SimulatedConnection>> =
        (0..limits.connections_max).map(|_| None).collect();
    let (mut now, mut taken, mut done, mut weather) = (0.0, 0, 0, 0.0f64);
    let mut looked_at = 0.0;
    let time = |now: f64| Duration::from_nanos((now * SECOND as f64) as u64);
    while done < chunks {
        for connection in 0..connections.len() {
            if connections[connection].is_none()
                && taken < chunks
                && tuner.wait(connection, time(now)).is_zero()
            {
                let begun = tuner.begin(time(now));
                let statement = (server.statement)(begun.batch.rows as f64);
                let left = statement * (1.0 + server.noise * dice.normal()).max(0.2);
                let troubled = dice.uniform()
                    < server.deadlocks / 1000.0 * connections.iter().flatten().count() as f64;
                connections[connection] = Some(SimulatedConnection { begun, left, troubled });
                taken += 1;
            }
        }
        let active = connections.iter().flatten().count() as f64;
        let next_look = looked_at + 1.0;
        let first = connections
            .iter()
            .enumerate()
            .filter_map(|(i, connection)| Some((i, connection.as_ref()?.left)));
        let first = first.min_by(|a, b| a.1.total_cmp(&b.1));
        weather = 0.9 * weather + server.weather * 0.44 * dice.normal();
        let curve = server.later.filter(|_| 2 * done > chunks).unwrap_or(server.curve);
        let speed = curve(active.max(1.0)) / active.max(1.0) * weather.exp();
        let ends_at = first.map_or(f64::INFINITY, |(_, left)| now + left / speed);
        // A connection that waits for the rate wakes by itself.
        let free = (0..connections.len())
            .filter(|&connection| connections[connection].is_none() && taken < chunks);
        let waits =
            free.map(|connection| tuner.wait(connection, time(now))).min().unwrap_or(Duration::MAX);
        let until = ends_at.min(next_look).min(now + waits.as_secs_f64());
        for connection in connections.iter_mut().flatten() {
            connection.left -= (until - now) * speed;
        }
        now = until;
        if until == next_look {
            looked_at = next_look;
            if let Some(pressure) = look(now, done as f64) {
                tuner.observe(&pressure, time(now));
            }
            continue;
        }
        let Some((index, _)) = first.filter(|_| until == ends_at) else { continue };
        if let Some(connection) = &mut connections[index]
            && connection.troubled
        {
            tuner.troubled(Cause::Deadlock, time(now));
            connection.troubled = false;
            connection.left = 1.0;
            continue;
        }
        if let Some(connection) = connections[index].take() {
            tuner.done(&connection.begun, CHUNK_BYTES / ROW_BYTES, CHUNK_BYTES, time(now));
            tuner.leave(time(now));
            done += 1;
        }
    }
    (now, tuner.settled())
}

fn limits(server_cores: Option<usize>) -> Limits {
    Limits {
        connections_max: 64,
        server_cores,
        connections: None,
        batch_rows: None,
        batch_bytes_max: 4 << 20,
        tune_batch: false,
        rate_bytes: None,
        lag_max: Duration::from_secs(10),
        chunk_bytes: CHUNK_BYTES as usize,
    }
}

/// Seconds of the best fixed number of connections and rows.
fn best(server: &Server, limits: &Limits, chunks: usize, seed: u64) -> f64 {
    let rows: &[usize] =
        if limits.tune_batch { &[10, 100, 500, 1000, 2000, 5000, 10_000] } else { &[1000] };
    let cells = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].into_iter();
    let cells = cells.flat_map(|n| rows.iter().map(move |&rows| (n, rows)));
    let fixed = |(connections, rows)| Limits {
        connections: Some(connections),
        batch_rows: Some(rows),
        ..limits.clone()
    };
    cells.map(|cell| run(server, &fixed(cell), chunks, seed).0).fold(f64::INFINITY, f64::min)
}

/// The controller's speed over that of the best cell: average and worst of some runs.
fn efficiency(server: &Server, limits: &Limits, chunks: usize) -> (f64, f64, Settled) {
    let seeds = 1..=8;
    let (mut sum, mut worst, mut last) = (0.0, f64::INFINITY, Settled::default());
    for seed in seeds.clone() {
        let (seconds, settled) = run(server, limits, chunks, seed);
        let share = best(server, limits, chunks, seed) / seconds;
        sum += share;
        worst = share.min(worst);
        last = settled;
    }
    (sum / seeds.count() as f64, worst, last)
}

/// The controller's speed is at least `share` of the best cell's, on average of some loads.
#[track_caller]
fn reaches(share: f64, server: &Server, limits: &Limits, chunks: usize) -> Settled {
    let (mean, worst, settled) = efficiency(server, limits, chunks);
    assert!(mean >= share && worst >= share - 0.1, "{mean:.3}, at worst {worst:.3}: {settled:?}");
    settled
}

#[test]
fn a_known_small_server_is_loaded_as_by_the_best_cell() {
    for (curve, least) in [(two_cores as fn(f64) -> f64, 0.95), (two_cores_indexed, 0.95)] {
        let server = Server { curve, ..QUIET };
        reaches(least, &server, &limits(Some(2)), 128);
        reaches(0.96, &server, &limits(Some(2)), 400);
        reaches(0.97, &server, &limits(Some(2)), 3000);
    }
}

#[test]
fn an_unknown_server_is_found_out_within_some_hundred_chunks() {
    reaches(0.95, &QUIET, &limits(None), 400);
    let settled = reaches(0.95, &Server { curve: large, ..QUIET }, &limits(None), 3000);
    assert!(settled.connections >= 24, "{settled:?}");
    let settled = reaches(0.90, &Server { curve: far, ..QUIET }, &limits(Some(4)), 3000);
    assert!(settled.connections >= 30, "{settled:?}");
    let settled = reaches(0.96, &Server { curve: one_is_best, ..QUIET }, &limits(Some(2)), 3000);
    assert_eq!(settled.connections, 1);
}

#[test]
fn noise_does_not_lead_astray() {
    let server = Server { noise: 0.3, weather: 0.2, ..QUIET };
    reaches(0.92, &server, &limits(Some(2)), 400);
    reaches(0.94, &server, &limits(Some(2)), 3000);
}

#[test]
fn a_server_that_changes_is_found_out_again() {
    let server = Server { curve: large, later: Some(one_is_best), ..QUIET };
    let settled = run(&server, &limits(Some(64)), 20_000, 3).1;
    assert!(settled.connections_max >= 32 && settled.connections <= 4, "{settled:?}");
}

#[test]
fn more_connections_than_allowed_or_fewer_than_asked_for_are_never_used() {
    let server = Server { curve: large, ..QUIET };
    let few = Limits { connections_max: 5, ..limits(Some(64)) };
    assert_eq!(run(&server, &few, 400, 1).1.connections_max, 5);
    let fixed = Limits { connections: Some(3), ..limits(Some(64)) };
    let settled = run(&server, &fixed, 400, 1).1;
    assert_eq!((settled.connections, settled.connections_max), (3, 3));
}

/// Cost of a statement's own work beside that of `even` rows, and of long ones.
fn statements(even: f64, long: f64) -> impl Fn(f64) -> f64 {
    move |rows| 1.0 + even / rows + rows / long
}

#[test]
fn the_size_of_statements_is_found() {
    let tuned = Limits { tune_batch: true, ..limits(Some(2)) };
    let near = Server { statement: |rows| statements(100.0, 40_000.0)(rows), ..QUIET };
    let settled = reaches(0.94, &near, &tuned, 400);
    assert!((500..=4000).contains(&settled.batch_rows.unwrap()), "{settled:?}");
    let short = Server { statement: |rows| statements(5.0, 2000.0)(rows), ..QUIET };
    let settled = reaches(0.90, &short, &tuned, 1000);
    assert!((31..=250).contains(&settled.batch_rows.unwrap()), "{settled:?}");
    let long = Server { statement: |rows| statements(2000.0, 1e9)(rows), ..QUIET };
    let settled = reaches(0.90, &long, &tuned, 1000);
    assert!(settled.batch_rows.unwrap() >= 8000, "{settled:?}");
    let fixed = Limits { batch_rows: Some(77), ..tuned };
    assert_eq!(run(&near, &fixed, 400, 1).1.batch_rows, Some(77));
}

#[test]
fn deadlocks_take_connections_away_for_a_time() {
    let server = Server { deadlocks: 60.0, ..QUIET };
    let (_, settled) = run(&server, &limits(Some(2)), 1000, 1);
    let held = &settled.held_back[0];
    assert_eq!((held.cause, settled.held_back.len()), ("deadlocks", 1));
    assert!(held.times > 10 && held.seconds > 10.0 && held.paused_seconds == 0.0, "{held:?}");
    // Every other chunk again if all meet: alone none is, and that is faster.
    let curse = Server { deadlocks: 300.0, ..QUIET };
    let alone = Limits { connections: Some(1), ..limits(Some(2)) };
    let seconds = |limits: &Limits| run(&curse, limits, 400, 1).0;
    let (ours, best) = (seconds(&limits(Some(2))), seconds(&alone));
    assert!(ours < 1.5 * best, "{ours} and {best}");
}

#[test]
fn a_replica_that_applies_half_as_fast_is_never_far_behind() {
    let mut worst = 0.0f64;
    // It applies 5 chunks a second of the 10 that are loaded.
    let applied = std::cell::Cell::new(0.0f64);
    let look = |_now: f64, done: f64| {
        applied.set((applied.get() + 5.0).min(done));
        let behind = (done - applied.get()) / 10.0;
        worst = worst.max(behind);
        let following = Following::Behind(Duration::from_secs_f64(behind));
        let lag = Some(Lag { replica: "db2:3306".to_owned(), following });
        Some(Pressure { lag, ..Pressure::default() })
    };
    let (seconds, settled) = run_observed(&QUIET, &limits(Some(2)), 2000, 1, look);
    assert!(worst < 12.0, "{worst}");
    assert!((380.0..480.0).contains(&seconds), "as fast as the replica: {seconds}");
    let held = &settled.held_back[0];
    assert_eq!(held.cause, "replica lag");
    assert!(held.seconds > 150.0 && held.worst.as_ref().unwrap().starts_with("db2:3306 is "));
}

#[test]
fn others_and_flow_control_leave_one_connection_and_give_back_the_rest() {
    let busy = |now: f64, _done: f64| {
        let threads_running = Some(if (10.0..40.0).contains(&now) { 80 } else { 5 });
        let flow_control = Some(if (50.0..60.0).contains(&now) { 0.6 } else { 0.0 });
        Some(Pressure { threads_running, flow_control, ..Pressure::default() })
    };
    let (seconds, settled) = run_observed(&QUIET, &limits(Some(2)), 2000, 1, busy);
    let held: Vec<(&str, f64)> =
        settled.held_back.iter().map(|held| (held.cause, held.seconds)).collect();
    let [("Galera flow control", flow), ("other statements on the server", others)] = held[..]
    else {
        panic!("{settled:?}");
    };
    assert!((10.0..16.0).contains(&flow) && (30.0..36.0).contains(&others), "{settled:?}");
    assert!(seconds < 260.0 && settled.held_back.iter().all(|held| held.paused_seconds == 0.0));
}

#[test]
fn a_full_redo_log_makes_do_with_fewer_connections() {
    // Two do as much as four.
    let flat = Server { curve: |n| between(&[(1.0, 5.0), (2.0, 10.0), (64.0, 10.0)], n), ..QUIET };
    let look = |_, _| Some(Pressure { checkpoint: Some(0.97), ..Pressure::default() });
    let (_, settled) = run_observed(&flat, &limits(Some(8)), 3000, 1, look);
    assert!(settled.connections < 8 && settled.redo_log_max > 0.9, "{settled:?}");
    reaches(0.95, &flat, &limits(Some(8)), 3000);
}

#[test]
fn a_rate_is_kept_from_the_first_second_to_the_last() {
    let bytes = 4 * CHUNK_BYTES;
    for connections in [None, Some(16)] {
        let slow = Limits { rate_bytes: Some(bytes), connections, ..limits(Some(2)) };
        let mut early = 0.0f64;
        let look = |now: f64, done: f64| {
            early = early.max(done - 4.0 * now);
            None
        };
        let (seconds, settled) = run_observed(&QUIET, &slow, 400, 1, look);
        assert!((97.0..103.0).contains(&seconds), "{seconds}");
        assert!(early <= 2.0, "{early} chunks too early");
        assert!(settled.held_back.is_empty());
    }
}
