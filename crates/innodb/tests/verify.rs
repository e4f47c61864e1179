//! The verifier on sound files and on every way of breaking one.

use innodb::ids::{FIL_NULL, PAGE_SIZE};
use innodb::verify::{Context, Report, Rule, Writer, verify_space};

use crate::sample::Image;

/// Asserts that a rule is reported for a page, and only where `image` was broken.
#[track_caller]
fn assert_reported(image: &Image, page_no: u32, rule: Rule) {
    for (nth, report) in reports(image).into_iter().enumerate() {
        let kept = report.violations.kept();
        // Without owners another rule of the same page may be found broken first.
        let found = kept
            .iter()
            .find(|corrupt| corrupt.page.0 == page_no && (corrupt.rule == rule || nth > 0));
        assert!(found.is_some(), "no {rule:?} for page {page_no} in {kept:#?}");
        let text = found.unwrap().to_string();
        assert!(text.starts_with(&format!("page {page_no}")), "{text}");
    }
}

/// The report of the file, and, if it was built, that of pages verified before it was written.
fn reports(image: &Image) -> Vec<Report> {
    let mut reports = vec![image.verify()];
    if image.writer == Writer::Loader {
        reports.push(image.verify_early(7, 5));
    }
    reports
}

#[track_caller]
fn assert_clean(report: &Report) {
    let first = report.violations.kept().iter().take(5).map(ToString::to_string);
    assert!(report.violations.is_empty(), "{:#?}", first.collect::<Vec<_>>());
}

#[test]
fn a_built_file_keeps_every_rule() {
    let image = Image::built();
    let report = image.verify();
    let ways = [(1, 2), (1, usize::MAX), (7, 5), (64, 3), (1000, usize::MAX)];
    for (run_pages, left_out) in ways {
        let early = image.verify_early(run_pages, left_out);
        assert_eq!(format!("{early:?}"), format!("{report:?}"));
    }
    assert_clean(&report);
    assert!(report.unchecked.is_empty() && report.notes.is_empty());
    let names: Vec<_> = report.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["PRIMARY", "ka", "kb", "kc"]);
    for index in &report.indexes {
        assert_eq!((index.records(), index.deleted), (3_000, 0));
        assert!(index.levels.len() >= 2, "{index:?}");
    }
    assert_eq!(report.indexes[0].levels.len(), 3);
    let (off_page, pages) = (image.of_type(10).len(), image.pages());
    assert!(off_page > 30 && pages > 500, "{off_page} of {pages} pages");
}

#[test]
fn a_file_without_cfg_is_checked_as_far_as_that_goes() {
    let image = Image::built();
    let context = Context { cfg: None, writer: Writer::Loader, ..Context::unknown() };
    let report = verify_space(&image.file, image.file.len() as u64, context).unwrap();
    assert_clean(&report);
    assert_eq!(report.notes.len(), 1);
    assert_eq!(report.indexes.len(), 4);
}

#[test]
fn a_collation_not_known_is_named_and_its_order_unchecked() {
    let mut image = Image::built();
    swap_keys(&mut image, 1);
    let context = Context { cfg: Some(&image.cfg), writer: Writer::Loader, ..Context::unknown() };
    let report = verify_space(&image.file, image.file.len() as u64, context).unwrap();
    assert_clean(&report);
    let unchecked: Vec<_> =
        report.unchecked.iter().map(|field| (field.index.as_str(), field.collation)).collect();
    assert_eq!(unchecked, [("ka", 8), ("kb", 45), ("kc", 8)]);
}

/// A byte anywhere in any kind of page that is in use.
#[test]
fn a_flipped_byte_breaks_the_checksum() {
    let sound = Image::built();
    let kinds = [
        0,
        1,
        2,
        3,
        sound.level(0, 0)[5],
        sound.level(0, 1)[1],
        sound.level(2, 0)[7],
        sound.of_type(10)[3],
    ];
    for page_no in kinds {
        // Page 0 must say what it is before its checksum counts.
        for offset in [40, 300, 9_000, PAGE_SIZE - 6, PAGE_SIZE - 1] {
            let mut image = sound.clone();
            image.page_mut(page_no)[offset] ^= 0x10;
            assert_reported(&image, page_no, Rule::Checksum);
        }
    }
}

