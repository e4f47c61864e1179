//! The builder against a plain list of records: every count around every boundary.

use innodb::allocator::Allocator;
use innodb::layout::Layout;
use innodb::leaf::LeafBatch;
use innodb::page::PageBytes;
use innodb::page_fill::Fill;
use innodb::record::{RecordWriter, TRX_ID_AND_ROLL_PTR};
use innodb::space_format::SpaceFormat;
use innodb::template::Template;
use innodb::tree::IndexBuilder;
use proptest::prelude::*;

use crate::store::{Store, Walk, template};

/// Two records on every page, however small.
const TWO_A_PAGE: Fill = Fill { leaf_reserve_bytes: 16_384, node_reserve_bytes: 16_384 };

type Records = Vec<(Vec<u8>, usize)>;

/// `count` records of index `kc`: 4 characters and an id, no lengths, no nulls.
fn fixed_records(count: u32) -> Records {
    (0..count)
        .map(|id| {
            let [mut record, data] = [vec![0; 5], [*b"char", id.to_be_bytes()].concat()];
            record.extend_from_slice(&data);
            (record, 5)
        })
        .collect()
}

/// Rows of the clustered index, `lens` bytes of text in each.
fn rows(template: &Template, lens: &[(usize, bool)]) -> Records {
    let mut writer = RecordWriter::new(&template.indexes[0].shape);
    let mut records = Vec::new();
    for (id, (len, is_null)) in lens.iter().enumerate() {
        writer.begin();
        let text = vec![b'x'; *len];
        let key = (id as u32).to_be_bytes();
        let (trx_id, roll_ptr) = TRX_ID_AND_ROLL_PTR.split_at(6);
        let a: &[u8] = if *is_null { b"" } else { b"abc" };
        for (field, is_null) in [
            (&key[..], false),
            (trx_id, false),
            (roll_ptr, false),
            (a, *is_null),
            (&text, false),
            (b"char", false),
            (b"", true),
            (b"", true),
        ] {
            writer.data().extend_from_slice(field);
            writer.end_field(is_null, false);
        }
        let record = writer.finish();
        records.push((record.bytes.to_vec(), record.origin));
    }
    records
}

/// Builds one index of the template from batches, the others empty.
fn build<'a>(
    template: &Template,
    number: usize,
    fill: Fill,
    batches: impl Iterator<Item = &'a [(Vec<u8>, usize)]>,
) -> (Store, Allocator) {
    let (mut store, mut allocator) = (Store::default(), Allocator::new(template));
    let index = &template.indexes[number];
    let mut builder = IndexBuilder::new(index, fill);
    let mut batch = LeafBatch::new(index, fill, 4);
    for records in batches {
        for (record, origin) in records {
            batch.push(record, *origin).unwrap();
        }
        for (offset, bytes) in builder.append(&mut batch, &mut allocator).unwrap().seal().writes() {
            store.write(offset, bytes);
        }
    }
    for index in template.indexes.iter().filter(|other| other.root != index.root) {
        for page in IndexBuilder::new(index, fill).finish(0, &mut allocator).unwrap() {
            store.write(page.page_no.file_offset(), &page.bytes[..]);
        }
    }
    for page in builder.finish(7, &mut allocator).unwrap() {
        store.write(page.page_no.file_offset(), &page.bytes[..]);
    }
    (store, allocator)
}

/// Builds and walks; the tree must hold exactly the records and own exactly the pages.
fn check(number: usize, fill: Fill, records: &Records, batch: usize) -> Walk {
    let (_, template) = template();
    let (mut store, allocator) = build(&template, number, fill, records.chunks(batch));
    store.finish(&template, &allocator);
    let index = &template.indexes[number];
    let walk = store.walk(index.root, &index.shape);
    assert_eq!(walk.records.len(), records.len());
    for ((seen, seen_origin), (expected, origin)) in walk.records.iter().zip(records) {
        assert_eq!(seen_origin, origin);
        let without_header = |record: &[u8]| [&record[..origin - 5], &record[*origin..]].concat();
        assert_eq!(without_header(seen), without_header(expected));
    }
    // 4 roots, 3 other pages of the template, and this tree.
    assert_eq!(store.pages.len(), 4 + 3 + walk.pages.len() - 1, "pages written and not reached");
    walk
}

