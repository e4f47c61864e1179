//! Dumps that no program wrote.

use server::identifier::{quote_name, quote_text};

use super::yard::Yard;
use crate::support::run;

/// The old table got the trigger, and was changed.
#[test]
fn what_is_about_a_table_that_failed_is_not_done_to_the_old_one() {
    let Some(mut yard) = Yard::new(&["failed"]) else { return };
    let database = yard.databases[0].clone();
    yard.session.exec(&format!("CREATE TABLE {database}.t (i INT) ENGINE=InnoDB")).unwrap();
    yard.session.exec(&format!("INSERT INTO {database}.t VALUES (7)")).unwrap();
    let text = format!(
        "USE {database};\nDROP TABLE IF EXISTS t;\nCREATE TABLE t (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
         INSERT INTO t VALUES (1),(2);\n\
         CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.i = 1;\n\
         UPDATE t SET i = i + 1;\nALTER TABLE t ADD x INT;\nCREATE TABLE u (i INT);\n"
    );
    let dump = yard.home.file("dump.sql", text);
    let mut command = yard.replay(&dump, &["--force", "--as", "statements"]);
    let outcome = run(command.env("INRUSH_FAILPOINT", "batch.0=drop"));
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    assert_eq!(outcome.out.matches("was not replaced").count(), 3, "{outcome:?}");
    yard.session.exec(&format!("USE {database}")).unwrap();
    assert!(yard.session.query("SHOW TRIGGERS").unwrap().is_empty());
    let rows = yard.session.query("SELECT * FROM t").unwrap();
    assert_eq!(format!("{} {}", rows.len(), rows[0].text_lossy(0)), "1 7");
    assert!(yard.session.query("SELECT i FROM u").unwrap().is_empty());
}

/// The old table was dropped, although there was no new one.
#[test]
fn a_table_whose_create_is_refused_stays_the_old_one() {
    let Some(mut yard) = Yard::new(&["uncreated"]) else { return };
    let database = yard.databases[0].clone();
    yard.session.exec(&format!("USE {database}")).unwrap();
    yard.session.exec("CREATE TABLE t (i INT) ENGINE=InnoDB").unwrap();
    yard.session.exec("INSERT INTO t VALUES (7)").unwrap();
    let text = format!(
        "USE {database};\nDROP TABLE IF EXISTS t;\nCREATE TABLE t (i INT, KEY (j)) ENGINE=InnoDB;\n\
         INSERT INTO t VALUES (1),(2);\nINSERT INTO t SET i = 3;\n\
         CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.i = 1;\n\
         CREATE TABLE u (i INT PRIMARY KEY);\nINSERT INTO u VALUES (1);\nINSERT INTO u VALUES (1);\n"
    );
    let dump = yard.home.file("dump.sql", text);
    for (more, code) in [(&[][..], 1), (&["--force"], 3), (&["--force", "--small", "1"], 3)] {
        yard.session.exec("DROP TABLE IF EXISTS u").unwrap();
        let outcome = run(yard.replay(&dump, more).arg("--fresh"));
        assert_eq!(outcome.code(), code, "{outcome:?}");
        // The CREATE, a row by SET, the trigger, the duplicate; each by the names that users know.
        assert_eq!(outcome.out.contains("4 statements failed:"), code == 3, "{outcome:?}");
        assert!(!outcome.out.contains("_inrush"), "{outcome:?}");
        let rows = yard.session.query("SELECT i FROM t").unwrap();
        assert_eq!(format!("{} {}", rows.len(), rows[0].text_lossy(0)), "1 7");
    }
    assert!(yard.session.query("SHOW TRIGGERS").unwrap().is_empty());
    assert_eq!(yard.session.query("SELECT i FROM u").unwrap().len(), 1);
}

