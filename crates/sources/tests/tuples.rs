//! Tuples of a dump's INSERTs: what is found, whatever the instructions and however it is cut.

use std::io::Write as _;

use proptest::prelude::*;
use sources::dump::{SqlOptions, SqlReader, run_reader};
use sources::{Chunk, Error, FieldKind, Isa, ReadAs, Source, SourceExt as _};
use sql::{Literals, StatementKind, Syntax, Tuples};

const HEAD: &str = "INSERT INTO `t'(` (`a`) VALUES ";

/// Rows of values, or why there are none and where.
type Scan = Result<Vec<Vec<Option<Vec<u8>>>>, (usize, &'static str)>;

fn scan(text: &[u8], fields: &[Literals], syntax: Syntax, isa: Isa) -> Scan {
    let tuples = Tuples { head: HEAD.into(), syntax };
    let fields: Vec<_> = fields.iter().copied().map(FieldKind::of_literals).collect();
    let mut reader = run_reader(tuples.into(), fields.into(), Vec::new(), isa);
    let chunk = Chunk { bytes: text.to_vec(), ..Chunk::default() };
    crate::support::rows(&mut *reader, &chunk).map_err(|error| match error {
        Error::NotPlain { at, what } => (at.offset.unwrap() as usize, what),
        error => panic!("{error}"),
    })
}

/// The result, the same by every set of instructions.
fn scanned(text: &[u8], fields: &[Literals], syntax: Syntax) -> Scan {
    let found = scan(text, fields, syntax, Isa::available()[0]);
    for isa in Isa::available() {
        assert_eq!(
            scan(text, fields, syntax, isa),
            found,
            "{} {}",
            isa.name(),
            text.escape_ascii()
        );
    }
    found
}

fn texts(found: Scan) -> Result<String, (usize, &'static str)> {
    let field = |field: &Option<Vec<u8>>| match field {
        None => "NULL".to_owned(),
        Some(bytes) => bytes.escape_ascii().to_string(),
    };
    let row = |row: &Vec<_>| row.iter().map(field).collect::<Vec<_>>().join("|");
    Ok(found?.iter().map(row).collect::<Vec<_>>().join(" / "))
}

#[test]
fn literals_are_what_the_server_reads() {
    let next = format!("(1);\n-- x\n{HEAD}(2)");
    let cases: [(&str, &str); 24] = [
        ("(1,'a',NULL),(-2.5,'',null)", "1|a|NULL / -2.5||NULL"),
        ("(1),\n(2), (3)\r\n,\t(4) , (5)", "1 / 2 / 3 / 4 / 5"),
        ("('it''s',\"it's\",\"a\"\"b\",'\"')", "it\\'s|it\\'s|a\\\"b|\\\""),
        (r"('a\'b\\','\0\b\n\r\t\Z\a\N')", r"a\'b\\|\x00\x08\n\r\t\x1aaN"),
        (r"('\%\_%_')", r"\\%\\_%_"),
        ("('a),(b','/*','--','#')", "a),(b|/*|--|#"),
        ("(x'4a4B',X'',0x4a,0xA,b'1000001',B'',0b1)", "JK||J|\\n|A||\\x01"),
        ("(_binary 'a\\'b',_utf8mb4'x',_latin1\"\")", "a\\'b|x|"),
        ("( 1 ,\n'a' , /* , */ NULL,/**/-1)", "1|a|NULL|-1"),
        ("(TRUE,false)", "1|0"),
        ("(+1,1e5,-1.5E-3,.5,5.,1e+2)", "+1|1e5|-1.5E-3|.5|5.|1e+2"),
        (&next, "1 / 2"),
        (",(1)", "1"),
        ("/* x (1) */(1)-- (2)\n,#(3)\n(4)", "1 / 4"),
        ("", ""),
        ("(1) (2)", "3 unexpected text between two rows"),
        ("(1),,(2)", "3 unexpected text between two rows"),
        ("(1,)", "3 a value that is missing"),
        ("()", "1 a value that is missing"),
        ("(1,now())", "3 an expression"),
        ("(1,'a' 'b')", "3 an expression"),
        ("(1,DEFAULT)", "3 a DEFAULT"),
        ("(1),(2) ON DUPLICATE KEY UPDATE a=1", "8 a clause after the rows"),
        ("(1,'a)", "6 a row that is not closed"),
    ];
    for (text, expected) in cases {
        let seen = texts(scanned(text.as_bytes(), &[], Syntax::default()));
        let seen = seen.unwrap_or_else(|(at, what)| format!("{at} {what}"));
        assert_eq!(seen, expected, "{text}");
    }
}

#[test]
fn what_is_no_plain_literal_is_said() {
    let texts = [
        "1+1",
        "'a'5",
        "5'a'",
        "'a'\"b\"",
        "1'",
        "x'1'",
        "x'1g'",
        "0xg",
        "b'2'",
        "a",
        "`a`",
        "@a",
        "--1",
        "1 2",
        "1e",
        "1.2e+",
        "- 1",
        "(1)",
        "(select 1)",
        "/*!1*/",
        "/*!40000 1 */",
        "N'a'",
        "?",
        "_utf8 x'41'",
        "'a' collate utf8_bin",
        "date '2020-01-01'",
        "\\N",
        "''''''5",
        "1/* */2",
    ];
    for text in texts {
        for pad in [0, 55, 60, 64] {
            let tuple = format!("('{}',{text})", "x".repeat(pad));
            assert!(scanned(tuple.as_bytes(), &[], Syntax::default()).is_err(), "{tuple}");
        }
    }
}

#[test]
fn modes_change_what_a_string_is() {
    let bare = Syntax { no_backslash_escapes: true, ..Syntax::default() };
    let seen = texts(scanned(br"('a\','b''c\',1)", &[], bare)).unwrap();
    assert_eq!(seen, r"a\\|b\'c\\|1");
    let ansi = Syntax { ansi_quotes: true, ..Syntax::default() };
    assert!(scanned(b"(\"a\")", &[], ansi).is_err());
    let gbk = Syntax { characters: sources::MultiByte::Gbk, ..Syntax::default() };
    let seen = texts(scanned(b"('\x81\\','\\'')", &[], gbk)).unwrap();
    assert_eq!(seen, r"\x81\\|\'");
}

#[test]
fn columns_take_what_means_the_same_in_a_file() {
    use Literals::{Binary, Bytes, Exact, Real, Strings, Text, Whole, Year};
    let cases: [(&str, &[Literals]); 17] = [
        ("'a'", &[Whole, Exact, Real, Text, Bytes, Binary, Year, Strings]),
        ("NULL", &[Whole, Exact, Real, Text, Bytes, Binary, Year, Strings]),
        ("12", &[Whole, Exact, Real, Text, Bytes]),
        ("-1.50", &[Exact, Real, Text, Bytes]),
        ("1e5", &[Real]),
        ("007", &[Whole, Exact, Real]),
        // Of a FLOAT the text in a file has a sign since MariaDB 11.8, and the literal has none.
        ("-0", &[Whole, Exact]),
        ("-0.00", &[Exact]),
        ("-0e0", &[Real]),
        ("-0.50", &[Exact, Real, Text, Bytes]),
        (".5", &[Exact, Real]),
        ("2020", &[Whole, Exact, Real, Text, Bytes, Year]),
        ("0000", &[Whole, Exact, Real, Year]),
        ("x'41'", &[Text, Bytes, Binary]),
        ("x'e9'", &[Bytes, Binary]),
        ("_binary '\u{e9}'", &[Bytes, Binary]),
        ("TRUE", &[Whole, Exact, Real, Text, Bytes]),
    ];
    for (literal, takers) in cases {
        for column in [Whole, Exact, Real, Text, Bytes, Binary, Year, Strings] {
            let tuple = format!("({literal})");
            let found = scanned(tuple.as_bytes(), &[column], Syntax::default());
            assert_eq!(found.is_ok(), takers.contains(&column), "{literal} {column:?} {found:?}");
        }
    }
    assert!(scanned(b"(1,2)", &[Exact], Syntax::default()).is_err());
}

/// Values and ways to write them.
fn literal() -> impl Strategy<Value = Written> {
    let text =
        prop::collection::vec(prop::sample::select(b"ab'\"\\(),;\n#-/*x %_\0".to_vec()), 0..40);
    prop_oneof![
        3 => any::<i32>().prop_map(|n| (n.to_string(), Some(n.to_string().into_bytes()))),
        1 => Just(("NULL".to_owned(), None)),
        4 => (text.clone(), prop::sample::select(vec!['\'', '"']), any::<bool>()).prop_map(
            |(text, quote, doubled)| (quoted(&text, quote, doubled), Some(text))
        ),
        1 => text.prop_map(|text| {
            let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
            (format!("x'{hex}'"), Some(text))
        }),
    ]
}

fn quoted(text: &[u8], quote: char, doubled: bool) -> String {
    let mut out = String::from(quote);
    for &byte in text {
        match char::from(byte) {
            c if c == quote && doubled => out.extend([c, c]),
            c if c == quote || c == '\\' => out.extend(['\\', c]),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// How a value is written, and what it is.
type Written = (String, Option<Vec<u8>>);

fn run_of(rows: &[Vec<Written>], breaks: &[u8]) -> String {
    let mut text = HEAD.to_owned();
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            text.push_str(match breaks[index % breaks.len()] {
                0 => ";\nINSERT INTO `t'(` (`a`) VALUES ",
                1 => ",\n",
                2 => " , ",
                3 => "-- it's (\n,",
                _ => ",",
            });
        }
        let fields: Vec<_> = row.iter().map(|(text, _)| text.as_str()).collect();
        text.push_str(&format!("({})", fields.join(",")));
    }
    text
}

fn values_of(run: &mut dyn Source) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut values = Vec::new();
    let mut chunk = Chunk::default();
    while run.next_chunk(&mut chunk).unwrap() {
        values.extend(scanned(&chunk.bytes, &[], Syntax::default()).unwrap());
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_run_gives_its_rows_however_it_is_cut(
        rows in prop::collection::vec(prop::collection::vec(literal(), 3), 1..30),
        breaks in prop::collection::vec(0u8..6, 1..10),
        chunk_bytes in 1usize..600,
        stop_after in 0usize..8,
    ) {
        let text = run_of(&rows, &breaks);
        let dump = format!("SET x=1;\n{text};\nSELECT 1;");
        let file = file(dump.as_bytes());
        let options = ReadAs { chunk_bytes, ..ReadAs::default() };
        let open = || {
            let mut reader =
                SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
            reader.next().unwrap().unwrap();
            let insert = reader.next().unwrap().unwrap();
            assert!(matches!(insert.kind, StatementKind::Insert(_)));
            reader.into_run(options.clone()).unwrap()
        };
        let expected: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|(_, value)| value.clone()).collect()).collect();
        let (mut run, handback) = open();
        let place = run.place();
        prop_assert_eq!(place.position().offset, Some(9));
        prop_assert_eq!(run.is_longer_than(50).unwrap(), text.len() + 2 - HEAD.len() > 50);
        prop_assert_eq!(&values_of(&mut run), &expected);
        let mut reader = handback.wait().unwrap();
        let next = reader.next().unwrap().unwrap();
        prop_assert_eq!(next.text, b"SELECT 1");
        prop_assert_eq!(next.offset as usize, dump.len() - 9);
        prop_assert_eq!(next.line as usize, dump.lines().count());
        run.restart().unwrap();
        prop_assert_eq!(&values_of(&mut run), &expected);
        prop_assert_eq!(&values_of(&mut place.open(options.clone())), &expected);
        // Given up early.
        let (mut run, handback) = open();
        let mut chunk = Chunk::default();
        for _ in 0..stop_after {
            run.next_chunk(&mut chunk).unwrap();
        }
        drop(run);
        prop_assert_eq!(handback.wait().unwrap().next().unwrap().unwrap().text, b"SELECT 1");
        // As statements.
        let mut statements = place.open(options.clone());
        let mut statement = sources::dump::RunStatement::default();
        let mut seen = Vec::new();
        while statements.next_statement(&mut statement).unwrap() {
            prop_assert!(dump.as_bytes()[statement.offset as usize..].starts_with(&statement.text));
            seen.push(String::from_utf8(statement.text.clone()).unwrap());
        }
        prop_assert_eq!(seen.join(";\n"), text);
    }

    #[test]
    fn any_bytes_are_scanned_alike(
        text in prop::collection::vec(
            prop::sample::select(b"(),'\"\\;-/*#` \n1.xNULL\x81\\_e".to_vec()), 0..200,
        ),
        bare in any::<bool>(),
        ansi_quotes in any::<bool>(),
    ) {
        let syntax = Syntax { no_backslash_escapes: bare, ansi_quotes, ..Syntax::default() };
        let _ = scanned(&text, &[], syntax);
        let mut tuple = b"('".to_vec();
        tuple.extend(&text);
        let _ = scanned(&tuple, &[], syntax);
    }
}

