//! Locks that others hold: waited for, told of, and given up with a word on who has them.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use schema::TableName;
use server::Session;
use targets::Names;
use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{
    Desk, Home, Outcome, PATIENCE, finish, lines, resume, run, start, wait_paused,
};

/// An action of somebody else, its end, and the load's message about it.
struct Hold {
    take: &'static [&'static str],
    release: &'static [&'static str],
    /// Where the load is meanwhile.
    place: &'static str,
    /// The words about the holder with the plugin METADATA_LOCK_INFO, and without.
    told: [&'static str; 2],
    /// The kind of the lock, where the server lists locks.
    kind: &'static str,
}

const METADATA: &str = ", with a metadata lock";
const GLOBAL: &str = ", with a global read lock";
const BACKUP: &str = ", with a backup lock";

/// Words before the age of a transaction.
const AGE: &str = ", in a transaction for ";

const HOLDS: [Hold; 9] = [
    Hold {
        take: &["START TRANSACTION", "SELECT COUNT(*) FROM t"],
        release: &["COMMIT"],
        place: "publish.begin",
        told: [AGE, AGE],
        kind: METADATA,
    },
    Hold {
        take: &["START TRANSACTION", "DELETE FROM t WHERE id < 10"],
        release: &["ROLLBACK"],
        place: "publish.begin",
        told: [AGE, AGE],
        kind: METADATA,
    },
    Hold {
        take: &["LOCK TABLES t WRITE"],
        release: &["UNLOCK TABLES"],
        place: "job.begin",
        told: [" (idle for ", " (idle for "],
        kind: METADATA,
    },
    Hold {
        take: &["LOCK TABLES t WRITE"],
        release: &["UNLOCK TABLES"],
        place: "inspect.end",
        told: [" (idle for ", " (idle for "],
        kind: METADATA,
    },
    Hold {
        take: &["LOCK TABLES t READ"],
        release: &["UNLOCK TABLES"],
        place: "publish.begin",
        told: [" (idle for ", " (idle for "],
        kind: METADATA,
    },
    Hold {
        take: &["FLUSH TABLES WITH READ LOCK"],
        release: &["UNLOCK TABLES"],
        place: "inspect.end",
        told: [" (idle for ", " (idle for "],
        kind: GLOBAL,
    },
    Hold {
        take: &["FLUSH TABLES WITH READ LOCK"],
        release: &["UNLOCK TABLES"],
        place: "publish.begin",
        told: [" (idle for ", " (idle for "],
        kind: GLOBAL,
    },
    Hold {
        take: &["BACKUP STAGE START", "BACKUP STAGE FLUSH", "BACKUP STAGE BLOCK_DDL"],
        release: &["BACKUP STAGE END"],
        place: "publish.begin",
        told: [" (idle for ", " (idle for "],
        kind: BACKUP,
    },
    Hold {
        take: &["BACKUP LOCK t"],
        release: &["BACKUP UNLOCK"],
        place: "publish.begin",
        told: [" (idle for ", " (idle for "],
        kind: METADATA,
    },
];

