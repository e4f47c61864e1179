//! Rows are merged into a table or a partition, and the connection that keeps others from writing to it meanwhile is
//! lost at the last moment: nobody's row is lost, and what was not published is not there.

use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use server::Session;
use testkit::TestServer;
use testkit::proxy::{Fate, Proxy};

use crate::partitioned::BY_FOR_ONE;
use crate::scene::{Mode, Scene};
use crate::support::{
    Desk, Outcome, PATIENCE, contents, finish, resume, run, start, tables, wait_paused,
};

const ROWS: u32 = 2_000;
/// A row of others.
const BETWEEN: &str = "(90000, -7, 'between', NULL)";

/// A load that stands still at a place, holding the target.
fn held_at(scene: &Scene<'_>, place: &str) -> Child {
    let mut session = scene.server.connect().unwrap();
    session.exec("SET GLOBAL log_output='TABLE', GLOBAL general_log=1").unwrap();
    let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
    wait_paused(&mut child);
    session.exec("SET GLOBAL general_log=0").unwrap();
    child
}

/// Ends the connection that keeps writers from the target: the last that locked it, by the server's log.
fn lose_holder(session: &mut Session) {
    let holder = "SELECT thread_id FROM mysql.general_log WHERE argument LIKE 'FLUSH TABLES %`t` FOR EXPORT' \
                  ORDER BY event_time DESC LIMIT 1";
    let holder = session.query_text(holder).unwrap().unwrap();
    session.exec(&format!("KILL {holder}")).unwrap();
    let there = format!("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID={holder}");
    let begun = Instant::now();
    while session.query_text(&there).unwrap().is_some() {
        assert!(begun.elapsed() < PATIENCE, "connection {holder} never ended");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Before the statement that exchanges: others write to the old rows, which are exchanged with that row
/// in them, and kept.
#[test]
fn rows_that_others_write_before_the_exchange_are_kept() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::of(&server, Mode::Append, ROWS, BY_FOR_ONE);
    let child = held_at(&scene, "publish.checked");
    lose_holder(&mut scene.session);
    let table = scene.table.clone();
    scene.session.exec("SET lock_wait_timeout=30").unwrap();
    scene.session.exec(&format!("INSERT INTO {table} VALUES {BETWEEN}")).unwrap();
    resume(&child);
    let done = finish(child);
    done.done();
    let kept: Vec<String> = tables(&mut scene.session, &scene.database);
    let kept: Vec<&String> = kept.iter().filter(|name| *name != "t").collect();
    assert!(kept.len() == 1 && kept[0].starts_with("_inrush_kept_"), "{kept:?}, {done:?}");
    assert!(
        done.err.contains(kept[0].as_str())
            && done.err.contains("copy the rows that the partition"),
        "{done:?}"
    );
    assert!(scene.is_new(), "the partition is the new one");
    // The next load lets it be.
    let kept = format!("{}.{}", scene.database, kept[0]);
    let again = finish(start(&mut scene.command()));
    again.refused(1, &["as a row of the table"]);
    let lacks = format!("SELECT name FROM {kept} WHERE id NOT IN (SELECT id FROM {table})");
    assert_eq!(scene.session.query_text(&lacks).unwrap().as_deref(), Some("between"));
    scene.session.exec(&format!("DROP TABLE {kept}")).unwrap();
    scene.clean("after the kept rows were dropped");
}

/// When the statement waits: it has the table before anybody writes to it, or is taken back.
#[test]
fn an_exchange_that_nobody_holds_the_table_for_is_whole_or_not_at_all() {
    let Some(server) = TestServer::start() else { return };
    for (place, reads_on) in [("publish.queued", false), ("publish.checked", true)] {
        let mut scene = Scene::of(&server, Mode::Append, ROWS, BY_FOR_ONE);
        let table = scene.table.clone();
        let mut reader = server.connect().unwrap();
        let child = held_at(&scene, place);
        if reads_on {
            reader.exec("BEGIN").unwrap();
            reader.query(&format!("SELECT COUNT(*) FROM {table}")).unwrap();
        }
        lose_holder(&mut scene.session);
        resume(&child);
        let outcome = finish(child);
        reader.exec("ROLLBACK").unwrap();
        // What it says is so.
        assert_eq!(scene.is_new(), outcome.code() == 0, "{place}: {outcome:?}");
        let kept = tables(&mut scene.session, &scene.database);
        for kept in kept.iter().filter(|name| name.starts_with("_inrush_kept_")) {
            assert!(scene.is_new() && outcome.err.contains(kept.as_str()), "{place}: {outcome:?}");
            let kept = format!("{}.{kept}", scene.database);
            scene.session.exec(&format!("DROP TABLE {kept}")).unwrap();
        }
        // Behind a reader it would wait for as long as that reads, and is taken back.
        assert!(!reads_on || !scene.is_new(), "{place}: {outcome:?}");
        scene.again(place);
        assert_eq!(contents(&mut scene.session, &table), scene.new, "{place}");
    }
}

/// Loses the connection that blocks writers of a merge into `t` when the load sends its RENAME, and has a row written
/// before the server gets that. `answer` is for the statement that ends the RENAME.
/// Gives false where the row did not get in, since the load's own connections waited for the table before it.
fn lost_at_rename(desk: &mut Desk, file: &Path, answer: Fate) -> (Outcome, bool) {
    let mut own = desk.server.connect().unwrap();
    own.exec("SET GLOBAL log_output='TABLE', GLOBAL general_log=1").unwrap();
    let socket = desk.home.path().join("proxy.sock");
    let proxy = Proxy::start(socket, desk.server.socket());
    let (database, mut is_lost) = (desk.database.clone(), false);
    let is_written = Arc::new(AtomicBool::new(false));
    let writes = Arc::clone(&is_written);
    proxy.judge(move |request| {
        let text = String::from_utf8_lossy(&request.text);
        if !is_lost && request.begins("RENAME TABLE") && text.contains("_inrush_before_") {
            is_lost = true;
            own.exec("SET GLOBAL general_log=0").unwrap();
            lose_holder(&mut own);
            own.exec("SET lock_wait_timeout=1").unwrap();
            let written = own.exec(&format!("INSERT INTO {database}.t VALUES (90000, 1)"));
            writes.store(written.is_ok(), Ordering::Relaxed);
        }
        if is_lost && request.begins("KILL ") { answer } else { Fate::Done }
    });
    let mut command = desk.home.load(desk.server, &desk.table("t"), file);
    command.args(["--mode", "append", "--socket"]).arg(proxy.socket());
    (run(&mut command), is_written.load(Ordering::Relaxed))
}

/// The same for a table without foreign keys, for a child and for a parent.
#[test]
fn rows_that_others_write_before_a_whole_table_is_swapped_are_kept() {
    let schemas = [
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB", ""),
        (
            "CREATE TABLE p (b INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p VALUES (1); \
             CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b), CONSTRAINT f FOREIGN KEY (b) \
             REFERENCES p (b)) ENGINE=InnoDB",
            "p",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB; \
             CREATE TABLE c (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES t (a)) ENGINE=InnoDB",
            "c",
        ),
    ];
    for (schema, other) in schemas {
        for answer in [Fate::Refused(1227), Fate::Done] {
            let Some(mut desk) = Desk::new() else { return };
            if desk.server.is_mysql() && !other.is_empty() {
                // There such tables are not merged.
                continue;
            }
            let database = desk.database.clone();
            desk.server.script(&format!("USE {database}; {schema}")).unwrap();
            desk.exec("INSERT INTO t VALUES (7, 1)");
            if other == "c" {
                desk.exec("INSERT INTO c VALUES (7)");
            }
            let text: String = (100..2_100).map(|row| format!("{row}\t1\n")).collect();
            let file = desk.home.file("rows.txt", text);
            let (outcome, is_written) = lost_at_rename(&mut desk, &file, answer);
            let kept: Vec<String> = tables(&mut desk.session, &database);
            let kept: Vec<&String> =
                kept.iter().filter(|name| !["t", other].contains(&name.as_str())).collect();
            let rows = desk.rows("SELECT COUNT(*), SUM(a=90000) FROM t");
            let when = format!("{other} {answer:?} {is_written} {rows:?} {kept:?} {outcome:?}");
            assert!(is_written || other == "c", "{when}");
            if outcome.code() == 1 {
                assert_eq!(
                    (rows, kept.len()),
                    (vec![if is_written { "2|1" } else { "1|0" }.to_owned()], 0),
                    "{when}"
                );
                assert!(matches!(answer, Fate::Done), "{when}");
                continue;
            }
            assert_eq!(rows, ["2001|0"], "{when}");
            assert!(kept.len() == 1 && kept[0].starts_with("_inrush_kept_"), "{when}");
            assert!(
                outcome.err.contains("copy the rows that")
                    && outcome.err.contains(kept[0].as_str()),
                "{when}"
            );
            let kept = kept[0].clone();
            let later = desk.rows(&format!("SELECT a FROM {kept} WHERE a > 2100"));
            assert_eq!(later.len(), usize::from(is_written), "{when}");
            // The next load lets it be.
            let again =
                desk.load("t", &desk.home.file("more.txt", "3000\t1\n"), &["--mode", "append"]);
            assert_eq!(again.code(), 0, "{again:?}");
            desk.exec(&format!("INSERT INTO t SELECT * FROM {kept} WHERE a > 2100"));
            if other == "c" {
                assert!(outcome.err.contains("RENAME TABLE"), "{when}");
                desk.exec("SET foreign_key_checks=0");
                desk.exec(&format!("DROP TABLE {kept}"));
                desk.exec(&format!("RENAME TABLE t TO {kept}, {kept} TO t"));
                desk.exec("SET foreign_key_checks=1");
                desk.exec("INSERT INTO c VALUES (3000)");
                assert!(desk.session.exec("DELETE FROM t WHERE a = 3000").is_err());
            } else {
                desk.exec(&format!("DROP TABLE {kept}"));
            }
            if other == "p" {
                assert!(desk.session.exec("INSERT INTO t VALUES (5, 5)").is_err());
            }
        }
    }
}

/// The statement that gives the filled table its keys is through, and says that it has waited too long: the keys are
/// taken away before others may write, and the next attempt gives them again.
#[test]
fn keys_of_a_filled_table_are_taken_away_after_a_failed_attempt() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE p (b INT PRIMARY KEY) ENGINE=InnoDB");
    desk.exec("INSERT INTO p VALUES (1)");
    desk.exec(
        "CREATE TABLE t (b INT, CONSTRAINT f FOREIGN KEY (b) REFERENCES p (b)) ENGINE=InnoDB",
    );
    let socket = desk.home.path().join("proxy.sock");
    let proxy = Proxy::start(socket, desk.server.socket());
    let mut waits = 1;
    proxy.judge(move |request| {
        let text = String::from_utf8_lossy(&request.text);
        let adds = request.begins("ALTER TABLE") && text.contains("FOREIGN KEY");
        if adds && waits > 0 {
            waits -= 1;
            return Fate::DoneThenRefused(1205);
        }
        Fate::Done
    });
    let file = desk.home.file("rows.txt", "1\n".repeat(2_000));
    let mut command = desk.home.load(desk.server, &desk.table("t"), &file);
    let outcome = run(command.arg("--socket").arg(proxy.socket()));
    outcome.done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2000"]);
    assert!(desk.session.exec("INSERT INTO t VALUES (2)").is_err());
}

