//! How many files the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than a load opens, and than a child process is slowed down by.
const OPEN_FILES_ENOUGH: u64 = 1 << 16;

/// Files that the process may have open at once.
pub fn open_files_max() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize)
}

/// Raises that limit, as far as the system lets the process do so by itself: most begin with 1,024 and may have many
/// more.
pub fn raise_open_files_max() {
    let limit = getrlimit(Resource::Nofile);
    let enough = limit.maximum.unwrap_or(u64::MAX).min(OPEN_FILES_ENOUGH);
    if limit.current.is_some_and(|files| files < enough) {
        // A limit that stays only makes sorts merge earlier.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(enough), ..limit });
    }
}