/// Flips a bit of every byte that means something, with the checksum made right again. In a leaf
/// only bytes that are not data: another value may be as good.
#[test]
fn a_flipped_bit_under_a_right_checksum_is_noticed() {
    let sound = Image::built();
    let leaf = sound.level(3, 0)[9];
    let node = sound.level(0, 1)[1];
    let mut unnoticed = Vec::new();
    for page_no in [leaf, node] {
        let heap_top = usize::from(sound.u16(page_no, 40));
        let directory = PAGE_SIZE - 8 - 2 * usize::from(sound.u16(page_no, 38));
        let data: Vec<_> = match page_no == leaf {
            true => sound.origins(leaf).into_iter().flat_map(|origin| origin..origin + 8).collect(),
            false => Vec::new(),
        };
        // Enough of the heap for every kind of record: owners and others.
        let heap_end = heap_top.min(500);
        for offset in (0..heap_end).chain(directory..PAGE_SIZE - 4) {
            // Flush LSN: the import clears it. Maximal transaction: the import sets it.
            let means_nothing = [26..34, 56..64].iter().any(|range| range.contains(&offset));
            if means_nothing || data.contains(&offset) {
                continue;
            }
            let mut image = sound.clone();
            let byte = image.page(page_no)[offset] ^ 1 << (offset % 8);
            image.set(page_no, offset, &[byte]);
            if image.verify().violations.is_empty() {
                unnoticed.push((page_no, offset));
            }
        }
    }
    assert_eq!(unnoticed, []);
}

/// Breaks the parts that every page has.
#[test]
fn a_wrong_frame_is_reported() {
    let sound = Image::built();
    let leaf = sound.level(0, 0)[5];
    let cases: [(usize, &[u8], Rule); 6] = [
        (0, &[0, 0, 0, 1], Rule::Encrypted),
        (4, &[0, 0, 0, 9], Rule::PageNumber),
        (34, &[0, 0, 0, 99], Rule::SpaceId),
        (PAGE_SIZE - 8, &[0, 0, 0, 1], Rule::Lsn),
        (24, &[0, 10], Rule::OffPage),
        (24, &[0, 6], Rule::PageType),
    ];
    for (offset, bytes, rule) in cases {
        let mut image = sound.clone();
        image.set(leaf, offset, bytes);
        assert_reported(&image, leaf, rule);
    }
    // Roots of a table altered instantly and of a SPATIAL index, which are never built.
    for page_type in [18_u16, 17_854] {
        let mut image = sound.clone();
        image.set(3, 24, &page_type.to_be_bytes());
        assert_reported(&image, 3, Rule::PageType);
    }
    // Records of the old format.
    let mut image = sound.clone();
    let records = sound.u16(leaf, 42) & 0x7FFF;
    image.set(leaf, 42, &records.to_be_bytes());
    assert_reported(&image, leaf, Rule::PageHeader);
    let mut image = sound.clone();
    image.page_mut(leaf).fill(0);
    assert_reported(&image, leaf, Rule::FreePage);
    let mut image = sound.clone();
    let free = sound.pages() - 1;
    image.page_mut(free)[4..8].copy_from_slice(&free.to_be_bytes());
    let space_id = sound.u32(0, 34).to_be_bytes();
    image.set(free, 34, &space_id);
    assert_reported(&image, free, Rule::FreePage);
}

#[test]
fn a_wrong_size_is_reported() {
    let sound = Image::built();
    for wrong in [sound.pages() - 64, sound.pages() + 64, sound.pages() - 1] {
        let mut image = sound.clone();
        image.set(0, 46, &wrong.to_be_bytes());
        assert_reported(&image, 0, Rule::FileSize);
    }
    for pages in [sound.pages() - 1, sound.pages() / 2] {
        let mut image = sound.clone();
        image.file.truncate(pages as usize * PAGE_SIZE);
        assert_reported(&image, 0, Rule::FileSize);
    }
    let mut image = sound.clone();
    image.file.truncate(sound.file.len() - 100);
    assert_reported(&image, sound.pages() - 1, Rule::FileSize);
    for limit in [0, 100, sound.pages() + 64] {
        let mut image = sound.clone();
        image.set(0, 50, &limit.to_be_bytes());
        assert_reported(&image, 0, Rule::FreeLimit);
    }
}

