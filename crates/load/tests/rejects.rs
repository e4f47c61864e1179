//! Refused rows: their bytes in one file, where and why in the other, and how many are allowed.

use std::path::{Path, PathBuf};

use load::{Error, LoadOptions, LoadPath};
use serde_json::{Value, json};
use sources::Dialect;

use testkit::tables::reasons::Reasons;
use testkit::tables::server::{Db, Server};

const TABLE: &str = "CREATE TABLE b (
    id INT NOT NULL PRIMARY KEY, n DECIMAL(5,2) NULL, `day of` DATE NOT NULL,
    note VARCHAR(10) CHARACTER SET latin1 NULL, j JSON NULL) ENGINE=InnoDB";

/// Three lines that are fine, and seven that are not, on two lines each where a quote says so.
const INPUT: &str = "\
id,n,day of,note,j\r
1,1.50,2024-02-29,fine,{}\r
2,12x,2024-02-29,\"of two\nlines\",{}\r
three,1,2024-02-29,,{}\r
4,1000,2024-02-29,,{}\r
5,1,2024-02-30,\"a, \"\"b\"\"\",{}\r
6,1,NULL,,{}\r
7,1,2024-02-29,\u{4e2d},{}\n8,1,2024-02-29,more than ten,{}\r
9,1,2024-02-29\r
10,1,2024-02-29,,{]\r
11,NULL,2024-02-29,NULL,NULL\r
12,1,2024-02-29,,{},more\r
13,-0.004,20240229,\"two\nlines\",\"[1, \"\"x\"\"]\"";

/// Field, column and value of each refused row, with the line it begins on.
fn expected() -> Vec<(u64, Value, Value, Value, &'static str)> {
    let none = Value::Null;
    vec![
        (3, json!(2), json!("n"), json!("12x"), "DECIMAL(5,2)"),
        (5, json!(1), json!("id"), json!("three"), "INT"),
        (6, json!(2), json!("n"), json!("1000"), "DECIMAL(5,2)"),
        (7, json!(3), json!("day of"), json!("2024-02-30"), "DATE"),
        (8, json!(3), json!("day of"), none.clone(), "NOT NULL"),
        (9, json!(4), json!("note"), json!("\u{4e2d}"), "charset"),
        (10, json!(4), json!("note"), json!("more than ten"), "VARCHAR(10)"),
        (11, none.clone(), json!("note"), none.clone(), "3 fields; 5 expected"),
        (12, json!(5), json!("j"), json!("{]"), "JSON"),
        (14, none.clone(), none.clone(), none, "6 fields; 5 expected"),
    ]
}

fn options(server: &Server, db: &Db, path: &Path) -> LoadOptions {
    let mut options = server.options(db, "b", vec![path.to_owned()]);
    options.input.dialect = Dialect::csv();
    options.input.header = true;
    options.rows.rejects = Some(server.folder(&db.name).join("refused"));
    options
}

#[test]
fn refused_rows_are_kept_byte_for_byte_and_explained() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(TABLE);
    let path = server.file(&db, "input.csv", INPUT);
    let mut options = options(&server, &db, &path);
    options.rows.rejects_max = 10;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.rejects), (3, 10));
    let ids = "SELECT GROUP_CONCAT(id, n IS NULL, note <=> 'two\\nlines' ORDER BY id) FROM b";
    assert_eq!(db.text(ids), "100,1110,1301");

    let rejects = options.rows.rejects.unwrap();
    let seen = Reasons::of(&rejects);
    let mut raw = INPUT.split_inclusive('\n').next().unwrap().as_bytes().to_vec();
    for ((line, seen), place) in expected().into_iter().zip(&seen.lines).zip(&seen.places) {
        let (number, field, column, value, reason) = line;
        assert_eq!(place.0, path.display().to_string());
        assert_eq!(place.1, number, "{seen}");
        assert_eq!((&seen["field"], &seen["column"], &seen["value"]), (&field, &column, &value));
        assert!(seen["reason"].as_str().unwrap().contains(reason), "{seen}");
        let names: Vec<&String> = seen.as_object().unwrap().keys().collect();
        let usual = ["byte", "column", "field", "file", "line", "reason", "value"];
        assert!(names.iter().filter(|&&name| name != "also").eq(&usual), "{names:?}");
        raw.extend_from_slice(row_at(INPUT, place.2 as usize));
    }
    assert_eq!(seen.lines.len(), 10);
    let refused = std::fs::read(&rejects).unwrap();
    assert_eq!(refused.escape_ascii().to_string(), raw.escape_ascii().to_string());

    // They can be loaded again as they are, once they are allowed.
    db.sql(
        "CREATE TABLE c (id TEXT, n TEXT, d TEXT NULL, note TEXT CHARACTER SET utf8mb4, j TEXT)",
    );
    let mut again = server.options(&db, "c", vec![rejects]);
    again.input.dialect = Dialect::csv();
    again.input.skip_lines = 1;
    again.rows.rejects_max = 2;
    assert_eq!(server.load(&again).unwrap().rows, 8);
    assert_eq!(db.text("SELECT note FROM c WHERE id=5"), "a, \"b\"");
}

/// The row that begins at a byte of the input: to the line end behind an even number of quotes.
fn row_at(input: &str, start: usize) -> &[u8] {
    let mut is_quoted = false;
    let end = input[start..].bytes().position(|byte| {
        is_quoted ^= byte == b'"';
        byte == b'\n' && !is_quoted
    });
    &input.as_bytes()[start..end.map_or(input.len(), |end| start + end + 1)]
}

