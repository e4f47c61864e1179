//! Which server a load goes to when no option names one, and that it says so.

use std::fs;

use crate::support::{Desk, Outcome, run};

/// A load without any option of the connection.
fn load(desk: &Desk, file: &str, variables: &[(&str, &str)], more: &[&str]) -> Outcome {
    let into = desk.table("t");
    let mut command = desk.home.inrush(["load", file, "--into", &into, "--memory", "40M"]);
    run(command.envs(variables.iter().copied()).args(["--mode", "replace"]).args(more))
}

#[test]
fn an_option_file_names_the_server_too() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    desk.home.file("rows", "1\n2\n");
    let socket = desk.server.socket().display().to_string();
    let mine = desk.home.path().join("home/.my.cnf");
    let says = |outcome: &Outcome| {
        let line = outcome.done().out.lines().next().unwrap().to_owned();
        assert!(
            line.contains("2 rows loaded") && line.ends_with(&format!(", on {socket}")),
            "{line}"
        );
        assert!(!desk.home.path().join("data").exists(), "a sandbox was made");
    };
    fs::write(&mine, format!("[client]\nsocket={socket}\n")).unwrap();
    says(&load(&desk, "rows", &[], &[]));
    let json = load(&desk, "rows", &[], &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&json.done().out).unwrap();
    assert_eq!(report["server_address"], socket.as_str());
    let version = desk.rows("SELECT VERSION()").remove(0);
    assert_eq!(report["server"], version.as_str());
}

/// The server that is named is not there: no other one gets the rows.
#[test]
fn a_server_that_is_named_and_missing_is_no_reason_for_a_sandbox() {
    let Some(desk) = Desk::new() else { return };
    desk.home.file("rows", "1\n");
    let host = [("MYSQL_HOST", "127.0.0.1"), ("MYSQL_TCP_PORT", "1")];
    load(&desk, "rows", &host, &[]).refused(1, &["connecting to 127.0.0.1:1 as user "]);
    let mine = desk.home.path().join("home/.my.cnf");
    for setting in ["host=127.0.0.1\nport=1", "user=me\nsocket=/no/where", "socket=/no/where"] {
        fs::write(&mine, format!("[client]\n{setting}\n")).unwrap();
        let outcome = load(&desk, "rows", &[], &[]);
        outcome.refused(1, &["connecting to "]);
    }
    assert!(!desk.home.path().join("data").exists(), "a sandbox was made");
}

/// A server named by an option counts for more than one of a file.
#[test]
fn a_sandbox_that_is_named_is_taken_whatever_files_say() {
    let Some(desk) = Desk::new() else { return };
    desk.home.file("rows", "1\n");
    let mine = desk.home.path().join("home/.my.cnf");
    fs::write(&mine, "[client]\nhost=127.0.0.1\nport=1\n").unwrap();
    let into = desk.table("t");
    let ddl = desk.home.file("t.sql", "CREATE TABLE t (a INT)");
    let plan = ["plan", "rows", "--into", &into, "--sandbox", "box", "--ddl"];
    let plan = run(desk.home.inrush(plan).arg(ddl));
    assert!(plan.done().out.contains("server a sandbox, which would be created in "), "{plan:?}");
}

/// As a load, a replay says which server it was, in its first line and to programs.
#[test]
fn a_replay_names_the_server_that_it_went_into() {
    let Some(mut desk) = Desk::new() else { return };
    let dump = desk.home.file("dump.sql", "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n");
    let socket = desk.server.socket().display().to_string();
    let version = desk.rows("SELECT VERSION()").remove(0);
    let user = desk.server.options().user.unwrap_or_default();
    let replay = |more: &[&str]| {
        let mut command = desk.home.inrush(["replay", "--into", &desk.database, "--fresh"]);
        command.args(["--socket", &socket, "--user", &user]).arg(&dump).args(more);
        run(&mut command).done().out.clone()
    };
    let text = replay(&[]);
    let line = text.lines().next().unwrap();
    let named = format!(", on {version} ({socket})");
    assert!(line.contains("1 row into 1 table") && line.ends_with(&named), "{line}");
    desk.session.exec("DROP TABLE t").unwrap();
    let report: serde_json::Value = serde_json::from_str(&replay(&["--json"])).unwrap();
    assert_eq!(report["server_address"], socket.as_str());
    assert_eq!(report["server"], version.as_str());
}
