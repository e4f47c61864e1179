//! A table of every family in one new data directory, where no counter has gone up yet: what a load has made
//! is killed with its server before anything else is done to it, the server is ended and started once more,
//! and only then is something changed; a staging table that LOAD DATA fills afterwards has to come to the
//! same by the same statements.
//!
//! These are families of types, collations and keys. Whatever else is filled, and how, is in
//! `crates/cli/tests/fresh.rs`.
//!
//! `INRUSH_FRESH=n` makes n such directories, each of other tables, of which the soak takes more.

use std::path::PathBuf;

use server::version::Flavor;
use testkit::tables::case::{Arrangement, Case, Sorted};
use testkit::tables::change;
use testkit::tables::compare::{same_rows, verdict};
use testkit::tables::run::{Input, Run};
use testkit::tables::server::{Db, Server};
use testkit::tables::table::{KeyKind, Table};
use testkit::{Random, TestServer, TestServerOptions};

/// Statements after the crash, of all tables.
const STATEMENTS: usize = 2_000;
const FORGETFUL: &str = "SET GLOBAL innodb_flush_log_at_trx_commit=0";
/// Rows of a table, less those that are left out for their keys; and of one whose key are hidden
/// numbers: more than the server's counter of these is ahead when it starts.
const ROWS: usize = 120;
const ROWS_WITHOUT_KEY: usize = 1_500;

/// A family of tables by a word of their definition, one at least of each.
const WORDS: [&str; 34] = [
    // Types.
    "TINYINT",
    "SMALLINT",
    "MEDIUMINT",
    "BIGINT",
    "UNSIGNED",
    "DECIMAL",
    "FLOAT",
    "DOUBLE",
    "DATE",
    "DATETIME",
    "TIMESTAMP",
    "TIME",
    "YEAR",
    "BIT",
    "ENUM",
    "SET",
    "JSON",
    "UUID",
    "INET",
    "BLOB",
    "TEXT",
    // Collations.
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_uca1400_ai_ci",
    "utf8mb4_bin",
    "latin1_german2_ci",
    "_nopad_",
    "utf8mb3",
    "ucs2",
    "utf16",
    "utf32",
    // Row formats, an index from the end.
    "ROW_FORMAT=COMPACT",
    "ROW_FORMAT=DYNAMIC",
    " DESC",
];

/// Words of types that MySQL does not have. It has its own collations for the others (`testkit::dialect`).
const NOT_OF_MYSQL: [&str; 2] = ["UUID", "INET"];

/// A name, and whether a table is of it.
type Family = (&'static str, fn(&Table) -> bool);

/// The same by its keys.
const KEYS: [Family; 6] = [
    ("no key of its own", |table| table.keys.iter().all(|key| key.kind == KeyKind::Plain)),
    ("a unique key in the primary one's place", |table| {
        !table.keys.iter().any(|key| key.kind == KeyKind::Primary)
            && table.keys.iter().any(|key| key.is_clustered_candidate(&table.columns))
    }),
    ("two unique keys", |table| {
        table.keys.iter().filter(|key| key.kind != KeyKind::Plain).count() > 1
    }),
    ("a key of several columns", |table| table.keys.iter().any(|key| key.parts.len() > 2)),
    ("a prefix of a column", |table| table.keys.iter().any(|key| key.has_prefix())),
    ("AUTO_INCREMENT", |table| table.auto_increment().is_some()),
];

/// The families that a table is of.
fn families(table: &Table) -> impl Iterator<Item = &'static str> {
    let sql = table.sql("b", true, "");
    let words = WORDS.into_iter().filter(|word| sql.contains(word)).collect::<Vec<_>>();
    let keys = KEYS.into_iter().filter(|(_, has)| has(table)).map(|(name, _)| name);
    words.into_iter().chain(keys.collect::<Vec<_>>())
}

/// Rows that a statement has changed, or why it has not.
type Outcome = Result<u64, Option<u16>>;

/// A table of the new directory, with what goes into it.
struct Loaded {
    case: Case,
    sorted: Sorted,
    database: String,
    folder: PathBuf,
}