fn all(session: &mut Session, statements: &[&str]) {
    for statement in statements {
        session.exec(statement).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Every hold against a load that waits for a second, on a server whose clock is not that of its system.
fn given_up(plugin: bool) {
    let extra = vec!["--default-time-zone=+05:30".to_owned()];
    let options = TestServerOptions { extra, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 1_000);
    if plugin && scene.session.exec("INSTALL SONAME 'metadata_lock_info'").is_err() {
        println!("skipped: the server has no plugin METADATA_LOCK_INFO");
        return;
    }
    // MySQL's lock for backups keeps the staging table from being dropped, too.
    let is_there = |hold: &&Hold| !(server.is_mysql() && hold.take[0].starts_with("BACKUP"));
    for hold in HOLDS.iter().filter(is_there) {
        let when = format!("{:?} at {}", hold.take, hold.place);
        let mut other = server.connect().unwrap();
        other.exec(&format!("USE {}", scene.database)).unwrap();
        let mut load = scene.load_with(&format!("{}=pause", hold.place));
        let mut child = start(load.args(["--lock-wait", "1"]));
        wait_paused(&mut child);
        all(&mut other, hold.take);
        resume(&child);
        let begun = Instant::now();
        let outcome = finish(child);
        let took = begun.elapsed();
        all(&mut other, hold.release);
        let who = format!("connection {} of root@localhost", other.id());
        let told = hold.told[usize::from(!plugin)];
        let kind = if plugin || server.is_mysql() { hold.kind } else { "" };
        let parts = ["no lock on ", "within 1 s", &who, told, kind, "wait longer with --lock-wait"];
        outcome.refused(1, &parts);
        assert!(took < Duration::from_secs(40), "{when}: {took:?}");
        for (_, age) in outcome.err.match_indices(AGE).map(|(at, _)| outcome.err.split_at(at)) {
            let seconds = age[AGE.len()..].split(' ').next().unwrap();
            assert!(seconds.parse::<u64>().unwrap() < 600, "{when}: {outcome:?}");
        }
        assert!(!scene.is_new(), "{when}");
        let left = outcome.err.contains("could not be removed");
        let fate = if left { "t is unchanged; " } else { "nothing was loaded: " };
        assert!(outcome.err.contains(fate), "{when}: {outcome:?}");
        assert_eq!(
            left,
            hold.take[0].starts_with("FLUSH") && hold.place == "publish.begin"
                || hold.take[0].starts_with("BACKUP STAGE"),
            "{when}: {outcome:?}"
        );
        if !left {
            scene.clean(&when);
        }
    }
    scene.again("after all");
}

#[test]
fn a_lock_that_does_not_come_is_given_up_and_its_holder_named() {
    given_up(false);
}

#[test]
fn with_the_plugin_the_holder_is_known() {
    given_up(true);
}

/// Somebody holds the table while the load gets there, and lets go before the limit.
#[test]
fn a_lock_that_comes_in_time_was_told_of_while_it_was_waited_for() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 1_000);
    // On MariaDB who waits for it has the state of one who waits for a backup.
    let global =
        if server.is_mysql() { GLOBAL } else { ", with a backup lock or global read lock" };
    for (place, take, kind) in [
        ("publish.begin", "LOCK TABLES t READ", if server.is_mysql() { METADATA } else { "" }),
        ("inspect.end", "FLUSH TABLES WITH READ LOCK", global),
    ] {
        let mut other = server.connect().unwrap();
        other.exec(&format!("USE {}", scene.database)).unwrap();
        let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        other.exec(take).unwrap();
        resume(&child);
        let told = format!("waiting for a lock on {}, at most 60 s; ", scene.table);
        // In full: what it says afterwards must find somebody who listens.
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = said.find(|line| line.contains(&told));
        let who = format!("connection {} of root@localhost{kind}", other.id());
        assert!(line.as_ref().is_some_and(|line| line.contains(&who)), "{place}: {line:?}");
        other.exec("UNLOCK TABLES").unwrap();
        let rest: Vec<String> = said.collect();
        assert_eq!(finish(child).code(), 0, "{place}: {rest:?}");
        scene.clean(place);
        scene.reset();
    }
}

/// A server that is about to be given up for another one becomes read-only while the load waits for a lock.
#[test]
fn a_server_that_becomes_read_only_during_a_wait_gets_no_new_table() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 1_000);
    for key in ["", "FOREIGN KEY (n) REFERENCES t (n)"] {
        if !key.is_empty() {
            let child = format!("(n INT NOT NULL, {key}) ENGINE=InnoDB");
            scene.session.exec(&format!("CREATE TABLE {}.child {child}", scene.database)).unwrap();
        }
        let mut other = server.connect().unwrap();
        other.exec(&format!("USE {}", scene.database)).unwrap();
        all(&mut other, &["START TRANSACTION", "DELETE FROM t WHERE id < 10"]);
        let mut child = start(&mut scene.command());
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let is_waiting = said.any(|line| line.contains("waiting for a lock on "));
        scene.session.exec("SET GLOBAL read_only=1").unwrap();
        other.exec("ROLLBACK").unwrap();
        let rest: Vec<String> = said.collect();
        assert!(
            is_waiting && rest.iter().any(|line| line.contains("became read-only")),
            "{rest:?}"
        );
        assert_eq!(finish(child).code(), 1, "{rest:?}");
        assert!(!scene.is_new(), "{key}");
        scene.session.exec("SET GLOBAL read_only=0").unwrap();
    }
}

