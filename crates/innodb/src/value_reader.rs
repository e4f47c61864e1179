//! Reading values that are stored off page, as MariaDB and as MySQL write them, and copying them.

use core::ops::Range;
use zerocopy::byteorder::big_endian::{U32, U64};

use crate::blob::{BLOB_BYTES_MAX, BlobHeader, BlobPages, BlobReference, PART_BYTES};
use crate::error::Error;
use crate::ids::{FIL_NULL, SpaceId};
use crate::lob::{LobEntries, Part};
use crate::page::{BODY, PageBytes, fil_header, page_type, view};
use crate::source::{PageSource, ReadError, page_buffer, read_page};
use crate::space_format::SpaceFormat;

/// Reads off-page values of files of a server, one after the other. Memory: two pages at most.
#[derive(Clone, Debug)]
pub struct ValueReader {
    /// Format of the file of the value begun last.
    format: SpaceFormat,
    /// True if every page is compared with its checksum.
    is_checked: bool,
    page: Box<PageBytes>,
    /// Number of `page`; `FIL_NULL` for none.
    page_no: u32,
    /// Page of the next part in a chain, or of the first one.
    next: u32,
    /// Entries of a value that is no chain; none before the first such value.
    entries: Option<LobEntries>,
    is_chain: bool,
    /// Bytes of the value that are still to come.
    left: usize,
}

impl Default for ValueReader {
    fn default() -> ValueReader {
        ValueReader {
            format: SpaceFormat::MariaDb,
            is_checked: true,
            page: page_buffer(),
            page_no: FIL_NULL,
            next: FIL_NULL,
            entries: None,
            is_chain: true,
            left: 0,
        }
    }
}

impl ValueReader {
    /// A reader of verified files, which compares no checksums.
    pub(crate) fn unchecked() -> ValueReader {
        ValueReader { is_checked: false, ..ValueReader::default() }
    }

    /// Appends the value of a reference in a file to `out`, as far as it is off page.
    ///
    /// Errors: a source that fails; a page with another checksum than its bytes; parts that are
    /// not together as long as the value.
    pub fn read(
        &mut self,
        format: SpaceFormat,
        source: &dyn PageSource,
        reference: &BlobReference,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        self.begin(format, source, reference)?;
        while let Some(part) = self.advance(source)? {
            out.extend_from_slice(part);
        }
        Ok(())
    }

    /// Begins a value.
    pub(crate) fn begin(
        &mut self,
        format: SpaceFormat,
        source: &dyn PageSource,
        reference: &BlobReference,
    ) -> Result<(), ReadError> {
        self.format = format;
        (self.page_no, self.next) = (FIL_NULL, reference.page_no.get());
        (self.is_chain, self.left) = (true, reference.bytes());
        if !format.has_lobs() || self.left == 0 {
            return Ok(());
        }
        self.load(source, self.next)?;
        self.is_chain = fil_header(&self.page).page_type.get() != page_type::LOB_FIRST;
        if !self.is_chain {
            let entries = self.entries.get_or_insert_with(LobEntries::new);
            entries.begin(self.page_no, &self.page);
        }
        Ok(())
    }

    /// The next bytes of the value begun last; none at its end.
    ///
    /// Errors: as [`ValueReader::read`].
    pub(crate) fn advance(&mut self, source: &dyn PageSource) -> Result<Option<&[u8]>, ReadError> {
        if self.left == 0 {
            return Ok(None);
        }
        let page_no = match self.entries.as_mut().filter(|_| !self.is_chain) {
            Some(entries) => entries.advance(source)?.map(|entry| entry.page_no.get()),
            None => Some(self.next).filter(|page_no| *page_no != FIL_NULL),
        };
        let Some(page_no) = page_no else {
            return Err(broken(FIL_NULL, self.left, "pages for all of the value"));
        };
        self.load(source, page_no)?;
        let range = self.part()?;
        self.left -= range.len();
        if self.is_chain {
            self.next = view::<BlobHeader>(&self.page, BODY).next.get();
        }
        Ok(Some(&self.page[range]))
    }

    /// Place of the part on its page.
    fn part(&self) -> Result<Range<usize>, ReadError> {
        let is_blob = fil_header(&self.page).page_type.get() == page_type::BLOB;
        let part = Part::of(&self.page).filter(|_| is_blob == self.is_chain);
        let range = part.as_ref().and_then(Part::range).filter(|range| range.len() <= self.left);
        range.ok_or_else(|| {
            let seen = part.map_or(0, |part| part.len);
            broken(self.page_no, seen, "a part of a value on its page")
        })
    }

    fn load(&mut self, source: &dyn PageSource, page_no: u32) -> Result<(), ReadError> {
        if page_no == self.page_no {
            return Ok(());
        }
        self.page_no = FIL_NULL;
        read_page(source, page_no, &mut self.page)?;
        if self.is_checked
            && let Err(wrong) = self.format.check(&self.page)
        {
            let seen = wrong.stored as usize;
            return Err(broken(page_no, seen, "the checksum of the page's bytes"));
        }
        self.page_no = page_no;
        Ok(())
    }
}

impl BlobPages {
    /// Copies the value of `old`, a reference in a file of a server, and gives the reference to the copy; all pages but
    /// the last are full, whatever they were. Asks `full` as [`OffPage::move_fields`] does.
    ///
    /// `page_nos` must hold [`pages_needed`] numbers for [`BlobReference::bytes`].
    ///
    /// Errors: those of `full`; pages that are not together as long as the value.
    pub fn copy<E: From<ReadError>>(
        &mut self,
        source: &dyn PageSource,
        old: &BlobReference,
        space_id: SpaceId,
        page_nos: &mut impl Iterator<Item = u32>,
        full: &mut impl FnMut(&BlobPages) -> Result<bool, E>,
    ) -> Result<BlobReference, E> {
        let mut values = ValueReader::unchecked();
        values.begin(self.format(), source, old)?;
        let (mut left, mut part) = (old.bytes(), Vec::with_capacity(2 * BLOB_BYTES_MAX));
        let first = page_nos.next().unwrap_or(FIL_NULL);
        let mut page_no = first;
        while left > 0 {
            while part.len() < BLOB_BYTES_MAX
                && let Some(bytes) = values.advance(source)?
            {
                part.extend_from_slice(bytes);
            }
            let bytes = part.len().min(BLOB_BYTES_MAX);
            left -= bytes;
            let next = if left > 0 { page_nos.next().unwrap_or(FIL_NULL) } else { FIL_NULL };
            self.add(&part[..bytes], space_id, page_no, next);
            part.drain(..bytes);
            page_no = next;
            if self.bytes() >= PART_BYTES && full(self)? {
                self.clear();
            }
        }
        Ok(BlobReference {
            space_id: U32::new(space_id.0),
            page_no: U32::new(first),
            offset: U32::new(BODY as u32),
            len: U64::new(old.bytes() as u64),
        })
    }
}

fn broken(page_no: u32, seen: usize, expected: &str) -> ReadError {
    let (what, seen, expected) = ("off-page value", seen as u64, expected.to_owned());
    Error::Corrupt { page_no, offset: BODY, what, seen, expected }.into()
}
