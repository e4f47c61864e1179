//! The fuzz targets on stable: samples and the corpus (`crates/fuzz/corpus`) as they are, then damaged at
//! random, for seconds, or as long as INRUSH_FUZZ_SECONDS says for each target.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod mutation;
mod samples;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use fuzz::{TARGETS, Target};
use mutation::Random;

/// Damaged samples of each target when no time is given.
const RUNS: u64 = 300;
/// Longer than any input of some kilobytes may take, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(20);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Committed inputs of a target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap().map(Result::unwrap);
    let mut inputs: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    inputs.sort();
    inputs
}

/// Gives a target every input of its corpus, and names those that it fails on.
fn replay(target: Target) {
    let failed: Vec<String> = corpus(target.name)
        .into_iter()
        .filter_map(|(name, bytes)| {
            let at = Instant::now();
            let is_sound = catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))).is_ok();
            (!is_sound || at.elapsed() > LONGEST).then_some(name)
        })
        .collect();
    assert!(failed.is_empty(), "crates/fuzz/corpus/{}: {failed:?}, as said above", target.name);
}

/// Feeds a target until the time or the runs are over.
fn feed(target: Target) {
    replay(target);
    let seconds = number("INRUSH_FUZZ_SECONDS").map(Duration::from_secs);
    let seed = number("INRUSH_SEED").unwrap_or(1);
    let mut samples = samples::of(target.name);
    for sample in &samples {
        (target.run)(sample);
    }
    samples.extend(corpus(target.name).into_iter().map(|(_, bytes)| bytes));
    let begun = Instant::now();
    let mut runs = 0;
    while seconds.map_or(runs < RUNS, |seconds| begun.elapsed() < seconds) {
        let random = &mut Random::new(seed + runs);
        let input = mutation::damaged(random, &samples);
        let at = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.bin", target.name));
            std::fs::write(&kept, &input).unwrap();
            panic!("{} failed, seed {}; its input is {}", target.name, seed + runs, kept.display());
        }
        assert!(at.elapsed() < LONGEST, "{}: seed {} took too long", target.name, seed + runs);
        runs += 1;
    }
    println!("{}: {runs} inputs", target.name);
}

fn feed_named(name: &str) {
    feed(*TARGETS.iter().find(|target| target.name == name).unwrap());
}

#[test]
fn archives_are_read_or_refused() {
    feed_named("archive");
}

#[test]
fn cfg_files_are_read_or_refused() {
    feed_named("cfg");
}

#[test]
fn learned_collations_are_read_or_refused() {
    feed_named("collation");
}

#[test]
fn texts_are_converted_or_refused() {
    feed_named("convert");
}

#[test]
fn files_of_typed_columns_are_read_or_refused() {
    feed_named("columnar");
}

#[test]
fn dumps_are_read_the_same_however_they_are_read() {
    feed_named("dump");
}

#[test]
fn each_dump_of_the_corpus_is_the_same_wherever_a_read_ends() {
    for (name, bytes) in corpus("dump") {
        let is_sound = catch_unwind(|| fuzz::read_dump_in_pieces(&bytes)).is_ok();
        assert!(is_sound, "crates/fuzz/corpus/dump/{name}, as said above");
    }
}

#[test]
fn journals_are_read_or_refused() {
    feed_named("journal");
}

#[test]
fn records_of_json_are_read_alike_however_they_are_cut() {
    feed_named("json");
}

#[test]
fn option_files_are_read_or_refused() {
    feed_named("option_file");
}

#[test]
fn fields_are_found_in_any_text() {
    feed_named("scan");
}

#[test]
fn any_file_is_guessed_at() {
    feed_named("sniff");
}

#[test]
fn tablespaces_are_read_or_refused() {
    feed_named("tablespace");
}

#[test]
fn every_target_has_a_small_corpus() {
    let mut total_bytes = 0;
    for target in TARGETS {
        let inputs = corpus(target.name);
        assert!((20..=60).contains(&inputs.len()), "{}: {} inputs", target.name, inputs.len());
        total_bytes += inputs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    }
    assert!(total_bytes < 1_500_000, "{total_bytes} bytes");
}

#[test]
fn every_target_has_a_program_for_libfuzzer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("libfuzzer");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for target in TARGETS {
        let path = format!("fuzz_targets/{}.rs", target.name);
        let program = std::fs::read_to_string(folder.join(&path)).unwrap();
        assert!(program.contains(&format!("fuzz::run({:?}, ", target.name)), "{path}");
        assert!(manifest.contains(&format!("path = {path:?}")), "{path}");
    }
}
