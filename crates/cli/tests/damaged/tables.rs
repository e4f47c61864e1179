//! Tables whose files are damaged: kinds of keys, of rows, of values.

use std::fmt::Write as _;
use std::fs;

use innodb::cfg::Cfg;
use testkit::TestServer;

use super::Built;
use super::damage::Space;
use crate::support::{Home, run};

/// A table, its rows and statements on it.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Definition, without the name.
    pub(super) definition: &'static str,
    pub(super) rows: usize,
    /// A row of the file.
    line: fn(usize) -> String,
    /// Statements; `{}` is the table.
    pub(super) statements: &'static [&'static str],
}

const TABLES: [Table; 8] = [
    Table {
        name: "many_keys",
        definition: "(id INT UNSIGNED PRIMARY KEY, a INT, s VARCHAR(40) COLLATE utf8mb4_bin NOT NULL, \
             c CHAR(8) CHARACTER SET latin1 COLLATE latin1_bin, d DECIMAL(10,2), t DATETIME(3), \
             e ENUM('one', 'two'), n SMALLINT, KEY (a), UNIQUE KEY (s DESC), KEY (c, n DESC))",
        rows: 700,
        line: |id| {
            format!(
                "{id}\t{}\tname {:04}\tc{}\t{}.25\t2024-02-29 12:00:00.{:03}\ttwo\t{}",
                if id % 9 == 0 { "\\N".to_owned() } else { (id * 7 % 100).to_string() },
                (id * 331) % 700,
                id % 50,
                id * 3,
                id % 1000,
                if id % 4 == 0 { "\\N".to_owned() } else { (id % 300).to_string() }
            )
        },
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, a, s, c, d, t, e, n))) FROM {} FORCE INDEX (PRIMARY)",
            "SELECT a, SUM(CRC32(s)) FROM {} FORCE INDEX (a) WHERE a > -99999 GROUP BY a",
            "SELECT SUM(CRC32(CONCAT_WS(',', s, d))) FROM {} FORCE INDEX (s) WHERE s > ''",
            "SELECT SUM(CRC32(CONCAT_WS(',', c, n, t))) FROM {} FORCE INDEX (c) WHERE c > ''",
            "UPDATE {} SET a = a + 1, n = NULL WHERE id % 3 = 0",
            "UPDATE {} SET c = CONCAT('z', LEFT(c, 6)), s = CONCAT(s, ' longer') WHERE id % 5 = 1",
            "DELETE FROM {} WHERE id % 4 = 2",
            "DELETE FROM {} WHERE a BETWEEN 20 AND 30",
            "INSERT INTO {} SELECT id + 100000, a, CONCAT('new ', s), c, d, t, e, n FROM (SELECT * FROM {} x) y",
        ],
    },
    Table {
        name: "descending",
        definition: "(a INT NOT NULL, b VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL, \
             v VARCHAR(90) COLLATE utf8mb4_bin, f DOUBLE, PRIMARY KEY (a DESC, b), KEY p (v(5), f))",
        rows: 600,
        line: |id| {
            format!("{}\tb {id}\tvalue {:03} of some length\t{}.5", id / 3, id % 100, id * 7 % 90)
        },
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', a, b, v, f))) FROM {} FORCE INDEX (PRIMARY)",
            "SELECT SUM(CRC32(CONCAT_WS(',', a, b, v, f))) FROM {} FORCE INDEX (p) WHERE v > ''",
            "UPDATE {} SET v = CONCAT('x', v) WHERE a % 3 = 0",
            "UPDATE {} SET f = f + 1 WHERE a % 2 = 0",
            "DELETE FROM {} WHERE a % 5 = 1",
            "INSERT INTO {} SELECT a + 50000, b, v, f FROM (SELECT * FROM {} x) y",
        ],
    },
    Table {
        name: "keyless",
        definition: "(a INT, v VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_bin, t TIME, b VARBINARY(9) NOT NULL)",
        rows: 800,
        line: |id| {
            format!("{id}\tsome text {}\t12:00:{:02}\tb{}", "x".repeat(id % 30), id % 60, id % 10)
        },
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', a, v, t, b))) FROM {}",
            "UPDATE {} SET v = CONCAT('y', v) WHERE a % 3 = 0",
            "DELETE FROM {} WHERE a % 4 = 0",
            "INSERT INTO {} SELECT a + 1, v, t, b FROM (SELECT * FROM {} x) y",
        ],
    },
    Table {
        name: "keyed_rowid",
        definition: "(a INT, v VARCHAR(50) COLLATE utf8mb4_bin, KEY (v), KEY (a DESC))",
        rows: 500,
        line: |id| format!("{}\tsome text {}", id % 77, (id * 17) % 500),
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', a, v))) FROM {}",
            "SELECT SUM(CRC32(CONCAT_WS(',', a, v))) FROM {} FORCE INDEX (v) WHERE v > ''",
            "SELECT SUM(CRC32(CONCAT_WS(',', a, v))) FROM {} FORCE INDEX (a) WHERE a > -9999",
            "UPDATE {} SET v = CONCAT('y', v) WHERE a % 3 = 0",
            "DELETE FROM {} WHERE a % 4 = 0",
            "INSERT INTO {} SELECT a + 1, v FROM (SELECT * FROM {} x) y",
        ],
    },
    Table {
        name: "long_values",
        definition: "(id INT PRIMARY KEY, t LONGTEXT COLLATE utf8mb4_bin, j JSON, b BLOB, KEY (b(20)))",
        rows: 60,
        line: |id| {
            format!(
                "{id}\t{}\t{{\"k\": [{id}, \"{}\"]}}\tblob {}",
                "t".repeat(if id % 5 == 0 { 20_000 + id * 300 } else { id }),
                "j".repeat(if id % 7 == 0 { 30_000 } else { 20 }),
                "b".repeat(if id % 9 == 0 { 9_000 } else { id })
            )
        },
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(t)), SUM(CRC32(b)) FROM {}",
            "SELECT SUM(CRC32(j)) FROM {}",
            "SELECT SUM(CRC32(JSON_EXTRACT(j, '$.k[1]'))) FROM {}",
            "SELECT SUM(CRC32(CONCAT_WS(',', id, b))) FROM {} FORCE INDEX (b) WHERE b > ''",
            "UPDATE {} SET t = CONCAT(t, 'more') WHERE id % 2 = 0",
            "UPDATE {} SET j = JSON_SET(j, '$.k[0]', 7) WHERE id % 3 = 0",
            "UPDATE {} SET b = REPEAT('c', 12000) WHERE id % 3 = 1",
            "DELETE FROM {} WHERE id % 4 = 0",
            "INSERT INTO {} SELECT id + 1000, t, j, b FROM (SELECT * FROM {} x) y",
            "DELETE FROM {} WHERE id % 4 = 1",
        ],
    },
    Table {
        name: "compact",
        definition: "(id INT PRIMARY KEY, t LONGTEXT COLLATE utf8mb4_bin, b LONGBLOB, v VARCHAR(150) NOT NULL \
             COLLATE utf8mb4_bin, KEY (t(30)), KEY (v)) ROW_FORMAT=COMPACT",
        rows: 60,
        line: |id| {
            format!(
                "{id}\t{}\t{}\t{}",
                "t".repeat(if id % 4 == 0 { 17_000 + id * 300 } else { id }),
                if id % 3 == 0 { "\\N".to_owned() } else { "b".repeat(id * 400) },
                "v".repeat(id * 2)
            )
        },
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(t)), SUM(CRC32(b)), SUM(CRC32(v)) FROM {}",
            "SELECT SUM(CRC32(CONCAT_WS(',', id, t))) FROM {} FORCE INDEX (t) WHERE t > ''",
            "SELECT SUM(CRC32(CONCAT_WS(',', id, v))) FROM {} FORCE INDEX (v) WHERE v >= ''",
            "UPDATE {} SET t = CONCAT('more', t) WHERE id % 2 = 0",
            "UPDATE {} SET b = REPEAT('c', 12000) WHERE id % 3 = 1",
            "DELETE FROM {} WHERE id % 4 = 0",
            "INSERT INTO {} SELECT id + 1000, t, b, v FROM (SELECT * FROM {} x) y",
            "DELETE FROM {} WHERE id % 4 = 1",
        ],
    },
    Table {
        name: "deep",
        definition: "(k VARBINARY(2400), n INT, w VARBINARY(2400) NOT NULL, PRIMARY KEY (k), KEY (n))",
        rows: 150,
        line: |id| format!("{id:04}{}\t{}\t{}", "k".repeat(2_300), id % 50, "w".repeat(id * 9)),
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', k, n, w))) FROM {} FORCE INDEX (PRIMARY)",
            "SELECT SUM(CRC32(CONCAT_WS(',', k, n, w))) FROM {} FORCE INDEX (n) WHERE n > -99999",
            "UPDATE {} SET w = CONCAT(w, REPEAT('x', 30)) WHERE n % 3 = 0",
            "DELETE FROM {} WHERE n % 4 = 0",
            "INSERT INTO {} SELECT CONCAT('9', LEFT(k, 2300)), n + 1, w FROM (SELECT * FROM {} x) y",
            "DELETE FROM {} WHERE k > '0100' AND k < '0140'",
        ],
    },
    Table {
        name: "deep_key",
        definition: "(id INT PRIMARY KEY, k VARCHAR(700) COLLATE utf8mb4_bin NOT NULL, UNIQUE KEY (k DESC))",
        rows: 400,
        line: |id| format!("{id}\t{:04}{}", (id * 37) % 400, "k".repeat(650)),
        statements: &[
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, k))) FROM {} FORCE INDEX (PRIMARY)",
            "SELECT SUM(CRC32(CONCAT_WS(',', id, k))) FROM {} FORCE INDEX (k) WHERE k > ''",
            "UPDATE {} SET k = CONCAT('u', k) WHERE id % 3 = 0",
            "DELETE FROM {} WHERE id % 4 = 0",
            "INSERT INTO {} SELECT id + 1000, CONCAT('n', k) FROM (SELECT * FROM {} x) y",
            "DELETE FROM {} WHERE k > '0100' AND k < '0140'",
        ],
    },
];

