//! The house rules that a machine can check: layers of crates, circles of modules, sizes, unsafe.
//!
//! Imports of a module are read off its text: `crate::`, `super::` and `self::` paths, and `use` trees,
//! followed through what modules export again. Modules below one parent must not import each other in a
//! circle; a parent and its child may.
#![allow(clippy::unwrap_used)]

mod base_tables;
mod docs;
mod imports;
mod licences;
mod messages;
mod options;
mod threads;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates from the bottom: each may use those above it in this list, and no other.
const LAYERS: [&str; 38] = [
    "locks", "face", "disk", "simd", "unpack", "values", "written", "schema", "sql", "sources",
    "columnar", "remote", "sort", "innodb", "inspect", "server", "catalog", "sandbox", "targets",
    "tune", "job", "terminal", "ssh", "encode", "check", "direct", "send", "sniff", "load",
    "prove", "export", "spider", "replay", "inrush", "bench", "adbc", "cli", "fuzz",
];
/// Crates of one layer, which do not know each other.
const APART: [(&str, &str); 11] = [
    ("check", "direct"),
    ("check", "send"),
    ("direct", "send"),
    ("sources", "innodb"),
    ("sort", "innodb"),
    ("sort", "sources"),
    ("server", "sources"),
    ("catalog", "sources"),
    ("load", "bench"),
    ("load", "export"),
    ("replay", "export"),
];
/// Lines of a crate without its tests.
const CRATE_LINES_MAX: usize = 12_000;
const README_LINES_MAX: usize = 120;
/// The only files with unsafe code: instructions of the processor, and the allocator's settings.
const UNSAFE: [&str; 3] =
    ["crates/simd/src/avx2.rs", "crates/simd/src/avx512.rs", "crates/cli/src/allocator.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The folder of a crate.
fn folder(name: &str) -> PathBuf {
    root().join("crates").join(name)
}

/// Product files of a crate, by their path below `src`, without comments and test modules.
fn sources(name: &str) -> BTreeMap<String, String> {
    let files = product_files(&folder(name).join("src"));
    files.into_iter().map(|(path, text)| (path, imports::product(&text))).collect()
}

/// Files below a folder that are not those of tests, by their path below it.
fn product_files(base: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![base.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") && stem != "tests" {
                let below = path.strip_prefix(base).unwrap().to_string_lossy().into_owned();
                if !below.split('/').any(|part| part == "tests") {
                    found.insert(below, fs::read_to_string(&path).unwrap());
                }
            }
        }
    }
    found
}

/// Crates of ours that a crate's product uses.
fn dependencies(name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
    let mut found = Vec::new();
    let mut is_product = false;
    for line in text.lines() {
        if line.starts_with('[') {
            is_product = line == "[dependencies]";
        } else if is_product && let Some((key, _)) = line.split_once(['.', '=', ' ']) {
            found.extend(LAYERS.iter().filter(|layer| **layer == key).map(|&layer| layer.into()));
        }
    }
    found
}

#[test]
fn crates_use_only_those_below_them() {
    let floor = |name: &str| LAYERS.iter().position(|layer| *layer == name).unwrap();
    for name in LAYERS {
        for used in dependencies(name) {
            assert!(floor(&used) < floor(name), "{name} must not use {used}");
            let is_apart =
                |(a, b): &(&str, &str)| (*a == name && *b == used) || (*a == used && *b == name);
            assert!(!APART.iter().any(is_apart), "{name} and {used} do not know each other");
        }
    }
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.join("Cargo.toml").exists() && name != "testkit" {
            assert!(LAYERS.contains(&name.as_str()), "{name} has no place among the layers");
        }
    }
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for name in LAYERS {
        circles
            .extend(imports::circles(&sources(name)).into_iter().map(|c| format!("{name}: {c}")));
    }
    assert!(circles.is_empty(), "circles of imports:\n{}", circles.join("\n"));
}

#[test]
fn no_crate_outgrows_a_head() {
    for name in LAYERS {
        let lines: usize = sources(name).values().map(|text| text.lines().count()).sum();
        assert!(lines <= CRATE_LINES_MAX, "{name} has {lines} lines: it has grown a second noun");
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= README_LINES_MAX, "the README is for newcomers");
}

#[test]
fn locks_are_those_of_one_crate() {
    for name in LAYERS.into_iter().filter(|name| *name != "locks") {
        for (file, text) in sources(name) {
            let undoes = text.contains("PoisonError");
            assert!(!undoes, "{name}/{file}: locks::Mutex is used after a panic of its holder too");
        }
    }
}

#[test]
fn unsafe_code_is_where_it_was_allowed() {
    for name in LAYERS {
        for (file, text) in sources(name) {
            // A page may say 'unsafe-inline'.
            let is_apart = |c: char| !(c.is_alphanumeric() || "_-".contains(c));
            // In quotes it is a word that users type.
            let text = text.replace("\"unsafe\"", "");
            let is_unsafe = text.split(is_apart).any(|word| word == "unsafe");
            let path = format!("crates/{name}/src/{file}");
            assert!(!is_unsafe || UNSAFE.contains(&path.as_str()), "{path} has unsafe code");
        }
    }
}

/// A variable that is set past it is not read back.
#[test]
fn session_variables_are_set_by_one_function() {
    let own = "crates/server/src/connect/session/variables.rs";
    for name in LAYERS.into_iter().filter(|name| *name != "bench") {
        for (file, text) in sources(name) {
            let path = format!("crates/{name}/src/{file}");
            let sets = text.contains("\"SET SESSION ") && path != own;
            assert!(!sets, "{path} sets variables without Session::set");
        }
    }
}

#[test]
fn a_circle_is_found_and_a_parent_and_its_child_are_none() {
    let house = |files: &[(&str, &str)]| {
        let text = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        imports::circles(&files.iter().map(text).collect())
    };
    let straight = [
        ("lib.rs", "mod a;\nmod b;\npub use a::One;"),
        ("a.rs", "use crate::b::{Two, c::Three};\nmod inner;"),
        ("a/inner.rs", "use super::One;"),
        ("b.rs", "mod c;"),
        ("b/c.rs", "use super::Two;"),
    ];
    assert!(house(&straight).is_empty());
    let mut circle = straight.to_vec();
    circle[3] = ("b.rs", "mod c;\nfn f() { crate::a::g() }");
    assert_eq!(house(&circle), ["a -> b -> a"]);
    circle[3] = ("b.rs", "mod c;\nuse crate::One;");
    assert_eq!(house(&circle), ["a -> b -> a"], "through what the parent exports again");
    circle[3] = ("b.rs", "mod c;\n#[cfg(test)]\nmod tests {\n    use crate::One;\n}");
    let tested: BTreeMap<_, _> =
        circle.iter().map(|(path, text)| ((*path).to_owned(), imports::product(text))).collect();
    assert!(imports::circles(&tested).is_empty(), "tests may import what they like");
}
