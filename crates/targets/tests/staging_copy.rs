//! The staging tables of the logical path: made, filled by statements, brought back to shape, swapped in.

use std::time::{Duration, Instant};

use schema::{Mode, TableName};
use server::{Error, Session};
use targets::relations::KeyChecks;
use targets::secondary::Defer;
use targets::transaction::Transaction;
use targets::{Lock, LockOptions, StagingCopy};
use testkit::{TestServer, TestServerOptions};

fn target(server: &TestServer, database: &str, table: &str) -> Lock {
    let name = TableName::new(database, table);
    Lock::take(server.connect().unwrap(), &name, &LockOptions::default()).unwrap()
}

fn create(session: &mut Session, database: &str) -> String {
    let text = session.query_row(&format!("SHOW CREATE TABLE {database}.t")).unwrap();
    let text = text.text(1).unwrap();
    let (head, tail) = text.split_once(" AUTO_INCREMENT=").unwrap_or((&text, ""));
    format!("{head}{}", tail.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn leftovers(session: &mut Session, database: &str) -> Vec<String> {
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA='{database}' \
         AND TABLE_NAME LIKE '\\_inrush%'"
    );
    session.query(&sql).unwrap().iter().map(|row| row.text(0).unwrap()).collect()
}

/// Tables of every kind that a staging table can stand in for, the indexes left for later, and a row.
const SHAPES: [(&str, &[&str], &str); 14] = [
    ("(a INT NOT NULL, b VARCHAR(9) NOT NULL) ENGINE=CSV", &[], "1, 'x'"),
    (
        "(a INT PRIMARY KEY, b INT, c INT, KEY b (b), KEY cb (c, b) COMMENT 'it''s, so')",
        &["b", "cb"],
        "1, 2, 3",
    ),
    ("(a INT PRIMARY KEY, b INT, UNIQUE KEY u (b), KEY k (b DESC))", &["k"], "1, 2"),
    (
        "(a INT, n INT AUTO_INCREMENT, b INT, KEY a (a), KEY n (n), KEY b (b)) AUTO_INCREMENT=70",
        &["b"],
        "1, NULL, 2",
    ),
    (
        "(a INT PRIMARY KEY, t TEXT, u TEXT, b INT, FULLTEXT f (t), FULLTEXT g (u), KEY b (b))",
        &["b", "f", "g"],
        "1, 'x', 'y', 2",
    ),
    ("(a INT PRIMARY KEY, p POINT NOT NULL, SPATIAL KEY s (p))", &["s"], "1, POINT(1, 2)"),
    (
        "(a INT, b INT AS (a + 1) VIRTUAL, c INT AS (a * 2) STORED, KEY b (b), KEY c (c), CHECK (a > 0))",
        &["b", "c"],
        "1, DEFAULT, DEFAULT",
    ),
    (
        "(a INT, b INT, KEY b (b)) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (9), PARTITION q VALUES LESS THAN MAXVALUE)",
        &["b"],
        "1, 2",
    ),
    ("(a INT PRIMARY KEY, b INT, KEY b (b)) WITH SYSTEM VERSIONING", &["b"], "1, 2"),
    (
        "(a INT PRIMARY KEY, b INT, KEY b (b)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        &["b"],
        "1, 2",
    ),
    ("(a INT PRIMARY KEY, b TEXT, UNIQUE KEY h (b), KEY k (a, b(5)))", &["k"], "1, 'x'"),
    (
        "(a INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY b (b)) ENGINE=MyISAM ROW_FORMAT=FIXED AUTO_INCREMENT=70",
        &["b"],
        "1, 2",
    ),
    ("(a INT PRIMARY KEY, b INT, KEY b (b)) ENGINE=Aria TRANSACTIONAL=0", &["b"], "1, 2"),
    ("(a INT PRIMARY KEY, b INT, KEY b (b) USING BTREE) ENGINE=MEMORY", &["b"], "1, 2"),
];

#[test]
fn a_filled_copy_becomes_the_very_table_the_target_was() {
    let Some(server) = TestServer::shared() else { return };
    for (shape, deferred, row) in SHAPES {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("CREATE TABLE {database}.t {shape}")).unwrap();
        let before = create(&mut session, &database);
        let mut target = target(server, &database, "t");
        let identity = target.identity().unwrap();
        assert!(identity.ties.is_empty() && identity.refused.is_empty(), "{shape} {identity:?}");
        let copy = StagingCopy::create(&mut target, Defer::NotUnique, identity.is_unsafe).unwrap();
        assert_eq!(copy.deferred(), deferred, "{shape}");
        let name = target.names.staging.clone();
        let engine = catalog::read(&mut session, &name).unwrap().engine;
        assert_eq!(engine, schema::Engine::InnoDb, "{shape}");
        session.exec(&format!("INSERT INTO {} VALUES ({row})", name.quoted())).unwrap();
        let early = copy.filled(&mut target).publish(Mode::Insert, KeyChecks::Rows).map(drop);
        assert!(matches!(early, Err(Error::Altered { .. })), "{shape}: {early:?}");
        copy.finish(&mut target).unwrap();
        copy.finish(&mut target).unwrap();
        crate::publish(copy.filled(&mut target), Mode::Insert);
        assert_eq!(create(&mut session, &database), before);
        let rows = session.query(&format!("SELECT * FROM {database}.t")).unwrap();
        assert_eq!(rows.len(), 1, "{shape}");
        if shape.contains("AUTO_INCREMENT=70") {
            let next = catalog::read(&mut session, &target.table.name).unwrap().auto_increment;
            assert!(next.is_some_and(|next| next >= 70), "{shape}: {next:?}");
        }
        assert!(leftovers(&mut session, &database).is_empty(), "{shape}");
    }
}

