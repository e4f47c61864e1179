//! A table with one row, rows for it, and a way in that meets a panic.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::snapshot::Snapshot;
use crate::support::{Desk, Outcome, check_table, run};

const ROWS: u32 = 4000;
const TABLE: &str = "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ENGINE=InnoDB";
/// Key of the only row before.
const OLD: u32 = 7;

/// How rows get in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LoadKind {
    Direct,
    /// By the direct path, into a table with foreign keys in both directions.
    Keys,
    /// By the direct path, from an archive.
    Packed,
    /// By the direct path, as one of the tables of its database.
    Several,
    /// By the direct path, with rows that share keys.
    Skipping,
    /// By the direct path, into a table that the load makes.
    Made,
    Stream,
    /// By LOAD DATA, of a pipe whose rows are sorted first.
    Sorted,
    Insert,
    /// By LOAD DATA, beside the row that is there.
    Added,
    /// By LOAD DATA, in one transaction into the table itself.
    Whole,
    /// A dump whose rows are built.
    Rows,
    /// A dump whose rows are sent by several connections.
    Connections,
    /// A dump whose statements are played one after the other.
    Serial,
}

impl LoadKind {
    pub(super) fn is_replay(self) -> bool {
        matches!(self, LoadKind::Rows | LoadKind::Connections | LoadKind::Serial)
    }
}

pub(super) struct Scene {
    pub(super) desk: Desk,
    pub(super) way: LoadKind,
    pub(super) before: Snapshot,
    /// Rows that are to be there at the end.
    new: Vec<String>,
    /// The file that the program reads.
    file: PathBuf,
}

impl Scene {
    pub(super) fn is_mysql(&self) -> bool {
        self.desk.server.is_mysql()
    }

    pub(super) fn new(way: LoadKind) -> Option<Scene> {
        let mut desk = Desk::new()?;
        if way != LoadKind::Made {
            desk.exec(TABLE);
            desk.exec(&format!("INSERT INTO t VALUES ({OLD}, 'old')"));
        }
        if way == LoadKind::Keys {
            let (name, table) = (format!("`{}-kin`", desk.database), desk.table("t"));
            desk.exec(&format!("CREATE DATABASE {name} CHARSET latin1"));
            desk.exec(&format!("CREATE TABLE {name}.p (b VARCHAR(20) PRIMARY KEY) ENGINE=InnoDB"));
            desk.exec(&format!("INSERT INTO {name}.p VALUES ('old'), ('new')"));
            desk.exec(&format!("ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES {name}.p (b)"));
            desk.exec(&format!(
                "CREATE TABLE {name}.c (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES {table} (a)) \
                 ENGINE=InnoDB"
            ));
            desk.exec(&format!("INSERT INTO {name}.c VALUES ({OLD})"));
        }
        if way == LoadKind::Whole {
            desk.exec("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.b = NEW.b");
        }
        let is_kept = |row: &u32| way == LoadKind::Added && *row == OLD;
        let order = (0..ROWS).map(|row| row * 1237 % ROWS).filter(|row| !is_kept(row));
        let again = if way == LoadKind::Skipping { 0..50 } else { 0..0 };
        let lines: String = order.chain(again).map(|row| format!("{row}\tnew\n")).collect();
        let new = (0..ROWS).map(|row| match is_kept(&row) {
            true => format!("{row} old"),
            false => format!("{row} new"),
        });
        let file = match way {
            LoadKind::Rows | LoadKind::Connections | LoadKind::Serial => {
                desk.home.file("dump.sql", dump(&desk))
            }
            LoadKind::Packed => {
                let fast = flate2::Compression::fast();
                let mut archive = flate2::write::GzEncoder::new(Vec::new(), fast);
                archive.write_all(lines.as_bytes()).unwrap();
                desk.home.file("rows.txt.gz", archive.finish().unwrap())
            }
            _ => desk.home.file("rows.txt", lines),
        };
        let before = Snapshot::of(&mut desk.session, desk.server, &desk.database);
        Some(Scene { desk, way, before, new: new.collect(), file })
    }

    pub(super) fn seen(&mut self) -> Snapshot {
        Snapshot::of(&mut self.desk.session, self.desk.server, &self.desk.database)
    }

