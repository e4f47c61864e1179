//! Statements of a dump under `--atomic` besides tables and rows, beside the client.

use super::yard::{Yard, same};
use crate::support::run;

/// Replays `dump` with `--atomic` into nothing, over what is there, and small tables by the ways of
/// large ones, and asserts that all is as the client makes it.
#[track_caller]
fn as_the_client_does(name: &str, dump: &str) {
    let Some(mut yard) = Yard::new(&[name]) else { return };
    let database = yard.databases[0].clone();
    let file = yard.home.file("dump.sql", dump);
    yard.client(Some(&database), &file).unwrap();
    let expected = yard.seen();
    for (more, wipes) in [(&[][..], true), (&["--fresh"], false), (&["--small", "1"], true)] {
        if wipes {
            yard.wipe();
            yard.make_databases();
        }
        let outcome = run(yard.replay(&file, &["--atomic", "--into", &database]).args(more));
        yard.compare(&format!("{more:?} of {name}"), &outcome, &expected);
    }
}

/// Percona's mysqldump sets variables of its own by prepared statements, around the tables.
#[test]
fn prepared_statements_that_set_variables_are_no_obstacle() {
    let Some(mut yard) = Yard::new(&["prepared"]) else { return };
    let database = yard.databases[0].clone();
    let set = |text: &str| {
        format!(
            "/*!50112 SET @way = IF (@has_it, 'SET SESSION rocksdb_bulk_load = 1', '{text}') */;\n\
             /*!50112 PREPARE s FROM @way */;\n/*!50112 EXECUTE s */;\n\
             /*!50112 DEALLOCATE PREPARE s */;\n"
        )
    };
    let text = format!(
        "USE {database};\n/*!50112 SELECT COUNT(*) INTO @has_it FROM INFORMATION_SCHEMA.SESSION_VARIABLES \
         WHERE VARIABLE_NAME='rocksdb_bulk_load' */;\n{}\
         CREATE TABLE t (i INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO t VALUES (1),(2);\n{}",
        set("SET @dummy = 0"),
        set("SET @dummy = 1")
    );
    let dump = yard.home.file("dump.sql", text);
    run(&mut yard.replay(&dump, &["--atomic"])).done();
    let count = yard.session.query_row(&format!("SELECT COUNT(*) FROM {database}.t"));
    assert_eq!(count.unwrap().text_lossy(0), "2");
}

#[test]
fn what_is_changed_behind_its_rows_is_changed() {
    as_the_client_does(
        "changed",
        "DROP TABLE IF EXISTS t;\nDROP TABLE IF EXISTS u;\n\
         CREATE TABLE t (i INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB;\n\
         CREATE TABLE u (i INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB;\n\
         INSERT INTO t VALUES (1,'x'),(2,'y'),(3,'z'),(9,'from');\n\
         DELETE FROM t WHERE i=2;\n\
         INSERT INTO u VALUES (1,'x'),(2,'y');\n\
         DELETE FROM `u`;\n\
         INSERT INTO u VALUES (1,'again');\n\
         SET autocommit=0;\n\
         UPDATE t SET t.v='Z' WHERE t.i=3;\n\
         DELETE FROM t ORDER BY i DESC LIMIT 1;\n\
         COMMIT;\n\
         SET autocommit=1;\n\
         CREATE UNIQUE INDEX vv ON t (v);\n\
         CREATE INDEX w USING BTREE ON u (v(3));\n\
         CREATE INDEX gone ON u (i);\n\
         DROP INDEX gone ON u;\n\
         INSERT INTO t (v) VALUES ('n');\n\
         TRUNCATE TABLE u;\n\
         INSERT INTO u VALUES (5,'last');\n",
    );
}

