//! A table that an interrupted swap put aside holds rows that are nowhere else: no load drops it
//! before the table itself has rows.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

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

/// The name that the swap of one command, which replaces rows of `t`, gives the old table.
fn proven_aside(desk: &mut Desk, file: &Path, options: &[&str]) -> String {
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    desk.exec("INSERT INTO t VALUES (1), (2)");
    let mut load = desk.home.load(desk.server, &desk.table("t"), file);
    let dead = run(load.args(options).env("INRUSH_FAILPOINT", "publish.moved=kill"));
    assert_eq!(dead.status.signal(), Some(9), "{dead:?}");
    let database = desk.database.clone();
    let there = tables(&mut desk.session, &database);
    let aside = there.into_iter().find(|name| name.contains("_by_")).unwrap();
    desk.exec("DROP TABLE t");
    aside
}

/// A server killed in a RENAME that is not atomic: the old table has the name with the proof of its command.
#[test]
fn the_same_command_does_not_drop_the_old_table_for_an_empty_one() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("rows.csv", "a\n7\n");
    let ddl = desk.home.file("t.sql", "CREATE TABLE t (a INT PRIMARY KEY)");
    let ddl = ["--ddl", ddl.to_str().unwrap()];
    for path in ["direct", "stream", "insert"] {
        let replace = ["--header", "--mode", "replace", "--path", path];
        let with_ddl = [&replace[..], &ddl].concat();
        let aside = proven_aside(&mut desk, &file, &with_ddl);
        for options in [&replace[..], &with_ddl] {
            let load = desk.load("t", &file, options);
            load.refused(2, &["t does not exist, because a load renamed it", &aside]);
        }
        // A table made anew by hand has no rows yet.
        desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
        let load = desk.load("t", &file, &with_ddl);
        load.refused(2, &["t has no rows, but", &aside, "has rows: DROP TABLE"]);
        assert_eq!(desk.rows(&format!("SELECT * FROM `{aside}`")), ["1", "2"]);
        desk.exec("DROP TABLE t");
        desk.exec(&format!("RENAME TABLE `{aside}` TO t"));
        desk.load("t", &file, &with_ddl).done();
        let database = desk.database.clone();
        assert_eq!(tables(&mut desk.session, &database), ["t"]);
        assert_eq!(desk.rows("SELECT * FROM t"), ["7"]);
        desk.exec("DROP TABLE t");
    }
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
