//! Runs of rows that go on in the next file of a dump.

use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use sources::dump::{RowRun, RunStatement, SqlOptions, SqlReader};
use sources::{Chunk, Error, ReadAs, Source as _, SourceExt as _};
use sql::StatementKind;
use tempfile::TempDir;

/// The beginning of each file of rows of mydumper 0.10.
const LEAD: &str = "/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
                    /*!40103 SET TIME_ZONE='+00:00' */;\n";
const HEAD: &str = "INSERT INTO `t` VALUES\n";

/// How a run is read.
#[derive(Clone, Copy, Debug)]
enum By {
    Chunks,
    /// By a stream of its own, after the run was given up behind its first chunk.
    Place,
    Statements,
    /// Not at all: only what follows it is looked at.
    Nothing,
}

const ALL: [By; 4] = [By::Chunks, By::Place, By::Statements, By::Nothing];

struct Files {
    _folder: TempDir,
    paths: Vec<PathBuf>,
}

impl Files {
    fn new(texts: &[impl AsRef<[u8]>]) -> Files {
        let folder = tempfile::tempdir().unwrap();
        let write = |(index, text): (usize, &_)| {
            let path = folder.path().join(format!("t.{index:05}.sql"));
            std::fs::write(&path, AsRef::<[u8]>::as_ref(text)).unwrap();
            path
        };
        let paths = texts.iter().enumerate().map(write).collect();
        Files { _folder: folder, paths }
    }

    /// Statements as their text, runs as the files of their rows: `2@0 1@1`.
    fn read(&self, by: By) -> Vec<String> {
        let mut reader = SqlReader::open(&self.paths, SqlOptions::default()).unwrap();
        let mut seen = Vec::new();
        while let Some(statement) = reader.next().unwrap() {
            let StatementKind::Insert(_) = statement.kind else {
                seen.push(String::from_utf8(statement.text).unwrap());
                continue;
            };
            if !reader.stands_before_rows() {
                continue;
            }
            let options = ReadAs { chunk_bytes: 30, ..ReadAs::default() };
            let (mut run, handback) = reader.into_run(options.clone()).unwrap();
            let rows = match by {
                By::Chunks => {
                    let first = self.chunks(&mut run);
                    run.restart().unwrap();
                    assert_eq!(self.chunks(&mut run), first);
                    first
                }
                By::Place => {
                    run.next_chunk(&mut Chunk::default()).unwrap();
                    let place = run.place();
                    drop(run);
                    self.chunks(&mut place.open(options.clone()))
                }
                By::Statements => self.statements(&mut run),
                By::Nothing => {
                    drop(run);
                    "run".to_owned()
                }
            };
            seen.push(rows);
            reader = handback.wait().unwrap();
        }
        seen
    }

    /// Which of the dump's files text of a run is in, which stands there as it says.
    fn check(&self, run: &RowRun, file: u32, offset: u64, line: u64, text: &[u8]) -> usize {
        let path = &run.files()[file as usize].path;
        let whole = std::fs::read(path).unwrap();
        let (before, behind) = whole.split_at(offset as usize);
        assert!(behind.starts_with(text), "{} {offset}", path.display());
        assert_eq!(line, 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64);
        self.paths.iter().position(|one| one == path).unwrap()
    }

    fn chunks(&self, run: &mut RowRun) -> String {
        let mut rows = vec![0; self.paths.len()];
        let mut chunk = Chunk::default();
        let mut ordinal = 0;
        while run.next_chunk(&mut chunk).unwrap() {
            assert_eq!(chunk.ordinal, ordinal);
            ordinal += 1;
            let file = self.check(run, chunk.file, chunk.offset, chunk.first_line, &chunk.bytes);
            rows[file] += count(&chunk.bytes);
        }
        shown(&rows)
    }

    fn statements(&self, run: &mut RowRun) -> String {
        let mut rows = vec![0; self.paths.len()];
        let mut statement = RunStatement::default();
        while run.next_statement(&mut statement).unwrap() {
            let RunStatement { file, offset, line, ref text } = statement;
            let file = self.check(run, file, offset, line, text);
            rows[file] += count(text);
        }
        shown(&rows)
    }
}

fn count(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'(').count()
}

fn shown(rows: &[usize]) -> String {
    let rows = rows.iter().enumerate().filter(|(_, rows)| **rows > 0);
    rows.map(|(file, rows)| format!("{rows}@{file}")).collect::<Vec<_>>().join(" ")
}

/// True if the rows of two files are one run.
fn is_one(first: &str, second: &str) -> bool {
    let files = Files::new(&[first, second]);
    let seen = files.read(By::Chunks);
    assert_eq!(files.read(By::Place), seen, "{first} {second}");
    assert_eq!(files.read(By::Statements), seen, "{first} {second}");
    let is_run = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let passed = seen.iter().map(|text| if is_run(text) { "run" } else { text });
    assert_eq!(files.read(By::Nothing), passed.collect::<Vec<_>>(), "{first} {second}");
    seen.iter().any(|text| text.contains("@0 "))
}

/// A file as mydumper writes it.
fn file(rows: &str) -> String {
    format!("{LEAD}{HEAD}{rows};\n")
}

