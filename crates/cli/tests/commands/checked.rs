//! `inrush check`: every reason of every bad row, and nothing is changed. It finds the rows that LOAD DATA
//! refuses one by one.

use std::fs;

use serde_json::Value;

use crate::support::{Desk, Outcome, lines, run};

const PARENT: &str = "CREATE TABLE customers (id INT PRIMARY KEY, code VARCHAR(8) UNIQUE)";
const TABLE: &str = "CREATE TABLE orders (id INT PRIMARY KEY, customer INT, day DATE NOT NULL, \
     price DECIMAL(6,2), note VARCHAR(5), code VARCHAR(8) COLLATE utf8mb4_general_ci, \
     shipped DATE, n INT AS (id * 2), UNIQUE KEY code (code, customer), \
     CONSTRAINT by_whom FOREIGN KEY (customer) REFERENCES customers (id), \
     CONSTRAINT later CHECK (shipped >= day), CONSTRAINT dear CHECK (price > 1 OR note = 'gift')) \
     DEFAULT CHARSET=utf8mb4";
const COLUMNS: &str = "id,customer,day,price,note,code,shipped";

/// Lines, and what is wrong with each as the report says it.
const LINES: [(&str, &[&str]); 15] = [
    ("1,1,2026-01-01,12.50,abc,x,2026-01-02", &[]),
    ("x,1,2026-13-01,12.50,abc,x1,2026-01-02", &["\"x\" is not INT", "\"2026-13-01\" is not DATE"]),
    (
        "3,1,NULL,123456.00,abcdefgh,x2,-",
        &["NULL, but", "out of range", "too long", "\"-\" is not DATE"],
    ),
    ("4,1", &["the line has 2 fields"]),
    ("1,2,2026-01-01,9,abc,x4,NULL", &["has the same `PRIMARY` key as orders.csv line 2"]),
    ("6,1,2026-01-01,9,abc,X,NULL", &["has the same `code` key as orders.csv line 2"]),
    ("7,9,2026-01-01,9,abc,x6,NULL", &["refers to a row that"]),
    ("8,NULL,2026-01-01,9,abc,x,NULL", &[]),
    ("9,2,2026-01-02,9,abc,x8,2026-01-01", &["fails the CHECK constraint `later`"]),
    ("10,2,2026-01-02,1,gift,x9,NULL", &[]),
    ("11,2,2026-01-02,0.5,no,y,2026-01-01", &["`later`", "`dear`"]),
    ("100,2,2026-01-02,NULL,no,y1,NULL", &["has the same `PRIMARY` key as a row of the table"]),
    ("12,2,2026-01-02,NULL,no,OLD,NULL", &["has the same `code` key as a row of the table"]),
    // Wrong in all ways.
    (
        "1,8,2026-01-05,1,toolong,old,2026-01-04",
        &["too long", "`PRIMARY` key as orders.csv line 2", "refers"],
    ),
    ("13,2,2026-01-05,\"2.5\",\"a\nb\",z,2026-01-05", &[]),
];

fn desk() -> Option<Desk> {
    let mut desk = Desk::new()?;
    desk.exec(PARENT);
    desk.exec(TABLE);
    desk.exec("INSERT INTO customers VALUES (1, 'a'), (2, 'b')");
    desk.exec(&format!(
        "INSERT INTO orders ({COLUMNS}) VALUES (100, 2, '2026-01-01', 5, '', 'old', NULL)"
    ));
    Some(desk)
}

fn text() -> String {
    let lines: Vec<&str> = LINES.iter().map(|(line, _)| *line).collect();
    format!("{COLUMNS}\n{}\n", lines.join("\n"))
}

pub(super) fn check(desk: &Desk, table: &str, file: &std::path::Path, more: &[&str]) -> Outcome {
    let load = desk.home.load(desk.server, &desk.table(table), file);
    let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
    run(desk.home.inrush(["check"]).args(arguments).args(more))
}

