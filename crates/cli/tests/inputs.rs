//! Where rows come from: pipes, patterns, files that cannot be read.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Desk, Outcome, PATIENCE, finish, run, signal, start};

/// Rows out of order, and a duplicate's lines: both take a second reading.
#[test]
fn a_pipe_can_be_sorted_and_its_duplicates_have_lines() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))");
    let outcome = desk.pipe("t", b"3,c\n1,a\n2,b\n", &["--dialect", "csv", "--verbose"]);
    outcome.done();
    assert!(outcome.out.contains("input sorted"), "{outcome:?}");
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY a"), ["1|a", "2|b", "3|c"]);
    let replace = ["--mode", "replace", "--dialect", "csv"];
    let outcome = desk.pipe("t", b"4,d\n5,e\n4,f\n", &replace);
    outcome.refused(1, &["/dev/stdin line 3", "/dev/stdin line 1", "same `PRIMARY` key"]);
    let outcome = desk.pipe("t", b"1,a\n2,b\n", &[&replace[..], &["--verbose"]].concat());
    assert!(outcome.done().out.contains("input in key order"), "{outcome:?}");
    assert_eq!(desk.rows("SELECT * FROM t"), ["1|a", "2|b"]);
    desk.pipe("t", b"", &[&replace[..], &["--allow-empty"]].concat()).done();
    assert_eq!(desk.rows("SELECT * FROM t"), [""; 0]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
    let twice = desk.pipe("t", b"1,a\n", &["-"]);
    twice.refused(2, &["/dev/stdin is a pipe and is named twice"]);
}

/// The rows of a file with a link beside it were loaded twice.
#[test]
fn a_file_with_two_names_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let file = desk.home.file("2026-11-29.csv", "1\n");
    std::os::unix::fs::symlink(&file, desk.home.path().join("latest.csv")).unwrap();
    let pattern = desk.home.path().join("*.csv");
    desk.load("t", &pattern, &[])
        .refused(2, &["2026-11-29.csv", "latest.csv", "are the same file"]);
    let narrow = desk.home.path().join("2026-*.csv");
    desk.load("t", &file, &[narrow.to_str().unwrap()]).refused(2, &["are the same file"]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
    desk.load("t", &file, &[file.to_str().unwrap()]).done();
    assert_eq!(desk.rows("SELECT a FROM t"), ["1", "1"]);
}

/// `inrush load - < FILE`, after others have read a part of it.
#[test]
fn a_file_at_stdin_is_read_from_where_it_is() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let path = desk.home.file("rows", "no\n3\n1\n2\n");
    let mut file = fs::File::open(path).unwrap();
    std::io::Read::read_exact(&mut file, &mut [0; 3]).unwrap();
    let mut command = desk.home.load(desk.server, &desk.table("t"), "-".as_ref());
    run(command.stdin(Stdio::from(file))).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY a"), ["1", "2", "3"]);
}

#[test]
fn patterns_stand_for_files_in_order() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (n INT AUTO_INCREMENT PRIMARY KEY, a INT)");
    for (name, row) in
        [("p-2.csv", "2\n"), ("p-10.csv", "10\n"), ("p-1.csv", "1\n"), ("p-[x].csv", "7\n")]
    {
        desk.home.file(name, row);
    }
    let load = |desk: &Desk, pattern: &str| {
        let path = desk.home.path().join(pattern);
        desk.load("t", &path, &["--columns", "a", "--mode", "replace"])
    };
    load(&desk, "p-*.csv").done();
    assert_eq!(desk.rows("SELECT a FROM t ORDER BY n"), ["1", "10", "2", "7"]);
    load(&desk, "p-[x].csv").done();
    assert_eq!(desk.rows("SELECT a FROM t"), ["7"]);
    load(&desk, "q-*.csv").refused(2, &["q-*.csv: no file has this name or matches it"]);
    load(&desk, "p-[").refused(2, &["p-["]);
    fs::create_dir(desk.home.path().join("p-dir")).unwrap();
    load(&desk, "p-*").refused(2, &["p-dir is a directory; name the files in it"]);
}

