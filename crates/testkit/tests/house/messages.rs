//! All sentences that the program can print, in a list that is read when it changes.
//!
//! `INRUSH_UPDATE=1 cargo test -p inrush-testkit --test house messages` writes the list anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::{LAYERS, folder, imports, product_files, root};

/// Crates that print nothing for users.
const SILENT: [&str; 1] = ["fuzz"];
/// Fewest words of a sentence.
const WORDS_MIN: usize = 3;
/// First words of clauses that stand in place of a noun.
const CLAUSES: [&str; 4] = ["What", "Whether", "Of", "Whoever"];
/// Words of a sentence that begins as SQL does.
const ENGLISH: [&str; 5] = [" the ", " is ", " a ", " that ", " than "];
/// Words that users do not know, and those that replaced them.
const RETIRED: [(&str, &str); 12] = [
    ("shadow", "staging table"),
    ("twin", "staging table"),
    ("lane", "connection"),
    ("lanes", "connections"),
    ("portion", "chunk"),
    ("portions", "chunks"),
    ("crew", "runs"),
    ("ladder", "method"),
    ("rung", "method"),
    ("the head", "the Spider server"),
    ("to be had", "available"),
    ("take down", "capture"),
];

fn list() -> PathBuf {
    root().join("crates/testkit/messages.txt")
}

/// The sentences of a crate, each once.
fn sentences(name: &str) -> BTreeSet<String> {
    let texts = product_files(&folder(name).join("src"));
    let all = texts.values().flat_map(|text| literals(&imports::without_tests(text)));
    all.filter(|literal| is_sentence(literal)).collect()
}

/// True for words of a language; false for SQL, names and forms.
fn is_sentence(literal: &str) -> bool {
    let is_word = |word: &&str| word.chars().any(|c| c.is_ascii_lowercase()) && !word.contains('=');
    let words = literal.split_whitespace().filter(is_word).count();
    let first = literal.split_whitespace().next().unwrap_or_default();
    let is_sql =
        first.len() > 1 && first.chars().all(|c| c.is_ascii_uppercase() || "_(;".contains(c));
    let is_english = ENGLISH.iter().any(|word| literal.contains(word));
    words >= WORDS_MIN && (!is_sql || is_english)
}

/// The string literals of a Rust text, as one line each.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, from) = rest.split_at(at);
        rest = if from.starts_with("//") {
            from.split_once('\n').map_or("", |(_, next)| next)
        } else if let Some(quoted) = from.strip_prefix('"') {
            let hashes = before.len() - before.trim_end_matches('#').len();
            let is_raw = before.trim_end_matches('#').ends_with('r');
            let (literal, next) = if is_raw { raw(quoted, hashes) } else { escaped(quoted) };
            found.push(literal);
            next
        } else if let Some(next) = from.strip_prefix("'\"'") {
            next
        } else if from.starts_with("'\\") {
            from[3..].split_once('\'').map_or("", |(_, next)| next)
        } else {
            &from[1..]
        };
    }
    found
}

/// A raw literal, and the text behind it.
fn raw(text: &str, hashes: usize) -> (String, &str) {
    let end = format!("\"{}", "#".repeat(hashes));
    let (literal, next) = text.split_once(&end).unwrap_or((text, ""));
    (literal.replace('\n', "\\n"), next)
}

/// A literal with escapes, and the text behind it. Lines that a backslash joins are one.
fn escaped(text: &str) -> (String, &str) {
    let mut literal = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (literal, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, '\n')) => {
                    let joined = chars.as_str().trim_start();
                    chars = text[text.len() - joined.len()..].char_indices();
                    let (rest, next) = escaped(chars.as_str());
                    return (literal + &rest, next);
                }
                Some((_, '"')) => literal.push('"'),
                Some((_, other)) => literal.extend(['\\', other]),
                None => {}
            },
            '\n' => literal.push_str("\\n"),
            other => literal.push(other),
        }
    }
    (literal, "")
}

#[test]
fn messages_are_those_of_the_list() {
    let mut listed = String::new();
    for name in LAYERS.into_iter().filter(|name| !SILENT.contains(name)) {
        listed += &format!("# {name}\n");
        sentences(name).iter().for_each(|sentence| listed += &format!("{sentence}\n"));
    }
    if std::env::var_os("INRUSH_UPDATE").is_some() {
        fs::write(list(), &listed).unwrap();
    }
    let before = fs::read_to_string(list()).unwrap_or_default();
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) =
        (before.lines().collect(), listed.lines().collect());
    let gone: Vec<&&str> = old.difference(&new).collect();
    let added: Vec<&&str> = new.difference(&old).collect();
    assert!(
        before == listed,
        "{} differs: INRUSH_UPDATE=1 writes it anew; read what changed\nnew: {added:#?}\ngone: {gone:#?}",
        list().display()
    );
}

#[test]
fn messages_begin_with_a_noun_and_use_the_words_of_users() {
    let mut wrong = Vec::new();
    for name in LAYERS.into_iter().filter(|name| !SILENT.contains(name)) {
        for sentence in sentences(name) {
            let first = sentence.split([' ', ',']).next().unwrap_or_default();
            if CLAUSES.contains(&first) {
                wrong.push(format!("{name}: {sentence}"));
            }
            let spaced = format!(" {} ", sentence.replace(|c: char| !c.is_alphanumeric(), " "));
            for (word, better) in RETIRED {
                if spaced.contains(&format!(" {word} ")) {
                    wrong.push(format!("{name}: {word} ({better}): {sentence}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} messages:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn literals_are_found_between_comments_and_characters() {
    let text = "a(\"one \\\"two\\\" three\", '\"', '\\'', b'x'); // \"none\"\nr#\"raw \" one\"#; \"joined \\\n   here\"";
    assert_eq!(literals(text), ["one \"two\" three", "raw \" one", "joined here"]);
}
