//! The server decides: what LOAD DATA makes of a file, row by row under strict mode, is what all
//! forms of our rows make of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod form;
mod missing_values;
mod modes;
mod numbers;
mod values;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use encode::inspected::Inspected;
use encode::rejects::Reject;
use job::options::{LoadOptions, OnDuplicate};
use locks::Mutex;
use schema::TableName;
use server::{ServerFacts, Session};
use sources::{Chunk, Dialect, FileSource, MultiByte, Source, SourceOptions};
use testkit::TestServer;

use crate::columns::Columns;
use crate::encoder::{Encoder, Numbers, Shared};
use crate::sender::parameters;
use crate::sender::statements::{Place, Statements};
use crate::sent_chunk::{Form, SentChunk};

/// Bytes that no value of a test has: between fields, after lines, before an escaped byte.
const SEPARATOR: u8 = 0x1e;
const TERMINATOR: u8 = 0x1f;
const ESCAPE: u8 = 0x1d;

/// A server's default `sql_mode`.
const SQL_MODE: &str = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// Bytes of a chunk: a few rows.
const CHUNK_BYTES: usize = 200;

type Row = Vec<Option<Vec<u8>>>;

/// A row of texts; `NULL` is none.
fn row(fields: &[&str]) -> Row {
    fields.iter().map(|&text| (text != "NULL").then(|| text.into())).collect()
}

/// A table four times in a database of its own, and a folder for its files: what the server makes
/// of the file, of our lines, tuples and values.
struct Bench {
    session: Session,
    database: String,
    folder: PathBuf,
    options: LoadOptions,
    /// `sql_mode` of their LOAD DATA.
    mode: String,
    /// Its columns, in parentheses.
    list: String,
    /// Statements before it.
    prepare: String,
}

/// Facts that are known before rows are encoded.
struct Ready {
    chunks: Vec<Chunk>,
    columns: Columns,
    numbers: Option<Numbers>,
    source: Mutex<FileSource>,
    files: Vec<PathBuf>,
}

impl Ready {
    fn encoder(&self) -> Encoder<'_> {
        let shared = Shared {
            columns: &self.columns,
            files: &self.files,
            rejects_max: u64::MAX,
            numbers: self.numbers.as_ref(),
        };
        Encoder::new(shared, self.source.lock().reader())
    }
}

impl Bench {
    /// None where no server is installed.
    fn new(charset: &str, table: &str) -> Option<Bench> {
        Some(Bench::on(server()?, charset, table))
    }

    fn on(server: &TestServer, charset: &str, table: &str) -> Bench {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        for name in ["theirs", "lines", "tuples", "values"] {
            session.exec(&format!("CREATE TABLE `{name}` {table}")).unwrap();
        }
        let folder = server.dir().join(&database);
        std::fs::create_dir(&folder).unwrap();
        let mut options = LoadOptions::new(vec![folder.join("all")], &database, "tuples");
        options.input.charset = charset.to_owned();
        options.input.dialect = Dialect {
            fields_terminated_by: vec![SEPARATOR],
            lines_terminated_by: vec![TERMINATOR],
            escaped_by: Some(ESCAPE),
            ..Dialect::mysql()
        };
        let mode = SQL_MODE.to_owned();
        let (list, prepare) = (String::new(), "DO 0".to_owned());
        Bench { session, database, folder, options, mode, list, prepare }
    }

