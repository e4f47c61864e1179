//! Parquet and Arrow files of other programs, by the program's own commands.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::checked::check;
use super::exported::export;
use crate::support::Desk;

/// A file of the fixtures.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata").join(name)
}

/// The sum over all rows of a table.
fn sum(desk: &mut Desk, table: &str) -> String {
    desk.rows(&format!(
        "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', i, u, f, d, day, ts, s, b, l, st))) FROM {table}"
    ))
    .concat()
}

#[test]
fn files_of_every_program_make_the_same_table() {
    let Some(mut desk) = Desk::new() else { return };
    let names = ["pyarrow-snappy.parquet", "pyarrow-v2-zstd.parquet", "duckdb.parquet"];
    let others = ["polars.parquet", "polars.arrow", "pyarrow.arrows", "pyarrow-lz4.feather"];
    let mut sums = Vec::new();
    for (at, name) in names.into_iter().chain(others).enumerate() {
        let table = format!("t{at}");
        desk.load(&table, &fixture(name), &["--create"]).done();
        // Programs say lists and structs alike, and days and times.
        sums.push((sum(&mut desk, &table), name));
    }
    let is_other = |(text, _): &&(String, &str)| *text != sums[0].0;
    assert!(!sums.iter().any(|sum| is_other(&sum)), "{sums:?}");
}

#[test]
fn pipes_are_read_by_the_format_that_is_named() {
    let Some(mut desk) = Desk::new() else { return };
    desk.load("a", &fixture("pyarrow.arrows"), &["--create"]).done();
    let expected = sum(&mut desk, "a");
    for (table, name, dialect) in
        [("b", "pyarrow.arrows", "arrow"), ("c", "pyarrow-snappy.parquet", "parquet")]
    {
        desk.exec(&format!("CREATE TABLE {table} LIKE a"));
        let target = desk.table(table);
        let mut load = desk.home.load(desk.server, &target, Path::new("-"));
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut file = File::open(fixture(name)).unwrap();
        let copy = std::thread::spawn(move || std::io::copy(&mut file, &mut writer).unwrap());
        let load = load.args(["--format", dialect]).stdin(Stdio::from(reader));
        let output = load.output().unwrap();
        copy.join().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(sum(&mut desk, table), expected, "{name}");
    }
}

#[test]
fn bad_rows_are_named_by_their_numbers() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (i TINYINT, d DECIMAL(12,1), s VARCHAR(5))");
    let file = fixture("polars.parquet");
    let more = ["--ignore-unknown-columns"];
    let outcome = desk.load("t", &file, &more);
    outcome.refused(1, &["polars.parquet row 1, field 7 `s`: \"text 0\" is too long: VARCHAR(5)"]);
    desk.exec("ALTER TABLE t MODIFY s TEXT");
    let outcome = desk.load("t", &file, &more);
    let lost = "row 2, field 4 `d`: \"0.07\" cannot be stored without loss: DECIMAL(12,1)";
    outcome.refused(1, &[lost]);
    desk.exec("ALTER TABLE t MODIFY d DECIMAL(12,2)");
    desk.load("t", &file, &more).done();
    desk.verify("t", &file, &more).done();
}

#[test]
fn options_say_how_columns_of_files_are_found() {
    let Some(mut desk) = Desk::new() else { return };
    // The table has all columns that some file has.
    let [all, some] = ["pyarrow-snappy.parquet", "other/three-columns.parquet"].map(fixture);
    for files in [[&all, &some], [&some, &all]] {
        desk.exec("DROP TABLE IF EXISTS t");
        let more = [files[1].to_str().unwrap(), "--missing-null"];
        desk.load("t", files[0], &[&more[..], &["--create"]].concat()).done();
        desk.verify("t", files[0], &more).done();
        let counts = desk.rows("SELECT COUNT(*), COUNT(u), COUNT(more), COUNT(st) FROM t");
        assert_eq!(counts, ["23|20|3|20"]);
    }
    // Text has places, too.
    desk.exec("CREATE TABLE p (a INT, b TEXT)");
    let text = desk.home.file("in.csv", "b,a\n1,x\n2,y\n");
    desk.load("p", &text, &["--header", "--by-position"]).done();
    desk.verify("p", &text, &["--header", "--by-position"]).done();
    assert_eq!(desk.rows("SELECT * FROM p"), ["1|x", "2|y"]);
    let few = desk.home.file("few.csv", "b\n1\n");
    let outcome = desk.load("p", &few, &["--header", "--by-position", "--mode", "append"]);
    outcome.refused(2, &["the input has 1 column, and --by-position expects 2: `a`, `b`"]);
    let outcome = desk.load("p", &text, &["--missing-null", "--mode", "append"]);
    outcome.refused(2, &["--missing-null is for Parquet and Arrow files"]);
    let json = desk.home.file("in.jsonl", "{\"a\": 1}\n");
    let outcome = desk.load("p", &json, &["--by-position", "--mode", "append"]);
    outcome.refused(2, &["--by-position does not work for JSON"]);
}

