//! One transaction into the target itself.

use std::time::{Duration, Instant};

use schema::{Mode, TableName};
use server::{Error, Session};
use targets::transaction::Transaction;
use targets::turns::take_turns;
use targets::{Lock, LockOptions};
use testkit::{TestServer, TestServerOptions};

fn target(server: &TestServer, database: &str) -> Lock {
    let options = LockOptions { lock_wait: Duration::from_secs(60), ..LockOptions::default() };
    let name = TableName::new(database, "t");
    Lock::take(server.connect().unwrap(), &name, &options).unwrap()
}

fn count(session: &mut Session, database: &str) -> u64 {
    session.query_row(&format!("SELECT COUNT(*) FROM {database}.t")).unwrap().number(0).unwrap()
}

fn tables(session: &mut Session, database: &str) -> usize {
    session.query(&format!("SHOW TABLES FROM {database}")).unwrap().len()
}

#[test]
fn rows_appear_with_the_commit_and_nobody_else_inserts_before_it() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut other = server.connect().unwrap();
    other
        .exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY, b INT, KEY b (b))"))
        .unwrap();
    let mut target = target(server, &database);
    let (mut transaction, mut session) = Transaction::begin(&mut target, Mode::Insert).unwrap();
    other.exec("SET innodb_lock_wait_timeout=1").unwrap();
    let late = other.exec(&format!("INSERT INTO {database}.t VALUES (9, 9)")).unwrap_err();
    assert_eq!(late.errno(), Some(1205));
    session.exec(&format!("INSERT INTO {database}.t VALUES (1, 1), (2, 2)")).unwrap();
    assert_eq!(count(&mut other, &database), 0);
    assert!(!transaction.is_in(&target).unwrap());
    transaction.commit(&mut target, session).unwrap();
    assert_eq!(transaction.forget(&mut target), None);
    assert!(transaction.is_in(&target).unwrap());
    assert_eq!(count(&mut other, &database), 2);
    assert_eq!(tables(&mut other, &database), 1);
    assert!(matches!(Transaction::begin(&mut target, Mode::Insert), Err(Error::NotEmpty(_))));

    let (transaction, mut session) = Transaction::begin(&mut target, Mode::Replace).unwrap();
    session.exec(&format!("INSERT INTO {database}.t VALUES (1, 1)")).unwrap();
    transaction.rollback(&mut target, session).unwrap();
    assert_eq!(count(&mut other, &database), 2);
    let (mut transaction, mut session) = Transaction::begin(&mut target, Mode::Replace).unwrap();
    session.exec(&format!("INSERT INTO {database}.t VALUES (1, 1)")).unwrap();
    transaction.commit(&mut target, session).unwrap();
    assert_eq!(transaction.forget(&mut target), None);
    assert_eq!(count(&mut other, &database), 1);
    let (mut transaction, mut session) = Transaction::begin(&mut target, Mode::Append).unwrap();
    session.exec(&format!("INSERT INTO {database}.t VALUES (7, 7)")).unwrap();
    transaction.commit(&mut target, session).unwrap();
    assert_eq!(transaction.forget(&mut target), None);
    assert_eq!(count(&mut other, &database), 2);
    target.cleanup_tables().unwrap();
    assert_eq!(tables(&mut other, &database), 1);
}

#[test]
fn a_lock_that_does_not_come_ends_the_wait_by_name() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut other = server.connect().unwrap();
    other.exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY)")).unwrap();
    other.exec("START TRANSACTION").unwrap();
    other.exec(&format!("INSERT INTO {database}.t VALUES (1)")).unwrap();
    let options = LockOptions { lock_wait: Duration::from_secs(2), ..LockOptions::default() };
    let name = TableName::new(database.as_str(), "t");
    let mut target = Lock::take(server.connect().unwrap(), &name, &options).unwrap();
    let begun = Instant::now();
    match Transaction::begin(&mut target, Mode::Insert) {
        Err(Error::LockWait { holders, .. }) => assert!(!holders.is_empty()),
        other => panic!("{other:?}"),
    }
    assert!(begun.elapsed() < Duration::from_secs(20));
    other.exec("ROLLBACK").unwrap();
    target.cleanup_tables().unwrap();
    assert_eq!(tables(&mut other, &database), 1);
}

#[test]
fn turns_at_a_lock_last_as_long_as_the_load_may_wait() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    let (begun, wait) = (Instant::now(), Duration::from_secs(2));
    let busy = || Error::LockWait { target: "d.t".to_owned(), seconds: 2, holders: Vec::new() };
    take_turns(&mut session, wait, |_| Err(busy())).unwrap_err();
    assert!(begun.elapsed() >= wait, "{:?}", begun.elapsed());
}

/// The connection of the rows is killed before its COMMIT: nothing is in, and it is known.
#[test]
fn a_connection_that_broke_before_the_commit_has_loaded_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut other = server.connect().unwrap();
    other.exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY)")).unwrap();
    let mut target = target(server, &database);
    let (mut transaction, mut session) = Transaction::begin(&mut target, Mode::Insert).unwrap();
    session.exec(&format!("INSERT INTO {database}.t VALUES (1)")).unwrap();
    other.kill(session.mark()).unwrap();
    match transaction.commit(&mut target, session) {
        Err(Error::Lost { .. } | Error::Statement { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&mut other, &database), 0);
    target.abandon().unwrap();
    assert_eq!(tables(&mut other, &database), 1);
}

/// The server is killed around the COMMIT: what is said is what is so afterwards.
#[test]
fn after_a_crash_around_the_commit_it_is_known_whether_it_was_done() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let database = server.database().unwrap();
    server
        .connect()
        .unwrap()
        .exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY, b CHAR(90))"))
        .unwrap();
    for delay_us in [0, 200, 600, 1500, 4000, 12_000] {
        let mut target = target(&server, &database);
        target.cleanup_tables().unwrap();
        let (mut transaction, mut session) =
            Transaction::begin(&mut target, Mode::Replace).unwrap();
        let sql =
            format!("INSERT INTO {database}.t SELECT seq, MD5(seq) FROM {database}.seq_1_to_2000");
        session.exec(&sql).unwrap();
        let before = count(&mut server.connect().unwrap(), &database);
        let outcome = std::thread::scope(|scope| {
            let server = &server;
            scope.spawn(move || {
                std::thread::sleep(Duration::from_micros(delay_us));
                server.kill_9().unwrap();
                server.restart().unwrap();
            });
            transaction.commit(&mut target, session)
        });
        let after = count(&mut server.connect().unwrap(), &database);
        match outcome {
            Ok(()) => assert_eq!(after, 2000),
            Err(Error::Lost { .. } | Error::Statement { .. }) => assert_eq!(after, before),
            Err(other) => panic!("{other}"),
        }
        // The next load begins with an empty table, to see which it was.
        server.connect().unwrap().exec(&format!("TRUNCATE TABLE {database}.t")).unwrap();
    }
}

/// Who gives a load up, by Ctrl-C for one, does not wait for its own transaction, which the server
/// may take long to roll back.
#[test]
fn a_load_that_is_given_up_does_not_wait_for_its_own_transaction() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut other = server.connect().unwrap();
    other.exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY)")).unwrap();
    let mut target = target(server, &database);
    let (_, mut session) = Transaction::begin(&mut target, Mode::Insert).unwrap();
    session.exec(&format!("INSERT INTO {database}.t VALUES (1)")).unwrap();
    let begun = Instant::now();
    target.abandon().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(tables(&mut other, &database), 1);
    drop(session);
}
