//! A table that an interrupted swap put aside holds rows that are nowhere else: no load drops it
//! before the table itself has rows.

use schema::TableName;
use targets::Names;

use crate::support::{Desk, run, tables};

/// The old table under the name that a swap gives it, as after a crash between its two renames.
fn put_aside(desk: &mut Desk) -> String {
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    desk.exec("INSERT INTO t VALUES (1), (2)");
    let aside = Names::of(&TableName::new(desk.database.clone(), "t")).replaced.table;
    desk.exec(&format!("RENAME TABLE t TO `{aside}`"));
    aside
}

#[test]
fn a_table_that_is_to_be_made_does_not_cost_the_one_put_aside() {
    let Some(mut desk) = Desk::new() else { return };
    let aside = put_aside(&mut desk);
    let file = desk.home.file("rows.csv", "a\n7\nx\n");
    let ddl = desk.home.file("t.sql", "CREATE TABLE t (a INT PRIMARY KEY)");
    let ddl = ["--ddl", ddl.to_str().unwrap(), "--header"];
    for path in ["direct", "stream", "insert"] {
        for more in [&ddl[..], &["--create"]] {
            let load = desk.load("t", &file, &[more, &["--path", path]].concat());
            load.refused(
                2,
                &["t does not exist, because a load renamed it", &aside, "RENAME TABLE"],
            );
            let into = desk.table("t");
            let plan = ["plan", file.to_str().unwrap(), "--into", &into, "--path", path];
            let mut plan = desk.home.inrush(plan);
            run(plan.arg("-S").arg(desk.server.socket()).args(more)).refused(2, &[&aside]);
        }
    }
    let database = desk.database.clone();
    assert_eq!(tables(&mut desk.session, &database), [aside.as_str()]);
    assert_eq!(desk.rows(&format!("SELECT * FROM `{aside}`")), ["1", "2"]);
}

#[test]
fn a_table_made_anew_by_hand_does_not_cost_it_either() {
    let Some(mut desk) = Desk::new() else { return };
    let aside = put_aside(&mut desk);
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows", "7\n");
    for path in ["direct", "stream", "insert"] {
        for mode in ["insert", "replace"] {
            let load = desk.load("t", &file, &["--path", path, "--mode", mode]);
            load.refused(2, &["t has no rows, but", &aside, "has rows: DROP TABLE"]);
        }
    }
    assert_eq!(desk.rows(&format!("SELECT * FROM `{aside}`")), ["1", "2"]);
    // With rows the table is the new one, and the other of no use.
    desk.exec("INSERT INTO t VALUES (3)");
    desk.load("t", &file, &["--mode", "replace"]).done();
    let database = desk.database.clone();
    assert_eq!(tables(&mut desk.session, &database), ["t"]);
    assert_eq!(desk.rows("SELECT * FROM t"), ["7"]);
}
