//! Chunks that are sent again: after deadlocks, lost connections, restarts. Each is in once.

use std::time::Instant;

use testkit::TestServerOptions;
use testkit::proxy::{Cut, Proxy};

use super::*;
use crate::ledger::Totals;
use crate::retry::TRIES_MIN;

/// A second sender, as of a second run, finds the chunk in the ledger.
#[test]
fn a_chunk_that_is_in_is_not_loaded_again() {
    let Some(server) = TestServer::shared() else { return };
    let columns = format!("{COLUMNS}, CONSTRAINT good CHECK (b <> 'bad')");
    let mut scene = Scene::new(server, &columns, &NAMES, OnDuplicate::Fail);
    let lines = ["1\ta", "2\tbad", "3\tc"];
    let mut first = chunk(0, Form::Lines, &lines);
    let first = scene.sender().send(&mut first, BATCH, &mut Notes::default()).unwrap();
    let mut again = chunk(0, Form::Lines, &lines);
    let again = scene.sender().send(&mut again, BATCH, &mut Notes::default()).unwrap();
    assert!(again.was_loaded && !first.was_loaded);
    assert_eq!(again.entry, first.entry);
    assert_eq!(again.rejects[0].1.row.to_string(), first.rejects[0].1.row.to_string());
    assert_eq!(scene.rows(), ["1\ta", "3\tc"]);
    // Of other bytes, it is another input.
    let mut other = chunk(0, Form::Lines, &["1\ta", "2\tbed", "3\tc"]);
    let other = scene.sender().send(&mut other, BATCH, &mut Notes::default());
    assert!(matches!(other, Err(Trouble::Failed(Error::InputChanged))), "{other:?}");
}

/// Sends two chunks and has the connection cut, or whatever `proxy` does, at packet `nth` of
/// the second; false once there are not so many.
fn send_through(
    scene: &mut Scene,
    proxy: &Proxy,
    form: Form,
    nth: usize,
    cut: Cut,
) -> (bool, Vec<Cause>) {
    scene.session.exec(&format!("DELETE FROM {}", scene.target.quoted())).unwrap();
    let forget = format!("DELETE FROM {} WHERE ordinal>=0", scene.ledger.table().quoted());
    scene.session.exec(&forget).unwrap();
    let mut options = scene.options.clone();
    options.connect.socket = Some(proxy.socket().to_owned());
    let mut sender = Sender::connect(&Arc::new(options)).unwrap();
    let mut notes = Notes::default();
    let mut first = chunk(0, form, &["1\ta", "2\tb"]);
    sender.send(&mut first, BATCH, &mut notes).unwrap();
    proxy.cut_at(nth, cut);
    let mut second = chunk(1, form, &["3\tc", "4\td", "5\te"]);
    sender.send(&mut second, BATCH, &mut notes).unwrap();
    let more = !proxy.let_pass();
    let mut third = chunk(2, form, &["6\tf"]);
    sender.send(&mut third, BATCH, &mut notes).unwrap();
    (more, notes.causes)
}

fn expect_once(scene: &mut Scene, at: &str) {
    let rows = ["1\ta", "2\tb", "3\tc", "4\td", "5\te", "6\tf"];
    assert_eq!(scene.rows(), rows, "{at}");
    let entries: Vec<(u64, u64)> = scene.entries().iter().map(|e| (e.ordinal, e.rows)).collect();
    assert_eq!(entries, [(0, 2), (1, 3), (2, 1)], "{at}");
}

/// The table has no key that would keep a row from being there twice.
const KEYLESS: &str = "a INT NOT NULL, b VARCHAR(10)";

/// Cuts before each packet, after it, and after it without the server's knowledge: whatever
/// statement it belongs to, the rows of a chunk are in once.
#[test]
fn rows_are_in_once_wherever_the_connection_is_cut() {
    let Some(server) = TestServer::shared() else { return };
    for form in forms(server) {
        let mut scene = Scene::new(server, KEYLESS, &NAMES, OnDuplicate::Fail);
        let socket = server.dir().join(format!("cut-{form:?}.sock"));
        let proxy = Proxy::start(socket, server.socket());
        let mut nth = 1;
        'packets: loop {
            for cut in [Cut::Before, Cut::After, Cut::Unseen] {
                let at = format!("{form:?}, packet {nth}, {cut:?}");
                let (more, causes) = send_through(&mut scene, &proxy, form, nth, cut);
                expect_once(&mut scene, &at);
                if !more {
                    assert!(causes.is_empty(), "{at}: {causes:?}");
                    break 'packets;
                }
                assert_eq!(causes, [Cause::Lost], "{at}");
            }
            nth += 1;
        }
        // Transaction, the tables held, ledger, rows (two statements, or a statement, rows and their end), variables, COMMIT.
        assert_eq!(nth, if form == Form::Lines { 9 } else { 8 }, "{form:?}");
    }
}

