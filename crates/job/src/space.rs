//! Bytes of a disk that are free.

use std::path::Path;

use rustix::fs::statvfs;

use crate::error::Error;

/// Bytes that may still be written to the file system of a folder.
pub fn free_bytes(folder: &Path) -> Result<u64, Error> {
    let stat = statvfs(folder)
        .map_err(|errno| Error::io("reading the free space of", folder)(errno.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