#[test]
fn one_more_than_allowed_fails_the_load() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(TABLE);
    let path = server.file(&db, "input.csv", INPUT);
    for allowed in [0, 1, 9] {
        let mut options = options(&server, &db, &path);
        options.rows.rejects_max = allowed;
        let error = server.load(&options).unwrap_err();
        let Error::Rejected { rejects, rejects_max, last, .. } = &error else { panic!("{error}") };
        let last = last.to_string();
        assert_eq!((*rejects, *rejects_max), (allowed + 1, allowed));
        let wanted = expected()[allowed as usize].0;
        assert!(last.contains(&format!("input.csv line {wanted} ")), "{last}");
        assert!(error.to_string().contains("--rejects-max"), "{error}");
        assert_eq!(Reasons::of(&options.rows.rejects.unwrap()).lines.len() as u64, allowed + 1);
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
        assert_eq!(db.tables(), ["b"]);
    }
}

/// Rejects of many chunks come out in the order of the input, whoever was first; also when the
/// rows turn out to be unsorted in the middle and everything begins again.
#[test]
fn refused_rows_are_in_input_order() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, v INT NOT NULL, KEY (v)) ENGINE=InnoDB");
    let row =
        |id: usize| if id % 97 == 5 { format!("{id}\tx{id}\n") } else { format!("{id}\t1\n") };
    let sorted: Vec<String> = (0..20_000).map(row).collect();
    let mut late = sorted.clone();
    late.swap(3, 19_000);
    for rows in [sorted, late] {
        let path = server.file(&db, "input", rows.concat());
        let mut options = server.options(&db, "b", vec![path]);
        options.rows.rejects = Some(server.folder(&db.name).join("refused"));
        options.rows.rejects_max = 1000;
        options.mode = load::Mode::Replace;
        options.limits.shares = Some(load::Memory {
            threads: 4,
            chunk_bytes: 2000,
            record_bytes_max: 1 << 20,
            batch_bytes: 50_000,
            entry_bytes: 10_000,
            run_bytes: 4 << 20,
        });
        let report = server.load(&options).unwrap();
        let refused: Vec<&String> = rows.iter().filter(|row| row.contains('x')).collect();
        assert_eq!(report.rejects, refused.len() as u64);
        let seen = std::fs::read_to_string(options.rows.rejects.unwrap()).unwrap();
        assert!(seen.lines().eq(refused.iter().map(|row| row.trim_end())));
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), report.rows);
    }
}

/// A given AUTO_INCREMENT value is refused as any other, with its field.
#[test]
fn a_bad_auto_increment_value_is_explained() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (v INT, id SMALLINT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB");
    let path = server.file(&db, "input", "1\t7\n2\t8x\n3\t40000\n4\t0\n5\t-9\n");
    let mut options = server.options(&db, "b", vec![path]);
    options.rows.rejects = Some(server.folder(&db.name).join("refused"));
    options.rows.rejects_max = 2;
    assert_eq!(server.load(&options).unwrap().rows, 3);
    let seen = Reasons::of(&options.rows.rejects.unwrap()).lines;
    for (seen, value) in seen.iter().zip(["8x", "40000"]) {
        let named = (&seen["field"], &seen["column"], &seen["value"]);
        assert_eq!(named, (&json!(2), &json!("id"), &json!(value)));
    }
    assert_eq!(db.text("SELECT GROUP_CONCAT(id ORDER BY v) FROM b"), "7,8,-9");
}

/// A record that no page can hold is refused as the server refuses it, and only it.
#[test]
fn a_row_that_gets_its_number_is_refused_by_its_own_fault() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT AUTO_INCREMENT PRIMARY KEY, n TINYINT, note VARCHAR(3))");
    let path = server.file(&db, "input.csv", "n,note\n1,a\n300,b\n2,long\n3,c\n");
    for way in [LoadPath::Direct, LoadPath::Stream] {
        db.sql("DELETE FROM b");
        let mut options = options(&server, &db, &path);
        options.path = way;
        options.rows.rejects_max = 1;
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains("field 2 `note`: \"long\" is too long"), "{way:?}: {error}");
        options.rows.rejects_max = 2;
        server.load(&options).unwrap();
        let seen = Reasons::of(options.rows.rejects.as_ref().unwrap());
        let columns: Vec<&Value> = seen.lines.iter().map(|line| &line["column"]).collect();
        assert_eq!(columns, ["n", "note"], "{way:?}");
    }
}

#[test]
fn a_row_too_large_for_a_page_is_refused() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns: Vec<String> = (0..300).map(|n| format!("c{n} VARCHAR(40) NOT NULL")).collect();
    for name in ["a", "b"] {
        db.sql("SET innodb_strict_mode=0");
        db.sql(&format!("CREATE TABLE {name} (id INT PRIMARY KEY, {})", columns.join(", ")));
    }
    let row = |id: usize, bytes: usize| {
        let value = "x".repeat(bytes);
        format!("{id}{}\n", format!("\t{value}").repeat(300))
    };
    let fits = |path: &PathBuf, db: &mut Db| {
        let load = format!("LOAD DATA INFILE '{}' INTO TABLE a", path.display());
        db.try_sql(&load).map_err(|error| error.errno())
    };
    let mut options = server.options(&db, "b", Vec::new());
    options.rows.rejects_max = 1;
    for bytes in [20, 25, 26, 27, 40] {
        db.sql("TRUNCATE a");
        db.sql("TRUNCATE b");
        let path = server.file(&db, "input", row(1, bytes) + &row(2, 1));
        let theirs = fits(&path, &mut db);
        options.input.files = vec![path];
        let report = server.load(&options).unwrap();
        let taken = if theirs.is_ok() { 2 } else { 1 };
        assert_eq!(report.rows, taken, "{bytes} bytes a column: {theirs:?}");
    }
}