/// A staging table with many rows and two indexes to build.
fn filled(server: &TestServer, database: &str, rows: u32) -> (Lock, StagingCopy) {
    let mut session = server.connect().unwrap();
    let sql = format!(
        "CREATE TABLE {database}.t (a INT PRIMARY KEY, b INT, c CHAR(90), KEY b (b), KEY c (c, b))"
    );
    session.exec(&sql).unwrap();
    let mut target = target(server, database, "t");
    let copy = StagingCopy::create(&mut target, Defer::NotUnique, false).unwrap();
    let name = target.names.staging.quoted();
    session
        .exec(&format!(
            "INSERT INTO {name} SELECT seq, seq * 7 % 1000, MD5(seq) FROM {database}.seq_1_to_{rows}"
        ))
        .unwrap();
    (target, copy)
}

/// Waits until the connection builds the indexes.
fn await_alter(session: &mut Session, id: u64) -> bool {
    let sql = format!(
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID={id} AND INFO LIKE '%ADD KEY%'"
    );
    let begun = Instant::now();
    while session.query(&sql).unwrap().is_empty() {
        if begun.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

fn check_published(
    server: &TestServer,
    target: &mut Lock,
    copy: &StagingCopy,
    database: &str,
    rows: u64,
) {
    crate::publish(copy.filled(target), Mode::Insert);
    let mut session = server.connect().unwrap();
    for index in ["PRIMARY", "b", "c"] {
        let sql = format!("SELECT COUNT(*) FROM {database}.t FORCE INDEX ({index})");
        assert_eq!(session.query_row(&sql).unwrap().number::<u64>(0).unwrap(), rows);
    }
    assert_eq!(
        session.query_row(&format!("CHECK TABLE {database}.t")).unwrap().text(3).unwrap(),
        "OK"
    );
    assert!(leftovers(&mut session, database).is_empty());
}

#[test]
fn indexes_whose_building_is_cut_off_are_built_over_a_new_connection() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let (mut target, copy) = filled(server, &database, 150_000);
    let (id, mut killer) = (target.session.id(), server.connect().unwrap());
    let mark = target.session.mark().clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            assert!(await_alter(&mut killer, id), "the ALTER was not seen");
            killer.kill(&mark).unwrap();
        });
        copy.finish(&mut target).unwrap();
    });
    assert_ne!(target.session.id(), id);
    check_published(server, &mut target, &copy, &database, 150_000);
}

#[test]
fn indexes_are_built_again_after_a_crash_of_the_server_in_the_middle() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let database = server.database().unwrap();
    let (mut target, copy) = filled(&server, &database, 150_000);
    let (id, mut watcher) = (target.session.id(), server.connect().unwrap());
    std::thread::scope(|scope| {
        let server = &server;
        scope.spawn(move || {
            assert!(await_alter(&mut watcher, id), "the ALTER was not seen");
            server.kill_9().unwrap();
            server.restart().unwrap();
        });
        copy.finish(&mut target).unwrap();
    });
    check_published(&server, &mut target, &copy, &database, 150_000);
}

