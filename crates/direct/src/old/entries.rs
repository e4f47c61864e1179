//! The entries of an old index, a page at a time, in order of key.

use std::ops::Range;

use innodb::leaf::LeafBatch;
use innodb::leaves::LiveRecord;
use innodb::page::PageBytes;
use innodb::record::FieldSpan;
use job::error::Error;
use sort::KeyRange;

use super::keys::{OldKey, OldKeys, unreadable};
use super::leaves::OldLeaves;
use super::replaced::Replaced;
use crate::off_page::Copier;

/// Reads the entries of one range of keys after the other.
pub(crate) struct OldEntries<'a> {
    leaves: OldLeaves<'a>,
    keys: OldKeys<'a>,
    /// In the clustered index: copies values that go on off page.
    copier: Option<Copier<'a>>,
    /// Rows whose entries are left out.
    replaced: Option<&'a Replaced>,
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    /// Those of the page that is at hand, in the range.
    records: Vec<LiveRecord>,
    last_key: OldKey,
    key: OldKey,
    spans: Vec<FieldSpan>,
}

impl<'a> OldEntries<'a> {
    /// The entries of an index of the file.
    pub(crate) fn new(
        leaves: OldLeaves<'a>,
        keys: OldKeys<'a>,
        copier: Option<Copier<'a>>,
        replaced: Option<&'a Replaced>,
    ) -> OldEntries<'a> {
        OldEntries {
            leaves,
            keys,
            copier,
            replaced,
            start: Vec::new(),
            end: None,
            records: Vec::new(),
            last_key: OldKey::default(),
            key: OldKey::default(),
            spans: Vec::new(),
        }
    }

    /// Begins a range, whose keys are in these leaves.
    pub(crate) fn begin(&mut self, range: &KeyRange, leaves: Range<usize>) {
        self.start.clone_from(&range.start);
        self.end.clone_from(&range.end);
        self.leaves.begin(leaves);
        self.records.clear();
    }

    /// Begins where keys that begin with these bytes may be.
    pub(crate) fn begin_at(&mut self, key: &[u8]) {
        let index = self.leaves.index();
        self.begin(&KeyRange::all(), index.from(key)..index.leaves.len());
    }

    /// The key in the clustered index of the row whose entry has this unique key, if there is one. The
    /// next one that is asked for after [`OldEntries::begin_at`] is not less.
    pub(crate) fn row_with(&mut self, unique: &[u8]) -> Result<Option<&[u8]>, Error> {
        while self.records.is_empty() || self.last_key.bytes.as_slice() < unique {
            if !self.advance()? {
                return Ok(None);
            }
        }
        let at = self.position(0, unique)?;
        if self.key(at)?.unique() != unique {
            return Ok(None);
        }
        self.keys.row(self.leaves.page(), self.records[at], &mut self.key)?;
        Ok(Some(&self.key.bytes))
    }

    /// Goes to the next page that has entries of the range; false after the last.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        while self.leaves.advance(self.keys.records(), &mut self.records)? {
            self.cut()?;
            self.leave_out()?;
            if let Some(last) = self.records.last() {
                self.keys.make(self.leaves.page(), *last, &mut self.last_key)?;
                return Ok(true);
            }
        }
        self.records.clear();
        Ok(false)
    }

    /// Leaves out what is before the range, or after it.
    fn cut(&mut self) -> Result<(), Error> {
        let start = std::mem::take(&mut self.start);
        if !start.is_empty() && !self.records.is_empty() {
            let before = self.position(0, &start)?;
            self.records.drain(..before);
            // No later page has any of these.
            if self.records.is_empty() {
                self.start = start;
            }
        } else {
            self.start = start;
        }
        let Some(end) = self.end.take() else { return Ok(()) };
        if let Some(last) = self.records.last() {
            self.keys.make(self.leaves.page(), *last, &mut self.last_key)?;
            if self.last_key.bytes >= end {
                let within = self.position(0, &end)?;
                self.records.truncate(within);
                self.leaves.end();
            }
        }
        self.end = Some(end);
        Ok(())
    }

    /// Leaves out what is of rows that are replaced.
    fn leave_out(&mut self) -> Result<(), Error> {
        let Some(replaced) = self.replaced else { return Ok(()) };
        let (mut kept, page) = (0, self.leaves.page());
        for at in 0..self.records.len() {
            self.keys.row(page, self.records[at], &mut self.key)?;
            if !replaced.has(&self.key.bytes) {
                self.records.swap(kept, at);
                kept += 1;
            }
        }
        self.records.truncate(kept);
        Ok(())
    }

    /// Entries of the page at hand.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Key of the last of them.
    pub(crate) fn last_key(&self) -> &OldKey {
        &self.last_key
    }

    /// True if no two entries share the first fields of their key.
    pub(crate) fn is_unique(&self) -> bool {
        self.keys.is_unique()
    }

    /// Key of one of them.
    pub(crate) fn key(&mut self, at: usize) -> Result<&OldKey, Error> {
        if at + 1 == self.records.len() && !self.last_key.bytes.is_empty() {
            return Ok(&self.last_key);
        }
        self.keys.make(self.leaves.page(), self.records[at], &mut self.key)?;
        Ok(&self.key)
    }

    /// The first from `from` on whose key is not less than `key`.
    pub(crate) fn position(&mut self, from: usize, key: &[u8]) -> Result<usize, Error> {
        let page = self.leaves.page();
        let (mut low, mut high) = (from, self.records.len());
        while low < high {
            let middle = low + (high - low) / 2;
            self.keys.make(page, self.records[middle], &mut self.key)?;
            match self.key.bytes.as_slice() < key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// True if the current page can go into the new file as it is: a batch of that takes it, with
    /// all of its entries.
    pub(crate) fn may_stay(&self, batch: &LeafBatch) -> bool {
        !self.leaves.rewrites() && batch.takes_page(self.leaves.page(), &self.records)
    }

    /// The page at hand as it is to be in the new file, and its first entry.
    pub(crate) fn page(&mut self) -> Result<(&PageBytes, LiveRecord), Error> {
        if self.copier.is_some() {
            for at in 0..self.records.len() {
                self.record(at)?;
            }
        }
        Ok((self.leaves.page(), self.records[0]))
    }

    /// One of them as it is to be in the new file: page, and where it is there.
    #[inline]
    pub(crate) fn record(&mut self, at: usize) -> Result<(&PageBytes, LiveRecord), Error> {
        let record = self.records[at];
        if let Some(copier) = &mut self.copier {
            let page = self.leaves.page_mut();
            self.keys.records().settle(page, record, &mut self.spans).map_err(unreadable)?;
            if record.has_external {
                let fields = self.keys.records().fields(page, record, &mut self.spans);
                fields.map_err(unreadable)?;
                for field in self.spans.iter().filter(|field| field.is_external) {
                    copier.copy(page, *field)?;
                }
            }
        }
        Ok((self.leaves.page(), record))
    }
}
