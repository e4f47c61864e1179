//! Random tables, each loaded by LOAD DATA and by us: the same rows through every index, then and
//! after the same changes to both and a restart; the same rows refused; the same pages as the
//! server's own sorted build.
//!
//! `INRUSH_CASES=n` makes n tables instead of a few; `INRUSH_SEED=s` starts at another seed. Case
//! i has seed s + i, so `INRUSH_SEED=<seed of the case> INRUSH_CASES=1` repeats one alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use testkit::tables::server::{End, Server};
use testkit::tables::table_pair::{Totals, on_new_server, one};
use testkit::{Random, TestServer, TestServerOptions};

const CASES: usize = 100;
/// Tables between two restarts.
const BATCH: usize = 50;
/// Servers that are made for one table each.
const NEW_SERVERS: usize = 4;

#[test]
fn random_tables_are_as_load_data_makes_them_also_after_a_crash() {
    compare_tables(0, End::Kill);
}

#[test]
fn random_tables_are_as_load_data_makes_them_also_after_a_shutdown() {
    compare_tables(1, End::Shutdown);
}

/// Every second batch of tables from `first` on, each compared once more after the server's `end`.
fn compare_tables(first: usize, end: End) {
    let Some(server) = Server::own() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(CASES);
    println!("seed {seed}, {cases} tables");
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for start in (first * BATCH..cases).step_by(2 * BATCH) {
        let mut loaded = Vec::new();
        for seed in (start..cases.min(start + BATCH)).map(|number| seed + number as u64) {
            let outcome = catch_unwind(AssertUnwindSafe(|| one(&server, seed, &mut totals)));
            match outcome {
                Ok(table_pair) => loaded.push((seed, table_pair)),
                Err(_) => failed.push(seed),
            }
        }
        server.restart(end);
        for (seed, table_pair) in loaded {
            let again = catch_unwind(AssertUnwindSafe(|| table_pair.compare_again(&server)));
            if again.is_err() {
                println!("seed {seed} differs after the restart");
                failed.push(seed);
            }
        }
    }
    println!("{totals:?}");
    server.remove();
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}

/// Servers whose counters are at their start: on one that has been at work for a while, ids of rows
/// and transactions are high already, and nothing collides.
#[test]
fn the_first_table_of_a_new_server_stays_as_load_data_makes_it() {
    let Some(oracle) = Server::get() else { return };
    let seed = Random::seed_of_run() + 1_000_000;
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(NEW_SERVERS);
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for seed in (0..cases).map(|number| seed + number as u64) {
        let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
        let Some(new) = TestServer::start_with(&options) else { return };
        let new: &'static TestServer = Box::leak(Box::new(new));
        let run = AssertUnwindSafe(|| on_new_server(&oracle, new, seed, &mut totals));
        if catch_unwind(run).is_err() {
            failed.push(seed);
        }
        Server::of(new).remove();
    }
    println!("{cases} new servers, {totals:?}");
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}
