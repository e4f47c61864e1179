//! One random table loaded twice, by LOAD DATA and by us, and compared in every way.

use std::path::Path;

use innodb::ids::PAGE_SIZE;
use load::{Fill, Mode, Report};

use crate::Random;
use crate::TestServer;
use crate::say;
use crate::tables::case::{Arrangement, Case, Line, Sorted};
use crate::tables::change;
use crate::tables::compare::{Exported, same_rows, same_stored};
use crate::tables::run::{Input, Run};
use crate::tables::server::{Db, Server};
use crate::tables::table::KeyKind;

/// Rounds of changes, of some ten statements each.
const CHANGES: usize = 8;

/// How much of what was met.
#[derive(Debug, Default)]
pub struct Totals {
    /// Rows loaded.
    pub rows: u64,
    /// Rows refused for their values.
    pub rejects: usize,
    /// Rows with a key that another row has.
    pub duplicates: usize,
    /// Loads whose rows came in the order of the clustered index.
    pub sorted: usize,
    /// Loads that wrote runs to files.
    pub spilled: usize,
    /// Tables whose pages were the server's own.
    pub same_pages: usize,
    /// Loads of nothing.
    pub without_rows: usize,
}

impl Totals {
    /// Counts a load, and checks its report.
    fn add(&mut self, sorted: &Sorted, report: &Report) {
        assert_eq!(report.rows, sorted.good.len() as u64);
        if let Some(in_order) = sorted.in_order {
            assert_eq!(report.sorted_input, in_order, "sorted_input");
        }
        self.rows += report.rows;
        self.rejects += sorted.bad.len();
        self.duplicates += sorted.duplicates.len();
        self.sorted += usize::from(report.sorted_input);
        self.spilled += usize::from(report.spilled_bytes > 0);
        self.without_rows += usize::from(report.rows == 0);
    }
}

/// Two loaded tables, kept over a restart.
pub struct TablePair {
    database: String,
    indexes: Vec<String>,
}

impl TablePair {
    /// Compares the two again, then drops their database.
    pub fn compare_again(self, server: &Server) {
        let mut db = server.session(&self.database);
        self.compare(&mut db);
        db.sql(&format!("DROP DATABASE {}", self.database));
    }

    #[track_caller]
    fn compare(&self, db: &mut Db) {
        let indexes: Vec<&str> = self.indexes.iter().map(String::as_str).collect();
        same_rows(db, "b", "a", &indexes);
    }
}

/// One table from beginning to end.
pub fn one(server: &Server, seed: u64, totals: &mut Totals) -> TablePair {
    let random = &mut Random::new(seed);
    let mut db = server.database();
    let folder = server.folder(&db.name);
    let case = Case::random(random, &mut db);
    say(&format!("seed {seed}: {}", case.table.sql(&db.name, true, "")));
    let sorted = rows(random, &mut db, &case, &folder);
    let run = Run { server, case: &case, folder: &folder };
    if !sorted.duplicates.is_empty() {
        run.duplicates_stop_the_load(random, &mut db, &sorted.good, &sorted.duplicates);
    }
    let input = Input::write(random, &case, &folder, &sorted.good, &sorted.bad);
    let mut options = run.options(random, &db);
    if case.table.auto_increment().is_none() && random.chance(4) {
        run.fill_with_others(random, &mut db);
        options.mode = Mode::Replace;
    }
    let is_server_fill = options.limits.fill == (Fill { secondary_reserve: 0, ..Fill::default() });
    let may_be_whole = options.limits.shares.is_none() && is_server_fill && input.files.len() == 1;
    // Larger indexes may be built in several ranges (`direct::key_ranges`).
    let range_bytes = options.memory(0).map_or(0, |memory| memory.batch_bytes / 4);
    let report = run.load(options, &input);
    totals.add(&sorted, &report);

    run.load_data(random, &mut db, &sorted.good);
    let indexes = case.table.keys.iter().map(|key| key.name.clone()).collect();
    let twins = TablePair { database: db.name.clone(), indexes };
    let ours = Exported::new(server, &mut db, "b");
    ours.verify(&mut db, &folder);
    same_stored(&ours, &Exported::new(server, &mut db, "a"));
    twins.compare(&mut db);
    // Of one chunk and one range, so that no page in the middle is left partly empty.
    let leaf_pages_max = (range_bytes / (2 * PAGE_SIZE)) as u64;
    let is_small = report.indexes.iter().all(|index| index.leaf_pages < leaf_pages_max);
    if may_be_whole && report.bytes < 300_000 && is_small {
        db.sql("ALTER TABLE a FORCE");
        ours.same_pages(&Exported::new(server, &mut db, "a"));
        totals.same_pages += 1;
    }
    // Some meet the restart as they were imported.
    if !random.chance(4) {
        change::change(random, &mut db, &case, &folder, sorted.good.len());
        twins.compare(&mut db);
        Exported::new(server, &mut db, "b").verify(&mut db, &folder);
    }
    twins
}

