//! Plans of loads, and loads that are unsupported.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{TestServer, TestServerOptions};

use crate::support::{COLUMNS, Desk, Home, lines, names, run};

#[test]
fn plan_says_what_load_would_do_and_changes_nothing() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {COLUMNS}"));
    let text = lines(100);
    let file = desk.home.file("rows.txt", &text);
    let ddl = desk.home.file("new.sql", "CREATE TABLE new (a INT)");
    let plan = |desk: &Desk, table: &str, more: &[&str]| {
        let mut load = desk.home.load(desk.server, &desk.table(table), &file);
        load.args(more);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        run(desk.home.inrush(["plan"]).args(arguments))
    };
    let written = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
         WHERE VARIABLE_NAME IN ('COM_CREATE_TABLE', 'COM_ALTER_TABLE', 'COM_DROP_TABLE') ORDER BY 1";
    let before = (desk.files(), desk.rows("SHOW TABLES"));
    let fits = plan(&desk, "t", &[]);
    fits.done();
    assert!(fits.out.contains("t: loads with the direct path: the server's files"), "{fits:?}");
    assert_eq!(fits.err, "");
    let json = plan(&desk, "t", &["--json"]);
    let json: Value = serde_json::from_str(&json.done().out).unwrap();
    assert_eq!((&json["path"], &json["input_bytes"]), (&"direct".into(), &text.len().into()));
    assert_eq!(json["refused"], Value::Array(Vec::new()));
    plan(&desk, "t", &["--columns", "id,id"]).refused(2, &["given twice"]);
    plan(&desk, "new", &[]).refused(2, &["does not exist; --ddl FILE or --create creates it"]);
    let made = plan(&desk, "new", &["--ddl", ddl.to_str().unwrap()]);
    let path = "new: creates the table, then loads it with the direct path, unless the table has";
    assert!(made.done().out.contains(path), "{made:?}");
    assert_eq!((desk.files(), desk.rows("SHOW TABLES")), before);

    desk.exec("INSERT INTO t VALUES (1, 1, '', NULL)");
    let full = plan(&desk, "t", &[]);
    assert_eq!(full.code(), 2, "{full:?}");
    assert!(full.out.contains("t: cannot be loaded\n  not direct: the table is not empty"));
    plan(&desk, "t", &["--mode", "replace"]).done();
    assert!(!desk.home.path().join("state").join("inrush").exists(), "no journal of a plan");
    assert!(!desk.rows(written).is_empty());
}

#[test]
fn what_cannot_be_loaded_yet_is_refused_by_name() {
    let Some(mut desk) = Desk::new() else { return };
    let elsewhere = desk.server.dir().join(format!("elsewhere-{}", desk.database));
    fs::create_dir(&elsewhere).unwrap();
    let directory = format!("CREATE TABLE t (a INT) DATA DIRECTORY='{}'", elsewhere.display());
    let cases = [
        (
            "CREATE TABLE t (a INT) PARTITION BY RANGE (a) SUBPARTITION BY HASH (a) \
             (PARTITION p VALUES LESS THAN MAXVALUE)",
            "partitions (subpartitions)",
        ),
        ("CREATE TABLE t (a INT, b INT AS (a + 1))", "generated column (b"),
        ("CREATE TABLE t (a INT, b INT AS (a + 1) STORED)", "generated column (b"),
        ("CREATE TABLE t (a INT, CONSTRAINT c CHECK (a > 1))", "CHECK constraint (c"),
        (
            "CREATE TABLE t (a INT); CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1",
            "trigger (tr)",
        ),
        ("CREATE TABLE t (a TEXT, FULLTEXT ft (a))", "FULLTEXT index (index ft)"),
        ("CREATE TABLE t (a POINT NOT NULL, SPATIAL sp (a))", "SPATIAL index (index sp)"),
        ("CREATE TABLE t (a INT) ROW_FORMAT=COMPRESSED", "ROW_FORMAT=COMPRESSED"),
        ("CREATE TABLE t (a INT) PAGE_COMPRESSED=1", "page compression"),
        ("CREATE TABLE t (a INT) WITH SYSTEM VERSIONING", "system versioning"),
        (directory.as_str(), "DATA DIRECTORY"),
        ("CREATE TABLE t (a INT) ENGINE=MyISAM", "storage engine (MyISAM)"),
        ("CREATE VIEW t AS SELECT 1", "view"),
    ];
    let file = desk.home.file("rows.txt", "1\n");
    for (sql, feature) in cases {
        for kind in ["VIEW", "TABLE"] {
            desk.exec(&format!("DROP {kind} IF EXISTS t"));
        }
        sql.split("; ").for_each(|sql| desk.exec(sql));
        let (files, tables) = (desk.files(), desk.rows("SHOW TABLES"));
        let outcome = desk.load("t", &file, &["--mode", "replace"]);
        outcome.refused(2, &["t cannot be loaded by the direct path: ", feature]);
        let last = desk.home.journal().pop();
        assert_eq!(last.as_deref(), Some("job.failed"));
        assert!(!desk.home.journal().contains(&"staging.begin".to_owned()));
        assert_eq!((desk.files(), desk.rows("SHOW TABLES")), (files, tables), "{feature}");
    }
    // Made by --ddl and found unfit: taken back.
    desk.exec("DROP VIEW t");
    let ddl = desk.home.file("t.sql", "CREATE TABLE t (a TEXT, FULLTEXT ft (a))");
    let outcome = desk.load("t", &file, &["--ddl", ddl.to_str().unwrap()]);
    outcome.refused(2, &["FULLTEXT index"]);
    assert_eq!(desk.rows("SHOW TABLES LIKE 't'"), [""; 0]);
}

