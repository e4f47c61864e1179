//! The entries of an old index, a page at a time, in order of key.

use std::ops::Range;

use innodb::leaves::{LiveRecord, read_leaves};
use innodb::page::{AlignedPage, PageBytes};
use innodb::record::FieldSpan;
use job::error::Error;
use sort::KeyRange;

use super::index::{OldIndex, READ_PAGES};
use super::keys::{OldKey, OldKeys, unreadable};
use crate::off_page::Copier;
use crate::space_file::SpaceFile;

/// Reads the entries of one range of keys after the other.
pub(crate) struct OldEntries<'a> {
    index: &'a OldIndex,
    file: &'a SpaceFile,
    keys: OldKeys<'a>,
    /// Of the clustered index: what goes on off page is copied.
    copier: Option<Copier<'a>>,
    /// Leaves that are still to be read.
    ahead: Range<usize>,
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    pages: Vec<AlignedPage>,
    /// The leaves in `pages`, and which is next there.
    read: Range<usize>,
    next: usize,
    order: Vec<(u32, usize)>,
    /// Those of the page that is at hand, in the range.
    records: Vec<LiveRecord>,
    last_key: OldKey,
    key: OldKey,
    spans: Vec<FieldSpan>,
}

impl<'a> OldEntries<'a> {
    /// Of an index of the file.
    pub(crate) fn new(
        index: &'a OldIndex,
        file: &'a SpaceFile,
        keys: OldKeys<'a>,
        copier: Option<Copier<'a>>,
    ) -> OldEntries<'a> {
        OldEntries {
            index,
            file,
            keys,
            copier,
            ahead: 0..0,
            start: Vec::new(),
            end: None,
            pages: vec![AlignedPage::ZERO; READ_PAGES],
            read: 0..0,
            next: 0,
            order: Vec::new(),
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
        (self.read, self.next) = (0..0, 0);
        self.ahead = leaves;
        self.records.clear();
    }

    /// Whether an entry has this unique key. The next one that is asked for after [`OldEntries::begin_at`]
    /// is not less.
    pub(crate) fn has(&mut self, unique: &[u8]) -> Result<bool, Error> {
        while self.records.is_empty() || self.last_key.bytes.as_slice() < unique {
            if !self.advance()? {
                return Ok(false);
            }
        }
        let at = self.position(0, unique)?;
        Ok(self.key(at)?.unique() == unique)
    }

    /// Begins where keys that begin with these bytes may be.
    pub(crate) fn begin_at(&mut self, key: &[u8]) {
        self.begin(&KeyRange::all(), self.index.from(key)..self.index.leaves.len());
    }

    /// Goes to the next page that has entries of the range; false after the last.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if self.next == self.read.len() && !self.read_on()? {
                self.records.clear();
                return Ok(false);
            }
            self.next += 1;
            let leaf = self.index.leaves[self.read.start + self.next - 1];
            let page = &self.pages[self.next - 1].0;
            self.keys.records().live(leaf, page, &mut self.records).map_err(unreadable)?;
            self.cut()?;
            let Some(last) = self.records.last() else { continue };
            self.keys.make(&self.pages[self.next - 1].0, *last, &mut self.last_key)?;
            return Ok(true);
        }
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
            self.keys.make(&self.pages[self.next - 1].0, *last, &mut self.last_key)?;
            if self.last_key.bytes >= end {
                let within = self.position(0, &end)?;
                self.records.truncate(within);
                self.ahead = 0..0;
                self.read.end = self.read.start + self.next;
            }
        }
        self.end = Some(end);
        Ok(())
    }

    /// Reads more leaves; false if there are none.
    fn read_on(&mut self) -> Result<bool, Error> {
        let end = self.ahead.end.min(self.ahead.start + READ_PAGES);
        self.read = self.ahead.start..end;
        (self.ahead.start, self.next) = (end, 0);
        let numbers = &self.index.leaves[self.read.clone()];
        let read = read_leaves(self.file, numbers, &mut self.pages, &mut self.order);
        read.map_err(unreadable)?;
        Ok(!numbers.is_empty())
    }

    /// Entries of the page at hand.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Key of the last of them.
    pub(crate) fn last_key(&self) -> &OldKey {
        &self.last_key
    }

    /// Whether no two entries share the first fields of their key.
    pub(crate) fn is_unique(&self) -> bool {
        self.keys.is_unique()
    }

    /// Key of one of them.
    pub(crate) fn key(&mut self, at: usize) -> Result<&OldKey, Error> {
        if at + 1 == self.records.len() && !self.last_key.bytes.is_empty() {
            return Ok(&self.last_key);
        }
        self.keys.make(&self.pages[self.next - 1].0, self.records[at], &mut self.key)?;
        Ok(&self.key)
    }

    /// The first from `from` on whose key is not less than `key`.
    pub(crate) fn position(&mut self, from: usize, key: &[u8]) -> Result<usize, Error> {
        let page = &self.pages[self.next - 1].0;
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

    /// One of them as it is to be in the new file: page, and where it is there.
    #[inline]
    pub(crate) fn record(&mut self, at: usize) -> Result<(&PageBytes, LiveRecord), Error> {
        let record = self.records[at];
        let page = &mut self.pages[self.next - 1].0;
        if let Some(copier) = &mut self.copier {
            self.keys.records().settle(page, record, &mut self.spans).map_err(unreadable)?;
            if record.has_external {
                let fields = self.keys.records().fields(page, record, &mut self.spans);
                fields.map_err(unreadable)?;
                for field in self.spans.iter().filter(|field| field.is_external) {
                    copier.copy(page, *field)?;
                }
            }
        }
        Ok((page, record))
    }
}