/// Tables with what Inrush builds for them; None, with a line printed, where there is no MySQL.
pub(super) fn built() -> Option<Vec<Built>> {
    static ALL: [Table; 8] = TABLES;
    let server = TestServer::mysql(Vec::new())?;
    let home = Home::new();
    Some(ALL.iter().map(|table| build(&server, &home, table)).collect())
}

/// The file of one table: the load is killed when the file is ready for IMPORT.
fn build(server: &TestServer, home: &Home, table: &'static Table) -> Built {
    let Table { name, definition, rows, .. } = table;
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE DATABASE {name}")).unwrap();
    session.exec(&format!("CREATE TABLE {name}.t {definition}")).unwrap();
    let mut text = String::new();
    (0..*rows).for_each(|id| writeln!(text, "{}", (table.line)(id)).unwrap());
    let file = home.file("rows.txt", text);
    let mut load = home.load(server, &format!("{name}.t"), &file);
    let outcome = run(load.arg("--unlogged").env("INRUSH_FAILPOINT", "import.placed=kill"));
    assert_eq!(outcome.code(), -1, "{name}: {outcome:?}");
    let folder = fs::read_dir(server.datadir().join(name)).unwrap();
    let mut files = folder.map(|entry| entry.unwrap().path());
    let cfg = files.find(|path| path.extension().is_some_and(|end| end == "cfg")).unwrap();
    let file = fs::read(cfg.with_extension("ibd")).unwrap();
    let cfg = Cfg::parse(&fs::read(cfg).unwrap()).unwrap();
    Built { table, space: Space::new(file, &cfg), cfg }
}
