//! Nanoseconds a record to fill, number and checksum leaf pages. No I/O.
//!
//! Time on the processor where the system tells it, so that a busy machine disturbs less; the
//! best of several rounds.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use innodb::allocator::Allocator;
use innodb::cfg::Cfg;
use innodb::leaf::LeafBatch;
use innodb::page_fill::Fill;
use innodb::record::{RecordWriter, TRX_ID_AND_ROLL_PTR};
use innodb::template::Template;
use innodb::tree::IndexBuilder;

const RECORDS: u32 = 6_000_000;
const PAGES_PER_BATCH: usize = 64;

fn main() {
    let cfg = Cfg::parse(include_bytes!("../testdata/mariadb-10.11/t.cfg")).unwrap();
    let ibd = include_bytes!("../testdata/mariadb-10.11/t.ibd");
    let template = Template::parse(ibd, &cfg).unwrap();
    let row = row(&template, 128 - 41);
    let entry = ([vec![0; 5], vec![7; 20]].concat(), 5);
    report("push, 128-byte row", || push(&template, 0, &row));
    report("push, number and seal, 128-byte row", || push_and_seal(&template, 0, &row));
    report("push, 25-byte entry", || push(&template, 3, &entry));
    report("push, number and seal, 25-byte entry", || push_and_seal(&template, 3, &entry));
    report("encode a row of 8 fields", || encode(&template));
}

fn report(what: &str, mut work: impl FnMut()) {
    let best = (0..5).map(|_| {
        let start = now_ns();
        work();
        (now_ns() - start) as f64 / f64::from(RECORDS)
    });
    println!("{what}: {:.1} ns", best.fold(f64::INFINITY, f64::min));
}

/// Nanoseconds this thread was on a processor, or of the wall clock.
fn now_ns() -> u128 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = times.split(' ').next().and_then(|ns| ns.parse().ok());
    on_cpu.unwrap_or_else(|| START.get_or_init(Instant::now).elapsed().as_nanos())
}

/// A row whose text makes it `text + 41` bytes.
fn row(template: &Template, text: usize) -> (Vec<u8>, usize) {
    let mut writer = RecordWriter::new(&template.indexes[0].shape);
    encode_row(&mut writer, 1, &vec![b'x'; text]);
    let record = writer.finish();
    (record.bytes.to_vec(), record.origin)
}

fn encode_row(writer: &mut RecordWriter, id: u32, text: &[u8]) {
    writer.begin();
    let (trx_id, roll_ptr) = TRX_ID_AND_ROLL_PTR.split_at(6);
    let key = id.to_be_bytes();
    for field in [&key[..], trx_id, roll_ptr, b"abc", text, b"char", b"text", b"decim"] {
        writer.data().extend_from_slice(field);
        writer.end_field(false, false);
    }
}

fn encode(template: &Template) {
    let mut writer = RecordWriter::new(&template.indexes[0].shape);
    let text = [b'x'; 40];
    for id in 0..RECORDS {
        encode_row(&mut writer, id, &text);
        black_box(writer.finish());
    }
}

fn push(template: &Template, index: usize, record: &(Vec<u8>, usize)) {
    let mut batch = LeafBatch::new(&template.indexes[index], Fill::default(), PAGES_PER_BATCH + 1);
    for _ in 0..RECORDS {
        batch.push(black_box(&record.0), record.1).unwrap();
        if batch.pages() > PAGES_PER_BATCH {
            batch.clear();
        }
    }
}

fn push_and_seal(template: &Template, index: usize, record: &(Vec<u8>, usize)) {
    let index = &template.indexes[index];
    let mut allocator = Allocator::new(template);
    let mut builder = IndexBuilder::new(index, Fill::default());
    let mut batch = LeafBatch::new(index, Fill::default(), PAGES_PER_BATCH + 1);
    let mut bytes = 0;
    for _ in 0..RECORDS {
        batch.push(black_box(&record.0), record.1).unwrap();
        if batch.pages() > PAGES_PER_BATCH {
            let sealed = builder.append_closed(&mut batch, &mut allocator).unwrap().seal();
            bytes += sealed.writes().map(|(_, bytes)| bytes.len()).sum::<usize>();
        }
    }
    black_box(bytes);
}
