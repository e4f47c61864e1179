//! The paths stream and insert: the same tables as by LOAD DATA.

use load::{LoadOptions, LoadPath, Mode, Report};

use crate::server::{Db, Server};

const PATHS: [LoadPath; 2] = [LoadPath::Stream, LoadPath::Insert];

fn options(server: &Server, db: &Db, path: LoadPath, text: &str) -> LoadOptions {
    let file = server.file(db, "input", text);
    let mut options = server.options(db, "b", vec![file]);
    options.path = path;
    options
}

fn lines(count: u64) -> String {
    (0..count).map(|n| format!("{n}\t{}\ttext \\t {n}\t\\N\n", n * 7 % 1000)).collect()
}

fn same_as_load_data(db: &mut Db, server: &Server, text: &str) {
    let file = server.file(db, "theirs", text);
    db.sql("CREATE OR REPLACE TABLE a LIKE b");
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", file.display()));
    crate::compare::same_rows(db, "b", "a", &["k"]);
}

#[test]
fn many_portions_make_the_table_that_load_data_makes() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k))");
    let text = lines(30_000);
    for path in PATHS {
        let mut options = options(&server, &db, path, &text);
        options.mode = Mode::Replace;
        options.memory_bytes_max = 32 << 20;
        let report: Report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects, report.path), (30_000, 0, path.name()));
        let logical = report.logical.unwrap();
        assert!(logical.portions > 1, "{logical:?}");
        same_as_load_data(&mut db, &server, &text);
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

#[test]
fn a_refused_row_fails_the_load_or_is_written_down() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k))");
    for path in PATHS {
        let text = lines(20_000).replace("\n777\t", "\nx\t");
        let mut options = options(&server, &db, path, &text);
        options.mode = Mode::Replace;
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains("input line 778 "), "{error}");
        assert_eq!(db.tables(), ["b"]);
        options.rejects_max = 1;
        options.rejects = Some(server.folder(&db.name).join("rejects"));
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects), (19_999, 1));
        let rejects = std::fs::read_to_string(options.rejects.unwrap()).unwrap();
        assert_eq!(rejects, format!("x\t{}\ttext \\t 777\t\\N\n", 777 * 7 % 1000));
        db.sql("DELETE FROM b");
    }
}