#[test]
fn rows_in_several_files_are_one_run() {
    let long: String = (3..40).map(|n| format!("{n},'x;y'),\n(")).collect();
    let texts = [
        file("(1),(2)"),
        // Cut statements, comments, no last semicolon: as within a file.
        format!("-- x\n{LEAD}\n{HEAD}({long}99);\n/* y */{HEAD}(100)\n;\n-- end"),
        format!("{LEAD}{HEAD}(101)"),
        format!("{}SELECT 1;{LEAD}{HEAD}(7);", file("(102),(103)")),
        file("(104)"),
    ];
    let sets = LEAD.lines().map(|line| line.trim_end_matches(';').to_owned());
    let sets: Vec<String> = sets.collect();
    for by in ALL {
        // Behind the SELECT nothing is known of what the session is.
        let runs = match by {
            By::Nothing => ["run"; 3],
            _ => ["2@0 39@1 1@2 2@3", "1@3", "1@4"],
        };
        let parts = [&sets[..], &[runs[0].into(), "SELECT 1".into()], &sets, &[runs[1].into()]];
        let expected = [parts.concat(), sets.clone(), vec![runs[2].into()]].concat();
        assert_eq!(Files::new(&texts).read(by), expected, "{by:?}");
    }
}

#[test]
fn rows_in_several_archives_are_one_run() {
    let archive = |rows| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(file(rows).as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let files = Files::new(&["(1),(2)", "(3)", "(4),\n(5)"].map(archive));
    let mut reader = SqlReader::open(&files.paths, SqlOptions::default()).unwrap();
    while !reader.stands_before_rows() {
        reader.next().unwrap().unwrap();
    }
    let (mut run, handback) = reader.into_run(ReadAs::default()).unwrap();
    for _ in 0..2 {
        let mut chunk = Chunk::default();
        for (file, rows) in [(0, "(1),(2)"), (1, "(3)"), (2, "(4),\n(5)")] {
            assert!(run.next_chunk(&mut chunk).unwrap());
            assert_eq!((chunk.file, chunk.bytes.trim_ascii()), (file, rows.as_bytes()));
        }
        assert!(!run.next_chunk(&mut chunk).unwrap());
        run.restart().unwrap();
    }
    let mut reader = handback.wait().unwrap();
    assert!(reader.next().unwrap().is_none());
    assert_eq!(Some(reader.bytes_read()), reader.bytes_total());
}

#[test]
fn only_what_was_in_force_before_may_stand_between() {
    let first = file("(1),(2)");
    assert!(is_one(&first, &first));
    assert!(is_one(&format!("{HEAD}(1);"), &format!(" {HEAD}(2);")));
    let others = [
        String::new(),
        LEAD.into(),
        format!("{HEAD}(1);"),
        format!("{LEAD}SET NAMES binary;{HEAD}(1);"),
        file("(1)").replace("+00:00", "+01:00"),
        file("(1)").replace("`t`", "`u`"),
        file("(1)").replace("INSERT", "SELECT 1;INSERT"),
        file("(1)").replace("INSERT", "USE x\nINSERT"),
        file("(1)").replace("INSERT", "DELIMITER //\nINSERT").replace(");", ")//"),
        file("(1)").replace("VALUES\n(", "SELECT "),
        file("(1)").replace("40101", "99101"),
    ];
    for other in &others {
        assert!(!is_one(&first, other), "{other}");
    }
    for behind in ["SELECT 1;", "/*!40101 SET x=1 */;", "SET NAMES binary;", "x"] {
        assert!(!is_one(&format!("{first}{behind}"), &first), "{behind}");
    }
    let twice = |lead: &str| {
        let text = format!("{lead};{HEAD}(1);");
        is_one(&text, &text)
    };
    for lead in [
        "SET NAMES utf8mb4",
        "SET NAMES gbk",
        "SET time_zone='SYSTEM', sql_mode=''",
        "SET NAMES x,sql_mode=''",
    ] {
        assert!(twice(lead), "{lead}");
    }
    // The second time they do something else than the first.
    let unsteady = [
        "SET @a=1",
        "SET time_zone=@@time_zone",
        "SET insert_id=5",
        "SET autocommit=1",
        "SET timestamp=1",
        "SET sql_mode=CONCAT('a','b')",
        "CREATE TABLE t (a INT)",
        // The text of the SETs is read otherwise.
        "SET sql_mode='ANSI_QUOTES'",
        "SET sql_mode='NO_BACKSLASH_ESCAPES'",
    ];
    for lead in unsteady {
        assert!(!twice(lead), "{lead}");
    }
}

#[test]
fn what_is_wrong_in_the_next_file_is_told_there() {
    let texts = [file("(1),(2)"), file("(3)\nON DUPLICATE KEY UPDATE a=1"), file("(4)")];
    let files = Files::new(&texts);
    let open = || {
        let mut reader = SqlReader::open(&files.paths, SqlOptions::default()).unwrap();
        while !reader.stands_before_rows() {
            reader.next().unwrap().unwrap();
        }
        reader.into_run(ReadAs::default()).unwrap()
    };
    let (mut run, handback) = open();
    assert!(run.is_longer_than(1000).unwrap());
    let mut chunk = Chunk::default();
    assert!(run.next_chunk(&mut chunk).unwrap());
    assert!(run.next_chunk(&mut chunk).unwrap());
    assert_eq!((chunk.file, chunk.bytes.trim_ascii()), (1, &b"(3)"[..]));
    match run.next_chunk(&mut chunk) {
        Err(Error::NotPlain { at, .. }) => {
            assert_eq!(at.file, files.paths[1]);
            assert_eq!(at.line, 6);
            assert_eq!(at.offset.unwrap() as usize, texts[1].find("ON DUP").unwrap());
        }
        other => panic!("{other:?}"),
    }
    // The whole run is passed over.
    assert!(handback.wait().unwrap().next().unwrap().is_none());
    // A file that is another one than was found.
    let (mut run, handback) = open();
    std::fs::write(&files.paths[1], "SELECT 1").unwrap();
    assert!(run.next_chunk(&mut chunk).unwrap());
    let error = run.next_chunk(&mut chunk).unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
    assert!(matches!(handback.wait(), Err(Error::Changed { .. })));
}
