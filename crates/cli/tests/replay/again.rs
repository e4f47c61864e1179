//! The same command after a replay that failed: what was finished is passed over where it is as it
//! was left, and not where somebody has changed it since.

use server::Session;

use super::yard::Yard;
use crate::support::{Outcome, run};

/// Two tables, and a view of what is not there yet.
const DUMP: &str = "DROP TABLE IF EXISTS a;\nCREATE TABLE a (i INT PRIMARY KEY, v INT) ENGINE=InnoDB;\n\
     INSERT INTO a VALUES (1,1),(2,2);\n\
     DROP TABLE IF EXISTS b;\nCREATE TABLE b (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
     INSERT INTO b VALUES (1);\n";
const VIEW: &str = "CREATE VIEW v AS SELECT i FROM helper;\n";

struct Scene {
    yard: Yard,
    dump: std::path::PathBuf,
}

impl Scene {
    /// After a replay of `text` that has failed.
    fn failed(before: &str, text: &str) -> Option<Scene> {
        let mut yard = Yard::new(&["again"])?;
        let database = yard.databases[0].clone();
        yard.session.exec(&format!("USE {database}")).unwrap();
        all(&mut yard.session, before);
        let dump = yard.home.file("dump.sql", format!("USE {database};\n{text}"));
        let outcome = run(&mut yard.replay(&dump, &[]));
        outcome.refused(1, &["helper"]);
        all(&mut yard.session, "CREATE TABLE helper (i INT)");
        Some(Scene { yard, dump })
    }

    fn again(&self, more: &[&str]) -> Outcome {
        run(&mut self.yard.replay(&self.dump, more))
    }

    fn value(&mut self, sql: &str) -> String {
        self.yard.session.query_row(sql).unwrap().text_lossy(0)
    }
}

fn all(session: &mut Session, statements: &str) {
    let statements = statements.split(';').filter(|one| !one.trim().is_empty());
    statements.for_each(|one| drop(session.exec(one).unwrap()));
}

#[test]
fn a_replay_that_failed_goes_on_where_its_tables_are_unchanged() {
    let Some(mut scene) = Scene::failed("", &format!("{DUMP}{VIEW}")) else { return };
    // Were it filled again, it would be another table.
    let made = "SELECT CONCAT(CREATE_TIME) FROM information_schema.TABLES \
                WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='a'";
    let before = scene.value(made);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let outcome = scene.again(&[]);
    outcome.done();
    assert!(outcome.out.contains("are unchanged (--fresh begins anew)"), "{outcome:?}");
    assert!(outcome.out.contains("finished by an earlier, interrupted replay: "), "{outcome:?}");
    assert_eq!(scene.value(made), before);
    assert_eq!(scene.value("SELECT COUNT(*) FROM v"), "0");
}

/// Scripts of tools that drop all tables first were replayed from their beginning.
#[test]
fn tables_that_were_dropped_long_before_are_finished_too() {
    let text = "DROP TABLE IF EXISTS a;\nDROP TABLE IF EXISTS b;\n\
         CREATE TABLE a (i INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO a VALUES (1),(2);\n\
         CREATE TABLE b (i INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO b VALUES (1);\n";
    let before = "CREATE TABLE a (x INT);CREATE TABLE b (x INT)";
    let Some(mut scene) = Scene::failed(before, &format!("{text}{VIEW}")) else { return };
    let made = "SELECT GROUP_CONCAT(CREATE_TIME) FROM information_schema.TABLES \
                WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN ('a', 'b')";
    let before = scene.value(made);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let outcome = scene.again(&[]);
    outcome.done();
    assert!(outcome.out.contains("are unchanged (--fresh begins anew)"), "{outcome:?}");
    assert_eq!(scene.value(made), before);
    assert_eq!(scene.value("SELECT COUNT(*) FROM a"), "2");
}

