//! Leaves that are carried over: all records that count, in order, whatever lies around them.

use innodb::allocator::Allocator;
use innodb::finder::FieldFinder;
use innodb::ids::PageNo;
use innodb::leaf::LeafBatch;
use innodb::leaves::{LeafPointers, LeafRecords, LiveRecord, check_links, read_leaves};
use innodb::page::AlignedPage;
use innodb::reader::SpaceReader;
use innodb::record::{DELETED, RECORD_HEADER};
use innodb::source::ReadError;
use innodb::template::Template;
use innodb::tree::IndexBuilder;

use crate::sample::{FILL, Image};

/// Pages read at once: fewer than leaves, so that there are several turns.
const PAGES: usize = 5;

fn template(image: &Image) -> Template {
    let ibd = include_bytes!("../testdata/mariadb-10.11/t.ibd");
    Template::parse(ibd, &image.cfg).unwrap()
}

/// The data of all records that count of index `at`, and how many leaves have them.
fn carried(image: &Image, at: usize) -> Result<(Vec<Vec<u8>>, usize), ReadError> {
    let template = template(image);
    let index = &template.indexes[at];
    let pages = (image.file.len() / 16_384) as u32;
    let mut pointers = LeafPointers::new(&image.file, PageNo(index.root), &index.shape, pages)?;
    let mut leaves = Vec::new();
    while let Some(pointer) = pointers.advance()? {
        assert_eq!(pointer.key.is_none(), leaves.is_empty(), "all but the first have a key");
        leaves.push(pointer.leaf);
    }
    assert!(pointers.advance()?.is_none(), "the end stays the end");
    let records = LeafRecords::new(index);
    let (mut room, mut order) = (vec![AlignedPage::ZERO; PAGES], Vec::new());
    let (mut live, mut found) = (Vec::<LiveRecord>::new(), Vec::new());
    for some in leaves.chunks(PAGES) {
        read_leaves(&image.file, some, &mut room, &mut order)?;
        for (leaf, page) in some.iter().zip(&room) {
            records.live(*leaf, &page.0, &mut live)?;
            found.extend(live.iter().map(|record| record.data(&page.0).to_vec()));
        }
    }
    Ok((found, leaves.len()))
}

/// The same, by the reader that goes along the links of the leaves, and where each is in the file.
fn read(image: &Image, at: usize) -> Vec<(Vec<u8>, usize)> {
    let space = SpaceReader::open(&image.file, image.file.len() as u64).unwrap();
    let index = &template(image).indexes[at];
    let mut records = space.records(PageNo(index.root), &index.shape).unwrap();
    let mut found = Vec::new();
    while let Some(record) = records.advance().unwrap() {
        let end = record.fields.last().map_or(record.origin, |field| field.start + field.len);
        let place = record.page_no.file_offset() as usize + record.origin;
        if !record.is_deleted {
            found.push((record.page[record.origin..end].to_vec(), place));
        }
    }
    found
}

#[test]
fn leaves_have_the_records_of_their_index_in_order() {
    let image = Image::built();
    for at in 0..template(&image).indexes.len() {
        let (found, leaves) = carried(&image, at).unwrap();
        let expected: Vec<Vec<u8>> = read(&image, at).into_iter().map(|(data, _)| data).collect();
        assert!(found == expected && leaves > 2 * PAGES, "index {at}: {} of {leaves}", found.len());
    }
}

#[test]
fn deleted_records_are_left_out() {
    let mut image = Image::built();
    for at in 0..template(&image).indexes.len() {
        let mut left: Vec<(Vec<u8>, usize)> = read(&image, at);
        // The first of all, and then some; so that a page may have none left.
        let deleted =
            |position: usize| position.is_multiple_of(7) || (100..400).contains(&position);
        for (_, place) in left.iter().enumerate().filter(|(at, _)| deleted(*at)).map(|(_, at)| at) {
            image.file[place - RECORD_HEADER] |= DELETED;
        }
        let mut position = 0..;
        left.retain(|_| !deleted(position.next().unwrap_or_default()));
        let (found, _) = carried(&image, at).unwrap();
        assert!(found == left.into_iter().map(|(data, _)| data).collect::<Vec<_>>(), "index {at}");
    }
}

