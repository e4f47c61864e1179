//! The kinds of tables that are aged.

use crate::aged::value::Values;

/// A kind of table. In its statements `{}` is the table's name.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The feature that others lack.
    pub name: &'static str,
    /// Makes the table, and those it refers to.
    pub(crate) create: &'static [&'static str],
    /// Columns that rows are written to.
    pub(crate) columns: &'static [Column],
    /// Columns of each key that no two rows share, the clustered one first.
    pub(crate) keys: &'static [&'static [&'static str]],
    /// Names of its indexes.
    pub(crate) indexes: &'static [&'static str],
    /// Statements that others make now and then.
    pub(crate) others: &'static [&'static str],
    /// The alterations over time.
    pub(crate) alters: &'static [Alter],
    /// Partitions by name, if it has some.
    pub(crate) partitions: &'static [&'static str],
}

/// A column that rows are written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) values: Values,
}

/// A change of the table's columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alter {
    pub(crate) sql: &'static str,
    pub(crate) added: Option<Column>,
    pub(crate) dropped: Option<&'static str>,
}

const fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}

const fn add(sql: &'static str, name: &'static str, values: Values) -> Alter {
    Alter { sql, added: Some(column(name, values)), dropped: None }
}

const fn drop(sql: &'static str, name: &'static str) -> Alter {
    Alter { sql, added: None, dropped: Some(name) }
}

const SERIAL: Column = column("n", Values::Serial);
const ID: Column = column("id", Values::Number(100_000));

const PLAIN: Family = Family {
    name: "",
    create: &[],
    columns: &[],
    keys: &[&["id"]],
    indexes: &["PRIMARY"],
    others: &[],
    alters: &[],
    partitions: &[],
};

