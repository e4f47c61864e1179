//! The file that is built for a staging table: it tells whether another load has come in between.

use std::path::PathBuf;

use schema::Table;

use crate::names::Names;
use catalog::{definition, without_references};
use server::error::{Error, Result};
use server::facts::database_dir::{DatabaseDir, FileId};
use server::session::Session;

/// The file that was made to build in, and where it can be.
#[derive(Debug)]
pub(super) struct BuiltFile {
    pub(super) id: FileId,
    /// Where it is built, and where it is placed.
    pub(super) paths: [PathBuf; 2],
}

impl BuiltFile {
    /// True if no other load has cleaned up: the file, placed or not, and the staging table exist.
    pub(super) fn is_still_there(
        &self,
        session: &mut Session,
        dir: &DatabaseDir,
        table: &Table,
    ) -> Result<bool> {
        if !self.paths.iter().any(|path| dir.id(path) == Some(self.id)) {
            return Ok(false);
        }
        match definition(session, &Names::of(&table.name).staging) {
            Ok(definition) => Ok(definition == without_references(&table.definition)),
            Err(Error::Statement { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }
}
