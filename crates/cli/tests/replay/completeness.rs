//! Checks that a dump is whole, and has everything that was selected.

use std::fs;

use super::yard::Yard;
use crate::support::run;

#[test]
fn a_dump_that_was_cut_between_two_statements_is_told() {
    let Some(mut yard) = Yard::of(&["links"]) else { return };
    let dump = yard.dump_all("whole.sql", &[]);
    let whole = fs::read_to_string(&dump).unwrap();
    let (before, _) = whole.rsplit_once("\n-- Dump completed").unwrap();
    let cut = yard.home.file("cut.sql", before);
    // As the client, which does not see it.
    let expected = yard.seen();
    for dry in [&[][..], &["--dry-run"]] {
        for (file, more, code) in [
            (&dump, &[][..], 0),
            (&cut, &[], 3),
            (&cut, &["--partial"], 0),
            (&cut, &["--quiet"], 3),
        ] {
            yard.wipe();
            let outcome = run(yard.replay(file, more).args(dry));
            let what = format!("{file:?} {more:?} {dry:?}: {outcome:?}");
            assert_eq!(outcome.code(), code, "{what}");
            let said = [outcome.out.as_str(), &outcome.err].concat();
            assert_eq!(said.contains("warning: "), code == 3, "{what}");
            assert_eq!(said.contains("cut.sql lacks its last line"), *file == cut, "{what}");
            if dry.is_empty() {
                super::yard::same(&what, &yard.seen(), &expected);
            }
        }
    }
}

#[test]
fn a_dump_that_was_cut_inside_a_statement_is_told_before_the_statement_is_sent() {
    let Some(yard) = Yard::new(&["inside"]) else { return };
    let text = format!("USE `{}`;\nCREATE TABLE a (i INT, v INT);\n", yard.databases[0]);
    for cut in ["CREATE TABLE b (\n  i INT,\n  v", "INSERT INTO a VALUES (1,2),(3,"] {
        let dump = yard.home.file("inside.sql", format!("{text}{cut}"));
        for more in [&["--dry-run"][..], &[]] {
            let outcome = run(&mut yard.replay(&dump, more));
            outcome
                .refused(1, &["inside.sql line 3 (byte ", "the file ends inside this statement"]);
            assert!(!outcome.err.contains("server error"), "{outcome:?}");
        }
    }
}

#[test]
fn tables_that_are_asked_for_and_not_there_are_told() {
    let Some(mut yard) = Yard::new(&["asked"]) else { return };
    let database = yard.databases[0].clone();
    let text = format!("USE `{database}`;\nCREATE TABLE a (i INT);\nINSERT INTO a VALUES (1);\n");
    let dump = yard.home.file("asked.sql", text);
    for dry in [&[][..], &["--dry-run"]] {
        let outcome = run(yard.replay(&dump, &["--tables", "A,b.*"]).args(dry));
        outcome.refused(2, &["no table or view", "(A, b.*)"]);
        assert_eq!(yard.session.query(&format!("SHOW TABLES FROM {database}")).unwrap(), []);
        let outcome = run(yard.replay(&dump, &["--tables", "a,b", "--json"]).args(dry));
        assert_eq!(outcome.code(), 3, "{outcome:?}");
        assert!(outcome.out.contains("the dump has no table or view that --tables b names"));
        run(yard.replay(&dump, &["--tables", "?"]).args(dry).arg("--fresh"));
        yard.session.exec(&format!("DROP TABLE IF EXISTS {database}.a")).unwrap();
    }
}

/// DROP DATABASE was left for the end, and took with it what had gone in.
#[test]
fn a_database_that_the_dump_drops_and_makes_has_its_tables() {
    let Some(mut yard) = Yard::new(&["dropped"]) else { return };
    let database = yard.databases[0].clone();
    let text = format!(
        "DROP DATABASE IF EXISTS `{database}`;\nCREATE DATABASE `{database}`;\nUSE `{database}`;\n\
         CREATE TABLE a (i INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO a VALUES (1),(2);\n"
    );
    let dump = yard.home.file("dropped.sql", text);
    let count = format!("SELECT COUNT(*) FROM `{database}`.a");
    // It is there, and could not be had back.
    yard.session.exec(&format!("CREATE TABLE `{database}`.a (i INT)")).unwrap();
    run(&mut yard.replay(&dump, &["--atomic"])).refused(1, &["line 1", "--atomic", &database]);
    assert_eq!(yard.session.query_row(&count).unwrap().text_lossy(0), "0");
    yard.wipe();
    run(&mut yard.replay(&dump, &["--atomic"])).done();
    assert_eq!(yard.session.query_row(&count).unwrap().text_lossy(0), "2");
    run(&mut yard.replay(&dump, &[])).done();
    assert_eq!(yard.session.query_row(&count).unwrap().text_lossy(0), "2");
}
