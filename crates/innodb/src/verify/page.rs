//! Rules of one page by itself: header, checksum, a type that fits its owner, then its body.

use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor};
use crate::ids::{FIL_NULL, PAGES_PER_XDES};
use crate::index_page::index_header;
use crate::lob::Part;
use crate::page::{BODY, PageBytes, TRAILER, fil_header, page_type};
use crate::page_kind::PageKind;
use crate::space_format::WrongChecksum;
use crate::space_map::{Half, IndexRoot, Role};
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::records::{self, Chain, RecordBuffers};
use crate::verify::rules::TableRules;
use crate::verify::summary::PageSummary;
use crate::verify::{Verifier, Writer, dictionary, off_page};

/// First byte of the bits of a change buffer bitmap (`IBUF_BITMAP`).
const BITMAP: usize = 94;
/// Bits that say a page belongs to the change buffer: one of four, two pages a byte.
const IBUF_BITS: u8 = 0x88;
/// Byte of a page at which the records of its heap are counted.
const HEAP_RECORDS: usize = 42;
/// Byte of a page at which its index id is.
const INDEX_ID: usize = 66;
/// Byte of a page at which its type is.
const PAGE_TYPE: usize = 24;

/// A page that keeps the rules, and where its records are if it has some.
pub(crate) struct Checked {
    pub summary: PageSummary,
    pub chain: Option<Chain>,
}

impl From<PageSummary> for Checked {
    fn from(summary: PageSummary) -> Checked {
        Checked { summary, chain: None }
    }
}

/// Checks one page.
pub(crate) fn check(
    verifier: &Verifier<'_>,
    page_no: u32,
    page: &PageBytes,
    scratch: &mut RecordBuffers,
) -> Result<Checked, Corrupt> {
    let is_free = verifier.map.is_free(page_no);
    if is_zero(page) {
        if is_free && page_no != 0 {
            return Ok(PageSummary { kind: PageKind::Free, ..PageSummary::default() }.into());
        }
        let seen = "page is all zero";
        return Err(Corrupt::page(page_no, Rule::FreePage, seen, "a page in use"));
    }
    let rules = &verifier.rules;
    check_frame(rules, page_no, page)?;
    if is_free {
        return free_page(verifier, page_no);
    }
    let found = fil_header(page).page_type.get();
    let kind = PageKind::of(rules.format, found);
    check_owner(verifier, page_no, found, kind)?;
    let summary = PageSummary { kind, ..PageSummary::default() };
    match kind {
        PageKind::SpaceHeader | PageKind::Descriptors => {
            check_descriptors(verifier, page_no, page)?;
            Ok(summary.into())
        }
        PageKind::ChangeBuffer => {
            check_bitmap(rules.writer, page_no, page)?;
            Ok(summary.into())
        }
        PageKind::OffPage => Ok(off_page::check_page(page_no, page, rules.writer)?.into()),
        PageKind::Index | PageKind::RTree => {
            let header = index_header(page);
            let index = match verifier.map.role_of(page_no) {
                Some(role) => {
                    let (id, level) = (header.index_id.get(), header.level.get());
                    check_half(verifier, page_no, id, level, role)?;
                    role.index
                }
                None => index_of(rules, page_no, page)?,
            };
            check_index(rules, index, page_no, page, kind, scratch)
        }
        PageKind::Dictionary if rules.writer == Writer::Loader => {
            dictionary::check(rules.dictionary.as_ref(), page_no, page, scratch)?;
            Ok(summary.into())
        }
        _ => Ok(summary.into()),
    }
}

/// Checks a page of which it is not known yet who owns it; gives `None` for one without anything in
/// it, or of the kinds that are only checked together with their owners.
pub(crate) fn check_unowned(
    rules: &TableRules,
    page_no: u32,
    page: &PageBytes,
    scratch: &mut RecordBuffers,
) -> Result<Option<Checked>, Corrupt> {
    if is_zero(page) {
        return Ok(None);
    }
    check_frame(rules, page_no, page)?;
    match fil_header(page).page_type.get() {
        page_type::INDEX => {
            let index = index_of(rules, page_no, page)?;
            check_index(rules, index, page_no, page, PageKind::Index, scratch).map(Some)
        }
        page_type::BLOB => Ok(Some(off_page::check_page(page_no, page, rules.writer)?.into())),
        _ => Ok(None),
    }
}