/// The index that a foreign key makes goes when there is another that serves.
#[test]
fn indexes_of_foreign_keys_are_the_last_of_their_columns() {
    let Some(mut yard) = Yard::new(&["served"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file(
        "dump.sql",
        "CREATE TABLE p (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
         CREATE TABLE t (i INT PRIMARY KEY, a INT, b INT) ENGINE=InnoDB;\n\
         ALTER TABLE t ADD CONSTRAINT fa FOREIGN KEY (a) REFERENCES p (i) ON DELETE NO ACTION;\n\
         CREATE INDEX ia ON t (A, b);\n\
         ALTER TABLE t ADD CONSTRAINT fb FOREIGN KEY (b) REFERENCES p (i);\n\
         CREATE INDEX ib ON t (b);\n\
         INSERT INTO p VALUES (1),(2);\nINSERT INTO t VALUES (1,1,2),(2,2,2);\n",
    );
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for more in [&[][..], &["--small", "1"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = run(yard.replay(&dump, &["--atomic", "--into", &database]).args(more));
        yard.compare(&format!("{more:?}"), &outcome, &expected);
    }
}

#[test]
fn tables_of_several_engines_take_their_places_at_once() {
    as_the_client_does(
        "engines",
        "DROP TABLE IF EXISTS both_of;\n\
         DROP TABLE IF EXISTS a;\n\
         CREATE TABLE a (i INT NOT NULL, KEY (i)) ENGINE=MyISAM;\n\
         INSERT INTO a VALUES (1),(2);\n\
         DROP TABLE IF EXISTS both_of;\n\
         CREATE TABLE both_of (i INT NOT NULL, KEY (i)) ENGINE=MERGE UNION=(a,b) INSERT_METHOD=LAST;\n\
         DROP TABLE IF EXISTS b;\n\
         CREATE TABLE b (i INT NOT NULL, KEY (i)) ENGINE=MyISAM;\n\
         INSERT INTO b VALUES (3);\n\
         DROP TABLE IF EXISTS c;\n\
         CREATE TABLE c (i INT PRIMARY KEY, v VARCHAR(9), KEY (v)) ENGINE=Aria TRANSACTIONAL=1;\n\
         INSERT INTO c VALUES (1,'x'),(2,'y');\n\
         DROP TABLE IF EXISTS d;\n\
         CREATE TABLE d (i INT PRIMARY KEY, /*!50705 g GEOMETRY NOT NULL,*/ v VARCHAR(9), KEY (v), \
         /*!50705 SPATIAL KEY (g),*/ CONSTRAINT big CHECK (i > 0)) ENGINE=InnoDB;\n\
         INSERT INTO d (i, v) VALUES (1,'x'),(2,'y');\n",
    );
}

/// As people write it: with foreign keys that are checked row by row.
const CHECKED: &str = "CREATE TABLE p (i INT PRIMARY KEY) ENGINE=InnoDB;
CREATE TABLE c (i INT PRIMARY KEY, p INT NOT NULL, KEY w (p, i), q INT,
  FOREIGN KEY (p) REFERENCES p (i) ON DELETE CASCADE, FOREIGN KEY (q) REFERENCES c (i)) ENGINE=InnoDB;
INSERT INTO p VALUES (1),(2);
INSERT INTO c VALUES (1,1,NULL),(2,2,1);
";

#[test]
fn foreign_keys_that_are_checked_are_checked_at_the_end() {
    let Some(mut yard) = Yard::new(&["checked"]) else { return };
    let database = yard.databases[0].clone();
    let before = yard.seen();
    let replay = |yard: &Yard, text: &str, more: &[&str]| {
        let dump = yard.home.file("dump.sql", text);
        run(yard.replay(&dump, &["--atomic", "--into", &database]).args(more))
    };
    let off = "SET FOREIGN_KEY_CHECKS=0;\n";
    let on = "SET FOREIGN_KEY_CHECKS=1;\nINSERT INTO c";
    for (bad, says) in [
        (CHECKED.replace("(2,2,1)", "(2,3,1)"), "a foreign key constraint fails"),
        (
            format!("{off}{CHECKED}").replace("INSERT INTO c", on).replace("2,2,1", "2,2,9"),
            "foreign key",
        ),
        (format!("{CHECKED}DELETE FROM p;\n"), "this statement may need them"),
        (format!("{CHECKED}REPLACE INTO p VALUES (1);\n"), "REPLACE may change more"),
    ] {
        for more in [&[][..], &["--small", "1"]] {
            let outcome = replay(&yard, &bad, more);
            outcome.refused(1, &[says]);
            assert!(!outcome.err.contains("_inrush_"), "{outcome:?}");
            same(&bad, &yard.seen(), &before);
        }
    }
    let dump = yard.home.file("good.sql", CHECKED);
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    // What refers to them is not theirs.
    let over = format!("DROP TABLE IF EXISTS c;\nDROP TABLE IF EXISTS p;\n{CHECKED}");
    replay(&yard, &over, &[]).refused(1, &["--atomic cannot stage"]);
    same("over what is there", &yard.seen(), &expected);
    for more in [&[][..], &["--small", "1"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = replay(&yard, CHECKED, more);
        yard.compare(&format!("{more:?}"), &outcome, &expected);
    }
}

/// They were left for the end, and had not seen the rows: those that they write were missing.
#[test]
fn rows_behind_a_trigger_are_refused() {
    let Some(mut yard) = Yard::new(&["trigger"]) else { return };
    let database = yard.databases[0].clone();
    let before = yard.seen();
    let tables = "CREATE TABLE t (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
                  CREATE TABLE log (i INT) ENGINE=InnoDB;\n\
                  INSERT INTO t VALUES (7);\n\
                  CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.i);\n\
                  INSERT INTO log VALUES (8);\n";
    for last in ["INSERT INTO t VALUES (1),(2)", "REPLACE INTO t VALUES (3)", "DELETE FROM t"] {
        for more in [&[][..], &["--small", "1"]] {
            let dump = yard.home.file("dump.sql", format!("{tables}{last};\n"));
            let outcome = run(yard.replay(&dump, &["--atomic", "--into", &database]).args(more));
            outcome.refused(
                1,
                &["line 6", "--atomic creates triggers after all rows", "replay without"],
            );
            same(last, &yard.seen(), &before);
        }
    }
    let dump = yard.home.file("dump.sql", tables);
    run(&mut yard.replay(&dump, &["--atomic", "--into", &database])).done();
    let log = yard.session.query(&format!("SELECT i FROM `{database}`.log")).unwrap();
    assert_eq!(log.iter().map(|row| row.text_lossy(0)).collect::<Vec<_>>(), ["8"]);
}

#[test]
fn what_may_concern_more_than_one_table_is_refused() {
    let Some(mut yard) = Yard::new(&["more"]) else { return };
    let database = yard.databases[0].clone();
    let before = yard.seen();
    let tables = "CREATE TABLE p (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
                  CREATE TABLE t (i INT PRIMARY KEY, j INT, v INT) ENGINE=InnoDB;\n\
                  INSERT INTO p VALUES (1);\nINSERT INTO t (i) VALUES (1),(2);\n";
    let tied = "ALTER TABLE t ADD FOREIGN KEY (j) REFERENCES p (i) ON DELETE CASCADE";
    for (last, says) in [
        ("DELETE FROM t WHERE i IN (SELECT i FROM p)".to_owned(), "this statement may need them"),
        ("UPDATE t, p SET t.i=3 WHERE t.i=p.i".to_owned(), "this statement may need them"),
        (format!("{tied};\nDELETE FROM p"), "this statement may need them"),
        (format!("{tied};\nCREATE INDEX k ON t (v)"), "this statement may need them"),
        (format!("{tied};\nCREATE INDEX k ON t (j(3))"), "this statement may need them"),
        (format!("{tied};\nDROP INDEX k ON t"), "this statement may need them"),
        ("BEGIN;\nDELETE FROM t;\nROLLBACK".to_owned(), "rolls back rows of"),
        ("BEGIN;\nDELETE FROM t".to_owned(), "rolls back rows of"),
        ("DELETE FROM t WHERE nothing=1".to_owned(), "Unknown column 'nothing'"),
    ] {
        let dump = yard.home.file("dump.sql", format!("{tables}{last};\n"));
        let outcome = run(&mut yard.replay(&dump, &["--atomic", "--into", &database]));
        outcome.refused(1, &[says]);
        same(&last, &yard.seen(), &before);
    }
}

/// The client makes LF of CRLF in everything, values included, unless it is told not to.
#[test]
fn ends_of_lines_in_values_stay_as_they_are() {
    let Some(mut yard) = Yard::new(&["lines"]) else { return };
    let database = yard.databases[0].clone();
    let dump = "CREATE TABLE t (i INT PRIMARY KEY, v TEXT);\nINSERT INTO t VALUES (1,'a\nb'),\n(2,'c');\n\
                DELIMITER ;;\nCREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\nEND;;\nDELIMITER ;\n";
    let file = yard.home.file("dump.sql", dump.replace('\n', "\r\n"));
    let mut client = yard.program("mariadb");
    client.args(["--binary-mode", "--comments", &database]);
    assert!(client.stdin(std::fs::File::open(&file).unwrap()).status().unwrap().success());
    let expected = yard.seen();
    for more in [&[][..], &["--small", "1"], &["--atomic"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = run(yard.replay(&file, &["--into", &database]).args(more));
        yard.compare(&format!("{more:?}"), &outcome, &expected);
    }
}
