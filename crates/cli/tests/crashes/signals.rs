//! Ctrl-C and its like at any moment: a clean stop, nothing left behind, and the next load works.

use std::io::Write;
use std::process::Child;
use std::time::{Duration, Instant};

use testkit::TestServer;

use crate::scene::{Mode, PLACES, Scene, is_reached, swapped_from};
use crate::support::{
    Outcome, PATIENCE, finish, resume, run, signal, start, wait_paused, wait_watching,
};

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];
/// A stop that takes longer was not clean: it has waited for what it was to give up, a lock for one, which
/// a load waits for twice as long.
const STOP: Duration = Duration::from_secs(30);

/// A load that was asked to stop did so, or had its rows in already.
#[track_caller]
fn stopped(scene: &mut Scene<'_>, outcome: &Outcome, name: &str, when: &str) {
    if outcome.code() == 0 {
        assert!(scene.is_new(), "{when}: {outcome:?}");
    } else {
        let target = scene.table.clone();
        outcome.refused(1, &[&format!("stopped by SIG{name} during "), &target, " is unchanged"]);
        assert!(!scene.is_new(), "{when}: {outcome:?}");
        assert_eq!(scene.home.journal().last().map(String::as_str), Some("job.failed"), "{when}");
    }
    scene.clean(&format!("{when}: {outcome:?}"));
    let free = format!("SELECT IS_FREE_LOCK('{}')", scene.lock());
    let asked = Instant::now();
    while scene.session.query_text(&free).unwrap().as_deref() != Some("1") {
        assert!(asked.elapsed() < STOP, "{when}: the lock is still held");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends the signal and waits for the end.
fn send(child: Child, name: &str) -> Outcome {
    signal(child.id(), &format!("-{name}"));
    let sent = Instant::now();
    let outcome = finish(child);
    assert!(sent.elapsed() < STOP, "{:?} for {outcome:?}", sent.elapsed());
    outcome
}

#[test]
fn a_signal_at_any_step_stops_the_load_or_comes_too_late() {
    let Some(server) = TestServer::shared() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(server, mode, 5_000);
        // Before the first place nobody watches for signals; after the last there is no load.
        for (position, place) in PLACES.iter().enumerate().take(PLACES.len() - 3) {
            if !is_reached(server, place) {
                continue;
            }
            let name = SIGNALS[position % SIGNALS.len()];
            scene.reset();
            let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
            wait_paused(&mut child);
            signal(child.id(), &format!("-{name}"));
            resume(&child);
            let outcome = finish(child);
            let when = format!("SIG{name} at {place}");
            if position >= swapped_from() {
                assert_eq!(outcome.code(), 0, "{when}: {outcome:?}");
            } else {
                assert_eq!(outcome.code(), 1, "{when}: {outcome:?}");
            }
            stopped(&mut scene, &outcome, name, &when);
        }
        scene.reset();
        run(&mut scene.command()).done();
    }
}

#[test]
fn a_signal_stops_the_search_for_duplicates() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 3_000);
    scene.add_duplicates();
    for place in ["duplicates.begin", "duplicates.end"] {
        scene.reset();
        let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        signal(child.id(), "-INT");
        resume(&child);
        let outcome = finish(child);
        assert_eq!(outcome.code(), 1, "{place}: {outcome:?}");
        stopped(&mut scene, &outcome, "INT", place);
    }
    scene.again("the search for duplicates");
}