/// Tables without a character set of their own got the server's, which may lack the letters of their rows.
#[test]
fn a_new_database_has_the_character_set_of_the_dump() {
    let Some(mut yard) = Yard::new(&["lettered"]) else { return };
    let database = yard.databases[0].clone();
    let text = "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `app` /*!40100 DEFAULT CHARACTER SET ucs2 COLLATE \
         ucs2_czech_ci */;\nUSE `app`;\nCREATE TABLE t (a VARCHAR(9));\n\
         CREATE FUNCTION f() RETURNS VARCHAR(9) DETERMINISTIC RETURN 'a';\n";
    let dump = yard.home.file("lettered.sql", text);
    for (is_new, expected) in [(true, "ucs2_czech_ci"), (false, "utf8mb4_general_ci")] {
        yard.wipe();
        if !is_new {
            let name = quote_name(&database);
            let sql = format!("CREATE DATABASE {name} COLLATE utf8mb4_general_ci");
            yard.session.exec(&sql).unwrap();
        }
        run(&mut yard.replay(&dump, &["--into", &database])).done();
        for sql in [
            "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME=",
            "SELECT COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=",
            "SELECT COLLATION_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA=",
        ] {
            let found = yard.session.query_text(&format!("{sql}{}", quote_text(&database)));
            assert_eq!(found.unwrap().as_deref(), Some(expected), "{sql}");
        }
    }
}

/// The error was that of the next statement, which did not run, or the end of the replay.
#[test]
fn a_foreign_key_that_is_refused_is_listed_and_all_else_is_done() {
    let Some(mut yard) = Yard::new(&["refused"]) else { return };
    let database = yard.databases[0].clone();
    for rest in ["", "INSERT INTO e VALUES (1);\nCREATE VIEW v AS SELECT i FROM c;\n"] {
        yard.wipe();
        yard.make_databases();
        yard.session.exec(&format!("USE {database}")).unwrap();
        for sql in [
            "CREATE TABLE e (i INT PRIMARY KEY) ENGINE=InnoDB",
            "CREATE TABLE old (i INT, CONSTRAINT f FOREIGN KEY (i) REFERENCES e (i)) ENGINE=InnoDB",
        ] {
            yard.session.exec(sql).unwrap();
        }
        let text = format!(
            "USE {database};\nSET FOREIGN_KEY_CHECKS=0;\n\
             CREATE TABLE c (i INT, CONSTRAINT f FOREIGN KEY (i) REFERENCES p (i)) ENGINE=InnoDB;\n\
             INSERT INTO c VALUES (1);\nCREATE TABLE p (i INT PRIMARY KEY) ENGINE=InnoDB;\n\
             INSERT INTO p VALUES (1);\n\
             CREATE TABLE d (i INT, CONSTRAINT g FOREIGN KEY (i) REFERENCES p (i)) ENGINE=InnoDB;\n\
             INSERT INTO d VALUES (1);\n{rest}"
        );
        let dump = yard.home.file("dump.sql", text);
        let outcome = run(&mut yard.replay(&dump, &["--force"]));
        assert_eq!(outcome.code(), 3, "{outcome:?}");
        assert!(outcome.out.contains("1 statement failed:"), "{outcome:?}");
        assert!(outcome.out.contains("line 3, byte"), "{outcome:?}");
        let mut count = |sql: &str| yard.session.query(sql).unwrap().len();
        let keys = "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE \
                    CONSTRAINT_SCHEMA=DATABASE() AND TABLE_NAME IN ('c', 'd')";
        assert_eq!((count("SELECT * FROM c"), count("SELECT * FROM p"), count(keys)), (1, 1, 1));
        if !rest.is_empty() {
            assert_eq!((count("SELECT * FROM e"), count("SELECT * FROM v")), (1, 1));
        }
    }
}

#[test]
fn what_people_write_means_what_it_means_to_the_client() {
    let Some(mut yard) = Yard::new(&["people"]) else { return };
    let dump = yard.home.file("people.sql", include_str!("zoo/people.sql"));
    let database = yard.databases[0].clone();
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for way in super::yard::WAYS {
        // The second time small tables go the ways of large ones.
        for more in [&[][..], &["--small", "1"]] {
            yard.wipe();
            yard.make_databases();
            let mut command = yard.replay(&dump, &["--as", way, "--into", &database]);
            let outcome = crate::support::run(command.args(more));
            yard.compare(&format!("people as {way} {more:?}"), &outcome, &expected);
        }
    }
}