#[test]
fn a_half_built_copy_is_never_published_and_the_next_load_removes_it() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let (mut target, copy) = filled(server, &database, 100);
    let name = target.names.staging.clone();
    session.exec(&format!("ALTER TABLE {} ADD KEY b (b)", name.quoted())).unwrap();
    let early = copy.filled(&mut target).publish(Mode::Insert, KeyChecks::Rows).map(drop);
    assert!(matches!(early, Err(Error::Altered { .. })));
    // Killed: its connection ends, and with it the lock.
    drop(target);
    let mut next = self::target(server, &database, "t");
    assert_eq!(next.cleanup_tables().unwrap(), [format!("table {name}")]);
    assert_eq!(next.cleanup_tables().unwrap(), Vec::<String>::new());
    assert!(next.is_empty().unwrap());
}

#[test]
fn rows_of_an_overtaken_load_never_reach_the_next_ones_copy() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let (mut first, copy) = filled(server, &database, 10);
    let theirs = first.names.staging.quoted();
    session.kill(first.session.mark()).unwrap();
    let mut second = target(server, &database, "t");
    second.cleanup_tables().unwrap();
    StagingCopy::create(&mut second, Defer::NotUnique, false).unwrap();
    let late = session.exec(&format!("INSERT INTO {theirs} VALUES (1, 2, 'x')")).unwrap_err();
    assert_eq!(late.errno(), Some(1146), "{late}");
    drop(second);
    assert!(matches!(copy.finish(&mut first), Err(Error::Overtaken(_))));
}

#[test]
fn a_duplicate_in_a_key_left_for_later_fails_the_building() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session
        .exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY, b INT, UNIQUE KEY u (b))"))
        .unwrap();
    let mut target = target(server, &database, "t");
    let copy = StagingCopy::create(&mut target, Defer::Unique, false).unwrap();
    assert_eq!(copy.deferred(), ["u"]);
    let name = target.names.staging.quoted();
    session.exec(&format!("INSERT INTO {name} VALUES (1, 1), (2, 1)")).unwrap();
    assert_eq!(copy.finish(&mut target).unwrap_err().errno(), Some(1062));
    target.abandon().unwrap();
    assert!(leftovers(&mut session, &database).is_empty());
}

