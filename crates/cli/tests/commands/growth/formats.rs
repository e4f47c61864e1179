//! Inputs of other formats than plain text, of so many pieces.

use std::io::{Cursor, Write as _};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{End, many};

/// A kind of input: its name, its file's ending, how many pieces the smaller one has, how its command ends, and the
/// file of so many.
pub(super) type Format = (&'static str, &'static str, usize, End, fn(usize) -> Vec<u8>);

/// Fewer columns than a table can have.
const COLUMNS: usize = 1_000;

pub(super) const FORMATS: [Format; 14] = [
    ("fields of a record", "jsonl", 2_000, End::Done, |n| {
        let fields = many(n, |at| format!(",\"c{}\":1", at % COLUMNS));
        format!("{{\"a\":1{fields}}}\n").into_bytes()
    }),
    ("names of records", "jsonl", 1_000, End::Done, |n| {
        many(n, |at| format!("{{\"c{}\":1}}\n", at % COLUMNS)).into_bytes()
    }),
    ("nested records", "jsonl", 100, End::Done, |n| many(n, |_| nested(100)).into_bytes()),
    ("levels", "jsonl", 20_000, End::Refused(2, "with at most 100 levels"), |n| {
        nested(n).into_bytes()
    }),
    ("records", "jsonl", 2_000, End::Done, |n| {
        many(n, |at| format!("{{\"a\":{at}}}\n")).into_bytes()
    }),
    ("records of an array", "json", 2_000, End::Done, |n| {
        format!("[{}{{\"a\":1}}]", many(n, |at| format!("{{\"a\":{at}}},"))).into_bytes()
    }),
    ("columns of Parquet", "parquet", 60, End::Done, |n| parquet(&row(n), 1)),
    ("row groups", "parquet", 100, End::Done, |n| parquet(&row(1), n)),
    ("columns of Arrow", "arrow", 60, End::Done, |n| arrow(&row(n), 1)),
    ("batches", "arrow", 500, End::Done, |n| arrow(&row(1), n)),
    ("rows of a sheet", "xlsx", 2_000, End::Done, |n| {
        let rows = many(n, |at| format!("<row><c><v>{at}</v></c></row>"));
        workbook(1, &rows, "")
    }),
    ("sheets", "xlsx", 1_000, End::Done, |n| workbook(n, "<row><c><v>1</v></c></row>", "")),
    ("shared texts", "xlsx", 4_000, End::Done, |n| {
        let texts = many(n, |at| format!("<si><t>x{at}</t></si>"));
        workbook(1, "<row><c t='s'><v>1</v></c></row>", &texts)
    }),
    ("members of an archive", "csv.gz", 50, End::Done, |n| {
        (0..n).flat_map(|at| member(&format!("{at},x\n"))).collect()
    }),
];

/// A record of so many levels.
fn nested(levels: usize) -> String {
    format!("{}1{}\n", "{\"a\":".repeat(levels), "}".repeat(levels))
}

/// A row of so many columns.
fn row(columns: usize) -> RecordBatch {
    let column = |at| (format!("c{at}"), Arc::new(Int32Array::from(vec![1])) as ArrayRef);
    RecordBatch::try_from_iter((0..columns).map(column)).unwrap()
}

fn parquet(row: &RecordBatch, groups: usize) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), row.schema(), None).unwrap();
    for _ in 0..groups {
        writer.write(row).unwrap();
        writer.flush().unwrap();
    }
    writer.into_inner().unwrap()
}

fn arrow(row: &RecordBatch, batches: usize) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &row.schema()).unwrap();
    for _ in 0..batches {
        writer.write(row).unwrap();
    }
    writer.into_inner().unwrap()
}

/// A workbook whose sheets have these rows, and cells of these texts.
fn workbook(sheets: usize, rows: &str, texts: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, text: &str| {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    };
    let relationship = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='x/{kind}' Target='{target}'/>")
    };
    let all = |text: String| format!("<Relationships>{text}</Relationships>");
    add("_rels/.rels", &all(relationship("a", "relationships/officeDocument", "xl/workbook.xml")));
    let of_sheets = many(sheets, |at| {
        relationship(&format!("s{at}"), "worksheet", &format!("sheets/{at}.xml"))
    });
    add(
        "xl/_rels/workbook.xml.rels",
        &all(of_sheets + &relationship("t", "sharedStrings", "sharedStrings.xml")),
    );
    let names = many(sheets, |at| format!("<sheet name='S{at}' r:id='s{at}'/>"));
    add("xl/workbook.xml", &format!("<workbook><sheets>{names}</sheets></workbook>"));
    add("xl/sharedStrings.xml", &format!("<sst>{texts}</sst>"));
    let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    (0..sheets).for_each(|at| add(&format!("xl/sheets/{at}.xml"), &sheet));
    zip.finish().unwrap().into_inner()
}

fn member(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}
