//! Dumps are cut into statements as the mariadb client cuts them, however they are read.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sources::dump::{SqlOptions, SqlReader, Statement};
use sources::{Error, Isa, ReadAs};
use sql::StatementKind;

use crate::oracle::Server;

/// Dumps that the client reads, one after the other.
const DUMPS: usize = 150;

/// Everything that means something in a dump, in pieces that make them meet.
fn nasty() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        8 => Just(";"),
        6 => Just("\n"),
        6 => Just(" "),
        6 => Just("a"),
        1 => Just("'"),
        1 => Just("\""),
        1 => Just("`"),
        4 => Just("'a;''\\'--'"),
        4 => Just("\"'\\\\\\\"/*;\""),
        4 => Just("`;\\`"),
        3 => Just("/* ' ; */"),
        3 => Just("-- ';\n"),
        3 => Just("# \";\n"),
        2 => Just("\\'"),
        2 => Just("\\\""),
        1 => Just("\\`"),
        1 => Just("\\\\"),
        1 => Just("\\N"),
        2 => Just("--"),
        3 => Just("-- "),
        2 => Just("#"),
        1 => Just("/*"),
        5 => Just("*/"),
        2 => Just("/*!"),
        2 => Just("/*!40101 "),
        2 => Just("/*M!100000 "),
        1 => Just("/"),
        1 => Just("*"),
        1 => Just("-"),
        1 => Just("!"),
        3 => Just("$$"),
        1 => Just("$"),
        2 => Just(";;"),
        3 => Just(";\nDELIMITER ;;\n"),
        1 => Just(";\ndelimiter $$ ;\n"),
        1 => Just("$$\n\tDelimiter '//'\n"),
        3 => Just(";;\nDELIMITER ;\n"),
        2 => Just("$$\nDELIMITER ;\n"),
        2 => Just("//\nDELIMITER ;\n"),
        2 => Just("INSERT INTO t VALUES ('"),
        1 => Just("REPLACE t(`a`) VALUES\n("),
        2 => Just("'),('"),
        1 => Just("');\n"),
        1 => Just("SELECT 1;"),
        1 => Just("\u{20ac}"),
        1 => Just("\t"),
    ];
    vec(token, 0..60).prop_map(|tokens| tokens.concat().into_bytes())
}

/// How an INSERT is gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Whole,
    Skipped,
}

/// A statement or the text of an error, and where it begins.
type Read = (Option<StatementKind>, Vec<u8>, u64, u64);

fn read(dump: &[u8], piece_bytes: usize, rows: Rows) -> Vec<Read> {
    read_with(dump, piece_bytes, rows, Isa::best())
}

fn read_with(dump: &[u8], piece_bytes: usize, rows: Rows, isa: Isa) -> Vec<Read> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(dump).unwrap();
    let options = SqlOptions { piece_bytes, ..SqlOptions::default() };
    let mut reader = SqlReader::open(&[file.path().to_owned()], options).unwrap().with_isa(isa);
    let mut found = Vec::new();
    loop {
        let statement = match reader.next() {
            Ok(None) => return found,
            Ok(Some(statement)) => with_rows(&mut reader, statement, rows),
            Err(error) => Err(error),
        };
        found.push(match statement {
            Ok(Statement { kind, text, offset, line, .. }) => (Some(kind), text, offset, line),
            Err(error) => error_of(&error),
        });
    }
}

fn with_rows(reader: &mut SqlReader, found: Statement, rows: Rows) -> Result<Statement, Error> {
    match found.kind {
        StatementKind::Insert(_) if rows == Rows::Whole => {
            Ok(Statement { text: reader.whole()?, ..found })
        }
        StatementKind::Insert(_) => {
            reader.skip()?;
            Ok(found)
        }
        _ => Ok(found),
    }
}

fn error_of(error: &Error) -> Read {
    let Error::Sql { at, problem, .. } = error else { panic!("{error}") };
    (None, problem.to_string().into_bytes(), at.offset.unwrap(), at.line)
}