#[test]
fn every_count_up_to_a_tree_of_seven_levels_in_every_batch_size() {
    let records = fixed_records(130);
    for count in 0..=130 {
        for batch in [1, 2, 3, 4, 5, 64, 1_000] {
            let walk = check(3, TWO_A_PAGE, &records[..count].to_vec(), batch);
            if batch == 1_000 {
                let leaves = count.div_ceil(2).max(1);
                assert_eq!(u32::from(walk.levels), leaves.next_power_of_two().ilog2() + 1);
            }
        }
    }
}

#[test]
fn every_count_around_a_full_page() {
    for fill in [Fill::default(), Fill::FULL] {
        // 13 bytes a record and half a directory slot.
        let room = 16_252 - fill.leaf_reserve_bytes;
        let fits = |n: usize| 13 * n + (2 * n).div_ceil(4) <= room;
        let full = (1..).take_while(|n| fits(*n)).last().unwrap();
        for count in [1, 2, 3, full - 1, full, full + 1, full + 2, 2 * full, 2 * full + 1] {
            let records = fixed_records(count as u32);
            let walk = check(3, fill, &records, usize::MAX);
            let leaves = count.div_ceil(full);
            assert_eq!(walk.pages.len(), leaves + usize::from(leaves > 1), "{count} records");
        }
    }
}

/// Each of 20,000 row groups of a row began a page: 330 MB.
#[test]
fn batches_of_few_records_share_leaves() {
    let records = fixed_records(20_000);
    let pages = |batch| check(3, Fill::default(), &records, batch).pages.len();
    let whole = pages(usize::MAX);
    for batch in [1, 7, 50] {
        assert!((whole..=whole + 1).contains(&pages(batch)), "batches of {batch}");
    }
    // Half of a page stays empty at most.
    assert!(pages(700) <= 2 * whole);
}

#[test]
fn three_levels_and_whole_extents() {
    let walk = check(
        3,
        Fill { leaf_reserve_bytes: 15_000, node_reserve_bytes: 13_000 },
        &fixed_records(60_000),
        5_000,
    );
    assert_eq!(walk.levels, 3);
    assert!(walk.pages.len() > 500);
}

#[test]
fn a_record_too_large_is_an_error_and_adds_nothing() {
    let (_, template) = template();
    let mut batch = LeafBatch::new(&template.indexes[0], Fill::default(), 1);
    let too_large = rows(&template, &[(8_100, false)]).swap_remove(0);
    let text = batch.push(&too_large.0, too_large.1).unwrap_err().to_string();
    assert_eq!(text, "a record of 8133 bytes does not fit a page, which has room for 8125");
    assert!(batch.is_empty());
    let records = rows(&template, &[(8_000, false); 2]);
    batch.push(&records[0].0, records[0].1).unwrap();
    batch.push(&too_large.0, too_large.1).unwrap_err();
    batch.push(&records[1].0, records[1].1).unwrap();
    assert_eq!(batch.pages(), 1);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "records are pushed in order of key")]
fn a_record_that_is_not_greater_is_noticed_in_debug_builds() {
    let (_, template) = template();
    let mut batch = LeafBatch::new(&template.indexes[3], Fill::default(), 1);
    for (record, origin) in [5, 6, 5].map(|id| fixed_records(7)[id].clone()) {
        batch.push(&record, origin).unwrap();
    }
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "batches are appended in order of key")]
fn a_batch_that_comes_too_late_is_noticed_in_debug_builds() {
    let (_, template) = template();
    let records = fixed_records(2_000);
    let (early, late) = records.split_at(1_000);
    build(&template, 3, Fill::default(), [late, early].into_iter());
}

#[test]
#[should_panic(expected = "a batch is appended once")]
fn pages_that_were_numbered_and_not_sealed_are_noticed() {
    let (_, template) = template();
    let index = &template.indexes[3];
    let mut allocator = Allocator::new(&template);
    let mut builder = IndexBuilder::new(index, Fill::default());
    let mut batch = LeafBatch::new(index, Fill::default(), 1);
    let (record, origin) = fixed_records(1).swap_remove(0);
    batch.push(&record, origin).unwrap();
    drop(builder.append(&mut batch, &mut allocator).unwrap());
    drop(builder.append(&mut batch, &mut allocator));
}

