//! Rows are merged into a partition, and the connection that keeps others from writing to it meanwhile is
//! lost at the last moment: nobody's row is lost, and what was not published is not there.

use std::process::Child;
use std::time::{Duration, Instant};

use server::Session;
use testkit::TestServer;

use crate::partitioned::BY_FOR_ONE;
use crate::scene::{Mode, Scene};
use crate::support::{PATIENCE, contents, finish, resume, start, tables, wait_paused};

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
                  OR argument LIKE 'LOCK TABLES %`t` %' ORDER BY event_time DESC LIMIT 1";
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