    /// The fields go to these columns.
    fn columns(mut self, names: &[&str]) -> Bench {
        self.options.input.columns = Some(names.iter().map(|&name| name.to_owned()).collect());
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

    /// Both ways refuse the same rows, and make the same table of the others.
    fn compare(&mut self, rows: &[Row]) {
        let theirs = self.theirs(rows);
        self.compare_ours(rows, &theirs);
    }

    /// The same, where values depend on the rows before: theirs is one statement of all good rows.
    fn compare_whole(&mut self, rows: &[Row]) {
        let theirs = self.theirs(rows);
        self.session.exec("TRUNCATE theirs").unwrap();
        self.session.exec(&self.prepare.clone()).unwrap();
        let good = |(number, _): &(usize, &Row)| !theirs.contains(number);
        let good: Vec<&Row> = rows.iter().enumerate().filter(good).map(|(_, row)| row).collect();
        let path = self.write("good", &good);
        self.load_data(&path).unwrap();
        self.compare_ours(rows, &theirs);
    }

    fn compare_ours(&mut self, rows: &[Row], theirs: &[usize]) {
        let ours = self.ours(rows);
        let show = |numbers: &[usize]| -> Vec<String> {
            let row = |&number: &usize| format!("{:?}", rows[number]);
            numbers.iter().map(row).collect()
        };
        assert_eq!(ours, theirs, "ours {:#?}, theirs {:#?}", show(&ours), show(theirs));
        let wanted = self.rows_of("theirs");
        assert_eq!(wanted.len(), rows.len() - theirs.len());
        for name in ["lines", "tuples", "values"] {
            let seen = self.rows_of(name);
            for (seen, wanted) in seen.iter().zip(&wanted) {
                assert_eq!(seen, wanted, "{name}, {}", self.options.input.charset);
            }
            assert_eq!(seen.len(), wanted.len(), "{name}");
        }
        let sums = self
            .session
            .query("CHECKSUM TABLE theirs, `lines`, tuples, `values` EXTENDED")
            .unwrap();
        let sums: Vec<_> = sums.iter().map(|row| row.text_or_null(1).unwrap()).collect();
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    }

    /// Loads each row by a statement of its own; the numbers of those that strict mode refuses.
    fn theirs(&mut self, rows: &[Row]) -> Vec<usize> {
        let mut refused = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let path = self.write("one", &[row]);
            if self.load_data(&path).is_err() {
                refused.push(number);
            }
        }
        refused
    }

    fn load_data(&mut self, path: &Path) -> server::Result<()> {
        self.session.set(&[("sql_mode", &self.mode)]).unwrap();
        let sql = format!(
            "LOAD DATA INFILE '{}' INTO TABLE theirs CHARACTER SET {} FIELDS TERMINATED BY x'1e' \
             ESCAPED BY x'1d' LINES TERMINATED BY x'1f' {}",
            path.display(),
            self.options.input.charset,
            self.list
        );
        self.session.exec(&sql).map(drop)
    }

    /// Facts about the table and a file with these rows.
    fn ready(&mut self, rows: &[Row]) -> Ready {
        self.write("all", &rows.iter().collect::<Vec<_>>());
        let dialect = Dialect {
            charset: MultiByte::of_charset(&self.options.input.charset),
            ..self.options.input.dialect.clone()
        };
        let source_options = SourceOptions { chunk_bytes: CHUNK_BYTES, ..SourceOptions::default() };
        let files = self.options.input.files.clone();
        let mut source = FileSource::new(&files, &dialect, source_options).unwrap();
        let session = &mut self.session;
        session.set(&[("sql_mode", SQL_MODE)]).unwrap();
        let table = catalog::read(session, &TableName::new(&self.database, "tuples")).unwrap();
        let facts = ServerFacts::read(session).unwrap();
        let inspected =
            Inspected::of_table(session, &table, &facts, &self.options, &mut source).unwrap();
        let columns = Columns::new(session, &table, &inspected).unwrap();
        let numbers = Numbers::new(&columns, inspected.series);
        let mut chunks = Vec::new();
        let mut chunk = Chunk::default();
        while source.next_chunk(&mut chunk).unwrap() {
            chunks.push(chunk.clone());
        }
        Ready { chunks, columns, numbers, source: Mutex::new(source), files }
    }

    /// Loads all rows by all forms; the numbers of those that we refuse.
    fn ours(&mut self, rows: &[Row]) -> Vec<usize> {
        let ready = self.ready(rows);
        let file = std::fs::read(&ready.files[0]).unwrap();
        let ends = file.iter().enumerate().filter(|(_, byte)| **byte == TERMINATOR);
        let starts: Vec<u64> =
            std::iter::once(0).chain(ends.map(|(at, _)| at as u64 + 1)).collect();
        self.session.set(&[("sql_mode", &ready.columns.sql_mode())]).unwrap();
        let mut encoder = ready.encoder();
        let mut chunk = SentChunk::default();
        let mut refused = Vec::new();
        for input in &ready.chunks {
            chunk.input.clone_from(input);
            encoder.encode(&mut chunk, Form::Lines).unwrap();
            let lines = chunk.text.clone();
            self.send(&chunk, &ready.columns);
            encoder.encode_as(&mut chunk, Form::Tuples).unwrap();
            self.send(&chunk, &ready.columns);
            // Into the table of values go tuples where they cannot.
            let form = if ready.columns.are_values() { Form::Values } else { Form::Tuples };
            encoder.encode_as(&mut chunk, form).unwrap();
            self.send_into("values", &chunk, &ready.columns);
            encoder.encode_as(&mut chunk, Form::Lines).unwrap();
            assert!(lines == chunk.text, "the same text again");
            let row_of = |offset| starts.binary_search(&offset).unwrap();
            let mut rejects = Vec::new();
            let mut hand_on = |part| {
                rejects.extend::<Vec<Reject>>(part);
                Ok(())
            };
            let last = encoder.rejects(&chunk, Vec::new(), &mut hand_on).unwrap();
            rejects.extend(last);
            assert_eq!(rejects.len(), chunk.rejected.len());
            let offsets = rejects.iter().filter_map(|reject| reject.row.position.offset);
            refused.extend(offsets.map(row_of));
        }
        refused
    }

