//! Ways to break a built file that its verification must notice.
//!
//! They know their prey: a table whose primary key is one INT, with off-page values and enough
//! rows for two levels. Unless a kind is about checksums, these are made right again afterwards.

use std::mem::offset_of;

use innodb::extent::{DESCRIPTORS, ExtentDescriptor};
use innodb::ids::{PAGE_SIZE, PAGES_PER_EXTENT, PageNo};
use innodb::index_page::{DIRECTORY_END, INFIMUM, PAGE_HEADER, PageHeader};
use innodb::list::{FilAddr, ListBase};
use innodb::page::{BODY, FilHeader, PageBytes, page_type};
use innodb::segment::{INODES, SegmentInode};
use innodb::source::PageSource;
use innodb::space_format::SpaceFormat;
use innodb::space_header::{SPACE_HEADER, SpaceHeader};
use job::error::Error;
use job::failpoint;

use crate::early_pass::EarlyPass;
use crate::space_file::SpaceFile;

// Bytes of every page.
const PAGE_NO: usize = offset_of!(FilHeader, page_no);
const PREV: usize = offset_of!(FilHeader, prev);
const NEXT: usize = offset_of!(FilHeader, next);
const TYPE: usize = offset_of!(FilHeader, page_type);
const SPACE_ID: usize = offset_of!(FilHeader, space_id);
// Bytes of page 0: of the space header, and of the first extent's descriptor.
const SPACE_SIZE: usize = SPACE_HEADER + offset_of!(SpaceHeader, size_pages);
const FREE_FRAG: usize = SPACE_HEADER + offset_of!(SpaceHeader, free_frag);
const FREE_FRAG_FIRST: usize =
    FREE_FRAG + offset_of!(ListBase, first) + offset_of!(FilAddr, offset);
const BITMAP: usize = DESCRIPTORS + offset_of!(ExtentDescriptor, bitmap);
/// Byte of the inode page, in the first segment's inode.
const NOT_FULL_USED: usize = INODES + offset_of!(SegmentInode, not_full_used);
// Bytes of an index page; the last is that of directory slot 1.
const RECORDS: usize = PAGE_HEADER + offset_of!(PageHeader, records);
const LEVEL: usize = PAGE_HEADER + offset_of!(PageHeader, level);
const INDEX_ID: usize = PAGE_HEADER + offset_of!(PageHeader, index_id);
const SLOT_1: usize = DIRECTORY_END - 4;

/// Breaks the file as a failpoint says, if one does: `pages.written` after its pages were verified on
/// their way to it, `verify.begin` before any was.
pub(crate) fn at_failpoint(file: &SpaceFile, mut early: EarlyPass) -> Result<EarlyPass, Error> {
    if let Some(kind) = failpoint::damage("pages.written") {
        damage(file, &kind)?;
    }
    if let Some(kind) = failpoint::damage("verify.begin") {
        damage(file, &kind)?;
        early.forget();
    }
    Ok(early)
}

/// Breaks the file in the way of this name.
fn damage(file: &SpaceFile, kind: &str) -> Result<(), Error> {
    let space = Space::open(file)?;
    let pages = space.file.size()? / PAGE_SIZE as u64;
    let resize = |bytes: i64| file.set_size(file.size()?.saturating_add_signed(bytes));
    match kind {
        "flipped-byte" => {
            let (page_no, mut page) = space.leaf(0)?;
            page[5_000] ^= 1;
            space.write(page_no, &page)
        }
        "lost-page" => space.write(space.leaf(0)?.0, &[0; PAGE_SIZE]),
        "longer-file" => resize(PAGE_SIZE as i64),
        "shorter-file" => resize(-(i64::from(PAGES_PER_EXTENT) * PAGE_SIZE as i64)),
        "torn-file" => resize(-100),
        "wrong-size" => space.edit(0, |page| add(page, SPACE_SIZE, 64)),
        "broken-list" => space.edit(0, |page| page[FREE_FRAG_FIRST + 1] ^= 40),
        "wrong-list-length" => space.edit(0, |page| add(page, FREE_FRAG, 1)),
        "used-page-marked-free" => space.edit(0, |page| page[BITMAP] ^= 1),
        "wrong-inode" => space.edit(2, |page| add(page, NOT_FULL_USED, 1)),
        "swapped-records" => space.edit_leaf(|page| {
            let [a, b, c] = first_records(page);
            link(page, INFIMUM, b);
            link(page, b, a);
            link(page, a, c);
        }),
        "lost-record" => space.edit_leaf(|page| {
            let [a, _, c] = first_records(page);
            link(page, a, c);
        }),
        "record-loop" => space.edit_leaf(|page| {
            let [a, b, _] = first_records(page);
            link(page, b, a);
        }),
        "repeated-key" => space.edit_leaf(|page| {
            let [a, b, _] = first_records(page);
            page.copy_within(a..a + 4, b);
        }),
        // Behind the key and the system columns: nothing of the page says what is right there.
        "other-value" => space.edit_leaf(|page| {
            let [a, _, _] = first_records(page);
            page[a + 4 + 13] ^= 1;
        }),
        "wrong-record-count" => space.edit_leaf(|page| page[RECORDS + 1] ^= 1),
        "wrong-slot" => space.edit_leaf(|page| page[SLOT_1 + 1] ^= 4),
        "wrong-next-page" => space.edit_leaf(|page| add(page, NEXT, 1)),
        "wrong-previous-page" => space.edit_leaf(|page| add(page, PREV, 1)),
        "wrong-space" => space.edit_leaf(|page| add(page, SPACE_ID, 1)),
        "swapped-pages" => {
            let ((a_no, a), (b_no, b)) = (space.leaf(0)?, space.leaf(1)?);
            space.write(a_no, &b)?;
            space.write(b_no, &a)
        }
        "swapped-page-contents" => {
            let ((a_no, mut a), (b_no, mut b)) = (space.leaf(0)?, space.leaf(1)?);
            a[PAGE_NO..PREV + 8].swap_with_slice(&mut b[PAGE_NO..PREV + 8]);
            space.write_sealed(a_no, &mut b)?;
            space.write_sealed(b_no, &mut a)
        }
        "wrong-child" => {
            let (page_no, mut page) =
                space.find(0, |page| is_index(page) && page[LEVEL + 1] > 0)?;
            let [_, b, _] = first_records(&page);
            add(&mut page, b + 4, 1);
            space.write_sealed(page_no, &mut page)
        }
        "wrong-off-page-length" => {
            let (page_no, mut page) =
                space.find(0, |page| u16_at(page, TYPE) == page_type::BLOB)?;
            add(&mut page, BODY, 1);
            space.write_sealed(page_no, &mut page)
        }
        _ => Err(Error::Usage(format!("there is no damage named {kind} for {pages} pages"))),
    }
}

