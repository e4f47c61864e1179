//! Single tables, each of another kind or filled in another way.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use testkit::TestServer;
use testkit::tables::server::{Db, Server};

use super::loaded_tables::LoadedTable;
use crate::support::{Home, run};

/// Rows of a file: more than the server's counter of hidden numbers is ahead when it starts.
const ROWS: u32 = 300;
/// Rows of the last one: more than the server has numbered by then itself.
const MANY_ROWS: u32 = 5_000;

/// A table, and how it is filled.
pub(super) struct Family {
    table: &'static str,
    /// Statements that make the table, `{}` for its name; empty if the load makes it.
    before: &'static [&'static str],
    /// The rows of its file: `a`, `b` and `c`.
    rows: fn() -> String,
    /// Arguments of the program.
    arguments: &'static [&'static str],
    /// The path that it takes.
    path: &'static str,
    /// LOAD DATA: words before INTO TABLE, words behind the name.
    words: (&'static str, &'static str),
}

const PLAIN: Family =
    Family { table: "", before: &[], rows, arguments: &[], path: "direct", words: ("", "") };
/// Arguments that replace the table's rows.
const REPLACES: &[&str] = &["--mode", "replace"];
/// The table that a load makes.
const DDL: &str = "CREATE TABLE made_by_ddl (a INT PRIMARY KEY, b INT, c VARCHAR(20), KEY (c))";

/// The first has hidden numbers that begin with the server's first.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        table: "hidden_numbers",
        before: &["CREATE TABLE {} (a INT, b INT, c VARCHAR(20), KEY (a))"],
        ..PLAIN
    },
    Family {
        table: "no_index",
        before: &["CREATE TABLE {} (a INT, b INT, c VARCHAR(20))"],
        ..PLAIN
    },
    Family {
        table: "unique_in_place_of_primary",
        before: &[
            "CREATE TABLE {} (a INT NOT NULL, b INT, c VARCHAR(20), UNIQUE KEY (a), KEY (c, b))",
        ],
        ..PLAIN
    },
    Family {
        table: "counted",
        before: &["CREATE TABLE {} (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, \
             c VARCHAR(20), KEY (b))"],
        arguments: &["--columns", "a,b,c"],
        words: ("", "(a, b, c)"),
        ..PLAIN
    },
    Family {
        table: "counted_beside_hidden_numbers",
        before: &[
            "CREATE TABLE {} (a INT, b INT, c VARCHAR(20), id INT AUTO_INCREMENT, KEY (id)) \
             AUTO_INCREMENT=1000",
        ],
        arguments: &["--columns", "a,b,c"],
        words: ("", "(a, b, c)"),
        ..PLAIN
    },
    Family {
        table: "replaced",
        before: &[
            "CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20), UNIQUE KEY (b))",
            "INSERT INTO {} VALUES (7, 7, 'old'), (1000000, 1000000, 'old')",
        ],
        arguments: REPLACES,
        ..PLAIN
    },
    Family {
        table: "skipped",
        before: &["CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20), UNIQUE KEY (b, c))"],
        rows: rows_twice,
        arguments: &["--on-duplicate", "skip"],
        words: ("IGNORE", ""),
        ..PLAIN
    },
    Family {
        table: "replaced_by_later_rows",
        before: &["CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20), UNIQUE KEY (b, c))"],
        rows: rows_twice,
        arguments: &["--on-duplicate", "replace"],
        words: ("REPLACE", ""),
        ..PLAIN
    },
    Family { table: "made_by_ddl", arguments: &["--ddl", "ddl.sql"], ..PLAIN },
    Family {
        table: "made_by_create",
        rows: headed_rows,
        arguments: &["--create"],
        words: ("", "IGNORE 1 LINES"),
        ..PLAIN
    },
    Family {
        table: "off_page",
        before: &[
            "CREATE TABLE {} (a INT PRIMARY KEY, b INT, c LONGTEXT, KEY (c(9))) ROW_FORMAT=COMPACT",
        ],
        rows: long_rows,
        ..PLAIN
    },
    Family {
        table: "computed",
        before: &[
            "CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20), s INT AS (a + b) STORED, \
             v INT AS (b * 2) VIRTUAL, KEY (s), KEY (v))",
        ],
        arguments: &["--columns", "a,b,c"],
        path: "stream",
        words: ("", "(a, b, c)"),
        ..PLAIN
    },
    Family {
        table: "checked",
        before: &["CREATE TABLE {} (a INT PRIMARY KEY, b INT CHECK (b <> 7), c VARCHAR(20), \
             CHECK (a < 1000000))"],
        path: "stream",
        ..PLAIN
    },
    Family {
        table: "divided",
        before: &["CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20)) \
             PARTITION BY HASH (a) PARTITIONS 3"],
        ..PLAIN
    },
    Family {
        table: "searched",
        before: &["CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20), FULLTEXT KEY (c))"],
        path: "stream",
        ..PLAIN
    },
    Family {
        table: "triggered",
        before: &[
            "CREATE TABLE {} (a INT PRIMARY KEY, b INT, c VARCHAR(20))",
            "CREATE TRIGGER g BEFORE INSERT ON {} FOR EACH ROW SET NEW.b = NEW.b + 1",
        ],
        path: "stream",
        ..PLAIN
    },
    Family {
        table: "inserted",
        before: &["CREATE TABLE {} (a INT, b INT, c VARCHAR(20), KEY (b))"],
        arguments: &["--path", "insert"],
        path: "insert",
        ..PLAIN
    },
    Family {
        table: "added_to",
        before: &[
            "CREATE TABLE {} (a INT, b INT, c VARCHAR(20), KEY (b))",
            "INSERT INTO {} VALUES (7, 7, 'old'), (1000000, 1000000, 'old')",
        ],
        arguments: &["--mode", "append"],
        path: "stream",
        ..PLAIN
    },
];

