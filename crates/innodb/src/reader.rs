//! Reading a tablespace: the records of an index in key order.

use crate::error::Error;
use crate::ids::{FIL_NULL, PageNo};
use crate::index_page::{INFIMUM, SUPREMUM, index_header, next_record};
use crate::page::{PageBytes, fil_header, page_type, u32_at};
use crate::record::{CHILD, DELETED, FieldSpan, RECORD_HEADER, RecordShape};
use crate::source::{PageSource, ReadError, page_buffer, read_page};
use crate::space_map::{IndexRoot, SpaceMap};

/// An existing tablespace.
///
/// ```
/// use innodb::{cfg::Cfg, reader::SpaceReader, record::RecordShape};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cfg = Cfg::parse(&std::fs::read("testdata/mariadb-10.11/orders.cfg")?)?;
/// let file = std::fs::File::open("testdata/mariadb-10.11/orders.ibd")?;
/// let space = SpaceReader::open(&file, file.metadata()?.len())?;
/// let shape = RecordShape::leaf(&cfg, &cfg.indexes[0])?;
/// let mut records = space.records(innodb::ids::PageNo(cfg.indexes[0].root), &shape)?;
/// let mut count = 0;
/// while let Some(record) = records.advance()? {
///     assert!(record.field(0).is_some(), "the primary key is never NULL");
///     count += 1;
/// }
/// assert!(count > 0);
/// # Ok(())
/// # }
/// ```
pub struct SpaceReader<'a> {
    source: &'a dyn PageSource,
    map: SpaceMap,
}

impl<'a> SpaceReader<'a> {
    /// Reads the allocation structures of a tablespace of `file_bytes` bytes.
    ///
    /// Errors: a source that fails, a first page that is not that of a supported tablespace.
    /// Nothing is verified; see [`crate::verify`].
    pub fn open(source: &'a dyn PageSource, file_bytes: u64) -> Result<SpaceReader<'a>, ReadError> {
        Ok(SpaceReader { source, map: SpaceMap::read(source, file_bytes)? })
    }

    /// The allocation structures.
    pub fn map(&self) -> &SpaceMap {
        &self.map
    }

    /// The indexes found, by root page; the first is the clustered one.
    pub fn indexes(&self) -> &[IndexRoot] {
        &self.map.indexes
    }

    /// Reads one page.
    pub fn page(&self, page_no: PageNo, page: &mut PageBytes) -> Result<(), ReadError> {
        read_page(self.source, page_no.0, page)
    }

    /// The leaf records of the index with this root, in key order.
    ///
    /// `leaf` is the shape of its leaf records. Keeps one page in memory.
    pub fn records(&self, root: PageNo, leaf: &RecordShape) -> Result<Records<'a>, ReadError> {
        let mut records = Records {
            source: self.source,
            leaf: leaf.clone(),
            page: page_buffer(),
            page_no: root.0,
            origin: INFIMUM,
            rest: self.map.pages,
            page_rest: 0,
            spans: Vec::new(),
        };
        records.descend()?;
        Ok(records)
    }
}

/// The leaf records of one index. See [`SpaceReader::records`].
pub struct Records<'a> {
    source: &'a dyn PageSource,
    leaf: RecordShape,
    page: Box<PageBytes>,
    page_no: u32,
    /// Record given last.
    origin: usize,
    /// Pages that may still be read before the links must have run into a circle.
    rest: u32,
    /// The same of the records of this page.
    page_rest: u16,
    spans: Vec<FieldSpan>,
}

/// A record on its page.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Page it is on.
    pub page_no: PageNo,
    /// The bytes of that page.
    pub page: &'a PageBytes,
    /// Byte at which its data starts.
    pub origin: usize,
    /// Its fields.
    pub fields: &'a [FieldSpan],
    /// True if it is marked as deleted.
    pub is_deleted: bool,
}

impl Record<'_> {
    /// The stored bytes of field `index`; `None` for NULL. An external field is its local prefix
    /// and the 20-byte reference.
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        self.fields[index].of(self.page)
    }
}

impl Records<'_> {
    /// The next record, or `None` after the last.
    ///
    /// Errors: a source that fails, records that leave their page, records or pages in a circle.
    pub fn advance(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            self.origin = next_record(&self.page, self.origin);
            if self.origin != SUPREMUM {
                break;
            }
            let next = fil_header(&self.page).next.get();
            if next == FIL_NULL {
                self.origin = INFIMUM;
                index_end(&mut self.page);
                return Ok(None);
            }
            self.load(next)?;
        }
        if self.origin < SUPREMUM {
            return Err(self.corrupt("next record", self.origin as u64, "after the supremum"));
        }
        let Some(rest) = self.page_rest.checked_sub(1) else {
            return Err(self.corrupt("next record", self.origin as u64, "the supremum"));
        };
        self.page_rest = rest;
        self.leaf.spans(&self.page[..], self.origin, &mut self.spans)?;
        Ok(Some(Record {
            page_no: PageNo(self.page_no),
            page: &self.page,
            origin: self.origin,
            fields: &self.spans,
            is_deleted: self.page[self.origin - RECORD_HEADER] & DELETED != 0,
        }))
    }

    /// Goes from the root to the leftmost leaf.
    fn descend(&mut self) -> Result<(), ReadError> {
        let node = self.leaf.to_node();
        self.load(self.page_no)?;
        while index_header(&self.page).level.get() != 0 {
            let first = next_record(&self.page, INFIMUM);
            if first <= SUPREMUM {
                return Err(self.corrupt("first record", first as u64, "after the supremum"));
            }
            let span = node.spans(&self.page[..], first, &mut self.spans)?;
            self.load(u32_at(&self.page, span.end - CHILD))?;
        }
        Ok(())
    }

    fn load(&mut self, page_no: u32) -> Result<(), ReadError> {
        let Some(rest) = self.rest.checked_sub(1) else {
            return Err(self.corrupt("next page", page_no.into(), "a page not read before"));
        };
        self.rest = rest;
        read_page(self.source, page_no, &mut self.page)?;
        self.page_no = page_no;
        self.origin = INFIMUM;
        self.page_rest = index_header(&self.page).records.get();
        match fil_header(&self.page).page_type.get() {
            page_type::INDEX | page_type::INSTANT => Ok(()),
            other => Err(self.corrupt("FIL_PAGE_TYPE", other.into(), "an index page")),
        }
    }

    fn corrupt(&self, what: &'static str, seen: u64, expected: &str) -> ReadError {
        let (page_no, expected) = (self.page_no, expected.to_owned());
        Error::Corrupt { page_no, offset: self.origin, what, seen, expected }.into()
    }
}

/// Makes the page in memory look like one without records, so that the end stays the end.
fn index_end(page: &mut PageBytes) {
    let to_supremum = (SUPREMUM - INFIMUM) as u16;
    page[INFIMUM - 2..INFIMUM].copy_from_slice(&to_supremum.to_be_bytes());
}