/// A backup blocks DDL while a merge imports its table, with writers kept from the target.
#[test]
fn a_merge_whose_import_waits_for_a_backup_lets_writers_go_on() {
    let Some(server) = TestServer::start() else { return };
    if server.is_mysql() {
        println!("skipped: MySQL has no stages of a backup");
        return;
    }
    let mut scene = Scene::new(&server, Mode::Append, ROWS);
    let table = scene.table.clone();
    let mut child = start(&mut scene.load_with("import.placed=pause"));
    wait_paused(&mut child);
    for stage in ["START", "FLUSH", "BLOCK_DDL"] {
        scene.session.exec(&format!("BACKUP STAGE {stage}")).unwrap();
    }
    resume(&child);
    let mut writer = server.connect().unwrap();
    let begun = Instant::now();
    writer.exec(&format!("INSERT INTO {table} VALUES {BETWEEN}")).unwrap();
    let waited = begun.elapsed();
    scene.session.exec("BACKUP STAGE END").unwrap();
    // It merges again, with that row, and comes by the place again.
    while child.try_wait().unwrap().is_none() {
        resume(&child);
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = finish(child);
    assert!(waited < Duration::from_secs(20), "{waited:?}, {outcome:?}");
    outcome.done();
    let between = format!("SELECT COUNT(*) FROM {table} WHERE id = 90000");
    assert_eq!(scene.session.query_row(&between).unwrap().number::<u64>(0).unwrap(), 1);
    writer.exec(&format!("DELETE FROM {table} WHERE id = 90000")).unwrap();
    assert!(scene.is_new(), "{outcome:?}");
    scene.again("after the backup");
}
