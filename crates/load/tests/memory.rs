//! Loads whose runs do not fit in memory: spilled, merged, and the same table.

use std::fmt::Write;

use load::{Error, Memory};

use testkit::Random;
use testkit::tables::compare::{Exported, same_rows, same_stored};
use testkit::tables::server::Server;

/// Entries of every shape: bare keys, keys read back, keys with a record, clustered records.
const TABLE: &str = "CREATE TABLE b (
    k VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci NOT NULL, n INT NOT NULL,
    a INT NULL, d DATETIME NOT NULL, t TEXT CHARACTER SET latin1 NOT NULL,
    PRIMARY KEY (n), KEY bare (d), KEY back (a DESC, d), KEY record (k), UNIQUE KEY pair (k(5), n))
    ENGINE=InnoDB";
const ROWS: usize = 40_000;

#[test]
fn runs_that_do_not_fit_are_spilled() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(TABLE);
    db.sql("CREATE TABLE a LIKE b");
    let random = &mut Random::new(Random::seed_of_run());
    let mut numbers: Vec<usize> = (0..ROWS).collect();
    random.shuffle(&mut numbers);
    let mut text = String::new();
    for number in numbers {
        let null = if number % 11 == 0 { "\\N".to_owned() } else { (number % 977).to_string() };
        let long = "x".repeat(if number % 400 == 0 { 12_000 } else { number % 60 });
        let (day, hour) = (1 + number % 28, number % 24);
        writeln!(
            text,
            "k\u{e9}y {:05} \u{1f600}\t{number}\t{null}\t2024-02-{day} {hour}:{}:00\t{long}",
            number % 9_000,
            number % 60,
        )
        .unwrap();
    }
    let path = server.file(&db, "input", text);
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4", path.display()));
    let folder = server.folder(&db.name);
    let theirs = Exported::new(&server, &mut db, "a");
    for (threads, run_bytes) in [(1, 1 << 20), (1, 2 << 20), (3, 4 << 20)] {
        db.sql("TRUNCATE b");
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.limits.shares = Some(Memory {
            threads,
            chunk_bytes: 30_000,
            record_bytes_max: 1 << 20,
            batch_bytes: 100_000,
            entry_bytes: 60_000,
            run_bytes,
        });
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.sorted_input), (ROWS as u64, false));
        assert!(report.spilled_bytes > 1 << 20, "{}", report.spilled_bytes);
        same_rows(&mut db, "b", "a", &["PRIMARY", "bare", "back", "record", "pair"]);
        let ours = Exported::new(&server, &mut db, "b");
        ours.verify(&mut db, &folder);
        same_stored(&ours, &theirs);
        let left = std::fs::read_dir(&options.limits.temp_dir).unwrap().count();
        assert_eq!(left, 0, "files in the temporary folder");
    }
}

/// Too little memory is said before a row is read, with what is needed.
#[test]
fn too_little_memory_is_an_error_that_names_the_need() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let keys: Vec<String> = (0..60).map(|key| format!("KEY k{key} (a, t({}))", key + 1)).collect();
    db.sql(&format!(
        "CREATE TABLE b (id INT PRIMARY KEY, a INT, t TEXT, {}) ENGINE=InnoDB",
        keys.join(", ")
    ));
    db.sql("CREATE TABLE a LIKE b");
    let rows: String = (0..2000).map(|row| format!("{row}\t{}\ttext {row}\n", row % 13)).collect();
    let path = server.file(&db, "input", rows);
    let mut options = server.options(&db, "b", vec![path.clone()]);
    for (mebibytes, fits) in [(1, false), (27, false), (28, false), (64, true)] {
        options.limits.memory_bytes_max = mebibytes << 20;
        match server.load(&options) {
            Err(error @ Error::Memory { .. }) => {
                assert!(!fits && error.to_string().contains(": at least "), "{error}");
                assert_eq!(error.exit_status(), 2);
                assert_eq!(db.tables(), ["a", "b"]);
            }
            outcome => assert!(fits, "{mebibytes} MiB: {outcome:?}"),
        }
    }
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", path.display()));
    let folder = server.folder(&db.name);
    let names: Vec<String> = (0..60).map(|key| format!("k{key}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    same_rows(&mut db, "b", "a", &names);
    let ours = Exported::new(&server, &mut db, "b");
    ours.verify(&mut db, &folder);
}

/// Values of megabytes go to their pages at once; one that memory cannot hold is named.
#[test]
fn values_of_megabytes_are_loaded_or_named() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(
        "CREATE TABLE b (id INT PRIMARY KEY, t LONGTEXT CHARACTER SET utf8mb4, v INT, u LONGBLOB, \
         KEY (t(30)), KEY (v)) ENGINE=InnoDB ROW_FORMAT=COMPACT",
    );
    db.sql("CREATE TABLE a LIKE b");
    let sizes = [0, 16_000, 16_330, 16_331, 1 << 20, 5 << 20, 40, 8_000];
    let rows: String = (0..400)
        .map(|row| {
            let size = if row % 50 == 49 { sizes[row / 50] } else { row % 30 };
            format!("{}\t{}\t{row}\t{}\n", 400 - row, "t\u{e9}".repeat(size / 3), "u".repeat(size))
        })
        .collect();
    let path = server.file(&db, "input", rows);
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4", path.display()));
    let mut options = server.options(&db, "b", vec![path.clone()]);
    options.limits.memory_bytes_max = 64 << 20;
    let error = server.load(&options).unwrap_err().to_string();
    assert!(error.contains("input line 300 (byte ") && error.contains("--memory"), "{error}");
    assert_eq!(db.tables(), ["a", "b"]);

    options.limits.memory_bytes_max = 512 << 20;
    assert_eq!(server.load(&options).unwrap().rows, 400);
    same_rows(&mut db, "b", "a", &["PRIMARY", "t", "v"]);
    let folder = server.folder(&db.name);
    let ours = Exported::new(&server, &mut db, "b");
    ours.verify(&mut db, &folder);
    same_stored(&ours, &Exported::new(&server, &mut db, "a"));
}
