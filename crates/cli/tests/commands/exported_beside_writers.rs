//! Exports of a table that others write to: nobody waits long for us, and each export has one moment.

use std::fs;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use server::Session;
use server::version::Flavor;
use testkit::{TestServer, dialect};

use crate::support::{Home, Outcome, finish, resume, run, start, wait_paused};

/// Seconds that a writer waits for a lock before it fails: more than an attempt of ours takes.
const WRITER_PATIENCE: u32 = 4;

fn export(server: &TestServer, home: &Home, path: &str, lock_wait: &str, file: &str) -> Outcome {
    let mut export = home.inrush(["export", "d.t", "-o", file, "--socket"]);
    let export = export.arg(server.socket()).args(["--path", path, "--force"]);
    run(export.args(["--threads", "3", "--lock-wait", lock_wait]))
}

/// The exported rows with values from `least` on, and of all rows the values of `b`.
fn rows(home: &Home, file: &str, least: u64) -> (usize, Vec<String>) {
    let text = fs::read_to_string(home.path().join(file)).unwrap();
    let fields = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let fields: Vec<_> = fields.collect();
    let added = fields.iter().filter(|row| row[0].parse::<u64>().unwrap() >= least).count();
    (added, fields.iter().map(|row| row[1].to_owned()).collect())
}

/// An open transaction has changed a row. Pairs of rows are inserted meanwhile, by a writer that is not patient.
#[test]
fn an_export_beside_an_open_transaction_reads_one_snapshot_and_no_writer_waits_long() {
    // Its own server: transactions of other tests would be named too.
    let Some(server) = TestServer::start() else { return };
    let (home, mut session) = (Home::new(), server.connect().unwrap());
    session.exec("CREATE DATABASE d").unwrap();
    session
        .exec("CREATE TABLE d.t (a INT PRIMARY KEY, b INT, w VARCHAR(600)) ENGINE=InnoDB")
        .unwrap();
    let insert = "INSERT INTO d.t SELECT seq, 1, REPEAT('x', 590) FROM d.seq_1_to_20000";
    dialect::exec(&mut session, insert).unwrap();
    session.exec("ANALYZE TABLE d.t").unwrap();
    let mut open = server.connect().unwrap();
    open.exec("BEGIN").unwrap();
    open.exec("UPDATE d.t SET b=2 WHERE a=1").unwrap();
    let holder = format!("connection {} of root@localhost", open.id());

    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (ended, server, home) = (&ended, &server, &home);
        let writer = scope.spawn(move || {
            let mut writer = server.connect().unwrap();
            writer.exec(&format!("SET lock_wait_timeout={WRITER_PATIENCE}")).unwrap();
            for pair in (1_000_000..).step_by(2) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                writer.exec("BEGIN").unwrap();
                for row in [pair, pair + 1] {
                    writer.exec(&format!("INSERT INTO d.t VALUES ({row}, 1, 'y')")).unwrap();
                }
                writer.exec("COMMIT").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let longer = (WRITER_PATIENCE + 2).to_string();
        let outcomes = [
            (
                "auto",
                longer.as_str(),
                "path select: rows are read with SELECT: the table's file was not locked within",
            ),
            ("select", "1", "several need a lock, which did not come within 1 s"),
        ]
        .map(|(path, wait, words)| {
            (export(server, home, path, wait, "t.csv"), rows(home, "t.csv", 1_000_000), words)
        });
        let refused = export(server, home, "direct", "1", "no.csv");
        ended.store(true, Ordering::SeqCst);
        writer.join().unwrap();
        for (outcome, (added, changed), words) in outcomes {
            for part in [words, &holder, "one connection reads", "1 thread"] {
                assert!(outcome.done().out.contains(part), "{part}: {outcome:?}");
            }
            assert!(added % 2 == 0 && added > 0, "{added} rows of pairs: {outcome:?}");
            assert_eq!(changed.len(), 20_000 + added);
            assert!(changed.iter().all(|b| b == "1"), "a row that was not committed: {outcome:?}");
        }
        let parts = ["was not locked within 1 s", &holder, "--path select reads the table"];
        refused.refused(1, &parts);
    });
    assert!(!home.path().join("no.csv").exists());
    open.exec("ROLLBACK").unwrap();
}

#[test]
fn a_table_that_others_keep_from_being_read_is_named_with_their_connection() {
    // Its own server: transactions of other tests would be named too.
    let Some(server) = TestServer::start() else { return };
    let (home, mut session) = (Home::new(), server.connect().unwrap());
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    let mut other = server.connect().unwrap();
    other.exec("LOCK TABLES d.t WRITE").unwrap();
    let holder = format!("connection {} of root@localhost", other.id());
    let outcome = export(&server, &home, "auto", "1", "t.csv");
    outcome.refused(1, &["no lock on", "within 1 s", &holder, "wait longer with --lock-wait"]);
    other.exec("UNLOCK TABLES").unwrap();
    export(&server, &home, "auto", "1", "t.csv").done();
}