#[test]
fn a_replay_that_failed_is_done_anew_where_its_tables_were_changed() {
    for change in [
        "UPDATE a SET v=7 WHERE i=2",
        "DELETE FROM a WHERE i=1",
        "ALTER TABLE a ADD x INT",
        "ALTER TABLE b COMMENT 'mine'",
    ] {
        let Some(mut scene) = Scene::failed("", &format!("{DUMP}{VIEW}")) else { return };
        all(&mut scene.yard.session, change);
        let outcome = scene.again(&[]);
        outcome.done();
        let said = "has changed since, or cannot be compared, so everything was";
        assert!(outcome.out.contains(said), "{change}: {outcome:?}");
        assert_eq!(scene.value("SELECT GROUP_CONCAT(i, '=', v ORDER BY i) FROM a"), "1=1,2=2");
        let shown = scene.yard.session.query_row("SHOW CREATE TABLE b").unwrap().text_lossy(1);
        assert!(!shown.contains("mine"), "{change}: {shown}");
    }
}

/// Statements that change no rows were said to change rows, and the dump was not replayed anew.
#[test]
fn a_replay_with_statements_that_change_no_rows_is_done_anew() {
    for text in
        ["ALTER TABLE a ADD UNIQUE KEY (v);", "BEGIN;\nSELECT * FROM a;\nCOMMIT;", "DESC a;"]
    {
        let Some(mut scene) = Scene::failed("", &format!("{DUMP}{text}\n{VIEW}")) else { return };
        all(&mut scene.yard.session, "UPDATE a SET v=7 WHERE i=2");
        let outcome = scene.again(&[]);
        outcome.done();
        assert!(outcome.out.contains("so everything was replayed anew"), "{text}: {outcome:?}");
        assert_eq!(scene.value("SELECT GROUP_CONCAT(i, '=', v ORDER BY i) FROM a"), "1=1,2=2");
        let shown = scene.yard.session.query_row("SHOW CREATE TABLE a").unwrap().text_lossy(1);
        assert!(!shown.contains("v_2"), "{text}: {shown}");
    }
}

#[test]
fn rows_that_a_failed_replay_added_are_not_added_twice_without_a_word() {
    let text = format!("INSERT INTO others VALUES (1),(2);\n{DUMP}{VIEW}");
    let before = "CREATE TABLE others (i INT) ENGINE=InnoDB";
    let Some(mut scene) = Scene::failed(before, &text) else { return };
    all(&mut scene.yard.session, "INSERT INTO a VALUES (3,3)");
    let outcome = scene.again(&[]);
    outcome.refused(1, &["others", "has changed since", "--fresh"]);
    assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "2");
    assert_eq!(scene.value("SELECT COUNT(*) FROM a"), "3");
    all(&mut scene.yard.session, "DELETE FROM others");
    scene.again(&["--fresh"]).done();
    assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "2");
    assert_eq!(scene.value("SELECT COUNT(*) FROM a"), "2");
}

/// Rows that were added are gone with their database, and the same command said that they may be there.
#[test]
fn a_replay_whose_database_was_dropped_begins_anew() {
    let text = format!(
        "CREATE TABLE IF NOT EXISTS others (i INT);\nINSERT INTO others VALUES (1),(2);\n{DUMP}{VIEW}"
    );
    let before = "CREATE TABLE others (i INT) ENGINE=InnoDB";
    let Some(mut scene) = Scene::failed(before, &text) else { return };
    let database = scene.yard.databases[0].clone();
    let anew = format!(
        "DROP DATABASE {database};CREATE DATABASE {database};USE {database};CREATE TABLE helper (i INT)"
    );
    all(&mut scene.yard.session, &anew);
    scene.again(&[]).done();
    assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "2");
    assert_eq!(scene.value("SELECT COUNT(*) FROM a"), "2");
}

/// Rows that triggers had written came twice when the table with the triggers was dropped, and theirs was not.
#[test]
fn rows_that_triggers_wrote_are_not_gone_with_the_table_that_has_them() {
    let text = format!(
        "CREATE TABLE t (i INT) ENGINE=InnoDB;\n\
         CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW INSERT INTO audit VALUES (NEW.i);\n\
         INSERT INTO t VALUES (1),(2);\n{VIEW}"
    );
    let before = "CREATE TABLE audit (i INT) ENGINE=InnoDB";
    let Some(mut scene) = Scene::failed(before, &text) else { return };
    assert_eq!(scene.value("SELECT COUNT(*) FROM audit"), "2");
    all(&mut scene.yard.session, "DROP TABLE t");
    scene.again(&[]).refused(1, &["had added rows to", "has changed since", "--fresh"]);
    assert_eq!(scene.value("SELECT COUNT(*) FROM audit"), "2");
    all(&mut scene.yard.session, "DELETE FROM audit");
    scene.again(&["--fresh"]).done();
    assert_eq!(scene.value("SELECT COUNT(*) FROM audit"), "2");
}