/// All there are.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "three indexes",
        create: &["CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, x INT NOT NULL, \
             w VARCHAR(30), u INT NOT NULL, p CHAR(60) NOT NULL DEFAULT 'padding', UNIQUE KEY u (u), \
             KEY x (x), KEY w (w, x)) ENGINE=InnoDB"],
        columns: &[
            ID,
            SERIAL,
            column("x", Values::Number(500)),
            column("w", Values::WordOrNull(20)),
            column("u", Values::Number(1_000_000)),
        ],
        keys: &[&["id"], &["u"]],
        indexes: &["PRIMARY", "u", "x", "w"],
        ..PLAIN
    },
    Family {
        name: "text keys",
        create: &[
            "CREATE TABLE {} (k VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci \
             PRIMARY KEY, n INT NOT NULL, w VARCHAR(20) COLLATE latin1_swedish_ci, \
             t VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, \
             UNIQUE KEY w (w), KEY t (t)) ENGINE=InnoDB",
        ],
        columns: &[
            column("k", Values::Word(40)),
            SERIAL,
            column("w", Values::WordOrNull(20)),
            column("t", Values::WordOrNull(30)),
        ],
        keys: &[&["k"], &["w"]],
        indexes: &["PRIMARY", "w", "t"],
        ..PLAIN
    },
    Family {
        name: "descending",
        create: &["CREATE TABLE {} (id INT NOT NULL, n INT NOT NULL, x INT, w VARCHAR(30), \
             PRIMARY KEY (id DESC, w), KEY x (x DESC, w), UNIQUE KEY wx (w DESC, id, x DESC)) ENGINE=InnoDB"],
        columns: &[
            column("id", Values::Number(3_000)),
            SERIAL,
            column("x", Values::NumberOrNull(300)),
            column("w", Values::Word(20)),
        ],
        keys: &[&["id", "w"]],
        indexes: &["PRIMARY", "x", "wx"],
        ..PLAIN
    },
    Family {
        name: "no key",
        create: &["CREATE TABLE {} (n INT NOT NULL, x INT, w VARCHAR(60), KEY x (x), KEY w (w)) \
             ENGINE=InnoDB"],
        columns: &[
            SERIAL,
            column("x", Values::NumberOrNull(700)),
            column("w", Values::WordOrNull(60)),
        ],
        keys: &[],
        indexes: &["x", "w"],
        ..PLAIN
    },
    Family {
        name: "clustered by a unique key",
        create: &["CREATE TABLE {} (n INT NOT NULL, u INT NOT NULL, x INT, w VARCHAR(90), \
             UNIQUE KEY u (u), KEY x (x)) ENGINE=InnoDB"],
        columns: &[
            SERIAL,
            column("u", Values::Number(100_000)),
            column("x", Values::NumberOrNull(700)),
            column("w", Values::WordOrNull(90)),
        ],
        keys: &[&["u"]],
        indexes: &["u", "x"],
        ..PLAIN
    },
    Family {
        name: "composite keys",
        create: &["CREATE TABLE {} (w VARCHAR(20) NOT NULL, x SMALLINT UNSIGNED NOT NULL, \
             y BIGINT NOT NULL, n INT NOT NULL, z VARCHAR(40), PRIMARY KEY (x, w, y), \
             UNIQUE KEY yx (y, x), KEY zw (z, w)) ENGINE=InnoDB"],
        columns: &[
            column("w", Values::Word(12)),
            column("x", Values::Number(40)),
            column("y", Values::Number(100_000)),
            SERIAL,
            column("z", Values::WordOrNull(40)),
        ],
        keys: &[&["x", "w", "y"], &["y", "x"]],
        indexes: &["PRIMARY", "yx", "zw"],
        ..PLAIN
    },
    Family {
        name: "numbered",
        create: &[
            "CREATE TABLE {} (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL, \
             x INT NOT NULL, w VARCHAR(90), KEY x (x), KEY w (w)) ENGINE=InnoDB",
        ],
        columns: &[
            column("id", Values::Numbered),
            SERIAL,
            column("x", Values::Number(500)),
            column("w", Values::WordOrNull(90)),
        ],
        indexes: &["PRIMARY", "x", "w"],
        ..PLAIN
    },
    Family {
        name: "unique but for NULL",
        create: &["CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, x INT, w VARCHAR(20), \
             p CHAR(60) NOT NULL DEFAULT 'padding', UNIQUE KEY x (x), UNIQUE KEY wx (w, x)) ENGINE=InnoDB"],
        columns: &[
            ID,
            SERIAL,
            column("x", Values::NumberOrNull(100_000)),
            column("w", Values::WordOrNull(20)),
        ],
        keys: &[&["id"], &["x"]],
        indexes: &["PRIMARY", "x", "wx"],
        ..PLAIN
    },
    Family {
        name: "prefixes",
        create: &["CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, w VARCHAR(200), t TEXT, \
             UNIQUE KEY w (w(14)), KEY t (t(30)), KEY wt (w(3), t(5))) ENGINE=InnoDB"],
        columns: &[
            ID,
            SERIAL,
            column("w", Values::WordOrNull(30)),
            column("t", Values::WordOrNull(60)),
        ],
        keys: &[&["id"], &["w"]],
        indexes: &["PRIMARY", "w", "t", "wt"],
        ..PLAIN
    },
    Family {
        name: "off-page values",
        create: &[
            "CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, t LONGTEXT, d MEDIUMBLOB, \
             x INT, KEY x (x), KEY t (t(100))) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
        ],
        columns: LONG_COLUMNS,
        indexes: &["PRIMARY", "x", "t"],
        ..PLAIN
    },
    Family {
        name: "off-page values, compact",
        create: &[
            "CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, t LONGTEXT, d MEDIUMBLOB, \
             x INT, KEY x (x), KEY t (t(100))) ENGINE=InnoDB ROW_FORMAT=COMPACT",
        ],
        columns: LONG_COLUMNS,
        indexes: &["PRIMARY", "x", "t"],
        ..PLAIN
    },
    Family {
        name: "generated columns",
        create: &["CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, x INT, w VARCHAR(30), \
             v INT AS (x + 1) VIRTUAL, s VARCHAR(40) AS (CONCAT(w, '-', x)) STORED, \
             KEY v (v), KEY s (s), KEY xv (x, v)) ENGINE=InnoDB"],
        columns: &[
            ID,
            SERIAL,
            column("x", Values::NumberOrNull(700)),
            column("w", Values::WordOrNull(30)),
        ],
        indexes: &["PRIMARY", "v", "s", "xv"],
        ..PLAIN
    },
    Family {
        name: "partitioned by range",
        create: &["CREATE TABLE {} (id INT NOT NULL, n INT NOT NULL, x INT, w VARCHAR(60), \
             PRIMARY KEY (id), KEY x (x)) ENGINE=InnoDB PARTITION BY RANGE (id) (\
             PARTITION p0 VALUES LESS THAN (30000), PARTITION p1 VALUES LESS THAN (80000), \
             PARTITION p2 VALUES LESS THAN MAXVALUE)"],
        columns: PART_COLUMNS,
        indexes: &["PRIMARY", "x"],
        partitions: &["p0", "p1", "p2"],
        ..PLAIN
    },
    Family {
        name: "partitioned by hash",
        create: &["CREATE TABLE {} (id INT NOT NULL, n INT NOT NULL, x INT, w VARCHAR(60), \
             pad CHAR(150) DEFAULT 'pad', PRIMARY KEY (id), KEY x (x)) ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 2"],
        columns: PART_COLUMNS,
        indexes: &["PRIMARY", "x"],
        alters: &[add(
            "ALTER TABLE {} ADD COLUMN later INT DEFAULT 7, ALGORITHM=INSTANT",
            "later",
            Values::Number(50),
        )],
        partitions: &["p0", "p1"],
        ..PLAIN
    },
    Family {
        name: "partitioned, with all rows in one",
        create: &["CREATE TABLE {} (id INT NOT NULL, n INT NOT NULL, x INT, w VARCHAR(60), \
             PRIMARY KEY (id), KEY x (x)) ENGINE=InnoDB PARTITION BY RANGE (id) (\
             PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (1000000), \
             PARTITION p2 VALUES LESS THAN MAXVALUE)"],
        columns: PART_COLUMNS,
        indexes: &["PRIMARY", "x"],
        alters: &[
            add(
                "ALTER TABLE {} ADD COLUMN later INT DEFAULT 7, ALGORITHM=INSTANT",
                "later",
                Values::Number(50),
            ),
            drop("ALTER TABLE {} DROP COLUMN w, ALGORITHM=INSTANT", "w"),
        ],
        partitions: &["p0", "p1", "p2"],
        ..PLAIN
    },
    Family {
        name: "altered instantly",
        create: &["CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, x INT, w VARCHAR(40), \
             y INT NOT NULL DEFAULT 3, KEY x (x), KEY w (w)) ENGINE=InnoDB"],
        columns: &[
            ID,
            SERIAL,
            column("x", Values::NumberOrNull(700)),
            column("w", Values::WordOrNull(40)),
            column("y", Values::Number(90)),
        ],
        indexes: &["PRIMARY", "x", "w"],
        alters: &[
            add(
                "ALTER TABLE {} ADD COLUMN z VARCHAR(20) NOT NULL DEFAULT 'instant', \
                 ALGORITHM=INSTANT",
                "z",
                Values::Word(20),
            ),
            add(
                "ALTER TABLE {} ADD COLUMN f INT FIRST, ALGORITHM=INSTANT",
                "f",
                Values::NumberOrNull(9),
            ),
            drop("ALTER TABLE {} DROP COLUMN y, ALGORITHM=INSTANT", "y"),
            Alter {
                sql: "ALTER TABLE {} MODIFY w VARCHAR(40) AFTER id, ALGORITHM=INSTANT",
                added: None,
                dropped: None,
            },
            add("ALTER TABLE {} ADD COLUMN t TEXT, ALGORITHM=INSTANT", "t", Values::Long),
        ],
        ..PLAIN
    },
    Family {
        name: "altered instantly, text key",
        create: &[
            "CREATE TABLE {} (id VARCHAR(60), n INT NOT NULL, x INT, l TEXT, a1 INT, a2 INT, \
             a3 INT, a4 INT, a5 INT, a6 INT, a7 VARCHAR(300), c CHAR(9) NOT NULL DEFAULT 'c', PRIMARY KEY \
             (id, n), UNIQUE KEY x (x)) ENGINE=InnoDB CHARSET=utf8mb4",
        ],
        columns: &[
            column("id", Values::Word(60)),
            SERIAL,
            column("x", Values::NumberOrNull(1_000_000)),
            column("l", Values::Long),
            column("a7", Values::WordOrNull(60)),
        ],
        keys: &[&["id", "n"], &["x"]],
        indexes: &["PRIMARY", "x"],
        alters: &[
            drop("ALTER TABLE {} DROP COLUMN a7, ALGORITHM=INSTANT", "a7"),
            Alter {
                sql: "ALTER TABLE {} DROP COLUMN a3, DROP COLUMN c, ALGORITHM=INSTANT",
                added: None,
                dropped: None,
            },
            add("ALTER TABLE {} ADD COLUMN m TEXT AFTER n, ALGORITHM=INSTANT", "m", Values::Long),
            add(
                "ALTER TABLE {} ADD COLUMN a3 VARCHAR(90) NOT NULL DEFAULT 'again' FIRST, \
                 ALGORITHM=INSTANT",
                "a3",
                Values::Word(60),
            ),
            drop("ALTER TABLE {} DROP COLUMN l, ALGORITHM=INSTANT", "l"),
        ],
        ..PLAIN
    },
    Family {
        name: "child",
        create: &[
            "CREATE TABLE parent_{} (id INT PRIMARY KEY) ENGINE=InnoDB",
            "INSERT INTO parent_{} SELECT seq - 1 FROM seq_1_to_300",
            "CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, x INT, y INT NOT NULL, \
             w VARCHAR(60), KEY x (x), KEY y (y), \
             CONSTRAINT x_{} FOREIGN KEY (x) REFERENCES parent_{} (id) ON DELETE SET NULL, \
             CONSTRAINT y_{} FOREIGN KEY (y) REFERENCES parent_{} (id) ON DELETE CASCADE) \
             ENGINE=InnoDB",
        ],
        columns: &[
            ID,
            SERIAL,
            column("x", Values::NumberOrNull(150)),
            column("y", Values::Number(150)),
            column("w", Values::WordOrNull(60)),
        ],
        indexes: &["PRIMARY", "x", "y"],
        others: &["DELETE FROM parent_{} WHERE id % 97 = {number}"],
        ..PLAIN
    },
    Family {
        name: "parent",
        create: &[
            "CREATE TABLE {} (id INT PRIMARY KEY, n INT NOT NULL, x INT NOT NULL, w VARCHAR(60), \
             KEY x (x)) ENGINE=InnoDB",
            "CREATE TABLE child_{} (id INT AUTO_INCREMENT PRIMARY KEY, p INT NOT NULL, \
             CONSTRAINT p_{} FOREIGN KEY (p) REFERENCES {} (id) ON DELETE CASCADE ON UPDATE CASCADE) \
             ENGINE=InnoDB",
        ],
        columns: &[
            ID,
            SERIAL,
            column("x", Values::Number(700)),
            column("w", Values::WordOrNull(60)),
        ],
        indexes: &["PRIMARY", "x"],
        others: &[
            "INSERT INTO child_{} (p) SELECT id FROM {} WHERE n % 97 = {number} ORDER BY id",
            "DELETE FROM child_{} WHERE p % 53 = {number}",
        ],
        ..PLAIN
    },
];

const LONG_COLUMNS: &[Column] = &[
    ID,
    SERIAL,
    column("t", Values::Long),
    column("d", Values::Long),
    column("x", Values::NumberOrNull(500)),
];

const PART_COLUMNS: &[Column] =
    &[ID, SERIAL, column("x", Values::NumberOrNull(700)), column("w", Values::WordOrNull(60))];
