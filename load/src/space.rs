//! Whether there is room for the file, before anything is built in a folder the server lives in.

use std::path::Path;

use crate::error::Error;

/// Part of the input's size that a secondary index takes, in percent: short keys and the primary
/// key's columns, against whole lines of text.
const SECONDARY_PERCENT: u64 = 10;

/// Refuses a load whose file will not fit beside `build_path`.
///
/// The size is a guess: a clustered record is about as long as its line. Rows of many numbers take
/// more, long decimal text less; a disk that fills up all the same stops the load, target as before.
pub(crate) fn check(
    build_path: &Path,
    input_bytes: Option<u64>,
    indexes: usize,
) -> Result<(), Error> {
    let Some(input_bytes) = input_bytes else { return Ok(()) };
    let secondaries = indexes.saturating_sub(1) as u64;
    let needed_bytes = input_bytes / 100 * (100 + SECONDARY_PERCENT * secondaries);
    let folder = build_path.parent().unwrap_or(build_path);
    let stat = rustix::fs::statvfs(folder)
        .map_err(|errno| Error::io("looking for free space in", folder)(errno.into()))?;
    let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    Err(Error::NoSpace { path: folder.to_owned(), free_bytes, needed_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_larger_than_the_disk_is_refused() {
        let here = Path::new("./x.build");
        assert!(check(here, Some(1), 3).is_ok());
        assert!(check(here, None, 3).is_ok());
        let outcome = check(here, Some(1 << 60), 3);
        assert!(
            matches!(outcome, Err(Error::NoSpace { needed_bytes, .. }) if needed_bytes > 1 << 60)
        );
    }
}
