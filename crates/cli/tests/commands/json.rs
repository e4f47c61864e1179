//! JSON: files as users have them, and what is said of records that are none.

use std::fs;

use crate::support::Desk;

const ORDERS: &str = "{\"id\": 1, \"name\": \"ann\", \"tags\": [\"a\", \"b\"], \"price\": 12.50, \"paid\": true}\n\
     {\"id\": 2, \"price\": 1e2, \"note\": \"x\\ty \\u00e9\"}\n\
     {\"name\": \"cy\", \"ID\": 3, \"paid\": null}\n";

fn desk() -> Option<Desk> {
    let mut desk = Desk::new()?;
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20) DEFAULT 'none', tags JSON, \
         price DECIMAL(20,10), paid TINYINT(1) DEFAULT 7, note TEXT, \
         at TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00')",
    );
    Some(desk)
}

fn rows(desk: &mut Desk) -> Vec<String> {
    desk.rows(
        "SELECT CONCAT_WS('|', id, name, tags, price, paid, note, YEAR(at)) FROM t ORDER BY id",
    )
}

#[test]
fn fields_go_to_the_columns_of_their_names() {
    let Some(mut desk) = desk() else { return };
    let expected = [
        "1|ann|[\"a\", \"b\"]|12.5000000000|1|2020",
        "2|none|100.0000000000|7|x\ty \u{e9}|2020",
        "3|cy|2020",
    ];
    let array = format!("[{}]", ORDERS.trim_end().replace('\n', ",\n  "));
    for path in ["direct", "stream", "insert"] {
        for (name, text) in [("o.jsonl", ORDERS), ("o.json", &array), ("o.ndjson", ORDERS)] {
            let file = desk.home.file(name, text);
            desk.load("t", &file, &["--mode", "replace", "--path", path]).done();
            assert_eq!(rows(&mut desk), expected, "{name} {path}");
        }
    }
    let file = desk.home.file("o.txt", ORDERS);
    desk.load("t", &file, &["--mode", "replace", "--format", "jsonl", "--columns", "id,price"])
        .done();
    assert_eq!(rows(&mut desk)[0], "1|none|12.5000000000|7|2020", "only these fields are loaded");
    desk.load("t", &file, &["--mode", "replace", "--format", "json", "--header"])
        .refused(2, &["--header", "JSON", "--format text"]);
}

/// The value was left out without a word, or the field told to be no column.
#[test]
fn blanks_at_the_ends_of_names_are_no_part_of_them_unless_a_column_has_them() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("o.jsonl", "{\"id\": 1, \" g\": 5}\n{\"G \": 6, \"id\": 2}\n");
    desk.load("made", &file, &["--create"]).done();
    assert_eq!(desk.rows("SELECT id, g FROM made"), ["1|5", "2|6"]);
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, g INT)");
    for more in [&[][..], &["--ignore-unknown-columns"]] {
        desk.load("t", &file, &[&["--mode", "replace"], more].concat()).done();
        assert_eq!(desk.rows("SELECT id, g FROM t"), ["1|5", "2|6"]);
    }
    desk.exec("CREATE TABLE both_names (id INT PRIMARY KEY, g INT, ` g` INT)");
    let file = desk.home.file("b.jsonl", "{\"id\": 1, \"g\": 5, \" G\": 6}\n");
    desk.load("both_names", &file, &[]).done();
    assert_eq!(desk.rows("SELECT id, g, ` g` FROM both_names"), ["1|5|6"]);
}

/// Names of columns have no case, also beyond ASCII.
#[test]
fn a_column_of_an_option_takes_no_field() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, `änderung` VARCHAR(9) NULL)");
    let file = desk.home.file("o.jsonl", "{\"id\": 1}\n");
    desk.load("t", &file, &["--set", "ÄNDERUNG=x"]).done();
    assert_eq!(desk.rows("SELECT id, `änderung` FROM t"), ["1|x"]);
}

