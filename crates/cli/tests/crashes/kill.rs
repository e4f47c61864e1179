//! Killed at any point, the target is the old table or the new one, and the next load cleans up.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use schema::TableName;
use targets::Names;
use testkit::{TestServer, TestServerOptions, dialect};

use crate::scene::{Mode, PLACES, SWAPPED, Scene, is_reached, swapped_from};
use crate::support::{
    Outcome, PATIENCE, check_table, contents, finish, resume, run, start, tables, wait_paused,
};

const KILL: i32 = 9;

fn kill_at_every_place(mode: Mode) {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, mode, 30_000);
    for (position, place) in PLACES.iter().enumerate() {
        if !is_reached(server, place) {
            continue;
        }
        scene.reset();
        let killed = run(&mut scene.load_with(&format!("{place}=kill")));
        if place.starts_with("nowhere") {
            assert_eq!(killed.code(), 0, "{killed:?}");
        } else {
            assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        }
        assert_eq!(scene.home.temp_files(), [""; 0], "{place}");
        assert_eq!(scene.is_new(), position >= swapped_from(), "{place}");
        scene.again(place);
    }
}

#[test]
fn a_load_killed_at_any_step_leaves_the_empty_table_or_the_full_one() {
    kill_at_every_place(Mode::Insert);
}

#[test]
fn a_replacement_killed_at_any_step_leaves_the_old_rows_or_the_new_ones() {
    kill_at_every_place(Mode::Replace);
}

#[test]
fn a_load_killed_while_it_skips_duplicates_leaves_the_old_rows_or_the_new_ones() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 30_000);
    scene.add_duplicates();
    for place in ["duplicates.begin", "duplicates.end", "verify.begin"] {
        let killed = run(&mut scene.load_with(&format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        assert_eq!(scene.home.temp_files(), [""; 0], "{place}");
        assert!(!scene.is_new(), "{place}");
        scene.again(place);
        scene.reset();
    }
    kill_at_random_moments(&mut scene, kills(6));
}

#[test]
fn the_journal_has_every_step_in_order() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 1_000);
    run(&mut scene.command()).done();
    let steps = [
        "inspect", "staging", "rows", "indexes", "verify", "import", "compare", "stamp", "publish",
    ];
    let steps = steps.iter().filter(|step| is_reached(server, &format!("{step}.begin")));
    let inner = steps.flat_map(|step| [format!("{step}.begin"), format!("{step}.end")]);
    let expected: Vec<String> = std::iter::once("job.begin".to_owned())
        .chain(inner)
        .chain(["job.end", "job.closed"].map(str::to_owned))
        .collect();
    assert_eq!(scene.home.journal(), expected);
    scene.clean("after a load");
}

/// Kills at random moments: `default`, or as many as the variable INRUSH_TEST_KILLS says.
fn kills(default: u32) -> u32 {
    match std::env::var("INRUSH_TEST_KILLS") {
        // Every kill of other tests.
        Ok(all) if all == "all" => default,
        kills => kills.map_or(default, |text| text.parse().unwrap()),
    }
}

/// Kills wherever the load happens to be.
fn kill_at_random(mode: Mode) {
    let Some(server) = TestServer::shared() else { return };
    kill_at_random_moments(&mut Scene::new(server, mode, 30_000), kills(12));
}

fn kill_at_random_moments(scene: &mut Scene<'_>, kills: u32) {
    let begun = Instant::now();
    run(&mut scene.command()).done();
    let whole = begun.elapsed();
    for kill in 0..kills {
        scene.reset();
        let after = whole * (2 * kill + 1) / (2 * kills);
        let mut child = start(&mut scene.command());
        std::thread::sleep(after);
        child.kill().unwrap();
        let killed = finish(child);
        let when = format!("killed after {after:?} in {:?}", scene.home.journal().last());
        if killed.status.signal() == Some(KILL) {
            scene.again(&when);
        } else {
            // Faster than the first time.
            assert_eq!(killed.code(), 0, "{killed:?}");
        }
    }
}

#[test]
fn a_load_killed_at_any_moment_leaves_the_empty_table_or_the_full_one() {
    kill_at_random(Mode::Insert);
}

#[test]
fn a_replacement_killed_at_any_moment_leaves_the_old_rows_or_the_new_ones() {
    kill_at_random(Mode::Replace);
}

/// A server that writes as a real one does.
fn durable() -> Option<TestServer> {
    TestServer::start_with(&TestServerOptions { durable: true, ..TestServerOptions::default() })
}

