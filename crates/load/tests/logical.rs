//! The paths stream and insert: the same tables as by LOAD DATA.

use job::capacity::Capacity;
use load::{LoadOptions, LoadPath, Mode, OnDuplicate, Report};

use testkit::tables::server::{Db, Server};

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
    testkit::tables::compare::same_rows(db, "b", "a", &["k"]);
}

#[test]
fn many_chunks_make_the_table_that_load_data_makes() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k))");
    let text = lines(30_000);
    for path in PATHS {
        let mut options = options(&server, &db, path, &text);
        options.mode = Mode::Replace;
        options.limits.memory_bytes_max = 32 << 20;
        let report: Report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects, report.path), (30_000, 0, path.name()));
        let logical = report.logical.unwrap();
        assert!(logical.chunks > 1, "{logical:?}");
        same_as_load_data(&mut db, &server, &text);
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

/// Each file was a transaction: 3,000 files of three rows took 22 s.
#[test]
fn small_files_are_sent_together_and_a_refused_row_is_found_in_its_own() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k))");
    let all = lines(600);
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    let file = |(number, rows): (usize, &[&str])| {
        // Some lack their last line end, which LOAD DATA reads otherwise.
        let text = rows.concat();
        let text = if number % 50 == 7 { text.trim_end_matches('\n') } else { &text };
        server.file(&db, &format!("part-{number:03}"), text)
    };
    let files: Vec<_> = lines.chunks(3).enumerate().map(file).collect();
    for (path, mode) in PATHS.into_iter().zip([Mode::Append, Mode::Replace]) {
        let mut options = server.options(&db, "b", files.clone());
        (options.path, options.mode) = (path, mode);
        let report = server.load(&options).unwrap();
        assert_eq!(report.rows, 600);
        let logical = report.logical.unwrap();
        assert!(logical.chunks < 10, "{logical:?}");
        same_as_load_data(&mut db, &server, &all);
    }
    let broken = server.file(&db, "part-077", "231\t1\tx\t\\N\nx\t1\tx\t\\N\n233\t1\tx\t\\N\n");
    assert_eq!(files[77], broken);
    for path in PATHS {
        let options =
            LoadOptions { path, mode: Mode::Replace, ..server.options(&db, "b", files.clone()) };
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains("part-077 line 2 (byte "), "{error}");
    }
}

#[test]
fn a_server_says_how_much_of_it_may_be_used() {
    let Some(server) = Server::get() else { return };
    let capacity = Capacity::read(&mut server.test_server().connect().unwrap()).unwrap();
    let ours = std::thread::available_parallelism().unwrap().get();
    assert_eq!(capacity.cores, Some(ours), "the test's server is on this machine");
    assert!(capacity.connections.is_some_and(|free| (1..250).contains(&free)), "{capacity:?}");
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
        options.rows.rejects_max = 1;
        options.rows.rejects = Some(server.folder(&db.name).join("rejects"));
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects), (19_999, 1));
        let rejects = std::fs::read_to_string(options.rows.rejects.unwrap()).unwrap();
        assert_eq!(rejects, format!("x\t{}\ttext \\t 777\t\\N\n", 777 * 7 % 1000));
        db.sql("DELETE FROM b");
    }
}

#[test]
fn values_are_counted_as_by_one_load_data() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let text: String = (0..20_000).map(|n| format!("\\N\trow {n}\n")).collect();
    let columns = "(id INT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(40), KEY k (c))";
    for path in PATHS {
        db.sql(&format!("CREATE OR REPLACE TABLE b {columns}"));
        let mut options = options(&server, &db, path, &text);
        options.limits.memory_bytes_max = 32 << 20;
        assert_eq!(server.load(&options).unwrap().rows, 20_000);
        let file = server.file(&db, "theirs", &text);
        db.sql(&format!("CREATE OR REPLACE TABLE a {columns}"));
        db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", file.display()));
        testkit::tables::compare::same_rows(&mut db, "b", "a", &["k"]);
        let next = |db: &mut Db, table: &str| {
            db.number(&format!(
                "SELECT AUTO_INCREMENT FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='{table}'"
            ))
        };
        assert_eq!(next(&mut db, "b"), next(&mut db, "a"));
    }
}

#[test]
fn rules_for_duplicates_are_those_of_the_server_in_input_order() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    // Every key comes three times, far apart, and not in order.
    let text: String = (0..15_000u64)
        .map(|n| format!("{}\t{}\ttext {n}\t{n}\n", n * 7_919 % 5_000, n * 31 % 7_000))
        .collect();
    let rules = [
        (OnDuplicate::Skip, "IGNORE INTO TABLE a"),
        (OnDuplicate::Replace, "REPLACE INTO TABLE a"),
    ];
    for path in PATHS {
        for (rule, words) in rules {
            for keys in ["", ", UNIQUE KEY u (k)"] {
                db.sql("DROP TABLE IF EXISTS b");
                db.sql(&format!(
                    "CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k){keys})"
                ));
                let mut options = options(&server, &db, path, &text);
                options.rows.on_duplicate = rule;
                options.limits.memory_bytes_max = 32 << 20;
                server.load(&options).unwrap();
                let file = server.file(&db, "theirs", &text);
                db.sql("CREATE OR REPLACE TABLE a LIKE b");
                db.sql(&format!("LOAD DATA INFILE '{}' {words}", file.display()));
                testkit::tables::compare::same_rows(&mut db, "b", "a", &["k"]);
            }
        }
    }
}

#[test]
fn tables_that_keep_their_identity_get_all_rows_in_one_transaction() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE parent (id INT PRIMARY KEY)");
    db.sql("INSERT INTO parent SELECT seq FROM seq_0_to_999");
    db.sql(
        "CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k), \
         FOREIGN KEY (k) REFERENCES parent (id))",
    );
    for path in PATHS {
        let good = lines(5_000);
        let mut options = options(&server, &db, path, &good);
        options.path = LoadPath::Direct;
        server.load(&options).unwrap();
        options.path = path;
        options.mode = Mode::Replace;
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.logical.unwrap().destination), (5_000, "transaction"));
        let sum = db.text("CHECKSUM TABLE b");
        // A row without a parent is one that the server refuses.
        let bad = format!("{good}9999\t1000\torphan\t1\n");
        options.input.files = vec![server.file(&db, "bad", bad)];
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains("bad line 5001 ") && error.contains("foreign key"), "{error}");
        assert_eq!(db.text("CHECKSUM TABLE b"), sum);
        options.rows.rejects_max = 1;
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects), (5_000, 1));
        assert_eq!(db.text("CHECKSUM TABLE b"), sum);
        assert_eq!(db.tables(), ["b", "parent"]);
        db.sql("DELETE FROM b");
    }
}

#[test]
fn rows_are_added_at_once_or_chunk_by_chunk() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, k INT, c VARCHAR(40), n INT, KEY k (k))");
    for path in PATHS {
        for atomic in [false, true] {
            db.sql("INSERT INTO b VALUES (-1, 1, 'old', NULL)");
            let mut options = options(&server, &db, path, &lines(3_000));
            options.mode = Mode::Append;
            options.atomic = atomic;
            let report = server.load(&options).unwrap();
            let destination = if atomic { "transaction" } else { "append" };
            assert_eq!((report.rows, report.logical.unwrap().destination), (3_000, destination));
            assert_eq!(db.text("SELECT COUNT(*) FROM b"), "3001");
            assert_eq!(db.tables(), ["b"]);
            db.sql("DELETE FROM b");
        }
    }
}
