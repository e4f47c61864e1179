//! No command writes over a file that it reads, and none writes one file twice.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Desk, run};

/// The contents of every file of the test's folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    let mut contents: Vec<(String, Vec<u8>)> = files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect();
    contents.sort();
    contents
}

fn desk() -> Option<Desk> {
    let mut desk = Desk::new()?;
    desk.exec("CREATE TABLE t (a INT)");
    for (name, text) in [
        ("t.csv", "1\n2\n"),
        ("ddl.sql", "CREATE TABLE t (a INT)"),
        ("ddl.sql.reasons.jsonl", "CREATE TABLE t (a INT)"),
        ("my.cnf", "[client]\n"),
        (
            "job.toml",
            "[input]\nfiles = [\"t.csv\"]\ncolumns = [\"a\"]\n[[table]]\nname = \"t\"\ncolumns = { a = \"a\" }\n",
        ),
    ] {
        desk.home.file(name, text);
    }
    let path = |name: &str| desk.home.path().join(name);
    fs::hard_link(path("t.csv"), path("hard.html")).unwrap();
    symlink("t.csv", path("soft.html")).unwrap();
    symlink("new.html", path("dangling.html")).unwrap();
    fs::create_dir(path("in")).unwrap();
    fs::hard_link(path("t.csv"), path("in/t.csv")).unwrap();
    Some(desk)
}

#[test]
fn a_file_that_a_command_reads_is_not_written_over() {
    let Some(mut desk) = desk() else { return };
    let before = contents(desk.home.path());
    let (table, database) = (desk.table("t"), desk.database.clone());
    let (into, db) = (["--into", &*table], ["--into", &*database]);
    let report = ["the input", "--report"];
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["load", "t.csv", "--report", "t.csv"], &into, &report),
        (&["load", "t.csv", "--report", "hard.html"], &into, &report),
        (&["load", "*.csv", "--report", "soft.html"], &into, &report),
        (&["load", "in", "--report", "./in/../t.csv"], &db, &report),
        (&["load", "-", "--report", "t.csv"], &into, &report),
        (&["load", "/dev/fd/0", "--rejects", "t.csv"], &into, &["the input", "--rejects"]),
        (
            &["load", "t.csv", "--ddl", "ddl.sql", "--report", "ddl.sql"],
            &into,
            &["--ddl", "--report"],
        ),
        (
            &["load", "t.csv", "--ddl", "ddl.sql.reasons.jsonl", "--rejects", "ddl.sql"],
            &into,
            &["--ddl", "the reasons file of --rejects"],
        ),
        (&["load", "-c", "job.toml", "--report", "job.toml"], &db, &["the job file", "--report"]),
        (
            &["check", "-c", "job.toml", "--rejects", "job.toml"],
            &db,
            &["the job file", "--rejects"],
        ),
        (
            &["load", "t.csv", "--report", "my.cnf", "--defaults-extra-file", "my.cnf"],
            &into,
            &["the option file", "--report"],
        ),
        (&["check", "t.csv", "--rejects", "hard.html"], &into, &["the input", "--rejects"]),
        (&["verify", "t.csv", "--ddl", "ddl.sql", "--metrics", "ddl.sql"], &into, &["--metrics"]),
        (
            &["load", "t.csv", "--report", "new.html", "--rejects", "new.html"],
            &into,
            &["--report", "--rejects", "different files"],
        ),
        (
            &["load", "t.csv", "--report", "dangling.html", "--rejects", "./new.html"],
            &into,
            &["--report", "--rejects", "different files"],
        ),
        (
            &["load", "t.csv", "--report", "new.reasons.jsonl", "--rejects", "new"],
            &into,
            &["--report", "the reasons file of --rejects"],
        ),
        (
            &["export", &table, "-o", "my.cnf", "--force", "--format", "text"],
            &["--defaults-extra-file", "my.cnf"],
            &["the option file", "-o"],
        ),
    ];
    for (arguments, more, parts) in cases {
        let mut command = desk.home.inrush(*arguments);
        command.args(*more).arg("--socket").arg(desk.server.socket());
        command.stdin(Stdio::from(fs::File::open(desk.home.path().join("t.csv")).unwrap()));
        run(&mut command).refused(2, parts);
        assert_eq!(contents(desk.home.path()), before, "{arguments:?}");
    }
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
}

#[test]
fn the_standard_output_is_a_file_like_any_other() {
    let Some(mut desk) = desk() else { return };
    let out = || {
        let path = desk.home.path().join("t.csv");
        Stdio::from(fs::OpenOptions::new().append(true).open(path).unwrap())
    };
    let before = contents(desk.home.path());
    for arguments in
        [&["load", "in/t.csv", "--into", "d.t"][..], &["sniff", "t.csv"], &["replay", "t.csv"]]
    {
        let mut command = desk.home.inrush(arguments);
        command.arg("--socket").arg(desk.server.socket()).stdout(out());
        let outcome = command.output().unwrap();
        let text = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(2), "{text}");
        assert!(text.contains("the standard output") && text.contains("the input"), "{text}");
        assert_eq!(contents(desk.home.path()), before, "{arguments:?}");
    }
    // Devices may be shared.
    let file = desk.home.path().join("t.csv");
    let shared = ["--report", "/dev/null", "--rejects", "/dev/null", "--path", "stream"];
    desk.load("t", &file, &shared).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2"]);
}
