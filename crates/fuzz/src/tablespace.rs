//! Tablespaces: read, verified, shown and taken as a template, whatever their pages say. A record that is
//! read stands where records stand, and all of it on its page.

use std::mem::offset_of;

use innodb::blob::BlobReference;
use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::index_page::{INFIMUM, PAGE_HEADER, PageHeader, SUPREMUM};
use innodb::reader::{Record, SpaceReader};
use innodb::record::RecordShape;
use innodb::space_format::SpaceFormat;
use innodb::template::Template;
use innodb::value_reader::ValueReader;
use innodb::verify::{Context, Writer};
use inspect::{PageView, Survey};

const MARIADB_CFG: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/t.cfg");
const MYSQL_CFG: &[u8] = include_bytes!("../../innodb/testdata/mysql-9.7/items.cfg");
/// Records that one run reads of an index: chains may go round.
const RECORDS_MAX: usize = 10_000;
/// Records whose off-page values are read, and bytes of the longest of these: pages may go round too.
const VALUE_RECORDS_MAX: usize = 100;
const VALUE_BYTES_MAX: usize = 200_000;

pub(crate) fn run(bytes: &[u8]) {
    let ([more], file) = crate::choices(bytes);
    let mut file = file.to_vec();
    let format = SpaceFormat::of_first_page(&file).unwrap_or(SpaceFormat::MariaDb);
    // Damage below a right checksum gets further.
    if more & 1 != 0 {
        file.as_chunks_mut().0.iter_mut().for_each(|page| format.seal(page));
    }
    let cfg = match format {
        SpaceFormat::MariaDb => MARIADB_CFG,
        SpaceFormat::MySql => MYSQL_CFG,
    };
    let cfg = Cfg::parse(cfg).unwrap();
    let size = file.len() as u64;
    let known = Context { writer: Writer::Server, cfg: Some(&cfg), collations: &|_, _| None };
    for context in [known, Context::unknown()] {
        for verify in [false, true] {
            let _ = Survey::read(&file, size, context, verify);
        }
    }
    let _ = Template::parse(&file, &cfg);
    for page_no in 0..file.len() / PAGE_SIZE {
        let _ = PageView::read(&file, PageNo(page_no as u32));
    }
    let Ok(reader) = SpaceReader::open(&file, size) else { return };
    let mut values = ValueReader::default();
    for root in reader.indexes() {
        for index in &cfg.indexes {
            let Ok(shape) = RecordShape::leaf(&cfg, index) else { continue };
            let Ok(mut records) = reader.records(PageNo(root.root), &shape) else { continue };
            assert!(!is_node_of_nothing(&file, root.root), "{root:?} leads to no leaf");
            for nth in 0..RECORDS_MAX {
                match records.advance() {
                    Ok(Some(record)) => {
                        check(&record, shape.fields.len());
                        if nth < VALUE_RECORDS_MAX {
                            read_values(&record, format, &file, &mut values);
                        }
                    }
                    _ => break,
                }
            }
        }
    }
}

/// A record is none of the two that every page begins with, nor of what stands before them.
fn check(record: &Record<'_>, fields: usize) {
    assert!(record.origin > SUPREMUM, "a record at {} of {:?}", record.origin, record.page_no);
    assert_eq!(record.fields.len(), fields);
    (0..fields).for_each(|at| _ = record.field(at));
}

/// Off-page values are as long as their references say, or an error.
fn read_values(record: &Record<'_>, format: SpaceFormat, file: &Vec<u8>, values: &mut ValueReader) {
    let mut value = Vec::new();
    for (at, _) in record.fields.iter().enumerate().filter(|(_, span)| span.is_external) {
        let reference = record.field(at).and_then(BlobReference::at_end);
        let Some(reference) = reference.filter(|of| of.bytes() <= VALUE_BYTES_MAX) else {
            continue;
        };
        value.clear();
        if values.read(format, file, &reference, &mut value).is_ok() {
            assert_eq!(value.len(), reference.bytes());
        }
    }
}

/// True if a page is above the leaves, and has no record that leads to one.
fn is_node_of_nothing(file: &[u8], page_no: u32) -> bool {
    let Some(page) = file.chunks_exact(PAGE_SIZE).nth(page_no as usize) else { return false };
    let number = |at: usize| u16::from_be_bytes([page[at], page[at + 1]]);
    let first = usize::from(number(INFIMUM - 2).wrapping_add(INFIMUM as u16));
    number(PAGE_HEADER + offset_of!(PageHeader, level)) != 0 && first <= SUPREMUM
}