/// Somebody holds the table when an export of its file begins.
#[test]
fn a_lock_is_told_of_while_it_is_waited_for() {
    // Its own server: transactions of other tests would be named too.
    let Some(server) = TestServer::start() else { return };
    let (home, mut session) = (Home::new(), server.connect().unwrap());
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    for (take, release) in
        [("LOCK TABLES d.t WRITE", "UNLOCK TABLES"), ("INSERT INTO d.t VALUES (1)", "COMMIT")]
    {
        let mut other = server.connect().unwrap();
        other.exec("SET autocommit=0").unwrap();
        other.exec(take).unwrap();
        let mut export = home.inrush(["export", "d.t", "-o", "t.csv", "--force", "--socket"]);
        let export = export.arg(server.socket()).args(["--path", "direct"]);
        let mut child = start(export);
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = said.find(|line| line.contains("waiting for a lock on d.t, at most "));
        let who = format!("connection {} of root@localhost", other.id());
        assert!(line.as_ref().is_some_and(|line| line.contains(&who)), "{take}: {line:?}");
        other.exec(release).unwrap();
        let rest: Vec<String> = said.collect();
        assert_eq!(finish(child).code(), 0, "{take}: {rest:?}");
    }
}

/// A server of its own on which commands take turns, with a table of one row, and a file of two more.
fn with_turns() -> Option<(TestServer, Home, Session)> {
    let server = TestServer::start()?;
    let (home, mut session) = (Home::new(), server.connect().unwrap());
    if session.version().flavor != Flavor::MariaDb {
        return None;
    }
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    session.exec("INSERT INTO d.t VALUES (1)").unwrap();
    fs::write(home.path().join("t.tsv"), "2\n3\n").unwrap();
    Some((server, home, session))
}

/// The named lock stands for another command that runs FLUSH TABLES .. FOR EXPORT.
#[test]
fn commands_take_turns_to_have_a_table_written_out() {
    let Some((server, home, mut session)) = with_turns() else { return };
    let append = || {
        let mut load = home.inrush(["load", "t.tsv", "--into", "d.t", "--path", "direct"]);
        run(load.args(["--mode", "append", "--lock-wait", "1", "--socket"]).arg(server.socket()))
    };
    let mut other = server.connect().unwrap();
    other.exec("DO GET_LOCK('inrush_flush', 0)").unwrap();
    let holder = format!("connection {}, which runs FLUSH TABLES .. FOR EXPORT", other.id());
    export(&server, &home, "direct", "1", "t.csv")
        .refused(1, &["was not locked within 1 s", &holder]);
    append().refused(1, &["no lock on", "within 1 s", &holder]);
    other.exec("DO RELEASE_LOCK('inrush_flush')").unwrap();
    append().done();
    export(&server, &home, "direct", "1", "t.csv").done();
    assert_eq!(fs::read_to_string(home.path().join("t.csv")).unwrap(), "1\n2\n3\n");
    let free = session.query_row("SELECT IS_FREE_LOCK('inrush_flush')").unwrap();
    assert_eq!(free.text(0).unwrap(), "1");
}

/// A merge that holds its table waits for its turn as long as nobody waits for it, and says who has it.
#[test]
fn a_merge_is_kept_where_another_command_has_its_turn() {
    let Some((server, home, mut session)) = with_turns() else { return };
    let mut load = home.inrush(["load", "t.tsv", "--into", "d.t", "--path", "direct"]);
    let load = load.args(["--mode", "append", "--lock-wait", "60", "--socket"]);
    let load = load.arg(server.socket()).env("INRUSH_FAILPOINT", "compare.begin=pause");
    let mut child = start(load);
    wait_paused(&mut child);
    let mut other = server.connect().unwrap();
    other.exec("DO GET_LOCK('inrush_flush', 0)").unwrap();
    resume(&child);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let holder = format!("connection {}, which runs FLUSH TABLES .. FOR EXPORT", other.id());
    let line = said.find(|line| line.contains("waiting for a lock on d.t, at most 60 s; "));
    assert!(line.as_ref().is_some_and(|line| line.contains(&holder)), "{line:?}");
    std::thread::sleep(Duration::from_millis(1_500));
    other.exec("DO RELEASE_LOCK('inrush_flush')").unwrap();
    let rest: Vec<String> = said.collect();
    assert_eq!(finish(child).code(), 0, "{rest:?}");
    assert_eq!(session.query_row("SELECT COUNT(*) FROM d.t").unwrap().text(0).unwrap(), "3");
}
