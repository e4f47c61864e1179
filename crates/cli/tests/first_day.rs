//! Files as people have them, and the whole of what `--create` makes of them: the table, its rows, each message.
//!
//! The cases are texts in the folder `first_day`, whose README says how to write one.

mod bytes;
mod cases;
mod outcome;

use std::path::{Path, PathBuf};
use std::{env, fs};

use cases::{Case, CaseFile, Step};

/// Writes what the program does now into the files, to be read by a person before it is committed.
const UPDATE: &str = "INRUSH_UPDATE";

/// A test for each file of cases.
macro_rules! files {
    ($($name:ident)*) => {
        /// All files of cases.
        const FILES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

files! {
    texts_that_stay
    empty_fields
    no_tables
    quotes
    types
    values
    headers
    around_the_table
    separators
    bytes_and_lines
    wide_tables
    ways_in
    dialects_of_programs
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_day")
}

/// Runs the cases of a file and compares.
fn check(name: &str) {
    let path = folder().join(format!("{name}.cases"));
    let mut file = CaseFile::parse(&fs::read_to_string(&path).unwrap());
    let update = env::var_os(UPDATE).is_some();
    let mut failed = Vec::new();
    for case in &mut file.cases {
        let Some(actual) = outcome::run(case) else { return };
        let is_same = case.runs().eq(&actual);
        match &case.not_yet {
            Some(_) if is_same || makes_tables(case, &actual) => {
                failed.push(format!("{}: the outcome is right: remove \"not yet\"", case.title));
            }
            Some(_) => {}
            None if is_same => {}
            None if update => case.set_runs(actual),
            None => failed.push(difference(&case.title, case.runs(), &actual)),
        }
    }
    if update {
        fs::write(&path, file.to_string()).unwrap();
    }
    assert!(
        failed.is_empty(),
        "{}\n{} cases of {} differ; {UPDATE}=1 writes them anew; read what changed",
        failed.join("\n"),
        failed.len(),
        path.display()
    );
}

/// True if the tables and rows are those that are expected, whatever the messages.
fn makes_tables(case: &Case, actual: &[Step]) -> bool {
    let expected = case.runs().last().and_then(Step::tables);
    expected.is_some() && expected == actual.last().and_then(Step::tables)
}

/// The runs of a case that have another outcome than expected.
fn difference<'a>(
    title: &str,
    expected: impl Iterator<Item = &'a Step>,
    actual: &[Step],
) -> String {
    let mut text = format!("=== {title}\n");
    for (expected, actual) in expected.zip(actual) {
        if expected.text != actual.text {
            let Step { head, text: was } = expected;
            text += &format!("--- {head}\nexpected:\n{was}\nactual:\n{}\n", actual.text);
        }
    }
    text
}

#[test]
fn every_file_of_cases_is_a_test() {
    let mut names: Vec<String> = crate::support::names(&folder())
        .iter()
        .filter_map(|name| Some(name.strip_suffix(".cases")?.to_owned()))
        .collect();
    names.sort();
    let mut tested = FILES.to_vec();
    tested.sort_unstable();
    assert_eq!(names, tested);
}

/// A case is found by its title, and there are enough of them.
#[test]
fn cases_are_many_and_have_titles_of_their_own() {
    let mut titles = Vec::new();
    for name in FILES {
        let text = fs::read_to_string(folder().join(format!("{name}.cases"))).unwrap();
        let file = CaseFile::parse(&text);
        assert_eq!(file.to_string(), text, "{name}.cases is written as the test would write it");
        titles.extend(file.cases.into_iter().map(|case| case.title));
    }
    let count = titles.len();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), count, "two cases have one title");
    assert!(count >= 150, "{count} cases");
}