#[test]
fn nanoseconds_are_rejected_and_moments_of_a_datetime_are_in_utc() {
    let Some(mut desk) = Desk::new() else { return };
    let file = fixture("other/pyarrow-moments.parquet");
    let zone = ["--time-zone", "+02:00"];
    for path in ["direct", "stream", "insert"] {
        desk.exec("DROP TABLE IF EXISTS t");
        desk.exec("CREATE TABLE t (id INT, old DATETIME(6), dt DATETIME(6), at TIMESTAMP(6) NULL, s VARCHAR(40))");
        let one = desk.load("t", &file, &[&zone[..], &["--path", path]].concat());
        one.refused(1, &["row 2", "`old`: \"2024-02-29 10:00:00.000001001\""]);
        let bad = desk.home.path().join("bad.jsonl");
        let log = ["--path", path, "--rejects-max", "9", "--rejects", bad.to_str().unwrap()];
        let load = desk.load("t", &file, &[&zone[..], &log].concat());
        assert_eq!(load.code(), 3, "{load:?}");
        let note = "times with a zone are stored in UTC in `dt`, which is DATETIME";
        assert!(load.err.contains(note) || load.out.contains(note), "{load:?}");
        let text = std::fs::read_to_string(&bad).unwrap();
        assert_eq!(
            text.lines().next().unwrap(),
            "{\"id\": 2, \"old\": \"2024-02-29 10:00:00.000001001\", \"dt\": \"2024-02-29 10:00:01\", \
             \"at\": \"2024-02-29 12:00:01\", \"s\": \"2024-02-29 12:00:01\"}"
        );
        desk.exec("SET time_zone = '+00:00'");
        let rows = desk.rows("SELECT id, old, dt, at, s FROM t ORDER BY id LIMIT 1");
        let at = "2024-02-29 10:00:00.000000";
        assert_eq!(rows, [format!("1|2024-02-29 10:00:00.000001|{at}|{at}|2024-02-29 12:00:00")]);
        assert_eq!(desk.rows("SELECT COUNT(*), COUNT(old) FROM t"), ["2|1"]);
    }
    desk.verify("t", &file, &[&zone[..], &["--rejects-max", "9"]].concat());
}

/// The server refused `CREATE TABLE` with its own error.
#[test]
fn names_that_no_column_can_have_are_changed() {
    let Some(mut desk) = Desk::new() else { return };
    let file = fixture("other/odd-names.parquet");
    let outcome = desk.load("t", &file, &["--create"]);
    let note = "the file has names that are empty, equal or invalid for a column";
    assert!(outcome.done().err.contains(note), "{outcome:?}");
    let columns = "SELECT column_name FROM information_schema.columns \
                   WHERE table_schema = DATABASE() AND table_name = 't' ORDER BY ordinal_position";
    assert_eq!(desk.rows(columns), ["id", "IDc2", "c3", "end"]);
    assert_eq!(desk.rows("SELECT * FROM t"), ["1|2|3|4"]);
}

/// Each file began a page: 50 MB for 9,000 rows in 3,000 files.
#[test]
fn small_files_share_pages() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20))");
    let folder = desk.home.path().join("small");
    std::fs::create_dir(&folder).unwrap();
    for file in 0..60 {
        let rows: String = (0..5).map(|row| format!("{},word\n", file * 5 + row)).collect();
        std::fs::write(folder.join(format!("{file:02}.csv")), rows).unwrap();
    }
    let outcome = desk.load("t", &folder.join("*.csv"), &["--path", "direct", "--verbose"]);
    let leaves = "index PRIMARY: 300 records, 1 leaf page, height 1";
    assert!(outcome.done().out.contains(leaves), "{outcome:?}");
    assert_eq!(desk.rows("SELECT COUNT(*), SUM(id) FROM t"), ["300|44850"]);
    assert!(desk.rows("CHECK TABLE t EXTENDED").concat().ends_with("OK"));
}

