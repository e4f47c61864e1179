//! Sessions: rows, errors, locks, LOAD DATA LOCAL.

use std::time::{Duration, Instant};

use server::{ConnectOptions, Interrupt, Session};
use testkit::TestServer;
use testkit::proxy::{Fate, Proxy};

#[test]
fn rows_come_as_text_bytes_and_null() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    let row = session.query_row("SELECT 'a', NULL, 42, x'00ff', 'x'").unwrap();
    assert_eq!(row.text(0).unwrap(), "a");
    assert!(row.is_null(1) && row.text(1).is_err());
    assert_eq!(row.number::<u8>(2).unwrap(), 42);
    assert_eq!(row.bytes(3), Some(&[0, 255][..]));
    assert!(row.text(3).is_err() && row.number::<i32>(4).is_err());
    assert_eq!(session.query("SELECT 1 UNION SELECT 2").unwrap().len(), 2);
    assert!(session.query_row("SELECT 1 FROM DUAL WHERE 0").is_err());
}

#[test]
fn an_error_names_the_statement_and_the_session_lives_on() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    let error = session.exec("SELECT * FROM nowhere.nothing").unwrap_err();
    assert_eq!(error.errno(), Some(1146));
    assert!(error.to_string().contains("SELECT * FROM nowhere.nothing"), "{error}");
    let error = session.exec("SET PASSWORD = PASSWORD('hunter2') oops").unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(session.query_text("SELECT 1").unwrap().as_deref(), Some("1"));
}

/// The network has died for the connection that ends statements, and for no other.
#[test]
fn an_end_that_cannot_be_sent_keeps_no_statement() {
    let Some(server) = TestServer::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let proxy = Proxy::start(folder.path().join("proxy"), server.socket());
    proxy.judge(|request| {
        if request.begins("KILL") {
            std::thread::sleep(Duration::from_secs(60));
        }
        Fate::Done
    });
    let interrupt = Interrupt::default();
    let options = ConnectOptions { interrupt: interrupt.clone(), ..server.options() };
    let mut session = Session::connect(&options).unwrap();
    let (socket, connect_timeout) = (proxy.socket().to_owned(), Some(Duration::from_secs(1)));
    let watching = ConnectOptions { socket: Some(socket), connect_timeout, ..options };
    let watcher = interrupt.watch(&watching);
    let begun = Instant::now();
    let asking = interrupt.clone();
    let asked = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        asking.request("SIGINT");
    });
    session.query("SELECT SLEEP(3)").unwrap();
    asked.join().unwrap();
    drop(watcher);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_named_lock_is_exclusive_and_dies_with_its_holder() {
    let Some(server) = TestServer::shared() else { return };
    let (mut one, mut two) = (server.connect().unwrap(), server.connect().unwrap());
    assert!(one.lock_name("n", Duration::ZERO).unwrap());
    assert!(!two.lock_name("n", Duration::ZERO).unwrap());
    assert_eq!(two.lock_holder("n").unwrap(), Some(one.id()));
    two.kill(one.mark()).unwrap();
    assert!(two.lock_name("n", Duration::from_secs(5)).unwrap());
    assert!(one.exec("SELECT 1").is_err());
    two.kill(one.mark()).unwrap();
}

/// Behind a balancer the next connection reaches another server, where the number is somebody else's.
#[test]
fn nobody_else_is_ended_whose_number_is_the_same() {
    let (Some(here), Some(there)) = (TestServer::start(), TestServer::start()) else { return };
    let mut ours = here.connect().unwrap();
    let mut killer = there.connect().unwrap();
    let mut stranger = there.connect().unwrap();
    // Numbers ascend on each.
    while stranger.id() != ours.id() {
        match stranger.id() < ours.id() {
            true => stranger = there.connect().unwrap(),
            false => ours = here.connect().unwrap(),
        }
    }
    killer.kill(ours.mark()).unwrap();
    assert!(stranger.exec("SELECT 1").is_ok(), "a stranger was ended");
    assert!(ours.exec("SELECT 1").is_ok());
    here.connect().unwrap().kill(ours.mark()).unwrap();
    assert!(ours.exec("SELECT 1").is_err());
}

#[test]
fn local_data_is_sent_for_one_statement_only() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (a INT, b VARCHAR(10))")).unwrap();
    let load = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {database}.t");
    let done = session.load_local(&load, &b"1\tone\n2\ttwo\n"[..]).unwrap();
    assert_eq!(done.affected_rows, 2);
    assert!(done.info.starts_with("Records: 2"), "{}", done.info);
    assert!(session.exec(&load).is_err());
    assert_eq!(session.query(&format!("SELECT * FROM {database}.t")).unwrap().len(), 2);
}