/// Foreign keys whose actions CREATE TABLE takes for nothing said, and ALTER TABLE does not.
const RESTRICTED: &str = "
SET FOREIGN_KEY_CHECKS=0;
DROP TABLE IF EXISTS `city`;
CREATE TABLE `city` (
  `id` int NOT NULL, `country` int, `mayor` int, `twin` int, `river` int,
  PRIMARY KEY (`id`), KEY (`country`), KEY (`mayor`), KEY (`twin`), KEY (`river`),
  CONSTRAINT `a` FOREIGN KEY (`country`) REFERENCES `country` (`id`) ON DELETE RESTRICT ON UPDATE RESTRICT,
  CONSTRAINT `b` FOREIGN KEY (`mayor`) REFERENCES `country` (`id`) ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT `c` FOREIGN KEY (`twin`) REFERENCES `city` (`id`) ON DELETE NO ACTION on update set null,
  CONSTRAINT `d` FOREIGN KEY (`river`) REFERENCES `country` (`id`)
) ENGINE=InnoDB;
INSERT INTO `city` VALUES (1, 1, 1, 2, NULL), (2, 1, NULL, 1, 1);
CREATE TABLE `country` (`id` int NOT NULL PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO `country` VALUES (1);
";

#[test]
fn foreign_keys_are_shown_as_the_client_makes_them() {
    let Some(mut yard) = Yard::new(&["restricted"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("restricted.sql", RESTRICTED);
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for more in [&[][..], &["--atomic"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = crate::support::run(yard.replay(&dump, &["--into", &database]).args(more));
        yard.compare(&format!("{more:?}"), &outcome, &expected);
    }
}

/// As phpMyAdmin writes it: tables without keys, which come behind all rows.
const KEYS_BEHIND: &str = "
SET SQL_MODE = \"NO_AUTO_VALUE_ON_ZERO\";
START TRANSACTION;
SET time_zone = \"+00:00\";
CREATE TABLE `author` (`id` int(11) NOT NULL, `name` varchar(40) NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
DELETE FROM `author`;
INSERT INTO `author` (`id`, `name`) VALUES (1, 'Ada'), (2, 'Ben'), (7, 'Cy');
CREATE TABLE `book` (`id` int(11) NOT NULL, `author` int(11) DEFAULT NULL, `title` varchar(40)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
TRUNCATE TABLE `book`;
INSERT INTO `book` (`id`, `author`, `title`) VALUES (3, 1, 'x'), (4, 7, NULL), (5, NULL, 'ADD, (');
ALTER TABLE `author`
  ADD PRIMARY KEY (`id`),
  ADD UNIQUE KEY `name` (`name`);
ALTER TABLE `book`
  ADD PRIMARY KEY (`id`),
  ADD KEY `author` (`author`);
ALTER TABLE `author`
  MODIFY `id` int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=9;
ALTER TABLE `book`
  MODIFY `id` int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=6;
ALTER TABLE `book`
  ADD CONSTRAINT `written` FOREIGN KEY (`author`) REFERENCES `author` (`id`) ON DELETE RESTRICT ON UPDATE CASCADE;
COMMIT;
";

#[test]
fn what_is_altered_behind_its_rows_is_all_or_nothing() {
    let Some(mut yard) = Yard::new(&["behind"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("behind.sql", KEYS_BEHIND);
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    // A foreign key that is checked can fail, and is not added behind a swap.
    let into = ["--atomic", "--into", &database];
    let drops = "SET FOREIGN_KEY_CHECKS=0;\nDROP TABLE IF EXISTS `book`;\n\
                 DROP TABLE IF EXISTS `author`;\nSET FOREIGN_KEY_CHECKS=1;\n";
    let over = yard.home.file("over.sql", format!("{drops}{KEYS_BEHIND}"));
    let outcome = crate::support::run(&mut yard.replay(&over, &into));
    outcome.refused(1, &["--atomic cannot check the dump's foreign keys"]);
    super::yard::same("over what is there", &yard.seen(), &expected);
    for more in [&[][..], &["--small", "1"], &["--small", "1", "--as", "statements"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = crate::support::run(yard.replay(&dump, &into).args(more));
        yard.compare(&format!("{more:?}"), &outcome, &expected);
    }
    // A row that refers to nothing, two with one key: nothing of the dump is there.
    for (good, bad) in [("(4, 7, NULL)", "(4, 8, NULL)"), ("(2, 'Ben')", "(2, 'Ada')")] {
        let dump = yard.home.file("bad.sql", KEYS_BEHIND.replace(good, bad));
        yard.wipe();
        yard.make_databases();
        let outcome = crate::support::run(&mut yard.replay(&dump, &into));
        assert_eq!(outcome.code(), 1, "{outcome:?}");
        let left = yard.session.query(&format!("SHOW TABLES FROM `{database}`")).unwrap();
        assert!(left.is_empty(), "{outcome:?}: {left:?}");
    }
}