/// Checks what [`check_unowned`] could not: that a page is owned by what it belongs to.
pub(crate) fn check_owned(
    verifier: &Verifier<'_>,
    page_no: u32,
    summary: &PageSummary,
) -> Result<(), Corrupt> {
    if verifier.map.is_free(page_no) {
        return free_page(verifier, page_no).map(drop);
    }
    let is_index = summary.kind == PageKind::Index;
    let found = if is_index { page_type::INDEX } else { page_type::BLOB };
    check_owner(verifier, page_no, found, summary.kind)?;
    match verifier.map.role_of(page_no).filter(|_| is_index) {
        Some(role) => {
            let id = verifier.rules.indexes[usize::from(summary.index)].id.0;
            check_half(verifier, page_no, id, summary.level.into(), role)
        }
        None => Ok(()),
    }
}

/// Sums up a page by its header alone.
pub(crate) fn summarise(verifier: &Verifier<'_>, page_no: u32, page: &PageBytes) -> PageSummary {
    if verifier.map.is_free(page_no) {
        return PageSummary { kind: PageKind::Free, ..PageSummary::default() };
    }
    let kind = PageKind::of(verifier.rules.format, fil_header(page).page_type.get());
    let header = index_header(page);
    let mut summary = PageSummary { kind, ..PageSummary::default() };
    if kind == PageKind::OffPage {
        let bytes = Part::of(page).map_or(0, |part| part.len);
        summary.records = bytes.min(u16::MAX.into()) as u16;
    }
    if matches!(kind, PageKind::Index | PageKind::RTree) {
        let Some(index) = verifier.rules.index_by_id(header.index_id.get()) else {
            return PageSummary { kind: PageKind::Other, ..PageSummary::default() };
        };
        summary.index = index as u16;
        summary.level = header.level.get().min(u8::MAX.into()) as u8;
        summary.records = header.records.get();
        summary.free = records::free_bytes(header);
    }
    summary
}

fn free_page(verifier: &Verifier<'_>, page_no: u32) -> Result<Checked, Corrupt> {
    if verifier.rules.writer == Writer::Loader {
        let seen = "page is free but not zero";
        return Err(Corrupt::page(page_no, Rule::FreePage, seen, "zeros in a free page"));
    }
    Ok(PageSummary { kind: PageKind::Free, ..PageSummary::default() }.into())
}

fn is_zero(page: &PageBytes) -> bool {
    // Pages in use end at the first test, at their page number or trailer.
    page[4..8] == [0; 4] && page[TRAILER..] == [0; 8] && page.iter().all(|byte| *byte == 0)
}

/// Checks the parts that all pages have: checksum, number, space, LSN.
fn check_frame(rules: &TableRules, page_no: u32, page: &PageBytes) -> Result<(), Corrupt> {
    let fil = fil_header(page);
    let key_version = rules.format.key_version(page);
    if key_version != 0 {
        let seen = format!("page is encrypted with key version {key_version}");
        return Err(Corrupt::at(page_no, 0, Rule::Encrypted, seen, "0, a plain page"));
    }
    if let Err(WrongChecksum { offset, stored, computed }) = rules.format.check(page) {
        let seen = format!("checksum is {stored:#010x}");
        let expected = format!("{computed:#010x}, the CRC-32C of the page");
        return Err(Corrupt::at(page_no, offset, Rule::Checksum, seen, expected));
    }
    if fil.page_no.get() != page_no {
        let seen = format!("page number in the header is {}", fil.page_no.get());
        return Err(Corrupt::at(page_no, 4, Rule::PageNumber, seen, page_no.to_string()));
    }
    let space_id = rules.space_id;
    if fil.space_id.get() != space_id {
        let seen = format!("page belongs to space {}", fil.space_id.get());
        return Err(Corrupt::at(page_no, 34, Rule::SpaceId, seen, space_id.to_string()));
    }
    let (lsn, low) = (fil.lsn.get(), rules.format.lsn_low(page));
    if lsn as u32 != low || rules.writer == Writer::Loader && lsn != 0 {
        let seen = format!("LSN is {lsn} and its low half at the end of the page {low}");
        let expected = match rules.writer {
            Writer::Loader => "0 in both places",
            Writer::Server => "the same in both places",
        };
        return Err(Corrupt::at(page_no, 16, Rule::Lsn, seen, expected));
    }
    Ok(())
}

