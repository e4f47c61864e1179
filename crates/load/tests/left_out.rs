//! Duplicates that are skipped or replaced: the same table as LOAD DATA IGNORE and REPLACE make
//! of the same rows, and exactly the rows that those leave out written down.
//!
//! `INRUSH_CASES=n` makes n random tables instead of a few, as in [`crate::differential`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use load::{LoadOptions, Memory, Mode, OnDuplicate};
use serde_json::Value;
use sources::Dialect;
use testkit::Random;
use testkit::tables::compare::same_rows;
use testkit::tables::left_out::{BOTH, Totals, one, word};
use testkit::tables::reasons::Reasons;
use testkit::tables::server::{Db, Server};

use crate::duplicates;

const CASES: usize = 30;

#[test]
fn random_tables_with_conflicts_are_as_load_data_makes_them() {
    let Some(server) = Server::get() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(CASES);
    println!("seed {seed}, {cases} tables");
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for seed in (0..cases).map(|number| seed + number as u64) {
        if catch_unwind(AssertUnwindSafe(|| one(&server, seed, &mut totals))).is_err() {
            failed.push(seed);
        }
    }
    println!("{cases} tables, {totals:?}");
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
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

/// Pairs that each collation and type takes for one value, in many chunks, NULLs among them.
#[test]
fn values_that_are_alike_are_left_out() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (number, pair) in duplicates::ALIKE.iter().enumerate() {
        let order = duplicates::Order::ALL[number % 3];
        let path = server.file(&db, "input", duplicates::file(pair, order));
        for (threads, on_duplicate) in BOTH.into_iter().enumerate() {
            db.sql("DROP TABLE IF EXISTS a, b");
            db.sql(&duplicates::create(pair, "b"));
            db.sql("CREATE TABLE a LIKE b");
            let what = format!("{on_duplicate:?} {} {:?}", pair.column, pair.values);
            let load = format!(
                "LOAD DATA INFILE '{}' {} INTO TABLE a CHARACTER SET utf8mb4",
                path.display(),
                word(on_duplicate)
            );
            db.sql(&load);
            let mut options = server.options(&db, "b", vec![path.clone()]);
            small(&mut options, 1 + threads);
            options.rows.on_duplicate = on_duplicate;
            let report = server.load(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(report.duplicates, 1, "{what}");
            same_rows(&mut db, "b", "a", &["PRIMARY", "u"]);
        }
    }
}

/// A row that conflicts with a different row in each key, rows that are replaced twice over, and
/// refused rows whose keys count for nothing.
#[test]
fn the_log_says_which_key_and_to_whom() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns = "(id INT PRIMARY KEY, `a``k` VARCHAR(9) NULL, n INT NULL, \
                   UNIQUE KEY `a``k` (`a``k`, n), UNIQUE KEY n (n))";
    db.sql(&format!("CREATE TABLE b {columns}"));
    let one = server.file(&db, "one.csv", "id,a,n\n1,x,1\n2,\"x\ny\",2\n3,z,NULL\nbad,x,3\n");
    let two = server.file(&db, "two.csv", "id,a,n\n4,Z,\n3,x ,1\n2,q,1\n5,NULL,NULL\n5,\"x\",4");
    // `4,Z,` is refused, for an empty n.
    let mut options = server.options(&db, "b", vec![one.clone(), two.clone()]);
    options.input.dialect = Dialect::csv();
    options.input.header = true;
    options.input.columns = Some(["id", "a`k", "n"].map(str::to_owned).to_vec());
    options.rows.rejects_max = 2;
    let logged = server.folder(&db.name).join("left_out");
    options.rows.duplicates = Some(logged.clone());
    let rows = |db: &mut Db| db.text("SELECT GROUP_CONCAT(id, ':', n ORDER BY id) FROM b");
    let lost = |line: &Value| {
        let text = |value: &Value| value.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let lost_to = &line["lost_to"];
        format!(
            "{} {} {}: {} {} to {} {}",
            text(&line["file"]),
            line["line"],
            line["byte"],
            text(&line["key"]),
            line["values"],
            text(&lost_to["file"]),
            lost_to["line"]
        )
    };

    options.rows.on_duplicate = OnDuplicate::Skip;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.rejects, report.duplicates), (4, 2, 3));
    assert_eq!(rows(&mut db), "1:1,2:2");
    let reasons = Reasons::of(&logged);
    let expected = [
        r#"two.csv 3 12: PRIMARY ["3"] to one.csv 5"#,
        r#"two.csv 4 19: PRIMARY ["2"] to one.csv 3"#,
        r#"two.csv 6 37: PRIMARY ["5"] to two.csv 5"#,
    ];
    assert_eq!(reasons.lines.iter().map(lost).collect::<Vec<_>>(), expected);
    assert_eq!(
        std::fs::read_to_string(&logged).unwrap(),
        "id,a,n\n3,x ,1\n2,q,1\n5,\"x\"\n".replace("\"x\"", "\"x\",4")
    );
    let reason = reasons.lines[0]["reason"].as_str().unwrap();
    let winner = format!("skipped for {} line 5, which has the same `PRIMARY` key", one.display());
    assert_eq!(reason, winner);

    options.rows.on_duplicate = OnDuplicate::Replace;
    options.mode = Mode::Replace;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.rejects, report.duplicates), (2, 2, 5));
    assert_eq!(rows(&mut db), "2:1,5:4");
    let reasons = Reasons::of(&logged);
    let expected = [
        r#"one.csv 2 7: a`k ["x","1"] to two.csv 3"#,
        r#"one.csv 3 13: PRIMARY ["2"] to two.csv 4"#,
        r#"one.csv 5 23: PRIMARY ["3"] to two.csv 3"#,
        r#"two.csv 3 12: n ["1"] to two.csv 4"#,
        r#"two.csv 5 25: PRIMARY ["5"] to two.csv 6"#,
    ];
    assert_eq!(reasons.lines.iter().map(lost).collect::<Vec<_>>(), expected);
    assert_eq!(db.tables(), ["b"]);

    // Nothing is left out the next time: the files are empty.
    options.input.files = vec![one];
    options.rows.rejects_max = 1;
    assert_eq!(server.load(&options).unwrap().duplicates, 0);
    assert!(std::fs::read(&logged).unwrap().is_empty() && Reasons::of(&logged).lines.is_empty());
}

