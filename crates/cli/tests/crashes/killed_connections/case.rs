//! Commands whose connections are killed, each with its tables and files.

use crate::support::lines;

/// A command, and what it finds.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Statements that make the tables, in a new database.
    pub(super) tables: String,
    pub(super) files: Vec<(&'static str, String)>,
    /// Arguments of the program; `@` is the database.
    pub(super) arguments: Vec<&'static str>,
    /// The file that the command writes.
    pub(super) output: Option<&'static str>,
    pub(super) atomicity: Atomicity,
}

/// The part that is the old one or the new one when the command has failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Atomicity {
    /// All tables, and nothing is left.
    Tables,
    /// Each table by itself.
    Table,
    /// Each chunk of rows by itself.
    Chunk,
}

const T: &str = "t (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, name VARCHAR(40) NOT NULL, body TEXT, \
                 UNIQUE KEY n (n, id), KEY name (name, n)) ENGINE=InnoDB";
const OLD: &str =
    "INSERT INTO t SELECT -seq, -seq * 3, CONCAT('old ', seq), NULL FROM seq_1_to_500";
/// Rows for one of these, and for two.
const RANGES: &str = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (-400), \
                      PARTITION p1 VALUES LESS THAN (100000), PARTITION p2 VALUES LESS THAN MAXVALUE)";
const TWO_RANGES: &str = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (-400), \
                          PARTITION p1 VALUES LESS THAN (500), PARTITION p2 VALUES LESS THAN MAXVALUE)";
/// A parent, a table that refers to it, and a child of that one.
const RELATED: &str = "\
    CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p SELECT seq FROM seq_1_to_50; \
    CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB; \
    INSERT INTO t SELECT seq, seq FROM seq_1_to_20; \
    CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id)) ENGINE=InnoDB; \
    INSERT INTO c SELECT seq, seq FROM seq_1_to_10";
/// Two tables, one of which refers to the other. With the checks on it would be created in place, empty.
const DUMP: &str = "\
/*!40014 SET FOREIGN_KEY_CHECKS=0 */;
DROP TABLE IF EXISTS `t`;
CREATE TABLE `t` (`id` int(11) NOT NULL, `w` varchar(20), PRIMARY KEY (`id`), KEY `w` (`w`)) ENGINE=InnoDB;
LOCK TABLES `t` WRITE;
INSERT INTO `t` VALUES (1,'one'),(2,'two'),(3,NULL);
INSERT INTO `t` VALUES (4,'four'),(5,'five');
UNLOCK TABLES;
DROP TABLE IF EXISTS `u`;
CREATE TABLE `u` (`id` int(11) NOT NULL, `t` int(11), PRIMARY KEY (`id`), KEY `t` (`t`),
  CONSTRAINT `u_t` FOREIGN KEY (`t`) REFERENCES `t` (`id`)) ENGINE=InnoDB;
INSERT INTO `u` VALUES (1,1),(2,5);
";
/// Two tables.
const ATOMIC: &str = "\
DROP TABLE IF EXISTS `t`;
CREATE TABLE `t` (`id` int(11) NOT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `t` VALUES (1),(2),(3);
CREATE TABLE `u` (`id` int(11) NOT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `u` VALUES (1),(2);
";
/// The table that is there before.
const DUMPED: &str = "\
    CREATE TABLE t (id INT PRIMARY KEY, old INT) ENGINE=InnoDB; INSERT INTO t VALUES (1, 1)";

fn case(name: &'static str, tables: String, arguments: &[&'static str]) -> Case {
    Case {
        name,
        tables,
        files: Vec::new(),
        arguments: arguments.to_vec(),
        output: None,
        atomicity: Atomicity::Tables,
    }
}

/// A load of 900 rows into table `t`, which has 500.
fn load(name: &'static str, partitions: &str, options: &[&'static str]) -> Case {
    let tables = format!("CREATE TABLE {T} {partitions}; {OLD}");
    let arguments = [&["load", "t.txt", "--into", "@.t"], options].concat();
    Case { files: vec![("t.txt", lines(900))], ..case(name, tables, &arguments) }
}