/// Extents of the sample: 0 is for single pages, 1 and up belong to segments.
const DESCRIPTOR: usize = 150;

#[test]
fn broken_extents_and_lists_are_reported() {
    let sound = Image::built();
    let extent = |index: usize| DESCRIPTOR + 40 * index;
    let cases: [(usize, &[u8], Rule); 12] = [
        // Extents: state, owner, clean bits.
        (extent(1) + 20, &[0, 0, 0, 1], Rule::Extent),
        (extent(1) + 20, &[0, 0, 0, 0], Rule::Extent),
        (extent(1), &[0, 0, 0, 0, 0, 0, 0, 99], Rule::Extent),
        (extent(2) + 24, &[0], Rule::Extent),
        // List nodes: previous and next.
        (extent(1) + 8, &[0, 0, 0, 0, 0, 158], Rule::List),
        (extent(1) + 14, &[0, 0, 0, 0, 0, 158], Rule::List),
        (extent(1) + 14, &[0, 0, 0, 0, 0, 159], Rule::List),
        (extent(1) + 14, &[0, 0, 0, 7, 0, 158], Rule::List),
        // List bases: count, first, last.
        (78, &[0, 0, 0, 9], Rule::List),
        (82, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0], Rule::List),
        (88, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0], Rule::List),
        // Used pages of the extents for single pages.
        (58, &[0, 0, 0, 1], Rule::UsedCount),
    ];
    for (offset, bytes, rule) in cases {
        let mut image = sound.clone();
        image.set(0, offset, bytes);
        let report = image.verify();
        let kept = report.violations.kept();
        assert!(kept.iter().any(|corrupt| corrupt.rule == rule), "{offset} {rule:?} {kept:#?}");
    }
}

#[test]
fn a_list_of_segments_pages_that_lies_is_reported() {
    let sound = Image::built();
    // FSP_SEG_INODES_FREE: count, first, last; the node on page 2.
    let none = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0];
    let cases: [(u32, usize, &[u8], u32); 4] =
        [(0, 134, &[0, 0, 0, 2], 0), (0, 144, &none, 0), (2, 38, &[0; 6], 2), (2, 44, &[0; 6], 2)];
    for (page_no, offset, bytes, blamed) in cases {
        let mut image = sound.clone();
        image.set(page_no, offset, bytes);
        assert_reported(&image, blamed, Rule::List);
    }
    let mut image = sound.clone();
    image.set(0, 138, &none);
    assert_reported(&image, 3, Rule::Root);
}

#[test]
fn a_page_with_a_wrong_owner_is_reported() {
    let sound = Image::built();
    let fragments = |inode: usize| 50 + 192 * inode + 64;

    // A used page marked as free, in a segment's extent and among the single pages.
    for leaf in [*sound.level(0, 0).last().unwrap(), 3] {
        let mut image = sound.clone();
        let offset = DESCRIPTOR + 40 * (leaf as usize / 64) + 24 + (leaf as usize % 64) / 4;
        let bits = image.page(0)[offset] | 1 << (leaf % 4 * 2);
        image.set(0, offset, &[bits]);
        assert_reported(&image, leaf, Rule::FreePage);
    }
    // A page in two segments.
    let mut image = sound.clone();
    let page = image.u32(2, fragments(1));
    image.set(2, fragments(3) + 4 * 31, &page.to_be_bytes());
    assert_reported(&image, 2, Rule::PageOwner);
    // A page no segment has.
    let mut image = sound.clone();
    image.set(2, fragments(1), &FIL_NULL.to_be_bytes());
    assert_reported(&image, page, Rule::PageOwner);
    // A leaf of another index.
    let mut image = sound.clone();
    let (one, other) = (image.u32(2, fragments(1)), image.u32(2, fragments(3)));
    image.set(2, fragments(1), &other.to_be_bytes());
    image.set(2, fragments(3), &one.to_be_bytes());
    let report = image.verify();
    let kept = report.violations.kept();
    assert!(
        kept.iter().any(|corrupt| matches!(corrupt.rule, Rule::PageOwner | Rule::PageType)),
        "{kept:#?}"
    );
    // A page outside the file, a free page.
    for wrong in [sound.pages() + 5, 63] {
        let mut image = sound.clone();
        let slot = if image.u32(2, fragments(6) + 4 * 31) == FIL_NULL { 31 } else { 30 };
        image.set(2, fragments(6) + 4 * slot, &wrong.to_be_bytes());
        assert_reported(&image, 2, Rule::PageOwner);
    }
}

