//! State that only the dump's own session has, and state that every session has to be set to.

use std::fmt::Write as _;

use super::yard::{WAYS, Yard};
use crate::support::run;

/// Rows that are far more than the first MiB of a run, with `last` as the last ones.
fn large(words: &str, last: &str) -> String {
    let mut text = format!("{words} (1,'{:0>100}')", 1);
    for id in 2..=14_000 {
        match id % 2_000 {
            0 => write!(text, ";\n{words} ({id},'{id:0>100}')").unwrap(),
            _ => write!(text, ",\n({id},'{id:0>100}')").unwrap(),
        }
    }
    format!("{text},{last};\n")
}

/// Replays a dump in every way, and compares with the client.
#[track_caller]
fn as_the_client_does(name: &str, before: &str, dump: &str) {
    with_each(&[&[], &["--small", "1"]], name, before, dump);
}

/// The same, with each of these arguments.
#[track_caller]
fn with_each(arguments: &[&[&str]], name: &str, before: &str, dump: &str) {
    let Some(mut yard) = Yard::new(&[name]) else { return };
    let database = yard.databases[0].clone();
    let (before, dump) = (yard.home.file("before.sql", before), yard.home.file("dump.sql", dump));
    let prepare = |yard: &mut Yard| {
        yard.wipe();
        yard.make_databases();
        yard.client(Some(&database), &before).unwrap();
    };
    prepare(&mut yard);
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for way in WAYS {
        for &more in arguments {
            prepare(&mut yard);
            let mut command = yard.replay(&dump, &["--as", way, "--into", &database]);
            let outcome = run(command.args(more));
            yard.compare(&format!("{name} as {way} {more:?}"), &outcome, &expected);
        }
    }
}

const TABLE: &str = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(200));\n";

#[test]
fn rows_ask_the_session_of_the_dump() {
    let last = "(20000,@v),(20001,CONCAT(@v,(SELECT COUNT(*) FROM passing)))";
    let dump = format!(
        "SET @v='first';\nCREATE TEMPORARY TABLE passing (id INT);\n\
         INSERT INTO passing VALUES (1),(2);\n{TABLE}{}SET @v='second';\n\
         CREATE TABLE u (id INT NOT NULL PRIMARY KEY, v VARCHAR(200));\n\
         INSERT INTO u VALUES (1,@v),(2,'x');\n",
        large("INSERT INTO t VALUES", last)
    );
    as_the_client_does("asks", "", &dump);
}

#[test]
fn rows_that_read_tables_see_all_rows_before_them() {
    let before = "CREATE TABLE u (id INT); INSERT INTO u VALUES (77);\n\
                  CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(200));\n\
                  INSERT INTO t VALUES (1,'old');\n\
                  CREATE FUNCTION rows_of_u() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM u);\n";
    let last = "(20000,(SELECT MAX(id) FROM u)),(20001,rows_of_u())";
    let dump = format!(
        "DROP TABLE IF EXISTS u;\nCREATE TABLE u (id INT);\nINSERT INTO u VALUES (5),(6),(7);\n\
         DROP TABLE IF EXISTS t;\n{TABLE}{}\
         INSERT INTO t VALUES (20002,(SELECT COUNT(*) FROM t AS x));\n",
        large("INSERT INTO t VALUES", last)
    );
    as_the_client_does("reads", before, &dump);
}

#[test]
fn a_temporary_table_hides_another() {
    let rows = large("INSERT INTO t VALUES", "(20000,'last')");
    let dump = format!(
        "{TABLE}INSERT INTO t VALUES (7,'seven');\nCREATE TEMPORARY {}{rows}\
         CREATE TABLE kept AS SELECT COUNT(*) AS n FROM t;\nDROP TABLE t;\n\
         INSERT INTO t VALUES (8,'eight');\n",
        &TABLE["CREATE ".len()..]
    );
    as_the_client_does("hides", "", &dump);
}

#[test]
fn what_is_never_committed_is_taken_back() {
    let dump = format!(
        "{TABLE}INSERT INTO t VALUES (1,'one');\nSET autocommit=0;\nINSERT INTO t VALUES (2,'two');\n\
         CREATE TABLE u (id INT);\nCOMMIT;\nINSERT INTO t VALUES (3,'three');\n\
         CREATE TABLE v (id INT);\nINSERT INTO v VALUES (1);\nINSERT INTO v VALUES (2);\n"
    );
    as_the_client_does("endless", "", &dump);
}

