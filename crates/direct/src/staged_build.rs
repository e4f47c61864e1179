//! The empty tables that files are built for: the staging table, or those for its partitions.

use std::collections::HashMap;
use std::sync::Arc;

use innodb::cfg::Cfg;
use innodb::template::Template;
use job::error::Error;
use job::failpoint;
use job::progress::Stage;
use job::steps::Steps;
use targets::Direct;
use targets::import::AtBuilt;
use targets::staging_table::{AtDiscarded, StagingTable};
use values::Collation;

use crate::build::Space;
use crate::space_file::SpaceFile;
use crate::verify;

/// A target with an empty staging table, which has no file any more; of one with partitions, a table for the
/// first beside the staging table, which has none.
pub struct StagedBuild {
    /// Its file as the server had made it.
    ibd: Vec<u8>,
    pub(crate) cfg: Cfg,
    at: AtDiscarded,
    /// Files that are to be built.
    files: usize,
}

/// Makes the staging table of a target that was found fit for it. `begins_wait` starts what must have
/// passed before the import, where nobody does it for several targets.
pub fn prepare(
    direct: &mut Direct<'_>,
    begins_wait: bool,
    steps: &mut Steps<'_>,
) -> Result<StagedBuild, Error> {
    steps.step(Stage::Staging, || {
        let parts = direct.lock.table.partitioning.as_ref().map(|by| by.partitions.len());
        let staging = direct.create_staging()?;
        failpoint::hit("staging.created");
        let shadowed = match parts {
            None => StagedBuild::of(staging, 1, begins_wait)?,
            Some(files) => StagedBuild::of(direct.create_first_part()?, files, begins_wait)?,
        };
        failpoint::hit("staging.discarded");
        Ok(shadowed)
    })
}

impl StagedBuild {
    fn of(
        staging: StagingTable<'_>,
        files: usize,
        begins_wait: bool,
    ) -> Result<StagedBuild, Error> {
        let (exported, discarded) = staging.export_template()?;
        let discarded = if begins_wait { discarded.discard() } else { discarded.discard_only() }?;
        let cfg = Cfg::parse(&exported.cfg)?;
        Ok(StagedBuild { ibd: exported.ibd, cfg, at: discarded.rest(), files })
    }

    /// Makes the files to build in, of which `cached_bytes_max` bytes may stay in the page cache.
    pub(crate) fn begin(
        self,
        direct: &mut Direct<'_>,
        cached_bytes_max: u64,
        collations: &HashMap<u32, Arc<Collation>>,
    ) -> Result<(Vec<Space>, Vec<AtBuilt>), Error> {
        let StagedBuild { ibd, cfg, at, files, .. } = self;
        let all_bytes = Arc::default();
        let mut first = Some(at);
        let (mut spaces, mut built) = (Vec::new(), Vec::new());
        for number in 0..files {
            let (file, building) = match first.take() {
                Some(at) => direct.discarded(at)?.create_build_file()?,
                None => direct.begin_part(number)?,
            };
            let file =
                SpaceFile::beside(file, building.path(), cached_bytes_max, Arc::clone(&all_bytes));
            let early = verify::early(&ibd, &cfg, collations)?;
            spaces.push(Space { template: Template::parse(&ibd, &cfg)?, file, early });
            built.push(building.rest());
        }
        Ok((spaces, built))
    }
}
