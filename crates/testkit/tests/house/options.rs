//! Messages of libraries name our options by `face::option`, so that each face writes them in its own way.

use super::{LAYERS, sources};

/// Whose words are those of a command line, and the list itself.
const COMMAND_LINES: [&str; 5] = ["face", "terminal", "bench", "cli", "fuzz"];
/// Files that start programs, whose arguments these are.
const STARTED: [&str; 7] = [
    "adbc/ingest.rs",
    "adbc/server_options.rs",
    "sandbox/mariadbd.rs",
    "sandbox/lib.rs",
    "sandbox/shards.rs",
    "prove/private_server.rs",
    // Ours, on another machine.
    "ssh/client.rs",
];
/// Options of other programs that a message names.
const OTHERS: [(&str, &str); 5] = [
    ("replay/dump.rs", "--tab"),
    ("replay/dump.rs", "--dir"),
    ("unpack/zstd.rs", "--long"),
    ("unpack/zstd.rs", "--ultra"),
    ("sources/dump/reader/inputs.rs", "--xml"),
];

/// Options in a text, also those whose name is put in: `--memory`, `--{name}`.
fn options(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("--").filter_map(|(at, dashes)| {
        let name = &text[at + dashes.len()..];
        let is_option = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '{');
        let size = name.find(|c: char| !(c.is_ascii_lowercase() || "-{".contains(c)));
        is_option.then(|| &text[at..at + dashes.len() + size.unwrap_or(name.len())])
    })
}

#[test]
fn messages_of_libraries_name_options_in_the_words_of_each_face() {
    let mut wrong = Vec::new();
    for name in LAYERS.into_iter().filter(|name| !COMMAND_LINES.contains(name)) {
        for (file, text) in sources(name) {
            let path = format!("{name}/{file}");
            if STARTED.contains(&path.as_str()) {
                continue;
            }
            let ours = options(&text).filter(|option| !OTHERS.contains(&(path.as_str(), *option)));
            wrong.extend(ours.map(|option| format!("{path}: {option}")));
        }
    }
    assert!(wrong.is_empty(), "not by face::option:\n{}", wrong.join("\n"));
}

#[test]
fn options_are_found_in_sentences() {
    let text = "--memory is 5, or --{name}; -----BEGIN KEY-----, `-- Dump`, --no-triggers";
    let found: Vec<&str> = options(text).collect();
    assert_eq!(found, ["--memory", "--{name", "--no-triggers"]);
}
