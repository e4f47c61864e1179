//! Words of the code: names of types and files, and the first words of sentences in doc comments.

use std::fs;
use std::path::PathBuf;

use super::root;

/// First words of clauses that stand in place of a noun.
const CLAUSES: [&str; 4] = ["What", "Whether", "Of", "Whoever"];
/// Sentences in doc comments that may begin with such a word.
const MAX_CLAUSES: usize = 100;

/// Retired words for a staging table, a connection, a chunk, runs, and choosing a method: in no name of a type.
const RETIRED_NOUNS: [&str; 9] =
    ["Shadow", "Twin", "Scratch", "Lane", "Portion", "Crew", "Ladder", "Rung", "Climb"];
/// Names by a pronoun or a participle: of no type.
const PARTICIPLES: [&str; 22] = [
    "Told", "Said", "Look", "Looks", "Looked", "Seen", "Found", "Made", "Asked", "Wanted", "Way",
    "Landing", "Whole", "Given", "Absent", "Large", "Least", "Fixed", "Foreseen", "Taken",
    "Adding", "Small",
];

/// Paths and texts of all Rust files of the crates, tests too.
fn files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files
}

/// The words of a name such as `StagingTable`.
fn words(name: &str) -> Vec<&str> {
    let starts: Vec<usize> =
        name.match_indices(|c: char| c.is_uppercase()).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &name[start..end]).collect()
}

/// The name of the type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let is_type = ["struct", "enum", "trait", "type"].contains(&words.next()?);
    let name = words.next().filter(|_| is_type)?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

/// The paragraphs of the doc comments of a text; an item of a list is one too.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines().map(str::trim_start) {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let words = comment.unwrap_or_default().trim();
        let is_item =
            words.starts_with(['-', '*', '|']) || words.starts_with(|c: char| c.is_ascii_digit());
        if words.is_empty() || is_item {
            paragraphs.push(String::new());
        }
        if let Some(last) = paragraphs.last_mut() {
            last.push_str(words.trim_start_matches(['-', '*', '|', ' ']));
            last.push(' ');
        }
    }
    paragraphs
}

/// Sentences that begin with a clause.
fn clauses(paragraph: &str) -> Vec<&str> {
    let begins = |sentence: &&str| {
        let word = sentence.trim_start().split([' ', ',']).next().unwrap_or_default();
        CLAUSES.contains(&word)
    };
    let mut sentences = paragraph.split_inclusive(['.', '?', '!']);
    let first = sentences.next().into_iter();
    let others = sentences.filter(|sentence| sentence.starts_with(' '));
    first.chain(others).filter(begins).map(str::trim).collect()
}

#[test]
fn names_of_types_are_nouns() {
    let mut retired = Vec::new();
    for (path, text) in files() {
        for name in text.lines().filter_map(|line| declared(line.trim_start())) {
            let is_retired = words(name).iter().any(|word| RETIRED_NOUNS.contains(word));
            if is_retired || PARTICIPLES.contains(&name) {
                retired.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(retired.is_empty(), "{} types:\n{}", retired.len(), retired.join("\n"));
}

#[test]
fn names_of_files_are_nouns() {
    let is_retired = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        // Benchmarks compare ways, as their option is called.
        let all = RETIRED_NOUNS.iter().chain(&PARTICIPLES).filter(|word| **word != "Way");
        all.into_iter().any(|word| word.to_lowercase() == name)
    };
    let retired: Vec<PathBuf> = files().into_iter().map(|file| file.0).filter(is_retired).collect();
    assert!(retired.is_empty(), "{retired:#?}");
}

#[test]
fn sentences_of_doc_comments_begin_with_a_noun() {
    let mut found = Vec::new();
    for (path, text) in files() {
        for paragraph in paragraphs(&text) {
            let all = clauses(&paragraph).into_iter();
            found.extend(all.map(|sentence| format!("{}: {sentence}", path.display())));
        }
    }
    assert!(found.len() <= MAX_CLAUSES, "{} sentences:\n{}", found.len(), found.join("\n"));
}