/// Half of the rows conflict, some with two others, in little memory.
#[test]
fn losers_beyond_the_memory_for_them_spill() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(
        "CREATE TABLE b (id INT PRIMARY KEY, u VARCHAR(30) NOT NULL, UNIQUE KEY (u), KEY (u, id))",
    );
    db.sql("CREATE TABLE a LIKE b");
    // Every second row once more, in another order, with another's name.
    let name = |row: usize| format!("{:x}", row.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text: String = (0..60_000).map(|row| format!("{row}\t{}\n", name(row))).collect();
    text.extend((0..60_000).rev().step_by(2).map(|row| format!("{row}\t{}\n", name(row ^ 2))));
    let path = server.file(&db, "input", text);
    for on_duplicate in BOTH {
        db.sql("TRUNCATE a");
        let word = word(on_duplicate);
        db.sql(&format!("LOAD DATA INFILE '{}' {word} INTO TABLE a", path.display()));
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.rows.on_duplicate = on_duplicate;
        options.mode = Mode::Replace;
        options.limits.memory_bytes_max = 29 << 20;
        let report = server.load(&options).unwrap();
        assert!(report.duplicates >= 30_000, "{}", report.duplicates);
        same_rows(&mut db, "b", "a", &["PRIMARY", "u", "u_2"]);
        assert_eq!(std::fs::read_dir(&options.limits.temp_dir).unwrap().count(), 0);
    }
}

/// Rows that lose are sorted in as little memory as others.
#[test]
fn many_losers_take_little_memory() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY)");
    let path = server.file(&db, "input", "1\n".repeat(600_000));
    let mut options = server.options(&db, "b", vec![path]);
    options.rows.on_duplicate = OnDuplicate::Skip;
    options.limits.shares = Some(Memory {
        threads: 1,
        chunk_bytes: 40_000,
        record_bytes_max: 1 << 20,
        batch_bytes: 40_000,
        entry_bytes: 100_000,
        run_bytes: 400 << 10,
    });
    assert_eq!(server.load(&options).unwrap().duplicates, 599_999);
    assert_eq!(db.tables(), ["b"]);
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 1);
}
