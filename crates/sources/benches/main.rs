//! GB/s on one thread of cutting, scanning, and scanning with values, by kind of file and by instructions:
//! `cargo bench -p inrush-sources`; `-- dump` leaves out all but SQL dumps, `-- json` all but JSON. Best of several rounds; cutting
//! includes reading the file from the page cache and counting its lines.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod dump;
mod json;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use sources::dump::{SqlOptions, SqlReader};
use sources::{
    Batch, Chunk, Dialect, FieldKind, FileSource, Isa, ReadAs, Row, Rows, Source, SourceExt as _,
    SourceOptions, Value, Visit,
};
use sql::Literals;

const BYTES: usize = 64 << 20;
const ROUNDS: usize = 9;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    if std::env::args().any(|argument| argument == "dump") {
        return dump::run(folder.path());
    }
    if std::env::args().any(|argument| argument == "json") {
        return json::run(folder.path());
    }
    println!("{:<34}{:>10}{:>8}{:>8}{:>8}", "GB/s", "", "cut", "scan", "values");
    let path = folder.path().join("input");
    tuples(&path);
    for (name, dialect, text) in inputs() {
        fs::write(&path, &text).unwrap();
        let floor = best(text.len(), || read(&path));
        println!("{name:<34}{:>10}{floor:>8.1}", "read only");
        for isa in Isa::available() {
            let cut = best(text.len(), || {
                for_each_chunk(&path, &dialect, isa, |chunk| _ = black_box(chunk.bytes.len()));
            });
            let mut chunks = Vec::new();
            for_each_chunk(&path, &dialect, isa, |chunk| chunks.push(chunk.clone()));
            let mut reader = dialect.reader_with(isa);
            let mut batch = Batch::new();
            let scan = best(text.len(), || {
                for chunk in &chunks {
                    reader.read(chunk, &mut batch).unwrap();
                    black_box(batch.len());
                }
            });
            let values = best(text.len(), || {
                for chunk in &chunks {
                    reader.read(chunk, &mut batch).unwrap();
                    black_box(batch.visit(chunk, TakeValues));
                }
            });
            println!("{:<34}{:>10}{cut:>8.1}{scan:>8.1}{values:>8.1}", "", isa.name());
        }
    }
    dump::run(folder.path());
    json::run(folder.path());
}

/// The text before a row.
type Between = fn(usize) -> &'static str;

/// The same rows as INSERTs of mariadb-dump: the reader's way to rows.
fn tuples(path: &Path) {
    let styles: [(&str, Between); 3] = [
        ("sql: long INSERTs", |row| {
            if row.is_multiple_of(8000) { ";\nINSERT INTO `l` VALUES\n" } else { ",\n" }
        }),
        ("sql: INSERTs of one row", |_| ";\nINSERT INTO `l` VALUES "),
        ("sql: long INSERTs, no newlines", |row| {
            if row.is_multiple_of(8000) { ";\nINSERT INTO `l` VALUES " } else { "," }
        }),
    ];
    let rows = lines("|", "\n", str::to_owned);
    for (name, between) in styles {
        let mut text = Vec::with_capacity(2 * rows.len());
        for (row, line) in rows.split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let first = between(0).trim_start_matches(";\n").as_bytes();
            text.extend_from_slice(if row == 0 { first } else { between(row).as_bytes() });
            for (column, field) in line.split(|&byte| byte == b'|').enumerate() {
                text.push(if column == 0 { b'(' } else { b',' });
                let quote: &[u8] = if column < 8 { b"" } else { b"'" };
                text.extend_from_slice(&[quote, field, quote].concat());
            }
            text.push(b')');
        }
        text.extend_from_slice(b";\n");
        fs::write(path, &text).unwrap();
        let run = || {
            let mut reader = SqlReader::open(&[path.to_owned()], SqlOptions::default()).unwrap();
            reader.next().unwrap();
            reader.into_run(ReadAs::default()).unwrap().0
        };
        let mut chunk = Chunk::default();
        let mut chunks = Vec::new();
        let mut source = run();
        let exact = FieldKind::of_literals(Literals::Exact);
        let strings = FieldKind::of_literals(Literals::Text);
        let fields = [vec![exact; 8], vec![strings; 8]].concat();
        source.change(|read_as| read_as.fields.clone_from(&fields)).unwrap();
        while source.next_chunk(&mut chunk).unwrap() {
            chunks.push(chunk.clone());
        }
        let floor = best(text.len(), || read(path));
        println!("{name:<34}{:>10}{floor:>8.1}", "read only");
        for isa in Isa::available() {
            let cut = best(text.len(), || {
                let mut source = run().with_isa(isa);
                while source.next_chunk(&mut chunk).unwrap() {
                    black_box(chunk.bytes.len());
                }
            });
            let mut source = run().with_isa(isa);
            source.change(|read_as| read_as.fields.clone_from(&fields)).unwrap();
            let mut reader = source.reader();
            let mut batch = Batch::new();
            let scan = best(text.len(), || {
                for chunk in &chunks {
                    reader.read(chunk, &mut batch).unwrap();
                }
            });
            let values = best(text.len(), || {
                for chunk in &chunks {
                    reader.read(chunk, &mut batch).unwrap();
                    black_box(batch.visit(chunk, TakeValues));
                }
            });
            println!("{:<34}{:>10}{cut:>8.1}{scan:>8.1}{values:>8.1}", "", isa.name());
        }
    }
}