#[test]
fn wanted_fields_are_those_of_the_whole_record_in_the_order_wanted() {
    let image = Image::built();
    let template = template(&image);
    let (mut page, mut order) = ([AlignedPage::ZERO, AlignedPage::ZERO], Vec::new());
    let (mut live, mut all, mut with_null, mut elsewhere) = (Vec::new(), Vec::new(), 0, 0);
    for index in &template.indexes {
        let records = LeafRecords::new(index);
        let wanted: Vec<usize> = (0..index.shape.fields.len()).rev().collect();
        let mut finder = FieldFinder::new(&records, &wanted);
        let pages = (image.file.len() / 16_384) as u32;
        let mut pointers =
            LeafPointers::new(&image.file, PageNo(index.root), &index.shape, pages).unwrap();
        let mut before = pointers.advance().unwrap().unwrap().leaf;
        while let Some(pointer) = pointers.advance().unwrap() {
            let leaves = [pointer.leaf, before];
            before = pointer.leaf;
            read_leaves(&image.file, &leaves, &mut page, &mut order).unwrap();
            records.live(leaves[0], &page[0].0, &mut live).unwrap();
            for record in &live {
                records.fields(&page[0].0, *record, &mut all).unwrap();
                all.reverse();
                assert_eq!(finder.find(&page[0].0, *record).unwrap(), all);
                with_null += usize::from(all.iter().any(|span| span.is_null));
                // On another page it is none, or there is one in that place.
                elsewhere += usize::from(finder.find(&page[1].0, *record).is_err());
            }
        }
    }
    assert!(with_null > 100 && elsewhere > 100, "{with_null} {elsewhere}");
}

#[test]
fn what_contradicts_the_format_is_an_error_and_no_panic() {
    let sound = Image::built();
    let leaf = {
        let index = &template(&sound).indexes[0];
        let pages = (sound.file.len() / 16_384) as u32;
        let mut pointers =
            LeafPointers::new(&sound.file, PageNo(index.root), &index.shape, pages).unwrap();
        pointers.advance().unwrap().unwrap().leaf as usize * 16_384
    };
    let root = template(&sound).indexes[0].root as usize * 16_384;
    let mut errors = 0;
    for byte in (0..4_000).step_by(3) {
        for (page, value) in [(leaf, 0xFF), (leaf, 0), (root, 0xFF), (root, 1)] {
            let mut image = sound.clone();
            image.file[page + byte] = value;
            image.seal((page / 16_384) as u32);
            errors += usize::from(carried(&image, 0).is_err());
        }
    }
    assert!(errors > 30, "{errors}");
}

/// Such a page had rows left out or doubled by an export, or kept it running for ever.
#[test]
fn a_page_above_the_leaves_is_checked_before_it_leads_to_them() {
    let sound = Image::built();
    let page = sound.level(0, 1)[1];
    let origins = sound.origins(page);
    let record = origins[origins.len() / 2];
    let next = |to: usize| (to.wrapping_sub(record) as u16).to_be_bytes();
    let other = sound.level(1, 1)[0].to_be_bytes();
    for (what, offset, bytes, is_sealed) in [
        ("checksum", 4000, &[0x5A; 1][..], false),
        ("FIL_PAGE_OFFSET", 4, &other[..], true),
        ("PAGE_LEVEL", 64, &[0, 2], true),
        ("PAGE_INDEX_ID", 66, &[0; 8], true),
        ("PAGE_N_RECS", 54, &[0, 1], true),
        ("PAGE_N_RECS", record - 2, &next(origins[0]), true),
        ("PAGE_N_RECS", record - 2, &next(112), true),
        ("next page", 12, &page.to_be_bytes(), true),
    ] {
        let mut image = sound.clone();
        image.page_mut(page)[offset..offset + bytes.len()].copy_from_slice(bytes);
        if is_sealed {
            image.seal(page);
        }
        let error = carried(&image, 0).unwrap_err().to_string();
        assert!(error.contains(what), "{what}: {error}");
    }
}

/// The page above the leaves was of an earlier state, so an export left out the leaves that came since.
#[test]
fn a_leaf_is_linked_with_the_leaves_that_the_pages_above_name() {
    let image = Image::built();
    let index = &template(&image).indexes[0];
    let mut pointers =
        LeafPointers::new(&image.file, PageNo(index.root), &index.shape, image.pages()).unwrap();
    let mut leaves = Vec::new();
    while let Some(pointer) = pointers.advance().unwrap() {
        leaves.push(pointer.leaf);
    }
    let check = |leaves: &[u32]| {
        leaves.iter().enumerate().try_for_each(|(at, leaf)| {
            let before = at.checked_sub(1).map(|before| leaves[before]);
            let page = image.page(*leaf).first_chunk().unwrap();
            check_links(*leaf, page, [before, leaves.get(at + 1).copied()])
        })
    };
    check(&leaves).unwrap();
    let without = |at: usize| [&leaves[..at], &leaves[at + 1..]].concat();
    for wrong in [without(0), without(7), without(leaves.len() - 1)] {
        let error = check(&wrong).unwrap_err().to_string();
        assert!(error.contains("the leaf there by the pages above"), "{error}");
    }
}