struct Space<'a> {
    file: &'a SpaceFile,
    format: SpaceFormat,
}

impl<'a> Space<'a> {
    fn open(file: &'a SpaceFile) -> Result<Space<'a>, Error> {
        let mut first = innodb::source::page_buffer();
        file.read(PageNo(0), &mut first[..]).map_err(Error::io("reading", file.path()))?;
        let format = SpaceFormat::of_first_page(&first[..])
            .ok_or_else(|| Error::BadFile("page 0 is not that of a tablespace".to_owned()))?;
        Ok(Space { file, format })
    }

    fn read(&self, page_no: u32) -> Result<Box<PageBytes>, Error> {
        let mut page = innodb::source::page_buffer();
        let read = self.file.read(PageNo(page_no), &mut page[..]);
        read.map_err(Error::io("reading", self.file.path()))?;
        Ok(page)
    }

    fn write(&self, page_no: u32, page: &PageBytes) -> Result<(), Error> {
        self.file.write(PageNo(page_no).file_offset(), page)
    }

    fn write_sealed(&self, page_no: u32, page: &mut PageBytes) -> Result<(), Error> {
        self.format.seal(page);
        self.write(page_no, page)
    }

    fn edit(&self, page_no: u32, change: impl FnOnce(&mut PageBytes)) -> Result<(), Error> {
        let mut page = self.read(page_no)?;
        change(&mut page);
        self.write_sealed(page_no, &mut page)
    }

    fn edit_leaf(&self, change: impl FnOnce(&mut PageBytes)) -> Result<(), Error> {
        self.edit(self.leaf(0)?.0, change)
    }

    /// The `nth` leaf of the clustered index with neighbours on both sides.
    fn leaf(&self, nth: usize) -> Result<(u32, Box<PageBytes>), Error> {
        // The first page of an index: 3, and 4 where 3 has the dictionary.
        let (_, root) = self.find(0, is_index)?;
        self.find(nth, |page| {
            let siblings = [PREV, NEXT].map(|at| page[at..at + 4] != [0xFF; 4]);
            let same_index = page[INDEX_ID..INDEX_ID + 8] == root[INDEX_ID..INDEX_ID + 8];
            is_index(page) && page[LEVEL + 1] == 0 && same_index && siblings == [true, true]
        })
    }

    /// The `nth` page, from page 3 on, that `wanted` takes.
    fn find(
        &self,
        nth: usize,
        wanted: impl Fn(&PageBytes) -> bool,
    ) -> Result<(u32, Box<PageBytes>), Error> {
        let pages = (self.file.size()? / PAGE_SIZE as u64) as u32;
        let mut left = nth;
        for page_no in 3..pages {
            let page = self.read(page_no)?;
            if wanted(&page) {
                if left == 0 {
                    return Ok((page_no, page));
                }
                left -= 1;
            }
        }
        Err(Error::Usage("the table has no page to damage".to_owned()))
    }
}

fn is_index(page: &PageBytes) -> bool {
    u16_at(page, TYPE) == page_type::INDEX
}

fn u16_at(page: &PageBytes, at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

/// Adds to the four-byte number at `at`.
fn add(page: &mut PageBytes, at: usize, more: u32) {
    let number = page[at..at + 4].iter().fold(0u32, |sum, &byte| sum << 8 | u32::from(byte));
    page[at..at + 4].copy_from_slice(&number.wrapping_add(more).to_be_bytes());
}

/// Origins of the first three records.
fn first_records(page: &PageBytes) -> [usize; 3] {
    let next = |at: usize| (at + usize::from(u16_at(page, at - 2))) % (1 << 16);
    let a = next(INFIMUM);
    let b = next(a);
    [a, b, next(b)]
}

/// Makes the record at `from` point at the one at `to`.
fn link(page: &mut PageBytes, from: usize, to: usize) {
    let distance = to.wrapping_sub(from) as u16;
    page[from - 2..from].copy_from_slice(&distance.to_be_bytes());
}
