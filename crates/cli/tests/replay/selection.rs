//! Only some tables of a dump.

use serde_json::Value;

use super::yard::Yard;
use crate::support::run;

/// A dump of two tables and a sequence, as mariadb-dump writes it and as people change it.
const DUMP: &str = "
/*!40000 DROP DATABASE IF EXISTS `DATABASE`*/;
CREATE DATABASE `DATABASE`;
USE `DATABASE`;
SET GLOBAL gtid_slave_pos='';
DROP SEQUENCE IF EXISTS `s`;
CREATE SEQUENCE `s`;
DO SETVAL(`s`, 10, 0);
DROP TABLE IF EXISTS `orders`;
CREATE TABLE `orders` (id INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO `orders` VALUES (1),(2);
/*!50032 DROP TRIGGER IF EXISTS of_orders */;
CREATE TRIGGER of_orders BEFORE INSERT ON `orders` FOR EACH ROW SET NEW.id = NEW.id + 10;
DROP TABLE IF EXISTS `audit`;
CREATE TABLE `audit` (id INT) ENGINE=InnoDB;
INSERT INTO `audit` VALUES (1),(2),(3);
/*!50032 DROP TRIGGER IF EXISTS of_audit */;
CREATE TRIGGER of_audit BEFORE INSERT ON `audit` FOR EACH ROW SET NEW.id = NEW.id + 10;
ALTER TABLE `audit` ADD KEY k (id);
UPDATE `DATABASE`.`audit` SET id = 1;
DELETE FROM `audit` WHERE id = 7;
INSERT INTO `audit` SELECT 5;
TRUNCATE `audit`;
CREATE INDEX i ON `audit` (id);
ALTER TABLE `orders` ADD x INT;
";

#[test]
fn tables_that_are_left_out_are_not_changed() {
    let Some(mut yard) = Yard::new(&["selected"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("dump.sql", DUMP.replace("DATABASE`", &format!("{database}`")));
    for selection in [["--tables", "orders"], ["--exclude", "audit,s"]] {
        for more in [&[][..], &["--atomic"]] {
            yard.wipe();
            yard.make_databases();
            for sql in [
                "CREATE TABLE orders (id INT PRIMARY KEY) ENGINE=InnoDB",
                "CREATE TRIGGER of_orders BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = NEW.id + 1",
                "CREATE TABLE audit (id INT) ENGINE=InnoDB",
                "INSERT INTO audit VALUES (7)",
                "CREATE TRIGGER of_audit BEFORE INSERT ON audit FOR EACH ROW SET NEW.id = NEW.id + 2",
                "CREATE SEQUENCE s START WITH 500",
            ] {
                yard.session.exec(&format!("USE `{database}`")).unwrap();
                yard.session.exec(sql).unwrap();
            }
            for dry in [&["--dry-run"][..], &[]] {
                let outcome = run(yard.replay(&dump, &selection).args(more).args(dry));
                assert_eq!(outcome.code(), 0, "{selection:?} {more:?}: {outcome:?}");
                for told in ["line 2, ", "line 5, "] {
                    let is_told = outcome.out.contains(&format!("note: {told}"));
                    let is_expected = told == "line 2, " || selection[0] == "--tables";
                    assert_eq!(is_told, is_expected, "{selection:?} {told}: {outcome:?}");
                }
            }
            let values = [
                "SELECT GROUP_CONCAT(id) FROM audit",
                "SELECT GROUP_CONCAT(id ORDER BY id) FROM orders WHERE x IS NULL",
                "INSERT INTO orders (id) VALUES (2) RETURNING id",
                "INSERT INTO audit VALUES (7) RETURNING id",
                "SELECT NEXTVAL(s)",
            ];
            let found = values.map(|sql| yard.session.query_text(sql).unwrap().unwrap());
            assert_eq!(found, ["7", "1,2", "12", "9", "500"], "{selection:?} {more:?}");
        }
    }
}

#[test]
fn a_dry_run_counts_statements_as_the_replay_does() {
    let Some(yard) = Yard::new(&["counted"]) else { return };
    let text = "USE `DATABASE`;\n/*!40101 SET @x=1 */;\nDROP TABLE IF EXISTS `a`;\nCREATE TABLE `a` (i INT);\n\
                LOCK TABLES `a` WRITE;\n/*!40000 ALTER TABLE `a` DISABLE KEYS */;\nINSERT INTO `a` VALUES (1);\n\
                UNLOCK TABLES;\nDROP TABLE IF EXISTS `b`;\nCREATE TABLE `b` (i INT);\n\
                INSERT INTO `b` VALUES (1);\nSELECT 1;\n";
    let dump = yard.home.file("counted.sql", text.replace("DATABASE", &yard.databases[0]));
    let locks =
        "2 statements skipped, because a replay needs no locks: 1 LOCK TABLES, 1 UNLOCK TABLES";
    let others = "3 statements skipped, because of --into, --tables or --exclude: 1 CREATE TABLE, \
                  1 DROP TABLE, 1 INSERT";
    for (more, statements, skipped) in [(&[][..], 8, 2), (&["--tables", "a"], 6, 5)] {
        let counts = [&["--dry-run"][..], &[]].map(|dry| {
            let told = run(yard.replay(&dump, more).args(dry));
            assert!(told.done().out.contains(locks), "{told:?}");
            assert_eq!(told.out.contains(others), skipped == 5, "{told:?}");
            let told = run(yard.replay(&dump, more).args(dry).arg("--json"));
            let told: Value = serde_json::from_str(&told.done().out).unwrap();
            ["statements", "barriers", "left_out", "skipped", "rows"].map(|name| told[name].clone())
        });
        assert_eq!(counts[0], counts[1], "{more:?}");
        assert_eq!(counts[0][0], statements, "{counts:?}");
        let kinds = counts[0][3].as_object().unwrap().values();
        assert_eq!(kinds.filter_map(Value::as_u64).sum::<u64>(), skipped, "{counts:?}");
    }
}

#[test]
fn a_statement_about_a_selected_table_and_another_is_refused() {
    let Some(mut yard) = Yard::new(&["mixed"]) else { return };
    let database = yard.databases[0].clone();
    yard.session.exec(&format!("CREATE TABLE {database}.audit (id INT)")).unwrap();
    let text =
        format!("USE {database};\nCREATE TABLE a (i INT);\nDROP TABLE IF EXISTS a, audit;\n");
    let dump = yard.home.file("mixed.sql", text);
    let outcome = run(&mut yard.replay(&dump, &["--exclude", "audit"]));
    outcome.refused(1, &["line 3", "changes a, and also audit", "--exclude"]);
    assert!(yard.session.query(&format!("SELECT * FROM {database}.audit")).unwrap().is_empty());
}

#[test]
fn a_name_that_leaves_out_nothing_is_told() {
    let Some(mut yard) = Yard::new(&["spared"]) else { return };
    let database = yard.databases[0].clone();
    let text = format!("USE `{database}`;\nCREATE TABLE a (i INT);\nCREATE TABLE b (i INT);\n");
    let dump = yard.home.file("spared.sql", text);
    for dry in [&["--dry-run"][..], &[]] {
        let outcome = run(yard.replay(&dump, &["--tables", "b", "--exclude", "a,c"]).args(dry));
        assert_eq!(outcome.code(), 3, "{outcome:?}");
        assert!(outcome.out.contains("has no table or view that --exclude c names"), "{outcome:?}");
        assert_eq!(outcome.out.matches("warning").count(), 1, "{outcome:?}");
    }
    let tables = yard.session.query(&format!("SHOW TABLES FROM {database}")).unwrap();
    assert_eq!(tables.len(), 1);
}

/// The table that was to be spared was replaced, and a table with a dot in its name could not be chosen.
#[test]
fn names_have_no_case_where_the_server_has_none() {
    let Some(mut yard) = Yard::with(&["--lower-case-table-names=1"], &["cased"]) else { return };
    let database = yard.databases[0].clone();
    let text = format!(
        "USE `{database}`;\nDROP TABLE IF EXISTS Customers;\nCREATE TABLE Customers (i INT);\n\
         CREATE TABLE `t.1` (i INT);\nCREATE TABLE u (i INT);\n"
    );
    let dump = yard.home.file("cased.sql", text);
    yard.session.exec(&format!("CREATE TABLE {database}.customers (x INT)")).unwrap();
    run(&mut yard.replay(&dump, &["--exclude", "CUSTOMERS,u"])).done();
    yard.session.query(&format!("SELECT x FROM {database}.customers")).unwrap();
    yard.session.exec(&format!("DROP TABLE {database}.`t.1`")).unwrap();
    run(&mut yard.replay(&dump, &["--tables", &format!("{database}.T.1")])).done();
    let tables = yard.session.query(&format!("SHOW TABLES FROM {database}")).unwrap();
    let tables: Vec<String> = tables.iter().map(|row| row.text_lossy(0)).collect();
    assert_eq!(tables, ["customers", "t.1"]);
}
