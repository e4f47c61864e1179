//! Reads the rows of a file for their digest, page by page.

use innodb::ids::{IndexId, PageNo, SpaceId};
use innodb::leaves::{Content, LeafRecords, LiveRecord};
use innodb::page::PageBytes;
use innodb::record::FieldSpan;
use innodb::source::ReadError;
use innodb::template::Template;

use crate::digest::Digest;

/// How rows are read of files that are like a template's.
#[derive(Debug)]
pub(crate) struct Digester {
    records: LeafRecords,
    /// Number of the tablespace that rows were encoded for.
    space_id: SpaceId,
}

/// A thread's reading buffers, and its digest so far.
#[derive(Default)]
pub(crate) struct DigestBuffers {
    pub(crate) digest: Digest,
    records: Vec<LiveRecord>,
    spans: Vec<FieldSpan>,
    encoded: Vec<u8>,
}

impl Digester {
    pub(crate) fn new(template: &Template) -> Digester {
        let records = LeafRecords::new(template.clustered());
        Digester { records, space_id: template.space_id }
    }

    /// Takes in what a page has: rows, if it is a leaf of the clustered index `index`, or a part of a
    /// long value.
    ///
    /// Errors: records that leave their page, or are of another kind.
    pub(crate) fn take(
        &self,
        index: IndexId,
        page_no: PageNo,
        page: &PageBytes,
        scratch: &mut DigestBuffers,
    ) -> Result<(), ReadError> {
        let DigestBuffers { digest, records, spans, encoded } = scratch;
        match Content::of(page) {
            Content::OffPage => digest.add_page(page_no, page),
            Content::Index { id, level: 0 } if id == index => {
                self.records.live(page_no.0, page, records)?;
                for record in records.iter() {
                    self.records.as_encoded(page, *record, self.space_id, spans, encoded)?;
                    digest.add_row(encoded);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
