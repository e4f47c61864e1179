//! The server decides: what LOAD DATA makes of a file, row by row under strict mode, is what both
//! forms of our text make of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use server::testing::TestServer;
use server::{ServerFacts, Session, Table, TableName};
use sources::{Dialect, FileSource, MultiByte, Scanner, Source, SourceOptions};

use crate::inspected::Inspected;
use crate::logical::columns::Columns;
use crate::logical::encoder::{Encoder, Numbers, Shared};
use crate::logical::portion::{Form, Portion};
use crate::logical::sender::statements::{Place, Statements};
use crate::options::{LoadOptions, OnDuplicate};

/// Bytes that no value of a test has: between fields, after lines, before an escaped byte.
const SEPARATOR: u8 = 0x1e;
const TERMINATOR: u8 = 0x1f;
const ESCAPE: u8 = 0x1d;

/// Bytes of a chunk: a few rows.
const CHUNK_BYTES: usize = 600;

type Row = Vec<Option<Vec<u8>>>;

/// A table in a database of its own, and a folder for its files.
pub(super) struct Bench {
    pub(super) session: Session,
    pub(super) database: String,
    pub(super) folder: PathBuf,
    pub(super) options: LoadOptions,
    /// Columns of LOAD DATA, in parentheses.
    list: String,
}

impl Bench {
    /// None where no server is installed.
    pub(super) fn new(charset: &str, table: &str) -> Option<Bench> {
        let server = server()?;
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        for name in ["theirs", "lines", "tuples"] {
            session.exec(&format!("CREATE TABLE `{name}` {table}")).unwrap();
        }
        let folder = server.dir().join(&database);
        std::fs::create_dir(&folder).unwrap();
        let mut options = LoadOptions::new(vec![folder.join("all")], &database, "theirs");
        options.charset = charset.to_owned();
        options.dialect = Dialect {
            fields_terminated_by: vec![SEPARATOR],
            lines_terminated_by: vec![TERMINATOR],
            escaped_by: Some(ESCAPE),
            ..Dialect::mysql()
        };
        Some(Bench { session, database, folder, options, list: String::new() })
    }

    /// The fields go to these columns.
    pub(super) fn columns(mut self, names: &[&str]) -> Bench {
        self.options.columns = Some(names.iter().map(|&name| name.to_owned()).collect());
        self.list = format!("({})", names.join(","));
        self
    }

    fn write(&self, name: &str, rows: &[&Row]) -> PathBuf {
        let mut bytes = Vec::new();
        for row in rows {
            for (at, field) in row.iter().enumerate() {
                if at > 0 {
                    bytes.push(SEPARATOR);
                }
                bytes.extend_from_slice(field.as_deref().unwrap_or(&[ESCAPE, b'N']));
            }
            bytes.push(TERMINATOR);
        }
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Loads each row by a statement of its own; the numbers of those that strict mode refuses.
    fn theirs(&mut self, rows: &[Row]) -> Vec<usize> {
        let mut refused = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let path = self.write("one", &[row]);
            if self.session.exec(&self.load_data(&path)).is_err() {
                refused.push(number);
            }
        }
        refused
    }

    fn load_data(&self, path: &Path) -> String {
        format!(
            "LOAD DATA INFILE '{}' INTO TABLE theirs CHARACTER SET {} FIELDS TERMINATED BY x'1e' \
             ESCAPED BY x'1d' LINES TERMINATED BY x'1f' {}",
            path.display(),
            self.options.charset,
            self.list
        )
    }