#[test]
fn a_table_is_made_by_the_kinds_of_values() {
    let Some(mut desk) = Desk::new() else { return };
    let text = ORDERS.replace("12.50", "\"0012\"").replace("1e2", "\"13\"");
    let file = desk.home.file("o.jsonl", text);
    desk.load("o", &file, &["--create"]).done();
    let columns = desk.rows(
        "SELECT CONCAT(column_name, ' ', column_type) FROM information_schema.columns WHERE \
         table_schema=DATABASE() AND table_name='o' ORDER BY ordinal_position",
    );
    let expected = [
        "id bigint(20)",
        "name varchar(255)",
        "tags longtext",
        "price varchar(255)",
        "paid tinyint(1)",
        "note varchar(255)",
    ];
    assert_eq!(columns, expected);
    assert_eq!(desk.rows("SELECT price FROM o WHERE id=1"), ["0012"], "a text of digits is a text");
    desk.verify("o", &file, &[]).done();
}

#[test]
fn bad_records_are_told_apart_and_kept() {
    let Some(mut desk) = desk() else { return };
    let bad = [
        ("{\"id\": 4, \"name\": \"bob\",}", "a field's name in quotes"),
        ("{\"id\": 5, \"name\": \"cy\", \"NAME\": \"x\"}", "two fields for `name`"),
        ("[1, 2]", "an opening brace"),
        ("{\"id\": \"x5\"}", "is not INT"),
        ("{\"id\": 6, \"name\": \"\\ud800\"}", "a character behind \\\\u"),
        ("{\"id\": 7, \"tags\": 01}", "a number"),
        ("{\"id\": 8} {\"id\": 9}", "the end of the record"),
        ("{\"id\": 10, \"name\": \"open", "the end of the string"),
    ];
    let lines: Vec<&str> = bad.iter().map(|(line, _)| *line).collect();
    let file =
        desk.home.file("bad.jsonl", format!("{ORDERS}\n{}\n{{\"id\": 11}}\n", lines.join("\n")));
    let load = desk.load("t", &file, &[]);
    load.refused(1, &["nothing was loaded", "line 5 (byte", "a field's name in quotes"]);
    let rejects = desk.home.path().join("r.jsonl");
    let more = ["--rejects", rejects.to_str().unwrap(), "--rejects-max", "20"];
    let load = desk.load("t", &file, &more);
    assert_eq!(load.status.code(), Some(3), "{load:?}");
    assert_eq!(desk.rows("SELECT id FROM t"), ["1", "2", "3", "11"]);
    let kept = fs::read_to_string(&rejects).unwrap();
    assert_eq!(kept, lines.join("\n") + "\n");
    let reasons = fs::read_to_string(desk.home.path().join("r.jsonl.reasons.jsonl")).unwrap();
    for ((line, reason), told) in bad.iter().zip(reasons.lines()) {
        assert!(told.contains(reason), "{line}: {told}");
    }
}

#[test]
fn fields_that_are_no_column_and_files_that_are_cut_short_are_refused() {
    let Some(mut desk) = desk() else { return };
    let file = desk.home.file("o.jsonl", "{\"id\": 1, \"nome\": 2}\n");
    desk.load("t", &file, &[]).refused(2, &["the records have `nome`", "--ignore-unknown-columns"]);
    desk.load("t", &file, &["--ignore-unknown-columns"]).done();
    assert_eq!(rows(&mut desk), ["1|none|7|2020"]);
    let file = desk.home.file("o.json", "[{\"id\": 2},\n {\"id\": 3");
    let load = desk.load("t", &file, &["--mode", "replace"]);
    load.refused(1, &["nothing was loaded", "o.json line 2 (byte 13)", "ends before all objects"]);
    assert_eq!(rows(&mut desk), ["1|none|7|2020"]);
}

