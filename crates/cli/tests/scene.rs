//! A table, its old rows and the file with its new ones, before and after a load's mishap.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use schema::TableName;
use server::Session;
use targets::Names;
use testkit::{TestServer, dialect};

use crate::support::{
    COLUMNS, Contents, Home, check_table, contents, lines, names, reference, run, tables,
};

/// Every place where a load can be stopped, in order; from the marked one on the target is new.
pub(crate) const PLACES: [&str; 28] = [
    "job.begin",
    "inspect.begin",
    "inspect.end",
    "staging.begin",
    "staging.created",
    "staging.discarded",
    "staging.end",
    "rows.begin",
    "rows.end",
    "indexes.begin",
    "indexes.end",
    "verify.begin",
    "verify.end",
    "import.begin",
    "import.placed",
    "import.end",
    "compare.held",
    "compare.end",
    "stamp.begin",
    "stamp.held",
    "stamp.run",
    "publish.begin",
    SWAPPED,
    "publish.end",
    "job.end",
    "job.reported",
    // Not reached by a load that works.
    "nowhere.begin",
    "nowhere.end",
];
pub(crate) const SWAPPED: &str = "publish.swapped";

/// Number of the first place at which the target is new.
pub(crate) fn swapped_from() -> usize {
    PLACES.iter().position(|&place| place == SWAPPED).unwrap()
}

/// True if a load comes by the place. Files of MySQL are not stamped: no backup of it goes by stamps.
pub(crate) fn is_reached(server: &TestServer, place: &str) -> bool {
    !(server.is_mysql() && place.starts_with("stamp."))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Insert,
    Replace,
    /// By the direct path: what is there is merged with the rows of the file.
    Append,
}

