//! A check of the free space for a load, before anything is built in a folder of the server.

use std::path::{Path, PathBuf};

use job::error::Error;
use job::space::{free_bytes, kept_bytes};
use rustix::fs::stat;

use crate::estimate::Estimate;

/// Refuses a load that will not fit: its file beside `build_path`, its sorted runs in `temp_dir`.
///
/// The sizes are those of rows like the first ones, in an order as of those, and runs are taken to
/// compress as well as any: so no load is refused that could go well. A disk that fills up all the
/// same stops the load, target as before.
pub(crate) fn check(
    build_path: &Path,
    temp_dir: &Path,
    estimate: Option<&Estimate>,
) -> Result<(), Error> {
    let Some(estimate) = estimate else { return Ok(()) };
    let folder = build_path.parent().unwrap_or(build_path);
    let (table_bytes, temporary_bytes) = (estimate.table_bytes, estimate.spilled_bytes_min);
    if device(folder)? == device(temp_dir)? {
        return fits(folder, table_bytes, temporary_bytes);
    }
    fits(folder, table_bytes, 0)?;
    fits(temp_dir, 0, temporary_bytes)
}

/// Refuses what is larger than the room in a folder, less what stays free for the server where a table goes.
pub(crate) fn fits(folder: &Path, table_bytes: u64, temporary_bytes: u64) -> Result<(), Error> {
    let free_bytes = free_bytes(folder)?;
    let kept_bytes = if table_bytes > 0 { kept_bytes(free_bytes) } else { 0 };
    if table_bytes + temporary_bytes <= free_bytes - kept_bytes {
        return Ok(());
    }
    let path = PathBuf::from(folder);
    Err(Error::NoSpace { path, free_bytes, kept_bytes, table_bytes, temporary_bytes })
}

fn device(folder: &Path) -> Result<u64, Error> {
    let stat = stat(folder).map_err(|errno| Error::io("looking at", folder)(errno.into()))?;
    Ok(stat.st_dev)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use job::progress::Stage;

    use super::*;
    use crate::estimate::STAGES;

    fn estimate(table_bytes: u64, temporary_bytes: u64) -> Estimate {
        Estimate {
            rows: 1,
            table_bytes,
            temporary_bytes,
            temporary_bytes_unordered: temporary_bytes,
            loads_measured: 0,
            seconds: 1.0,
            seconds_unordered: 1.0,
            is_unordered: false,
            fixed_seconds: 0.0,
            spilled_bytes_min: temporary_bytes,
            stages: [(Stage::Rows, 1.0); STAGES],
        }
    }

    #[test]
    fn a_load_larger_than_the_disk_is_refused() {
        let (build, here) = (Path::new("./x.build"), Path::new("."));
        assert!(check(build, here, Some(&estimate(1, 1))).is_ok());
        assert!(check(build, here, None).is_ok());
        let error = check(build, here, Some(&estimate(1 << 60, 0))).unwrap_err();
        assert!(matches!(error, Error::NoSpace { table_bytes, .. } if table_bytes == 1 << 60));
        assert_eq!(error.exit_status(), 2);
        let text = error.to_string();
        assert!(text.contains("the load needs about 1.15 EB there"), "{text}");
    }

    #[test]
    fn the_table_and_the_runs_count_together_on_one_disk() {
        let (build, here) = (Path::new("./x.build"), Path::new("."));
        let free = free_bytes(here).unwrap();
        let both = estimate(free / 4 * 3, free);
        assert!(matches!(check(build, here, Some(&both)), Err(Error::NoSpace { .. })));
        let last = estimate(free - kept_bytes(free) / 2, 0);
        let error = check(build, here, Some(&last)).unwrap_err().to_string();
        assert!(error.contains("stay free for the server"), "{error}");
        assert!(check(build, here, Some(&estimate(free / 4 * 3, 0))).is_ok());
        assert!(check(build, here, Some(&estimate(0, free / 2))).is_ok());
        // Another file system.
        let memory = Path::new("/proc");
        assert!(check(build, memory, Some(&estimate(free / 4 * 3, 0))).is_ok());
        let error = check(build, memory, Some(&estimate(0, 1 << 40))).unwrap_err();
        assert!(error.to_string().starts_with("/proc has 0 B free"), "{error}");
    }
}
