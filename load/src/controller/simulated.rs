//! Servers that do not exist, and what the controller makes of them.
//!
//! Lanes share a server whose speed is a curve over their number; portions take as long as their
//! share of it says, more or less by chance. Compared with the same load at every fixed number of
//! connections, on the same server.

use std::time::Duration;

use server::pressure::Pressure;

use super::backoff::Trouble;
use super::tuner::{Begun, Tuner};
use super::{Limits, Settled};

const PORTION_BYTES: u64 = 8 << 20;
const ROW_BYTES: u64 = 128;
const SECOND: u64 = 1_000_000_000;

/// What a server can do.
struct Server {
    /// Portions a second over connections.
    curve: fn(f64) -> f64,
    /// What a size of statement costs, 1 at best.
    statement: fn(f64) -> f64,
    /// Standard deviation of a portion's work, as a share.
    noise: f64,
    /// How far the whole server's speed wanders, as a share.
    weather: f64,
    /// Portions in a thousand that meet a deadlock, for each other lane.
    deadlocks: f64,
}

const QUIET: Server =
    Server { curve: two_cores, statement: |_| 1.0, noise: 0.1, weather: 0.05, deadlocks: 0.0 };

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

struct Lane {
    begun: Begun,
    /// Portions left of its own.
    left: f64,
    troubled: bool,
}

/// A load of `portions` and what came of it: seconds, and what was settled on.
fn run(server: &Server, limits: &Limits, portions: usize, seed: u64) -> (f64, Settled) {
    run_observed(server, limits, portions, seed, |_, _| None)
}

/// The same, the server looked at each second.
fn run_observed(
    server: &Server,
    limits: &Limits,
    portions: usize,
    seed: u64,
    mut look: impl FnMut(f64, f64) -> Option<Pressure>,
) -> (f64, Settled) {
    let mut tuner = Tuner::new(limits);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut lanes: Vec<Option<Lane>> = (0..limits.connections_max).map(|_| None).collect();
    let (mut now, mut taken, mut done, mut weather) = (0.0, 0, 0, 0.0f64);
    let mut looked_at = 0.0;
    let time = |now: f64| Duration::from_nanos((now * SECOND as f64) as u64);
    while done < portions {
        for lane in 0..lanes.len() {
            if lanes[lane].is_none() && taken < portions && tuner.wait(lane, time(now)).is_zero() {
                let begun = tuner.begin(time(now));
                let statement = (server.statement)(begun.batch.rows as f64);
                let left = statement * (1.0 + server.noise * dice.normal()).max(0.2);
                let troubled = dice.uniform()
                    < server.deadlocks / 1000.0 * lanes.iter().flatten().count() as f64;
                lanes[lane] = Some(Lane { begun, left, troubled });
                taken += 1;
            }
        }
        let active = lanes.iter().flatten().count() as f64;
        let next_look = looked_at + 1.0;
        let first = lanes.iter().enumerate().filter_map(|(i, lane)| Some((i, lane.as_ref()?.left)));
        let first = first.min_by(|a, b| a.1.total_cmp(&b.1));
        weather = 0.9 * weather + server.weather * 0.44 * dice.normal();
        let speed = (server.curve)(active.max(1.0)) / active.max(1.0) * weather.exp();
        let ends_at = first.map_or(f64::INFINITY, |(_, left)| now + left / speed);
        let until = ends_at.min(next_look);
        for lane in lanes.iter_mut().flatten() {
            lane.left -= (until - now) * speed;
        }
        now = until;
        if until == next_look {
            looked_at = next_look;
            if let Some(pressure) = look(now, done as f64) {
                tuner.observe(&pressure, time(now));
            }
            continue;
        }
        let Some((index, _)) = first else { continue };
        if let Some(lane) = &mut lanes[index]
            && lane.troubled
        {
            tuner.troubled(Trouble::Deadlock, time(now));
            lane.troubled = false;
            lane.left = 1.0;
            continue;
        }
        if let Some(lane) = lanes[index].take() {
            tuner.done(&lane.begun, PORTION_BYTES / ROW_BYTES, PORTION_BYTES, time(now));
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
        portion_bytes: PORTION_BYTES as usize,
    }
}

/// Seconds of the best fixed number of connections and rows.
fn best(server: &Server, limits: &Limits, portions: usize, seed: u64) -> f64 {
    let rows: &[usize] =
        if limits.tune_batch { &[10, 100, 500, 1000, 2000, 5000, 10_000] } else { &[1000] };
    let cells = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].into_iter();
    let cells = cells.flat_map(|n| rows.iter().map(move |&rows| (n, rows)));
    let fixed = |(connections, rows)| Limits {
        connections: Some(connections),
        batch_rows: Some(rows),
        ..limits.clone()
    };
    cells.map(|cell| run(server, &fixed(cell), portions, seed).0).fold(f64::INFINITY, f64::min)
}

/// The controller's speed over that of the best cell: average and worst of some runs.
fn efficiency(server: &Server, limits: &Limits, portions: usize) -> (f64, f64, Settled) {
    let seeds = 1..=8;
    let (mut sum, mut worst, mut last) = (0.0, f64::INFINITY, Settled::default());
    for seed in seeds.clone() {
        let (seconds, settled) = run(server, limits, portions, seed);
        let share = best(server, limits, portions, seed) / seconds;
        sum += share;
        worst = share.min(worst);
        last = settled;
    }
    (sum / seeds.count() as f64, worst, last)
}

#[test]
#[ignore = "prints, decides nothing"]
fn table() {
    let servers: [(&str, Server, Option<usize>); 8] = [
        ("two cores", QUIET, Some(2)),
        ("two cores, unknown", QUIET, None),
        ("two cores indexed", Server { curve: two_cores_indexed, ..QUIET }, Some(2)),
        ("two cores noisy", Server { noise: 0.3, weather: 0.2, ..QUIET }, Some(2)),
        ("large", Server { curve: large, ..QUIET }, Some(64)),
        ("large unknown noisy", Server { curve: large, noise: 0.3, weather: 0.1, ..QUIET }, None),
        ("far", Server { curve: far, ..QUIET }, None),
        ("one is best", Server { curve: one_is_best, ..QUIET }, Some(2)),
    ];
    for (name, server, cores) in servers {
        for portions in [50, 200, 1000, 10_000] {
            let (mean, worst, settled) = efficiency(&server, &limits(cores), portions);
            println!(
                "{name:22} {portions:6} mean {mean:.3} worst {worst:.3} conns {} max {}",
                settled.connections, settled.connections_max
            );
        }
    }
}