/// A table `t` in a database of its own, its old rows and the file with the new ones.
pub(crate) struct Scene<'a> {
    pub(crate) server: &'a TestServer,
    pub(crate) session: Session,
    pub(crate) home: Home,
    pub(crate) database: String,
    pub(crate) table: String,
    pub(crate) file: PathBuf,
    pub(crate) mode: Mode,
    /// The partitioning of the table, if any.
    pub(crate) by: &'static str,
    /// Further options of a load.
    pub(crate) more: Vec<&'static str>,
    /// True if the program reads the file from a pipe.
    pub(crate) is_piped: bool,
    /// Exit status of a load that works.
    pub(crate) status: i32,
    pub(crate) old: Contents,
    pub(crate) new: Contents,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(server: &'a TestServer, mode: Mode, rows: u32) -> Scene<'a> {
        Scene::of(server, mode, rows, "")
    }

    /// The scene of a table that is partitioned `by`, whose unique key has the columns for that.
    pub(crate) fn of(server: &'a TestServer, mode: Mode, rows: u32, by: &'static str) -> Scene<'a> {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        let home = Home::new();
        let file = home.file("new.txt", lines(rows));
        let new = reference(&mut session, &database, &file);
        assert_eq!(new.0, u64::from(rows));
        let table = format!("{database}.t");
        let old = (0, String::new());
        let more = Vec::new();
        let mut scene = Scene {
            server,
            session,
            home,
            database,
            table,
            file,
            mode,
            by,
            more,
            is_piped: false,
            status: 0,
            old,
            new,
        };
        scene.reset();
        scene.old = contents(&mut scene.session, &scene.table);
        if mode == Mode::Append {
            let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {}", scene.table);
            let file = std::fs::File::open(&scene.file).unwrap();
            scene.session.load_local(&sql, file).unwrap();
            scene.new = contents(&mut scene.session, &scene.table);
            scene.reset();
        }
        scene
    }

    /// Has the file end in rows of it once more, which loads are to skip.
    pub(crate) fn add_duplicates(&mut self) {
        let mut text = std::fs::read_to_string(&self.file).unwrap();
        let again: String = text.lines().step_by(3).map(|line| format!("{line}\n")).collect();
        text.push_str(&again);
        std::fs::write(&self.file, text).unwrap();
        self.more = vec!["--on-duplicate", "skip"];
    }

    /// Has the file begin with rows that are refused.
    pub(crate) fn add_bad_rows(&mut self) {
        let text = std::fs::read(&self.file).unwrap();
        std::fs::write(&self.file, [b"x\t1\ta\tb\n1\t2\n", text.as_slice()].concat()).unwrap();
        self.more.extend(["--rejects", "rejected", "--rejects-max", "2"]);
        self.status = 3;
    }

    /// Makes the table as it is before a load.
    pub(crate) fn reset(&mut self) {
        let Scene { session, database, table, by, .. } = self;
        session.exec(&format!("DROP TABLE IF EXISTS {table}")).unwrap();
        session.exec(&format!("CREATE TABLE {table} {COLUMNS}")).unwrap();
        if !by.is_empty() {
            let unique = "DROP KEY n, ADD UNIQUE KEY n (n, id)";
            session.exec(&format!("ALTER TABLE {table} {unique}")).unwrap();
            session.exec(&format!("ALTER TABLE {table} PARTITION BY {by}")).unwrap();
        }
        match self.mode {
            Mode::Insert => {}
            Mode::Replace => {
                let rows = format!(
                    "SELECT seq, seq * 3, CONCAT('old ', seq), NULL FROM {database}.seq_1_to_500"
                );
                dialect::exec(session, &format!("INSERT INTO {table} {rows}")).unwrap();
            }
            Mode::Append => {
                let rows = format!(
                    "SELECT -seq, -seq * 3, CONCAT('name 0', seq * 7 % 5000), \
                     IF(seq % 40 = 0, REPEAT('long ', 4000), NULL) FROM {database}.seq_1_to_900"
                );
                dialect::exec(session, &format!("INSERT INTO {table} {rows}")).unwrap();
                session.exec(&format!("DELETE FROM {table} WHERE id % 10 = -3")).unwrap();
                let longer = "SET body=REPEAT('longer ', 5000) WHERE id % 80 = 0";
                session.exec(&format!("UPDATE {table} {longer}")).unwrap();
            }
        }
    }

    pub(crate) fn command(&self) -> Command {
        let stdin = Path::new("-");
        let input = if self.is_piped { stdin } else { &self.file };
        let mut command = self.home.load(self.server, &self.table, input);
        if self.is_piped {
            let mut cat =
                Command::new("cat").arg(&self.file).stdout(Stdio::piped()).spawn().unwrap();
            command.stdin(cat.stdout.take().unwrap());
            std::thread::spawn(move || cat.wait());
        }
        // So little that runs spill.
        command.args(["--memory", if self.is_piped { "34M" } else { "30M" }]);
        // So that the steps of stamping are tried too.
        command.args(["--stamp", "yes"]).args(&self.more);
        if !self.by.is_empty() && self.mode != Mode::Append {
            // So few rows would be sent.
            command.args(["--path", "direct"]);
        }
        match self.mode {
            Mode::Insert => {}
            Mode::Replace => drop(command.args(["--mode", "replace"])),
            Mode::Append => drop(command.args(["--mode", "append", "--path", "direct"])),
        }
        command
    }

    pub(crate) fn load_with(&self, failpoint: &str) -> Command {
        let mut command = self.command();
        command.env("INRUSH_FAILPOINT", failpoint);
        command
    }

    /// True if the target is the new table; panics if it is neither.
    #[track_caller]
    pub(crate) fn is_new(&mut self) -> bool {
        let seen = contents(&mut self.session, &self.table);
        assert!(seen == self.old || seen == self.new, "{seen:?} is neither old nor new");
        seen == self.new
    }

    /// Asserts that nothing of a load is left but the table.
    #[track_caller]
    pub(crate) fn clean(&mut self, when: &str) {
        assert_eq!(tables(&mut self.session, &self.database), ["t"], "{when}");
        let folder = self.server.datadir().join(&self.database);
        let mut names = names(&folder);
        if !self.by.is_empty() {
            names.retain(|name| name != "t.par" && !name.to_lowercase().starts_with("t#p#p"));
            names.push("t.ibd".to_owned());
        }
        assert_eq!(names, self.server.database_files(&["t"]), "{when}");
        assert_eq!(self.home.temp_files(), [""; 0], "{when}");
    }

    /// The same command again: it gives the right table, whatever was there before.
    #[track_caller]
    pub(crate) fn again(&mut self, when: &str) {
        let had_new_rows = self.is_new();
        let again = run(&mut self.command());
        if again.code() == 0 && again.out.contains("all rows are loaded already") {
            // The killed load was done but for the words.
            assert!(had_new_rows, "{when}: {again:?}");
        } else if had_new_rows && self.mode == Mode::Insert {
            again.refused(2, &[" path: "]);
        } else if had_new_rows && self.mode == Mode::Append {
            again.refused(1, &["as a row of the table"]);
        } else {
            assert_eq!(again.code(), self.status, "{when}: {again:?}");
        }
        assert!(self.is_new(), "{when}");
        self.clean(when);
        check_table(&mut self.session, &self.table);
    }

    /// The server's named lock that a load holds.
    pub(crate) fn lock(&self) -> String {
        Names::of(&TableName::new(self.database.clone(), "t")).lock
    }

    /// Connects again after the server was gone.
    pub(crate) fn reconnect(&mut self) {
        self.session = self.server.connect().unwrap();
    }
}
