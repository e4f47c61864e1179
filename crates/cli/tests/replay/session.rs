//! Effects of statements on later ones: variables, transactions, tables that are being filled, the binary
//! log.

use super::yard::Yard;
use crate::support::{Outcome, run};

/// Replays `text` into the database of a yard.
fn replay(yard: &Yard, text: &str, arguments: &[&str]) -> Outcome {
    let text = format!("USE `{}`;\n{text}", yard.databases[0]);
    let dump = yard.home.file("dump.sql", text);
    run(&mut yard.replay(&dump, arguments))
}

/// The one value that a query of the yard's database gives.
#[track_caller]
fn value(yard: &mut Yard, sql: &str) -> String {
    yard.session.exec(&format!("USE `{}`", yard.databases[0])).unwrap();
    yard.session.query_text(sql).unwrap().unwrap_or_default()
}

/// A dump was read by the default `sql_mode` up to its first SET.
#[test]
fn a_dump_without_settings_is_read_by_the_servers_sql_mode() {
    let modes = "--sql-mode=NO_BACKSLASH_ESCAPES,ANSI_QUOTES";
    let Some(mut yard) = Yard::with(&[modes], &["mode"]) else { return };
    let database = yard.databases[0].clone();
    let text = format!(
        "USE {database};\nCREATE TABLE \"t\" (\"i\" INT PRIMARY KEY, v VARCHAR(9)) ENGINE=InnoDB;\n\
         INSERT INTO \"t\" VALUES (1,'C:\\'),(2,'a\\\\b');\nINSERT INTO \"t\" VALUES (3,'x');\n"
    );
    let dump = yard.home.file("dump.sql", text);
    for way in ["rows", "statements"] {
        run(yard.replay(&dump, &["--as", way, "--small", "1"]).arg("--fresh")).done();
        let sql = format!("SELECT GROUP_CONCAT(HEX(v) ORDER BY i) FROM {database}.t");
        let values = yard.session.query_row(&sql).unwrap().text_lossy(0);
        assert_eq!(values, "433A5C,615C5C62,78", "{way}");
        yard.session.exec(&format!("DROP TABLE {database}.t")).unwrap();
    }
}

#[test]
fn rows_that_ask_for_user_variables_get_them() {
    let Some(mut yard) = Yard::new(&["variables"]) else { return };
    let rows = |variables: std::ops::Range<u32>| -> String {
        let word = |id| if variables.contains(&id) { "@m" } else { "1" };
        let row = |id: u32| format!("({id},'a@b {id:060}',{})", word(id));
        (0..2000).map(row).collect::<Vec<_>>().join(",\n")
    };
    let make =
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(99), m INT) ENGINE=InnoDB;\nSET @m=42;\n";
    for way in super::yard::WAYS {
        let text =
            format!("DROP TABLE IF EXISTS t;\n{make}INSERT INTO t VALUES {};\n", rows(0..2000));
        let outcome = replay(&yard, &text, &["--as", way, "--small", "4k"]);
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        assert_eq!(value(&mut yard, "SELECT CONCAT(COUNT(*),' ',MIN(m)) FROM t"), "2000 42");
        // Far behind others, when those are on their way already.
        let text =
            format!("DROP TABLE IF EXISTS t;\n{make}INSERT INTO t VALUES {};\n", rows(1999..2000));
        let outcome = replay(&yard, &text, &["--as", way, "--small", "4k"]);
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        assert_eq!(value(&mut yard, "SELECT CONCAT(COUNT(*),' ',MAX(m)) FROM t"), "2000 42");
    }
}

#[test]
fn variables_are_set_from_tables_that_have_their_rows() {
    let Some(mut yard) = Yard::new(&["set"]) else { return };
    let text = "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO t VALUES (1),(7);\n\
                SET @m = (SELECT MAX(id) FROM t);\n\
                CREATE TABLE u (m INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO u VALUES (@m);\n\
                CREATE TABLE w (m INT PRIMARY KEY) ENGINE=InnoDB;\n\
                INSERT INTO w VALUES ((SELECT MAX(m) + 1 FROM u));\n";
    let outcome = replay(&yard, text, &["--atomic"]);
    assert!(outcome.code() == 1 && outcome.err.contains("--atomic stages"), "{outcome:?}");
    let outcome = replay(&yard, text, &[]);
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert_eq!(value(&mut yard, "SELECT CONCAT(u.m, w.m) FROM u, w"), "78");
}