/// References of triggers and foreign keys to a database that the dump has only later, stayed that
/// database's, although everything goes into another one.
#[test]
fn a_database_that_comes_later_than_its_name_is_refused() {
    let Some(mut yard) = Yard::new(&["one", "two", "copy"]) else { return };
    let (one, two, copy) = match yard.databases.as_slice() {
        [one, two, copy] => (one.clone(), two.clone(), copy.clone()),
        _ => return,
    };
    let head = format!("USE `{one}`;\nCREATE TABLE t (i INT PRIMARY KEY) ENGINE=InnoDB;\n");
    let tail = format!(
        "USE `{two}`;\nCREATE TABLE audit (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
         INSERT INTO audit VALUES (1);\n"
    );
    let trigger = format!(
        "CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW INSERT INTO `{two}`.audit VALUES (NEW.i);\n"
    );
    let key = format!(
        "CREATE TABLE c (i INT, FOREIGN KEY (i) REFERENCES `{two}`.audit (i)) ENGINE=InnoDB;\n"
    );
    for (middle, is_mended) in [(&trigger, true), (&key, false)] {
        let dump =
            yard.home.file("dump.sql", format!("SET foreign_key_checks=0;\n{head}{middle}{tail}"));
        let remedy = if is_mended { "--atomic" } else { "dump of each database" };
        for dry in [&["--dry-run"][..], &[]] {
            let outcome = run(yard.replay(&dump, &["--into", &copy, "--fresh"]).args(dry));
            outcome.refused(1, &["line 4", &two, "has only here", remedy]);
            // A dry run has made nothing.
            assert!(!outcome.err.contains("it made in"), "{outcome:?}");
        }
        yard.wipe();
        yard.make_databases();
        if is_mended {
            run(&mut yard.replay(&dump, &["--into", &copy, "--fresh", "--atomic"])).done();
            let sql = format!("SHOW CREATE TRIGGER `{copy}`.r");
            let text = yard.session.query_row(&sql).unwrap().text_lossy(2);
            assert!(text.contains(&copy) && !text.contains(&two), "{text}");
        }
        yard.wipe();
        yard.make_databases();
    }
    // Known before.
    let text = format!("USE `{two}`;\n{head}{trigger}{tail}");
    let dump = yard.home.file("dump.sql", text);
    run(&mut yard.replay(&dump, &["--into", &copy, "--fresh"])).done();
}

/// Rows that the server had refused were said to be loaded, perhaps.
#[test]
fn rows_that_were_refused_are_loaded_when_the_cause_is_mended() {
    let many: Vec<String> = (10..30_000).map(|i| format!("({i})")).collect();
    for (rows, way) in
        [("(1),(2)", "rows"), (&*many.join(","), "rows"), (&*many.join(","), "statements")]
    {
        let Some(mut yard) = Yard::new(&["again"]) else { return };
        let database = yard.databases[0].clone();
        yard.session.exec(&format!("USE {database}")).unwrap();
        all(
            &mut yard.session,
            "CREATE TABLE others (i INT PRIMARY KEY) ENGINE=InnoDB;INSERT INTO others VALUES (2),(17)",
        );
        let text = format!("USE {database};\nINSERT INTO others VALUES {rows};\n");
        let dump = yard.home.file("dump.sql", text);
        let arguments = ["--as", way, "--small", "1000"];
        run(&mut yard.replay(&dump, &arguments)).refused(1, &["1062"]);
        all(
            &mut yard.session,
            "DELETE FROM others WHERE i IN (2, 17);INSERT INTO others VALUES (5)",
        );
        run(&mut yard.replay(&dump, &arguments)).done();
        let count = yard.session.query_row("SELECT COUNT(*) FROM others").unwrap().text_lossy(0);
        assert_eq!(count, (1 + rows.matches('(').count()).to_string(), "{way}");
    }
}

