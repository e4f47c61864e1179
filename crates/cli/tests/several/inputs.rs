//! Which files go to which tables, and what is refused before anything is done.

use std::io::Write as _;

use crate::support::{Desk, Outcome, run};

/// `inrush COMMAND FILES --into DATABASE` with `more`.
fn inrush(desk: &Desk, command: &str, files: &[&str], more: &[&str]) -> Outcome {
    let mut command = desk.home.inrush([command]);
    command.args(files).args(["--into", &desk.database, "--memory", "40M"]);
    command.arg("--socket").arg(desk.server.socket());
    run(command.args(more))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn files_go_to_the_tables_that_they_are_named_after() {
    let Some(mut desk) = Desk::new() else { return };
    for table in ["orders", "item", "customer"] {
        desk.exec(&format!("CREATE TABLE {table} (a INT PRIMARY KEY, b VARCHAR(9))"));
    }
    let database = desk.database.clone();
    desk.home.file(&format!("{database}.orders.2.csv"), "2,two\n");
    desk.home.file(&format!("{database}.orders.10.csv.gz"), gzip("3,\"three\"\n"));
    desk.home.file("item.tbl", "1|one|\n");
    desk.home.file("cust-a.tsv", "1\tone\n");
    desk.home.file("cust-b.tsv", "2\ttwo\n");
    let files = [
        &format!("{database}.orders.10.csv.gz"),
        &format!("{database}.orders.2.csv"),
        "item.tbl",
        "cust-*.tsv",
    ];
    let map = ["--map", "cust-*=customer"];
    let plan = inrush(&desk, "plan", &files, &map);
    for said in [
        "3 tables from",
        "all published at once, or none",
        &format!("{database}.orders: stream path"),
    ] {
        assert!(plan.done().out.contains(said), "{said}: {plan:?}");
    }
    assert_eq!(desk.rows("SELECT * FROM orders"), [""; 0]);
    let json = inrush(&desk, "plan", &files, &[map[0], map[1], "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.done().out).unwrap();
    assert_eq!(json["tables"].as_array().map(Vec::len), Some(3));
    let loaded = inrush(&desk, "load", &files, &map);
    assert!(loaded.done().out.contains("5 rows loaded into 3 tables at once"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM orders ORDER BY a"), ["2|two", "3|three"]);
    assert_eq!(desk.rows("SELECT * FROM item"), ["1|one"]);
    assert_eq!(desk.rows("SELECT * FROM customer ORDER BY a"), ["1|one", "2|two"]);
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_done() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    desk.exec("CREATE TABLE u (a INT PRIMARY KEY)");
    desk.exec("CREATE TABLE child (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES u (a))");
    desk.exec("CREATE TABLE g (a INT PRIMARY KEY)");
    desk.exec("CREATE TRIGGER g BEFORE INSERT ON g FOR EACH ROW SET NEW.a = NEW.a");
    for name in [
        "g.csv",
        "t.csv",
        "t.tbl",
        "t.1.csv",
        "t.2.tbl",
        "v.csv",
        "w.csv",
        "x.csv",
        "y.csv",
        "other.t.csv",
        "child.csv",
        "u.csv",
    ] {
        desk.home.file(name, "1\n");
    }
    std::fs::create_dir(desk.home.path().join("empty")).unwrap();
    let database = desk.database.clone();
    let missing =
        format!("tables do not exist: {database}.v (for v.csv), {database}.w (for w.csv)");
    let several = format!("{missing}, {database}.x (for x.csv), and 1 more; --ddl FILE");
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["v.csv", "t.csv", "w.csv"], &[], &[&missing, "--map PATTERN="]),
        (&["v.csv", "w.csv", "x.csv", "y.csv"], &[], &[&several]),
        (&["t.csv", "t.tbl"], &[], &["are both named after table t"]),
        (&["t.1.csv", "t.2.tbl"], &[], &["have endings of two dialects"]),
        (&["other.t.csv"], &[], &["its name is that of other.t", "one database"]),
        (&["-"], &["--map", "stdin=t"], &["/dev/stdin is a pipe"]),
        (&["empty"], &[], &["there are no files in empty"]),
        (&["t.csv"], &["--map", "x*=t"], &["x*=t: no file matches"]),
        (&["t.csv"], &["--columns", "a"], &["--columns is for one table, but --into", "--header"]),
        (
            &["t.csv"],
            &["--create", "--decimal-comma"],
            &["--create detects decimal commas", "--format-of COLUMN=FORMAT needs --types"],
        ),
        (&["t.csv"], &["--ddl", "t.csv"], &["--ddl contains no CREATE TABLE for any table in"]),
        (&["t.csv", "g.csv", "u.csv"], &["--path", "direct"], &["g", "trigger"]),
    ];
    for (files, more, parts) in cases {
        inrush(&desk, "load", files, more).refused(2, parts);
    }
    let into = format!("{database}.t");
    let mut one = desk.home.load(desk.server, &into, &desk.home.path().join("t.csv"));
    run(one.arg("--each")).refused(2, &["--map and --each are for several tables"]);
    assert_eq!(desk.rows("SELECT * FROM t"), [""; 0]);
    // Parents before children, each for itself.
    let plan = inrush(&desk, "plan", &["child.csv", "t.csv", "u.csv"], &["--each", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&plan.done().out).unwrap();
    let tables = plan["tables"].as_array().unwrap();
    let place = |name: &str| {
        tables.iter().position(|table| table["target"] == format!("{database}.{name}")).unwrap()
    };
    assert!(place("u") < place("child"), "{plan}");
    assert_eq!(plan["atomic"].as_bool(), Some(false));
    let each = inrush(&desk, "load", &["child.csv", "t.csv", "u.csv"], &["--each"]);
    assert!(each.done().out.contains("3 rows loaded into 3 tables, 0 rejected"), "{each:?}");
    assert_eq!(desk.rows("SELECT * FROM child"), ["1"]);
    let again = inrush(&desk, "load", &["child.csv", "t.csv", "u.csv"], &["--each"]);
    again.refused(2, &["no table was loaded", "is not empty"]);
}
