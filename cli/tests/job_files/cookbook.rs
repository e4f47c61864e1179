//! The job files of the documentation do what they say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Desk, Home, run};

fn folders() -> Vec<PathBuf> {
    let cookbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook");
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

#[test]
fn each_recipe_leaves_what_it_says() {
    let folders = folders();
    assert!(folders.len() >= 10);
    for folder in folders {
        let Some(mut desk) = Desk::new() else { return };
        let own = copy(&folder, &desk.home, &desk.database);
        for sql in fs::read_to_string(own.join("tables.sql")).unwrap().split(";\n") {
            if !sql.trim().is_empty() {
                desk.exec(sql);
            }
        }
        let expected = fs::read_to_string(own.join("expected.txt")).unwrap();
        let mut expected = expected.lines();
        let status = expected.next().unwrap();
        let mut command = desk.home.inrush(["load", "--quiet", "--memory", "48M", "-c"]);
        command.arg(own.join("job.toml")).arg("--socket").arg(desk.server.socket());
        if let Some(user) = desk.server.options().user {
            command.args(["--user", &user]);
        }
        let outcome = run(&mut command);
        let name = folder.display();
        assert_eq!(format!("exit {}", outcome.code()), status, "{name}: {outcome:?}");
        let (mut query, mut rows) = (String::new(), Vec::new());
        for line in expected.chain(["SELECT"]) {
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
}