/// The same with the server killed, and started again a moment later.
#[test]
fn rows_are_in_once_wherever_the_server_is_killed() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let server = Arc::new(server);
    let mut scene = Scene::new(&server, KEYLESS, &NAMES, OnDuplicate::Fail);
    let proxy = Proxy::start(server.dir().join("kill.sock"), server.socket());
    let killed = Arc::clone(&server);
    let (starts, started) = std::sync::mpsc::channel();
    proxy.at_cut(move || {
        killed.kill_9().unwrap();
        let (server, starts) = (Arc::clone(&killed), starts.clone());
        std::thread::spawn(move || starts.send(server.restart()));
    });
    for nth in 1..7 {
        for cut in [Cut::Before, Cut::After] {
            let at = format!("packet {nth}, {cut:?}");
            let (more, causes) = send_through(&mut scene, &proxy, Form::Lines, nth, cut);
            assert!(more && causes.contains(&Cause::Lost), "{at}: {causes:?}");
            started.recv().unwrap().unwrap();
            scene.session = server.connect().unwrap();
            expect_once(&mut scene, &at);
        }
    }
}

/// A transaction of others that is in the way, and is ended after a while.
#[test]
fn a_lock_that_comes_late_is_waited_for_and_one_that_does_not_ends_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    scene.options.settings = vec![("innodb_lock_wait_timeout", "0".to_owned())];
    let mut other = server.connect().unwrap();
    let insert = format!("INSERT INTO {} VALUES (2, 'theirs')", scene.target.quoted());
    other.exec("START TRANSACTION").unwrap();
    other.exec(&insert).unwrap();
    let mut sender = scene.sender();
    let lines = ["1\ta", "2\tb", "3\tc"];
    let (failed, fails) = std::sync::mpsc::channel();
    let mut notes = Notes { failed: Some(failed), ..Notes::default() };
    std::thread::scope(|scope| {
        let other = &mut other;
        scope.spawn(move || {
            fails.recv().unwrap();
            other.exec("ROLLBACK").unwrap();
        });
        sender.send(&mut chunk(0, Form::Lines, &lines), BATCH, &mut notes).unwrap();
    });
    assert!(!notes.causes.is_empty());
    assert!(notes.causes.iter().all(|cause| *cause == Cause::LockWait));
    assert_eq!(scene.rows(), ["1\ta", "2\tb", "3\tc"]);

    other.exec("START TRANSACTION").unwrap();
    other.exec(&insert.replace("(2", "(9")).unwrap();
    scene.options.lock_wait = Duration::ZERO;
    let mut notes = Notes::default();
    let sent = scene.sender().send(&mut chunk(1, Form::Tuples, &["9\ta"]), BATCH, &mut notes);
    let Err(Trouble::Failed(Error::GaveUp { tries, error, .. })) = sent else { panic!("{sent:?}") };
    assert_eq!(tries, TRIES_MIN);
    let held_by = format!("; the lock may be held by connection {}", other.id());
    assert!(error.to_string().contains(&held_by), "{error}");
    assert_eq!(scene.entries().len(), 1);
}