/// Loads one table as the first action on a new server, whose counters are at their start: killed
/// and started again before anything else is done, then changed as its copy by LOAD DATA is.
/// Another server, the `oracle`, tells the good rows. Some tables have no key of their own.
pub fn on_new_server(oracle: &Server, new: &'static TestServer, seed: u64, totals: &mut Totals) {
    let random = &mut Random::new(seed);
    let mut db = oracle.database();
    let folder = oracle.folder(&db.name);
    let has_key = random.chance(2);
    let case = Case::random_with(random, &mut db, |_, table| {
        table.keys.retain(|key| has_key || key.kind == KeyKind::Plain);
    });
    let sorted = rows(random, &mut db, &case, &folder);
    db.sql(&format!("DROP DATABASE {}", db.name));

    let server = Server::of(new);
    let name = server.database().name;
    let mut db = server.session(&name);
    for table in ["a", "b"] {
        db.sql(&case.table.sql(table, true, ""));
    }
    say(&format!("seed {seed}, a new server: {}", case.table.sql(&name, true, "")));
    let run = Run { server: &server, case: &case, folder: &folder };
    let input = Input::write(random, &case, &folder, &sorted.good, &sorted.bad);
    let report = run.load(run.options(random, &db), &input);
    totals.add(&sorted, &report);
    let indexes = case.table.keys.iter().map(|key| key.name.clone()).collect();
    let twins = TablePair { database: name.clone(), indexes };

    new.kill_9().unwrap();
    new.restart().unwrap_or_else(|error| panic!("{error}\n{}", new.error_log()));
    let mut db = server.session(&name);
    run.load_data(random, &mut db, &sorted.good);
    for _ in 0..CHANGES {
        change::change(random, &mut db, &case, &folder, sorted.good.len().min(40));
    }
    twins.compare(&mut db);
    Exported::new(&server, &mut db, "b").verify(&mut db, &folder);
    new.restart().unwrap_or_else(|error| panic!("{error}\n{}", new.error_log()));
    let mut db = server.session(&name);
    change::change(random, &mut db, &case, &folder, 40);
    twins.compare(&mut db);
}

/// Random rows for the case, sorted out by the server.
pub fn rows(random: &mut Random, db: &mut Db, case: &Case, folder: &Path) -> Sorted {
    let count = match random.below(30) {
        0 => 15_000,
        _ => random.pick(&[0, 1, 2, 7, 60, 60, 300, 300, 1000, 4000]),
    };
    let is_dirty = random.chance(2);
    let line = |number| match is_dirty && random.chance(8) {
        true => case.bad_line(random, number),
        false => case.line(random, number),
    };
    let lines: Vec<Line> = (0..count).map(line).collect();
    let arrangement = Arrangement::random(random);
    let mut sorted = case.sort_out(random, db, folder, lines, arrangement);
    if case.table.auto_increment().is_some() {
        // They would shift the generated numbers.
        sorted.duplicates.clear();
    }
    say(&format!(
        "  {arrangement:?} {} {:?}, {} good, {} bad, {} duplicates",
        case.format.dialect.fields_terminated_by.escape_ascii(),
        case.format.charset,
        sorted.good.len(),
        sorted.bad.len(),
        sorted.duplicates.len()
    ));
    sorted
}
