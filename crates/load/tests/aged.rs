//! Rows appended to tables that a server has long worked on: the same table as by LOAD DATA, through
//! every index, then and after more changes and a restart.
//!
//! `INRUSH_AGED=n` takes n seeds instead of one, `INRUSH_SEED=s` begins at another, and
//! `INRUSH_AGED_FAMILY=words` takes the families whose names have these words; a case that fails names
//! its family, way and seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use innodb::verify::Report;
use load::{LoadPath, Mode, OnDuplicate};
use testkit::Random;
use testkit::aged::{Aged, FAMILIES, Family, Held, Line, purged, write};
use testkit::tables::server::{Db, End, Server};

/// The ways in by which every family is tried, but for those that they do not take.
const WAYS: &[LoadPath] = &[LoadPath::Direct];
/// Paths of which each family takes one, another with the next seed.
const ONE_OF: [LoadPath; 2] = [LoadPath::Stream, LoadPath::Insert];
/// Families whose rows are not merged with new ones by the direct path.
const SENT_ONLY: [&str; 1] = ["generated columns"];
/// Statements before the first rows are appended, and between others.
const STATEMENTS: usize = 32;
const STATEMENTS_BETWEEN: usize = 8;
/// Rows of a file.
const LINES: usize = 100;

/// Rules of the appends to a table, one after the other.
const ROUNDS: [OnDuplicate; 3] = [OnDuplicate::Fail, OnDuplicate::Skip, OnDuplicate::Replace];

/// A table whose load is over.
struct Done {
    name: String,
    aged: Aged,
    database: String,
    random: Random,
}

#[test]
fn rows_appended_to_aged_tables_are_as_load_data_appends_them() {
    let Some(server) = Server::own() else { return };
    let seeds = std::env::var("INRUSH_AGED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let words = std::env::var("INRUSH_AGED_FAMILY").unwrap_or_default();
    let seed = Random::seed_of_run();
    let mut failed = Vec::new();
    for seed in seed..seed + seeds {
        let mut done = Vec::new();
        for (number, family) in FAMILIES.iter().enumerate() {
            if !family.name.contains(&words) {
                continue;
            }
            let one_of = ONE_OF[(number + seed as usize) % ONE_OF.len()];
            let ways = if SENT_ONLY.contains(&family.name) { &[] } else { WAYS };
            // Of one seed the first of them only.
            let count = if seeds > 1 { ways.len() + 1 } else { 1 };
            for path in ways.iter().copied().chain([one_of]).take(count) {
                let name = format!("{}, {}, seed {seed}", family.name, path.name());
                let case = || one(&server, family, path, seed, name.clone());
                match catch_unwind(AssertUnwindSafe(case)) {
                    Ok(one) => done.push(one),
                    Err(_) => failed.push(name),
                }
            }
        }
        server.restart(if seed % 2 == 0 { End::Kill } else { End::Shutdown });
        for one in done {
            let name = one.name.clone();
            if catch_unwind(AssertUnwindSafe(|| one.compare_again(&server))).is_err() {
                failed.push(format!("{name}, after the restart"));
            }
        }
    }
    server.remove();
    assert!(failed.is_empty(), "cases that failed: {failed:#?}");
}

/// A family's table from its first row on.
fn one(server: &Server, family: &'static Family, path: LoadPath, seed: u64, name: String) -> Done {
    println!("{name}");
    let random = &mut Random::new(seed);
    let mut db = server.database();
    let folder = server.folder(&db.name);
    let mut aged = Aged::new(&mut db, family);
    aged.grow(random, &mut db);
    aged.live(random, &mut db, STATEMENTS);
    aged.thin_out(random, &mut db);
    let lines = aged.lines(random, &mut db, LINES);
    let appended = Append { server, aged: &aged, path, rule: OnDuplicate::Fail };
    assert!(appended.is_taken(&mut db, &folder, &lines));
    if path != LoadPath::Direct {
        aged.same_counters(&mut db);
    }
    aged.same(&mut db);
    for (round, rule) in ROUNDS.into_iter().enumerate() {
        let is_held = (round + seed as usize).is_multiple_of(2);
        let held = is_held.then(|| Held::new(server, &db));
        aged.live(random, &mut db, STATEMENTS_BETWEEN);
        aged.thin_out(random, &mut db);
        match is_held {
            true => aged.drop_an_index(&mut db),
            false => purged(&mut db),
        }
        is_aged(&aged.verify(server, &mut db, &folder), is_held);
        if let Some(lines) = aged.lines_with_duplicates(random, &mut db, LINES) {
            // Rows that others may refer to are replaced by the server only, and who loses in partitions
            // is found by it.
            let is_sent = rule == OnDuplicate::Replace && family.name == "parent"
                || rule != OnDuplicate::Fail && family.name.starts_with("partitioned");
            let path = if is_sent { LoadPath::Stream } else { path };
            let appended = Append { server, aged: &aged, path, rule };
            let is_taken = appended.is_taken(&mut db, &folder, &lines);
            assert_eq!(is_taken, rule != OnDuplicate::Fail, "{name}, {rule:?}");
            // LOAD DATA that is refused has used up numbers, and a file that is refused has not.
            if path != LoadPath::Direct || !is_taken {
                aged.same_counters(&mut db);
            }
        }
        if let Some(held) = held {
            held.release();
        }
        aged.same(&mut db);
    }
    aged.live(random, &mut db, STATEMENTS_BETWEEN);
    aged.same(&mut db);
    let random = Random::new(random.next_u64());
    Done { name, aged, database: db.name, random }
}

/// Asserts that the files of a table show its age: trees of several pages, and records marked as
/// deleted while somebody holds them.
fn is_aged(files: &[Report], is_held: bool) {
    let indexes = || files.iter().flat_map(|file| &file.indexes);
    assert!(indexes().any(|index| index.levels.len() > 1), "{files:#?}");
    let deleted: u64 = indexes().map(|index| index.deleted).sum();
    assert!(!is_held || deleted > 50, "{deleted} records marked as deleted: {files:#?}");
    assert_eq!(is_held, indexes().any(|index| index.is_dropped), "{files:#?}");
}

/// One file for both tables.
struct Append<'a> {
    server: &'a Server,
    aged: &'a Aged,
    path: LoadPath,
    rule: OnDuplicate,
}

