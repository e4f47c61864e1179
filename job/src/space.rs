//! Bytes of a disk that are free, and bytes as people read them.

use std::path::Path;

use rustix::fs::statvfs;

use crate::error::Error;

/// Bytes that may still be written to the file system of a folder.
pub fn free_bytes(folder: &Path) -> Result<u64, Error> {
    let stat = statvfs(folder)
        .map_err(|errno| Error::io("looking for free space in", folder)(errno.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Bytes as people read them: `1.2 GB`.
pub fn show(bytes: u64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0);
    format!("{value:.digits$} {}", units[unit])
}