    fn send(&mut self, chunk: &SentChunk, columns: &Columns) {
        let table = match chunk.form {
            Form::Lines => "lines",
            Form::Tuples => "tuples",
            Form::Values => "values",
        };
        self.send_into(table, chunk, columns);
    }

    /// Loads a chunk; the server has nothing to say of any row.
    fn send_into(&mut self, table: &str, chunk: &SentChunk, columns: &Columns) {
        if chunk.rows.is_empty() {
            return;
        }
        let place = Place {
            table: TableName::new(&self.database, table),
            target: TableName::new(&self.database, table),
            charset: columns.file.name().to_owned(),
            escape: columns.escape,
            load_columns: columns.load_columns(),
            insert_columns: columns.names(),
            update_columns: columns.given_names(),
            rule: OnDuplicate::Fail,
        };
        let statements = Statements::new(place, self.session.version());
        let text = chunk.text_of(0..chunk.rows.len()).to_vec();
        let done = match chunk.form {
            Form::Lines => {
                self.session.load_local(&statements.load, std::io::Cursor::new(text)).unwrap()
            }
            Form::Tuples => {
                let text = String::from_utf8(text).expect("tuples are UTF-8");
                self.session.exec(&format!("{}{text}", statements.insert)).unwrap()
            }
            Form::Values => {
                let prepared = self.session.prepare(&statements.prepared(false), "").unwrap();
                let names = format!("SET NAMES {}", columns.file.name());
                self.session.exec(&names).unwrap();
                let rows = parameters::rows(&text, columns.names().len());
                let done = self.session.exec_bulk(&prepared, rows, "").unwrap();
                self.session.exec("SET NAMES utf8mb4").unwrap();
                done
            }
        };
        let said = if done.warnings > 0 { self.session.warnings().unwrap() } else { Vec::new() };
        assert!(said.iter().all(|warning| warning.level == "Note"), "{said:?}");
        assert_eq!(done.affected_rows, chunk.rows.len() as u64);
    }

    /// Every value in hexadecimal, in the order of `id`.
    fn rows_of(&mut self, name: &str) -> Vec<String> {
        let sql = format!(
            "SELECT GROUP_CONCAT(CONCAT('IFNULL(HEX(CAST(`', REPLACE(COLUMN_NAME,'`','``'), '` AS BINARY)),''-'')') \
             ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='{}' \
             AND TABLE_NAME='{name}'",
            self.database
        );
        self.session.set(&[("group_concat_max_len", "1000000"), ("sql_mode", "")]).unwrap();
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

/// Rows that the server refused stand among those that were rejected here.
#[test]
fn rejected_rows_come_in_input_order() {
    let Some(mut bench) = Bench::new("utf8mb4", "(a INT)") else { return };
    let rows: Vec<Row> = ["1", "x", "2", "y", "z", "3"].map(|a| row(&[a])).to_vec();
    let ready = bench.ready(&rows);
    let mut encoder = ready.encoder();
    let mut chunk = SentChunk { input: ready.chunks[0].clone(), ..SentChunk::default() };
    encoder.encode(&mut chunk, Form::Lines).unwrap();
    let mut none = |_| panic!("few rows are not handed on before the last ones");
    let ours = encoder.rejects(&chunk, Vec::new(), &mut none).unwrap();
    let values: Vec<_> = ours.iter().map(|reject| reject.row.value.as_deref().unwrap()).collect();
    assert_eq!(values, ["x", "y", "z"]);
    let of_server = |offset| {
        let mut reject = ours[0].clone();
        reject.row.position.offset = Some(offset);
        (offset as usize, reject)
    };
    // The first row, the third and the last: each takes two bytes.
    let refused = [0, 4, 10].map(of_server).to_vec();
    let all = encoder.rejects(&chunk, refused, &mut none).unwrap();
    let offsets: Vec<_> = all.iter().map(|reject| reject.row.position.offset.unwrap()).collect();
    assert_eq!(offsets, [0, 2, 4, 6, 8, 10]);
}