/// Kinds of files: lines like TPC-H's lineitem, about 8 bytes a field.
fn inputs() -> Vec<(&'static str, Dialect, Vec<u8>)> {
    let crlf = Dialect { lines_terminated_by: b"\r\n".to_vec(), ..Dialect::mysql() };
    let long = Dialect { fields_terminated_by: b"||".to_vec(), ..Dialect::mysql() };
    vec![
        ("tbl: |, no quotes, no escapes", Dialect::tbl(), lines("|", "|\n", str::to_owned)),
        ("mysql: tab, few escapes", Dialect::mysql(), lines("\t", "\n", escape)),
        ("mysql with CRLF", crlf, lines("\t", "\r\n", escape)),
        ("csv: comments quoted", Dialect::csv(), lines(",", "\r\n", quote_text)),
        ("csv: every field quoted", Dialect::csv(), lines(",", "\n", quote)),
        ("separator of two bytes", long, lines("||", "\n", escape)),
    ]
}

/// Escapes one comment in eight.
fn escape(field: &str) -> String {
    if field.contains("ly") { field.replace(' ', "\\\\") } else { field.to_owned() }
}

/// Quotes comments, one in eight with a doubled quote and a newline inside.
fn quote_text(field: &str) -> String {
    match field {
        _ if field.contains("ly") => quote(&field.replace(' ', "\"\"\n")),
        _ if field.contains(' ') => quote(field),
        _ => field.to_owned(),
    }
}

fn quote(field: &str) -> String {
    format!("\"{field}\"")
}

fn lines(separator: &str, line_end: &str, dress: fn(&str) -> String) -> Vec<u8> {
    let words = ["ironic", "deposits", "sleep", "the", "final", "packages", "quickly", "among"];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut text = String::with_capacity(BYTES + 1024);
    let mut order = 1;
    while text.len() < BYTES {
        order += random(3);
        let mut date = || format!("199{}-0{}-1{}", random(8), random(9) + 1, random(9));
        let dates = [date(), date(), date()];
        let comment: Vec<_> = (0..3).map(|_| words[random(8) as usize]).collect();
        let mut fields = vec![
            order.to_string(),
            random(200_000).to_string(),
            random(10_000).to_string(),
            random(7).to_string(),
            random(50).to_string(),
            format!("{}.{:02}", random(100_000), random(100)),
            format!("0.0{}", random(10)),
            format!("0.0{}", random(9)),
            ["A", "N", "R"][random(3) as usize].to_owned(),
            ["O", "F"][random(2) as usize].to_owned(),
        ];
        fields.extend(dates);
        fields.push(["DELIVER IN PERSON", "NONE", "COLLECT COD"][random(3) as usize].to_owned());
        fields.push(["TRUCK", "MAIL", "REG AIR"][random(3) as usize].to_owned());
        fields.push(comment.join(" "));
        let dressed: Vec<String> = fields.iter().map(|field| dress(field)).collect();
        text += &dressed.join(separator);
        text += line_end;
    }
    text.into_bytes()
}

/// Best speed of some rounds, in GB/s.
fn best(bytes: usize, mut work: impl FnMut()) -> f64 {
    let seconds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    bytes as f64 / seconds.fold(f64::INFINITY, f64::min) / 1e9
}

/// The floor of cutting: reading into one buffer.
fn read(path: &Path) {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 256 << 10];
    while file.read(&mut buffer).unwrap() > 0 {}
    black_box(&buffer);
}

fn for_each_chunk(path: &Path, dialect: &Dialect, isa: Isa, mut take: impl FnMut(&Chunk)) {
    let paths = [path.to_owned()];
    let mut source =
        FileSource::new(&paths, dialect, SourceOptions::default()).unwrap().with_isa(isa);
    let mut chunk = Chunk::default();
    while source.next_chunk(&mut chunk).unwrap() {
        take(&chunk);
    }
}

/// Touches each value as a converter would.
pub(crate) struct TakeValues;

impl Visit for TakeValues {
    type Output = usize;

    fn rows<R: Rows>(self, rows: R) -> usize {
        let mut scratch = Vec::new();
        let mut sum = 0;
        for row in rows.iter() {
            for field in 0..row.field_count() {
                if let Value::Bytes(bytes) = row.value(field, &mut scratch) {
                    sum += bytes.len();
                }
            }
        }
        sum
    }
}