#[test]
fn a_broken_inode_is_reported() {
    let sound = Image::built();
    let inode = 50 + 192;
    let cases: [(usize, &[u8], Rule); 5] = [
        (inode + 60, &[1, 2, 3, 4], Rule::Segment),
        (inode, &[0, 0, 0, 0, 0, 0, 0, 200], Rule::Segment),
        (inode + 8, &[0, 0, 0, 63], Rule::UsedCount),
        (inode + 28, &[0, 0, 0, 0], Rule::List),
        (inode + 50, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0], Rule::List),
    ];
    for (offset, bytes, rule) in cases {
        let mut image = sound.clone();
        image.set(2, offset, bytes);
        let report = image.verify();
        let kept = report.violations.kept();
        assert!(kept.iter().any(|corrupt| corrupt.rule == rule), "{offset} {rule:?} {kept:#?}");
    }
    // A root that names another index's segment, or none.
    let mut image = sound.clone();
    let other = image.page(4)[74..84].to_vec();
    image.set(3, 74, &other);
    assert_reported(&image, 4, Rule::Segment);
    let mut image = sound.clone();
    image.set(3, 82, &[0, 51]);
    assert_reported(&image, 3, Rule::Segment);
}

#[test]
fn a_broken_record_chain_is_reported() {
    let sound = Image::built();
    let leaf = sound.level(0, 0)[5];
    let origins = sound.origins(leaf);
    let (first, second, third) = (origins[0], origins[1], origins[2]);
    let skip = ((third - first) as u16).to_be_bytes();
    let circle = ((first as u16).wrapping_sub(second as u16)).to_be_bytes();
    let owner = *origins.iter().find(|origin| sound.page(leaf)[**origin - 5] & 15 != 0).unwrap();
    let number = sound.page(leaf)[second - 4..second - 2].to_vec();
    let cases: [(usize, &[u8], Rule); 17] = [
        (first - 2, &skip, Rule::RecordBounds),
        (second - 2, &circle, Rule::HeapNumber),
        (second - 2, &[0x30, 0x00], Rule::RecordChain),
        (second - 2, &[0, 0], Rule::HeapNumber),
        (third - 4, &number, Rule::HeapNumber),
        (third - 4, &[0x7F, 0xF8], Rule::HeapNumber),
        (third - 3, &[sound.page(leaf)[third - 3] | 1], Rule::RecordStatus),
        (third - 5, &[0x10], Rule::MinRecord),
        (third - 5, &[0x20], Rule::DeleteMark),
        (third - 5, &[0x40], Rule::RecordStatus),
        (owner - 5, &[3], Rule::Directory),
        (owner - 5, &[0], Rule::Directory),
        (PAGE_SIZE - 12, &[0, 120], Rule::Directory),
        (PAGE_SIZE - 10, &[0, 100], Rule::Directory),
        (107, &[9], Rule::Directory),
        (99, b"infimus\0", Rule::SystemRecord),
        (112, b"supremus", Rule::SystemRecord),
    ];
    for (offset, bytes, rule) in cases {
        let mut image = sound.clone();
        image.set(leaf, offset, bytes);
        let report = image.verify();
        let rules: Vec<_> = report
            .violations
            .kept()
            .iter()
            .filter(|corrupt| corrupt.page.0 == leaf)
            .map(|corrupt| corrupt.rule)
            .collect();
        assert_eq!(rules.first(), Some(&rule), "byte {offset}: {:#?}", report.violations.kept());
    }
}