#[test]
fn what_follows_the_rows_is_told_after_them() {
    let dump = format!(
        "{HEAD}(1),(2);\n{HEAD}(3) ON DUPLICATE KEY UPDATE a=');';\n{HEAD}(4);\nINSERT INTO u VALUES (5);"
    );
    let file = file(dump.as_bytes());
    let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
    reader.next().unwrap();
    let (mut run, handback) = reader.into_run(ReadAs::default()).unwrap();
    let mut chunk = Chunk::default();
    assert!(run.next_chunk(&mut chunk).unwrap());
    assert!(chunk.bytes.ends_with(b"(3)"));
    match run.next_chunk(&mut chunk) {
        Err(Error::NotPlain { at, .. }) => {
            assert_eq!(at.offset.unwrap() as usize, dump.find("ON DUP").unwrap());
            assert_eq!(at.line, 2);
        }
        other => panic!("{other:?}"),
    }
    assert!(!run.next_chunk(&mut chunk).unwrap());
    let mut reader = handback.wait().unwrap();
    let next = reader.next().unwrap().unwrap();
    assert_eq!(next.line, 4);
    assert!(reader.stands_before_rows());
}

/// Many rows, with line ends and everything else in them.
fn long_run(rows: usize) -> (String, Vec<Vec<Option<Vec<u8>>>>) {
    let tuple = |row: usize| format!("({row},'it''s\\n({row}),;')");
    let between =
        |row: usize| if row.is_multiple_of(1000) { format!(";\n{HEAD}") } else { ",\n".into() };
    let text: String = (1..rows).map(|row| between(row) + &tuple(row)).collect();
    let values = |row: usize| {
        vec![Some(row.to_string().into_bytes()), Some(format!("it's\n({row}),;").into_bytes())]
    };
    (format!("{HEAD}{}{text};\nSELECT 1;\n", tuple(0)), (0..rows).map(values).collect())
}

