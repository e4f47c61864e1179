//! Loads against a server in memory ([`testkit::stand_in`]), of which one request has a fate, or two
//! have: each request of a load in turn, and each fate that can befall it.
//!
//! The reported outcome of a load must be true; the same command must make it good, and leave nothing. Rows
//! are sent: building needs a real server, which exports the file of an empty table and judges the built one
//! (`modelled`). Replays are in `crates/replay/src/tests/stand_in.rs`.
//!
//! `INRUSH_STAND_IN_ROUNDS=n` goes through all n times, questions with all fates. `INRUSH_SEED` has other
//! errors, other second fates. In reading order: `testkit`'s `faults` what befalls whom, `scene` a load and
//! what it has to say, `judged` the stand-in beside a real server, `engines` the same loads of other engines.

mod engines;
mod judged;
mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use load::{LoadPath, Mode};
use tempfile::TempDir;
use testkit::Random;
use testkit::stand_in::faults::{Fault, faults};

use self::scene::{LoadCase, Scene, WAYS};

/// Threads that load at the same time, and mostly wait.
const THREADS: usize = 6;
/// Requests of a load of one table by one transaction, and of its connections.
const REQUESTS_MAX: usize = 48;
/// Failed runs that are told of.
const TOLD_MAX: usize = 20;

#[test]
fn whatever_befalls_a_request_what_is_said_of_the_outcome_is_so() {
    let rounds = std::env::var("INRUSH_STAND_IN_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (seed, begun) = (Random::seed_of_run(), Instant::now());
    let mut random = Random::new(seed);
    let folder = folder();
    let mut work = Vec::new();
    for (at, way) in WAYS.into_iter().enumerate() {
        let requests = Scene::new(way, &folder.path().join(format!("first{at}"))).requests();
        for _ in 0..rounds.unwrap_or(1) {
            let faults = faults(&requests, rounds.is_some(), &mut random);
            work.extend(faults.into_iter().map(|fault| (at, fault)));
        }
    }
    let scene = |at: usize, folder: &Path| Scene::new(WAYS[at], folder);
    let failed = all(&work, WAYS.len(), &scene, folder.path());
    println!("{} runs in {:?}, seed {seed}", work.len(), begun.elapsed());
    let some: Vec<&str> = failed.iter().take(TOLD_MAX).map(String::as_str).collect();
    assert!(failed.is_empty(), "seed {seed}, {} failed:\n{}", failed.len(), some.join("\n"));
}

/// A question takes as long as a hundred rows.
#[test]
fn a_load_by_one_transaction_sends_few_requests() {
    let folder = folder();
    let requests = Scene::new(WAYS[8], &folder.path().join("few")).requests();
    let sent: Vec<_> = requests.iter().map(|one| String::from_utf8_lossy(&one.text)).collect();
    assert!(sent.len() <= REQUESTS_MAX, "{} requests:\n{}", sent.len(), sent.join("\n"));
}

#[test]
fn a_further_table_in_one_transaction_has_requests_for_its_rows_alone() {
    let folder = folder();
    let requests = Scene::new(WAYS[3], &folder.path().join("further")).requests();
    let sent: Vec<_> = requests.iter().map(|one| String::from_utf8_lossy(&one.text)).collect();
    let is_of_second = |text: &str| text.contains("`u`") && !text.contains("`t`");
    let own: Vec<_> = sent.iter().filter(|text| is_of_second(text)).collect();
    assert!(own.iter().all(|text| text.contains(" INTO ")), "{own:#?}");
    assert!(!own.is_empty(), "{sent:#?}");
    // It goes with the rows.
    assert!(!sent.iter().any(|text| text == "SAVEPOINT inrush_chunk"), "{sent:#?}");
}

#[test]
fn a_further_table_that_keeps_its_rows_has_two_requests_more() {
    let folder = folder();
    let way = LoadCase::new(LoadPath::Auto, Mode::Append, false).into(&["t", "u"]);
    let requests = Scene::new(way, &folder.path().join("kept")).requests();
    let sent: Vec<_> = requests.iter().map(|one| String::from_utf8_lossy(&one.text)).collect();
    let is_of_second = |text: &str| text.contains("`u`") && !text.contains("`t`");
    let others = sent.iter().filter(|text| is_of_second(text) && !text.contains(" INTO "));
    assert_eq!(others.count(), 2, "{sent:#?}");
}

/// A folder for journals, in memory where that can be: thousands are synced.
fn folder() -> TempDir {
    match Path::new("/dev/shm").is_dir() {
        true => tempfile::tempdir_in("/dev/shm").unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// Makes all runs, several at a time, and gives what is wrong with those that failed.
fn all(
    work: &[(usize, Fault)],
    scenes: usize,
    of: &(dyn Fn(usize, &Path) -> Scene + Sync),
    folder: &Path,
) -> Vec<String> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (next, failed) = (&next, &failed);
            scope.spawn(move || {
                let scene = |at| of(at, &folder.join(format!("{thread}-{at}")));
                let mut scenes: Vec<Scene> = (0..scenes).map(scene).collect();
                while let Some(&(at, fault)) = work.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let run = || scenes[at].run(fault);
                    if let Err(why) = catch_unwind(AssertUnwindSafe(run)) {
                        let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().unwrap().push(text);
                        scenes[at] = scene(at);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}