/// After a crash of the server: the right table, sound, and it stays so over another crash.
#[track_caller]
fn survives(scene: &mut Scene<'_>, when: &str) {
    scene.server.restart().unwrap_or_else(|error| panic!("{when}: {error}"));
    scene.reconnect();
    scene.is_new();
    scene.again(when);
    let (database, table) = (scene.database.clone(), scene.table.clone());
    let later = format!("SELECT -seq, -seq, 'later', NULL FROM {database}.seq_1_to_100");
    let insert = format!("INSERT INTO {table} {later}");
    dialect::exec(&mut scene.session, &insert).unwrap();
    scene.server.kill_9().unwrap();
    scene.server.restart().unwrap_or_else(|error| panic!("{when}: {error}"));
    scene.reconnect();
    check_table(&mut scene.session, &table);
    assert_eq!(contents(&mut scene.session, &table).0, scene.new.0 + 100, "{when}");
}

/// The server is killed while the load waits at `place`.
fn kill_server_at(server: &TestServer, mode: Mode, place: &str) -> Outcome {
    let mut scene = Scene::new(server, mode, 20_000);
    let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
    wait_paused(&mut child);
    server.kill_9().unwrap();
    resume(&child);
    let outcome = finish(child);
    survives(&mut scene, place);
    outcome
}

#[test]
fn a_server_killed_at_any_step_comes_back_with_the_old_table_or_the_new_one() {
    let Some(server) = durable() else { return };
    let before = [
        "staging.discarded",
        "verify.end",
        "import.begin",
        "import.placed",
        "import.end",
        "stamp.held",
        "stamp.run",
    ];
    let before = before.into_iter().filter(|place| is_reached(&server, place));
    for (place, mode) in before.zip([Mode::Insert, Mode::Replace].into_iter().cycle()) {
        let outcome = kill_server_at(&server, mode, place);
        outcome.refused(1, &[]);
        let said = ["the connection ", "connecting to"];
        assert!(said.iter().any(|text| outcome.err.contains(text)), "{outcome:?}");
    }
    for mode in [Mode::Insert, Mode::Replace] {
        kill_server_at(&server, mode, "publish.begin").refused(1, &["connecting to"]);
        let swapped = kill_server_at(&server, mode, SWAPPED);
        assert_eq!(swapped.code(), 0, "the target has its rows: {swapped:?}");
        assert!(swapped.err.contains("inrush: warning: the old table, "), "{swapped:?}");
        kill_server_at(&server, mode, "publish.end").done();
    }
}

/// Every place, in both modes: minutes, so only with `INRUSH_TEST_FAULTS=all`.
#[test]
fn a_server_killed_at_every_place_comes_back_with_the_old_table_or_the_new_one() {
    if !crate::crashes::faults::is_thorough() {
        return;
    }
    let Some(server) = durable() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        for (position, place) in PLACES.iter().enumerate().take(PLACES.len() - 2) {
            if !is_reached(&server, place) {
                continue;
            }
            let outcome = kill_server_at(&server, mode, place);
            if *place == "job.reported" {
                outcome.done();
            } else if position < swapped_from() {
                outcome.refused(1, &[]);
            } else {
                assert_eq!(outcome.code(), 0, "{place}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_server_killed_while_it_imports_comes_back_with_the_old_table() {
    let Some(server) = durable() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(&server, mode, 60_000);
        let importing = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
             WHERE INFO LIKE 'ALTER TABLE%IMPORT TABLESPACE'";
        let begun = Instant::now();
        loop {
            let mut child = start(&mut scene.command());
            while scene.session.query_row(importing).unwrap().number::<u64>(0).unwrap() == 0
                && child.try_wait().unwrap().is_none()
            {}
            server.kill_9().unwrap();
            let outcome = finish(child);
            let is_in_time = outcome.err.contains("IMPORT TABLESPACE");
            if is_in_time {
                outcome.refused(1, &["the connection "]);
                scene.server.restart().unwrap();
                scene.reconnect();
                assert!(!scene.is_new());
            }
            survives(&mut scene, "import");
            // It is short, and may be through before it is seen, or before the server is killed.
            if is_in_time {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "never killed in an import: {outcome:?}");
            scene.reset();
        }
    }
}

#[test]
fn a_server_killed_at_any_moment_comes_back_with_the_old_table_or_the_new_one() {
    let Some(server) = durable() else { return };
    let kills = kills(4);
    for kill in 0..kills {
        let mode = if kill % 2 == 0 { Mode::Insert } else { Mode::Replace };
        let mut scene = Scene::new(&server, mode, 30_000);
        let begun = Instant::now();
        run(&mut scene.command()).done();
        let after = begun.elapsed() * (2 * kill + 1) / (2 * kills);
        scene.reset();
        let child = start(&mut scene.command());
        std::thread::sleep(after);
        server.kill_9().unwrap();
        let outcome = finish(child);
        let when = format!("server killed after {after:?}: {outcome:?}");
        if outcome.code() != 0 {
            outcome.refused(1, &[]);
        }
        survives(&mut scene, &when);
    }
}

/// A server killed in DROP TABLE can come back without the table and with its file, onto which no
/// table could be renamed.
#[test]
fn files_that_a_killed_drop_left_are_removed() {
    let Some(server) = TestServer::shared() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(server, mode, 1_000);
        let names = Names::of(&TableName::new(scene.database.clone(), "t"));
        let folder = server.datadir().join(&scene.database);
        for name in [&names.staging, &names.replaced, &names.emptied] {
            std::fs::write(folder.join(format!("{}.ibd", name.table)), "left").unwrap();
        }
        run(&mut scene.command()).done();
        assert!(scene.is_new());
        scene.clean("after a load over left files");
    }
}

/// Half of a DROP that a power cut has undone: no ledger could be created.
#[test]
fn a_file_that_a_dropped_ledger_left_is_removed() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 1_000);
    let names = Names::of(&TableName::new(scene.database.clone(), "t"));
    let folder = server.datadir().join(&scene.database);
    let left = folder.join(format!("{}.ibd", names.ledger.table));
    std::fs::copy(folder.join("t.ibd"), &left).unwrap();
    run(scene.command().args(["--path", "stream"])).done();
    assert!(scene.is_new() && !left.exists());
    scene.clean("after a load over the file of a ledger");
}

