//! Files that are built and verified, and what the server makes of them.

use std::path::Path;

use disk::File;
use innodb::cfg::{Cfg, CfgIndex, MySqlTable};
use innodb::ids::IndexId;
use job::error::Error;
use job::failpoint;
use job::progress::{Progress, Stage};
use job::steps::Steps;
use schema::Partition;
use server::Interrupt;
use targets::Direct;
use targets::export::Export;
use targets::import::{AtBuilt, Imported};
use targets::key_run::Keys;
use targets::publish::{Filled, FilledBy};

use crate::adopted::Adopted;
use crate::attempt::Built;
use crate::space_file::SpaceFile;
use crate::stamp::Stamps;

/// A target whose files are built and verified.
pub struct Unplaced {
    /// The server's description of all tables that they are for.
    pub(crate) cfg: Cfg,
    /// One, or one a partition.
    pub(crate) spaces: Vec<Full>,
    pub(crate) built: Built,
    /// The expected contents on the server, if they are compared.
    pub(crate) adopted: Option<Adopted>,
    /// The partition that the one file is for, with the rows that it has.
    pub(crate) merged: Option<usize>,
    /// Holds the target, if its rows are in the file too.
    pub(crate) export: Option<Export>,
    pub(crate) stamps: Stamps,
}

/// A file that is built.
pub(crate) struct Full {
    pub(crate) at: AtBuilt,
    pub(crate) file: File,
    pub(crate) rows: u64,
}

impl Unplaced {
    /// Bytes of the file, in the page cache mostly.
    pub fn file_bytes(&self) -> u64 {
        self.built.file_bytes
    }

    /// True if the table stays as it is: it keeps its rows, and gets none.
    pub fn adds_nothing(&self) -> bool {
        self.built.adds_nothing
    }

    /// The report of it. It is not imported.
    pub fn into_built(self) -> Built {
        self.built
    }

    /// Has the server of a replica adopt a copy of the file, which lies at `built` and is not imported
    /// yet.
    ///
    /// Errors: the server's; its staging table is of another shape.
    pub fn import_copy(
        &self,
        built: &Path,
        replica: &mut Direct<'_>,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        if self.spaces.len() != 1 {
            return Err(Error::Usage("the table has partitions, a file each".to_owned()));
        }
        let (files, exported) = replica.create_staging()?.export_template()?;
        let cfg = self.described();
        if shape(&Cfg::parse(&files.cfg)?) != shape(&cfg) {
            return Err(Error::Usage(
                "InnoDB on that server uses another layout for the table".to_owned(),
            ));
        }
        let building = exported.discard()?.create_copy(built, interrupt)?;
        failpoint::hit("replica.copied");
        let placed = building.place(&cfg.to_bytes())?;
        failpoint::hit("replica.placed");
        let mut imported = placed.import(self.built.counts.row_id_max)?;
        imported.keep_counter(self.built.counts.next_auto_increment)?;
        imported.check_indexes(self.built.rows_in_all)?;
        let mut filled = imported.filled();
        if self.stamps.are_wanted(&mut filled.lock.session)? {
            self.stamps.stamp(&mut filled, None, &(), interrupt)?;
        }
        Ok(())
    }

    /// The `.cfg` for the server, for each file.
    fn described(&self) -> Cfg {
        Cfg { autoinc: self.built.counts.next_auto_increment.unwrap_or(0), ..self.cfg.clone() }
    }

    /// Has the server adopt the files. Takes no memory worth counting.
    pub fn import(
        self,
        direct: &mut Direct<'_>,
        steps: &mut Steps<'_>,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<(FilledBy, Built), Error> {
        let cfg = self.described();
        let Unplaced { mut spaces, mut built, merged, export, adopted, stamps, .. } = self;
        let partitions = direct.lock.table.partitioning.as_ref().map(|by| by.partitions.clone());
        let made = steps.step(Stage::Import, || {
            let keys = Keys { runs: std::mem::take(&mut built.keys), rows: built.rows_in_all };
            let lost = || Error::Internal("a table without files was to be imported".to_owned());
            if let (Some(partitions), Some(number)) = (&partitions, merged) {
                let (space, export) = spaces.pop().zip(export).ok_or_else(lost)?;
                return merged_partition(direct, &cfg, space, number, export, partitions);
            }
            let filled = match &partitions {
                Some(partitions) => exchange_all(direct, &cfg, spaces, partitions, &built)?,
                None => {
                    let space = spaces.pop();
                    let imported =
                        space.map(|space| space.import(direct, &cfg, built.counts.row_id_max));
                    imported.transpose()?.map(|imported| imported.filled().rest())
                }
            };
            let filled = filled.ok_or_else(lost)?;
            Ok(filled.with_keys(keys).extending(export))
        })?;
        // Of a merged partition there is one file.
        let partitions = partitions.filter(|_| merged.is_none());
        let mut filled = Filled::by(direct.lock, made);
        if let Some(adopted) = adopted {
            steps.step(Stage::Compare, || compare(&adopted, &mut filled, progress, interrupt))?;
        }
        filled.ensure_session()?;
        if stamps.are_wanted(&mut filled.lock.session)? {
            built.stamped = steps.step(Stage::Stamp, || {
                stamps.stamp(&mut filled, partitions.as_deref(), progress, interrupt)
            })?;
        }
        Ok((filled.rest(), built))
    }
}

