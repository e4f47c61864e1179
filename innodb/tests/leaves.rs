//! Leaves that are carried over: all records that count, in order, whatever lies around them.

use innodb::ids::PageNo;
use innodb::leaves::{LeafPointers, LeafRecords, LiveRecord, read_leaves};
use innodb::page::AlignedPage;
use innodb::reader::SpaceReader;
use innodb::record::{DELETED, RECORD_HEADER};
use innodb::source::ReadError;
use innodb::template::Template;

use crate::sample::Image;

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
            errors += usize::from(carried(&image, 0).is_err());
        }
    }
    assert!(errors > 30, "{errors}");
}
