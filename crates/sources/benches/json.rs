//! JSON: how fast records are cut, their fields found, and their values taken.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use sources::{Batch, Dialect, Isa, Reader};

use crate::{TakeValues, best, for_each_chunk, lines, read};

const NAMES: [&str; 16] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

pub(crate) fn run(folder: &Path) {
    println!("\n{:<34}{:>8}{:>8}{:>8}{:>8}", "GB/s", "read", "cut", "fields", "values");
    let path = folder.join("input.json");
    for (name, is_lines, escapes) in [
        ("json: lines", true, false),
        ("json: lines, escapes", true, true),
        ("json: one array", false, false),
    ] {
        let text = records(is_lines, escapes);
        fs::write(&path, &text).unwrap();
        let dialect = Dialect::json(is_lines);
        let floor = best(text.len(), || read(&path));
        let cut = best(text.len(), || {
            for_each_chunk(&path, &dialect, Isa::best(), |chunk| _ = black_box(chunk.bytes.len()));
        });
        let mut chunks = Vec::new();
        for_each_chunk(&path, &dialect, Isa::best(), |chunk| chunks.push(chunk.clone()));
        let (mut reader, mut batch) = (reader(&path, &dialect), Batch::new());
        let mut scan = |takes: bool| {
            best(text.len(), || {
                for chunk in &chunks {
                    reader.read(chunk, &mut batch).unwrap();
                    black_box(if takes { batch.visit(chunk, TakeValues) } else { batch.len() });
                }
            })
        };
        let (fields, values) = (scan(false), scan(true));
        println!("{name:<34}{floor:>8.1}{cut:>8.1}{fields:>8.2}{values:>8.2}");
    }
}

/// A reader of all fields of a file.
fn reader(path: &Path, dialect: &Dialect) -> Box<dyn Reader> {
    use sources::{FileSource, Source, SourceOptions};
    let mut source =
        FileSource::new(&[path.to_owned()], dialect, SourceOptions::default()).unwrap();
    assert_eq!(source.start().unwrap().names.unwrap().len(), NAMES.len());
    source.reader()
}

/// Rows like those of TPC-H's lineitem.
fn records(is_lines: bool, escapes: bool) -> Vec<u8> {
    let rows = lines("|", "\n", str::to_owned);
    let mut text = Vec::with_capacity(3 * rows.len());
    text.extend_from_slice(if is_lines { b"" } else { b"[" });
    for line in rows.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).unwrap();
        let fields = NAMES.iter().zip(line.split('|')).map(|(name, value)| {
            let is_number = value.parse::<f64>().is_ok();
            match (is_number, escapes) {
                (true, _) => format!("\"{name}\":{value}"),
                (false, false) => format!("\"{name}\":\"{value}\""),
                (false, true) => format!("\"{name}\":\"\\\"{value}\\n\""),
            }
        });
        let end = if is_lines { "}\n" } else { "},\n" };
        text.extend_from_slice(
            format!("{{{}{end}", fields.collect::<Vec<_>>().join(",")).as_bytes(),
        );
    }
    if !is_lines {
        text.truncate(text.len() - 2);
        text.push(b']');
    }
    text
}
