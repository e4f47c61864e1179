//! Rows of a table that was altered with ALGORITHM=INSTANT, read as rows of the table as it is now.
//!
//! ```text
//! leftmost leaf   | metadata | row | row ..    metadata: values of added columns, where its fields went
//! row of before   n_core fields                root: n_core
//! row since       n_core + 1 + n fields        trailing values that the metadata has are left out
//! ```
//!
//! Fields stay where they were in a record: dropped ones are in the midst of it, added ones at its end,
//! wherever their columns are. Here each record is written anew, with the fields of the new table in
//! their order. Only the clustered index is concerned.
//!
//! MySQL writes the number of its version before the header of a row, and no metadata: the `.cfg` has them.
//!
//! Source: MySQL 9.7, storage/innobase/rem/rec.h, `rec_init_null_and_len_comp`; MariaDB 10.11, storage/innobase/btr/btr0cur.cc, `btr_cur_instant_init_low`;
//! rem/rem0rec.cc, `rec_init_offsets_comp_ordinary`; dict/dict0mem.cc, `serialise_columns`;
//! include/dict0mem.h, `field_map_element_t`.

mod layout;
mod metadata;
mod read;
mod versions;

pub use layout::OldLayout;
pub use read::is_altered;

use crate::ids::PAGE_SIZE;
use crate::index_page::{HEAP, INFIMUM, SUPREMUM, next_record};
use crate::leaves::{LiveRecord, corrupt, outside};
use crate::page::PageBytes;
use crate::record::{DELETED, FieldSpan, MIN_RECORD, RECORD_HEADER, RecordShape, RecordWriter};
use crate::source::ReadError;

/// Writes records anew, a page of them at a time.
#[derive(Clone, Debug)]
pub struct Rewriter<'a> {
    layout: &'a OldLayout,
    writer: RecordWriter,
    spans: Vec<Option<FieldSpan>>,
    /// Record of the leaf at hand that was looked at last.
    origin: usize,
    /// Records that the leaf may still have: links that run in a circle end there.
    rest: usize,
    bytes_max: usize,
}

impl<'a> Rewriter<'a> {
    /// To records of `shape`, that of the table's clustered index now, of so many bytes at most.
    pub fn new(layout: &'a OldLayout, shape: &RecordShape, bytes_max: usize) -> Rewriter<'a> {
        let writer = RecordWriter::new(shape);
        Rewriter { layout, writer, spans: Vec::new(), origin: SUPREMUM, rest: 0, bytes_max }
    }

    /// Begins another leaf.
    pub fn begin(&mut self) {
        self.origin = INFIMUM;
        self.rest = PAGE_SIZE / RECORD_HEADER;
    }

    /// Writes the next records of a leaf that are not deleted to `page`, as many as it has room for;
    /// `out`, which is cleared first, says where they are. False after the last.
    ///
    /// Errors: records that leave their page; one that is too long with the columns that were added.
    pub fn advance(
        &mut self,
        page_no: u32,
        leaf: &PageBytes,
        page: &mut PageBytes,
        out: &mut Vec<LiveRecord>,
    ) -> Result<bool, ReadError> {
        out.clear();
        let mut end = 0;
        while self.origin != SUPREMUM {
            let origin = next_record(leaf, self.origin);
            if origin == SUPREMUM {
                self.origin = origin;
                break;
            }
            if origin < HEAP || self.rest == 0 {
                return Err(outside(page_no, origin));
            }
            let info = leaf[origin - RECORD_HEADER];
            if info & (DELETED | MIN_RECORD) == 0 {
                let has_external = self.write(page_no, leaf, origin)?;
                let record = self.writer.finish();
                if record.bytes.len() > self.bytes_max {
                    let expected = "a record that fits a page with the columns that were added";
                    let len = record.bytes.len() as u64;
                    return Err(corrupt(page_no, origin, "record length", len, expected));
                }
                if end + record.bytes.len() > PAGE_SIZE {
                    return Ok(true);
                }
                page[end..end + record.bytes.len()].copy_from_slice(record.bytes);
                out.push(LiveRecord::at(end, record.origin, record.bytes.len(), has_external));
                end += record.bytes.len();
            }
            self.origin = origin;
            self.rest -= 1;
        }
        Ok(!out.is_empty())
    }

    /// Writes one record; whether a value of it goes on off page.
    fn write(&mut self, page_no: u32, leaf: &PageBytes, origin: usize) -> Result<bool, ReadError> {
        if !self.layout.spans(leaf, origin, &mut self.spans) {
            let expected = "fields on the page";
            return Err(corrupt(page_no, origin, "record", origin as u64, expected));
        }
        let mut has_external = false;
        self.writer.begin();
        for (field, old) in self.layout.places.iter().enumerate() {
            let (bytes, is_external) = match &self.spans[*old] {
                Some(span) => (span.of(leaf), span.is_external),
                None => (self.layout.fields[*old].missing.as_deref(), false),
            };
            let shape = &self.writer.shape().fields[field];
            if bytes.is_none() && !shape.nullable {
                return Err(corrupt(page_no, origin, "NULL", *old as u64, "a value"));
            }
            self.writer.data().extend_from_slice(bytes.unwrap_or_default());
            self.writer.end_field(bytes.is_none(), is_external);
            has_external |= is_external;
        }
        Ok(has_external)
    }
}
