//! Rows with one key: found wherever they are, named by file and line, by the rules of the
//! column's collation; and rows that only look alike are loaded.

use std::path::Path;

use load::{Error, LoadOptions, Memory, Mode};
use sources::Dialect;

use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

/// A key over column `k` of `(id INT PRIMARY KEY, k ..)`, and two values for it.
pub(crate) struct Pair {
    /// Type of `k`.
    pub(crate) column: &'static str,
    /// The key, in CREATE TABLE.
    key: &'static str,
    pub(crate) values: [&'static str; 2],
}

const fn pair(column: &'static str, key: &'static str, a: &'static str, b: &'static str) -> Pair {
    Pair { column, key, values: [a, b] }
}

const SWEDISH: &str = "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci";
const GENERAL: &str = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
const UNICODE: &str = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci";
const UCA1400: &str = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci";
const BIN: &str = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
const NOPAD: &str = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin";
const TEXT: &str = "TEXT CHARACTER SET latin1 COLLATE latin1_swedish_ci";

const UNIQUE: &str = "UNIQUE KEY u (k)";
const DESCENDING: &str = "UNIQUE KEY u (k DESC)";

pub(crate) const ALIKE: [Pair; 26] = [
    pair("INT", UNIQUE, "7", "+7"),
    pair("INT", DESCENDING, "-7", "-7.0"),
    pair("DECIMAL(20,4)", UNIQUE, "1.5", "1.5000"),
    pair("DOUBLE", UNIQUE, "0", "-0"),
    pair("FLOAT", DESCENDING, "1e2", "100"),
    pair("DATE", UNIQUE, "2024-02-29", "20240229"),
    pair("DATETIME(2)", DESCENDING, "2024-02-29 10:11:12", "2024-02-29T10:11:12.001"),
    pair("BIT(9)", UNIQUE, "a", "\\0a"),
    pair("ENUM('x','y')", UNIQUE, "y", "2"),
    pair("BINARY(3)", UNIQUE, "a", "a\\0\\0"),
    pair("VARBINARY(9)", DESCENDING, "ab", "ab"),
    pair(SWEDISH, UNIQUE, "\u{e9}A", "Ea  "),
    pair(SWEDISH, "UNIQUE KEY u (k(3))", "abcd", "ABCe"),
    pair(SWEDISH, "UNIQUE KEY u (k DESC, id DESC), UNIQUE KEY v (k)", "x", "X"),
    pair(GENERAL, UNIQUE, "\u{df}", "s "),
    pair(GENERAL, UNIQUE, "\u{1f600}", "\u{1f601}"),
    pair(UNICODE, UNIQUE, "stra\u{df}e", "STRASSE"),
    pair(UNICODE, DESCENDING, "\u{1f600}", "\u{10ffff}"),
    pair(UCA1400, UNIQUE, "co\u{ad}op", "COOP "),
    pair(UCA1400, UNIQUE, "\u{e5}", "A\u{30a}"),
    pair(UCA1400, "UNIQUE KEY u (k(2) DESC)", "aex", "\u{e1}\u{ea}y"),
    pair(UCA1400, UNIQUE, "", " "),
    pair(BIN, UNIQUE, "a", "a "),
    pair(NOPAD, UNIQUE, "a ", "a "),
    pair(TEXT, "UNIQUE KEY u (k(5))", "12345 6", "12345 7"),
    pair("TIMESTAMP(3) NULL", UNIQUE, "2024-03-31 02:30:00", "2024-03-31 02:30:00.0001"),
];

const DIFFERENT: [Pair; 14] = [
    pair("INT NULL", UNIQUE, "\\N", "\\N"),
    pair("INT NULL", DESCENDING, "\\N", "\\N"),
    pair("VARCHAR(9) NULL", "UNIQUE KEY u (k, k2)", "\\N", "\\N"),
    pair("VARCHAR(9) NOT NULL", "UNIQUE KEY u (k, id)", "a", "a"),
    pair(BIN, UNIQUE, "a", "A"),
    pair(BIN, UNIQUE, "a", "a\u{1}"),
    pair(NOPAD, UNIQUE, "a", "a "),
    pair(SWEDISH, UNIQUE, "a", "a\\t"),
    pair(SWEDISH, UNIQUE, "\u{e5}", "a"),
    pair(UCA1400, UNIQUE, "\u{1f600}", "\u{1f601}"),
    pair("VARBINARY(9)", UNIQUE, "a", "a\\0"),
    pair("VARBINARY(9)", DESCENDING, "a", "a "),
    pair("DOUBLE", UNIQUE, "1e-300", "0"),
    pair(TEXT, "UNIQUE KEY u (k(5))", "1234 6", "1234\\t7"),
];

/// Rows in the file; the pair stands at these.
const ROWS: usize = 500;
const AT: [usize; 2] = [40, 470];

pub(crate) fn create(pair: &Pair, name: &str) -> String {
    format!(
        "CREATE TABLE {name} (id INT NOT NULL, k2 INT NULL, k {}, PRIMARY KEY (id), {}) \
         ENGINE=InnoDB",
        pair.column, pair.key
    )
}

/// A file whose rows have NULL keys but for the pair; or, where the key is NOT NULL, the pair only.
pub(crate) fn file(pair: &Pair, order: Order) -> String {
    let has_null = !pair.column.contains("NOT NULL");
    let mut lines: Vec<String> = (0..ROWS)
        .filter(|row| has_null || AT.contains(row))
        .map(|row| {
            let value = AT.iter().position(|at| *at == row).map_or("\\N", |at| pair.values[at]);
            let id = if order == Order::Ascending { row } else { ROWS - row };
            format!("{id}\t\\N\t{value}\n")
        })
        .collect();
    if order == Order::OneLate {
        lines.reverse();
        lines.rotate_left(1);
    }
    lines.concat()
}

/// Order of the primary keys in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
    OneLate,
}