    /// Loads all rows by both forms; the numbers of those that we refuse.
    fn ours(&mut self, rows: &[Row]) -> Vec<usize> {
        self.write("all", &rows.iter().collect::<Vec<_>>());
        let dialect = Dialect {
            charset: MultiByte::of_charset(&self.options.charset),
            ..self.options.dialect.clone()
        };
        let source_options = SourceOptions { chunk_bytes: CHUNK_BYTES, ..SourceOptions::default() };
        let mut source = FileSource::new(&self.options.files, &dialect, source_options).unwrap();
        let name = TableName::new(&self.database, "theirs");
        let table = Table::read(&mut self.session, &name).unwrap();
        let facts = ServerFacts::read(&mut self.session).unwrap();
        let session = &mut self.session;
        let inspected =
            Inspected::of_table(session, &table, &facts, &self.options, &mut source).unwrap();
        let columns = Columns::new(session, &table, &inspected).unwrap();
        let numbers = Numbers::new(&columns, inspected.series);
        let scanner = Scanner::new(&inspected.dialect);
        let files = self.options.files.clone();
        let mut encoder = Encoder::new(Shared {
            columns: &columns,
            scanner: &scanner,
            files: &files,
            rejects_max: u64::MAX,
            numbers: numbers.as_ref(),
        });
        let set_mode = format!("SET SESSION sql_mode='{}'", columns.sql_mode());
        let before = self.session.query_text("SELECT @@sql_mode").unwrap().unwrap();
        self.session.exec(&set_mode).unwrap();
        let mut portion = Portion::default();
        let (mut refused, mut first_row) = (Vec::new(), 0);
        while source.next_chunk(&mut portion.chunk).unwrap() {
            encoder.encode(&mut portion, Form::Lines).unwrap();
            let lines = portion.text.clone();
            self.send(&portion, &columns);
            encoder.encode_as(&mut portion, Form::Tuples).unwrap();
            self.send(&portion, &columns);
            let raw = &portion.chunk.bytes;
            let mut starts = raw.split_inclusive(|&byte| byte == TERMINATOR).scan(0, |at, row| {
                *at += row.len();
                Some(*at - row.len())
            });
            let accepted: Vec<usize> = portion.rows.iter().map(|row| row.raw.start).collect();
            let row_of = |(number, start)| (!accepted.contains(&start)).then_some(number);
            let rows = first_row..;
            let count = raw.iter().filter(|&&byte| byte == TERMINATOR).count();
            refused.extend(rows.zip(starts.by_ref()).filter_map(row_of));
            first_row += count;
            assert_eq!(count, accepted.len() + portion.rejects.len());
            encoder.encode_as(&mut portion, Form::Lines).unwrap();
            assert!(lines == portion.text, "the same text again");
        }
        self.session.exec(&format!("SET SESSION sql_mode='{before}'")).unwrap();
        refused
    }

    /// Loads a portion; the server has nothing to say of any row.
    fn send(&mut self, portion: &Portion, columns: &Columns) {
        if portion.rows.is_empty() {
            return;
        }
        let table = match portion.form {
            Form::Lines => "lines",
            Form::Tuples => "tuples",
        };
        let place = Place {
            table: TableName::new(&self.database, table),
            target: TableName::new(&self.database, table),
            charset: columns.file.name().to_owned(),
            escape: columns.escape,
            load_columns: columns.load_columns(),
            insert_columns: columns.names(),
            rule: OnDuplicate::Fail,
        };
        let statements = Statements::new(place, self.session.version());
        let text = portion.text_of(0..portion.rows.len()).to_vec();
        let done = match portion.form {
            Form::Lines => {
                self.session.load_local(&statements.load, std::io::Cursor::new(text)).unwrap()
            }
            Form::Tuples => {
                let text = String::from_utf8(text).expect("tuples are UTF-8");
                self.session.exec(&format!("{}{text}", statements.insert)).unwrap()
            }
        };
        let said = if done.warnings > 0 { self.session.warnings().unwrap() } else { Vec::new() };
        assert!(said.iter().all(|warning| warning.level == "Note"), "{said:?}");
        assert_eq!(done.affected_rows, portion.rows.len() as u64);
    }