#[test]
fn a_wrong_page_header_is_reported() {
    let sound = Image::built();
    let leaf = sound.level(0, 0)[5];
    let cases: [(usize, &[u8], Rule); 12] = [
        (38, &[0, 1], Rule::PageHeader),
        (38, &[0x7F, 0xFF], Rule::PageHeader),
        (40, &[0, 100], Rule::PageHeader),
        (40, &[0x3F, 0xFF], Rule::PageHeader),
        (42, &[0x80, 1], Rule::PageHeader),
        (42, &[0xFF, 0xFF], Rule::PageHeader),
        (44, &[0, 200], Rule::PageHeader),
        (46, &[0, 200], Rule::PageHeader),
        (54, &[0, 1], Rule::PageHeader),
        (64, &[0, 1], Rule::PageOwner),
        (66, &[0, 0, 0, 0, 0, 0, 0, 1], Rule::PageOwner),
        (74, &[0, 0, 0, 5], Rule::PageHeader),
    ];
    for (offset, bytes, rule) in cases {
        let mut image = sound.clone();
        image.set(leaf, offset, bytes);
        assert_reported(&image, leaf, rule);
    }
}

#[test]
fn system_columns_that_a_transaction_wrote_are_reported() {
    let mut image = Image::built();
    let leaf = image.level(0, 0)[5];
    let first = image.origins(leaf)[0];
    image.set(leaf, first + 4 + 5, &[7]);
    assert_reported(&image, leaf, Rule::SystemColumn);
}

/// Exchanges the keys of two records of a leaf: of fixed length, so that all else stays right.
fn swap_keys(image: &mut Image, index: usize) -> u32 {
    // The last but two: those of ka begin with NULLs.
    let leaf = *image.level(index, 0).iter().rev().nth(2).unwrap();
    let origins = image.origins(leaf);
    let len = if index == 0 { 4 } else { 15 };
    let keys: Vec<_> = origins[5..7]
        .iter()
        .map(|origin| image.page(leaf)[*origin..*origin + len].to_vec())
        .collect();
    assert_ne!(keys[0], keys[1]);
    image.set(leaf, origins[5], &keys[1]);
    image.set(leaf, origins[6], &keys[0]);
    leaf
}

#[test]
fn records_out_of_order_are_reported() {
    let sound = Image::built();
    for index in [0, 1] {
        let mut image = sound.clone();
        let leaf = swap_keys(&mut image, index);
        assert_reported(&image, leaf, Rule::Order);
    }
    // Equal keys.
    let mut image = sound.clone();
    let leaf = sound.level(0, 0)[3];
    let origins = sound.origins(leaf);
    let key = sound.page(leaf)[origins[1]..origins[1] + 4].to_vec();
    image.set(leaf, origins[2], &key);
    assert_reported(&image, leaf, Rule::Order);
    // Descending, NULLs last: the last record made the largest.
    let mut image = sound.clone();
    let leaf = sound.level(2, 0)[3];
    let last = *sound.origins(leaf).last().unwrap();
    image.set(leaf, last, b"zzzz");
    assert_reported(&image, leaf, Rule::Order);
}

#[test]
fn order_is_checked_from_page_to_page_wherever_the_pages_are() {
    let sound = Image::built();
    for leaf in sound.level(0, 0) {
        if sound.u32(leaf, 12) == FIL_NULL {
            continue;
        }
        let mut image = sound.clone();
        let last = *sound.origins(leaf).last().unwrap();
        image.set(leaf, last, &[0xFF; 4]);
        assert_reported(&image, leaf, Rule::Order);
    }
}

#[test]
fn a_unique_key_that_occurs_twice_is_reported() {
    let sound = Image::built();
    // On one page, and as the last of one page and the first of the next.
    for leaf in sound.level(1, 0).into_iter().rev().take(3) {
        let mut image = sound.clone();
        let origins = sound.origins(leaf);
        let key = sound.page(leaf)[origins[1]..origins[1] + 15].to_vec();
        image.set(leaf, origins[2], &key);
        image.set(leaf, origins[1] + 15, &[0; 4]);
        assert_reported(&image, leaf, Rule::Unique);

        let next = sound.u32(leaf, 12);
        if next == FIL_NULL {
            continue;
        }
        let mut image = sound.clone();
        let last = *origins.last().unwrap();
        let first = sound.origins(next)[0];
        let key = sound.page(next)[first..first + 15].to_vec();
        image.set(leaf, last, &key);
        image.set(leaf, last + 15, &[0; 4]);
        assert_reported(&image, leaf, Rule::Unique);
    }
}

