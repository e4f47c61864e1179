//! Statements name tables so that no view can take a table's place: see
//! `crates/server/src/connect/session/held.rs`.

use super::{LAYERS, sources};

/// Programs for ourselves, whose servers have no other user.
const OWN_SERVERS: [&str; 3] = ["prove", "bench", "fuzz"];
/// Reads that are of no user's table: temporary tables and expressions of the session, the server's
/// own tables, vindexes of vtgate, a file. The driver for ADBC reads the columns of whatever its caller names, views too.
const READ: [(&str, &str); 9] = [
    ("adbc/connection.rs", "name}"),
    ("send/import_file.rs", "file}"),
    ("send/shards.rs", "from}"),
    ("catalog/evaluate.rs", "copy}"),
    ("catalog/defaults.rs", "copy}"),
    ("catalog/learn/contractions.rs", "of}"),
    // The server's own tables of locks.
    ("targets/row_waits.rs", "trx}"),
    ("targets/row_waits.rs", "waits}"),
    ("tune/identity.rs", "schema}"),
];
/// The server's own list of processes, as `Session::query_processes` names it.
const PROCESSES: &str = "processes}";
/// Files whose tables others hold (`send/sender.rs`, `Transaction::include`), are temporary, are words of
/// an export, or that TiDB fills only if they are no views.
const WRITTEN: [&str; 6] = [
    "send/import_file.rs",
    "send/sender/statements.rs",
    "spider/shards/staged.rs",
    "catalog/evaluate.rs",
    "catalog/defaults.rs",
    "export/layout/insert.rs",
];

/// The text before and behind each of these words, in its line of the source.
fn around<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    text.lines().flat_map(move |line| {
        line.match_indices(word).map(move |(at, _)| (&line[..at], &line[at + word.len()..]))
    })
}

/// Product files, with literals that go over several lines in one.
fn files() -> impl Iterator<Item = (String, String)> {
    let crates = LAYERS.into_iter().filter(|name| !OWN_SERVERS.contains(name));
    crates.flat_map(|name| {
        sources(name).into_iter().map(move |(path, text)| {
            let mut joined = String::new();
            for line in text.lines() {
                match line.strip_suffix('\\') {
                    Some(begun) => joined.push_str(begun.trim_start()),
                    None => {
                        joined.push_str(line.trim_start());
                        joined.push('\n');
                    }
                }
            }
            (format!("{name}/{path}"), joined)
        })
    })
}

#[test]
fn tables_are_read_by_names_that_no_view_can_have() {
    let mut wrong = Vec::new();
    for (path, text) in files() {
        for word in ["FROM {", "JOIN {"] {
            for (before, rest) in around(&text, word) {
                // Those are no reads of rows: the other test is for the former.
                let is_other = before.ends_with("DELETE ") || before.ends_with("COLUMNS ");
                let is_base = rest.starts_with("base") || rest.contains("{BASE_TABLE}");
                let is_known = rest.starts_with(PROCESSES)
                    || READ.iter().any(|(file, name)| path == *file && rest.starts_with(name));
                if !is_other && !is_base && !is_known {
                    wrong.push(format!("{path}: {word}{rest}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not by TableName::base:\n{}", wrong.join("\n"));
}

#[test]
fn tables_are_written_to_while_they_are_held() {
    let words = ["INTO {", "UPDATE {", "INTO TABLE {", "DELETE FROM {"];
    let mut wrong = Vec::new();
    for (path, text) in files() {
        let writes = words.iter().any(|word| text.contains(word));
        let is_held = ["hold_tables(", "write_to("].iter().any(|call| text.contains(call));
        if writes && !is_held && !WRITTEN.contains(&path.as_str()) {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "written to without being held:\n{}", wrong.join("\n"));
}