/// Reads a run to its end, and once more from its place, and what follows it.
fn read_twice(path: &std::path::Path, expected: &[Vec<Option<Vec<u8>>>]) {
    let options = ReadAs { chunk_bytes: 100_000, ..ReadAs::default() };
    let mut reader = SqlReader::open(&[path.to_owned()], SqlOptions::default()).unwrap();
    reader.next().unwrap().unwrap();
    let (mut run, handback) = reader.into_run(options.clone()).unwrap();
    assert!(run.is_longer_than(300_000).unwrap());
    let place = run.place();
    let mut chunk = Chunk::default();
    assert!(run.next_chunk(&mut chunk).unwrap());
    let first = chunk.clone();
    run.restart().unwrap();
    assert!(run.next_chunk(&mut chunk).unwrap());
    assert_eq!(chunk, first);
    run.restart().unwrap();
    assert_eq!(values_of(&mut run), expected);
    let mut reader = handback.wait().unwrap();
    assert_eq!(reader.next().unwrap().unwrap().text, b"SELECT 1");
    assert!(reader.next().unwrap().is_none());
    assert_eq!(values_of(&mut place.open(options.clone())), expected);
}

#[test]
fn a_run_in_an_archive_is_found_again() {
    let (text, expected) = long_run(50_000);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    read_twice(file(&packed.finish().unwrap()).path(), &expected);
    read_twice(file(text.as_bytes()).path(), &expected);
}

