//! The job files of the documentation do what they say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Desk, Home, Outcome, run};

fn folders() -> Vec<PathBuf> {
    let cookbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cookbook");
    let entries = fs::read_dir(cookbook).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Copies a recipe for a database of this test's own.
fn copy(folder: &Path, home: &Home, database: &str) -> PathBuf {
    let own = home.path().join(folder.file_name().unwrap());
    fs::create_dir(&own).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = match path.file_name().unwrap() == "job.toml" {
            true => {
                let text = text.replace("into = \"shop\"", &format!("into = \"{database}\""));
                text.replace("shop.", &format!("{database}."))
            }
            false => text,
        };
        fs::write(own.join(path.file_name().unwrap()), text).unwrap();
    }
    own
}

/// Makes the tables of a recipe, and loads it with these arguments more.
fn load(desk: &mut Desk, own: &Path, arguments: &[&str]) -> Outcome {
    for sql in fs::read_to_string(own.join("tables.sql")).unwrap().split(";\n") {
        if !sql.trim().is_empty() {
            desk.exec(sql);
        }
    }
    let mut command = desk.home.inrush(["load", "--quiet", "--memory", "48M", "-c"]);
    command.arg(own.join("job.toml")).arg("--socket").arg(desk.server.socket()).args(arguments);
    if let Some(user) = desk.server.options().user {
        command.args(["--user", &user]);
    }
    run(&mut command)
}

/// Asserts that the tables have the rows that a recipe says.
fn check_rows(desk: &mut Desk, name: &str, expected: &str) {
    let (mut query, mut rows) = (String::new(), Vec::new());
    for line in expected.lines().skip(1).chain(["SELECT"]) {
        if line.starts_with("SELECT") {
            if !query.is_empty() {
                assert_eq!(desk.rows(&query), rows, "{name}: {query}");
            }
            (query, rows) = (line.to_owned(), Vec::new());
        } else {
            rows.push(line.to_owned());
        }
    }
}

#[test]
fn each_recipe_leaves_what_it_says() {
    let folders = folders();
    assert!(folders.len() >= 10);
    for folder in folders {
        let Some(mut desk) = Desk::new() else { return };
        let own = copy(&folder, &desk.home, &desk.database);
        let expected = fs::read_to_string(own.join("expected.txt")).unwrap();
        let outcome = load(&mut desk, &own, &[]);
        let (name, status) = (folder.display().to_string(), expected.lines().next().unwrap());
        assert_eq!(format!("exit {}", outcome.code()), status, "{name}: {outcome:?}");
        check_rows(&mut desk, &name, &expected);
    }
}

#[test]
fn a_line_without_a_key_is_no_bad_line_when_bad_lines_are_tolerated_or_rows_are_added() {
    let recipe =
        folders().into_iter().find(|path| path.ends_with("10-some-lines-lack-it")).unwrap();
    for arguments in [&["--rejects-max", "5"][..], &["--mode", "append"], &["--dry-run"]] {
        let Some(mut desk) = Desk::new() else { return };
        let own = copy(&recipe, &desk.home, &desk.database);
        load(&mut desk, &own, arguments).done();
        if arguments != ["--dry-run"] {
            let expected = fs::read_to_string(own.join("expected.txt")).unwrap();
            check_rows(&mut desk, &format!("{arguments:?}"), &expected);
        }
    }
}
