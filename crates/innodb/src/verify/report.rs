//! The result of verifying a file.

use crate::ids::IndexId;
use crate::order::UncheckedField;
use crate::verify::corrupt::{Corrupt, Rule, Violations};
use crate::verify::rules::IndexRules;
use crate::verify::summary::PageSummary;

/// The contents of a verified file, and its faults.
#[derive(Clone, Debug)]
pub struct Report {
    /// Broken rules, by page.
    pub violations: Violations,
    /// Indexes, the clustered one first; also those that are dropped and not purged yet.
    pub indexes: Vec<IndexReport>,
    /// Fields whose order was not checked.
    pub unchecked: Vec<UncheckedField>,
    /// Notes on parts that could not be checked, or are noteworthy.
    pub notes: Vec<String>,
    /// True if the records of all indexes could be read: if not, a note says why.
    pub are_records_read: bool,
    /// True if all could but those of the clustered index, which was altered instantly.
    pub is_altered: bool,
}

/// Size and shape of one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// Name, from the `.cfg`; else `id ID`.
    pub name: String,
    /// Id.
    pub id: IndexId,
    /// Root page.
    pub root: u32,
    /// Levels, leaves first.
    pub levels: Vec<LevelReport>,
    /// Records marked as deleted, not counted as records; nor is the one with which instant ALTER
    /// TABLE describes its changes, counted here too.
    pub deleted: u64,
    /// True if it was dropped, which leaves its pages until the server purges them. It has the rows
    /// of that time, and nobody reads them.
    pub is_dropped: bool,
    /// True if a page of it is corrupt, so that its counts are too low.
    pub is_damaged: bool,
}

/// Size of one level of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelReport {
    /// Pages.
    pub pages: u64,
    /// Records, those marked as deleted included.
    pub records: u64,
    /// Bytes that records could still use.
    pub free_bytes: u64,
}

impl IndexReport {
    /// Rows in the index.
    pub fn records(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.records.saturating_sub(self.deleted))
    }

    /// Pages of all levels.
    pub fn pages(&self) -> u64 {
        self.levels.iter().map(|level| level.pages).sum()
    }
}

impl IndexReport {
    pub(crate) fn empty(rules: &IndexRules) -> IndexReport {
        IndexReport {
            name: rules.name.clone(),
            id: rules.id,
            root: rules.root,
            levels: Vec::new(),
            deleted: 0,
            is_dropped: rules.is_dropped,
            is_damaged: false,
        }
    }

    pub(crate) fn add(&mut self, summary: &PageSummary) {
        let level = usize::from(summary.level);
        if self.levels.len() <= level {
            self.levels.resize(level + 1, LevelReport::default());
        }
        self.levels[level].pages += 1;
        self.levels[level].records += u64::from(summary.records);
        self.levels[level].free_bytes += u64::from(summary.free);
        self.deleted += u64::from(summary.deleted);
    }
}

/// Every index has an entry for each row.
pub(crate) fn check_counts(indexes: &[IndexReport], violations: &mut Violations) {
    let Some((clustered, secondary)) = indexes.split_first() else { return };
    let rows = clustered.records();
    for index in secondary.iter().filter(|index| !index.is_dropped && index.records() != rows) {
        let seen = format!("{} has {} records", index.name, index.records());
        let expected = format!("{rows}, as {} has", clustered.name);
        violations.push(Corrupt::page(index.root, Rule::RecordCount, seen, expected));
    }
}