#[test]
fn wrong_siblings_are_reported() {
    let sound = Image::built();
    let leaves = sound.level(0, 0);
    let leaf = leaves[5];
    let other_index = sound.level(1, 0)[0];
    let other_level = sound.level(0, 1)[0];
    for wrong in [leaves[9], other_index, other_level, 1, sound.pages() + 1, 0] {
        for offset in [8, 12] {
            let mut image = sound.clone();
            image.set(leaf, offset, &wrong.to_be_bytes());
            assert_reported(&image, leaf, Rule::Sibling);
        }
    }
    // A level cut in two: both sides agree, the tree does not.
    let mut image = sound.clone();
    let next = image.u32(leaf, 12);
    image.set(leaf, 12, &FIL_NULL.to_be_bytes());
    image.set(next, 8, &FIL_NULL.to_be_bytes());
    assert_reported(&image, next, Rule::Sibling);
    // A root with a sibling.
    let mut image = sound.clone();
    image.set(4, 12, &[0, 0, 0, 9]);
    assert_reported(&image, 4, Rule::Root);
}

#[test]
fn wrong_node_pointers_are_reported() {
    let sound = Image::built();
    let node = sound.level(0, 1)[0];
    let origins = sound.origins(node);
    let leaves = sound.level(0, 0);
    let child = |image: &mut Image, record: usize, page_no: u32| {
        image.set(node, origins[record] + 4, &page_no.to_be_bytes());
    };
    let second = sound.u32(node, origins[1] + 4);
    for wrong in [second, 3, 1, sound.level(1, 0)[0], sound.pages() + 9, sound.pages() - 1] {
        let mut image = sound.clone();
        child(&mut image, 2, wrong);
        assert_reported(&image, node, Rule::NodePointer);
    }
    // The page left out is told of too.
    let third = sound.u32(node, origins[2] + 4);
    let mut image = sound.clone();
    child(&mut image, 2, second);
    assert_reported(&image, third, Rule::NodePointer);
    // A page of another level.
    let mut image = sound.clone();
    child(&mut image, 2, sound.level(0, 1)[1]);
    assert_reported(&image, node, Rule::Level);
    // Two children exchanged, with their keys: links tell.
    let mut image = sound.clone();
    child(&mut image, 1, third);
    child(&mut image, 2, second);
    assert_reported(&image, third, Rule::Sibling);
    // A key that is not the first of the child.
    let mut image = sound.clone();
    let low = image.page(node)[origins[2] + 3] - 1;
    image.set(node, origins[2] + 3, &[low]);
    assert_reported(&image, node, Rule::NodePointer);
    assert!(leaves.len() > 100);
}

#[test]
fn the_mark_of_the_minimum_is_on_the_leftmost_node_pointer_only() {
    let sound = Image::built();
    for page_no in [sound.level(0, 1)[0], 3] {
        let first = sound.origins(page_no)[0];
        let mut image = sound.clone();
        let info = image.page(page_no)[first - 5] & 0x0F;
        image.set(page_no, first - 5, &[info]);
        assert_reported(&image, page_no, Rule::MinRecord);
    }
    let second_node = sound.level(0, 1)[1];
    let first = sound.origins(second_node)[0];
    let mut image = sound.clone();
    let info = image.page(second_node)[first - 5] | 0x10;
    image.set(second_node, first - 5, &[info]);
    assert_reported(&image, second_node, Rule::MinRecord);
}