/// The type of a page in use must be one that its owner has.
fn check_owner(
    verifier: &Verifier<'_>,
    page_no: u32,
    found: u16,
    kind: PageKind,
) -> Result<(), Corrupt> {
    let map = &verifier.map;
    let (fits, expected) = match page_no % PAGES_PER_XDES {
        0 if page_no == 0 => (kind == PageKind::SpaceHeader, "8, the space header"),
        0 => (kind == PageKind::Descriptors, "9, extent descriptors"),
        1 => (kind == PageKind::ChangeBuffer, "5, a change buffer bitmap"),
        _ => match map.role_of(page_no) {
            // Neither is ever built, and nobody reads the records of either.
            Some(_)
                if verifier.rules.writer == Writer::Loader
                    && matches!(found, page_type::INSTANT | page_type::RTREE) =>
            {
                (false, "17855, an index page")
            }
            Some(role) => fits_role(map.indexes[role.index], role, page_no, found, kind),
            None if map.is_inode_page(page_no) => (kind == PageKind::Inodes, "3, segment inodes"),
            // A page without an owner is told of where owners are counted.
            None => (true, ""),
        },
    };
    if fits {
        return Ok(());
    }
    let seen = format!("FIL_PAGE_TYPE is {found}, {}", kind.name());
    Err(Corrupt::at(page_no, PAGE_TYPE, Rule::PageType, seen, expected))
}

fn fits_role(
    root: IndexRoot,
    role: Role,
    page_no: u32,
    found: u16,
    kind: PageKind,
) -> (bool, &'static str) {
    if page_no == root.root {
        return (found == root.page_type, "the type of a root page");
    }
    let tree = if root.page_type == page_type::RTREE { found } else { page_type::INDEX };
    let is_tree = found == tree && matches!(found, page_type::INDEX | page_type::RTREE);
    match role.half {
        Half::Leaf if role.index == 0 => {
            let is_off_page = matches!(kind, PageKind::OffPage | PageKind::OffPageIndex);
            (
                is_tree || is_off_page,
                "17855, an index page, or 10 (MySQL: 22 to 24), an off-page value",
            )
        }
        _ => (is_tree, "17855, an index page"),
    }
}

/// Descriptors above the free limit, and the header's place on pages without a header, are zero.
fn check_descriptors(
    verifier: &Verifier<'_>,
    page_no: u32,
    page: &PageBytes,
) -> Result<(), Corrupt> {
    let first = page_no / PAGES_PER_XDES * DESCRIPTORS_PER_PAGE;
    let inited = (verifier.map.extents.len() as u32).saturating_sub(first);
    let inited = inited.min(DESCRIPTORS_PER_PAGE) as usize;
    let end = DESCRIPTORS + DESCRIPTORS_PER_PAGE as usize * size_of::<ExtentDescriptor>();
    let rest = DESCRIPTORS + inited * size_of::<ExtentDescriptor>()..end;
    if let Some(offset) = first_used(page, rest) {
        let seen = "descriptor of an extent above the free limit is in use";
        return Err(Corrupt::at(page_no, offset, Rule::FreeLimit, seen, "zeros"));
    }
    if page_no != 0
        && let Some(offset) = first_used(page, BODY..DESCRIPTORS)
    {
        let seen = "the place of the space header is in use";
        return Err(Corrupt::at(page_no, offset, Rule::Extent, seen, "zeros outside page 0"));
    }
    Ok(())
}