/// Columns that the first records lack have their values where later records have them.
#[test]
fn defaults_of_moments_and_invisible_columns_take_later_values() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME DEFAULT CURRENT_TIMESTAMP, \
         seen TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, hidden INT INVISIBLE DEFAULT 5, \
         code CHAR(36) DEFAULT (UUID()))",
    );
    // The first records are those of the first mebibyte.
    let mut text = "{\"id\": 0, \"other\": 1}\n".to_owned();
    (1..60_000).for_each(|id| text.push_str(&format!("{{\"id\": {id}, \"other\": 1}}\n")));
    text.push_str(
        "{\"id\": -1, \"at\": \"2020-01-02 03:04:05\", \"seen\": \"2021-01-02 03:04:05\", \"hidden\": 6}\n",
    );
    let file = desk.home.file("late.jsonl", &text);
    for path in ["stream", "insert"] {
        desk.exec("TRUNCATE t");
        desk.load("t", &file, &["--ignore-unknown-columns", "--path", path]).done();
        let rows = desk.rows("SELECT CONCAT_WS('|', at, seen, hidden) FROM t WHERE id = -1");
        assert_eq!(rows, ["2020-01-02 03:04:05|2021-01-02 03:04:05|6"], "{path}");
        let others = "SELECT COUNT(*) FROM t WHERE id >= 0 AND hidden = 5 AND code LIKE '%-%' \
             AND ABS(TIMESTAMPDIFF(MINUTE, at, NOW())) < 60 AND ABS(TIMESTAMPDIFF(MINUTE, seen, NOW())) < 60";
        assert_eq!(desk.rows(others), ["60000"], "{path}");
    }
    desk.exec("ALTER TABLE t DROP COLUMN code");
    desk.exec("TRUNCATE t");
    desk.load("t", &file, &["--ignore-unknown-columns"]).done();
    let rows = desk.rows("SELECT CONCAT_WS('|', at, seen, hidden) FROM t WHERE id = -1");
    assert_eq!(rows, ["2020-01-02 03:04:05|2021-01-02 03:04:05|6"]);
}

/// The values of a column that only later records have were thrown away, and files without records refused.
#[test]
fn columns_that_come_too_late_are_refused_and_files_without_records_are_empty() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, token CHAR(36) DEFAULT (UUID()))");
    let first = desk.home.file("a.jsonl", "{\"id\": 1, \"other\": 1}\n");
    let late = desk.home.file("b.jsonl", "{\"id\": 2, \"token\": \"x\"}\n");
    let late = late.to_str().unwrap();
    let reason = "the record has the column `token`, which the first records lack";
    desk.load("t", &first, &[late, "--ignore-unknown-columns", "--path", "stream"])
        .refused(1, &["b.jsonl line 1", reason]);
    let none = desk.home.file("none.jsonl", "");
    desk.load("t", &none, &["--path", "stream"]).done();
    desk.load("t", &none, &[late, "--path", "stream"]).done();
    assert_eq!(desk.rows("SELECT CONCAT_WS('|', id, token) FROM t"), ["2|x"]);
}

/// Formats are those of texts: numbers of JSON are as they are.
#[test]
fn texts_are_read_as_people_write_them() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a DECIMAL(10,2), day DATE)");
    let text = "{\"a\": \"1.234,5\", \"day\": \"31.12.2025\"}\n{\"a\": 1234.5, \"day\": null}\n";
    let file = desk.home.file("o.jsonl", text);
    desk.load("t", &file, &["--decimal-comma", "--date-format", "%d.%m.%Y"]).done();
    assert_eq!(
        desk.rows("SELECT CONCAT_WS('|', a, day) FROM t"),
        ["1234.50|2025-12-31", "1234.50"]
    );
}