impl Order {
    pub(crate) const ALL: [Order; 3] = [Order::Ascending, Order::Descending, Order::OneLate];
}

/// Chunks of a few rows, runs of a few entries.
fn small(options: &mut LoadOptions, threads: usize) {
    options.limits.shares = Some(Memory {
        threads,
        chunk_bytes: 300,
        record_bytes_max: 1 << 20,
        batch_bytes: 0,
        entry_bytes: 200,
        run_bytes: 8 << 20,
    });
}

fn load_data(path: &Path) -> String {
    format!("LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4", path.display())
}

fn line_of(path: &Path, offset: u64) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    1 + bytes[..offset as usize].iter().filter(|byte| **byte == b'\n').count() as u64
}

#[test]
fn equal_keys_are_found_and_named() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (number, pair) in ALIKE.iter().enumerate() {
        let order = Order::ALL[number % 3];
        db.sql("DROP TABLE IF EXISTS a, b");
        db.sql(&create(pair, "b"));
        db.sql("CREATE TABLE a LIKE b");
        let text = file(pair, order);
        let path = server.file(&db, "input", &text);
        let theirs = db.try_sql(&load_data(&path)).map_err(|error| error.errno());
        assert_eq!(theirs.err(), Some(Some(1062)), "{} {:?}", pair.column, pair.values);
        for threads in [0, 1, 3] {
            let mut options = server.options(&db, "b", vec![path.clone()]);
            if threads > 0 {
                small(&mut options, threads);
            }
            let error = server.load(&options).unwrap_err();
            let what = format!("{} {} {:?}: {error}", pair.column, pair.key, pair.values);
            let Error::Duplicate { index, first, second, key } = &error else { panic!("{what}") };
            assert_eq!(index, if pair.key.contains("KEY v") { "`v`" } else { "`u`" }, "{what}");
            let lines: Vec<&str> = text.lines().collect();
            let found: Vec<&str> = [first, second]
                .map(|place| {
                    assert_eq!(place.file, path, "{what}");
                    assert_eq!(line_of(&path, place.offset.unwrap()), place.line, "{what}");
                    lines[place.line as usize - 1].rsplit('\t').next().unwrap()
                })
                .into();
            let mut expected = pair.values;
            if order == Order::OneLate {
                expected.reverse();
            }
            assert_eq!(found, expected, "{what}");
            assert!(first.line < second.line, "{what}");
            assert!(error.to_string().contains(&format!("line {}", first.line)), "{what}");
            assert!(key.starts_with('('), "{what}");
        }
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

#[test]
fn keys_that_only_look_equal_are_loaded() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for pair in &DIFFERENT {
        db.sql("DROP TABLE IF EXISTS a, b");
        db.sql(&create(pair, "b"));
        db.sql("CREATE TABLE a LIKE b");
        for order in [Order::Ascending, Order::Descending] {
            let path = server.file(&db, "input", file(pair, order));
            db.sql("TRUNCATE a");
            let what = format!("{} {:?}", pair.column, pair.values);
            let load = load_data(&path);
            db.try_sql(&load).unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut options = server.options(&db, "b", vec![path]);
            options.mode = Mode::Replace;
            small(&mut options, 2);
            server.load(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
            same_rows(&mut db, "b", "a", &["PRIMARY", "u"]);
        }
    }
}

/// Two rows of one primary key, in every order of rows and files.
#[test]
fn equal_primary_keys_are_found_across_chunks_and_files() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (k VARCHAR(20) COLLATE latin1_swedish_ci, n INT, PRIMARY KEY (n, k))");
    db.sql("INSERT INTO b VALUES ('old', 1)");
    let rows: Vec<String> = (0..2000).map(|row| format!("row {row:05},{}\n", row / 7)).collect();
    for (first, second) in [(0, 1), (0, 1999), (1, 1000), (1998, 1999), (700, 701)] {
        for is_sorted in [true, false] {
            let mut rows = rows.clone();
            if !is_sorted {
                rows.reverse();
            }
            // The same key in other letters.
            rows[second] = rows[first].to_uppercase().replace(",", " ,");
            let (one, two) = rows.split_at(900);
            let paths = vec![
                server.file(&db, "one.csv", one.concat()),
                server.file(&db, "two.csv", two.concat()),
            ];
            let mut options = server.options(&db, "b", paths.clone());
            options.input.dialect = Dialect::csv();
            options.mode = Mode::Replace;
            small(&mut options, 2);
            let error = server.load(&options).unwrap_err();
            let place = |row: usize| {
                let line = if row < 900 { row } else { row - 900 };
                (paths[usize::from(row >= 900)].clone(), line as u64 + 1)
            };
            match &error {
                Error::Duplicate { index, first: a, second: b, .. } => {
                    assert_eq!(index, "`PRIMARY`");
                    assert_eq!((a.file.clone(), a.line), place(first), "{error}");
                    assert_eq!((b.file.clone(), b.line), place(second), "{error}");
                }
                other => panic!("{first} {second} {is_sorted}: {other}"),
            }
            unchanged(&mut db);
        }
    }
}

fn unchanged(db: &mut Db) {
    assert_eq!(db.text("SELECT GROUP_CONCAT(k, n) FROM b"), "old1");
    assert_eq!(db.tables(), ["b"]);
}
