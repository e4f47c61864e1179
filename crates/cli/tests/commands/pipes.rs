//! Output that nobody reads any more, as of `| head -1`.

use std::process::{Command, Stdio};

use crate::support::{Desk, Outcome};

/// Runs a command whose standard output is a pipe without a reader.
fn unread(command: &mut Command) -> Outcome {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output();
    let output = output.unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    Outcome { status: output.status, out: String::new(), err }
}

#[test]
fn commands_end_in_silence_when_their_reader_is_gone() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9))");
    let text: String = (1..5_000).map(|a| format!("{a},row\n")).collect();
    let file = desk.home.file("t.csv", text);
    let file = file.to_str().unwrap();
    desk.load("t", file.as_ref(), &[]).done();
    let (table, socket) = (desk.table("t"), desk.server.socket().display().to_string());
    let server = ["--socket", &socket, "--user", "root"];
    let ibd = desk.server.datadir().join(&desk.database).join("t.ibd");
    let ibd = ibd.to_str().unwrap();
    for (words, is_of_server) in [
        (&["sniff", file][..], false),
        (&["check", file, "--into", &table, "--mode", "replace"], true),
        (&["verify", file, "--into", &table], true),
        (&["plan", file, "--into", &table, "--mode", "replace"], true),
        (&["plan", file, "--into", &table, "--mode", "replace", "--json"], true),
        (&["export", &table, "-o", "-"], true),
        (&["export", &table, "-o", "-", "--path", "select"], true),
        (&["doctor"], true),
        (&["doctor", "--json"], true),
        (&["tune"], true),
        (&["jobs", "list"], false),
        (&["jobs", "--json"], false),
        (&["inspect", ibd], false),
        (&["job", "init", file, "--into", "d"], false),
        (&["job", "schema"], false),
        (&["sandbox", "path"], false),
        (&["help", "load"], false),
        (&["completions", "bash"], false),
    ] {
        let mut command = desk.home.inrush(words);
        if is_of_server {
            command.args(server);
        }
        let outcome = unread(&mut command);
        assert_eq!((outcome.code(), outcome.err.as_str()), (141, ""), "{words:?}");
    }
    // Rows of a load are in, whoever reads the report.
    let mut load = desk.home.load(desk.server, &table, file.as_ref());
    let outcome = unread(load.args(["--mode", "replace"]));
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert!(!outcome.err.contains("ipe"), "{outcome:?}");
}