/// UTF-16 by its mark or by the option gives the rows of the same text in UTF-8.
#[test]
fn wide_characters_are_read_by_mark_or_option() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "a INT PRIMARY KEY, b VARCHAR(20) CHARACTER SET utf8mb4";
    let text = "1\t\u{e9}\u{20ac}\u{1f600}\n2\tz\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let quad: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    let cases: [(Vec<u8>, &[&str]); 7] = [
        ([b"\xff\xfe", &little[..]].concat(), &[]),
        ([b"\xfe\xff", &big[..]].concat(), &[]),
        ([b"\xfe\xff", &big[..]].concat(), &["--charset", "utf16le"]),
        (little.clone(), &["--charset", "utf16le"]),
        (big, &["--charset", "utf16"]),
        (quad.clone(), &["--charset", "utf32"]),
        ([b"\0\0\xfe\xff", &quad[..]].concat(), &[]),
    ];
    for (bytes, more) in cases {
        let rows = desk.load_text(columns, &bytes, more);
        assert_eq!(rows, ["1|\u{e9}\u{20ac}\u{1f600}", "2|z"], "{more:?}");
    }
    let file = desk.home.file("bad", &little[..little.len() - 1]);
    desk.load("t", &file, &["--charset", "utf16le", "--mode", "replace"])
        .refused(1, &["bad line 2 (byte 20): not UTF-16LE: the file ends 1 byte(s) into"]);
    let file = desk
        .home
        .file("ucs2", "\u{1f600}\n".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    desk.load("t", &file, &["--charset", "ucs2", "--mode", "replace"])
        .refused(1, &["ucs2 line 1 (byte 0): not UCS-2: D83D is not a character"]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2"]);
}

/// Unreadable files are refused before anything is done.
#[test]
fn files_that_cannot_be_read_are_named() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let zip = desk.home.file("a.zip", "PK\x03\x04");
    desk.load("t", &zip, &[]).refused(2, &["a.zip is a zip archive; unpack it first"]);
    desk.load("t", "/proc/self/mem".as_ref(), &[])
        .refused(2, &["reading /proc/self/mem: Input/output error"]);
    let gone = desk.home.path().join("gone");
    desk.load("t", &gone, &[]).refused(2, &["opening ", "/gone: No such file"]);
    assert_eq!(desk.files(), desk.server.database_files(&["t"]));
}

