//! Off-page columns: which fields leave a record, and the pages they go to.
//!
//! ```text
//! record:  .. | local prefix | space, page, 38, length | ..
//!                                     |
//!               38            42      46                     16376
//! page:  header | part length | next  | up to 16,330 bytes   | trailer
//! ```
//!
//! A record of half a page or more gives up its longest fields until it is shorter. DYNAMIC keeps
//! the 20-byte reference of such a field only, COMPACT also its first 768 bytes.
//!
//! Source: MariaDB 10.11, storage/innobase/data/data0data.cc, `dtuple_convert_big_rec`;
//! btr/btr0cur.cc, `btr_store_big_rec_extern_fields`.

use core::mem::size_of;
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::cfg::RowFormat;
use crate::error::Error;
use crate::ids::{FIL_NULL, PAGE_SIZE, PageNo, SpaceId};
use crate::layout::blank_page;
use crate::page::{AlignedPage, BODY, TRAILER, page_type, write_at};
use crate::page_fill::RECORD_BYTES_MAX;
use crate::record::{EncodedRecord, RECORD_HEADER, RecordShape, RecordWriter};
use crate::space_format::SpaceFormat;

/// Last bytes of a field that goes on off page. 20 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct BlobReference {
    /// `BTR_EXTERN_SPACE_ID`. The space of the record.
    pub space_id: U32,
    /// `BTR_EXTERN_PAGE_NO`. First page of the value.
    pub page_no: U32,
    /// `BTR_EXTERN_OFFSET`. [`BODY`]; of a value that MySQL wrote its version.
    pub offset: U32,
    /// `BTR_EXTERN_LEN`. Bytes of the value off page; flags in the highest byte, all 0.
    pub len: U64,
}

impl BlobReference {
    /// That at the end of an external field of a record.
    pub fn at_end(field: &[u8]) -> Option<BlobReference> {
        BlobReference::read_from_suffix(field).ok().map(|(_, reference)| reference)
    }

    /// Puts it at the end of an external field, which has one there.
    pub fn put_at_end(&self, field: &mut [u8]) {
        let local = field.len() - size_of::<BlobReference>();
        field[local..].copy_from_slice(self.as_bytes());
    }

    /// Bytes of the value off page, without the flags of the length.
    pub fn bytes(&self) -> usize {
        // The highest bytes are flags and 0.
        self.len.get() as u32 as usize
    }
}

/// The header of a page of an off-page column, after the page header. 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct BlobHeader {
    /// `BTR_BLOB_HDR_PART_LEN`. Bytes of the value on this page.
    pub part_len: U32,
    /// `BTR_BLOB_HDR_NEXT_PAGE_NO`. Page with the next bytes, or `FIL_NULL`.
    pub next: U32,
}

/// Byte of a BLOB page at which the value goes on.
pub const BLOB_DATA: usize = BODY + size_of::<BlobHeader>();
/// Most bytes of a value on one page.
pub const BLOB_BYTES_MAX: usize = TRAILER - BLOB_DATA;
/// Bytes of pages that are held before somebody takes them.
pub const PART_BYTES: usize = 4 << 20;
/// Bytes of a value that a COMPACT record keeps (`DICT_ANTELOPE_MAX_INDEX_COL_LEN`).
pub const COMPACT_PREFIX: usize = 768;
/// A field this short stays in the record (`BTR_EXTERN_LOCAL_STORED_MAX_SIZE`).
pub(crate) const ALWAYS_LOCAL: usize = 2 * size_of::<BlobReference>();

const _: () = {
    assert!(size_of::<BlobReference>() == 20);
    assert!(BLOB_DATA == 46);
    assert!(BLOB_BYTES_MAX == 16_330);
    assert!(ALWAYS_LOCAL < COMPACT_PREFIX && COMPACT_PREFIX < RECORD_BYTES_MAX);
};

impl RowFormat {
    /// Bytes of an off-page field that stay in the record before its reference.
    pub(crate) fn local_prefix(self) -> usize {
        match self {
            RowFormat::Compact => COMPACT_PREFIX,
            RowFormat::Dynamic => 0,
        }
    }
}

/// True if a record of `len` bytes must give up fields. Never true of a secondary index.
#[inline]
pub fn needs_off_page(len: usize) -> bool {
    len > RECORD_BYTES_MAX
}

/// Pages that `len` bytes take off page.
pub fn pages_needed(len: usize) -> usize {
    len.div_ceil(BLOB_BYTES_MAX)
}

