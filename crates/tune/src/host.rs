//! The machine that the server is on: memory, and how the kernel hands out memory and processor time.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// The state of the machine. Values that the kernel does not tell are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Memory of the machine, bytes.
    pub memory_bytes: u64,
    /// Available memory.
    pub available_bytes: u64,
    /// Used swap space.
    pub swapped_bytes: u64,
    /// `vm.swappiness`.
    pub swappiness: Option<u32>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// How the first processor's clock is chosen: `performance`, `powersave`.
    pub governor: Option<String>,
}

impl Host {
    /// Looks at this machine.
    pub fn here() -> Host {
        Host::below(Path::new("/"))
    }

    /// The same, of one whose `proc` and `sys` are in a folder.
    pub fn below(root: &Path) -> Host {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let memory = text("proc/meminfo").unwrap_or_default();
        let bytes = |name: &str| {
            let line = memory.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        let swap = bytes("SwapTotal:").unwrap_or(0);
        Host {
            memory_bytes: bytes("MemTotal:").unwrap_or(0),
            available_bytes: bytes("MemAvailable:").unwrap_or(0),
            swapped_bytes: swap.saturating_sub(bytes("SwapFree:").unwrap_or(swap)),
            swappiness: text("proc/sys/vm/swappiness").and_then(|text| text.trim().parse().ok()),
            huge_pages: text("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| chosen(&text)),
            governor: text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .map(|text| text.trim().to_owned()),
        }
    }
}

/// The word in brackets: the kernel lists what there is, and marks what is on.
pub(crate) fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_what_its_files_say() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(Host::below(root.path()), Host::default());
        write(
            "proc/meminfo",
            "MemTotal: 1000 kB\nMemAvailable: 10 kB\nSwapTotal: 7 kB\nSwapFree: 4 kB\n",
        );
        write("proc/sys/vm/swappiness", "60\n");
        write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
        write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
        let expected = Host {
            memory_bytes: 1_024_000,
            available_bytes: 10_240,
            swapped_bytes: 3_072,
            swappiness: Some(60),
            huge_pages: Some("always".to_owned()),
            governor: Some("powersave".to_owned()),
        };
        assert_eq!(Host::below(root.path()), expected);
    }
}
