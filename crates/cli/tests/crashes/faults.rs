//! Disks that fail at any operation: the target is the old table or the new one, nothing is left
//! behind, and the next load works.

use std::os::unix::process::ExitStatusExt;

use testkit::TestServer;

use crate::scene::{Mode, Scene};
use crate::support::{Home, Outcome, run};

const KINDS: [&str; 5] = ["eio", "enospc", "short", "kill", "torn"];
pub(crate) const KILL: i32 = 9;

/// One operation of a load on a file of ours: `write space`.
pub(crate) fn operations(scene: &mut Scene<'_>) -> Vec<String> {
    let log = scene.home.path().join("operations");
    scene.reset();
    let outcome = run(scene.command().env("INRUSH_FAULT_LOG", &log));
    assert_eq!(outcome.code(), scene.status, "{outcome:?}");
    let text = std::fs::read_to_string(&log).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A load in which the nth operation fails in some way.
fn fault(scene: &mut Scene<'_>, nth: usize, kind: &str, operation: &str) {
    let when = format!("{kind} at {nth}, about {operation:?}");
    scene.reset();
    let outcome = run(scene.command().env("INRUSH_FAULT", format!("{nth}:{kind}")));
    if outcome.status.signal() == Some(KILL) {
        assert!(matches!(kind, "kill" | "torn"), "{when}: {outcome:?}");
        assert_eq!(scene.home.temp_files(), [""; 0], "{when}");
    } else {
        survived(scene, &outcome, &when);
    }
    scene.again(&when);
}

/// A load that was not killed says what befell it, and leaves nothing.
fn survived(scene: &mut Scene<'_>, outcome: &Outcome, when: &str) {
    if outcome.code() == scene.status {
        // Nothing was left to fail, or it came after the swap.
        assert!(scene.is_new(), "{when}: {outcome:?}");
    } else {
        assert_eq!(outcome.code(), 1, "{when}: {outcome:?}");
        let said = ["Input/output error", "No space left on device"];
        assert!(said.iter().any(|text| outcome.err.contains(text)), "{when}: {outcome:?}");
        outcome.refused(1, &["ing ", ": "]);
        assert!(!scene.is_new(), "{when}: {outcome:?}");
    }
    // Without a journal the old table says that the rows are in.
    if !outcome.err.contains("all rows are loaded, but the journal could not be written") {
        scene.clean(when);
    }
}

#[test]
fn a_table_made_by_ddl_goes_with_a_journal_that_cannot_be_written() {
    // A server of its own: loads of other tests leave tables whose journals are read first.
    let Some(server) = TestServer::start() else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    // A state folder of its own for each load: journals of loads before are read by the next one.
    let mut load = |fault: Option<usize>| {
        let home = Home::new();
        let ddl = home.file("t.sql", "CREATE TABLE t (a INT PRIMARY KEY)");
        let file = home.file("rows.txt", "1\n2\n");
        let log = home.path().join("operations");
        let mut load = home.load(&server, "d.t", &file);
        load.arg("--ddl").arg(&ddl).env("INRUSH_FAULT_LOG", &log);
        if let Some(nth) = fault {
            load.env("INRUSH_FAULT", format!("{nth}:eio"));
        }
        session.exec("DROP TABLE IF EXISTS d.t").unwrap();
        let outcome = run(&mut load);
        let operations = std::fs::read_to_string(&log).unwrap();
        let is_gone = session.query("SHOW TABLES FROM d").unwrap().is_empty();
        (outcome, operations.lines().map(str::to_owned).collect::<Vec<String>>(), is_gone)
    };
    let (outcome, operations, _) = load(None);
    outcome.done();
    // Before the first operation on the table's files, the table is made and the step ends.
    let is_before = |line: &&String| ["journal", "speeds"].iter().any(|what| line.ends_with(what));
    let before = operations.iter().take_while(is_before).count();
    let mut failed = 0;
    for nth in 1..=before {
        let (outcome, operations, is_gone) = load(Some(nth));
        // How often a journal is read depends on the length of its lines, in which times are.
        if operations[nth - 1].ends_with(" journal") {
            assert_eq!(outcome.code(), 1, "{nth}: {outcome:?}\n{operations:?}");
            outcome.refused(1, &["Input/output error"]);
            assert!(is_gone, "{nth}: {outcome:?}");
            failed += 1;
        }
    }
    assert!(failed > 6, "{operations:?}");
}

/// `INRUSH_TEST_FAULTS=all` tries every kind at every operation in both modes.
pub(crate) fn is_thorough() -> bool {
    std::env::var("INRUSH_TEST_FAULTS").is_ok_and(|text| text == "all")
}

#[test]
fn a_small_load_survives_a_fault_at_every_operation() {
    let Some(server) = TestServer::shared() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(server, mode, 1_500);
        let operations = operations(&mut scene);
        for what in ["write space", "sync space", "write journal", "write cfg", "rename space"] {
            assert!(operations.iter().any(|seen| seen == what), "{what}: {operations:?}");
        }
        for (index, operation) in operations.iter().enumerate() {
            for (turn, kind) in KINDS.into_iter().enumerate() {
                let turn = turn + KINDS.len() * usize::from(mode == Mode::Replace);
                if is_thorough() || (index + turn).is_multiple_of(2 * KINDS.len()) {
                    fault(&mut scene, index + 1, kind, operation);
                }
            }
        }
    }
}

#[test]
fn a_load_that_spills_survives_faults_on_the_way() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 30_000);
    let operations = operations(&mut scene);
    assert!(operations.iter().any(|seen| seen == "write run"), "{operations:?}");
    let count = if is_thorough() { 200 } else { 12 };
    for turn in 0..count {
        let index = operations.len() * (2 * turn + 1) / (2 * count);
        fault(&mut scene, index + 1, KINDS[turn % KINDS.len()], &operations[index]);
    }
}

/// Rows that are refused or skipped, from a pipe: every kind of file there is.
#[test]
fn a_load_with_files_of_every_kind_survives_faults_on_the_way() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 2_000);
    scene.add_duplicates();
    scene.add_bad_rows();
    scene.more.extend(["--duplicates", "skipped"]);
    scene.is_piped = true;
    let operations = operations(&mut scene);
    let mut kinds: Vec<&String> = operations.iter().collect();
    kinds.sort_unstable();
    kinds.dedup();
    println!("{} operations: {kinds:?}", operations.len());
    // What is in no table is on the disk before the table can be in.
    let first = |wanted: &str| operations.iter().position(|seen| seen == wanted).unwrap();
    for what in ["sync rejects", "sync duplicates"] {
        assert!(first(what) < first("rename space"), "{what}: {operations:?}");
    }
    // The first and the last of each kind, and some between.
    for (turn, kind) in kinds.into_iter().enumerate() {
        let all: Vec<usize> =
            (0..operations.len()).filter(|&index| operations[index] == *kind).collect();
        let some = [0, all.len() / 2, all.len() - 1];
        let chosen = if is_thorough() { all.as_slice() } else { &[all[some[turn % 3]]] };
        for (nth, &index) in chosen.iter().enumerate() {
            fault(&mut scene, index + 1, KINDS[(turn + nth) % KINDS.len()], kind);
        }
    }
}