impl Full {
    fn import<'d>(
        self,
        direct: &'d mut Direct<'_>,
        cfg: &Cfg,
        row_id_max: Option<u64>,
    ) -> Result<Imported<'d>, Error> {
        let Full { at, file, rows } = self;
        // It is the server's from here on.
        drop(file);
        let mut building = direct.building(at)?;
        building.ensure_session()?;
        let placed = building.place(&cfg.to_bytes())?;
        failpoint::hit("import.placed");
        let mut imported = placed.import(row_id_max)?;
        imported.keep_counter((cfg.autoinc > 0).then_some(cfg.autoinc))?;
        imported.check_indexes(rows)?;
        Ok(imported)
    }

    /// The same file with a table for it: of all partitions but the first, that is made only now.
    fn with_table(self, number: usize, direct: &mut Direct<'_>) -> Result<Full, Error> {
        let mut building = direct.building(self.at)?;
        building.ensure_session()?;
        let mut at = building.rest();
        if number > 0 {
            at = direct.create_part(number, at)?;
            at.renumber(&self.file)?;
        }
        Ok(Full { at, ..self })
    }
}

/// Has the server adopt the files of all partitions that got rows; of at least one, which tells later
/// that nobody has cleaned up. All tables for them are there before the first is imported: what has to
/// pass in between passes for all of them at once.
fn exchange_all(
    direct: &mut Direct<'_>,
    cfg: &Cfg,
    spaces: Vec<Full>,
    partitions: &[Partition],
    built: &Built,
) -> Result<Option<FilledBy>, Error> {
    let mut made = vec![0];
    let mut filled = Vec::new();
    for (number, (space, partition)) in spaces.into_iter().zip(partitions).enumerate() {
        if space.rows == 0 && (built.counts.rows > 0 || number > 0) {
            direct.remove_part_file(number)?;
            continue;
        }
        filled.push((space.with_table(number, direct)?, partition));
        made.extend((number > 0).then_some(number));
    }
    failpoint::hit("partitions.made");
    let mut last = None;
    for (space, partition) in filled {
        last = Some(space.import(direct, cfg, None)?.exchange(&partition.name)?);
    }
    direct.drop_parts(&made)?;
    let filled =
        last.map(|last| direct.filled_by_parts(last, built.counts.row_id_max)).transpose()?;
    Ok(filled.map(Filled::rest))
}

/// Compares the table that is to take the target's place with the rows that were read.
fn compare(
    adopted: &Adopted,
    filled: &mut Filled<'_>,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let target = filled.lock.table.name.to_string();
    let partitions = filled.lock.table.partitioning.as_ref().map(|by| by.partitions.clone());
    filled.read_filled(partitions.as_deref(), |files| {
        let space = |(file, path)| SpaceFile::new(file, path, u64::MAX);
        let files: Vec<SpaceFile> = files.into_iter().map(space).collect();
        failpoint::hit("compare.held");
        adopted.compare(&target, &files, progress, interrupt)
    })
}

/// Has the server adopt the file of the one partition that gets rows, with those that it has.
fn merged_partition(
    direct: &mut Direct<'_>,
    cfg: &Cfg,
    space: Full,
    number: usize,
    export: Export,
    partitions: &[Partition],
) -> Result<FilledBy, Error> {
    for other in (0..partitions.len()).filter(|other| *other != number) {
        direct.remove_part_file(other)?;
    }
    let space = space.with_table(number, direct)?;
    failpoint::hit("partitions.made");
    Ok(space.import(direct, cfg, None)?.merged(&partitions[number].name, export)?)
}

/// The parts of a description that must be equal on two servers: all but names and numbers of the
/// files.
fn shape(cfg: &Cfg) -> Cfg {
    let index = |index: &CfgIndex| CfgIndex { id: IndexId(0), space_id: 0, ..index.clone() };
    let mysql = cfg.mysql.as_ref().map(|table| MySqlTable {
        dictionary: table.dictionary.as_ref().map(index),
        ..table.clone()
    });
    Cfg {
        host: String::new(),
        autoinc: 0,
        indexes: cfg.indexes.iter().map(index).collect(),
        mysql,
        ..cfg.clone()
    }
}