#[test]
fn a_copy_becomes_the_table_on_mysql_too() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let shapes: [(&str, &[&str], &str); 7] = [
        (
            "(a INT PRIMARY KEY, b INT, c DATE DEFAULT '2020-01-01', UNIQUE KEY u (b), KEY k (c DESC), KEY i (b) INVISIBLE)",
            &["k", "i"],
            "1, 2, DEFAULT",
        ),
        ("(a INT PRIMARY KEY, b INT, KEY f ((a + b)), KEY b (b))", &["f", "b"], "1, 2"),
        (
            "(a INT, n INT AUTO_INCREMENT, b INT, KEY a (a), KEY n (n), KEY b (b)) AUTO_INCREMENT=70",
            &["b"],
            "1, NULL, 2",
        ),
        (
            "(a INT PRIMARY KEY, t TEXT, u TEXT, FULLTEXT f (t), FULLTEXT g (u), KEY a (a))",
            &["a", "f", "g"],
            "1, 'x', 'y'",
        ),
        (
            "(a INT PRIMARY KEY, p POINT NOT NULL SRID 4326, SPATIAL KEY s (p))",
            &["s"],
            "1, ST_SRID(POINT(1, 2), 4326)",
        ),
        ("(a INT, b INT, KEY b (b)) PARTITION BY HASH (a) PARTITIONS 3", &["b"], "1, 2"),
        (
            "(a INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY b (b)) ENGINE=MyISAM AUTO_INCREMENT=70",
            &["b"],
            "1, 2",
        ),
    ];
    for (at, (shape, deferred, row)) in shapes.into_iter().enumerate() {
        let database = format!("d{at}");
        let mut session = server.connect().unwrap();
        session.exec(&format!("CREATE DATABASE {database}")).unwrap();
        session.exec(&format!("CREATE TABLE {database}.t {shape}")).unwrap();
        let before = create(&mut session, &database);
        let mut target = target(&server, &database, "t");
        let identity = target.identity().unwrap();
        assert!(identity.ties.is_empty() && identity.refused.is_empty(), "{shape} {identity:?}");
        let copy = StagingCopy::create(&mut target, Defer::NotUnique, identity.is_unsafe).unwrap();
        let mut found = copy.deferred();
        found.sort_unstable();
        let mut deferred = deferred.to_vec();
        deferred.sort_unstable();
        assert_eq!(found, deferred, "{shape}");
        let name = target.names.staging.quoted();
        session.exec(&format!("INSERT INTO {name} VALUES ({row})")).unwrap();
        copy.finish(&mut target).unwrap();
        crate::publish(copy.filled(&mut target), Mode::Insert);
        assert_eq!(create(&mut session, &database), before);
        assert_eq!(session.query(&format!("SELECT a FROM {database}.t")).unwrap().len(), 1);
        assert!(leftovers(&mut session, &database).is_empty(), "{shape}");
    }
    let mut session = server.connect().unwrap();
    session
        .exec("CREATE TABLE d0.checked (a INT PRIMARY KEY, CONSTRAINT c CHECK (a > 0))")
        .unwrap();
    let mut checked = target(&server, "d0", "checked");
    assert_eq!(checked.identity().unwrap().ties[0].name(), "CHECK constraint");
    let (mut transaction, mut rows) = Transaction::begin(&mut checked, Mode::Insert).unwrap();
    rows.exec("INSERT INTO d0.checked VALUES (1)").unwrap();
    transaction.commit(&mut checked, rows).unwrap();
    assert_eq!(transaction.forget(&mut checked), None);
    assert_eq!(session.query("SELECT * FROM d0.checked").unwrap().len(), 1);
    assert!(leftovers(&mut session, "d0").is_empty());
}

/// The replication library, where it is installed.
const GALERA: [&str; 2] =
    ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so"];

#[test]
fn a_copy_is_swapped_in_on_a_cluster_and_rows_go_in_at_once() {
    let Some(library) = GALERA.into_iter().find(|path| std::path::Path::new(path).exists()) else {
        println!("skipped: no Galera library is installed");
        return;
    };
    let port = testkit::free_port().unwrap();
    let extra = vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={library}"),
        "--wsrep-cluster-address=gcomm://".to_owned(),
        "--wsrep-node-address=127.0.0.1".to_owned(),
        format!(
            "--wsrep-provider-options=base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};gcache.size=8M"
        ),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ];
    let options = TestServerOptions { extra, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let database = server.database().unwrap();
    let (mut target, copy) = filled(&server, &database, 3000);
    assert!(target.facts.galera && target.identity().unwrap().ties.is_empty());
    copy.finish(&mut target).unwrap();
    check_published(&server, &mut target, &copy, &database, 3000);
    let (mut transaction, mut rows) = Transaction::begin(&mut target, Mode::Replace).unwrap();
    rows.exec(&format!("INSERT INTO {database}.t VALUES (1, 2, 'x')")).unwrap();
    transaction.commit(&mut target, rows).unwrap();
    assert_eq!(transaction.forget(&mut target), None);
    let mut session = server.connect().unwrap();
    let count = session.query_row(&format!("SELECT COUNT(*) FROM {database}.t")).unwrap();
    assert_eq!(count.number::<u64>(0).unwrap(), 1);
    assert!(leftovers(&mut session, &database).is_empty());
}

/// The error was the server's, of an ALTER that nobody knows.
#[test]
fn a_table_that_innodb_refuses_is_not_staged() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let shape = "(g INT, id INT AUTO_INCREMENT, PRIMARY KEY (g, id)) ENGINE=MyISAM";
    session.exec(&format!("CREATE TABLE {database}.t {shape}")).unwrap();
    let mut target = target(server, &database, "t");
    let made = StagingCopy::create(&mut target, Defer::NotUnique, true).map(drop);
    assert!(matches!(made, Err(Error::NoStagingTable { .. })), "{made:?}");
    assert!(!catalog::exists(&mut session, &target.names.staging).unwrap());
}