/// A set bit would make the server look into a change buffer that has nothing for the file.
fn check_bitmap(writer: Writer, page_no: u32, page: &PageBytes) -> Result<(), Corrupt> {
    if writer == Writer::Loader {
        let Some(offset) = first_used(page, BODY..TRAILER) else { return Ok(()) };
        let seen = "change buffer bitmap is in use";
        return Err(Corrupt::at(page_no, offset, Rule::ChangeBuffer, seen, "zeros"));
    }
    let bits = &page[BITMAP..BITMAP + PAGES_PER_XDES as usize / 2];
    match bits.iter().position(|byte| byte & IBUF_BITS != 0) {
        None => Ok(()),
        Some(index) => {
            let seen = "a page is marked as one of the change buffer itself";
            let expected = "no such page in this space";
            Err(Corrupt::at(page_no, BITMAP + index, Rule::ChangeBuffer, seen, expected))
        }
    }
}

fn first_used(page: &PageBytes, range: core::ops::Range<usize>) -> Option<usize> {
    let start = range.start;
    page[range].iter().position(|byte| *byte != 0).map(|index| start + index)
}

/// The index that a page says it is of.
fn index_of(rules: &TableRules, page_no: u32, page: &PageBytes) -> Result<usize, Corrupt> {
    let id = index_header(page).index_id.get();
    rules.index_by_id(id).ok_or_else(|| {
        let seen = format!("index id is {id}");
        Corrupt::at(page_no, INDEX_ID, Rule::PageOwner, seen, "the id of an index with a root")
    })
}

/// Checks a page of index `index`.
fn check_index(
    rules: &TableRules,
    index: usize,
    page_no: u32,
    page: &PageBytes,
    kind: PageKind,
    scratch: &mut RecordBuffers,
) -> Result<Checked, Corrupt> {
    let fil = fil_header(page);
    let header = index_header(page);
    let mut summary = PageSummary {
        kind,
        level: header.level.get().min(u8::MAX.into()) as u8,
        index: index as u16,
        records: header.records.get(),
        free: records::free_bytes(header),
        prev: fil.prev.get(),
        next: fil.next.get(),
        ..PageSummary::default()
    };
    let writer = rules.writer;
    let rules = &rules.indexes[index];
    if page_no == rules.root && (summary.prev, summary.next) != (FIL_NULL, FIL_NULL) {
        let seen = format!("root has siblings {} and {}", summary.prev, summary.next);
        return Err(Corrupt::at(page_no, 8, Rule::Root, seen, "none"));
    }
    if !records::is_compact(page) {
        if writer == Writer::Loader {
            let seen = "records of ROW_FORMAT=REDUNDANT";
            let expected = "the flag 0x8000 of the new format";
            return Err(Corrupt::at(page_no, HEAP_RECORDS, Rule::PageHeader, seen, expected));
        }
        return Ok(summary.into());
    }
    let chain = records::check(page_no, page, rules, writer, scratch)?;
    summary.deleted = chain.deleted;
    summary.has_first_key = chain.first_key.is_some();
    summary.first_key = chain.first_key.unwrap_or_default();
    Ok(Checked { summary, chain: Some(chain) })
}

/// An index page must be of the index and the half whose segment owns it.
fn check_half(
    verifier: &Verifier<'_>,
    page_no: u32,
    id: u64,
    level: u16,
    role: Role,
) -> Result<(), Corrupt> {
    let root = verifier.map.indexes[role.index];
    if id != root.id.0 {
        let seen = format!("index id is {id}");
        let expected = format!("{}, the index that owns the page", root.id.0);
        return Err(Corrupt::at(page_no, INDEX_ID, Rule::PageOwner, seen, expected));
    }
    let half = if level == 0 && page_no != root.root { Half::Leaf } else { Half::Top };
    if half != role.half {
        let (seen, expected) = match role.half {
            Half::Leaf => (format!("page of level {level} in the leaf segment"), "leaves only"),
            Half::Top => ("leaf in the non-leaf segment".into(), "the root and upper levels only"),
        };
        return Err(Corrupt::page(page_no, Rule::PageOwner, seen, expected));
    }
    Ok(())
}
