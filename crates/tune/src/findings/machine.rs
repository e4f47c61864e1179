//! The machine below the server: memory and processors.

use disk::size::show;

use crate::facts::Facts;
use crate::finding::{Finding, Weight};
use crate::host::Host;

/// A pool larger than this part of the memory leaves too little for connections and the system.
const POOL_PERCENT_MANY: u64 = 85;
/// So much in swap is more than what nobody has used for long.
const SWAPPED_BYTES_MANY: u64 = 64 << 20;

pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    let Some(host) = &facts.host else { return Vec::new() };
    let found = [pool(facts, host), swap(host), huge_pages(host), governor(host)];
    found.into_iter().flatten().collect()
}

fn pool(facts: &Facts, host: &Host) -> Option<Finding> {
    let pool = facts.count("innodb_buffer_pool_size")?;
    let most = host.memory_bytes / 100 * POOL_PERCENT_MANY;
    (host.memory_bytes > 0 && pool > most).then(|| {
        let now = format!("{} of {}", show(pool), show(host.memory_bytes));
        let why = "connections, sorts and the system leave too little memory for the buffer pool: \
                   the pool is swapped out, or the kernel kills the server";
        Finding::new(Weight::Heavy, "innodb_buffer_pool_size", now, why)
            .better(format!("at most {}", show(most)))
            .how("SET GLOBAL innodb_buffer_pool_size, and the same in my.cnf")
    })
}

fn swap(host: &Host) -> Option<Finding> {
    (host.swapped_bytes > SWAPPED_BYTES_MANY).then(|| {
        let swappiness =
            host.swappiness.map_or_else(String::new, |s| format!(", vm.swappiness {s}"));
        let now = format!("{} swapped out{swappiness}", show(host.swapped_bytes));
        let why = "the file cache of a load pushes the server's memory into swap, from which it \
                   comes back page by page";
        Finding::new(Weight::Medium, "swap", now, why)
            .better("vm.swappiness 1, and free memory")
            .how("sysctl vm.swappiness=1, and a line in /etc/sysctl.d")
    })
}

fn huge_pages(host: &Host) -> Option<Finding> {
    (host.huge_pages.as_deref() == Some("always")).then(|| {
        let why = "the kernel merges pages of memory while the server waits, and the server's \
                   memory grows";
        let file = "/sys/kernel/mm/transparent_hugepage/enabled";
        Finding::new(Weight::Light, "transparent huge pages", "always", why)
            .better("madvise")
            .how(format!("echo madvise > {file}, as root; transparent_hugepage=madvise on the kernel's command line"))
    })
}

fn governor(host: &Host) -> Option<Finding> {
    let now = host
        .governor
        .as_deref()
        .filter(|now| matches!(*now, "powersave" | "ondemand" | "conservative"))?;
    let why = "the processor's clock rises only after some busy time, and a server mostly waits";
    Some(
        Finding::new(Weight::Light, "processor governor", now, why)
            .better("performance")
            .risk("more power")
            .how("cpupower frequency-set -g performance, as root"),
    )
}