proptest! {
    #[test]
    fn any_cut_into_reads_gives_the_same_statements(dump in nasty(), piece_bytes in 1usize..9) {
        let expected = read(&dump, 1 << 20, Rows::Whole);
        prop_assert_eq!(&read(&dump, piece_bytes, Rows::Whole), &expected);
        // What is skipped is not looked at closely.
        if expected.iter().any(|(kind, ..)| kind.is_none()) {
            return Ok(());
        }
        let places = |read: Vec<Read>| -> Vec<_> {
            read.into_iter().map(|(kind, _, offset, line)| (kind, offset, line)).collect()
        };
        prop_assert_eq!(places(read(&dump, piece_bytes, Rows::Skipped)), places(expected));
    }

    #[test]
    fn all_instructions_give_the_same_statements(
        mode in prop_oneof![
            Just(""),
            Just("set sql_mode='NO_BACKSLASH_ESCAPES';"),
            Just("set sql_mode=ansi;"),
            Just("set names gbk;"),
            Just("delimiter '\n"),
        ],
        pieces in vec(nasty(), 0..6), long in 0usize..150, piece_bytes in prop_oneof![Just(1 << 20), 1usize..300],
    ) {
        let dump = [mode.as_bytes(), &pieces.concat()].concat();
        let dump = if long == 0 { dump } else { [dump, pieces.join(&[&b"'"[..], &vec![b'x'; long], b"'"].concat()[..])].concat() };
        let expected = read_with(&dump, 1 << 20, Rows::Whole, Isa::available()[0]);
        for isa in Isa::available() {
            prop_assert_eq!(&read_with(&dump, piece_bytes, Rows::Whole, isa), &expected, "{}", isa.name());
        }
    }

    #[test]
    fn statements_stand_in_the_dump_one_behind_the_other(dump in nasty()) {
        let mut behind = 0;
        for (kind, text, offset, line) in read(&dump, 1 << 20, Rows::Whole) {
            if kind.is_none() {
                continue;
            }
            let offset = offset as usize;
            prop_assert!(offset >= behind);
            prop_assert_eq!(&dump[offset..offset + text.len()], text.as_slice());
            let newlines = dump[..offset].iter().filter(|&&byte| byte == b'\n').count() as u64;
            prop_assert_eq!(line, newlines + 1);
            behind = offset + text.len();
        }
    }
}

#[test]
fn the_client_sends_the_same_statements() {
    let Some(server) = Server::start() else { return };
    server.sql("SET GLOBAL log_output='TABLE'; SET GLOBAL general_log=1;");
    let mut runner = TestRunner::deterministic();
    let mut statements = 0;
    for _ in 0..DUMPS {
        let dump = nasty().new_tree(&mut runner).unwrap().current();
        let ours = read(&dump, 1 << 20, Rows::Whole);
        // In a comment the client passes over `/*` as one, the server does not.
        if dump.windows(3).any(|bytes| bytes == b"/*/") {
            continue;
        }
        let good = ours.iter().take_while(|(kind, text, ..)| kind.is_some() && !is_odd(text));
        let texts = good.map(|(_, text, ..)| shown(&without_comments(text)));
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        let mut theirs = sent_by_client(&server, &dump);
        if ours.iter().any(|(kind, text, ..)| kind.is_none() || is_odd(text)) {
            // The client sends what is open, or has a backslash, as it is.
            theirs.truncate(texts.len());
        }
        statements += texts.len();
        assert_eq!(texts, theirs, "{}", String::from_utf8_lossy(&dump));
    }
    assert!(statements > DUMPS / 3, "{statements}");
}

/// Where the client has ways of its own: DELIMITER in mid-statement, a comment in a version
/// comment.
fn is_odd(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let is_version = text.contains("/*!") || text.contains("/*m!");
    text.contains("delimiter") || (is_version && text.matches("/*").count() > 1)
}

/// The statements that the client sends when it plays the dump, comments left out.
fn sent_by_client(server: &Server, dump: &[u8]) -> Vec<String> {
    server.sql("TRUNCATE mysql.general_log");
    let mut client = server.client("mariadb");
    // Errors are what most of them make.
    client.args(["--force", "--skip-comments", "--binary-mode"]);
    let mut child =
        client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(dump).unwrap();
    child.wait().unwrap();
    let log = server.sql(
        "SELECT HEX(argument) FROM mysql.general_log WHERE command_type = 'Query' \
         AND thread_id = (SELECT MAX(thread_id) FROM mysql.general_log \
         WHERE thread_id < CONNECTION_ID())",
    );
    let from_hex = |line: &str| -> Vec<u8> {
        let digits = line.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.map(|pair| byte(pair).unwrap()).collect()
    };
    let sent = log.lines().map(|line| shown(&from_hex(line)));
    sent.filter(|text| !text.is_empty()).collect()
}