impl Append<'_> {
    /// Appends rows to `a` by LOAD DATA and to `b` by Inrush; true if both accept them. A refused
    /// append leaves the table unchanged.
    fn is_taken(&self, db: &mut Db, folder: &Path, lines: &[Line]) -> bool {
        let file = folder.join("lines");
        write(&file, lines);
        let columns = self.aged.columns();
        let how = match self.rule {
            OnDuplicate::Skip => "IGNORE",
            OnDuplicate::Replace => "REPLACE",
            _ => "",
        };
        let theirs = db.try_sql(&format!(
            "LOAD DATA INFILE '{}' {how} INTO TABLE a CHARACTER SET utf8mb4 ({})",
            file.display(),
            columns.join(", ")
        ));
        let mut options = self.server.options(db, "b", vec![file]);
        options.path = self.path;
        options.mode = Mode::Append;
        // Where rows are sent, in the order of the file, and all or none.
        options.atomic = self.path != LoadPath::Direct;
        options.input.columns = Some(columns);
        options.rows.on_duplicate = self.rule;
        let ours = self.server.load(&options);
        if let (Ok(report), true) = (&ours, self.rule == OnDuplicate::Fail) {
            assert_eq!((report.rows, report.path), (lines.len() as u64, self.path.name()));
        }
        match (&ours, &theirs) {
            (Ok(_), Ok(_)) => true,
            (Err(_), Err(error)) if error.errno() == Some(1062) => false,
            other => panic!("{:?}: {other:?}", self.rule),
        }
    }
}

impl Done {
    /// The same again, after the server was started anew, and after more changes.
    fn compare_again(mut self, server: &Server) {
        let mut db = server.session(&self.database);
        self.aged.same(&mut db);
        self.aged.live(&mut self.random, &mut db, STATEMENTS_BETWEEN);
        self.aged.same(&mut db);
        db.sql(&format!("DROP DATABASE {}", self.database));
    }
}