/// The fields of a clustered record that must go off page, in the order the server picks them.
///
/// `lens` has the bytes of each field, `None` for NULL. Errors: [`Error::RecordTooLarge`] when nothing more can leave.
pub(crate) fn choose_external(
    shape: &RecordShape,
    lens: &[Option<usize>],
    row_format: RowFormat,
) -> Result<Vec<usize>, Error> {
    let local = row_format.local_prefix() + size_of::<BlobReference>();
    let mut size = record_size(shape, lens);
    let mut external = Vec::new();
    while needs_off_page(size) {
        let mut longest = (0, None);
        for (index, (field, len)) in shape.fields.iter().zip(lens).enumerate() {
            let Some(len) = *len else { continue };
            let can_leave = index >= shape.key_fields && field.fixed_len == 0 && field.big;
            if !can_leave || external.contains(&index) || len <= local.max(ALWAYS_LOCAL) {
                continue;
            }
            if len - local > longest.0 {
                longest = (len - local, Some(index));
            }
        }
        let (saving, Some(index)) = longest else {
            return Err(Error::RecordTooLarge { bytes: size, bytes_max: RECORD_BYTES_MAX });
        };
        external.push(index);
        // A length of 41 to 127 bytes took one byte and takes two with its external bit.
        let grown = usize::from(lens[index].is_some_and(|len| len < 128));
        size = size - saving + grown;
    }
    Ok(external)
}

/// Bytes of a record with every field in it.
fn record_size(shape: &RecordShape, lens: &[Option<usize>]) -> usize {
    let fields = shape.fields.iter().zip(lens).map(|(field, len)| {
        let Some(len) = *len else { return 0 };
        let length = match field.fixed_len {
            0 if field.big && len >= 128 => 2,
            0 => 1,
            _ => 0,
        };
        length + len
    });
    RECORD_HEADER + shape.null_bytes + fields.sum::<usize>()
}

/// Pages of off-page columns, in memory.
#[derive(Clone, Debug)]
pub struct BlobPages {
    format: SpaceFormat,
    numbers: Vec<u32>,
    pages: Vec<AlignedPage>,
}

impl BlobPages {
    /// An empty list of pages, for a file of this format.
    pub fn new(format: SpaceFormat) -> BlobPages {
        BlobPages { format, numbers: Vec::new(), pages: Vec::new() }
    }

    pub(crate) fn format(&self) -> SpaceFormat {
        self.format
    }

    /// Cuts `value` into pages and gives the number of the first. The pages are sealed. Asks `full`
    /// each time the pages come to [`PART_BYTES`] whether it has taken them, and then forgets them.
    ///
    /// `page_nos` must hold [`pages_needed`] numbers, in any order.
    ///
    /// Errors: those of `full`.
    fn push<E>(
        &mut self,
        value: &[u8],
        space_id: SpaceId,
        page_nos: &mut impl Iterator<Item = u32>,
        full: &mut impl FnMut(&BlobPages) -> Result<bool, E>,
    ) -> Result<u32, E> {
        let mut take = || {
            let page_no = page_nos.next();
            assert!(page_no.is_some(), "fewer page numbers than the value has pages");
            page_no.unwrap_or(FIL_NULL)
        };
        let mut parts = value.chunks(BLOB_BYTES_MAX).peekable();
        let first = if parts.peek().is_some() { take() } else { FIL_NULL };
        let mut page_no = first;
        while let Some(part) = parts.next() {
            let next = if parts.peek().is_some() { take() } else { FIL_NULL };
            self.add(part, space_id, page_no, next);
            page_no = next;
            if self.bytes() >= PART_BYTES && full(self)? {
                self.clear();
            }
        }
        Ok(first)
    }

    pub(crate) fn add(&mut self, part: &[u8], space_id: SpaceId, page_no: u32, next: u32) {
        let mut page = blank_page(self.format, space_id, page_no, page_type::BLOB);
        let part_len = U32::new(part.len() as u32);
        write_at(&mut page, BODY, &BlobHeader { part_len, next: U32::new(next) });
        page[BLOB_DATA..BLOB_DATA + part.len()].copy_from_slice(part);
        self.format.seal(&mut page);
        self.numbers.push(page_no);
        self.pages.push(AlignedPage(*page));
        debug_assert!(self.numbers.len() == self.pages.len());
    }

