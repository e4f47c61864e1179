//! A schema with its rows, in a database to be loaded and in files.

use std::path::PathBuf;
use std::process::Command;

use testkit::schemas::{Rows, Schema, Shape};
use testkit::tables::Server;
use testkit::tables::server::Db;
use testkit::{Random, TestServer};

use crate::support::Home;

/// A schema and rows for it.
pub(crate) struct Corpus {
    pub(crate) schema: Schema,
    pub(crate) shape: Shape,
    pub(crate) rows: Rows,
    pub(crate) home: Home,
    server: &'static TestServer,
}

impl Corpus {
    /// Makes up to `count` rows for each table, of which the server takes all.
    pub(crate) fn new(
        server: &'static TestServer,
        schema: Schema,
        random: &mut Random,
        count: usize,
    ) -> Corpus {
        let mut db = Server::of(server).database();
        schema.create(&mut db);
        let shape = Shape::read(&mut db);
        let rows = Rows::random(random, &mut db, &shape, count);
        db.sql(&format!("DROP DATABASE {}", db.name));
        Corpus { schema, shape, rows, home: Home::new(), server }
    }

    /// A database with its tables, without rows.
    pub(crate) fn database(&self) -> Db {
        self.database_on(self.server)
    }

    /// The same on another server than the one that has tried the rows.
    pub(crate) fn database_on(&self, server: &'static TestServer) -> Db {
        let mut db = Server::of(server).database();
        self.schema.create(&mut db);
        db
    }

    /// The folder with its files.
    fn folder(&self) -> PathBuf {
        let folder = self.home.path().join("files");
        if !folder.exists() {
            std::fs::create_dir(&folder).unwrap();
            self.rows.write(&folder);
        }
        folder
    }

    /// `inrush COMMAND FOLDER --into DATABASE`, in one step wherever that is possible.
    pub(crate) fn inrush(&self, command: &str, db: &Db) -> Command {
        self.inrush_on(self.server, command, db)
    }

    /// The same with a database of another server.
    pub(crate) fn inrush_on(&self, server: &TestServer, command: &str, db: &Db) -> Command {
        let folder = self.folder();
        let mut inrush = self.home.inrush([command]);
        inrush.arg(&folder).args(["--into", &db.name, "--dialect", "mysql", "--header"]);
        inrush.args(["--charset", "utf8mb4", "--threads", "2", "--memory", "64M", "--socket"]);
        inrush.arg(server.socket());
        for (path, rows) in self.rows.write(&folder) {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            if file != format!("{}.txt", rows.table) {
                inrush.args(["--map", &format!("{file}={}", rows.table)]);
            }
        }
        if self.goes_one_by_one() {
            inrush.arg("--each");
        }
        inrush
    }

    /// True if its tables are loaded one after the other: one of them whose rows are sent has to
    /// stay itself, for triggers or for foreign keys.
    fn goes_one_by_one(&self) -> bool {
        let keys = || self.shape.tables.iter().flat_map(|table| &table.foreign_keys);
        let is_joined = |name: &String| {
            !self.shape.table(name).foreign_keys.is_empty() || keys().any(|key| key.parent == *name)
        };
        self.schema.is_each() || self.schema.sent().iter().any(|(table, _)| is_joined(table))
    }
}