/// A mistake of ours in the thread that looks who holds a lock: the statement that waits goes on without it.
#[test]
fn a_panic_beside_a_statement_that_waits_takes_nothing_with_it() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 1_000);
    let mut other = server.connect().unwrap();
    other.exec(&format!("USE {}", scene.database)).unwrap();
    other.exec("LOCK TABLES t WRITE").unwrap();
    let mut load = scene.load_with("thread.holders=panic");
    let mut child = start(load.env("RUST_BACKTRACE", "0"));
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let is_met = said.any(|line| line.contains("the failpoint thread.holders"));
    other.exec("UNLOCK TABLES").unwrap();
    let rest: Vec<String> = said.collect();
    assert!(is_met, "{rest:?}");
    assert_eq!(finish(child).code(), 0, "{rest:?}");
    scene.clean("after a panic");
}

/// A statement that reads the table for longer than the load waits.
#[test]
fn a_long_query_is_named_with_its_text_less_its_secrets() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 1_000);
    for (query, shown) in [
        ("SELECT SLEEP(60) FROM t LIMIT 1", "(SELECT SLEEP(60) FROM t LIMIT 1, for "),
        (
            "SELECT SLEEP(60), 'password=hunter2' FROM t LIMIT 1",
            "(SELECT SLEEP(60), '..' FROM t LIMIT 1, for ",
        ),
    ] {
        let mut other = server.connect().unwrap();
        let (id, use_it) = (other.id(), format!("USE {}", scene.database));
        let mut load = scene.load_with("publish.begin=pause");
        let mut child = start(load.args(["--lock-wait", "1"]));
        wait_paused(&mut child);
        let reader = std::thread::spawn(move || {
            other.exec(&use_it).unwrap();
            let _ = other.query(query);
        });
        let reads = format!(
            "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID={id} AND STATE='User sleep'"
        );
        let begun = Instant::now();
        while scene.session.query_text(&reads).unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "{query} was not seen");
            std::thread::sleep(Duration::from_millis(5));
        }
        resume(&child);
        let outcome = finish(child);
        let who = format!("connection {id} of root@localhost");
        outcome.refused(1, &["no lock on ", &who, shown]);
        assert!(!outcome.err.contains("hunter2"));
        scene.session.exec(&format!("KILL CONNECTION {id}")).unwrap();
        reader.join().unwrap();
        scene.clean(query);
    }
    scene.again("after long queries");
}

/// Rows of a prepared transaction belong to nobody's connection.
#[test]
fn a_prepared_transaction_is_a_holder_too() {
    let Some(server) = TestServer::start() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(&server, mode, 1_000);
        let mut other = server.connect().unwrap();
        let insert = format!("INSERT INTO {} VALUES (-1, -1, 'x', 'x')", scene.table);
        all(&mut other, &["XA START 'x'", &insert, "XA END 'x'", "XA PREPARE 'x'"]);
        drop(other);
        let mut load = scene.command();
        let outcome = run(load.args(["--lock-wait", "1"]));
        let prepared = "prepared XA transaction ";
        outcome.refused(1, &["no lock on ", prepared]);
        scene.session.exec("XA ROLLBACK 'x'").unwrap();
        assert!(!scene.is_new());
        scene.clean("prepared");
        scene.again("rolled back");
    }
}

