//! The examples, as a caller would run them.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use inrush::{ConnectOptions, Face, LoadOptions, load};
use testkit::TestServer;

/// An example that was built with this test.
fn example(name: &str) -> Command {
    // target/debug/deps/main-.. -> target/debug/examples/..
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.ancestors().nth(2).unwrap().join("examples").join(name);
    Command::new(path)
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_csv_file_and_rows_of_an_own_source_are_loaded_by_the_facade_alone() {
    let Some(server) = TestServer::start() else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (n INT PRIMARY KEY, word VARCHAR(20))").unwrap();
    session.exec("CREATE TABLE d.s (n INT PRIMARY KEY, square BIGINT)").unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("t.csv");
    std::fs::write(&file, "word,n\none,1\n\"two, or three\",2\n").unwrap();
    let mut load = example("load");
    load.env("XDG_STATE_HOME", home.path()).arg(server.socket()).arg(&file).args(["d", "t"]);
    assert_eq!(said(&mut load), "d.t: 2 rows by the stream path\n");
    let word = session.query_text("SELECT word FROM d.t WHERE n=2").unwrap();
    assert_eq!(word.as_deref(), Some("two, or three"));
    let mut source = example("source");
    source.env("XDG_STATE_HOME", home.path()).arg(server.socket()).args(["d", "s"]);
    assert_eq!(said(&mut source), "d.s: 100000 rows by the direct path\n");
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(square)) FROM d.s";
    assert_eq!(session.query_text(sum).unwrap().as_deref(), Some("100000 333328333350000"));
}

#[test]
fn an_error_of_a_load_names_options_as_its_caller_does() {
    let Some(server) = TestServer::start() else { return };
    // The process has one face; the other test looks at messages of other processes.
    Face::Keyword.choose();
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (n INT PRIMARY KEY)").unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("t.tsv");
    std::fs::write(&file, "1\nnone\n").unwrap();
    let connect = ConnectOptions::for_socket(server.socket());
    let mut options = LoadOptions::new(vec![file], "d", "t");
    options.state_dir = home.path().join("state");
    let error = load(&connect, &options, &()).unwrap_err().to_string();
    let all_bad =
        "inrush.check(rejects=\"FILE\") lists all bad rows, rejects_max=\"N\" skips up to N";
    assert!(error.contains(all_bad), "{error}");
    session.exec("INSERT INTO d.t VALUES (7)").unwrap();
    let error = load(&connect, &options, &()).unwrap_err().to_string();
    assert!(error.contains("; mode=\"append\" adds the rows of the input"), "{error}");
}