/// A statement as the client sends it without comments.
fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let dashes = rest.starts_with(b"--") && rest.get(2).is_some_and(u8::is_ascii_whitespace);
        let block = rest.starts_with(b"/*") && !matches!(rest[2..], [b'!', ..] | [b'M', b'!', ..]);
        let (size, is_kept) = if byte == b'#' || dashes {
            (rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()), false)
        } else if block {
            (2 + rest[2..].windows(2).position(|pair| pair == b"*/").unwrap() + 2, false)
        } else if matches!(byte, b'\'' | b'"' | b'`') {
            let mut end = 1;
            while rest.get(end).is_some_and(|&next| next != byte) {
                end += if rest[end] == b'\\' && byte != b'`' { 2 } else { 1 };
            }
            // Without backslash escapes the quote may seem open.
            ((end + 1).min(rest.len()), true)
        } else {
            (1, true)
        };
        if is_kept {
            kept.extend_from_slice(&rest[..size]);
        }
        at += size;
    }
    kept
}

/// Without space, which the client puts for comments and drops at line ends, and what the server
/// takes off a statement's end, and without the client's own first line, half of which it sends.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let kept: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let kept = kept.replace("/*M!999999enablethesandboxmode*/", "");
    kept.trim_matches([';', '-']).to_owned()
}

/// One of everything that a dump has statements for.
const EVERYTHING: &str = r#"
CREATE DATABASE `o``d;d` CHARACTER SET utf8mb4;
USE `o``d;d`;
CREATE TABLE `a;b` (id INT PRIMARY KEY AUTO_INCREMENT, `t'x` TEXT, b BLOB, e ENUM('a;','b''c'), v INT AS (id + 1)) COMMENT 'it''s; "x" \\';
INSERT INTO `a;b` (`t'x`, b, e) VALUES ('a;b\'c"d`e\\', X'00275C223B0A0D', 'a;'), (NULL, '', 'b''c'), ('-- x\n/* y */ ; # z', 0x5C5C27, NULL);
CREATE TABLE empty_one (a INT);
CREATE VIEW v AS SELECT `t'x`, 'a;''b' AS c FROM `a;b`;
CREATE VIEW w AS SELECT * FROM v;
DELIMITER //
CREATE TRIGGER tr BEFORE INSERT ON `a;b` FOR EACH ROW BEGIN SET NEW.b = ';'; /* ; it's */ SET NEW.e = 'a;'; END//
CREATE PROCEDURE p() BEGIN -- isn't it; so
  SELECT 1; SELECT ';;'; END//
CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC BEGIN RETURN x + 1; END//
CREATE EVENT ev ON SCHEDULE EVERY 1 YEAR DO BEGIN SET @a = ';'; SET @b = 2; END//
DELIMITER ;
SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES';
CREATE PROCEDURE q() SELECT '\' AS "a\;";
CREATE SEQUENCE s;
"#;

#[test]
fn dumps_of_every_style_are_cut_as_by_the_client() {
    let Some(server) = Server::start() else { return };
    server.sql(EVERYTHING);
    server.sql("SET GLOBAL log_output='TABLE'; SET GLOBAL general_log=1;");
    let styles: [&[&str]; 9] = [
        &["--opt", "--routines", "--triggers", "--events"],
        &["--skip-extended-insert", "--complete-insert"],
        &["--hex-blob", "--no-create-info", "--replace"],
        &["--insert-ignore", "--skip-opt", "--add-drop-table"],
        &["--compatible=ansi", "--routines"],
        &["--compatible=no_key_options", "--skip-comments", "--routines"],
        &["--skip-quote-names", "--no-autocommit", "--single-transaction", "--tz-utc", "--no-data"],
        &["--skip-set-charset", "--default-character-set=latin1", "--add-drop-trigger"],
        &["--dump-date", "--flush-privileges", "--add-drop-database", "--order-by-primary"],
    ];
    for style in styles {
        let dump = server.dump(&[style, &["--databases", "o`d;d"]].concat());
        let ours = read(&dump, 1000, Rows::Whole);
        let texts = ours.iter().map(|(kind, text, ..)| {
            assert!(kind.is_some(), "{style:?}: {}", shown(text));
            shown(&without_comments(text))
        });
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        let theirs = sent_by_client(&server, &dump);
        let mut differing = texts.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs);
        assert_eq!(differing.next(), None, "{style:?}");
        assert_eq!(texts.len(), theirs.len(), "{style:?}");
        for (kind, text, ..) in &ours {
            let text = shown(text);
            let is_sequence = text.contains("SEQUENCE") || text.starts_with("DOSETVAL");
            assert!(is_sequence || *kind != Some(StatementKind::Other), "{style:?}: {text}");
        }
    }
}