/// The reasons of each bad row, by its line.
fn reasons(report: &Value) -> Vec<(u64, Vec<String>)> {
    let row = |row: &Value| {
        let reasons = row["reasons"].as_array().unwrap().iter();
        let text = |reason: &Value| reason["reason"].as_str().unwrap().to_owned();
        (row["line"].as_u64().unwrap(), reasons.map(text).collect())
    };
    report["first"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_files_of_a_folder_are_checked_each_for_its_table() {
    let Some(desk) = desk() else { return };
    let folder = desk.home.path().join("rows");
    fs::create_dir(&folder).unwrap();
    desk.home.file("rows/customers.csv", "id,code\n9,z\nx,y\n");
    desk.home.file("rows/orders.csv", format!("{COLUMNS}\n7,9,2026-01-01,9,abc,x6,NULL\n"));
    let load = desk.home.load(desk.server, &desk.database, &folder);
    let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
    let check = |more: &[&str]| run(desk.home.inrush(["check"]).args(&arguments).args(more));
    let told = check(&["--header"]);
    assert_eq!(told.code(), 3, "{told:?}");
    for part in [
        "customers: 2 rows, 1 of them bad",
        "orders: 1 row, nothing wrong",
        "not checked: foreign keys, because parent rows may be in other files of the command",
    ] {
        assert!(told.out.contains(part), "{part}: {told:?}");
    }
    let told: Value = serde_json::from_str(&check(&["--header", "--json"]).out).unwrap();
    assert_eq!(
        (&told["tables"][0]["bad_rows"], &told["tables"][1]["rows"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn every_reason_of_every_bad_row_is_told_and_nothing_is_changed() {
    let Some(mut desk) = desk() else { return };
    let file = desk.home.file("orders.csv", text());
    let seen = (desk.files(), desk.rows("SHOW TABLES"), desk.rows("SELECT * FROM orders"));
    let rejects = desk.home.path().join("bad.csv");
    let more = ["--header", "--json", "--rejects", rejects.to_str().unwrap()];
    let outcome = check(&desk, "orders", std::path::Path::new("orders.csv"), &more);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    let found = reasons(&report);
    let mut line = 2;
    let mut found = found.iter();
    let mut bad = Vec::new();
    for (row, expected) in LINES {
        if !expected.is_empty() {
            let (at, reasons) = found.next().unwrap();
            assert_eq!(*at, line, "{row}");
            for part in expected {
                assert!(reasons.iter().any(|reason| reason.contains(part)), "{row}: {reasons:?}");
            }
            bad.push(row);
        }
        line += row.lines().count() as u64;
    }
    assert!(found.next().is_none());
    assert_eq!(report["rows"], LINES.len());
    assert_eq!(report["bad_rows"], bad.len());
    let tally = report["reasons"].as_array().unwrap();
    let of = |reason: &str| {
        let kind = |kind: &&Value| kind["reason"].as_str().unwrap().contains(reason);
        tally.iter().find(kind).map(|kind| kind["rows"].as_u64().unwrap())
    };
    assert_eq!(of("has the same `PRIMARY` key as an earlier row"), Some(2));
    assert_eq!(of("`later`"), Some(2));
    assert_eq!(of("foreign key"), Some(2));
    assert_eq!(report["not_judged"], Value::Array(Vec::new()));
    let written = fs::read_to_string(&rejects).unwrap();
    assert_eq!(written, format!("{COLUMNS}\n{}\n", bad.join("\n")));
    let jsonl = fs::read_to_string(rejects.with_extension("csv.reasons.jsonl")).unwrap();
    assert_eq!(jsonl.lines().count(), bad.len());
    assert_eq!((desk.files(), desk.rows("SHOW TABLES"), desk.rows("SELECT * FROM orders")), seen);
    assert!(!desk.home.path().join("state/inrush").exists(), "no journal of a check");
    assert_eq!(desk.home.temp_files(), [""; 0]);

    let told = check(&desk, "orders", &file, &["--header"]);
    assert_eq!(told.code(), 3);
    for part in ["15 rows, 11 of them bad", "`price` is out of range", "CHECK constraint `dear`"] {
        assert!(told.out.contains(part), "{told:?}");
    }
    let dry = run(desk
        .home
        .load(desk.server, &desk.table("orders"), &file)
        .args(["--header", "--dry-run"]));
    assert_eq!((dry.code(), &dry.out), (3, &told.out));
}

#[test]
fn what_is_found_is_what_the_server_refuses_row_by_row() {
    let Some(mut desk) = desk() else { return };
    desk.exec("SET SESSION autocommit=0");
    for (line, expected) in LINES {
        let file = desk.home.file("one.csv", format!("{line}\n"));
        let sql = format!(
            "LOAD DATA INFILE '{}' INTO TABLE orders CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
             OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' ({COLUMNS})",
            file.display()
        );
        let loaded = desk.session.exec(&sql);
        desk.exec("ROLLBACK");
        let alone = check(&desk, "orders", &file, &["--columns", COLUMNS]);
        let is_good = alone.code() == 0;
        assert_eq!(is_good, loaded.is_ok(), "{line}: {loaded:?} {alone:?}");
        let is_about_others = expected.iter().any(|reason| reason.contains("line 2"));
        assert!(is_good == expected.is_empty() || is_about_others, "{line}: {alone:?}");
    }
}

#[test]
fn who_may_only_read_can_check_and_the_server_notes_no_change() {
    let Some(mut desk) = desk() else { return };
    let database = desk.database.clone();
    desk.exec(&format!("CREATE USER reader_{database}@localhost"));
    desk.exec(&format!("GRANT SELECT ON {database}.* TO reader_{database}@localhost"));
    let file = desk.home.file("rows.csv", "1,1,2026-01-01,12.50,abc,x,2026-01-02\n");
    let user = format!("reader_{database}");
    let more = ["--columns", COLUMNS, "--user", &user];
    let clean = check(&desk, "orders", &file, &more);
    clean.done();
    assert!(clean.out.contains("orders: 1 row, nothing wrong"), "{clean:?}");
    for part in ["unique key `PRIMARY`", "unique key `code`", "foreign key `by_whom`", "`later`"] {
        assert!(clean.out.contains(part), "{clean:?}");
    }
    desk.exec(&format!("DROP USER {user}@localhost"));
}

#[test]
fn options_say_which_rows_are_bad() {
    let Some(mut desk) = desk() else { return };
    let file = desk
        .home
        .file("rows.csv", "100,7,2026-01-01,12.50,abc,x,NULL\n100,7,2026-01-01,9,a,y,NULL\n");
    let bad = |desk: &Desk, more: &[&str]| {
        let outcome =
            check(desk, "orders", &file, &[&["--columns", COLUMNS, "--json"], more].concat());
        let report: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(outcome.code(), if report["bad_rows"] == 0 { 0 } else { 3 });
        let all: Vec<String> =
            reasons(&report).into_iter().flat_map(|(_, reasons)| reasons).collect();
        all.join("; ")
    };
    let all = bad(&desk, &[]);
    for part in ["key as a row of the table", "rows.csv line 1", "refers"] {
        assert!(all.contains(part), "{all}");
    }
    let replaced = bad(&desk, &["--mode", "replace", "--no-foreign-key-checks"]);
    assert!(replaced.contains("line 1") && !replaced.contains("row of the table"), "{replaced}");
    assert!(!replaced.contains("refers"), "{replaced}");
    let skipped = bad(&desk, &["--on-duplicate", "skip", "--no-foreign-key-checks"]);
    assert_eq!(skipped, "");
    check(&desk, "nowhere", &file, &[]).refused(2, &["nowhere does not exist"]);
    check(&desk, "orders", &file, &["--columns", "id,nothing"]).refused(2, &["nothing"]);
    desk.exec("CREATE VIEW v AS SELECT * FROM orders");
    check(&desk, "v", &file, &[]).refused(2, &["is a view"]);
    let whole = desk.database.clone();
    let load = desk.home.inrush(["check", "rows.csv", "--into", &whole]).output().unwrap();
    assert_eq!(load.status.code(), Some(2));
}

#[test]
fn rows_of_one_input_may_refer_to_each_other() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, up INT, word VARCHAR(9), KEY (word(3)), \
         FOREIGN KEY (up) REFERENCES t (id))",
    );
    desk.exec("INSERT INTO t VALUES (50, NULL, '')");
    let file = desk.home.file("t.txt", "1\t3\ta\n2\t1\tb\n3\t\\N\tc\n4\t50\td\n5\t7\te\n6\t6\tf\n");
    let outcome = check(&desk, "t", &file, &[]);
    assert_eq!(outcome.code(), 3);
    assert!(
        outcome.out.contains("6 rows, 1 of them bad") && outcome.out.contains("line 5"),
        "{outcome:?}"
    );
    // The row it referred to goes with those that are replaced.
    let replaced = check(&desk, "t", &file, &["--mode", "replace"]);
    assert!(replaced.out.contains("2 of them bad"), "{replaced:?}");
}

/// Each row has all constraints in the statement that asks for it: 200 rows of these are 17 MB.
#[test]
fn many_constraints_are_judged_in_statements_that_the_server_takes() {
    let Some(mut desk) = Desk::new() else { return };
    let constraint = |number| {
        let word = "x".repeat(70);
        format!(", CONSTRAINT c{number} CHECK (n<>{number} OR w='{word}')")
    };
    let checks: String = (0..500).map(constraint).collect();
    desk.exec(&format!("CREATE TABLE t (id INT PRIMARY KEY, n INT, w TEXT{checks})"));
    let rows: String =
        (0..400).map(|id| format!("{id},{},word\n", if id == 301 { 3 } else { 900 })).collect();
    let file = desk.home.file("t.csv", rows);
    let outcome = check(&desk, "t", &file, &["--json"]);
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    let found = reasons(&report);
    assert_eq!((&report["bad_rows"], found[0].0), (&1.into(), 302), "{outcome:?}");
    assert!(found[0].1[0].contains("fails the CHECK constraint `c3`"), "{:?}", found[0].1[0].len());
}

#[test]
fn what_is_not_judged_is_said() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(9), half DOUBLE, made DATETIME \
         DEFAULT NOW(), UNIQUE KEY w (word(3)), UNIQUE KEY h (half), CONSTRAINT c CHECK (made > '2026-01-01'), \
         CONSTRAINT d CHECK (half < 9))",
    );
    desk.exec("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.half = 1");
    desk.exec("INSERT INTO t (word, half) VALUES ('abcd', 3)");
    let file = desk.home.file("t.csv", "0,abcz,3\n0,xyzab,7\nNULL,xyzcd,9\n");
    let outcome = check(&desk, "t", &file, &["--columns", "id,word,half"]);
    assert_eq!(outcome.code(), 3);
    for part in [
        "1 of them bad",
        "has the same `w` key as ",
        "fails the CHECK constraint `d`",
        "not checked: rows of the table, for the key `w`",
        "not checked: rows of the table, for the key `h`",
        "not checked: CHECK constraint `c`: the values of `made` are unknown",
        "not checked: changes of rows by trigger `tr`",
    ] {
        assert!(outcome.out.contains(part), "{part}: {outcome:?}");
    }
}