/// Statements that create what a load needs wait as long as others, and name who is in the way.
#[test]
fn tables_that_cannot_be_created_yet_are_waited_for() {
    let Some(server) = TestServer::start() else { return };
    let (home, database) = (Home::new(), server.database().unwrap());
    let mut other = server.connect().unwrap();
    let table = format!("{database}.t");
    let create = format!("CREATE TABLE {table} (id INT PRIMARY KEY, v INT)");
    all(&mut other, &[&create, &format!("INSERT INTO {table} VALUES (0, 0)")]);
    // More than goes in by one transaction.
    let rows: String = (1..40_000).map(|id| format!("{id},{id}\n")).collect();
    let rows = home.file("rows.csv", rows);
    let dump = home.file("dump.sql", "CREATE TABLE r (id INT);\n-- Dump completed\n");
    let append = ["--mode", "append", "--path", "stream", "--dialect", "csv"];
    let wait = ["--lock-wait", "1"];
    all(&mut other, &["FLUSH TABLES WITH READ LOCK"]);
    let mut append_to = home.load(&server, &table, &rows);
    let mut new = home.load(&server, &format!("{database}.new"), &rows);
    let mut replay = home.inrush(["replay", "--into", &database]);
    replay.arg(&dump).arg("--socket").arg(server.socket());
    replay.args(server.options().user.map(|user| format!("--user={user}")));
    for command in [append_to.args(append), new.arg("--create"), &mut replay] {
        let held = " within 1 s; the lock may be held by connection ";
        run(command.args(wait)).refused(1, &["no lock on ", held]);
    }
    all(&mut other, &["UNLOCK TABLES"]);
    run(home.load(&server, &table, &rows).args(append)).done();
}

#[test]
fn loads_of_several_tables_at_once_all_work() {
    let Some(desk) = Desk::new() else { return };
    let mut session = desk.server.connect().unwrap();
    let file = desk.home.file("rows.txt", lines(2_000));
    let children: Vec<_> = (0..4)
        .map(|number| {
            let table = desk.table(&format!("t{number}"));
            session.exec(&format!("CREATE TABLE {table} {}", crate::support::COLUMNS)).unwrap();
            start(&mut desk.home.load(desk.server, &table, &file))
        })
        .collect();
    let outcomes: Vec<Outcome> = children.into_iter().map(finish).collect();
    for (number, outcome) in outcomes.iter().enumerate() {
        outcome.done();
        let table = desk.table(&format!("t{number}"));
        assert_eq!(crate::support::contents(&mut session, &table).0, 2_000);
    }
    assert_eq!(desk.files(), desk.server.database_files(&["t0", "t1", "t2", "t3"]));
}

/// FLUSH TABLES, CHECK and ANALYZE of everything, our own tables included, as a nightly job does.
#[test]
fn a_load_among_housekeeping_works() {
    let Some(server) = TestServer::start_with(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 2_000);
    let names = Names::of(&TableName::new(scene.database.clone(), "t"));
    let ended = std::sync::atomic::AtomicBool::new(false);
    let home = Home::new();
    assert!(home.temp_files().is_empty());
    std::thread::scope(|scope| {
        // Statements of MySQL keep the first table while they wait for the second, as no statement of others does.
        let and = |verb: &str| match server.is_mysql() {
            true => format!("; {verb} TABLE "),
            false => ", ".to_owned(),
        };
        let noise = [
            "FLUSH TABLES".to_owned(),
            format!("ANALYZE TABLE {}{}{}", scene.table, and("ANALYZE"), names.staging.quoted()),
            format!("CHECK TABLE {}{}{}", names.staging.quoted(), and("CHECK"), scene.table),
            format!("SELECT COUNT(*) FROM {}", scene.table),
            // A lock for all tables of MySQL waits for LOCK TABLES, and RENAME for that lock: one that comes all the
            // time lets no attempt pass.
            match server.is_mysql() {
                true => "FLUSH TABLES".to_owned(),
                false => "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES".to_owned(),
            },
        ];
        let (ended, server) = (&ended, &server);
        for sql in noise {
            scope.spawn(move || {
                let mut session = server.connect().unwrap();
                while !ended.load(std::sync::atomic::Ordering::SeqCst) {
                    for sql in sql.split("; ") {
                        // Of a table that is not there, or without tablespace.
                        let _ = session.query(sql);
                    }
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
        }
        for round in 0..5 {
            scene.reset();
            let outcome = run(&mut scene.command());
            if outcome.code() != 0 {
                ended.store(true, std::sync::atomic::Ordering::SeqCst);
            }
            assert_eq!(outcome.code(), 0, "round {round}: {outcome:?}");
            assert!(scene.is_new());
        }
        ended.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    scene.clean("after housekeeping");
}