/// A transaction of others that is in the way, while a third one waits for the chunk.
#[test]
fn a_chunk_that_waits_keeps_nobody_waiting() {
    for server in [TestServer::start(), TestServer::mysql(Vec::new())].into_iter().flatten() {
        let mut scene = Scene::new(&server, COLUMNS, &NAMES, OnDuplicate::Fail);
        let (mut other, mut third) = (server.connect().unwrap(), server.connect().unwrap());
        let table = scene.target.quoted();
        other.exec("START TRANSACTION").unwrap();
        other.exec(&format!("INSERT INTO {table} VALUES (2, 'theirs')")).unwrap();
        let mut sender = scene.sender();
        let waits = format!(
            "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state='LOCK WAIT' \
             AND trx_mysql_thread_id={}",
            sender.connection_id().unwrap()
        );
        let (failed, fails) = std::sync::mpsc::channel();
        let mut notes = Notes { failed: Some(failed), ..Notes::default() };
        std::thread::scope(|scope| {
            let look = &mut scene.session;
            scope.spawn(move || {
                while look.query_text(&waits).unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(150));
                }
                let begun = Instant::now();
                third.query(&format!("SELECT * FROM {table} WHERE a=1 FOR UPDATE")).unwrap();
                let waited = begun.elapsed();
                fails.recv().unwrap();
                other.exec("ROLLBACK").unwrap();
                assert!(waited < Duration::from_secs(10), "{waited:?}");
            });
            let mut ours = chunk(0, Form::Tuples, &["1\ta", "2\tb"]);
            sender.send(&mut ours, Batch { rows: 1, ..BATCH }, &mut notes).unwrap();
        });
        assert_eq!(notes.causes[0], Cause::LockWait);
        assert_eq!(scene.rows(), ["1\ta", "2\tb"]);
        assert_eq!(scene.entries().len(), 1);
    }
}

/// The server has one error for a full column and for a lock of the numbers that does not come.
#[test]
fn rows_are_not_rejected_because_others_take_numbers() {
    let Some(server) = TestServer::shared() else { return };
    for form in [Form::Lines, Form::Tuples] {
        let columns = "a INT NOT NULL AUTO_INCREMENT PRIMARY KEY, b VARCHAR(10)";
        let mut scene = Scene::new(server, columns, &["b"], OnDuplicate::Fail);
        scene.options.lock_wait = Duration::from_secs(1);
        let mut other = server.connect().unwrap();
        let table = scene.target.quoted();
        let slow = format!(
            "INSERT INTO {table} (b) SELECT CONCAT('x', SLEEP(IF(i > 1, 2, 0))) \
             FROM (SELECT 1 i UNION SELECT 2 UNION SELECT 3) three"
        );
        let mut sender = scene.sender();
        let sent = std::thread::scope(|scope| {
            let busy = scope.spawn(move || other.exec(&slow).unwrap());
            std::thread::sleep(Duration::from_secs(1));
            let sent = sender.send(&mut chunk(0, form, &["y", "z"]), BATCH, &mut Notes::default());
            busy.join().unwrap();
            sent.unwrap()
        });
        assert_eq!((sent.entry.rows, sent.rejects.len()), (2, 0), "{form:?}");
        assert_eq!(scene.rows().len(), 5, "{form:?}");
    }
}

#[test]
fn the_loser_of_a_deadlock_is_sent_again() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    let table = scene.target.quoted();
    let mut other = server.connect().unwrap();
    // More work than ours: the server ends the transaction that has done less.
    other.exec("START TRANSACTION").unwrap();
    let many: Vec<String> = (100..600).map(|i| format!("({i}, 'x')")).collect();
    other.exec(&format!("INSERT INTO {table} VALUES {}", many.join(", "))).unwrap();
    other.exec(&format!("INSERT INTO {table} VALUES (5, 'x')")).unwrap();
    let mut sender = scene.sender();
    let mut notes = Notes::default();
    let id = sender.connection_id().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut watch = server.connect().unwrap();
            let waits = format!(
                "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state='LOCK WAIT' \
                 AND trx_mysql_thread_id={id}"
            );
            // What it tells is as old as the last look, if that was within a tenth of a second.
            while watch.query_text(&waits).unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(150));
            }
            other.exec(&format!("INSERT INTO {table} VALUES (1, 'x')")).unwrap();
            other.exec("ROLLBACK").unwrap();
        });
        let mut ours = chunk(0, Form::Tuples, &["1\ta", "2\tb", "5\tc"]);
        sender.send(&mut ours, BATCH, &mut notes).unwrap();
    });
    assert_eq!(notes.causes[0], Cause::Deadlock);
    assert_eq!(scene.rows(), ["1\ta", "2\tb", "5\tc"]);
    assert_eq!(scene.entries().len(), 1);
}

