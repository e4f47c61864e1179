//! Partitioned tables: rows go where the server puts them.

use std::collections::HashMap;

use catalog::learn::{self, CollationCache};
use encode::partition::{self, Router};
use schema::{PartitionBound, Partitioning, TableName};
use server::ConnectOptions;
use targets::{Lock, LockOptions};
use testkit::tables::server::{Db, Server};
use values::ConvertOptions;

/// Tables whose partitions are known: columns, and by what they are divided.
const KNOWN: &[(&str, &str)] = &[
    ("id INT NOT NULL AUTO_INCREMENT PRIMARY KEY", "HASH (id) PARTITIONS 7"),
    ("id BIGINT, k TINYINT", "HASH (id + k * 3) PARTITIONS 5"),
    ("id BIGINT UNSIGNED", "HASH (id) PARTITIONS 6"),
    ("id MEDIUMINT", "LINEAR HASH (id) PARTITIONS 6"),
    ("id SMALLINT", "LINEAR HASH (-(id DIV 3) MOD 100) PARTITIONS 11"),
    ("y YEAR", "HASH (y) PARTITIONS 3"),
    ("a INT, b INT", "HASH (MOD(a, 10) * 3 - ABS(b)) (PARTITION `x y`, PARTITION `\u{e4}`)"),
    ("d DATE", "HASH (YEAR(d) * 12 + MONTH(d)) PARTITIONS 24"),
    ("d DATETIME(3)", "HASH (HOUR(d) * 60 + MINUTE(d)) PARTITIONS 9"),
    ("d DATE", "HASH (DAYOFYEAR(d)) PARTITIONS 5"),
    ("d DATE", "HASH (WEEKDAY(d)) PARTITIONS 7"),
    ("d DATETIME", "HASH (DAYOFWEEK(d) + SECOND(d)) PARTITIONS 7"),
    (
        "d DATE NOT NULL",
        "LIST (QUARTER(d)) (PARTITION a VALUES IN (1,4), PARTITION b VALUES IN (2), \
      PARTITION c VALUES IN (3))",
    ),
    (
        "d DATE",
        "LIST (DAYOFMONTH(d)) (PARTITION a VALUES IN (1,31), PARTITION n VALUES IN (NULL), \
      PARTITION o DEFAULT)",
    ),
    (
        "a INT",
        "RANGE (a) (PARTITION p0 VALUES LESS THAN (-5), PARTITION p1 VALUES LESS THAN (10), \
      PARTITION p2 VALUES LESS THAN (1000))",
    ),
    (
        "a BIGINT UNSIGNED",
        "RANGE (a) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS \
      THAN (9000000000000000000), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    ),
    (
        "d DATE",
        "RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (1990), PARTITION p1 VALUES LESS THAN \
      (2000), PARTITION p2 VALUES LESS THAN (2020))",
    ),
    (
        "d DATETIME",
        "RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2000-01-01')), \
      PARTITION p1 VALUES LESS THAN (TO_DAYS('2004-03-01')), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    ),
    (
        "d DATETIME",
        "RANGE (TO_SECONDS(d)) (PARTITION p0 VALUES LESS THAN \
      (TO_SECONDS('2000-02-29 12:00:00')), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    ),
    (
        "t TIMESTAMP NOT NULL",
        "RANGE (UNIX_TIMESTAMP(t)) (PARTITION p0 VALUES LESS THAN \
      (UNIX_TIMESTAMP('2010-07-01 00:00:00')), PARTITION p1 VALUES LESS THAN (1600000000))",
    ),
    (
        "t TIMESTAMP NULL",
        "LIST (UNIX_TIMESTAMP(t) MOD 3) (PARTITION a VALUES IN (0), PARTITION b \
      VALUES IN (1,2))",
    ),
    (
        "i INT, j INT",
        "LIST (i) (PARTITION a VALUES IN (1,2,NULL), PARTITION b VALUES IN (-5), \
      PARTITION c VALUES IN (2147483647,-2147483648,0))",
    ),
    (
        "s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "RANGE COLUMNS (s) (PARTITION a \
      VALUES LESS THAN ('c''C\\\\'), PARTITION b VALUES LESS THAN ('x\u{e4}'), PARTITION c VALUES LESS \
      THAN ('x\u{1f600}'), PARTITION d VALUES LESS THAN (MAXVALUE))",
    ),
    (
        "s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
        "RANGE COLUMNS (s) (PARTITION a \
      VALUES LESS THAN ('b'), PARTITION b VALUES LESS THAN ('\u{df}'), PARTITION c VALUES LESS THAN ('y'))",
    ),
    (
        "s CHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "RANGE COLUMNS (s) (PARTITION a \
      VALUES LESS THAN ('B'), PARTITION b VALUES LESS THAN ('b '), PARTITION c VALUES LESS THAN ('b0'))",
    ),
    (
        "s CHAR(9) CHARACTER SET latin1, i INT",
        "LIST COLUMNS (s, i) (PARTITION a VALUES IN (('a',1),\
      ('b',NULL)), PARTITION b VALUES IN (('\u{e4}',0), ('',1)), PARTITION c DEFAULT)",
    ),
    (
        "s VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_general_cs",
        "LIST COLUMNS (s) (PARTITION a \
      VALUES IN ('a','A'), PARTITION b VALUES IN ('', NULL))",
    ),
    (
        "b VARBINARY(9)",
        "RANGE COLUMNS (b) (PARTITION a VALUES LESS THAN (X'00FF'), PARTITION b VALUES \
      LESS THAN ('a'), PARTITION c VALUES LESS THAN (MAXVALUE))",
    ),
    (
        "d DATE, i INT",
        "RANGE COLUMNS (d, i) (PARTITION a VALUES LESS THAN ('2000-01-01', 5), PARTITION b \
      VALUES LESS THAN ('2000-01-01', MAXVALUE), PARTITION c VALUES LESS THAN ('2010-06-15', -1))",
    ),
    (
        "d DATETIME(2), i TINYINT",
        "RANGE COLUMNS (i, d) (PARTITION a VALUES LESS THAN (0, '2000-01-01 \
      12:30:00.25'), PARTITION b VALUES LESS THAN (MAXVALUE, MAXVALUE))",
    ),
    (
        "t TIME(3)",
        "RANGE COLUMNS (t) (PARTITION a VALUES LESS THAN ('-01:00:00'), PARTITION b VALUES LESS \
      THAN ('12:00:00.5'))",
    ),
    (
        "i INT",
        "RANGE COLUMNS (i) (PARTITION a VALUES LESS THAN (-5), PARTITION b VALUES LESS THAN (7))",
    ),
    (
        "d DATE",
        "LIST COLUMNS (d) (PARTITION a VALUES IN ('2010-01-01','2011-12-31'), PARTITION b VALUES \
      IN (NULL))",
    ),
    ("id INT, k BIGINT UNSIGNED, PRIMARY KEY (id, k)", "KEY () PARTITIONS 7"),
    ("id SMALLINT UNSIGNED", "LINEAR KEY (id) PARTITIONS 6"),
    ("d DATE, t TIMESTAMP NULL", "KEY (d, t) PARTITIONS 5"),
    ("d DATETIME(6), y YEAR, c TIME(1)", "KEY (d, y, c) PARTITIONS 5"),
    ("n DECIMAL(20,3), b VARBINARY(9)", "KEY (n, b) PARTITIONS 5"),
];

/// Those that are not, and what is said of them.
const UNKNOWN: &[(&str, &str, &str)] = &[
    ("s VARCHAR(9)", "KEY (s) PARTITIONS 2", "KEY of column `s`, which is VARCHAR(9)"),
    ("d DATE", "HASH (YEARWEEK(d, 1)) PARTITIONS 2", "yearweek"),
    ("n DECIMAL(9,2)", "HASH (CEILING(n)) PARTITIONS 2", "column `n` of type DECIMAL(9,2)"),
    (
        "a BIGINT UNSIGNED",
        "RANGE (a) (PARTITION p VALUES LESS THAN (18446744073709551610))",
        "a value beyond 63 bits",
    ),
];

/// The parts of a table's router.
struct Tried {
    lock: Lock,
    convert: ConvertOptions,
    collations: encode::inspected::Collations,
}

impl Tried {
    fn new(connect: &ConnectOptions, db: &mut Db, sql: &str) -> Tried {
        db.sql(&format!("CREATE OR REPLACE TABLE t {sql}"));
        let session = server::Session::connect(connect).unwrap();
        let name = TableName::new(db.name.as_str(), "t");
        let mut lock = Lock::take(session, &name, &LockOptions::default()).unwrap();
        let mut collations = HashMap::new();
        for column in &lock.table.columns {
            let Some(name) = column.sql_type.collation() else { continue };
            let cache = CollationCache::of_user();
            let collation = learn::collation(&mut lock.session, name, &cache).unwrap();
            collations.insert(name.to_owned(), collation);
        }
        Tried { lock, convert: ConvertOptions::default(), collations }
    }

    fn partitioning(&self) -> Partitioning {
        self.lock.table.partitioning.clone().unwrap()
    }

    fn router(&self, by: &Partitioning) -> Result<Router, String> {
        Router::new(&self.lock.table, by, &self.convert, &self.collations)
    }

    fn differences(&mut self, by: &Partitioning) -> Option<String> {
        let router = match self.router(by) {
            Ok(router) => router,
            Err(reason) => return Some(reason),
        };
        partition::differences(&mut self.lock, &router, &self.convert).unwrap()
    }
}

fn connect(server: &Server) -> ConnectOptions {
    ConnectOptions { time_zone: Some("+00:00".to_owned()), ..server.connect_options() }
}

#[test]
fn rows_are_placed_where_the_server_puts_them() {
    let Some(server) = Server::get() else { return };
    let (mut db, connect) = (server.database(), connect(&server));
    let mut failed = Vec::new();
    for (columns, by) in KNOWN {
        // Which engine it is says nothing, and this one is fast.
        let sql = format!("({columns}) ENGINE=MEMORY PARTITION BY {by}");
        let mut tried = Tried::new(&connect, &mut db, &sql);
        let partitioning = tried.partitioning();
        failed.extend(tried.differences(&partitioning).map(|said| format!("{sql}: {said}")));
    }
    assert!(failed.is_empty(), "{failed:#?}");
    for (columns, by, reason) in UNKNOWN {
        let sql = format!("({columns}) PARTITION BY {by}");
        let tried = Tried::new(&connect, &mut db, &sql);
        let said = tried.router(&tried.partitioning()).unwrap_err();
        assert!(said.contains(reason), "{sql}: {said}");
    }
    assert_eq!(db.tables(), ["t"]);
}

/// Were a bound one off, a list in another order, a hash another: it would be seen.
#[test]
fn a_rule_that_is_not_the_servers_is_found_out() {
    let Some(server) = Server::get() else { return };
    let (mut db, connect) = (server.database(), connect(&server));
    let text = |by: &mut Partitioning, at: usize, text: &str| {
        by.partitions[at].bound = PartitionBound::Values(text.to_owned());
    };
    type Change<'c> = &'c dyn Fn(&mut Partitioning);
    let changes: [(&str, Change<'_>, &str); 7] = [
        (
            "(a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (100), PARTITION q VALUES LESS \
             THAN (200))",
            &|by| text(by, 0, "101"),
            "the server puts a row with (a) = (\"100\") into partition q; Inrush would put it into \
             partition p",
        ),
        (
            "(a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (100))",
            &|by| text(by, 0, "MAXVALUE"),
            "into none; Inrush would put it into partition p",
        ),
        (
            "(d DATE) PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p VALUES LESS THAN (730000), PARTITION q \
             VALUES LESS THAN MAXVALUE)",
            &|by| text(by, 0, "730001"),
            "into partition q",
        ),
        (
            "(s VARCHAR(9)) PARTITION BY LIST COLUMNS (s) (PARTITION p VALUES IN ('a'), PARTITION q VALUES \
             IN ('b'))",
            &|by| by.partitions.swap(0, 1),
            "into partition p",
        ),
        ("(a INT) PARTITION BY HASH (a) PARTITIONS 6", &|by| by.is_linear = true, "partition p"),
        ("(a INT) PARTITION BY KEY (a) PARTITIONS 6", &|by| by.is_linear = true, "partition p"),
        (
            "(d DATE) PARTITION BY HASH (YEAR(d)) PARTITIONS 6",
            &|by| by.expression = "quarter(`d`)".to_owned(),
            "partition p",
        ),
    ];
    for (sql, change, expected) in changes {
        let in_memory = sql.replacen(") PARTITION", ") ENGINE=MEMORY PARTITION", 1);
        let mut tried = Tried::new(&connect, &mut db, &in_memory);
        let mut by = tried.partitioning();
        change(&mut by);
        let said = tried.differences(&by).unwrap_or_default();
        assert!(said.contains(expected), "{sql}: {said}");
    }
    // Rows of an input, by the places that were found for them.
    let sql = "(a INT, s VARCHAR(20)) ENGINE=MEMORY PARTITION BY HASH (a) PARTITIONS 3";
    let mut tried = Tried::new(&connect, &mut db, sql);
    let router = tried.router(&tried.partitioning()).unwrap();
    let row = |value: &str, place| (vec![Some(value.as_bytes().to_vec())], Some(place));
    let mut rows: Vec<_> = (0..2_000).map(|a| row(&a.to_string(), a % 3)).collect();
    let lock = &mut tried.lock;
    assert_eq!(partition::differences_of(lock, &router, rows.clone()).unwrap(), None);
    rows[1_234].1 = Some(0);
    let said = partition::differences_of(lock, &router, rows).unwrap().unwrap();
    assert!(said.contains("(a) = (\"1234\") into partition p1"), "{said}");
}