#[test]
fn a_version_comment_behind_rows_hides_no_delimiter() {
    // The client cuts in it; the cutter of runs took it for a comment, and two statements with it.
    let dump = b"INSERT INTO t VALUES (1) /*!50000 ON DUPLICATE KEY UPDATE a=1; x; */ y;z";
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(dump).unwrap();
    let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
    assert!(matches!(reader.next().unwrap().unwrap().kind, StatementKind::Insert(_)));
    let (run, handback) = reader.into_run(ReadAs::default()).unwrap();
    drop(run);
    reader = handback.wait().unwrap();
    let mut texts = Vec::new();
    while let Some(statement) = reader.next().unwrap() {
        texts.push(shown(&statement.text));
    }
    assert_eq!(texts, ["x", "*/y", "z"]);
}

#[test]
fn files_of_mydumper_hold_nothing_unknown() {
    let Some(server) = Server::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    // It does not quote names that need it.
    server.sql(&EVERYTHING.replace("o``d;d", "od").replace("a;b`", "ab`"));
    let what = ["--database=od", "--triggers", "--routines", "--events"];
    if !server.test_server().mydumper(folder.path(), &what) {
        return;
    }
    let mut kinds = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        // Where bodies are, it cuts at line ends, with no delimiter to tell.
        let has_bodies = name.ends_with("-post.sql") || name.ends_with("-triggers.sql");
        if has_bodies || !name.ends_with(".sql") {
            continue;
        }
        for (kind, text, ..) in read(&std::fs::read(&path).unwrap(), 1000, Rows::Whole) {
            let text = shown(&text);
            let kind = kind.unwrap_or_else(|| panic!("{}: {text}", path.display()));
            let is_sequence = text.contains("SEQUENCE");
            assert!(is_sequence || kind != StatementKind::Other, "{}: {text}", path.display());
            kinds.push(kind);
        }
    }
    let count = |is: fn(&StatementKind) -> bool| kinds.iter().filter(|kind| is(kind)).count();
    // Views stand in as tables first, a sequence is one with a row.
    assert_eq!(count(|kind| matches!(kind, StatementKind::CreateTable { .. })), 5);
    assert_eq!(count(|kind| matches!(kind, StatementKind::Insert(_))), 2);
    assert_eq!(count(|kind| matches!(kind, StatementKind::CreateView(_))), 2);
}

/// Statements and errors of these inputs.
fn read_all(paths: &[PathBuf], options: SqlOptions) -> Vec<String> {
    let mut reader = SqlReader::open(paths, options).unwrap();
    let mut read = Vec::new();
    loop {
        match reader.next() {
            Ok(None) => return read,
            Ok(Some(statement)) => {
                read.push(format!("{} {}", statement.file, shown(&statement.text)));
            }
            Err(error @ Error::Sql { .. }) => {
                read.push(error.to_string().split_once(": ").unwrap().1.to_owned());
            }
            Err(error) => {
                read.push(error.to_string());
                return read;
            }
        }
    }
}

#[test]
fn inputs_are_read_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain.sql");
    std::fs::write(&plain, "set sql_mode=ansi;DELIMITER //\na;b//c").unwrap();
    let packed = folder.path().join("packed.sql.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"\"\\\";x;y;").unwrap();
    std::fs::write(&packed, gzip.finish().unwrap()).unwrap();
    let read = read_all(&[plain, packed], SqlOptions::default());
    // The session goes on, the delimiter does not.
    assert_eq!(read, ["0 setsql_mode=ansi", "0 a;b", "0 c", "1 \"\\\"", "1 x", "1 y"]);
}

#[test]
fn what_is_too_long_is_passed_over_and_what_is_no_sql_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.sql");
    let long = "x".repeat(2000);
    std::fs::write(&path, format!("a;select '{long};' {long};b;insert into t values ('{long}');c"))
        .unwrap();
    let paths = [path.clone()];
    let options =
        SqlOptions { statement_bytes_max: 1000, piece_bytes: 300, ..SqlOptions::default() };
    let read = read_all(&paths, options);
    assert_eq!(read.len(), 5, "{read:?}");
    assert!(read[1].starts_with("the statement is longer than 1000 bytes;"), "{}", read[1]);
    // Of rows there may be any number.
    assert_eq!([&read[0], &read[2], &read[3], &read[4]], ["0 a", "0 b", "0 ", "0 c"]);

    let refused: [(&[u8], &str); 4] = [
        (b"\xff\xfes\0e\0", "UTF-16"),
        (b"s\0e\0l\0", "UTF-16"),
        (b"<?xml version=\"1.0\"?>", "--xml"),
        (b"PK\x03\x04", "zip"),
    ];
    for (bytes, what) in refused {
        std::fs::write(&path, bytes).unwrap();
        let read = read_all(&paths, SqlOptions::default());
        assert!(read.len() == 1 && read[0].contains(what), "{read:?}");
    }
}