/// In one transaction of all chunks, a deadlock has undone those before.
#[test]
fn a_whole_transaction_that_is_lost_is_not_gone_on_with() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    scene.options.commit = Commit::Whole { savepoints: true };
    let mut session = server.connect().unwrap();
    session.exec("START TRANSACTION").unwrap();
    let mark = session.mark().clone();
    let mut sender = Sender::with(session, &Arc::new(scene.options.clone())).unwrap();
    let mut notes = Notes::default();
    sender.send(&mut chunk(0, Form::Lines, &["1\ta"]), BATCH, &mut notes).unwrap();
    scene.session.kill(&mark).unwrap();
    let sent = sender.send(&mut chunk(1, Form::Lines, &["2\tb"]), BATCH, &mut notes);
    assert!(matches!(&sent, Err(Trouble::Again(again)) if again.cause == Cause::Lost), "{sent:?}");
    assert!(sender.into_session().is_none() && scene.rows().is_empty());
}

#[test]
fn a_wish_to_stop_ends_the_wait_for_a_server() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    let interrupt = scene.options.connect.interrupt.clone();
    let mut sender = scene.sender();
    let kill = format!("KILL {}", sender.connection_id().unwrap());
    scene.session.exec(&kill).unwrap();
    interrupt.request("SIGTERM");
    let sent = sender.send(&mut chunk(0, Form::Lines, &["1\ta"]), BATCH, &mut Notes::default());
    assert!(
        matches!(&sent, Err(Trouble::Failed(Error::Server(server::Error::Interrupted)))),
        "{sent:?}"
    );
    assert!(scene.rows().is_empty());
}

/// As after a crash that took the last transactions with it: rows and ledger are of one mind.
#[test]
fn chunks_that_a_crash_took_are_missed() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    let mut sender = scene.sender();
    for (ordinal, lines) in [["1\ta", "2\tb"], ["3\tc", "4\td"]].iter().enumerate() {
        let mut chunk = chunk(ordinal as u64, Form::Lines, lines);
        sender.send(&mut chunk, BATCH, &mut Notes::default()).unwrap();
    }
    let sent = Totals { chunks: 2, rows: 4 };
    scene.ledger.require(&mut scene.session, sent).unwrap();
    let lose = format!("DELETE FROM {} WHERE ordinal=1", scene.ledger.table().quoted());
    scene.session.exec(&lose).unwrap();
    let lost = scene.ledger.require(&mut scene.session, sent);
    assert!(
        matches!(lost, Err(Error::LostCommits { sent_rows: 4, kept_rows: 2, chunks: 1 })),
        "{lost:?}"
    );
}

/// A statement that waits for the lock of AUTO_INCREMENT values, and is ended for others that wait for its transaction.
/// The server's error is that of a full counter, and good rows were rejected for it.
#[test]
fn rows_whose_statement_is_ended_for_others_are_sent_again() {
    let Some(server) = TestServer::shared() else { return };
    // The other one takes no lock for these values.
    if server.version().flavor != Flavor::MariaDb {
        return;
    }
    let columns = "a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(10), UNIQUE (b)";
    let mut scene = Scene::new(server, columns, &["b"], OnDuplicate::Fail);
    let table = scene.target.quoted();
    let mut gate = server.connect().unwrap();
    gate.exec("START TRANSACTION").unwrap();
    gate.exec(&format!("INSERT INTO {table} (b) VALUES ('a')")).unwrap();
    let mut notes = Notes::default();
    let mut sender = scene.sender();
    let pause = || std::thread::sleep(Duration::from_millis(500));
    let long = format!(
        "INSERT INTO {table} (b) SELECT IF(seq = 1, 'x', CONCAT('y', SLEEP(8))) FROM {}.seq_1_to_2",
        scene.target.database
    );
    let waits = format!("SELECT b FROM {table} WHERE b = 'a' FOR UPDATE");
    let sent = std::thread::scope(|scope| {
        let sent = scope.spawn(|| {
            // Two statements; the first waits for the gate.
            let mut chunk = chunk(0, Form::Tuples, &["a", "b", "c", "d"]);
            sender.send(&mut chunk, BATCH, &mut notes)
        });
        pause();
        let (mut numbers, mut waiting) = (server.connect().unwrap(), server.connect().unwrap());
        scope.spawn(move || numbers.exec(&long).unwrap());
        pause();
        gate.exec("ROLLBACK").unwrap();
        pause();
        waiting.query(&waits).unwrap();
        sent.join().unwrap().unwrap()
    });
    assert!(sent.rejects.is_empty(), "{:?}", sent.rejects);
    assert!(notes.causes.contains(&Cause::LockWait), "{:?}", notes.causes);
    assert_eq!((sent.entry.rows, scene.rows().len()), (4, 6));
}
