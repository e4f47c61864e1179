//! Files that somebody made to keep the reader busy.

use std::time::{Duration, Instant};

use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::reader::SpaceReader;
use innodb::record::RecordShape;
use innodb::verify::{Context, PageSummary, Verifier, verify_space};

/// Pages of inodes: each holds 85, so ten times this would still be a small file.
const INODE_PAGES: usize = 1_500;

/// A server's file, its list of inode pages made long: every slot of every page is a segment, and
/// each has for its root a page that names a segment which is nowhere.
fn hostile() -> Vec<u8> {
    let sound = include_bytes!("../testdata/mariadb-10.11/t.ibd");
    let mut file = sound[..PAGE_SIZE].to_vec();
    // Pages 1: the root of all. PAGE_BTR_SEG_TOP at byte 84.
    let mut root = vec![0; PAGE_SIZE];
    root[24..26].copy_from_slice(&17_855_u16.to_be_bytes());
    root[84..94].fill(0xFE);
    file.extend(root);
    for number in 0..INODE_PAGES {
        let mut page = vec![0; PAGE_SIZE];
        page[24..26].copy_from_slice(&3_u16.to_be_bytes());
        page[38..50].fill(0xFF);
        if number + 1 < INODE_PAGES {
            page[44..48].copy_from_slice(&(number as u32 + 3).to_be_bytes());
            page[48..50].copy_from_slice(&38_u16.to_be_bytes());
        }
        for slot in 0..85 {
            let (at, id) = (50 + 192 * slot, (number * 85 + slot + 1) as u64);
            page[at..at + 8].copy_from_slice(&id.to_be_bytes());
            page[at + 64..at + 192].fill(0xFF);
            page[at + 64..at + 68].copy_from_slice(&1_u32.to_be_bytes());
        }
        file.extend(page);
    }
    // FSP_SEG_INODES_FULL: from page 2 on.
    file[122..128].copy_from_slice(&[0, 0, 0, 2, 0, 38]);
    file
}

#[test]
fn pages_of_many_inodes_are_read_in_time_that_grows_as_the_file_does() {
    let file = hostile();
    let begun = Instant::now();
    let verifier = Verifier::new(&file, file.len() as u64, Context::unknown()).unwrap();
    let map = verifier.map();
    assert_eq!(map.inode_pages.len(), INODE_PAGES);
    assert_eq!(map.segments.len(), 85 * INODE_PAGES);
    let mut summaries = vec![PageSummary::default(); map.pages as usize];
    verifier.summarise(PageNo(0), &file, &mut summaries);
    verifier.count(&summaries);
    let report = verify_space(&file, file.len() as u64, Context::unknown()).unwrap();
    assert!(!report.violations.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[test]
fn records_in_a_circle_end_with_an_error() {
    let cfg = Cfg::parse(include_bytes!("../testdata/mariadb-10.11/orders.cfg")).unwrap();
    let mut file = include_bytes!("../testdata/mariadb-10.11/orders.ibd").to_vec();
    let (root, bytes) = (PageNo(cfg.indexes[0].root), file.len() as u64);
    let shape = RecordShape::leaf(&cfg, &cfg.indexes[0]).unwrap();
    let space = SpaceReader::open(&file, bytes).unwrap();
    let mut records = space.records(root, &shape).unwrap();
    let first = records.advance().unwrap().unwrap();
    let origin = first.page_no.file_offset() as usize + first.origin;
    // The record behind it is itself.
    file[origin - 2..origin].fill(0);
    let space = SpaceReader::open(&file, bytes).unwrap();
    let mut records = space.records(root, &shape).unwrap();
    let error = loop {
        match records.advance() {
            Ok(record) => assert!(record.is_some(), "the circle has ended"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("next record"), "{error}");
}
