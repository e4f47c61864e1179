//! `load --via ssh://HOST`: an sshd of the test's own on 127.0.0.1 is the other machine.

mod faults;
mod machine;
mod refusals;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use self::machine::Machine;
use crate::support::{check_table, finish, run, start};

#[test]
fn a_file_is_loaded_by_the_program_on_another_machine() {
    let Some(mut machine) = Machine::new() else { return };
    let rows = "id,name\n2,\"b, c\"\n1,a\n";
    // No shell may read the name, and no pattern there.
    let name = "it's [1] $(touch x);\n*`id`.csv";
    machine.desk.home.file(name, rows);
    let loaded = run(machine.load("t").args([name, "--create", "--path", "direct"]));
    loaded.done();
    assert!(loaded.out.contains("2 rows"), "{loaded:?}");
    machine.has_rows("t", "1a 2b, c");
    let table = machine.desk.table("t");
    check_table(&mut machine.desk.session, &table);
    assert!(!machine.desk.home.path().join("x").exists());

    // Packed files and pipes; a report as JSON; rows that are added.
    let packed = machine.desk.home.path().join("more.csv.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"id,name\n3,c\n").unwrap();
    fs::write(&packed, gzip.finish().unwrap()).unwrap();
    let append = ["--mode", "append"];
    let json = run(machine.load("t").arg(&packed).args(append).arg("--json"));
    let report: serde_json::Value = serde_json::from_str(&json.done().out).unwrap();
    assert_eq!(report["rows"], 1, "{report}");
    let mut piped = machine.load("t");
    let piped = piped.arg("-").args(append).stdin(Stdio::piped());
    let mut piped = start(piped);
    piped.stdin.take().unwrap().write_all(b"name,id\nd,4\n").unwrap();
    finish(piped).done();
    machine.has_rows("t", "1a 2b, c 3c 4d");

    // A schema of this machine, and typed columns.
    let parquet = machine.desk.home.path().join("t.parquet");
    let table = machine.desk.table("t");
    let mut export = machine.desk.home.inrush(["export", &table, "-o"]);
    run(export.arg(&parquet).arg("--socket").arg(machine.desk.server.socket())).done();
    let comment = "x".repeat(5 << 20);
    let schema = format!("/* {comment} */ CREATE TABLE u (id BIGINT PRIMARY KEY, name VARCHAR(9))");
    let schema = machine.desk.home.file("u.sql", schema);
    run(machine.load("u").arg(&parquet).arg("--ddl").arg(schema)).done();
    machine.has_rows("u", "1a 2b, c 3c 4d");
    machine.leaves_nothing();
}

#[test]
fn errors_name_the_file_and_the_line_of_this_machine() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))");
    machine.desk.home.file("bad.csv", "1,a\nx,b\n");
    let refused = run(machine.load("t").args(["bad.csv", "--no-guess"]));
    refused.refused(1, &["nothing was loaded", "bad.csv line 2", "`id`"]);
    let refused = run(machine.load("t").args(["bad.csv", "--no-guess", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((&report["file"], &report["line"]), (&"bad.csv".into(), &2.into()), "{report}");
    let skipped = run(machine.load("t").args(["bad.csv", "--no-guess", "--rejects-max", "1"]));
    assert_eq!(skipped.code(), 3, "{skipped:?}");
    machine.has_rows("t", "1a");
    let mut returned = machine.load("t");
    returned.args(["bad.csv", "--no-guess", "--rejects-max", "1", "--rejects", "/dev/stdout"]);
    let returned = run(returned.args(["--mode", "replace", "--quiet"]));
    assert_eq!((returned.code(), &*returned.out), (3, "x,b\n"), "{returned:?}");
    machine.has_rows("t", "1a");
    let checked = run(machine.load("t").args(["bad.csv", "--no-guess", "--dry-run"]));
    assert!(checked.code() != 0 && checked.out.contains("bad.csv line 2"), "{checked:?}");
    machine.leaves_nothing();
}

#[test]
fn files_of_a_load_are_written_on_this_machine() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))");
    let rows: String = (1..=20_000).map(|id| format!("{id},a\nx{id},b\n{id},c\n")).collect();
    machine.desk.home.file("in.csv", rows);
    let home = machine.desk.home.path().to_owned();
    let read = |name: &str| fs::read_to_string(home.join(name)).unwrap();
    let options = [
        ["--on-duplicate", "skip"],
        ["--rejects-max", "100%"],
        ["--rejects", "bad.csv"],
        ["--duplicates", "double.csv"],
        ["--report", "page.html"],
        ["--metrics", "x.prom"],
    ];
    let loaded = run(machine.load("t").arg("in.csv").args(options.concat()));
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert!(loaded.out.contains("bad.csv"), "{loaded:?}");
    assert_eq!(machine.desk.rows("SELECT COUNT(*), MAX(name) FROM t"), ["20000|a"]);
    for (name, row) in [("bad.csv", "x1,b\n"), ("double.csv", "1,c\n")] {
        let text = read(name);
        assert!(text.lines().count() == 20_000 && text.starts_with(row), "{name}: {}", text.len());
        let reasons = read(&format!("{name}.reasons.jsonl"));
        assert_eq!(reasons.lines().count(), 20_000, "{name}");
        let first: serde_json::Value =
            serde_json::from_str(reasons.lines().next().unwrap()).unwrap();
        assert_eq!(first["file"], "in.csv", "{first}");
    }
    assert!(read("page.html").ends_with("</html>\n"));
    assert!(read("x.prom").contains("inrush_exit_status{") && read("x.prom").contains(" 3\n"));
    // Existing files are replaced, also by a dry run and by a load that fails.
    machine.desk.home.file("in.csv", "1,a\ny,b\n");
    for (more, code) in [(&["--dry-run"][..], 3), (&[], 1)] {
        let options = ["--no-guess", "--mode", "replace", "--rejects", "bad.csv"];
        let ended = run(machine.load("t").arg("in.csv").args(options).args(more));
        assert_eq!(ended.code(), code, "{ended:?}");
        assert_eq!(read("bad.csv"), "y,b\n", "{ended:?}");
    }
    let names = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.map(|name| name.into_string().unwrap()).all(|name| !name.ends_with(".part")));
    // A file that cannot be written is a warning. All rows are in, so the status is that of the load.
    fs::remove_file(home.join("bad.csv")).unwrap();
    let script = format!(
        "rm -f {0}/bad.csv; mkdir {0}/bad.csv; exec {1} \"$@\"",
        home.display(),
        env!("CARGO_BIN_EXE_inrush")
    );
    machine.has_program("inrush", &script);
    let options = ["--no-guess", "--rejects", "bad.csv", "--rejects-max", "1", "--mode", "replace"];
    let failed = run(machine.load("t").arg("in.csv").args(options));
    assert_eq!(failed.code(), 3, "{failed:?}");
    let words = "warning: writing --rejects bad.csv: it is a directory; name a file";
    assert!(failed.err.contains(words), "{failed:?}");
    let words = "warning: bad.csv was not stored on the machine that sent the input";
    assert!(failed.err.contains(words), "{failed:?}");
    machine.has_rows("t", "1a");
    assert_eq!(machine.kept_rows(), "y,b\n");
    machine.leaves_nothing();
}

#[test]
fn a_password_is_on_no_command_line() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))");
    let user = format!("via_{}", machine.desk.database);
    let secret = "hunter2-of-via";
    machine.desk.exec(&format!("CREATE USER {user} IDENTIFIED BY '{secret}'"));
    machine.desk.exec(&format!("GRANT ALL ON *.* TO {user}"));
    let mut held = machine.load("t");
    held.args(["-", "--dialect", "csv", "--user", &user]).stdin(Stdio::piped());
    let mut held = start(held.env("MYSQL_PWD", secret));
    held.stdin.as_mut().unwrap().write_all(b"1,a\n").unwrap();
    let there = machine.wait_for_program();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        assert!(!arguments.contains(secret), "{arguments}");
    }
    let environment = fs::read(format!("/proc/{there}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains(secret));
    drop(held.stdin.take());
    finish(held).done();
    machine.has_rows("t", "1a");
    let mut wrong = machine.load("t");
    machine.desk.home.file("a.csv", "2,b\n");
    wrong.args(["a.csv", "--user", &user]).env("MYSQL_PWD", "wrong");
    run(&mut wrong).refused(1, &["Access denied"]);
    machine.desk.exec(&format!("DROP USER {user}"));
    machine.leaves_nothing();
}
