//! Some tables, their old rows, and a folder with their new ones.

use std::path::PathBuf;
use std::process::Command;

use server::Session;
use testkit::{TestServer, dialect};

use crate::scene::Mode;
use crate::support::{
    COLUMNS, Contents, Home, check_table, contents, lines, names, reference, tables,
};

/// Tables, in the order of their names; `b` has the largest file.
pub(crate) const TABLES: [&str; 3] = ["a", "b", "c"];
const ROWS: [u32; 3] = [300, 20_000, 3_000];

pub(crate) struct Yard<'a> {
    pub(crate) server: &'a TestServer,
    pub(crate) session: Session,
    pub(crate) home: Home,
    pub(crate) database: String,
    pub(crate) mode: Mode,
    pub(crate) old: Vec<Contents>,
    pub(crate) new: Vec<Contents>,
}

impl<'a> Yard<'a> {
    pub(crate) fn new(server: &'a TestServer, mode: Mode) -> Yard<'a> {
        Yard::of(server, mode, ROWS)
    }

    /// With so many rows in the files of the tables.
    pub(crate) fn of(server: &'a TestServer, mode: Mode, rows: [u32; 3]) -> Yard<'a> {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        let home = Home::new();
        std::fs::create_dir(home.path().join("rows")).unwrap();
        let file = |at: usize| home.file(&format!("rows/{}.txt", TABLES[at]), lines(rows[at]));
        let new =
            (0..TABLES.len()).map(|at| reference(&mut session, &database, &file(at))).collect();
        let mut yard = Yard { server, session, home, database, mode, old: Vec::new(), new };
        yard.reset();
        yard.old = yard.contents();
        yard
    }

    /// Makes the tables as they are before a load.
    pub(crate) fn reset(&mut self) {
        let Yard { session, database, .. } = self;
        for table in TABLES.map(|table| format!("{database}.{table}")) {
            session.exec(&format!("DROP TABLE IF EXISTS {table}")).unwrap();
            session.exec(&format!("CREATE TABLE {table} {COLUMNS}")).unwrap();
            if self.mode == Mode::Replace {
                let rows = format!(
                    "SELECT seq, seq * 3, CONCAT('old ', seq), NULL FROM {database}.seq_1_to_50"
                );
                dialect::exec(session, &format!("INSERT INTO {table} {rows}")).unwrap();
            }
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.home.path().join("rows")
    }

    /// `inrush load FOLDER --into DB`.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.home.load(self.server, &self.database, &self.folder());
        if self.mode == Mode::Replace {
            command.args(["--mode", "replace"]);
        }
        command
    }

    pub(crate) fn load_with(&self, failpoint: &str) -> Command {
        let mut command = self.command();
        command.env("INRUSH_FAILPOINT", failpoint);
        command
    }

    fn contents(&mut self) -> Vec<Contents> {
        let names = TABLES.map(|table| format!("{}.{table}", self.database));
        names.iter().map(|table| contents(&mut self.session, table)).collect()
    }

    /// True if all tables are the new ones; panics unless all are the old ones or all the new.
    #[track_caller]
    pub(crate) fn is_new(&mut self) -> bool {
        let seen = self.contents();
        assert!(seen == self.old || seen == self.new, "{seen:?} is neither old nor new");
        seen == self.new
    }

    /// The same once the server has taken back what a connection that is gone had begun.
    #[track_caller]
    pub(crate) fn is_new_when_settled(&mut self) -> bool {
        for table in TABLES {
            let sql = format!("SELECT 1 FROM {}.{table} LIMIT 1 LOCK IN SHARE MODE", self.database);
            self.session.query(&sql).unwrap();
        }
        self.is_new()
    }

    /// Asserts that nothing of a load is left but the tables.
    #[track_caller]
    pub(crate) fn clean(&mut self, when: &str) {
        assert_eq!(tables(&mut self.session, &self.database), TABLES, "{when}");
        let folder = self.server.datadir().join(&self.database);
        assert_eq!(names(&folder), self.server.database_files(&TABLES), "{when}");
        assert_eq!(self.home.temp_files(), [""; 0], "{when}");
    }

    /// The same command again: it gives the right tables, whatever was there before.
    #[track_caller]
    pub(crate) fn again(&mut self, when: &str) {
        let had_new_rows = self.is_new();
        let again = crate::support::run(&mut self.command());
        if again.code() == 0 && again.out.contains("all rows are loaded already") {
            // The killed load was done but for the words.
            assert!(had_new_rows, "{when}");
        } else if had_new_rows && self.mode == Mode::Insert {
            // It was another command. One that is refused removes what of its
            // first table was left; the others go with the next load of theirs.
            again.refused(2, &["cannot be loaded"]);
            crate::support::run(self.command().args(["--mode", "replace"])).done();
        } else {
            again.done();
        }
        assert!(self.is_new(), "{when}");
        self.clean(when);
        for table in TABLES.map(|table| format!("{}.{table}", self.database)) {
            check_table(&mut self.session, &table);
        }
    }

    /// Connects again after the server was gone.
    pub(crate) fn reconnect(&mut self) {
        self.session = self.server.connect().unwrap();
    }
}
