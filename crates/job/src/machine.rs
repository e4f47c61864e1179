//! How much memory this process may use, and how much page cache it may fill: the machine's, or
//! less where something limits it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};

/// Where control groups are seen.
const GROUPS: &str = "/sys/fs/cgroup";
/// The files of a group's limit and of what it uses, by the version of control groups.
const LIMIT_V2: &str = "memory.max";
const USAGE_V2: &str = "memory.current";
const LIMIT_V1: &str = "memory.limit_in_bytes";
const USAGE_V1: &str = "memory.usage_in_bytes";

/// Memory in bytes, as it was when the process first asked: the least of the machine's, of every control group that
/// the process is in, and of the limits of its address space (`ulimit -v`, `ulimit -d`).
pub(crate) fn memory_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(read_memory_bytes)
}

fn read_memory_bytes() -> u64 {
    let machine = meminfo_bytes("MemTotal:").unwrap_or(4 << 30);
    let limits = [Resource::As, Resource::Data];
    let limits = limits.into_iter().filter_map(|resource| getrlimit(resource).current);
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_files(&own, Path::new(GROUPS)).into_iter().filter_map(|path| number(&path));
    limits.chain(groups).fold(machine, u64::min)
}

/// Bytes of a file that the page cache can hold for a while: half of what is free on the machine,
/// and in every control group that the process is in, after the process took `memory_bytes_max`.
pub(crate) fn page_cache_bytes(memory_bytes_max: u64) -> u64 {
    let machine = meminfo_bytes("MemAvailable:").unwrap_or(0);
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_files(&own, Path::new(GROUPS));
    let free = groups.iter().filter_map(|limit| free_bytes(limit)).fold(machine, u64::min);
    free.saturating_sub(memory_bytes_max) / 2
}

/// The free bytes of the control group with this limit. Cached files that nobody used lately make
/// room when it is needed.
fn free_bytes(limit_file: &Path) -> Option<u64> {
    let limit = number(limit_file)?;
    let usage = if limit_file.ends_with(LIMIT_V2) { USAGE_V2 } else { USAGE_V1 };
    let used: u64 = number(&limit_file.with_file_name(usage))?;
    let stat = std::fs::read_to_string(limit_file.with_file_name("memory.stat")).ok()?;
    let is_sum = stat.lines().any(|line| line.starts_with("total_inactive_file "));
    let name = if is_sum { "total_inactive_file " } else { "inactive_file " };
    let idle = stat.lines().find_map(|line| line.strip_prefix(name));
    let idle: u64 = idle.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(idle)))
}

fn meminfo_bytes(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The files that hold the limits of the groups in `own`, a `/proc/self/cgroup`: of version 2 and
/// version 1, of each group and of those above it. In a container the groups above are not seen.
fn group_files(own: &str, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match kinds {
            "" => (root.to_owned(), LIMIT_V2),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), LIMIT_V1)
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(path.ancestors().map(|group| root.join(group).join(name)));
    }
    files
}

/// The number in the file of a limit, or of a use; `max` is none.
fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_all_groups_above_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let two = group_files("0::/a.slice/b.service\n", root);
        let names = ["a.slice/b.service/memory.max", "a.slice/memory.max", "memory.max"];
        assert_eq!(two, names.map(|name| root.join(name)));
        let one =
            group_files("5:cpu,cpuacct:/x\n4:hugetlb,memory:/docker/1\n1:name=systemd:/\n", root);
        assert_eq!(one.len(), 3);
        assert_eq!(one[0], root.join("memory/docker/1/memory.limit_in_bytes"));
        assert!(group_files("nonsense\n\n0::\n", root).iter().all(|path| path.starts_with(root)));
        let file = root.join("limit");
        for (text, expected) in [("max\n", None), ("1048576\n", Some(1 << 20)), ("", None)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(number(&file), expected);
        }
        assert!(memory_bytes() > 1 << 20);
    }

    #[test]
    fn a_group_has_free_what_is_neither_used_nor_idle_cache() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        file("memory.stat", "anon 5\nactive_file 70\ninactive_file 30\n");
        file(USAGE_V2, "400\n");
        assert_eq!(free_bytes(&file(LIMIT_V2, "1000\n")), Some(630));
        assert_eq!(free_bytes(&file(LIMIT_V2, "100\n")), Some(0));
        assert_eq!(free_bytes(&file(LIMIT_V2, "max\n")), None);
        file(USAGE_V1, "500\n");
        file("memory.stat", "inactive_file 30\ntotal_inactive_file 40\n");
        assert_eq!(free_bytes(&file(LIMIT_V1, "1000\n")), Some(540));
        assert!(page_cache_bytes(0) < memory_bytes());
        assert_eq!(page_cache_bytes(u64::MAX), 0);
    }
}