#[test]
fn a_run_from_a_pipe_is_found_again() {
    let (text, expected) = long_run(50_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, text).unwrap()
    });
    read_twice(&path, &expected);
    writer.join().unwrap();
}

/// The progress of a replay shows the rows of a large table as they pass.
#[test]
fn how_far_a_run_was_read_is_told() {
    let (text, _) = long_run(40_000);
    let path = file(text.as_bytes());
    let mut reader = reader(path.path());
    let options = ReadAs { chunk_bytes: 100_000, ..ReadAs::default() };
    let counter = reader.counter();
    reader.next().unwrap();
    let Ok((mut run, handback)) = reader.into_run(options.clone()) else { panic!("no run") };
    let mut chunk = Chunk::default();
    let (mut told, mut steps) = (0, 0);
    while run.next_chunk(&mut chunk).unwrap() {
        let now = counter.load(std::sync::atomic::Ordering::Relaxed);
        assert!(now >= chunk.offset + chunk.bytes.len() as u64 && now <= text.len() as u64);
        steps += usize::from(now > told);
        told = now;
    }
    assert!(steps > 1, "{steps} of {}", text.len());
    let behind = handback.wait().unwrap().bytes_read();
    assert!(behind > told / 2 && behind <= text.len() as u64, "{behind} of {}", text.len());
}

