//! Values stored off page: references in clustered leaf records, and the pages they lead to.
//!
//! The structures are those of [`crate::blob`] and [`crate::lob`].

use crate::blob::{BlobHeader, BlobReference};
use crate::ids::FIL_NULL;
use crate::lob::{LobEntries, Part};
use crate::page::{BODY, PageBytes, fil_header, page_type, view};
use crate::page_kind::PageKind;
use crate::record::FieldSpan;
use crate::source::{PageSource, ReadError, page_buffer, read_page};
use crate::space_format::SpaceFormat;
use crate::verify::corrupt::{Corrupt, Rule, Violations};
use crate::verify::summary::PageSummary;
use crate::verify::{Verifier, Writer};

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
    /// Reads the reference at the end of an external field; `None` if the value belongs to another version of the row.
    pub(crate) fn read(
        leaf: u32,
        page: &PageBytes,
        span: FieldSpan,
        format: SpaceFormat,
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
        // A list of parts, which only a server writes, has its version there.
        let is_chain = writer == Writer::Loader || !format.has_lobs();
        if is_chain && reference.offset.get() != BODY as u32 {
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

    /// A rule that the value breaks.
    fn corrupt(self, seen: String, expected: String) -> Corrupt {
        Corrupt::at(self.leaf, self.offset.into(), Rule::OffPage, seen, expected)
    }
}

/// Checks a page of an off-page value.
pub(crate) fn check_page(
    page_no: u32,
    page: &PageBytes,
    writer: Writer,
) -> Result<PageSummary, Corrupt> {
    let Some(part) = Part::of(page) else { return Ok(PageSummary::default()) };
    let kind = fil_header(page).page_type.get();
    let is_chain = kind == page_type::BLOB;
    let level = (kind == page_type::LOB_FIRST).into();
    let next = if is_chain { view::<BlobHeader>(page, BODY).next.get() } else { FIL_NULL };
    let (bytes, bytes_max) = (part.len, part.room.len());
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
    Ok(PageSummary { kind, level, next, records: bytes as u16, ..PageSummary::default() })
}

/// The parts of all off-page values, chained or listed.
pub(crate) struct Chains<'a> {
    source: &'a dyn PageSource,
    summaries: &'a [PageSummary],
    /// A bit for each page of the file.
    seen: &'a mut [u64],
    violations: &'a mut Violations,
    /// First page of a value that is no chain.
    first: Box<PageBytes>,
    entries: LobEntries,
}

impl<'a> Chains<'a> {
    /// The parts in a file whose pages have these summaries. `seen` has a bit for each page.
    pub(crate) fn new(
        verifier: &Verifier<'a>,
        summaries: &'a [PageSummary],
        seen: &'a mut [u64],
        violations: &'a mut Violations,
    ) -> Chains<'a> {
        let source = verifier.source;
        let (first, entries) = (page_buffer(), LobEntries::new());
        Chains { source, summaries, seen, violations, first, entries }
    }

    /// Follows every reference to its end: each page once, bytes as referenced, no page left over.
    ///
    /// Gives the pages without a reference, which a server leaves until it has purged old versions of rows.
    ///
    /// Errors: a page that cannot be read again.
    pub(crate) fn check(
        mut self,
        references: impl Iterator<Item = Reference>,
    ) -> Result<Vec<u32>, ReadError> {
        let mut damaged = false;
        for reference in references {
            let followed = match self.is_chain(reference.first) {
                true => self.follow(reference),
                false => self.follow_entries(reference)?,
            };
            if let Err(broken) = followed {
                self.violations.push_all(broken);
                damaged = true;
            }
        }
        let without = |page_no: &u32| {
            let index = *page_no as usize;
            self.summaries[index].kind == PageKind::OffPage
                && self.seen[index / 64] & (1 << (index % 64)) == 0
        };
        Ok(match damaged {
            true => Vec::new(),
            false => (0..self.summaries.len() as u32).filter(without).collect(),
        })
    }

    /// True if each page of a value names the next, as everywhere but in MySQL's own values.
    fn is_chain(&self, first: u32) -> bool {
        let summary = self.summaries.get(first as usize);
        summary.is_none_or(|page| page.kind != PageKind::OffPage || page.level == 0)
    }

    /// Follows a chain of pages. Gives the rule it breaks; none if that was said already.
    fn follow(&mut self, reference: Reference) -> Result<(), Option<Corrupt>> {
        let (mut page_no, mut found) = (reference.first, 0);
        while page_no != FIL_NULL {
            let summary = self.take(reference, page_no)?;
            found += u64::from(summary.records);
            page_no = summary.next;
        }
        has_bytes(reference, found)
    }

    /// Follows the entries of the first page.
    fn follow_entries(
        &mut self,
        reference: Reference,
    ) -> Result<Result<(), Option<Corrupt>>, ReadError> {
        read_page(self.source, reference.first, &mut self.first)?;
        self.entries.begin(reference.first, &self.first);
        let mut found = 0;
        loop {
            let entry = match self.entries.advance(self.source) {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(has_bytes(reference, found)),
                Err(ReadError::Format(error)) => {
                    let seen = format!("off-page value from page {} on: {error}", reference.first);
                    return Ok(Err(Some(reference.corrupt(seen, "an entry for each part".into()))));
                }
                Err(error) => return Err(error),
            };
            match self.take(reference, entry.page_no.get()) {
                Ok(summary) => found += u64::from(summary.records),
                Err(broken) => return Ok(Err(broken)),
            }
        }
    }

    /// A page of a value, which no other value has.
    fn take(&mut self, reference: Reference, page_no: u32) -> Result<PageSummary, Option<Corrupt>> {
        let index = page_no as usize;
        let summary = self.summaries.get(index);
        match summary.map(|summary| summary.kind) {
            Some(PageKind::OffPage) => {}
            // Said already.
            Some(PageKind::Corrupt) => return Err(None),
            kind => {
                let what = kind.map_or("outside the file", PageKind::name);
                let seen = format!("off-page value leads to page {page_no}, {what}");
                let expected = "a used page of an off-page value".into();
                return Err(Some(reference.corrupt(seen, expected)));
            }
        }
        if self.seen[index / 64] & (1 << (index % 64)) != 0 {
            let seen = format!("off-page value leads to page {page_no} a second time");
            return Err(Some(reference.corrupt(seen, "one reference to each page".into())));
        }
        self.seen[index / 64] |= 1 << (index % 64);
        Ok(summary.copied().unwrap_or_default())
    }
}

fn has_bytes(reference: Reference, found: u64) -> Result<(), Option<Corrupt>> {
    let Reference { first, bytes, .. } = reference;
    if found == u64::from(bytes) {
        return Ok(());
    }
    let seen = format!("off-page value from page {first} on has {found} bytes");
    Err(Some(reference.corrupt(seen, format!("{bytes}, as the record says"))))
}