/// A load into the table between its parent and its child.
fn related(name: &'static str, rows: std::ops::Range<u32>, options: &[&'static str]) -> Case {
    let text = rows.map(|row| format!("{row}\t{}\n", row % 50 + 1)).collect();
    let arguments = [&["load", "t.txt", "--into", "@.t"], options].concat();
    Case { files: vec![("t.txt", text)], ..case(name, RELATED.to_owned(), &arguments) }
}

/// A load of a folder into three tables.
fn several(name: &'static str, options: &[&'static str]) -> Case {
    let one = |table: &&str| {
        let (table, old) =
            (T.replacen('t', table, 1), OLD.replacen(" t ", &format!(" {table} "), 1));
        format!("CREATE TABLE {table}; {old}")
    };
    let tables: Vec<String> = ["a", "b", "c"].iter().map(one).collect();
    let arguments = [&["load", "a.txt", "b.txt", "c.txt", "--into", "@"], options].concat();
    let names = ["a.txt", "b.txt", "c.txt"];
    let files = names.into_iter().zip([200, 900, 300]).map(|(name, rows)| (name, lines(rows)));
    Case { files: files.collect(), ..case(name, tables.join(";"), &arguments) }
}

fn chunks(case: Case) -> Case {
    Case { atomicity: Atomicity::Chunk, ..case }
}

fn replay(name: &'static str, options: &[&'static str]) -> Case {
    let arguments = [&["replay", "dump.sql", "--into", "@"], options].concat();
    let files = vec![("dump.sql", DUMP.to_owned())];
    Case { files, atomicity: Atomicity::Table, ..case(name, DUMPED.to_owned(), &arguments) }
}

fn export(name: &'static str, options: &[&'static str]) -> Case {
    let arguments = [&["export", "@.t", "-o", "out.csv", "--force"], options].concat();
    Case { output: Some("out.csv"), ..case(name, format!("CREATE TABLE {T}; {OLD}"), &arguments) }
}

/// A comparison of a file with the table whose rows it has.
fn compare(command: &'static str) -> Case {
    let tables = format!("CREATE TABLE {T}; LOAD DATA LOCAL INFILE 't.txt' INTO TABLE t");
    let files = vec![("t.txt", lines(900))];
    Case { files, ..case(command, tables, &[command, "t.txt", "--into", "@.t"]) }
}

const DIRECT: &str = "--path=direct";
const APPEND: &str = "--mode=append";
const REPLACE: &str = "--mode=replace";

/// All of them.
pub(super) fn all() -> Vec<Case> {
    let built = "--threads=2";
    vec![
        load("merge", "", &[APPEND, DIRECT, built, "--stamp=yes"]),
        chunks(load("stream", "", &[APPEND, "--path=stream", built])),
        load("atomic", "", &[APPEND, "--path=stream", "--atomic", built]),
        chunks(load("update", "", &[APPEND, "--path=insert", "--on-duplicate=update", built])),
        load("partitions", RANGES, &[REPLACE, DIRECT, built]),
        load("a merged partition", RANGES, &[APPEND, DIRECT, built]),
        load("merged partitions", TWO_RANGES, &[APPEND, DIRECT, built]),
        related("a parent and child", 1..400, &[REPLACE, DIRECT, built]),
        related("a merged parent and child", 100..400, &[APPEND, DIRECT, built]),
        chunks(related("a sent parent and child", 100..400, &[APPEND, "--path=stream", built])),
        several("several tables", &[REPLACE, DIRECT, built]),
        several("several small tables", &[APPEND]),
        replay("replay", &[]),
        replay("statements", &["--as", "statements"]),
        Case {
            files: vec![("dump.sql", ATOMIC.to_owned())],
            ..replay("an atomic replay", &["--atomic"])
        },
        export("export", &["--path=direct"]),
        export("select", &["--path=select"]),
        Case { arguments: vec!["check", "t.txt", "--into", "@.t"], ..load("check", "", &[]) },
        compare("verify"),
    ]
}