#[test]
fn many_bad_rows_take_no_more_memory_and_only_some_are_told() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {}", crate::support::COLUMNS));
    let twice = lines(20_000).repeat(2);
    let file = desk.home.file("rows.txt", &twice);
    let outcome = check(&desk, "t", &file, &["--json", "--memory", "30M"]);
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((&report["rows"], &report["bad_rows"]), (&40_000.into(), &20_000.into()));
    assert_eq!(report["first"].as_array().unwrap().len(), 20);
    assert_eq!(report["first"][0]["line"], 20_001);
    assert_eq!(report["reasons"].as_array().unwrap().len(), 2, "by both keys");
}

/// Those that LOAD DATA refuses with error 1526, and no others.
#[test]
fn rows_that_no_partition_takes_are_told() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE sales (id INT AUTO_INCREMENT, day DATE, n DECIMAL(5,2), KEY (id)) PARTITION BY RANGE \
         (YEAR(day)) (PARTITION a VALUES LESS THAN (2020), PARTITION b VALUES LESS THAN (2025))",
    );
    let lines = [
        "1,2019-12-31,1",
        "2,2025-01-01,1",
        "3,2024-12-31,x",
        "4,2030-05-05,x",
        "5,day,1",
        "6,NULL,1",
    ];
    let file = desk.home.file("sales.csv", format!("{}\n", lines.join("\n")));
    let report = |desk: &Desk, table: &str, code: i32| -> Value {
        let outcome = check(desk, table, &file, &["--json"]);
        assert_eq!(outcome.code(), code, "{outcome:?}");
        serde_json::from_str(&outcome.out).unwrap()
    };
    let found = report(&desk, "sales", 3);
    let none = |year: u32| format!("Table has no partition for value {year} (server error 1526)");
    let expected = [
        (2, vec![none(2025)]),
        (3, vec!["not DECIMAL".to_owned()]),
        (4, vec!["not DECIMAL".to_owned(), none(2030)]),
        (5, vec!["not DATE".to_owned()]),
    ];
    let told = reasons(&found);
    assert_eq!(told.len(), expected.len(), "{found}");
    for ((line, reasons), (expected_line, parts)) in told.iter().zip(&expected) {
        assert_eq!((line, reasons.len()), (expected_line, parts.len()), "{found}");
        let mut pairs = reasons.iter().zip(parts);
        assert!(pairs.all(|(reason, part)| reason.contains(part)), "{found}");
    }
    let tally = found["reasons"].as_array().unwrap().iter();
    let mut tally = tally.map(|kind| (kind["reason"].as_str().unwrap(), kind["rows"].as_u64()));
    assert!(
        tally.any(|kind| kind == ("the table has no partition for the row", Some(2))),
        "{found}"
    );
    assert_eq!(found["judged"], serde_json::json!(["partitions"]));
    assert_eq!(found["not_judged"], serde_json::json!([]));
    // The server says the same of each.
    for (at, line) in lines.iter().enumerate() {
        let file = desk.home.file("line.csv", format!("{line}\n"));
        let loaded = desk.load("sales", &file, &["--path", "stream", "--mode", "append"]);
        let is_refused = told.iter().any(|(bad, _)| *bad == at as u64 + 1);
        assert_eq!(loaded.code() != 0, is_refused, "{line}: {loaded:?}");
    }
    // By the number that the server will generate, or by what is not known here.
    for (by, why) in [
        ("RANGE (id) (PARTITION a VALUES LESS THAN (9))", "partitions of 6 row(s)"),
        (
            "RANGE (YEARWEEK(day, 1)) (PARTITION a VALUES LESS THAN (202101))",
            "partitions of rows: partitions by yearweek(",
        ),
    ] {
        desk.exec("CREATE OR REPLACE TABLE other LIKE sales");
        desk.exec(&format!("ALTER TABLE other PARTITION BY {by}"));
        let text = lines.map(|line| format!("0{}\n", &line[1..])).concat();
        std::fs::write(&file, text).unwrap();
        let found = report(&desk, "other", 3);
        let not_judged = found["not_judged"].as_array().unwrap();
        assert!(not_judged.len() == 1 && not_judged[0].as_str().unwrap().contains(why), "{found}");
    }
}
