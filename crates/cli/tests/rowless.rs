//! Files that have text and no row: the load fails and says why, in place of loading nothing.

use std::io::Write;
use std::path::Path;

use crate::support::{Desk, Outcome, run};

/// Inputs, their options, and the words of the message.
const CASES: [(&str, &[&str], &[&str]); 6] = [
    (
        "a,b\n1,2\n",
        &["--skip-lines", "1", "--lines-terminated-by", "\\r\\n"],
        &["in LF, but", " \\r\\n"],
    ),
    ("a,b\r1,2\r", &["--skip-lines", "1"], &["ends lines in CR, but"]),
    (
        "a,b\r1,2\r",
        &["--dialect", "mysql", "--fields-terminated-by", ",", "--skip-lines", "1"],
        &["in CR, but --lines-terminated-by is \\n"],
    ),
    ("1,2\n", &["--skip-lines", "5"], &["has 1 line, and --skip-lines skips 5"]),
    ("1,2\n3,4\n", &["--skip-lines", "2"], &["--skip-lines skips all 2 lines"]),
    (
        "1,2\n",
        &["--lines-starting-by", "xx"],
        &["no line contains xx, the text of --lines-starting-by"],
    ),
];

fn desk() -> Option<Desk> {
    let mut desk = Desk::new()?;
    desk.exec("CREATE TABLE t (a INT, b INT)");
    desk.exec("INSERT INTO t VALUES (7, 7)");
    desk.exec("CREATE TABLE e (a INT, b INT)");
    desk.home.file("good.csv", "1,2\n3,4\n");
    Some(desk)
}

fn command(desk: &Desk, words: &[&str], file: &Path, more: &[&str]) -> Outcome {
    let mut command = desk.home.inrush(words);
    run(command.arg(file).arg("--socket").arg(desk.server.socket()).args(more))
}

#[test]
fn a_file_of_which_no_row_is_read_fails_every_command() {
    let Some(mut desk) = desk() else { return };
    let table = desk.table("t");
    for (at, (text, options, parts)) in CASES.into_iter().enumerate() {
        let file = desk.home.file("x.csv", text);
        let parts = [&["no row was read from ", "x.csv", "--allow-empty"], parts].concat();
        // Each case by another way, each way with each mode somewhere.
        let path = ["direct", "stream", "insert"][at % 3];
        let modes: &[&str] = if path == "direct" { &["replace"] } else { &["append", "replace"] };
        for mode in modes {
            let more = [options, &["--path", path, "--mode", mode]].concat();
            desk.load("t", &file, &more).refused(1, &parts);
        }
        let into = [options, &["--into", &table]].concat();
        command(&desk, &["check"], &file, &into).refused(1, &parts);
        command(&desk, &["verify"], &file, &into).refused(1, &parts);
    }
    for path in ["direct", "stream", "insert"] {
        let more = ["--path", path, "--skip-lines", "5"];
        desk.load("e", &desk.home.path().join("good.csv"), &more).refused(1, &["--skip-lines"]);
    }
    assert_eq!(desk.rows("SELECT * FROM t"), ["7|7"]);
    assert_eq!(desk.rows("SELECT * FROM e"), [""; 0]);
    let file = desk.home.file("x.csv", "1,2\n");
    desk.load("e", &file, &["--skip-lines", "5", "--allow-empty", "--path", "stream"]).done();
    let allowed = ["--skip-lines", "5", "--allow-empty", "--into", &desk.table("e")];
    command(&desk, &["verify"], &file, &allowed).done();
}

#[test]
fn one_file_of_several_without_rows_fails_all_before_any_row_is_sent() {
    let Some(mut desk) = desk() else { return };
    let good = desk.home.path().join("good.csv");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"1,2\r3,4\r").unwrap();
    let packed = desk.home.file("packed.csv.gz", packer.finish().unwrap());
    let wide: Vec<u8> = "\u{feff}1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = desk.home.file("wide.csv", wide);
    for (bad, options) in
        [(&packed, "--lines-terminated-by=\\n"), (&wide, "--lines-terminated-by=\\r\\n")]
    {
        let more = [options, "--skip-lines", "1", "--path", "insert", "--mode", "append"];
        let files = [&more[..], &[bad.to_str().unwrap()]].concat();
        desk.load("e", &good, &files)
            .refused(1, &["nothing was loaded: no row was read", "ends lines in"]);
        assert_eq!(desk.rows("SELECT * FROM e"), [""; 0]);
    }
    // A pipe is judged when it was read.
    let mut load = desk.home.load(desk.server, &desk.table("e"), "-".as_ref());
    load.args(["--dialect", "csv", "--skip-lines", "9", "--path", "stream"]);
    let mut child = crate::support::start(load.stdin(std::process::Stdio::piped()));
    child.stdin.take().unwrap().write_all(b"1,2\n").unwrap();
    crate::support::finish(child).refused(1, &["/dev/stdin", "has 1 line, and --skip-lines"]);
    // Several tables, and the lines of a job file.
    desk.home.file("t.csv", "1,2\n");
    let bad = desk.home.file("e.csv", "1,2\r3,4\r");
    let into = ["--into", &*desk.database.clone(), "--mode", "append", "--skip-lines", "1"];
    let both = [&into[..], &["t.csv"]].concat();
    command(&desk, &["load"], &bad, &both).refused(1, &["e.csv", "ends lines in CR"]);
    let job = "[[table]]\nname = \"e\"\ncolumns = { a = \"a\", b = \"b\" }\n";
    let job =
        format!("[input]\nfiles = [\"e.csv\"]\nskip_lines = 1\ncolumns = [\"a\", \"b\"]\n{job}");
    let job = desk.home.file("job.toml", job);
    for word in ["load", "check"] {
        let said = command(&desk, &[word, "-c"], &job, &into[..2]);
        said.refused(1, &["no row was read", "e.csv", "ends lines in CR"]);
    }
    assert_eq!(desk.rows("SELECT * FROM t"), ["7|7"]);
    assert_eq!(desk.rows("SELECT * FROM e"), [""; 0]);
    let text = std::fs::read_to_string(&job)
        .unwrap()
        .replace("skip_lines", "allow_empty = true\nskip_lines");
    std::fs::write(&job, text).unwrap();
    command(&desk, &["load", "-c"], &job, &into[..2]).done();
}

#[test]
fn a_file_that_has_only_its_header_is_loaded_with_a_note() {
    let Some(mut desk) = desk() else { return };
    let note = "note: ";
    for (text, options) in [
        ("a,b\n", &["--header"][..]),
        ("a,b", &["--header"]),
        ("a,b\r\n", &["--header"]),
        ("made by a program\na,b\n", &["--skip-lines", "1", "--header"]),
        ("a,b\n", &["--skip-lines", "1"]),
    ] {
        let file = desk.home.file("x.csv", text);
        let loaded = desk.load("e", &file, &[options, &["--path", "stream"]].concat());
        assert!(
            loaded
                .done()
                .err
                .contains(&format!("{note}{} has no rows behind its first line", file.display())),
            "{loaded:?}"
        );
    }
    let file = desk.home.file("x.csv", "a,b\n");
    let into = ["--header", "--into", &desk.table("e")];
    for word in ["check", "verify"] {
        let said = command(&desk, &[word], &file, &into);
        assert!(said.done().err.contains("has no rows behind its first line"), "{said:?}");
    }
    // Files without a byte are what they were.
    let empty = desk.home.file("empty.csv", "");
    let loaded = desk.load("e", &empty, &["--skip-lines", "1", "--path", "stream"]);
    assert!(!loaded.done().err.contains("header"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM e"), [""; 0]);
}