/// Stops a load at `place`, lets another session do something, and gives the load's outcome.
fn meanwhile(scene: &mut Scene<'_>, place: &str, sql: &str) -> Outcome {
    let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
    wait_paused(&mut child);
    scene.session.exec(sql).unwrap();
    resume(&child);
    finish(child)
}

#[test]
fn rows_that_others_insert_meanwhile_are_kept_and_the_load_fails() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 1_000);
    for place in ["staging.begin", "verify.begin", "publish.begin"] {
        scene.reset();
        let insert = format!("INSERT INTO {} VALUES (1, 2, 'mine', 'too')", scene.table);
        let outcome = meanwhile(&mut scene, place, &insert);
        outcome.refused(
            1,
            &[
                &scene.table,
                "is no longer empty: rows were inserted during the load",
                "nothing was loaded: ",
            ],
        );
        let mine = format!("SELECT CONCAT(name, ' ', body) FROM {}", scene.table);
        assert_eq!(scene.session.query_text(&mine).unwrap().as_deref(), Some("mine too"));
        scene.clean(place);
    }
}

#[test]
fn a_table_that_others_alter_meanwhile_stays_as_they_made_it() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 1_000);
    let alter = format!("ALTER TABLE {} ADD COLUMN more INT", scene.table);
    meanwhile(&mut scene, "verify.begin", &alter).refused(1, &["nothing was loaded: "]);
    let count = format!("SELECT COUNT(*), SUM(more IS NULL) FROM {}", scene.table);
    let row = scene.session.query_row(&count).unwrap();
    assert_eq!((row.number::<u32>(0).unwrap(), row.number::<u32>(1).unwrap()), (500, 500));
    scene.clean("altered");
    scene.reset();
    let drop = format!("DROP TABLE {}", scene.table);
    let dropped = meanwhile(&mut scene, "verify.begin", &drop);
    assert_eq!(dropped.code(), 1, "{dropped:?}");
    assert_eq!(tables(&mut scene.session, &scene.database), [""; 0]);
}

#[test]
fn the_second_of_two_loads_says_who_has_the_table() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 1_000);
    let mut first = start(&mut scene.load_with("rows.begin=pause"));
    wait_paused(&mut first);
    let begun = Instant::now();
    let second = run(scene.command().args(["--lock-wait", "1"]));
    assert!(begun.elapsed() < Duration::from_secs(20));
    second.refused(1, &["another load into", &scene.table, "is running (connection "]);
    let (_, rest) = second.err.rsplit_once("connection ").unwrap();
    let holder: u64 = rest.split(' ').next().unwrap().parse().unwrap();
    let known = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID={holder}");
    assert_eq!(scene.session.query_text(&known).unwrap().as_deref(), Some("1"));
    resume(&first);
    finish(first).done();
    assert!(scene.is_new());
    scene.clean("after both");
}

/// The wait for another load of the table ended after 5 s, whatever --lock-wait was.
#[test]
fn the_second_of_two_loads_waits_for_the_first() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 1_000);
    let mut first = start(&mut scene.load_with("rows.begin=pause"));
    wait_paused(&mut first);
    let mut second = start(&mut scene.command());
    let told = format!("waiting for another load into {} to end, at most 60 s", scene.table);
    let mut said = BufReader::new(second.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains(&told)));
    resume(&first);
    finish(first).done();
    let rest: Vec<String> = said.collect();
    assert_eq!(finish(second).code(), 0, "{rest:?}");
    assert!(scene.is_new());
    scene.clean("after both");
}
