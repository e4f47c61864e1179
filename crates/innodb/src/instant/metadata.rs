//! The record with which instant ALTER TABLE describes what it did: the first of the leftmost leaf.

use crate::blob::{BLOB_DATA, BlobHeader, BlobReference};
use crate::error::Error;
use crate::index_page::{HEAP, INFIMUM, next_record};
use crate::instant::layout::{INSTANT, OldField, OldLayout};
use crate::leaves::{corrupt, leaf_page};
use crate::page::{BODY, PageBytes, fil_header, page_type, view};
use crate::record::{DELETED, MIN_RECORD, RECORD_HEADER};
use crate::source::{PageSource, ReadError, page_buffer, read_page};

/// Bytes of the reference to the value that describes the fields.
const REFERENCE: usize = size_of::<BlobReference>();
/// Fields between the key and the columns: DB_TRX_ID and DB_ROLL_PTR.
pub(super) const SYSTEM_FIELDS: usize = 2;
/// Bits of a described field: its column was dropped; could not be NULL; else its length.
const IS_DROPPED: u16 = 1 << 15;
const IS_NOT_NULL: u16 = 1 << 14;

/// Completes the layout by what the metadata on the leaf say. Field `first_column` is the first behind
/// the key and the system columns; those before it are there.
pub(super) fn read(
    source: &dyn PageSource,
    leaf: u32,
    fields: Vec<Option<OldField>>,
    first_column: usize,
    layout: &mut OldLayout,
) -> Result<(), ReadError> {
    let mut page = page_buffer();
    leaf_page(source, leaf, &mut page)?;
    let origin = next_record(&page, INFIMUM);
    let wrong = |what, seen: usize, expected| corrupt(leaf, origin, what, seen as u64, expected);
    let is_metadata = origin >= HEAP
        && page[origin - RECORD_HEADER] & MIN_RECORD != 0
        && page[origin - RECORD_HEADER + 2] & 7 == INSTANT;
    if !is_metadata {
        return Err(wrong("first record", origin, "the metadata of an instant ALTER TABLE"));
    }
    let is_described = page[origin - RECORD_HEADER] & DELETED != 0;
    let (mut described, mut reference_at) = (Vec::new(), None);
    if is_described {
        layout.fields = fields.iter().flatten().take(first_column).cloned().collect();
        let at = reference(layout, &page, origin).ok_or_else(|| {
            wrong("metadata", origin, "a reference to the description of its fields")
        })?;
        described = description(source, &page[..at + REFERENCE], fields.len() - first_column)?;
        reference_at = Some(at);
    }
    let columns = fields.into_iter().enumerate().map(|(at, field)| {
        let of = at.checked_sub(first_column).and_then(|at| described.get(at)).copied();
        match (field, of) {
            (Some(field), None) => Ok(field),
            (Some(field), Some(of)) if of & IS_DROPPED == 0 => Ok(field),
            (None, Some(of)) if of & IS_DROPPED != 0 => Ok(dropped(of)),
            (_, of) => Err(wrong("description of a field", of.unwrap_or(0).into(), "its column's")),
        }
    });
    layout.fields = columns.collect::<Result<_, _>>()?;
    let core = layout.fields.len() - layout.version_max;
    for (at, field) in layout.fields.iter_mut().enumerate() {
        field.versions.start = (at + 1).saturating_sub(core);
    }
    let besides = is_described.then_some((first_column, REFERENCE));
    let mut spans = Vec::new();
    let mut is_read = layout.spans_with(&page, origin, besides, &mut spans).is_some();
    if is_described && is_read && spans.len() > first_column {
        let reference = spans.remove(first_column);
        is_read = reference.map(|span| span.start) == reference_at;
    }
    let count = spans.iter().flatten().count();
    if !is_read || count != layout.fields.len() {
        return Err(wrong("fields of the metadata", count, "all fields of the index"));
    }
    for (at, span) in spans.iter().flatten().enumerate().skip(core) {
        if span.is_external {
            let (what, seen) = ("value of an added column", "off page".to_owned());
            return Err(Error::Unsupported { what, seen, expected: "one in the record" }.into());
        }
        layout.fields[at].missing = span.of(&page[..]).map(<[u8]>::to_vec);
    }
    Ok(())
}

/// Where the reference is. `layout` has the fields before it only. The key of the metadata is made up:
/// zeros, and nothing where its length varies; what is read afterwards says whether that was so.
fn reference(layout: &OldLayout, page: &PageBytes, origin: usize) -> Option<usize> {
    let bytes: usize = layout.fields.iter().map(|field| field.fixed_len).sum();
    let at = origin + bytes;
    (at + REFERENCE <= page.len()).then_some(at)
}

/// Two bytes for each field.
fn description(
    source: &dyn PageSource,
    reference: &[u8],
    fields: usize,
) -> Result<Vec<u16>, ReadError> {
    let Some(reference) = BlobReference::at_end(reference) else { return Ok(Vec::new()) };
    let (page_no, offset) = (reference.page_no.get(), reference.offset.get() as usize);
    let mut page = page_buffer();
    read_page(source, page_no, &mut page)?;
    let wrong = |what, seen: usize, expected| corrupt(page_no, offset, what, seen as u64, expected);
    let is_blob = fil_header(&page).page_type.get() == page_type::BLOB && offset == BODY;
    if !is_blob {
        return Err(wrong("page", offset, "a page of an off-page value"));
    }
    let len = view::<BlobHeader>(&page, BODY).part_len.get() as usize;
    let part = page[BLOB_DATA..].get(..len).and_then(|part| part.split_first_chunk());
    let part = part.filter(|(count, rest)| {
        u32::from_be_bytes(**count) as usize == fields && rest.len() == 2 * fields
    });
    let (_, part) = part.ok_or_else(|| wrong("description", len, "two bytes for each field"))?;
    Ok(part.chunks_exact(2).map(|of| u16::from_be_bytes([of[0], of[1]])).collect())
}

/// The field of a column that is gone.
fn dropped(of: u16) -> OldField {
    let len = usize::from(of & !(IS_DROPPED | IS_NOT_NULL));
    OldField {
        fixed_len: len.saturating_sub(1),
        nullable: of & IS_NOT_NULL == 0,
        big: len == 1,
        versions: 0..usize::MAX,
        missing: None,
    }
}
