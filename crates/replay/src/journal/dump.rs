//! Which dump it is, into which server, replayed how: what a journal is good for.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use server::identifier::digest;

use crate::error::Error;
use crate::options::ReplayOptions;

/// The identity of a replay, which must be the same to go on where another ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Its path, without links.
    dump: String,
    /// A digest of names, sizes, times of change and inodes of its files.
    files: u64,
    /// Address and account.
    server: String,
    into: Option<String>,
    tables: Vec<String>,
    exclude: Vec<String>,
    atomic: bool,
    /// Collations with other names, which the server has too.
    #[serde(default)]
    mapped: Vec<String>,
}

impl Identity {
    /// The identity by `options`; None for an input that cannot be read twice.
    ///
    /// Errors: a dump that is not there.
    pub(super) fn of(
        options: &ReplayOptions,
        mapped: Vec<String>,
        server: &str,
    ) -> Result<Option<Identity>, Error> {
        let fail = |source| Error::Usage(format!("reading {}: {source}", options.dump.display()));
        let metadata = std::fs::metadata(&options.dump).map_err(fail)?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Ok(None);
        }
        let path = std::fs::canonicalize(&options.dump).map_err(fail)?;
        let mut files = Vec::new();
        list(&path, &mut files).map_err(fail)?;
        files.sort_unstable();
        Ok(Some(Identity {
            dump: path.to_string_lossy().into_owned(),
            files: digest(files.join("\n").as_bytes()),
            server: server.to_owned(),
            into: options.into.clone(),
            tables: options.tables.clone(),
            exclude: options.exclude.clone(),
            atomic: options.atomic,
            mapped,
        }))
    }

    /// The name of a journal's file: a dump that has changed has the same one, and begins it anew.
    pub(super) fn key(&self) -> String {
        format!("{}\0{}\0{:?}", self.dump, self.server, self.into)
    }
}

/// A digest of the size and the times of a file.
pub(super) fn file_digest(file: &Path) -> Result<u64, Error> {
    let mut lines = Vec::new();
    list(file, &mut lines)
        .map_err(|source| Error::Usage(format!("reading {}: {source}", file.display())))?;
    Ok(digest(lines.join("\n").as_bytes()))
}

fn list_folder(path: &Path, files: &mut Vec<String>) -> std::io::Result<()> {
    std::fs::read_dir(path)?.try_for_each(|entry| list(&entry?.path(), files))
}

/// A line for each file at or below `path`.
fn list(path: &Path, files: &mut Vec<String>) -> std::io::Result<()> {
    // A link to a folder above would have no end.
    let metadata = std::fs::symlink_metadata(path)?;
    let metadata = match metadata.is_symlink() {
        true => std::fs::metadata(path).unwrap_or(metadata),
        false if metadata.is_dir() => return list_folder(path, files),
        false => metadata,
    };
    files.push(format!(
        "{} {} {} {} {}",
        path.display(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ino()
    ));
    Ok(())
}