/// Rows that were added came twice, where another table was emptied.
#[test]
fn rows_that_were_added_are_not_added_twice_behind_a_table_that_was_emptied() {
    for added in ["INSERT INTO others VALUES (1),(2);", "INSERT INTO others SELECT i FROM a;"] {
        let text = format!("{DUMP}{added}\n{VIEW}");
        let before = "CREATE TABLE others (i INT) ENGINE=InnoDB";
        let Some(mut scene) = Scene::failed(before, &text) else { return };
        all(&mut scene.yard.session, "TRUNCATE a");
        scene.again(&[]).refused(1, &["has changed since", "--fresh"]);
        assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "2", "{added}");
        all(&mut scene.yard.session, "DELETE FROM others");
        scene.again(&["--fresh"]).done();
        assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "2", "{added}");
    }
}

/// A table that the dump itself empties, renames or drops was taken for changed by somebody.
#[test]
fn rows_of_a_table_that_is_made_twice_go_into_their_own() {
    // The first one is published before it is dropped, and is not.
    for published in ["DO 1;\n", ""] {
        let make = "CREATE TABLE IF NOT EXISTS a (i INT) ENGINE=InnoDB;\nINSERT INTO a VALUES";
        let text = format!("{make} (1);\n{published}DROP TABLE a;\n{make} (2);\n{VIEW}");
        let Some(mut scene) = Scene::failed("", &text) else { return };
        scene.again(&[]).done();
        assert_eq!(scene.value("SELECT GROUP_CONCAT(i) FROM a"), "2", "{published:?}");
    }
}

#[test]
fn tables_that_the_dump_takes_away_again_are_finished() {
    for end in [
        "TRUNCATE a;",
        "DELETE FROM a;",
        "RENAME TABLE a TO x;",
        "DROP TABLE a, b;",
        "ALTER TABLE a RENAME TO x;",
        "SET foreign_key_checks=0;\nCREATE TABLE c (i INT, CONSTRAINT f FOREIGN KEY (i) REFERENCES a (i)) \
         ENGINE=InnoDB;\nRENAME TABLE c TO d;",
    ] {
        let text = format!("{DUMP}INSERT INTO others SELECT i FROM a;\n{end}\n{VIEW}");
        let before = "CREATE TABLE others (i INT) ENGINE=InnoDB";
        let Some(mut scene) = Scene::failed(before, &text) else { return };
        scene.again(&[]).done();
        assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "2", "{end}");
        assert_eq!(scene.value("SELECT COUNT(*) FROM v"), "0", "{end}");
    }
}

/// Tables that are none of the dump's.
const ACCOUNTS: &str = "CREATE TABLE others (i INT, n INT) ENGINE=InnoDB;\
     INSERT INTO others VALUES (1,10),(2,20)";

/// A DELETE was once taken for done although the server had rolled it back, and never done.
#[test]
fn a_transaction_that_was_rolled_back_is_done_as_a_whole_the_second_time() {
    for (begin, middle) in [
        ("BEGIN", ""),
        ("SET autocommit=0", ""),
        ("BEGIN", "SAVEPOINT s;\nDELETE FROM others;\nROLLBACK TO s;\n"),
    ] {
        let text = format!(
            "{DUMP}{begin};\nDELETE FROM others WHERE i=1;\n{middle}UPDATE others SET n=n-5;\n\
             INSERT INTO others VALUES (3,30);\nINSERT INTO others SELECT 4, n FROM others WHERE i=3;\n\
             INSERT INTO helper VALUES (1);\nCOMMIT;\n"
        );
        let Some(mut scene) = Scene::failed(ACCOUNTS, &text) else { return };
        let rows = "SELECT GROUP_CONCAT(i, '=', n ORDER BY i) FROM others";
        assert_eq!(scene.value(rows), "1=10,2=20", "{text}");
        scene.again(&[]).done();
        assert_eq!(scene.value(rows), "2=15,3=30,4=30", "{text}");
        assert_eq!(scene.value("SELECT COUNT(*) FROM helper"), "1");
    }
}