#[test]
fn a_table_that_the_dump_is_at_when_it_fails_stays_as_it_was() {
    let Some(mut yard) = Yard::new(&["partly"]) else { return };
    let old = "CREATE TABLE t (id INT PRIMARY KEY, a INT) ENGINE=InnoDB;\nINSERT INTO t VALUES (9,9);\n\
               CREATE TABLE o (id INT PRIMARY KEY) ENGINE=InnoDB;\n";
    assert_eq!(replay(&yard, old, &[]).code(), 0);
    let text = "DROP TABLE IF EXISTS t;\nCREATE TABLE t (id INT PRIMARY KEY, a INT) ENGINE=InnoDB;\n\
                INSERT INTO t (id) VALUES (1),(2);\nSET no_such_variable=1;\n\
                INSERT INTO t (id,a) VALUES (3,3);\n";
    assert_eq!(replay(&yard, text, &[]).code(), 1);
    assert_eq!(value(&mut yard, "SELECT GROUP_CONCAT(id) FROM t"), "9");
    // Rows of a table that was there before, behind a transaction that has ended.
    let text = "START TRANSACTION;\nINSERT INTO t VALUES (10,1);\nCOMMIT;\n\
                INSERT INTO o VALUES (1);\nINSERT INTO o VALUES (2),(x);\n";
    assert_eq!(replay(&yard, text, &[]).code(), 1);
    assert_eq!(value(&mut yard, "SELECT COUNT(*) FROM o"), "0");
    assert_eq!(value(&mut yard, "SELECT GROUP_CONCAT(id) FROM t"), "9,10");
}

#[test]
fn a_rollback_takes_rows_back() {
    let Some(mut yard) = Yard::new(&["rollback"]) else { return };
    let make =
        "ROLLBACK;\nDROP TABLE IF EXISTS t;\nCREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB;\n";
    let text = format!("{make}START TRANSACTION;\nINSERT INTO t VALUES (1);\nCOMMIT;\nROLLBACK;\n");
    let outcome = replay(&yard, &text, &[]);
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert_eq!(value(&mut yard, "SELECT COUNT(*) FROM t"), "1");
    // BEGIN has unlocked tables already, so that UNLOCK TABLES commits nothing.
    for (lock, unlock) in [("", ""), ("LOCK TABLES t WRITE;\n", "UNLOCK TABLES;\n")] {
        let text = format!("{make}{lock}BEGIN;\nINSERT INTO t VALUES (2);\n{unlock}ROLLBACK;\n");
        let outcome = replay(&yard, &text, &[]);
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        assert_eq!(value(&mut yard, "SELECT COUNT(*) FROM t"), "0", "{lock}");
    }
}

/// A CREATE that runs as it stands, as its foreign key is checked, and a table that gets another's
/// name: neither is dropped by the same command once more.
#[test]
fn drops_that_are_done_are_not_done_again() {
    let Some(mut yard) = Yard::new(&["drops"]) else { return };
    let before =
        "CREATE TABLE was (id INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO was VALUES (5);\n";
    assert_eq!(replay(&yard, before, &[]).code(), 0);
    let text = "DROP TABLE IF EXISTS c;\nDROP TABLE IF EXISTS p;\n\
                CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO p VALUES (1),(2);\n\
                DROP TABLE IF EXISTS c;\n\
                CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB;\n\
                INSERT INTO c VALUES (1,1),(2,2);\n\
                DROP TABLE IF EXISTS w;\nRENAME TABLE was TO w;\n\
                CREATE TABLE v (id INT PRIMARY KEY) ENGINE=InnoDB;\nDROP TABLE v;\n\
                CREATE VIEW v AS SELECT id FROM helper;\nCREATE VIEW v2 AS SELECT id FROM w;\n";
    let outcome = replay(&yard, text, &[]);
    assert!(outcome.code() == 1 && outcome.err.contains("helper"), "{outcome:?}");
    let database = yard.databases[0].clone();
    yard.session.exec(&format!("CREATE TABLE `{database}`.helper (id INT)")).unwrap();
    let dump = yard.home.path().join("dump.sql");
    let outcome = run(&mut yard.replay(&dump, &[]));
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    let sql =
        "SELECT CONCAT((SELECT COUNT(*) FROM c),(SELECT COUNT(*) FROM p),(SELECT MAX(id) FROM v2))";
    assert_eq!(value(&mut yard, sql), "225");
}

