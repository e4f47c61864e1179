//! Every rule of LOAD DATA for delimited and fixed-size input: the same file gives the same table,
//! and where strict mode refuses a row, so do we.

use std::fmt::Write as _;

use load::Error;
use sources::Dialect;

use testkit::Random;
use testkit::tables::server::{Db, Server};

/// Tables of random files.
const CASES: usize = 120;

/// A file and how it is read.
struct Case {
    columns: &'static str,
    /// As in LOAD DATA: names, and variables that take what is left out.
    list: Vec<String>,
    dialect: Dialect,
    bytes: Vec<u8>,
    skip_lines: u64,
}

impl Case {
    fn load_data(&self, path: &std::path::Path) -> String {
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let byte = |byte: Option<u8>| byte.map_or("''".to_owned(), |byte| format!("x'{byte:02x}'"));
        let text = |bytes: &[u8]| match bytes {
            [] => "''".to_owned(),
            _ => format!("x'{}'", hex(bytes)),
        };
        let dialect = &self.dialect;
        let list: Vec<String> = self
            .list
            .iter()
            .map(|name| match name.starts_with('@') {
                true => name.clone(),
                false => format!("`{name}`"),
            })
            .collect();
        format!(
            "LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4 FIELDS TERMINATED BY {} \
             OPTIONALLY ENCLOSED BY {} ESCAPED BY {} LINES STARTING BY {} TERMINATED BY {} \
             IGNORE {} LINES ({})",
            path.display(),
            text(&dialect.fields_terminated_by),
            byte(dialect.enclosed_by),
            byte(dialect.escaped_by),
            text(&dialect.lines_starting_by),
            text(&dialect.lines_terminated_by),
            self.skip_lines,
            list.join(", ")
        )
    }

    /// Loads both ways; what the server said if it refused the file.
    #[track_caller]
    fn compare(&self, server: &Server, db: &mut Db) -> Option<String> {
        for table in ["a", "b"] {
            db.sql(&format!("CREATE OR REPLACE TABLE {table} ({}) ENGINE=InnoDB", self.columns));
        }
        let path = server.file(db, "input", &self.bytes);
        let theirs = db.try_sql(&self.load_data(&path)).err().map(|error| error.to_string());
        let mut options = server.options(db, "b", vec![path]);
        options.input.dialect = self.dialect.clone();
        options.input.columns = Some(self.list.clone());
        options.input.skip_lines = self.skip_lines;
        let ours = server.load(&options);
        let shown = || format!("{:?} {:?} {}", self.dialect, self.list, self.bytes.escape_ascii());
        match (&theirs, ours) {
            (None, Ok(_)) => {
                let (a, b) = (rows(db, "a"), rows(db, "b"));
                assert_eq!(b, a, "{}", shown());
            }
            (Some(_), Err(Error::Rejected { .. })) => {}
            // A quote that is not closed is an error of ours.
            (_, Err(Error::Source(_))) if self.dialect.enclosed_by.is_some() => {}
            (theirs, ours) => panic!("{}\ntheirs {theirs:?}\nours {ours:?}", shown()),
        }
        theirs
    }
}

