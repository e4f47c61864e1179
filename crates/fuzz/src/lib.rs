//! All readers of others' bytes, as functions that must take any bytes: no panic, no endless loop, no memory
//! out of proportion. Their further checks hold for all input.
//!
//! `crates/fuzz/libfuzzer` gives each to libFuzzer; `crates/fuzz/tests/damaged.rs` feeds the same functions
//! with samples that were damaged at random, on stable.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed check is what is wanted")]

mod archive;
mod cfg;
mod collation;
mod columnar;
mod convert;
mod dump;
mod journal;
mod json;
mod option_file;
mod scan;
mod sniff;
mod tablespace;

use std::path::PathBuf;

pub use dump::read_dump_in_pieces;

/// A function that takes any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name, also of the libFuzzer program.
    pub name: &'static str,
    /// The function that must not fail.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 12] = [
    Target { name: "archive", run: archive::run },
    Target { name: "cfg", run: cfg::run },
    Target { name: "collation", run: collation::run },
    Target { name: "columnar", run: columnar::run },
    Target { name: "convert", run: convert::run },
    Target { name: "dump", run: dump::run },
    Target { name: "journal", run: journal::run },
    Target { name: "json", run: json::run },
    Target { name: "option_file", run: option_file::run },
    Target { name: "scan", run: scan::run },
    Target { name: "sniff", run: sniff::run },
    Target { name: "tablespace", run: tablespace::run },
];

/// Runs the target of this name.
///
/// # Panics
///
/// When there is none, and when it found something.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(bytes);
}

/// A file with these bytes; gone with the folder.
fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Cuts the first `count` bytes off, zeros where there are fewer: they choose what is done.
fn choices<const COUNT: usize>(bytes: &[u8]) -> ([u8; COUNT], &[u8]) {
    let mut chosen = [0; COUNT];
    let (head, rest) = bytes.split_at(COUNT.min(bytes.len()));
    chosen[..head.len()].copy_from_slice(head);
    (chosen, rest)
}
