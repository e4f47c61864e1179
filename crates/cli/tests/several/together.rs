//! All tables or none: bad rows, other loads, many tables.

use std::fmt::Write as _;

use testkit::TestServer;

use super::yard::{TABLES, Yard};
use crate::scene::Mode;
use crate::support::{Desk, finish, names, resume, run, start, tables, wait_paused};

#[test]
fn a_bad_row_in_the_last_file_leaves_every_table_as_it_was() {
    let Some(server) = TestServer::shared() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        for path in ["direct", "stream"] {
            let mut yard = Yard::new(server, mode);
            // The smallest is the last.
            let last = yard.folder().join("a.txt");
            let mut text = std::fs::read_to_string(&last).unwrap();
            text.push_str("x\t1\tn\tb\n");
            std::fs::write(&last, text).unwrap();
            let refused = run(yard.command().args(["--path", path]));
            refused.refused(
                1,
                &[&format!("{}.a: ", yard.database), "line 301", "none of the 3 tables"],
            );
            assert!(!yard.is_new(), "{mode:?} {path}");
            yard.clean(path);
        }
    }
}

#[test]
fn every_table_with_bad_rows_is_named_by_one_run() {
    let Some(server) = TestServer::shared() else { return };
    for path in ["auto", "direct", "stream"] {
        let mut yard = Yard::new(server, Mode::Insert);
        for (table, bad) in [("a", "x\t1\tn\tb\n"), ("c", "x\t1\tn\tb\ny\t1\tn\tb\n")] {
            let file = yard.folder().join(format!("{table}.txt"));
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text + bad).unwrap();
        }
        let refused = run(yard.command().args(["--path", path]));
        refused.refused(1, &["none of the 3 tables was changed; another table has bad rows: "]);
        // Which one ends the load depends on the order in which they are read.
        let (first, other) = refused.err.split_once("; another").unwrap();
        let of = |text: &str, table: &str| text.contains(&format!("{}.{table}: ", yard.database));
        let a = "1 bad row, the first is ";
        let c = "2 bad rows, the first is ";
        assert!(
            (of(first, "a") && of(other, "c") && other.contains(c) && other.contains("line 3001 "))
                || (of(first, "c")
                    && of(other, "a")
                    && other.contains(a)
                    && other.contains("line 301 ")),
            "{path}: {refused:?}"
        );
        assert!(other.contains("\"x\" is not INT"), "{path}: {refused:?}");
        assert!(!yard.is_new(), "{path}");
        yard.clean(path);
    }
}