#[test]
fn broken_off_page_values_are_reported() {
    let sound = Image::built();
    let with_next: Vec<_> =
        sound.of_type(10).into_iter().filter(|page| sound.u32(*page, 42) != FIL_NULL).collect();
    let page_no = with_next[2];
    let blamed = |image: &Image| {
        let report = image.verify();
        let kept = report.violations.kept();
        assert!(kept.iter().any(|corrupt| corrupt.rule == Rule::OffPage), "{kept:#?}");
    };
    // Cut, led astray, in a circle, to another value.
    for next in [FIL_NULL, 3, page_no, with_next[3], sound.pages() + 1, sound.pages() - 1] {
        let mut image = sound.clone();
        image.set(page_no, 42, &next.to_be_bytes());
        blamed(&image);
    }
    for bytes in [0_u32, 16_331, 100] {
        let mut image = sound.clone();
        image.set(page_no, 38, &bytes.to_be_bytes());
        assert_reported(&image, page_no, Rule::OffPage);
    }
    // The references of a record: space, first page, offset, length.
    let (leaf, at) = reference(&sound);
    let first = sound.u32(leaf, at + 4);
    for (offset, value) in [(0, 99), (8, 39), (12, 0x8000_0000), (16, 0)] {
        let mut image = sound.clone();
        image.set(leaf, at + offset, &u32::to_be_bytes(value));
        assert_reported(&image, leaf, Rule::Reference);
    }
    for (offset, value) in [(4, first + 1), (4, 3), (4, FIL_NULL), (16, 77)] {
        let mut image = sound.clone();
        image.set(leaf, at + offset, &u32::to_be_bytes(value));
        assert_reported(&image, leaf, Rule::OffPage);
    }
}

/// A leaf and the byte at which a reference to an off-page value starts.
fn reference(image: &Image) -> (u32, usize) {
    let space_id = image.page(0)[34..38].to_vec();
    for leaf in image.level(0, 0) {
        let page = image.page(leaf);
        let found = (120..PAGE_SIZE - 20)
            .find(|at| page[*at..at + 4] == space_id && page[at + 8..at + 12] == [0, 0, 0, 38]);
        if let Some(at) = found {
            return (leaf, at);
        }
    }
    panic!("no off-page value");
}

#[test]
fn a_change_buffer_bitmap_in_use_is_reported() {
    let mut image = Image::built();
    image.set(1, 94, &[0x80]);
    assert_reported(&image, 1, Rule::ChangeBuffer);
    image.writer = Writer::Server;
    assert_reported(&image, 1, Rule::ChangeBuffer);
    image.set(1, 94, &[0x33]);
    assert!(image.verify().violations.is_empty());
}

#[test]
fn an_index_with_fewer_records_is_reported() {
    let mut image = Image::built();
    // The last record of the last leaf of kc taken away, as if never inserted.
    let leaf = *image.level(3, 0).last().unwrap();
    let origins = image.origins(leaf);
    let (last, before) = (origins[origins.len() - 1], origins[origins.len() - 2]);
    let to_supremum = (112_u16).wrapping_sub(before as u16).to_be_bytes();
    let records = origins.len() as u16 - 1;
    let owned = image.page(leaf)[107] - 1;
    image.set(leaf, before - 2, &to_supremum);
    image.set(leaf, 40, &((last - 5) as u16).to_be_bytes());
    image.set(leaf, 42, &(0x8000 | (records + 2)).to_be_bytes());
    image.set(leaf, 54, &records.to_be_bytes());
    image.set(leaf, 107, &[owned]);
    assert_reported(&image, 6, Rule::RecordCount);
}

#[test]
fn a_cfg_of_another_table_is_reported() {
    let mut image = Image::built();
    image.cfg.indexes[1].id.0 += 1;
    assert_reported(&image, 4, Rule::Root);
    let mut image = Image::built();
    image.cfg.indexes[1].root = 9;
    assert_reported(&image, 9, Rule::Root);
}

