//! Tables that the direct path refuses are filled by statements: what only the server can make of
//! a row it makes as LOAD DATA would.

use std::path::Path;

use load::{LoadOptions, LoadPath, Report};

use testkit::tables::compare::{same_rows, show};
use testkit::tables::server::{Db, Server};

const PATHS: [LoadPath; 2] = [LoadPath::Auto, LoadPath::Insert];

fn load(server: &Server, db: &Db, path: LoadPath, file: &Path, columns: &[&str]) -> Report {
    let mut options: LoadOptions = server.options(db, "b", vec![file.to_owned()]);
    options.path = path;
    if !columns.is_empty() {
        options.input.columns = Some(columns.iter().map(|&name| name.to_owned()).collect());
    }
    server.load(&options).unwrap_or_else(|error| panic!("{error}"))
}

fn all(db: &mut Db, table: &str) -> Vec<String> {
    db.rows(&format!("SELECT * FROM {table} ORDER BY id")).iter().map(show).collect()
}

/// Loads `text` into tables of these columns by LOAD DATA and by statements, and compares them.
#[track_caller]
fn same(table: &str, columns: &[&str], text: &[u8], index: &[&str]) {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let file = server.file(&db, "input", text);
    db.sql(&format!("CREATE TABLE a {table}"));
    let list = match columns.is_empty() {
        true => String::new(),
        false => format!("({})", columns.join(",")),
    };
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a {list}", file.display()));
    for path in PATHS {
        db.sql(&format!("CREATE OR REPLACE TABLE b {table}"));
        let report = load(&server, &db, path, &file, columns);
        assert_ne!(report.path, "direct");
        if table.contains(" AS (") {
            // CHECKSUM TABLE of equal tables with generated columns differs (10.11.19).
            assert_eq!(all(&mut db, "b"), all(&mut db, "a"));
        } else {
            same_rows(&mut db, "b", "a", index);
        }
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

#[test]
fn generated_columns_are_made_by_the_server() {
    let text: String = (1..500).map(|id| format!("{id}\t9\tx\t{}\n", id % 7)).collect();
    let table = "(id INT PRIMARY KEY, v INT AS (id * 2) VIRTUAL, s VARCHAR(9) AS (CONCAT(id, k)) \
                 STORED, k INT, KEY s (s), UNIQUE v (v))";
    same(table, &[], text.as_bytes(), &["s", "v"]);
    let text: String = (1..500).map(|id| format!("{}\t{id}\n", id % 7)).collect();
    same(table, &["k", "id"], text.as_bytes(), &["s", "v"]);
    let table = "(id INT PRIMARY KEY, s VARCHAR(9) AS (CONCAT(id, k)) STORED, k INT, KEY s (s))";
    same(table, &["k", "id"], text.as_bytes(), &["s"]);
}

#[test]
fn geometry_is_what_the_file_says() {
    let mut text = Vec::new();
    for id in 1u32..300 {
        text.extend_from_slice(format!("{id}\t").as_bytes());
        let mut point = vec![0, 0, 0, 0, 1, 1, 0, 0, 0];
        point.extend_from_slice(&f64::from(id).to_le_bytes());
        point.extend_from_slice(&(f64::from(id) / 3.0).to_le_bytes());
        for byte in point {
            match byte {
                b'\t' | b'\n' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
                byte => text.push(byte),
            }
        }
        text.push(b'\n');
    }
    let table = "(id INT PRIMARY KEY, g POINT NOT NULL, SPATIAL KEY g (g))";
    same(table, &[], &text, &[]);
}

#[test]
fn tables_of_many_kinds_are_filled() {
    let text: String = (1..800).map(|id| format!("{id}\tword {id}\t{}\n", id * 37 % 101)).collect();
    for table in [
        "(id INT PRIMARY KEY, t TEXT, k INT, FULLTEXT KEY t (t), KEY k (k))",
        "(id INT PRIMARY KEY, t TEXT, k INT, KEY k (k)) PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) \
         SUBPARTITIONS 3 (PARTITION p VALUES LESS THAN MAXVALUE)",
        "(id INT PRIMARY KEY, t VARCHAR(30) COMPRESSED, k INT, KEY k (k))",
        "(id INT PRIMARY KEY, t VARCHAR(30), k INT, KEY k (k), CHECK (id > 0))",
        "(id INT PRIMARY KEY, t VARCHAR(30), k INT, KEY k (k)) ROW_FORMAT=COMPRESSED",
        "(id INT PRIMARY KEY, t VARCHAR(30), k INT, KEY k (k)) ROW_FORMAT=REDUNDANT",
        "(id INT PRIMARY KEY, t VARCHAR(30), k INT, KEY k (k), d INT DEFAULT (id + 1))",
        "(id INT PRIMARY KEY, t TEXT UNIQUE, k INT, KEY k (k))",
    ] {
        println!("{table}");
        let index: &[&str] = if table.contains("PARTITION") { &[] } else { &["k"] };
        same(table, &["id", "t", "k"], text.as_bytes(), index);
    }
}

/// The server's own words for what it alone can see.
#[test]
fn rows_that_a_check_refuses_are_rejects() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let text: String = (0..100).map(|id| format!("{id}\t{}\n", id % 10)).collect();
    let file = server.file(&db, "input", text);
    for path in PATHS {
        db.sql(
            "CREATE OR REPLACE TABLE b (id INT PRIMARY KEY, k INT, CONSTRAINT odd CHECK (k <> 7))",
        );
        let mut options = server.options(&db, "b", vec![file.clone()]);
        options.path = path;
        options.rows.rejects = Some(server.folder(&db.name).join("rejects"));
        options.rows.rejects_max = 10;
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects), (90, 10));
        let rejects = std::fs::read_to_string(options.rows.rejects.unwrap()).unwrap();
        let wanted: String = (0..10).map(|ten| format!("{}7\t7\n", ten)).collect();
        assert_eq!(rejects, wanted.replacen("07\t7", "7\t7", 1));
        let reasons = server.folder(&db.name).join("rejects.reasons.jsonl");
        assert!(std::fs::read_to_string(reasons).unwrap().contains("odd"));
        assert_eq!(db.number("SELECT COUNT(*) FROM b WHERE k = 7"), 0);
    }
}

#[test]
fn defaults_that_differ_from_row_to_row_are_left_to_the_server() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let text: String = (0..1000).map(|id| format!("{id}\n")).collect();
    let file = server.file(&db, "input", text);
    for path in PATHS {
        db.sql(
            "CREATE OR REPLACE TABLE b (id INT PRIMARY KEY, u UUID DEFAULT UUID(), \
                t TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6), e INT DEFAULT (id * 2))",
        );
        let report = load(&server, &db, path, &file, &["id"]);
        assert_ne!(report.path, "direct");
        let sql =
            "SELECT CONCAT_WS(' ', COUNT(DISTINCT u), COUNT(DISTINCT t), SUM(e = id * 2)) FROM b";
        assert_eq!(db.text(sql), "1000 1 1000");
    }
}
