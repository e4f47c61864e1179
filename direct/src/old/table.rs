//! The file of a table that has rows, as the server has written it out.

use std::collections::HashMap;
use std::sync::Arc;

use encode::binding::Binding;
use innodb::cfg::Cfg;
use innodb::ids::{FIL_NULL, PAGE_SIZE, PageNo};
use innodb::instant::{OldLayout, Rewriter};
use innodb::template::Template;
use job::error::Error;
use job::memory::Least;
use job::progress::Progress;
use sort::KeyRange;
use targets::export::Export;
use values::Collation;

use super::entries::OldEntries;
use super::index::{OldIndex, READ_PAGES};
use super::keys::{OldKeys, unreadable};
use super::leaves::OldLeaves;
use super::replaced::Replaced;
use crate::off_page::Copier;
use crate::space_file::SpaceFile;
use crate::verify::{self, Bounds};

/// A table's file, verified, which nobody changes.
pub(crate) struct OldTable {
    pub(crate) file: SpaceFile,
    /// How records of its clustered index differ from new ones, if it was altered instantly.
    pub(crate) layout: Option<OldLayout>,
    /// Which partition of its table it is, if that has any.
    pub(crate) partition: Option<usize>,
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
    /// Rows that are left out.
    pub(crate) replaced: Option<&'a Replaced>,
}

impl<'a> OldSource<'a> {
    /// Those of index `index`, 0 being the clustered one. With a `copier` they are for the new file.
    pub(crate) fn entries(&self, index: usize, copier: Option<Copier<'a>>) -> OldEntries<'a> {
        let keys = OldKeys::new(self.binding, self.template, index);
        let replaced = self.replaced.filter(|replaced| replaced.count() > 0);
        let rewriter = self.table.layout.as_ref().filter(|_| index == 0);
        let rewriter =
            rewriter.map(|layout| Rewriter::new(layout, &self.template.clustered().shape));
        let leaves = OldLeaves::new(&self.table.indexes[index], &self.table.file, rewriter);
        OldEntries::new(leaves, keys, copier, replaced)
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
        let file = export.file.try_clone().map_err(Error::io("opening", &export.path))?;
        let file = SpaceFile::new(file, export.path.clone(), u64::MAX);
        let root = PageNo(old.indexes.first().map_or(FIL_NULL, |clustered| clustered.root));
        let is_altered = innodb::instant::is_altered(&file, root).map_err(unreadable)?;
        let places = cfg.indexes_of_like(&old, is_altered).ok_or_else(|| {
            Error::NotMerged(
                "they are stored otherwise than those of a table that is made like it, until ALTER \
                 TABLE .. FORCE writes them anew"
                    .to_owned(),
            )
        })?;
        let file_bytes = file.size()?;
        Least::of_verifying(file_bytes).check(bounds.memory_bytes_max)?;
        let report = verify::verify_old(&file, &old, collations, bounds, progress)?;
        let pages = (file_bytes / PAGE_SIZE as u64) as u32;
        let shape = &template.clustered().shape;
        let layout = OldLayout::read(&file, &old, (cfg, shape), pages).map_err(unreadable)?;
        let mut table = OldTable {
            file,
            layout,
            partition: None,
            indexes: Vec::new(),
            rows: report.indexes.first().map_or(0, |clustered| clustered.records()),
            next_auto_increment: old.autoinc,
            row_id_max: 0,
        };
        for (at, place) in places.into_iter().enumerate() {
            let keys = OldKeys::new(binding, template, at);
            let root = PageNo(old.indexes[place].root);
            let shape = &template.indexes[at].shape;
            let node = match table.layout.as_ref().filter(|_| at == 0) {
                Some(layout) => layout.node_shape(shape),
                None => shape.to_node(),
            };
            table.indexes.push(OldIndex::read(&table.file, (root, node), &keys, pages)?);
        }
        if binding.clustered.has_row_id {
            table.row_id_max = table.last_row_id(binding, template)?;
        }
        Ok(table)
    }

    /// The largest hidden row id of the rows that count; those of deleted ones are free again.
    fn last_row_id(&self, binding: &Binding, template: &Template) -> Result<u64, Error> {
        let source = OldSource { table: self, binding, template, replaced: None };
        let mut entries = source.entries(0, None);
        for leaf in (0..self.indexes[0].leaves.len()).rev() {
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

    /// Memory that reading a file takes at most that is no larger than this one.
    pub(crate) fn bytes_at_most(file_bytes: u64, indexes: usize, threads: usize) -> usize {
        let pages = file_bytes as usize / PAGE_SIZE;
        indexes * OldIndex::bytes_at_most(pages / indexes + 1) + threads * READ_PAGES * PAGE_SIZE
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