    /// Both ways refuse the same rows, and make the same table of the others.
    pub(super) fn compare(mut self, rows: &[Row]) {
        let theirs = self.theirs(rows);
        let ours = self.ours(rows);
        let show = |numbers: &[usize]| -> Vec<String> {
            let row = |&number: &usize| format!("{:?}", rows[number]);
            numbers.iter().map(row).collect()
        };
        assert_eq!(ours, theirs, "ours {:#?}, theirs {:#?}", show(&ours), show(&theirs));
        let wanted = self.rows_of("theirs");
        assert_eq!(wanted.len(), rows.len() - theirs.len());
        for name in ["lines", "tuples"] {
            let seen = self.rows_of(name);
            for (seen, wanted) in seen.iter().zip(&wanted) {
                assert_eq!(seen, wanted, "{name}, {}", self.options.charset);
            }
            assert_eq!(seen.len(), wanted.len(), "{name}");
        }
    }

    /// Every value in hexadecimal, in the order of the first column.
    fn rows_of(&mut self, name: &str) -> Vec<String> {
        let sql = format!(
            "SELECT GROUP_CONCAT(CONCAT('IFNULL(HEX(CAST(`', COLUMN_NAME, '` AS BINARY)),''-'')') \
             ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='{}' \
             AND TABLE_NAME='{name}'",
            self.database
        );
        self.session.exec("SET SESSION group_concat_max_len=1000000").unwrap();
        let columns = self.session.query_text(&sql).unwrap().unwrap();
        let sql = format!("SELECT CONCAT_WS(' ', {columns}) FROM `{name}` ORDER BY `id`");
        let rows = self.session.query(&sql).unwrap();
        rows.iter().map(|row| row.text(0).unwrap()).collect()
    }
}

fn server() -> Option<&'static TestServer> {
    static SERVER: OnceLock<Option<TestServer>> = OnceLock::new();
    SERVER.get_or_init(TestServer::start).as_ref()
}

/// Rows of a table of two columns: a number that counts them, and each of `values`.
fn counted(values: &[&[u8]]) -> Vec<Row> {
    let row = |(number, value): (usize, &&[u8])| {
        vec![Some(number.to_string().into_bytes()), Some(value.to_vec())]
    };
    let mut rows: Vec<Row> = values.iter().enumerate().map(row).collect();
    rows.push(vec![Some(values.len().to_string().into_bytes()), None]);
    rows
}

/// Each of `types` as the one column of a table, and each of `values` in it.
fn each_type(charset: &str, types: &[&str], values: &[&[u8]]) {
    for sql_type in types {
        for null in ["NULL", "NOT NULL"] {
            println!("{charset}: {sql_type} {null}");
            let table = format!("(id INT, v {sql_type} {null})");
            let Some(bench) = Bench::new(charset, &table) else { return };
            bench.compare(&counted(values));
        }
    }
}

#[test]
fn numbers_go_over_in_both_forms() {
    let types = [
        "TINYINT",
        "BIGINT",
        "BIGINT UNSIGNED",
        "INT ZEROFILL",
        "DECIMAL(10,2)",
        "FLOAT",
        "DOUBLE(7,3)",
        "YEAR",
        "BIT(12)",
        "BOOL",
    ];
    let values: [&[u8]; 24] = [
        b"0",
        b"-0",
        b"1",
        b"007",
        b" 5",
        b"5 ",
        b"-128",
        b"127",
        b"128",
        b"1.5",
        b"1e2",
        b"2.5e-1",
        b"18446744073709551615",
        b"9223372036854775807",
        b"99",
        b"1999",
        b"",
        b"abc",
        b"1a",
        b"\t7",
        b"12345678901.5",
        b"\x01",
        b"'",
        b"\\",
    ];
    each_type("utf8mb4", &types, &values);
    each_type("latin1", &types[..3], &[b"1\xa0", b"12", b"\xe9"]);
}