/// Rows in the order they were loaded.
fn rows(db: &mut Db, table: &str) -> Vec<String> {
    let columns = db.rows(&format!("SHOW COLUMNS FROM {table}"));
    let hex = |name: String| format!("COALESCE(HEX(`{name}`), 'NULL')");
    let columns: Vec<String> = columns.iter().map(|row| hex(row.text_lossy(0))).collect();
    let sql = format!("SELECT CONCAT_WS(',', {}) FROM {table}", columns.join(", "));
    db.rows(&sql).iter().map(|row| row.text_lossy(0)).collect()
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn dialect(fields: &str, quote: Option<u8>, escape: Option<u8>, lines: &str) -> Dialect {
    Dialect {
        fields_terminated_by: fields.as_bytes().to_vec(),
        enclosed_by: quote,
        escaped_by: escape,
        lines_terminated_by: lines.as_bytes().to_vec(),
        ..Dialect::mysql()
    }
}

const THREE: &str = "a INT, b VARCHAR(9) DEFAULT 'dflt', c VARCHAR(9) NOT NULL DEFAULT 'x'";

#[test]
fn lines_have_the_fields_that_strict_mode_wants() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let abc: &[&str] = &["a", "b", "c"];
    // Columns of the fields, file, whether the server takes it.
    let cases: &[(&[&str], &[u8], bool)] = &[
        (abc, b"1,2,3\n4,5,6\n", true),
        (abc, b"1,2,3\n4,5,6", true),
        (abc, b"1,2\n", false),
        (abc, b"1,2", false),
        (abc, b"1,2,", false),
        (abc, b"1,2,\n", true),
        (abc, b"1,2,3,\n", true),
        (abc, b"1,2,3,4\n", false),
        (abc, b"1,2,3,\n1,2,3,4\n", false),
        (abc, b"1,2,3,4", true),
        (abc, b"1,2,3,4,5,6", true),
        (abc, b"1,2,3,\"x\"", true),
        (abc, b"1,2,3,\"x\ny\"", false),
        (abc, b"1,2,3,x\\\ny", true),
        (abc, b"1,2,\"3\"", true),
        (abc, b"1,2,\"3\",", true),
        (abc, b"", true),
        (abc, b"\n", false),
        (&["b"], b"\n\n", true),
        (&["b"], b"x,\n\"y\",\n", true),
        (&["b"], b"x,\"\"\n", false),
        // A variable takes what is left out, and may be missing at the end.
        (&["a", "@x", "c"], b"1,zzzzzzzzzzzzzzzz,3\n", true),
        (&["a", "@x", "c"], b"1,2\n", false),
        (&["a", "@x", "@y"], b"1\n", true),
        (&["a", "@x", "@y"], b"1,2\n1\n3,4,5\n6,7,8,\n", true),
        (&["a", "@x", "@y"], b"1,2,3,4\n", false),
        (&["@x", "a"], b"x,1\n,2\n", true),
        (&["@x", "a"], b"1\n", false),
        (&["c", "a"], b"x,1\nNULL,2\n", false),
        (&["b", "a"], b"NULL,1\n\"NULL\",2\n\\N,NULL\n", true),
    ];
    for (names, bytes, is_taken) in cases {
        let case = Case {
            columns: THREE,
            list: list(names),
            dialect: dialect(",", Some(b'"'), Some(b'\\'), "\n"),
            bytes: bytes.to_vec(),
            skip_lines: 0,
        };
        let refused = case.compare(&server, &mut db);
        assert_eq!(refused.is_none(), *is_taken, "{names:?} {}: {refused:?}", bytes.escape_ascii());
    }
}

#[test]
fn lines_without_a_terminator_are_as_many_fields_as_there_are_columns() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (fields, lines, bytes, skip_lines) in [
        (",", "", &b"1,2,3,4,5,6"[..], 0),
        (",", "", b"1,2,3,4,5,6,", 0),
        (",", "", b"1,2,3,4,5", 0),
        (",", "", b"1,\"2,\",3,4,5,\"6\n\"", 0),
        (",", "", b"1,2,3,4,5,6,7,8,9", 2),
        ("\n", "\n", b"1\n2\n3\n4\n5\n\n", 0),
        ("\n", "\n", b"1\n2\n3\n4\n5\n6\n", 1),
        ("||", "||", b"1||2||3||4||5||6||", 0),
        ("\0", "\0", b"1\x002\x003\x004\x005\x006", 0),
        ("", "\n", b"\"1\"\n", 0),
    ] {
        let case = Case {
            columns: THREE,
            list: list(&["a", "b", "c"]),
            dialect: dialect(fields, Some(b'"'), Some(b'\\'), lines),
            bytes: bytes.to_vec(),
            skip_lines,
        };
        case.compare(&server, &mut db);
    }
}

