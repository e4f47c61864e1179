//! Workbooks by the program's own commands.

use std::path::{Path, PathBuf};

use super::checked::check;
use crate::support::Desk;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata/other").join(name)
}

const ALL: &str = "SELECT * FROM t ORDER BY 1";

#[test]
fn a_sheet_makes_a_table_and_is_appended_and_verified() {
    let Some(mut desk) = Desk::new() else { return };
    let book = fixture("book.xlsx");
    desk.load("t", &book, &["--create"]).done();
    let types = "SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS \
                 WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='t' ORDER BY ORDINAL_POSITION";
    let types =
        desk.rows(types).join(" ").replace("int(11)", "int").replace("bigint(20)", "bigint");
    assert_eq!(
        types,
        "id|int name|varchar(255) price|double day|date at|datetime(3) clock|time spent|time ok|tinyint(1) \
         big|bigint twice|double"
    );
    let rows = desk.rows(ALL);
    // The writer of these gave 0.1 + 0.2 fifteen digits; the others have all of its bits.
    let all_bits: Vec<String> =
        rows.iter().map(|row| row.replace("|0.3|", "|0.30000000000000004|")).collect();
    assert_ne!(all_bits, rows);
    assert_eq!(
        rows[0],
        "1|one|0.1|2024-02-29|2024-02-29 12:34:56.000|12:34:56|36:00:00|1|1000000000000000|0.2"
    );
    assert_eq!(rows.len(), 4);
    desk.verify("t", &book, &[]).done();
    desk.load("t", &book, &["--mode", "append"]).done();
    assert_eq!(desk.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM t"), ["8|4"]);
    for path in ["direct", "stream", "insert"] {
        desk.exec("TRUNCATE t");
        desk.load("t", &fixture("book.ods"), &["--path", path]).done();
        assert_eq!(desk.rows(ALL), all_bits, "{path}");
    }
    desk.exec("TRUNCATE t");
    desk.load("t", &fixture("book-1904.xlsx"), &[]).done();
    assert_eq!(desk.rows(ALL), rows);
    // DECIMAL columns get the digits that Excel shows.
    desk.exec("TRUNCATE t");
    desk.exec("ALTER TABLE t MODIFY price DECIMAL(9,2)");
    let more = ["--sheet", "Titled", "--skip-lines", "2"];
    desk.load("t", &book, &more).done();
    assert_eq!(desk.rows("SELECT price FROM t ORDER BY id"), ["0.10", "0.30", "", "-12.50"]);
    desk.verify("t", &book, &more).done();
}

#[test]
fn bad_cells_are_named_by_sheet_and_cell() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT, value INT)");
    let (book, sheet) = (fixture("book.xlsx"), ["--sheet", "Errors"]);
    let one = desk.load("t", &book, &sheet);
    one.refused(
        1,
        &["book.xlsx row 4 of sheet Errors, cell C4 `value`: \"#DIV/0!\" is an error of a formula"],
    );
    let failed = desk.load("t", &book, &[&sheet[..], &["--json"]].concat()).out;
    let error: serde_json::Value = serde_json::from_str(&failed).unwrap();
    assert_eq!((&error["part"], &error["cell"]), (&"sheet Errors".into(), &"C4".into()));
    let bad = desk.home.path().join("bad.jsonl");
    let log = ["--rejects-max", "9", "--rejects", bad.to_str().unwrap()];
    let load = desk.load("t", &book, &[&sheet[..], &log].concat());
    assert_eq!(load.code(), 3, "{load:?}");
    assert_eq!(desk.rows(ALL), ["1|5"]);
    let reasons = std::fs::read_to_string(bad.with_extension("jsonl.reasons.jsonl")).unwrap();
    for part in [
        "\"part\":\"sheet Errors\",\"cell\":\"C4\",\"value\":\"#DIV/0!\"",
        "\"cell\":\"C5\",\"value\":\"five\"",
        "\"cell\":\"C6\",\"value\":\"2024-01-01\",\"reason\":\"\\\"2024-01-01\\\" is not INT",
        "\"cell\":\"C7\",\"value\":\"9007199254740992\"",
    ] {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
    let report = check(&desk, "t", &book, &sheet).out;
    for part in ["book.xlsx row 4 of sheet Errors\n    cell C4 `value` ", "\n    cell C7 `value` "]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
    desk.exec("CREATE TABLE u (id INT, twice INT)");
    let unstored = desk.load("u", &fixture("unstored.xlsx"), &[]);
    unstored.refused(1, &["cell B2 `twice`", "is a formula whose value the file does not have"]);
    let outcome = desk.load("t", &desk.home.file("a.csv", "1,2\n"), &["--sheet", "x"]);
    outcome.refused(2, &["--sheet is for Excel files, and the input is text"]);
}
