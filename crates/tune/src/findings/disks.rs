//! The storage of the server's files.

use disk::size::show;
use face::option::{BATCH_BYTES, BATCH_ROWS, TUNE};

use crate::facts::Facts;
use crate::finding::{Finding, Weight};
use crate::storage::Storage;

/// A disk on which a commit takes longer makes small transactions slow.
const SYNC_MS_MANY: f64 = 3.0;
/// A disk that writes no more is what a load waits for.
const WRITE_BYTES_FEW: f64 = 100e6;
/// Room without which indexes that are made behind a load may fail.
const TEMPORARY_BYTES_FEW: u64 = 1 << 30;

pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = [speed(facts), temporary(facts)].into_iter().flatten().collect();
    if let Some(data) = &facts.data {
        found.extend(
            [room(facts, data), scheduler(data), atomic(facts, data)].into_iter().flatten(),
        );
        found.extend(mount_options(data));
    }
    found
}

fn speed(facts: &Facts) -> Option<Finding> {
    let speed = facts.speed?;
    let is_slow = speed.sync_ms > SYNC_MS_MANY || speed.write_bytes_per_second < WRITE_BYTES_FEW;
    let weight = if is_slow { Weight::Medium } else { Weight::Note };
    let now = format!(
        "{:.2} ms for a small synced write, {}/s for a large one",
        speed.sync_ms,
        show(speed.write_bytes_per_second as u64)
    );
    let why = "each commit takes one small synced write, and the speed of large writes limits \
               every load; both were measured just now";
    let finding = Finding::new(weight, "disk of the data directory", now, why);
    Some(if is_slow {
        finding.how(format!(
            "fewer, larger transactions: {BATCH_ROWS}, {BATCH_BYTES}; or {}",
            TUNE.with("relaxed")
        ))
    } else {
        finding
    })
}

fn temporary(facts: &Facts) -> Option<Finding> {
    let temporary = facts.temporary.as_ref()?;
    let largest = facts.tables.map_or(0, |tables| tables.largest_bytes);
    let few = temporary.free_bytes < TEMPORARY_BYTES_FEW.max(largest);
    few.then(|| {
        let now = format!("{} free in {}", show(temporary.free_bytes), temporary.path.display());
        let why = "ALTER TABLE and indexes that are created after a load sort in files of this \
                   folder, as large as the index";
        Finding::new(Weight::Medium, "tmpdir", now, why)
            .better(show(TEMPORARY_BYTES_FEW.max(largest)))
            .how("tmpdir or innodb_tmpdir in [mysqld] of my.cnf: a folder with room; then restart the server")
    })
}

fn room(facts: &Facts, data: &Storage) -> Option<Finding> {
    let largest = facts.tables.map_or(0, |tables| tables.largest_bytes);
    (data.free_bytes < largest).then(|| {
        let why = "a load into a table with rows writes a second copy, and both exist for a while";
        Finding::new(
            Weight::Heavy,
            "free space of the data directory",
            format!("{} free", show(data.free_bytes)),
            why,
        )
        .better(format!("{}, the size of the largest table", show(largest)))
    })
}

fn scheduler(data: &Storage) -> Option<Finding> {
    let device = data.device.as_ref()?;
    let now = device.scheduler.as_deref().filter(|now| matches!(*now, "bfq" | "cfq"))?;
    data.is_solid().then(|| {
        let why = "this scheduler shares the disk among programs, and the server is one program";
        let file = format!("/sys/block/{}/queue/scheduler", device.name);
        Finding::new(Weight::Medium, "I/O scheduler", format!("{now} of {}", device.name), why)
            .better("none or mq-deadline")
            .risk("other programs on this disk wait longer")
            .how(format!("echo none > {file}, as root; a udev rule keeps it"))
    })
}

/// The finding that pages could not be written atomically, though that is requested.
fn atomic(facts: &Facts, data: &Storage) -> Option<Finding> {
    let bytes = data.device.as_ref().map_or(0, |device| device.atomic_write_bytes);
    let is_of_use = bytes >= facts.server.page_bytes && facts.server.page_bytes > 0;
    (is_of_use && facts.is_on("innodb_doublewrite") && !data.writes_pages_whole()).then(|| {
        let why = "the device could write pages atomically if the server asked the kernel for it; \
                   no server does yet: leave doublewrite on";
        Finding::new(Weight::Note, "atomic writes", format!("up to {bytes} bytes"), why)
    })
}

fn mount_options(data: &Storage) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |option: &str, weight, better: &str, why, risk: &str| {
        if data.has_option(option) {
            let what = "mount option";
            found.push(Finding::new(weight, what, option, why).better(better).risk(risk));
        }
    };
    let lost = "a power cut loses synced writes and damages the server's files";
    let no_barrier = "synced writes may stay in the disk's cache";
    for option in ["nobarrier", "barrier=0", "barrier=none"] {
        add(option, Weight::Danger, "barrier (the default)", no_barrier, lost);
    }
    let sync = "each write waits for the disk, also writes that the server syncs later";
    add("sync", Weight::Heavy, "async (the default)", sync, "");
    let journal =
        "everything is written twice, and pages are still not atomic: doublewrite stays necessary";
    add("data=journal", Weight::Medium, "data=ordered (the default)", journal, "");
    let time = "each read updates the file's times";
    add("strictatime", Weight::Light, "relatime or noatime", time, "");
    found
}