#[test]
fn pointers_load_values_inside_of_records() {
    let Some(mut desk) = Desk::new() else { return };
    let text = r#"{"id": 1, "at": {"city": "Bonn", "zip~": [53111, "x"]}, "a/b": {"": "2024-02-29T10:00:00Z"}}
{"id": 2, "at": {"city": null}, "a/b": null}
{"id": 3, "at": 7}
"#;
    let file = desk.home.file("in.jsonl", text);
    let pointers = [
        "--format-of",
        "city=/at/city",
        "--format-of",
        "zip=/at/zip~0/0",
        "--format-of",
        "born=/a~1b/",
        "--format-of",
        "born=iso",
    ];
    let table = "(id INT PRIMARY KEY, city VARCHAR(9) NULL DEFAULT 'none', zip INT DEFAULT 5, born DATETIME NULL)";
    let expected = ["1|Bonn|53111|2024-02-29 10:00:00", "2|NULL|5|NULL", "3|none|5|NULL"];
    let utc = [&pointers[..], &["--time-zone", "+00:00"]].concat();
    for path in ["direct", "stream", "insert"] {
        desk.exec("DROP TABLE IF EXISTS t");
        desk.exec(&format!("CREATE TABLE t {table}"));
        desk.load("t", &file, &[&utc[..], &["--path", path]].concat()).done();
        desk.verify("t", &file, &utc).done();
        let rows = "SELECT id, IFNULL(city, 'NULL'), zip, IFNULL(born, 'NULL') FROM t ORDER BY id";
        assert_eq!(desk.rows(rows), expected, "{path}");
    }
    // A field may be a column, too, and have values for others.
    desk.exec("DROP TABLE t");
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, at JSON, city TEXT)");
    let more = ["--format-of", "city=/at/city", "--ignore-unknown-columns"];
    desk.load("t", &file, &more).done();
    let rows = desk.rows("SELECT id, at IS NOT NULL, city IS NULL FROM t ORDER BY id");
    assert_eq!(rows, ["1|1|0", "2|1|1", "3|1|1"]);
    desk.load("t", &file, &["--dry-run", "--mode", "replace", "--format-of", "city=/at/city"])
        .refused(2, &["`a/b`"]);
    // A table that is created has the values, and not the fields that they are in.
    desk.load("made", &file, &[&pointers[..6], &["--create"]].concat()).done();
    let rows =
        desk.rows("SELECT id, IFNULL(city, 'NULL'), IFNULL(zip, 'NULL') FROM made ORDER BY id");
    assert_eq!(rows, ["1|Bonn|53111", "2|NULL|NULL", "3|NULL|NULL"]);
    // A value that is there twice is none.
    let twice = desk.home.file("twice.jsonl", "{\"id\": 1, \"at\": {\"city\": 1, \"city\": 2}}\n");
    let outcome = desk.load("made", &twice, &[&utc[..], &["--mode", "append"]].concat());
    outcome.refused(1, &["the record has two fields for `city`"]);
    let outcome = desk.load("made", &file, &["--format-of", "city=/at/~", "--mode", "append"]);
    outcome.refused(2, &["~ is written as ~0"]);
    let csv = desk.home.file("in.csv", "id,city\n1,x\n");
    let outcome = desk.load("made", &csv, &["--format-of", "city=/at", "--mode", "append"]);
    outcome.refused(2, &["JSON pointers are for JSON input"]);
}

/// A file with a byte order mark had "no rows to guess from".
#[test]
fn a_byte_order_mark_is_no_part_of_a_guess() {
    let Some(mut desk) = Desk::new() else { return };
    for (table, name, text) in [("a", "a.jsonl", "{\"id\": 1}\n"), ("b", "b.json", "[{\"id\": 1}]")]
    {
        let file = desk.home.file(name, format!("\u{feff}{text}"));
        desk.load(table, &file, &["--create"]).done();
        assert_eq!(desk.rows(&format!("SELECT id FROM {table}")), ["1"]);
    }
    let file = desk.home.file("c.jsonl", "[{\"id\": 1}]\n");
    let error = "c.jsonl: no record is an object of JSON; --format json reads arrays of objects";
    desk.load("c", &file, &["--create"]).refused(2, &[error]);
}

/// An object with too many levels was "no object of JSON".
#[test]
fn a_record_that_is_too_deep_is_called_so() {
    let Some(mut desk) = Desk::new() else { return };
    let deep = format!("{}1{}\n", "{\"a\":".repeat(102), "}".repeat(102));
    let file = desk.home.file("deep.jsonl", &deep);
    let error = "deep.jsonl: no record is an object of JSON with at most 100 levels";
    desk.load("d", &file, &["--create"]).refused(2, &[error]);
    desk.exec("CREATE TABLE d (a JSON)");
    let error = "the record has JSON of more than 100 levels at its byte 505";
    desk.load("d", &file, &[]).refused(1, &[error]);
}
