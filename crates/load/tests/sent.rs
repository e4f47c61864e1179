//! Random tables, each loaded by LOAD DATA and by sending the rows, as lines or as tuples: the same
//! rows through every index, the same rows refused, the same AUTO_INCREMENT.
//!
//! `INRUSH_CASES=n` makes n tables instead of a few, as in [`crate::differential`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use load::{LoadPath, Mode};

use testkit::Random;
use testkit::say;
use testkit::tables::case::Case;
use testkit::tables::compare::same_rows;
use testkit::tables::run::{Input, Run};
use testkit::tables::server::{Db, Server};
use testkit::tables::table_pair;

const CASES: usize = 40;

/// How much of what was met.
#[derive(Debug, Default)]
struct Totals {
    rows: u64,
    rejects: u64,
    chunks: u64,
    streamed: usize,
    numbered: usize,
}

#[test]
fn random_tables_that_are_sent_are_as_load_data_makes_them() {
    let Some(server) = Server::get() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(CASES);
    println!("seed {seed}, {cases} tables");
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for seed in (0..cases).map(|number| seed + number as u64) {
        if catch_unwind(AssertUnwindSafe(|| one(&server, seed, &mut totals))).is_err() {
            failed.push(seed);
        }
    }
    println!("{cases} tables, {totals:?}");
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}

fn one(server: &Server, seed: u64, totals: &mut Totals) {
    let random = &mut Random::new(seed);
    let mut db = server.database();
    let folder = server.folder(&db.name);
    let case = Case::random(random, &mut db);
    say(&format!("seed {seed}: {}", case.table.sql(&db.name, true, "")));
    let sorted = table_pair::rows(random, &mut db, &case, &folder);
    let run = Run { server, case: &case, folder: &folder };
    let input = Input::write(random, &case, &folder, &sorted.good, &sorted.bad);
    let mut options = run.options(random, &db);
    options.path = random.pick(&[LoadPath::Stream, LoadPath::Insert]);
    options.limits.batches.connections = Some(random.between(1, 4));
    options.limits.defer_indexes = random.pick(&[None, Some(true)]);
    options.limits.batches.rows = random.pick(&[None, Some(1), Some(50)]);
    if !case.has_clustered_key() {
        // Rows lie in the order in which they come, which several connections share.
        options.limits.batches.connections = Some(1);
    }
    if case.table.auto_increment().is_none() && random.chance(4) {
        run.fill_with_others(random, &mut db);
        options.mode = Mode::Replace;
    }
    let is_streamed = options.path == LoadPath::Stream;
    let report = run.load(options, &input);
    assert_eq!(report.rows, sorted.good.len() as u64);
    run.load_data(random, &mut db, &sorted.good);
    let indexes: Vec<&str> = case.table.keys.iter().map(|key| key.name.as_str()).collect();
    same_rows(&mut db, "b", "a", &indexes);
    if case.table.auto_increment().is_some() {
        assert_eq!(next_number(&mut db, "b"), next_number(&mut db, "a"));
        totals.numbered += 1;
    }
    totals.rows += report.rows;
    totals.rejects += report.rejects;
    totals.chunks += report.logical.map_or(0, |logical| logical.chunks);
    totals.streamed += usize::from(is_streamed);
    db.sql(&format!("DROP DATABASE {}", db.name));
}

fn next_number(db: &mut Db, table: &str) -> String {
    let sql = format!(
        "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND \
         TABLE_NAME='{table}'"
    );
    db.text(&sql)
}
