//! One file of a table that has rows, as the server has written it out.

use std::collections::HashMap;
use std::sync::Arc;

use encode::binding::Binding;
use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::instant::OldLayout;
use innodb::template::Template;
use job::error::Error;
use job::memory::MinMemory;
use job::progress::Progress;
use targets::export::ExportedFile;
use values::Collation;

use super::index::OldIndex;
use super::keys::{OldKeys, unreadable};
use crate::digest::Digest;
use crate::digester::Digester;
use crate::space_file::SpaceFile;
use crate::verify::{self, Bounds};

/// A file, verified, which nobody changes.
pub(crate) struct OldFile {
    pub(crate) space: SpaceFile,
    /// How records of its clustered index differ from new ones, if it was altered instantly.
    pub(crate) layout: Option<OldLayout>,
    /// As the new table has them.
    pub(crate) indexes: Vec<OldIndex>,
    /// Rows that count.
    pub(crate) rows: u64,
    /// Digest of these rows, if requested and known.
    pub(crate) digest: Option<Digest>,
    /// The next AUTO_INCREMENT value that it says; 0 if it says none.
    pub(super) next_auto_increment: u64,
}

/// The new table, which an old one is like.
#[derive(Clone, Copy)]
pub(crate) struct Like<'a> {
    pub(crate) template: &'a Template,
    pub(crate) cfg: &'a Cfg,
    pub(crate) binding: &'a Binding,
    /// By the number that the server knows them by.
    pub(crate) collations: &'a HashMap<u32, Arc<Collation>>,
    /// True if the digest of rows is requested.
    pub(crate) digests: bool,
}

impl OldFile {
    /// Verifies it, one of so many, and finds its leaves.
    ///
    /// Errors: rows that are stored otherwise than new ones; a file that breaks a rule of the format.
    pub(super) fn open(
        exported: &ExportedFile,
        files: usize,
        like: Like<'_>,
        bounds: Bounds<'_>,
        progress: &dyn Progress,
    ) -> Result<OldFile, Error> {
        let Like { template, cfg, binding, collations, digests } = like;
        let old = Cfg::parse(&exported.cfg)?;
        let file = exported.file.try_clone().map_err(Error::io("opening", &exported.path))?;
        let space = SpaceFile::new(file, exported.path.clone(), u64::MAX);
        let is_altered = innodb::instant::is_altered(&space, &old).map_err(unreadable)?;
        let places = cfg.indexes_of_like(&old, is_altered).ok_or_else(|| {
            Error::NotMerged(format!(
                "the table stores its rows in another form than a new table; {REWRITE}"
            ))
        })?;
        let file_bytes = space.size()?;
        MinMemory::of_verifying(file_bytes).check(bounds.memory_bytes_max)?;
        // Rows that were altered are written otherwise than they are.
        let digester = (digests && !is_altered).then(|| Digester::new(template));
        let digester = digester.as_ref();
        let (report, digest) =
            verify::verify_old(&space, &old, collations, bounds, digester, progress)?;
        let pages = (file_bytes / PAGE_SIZE as u64) as u32;
        let shape = &template.clustered().shape;
        let layout = OldLayout::read(&space, &old, cfg, shape, pages).map_err(unreadable)?;
        let mut indexes = Vec::with_capacity(places.len());
        for (at, place) in places.into_iter().enumerate() {
            let keys = OldKeys::new(binding, template, at);
            let root = PageNo(old.indexes[place].root);
            let shape = &template.indexes[at].shape;
            let node = match layout.as_ref().filter(|_| at == 0) {
                Some(layout) => layout.node_shape(shape),
                None => shape.to_node(),
            };
            indexes.push(OldIndex::read(&space, root, node, &keys, pages, files)?);
        }
        let rows = report.indexes.first().map_or(0, |clustered| clustered.records());
        let next_auto_increment = old.autoinc;
        Ok(OldFile { space, layout, indexes, rows, digest, next_auto_increment })
    }

    /// Bytes of all leaves.
    pub(super) fn leaf_bytes(&self) -> u64 {
        let leaves: usize = self.indexes.iter().map(|index| index.leaves.len()).sum();
        (leaves * PAGE_SIZE) as u64
    }
}

/// The statement after which all rows of a table have one form.
pub(crate) const REWRITE: &str = "ALTER TABLE .. FORCE rewrites its rows";