#[test]
fn flags_of_sql_mode_are_those_of_the_server() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (d DATE)");
    let file = desk.home.file("rows.txt", "0000-00-00\n");
    let outcome = desk.load("t", &file, &["--sql-mode", "NO_ZERO_DAET"]);
    outcome.refused(2, &["--sql-mode NO_ZERO_DAET contains a flag"]);
    for flags in ["no_zero_date", "TRADITIONAL", "ANSI_QUOTES, NO_ZERO_DATE"] {
        desk.load("t", &file, &["--sql-mode", flags]).refused(1, &["rows.txt line 1"]);
    }
    desk.load("t", &file, &["--sql-mode", ""]).done();
}

#[test]
fn a_backslash_is_not_guessed_where_the_server_takes_it_for_text() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a TEXT)");
    let file = desk.home.file("rows.txt", "a\\b\n");
    let no_escapes = ["--sql-mode", "NO_BACKSLASH_ESCAPES"];
    let outcome = desk.load("t", &file, &no_escapes);
    outcome.refused(
        2,
        &["with NO_BACKSLASH_ESCAPES in sql_mode, LOAD DATA reads \\N", "--fields-escaped-by ''"],
    );
    for (option, value, stored) in
        [("--fields-escaped-by", "", "a\\b"), ("--dialect", "mysql", "a\u{8}")]
    {
        let more = [option, value, "--mode", "replace"];
        desk.load("t", &file, &[&no_escapes[..], &more].concat()).done();
        assert_eq!(desk.rows("SELECT a FROM t"), [stored]);
    }
}

#[test]
fn a_null_token_that_no_field_can_be_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a VARCHAR(9))");
    let file = desk.home.file("rows.txt", "a\n");
    let token = ["--null-token", "n\u{e9}ant"];
    let outcome = desk.load("t", &file, &[&token[..], &["--charset", "latin1"]].concat());
    outcome.refused(2, &["--null-token n\u{e9}ant must be ASCII", "latin1"]);
    desk.load("t", &file, &token).done();
}

#[test]
fn what_a_name_and_an_empty_file_decide_is_said() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let file = desk.home.file("rows.tsv", "1\n");
    let outcome = desk.load("t", &file, &["--verbose"]);
    outcome.done();
    assert!(outcome.err.contains("note: read as --dialect tsv, by the ending of "), "{outcome:?}");
    let empty = desk.home.file("empty.txt", "");
    let outcome = desk.load("t", &empty, &["--mode", "replace", "--allow-empty"]);
    outcome.done();
    assert!(outcome.out.contains("no rows, so the table is empty now"), "{outcome:?}");
}

#[test]
fn ddl_makes_a_missing_table_and_a_failed_load_takes_it_back() {
    let Some(mut desk) = Desk::new() else { return };
    let dump = "-- dump\nDROP TABLE IF EXISTS `keep`;\n/*!40101 SET NAMES utf8 */;\n\
         CREATE TABLE `t` (\n  a INT PRIMARY KEY COMMENT 'a; b'\n) COMMENT='kept';\n\
         INSERT INTO `t` VALUES (9);\n";
    let ddl = desk.home.file("t.sql", dump);
    desk.exec("CREATE TABLE keep (a INT)");
    let bad = desk.home.file("bad.txt", "1\nx\n");
    let failed = desk.load("t", &bad, &["--ddl", ddl.to_str().unwrap()]);
    failed.refused(1, &["bad.txt line 2", "\"x\" is not INT"]);
    assert_eq!(desk.rows("SHOW TABLES"), ["keep"]);
    let good = desk.home.file("good.txt", "1\n2\n");
    desk.load("t", &good, &["--ddl", ddl.to_str().unwrap()]).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["1", "2"]);
    let comment = "SELECT TABLE_COMMENT FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='t'";
    assert_eq!(desk.rows(comment), ["kept"]);
    // Its database too; the statement is not run again for a table that is there.
    let into = format!("{}_more.t", desk.database);
    for mode in ["insert", "replace"] {
        let mut load = desk.home.load(desk.server, &into, &good);
        run(load.args(["--mode", mode, "--ddl", ddl.to_str().unwrap()])).done();
        assert_eq!(desk.rows(&format!("SELECT COUNT(*) FROM {into}")), ["2"]);
    }
}