#[test]
fn a_guess_at_files_is_a_script_that_loads_them() {
    let Some(mut desk) = Desk::new() else { return };
    desk.load("t", &fixture("polars.parquet"), &["--create"]).done();
    let expected = (desk.rows("SHOW CREATE TABLE t"), sum(&mut desk, "t"));
    for (name, kind) in [("polars.parquet", "Parquet"), ("polars.arrow", "Arrow")] {
        desk.exec("DROP TABLE t");
        let file = fixture(name);
        let sniffed = desk.sniff(&file, &[]);
        let about = format!("{name}: guessed from all 20 rows: {kind}, 10 columns");
        assert!(sniffed.done().out.contains(&about), "{sniffed:?}");
        desk.shell(&sniffed.out).done();
        assert_eq!((desk.rows("SHOW CREATE TABLE t"), sum(&mut desk, "t")), expected, "{name}");
        let told: Value = serde_json::from_str(&desk.sniff(&file, &["--json"]).done().out).unwrap();
        assert_eq!(told["format"], kind.to_lowercase());
        let column = &told["columns"][3];
        assert_eq!((&column["name"], &column["type"]), (&"d".into(), &"DECIMAL(12,2)".into()));
    }
}

#[test]
fn every_error_of_every_row_is_told_and_nothing_is_loaded() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (i TINYINT UNSIGNED, d DECIMAL(12,1), s VARCHAR(6))");
    let bad = desk.home.path().join("bad.jsonl");
    for name in ["polars.parquet", "polars.arrow"] {
        let more = ["--ignore-unknown-columns", "--json", "--rejects", bad.to_str().unwrap()];
        let outcome = check(&desk, "t", &fixture(name), &more);
        assert_eq!(outcome.code(), 3, "{outcome:?}");
        let report: Value = serde_json::from_str(&outcome.out).unwrap();
        // The first number is below 0, and the eleventh row is the first good one.
        assert_eq!((&report["rows"], &report["bad_rows"]), (&20.into(), &19.into()), "{report}");
        let lines = report["first"].as_array().unwrap().iter().map(|row| row["line"].as_u64());
        assert!(lines.flatten().all(|line| line != 11), "{report}");
        let second = report["first"][1]["reasons"].to_string();
        for reason in ["out of range", "cannot be stored without loss: DECIMAL(12,1)"] {
            assert!(second.contains(reason), "{second}");
        }
        let text = std::fs::read_to_string(&bad).unwrap();
        assert_eq!(text.lines().count(), 19);
        assert_eq!(text.lines().nth(1).unwrap(), "{\"i\": -9, \"d\": \"0.07\", \"s\": \"text 1\"}");
        assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
    }
}

#[test]
fn uuids_make_columns_of_their_type_and_come_back_from_an_export() {
    let Some(mut desk) = Desk::new() else { return };
    if !desk.session.version().has_uuid() {
        return;
    }
    let mut file = fixture("other/uuids.parquet");
    let types = "SELECT column_type FROM information_schema.columns \
                 WHERE table_schema = DATABASE() AND column_name = 'u'";
    for table in ["t", "back"] {
        let outcome = desk.load(table, &file, &["--create"]);
        let note = "`u` is BINARY(16) on MySQL and MariaDB before 10.7, which have no UUID";
        assert!(outcome.done().err.contains(note), "{outcome:?}");
        let values = desk.rows(&format!("SELECT u FROM {table} ORDER BY id"));
        let [one, other] =
            ["00010203-0405-0607-0809-0a0b0c0d0e0f", "64656667-6869-6a6b-6c6d-6e6f70717273"];
        assert_eq!(values, [one, other, ""]);
        export(&desk, table, "u.arrow", &["--force"]).done();
        file = desk.home.path().join("u.arrow");
    }
    assert_eq!(desk.rows(types), ["uuid", "uuid"]);
    // A type that is typed counts.
    desk.exec("DROP TABLE t");
    desk.load("t", &file, &["--create", "--types", "u=BINARY(16)"]).done();
    assert_eq!(desk.rows(&format!("{types} AND table_name = 't'")), ["binary(16)"]);
}
