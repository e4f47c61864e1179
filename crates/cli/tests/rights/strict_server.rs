//! Servers whose own settings would refuse what a load asks of them.

use std::fs;

use testkit::{TestServer, TestServerOptions};

use crate::support::{Desk, Home, run};

/// A server of its own: none where none is installed.
fn server(extra: &[&str]) -> Option<TestServer> {
    TestServer::shared()?;
    let extra = extra.iter().map(|&option| option.to_owned()).collect();
    TestServer::start_with(&TestServerOptions { extra, ..TestServerOptions::default() })
}

fn every_path_loads(server: &TestServer, paths: &[&str]) {
    let home = Home::new();
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE IF NOT EXISTS d").unwrap();
    let file = home.file("rows", "1\tx\n2\ty\n");
    for path in paths {
        for columns in
            ["a INT PRIMARY KEY, b VARCHAR(9)", "a INT PRIMARY KEY, b VARCHAR(9), v INT AS (a)"]
        {
            session.exec(&format!("CREATE OR REPLACE TABLE d.t ({columns})")).unwrap();
            if *path == "direct" && columns.contains(" AS ") {
                continue;
            }
            run(home.load(server, "d.t", &file).args(["--path", path, "--columns", "a,b"])).done();
            let seen = session.query_text("SELECT GROUP_CONCAT(a, b ORDER BY a) FROM d.t").unwrap();
            assert_eq!(seen.as_deref(), Some("1x,2y"), "{path}");
        }
    }
}

#[test]
fn a_server_that_looks_at_few_rows_and_writes_nothing_by_itself_is_loaded() {
    let Some(server) = server(&["--max-join-size=1"]) else { return };
    server.connect().unwrap().exec("SET GLOBAL tx_read_only=1").unwrap();
    every_path_loads(&server, &["direct", "stream", "insert"]);
}

#[test]
fn a_binary_log_of_statements_takes_inserts() {
    let log = ["--log-bin=log", "--binlog-format=STATEMENT", "--server-id=7"];
    let Some(server) = server(&log) else { return };
    every_path_loads(&server, &["stream", "insert"]);
}

/// The server says where such a value goes only when it compares it with another.
#[test]
fn a_value_without_a_place_of_its_own_is_sent() {
    let Some(mut desk) = Desk::new() else { return };
    let collation = "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci";
    let file = desk.home.file(
        "rows",
        "1\te\u{301}\n2\tx\n3\tE\u{1c5}_\u{133}\u{e44}\u{141}\u{30ca}\u{65e5}\u{301}\n",
    );
    for columns in [
        format!("a INT PRIMARY KEY, c CHAR(9) {collation}, KEY c (c)"),
        format!("a INT, c CHAR(9) {collation} PRIMARY KEY"),
    ] {
        desk.exec(&format!("CREATE OR REPLACE TABLE t ({columns})"));
        desk.exec("CREATE OR REPLACE TABLE theirs LIKE t");
        let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE theirs CHARACTER SET utf8mb4";
        desk.session.load_local(sql, fs::File::open(&file).unwrap()).unwrap();
        let direct = desk.load("t", &file, &[]);
        direct.refused(1, &["rows line 3", "`c`", "has no known sort order in", "--path stream"]);
        assert_eq!(desk.rows("SELECT * FROM t"), [""; 0]);
        let auto = desk.load("t", &file, &["--verbose", "--path", "auto", "--rejects-max", "1"]);
        assert!(auto.done().out.contains("path stream: not direct: "), "{auto:?}");
        assert_eq!(
            desk.rows("SELECT * FROM t ORDER BY a"),
            desk.rows("SELECT * FROM theirs ORDER BY a")
        );
        desk.exec("DROP TABLE theirs");
        let database = desk.database.clone();
        assert_eq!(crate::support::tables(&mut desk.session, &database), ["t"]);
    }
}