#[test]
fn rows_of_several_tables_that_are_refused_go_to_files_of_their_own() {
    let Some(server) = TestServer::shared() else { return };
    let yard = Yard::new(server, Mode::Insert);
    for table in ["a", "c"] {
        let file = yard.folder().join(format!("{table}.txt"));
        let mut text = std::fs::read_to_string(&file).unwrap();
        writeln!(text, "bad {table}\t1\tn\tb").unwrap();
        std::fs::write(&file, text).unwrap();
    }
    std::fs::create_dir(yard.home.path().join("refused")).unwrap();
    let loaded = run(yard.command().args(["--rejects-max", "1", "--rejects", "refused", "--json"]));
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    let report: serde_json::Value = serde_json::from_str(&loaded.out).unwrap();
    assert_eq!((report["rejects"].as_u64(), report["rows"].as_u64()), (Some(2), Some(23_300)));
    assert_eq!(report["atomic"].as_bool(), Some(true));
    let targets: Vec<&str> = report["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["target"].as_str().unwrap().split('.').next_back().unwrap())
        .collect();
    assert_eq!(targets, ["b", "c", "a"], "the largest first");
    let refused = yard.home.path().join("refused");
    for table in ["a", "c"] {
        let rows = std::fs::read_to_string(refused.join(format!("{table}.rejects"))).unwrap();
        assert_eq!(rows, format!("bad {table}\t1\tn\tb\n"));
    }
    // Without a name they are beside the journal, those of a table without any are not.
    let again = run(yard.command().args(["--rejects-max", "1", "--mode", "replace"]));
    assert_eq!(again.code(), 3, "{again:?}");
    let jobs = names(&yard.home.path().join("state/inrush/jobs"));
    let kept: Vec<&str> = jobs
        .iter()
        .filter_map(|name| name.split_once('.').map(|(_, rest)| rest))
        .filter(|rest| rest.ends_with("rejects"))
        .collect();
    assert_eq!(kept, ["a.rejects", "c.rejects"]);
}

/// A FULLTEXT index keeps one of them from the direct path.
#[test]
fn tables_that_are_built_and_tables_that_are_sent_are_published_at_once() {
    let Some(server) = TestServer::shared() else { return };
    for path in ["auto", "stream", "insert"] {
        let mut yard = Yard::new(server, Mode::Replace);
        if path == "auto" {
            yard.session
                .exec(&format!("ALTER TABLE {}.c ADD FULLTEXT KEY f (name)", yard.database))
                .unwrap();
        }
        let loaded = run(yard.command().args(["--path", path, "--json"]));
        let report: serde_json::Value = serde_json::from_str(&loaded.done().out).unwrap();
        let paths: Vec<&str> = report["tables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|table| table["path"].as_str().unwrap())
            .collect();
        let expected = if path == "auto" { ["direct", "stream", "direct"] } else { [path; 3] };
        assert_eq!(paths, expected);
        assert!(yard.is_new(), "{path}");
        assert_eq!(tables(&mut yard.session, &yard.database), TABLES, "{path}");
    }
}

#[test]
fn two_loads_of_tables_that_they_share_do_not_wait_for_each_other_forever() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = Yard::new(server, Mode::Replace);
    let mut first = start(&mut yard.load_with("b.rows.begin=pause"));
    wait_paused(&mut first);
    // The other names them in another order, and shares two of them.
    let mut other = yard.home.inrush(["load"]);
    for table in ["c", "b"] {
        other.arg(yard.folder().join(format!("{table}.txt")));
    }
    other.args(["--into", &yard.database, "--mode", "replace", "--memory", "40M"]);
    let second = run(other.args(["--lock-wait", "1", "--socket"]).arg(server.socket()));
    second.refused(1, &["another load into", &format!("{}.b", yard.database), "is running"]);
    resume(&first);
    finish(first).done();
    assert!(yard.is_new());
    yard.clean("after both");
    // At the same time, again and again: each loads all of its tables or none.
    for _ in 0..3 {
        yard.reset();
        let children = [start(&mut yard.command()), start(&mut yard.command())];
        let ends: Vec<i32> = children.into_iter().map(|child| finish(child).code()).collect();
        assert!(ends.contains(&0), "{ends:?}");
        assert!(yard.is_new());
        yard.clean("after both at once");
    }
}

#[test]
fn rows_that_come_into_one_table_meanwhile_stop_the_load_of_all() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = Yard::new(server, Mode::Insert);
    let mut child = start(&mut yard.load_with("publish.begin=pause"));
    wait_paused(&mut child);
    let insert = format!("INSERT INTO {}.c VALUES (1, 2, 'mine', 'too')", yard.database);
    yard.session.exec(&insert).unwrap();
    resume(&child);
    let said = format!("{}.c is no longer empty", yard.database);
    finish(child).refused(1, &[&said, "none of the 3 tables was changed"]);
    let count = format!("SELECT COUNT(*) FROM {}.c", yard.database);
    assert_eq!(yard.session.query_text(&count).unwrap().as_deref(), Some("1"));
    yard.clean("after rows of others");
}

#[test]
fn a_signal_stops_the_load_of_all_tables() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = Yard::new(server, Mode::Replace);
    let mut child = start(&mut yard.load_with("c.rows.begin=pause"));
    wait_paused(&mut child);
    crate::support::signal(child.id(), "-INT");
    resume(&child);
    finish(child).refused(1, &["stopped by SIGINT during", "the 3 tables of"]);
    assert!(!yard.is_new());
    yard.clean("after a signal");
}

/// As many as in a schema of some size.
#[test]
fn a_hundred_tables_are_loaded_at_once() {
    many_tables(100);
}

#[test]
#[ignore = "half a minute, for `make soak`"]
fn a_thousand_tables_are_loaded_at_once() {
    many_tables(1_000);
}

fn many_tables(count: usize) {
    let Some(mut desk) = Desk::new() else { return };
    let folder = desk.home.path().join("rows");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..count {
        desk.exec(&format!("CREATE TABLE t{number} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b))"));
        let text: String = (0..10).map(|row| format!("{row}\trow {row} of {number}\n")).collect();
        std::fs::write(folder.join(format!("t{number}.txt")), text).unwrap();
    }
    let mut command = desk.home.load(desk.server, &desk.database, &folder);
    let report = run(command.args(["--json", "--memory", "64M"]));
    let report: serde_json::Value = serde_json::from_str(&report.done().out).unwrap();
    assert_eq!(report["rows"].as_u64(), Some(10 * count as u64));
    println!("{count} tables in {} s", report["seconds"]);
    for number in [0, count / 2, count - 1] {
        let rows = desk.rows(&format!("SELECT b FROM t{number} WHERE a = 7"));
        assert_eq!(rows, [format!("row 7 of {number}")]);
    }
    let database = desk.database.clone();
    assert_eq!(tables(&mut desk.session, &database).len(), count, "nothing else is left");
    assert_eq!(desk.files().len(), desk.server.database_files(&vec!["t"; count]).len());
}
