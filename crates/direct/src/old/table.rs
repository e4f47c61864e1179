//! The rows of a table, as the server has written them out: one file, or some of its partitions'.

use encode::binding::Binding;
use innodb::ids::PAGE_SIZE;
use innodb::instant::Rewriter;
use innodb::page_fill::RECORD_BYTES_MAX;
use innodb::template::Template;
use job::error::Error;
use job::progress::Progress;
use sort::KeyRange;
use targets::export::Export;

use super::entries::OldEntries;
use super::file::{Like, OldFile};
use super::index::{OldIndex, READ_PAGES};
use super::keys::OldKeys;
use super::leaves::OldLeaves;
use super::replaced::Replaced;
use crate::off_page::Copier;
use crate::verify::Bounds;

/// The files of a table that nobody changes.
pub(crate) struct OldTable {
    /// One; of a table with partitions that of `partition`, or those of all.
    pub(crate) files: Vec<OldFile>,
    /// The partition that all new rows go to, if only that one is built anew.
    pub(crate) partition: Option<usize>,
    /// The table's next AUTO_INCREMENT value; 0 if it has none.
    pub(crate) next_auto_increment: u64,
    /// Largest hidden row id, of a table that has them for its key; 0 if there is none.
    pub(crate) row_id_max: u64,
}

/// The source of an old table's entries.
#[derive(Clone, Copy)]
pub(crate) struct OldSource<'a> {
    pub(crate) table: &'a OldTable,
    pub(crate) binding: &'a Binding,
    pub(crate) template: &'a Template,
    /// Rows that are left out.
    pub(crate) replaced: Option<&'a Replaced>,
}

impl<'a> OldSource<'a> {
    /// Those that a file has of an index, 0 being the clustered one. With a `copier` they are for the
    /// new file.
    pub(crate) fn entries(
        &self,
        file: usize,
        index: usize,
        copier: Option<Copier<'a>>,
    ) -> OldEntries<'a> {
        let file = &self.table.files[file];
        let keys = OldKeys::new(self.binding, self.template, index);
        let replaced = self.replaced.filter(|replaced| replaced.count() > 0);
        let rewriter = file.layout.as_ref().filter(|_| index == 0);
        let rewriter = rewriter.map(|layout| {
            Rewriter::new(layout, &self.template.clustered().shape, RECORD_BYTES_MAX)
        });
        let leaves = OldLeaves::new(&file.indexes[index], &file.space, rewriter);
        OldEntries::new(leaves, keys, copier, replaced)
    }
}

impl OldTable {
    /// Verifies what was exported, all of the table or `partition` alone, and finds its leaves.
    ///
    /// Errors: rows that are stored otherwise than new ones; a file that breaks a rule of the format.
    pub(crate) fn open(
        export: &Export,
        partition: Option<usize>,
        like: Like<'_>,
        bounds: Bounds<'_>,
        progress: &dyn Progress,
    ) -> Result<OldTable, Error> {
        let count = export.files.len();
        let open = |exported| OldFile::open(exported, count, like, bounds, progress);
        let files = export.files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let next = files.iter().map(|file| file.next_auto_increment).max().unwrap_or(0);
        let mut table = OldTable { files, partition, next_auto_increment: next, row_id_max: 0 };
        if like.binding.clustered.has_row_id {
            table.row_id_max = table.last_row_id(like)?;
        }
        Ok(table)
    }

    /// The largest hidden row id of the rows that count; those of deleted ones are free again.
    fn last_row_id(&self, like: Like<'_>) -> Result<u64, Error> {
        let Like { template, binding, .. } = like;
        let source = OldSource { table: self, binding, template, replaced: None };
        let files = 0..self.files.len();
        let ids = files.map(|file| self.last_row_id_of(file, source));
        Ok(ids.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(0))
    }

    fn last_row_id_of(&self, file: usize, source: OldSource<'_>) -> Result<u64, Error> {
        let mut entries = source.entries(file, 0, None);
        for leaf in (0..self.files[file].indexes[0].leaves.len()).rev() {
            entries.begin(&KeyRange::all(), leaf..leaf + 1);
            let mut last = None;
            while entries.advance()? {
                last = Some(entries.last_key().bytes.clone());
            }
            if let Some(id) = last {
                return Ok(id.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)));
            }
        }
        Ok(0)
    }

    /// Rows that count.
    pub(crate) fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Memory that reading these files takes at most, or others that are no larger.
    pub(crate) fn bytes_at_most(file_bytes: &[u64], indexes: usize, threads: usize) -> usize {
        let pages = file_bytes.iter().sum::<u64>() as usize / PAGE_SIZE;
        let leaves = pages / indexes + 1;
        indexes * OldIndex::bytes_at_most(leaves, file_bytes.len().max(1))
            + threads * READ_PAGES * PAGE_SIZE
    }

    /// Memory that reading it takes, by so many threads.
    pub(crate) fn bytes(&self, threads: usize) -> usize {
        let indexes = self.files.iter().flat_map(|file| &file.indexes);
        indexes.map(OldIndex::bytes).sum::<usize>() + threads * READ_PAGES * PAGE_SIZE
    }

    /// Bytes of all leaves.
    pub(crate) fn leaf_bytes(&self) -> u64 {
        self.files.iter().map(OldFile::leaf_bytes).sum()
    }
}
