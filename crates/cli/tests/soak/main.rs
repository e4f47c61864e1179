//! The soak: random tables loaded by LOAD DATA and by Inrush, on several servers, for as long as
//! wanted, with the program and the servers killed in between.
//!
//! `make soak MINUTES=30` runs it; variables say how (see [`settings`]). Without any, as in `make
//! test`, it is over in seconds. A case is made of its seed alone, so a failed one can be had again.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(dead_code, unused_imports, reason = "of the tests' modules, each is used in part")]

mod hosts;
mod killed;
mod program;
mod progress;
#[path = "../scene.rs"]
mod scene;
mod sent;
mod sent_kill;
mod sent_rows;
mod settings;
#[path = "../support.rs"]
mod support;
mod things;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use testkit::tables::table_pair::TablePair;
use testkit::tables::{left_out, table_pair};
use testkit::{Random, say};

use crate::hosts::Host;
use crate::progress::Progress;
use crate::settings::Settings;

/// Cases between two restarts of a server.
const BATCH: u64 = 12;

fn main() -> ExitCode {
    let settings = match Settings::of_environment() {
        Ok(settings) => settings,
        Err(wrong) => {
            eprintln!("soak: {wrong}");
            return ExitCode::from(2);
        }
    };
    let hosts = hosts::start(&settings);
    if hosts.is_empty() {
        println!("skipped: no MariaDB server is installed");
        return ExitCode::SUCCESS;
    }
    let progress = Progress::begin(&settings, &hosts);
    let mut seed = settings.seed;
    'soak: loop {
        for (number, host) in hosts.iter().enumerate() {
            let left = settings.end_seed().saturating_sub(seed);
            if left == 0 || settings.is_over() {
                break 'soak;
            }
            let count = left.min(BATCH);
            batch(host, number, seed..seed + count, &settings, &progress);
            seed += count;
        }
    }
    hosts::end(hosts);
    progress.finish()
}

/// Some cases on one server, and a look at all their tables after it came back from an end.
fn batch(
    host: &Host,
    number: usize,
    seeds: std::ops::Range<u64>,
    settings: &Settings,
    progress: &Progress,
) {
    let first = seeds.start;
    let mut loaded = Vec::new();
    for seed in seeds {
        if settings.is_over() {
            break;
        }
        if settings.only_sent && !is_sent(seed) {
            continue;
        }
        progress.case(number, seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| case(host, number, seed, progress)));
        match outcome {
            Ok(table_pair) => loaded.extend(table_pair.map(|table_pair| (seed, table_pair))),
            Err(_) => {
                progress.failed(host, seed, settings);
                host.revive();
            }
        }
        progress.case_done(number);
    }
    host.end_and_start(Random::new(first).chance(2));
    for (seed, table_pair) in loaded {
        say(&format!("seed {seed} after the restart"));
        let again = || table_pair.compare_again(&host.server());
        if catch_unwind(AssertUnwindSafe(again)).is_err() {
            progress.failed(host, seed, settings);
        }
    }
}

/// True if a case sends its rows: a third of them. Other numbers than those the case is made of.
fn is_sent(seed: u64) -> bool {
    Random::new(!seed).below(12) >= 8
}

/// One case; a table that is to be looked at after a restart.
fn case(host: &Host, number: usize, seed: u64, progress: &Progress) -> Option<TablePair> {
    if is_sent(seed) {
        let rows = sent::one(host, seed, |kind| progress.kill(number, kind));
        progress.rows(number, rows);
        return None;
    }
    match Random::new(!seed).below(8) {
        0 | 1 => {
            killed::one(host, seed, |kind| progress.kill(number, kind));
            None
        }
        2 => {
            let mut totals = left_out::Totals::default();
            left_out::one(&host.server(), seed, &mut totals);
            progress.rows(number, totals.rows);
            None
        }
        _ => {
            let mut totals = table_pair::Totals::default();
            let table_pair = table_pair::one(&host.server(), seed, &mut totals);
            progress.rows(number, totals.rows);
            Some(table_pair)
        }
    }
}