#[test]
fn a_statement_of_any_bytes_reaches_the_server_as_it_is() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY, b BLOB)")).unwrap();
    // Every byte that a dump writes as it is: not UTF-8, so no text.
    let every: Vec<u8> = (1..=255).filter(|b| !b"'\\\r\n\x1a".contains(b)).collect();
    let insert = format!("INSERT INTO {database}.t VALUES (1, _binary '");
    let sql = [insert.as_bytes(), &every, b"'),(2,'\xe4')"].concat();
    assert_eq!(session.exec_bytes(&sql).unwrap().affected_rows, 2);
    let rows = session.query(&format!("SELECT b FROM {database}.t ORDER BY a")).unwrap();
    assert_eq!(rows[0].bytes(0), Some(&every[..]));
    assert_eq!(rows[1].bytes(0), Some(&b"\xe4"[..]));

    let error = session.exec_bytes(&sql).unwrap_err();
    assert_eq!(error.errno(), Some(1062));
    assert!(error.to_string().contains("INSERT INTO"), "{error}");
    let error = session.exec_bytes(b"SELECT '\xff' FROM nowhere.nothing").unwrap_err();
    assert_eq!(error.errno(), Some(1146));

    // Longer than goes at once, in a character set of its own, and things other than rows.
    session.exec(&format!("USE {database}")).unwrap();
    session.exec("SET NAMES latin1, SESSION sql_mode='NO_BACKSLASH_ESCAPES'").unwrap();
    session.exec("CREATE TABLE long_ones (t LONGTEXT) CHARACTER SET utf8mb4").unwrap();
    let long = vec![0xe4; 3_000_000];
    let sql = [b"INSERT INTO long_ones VALUES ('".as_slice(), &long, b"'),('\\')"].concat();
    assert_eq!(session.exec_bytes(&sql).unwrap().affected_rows, 2);
    let sums =
        "SELECT GROUP_CONCAT(CHAR_LENGTH(t), ' ', LENGTH(t), ' ', LEFT(HEX(t), 4)) FROM long_ones";
    let sums = session.query_text(sums).unwrap().unwrap();
    assert_eq!(sums, "3000000 6000000 C3A4,1 1 5C");
    for sql in [
        "CREATE TABLE `t\u{e4}` (`\u{e4}` INT DEFAULT 1 COMMENT '\u{e4}')",
        "CREATE TRIGGER b BEFORE INSERT ON `t\u{e4}` FOR EACH ROW SET @seen = '\u{e4}'",
        "CREATE PROCEDURE p() SELECT '\u{e4}'",
        "LOCK TABLES `t\u{e4}` WRITE",
        "INSERT INTO `t\u{e4}` VALUES (7)",
        "UNLOCK TABLES",
        "CALL p() /* \u{e4} */",
        "SET @other = '\u{e4}'",
        "ALTER TABLE `t\u{e4}` ADD KEY `k\u{e4}` (`\u{e4}`)",
        "CREATE VIEW v AS SELECT '\u{e4}' AS a",
    ] {
        let latin1: Vec<u8> = sql.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        session.exec_bytes(&latin1).unwrap();
    }
    session.exec("SET NAMES utf8mb4").unwrap();
    let seen = session.query_text("SELECT CONCAT(@seen, @other, a) FROM v").unwrap();
    assert_eq!(seen.as_deref(), Some("\u{e4}\u{e4}\u{e4}"));
    let count = session.query_text("SELECT COUNT(`\u{e4}`) FROM `t\u{e4}`").unwrap();
    assert_eq!(count.as_deref(), Some("1"));
    let body = session.query_row("SHOW CREATE PROCEDURE p").unwrap();
    assert!(body.text(2).unwrap().contains("SELECT '\u{e4}'"), "{body:?}");
}

#[test]
fn a_statement_that_answers_more_than_once_is_read_to_its_end() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY)")).unwrap();
    let sql = format!(
        "INSERT INTO {database}.t VALUES (1),(2); SELECT 1; INSERT INTO {database}.t VALUES (3)"
    );
    assert_eq!(session.exec_bytes(sql.as_bytes()).unwrap().affected_rows, 3);
    // The second of them fails: that is not lost.
    let sql = format!("SELECT 1; INSERT INTO {database}.t VALUES (3); SELECT 2");
    assert_eq!(session.exec_bytes(sql.as_bytes()).unwrap_err().errno(), Some(1062));
    assert_eq!(session.query_text("SELECT 1").unwrap().as_deref(), Some("1"));
}

#[test]
fn a_statement_in_bytes_that_asks_for_a_file_gets_none() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (a INT)")).unwrap();
    let sql = format!("LOAD/**/DATA LOCAL INFILE '/etc/hostname' INTO TABLE {database}.t");
    let error = session.exec_bytes(sql.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("LOAD DATA LOCAL"), "{error}");
    let count = session.query_text(&format!("SELECT COUNT(*) FROM {database}.t")).unwrap();
    assert_eq!(count.as_deref(), Some("0"));
}

#[test]
fn a_source_that_fails_loads_nothing() {
    struct Broken(u32);
    impl std::io::Read for Broken {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 3 {
                return Err(std::io::Error::other("the disk is gone"));
            }
            out[..4].copy_from_slice(b"1\tx\n");
            Ok(4)
        }
    }
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (a INT, b VARCHAR(10))")).unwrap();
    let load = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {database}.t");
    let error = session.load_local(&load, Broken(0)).unwrap_err();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    drop(session);
    let mut session = server.connect().unwrap();
    // The server notices the broken connection on its own time.
    for _ in 0..100 {
        let busy = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'LOAD%'";
        if session.query_text(busy).unwrap().as_deref() == Some("0") {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(session.query(&format!("SELECT * FROM {database}.t")).unwrap().is_empty());
}

/// Settings that others have made for all sessions hold for theirs.
#[test]
fn a_session_checks_rows_whatever_the_server_has_been_told() {
    let Some(server) = TestServer::start() else { return };
    let checks = ["unique_checks", "foreign_key_checks", "check_constraint_checks"];
    for check in checks {
        server.connect().unwrap().exec(&format!("SET GLOBAL {check}=0")).unwrap();
        let mut session = server.connect().unwrap();
        let value = session.query_text(&format!("SELECT @@SESSION.{check}")).unwrap();
        assert_eq!(value.as_deref(), Some("1"), "{check}");
    }
}
