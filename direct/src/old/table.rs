//! The file of a table that has rows, as the server has written it out.

use std::collections::HashMap;
use std::sync::Arc;

use encode::binding::Binding;
use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::AlignedPage;
use innodb::template::Template;
use job::error::Error;
use job::memory::Least;
use job::progress::Progress;
use targets::export::Export;
use values::Collation;

use super::entries::OldEntries;
use super::index::{OldIndex, READ_PAGES};
use super::keys::OldKeys;
use crate::off_page::Copier;
use crate::space_file::SpaceFile;
use crate::verify::{self, Bounds};

/// A table's file, verified, which nobody changes.
pub(crate) struct OldTable {
    pub(crate) file: SpaceFile,
    /// As the new table has them.
    pub(crate) indexes: Vec<OldIndex>,
    /// Rows that count.
    pub(crate) rows: u64,
    /// The table's next AUTO_INCREMENT value; 0 if it has none.
    pub(crate) next_auto_increment: u64,
    /// Largest hidden row id, of a table that has them for its key; 0 if there is none.
    pub(crate) row_id_max: u64,
}

/// What the entries of an old table are read by.
#[derive(Clone, Copy)]
pub(crate) struct OldSource<'a> {
    pub(crate) table: &'a OldTable,
    pub(crate) binding: &'a Binding,
    pub(crate) template: &'a Template,
}

impl<'a> OldSource<'a> {
    /// Those of index `index`, 0 being the clustered one. With a `copier` they are for the new file.
    pub(crate) fn entries(&self, index: usize, copier: Option<Copier<'a>>) -> OldEntries<'a> {
        let keys = OldKeys::new(self.binding, self.template, index);
        OldEntries::new(&self.table.indexes[index], &self.table.file, keys, copier)
    }
}

impl OldTable {
    /// Verifies the file and finds its leaves. `template` and `cfg` are the new table's, which is
    /// like it.
    ///
    /// Errors: rows that are stored otherwise than new ones; a file that breaks a rule of the format.
    pub(crate) fn open(
        export: &Export,
        (template, cfg): (&Template, &Cfg),
        binding: &Binding,
        collations: &HashMap<u32, Arc<Collation>>,
        bounds: Bounds<'_>,
        progress: &dyn Progress,
    ) -> Result<OldTable, Error> {
        let old = Cfg::parse(&export.cfg)?;
        let places = cfg.indexes_of_like(&old).ok_or_else(|| {
            Error::NotMerged(
                "they are stored otherwise than those of a table that is made like it, until ALTER \
                 TABLE .. FORCE writes them anew"
                    .to_owned(),
            )
        })?;
        let file = export.file.try_clone().map_err(Error::io("opening", &export.path))?;
        let file = SpaceFile::new(file, export.path.clone(), u64::MAX);
        let file_bytes = file.size()?;
        Least::of_verifying(file_bytes).check(bounds.memory_bytes_max)?;
        let report = verify::verify_old(&file, &old, collations, bounds, progress)?;
        let pages = (file_bytes / PAGE_SIZE as u64) as u32;
        let mut table = OldTable {
            file,
            indexes: Vec::new(),
            rows: report.indexes.first().map_or(0, |clustered| clustered.records()),
            next_auto_increment: old.autoinc,
            row_id_max: 0,
        };
        for (at, place) in places.into_iter().enumerate() {
            let keys = OldKeys::new(binding, template, at);
            let root = PageNo(old.indexes[place].root);
            let shape = &template.indexes[at].shape;
            table.indexes.push(OldIndex::read(&table.file, (root, shape), &keys, pages)?);
        }
        if binding.clustered.has_row_id {
            table.row_id_max = table.last_row_id(binding, template)?;
        }
        Ok(table)
    }

    /// The largest hidden row id of the rows that count; those of deleted ones are free again.
    fn last_row_id(&self, binding: &Binding, template: &Template) -> Result<u64, Error> {
        let mut pages = vec![AlignedPage::ZERO; 1];
        let keys = OldKeys::new(binding, template, 0);
        let (mut records, mut order) = (Vec::new(), Vec::new());
        for leaf in self.indexes[0].leaves.iter().rev() {
            let read = innodb::leaves::read_leaves(&self.file, &[*leaf], &mut pages, &mut order);
            read.map_err(super::keys::unreadable)?;
            let live = keys.records().live(*leaf, &pages[0].0, &mut records);
            live.map_err(super::keys::unreadable)?;
            if let Some(last) = records.last() {
                let id = last.data(&pages[0].0).iter().take(innodb::record::ROW_ID_BYTES);
                return Ok(id.fold(0, |id, byte| id << 8 | u64::from(*byte)));
            }
        }
        Ok(0)
    }

    /// Memory that reading it takes, by so many threads.
    pub(crate) fn bytes(&self, threads: usize) -> usize {
        let indexes: usize = self.indexes.iter().map(OldIndex::bytes).sum();
        indexes + threads * READ_PAGES * PAGE_SIZE
    }

    /// Bytes of all leaves.
    pub(crate) fn leaf_bytes(&self) -> u64 {
        let leaves: usize = self.indexes.iter().map(|index| index.leaves.len()).sum();
        (leaves * PAGE_SIZE) as u64
    }
}