#[test]
fn what_cannot_be_taken_back_is_refused() {
    let Some(yard) = Yard::new(&["rollback"]) else { return };
    let dump = format!(
        "SET autocommit=0;\n{TABLE}INSERT INTO t VALUES (1,'one');\nCOMMIT;\n\
         INSERT INTO t VALUES (2,'two');\nROLLBACK;\n"
    );
    let dump = yard.home.file("dump.sql", dump);
    for way in WAYS {
        let arguments = ["--as", way, "--small", "1", "--into", &yard.databases[0]];
        let outcome = run(&mut yard.replay(&dump, &arguments));
        outcome.refused(1, &["line 6", "ROLLBACK", "rolls back rows of"]);
    }
}

/// Rows that the client rolls back at its end stayed without a word behind a savepoint.
#[test]
fn rows_that_no_commit_follows_are_refused_behind_a_savepoint() {
    let Some(yard) = Yard::new(&["open"]) else { return };
    let dump = format!("SET autocommit=0;\n{TABLE}INSERT INTO t VALUES (1,'one');\nSAVEPOINT s;\n");
    let dump = yard.home.file("dump.sql", dump);
    let outcome = run(&mut yard.replay(&dump, &["--into", &yard.databases[0]]));
    outcome.refused(1, &["rolls back rows of"]);
}

#[test]
fn errors_name_the_table_of_the_dump() {
    let Some(yard) = Yard::new(&["errors"]) else { return };
    let dump = "CREATE TABLE checked (id INT NOT NULL PRIMARY KEY, CONSTRAINT small CHECK (id < 5));\n\
                INSERT INTO checked VALUES (1),(9);\n";
    let dump = yard.home.file("dump.sql", dump);
    for more in [&[][..], &["--small", "1"]] {
        let mut command = yard.replay(&dump, &["--into", &yard.databases[0]]);
        let outcome = run(command.args(more));
        outcome.refused(1, &["line 2", "CONSTRAINT `small` failed", "`checked`"]);
        assert!(!outcome.err.contains("_inrush_"), "{outcome:?}");
    }
}

#[test]
fn rows_that_read_tables_are_refused_where_none_has_its_place() {
    let Some(yard) = Yard::new(&["atomic"]) else { return };
    let dump = format!("{TABLE}INSERT INTO t VALUES (1,(SELECT COUNT(*) FROM t AS x));\n");
    let dump = yard.home.file("dump.sql", dump);
    let outcome = run(&mut yard.replay(&dump, &["--atomic", "--into", &yard.databases[0]]));
    outcome.refused(1, &["--atomic", "line 2", "read tables"]);
}

#[test]
fn what_is_to_stay_out_of_the_binary_log_stays_out() {
    let Some(mut yard) = Yard::logging(&["log"]) else { return };
    let database = yard.databases[0].clone();
    let table = |name: &str| TABLE.replace(" t ", &format!(" {name} "));
    let rows = |name: &str, last: &str| large(&format!("INSERT INTO {name} VALUES"), last);
    let child = "CREATE TABLE child (id INT NOT NULL PRIMARY KEY, v VARCHAR(200), KEY (v), \
                 FOREIGN KEY (id) REFERENCES quiet (id));\n";
    let dump = yard.home.file(
        "dump.sql",
        format!(
            "{}INSERT INTO loud VALUES (1,'a');\n\
             SET @old = @@SESSION.SQL_LOG_BIN, foreign_key_checks=0;\n\
             SET @@SESSION.SQL_LOG_BIN= 0;\n\
             DROP TABLE IF EXISTS quiet;\n{}{}{child}{}\
             INSERT INTO there VALUES (1,'b');\n{}\
             SET @@SESSION.SQL_LOG_BIN = @old;\n{}INSERT INTO behind VALUES (1,'a');\n",
            table("loud"),
            table("quiet"),
            rows("quiet", "(20000,'last')"),
            rows("child", "(20000,UPPER('last'))"),
            rows("others", "(20000,'last')"),
            table("behind"),
        ),
    );
    let before = yard
        .home
        .file("before.sql", format!("{}{}{}", table("there"), table("others"), table("quiet")));
    for way in WAYS {
        for more in [&[][..], &["--small", "1"]] {
            yard.wipe();
            yard.make_databases();
            yard.client(Some(&database), &before).unwrap();
            yard.session.exec("RESET MASTER").unwrap();
            let mut command = yard.replay(&dump, &["--as", way, "--into", &database]);
            let outcome = run(command.args(more));
            assert_eq!(outcome.code(), 0, "{way} {more:?}: {outcome:?}");
            let events = yard.session.query("SHOW BINLOG EVENTS").unwrap();
            let text: Vec<String> = events.iter().map(|event| event.text_lossy(5)).collect();
            let text = text.join("\n");
            let has = |name: &str| text.contains(name);
            assert!(has("loud") && has("behind"), "{way} {more:?}: {text}");
            for name in ["quiet", "child", "there", "others"] {
                assert!(!has(name), "{way} {more:?}: {name} in {text}");
            }
            let quiet = yard.session.query_row(&format!("SELECT COUNT(*) FROM `{database}`.quiet"));
            assert_eq!(quiet.unwrap().text(0).unwrap(), "14001");
        }
    }
}

