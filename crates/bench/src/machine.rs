//! The machine of a figure: without it a figure means nothing.

use std::fs;

use serde::Serialize;

/// The machine and system of a run. A part that the system does not tell is empty or 0.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name of the processor.
    pub cpu: String,
    /// Cores this process may use.
    pub cores: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Kernel and its release.
    pub kernel: String,
}

impl Machine {
    /// The machine this runs on, from `/proc`.
    pub fn here() -> Machine {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease");
        Machine {
            cpu: proc_value("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: memory_bytes(),
            kernel: format!("Linux {}", release.unwrap_or_default().trim()),
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let gigabytes = self.memory_bytes as f64 / 1e9;
        format!("{} cores of {}, {gigabytes:.0} GB, {}", self.cores, self.cpu, self.kernel)
    }
}

/// A note if others keep the machine busy: half a core and more, over the last minute.
pub(crate) fn busy_note() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    (load > 0.5).then(|| {
        format!("the machine was busy when this began: a load of {load:.1} on {cores} cores")
    })
}

/// Memory of the machine, in bytes; 0 where `/proc` does not tell.
pub(crate) fn memory_bytes() -> u64 {
    let text = proc_value("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kib = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Value of the first `name : value` line of a file.
fn proc_value(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}