    /// Where in the file to write what: neighbours together.
    pub fn writes(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let runs = self.numbers.chunk_by(|a, b| a.wrapping_add(1) == *b);
        runs.scan(0, |done, run| {
            let bytes = AlignedPage::bytes_of(&self.pages[*done..*done + run.len()]);
            *done += run.len();
            Some((PageNo(run[0]).file_offset(), bytes))
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE_SIZE
    }

    /// Forgets every page; keeps the memory.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.pages.clear();
    }
}

/// Moves fields of records that are too large off page. One a worker; reused.
#[derive(Clone, Debug)]
pub struct OffPage {
    row_format: RowFormat,
    space_id: SpaceId,
    /// Writes the shortened record.
    writer: RecordWriter,
    lens: Vec<Option<usize>>,
    external: Vec<usize>,
}

impl OffPage {
    /// For records of `shape`, which is that of clustered leaves.
    pub fn new(shape: &RecordShape, row_format: RowFormat, space_id: SpaceId) -> OffPage {
        let writer = RecordWriter::new(shape);
        OffPage { row_format, space_id, writer, lens: Vec::new(), external: Vec::new() }
    }

    /// Has values go to the pages of another tablespace of the same shape from now on.
    pub fn set_space(&mut self, space_id: SpaceId) {
        self.space_id = space_id;
    }

    /// Decides which fields of `record`, which is finished, go off page; gives the pages they take.
    ///
    /// Errors: [`Error::RecordTooLarge`].
    pub fn plan(&mut self, record: &RecordWriter) -> Result<usize, Error> {
        let fields = 0..record.shape().fields.len();
        self.lens.clear();
        self.lens.extend(fields.map(|index| record.field(index).map(<[u8]>::len)));
        self.external = choose_external(record.shape(), &self.lens, self.row_format)?;
        let local = self.row_format.local_prefix();
        let lens = self.external.iter().filter_map(|index| self.lens[*index]);
        Ok(lens.map(|len| pages_needed(len - local)).sum())
    }

    /// Writes the fields planned to `pages`, and gives `record` with references in their place.
    /// `full` may take the pages each time they come to [`PART_BYTES`], and says whether it has;
    /// `pages` has the last.
    ///
    /// `page_nos` must hold as many numbers as [`plan`](Self::plan) said.
    ///
    /// Errors: those of `full`.
    pub fn move_fields<E>(
        &mut self,
        record: &RecordWriter,
        page_nos: &mut impl Iterator<Item = u32>,
        pages: &mut BlobPages,
        full: &mut impl FnMut(&BlobPages) -> Result<bool, E>,
    ) -> Result<EncodedRecord<'_>, E> {
        debug_assert!(
            self.lens
                .iter()
                .enumerate()
                .all(|(index, len)| *len == record.field(index).map(<[u8]>::len)),
            "the fields moved are those of the record planned"
        );
        self.writer.begin();
        for index in 0..record.shape().fields.len() {
            let is_external = self.external.contains(&index);
            match record.field(index) {
                Some(value) if is_external => {
                    let (prefix, rest) = value.split_at(self.row_format.local_prefix());
                    let page_no = pages.push(rest, self.space_id, page_nos, full)?;
                    let reference = BlobReference {
                        space_id: U32::new(self.space_id.0),
                        page_no: U32::new(page_no),
                        offset: U32::new(BODY as u32),
                        len: U64::new(rest.len() as u64),
                    };
                    self.writer.data().extend_from_slice(prefix);
                    self.writer.data().extend_from_slice(reference.as_bytes());
                }
                value => self.writer.data().extend_from_slice(value.unwrap_or_default()),
            }
            self.writer.end_field(record.field(index).is_none(), is_external);
        }
        Ok(self.writer.finish())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cfg::Cfg;
    use crate::page::read_at;

    fn shape() -> RecordShape {
        let cfg = Cfg::parse(include_bytes!("../testdata/mariadb-10.11/t.cfg")).unwrap();
        RecordShape::leaf(&cfg, &cfg.indexes[0]).unwrap()
    }

    /// Lengths of id, DB_TRX_ID, DB_ROLL_PTR, a (short), b (big), c, d (big), e.
    fn lens(a: usize, b: usize, d: usize) -> [Option<usize>; 8] {
        [Some(4), Some(6), Some(7), Some(a), Some(b), Some(4), Some(d), None]
    }