#[test]
fn a_collation_that_fails_its_self_test_is_refused_by_name() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a VARCHAR(9) COLLATE latin2_czech_cs, KEY (a)) CHARSET latin2");
    let file = desk.home.file("rows.txt", "x\n");
    let outcome = desk.load("t", &file, &[]);
    outcome.refused(2, &["keys in collation latin2_czech_cs cannot be sorted exactly"]);
    assert_eq!(desk.files(), desk.server.database_files(&["t"]));
    // One that orders no key does not matter.
    desk.exec("ALTER TABLE t DROP KEY a");
    desk.load("t", &file, &[]).done();
}

/// Pages of 8 KiB, a binary log, a key to encrypt tables with.
#[test]
fn an_unfit_server_is_refused_by_name() {
    let home = Home::new();
    let key = home.file("keys", "1;00112233445566778899aabbccddeeff\n");
    let mut extra = TestServer::plugin("file_key_management");
    extra.push("--log-bin=b".to_owned());
    extra.push(format!("--loose-file-key-management-filename={}", key.display()));
    let options = TestServerOptions {
        datadir: vec!["--innodb-page-size=8k".to_owned()],
        extra,
        ..TestServerOptions::default()
    };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    let has_key = session.exec("CREATE TABLE d.t (a INT) ENCRYPTED=YES").is_ok();
    if !has_key {
        session.exec("CREATE TABLE d.t (a INT)").unwrap();
    }
    let file = home.file("rows.txt", "1\n");
    let outcome = run(&mut home.load(&server, "d.t", &file));
    let binlog =
        "binary log (log_bin is on: replicas and point-in-time recovery would lack the rows;";
    outcome.refused(2, &["page size (innodb_page_size is 8192; 16384 is needed)", binlog]);
    assert_eq!(outcome.err.contains("encrypted table (encrypted=yes)"), has_key, "{outcome:?}");
    assert_eq!(names(&server.datadir().join("d")), server.database_files(&["t"]));
}

/// A database that `--ddl` made goes with the load, unless others use it by then.
#[test]
fn a_database_made_for_a_load_that_fails_is_taken_back() {
    let Some(mut desk) = Desk::new() else { return };
    let database = format!("{}_made", desk.database);
    let table = format!("{database}.t");
    let bad = desk.home.file("bad", "x\n");
    let good = desk.home.file("good", "1\n");
    let ddl = desk.home.file("t.sql", "CREATE TABLE t (a INT)");
    let wrong = desk.home.file("wrong.sql", "CREATE TABLE t (a INTT)");
    let list = format!("SHOW DATABASES LIKE '{}'", database.replace('_', "\\_"));
    let load = |desk: &Desk, file: &Path, ddl: &Path| {
        run(desk.home.load(desk.server, &table, file).arg("--ddl").arg(ddl))
    };
    for (file, ddl, code) in [(&bad, &ddl, 1), (&good, &wrong, 2)] {
        assert_eq!(load(&desk, file, ddl).code(), code);
        assert_eq!(desk.rows(&list), [""; 0]);
    }
    desk.exec(&format!("CREATE DATABASE {database}"));
    assert_eq!(load(&desk, &bad, &ddl).code(), 1);
    assert_eq!(desk.rows(&list), [database.as_str()], "it existed before");
    desk.exec(&format!("DROP DATABASE {database}"));
    load(&desk, &good, &ddl).done();
    assert_eq!(desk.rows(&format!("SELECT a FROM {table}")), ["1"]);
    desk.exec(&format!("DROP DATABASE {database}"));
}

/// Databases of the server's own: refused by name, whatever the method, before a table is made.
#[test]
fn tables_of_the_server_are_no_targets() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("rows.csv", "a,b\n1,2\n");
    let dump = desk.home.file("dump.sql", "CREATE TABLE `q` (a INT PRIMARY KEY);\n");
    let listed = |desk: &mut Desk| {
        desk.rows(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA IN ('mysql', 'sys') ORDER BY 1, 2",
        )
    };
    let before = listed(&mut desk);
    for table in ["mysql.new", "mysql.global_priv", "sys.new", "information_schema.TABLES"] {
        let words = [table, "belongs to the server itself"];
        for more in [&["--create"][..], &["--mode", "replace", "--path", "stream"]] {
            let mut load = desk.home.load(desk.server, table, &file);
            run(load.args(more).arg("--quiet")).refused(2, &words);
        }
    }
    for database in ["mysql", "Sys", "performance_schema"] {
        let mut replay = desk.home.inrush(["replay", dump.to_str().unwrap(), "--into", database]);
        let outcome = run(replay.arg("--socket").arg(desk.server.socket()));
        outcome.refused(2, &[database, "belongs to the server itself"]);
    }
    // A dump of all databases has such tables: its statements are run as they are.
    let text = "USE mysql;\nCREATE TABLE q1 (a INT PRIMARY KEY);\nINSERT INTO q1 VALUES (1);\nDROP TABLE q1;\n";
    let dump = desk.home.file("all.sql", text);
    let mut replay = desk.home.inrush(["replay", dump.to_str().unwrap(), "--socket"]);
    let outcome = run(replay.arg(desk.server.socket()));
    assert!(
        outcome.done().out.contains("serial") || outcome.out.contains("parallel"),
        "{outcome:?}"
    );
    assert_eq!(listed(&mut desk), before);
}
