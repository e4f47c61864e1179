//! How much memory this process may use: the machine's, or less where something limits it.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// Where control groups are seen.
const GROUPS: &str = "/sys/fs/cgroup";

/// Memory in bytes: the least of the machine's, of every control group that the process is in,
/// and of the limits of its address space (`ulimit -v`, `ulimit -d`).
pub fn memory_bytes() -> u64 {
    let machine = meminfo_bytes().unwrap_or(4 << 30);
    let limits = [Resource::As, Resource::Data];
    let limits = limits.into_iter().filter_map(|resource| getrlimit(resource).current);
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_files(&own, Path::new(GROUPS)).into_iter().filter_map(|path| limit(&path));
    limits.chain(groups).fold(machine, u64::min)
}

fn meminfo_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
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
            "" => (root.to_owned(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(path.ancestors().map(|group| root.join(group).join(name)));
    }
    files
}

/// `max` is none.
fn limit(path: &Path) -> Option<u64> {
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
            assert_eq!(limit(&file), expected);
        }
        assert!(memory_bytes() > 1 << 20);
    }
}