/// Types of columns with the widths that the server gives them.
const FIXED: &[(&str, &[&str])] = &[
    ("TINYINT", &["1   ", "-12 ", "127 "]),
    ("SMALLINT UNSIGNED", &["65535", "0    "]),
    ("INT(5)", &["12345", "   -1"]),
    ("BIGINT", &["-1                  ", "00000000000000000123"]),
    ("DECIMAL(5,2)", &["-12.34 ", "1      "]),
    ("DECIMAL(5,0) UNSIGNED", &["12345"]),
    ("FLOAT", &["1.5         "]),
    ("DOUBLE(8,3)", &["1.125   "]),
    ("DATE", &["2024-02-29"]),
    ("TIME(2)", &["-10:11:12.25 "]),
    ("DATETIME", &["2024-02-29 01:02:03"]),
    ("TIMESTAMP(3) NULL", &["2024-02-29 01:02:03.004"]),
    ("YEAR", &["1999"]),
    ("BIT(3)", &["\x01  ", "\x05"]),
    ("CHAR(3) CHARACTER SET latin1", &["abc", "a  "]),
    ("CHAR(2) CHARACTER SET utf8mb4", &["ab      ", "\u{1f600}\u{1f601}"]),
    ("VARCHAR(2) CHARACTER SET utf8mb3", &["\u{4e2d}\u{4e2d}", "ab"]),
    ("VARBINARY(4)", &["abcd", "a   "]),
    ("ENUM('a','bcd') CHARACTER SET utf8mb4", &["a           ", "bcd         "]),
    ("SET('a','b') CHARACTER SET latin1", &["a,b", "b  "]),
];

#[test]
fn fields_without_separators_are_as_wide_as_their_columns() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let random = &mut Random::new(Random::seed_of_run());
    let mut refused = 0;
    for number in 0..60 {
        let count = random.between(1, 4);
        let picked: Vec<_> = (0..count).map(|_| random.pick(FIXED)).collect();
        let names: Vec<String> = (0..count).map(|at| format!("c{at}")).collect();
        let mut columns = String::new();
        for (name, (declaration, _)) in names.iter().zip(&picked) {
            let separator = if columns.is_empty() { "" } else { ", " };
            write!(columns, "{separator}{name} {declaration}").unwrap();
        }
        let lines = random.pick(&["\n", "\n", "", "\r\n", "|"]);
        let mut bytes = Vec::new();
        for _ in 0..random.below(6) {
            for (_, values) in &picked {
                bytes.extend_from_slice(random.pick(values).as_bytes());
            }
            if random.chance(12) {
                bytes.pop();
            }
            if random.chance(12) {
                bytes.extend_from_slice(random.pick(&[&b" "[..], b"  ", b"\\n"]));
            }
            bytes.extend_from_slice(lines.as_bytes());
        }
        if random.chance(3) && !bytes.is_empty() {
            bytes.truncate(bytes.len() - lines.len());
        }
        let case = Case {
            columns: columns.leak(),
            list: names,
            dialect: dialect("", None, random.pick(&[Some(b'\\'), None]), lines),
            bytes,
            skip_lines: u64::from(number % 5 == 0),
        };
        refused += usize::from(case.compare(&server, &mut db).is_some());
    }
    assert!((1..50).contains(&refused), "{refused} of 60 files were refused");
}

#[test]
fn texts_take_the_rest_of_a_row_of_fixed_size() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let long = "x".repeat(300);
    for columns in ["c0 INT(3), c1 TEXT", "c0 TINYTEXT, c1 INT(3)", "c0 BLOB, c1 INT(3)"] {
        for bytes in ["12 abc\n34 \n", "12 abc", &format!("{long}\n"), &long[..256], &long[..259]] {
            let case = Case {
                columns,
                list: list(&["c0", "c1"]),
                dialect: dialect("", None, Some(b'\\'), "\n"),
                bytes: bytes.as_bytes().to_vec(),
                skip_lines: 0,
            };
            case.compare(&server, &mut db);
        }
    }
    // What the server refuses as a whole is an error before anything is done.
    db.sql("CREATE OR REPLACE TABLE b (c0 TEXT, c1 INT(3))");
    let path = server.file(&db, "input", "x");
    let mut options = server.options(&db, "b", vec![path]);
    options.input.dialect = dialect("", None, None, "");
    match server.load(&options) {
        Err(Error::Usage(text)) => assert!(text.starts_with("column `c0` is TEXT: "), "{text}"),
        other => panic!("{other:?}"),
    }
    options.input.dialect.lines_terminated_by = b"\n".to_vec();
    options.input.columns = Some(list(&["@x", "c1"]));
    assert!(matches!(server.load(&options), Err(Error::Usage(_))));
}

/// Random dialects and files that mostly fit their table.
#[test]
fn random_dialects_load_as_the_server_loads_them() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let seed = Random::seed_of_run();
    let mut refused = 0;
    for number in 0..CASES {
        let random = &mut Random::new(seed + number as u64);
        let case = random_case(random);
        println!("seed {}: {:?}", seed + number as u64, case.list);
        refused += usize::from(case.compare(&server, &mut db).is_some());
    }
    println!("{CASES} files, {refused} refused");
    assert!((CASES / 10..CASES * 9 / 10).contains(&refused), "{refused} refused");
}

