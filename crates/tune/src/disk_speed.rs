//! How fast a folder's disk takes what is written there, measured: a second or two.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Writes that are waited for: as many as a second allows, and no more.
const SYNCS_MAX: usize = 50;
const SYNCS_TIME_MAX: Duration = Duration::from_secs(1);
/// The least that a commit writes, in bytes.
const COMMIT_BYTES: usize = 4096;
/// Bytes that are written in a row: as many as fit the time, and no more.
const STREAM_BYTES_MAX: usize = 64 << 20;
const STREAM_TIME_MAX: Duration = Duration::from_secs(1);
const BLOCK_BYTES: usize = 1 << 20;

/// The measured speeds of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DiskSpeed {
    /// Milliseconds until a small write is on the disk, half of them sooner.
    pub sync_ms: f64,
    /// Bytes a second of one large write, until they are on the disk.
    pub write_bytes_per_second: f64,
}

impl DiskSpeed {
    /// Writes to a file in `folder` that has no name, and that is gone at once.
    ///
    /// Errors: a folder that this process may not write to.
    pub fn measure(folder: &Path) -> io::Result<DiskSpeed> {
        Ok(DiskSpeed { sync_ms: sync_ms(folder)?, write_bytes_per_second: stream(folder)? })
    }
}

fn sync_ms(folder: &Path) -> io::Result<f64> {
    let file = disk::unnamed(folder, "measure")?;
    let (block, begun) = ([7; COMMIT_BYTES], Instant::now());
    let mut taken = Vec::with_capacity(SYNCS_MAX);
    while taken.len() < SYNCS_MAX && begun.elapsed() < SYNCS_TIME_MAX {
        let started = Instant::now();
        file.write_all_at(&block, (taken.len() * COMMIT_BYTES) as u64)?;
        file.sync_data()?;
        taken.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}

fn stream(folder: &Path) -> io::Result<f64> {
    let mut file = disk::unnamed(folder, "measure")?;
    let (block, begun, mut bytes) = (vec![7; BLOCK_BYTES], Instant::now(), 0);
    while bytes < STREAM_BYTES_MAX && begun.elapsed() < STREAM_TIME_MAX {
        file.write_all(&block)?;
        bytes += block.len();
    }
    file.sync_data()?;
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let speed = DiskSpeed::measure(folder.path()).unwrap();
        assert!(speed.sync_ms > 0.0 && speed.write_bytes_per_second > 0.0, "{speed:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(DiskSpeed::measure(&folder.path().join("missing")).is_err());
    }
}