#[test]
fn times_go_over_in_both_forms() {
    let types =
        ["DATE", "TIME(3)", "DATETIME", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(2) NULL"];
    let values: [&[u8]; 16] = [
        b"2024-02-29",
        b"2023-02-29",
        b"2024-01-02 03:04:05.678901",
        b"0000-00-00",
        b"2024-00-10",
        b"20240102030405",
        b"10:11:12.9999",
        b"-838:59:59",
        b"24/1/2",
        b"",
        b"x",
        b"2024-01-02T03:04:05",
        b"1970-01-01 00:00:00",
        b"2024-01-02 03:04:05 ",
        b"12",
        b"2024-06-31",
    ];
    for sql_type in types {
        println!("{sql_type}");
        let Some(bench) = Bench::new("utf8mb4", &format!("(id INT, v {sql_type})")) else { return };
        bench.compare(&counted(&values));
    }
}

#[test]
fn bytes_and_text_go_over_in_both_forms() {
    let types = [
        "VARCHAR(9) CHARACTER SET utf8mb4",
        "CHAR(5) CHARACTER SET latin1",
        "TEXT CHARACTER SET ucs2",
        "VARCHAR(9) CHARACTER SET utf16",
        "VARCHAR(9) CHARACTER SET utf32",
        "VARCHAR(9) CHARACTER SET sjis",
        "VARBINARY(6)",
        "BINARY(4)",
        "BLOB",
        "TINYTEXT",
        "JSON",
        "ENUM('a','b''c','\u{e9}','7') CHARACTER SET utf8mb4",
        "SET('a','b') CHARACTER SET latin1",
        "UUID",
        "INET6",
        "INET4",
        "BIT(24)",
    ];
    let values: [&[u8]; 27] = [
        b"",
        b"a",
        b"A",
        b"a'b\\c",
        b"\t\n\r\0\x1a",
        b"\\N",
        b"NULL",
        b"'",
        b"b'c",
        b"2",
        b"a,b",
        b"3",
        "\u{e9}".as_bytes(),
        "\u{20ac}x".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\xff\xfe",
        b"\xe2\x82",
        b"abcdefghij",
        b"abcdefghi   ",
        b"{\"a\": [1, \"\\u00e9\"]}",
        b"{",
        b"\xed\xa0\x80",
        b"::1",
        b"127.0.0.1",
        b"123e4567-e89b-12d3-a456-426655440000",
        "\u{8868}\u{7533}".as_bytes(),
        b"\x01N",
    ];
    for charset in ["utf8mb4", "latin1", "binary"] {
        each_type(charset, &types, &values);
    }
}

/// Characters whose second byte is a backslash or a bar.
#[test]
fn characters_of_several_bytes_go_over_in_both_forms() {
    let types = [
        "VARCHAR(9) CHARACTER SET utf8mb4",
        "VARCHAR(9) CHARACTER SET sjis",
        "TEXT CHARACTER SET gbk",
        "CHAR(5) CHARACTER SET ucs2",
        "VARBINARY(6)",
        "INT",
        "ENUM('a','\u{8868}') CHARACTER SET sjis",
        "GEOMETRY",
        "JSON",
    ];
    let values: [&[u8]; 15] = [
        b"",
        b"a\\b",
        b"\x95\x5c",
        b"\x95\x5c\x95\x5c",
        b"\x81\x7c",
        b"\x95",
        b"x\x95",
        b"7",
        b"\x5c\x95",
        b"\xb1\xb2",
        b"a\t\n\x01",
        b"\x01N",
        b"\xff",
        b"\"\x95\x5c\"",
        b"\0\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf0\x3f",
    ];
    for charset in ["sjis", "cp932", "gbk", "big5", "euckr", "ujis", "swe7", "koi8r"] {
        let strict: Vec<&str> = types.iter().copied().filter(|&name| name != "GEOMETRY").collect();
        each_type(charset, &strict, &values);
    }
}

/// What cannot be converted here is handed over as it is.
#[test]
fn geometry_is_passed_on() {
    let point: &[u8] = b"\0\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\xf0\x3f\x09\x0a\x5c\x27\0\0\xf0\x3f";
    for charset in ["utf8mb4", "latin1", "gbk", "binary"] {
        let Some(bench) = Bench::new(charset, "(id INT, v GEOMETRY, w POINT)") else { return };
        let row = |number: &str, v: Option<&[u8]>, w: Option<&[u8]>| {
            vec![Some(number.into()), v.map(<[u8]>::to_vec), w.map(<[u8]>::to_vec)]
        };
        bench.compare(&[
            row("0", Some(point), None),
            row("1", None, Some(point)),
            row("2", Some(point), Some(point)),
        ]);
    }
}