/// How many signals are sent: `default`, or what the variable INRUSH_TEST_KILLS says.
fn signals(default: u32) -> u32 {
    std::env::var("INRUSH_TEST_KILLS").map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_signal_at_any_moment_stops_the_load_or_comes_too_late() {
    let Some(server) = TestServer::shared() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(server, mode, 30_000);
        let begun = Instant::now();
        run(&mut scene.command()).done();
        let (whole, count) = (begun.elapsed(), signals(12));
        for turn in 0..count {
            scene.reset();
            let after = whole * (2 * turn + 1) / (2 * count);
            let mut child = start(&mut scene.command());
            std::thread::sleep(after);
            wait_watching(&mut child);
            if child.try_wait().unwrap().is_some() {
                finish(child).done();
                continue;
            }
            let name = SIGNALS[turn as usize % SIGNALS.len()];
            let outcome = send(child, name);
            let when = format!("SIG{name} after {after:?}");
            stopped(&mut scene, &outcome, name, &when);
            scene.again(&when);
        }
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_lock() {
    let Some(server) = TestServer::shared() else { return };
    for mode in [Mode::Insert, Mode::Replace] {
        let mut scene = Scene::new(server, mode, 2_000);
        let mut other = server.connect().unwrap();
        for place in ["job.begin", "inspect.end", "publish.begin"] {
            scene.reset();
            let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
            wait_paused(&mut child);
            other.exec(&format!("LOCK TABLES {} WRITE", scene.table)).unwrap();
            resume(&child);
            let waiting = &format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                 WHERE STATE='Waiting for table metadata lock' AND INSTR(INFO, '`{}`')",
                scene.database
            );
            let begun = Instant::now();
            while scene.session.query_row(waiting).unwrap().number::<u64>(0).unwrap() == 0 {
                assert!(begun.elapsed() < PATIENCE, "{place}: never waited");
                std::thread::sleep(Duration::from_millis(5));
            }
            let outcome = send(child, "INT");
            other.exec("UNLOCK TABLES").unwrap();
            assert_eq!(outcome.code(), 1, "{place}: {outcome:?}");
            stopped(&mut scene, &outcome, "INT", place);
        }
        scene.again("after the waits");
    }
}

#[test]
fn a_signal_ends_an_import() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 60_000);
    let importing = &format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
         WHERE INFO LIKE 'ALTER TABLE `{}`.%IMPORT TABLESPACE'",
        scene.database
    );
    let begun = Instant::now();
    loop {
        let mut child = start(&mut scene.command());
        let mut is_seen = false;
        while !is_seen && child.try_wait().unwrap().is_none() {
            is_seen = scene.session.query_row(importing).unwrap().number::<u64>(0).unwrap() > 0;
        }
        let outcome = if is_seen { send(child, "TERM") } else { finish(child) };
        stopped(&mut scene, &outcome, "TERM", "import");
        scene.again("import");
        // It is short, and may be through before it is seen, or before the signal is there.
        if outcome.err.contains("stopped by SIGTERM during import") {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "never stopped in an import: {outcome:?}");
        scene.reset();
    }
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 5_000);
    let mut child = start(&mut scene.load_with("verify.begin=pause"));
    wait_paused(&mut child);
    signal(child.id(), "-TERM");
    signal(child.id(), "-INT");
    resume(&child);
    finish(child).refused(1, &["ended at once by a second signal", "the next load"]);
    scene.again("two signals");
}

/// As `nohup` does it.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 5_000);
    let load = scene.load_with("rows.begin=pause");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(load.get_program());
    shell.args(load.get_args()).current_dir(scene.home.path());
    for (name, value) in load.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut child = start(&mut shell);
    wait_paused(&mut child);
    signal(child.id(), "-HUP");
    resume(&child);
    finish(child).done();
    assert!(scene.is_new());
}

/// Nothing comes, and nothing ends the pipe.
#[test]
fn a_signal_ends_the_wait_for_input() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 2_000);
    scene.file = std::path::PathBuf::from("-");
    let text = crate::support::lines(2_000);
    for part in [0, 10, 60_000] {
        scene.reset();
        let mut load = scene.command();
        load.args(["--memory", "64M"]).stdin(std::process::Stdio::piped());
        let mut child = start(&mut load);
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&text.as_bytes()[..part]).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        wait_watching(&mut child);
        if child.try_wait().unwrap().is_some() {
            panic!("{part}: {:?}", finish(child));
        }
        let outcome = send(child, "INT");
        outcome.refused(1, &["stopped by SIGINT during "]);
        stopped(&mut scene, &outcome, "INT", "waiting for input");
        drop(pipe);
    }
}