#[test]
fn what_the_dump_keeps_from_replicas_is_kept_from_them() {
    let Some(mut yard) = Yard::logging(&["log"]) else { return };
    let row = |id: u32| format!("({id},'{id:060}')");
    let rows = (0..2000).map(row).collect::<Vec<_>>().join(",");
    let told =
        "CREATE TABLE told (id INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO told VALUES (1);\n";
    let text = format!(
        "SET @old=@@SESSION.SQL_LOG_BIN;\nSET @@SESSION.SQL_LOG_BIN= 0;\n\
         CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(99)) ENGINE=InnoDB;\n\
         INSERT INTO t VALUES {rows};\nCREATE VIEW v AS SELECT id FROM t;\n\
         CREATE TABLE u (id INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO u VALUES (1);\n\
         SET @@SESSION.SQL_LOG_BIN = @old;\n"
    );
    let events = |yard: &mut Yard| -> Vec<String> {
        let rows = yard.session.query("SHOW BINLOG EVENTS").unwrap();
        rows.iter().map(|row| row.text_lossy(5)).filter(|info| info.contains("`t`")).collect()
    };
    for arguments in [&["--as", "rows"][..], &["--as", "statements"], &["--atomic"]] {
        yard.wipe();
        yard.session.exec("RESET MASTER").unwrap();
        yard.make_databases();
        let arguments = [arguments, &["--small", "4k"]].concat();
        let before = if arguments[0] == "--atomic" {
            // One RENAME is in the log or not.
            let both = replay(&yard, &format!("{told}{text}"), &arguments);
            both.refused(1, &["--atomic", "binary log"]);
            ""
        } else {
            told
        };
        let outcome = replay(&yard, &format!("{before}{text}"), &arguments);
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        assert_eq!(value(&mut yard, "SELECT COUNT(*) FROM v"), "2000");
        assert_eq!(events(&mut yard), [""; 0], "{arguments:?}");
    }
    // A number for one transaction is given once.
    let text = format!(
        "CREATE TABLE x (id INT PRIMARY KEY, s VARCHAR(99)) ENGINE=InnoDB;\n\
         SET @@session.gtid_seq_no=500;\nINSERT INTO x VALUES {rows};\n\
         CREATE TABLE y (id INT PRIMARY KEY) ENGINE=InnoDB;\n"
    );
    let outcome = replay(&yard, &text, &["--as", "statements", "--small", "4k"]);
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    let rows = yard.session.query("SHOW BINLOG EVENTS").unwrap();
    let numbered = rows.iter().filter(|row| row.text_lossy(5).ends_with("GTID 0-1-500")).count();
    assert_eq!(numbered, 1);
}

#[test]
fn tables_of_two_databases_do_not_become_one() {
    let Some(mut yard) = Yard::new(&["into"]) else { return };
    let make = "DROP TABLE IF EXISTS t;\nCREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB;\n";
    let text =
        format!("{make}INSERT INTO t VALUES (1);\nUSE other;\n{make}INSERT INTO t VALUES (2);\n");
    let into = yard.databases[0].clone();
    let outcome = replay(&yard, &text, &["--into", &into]);
    assert!(outcome.code() == 1 && outcome.err.contains("cannot both be loaded"), "{outcome:?}");
    let outcome = replay(&yard, &text, &["--into", &into, "--exclude", "other.t"]);
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert_eq!(value(&mut yard, "SELECT GROUP_CONCAT(id) FROM t"), "1");
}

#[test]
fn names_are_one_in_any_case_where_the_server_says_so() {
    let Some(mut yard) = Yard::with(&["--lower-case-table-names=1"], &["case"]) else { return };
    let rows = |ids: std::ops::Range<u32>| {
        let row = |id: u32| format!("({id},'{id:060}')");
        ids.map(row).collect::<Vec<_>>().join(",")
    };
    let text = format!(
        "DROP TABLE IF EXISTS Big;\nCREATE TABLE `Big` (id INT PRIMARY KEY, s VARCHAR(99)) ENGINE=InnoDB;\n\
         INSERT INTO big (id,s) VALUES {};\nINSERT INTO BIG VALUES (900001,'x'),(900002,'x');\n\
         INSERT INTO Big VALUES {};\nCREATE TABLE o (id INT PRIMARY KEY) ENGINE=InnoDB;\n",
        rows(0..2000),
        rows(2000..4000)
    );
    for way in super::yard::WAYS {
        let outcome = replay(&yard, &text, &["--as", way, "--small", "4k"]);
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        assert_eq!(value(&mut yard, "SELECT COUNT(*) FROM big"), "4002");
        yard.session.exec("DROP TABLE o").unwrap();
    }
}