fn random_case(random: &mut Random) -> Case {
    let fields = random.pick(&[",", "\t", "|", "||", ",|", ";;;", "\0", "ab", "", "\u{a7}"]);
    let lines = random.pick(&["\n", "\n", "\r\n", "|\n", "\0", "#", "##\n", "", "=fields"]);
    let quote = random.pick(&[None, Some(b'"'), Some(b'\''), Some(b'^')]);
    let lines = if lines == "=fields" { fields } else { lines };
    let mut dialect = dialect(fields, quote, random.pick(&[None, Some(b'\\'), Some(b'%')]), lines);
    if fields.is_empty() {
        dialect.enclosed_by = Some(b'"');
    }
    if random.chance(4) {
        dialect.escaped_by = dialect.enclosed_by;
    }
    dialect.lines_starting_by = random.pick(&["", "", "", "> "]).as_bytes().to_vec();
    let names = ["a", "b", "c"];
    let mut list: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    random.shuffle(&mut list);
    list.truncate(random.between(1, 3));
    for _ in 0..random.below(3) {
        list.insert(random.below(list.len() + 1), "@x".to_owned());
    }
    if fields.is_empty() {
        list.truncate(1);
    }
    let mut bytes = Vec::new();
    for _ in 0..random.below(8) {
        bytes.extend_from_slice(&dialect.lines_starting_by);
        let count = match random.below(20) {
            0 => list.len() - 1,
            1 => list.len() + 1,
            _ => list.len(),
        };
        for at in 0..count {
            if at > 0 {
                bytes.extend_from_slice(&dialect.fields_terminated_by);
            }
            field(random, &dialect, list.get(at).map_or("@", String::as_str), &mut bytes);
        }
        bytes.extend_from_slice(match dialect.lines_terminated_by.is_empty() {
            true => &dialect.fields_terminated_by,
            false => &dialect.lines_terminated_by,
        });
    }
    if random.chance(3) {
        bytes.truncate(bytes.len().saturating_sub(dialect.lines_terminated_by.len()));
    }
    let skip_lines = match dialect.lines_starting_by.is_empty() {
        true => random.pick(&[0, 0, 1]),
        false => 0,
    };
    Case { columns: THREE, list, dialect, bytes, skip_lines }
}

fn field(random: &mut Random, dialect: &Dialect, column: &str, out: &mut Vec<u8>) {
    let special = |byte: Option<u8>| byte.map_or(Vec::new(), |byte| vec![byte]);
    let mut text = match column {
        "a" => random.pick(&[&b"1"[..], b"-22", b" 3 "]).to_vec(),
        _ => match random.below(12) {
            0 => b"NULL".to_vec(),
            1 => [special(dialect.escaped_by), b"N".to_vec()].concat(),
            2 => [b"x".to_vec(), special(dialect.enclosed_by)].concat(),
            3 => [special(dialect.escaped_by), random.pick(&[b"n", b"0", b"Z", b"q"]).to_vec()]
                .concat(),
            4 => Vec::new(),
            5 => "\u{e9}\u{1f600}".as_bytes().to_vec(),
            6 => b"\0\x1a\r".to_vec(),
            _ => b"text".to_vec(),
        },
    };
    if random.chance(3)
        && let Some(quote) = dialect.enclosed_by
    {
        text.retain(|&byte| byte != quote);
        if random.chance(3) {
            text.extend_from_slice(&dialect.fields_terminated_by);
        }
        text.insert(0, quote);
        text.push(quote);
    }
    out.extend_from_slice(&text);
}