#[test]
fn one_stream_of_batches_fills_pages_as_one_batch_does() {
    let (_, template) = template();
    let records = fixed_records(20_000);
    let (whole, _) = build(&template, 3, Fill::default(), [&records[..]].into_iter());

    let index = &template.indexes[3];
    let (mut store, mut allocator) = (Store::default(), Allocator::new(&template));
    let mut builder = IndexBuilder::new(index, Fill::default());
    let mut batch = LeafBatch::new(index, Fill::default(), 1);
    for part in records.chunks(2_717) {
        for (record, origin) in part {
            batch.push(record, *origin).unwrap();
        }
        let appended = builder.append_closed(&mut batch, &mut allocator).unwrap();
        for (offset, bytes) in appended.seal().writes() {
            store.write(offset, bytes);
        }
    }
    for (offset, bytes) in builder.append(&mut batch, &mut allocator).unwrap().seal().writes() {
        store.write(offset, bytes);
    }
    for page in builder.finish(0, &mut allocator).unwrap() {
        store.write(page.page_no.file_offset(), &page.bytes[..]);
    }
    let pages = |store: &Store| {
        store
            .walk(index.root, &index.shape)
            .pages
            .iter()
            .map(|p| store.pages[p].clone())
            .collect::<Vec<_>>()
    };
    assert!(pages(&whole) == pages(&store));
}

/// A page of a server's file without its LSN.
fn unstamped(ibd: &[u8], page_no: u32) -> PageBytes {
    let mut page: PageBytes = ibd.as_chunks().0[page_no as usize];
    page[16..24].fill(0);
    page[16_376..16_380].fill(0);
    SpaceFormat::MariaDb.seal(&mut page);
    page
}

#[test]
fn an_empty_index_is_the_root_the_server_made() {
    let (_, template) = template();
    let ibd: &[u8] = include_bytes!("../testdata/mariadb-10.11/t.ibd");
    let mut allocator = Allocator::new(&template);
    for index in &template.indexes {
        let builder = IndexBuilder::new(index, Fill::default());
        let root = builder.finish(0, &mut allocator).unwrap().swap_remove(0);
        let expected = unstamped(ibd, index.root);
        assert!(root.bytes[..] == expected[..], "root of {}", index.name);
    }
    let layout = Layout::new(&template, &allocator);
    assert_eq!(layout.size_bytes(), ibd.len() as u64);
    for (page_no, page) in layout.pages() {
        let expected = unstamped(ibd, page_no.0);
        assert!(page[..] == expected[..], "{page_no:?}");
    }
}

#[test]
fn a_segment_alone_gets_long_runs_around_descriptor_pages() {
    let (_, template) = template();
    let mut allocator = Allocator::new(&template);
    let mut ranges = Vec::new();
    allocator.allocate(template.indexes[0].leaf_segment, 40_000, &mut ranges).unwrap();
    // Pages 0 to 6 are the template's, the 32 after them single pages of extent 0.
    let last = 32_832..32_832 + (40_000 - 32 - 16_320 - 16_320);
    assert_eq!(ranges, [7..39, 64..16_384, 16_448..32_768, last]);
    // Fragments go on in extent 0, then in the extents of the descriptor pages.
    let mut singles = Vec::new();
    for index in &template.indexes {
        allocator.allocate(index.top_segment, 31, &mut singles).unwrap();
    }
    assert_eq!(singles, [39..64, 16_386..16_448, 32_770..32_807]);
    let layout = Layout::new(&template, &allocator);
    let numbers: Vec<u32> = layout.pages().map(|(page_no, _)| page_no.0).collect();
    assert_eq!(numbers, [0, 1, 16_384, 16_385, 32_768, 32_769, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn rows_of_any_size_come_back(
        lens in proptest::collection::vec((prop_oneof![0usize..40, 0usize..900, 7000usize..8000], any::<bool>()), 0..400),
        leaf_reserve_bytes in prop_oneof![Just(0usize), Just(1024), 0usize..16_384],
        node_reserve_bytes in prop_oneof![Just(0usize), Just(16_384), 16_000usize..16_250],
        batch in prop_oneof![1usize..10, 1usize..500],
    ) {
        let (_, template) = template();
        let fill = Fill { leaf_reserve_bytes, node_reserve_bytes };
        check(0, fill, &rows(&template, &lens), batch);
    }
}