/// A builder's result from the leaves of index `at`: from their records, or from whole pages.
fn rebuilt(image: &Image, at: usize, whole: bool) -> (Vec<(u64, Vec<u8>)>, usize) {
    let template = template(image);
    let index = &template.indexes[at];
    let pages = (image.file.len() / 16_384) as u32;
    let mut pointers =
        LeafPointers::new(&image.file, PageNo(index.root), &index.shape, pages).unwrap();
    let (mut allocator, mut builder) = (Allocator::new(&template), IndexBuilder::new(index, FILL));
    let (mut batch, records) = (LeafBatch::new(index, FILL, 1), LeafRecords::new(index));
    let (mut page, mut live, mut order) = ([AlignedPage::ZERO], Vec::new(), Vec::new());
    let (mut writes, mut taken) = (Vec::new(), 0);
    while let Some(pointer) = pointers.advance().unwrap() {
        read_leaves(&image.file, &[pointer.leaf], &mut page, &mut order).unwrap();
        records.live(pointer.leaf, &page[0].0, &mut live).unwrap();
        if whole && batch.takes_page(&page[0].0, &live) {
            batch.push_page(&page[0].0, live[0]).unwrap();
            taken += 1;
        } else {
            for record in &live {
                batch.push(record.bytes(&page[0].0), record.origin()).unwrap();
            }
        }
        if batch.pages() > 3 {
            let sealed = builder.append_closed(&mut batch, &mut allocator).unwrap().seal();
            writes.extend(sealed.writes().map(|(offset, bytes)| (offset, bytes.to_vec())));
        }
    }
    let sealed = builder.append(&mut batch, &mut allocator).unwrap().seal();
    writes.extend(sealed.writes().map(|(offset, bytes)| (offset, bytes.to_vec())));
    let last = builder.finish(7, &mut allocator).unwrap();
    writes.extend(last.iter().map(|page| (page.page_no.file_offset(), page.bytes.to_vec())));
    let mut pages: Vec<(u64, Vec<u8>)> = Vec::new();
    for (offset, bytes) in writes {
        let pages_of = bytes.chunks(16_384).zip((offset..).step_by(16_384));
        pages.extend(pages_of.map(|(page, offset)| (offset, page.to_vec())));
    }
    pages.sort();
    (pages, taken)
}

#[test]
fn pages_that_are_taken_whole_are_those_that_their_records_make() {
    let image = Image::built();
    for at in 0..template(&image).indexes.len() {
        let (of_records, _) = rebuilt(&image, at, false);
        let (of_pages, taken) = rebuilt(&image, at, true);
        assert!(taken > PAGES, "index {at}: {taken} pages were taken");
        assert!(of_pages == of_records, "index {at}");
    }
}

#[test]
fn a_page_with_anything_else_on_it_is_not_taken_whole() {
    let image = Image::built();
    let template = template(&image);
    let index = &template.indexes[0];
    let pages = (image.file.len() / 16_384) as u32;
    let mut pointers =
        LeafPointers::new(&image.file, PageNo(index.root), &index.shape, pages).unwrap();
    let leaf = pointers.advance().unwrap().unwrap().leaf;
    let (mut page, mut live, records) = ([AlignedPage::ZERO], Vec::new(), LeafRecords::new(index));
    read_leaves(&image.file, &[leaf], &mut page, &mut Vec::new()).unwrap();
    records.live(leaf, &page[0].0, &mut live).unwrap();
    let batch = LeafBatch::new(index, FILL, 1);
    assert!(batch.takes_page(&page[0].0, &live));
    // A record that does not count; one that begins elsewhere; and by the header: deleted bytes, a record
    // in the heap that is in no chain, half the page empty.
    assert!(!batch.takes_page(&page[0].0, &live[1..]));
    assert!(!batch.takes_page(&page[0].0, &[&live[1..], &live[..1]].concat()));
    for (at, value) in [(44, [0, 120]), (46, [0, 9]), (42, [0x80, 250]), (40, [0, 200])] {
        let mut other = page[0].clone();
        other.0[at..at + 2].copy_from_slice(&value);
        assert!(!batch.takes_page(&other.0, &live), "byte {at}");
    }
}
