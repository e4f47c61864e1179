//! Ways in: what the program does, and what the server does instead.

use std::path::PathBuf;
use std::process::Command;

use testkit::schemas::Schema;
use testkit::tables::server::{Db, Server};
use testkit::{Random, TestServer};

use super::families::{FAMILIES, Families, LAST};
use crate::schemas::corpus::Corpus;
use crate::schemas::same::load_data;
use crate::support::{Home, run};

/// Rows of a table of an application.
const ROWS: usize = 40;
/// Schemas of which `schemas/same.rs` compares the rows.
const SCHEMAS: [&str; 7] =
    ["shop", "names", "circle", "saas", "widths", "insurance", "mixed_charsets"];

const BY_ONE_TRANSACTION: [&str; 3] = ["saas", "widths", "insurance"];

/// A database that is filled by the program, or by the server itself.
pub(super) trait LoadedTable {
    /// For who reads what failed.
    fn name(&self) -> String;

    /// Has the program fill a new database.
    fn ours(&self, server: &'static TestServer) -> Db;

    /// Has the server fill another; `ours` is the name of the first.
    fn theirs(&self, server: &'static TestServer, ours: &str) -> Db;
}

/// All ways, in the order in which they are gone.
pub(super) fn all(random: &mut Random, oracle: &'static TestServer) -> Vec<Box<dyn LoadedTable>> {
    let families = Families::new(FAMILIES);
    let mut filled = families.theirs(oracle, "");
    let dumps = dumps(oracle, &filled);
    filled.sql(&format!("DROP DATABASE {}", filled.name));
    let mut ways: Vec<Box<dyn LoadedTable>> = vec![Box::new(families)];
    for name in SCHEMAS {
        let corpus = Corpus::new(oracle, Schema::named(name), random, ROWS);
        // Small tables of one command get their rows in one transaction, where nobody says otherwise.
        let path = if BY_ONE_TRANSACTION.contains(&name) { "auto" } else { "direct" };
        ways.push(Box::new(Application { corpus, path }));
    }
    ways.extend(dumps);
    ways.push(Box::new(Families::new(LAST)));
    ways
}

/// Tables of an application that refer to each other: a folder in one command.
struct Application {
    corpus: Corpus,
    path: &'static str,
}

impl LoadedTable for Application {
    fn name(&self) -> String {
        format!("{} by path {}", self.corpus.schema.name, self.path)
    }

    fn ours(&self, server: &'static TestServer) -> Db {
        let db = self.corpus.database_on(server);
        let mut load = self.corpus.inrush_on(server, "load", &db);
        run(load.args(["--path", self.path])).done();
        db
    }

    fn theirs(&self, server: &'static TestServer, _: &str) -> Db {
        let mut db = self.corpus.database_on(server);
        load_data(&mut db, &self.corpus);
        db
    }
}

/// A dump that is replayed, its rows built or sent.
struct Dump {
    home: Home,
    file: PathBuf,
    rows_as: &'static str,
}

/// The dump of a database, and each way to replay it.
fn dumps(server: &'static TestServer, db: &Db) -> Vec<Box<dyn LoadedTable>> {
    let one = |rows_as| -> Option<Box<dyn LoadedTable>> {
        let home = Home::new();
        let mut dump = client("mariadb-dump", server);
        let text = dump.args(["--hex-blob", &db.name]).output().ok()?;
        assert!(text.status.success(), "{text:?}");
        let file = home.file("dump.sql", text.stdout);
        Some(Box::new(Dump { home, file, rows_as }))
    };
    let ways: Vec<Box<dyn LoadedTable>> =
        ["rows", "statements"].into_iter().filter_map(one).collect();
    if ways.is_empty() {
        println!("without dumps: no mariadb-dump found (install mariadb-client)");
    }
    ways
}

fn client(program: &str, server: &TestServer) -> Command {
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--default-character-set=utf8mb4", "--socket"]);
    command.arg(server.socket());
    if let Some(user) = server.options().user {
        command.args(["--user", &user]);
    }
    command
}

impl LoadedTable for Dump {
    fn name(&self) -> String {
        format!("a dump as {}", self.rows_as)
    }

    fn ours(&self, server: &'static TestServer) -> Db {
        let db = Server::of(server).database();
        let mut replay = self.home.inrush(["replay"]);
        replay.arg(&self.file).args(["--into", &db.name, "--as", self.rows_as, "--small", "1"]);
        replay.args(["--threads", "2", "--memory", "120M", "--socket"]).arg(server.socket());
        if let Some(user) = server.options().user {
            replay.args(["--user", &user]);
        }
        run(&mut replay).done();
        db
    }

    fn theirs(&self, server: &'static TestServer, _: &str) -> Db {
        let db = Server::of(server).database();
        let file = std::fs::File::open(&self.file).unwrap();
        let played = client("mariadb", server).arg(&db.name).stdin(file).output().unwrap();
        assert!(played.status.success(), "{played:?}");
        db
    }
}
