//! Random tables, each loaded by LOAD DATA and by us: the same rows through every index, then and
//! after the same changes to both and a restart; the same rows refused; the same pages as the
//! server's own sorted build.
//!
//! `INRUSH_CASES=n` makes n tables instead of a few; `INRUSH_SEED=s` starts at another seed. Case
//! i has seed s + i, so `INRUSH_SEED=<seed of the case> INRUSH_CASES=1` repeats one alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use testkit::Random;
use testkit::tables::server::{End, Server};
use testkit::tables::twins::{Totals, one};

const CASES: usize = 150;
/// Tables between two restarts.
const BATCH: usize = 50;

#[test]
fn random_tables_are_as_load_data_makes_them() {
    let Some(mut server) = Server::get() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(CASES);
    println!("seed {seed}, {cases} tables");
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for start in (0..cases).step_by(BATCH) {
        let mut loaded = Vec::new();
        for seed in (start..cases.min(start + BATCH)).map(|number| seed + number as u64) {
            let outcome = catch_unwind(AssertUnwindSafe(|| one(&server, seed, &mut totals)));
            match outcome {
                Ok(twins) => loaded.push((seed, twins)),
                Err(_) => failed.push(seed),
            }
        }
        let end = if (start / BATCH).is_multiple_of(2) { End::Kill } else { End::Shutdown };
        server = server.restart(end);
        for (seed, twins) in loaded {
            let again = catch_unwind(AssertUnwindSafe(|| twins.compare_again(&server)));
            if again.is_err() {
                println!("seed {seed} differs after the restart");
                failed.push(seed);
            }
        }
    }
    println!("{cases} tables, {totals:?}");
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}
