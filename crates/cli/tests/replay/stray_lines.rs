//! Lines that the dump program or a terminal wrote into a dump, and statements that only MySQL knows.

use super::yard::Yard;
use crate::support::run;

const DUMP: &str = "Enter password: -- MySQL dump 10.13\n\
    mysqldump: [Warning] Using a password on the command line interface can be insecure.\n\
    CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n\
    /usr/bin/mariadb-dump: Deprecated program name.\nINSERT INTO t VALUES (2),(3);\n\
    -- Dump completed on 2026-01-01\nmysqldump: [Warning] the end\n";

#[test]
fn messages_of_the_dump_program_are_left_out_and_told() {
    let Some(mut yard) = Yard::new(&["stray"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("stray.sql", DUMP);
    for more in [&["--dry-run"][..], &[], &["--small", "1"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = run(yard.replay(&dump, &["--into", &database]).args(more));
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        let told =
            "note: left out 4 lines that are no SQL, messages of the dump program; the first one: ";
        assert!(outcome.out.contains(told), "{outcome:?}");
        assert!(
            outcome.out.contains("stray.sql line 1 (byte 0), \"Enter password:\""),
            "{outcome:?}"
        );
    }
    let rows = yard.session.query(&format!("SELECT a FROM `{database}`.t")).unwrap();
    assert_eq!(rows.len(), 3);
}

#[test]
fn an_error_of_the_dump_program_means_that_the_dump_is_not_whole() {
    let Some(mut yard) = Yard::new(&["given_up"]) else { return };
    let database = yard.databases[0].clone();
    let text = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n\
        mysqldump: Error 2013: Lost connection to server during query when dumping table `t` at row: 1\n\
        CREATE TABLE u (a INT);\n";
    let dump = yard.home.file("given_up.sql", text);
    let into = ["--into", &database];
    for more in [&[][..], &["--dry-run"]] {
        let outcome = run(yard.replay(&dump, &into).args(more));
        let parts = ["given_up.sql line 3", "the dump is not whole", "Error 2013", "--partial"];
        outcome.refused(1, &parts);
    }
    run(&mut yard.replay(&dump, &["--into", &database, "--partial"])).done();
    let tables = yard.session.query(&format!("SHOW TABLES FROM `{database}`")).unwrap();
    assert_eq!(tables.len(), 2);
}

#[test]
fn gtids_of_mysql_are_left_out_on_mariadb() {
    let Some(mut yard) = Yard::new(&["gtid"]) else { return };
    let database = yard.databases[0].clone();
    let text = "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;\nSET @@SESSION.SQL_LOG_BIN= 0;\n\
        --\n-- GTID state at the beginning of the backup\n--\n\n\
        SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5';\n\
        CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n\
        SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;\n";
    let dump = yard.home.file("gtid.sql", text);
    let outcome = run(&mut yard.replay(&dump, &["--into", &database]));
    let told = "note: line 7, SET @@GLOBAL.GTID_PURGED, was left out";
    assert!(outcome.done().out.contains(told), "{outcome:?}");
    let rows = yard.session.query(&format!("SELECT a FROM `{database}`.t")).unwrap();
    assert_eq!(rows.len(), 1);
}