    #[test]
    fn the_longest_field_leaves_first_until_the_record_fits() {
        use RowFormat::{Compact, Dynamic};
        let shape = shape();
        // Everything but b and d: 5 header, 1 nulls, 1 + 2 + 2 lengths, 17 key and system, 4 c.
        let rest = 5 + 1 + 5 + 17 + 4;
        for (format, lens, expected) in [
            (Dynamic, lens(0, 100, RECORD_BYTES_MAX - rest - 99), &[][..]),
            (Dynamic, lens(0, 1_200, RECORD_BYTES_MAX - rest - 1_199), &[6]),
            (Dynamic, lens(0, 9_000, 9_000), &[4, 6]),
            (Dynamic, lens(0, 9_000, 9_001), &[6, 4]),
            (Dynamic, lens(0, 41, 9_000), &[6]),
            (Compact, lens(0, 700, 9_000), &[6]),
            (Compact, lens(0, 9_000, 9_001), &[6, 4]),
        ] {
            assert_eq!(choose_external(&shape, &lens, format).unwrap(), expected, "{lens:?}");
        }
    }

    #[test]
    fn a_record_nothing_can_leave_is_too_large() {
        let shape = shape();
        let lens = [Some(4), Some(6), Some(7), Some(9_000), None, Some(4), Some(40), None];
        let error = choose_external(&shape, &lens, RowFormat::Dynamic).unwrap_err();
        assert!(matches!(error, Error::RecordTooLarge { .. }));
    }

    /// Takes no pages.
    fn keep(_: &BlobPages) -> Result<bool, Error> {
        Ok(false)
    }

    #[test]
    fn a_value_is_cut_into_pages_that_lead_to_each_other() {
        let lens = [1, BLOB_BYTES_MAX, BLOB_BYTES_MAX + 1, 3 * BLOB_BYTES_MAX];
        for (len, pages) in lens.into_iter().zip([1, 1, 2, 3]) {
            assert_eq!(pages_needed(len), pages);
            let value: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            let mut blobs = BlobPages::new(SpaceFormat::MariaDb);
            let numbers = [40, 41, 80];
            let first = blobs.push(&value, SpaceId(5), &mut numbers.into_iter(), &mut keep);
            let first = first.unwrap();
            assert_eq!(first, 40);
            let (mut seen, mut next) = (Vec::new(), first);
            for (AlignedPage(page), page_no) in blobs.pages.iter().zip(numbers) {
                assert_eq!(next, page_no);
                let header: BlobHeader = read_at(page, BODY);
                seen.extend_from_slice(&page[BLOB_DATA..][..header.part_len.get() as usize]);
                next = header.next.get();
            }
            assert_eq!((seen, next), (value, FIL_NULL));
            let offsets: Vec<_> = blobs.writes().map(|(at, b)| (at / 16_384, b.len())).collect();
            let expected = [(40, pages.min(2) * PAGE_SIZE), (80, PAGE_SIZE)];
            assert_eq!(offsets, expected[..1 + usize::from(pages == 3)]);
        }
    }

    #[test]
    fn a_shortened_record_refers_to_its_pages() {
        let shape = shape();
        let mut writer = RecordWriter::new(&shape);
        writer.begin();
        let long = vec![b'd'; 20_000];
        for field in [&[0, 0, 0, 1][..], &[0; 6], &[0; 7], b"a", b"bb", b"cccc", &long, b"eeeee"] {
            writer.data().extend_from_slice(field);
            writer.end_field(false, false);
        }
        assert!(needs_off_page(writer.finish().bytes.len()));
        for (format, local) in [(RowFormat::Dynamic, 0), (RowFormat::Compact, 768)] {
            let mut off_page = OffPage::new(&shape, format, SpaceId(5));
            assert_eq!(off_page.plan(&writer).unwrap(), 2);
            let mut pages = BlobPages::new(SpaceFormat::MariaDb);
            let record = off_page
                .move_fields(&writer, &mut [9, 8].into_iter(), &mut pages, &mut keep)
                .unwrap();
            let mut spans = Vec::new();
            shape.spans(record.bytes, record.origin, &mut spans).unwrap();
            assert!(spans[6].is_external && spans[6].len == local + 20);
            let stored = spans[6].of(record.bytes).unwrap();
            assert_eq!(stored[..local], long[..local]);
            let reference = BlobReference::read_from_bytes(&stored[local..]).unwrap();
            assert_eq!((reference.page_no.get(), reference.offset.get()), (9, 38));
            assert_eq!(reference.len.get(), (20_000 - local) as u64);
            assert_eq!(spans[7].of(record.bytes), Some(&b"eeeee"[..]));
        }
    }
}