    fn command(&self) -> Command {
        match self.way {
            LoadKind::Direct | LoadKind::Packed | LoadKind::Keys => {
                self.load(&["direct", "--mode", "replace", "--stamp", "yes"])
            }
            LoadKind::Several => {
                let database = self.desk.database.clone();
                let several = ["--into", &database, "--map", "rows*=t"];
                self.load(&[&["direct", "--mode", "replace"], several.as_slice()].concat())
            }
            LoadKind::Skipping => {
                self.load(&["direct", "--mode", "replace", "--on-duplicate", "skip"])
            }
            LoadKind::Made => {
                let ddl = self.desk.home.file("table.sql", TABLE);
                let mut load = self.load(&["direct", "--mode", "replace", "--ddl"]);
                load.arg(ddl);
                load
            }
            LoadKind::Stream | LoadKind::Sorted | LoadKind::Whole => {
                self.load(&["stream", "--mode", "replace"])
            }
            LoadKind::Insert => self.load(&["insert", "--mode", "replace"]),
            LoadKind::Added => self.load(&["stream", "--mode", "append"]),
            LoadKind::Rows => self.replay(&["--small", "1"]),
            LoadKind::Connections => self.replay(&["--as", "statements", "--small", "1"]),
            LoadKind::Serial => self.replay(&["--small", "1M"]),
        }
    }

    fn load(&self, path_and_more: &[&str]) -> Command {
        let is_piped = self.way == LoadKind::Sorted;
        let input = if is_piped { "-".into() } else { self.file.clone() };
        let mut load = self.desk.home.load(self.desk.server, &self.desk.table("t"), &input);
        load.arg("--path").args(path_and_more);
        if is_piped {
            let mut cat =
                Command::new("cat").arg(&self.file).stdout(Stdio::piped()).spawn().unwrap();
            load.stdin(cat.stdout.take().unwrap());
            std::thread::spawn(move || cat.wait());
        }
        load
    }

    fn replay(&self, more: &[&str]) -> Command {
        let mut command = self.desk.home.inrush(["replay"]);
        command.arg(&self.file).args(["--threads", "2", "--memory", "120M", "--socket"]);
        command.arg(self.desk.server.socket()).args(more);
        if let Some(user) = self.desk.server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    /// To its end, which has to come.
    pub(super) fn run(&self, point: &str) -> Outcome {
        self.run_with(point, &[])
    }

    /// The same with more arguments.
    pub(super) fn run_with(&self, point: &str, more: &[&str]) -> Outcome {
        let mut command = self.command();
        command.args(more);
        command.env("INRUSH_FAILPOINT", format!("{point}=panic")).env("RUST_BACKTRACE", "0");
        run(&mut command)
    }

    /// The same command, which meets nothing.
    pub(super) fn again(&self) -> Outcome {
        run(&mut self.command())
    }

    /// True if the error says that the table is unchanged, or that nothing has begun.
    pub(super) fn says_old(&self, outcome: &Outcome) -> bool {
        outcome.err.contains(&format!("{} is unchanged", self.desk.table("t")))
    }

    /// The rows are in and sound, and nothing is beside the table but what goes on with adding.
    #[track_caller]
    pub(super) fn has_new(&mut self, what: &str, outcome: &Outcome) {
        let seen = self.seen();
        assert!(seen.rows.as_ref() == Some(&self.new), "{what}: {outcome:?}");
        let left: Vec<&str> = seen.left().into_iter().filter(|n| !n.contains("_ledger_")).collect();
        assert_eq!(left, [""; 0], "{what}: {outcome:?}");
        let table = self.desk.table("t");
        check_table(&mut self.desk.session, &table);
        assert_eq!(self.desk.home.temp_files(), [""; 0], "{what}");
    }

    #[track_caller]
    pub(super) fn is_new(&mut self, outcome: &Outcome, what: &str) {
        assert!([0, 3].contains(&outcome.code()), "{what}: {outcome:?}");
        self.has_new(what, outcome);
        assert_eq!(self.seen().left(), [""; 0], "{what}");
    }
}

/// A dump that makes the table anew.
fn dump(desk: &Desk) -> String {
    let tuples: Vec<String> = (0..ROWS).map(|row| format!("({row},'new')")).collect();
    let inserts: String = tuples
        .chunks(1000)
        .map(|tuples| format!("INSERT INTO `t` VALUES {};\n", tuples.join(",")))
        .collect();
    format!(
        "USE `{}`;\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`a` int PRIMARY KEY, \
         `b` varchar(20), KEY `b` (`b`)) ENGINE=InnoDB;\n{inserts}",
        desk.database
    )
}
