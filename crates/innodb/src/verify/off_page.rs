//! Values stored off page: references in clustered leaf records, and the pages they lead to.
//!
//! The structures are those of [`crate::blob`].

use crate::blob::{BLOB_BYTES_MAX, BlobHeader, BlobReference};
use crate::ids::FIL_NULL;
use crate::page::{BODY, PageBytes, view};
use crate::record::FieldSpan;
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule, Violations};
use crate::verify::summary::{PageKind, PageSummary};

/// Flags of [`BlobReference::len`]: the value belongs to another version of the row, and was taken
/// over from an older one (`BTR_EXTERN_OWNER_FLAG`, `BTR_EXTERN_INHERITED_FLAG`).
const NOT_OWNER: u64 = 1 << 63;
const INHERITED: u64 = 1 << 62;

/// A record's reference to an off-page value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Leaf page of the record.
    pub leaf: u32,
    /// First page of the value.
    pub first: u32,
    /// Bytes of the value that are off page.
    pub bytes: u32,
    /// Byte of the leaf at which the reference starts.
    pub offset: u16,
}

impl Reference {
    /// Reads the reference at the end of an external field; `None` if the value belongs to
    /// another version of the row.
    pub(crate) fn read(
        leaf: u32,
        page: &PageBytes,
        span: FieldSpan,
        space_id: u32,
        writer: Writer,
    ) -> Result<Option<Reference>, Corrupt> {
        let bad = |offset, seen: String, expected: String| {
            Err(Corrupt::at(leaf, offset, Rule::Reference, seen, expected))
        };
        let Some(local) = span.len.checked_sub(size_of::<BlobReference>()) else {
            let seen = format!("external field of {} bytes", span.len);
            return bad(span.start, seen, "the 20 bytes of a reference at least".into());
        };
        let at = span.start + local;
        let reference: &BlobReference = view(page, at);
        if reference.space_id.get() != space_id {
            let seen = format!("off-page value is in space {}", reference.space_id);
            return bad(at, seen, space_id.to_string());
        }
        if reference.offset.get() != BODY as u32 {
            let seen = format!("off-page value starts at byte {}", reference.offset);
            return bad(at + 8, seen, BODY.to_string());
        }
        let len = reference.len.get();
        let allowed = if writer == Writer::Server { NOT_OWNER | INHERITED } else { 0 };
        let bytes = u32::try_from(len & !allowed).unwrap_or(0);
        if bytes == 0 {
            let seen = format!("length of an off-page value is {len:#x}");
            return bad(at + 12, seen, "1 to 4,294,967,295".into());
        }
        let first = reference.page_no.get();
        let owned = len & NOT_OWNER == 0;
        Ok(owned.then_some(Reference { leaf, first, bytes, offset: at as u16 }))
    }
}

/// Checks a page of an off-page value.
pub(crate) fn check_page(
    page_no: u32,
    page: &PageBytes,
    writer: Writer,
) -> Result<PageSummary, Corrupt> {
    let header: &BlobHeader = view(page, BODY);
    let (bytes, next) = (header.part_len.get(), header.next.get());
    let bytes_max = BLOB_BYTES_MAX as u32;
    let bytes_min = match writer {
        Writer::Loader if next != FIL_NULL => bytes_max,
        _ => 1,
    };
    if bytes < bytes_min || bytes > bytes_max {
        let seen = format!("page has {bytes} bytes of an off-page value");
        let expected = format!("{bytes_min} to {bytes_max}");
        return Err(Corrupt::at(page_no, BODY, Rule::OffPage, seen, expected));
    }
    let kind = PageKind::OffPage;
    Ok(PageSummary { kind, next, records: bytes as u16, ..PageSummary::default() })
}

/// Follows every reference to its end: each page once, bytes as referenced, no page left over.
///
/// Gives the number of pages without a reference, which a server leaves until it has purged old
/// versions of rows.
pub(crate) fn check_chains(
    references: impl Iterator<Item = Reference>,
    summaries: &[PageSummary],
    seen: &mut [u64],
    violations: &mut Violations,
) -> Vec<u32> {
    let mut damaged = false;
    for reference in references {
        damaged |= !follow(reference, summaries, seen, violations);
    }
    let without = |page_no: &u32| {
        let index = *page_no as usize;
        summaries[index].kind == PageKind::OffPage && seen[index / 64] & (1 << (index % 64)) == 0
    };
    if damaged { Vec::new() } else { (0..summaries.len() as u32).filter(without).collect() }
}

/// Follows one reference; false if it could not be followed to its end.
fn follow(
    reference: Reference,
    summaries: &[PageSummary],
    seen: &mut [u64],
    violations: &mut Violations,
) -> bool {
    let Reference { leaf, first, bytes, offset } = reference;
    let mut bad = |seen: String, expected: String| {
        violations.push(Corrupt::at(leaf, offset.into(), Rule::OffPage, seen, expected));
        false
    };
    let mut page_no = first;
    let mut found = 0;
    while page_no != FIL_NULL {
        let index = page_no as usize;
        let kind = summaries.get(index).map(|summary| summary.kind);
        match kind {
            Some(PageKind::OffPage) => {}
            // Said already.
            Some(PageKind::Corrupt) => return false,
            _ => {
                let what = kind.map_or("outside the file", PageKind::name);
                let seen = format!("off-page value leads to page {page_no}, {what}");
                return bad(seen, "a used page of an off-page value".into());
            }
        }
        if seen[index / 64] & (1 << (index % 64)) != 0 {
            let seen = format!("off-page value leads to page {page_no} a second time");
            return bad(seen, "one reference to each page".into());
        }
        seen[index / 64] |= 1 << (index % 64);
        found += u64::from(summaries[index].records);
        page_no = summaries[index].next;
    }
    if found != u64::from(bytes) {
        let seen = format!("off-page value from page {first} on has {found} bytes");
        return bad(seen, format!("{bytes}, as the record says"));
    }
    true
}
