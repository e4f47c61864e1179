//! Threads, memory and folders of a load, and the sizes of its batches and pages.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use face::option::{BATCH_BYTES, BATCH_ROWS, CONNECTIONS, MAX_RATE, MEMORY, TEMP_DIR};

use crate::error::Error;
use crate::machine;
use crate::memory::Memory;
use crate::space::{is_in_memory, is_writable};

/// Sizes of batches that the logical path otherwise finds by itself while it loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// Rows of a statement. Default: found, from about 1,000.
    pub rows: Option<u64>,
    /// Bytes of a statement. Default: found, below `max_allowed_packet` and 8 MiB.
    pub bytes: Option<u64>,
    /// Connections that load. Default: found, from few to 64.
    pub connections: Option<usize>,
    /// Bytes of input a second that are not exceeded. Default: no limit.
    pub bytes_per_second_max: Option<u64>,
}

impl Batches {
    /// Refuses nothing at a time.
    pub(super) fn check(&self) -> Result<(), Error> {
        let given = [
            (BATCH_ROWS, self.rows),
            (BATCH_BYTES, self.bytes),
            (CONNECTIONS, self.connections.map(|count| count as u64)),
            (MAX_RATE, self.bytes_per_second_max),
        ];
        match given.iter().find(|(_, value)| *value == Some(0)) {
            Some((option, _)) => Err(Error::Usage(format!(
                "{} would load nothing; at least 1 is expected",
                option.with(0)
            ))),
            None => Ok(()),
        }
    }
}

/// Space left free in each built page, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Pages of the clustered index. Default 1,024, a sixteenth, as the server's own sorted build.
    pub clustered_reserve: usize,
    /// Pages of secondary indexes. Default 1,024 too. The server leaves nothing, and a full
    /// index of 154 pages splits into 307 after 5 % random inserts, one with this reserve into 177.
    pub secondary_reserve: usize,
}

impl Default for Fill {
    fn default() -> Fill {
        Fill { clustered_reserve: 1024, secondary_reserve: 1024 }
    }
}

/// Threads, memory, folders, and the sizes of batches and pages.
#[derive(Clone, Debug)]
pub struct ResourceLimits {
    /// Threads that parse, sort and build. Default: one a core.
    pub threads: usize,
    /// Memory of the whole process, in bytes. Default a quarter of the machine's.
    pub memory_bytes_max: u64,
    /// Bytes of a file built for IMPORT that may be left to the page cache until then. Default:
    /// [`machine::page_cache_bytes`].
    pub page_cache_bytes: Option<u64>,
    /// The folder that sorted runs spill to. Default: [`default_temp_dir`].
    pub temp_dir: PathBuf,
    /// Fixed sizes of the logical path's batches. Default: found.
    pub batches: Batches,
    /// Free space in built pages.
    pub fill: Fill,
    /// The shares of that memory, which otherwise follow from it. For tests: small ones make many
    /// chunks, hand-overs and spills of little input.
    #[doc(hidden)]
    pub shares: Option<Memory>,
    /// True if the logical path sorts rows by primary key first. For tests and benchmarks. Default:
    /// where it pays.
    #[doc(hidden)]
    pub sort_input: Option<bool>,
    /// True if the logical path drops the staging table's indexes and builds them when the rows are in. For
    /// tests. Default: where it pays.
    #[doc(hidden)]
    pub defer_indexes: Option<bool>,
}

impl Default for ResourceLimits {
    fn default() -> ResourceLimits {
        ResourceLimits {
            threads: default_threads(),
            memory_bytes_max: default_memory_bytes(),
            page_cache_bytes: None,
            temp_dir: default_temp_dir(),
            batches: Batches::default(),
            fill: Fill::default(),
            shares: None,
            sort_input: None,
            defer_indexes: None,
        }
    }
}

impl ResourceLimits {
    /// Bytes of a built file that are left to the page cache.
    pub fn page_cache_bytes(&self) -> u64 {
        let of_machine = || machine::page_cache_bytes(self.memory_bytes_max);
        self.page_cache_bytes.unwrap_or_else(of_machine)
    }

    /// A note for a load that sorts in memory what was to be on a disk.
    pub fn temp_dir_note(&self) -> Option<String> {
        is_in_memory(&self.temp_dir).then(|| {
            format!(
                "sorted runs in {} take memory beside {MEMORY}, because that folder is a RAM disk; {TEMP_DIR} \
                 names a folder on a disk",
                self.temp_dir.display()
            )
        })
    }
}

/// The system's temporary folder. Where that is a RAM disk, as `/tmp` of many systems, and nobody chose it, `/var/tmp`.
pub fn default_temp_dir() -> PathBuf {
    let system = std::env::temp_dir();
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    match !is_chosen && is_in_memory(&system) {
        true => on_disk(system, Path::new("/var/tmp")),
        false => system,
    }
}

/// The other folder if it is on a disk and can be used.
fn on_disk(folder: PathBuf, other: &Path) -> PathBuf {
    if is_writable(other) && !is_in_memory(other) { other.to_owned() } else { folder }
}

fn default_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// A quarter of the memory that the process may use: of the machine's, of its control group's, or
/// of what `ulimit` leaves.
pub fn default_memory_bytes() -> u64 {
    machine::memory_bytes() / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_runs_go_to_a_disk_if_there_is_one() {
        let memory = PathBuf::from("/dev/shm");
        let limits = |temp_dir| ResourceLimits { temp_dir, ..ResourceLimits::default() };
        assert!(limits(memory.clone()).temp_dir_note().is_some());
        let disk = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(limits(disk.clone()).temp_dir_note(), None);
        assert_eq!(on_disk(memory.clone(), &disk), disk);
        assert_eq!(on_disk(memory.clone(), Path::new("/no such folder")), memory);
        assert_eq!(on_disk(memory.clone(), Path::new("/dev/shm/.")), memory);
    }
}
