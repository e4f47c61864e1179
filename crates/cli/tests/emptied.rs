//! Replacing rows by nothing: what an export that failed would do to a table.

use crate::support::Desk;

const PATHS: [&str; 3] = ["direct", "stream", "insert"];

/// A table with a child goes by one transaction into the table itself, another by a staging table.
const TABLES: [&str; 2] = ["t", "parent"];

fn desk() -> Option<Desk> {
    let mut desk = Desk::new()?;
    for table in TABLES {
        desk.exec(&format!("CREATE TABLE {table} (a INT PRIMARY KEY)"));
        desk.exec(&format!("INSERT INTO {table} VALUES (1), (2)"));
    }
    desk.exec("CREATE TABLE child (a INT REFERENCES parent (a))");
    Some(desk)
}

/// Runs each possible load of every path into every table, and judges its messages.
fn each(desk: &mut Desk, text: &str, more: &[&str], judge: impl Fn(&crate::support::Outcome)) {
    let file = desk.home.file("rows", text);
    for path in PATHS {
        for table in TABLES {
            if (path, table) == ("direct", "parent") {
                continue;
            }
            let load =
                desk.load(table, &file, &[&["--mode", "replace", "--path", path], more].concat());
            judge(&load);
            assert_eq!(
                load.out.contains("the input had no rows"),
                load.code() == 0 && text.is_empty()
            );
        }
    }
}

#[test]
fn an_input_without_rows_replaces_none() {
    let Some(mut desk) = desk() else { return };
    let missing = ["the input has no rows", "would leave", "--allow-empty"];
    each(&mut desk, "", &[], |load| load.refused(2, &missing));
    each(&mut desk, "a\n", &["--header"], |load| load.refused(2, &missing));
    for table in TABLES {
        assert_eq!(desk.rows(&format!("SELECT * FROM {table}")), ["1", "2"]);
    }
}

#[test]
fn an_input_of_refused_rows_replaces_none() {
    let Some(mut desk) = desk() else { return };
    let more = ["--rejects-max", "9"];
    each(&mut desk, "x\n", &more, |load| {
        load.refused(1, &["the only row of the input was rejected"])
    });
    let all = ["all 2 rows of the input were rejected", "--allow-empty"];
    each(&mut desk, "x\ny\n", &more, |load| load.refused(1, &all));
    for table in TABLES {
        assert_eq!(desk.rows(&format!("SELECT * FROM {table}")), ["1", "2"]);
    }
}

#[test]
fn a_table_is_emptied_where_that_is_meant() {
    let Some(mut desk) = desk() else { return };
    for (text, status, note) in
        [("", 0, "the input had no rows"), ("x\n", 3, "every row of the input")]
    {
        let more = ["--allow-empty", "--rejects-max", "9"];
        each(&mut desk, text, &more, |load| {
            assert_eq!(load.code(), status, "{load:?}");
            assert!(load.out.contains(note) && load.out.contains("is empty now"), "{load:?}");
        });
        for table in TABLES {
            assert_eq!(desk.rows(&format!("SELECT * FROM {table}")), [""; 0]);
            desk.exec(&format!("INSERT INTO {table} VALUES (1), (2)"));
        }
    }
}

/// Rows of the table are still there: there is no word of emptiness.
#[test]
fn nothing_is_added_to_a_table_without_a_word_of_emptiness() {
    let Some(mut desk) = desk() else { return };
    let file = desk.home.file("rows", "");
    for mode in ["append", "insert"] {
        for path in ["stream", "insert"] {
            desk.exec("CREATE OR REPLACE TABLE e (a INT PRIMARY KEY)");
            let load = desk.load("e", &file, &["--mode", mode, "--path", path]);
            assert!(!load.done().out.contains("is empty now"), "{load:?}");
        }
    }
}
