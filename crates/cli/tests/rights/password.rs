//! Where the account comes from, and that its password goes nowhere.

use std::fs;
use std::process::Command;

use crate::support::{Desk, Home, Outcome, finish, resume, run, start, wait_paused};

/// True if anything that the program leaves or prints holds a text.
pub(super) fn mentions(home: &Home, outcome: &Outcome, text: &str) -> bool {
    let mut folders = vec![home.path().join("state"), home.path().join("home"), home.temp_dir()];
    let mut found = outcome.out.contains(text) || outcome.err.contains(text);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found |= String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text);
            }
        }
    }
    found
}

#[test]
fn a_password_comes_from_the_environment_or_a_file_and_is_never_shown() {
    const PASSWORD: &str = "sw0rdfish-9241";
    let Some(mut desk) = Desk::new() else { return };
    let user = format!("user_{}", desk.database);
    desk.exec(&format!("CREATE USER {user}@localhost IDENTIFIED BY '{PASSWORD}'"));
    desk.exec(&format!("GRANT ALL ON *.* TO {user}@localhost"));
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.txt", "1\n2\n");
    let socket = desk.server.socket().display().to_string();
    let options = desk.home.file(
        "my.cnf",
        format!(
            "[mysqld]\nuser=nobody\n[client]\nsocket={socket}\nuser={user}\npassword={PASSWORD}\n"
        ),
    );
    let load = |desk: &Desk| {
        let into = desk.table("t");
        let arguments = ["load", file.to_str().unwrap(), "--into", &into, "--mode", "replace"];
        desk.home.inrush(arguments)
    };
    let by_file = || -> Command {
        let mut command = load(&desk);
        command.arg("--defaults-file").arg(&options);
        command
    };
    let by_environment = || -> Command {
        let mut command = load(&desk);
        command.args(["--socket", &socket, "--user", &user]).env("MYSQL_PWD", PASSWORD);
        command
    };
    for command in [by_file(), by_environment()] {
        let mut command = command;
        let mut child = start(command.env("INRUSH_FAILPOINT", "verify.begin=pause"));
        wait_paused(&mut child);
        let line = fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
        assert!(!String::from_utf8_lossy(&line).contains(PASSWORD));
        resume(&child);
        let outcome = finish(child);
        outcome.done();
        assert!(!mentions(&desk.home, &outcome, PASSWORD));
    }
    // Also when something goes wrong.
    let mut command = by_file();
    let missing = run(command.args(["--columns", "x"]));
    missing.refused(2, &["no column `x`"]);
    assert!(!mentions(&desk.home, &missing, PASSWORD));
    let wrong = run(by_environment().env("MYSQL_PWD", "not-it-7715"));
    wrong.refused(1, &["Access denied for user", "(server error 1045)"]);
    assert!(!mentions(&desk.home, &wrong, "not-it-7715"));
    fs::write(&options, format!("[client]\npassword={PASSWORD}\nport=many\n")).unwrap();
    let bad = run(&mut by_file());
    bad.refused(2, &["my.cnf, line 3", "\"many\" is not a port number"]);
    fs::write(&options, format!("password={PASSWORD}\n")).unwrap();
    let bad = run(&mut by_file());
    bad.refused(2, &["my.cnf, line 1"]);
    assert!(!mentions(&desk.home, &bad, PASSWORD));
}
