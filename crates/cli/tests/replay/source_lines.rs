//! Files that a dump names by `source`, as employees.sql of the database test_db.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use super::yard::{WAYS, Yard};
use crate::support::run;

const DUMP: &str = "
CREATE TABLE departments (dept_no CHAR(4) NOT NULL PRIMARY KEY, dept_name VARCHAR(40));
CREATE TABLE titles (a INT PRIMARY KEY);
SELECT 'LOADING departments' as 'INFO';
source load_departments.dump ;
SELECT 'LOADING titles' as 'INFO';
SOURCE parts/load_titles.dump
\\. parts/last.dump
INSERT INTO titles VALUES (9);
DELIMITER //
source trigger.sql //
";
const FILES: [(&str, &str); 5] = [
    (
        "load_departments.dump",
        "INSERT INTO `departments` VALUES\n('d001','Marketing'),\n('d002','Finance');\n",
    ),
    ("parts/load_titles.dump", "INSERT INTO titles VALUES (1),(2);\nsource parts/inner.sql"),
    ("parts/inner.sql", "INSERT INTO titles VALUES (3);\nINSERT INTO titles VALUES (4)"),
    ("parts/last.dump", "INSERT INTO titles VALUES (5),(6);"),
    ("trigger.sql", "CREATE TRIGGER x BEFORE INSERT ON titles FOR EACH ROW BEGIN SET @a=1; END//"),
];

fn folder(yard: &Yard) -> PathBuf {
    let folder = yard.home.path().join("test_db");
    fs::create_dir_all(folder.join("parts")).unwrap();
    for (name, text) in FILES {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[test]
fn files_that_a_dump_names_are_read_in_its_place() {
    let Some(mut yard) = Yard::new(&["sources"]) else { return };
    let database = yard.databases[0].clone();
    let folder = folder(&yard);
    let dump = folder.join("employees.sql");
    fs::write(&dump, DUMP).unwrap();
    let mut client: Command = yard.program("mariadb");
    client.arg(&database).current_dir(&folder).stdin(fs::File::open(&dump).unwrap());
    assert!(client.output().unwrap().status.success());
    let expected = yard.seen();
    for way in WAYS {
        for more in [&[][..], &["--small", "1"]] {
            yard.wipe();
            yard.make_databases();
            let mut command = yard.replay(&dump, &["--as", way, "--into", &database]);
            let outcome = run(command.args(more));
            yard.compare(&format!("{way} {more:?}"), &outcome, &expected);
        }
    }
}

#[test]
fn a_replay_continues_after_a_failure_in_a_named_file() {
    let Some(mut yard) = Yard::new(&["sources_again"]) else { return };
    let database = yard.databases[0].clone();
    let folder = folder(&yard);
    let dump = folder.join("two.sql");
    fs::write(
        &dump,
        "CREATE TABLE a (i INT);\nsource a.sql\nINSERT INTO a VALUES (3);\nsource b.sql\n",
    )
    .unwrap();
    fs::write(folder.join("a.sql"), "INSERT INTO a VALUES (1),(2);\n").unwrap();
    fs::write(folder.join("b.sql"), "\nCREATE VIEW b AS SELECT 1;\nINSERT INTO c VALUES (1);\n")
        .unwrap();
    let into = ["--into", &database];
    let outcome = run(&mut yard.replay(&dump, &into));
    outcome.refused(1, &["test_db/b.sql, line 3", "INSERT INTO c VALUES"]);
    yard.session.exec(&format!("CREATE TABLE `{database}`.c (i INT)")).unwrap();
    let outcome = run(&mut yard.replay(&dump, &into));
    assert!(
        outcome.done().out.contains("finished by an earlier, interrupted replay"),
        "{outcome:?}"
    );
    for (table, rows) in [("a", 3), ("c", 1)] {
        let found = yard.session.query(&format!("SELECT i FROM `{database}`.{table}")).unwrap();
        assert_eq!(found.len(), rows, "{table}");
    }
    // A file that changed meanwhile would be gone on with at a place of the old one.
    yard.session.exec(&format!("DROP TABLE `{database}`.a, `{database}`.c")).unwrap();
    yard.session.exec(&format!("DROP VIEW `{database}`.b")).unwrap();
    run(&mut yard.replay(&dump, &into)).refused(1, &["b.sql, line 3"]);
    fs::write(folder.join("a.sql"), "INSERT INTO a VALUES (1),(2),(3);\n").unwrap();
    yard.session.exec(&format!("CREATE TABLE `{database}`.c (i INT)")).unwrap();
    run(&mut yard.replay(&dump, &into)).refused(1, &["a.sql has changed", "--fresh"]);
}

#[test]
fn a_file_that_may_not_be_read_is_named_with_its_line() {
    let Some(yard) = Yard::new(&["sources_refused"]) else { return };
    let database = yard.databases[0].clone();
    let folder = folder(&yard);
    let outside = yard.home.file("outside.sql", "SELECT 1;");
    symlink(&outside, folder.join("link.sql")).unwrap();
    fs::write(folder.join("circle.sql"), "source circle.sql\n").unwrap();
    fs::write(folder.join("round.sql"), "\n\nsource dump.sql;\n").unwrap();
    let dump = folder.join("dump.sql");
    let into = ["--into", &database];
    let sandboxed = "/*M!999999\\- enable the sandbox mode */ \nSELECT 1;\nsource trigger.sql";
    for (text, place, reason) in [
        ("SELECT 1;\nsource none.sql", "dump.sql line 2", "cannot be read (No such file"),
        ("SELECT 1;\nsource ../outside.sql;", "dump.sql line 2", "only plain files in the folder"),
        ("SELECT 1;\nsource link.sql;", "dump.sql line 2", "only plain files in the folder"),
        ("SELECT 1;\nsource parts", "dump.sql line 2", "only plain files in the folder"),
        ("SELECT 1;\nsource", "dump.sql line 2", "only plain files in the folder"),
        ("SELECT 1;\nsource circle.sql", "circle.sql line 1", "in a circle"),
        ("SELECT 1;\nsource round.sql", "round.sql line 3", "in a circle"),
        (sandboxed, "dump.sql line 3", "forbids it"),
    ] {
        fs::write(&dump, text).unwrap();
        run(&mut yard.replay(&dump, &into)).refused(1, &[place, reason]);
        run(&mut yard.replay(&dump, &["--dry-run"])).refused(1, &[place, reason]);
    }
    fs::write(&dump, "SELECT 1;\nsource trigger.sql").unwrap();
    let mut cat =
        Command::new("cat").arg(&dump).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut command = yard.replay("-".as_ref(), &into);
    let outcome = run(command.stdin(cat.stdout.take().unwrap()));
    cat.wait().unwrap();
    outcome.refused(1, &["/dev/stdin line 2", "the dump is a pipe"]);
}