/// Tables of all families, as few as chance finds, and their rows, which another server has judged.
fn cases(random: &mut Random, oracle: &Server) -> Vec<(Case, Sorted)> {
    let flavor = oracle.test_server().connect().unwrap().version().flavor;
    let is_known = |word: &&str| flavor == Flavor::MariaDb || !NOT_OF_MYSQL.contains(word);
    let mut missing: Vec<&str> = WORDS.into_iter().filter(is_known).collect();
    missing.extend(KEYS.map(|(name, _)| name));
    let mut cases = Vec::new();
    while !missing.is_empty() {
        let mut db = oracle.database();
        let case = Case::random_with(random, &mut db, |random, table| {
            // Several at once, as long as there are so many.
            let wanted = missing.len().min(3);
            let is_wanted = |table: &Table| {
                families(table).filter(|family| missing.contains(family)).count() >= wanted
            };
            (0..TRIES).any(|_| {
                *table = Table::random(random);
                is_wanted(table)
            });
        });
        missing.retain(|family| !families(&case.table).any(|found| found == *family));
        let folder = oracle.folder(&db.name);
        let rows = if case.has_clustered_key() { ROWS } else { ROWS_WITHOUT_KEY };
        let lines = (0..rows).map(|number| case.line(random, number)).collect();
        let arrangement = Arrangement::random(random);
        let mut sorted = case.sort_out(random, &mut db, &folder, lines, arrangement);
        sorted.duplicates.clear();
        db.sql(&format!("DROP DATABASE {}", db.name));
        cases.push((case, sorted));
    }
    cases
}

/// Tables that are made up before one is taken that is of too few families.
const TRIES: usize = 400;

#[test]
fn tables_of_every_family_outlive_a_crash_of_a_new_server() {
    let Some(oracle) = Server::get() else { return };
    let rounds = std::env::var("INRUSH_FRESH").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let seed = Random::seed_of_run();
    for seed in seed..seed + rounds {
        println!("seed {seed}");
        one(&oracle, seed);
    }
}

/// One new directory, from its making to the comparison.
fn one(oracle: &Server, seed: u64) {
    let random = &mut Random::new(seed);
    let cases = cases(random, oracle);
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(new) = TestServer::start_with(&options) else { return };
    let new: &'static TestServer = Box::leak(Box::new(new));
    let server = Server::of(new);
    let load = |(case, sorted): (Case, Sorted)| load(random, &server, case, sorted);
    let loaded: Vec<Loaded> = cases.into_iter().map(load).collect();

    new.kill_9().unwrap();
    for _ in 0..2 {
        new.restart().unwrap_or_else(|error| panic!("{error}\n{}", new.error_log()));
    }
    // What comes now need not outlive another.
    server.test_server().connect().unwrap().exec(FORGETFUL).unwrap();
    let each = STATEMENTS.div_ceil(loaded.len());
    println!("{} tables, {each} statements each", loaded.len());
    // All of ours first: rows of a staging table would raise the counters of the server.
    let mut told: Vec<(Vec<Outcome>, Vec<String>)> = Vec::new();
    for Loaded { case, database, .. } in &loaded {
        let mut db = server.session(database);
        assert_eq!(verdict(&mut db, "b"), ["OK"], "CHECK TABLE b EXTENDED");
        let statements = statements(random, case, each);
        told.push((outcomes(&mut db, "b", &statements), statements));
    }
    for (Loaded { case, sorted, database, folder }, (ours, statements)) in loaded.iter().zip(told) {
        let mut db = server.session(database);
        Run { server: &server, case, folder }.load_data(random, &mut db, &sorted.good);
        let theirs = outcomes(&mut db, "a", &statements);
        let differs = (0..statements.len()).find(|&at| ours[at] != theirs[at]);
        if let Some(at) = differs {
            panic!("ours {:?}, theirs {:?}: {}", ours[at], theirs[at], statements[at]);
        }
        let indexes: Vec<&str> = case.table.keys.iter().map(|key| key.name.as_str()).collect();
        same_rows(&mut db, "b", "a", &indexes);
    }
    server.remove();
}

/// Has both tables made and ours loaded.
fn load(random: &mut Random, server: &Server, case: Case, sorted: Sorted) -> Loaded {
    let database = server.database().name;
    let mut db = server.session(&database);
    for table in ["a", "b"] {
        db.sql(&case.table.sql(table, true, ""));
    }
    let folder = server.folder(&database);
    let run = Run { server, case: &case, folder: &folder };
    let input = Input::write(random, &case, &folder, &sorted.good, &[]);
    let report = run.load(run.options(random, &db), &input);
    assert_eq!((report.rows, report.path), (sorted.good.len() as u64, "direct"));
    Loaded { case, sorted, database, folder }
}

/// So many statements, transactions as a whole.
fn statements(random: &mut Random, case: &Case, count: usize) -> Vec<String> {
    let mut statements = Vec::new();
    while statements.len() < count {
        statements.extend(change::statements(random, case));
    }
    statements
}

/// Results of statements on a table: the number of changed rows, or the error.
fn outcomes(db: &mut Db, table: &str, statements: &[String]) -> Vec<Outcome> {
    // Else the time that it is would be another for each table.
    db.sql("SET timestamp=1700000000");
    let run = |sql: &String| match db.try_sql(&sql.replacen("{}", table, 1)) {
        Ok(did) => Ok(did.affected_rows),
        Err(error) => Err(error.errno()),
    };
    statements.iter().map(run).collect()
}
