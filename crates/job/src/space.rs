//! Bytes of a disk that are free, and folders that are no disk.

use std::path::Path;

use rustix::fs::{Access, access, statfs, statvfs};

use crate::error::Error;

/// Part of the free bytes that stays free.
const KEPT_SHARE: u64 = 10;
/// More need not stay free.
const KEPT_BYTES_MAX: u64 = 1 << 30;
/// `f_type` of file systems in memory: `TMPFS_MAGIC` and `RAMFS_MAGIC` of linux/magic.h.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58F6];

/// Bytes that may still be written to the file system of a folder.
pub fn free_bytes(folder: &Path) -> Result<u64, Error> {
    let stat = statvfs(folder)
        .map_err(|errno| Error::io("reading the free space of", folder)(errno.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Bytes of a disk with so many free ones that a load leaves to the server, which stops or waits on a full disk.
pub fn kept_bytes(free_bytes: u64) -> u64 {
    (free_bytes / KEPT_SHARE).min(KEPT_BYTES_MAX)
}

/// True if the files of a folder are in memory (tmpfs, ramfs).
pub fn is_in_memory(folder: &Path) -> bool {
    statfs(folder).is_ok_and(|stat| IN_MEMORY.contains(&(stat.f_type as u32)))
}

/// True if this process may make files in a folder.
pub(crate) fn is_writable(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_leaves_a_tenth_or_a_gibibyte_to_the_server() {
        assert_eq!([0, 1000, 1 << 40].map(kept_bytes), [0, 100, 1 << 30]);
    }

    #[test]
    fn a_ram_disk_is_told_from_a_disk() {
        assert!(is_in_memory(Path::new("/dev/shm")));
        assert!(!is_in_memory(Path::new("/proc")) && !is_in_memory(Path::new("/no such folder")));
        assert!(is_writable(Path::new("/dev/shm")) && !is_writable(Path::new("/no such folder")));
    }
}