/// Breaks the parts that only a file of a server has: LSNs, deleted records, records out of heap
/// order.
#[test]
fn a_broken_file_of_a_server_is_reported() {
    let sound = Image::of_server();
    assert_clean(&sound.verify());
    // Page 4 is the secondary index with three deleted records, 6 and 7 are clustered leaves.
    let (root, leaf) = (4, 6);
    let free = usize::from(sound.u16(root, 44));
    let origins = sound.origins(root);
    let garbage = sound.u16(root, 46);
    let lie_on = (origins[3] as u16).wrapping_sub(3).to_be_bytes();
    let cases: [(u32, usize, &[u8], Rule); 9] = [
        (leaf, 16, &[1, 2, 3, 4, 5, 6, 7, 8], Rule::Lsn),
        (root, 44, &[0, 0], Rule::FreeList),
        (root, 44, &[0, 50], Rule::FreeList),
        (root, 44, &lie_on, Rule::HeapNumber),
        (root, 46, &[0, 1], Rule::FreeList),
        (root, 46, &[0x3F, 0xFF], Rule::FreeList),
        (root, free - 2, &[0, 0], Rule::FreeList),
        (root, free - 4, &[0, 0x10], Rule::HeapNumber),
        (root, origins[2] - 5, &[0x80], Rule::RecordStatus),
    ];
    assert!(free != 0 && garbage != 0);
    for (page_no, offset, bytes, rule) in cases {
        let mut image = sound.clone();
        image.set(page_no, offset, bytes);
        let report = image.verify();
        let kept = report.violations.kept();
        let rules: Vec<_> = kept.iter().map(|corrupt| (corrupt.page.0, corrupt.rule)).collect();
        assert_eq!(rules.first(), Some(&(page_no, rule)), "byte {offset}: {kept:#?}");
    }
    // A deleted record is no row: the clustered index has more.
    let mut image = sound.clone();
    let owned = image.page(root)[origins[5] - 5];
    image.set(root, origins[5] - 5, &[owned | 0x20]);
    assert_reported(&image, root, Rule::RecordCount);
    // A node pointer may lie below the first key of its child, but not above it.
    let pointer = sound.origins(3)[1];
    let key = sound.u32(3, pointer);
    let mut image = sound.clone();
    image.set(3, pointer, &(key + 1).to_be_bytes());
    assert_reported(&image, 3, Rule::NodePointer);
    let before = sound.origins(leaf);
    let last = sound.u32(leaf, before[before.len() - 1]);
    image.set(3, pointer, &last.to_be_bytes());
    assert_reported(&image, 3, Rule::NodePointer);
}

#[test]
fn a_file_of_another_kind_is_an_error() {
    let sound = Image::of_server();
    let error = |offset: usize, bytes: &[u8]| {
        let mut image = sound.clone();
        image.set(0, offset, bytes);
        verify_space(&image.file, image.file.len() as u64, Context::unknown())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(54, &[0, 0, 0, 0x29]),
        "the file uses ROW_FORMAT=COMPRESSED (FSP_SPACE_FLAGS 0x29), \
         but only tablespaces of MariaDB (full_crc32) and MySQL (8.0 and newer) with plain 16 KiB pages can be read"
    );
    assert!(error(54, &[0, 0, 0, 0x35]).contains("page compression"));
    assert!(error(54, &[0, 0, 0, 0x16]).contains("another page size"));
    assert_eq!(
        error(24, &[0, 3]),
        "page 0, byte 24: FIL_PAGE_TYPE is 3, expected 8, that of a space header"
    );
    let empty: Vec<u8> = Vec::new();
    let error = verify_space(&empty, 0, Context::unknown()).unwrap_err().to_string();
    assert_eq!(error, "page 0, byte 0: file size is 0, expected at least a page");
}

/// Nothing the verifier reads may make it panic: random bytes anywhere, checksums right.
#[test]
fn any_bytes_are_a_report_not_a_panic() {
    let sound = Image::built();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for round in 0..400 {
        let mut image = sound.clone();
        image.writer = if round % 2 == 0 { Writer::Server } else { Writer::Loader };
        for _ in 0..20 {
            let page_no = match next(3) {
                0 => next(8) as u32,
                _ => next(sound.pages() as usize) as u32,
            };
            // Page 0 must stay one of a tablespace.
            let offset = 58 + next(if page_no == 0 { 600 } else { 2_000 });
            let bytes = [next(256) as u8, next(256) as u8];
            image.set(page_no, offset, &bytes[..1 + next(2)]);
        }
        let bytes = image.file.len() as u64;
        let context = Context {
            writer: image.writer,
            cfg: Some(&image.cfg),
            collations: &crate::sample::collations,
        };
        let _ = verify_space(&image.file, bytes, context);
    }
}