#[test]
fn a_row_without_end_is_an_error_and_the_reader_goes_on() {
    let options = ReadAs { chunk_bytes: 1000, record_bytes_max: 300_000, ..ReadAs::default() };
    let dump = format!("{HEAD}(1),('{}'),(2);SELECT 1;", "x".repeat(2_000_000));
    let file = file(dump.as_bytes());
    let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
    reader.next().unwrap();
    let (mut run, handback) = reader.into_run(options.clone()).unwrap();
    let mut chunk = Chunk::default();
    assert!(run.next_chunk(&mut chunk).unwrap());
    assert_eq!(chunk.bytes.trim_ascii(), b"(1)");
    let error = run.next_chunk(&mut chunk).unwrap_err();
    assert!(matches!(error, Error::RecordTooLong { .. }), "{error}");
    assert_eq!(handback.wait().unwrap().next().unwrap().unwrap().text, b"SELECT 1");
    // Cut short in a string.
    let file = self::file(&dump.as_bytes()[..1_000_000]);
    let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
    reader.next().unwrap();
    let (mut run, _) = reader.into_run(ReadAs::default()).unwrap();
    assert!(run.next_chunk(&mut chunk).unwrap());
    let error = run.next_chunk(&mut chunk).unwrap_err();
    assert!(matches!(error, Error::UnterminatedQuote { .. }), "{error}");
}

/// Statements by their offset, and whether reading ended well.
type Read = (Vec<(u64, Vec<u8>)>, bool);

fn reader(path: &std::path::Path) -> SqlReader {
    SqlReader::open(&[path.to_owned()], SqlOptions::default()).unwrap()
}

/// All statements, each read whole.
fn by_statement(path: &std::path::Path) -> Read {
    let (mut reader, mut found) = (reader(path), Vec::new());
    loop {
        let statement = match reader.next() {
            Ok(Some(statement)) => statement,
            end => return (found, end.is_ok()),
        };
        let text = match statement.kind {
            StatementKind::Insert(_) => match reader.whole() {
                Ok(text) => text,
                Err(_) => return (found, false),
            },
            _ => statement.text,
        };
        found.push((statement.offset, text));
    }
}

/// The same with INSERTs taken from runs, some of which are cut into chunks first.
fn by_run(path: &std::path::Path, chunk_bytes: usize) -> Read {
    let (mut reader, mut found) = (reader(path), Vec::new());
    let options = ReadAs { chunk_bytes, ..ReadAs::default() };
    loop {
        let statement = match reader.next() {
            Ok(Some(statement)) => statement,
            end => return (found, end.is_ok()),
        };
        if !reader.stands_before_rows() {
            found.push((statement.offset, statement.text));
            continue;
        }
        let (mut run, handback) = reader.into_run(options.clone()).unwrap();
        let mut chunk = Chunk::default();
        while run.next_chunk(&mut chunk).unwrap_or(false) {}
        let mut again = run.place().open(options.clone());
        drop(run);
        let mut one = sources::dump::RunStatement::default();
        loop {
            match again.next_statement(&mut one) {
                Ok(true) => found.push((one.offset, one.text.trim_ascii_end().to_vec())),
                Ok(false) => break,
                Err(_) => return (found, false),
            }
        }
        reader = handback.wait().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn runs_end_where_their_statements_do(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "INSERT INTO t VALUES (", "INSERT INTO t VALUES ('", ";\n", ";", "(1)", ",", "'", "\"", "\\'",
            "''", "`", "a;b", "\n", "-- x\n", "#'\n", "/* ; */", "/*!1 ; */", "--", "1", ")", "(", "x y ",
            "ON DUPLICATE KEY UPDATE a=';'", "INSERT INTO u VALUES (2)", "SELECT 1;", "  ",
        ]), 1..40),
        chunk_bytes in 1usize..100,
    ) {
        let dump = format!("INSERT INTO t VALUES ({}", pieces.concat());
        let file = file(dump.as_bytes());
        let (statements, runs) = (by_statement(file.path()), by_run(file.path(), chunk_bytes));
        if statements.1 && runs.1 {
            prop_assert_eq!(statements, runs, "{}", dump);
        } else {
            // What cannot be read is an error both ways; of what is before it, a run gives no less.
            prop_assert!(!statements.1, "{}\n{:?}", dump, statements);
        }
    }
}

#[test]
fn dumps_that_once_differed() {
    // A semicolon in a comment that the input ends in is no end of a statement.
    let file = file(b"INSERT INTO t VALUES (``--  SELECT 1;");
    assert_eq!(by_statement(file.path()), by_run(file.path(), 1));
    // A backslash in a name is no escape, also where the name goes on in the next block.
    let ansi = Syntax { ansi_quotes: true, ..Syntax::default() };
    let text = format!("(1,\"{}\\\",'a')", "x".repeat(100));
    assert!(scanned(text.as_bytes(), &[], ansi).is_err());
}
