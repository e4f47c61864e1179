//! Every way in, on one new data directory where no counter has gone up yet: what the program has made
//! is killed with its server before anything else is done to it, the server is ended and started once
//! more, and only then changed. Tables that the server fills itself afterwards have to come to the same
//! by the same statements.
//!
//! `crates/load/tests/fresh.rs` has types, collations and kinds of keys; this has what is done with them:
//! foreign keys, several tables of one command, tables that the load makes, dumps, rows that are sent.
//! `INRUSH_FRESH=n` makes n such directories, with other rows.

mod families;
mod loaded_tables;

use testkit::schemas::{Shape, changes};
use testkit::tables::server::{Db, Server};
use testkit::{Random, TestServer, TestServerOptions};

use self::loaded_tables::LoadedTable;
use crate::schemas::same::{assert_same, counters, definitions};

/// Statements after the crash, of all tables.
const STATEMENTS: usize = 2_000;
const FORGETFUL: &str = "SET GLOBAL innodb_flush_log_at_trx_commit=0";

/// Rows that a statement has changed, or why it has not.
type Outcome = Result<u64, Option<u16>>;

/// A loaded table, and the changes made to it afterwards.
struct Loaded {
    way: Box<dyn LoadedTable>,
    database: String,
    shape: Shape,
    statements: Vec<String>,
    outcomes: Vec<Outcome>,
}

#[test]
fn tables_of_every_way_in_outlive_a_crash_of_a_new_server() {
    let Some(oracle) = TestServer::shared() else { return };
    let rounds = std::env::var("INRUSH_FRESH").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let seed = Random::seed_of_run();
    for seed in seed..seed + rounds {
        println!("seed {seed}");
        one(oracle, seed);
    }
}

/// One new directory, from its making to the comparison.
fn one(oracle: &'static TestServer, seed: u64) {
    let random = &mut Random::new(seed);
    // Whatever has to be tried on a server is tried on another.
    let ways = loaded_tables::all(random, oracle);
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let new = TestServer::start_with(&options).unwrap();
    let new: &'static TestServer = Box::leak(Box::new(new));
    let server = Server::of(new);
    let load = |way: Box<dyn LoadedTable>| (way.ours(new).name, way);
    let named: Vec<(String, Box<dyn LoadedTable>)> = ways.into_iter().map(load).collect();

    new.kill_9().unwrap();
    for _ in 0..2 {
        new.restart().unwrap_or_else(|error| panic!("{error}\n{}", new.error_log()));
    }
    // What comes now need not outlive another.
    new.connect().unwrap().exec(FORGETFUL).unwrap();
    let count = |name: &String| Shape::read(&mut server.session(name)).tables.len();
    let tables: usize = named.iter().map(|(name, _)| count(name)).sum();
    let each = STATEMENTS.div_ceil(tables);
    println!("{tables} tables, {each} statements each");
    // All of ours first: rows of a staging table would raise the counters of the server.
    let change = |(name, way)| changed(random, &server, name, way, each);
    let loaded: Vec<Loaded> = named.into_iter().map(change).collect();
    loaded.iter().for_each(|loaded| compare(loaded, &server, new));
    server.remove();
}

/// Looks at what was loaded, and does something to it.
fn changed(
    random: &mut Random,
    server: &Server,
    database: String,
    way: Box<dyn LoadedTable>,
    each: usize,
) -> Loaded {
    let mut db = server.session(&database);
    let shape = Shape::read(&mut db);
    for table in &shape.tables {
        let check = db.rows(&format!("CHECK TABLE `{}` EXTENDED", table.name.replace('`', "``")));
        assert_eq!(check.last().unwrap().text_lossy(3), "OK", "{}: {}", way.name(), table.name);
    }
    let count = each * shape.tables.len();
    let statements = changes::statements(random, &mut db, &shape, count);
    let outcomes = outcomes(&mut db, &statements);
    Loaded { way, database, shape, statements, outcomes }
}

/// Has the server make the same of the same.
fn compare(loaded: &Loaded, server: &Server, new: &'static TestServer) {
    let Loaded { way, database, shape, statements, outcomes: ours } = loaded;
    let name = way.name();
    let mut theirs = way.theirs(new, database);
    let outcomes = outcomes(&mut theirs, statements);
    if let Some(at) = (0..statements.len()).find(|&at| ours[at] != outcomes[at]) {
        let (ours, theirs, sql) = (&ours[at], &outcomes[at], &statements[at]);
        panic!("{name}: ours {ours:?}, theirs {theirs:?}: {sql}");
    }
    let done = ours.iter().filter(|outcome| outcome.as_ref().is_ok_and(|&rows| rows > 0)).count();
    println!("{name}: {} statements, with {done} changed rows", statements.len());
    let mut db = server.session(database);
    assert_same(&mut db, &mut theirs, shape, &name);
    assert_eq!(definitions(&mut db, shape), definitions(&mut theirs, shape), "{name}");
    assert_eq!(counters(&mut db), counters(&mut theirs), "{name}");
}

/// Results of statements on tables: the number of changed rows, or the error.
fn outcomes(db: &mut Db, statements: &[String]) -> Vec<Outcome> {
    // Else the time that it is would be another for each table.
    db.sql("SET timestamp=1700000000");
    let run = |sql: &String| match db.try_sql(sql) {
        Ok(did) => Ok(did.affected_rows),
        Err(error) => Err(error.errno()),
    };
    statements.iter().map(run).collect()
}