/// The family that is loaded last: if the server's counter of hidden numbers did not know of these,
/// no table that the server fills would hide it.
pub(super) const LAST: &[Family] = &[Family {
    table: "hidden_numbers_at_the_end",
    before: &["CREATE TABLE {} (a INT, b INT, c VARCHAR(20), KEY (a))"],
    rows: many_rows,
    ..PLAIN
}];

fn rows() -> String {
    lines(ROWS)
}

fn many_rows() -> String {
    lines(MANY_ROWS)
}

/// Not in the order of the key.
fn lines(count: u32) -> String {
    let row = |number: u32| {
        let c = if number % 11 == 3 { "\\N".to_owned() } else { format!("c {}", number % 90) };
        format!("{}\t{}\t{c}\n", number * 7_919 % count, number * 13)
    };
    (0..count).map(row).collect()
}

/// With keys that others have.
fn rows_twice() -> String {
    let mut text = rows();
    (0..ROWS / 3).for_each(|number| {
        let _ = writeln!(text, "{}\t{}\tagain", number * 5, number * 26);
    });
    text
}

fn headed_rows() -> String {
    format!("a\tb\tc\n{}", rows())
}

/// With texts that are stored elsewhere than their rows.
fn long_rows() -> String {
    let row = |number: u32| {
        let c = format!("{number} ").repeat(if number.is_multiple_of(9) { 6_000 } else { 9 });
        format!("{number}\t{}\t{c}\n", number * 13)
    };
    (0..ROWS / 4).map(row).collect()
}

/// The tables of some families, in one database, each loaded by a command of its own.
pub(super) struct Families {
    home: Home,
    families: &'static [Family],
}

impl Families {
    pub(super) fn new(families: &'static [Family]) -> Families {
        let home = Home::new();
        home.file("ddl.sql", DDL);
        for family in families {
            home.file(&format!("{}.txt", family.table), (family.rows)());
        }
        Families { home, families }
    }

    fn file(&self, family: &Family) -> PathBuf {
        self.home.path().join(format!("{}.txt", family.table))
    }
}

impl LoadedTable for Families {
    fn name(&self) -> String {
        format!(
            "{} could not be dropped; the next load of each table drops its",
            self.families[0].table
        )
    }

    fn ours(&self, server: &'static TestServer) -> Db {
        let mut db = Server::of(server).database();
        for family in self.families {
            make(&mut db, family);
            let into = format!("{}.{}", db.name, family.table);
            let mut load = self.home.load(server, &into, &self.file(family));
            // What the server alone can do shows itself.
            let may_merge = family.arguments.contains(&"append");
            let is_found = family.path == "stream" && !may_merge;
            let path = if is_found { "auto" } else { family.path };
            let loaded = run(load.args(family.arguments).args(["--path", path, "--json"]));
            let report: serde_json::Value = serde_json::from_str(&loaded.done().out).unwrap();
            assert_eq!(report["path"], family.path, "{}: {report}", family.table);
        }
        db
    }

    fn theirs(&self, server: &'static TestServer, ours: &str) -> Db {
        let mut db = Server::of(server).database();
        // Who has none of ours has no table that a load has made.
        for family in self.families.iter().filter(|family| !ours.is_empty() || family.is_there()) {
            make(&mut db, family);
            if !family.is_there() {
                let shown = db.rows(&format!("SHOW CREATE TABLE {ours}.{}", family.table));
                db.sql(&shown[0].text_lossy(1));
            }
            if family.arguments == REPLACES {
                db.sql(&format!("TRUNCATE {}", family.table));
            }
            load_data(&mut db, family, &self.file(family));
        }
        db
    }
}

impl Family {
    /// True if the table exists before the load.
    fn is_there(&self) -> bool {
        !self.before.is_empty()
    }
}

fn make(db: &mut Db, family: &Family) {
    for statement in family.before {
        db.sql(&statement.replace("{}", family.table));
    }
}

fn load_data(db: &mut Db, family: &Family, file: &Path) {
    let (how, columns) = family.words;
    let sql = format!("LOAD DATA LOCAL INFILE 'x' {how} INTO TABLE {} {columns}", family.table);
    db.session().load_local(&sql, File::open(file).unwrap()).unwrap();
}