/// The first bytes of a pipe show what those of a file would, and are loaded.
#[test]
fn a_pipe_is_guessed_as_a_file_is() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, day DATE, name VARCHAR(20))");
    let rows = (1..=40_000).map(|id| format!("{id};31.12.2026;\"a;{id}\"\n"));
    let text = ["id;day;name\n".to_owned(), rows.collect()].concat();
    let words = "/dev/stdin is read with --dialect csv --fields-terminated-by ';' --header --format-of day=%d.%m.%Y";
    for path in ["direct", "stream", "insert"] {
        let more = ["--mode", "replace", "--path", path];
        let loaded = desk.pipe("t", text.as_bytes(), &more);
        assert!(loaded.done().err.contains(words), "{loaded:?}");
        let sums = "SELECT COUNT(*), SUM(id), MIN(day), MAX(name) FROM t";
        assert_eq!(desk.rows(sums), ["40000|800020000|2026-12-31|a;9999"], "{path}");
    }
    // Compressed; then checked and compared.
    let mut packed = Vec::new();
    let mut gzip = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap();
    desk.pipe("t", &packed, &["--mode", "replace"]).done();
    let file = desk.home.file("packed", packed);
    for words in [&["check", "-", "--mode", "replace"][..], &["verify", "-"]] {
        let mut command = desk.home.inrush(words);
        command.args(["--user", "root", "--into", &desk.table("t"), "--socket"]);
        command.arg(desk.server.socket());
        let mut cat = std::process::Command::new("cat");
        let mut cat = cat.arg(&file).stdout(Stdio::piped()).spawn().unwrap();
        run(command.stdin(cat.stdout.take().unwrap())).done();
        cat.wait().unwrap();
    }
    let told = desk.pipe("t", text.as_bytes(), &["--mode", "replace", "--no-guess"]);
    told.refused(1, &["line 1", "1 field; 3 expected"]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

/// A writer that says nothing does not keep Ctrl-C waiting.
#[test]
fn a_silent_pipe_can_be_interrupted() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let mut command = desk.home.load(desk.server, &desk.table("t"), "-".as_ref());
    command.arg("--no-guess");
    let mut child = start(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"1\n2\n").unwrap();
    let began = Instant::now();
    while desk.home.journal().last().is_none_or(|step| step != "rows.begin") {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(child.id(), "-INT");
    finish(child).refused(1, &["SIGINT", "rows"]);
    drop(stdin);
    assert_eq!(desk.files(), desk.server.database_files(&["t"]));
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

/// Nor does it keep a load waiting that has failed.
#[test]
fn a_silent_pipe_does_not_hold_back_an_error() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let mut command = desk.home.load(desk.server, &desk.table("t"), "-".as_ref());
    command.args(["--memory", "64M", "--threads", "2"]);
    let mut child = start(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    // More than a chunk, so that one worker has the wrong row and the other one waits.
    let _ = stdin.write_all(&[&b"wrong\n"[..], &b"1\n".repeat(1 << 20)].concat());
    finish(child).refused(1, &["/dev/stdin line 1 ", "\"wrong\" is not INT"]);
    drop(stdin);
}

#[test]
fn no_room_to_keep_a_pipe_is_said_with_what_to_do() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let log = desk.home.path().join("operations");
    let load = |fault: (&str, &std::ffi::OsStr)| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"a\n1\n2\n").unwrap();
        drop(writer);
        let mut command = desk.home.load(desk.server, &desk.table("t"), "-".as_ref());
        // The header is waited for, so that the order of operations is always the same.
        command.args(["--header", "--no-guess", "--mode", "replace"]).env(fault.0, fault.1);
        run(command.stdin(Stdio::from(reader)))
    };
    load(("INRUSH_FAULT_LOG", log.as_os_str())).done();
    let operations = fs::read_to_string(&log).unwrap();
    let nth = operations.lines().position(|operation| operation == "write spool").unwrap() + 1;
    let outcome = load(("INRUSH_FAULT", format!("{nth}:enospc").as_ref()));
    let advice = "free some space, choose another --temp-dir, or load a file";
    outcome.refused(2, &["storing the data of /dev/stdin in ", "No space left", advice]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

impl Desk {
    /// `inrush load -` with `bytes` at its standard input.
    pub(crate) fn pipe(&self, table: &str, bytes: &[u8], more: &[&str]) -> Outcome {
        let mut command = self.home.load(self.server, &self.table(table), "-".as_ref());
        let mut child = start(command.args(more).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().unwrap();
        // It may be refused without being read.
        let _ = stdin.write_all(bytes);
        drop(stdin);
        finish(child)
    }
}

#[test]
fn a_blank_last_line_is_no_row_and_others_are_called_blank() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT, b VARCHAR(9))");
    let replace = ["--mode", "replace"];
    for path in ["direct", "stream", "insert"] {
        let more = [&replace[..], &["--path", path]].concat();
        for (name, text) in [
            ("a.csv", "1,x\n2,y\n\n"),
            ("b.csv", "1,x\r\n2,y\r\n\r\n\r\n"),
            ("c.tsv", "1\tx\n2\ty\n\n\n\n"),
            ("d.tbl", "1|x|\n2|y|\n\n"),
        ] {
            let file = desk.home.file(name, text);
            let loaded = desk.load("t", &file, &more);
            assert!(!loaded.done().out.contains("blank"), "{loaded:?}");
            assert_eq!(desk.rows("SELECT * FROM t ORDER BY a"), ["1|x", "2|y"], "{name} {path}");
        }
    }
    // So are those of archives and pipes.
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"7,z\n\n\n").unwrap();
    let file = desk.home.file("e.csv.gz", packer.finish().unwrap());
    desk.load("t", &file, &replace).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["7|z"]);
    desk.pipe("t", b"8,z\n\n", &[&replace[..], &["--dialect", "csv"]].concat()).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["8|z"]);
    let file = desk.home.file("f.csv", "1,x\n\n2,y\n");
    desk.load("t", &file, &replace).refused(1, &["f.csv line 2", "the line is blank; 2 fields"]);
    // LOAD DATA reads a blank line as a row.
    let file = desk.home.file("g.txt", "1\tx\n\n");
    desk.load("t", &file, &replace).refused(1, &["g.txt line 2", "the line is blank"]);
    desk.exec("CREATE TABLE one (name VARCHAR(9))");
    desk.exec("CREATE TABLE number (n INT NOT NULL)");
    let file = desk.home.file("names.csv", "x\n\n");
    let loaded = desk.load("one", &file, &[]);
    let note = "note: the last line of";
    assert!(loaded.done().out.contains(note), "{loaded:?}");
    assert_eq!(desk.rows("SELECT COUNT(*) FROM one"), ["2"]);
    desk.load("number", &desk.home.file("numbers.csv", "1\n\n"), &[]).done();
    assert_eq!(desk.rows("SELECT * FROM number"), ["1"]);
}