#[test]
fn what_asks_about_the_statement_before_it_is_refused() {
    let Some(mut yard) = Yard::new(&["last"]) else { return };
    let database = yard.databases[0].clone();
    for asks in ["UPDATE t SET v = ROW_COUNT()", "SET @n = Found_Rows()", "SET @n=@@warning_count"]
    {
        yard.wipe();
        yard.make_databases();
        let later = "CREATE FUNCTION f() RETURNS INT RETURN ROW_COUNT();\n";
        let text =
            format!("{TABLE}INSERT INTO t VALUES (1,'a');\nUPDATE t SET v='b';\n{later}{asks};\n");
        let dump = yard.home.file("last.sql", text);
        let outcome = run(&mut yard.replay(&dump, &["--fresh", "--into", &database]));
        outcome.refused(
            1,
            &["line 5", "this statement reads results of the statement before it (ROW_COUNT() and"],
        );
        let seen = yard.seen();
        assert!(String::from_utf8_lossy(&seen).contains("(1,'b')"), "{asks}");
    }
}

#[test]
fn rows_that_ask_about_the_statement_before_them_are_refused() {
    let Some(mut yard) = Yard::new(&["rows"]) else { return };
    let database = yard.databases[0].clone();
    for (asks, more) in [
        ("INSERT INTO t VALUES (2,ROW_COUNT())", &[][..]),
        ("INSERT INTO t VALUES (2,'x'),(3,Found_Rows ( ))", &[]),
        ("INSERT INTO t (id,v) VALUES (2,@@warning_count)", &["--small", "1"]),
        ("INSERT INTO t SET id=2, v=ROW_COUNT()", &["--small", "1"]),
        ("CREATE TABLE u AS SELECT ROW_COUNT() AS n", &[]),
        ("UPDATE t SET v = ROW_COUNT()", &["--atomic"]),
    ] {
        yard.wipe();
        yard.make_databases();
        let text = format!("{TABLE}INSERT INTO t VALUES (1,'a');\nDO 0;\n{asks};\n");
        let text = if more.contains(&"--atomic") { text.replace("DO 0;", "") } else { text };
        let dump = yard.home.file("rows.sql", text);
        let command = &mut yard.replay(&dump, &["--into", &database]);
        let outcome = run(command.args(more));
        outcome.refused(
            1,
            &["line 4", "this statement reads results of the statement before it (ROW_COUNT() and"],
        );
        let seen = String::from_utf8_lossy(&yard.seen()).into_owned();
        assert!(!seen.contains("-1") && !seen.contains("(2,"), "{asks}: {seen}");
    }
}

const COUNTED: &str =
    "CREATE TABLE c (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200));\n";

#[test]
fn the_number_of_rows_that_others_put_in_is_not_told() {
    let Some(mut yard) = Yard::new(&["number"]) else { return };
    let database = yard.databases[0].clone();
    let rows = large("INSERT INTO c VALUES", "(20000,'last')");
    let rows = rows.replace("(20000,", "(NULL,");
    for way in WAYS {
        for asks in ["SET @n=LAST_INSERT_ID()", "INSERT INTO c (v) VALUES (@@identity)"] {
            yard.wipe();
            yard.make_databases();
            let dump = yard.home.file("number.sql", format!("{COUNTED}{rows}{asks};\n"));
            let outcome = run(&mut yard.replay(&dump, &["--as", way, "--into", &database]));
            outcome.refused(
                1,
                &[
                    "this statement reads a row's generated number (LAST_INSERT_ID() and the",
                    "rows of",
                    "use the mariadb client for this dump",
                ],
            );
        }
    }
}

#[test]
fn numbers_of_the_dumps_own_rows_are_those_of_the_client() {
    let rows = large("INSERT INTO c VALUES", "(20000,'last')");
    let plain = large("INSERT INTO t VALUES", "(20000,'last')");
    let dump = format!(
        "{COUNTED}{TABLE}{rows}INSERT INTO c (v) VALUES ('mine'),('next');\n\
         {plain}INSERT INTO t VALUES (30000,LAST_INSERT_ID());\nSET @n=LAST_INSERT_ID();\n\
         INSERT INTO t VALUES (30001,@n);\n"
    );
    // Nor would small ones be its own, were they not small.
    with_each(&[&[]], "own", "", &dump);
}