/// Rows behind a savepoint counted as loaded, so that the table was said to have changed since.
#[test]
fn rows_that_are_rolled_back_to_a_savepoint_are_not_loaded() {
    for begin in ["BEGIN", "SET autocommit=0"] {
        let text = format!(
            "{begin};\nSAVEPOINT s;\nINSERT INTO others VALUES (1,10),(2,20);\n\
             ROLLBACK TO SAVEPOINT `S`;\nINSERT INTO kept VALUES (1);\nSAVEPOINT s;\n\
             INSERT INTO kept VALUES (2);\nROLLBACK WORK TO s;\nCOMMIT;\n{VIEW}"
        );
        let before = "CREATE TABLE others (i INT, n INT) ENGINE=InnoDB;CREATE TABLE kept (i INT)";
        let Some(mut scene) = Scene::failed(before, &text) else { return };
        let outcome = scene.again(&[]);
        outcome.done();
        assert!(outcome.out.contains("are unchanged"), "{outcome:?}");
        assert_eq!(scene.value("SELECT COUNT(*) FROM others"), "0");
        assert_eq!(scene.value("SELECT GROUP_CONCAT(i) FROM kept"), "1");
    }
}

/// Tables without transactions keep what a ROLLBACK should undo, whatever leads to them.
#[test]
fn a_statement_that_no_rollback_undoes_is_not_done_twice_without_a_word() {
    let Some(mut yard) = Yard::with(&[], &["again"]) else { return };
    let database = yard.databases[0].clone();
    yard.session.exec(&format!("USE {database}")).unwrap();
    all(
        &mut yard.session,
        "CREATE TABLE m (n INT) ENGINE=MyISAM;CREATE VIEW vm AS SELECT n FROM m;\
         CREATE PROCEDURE add_one() UPDATE m SET n=n+1;CREATE TABLE others (i INT) ENGINE=InnoDB;\
         CREATE TRIGGER r AFTER UPDATE ON others FOR EACH ROW CALL add_one()",
    );
    let dump = yard.home.path().join("dump.sql");
    let mut scene = Scene { yard, dump };
    for (number, change) in
        ["UPDATE m SET n=n+1", "UPDATE vm SET n=n+1", "UPDATE others SET i=i+1"].iter().enumerate()
    {
        all(
            &mut scene.yard.session,
            "DROP TABLE IF EXISTS helper;DELETE FROM m;INSERT INTO m VALUES (1);DELETE FROM others;\
             INSERT INTO others VALUES (1)",
        );
        let text = format!("BEGIN;\n{change};\nINSERT INTO helper VALUES (1);\nCOMMIT;\n");
        let text = format!("USE {database};\n{text}-- {number}\n");
        scene.dump = scene.yard.home.file("dump.sql", text);
        scene.again(&[]).refused(1, &["helper"]);
        all(&mut scene.yard.session, "CREATE TABLE helper (i INT)");
        scene.again(&[]).refused(1, &["line 3", "may be done already", "undo it"]);
        assert_eq!(scene.value("SELECT n FROM m"), "2", "{change}");
        all(&mut scene.yard.session, "UPDATE m SET n=1");
        scene.again(&[]).done();
        assert_eq!(scene.value("SELECT n FROM m"), "2", "{change}");
    }
}

/// A procedure that had committed by itself was called a second time behind a transaction that failed.
#[test]
fn a_call_that_may_have_committed_is_not_made_twice_without_a_word() {
    let text = "DELIMITER ;;\nCREATE PROCEDURE add_one() BEGIN INSERT INTO others VALUES (5,50); \
         COMMIT; END;;\nDELIMITER ;\nBEGIN;\nCALL add_one();\nINSERT INTO helper VALUES (1);\nCOMMIT;\n";
    let Some(mut scene) = Scene::failed(ACCOUNTS, text) else { return };
    scene.again(&[]).refused(1, &["CALL add_one", "may be done already", "undo it"]);
    let count = "SELECT COUNT(*) FROM others WHERE i=5";
    assert_eq!(scene.value(count), "1");
    all(&mut scene.yard.session, "DELETE FROM others WHERE i=5");
    scene.again(&[]).done();
    assert_eq!(scene.value(count), "1");
    assert_eq!(scene.value("SELECT COUNT(*) FROM helper"), "1");
}
