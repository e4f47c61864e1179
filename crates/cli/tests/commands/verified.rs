//! `inrush verify`: whether a table holds exactly the rows of files, and which differ.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::support::{Desk, Outcome};

fn verify(desk: &Desk, table: &str, file: &Path, more: &[&str]) -> Outcome {
    desk.verify(table, file, more)
}

fn told(desk: &Desk, table: &str, file: &Path, more: &[&str]) -> Value {
    let told = verify(desk, table, file, &[more, &["--json"]].concat());
    let told_code = told.code();
    let report: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}"));
    let is_same = ["missing_rows", "changed_rows", "extra_rows", "refused_rows"]
        .iter()
        .all(|kind| report[kind] == 0);
    assert_eq!(told_code, if is_same { 0 } else { 3 }, "{told:?}");
    report
}

/// Keys of the first rows of a kind.
fn keys<'r>(report: &'r Value, kind: &str) -> Vec<&'r str> {
    let rows = report[kind].as_array().unwrap().iter();
    rows.map(|row| row["key"].as_str().unwrap()).collect()
}

#[test]
fn each_kind_of_difference_is_found_and_named() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, f FLOAT, d DOUBLE, s SET('a','b'), made TIMESTAMP NULL, \
         w VARCHAR(20) COLLATE utf8mb4_general_ci, v INT AS (id * 2)) DEFAULT CHARSET=utf8mb4",
    );
    let mut text = String::from("id,f,d,s,made,w\n");
    for id in 1..=3000 {
        let third = f64::from(id) / 3.0;
        let made = format!("2024-03-31 01:{:02}:00", id % 60);
        writeln!(text, "{id},{third},{third},\"a,b\",{made},\"wörd {id}\"").unwrap();
    }
    let file = desk.home.file("t.csv", &text);
    let more = ["--header", "--time-zone", "+03:00"];
    desk.load("t", &file, &[&more[..], &["--path", "auto"]].concat()).done();
    let same = told(&desk, "t", &file, &more);
    assert_eq!((&same["rows"], &same["table_rows"]), (&3000.into(), &3000.into()));
    assert_eq!(same["not_compared"], serde_json::json!(["column `v`"]));
    // Everything as another zone's clocks show it.
    let other = told(&desk, "t", &file, &["--header", "--time-zone", "+00:00"]);
    assert_eq!(other["changed_rows"], 3000);
    assert_eq!(keys(&other, "first_changed").len(), 20);

    assert_eq!(desk.home.temp_files(), [""; 0]);

    desk.exec("DELETE FROM t WHERE id IN (7, 8)");
    desk.exec("UPDATE t SET w='Wörd 9' WHERE id=9");
    desk.exec("UPDATE t SET f=f*(1+1e-7) WHERE id=10");
    desk.exec("INSERT INTO t (id) VALUES (-5)");
    std::fs::write(&file, format!("{text}x,1,1,a,NULL,no\n")).unwrap();
    let report = told(&desk, "t", &file, &more);
    assert_eq!(keys(&report, "first_missing"), ["(7)", "(8)"]);
    assert_eq!(keys(&report, "first_changed"), ["(9)", "(10)"]);
    assert_eq!(keys(&report, "first_extra"), ["(-5)"]);
    assert_eq!(report["refused_rows"], 1);
    assert!(report["first_missing"][0]["place"].as_str().unwrap().contains("t.csv line 8 (byte"));
    let shown = verify(&desk, "t", &file, &more);
    for part in [
        "different, 3,001 rows of input and 2,999 rows of the table",
        "2 rows that the table lacks",
        "2 rows that the table has with other values",
        "1 row that the input lacks\n    (-5)\n",
        "1 row of the input not compared, because the table would reject",
        "\n  compared: id, f, d, s, made, w",
    ] {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
}

/// `NOW()` has another value when the table is compared.
#[test]
fn values_of_expressions_are_not_compared() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, made DATETIME(6), origin VARCHAR(9))");
    let file = desk.home.file("t.csv", "1\n2\n");
    let more = ["--columns=id", "--set-sql=made=NOW(6)", "--set=origin=web"];
    desk.load("t", &file, &more).done();
    let same = told(&desk, "t", &file, &more);
    assert_eq!(same["compared"], serde_json::json!(["id", "origin"]));
    assert_eq!(same["not_compared"], serde_json::json!(["column `made`"]));
    let other = told(&desk, "t", &file, &[&more[..2], &["--set=origin=shop"]].concat());
    assert_eq!(other["changed_rows"], 2);
}

/// The largest value of FLOAT(10,2) is stored as a larger number.
#[test]
fn largest_values_of_a_float_with_digits_are_the_same() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, f FLOAT(10,2), g FLOAT(5,3) UNSIGNED)");
    let file = desk.home.file("t.csv", "1,99999999.99,99.999\n2,-99999999.99,0.001\n3,-0,1.0005\n");
    desk.load("t", &file, &[]).done();
    assert_eq!(told(&desk, "t", &file, &[])["changed_rows"], 0);
    desk.exec("UPDATE t SET f=99999990 WHERE id=1");
    assert_eq!(keys(&told(&desk, "t", &file, &[]), "first_changed"), ["(1)"]);
}

#[test]
fn a_line_feed_in_a_key_begins_no_line_of_the_report() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a VARCHAR(30) PRIMARY KEY)");
    desk.exec("INSERT INTO t VALUES ('x\\nt: the same')");
    let told = desk.verify("t", &desk.home.file("rows", "y\n"), &[]);
    assert_eq!(told.code(), 3, "{told:?}");
    assert!(!told.out.contains("\nt: the same"), "{told:?}");
}

#[test]
fn rows_without_a_key_are_counted_and_generated_numbers_left_out() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE bare (a INT, b VARCHAR(5))");
    let file = desk.home.file("bare", "1,x\n1,x\n2,y\n");
    let csv = ["--dialect", "csv"];
    desk.load("bare", &file, &csv).done();
    assert_eq!(told(&desk, "bare", &file, &csv)["table_rows"], 3);
    desk.exec("INSERT INTO bare VALUES (1, 'x'), (2, NULL)");
    let report = told(&desk, "bare", &file, &csv);
    assert_eq!((&report["extra_rows"], &report["missing_rows"]), (&2.into(), &0.into()));
    assert_eq!(keys(&report, "first_extra"), ["(1, x)", "(2, NULL)"]);

    desk.exec("CREATE TABLE numbered (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(5))");
    let file = desk.home.file("numbered", "0,x\n9,y\nNULL,z\n");
    desk.load("numbered", &file, &csv).done();
    let report = told(&desk, "numbered", &file, &csv);
    assert_eq!(report["not_compared"], serde_json::json!(["column `id`"]));
    desk.exec("CREATE TABLE only_numbers (id INT PRIMARY KEY AUTO_INCREMENT)");
    let file = desk.home.file("only_numbers", "0\n");
    verify(&desk, "only_numbers", &file, &csv).refused(2, &["no column", "can be compared"]);
    verify(&desk, "none", &file, &csv).refused(2, &["does not exist"]);
}