#[test]
fn a_header_says_where_fields_go_in_any_order() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, `\u{c4}rger` INT NOT NULL, n INT DEFAULT 7)");
    let path = |bytes: &str| server.file(&db, "input", bytes);
    let mut options = server.options(&db, "b", Vec::new());
    options.input.dialect = Dialect::csv();
    options.input.header = true;
    options.input.files = vec![path("@note,\u{e4}RGER,ID\nx,5,1\n\"y\n\",6,2\n")];
    assert_eq!(server.load(&options).unwrap().rows, 2);
    assert_eq!(
        db.text("SELECT GROUP_CONCAT(CONCAT_WS(':', id, `\u{e4}rger`, n) ORDER BY id) FROM b"),
        "1:5:7,2:6:7"
    );
    db.sql("DELETE FROM b");
    let path = |bytes: &str| server.file(&db, "input", bytes);
    for (header, wanted) in [
        ("id,note,extra,n", &["`note`, `extra`", "@", "--columns", "`\u{c4}rger`"][..]),
        ("n", &["`id`", "`\u{c4}rger`"]),
        ("id,n,ID", &["twice"]),
    ] {
        options.input.files = vec![path(&format!("{header}\n1,2,3,4\n"))];
        let error = server.load(&options).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        let text = error.to_string();
        assert!(wanted.iter().all(|part| text.contains(part)), "{text}");
    }
    options.input.files = vec![server.file(&db, "input", b"n,id,\xc4rger\n3,1,2\n")];
    options.input.charset = "latin1".to_owned();
    assert_eq!(server.load(&options).unwrap().rows, 1);
    db.sql("DELETE FROM b");
    // The list says what the header's names are worth.
    options.input.columns = Some(list(&["id", "\u{c4}rger", "@extra"]));
    options.input.files = vec![server.file(&db, "input", "one,two,three\n1,2,x\n")];
    assert_eq!(server.load(&options).unwrap().rows, 1);
}

#[test]
fn a_null_token_is_null_where_it_is_not_quoted() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (token, expected) in [
        ("", "1:NULL,2:,3:-,4:\\N,5:NULL,6:- "),
        ("-", "1:,2:,3:NULL,4:\\N,5:NULL,6:- "),
        ("\\N", "1:,2:,3:-,4:NULL,5:NULL,6:- "),
    ] {
        db.sql("CREATE OR REPLACE TABLE b (id INT PRIMARY KEY, v VARCHAR(9))");
        let path = server.file(&db, "input", "1,\n2,\"\"\n3,-\n4,\\N\n5,NULL\n6,- \n");
        let mut options = server.options(&db, "b", vec![path]);
        options.input.dialect = Dialect { null_tokens: vec![token.into()], ..Dialect::csv() };
        server.load(&options).unwrap();
        let seen =
            db.text("SELECT GROUP_CONCAT(CONCAT(id, ':', COALESCE(v, 'NULL')) ORDER BY id) FROM b");
        assert_eq!(seen, expected, "{token:?}");
    }
}

/// An apparent escape or separator is half a character in a text column only.
#[test]
fn text_is_read_by_characters_and_bytes_are_not() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (charset, bytes) in [
        ("sjis", &b"1|\x83\x5c\x83\x7c|\x83\\|\n2|\xb1\\|\xb1|\\N|x\n"[..]),
        ("cp932", b"1|\x83\x5c\x83\x7c|\x83\\|\n2|\xb1\\|\xb1|\\N\n"),
        ("gbk", b"1|\x81\x5c\x81\x7c|\x81\\|\n2|\x90\x5c\\||x\n"),
        ("big5", b"1|\xa4\x5c\xa4\x7c|\xa4\\|\n2|\xa4\xa4\\||x\n"),
        ("euckr", b"1|\xb0\xa1|\xb0\\\xa1\n2|\xb0\xa1\\||x\n"),
        ("ujis", b"1|\xa4\xa2\x8f\xb0\xa1|\xa4\\\xa2\n"),
    ] {
        for table in ["a", "b"] {
            db.sql(&format!(
                "CREATE OR REPLACE TABLE {table} (id INT, t VARCHAR(9) CHARACTER SET utf8mb4, \
                 v VARBINARY(9)) ENGINE=InnoDB"
            ));
        }
        let path = server.file(&db, "input", bytes);
        let theirs = db.try_sql(&format!(
            "LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET {charset} FIELDS TERMINATED BY '|'",
            path.display()
        ));
        let mut options = server.options(&db, "b", vec![path]);
        options.input.dialect = dialect("|", None, Some(b'\\'), "\n");
        options.input.charset = charset.to_owned();
        let ours = server.load(&options);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{charset}: {ours:?}\ntheirs {theirs:?}");
        assert_eq!(rows(&mut db, "b"), rows(&mut db, "a"), "{charset}");
    }
}
