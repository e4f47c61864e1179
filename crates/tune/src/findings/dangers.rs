//! Settings by which data can be lost: told as what they are, however fast they make a load.

use face::call;
use face::option::TUNE;

use crate::facts::Facts;
use crate::finding::{Finding, Weight};

pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    let found =
        [doublewrite(facts), redo_log(facts), commit(facts), flush_method(facts), checksum(facts)];
    found.into_iter().flatten().collect()
}

/// A page is written in several sectors, and a power cut in between leaves half a page, whose rows are lost.
fn doublewrite(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "innodb_doublewrite";
    let now = facts.text(WHAT)?;
    let data = facts.data.as_ref();
    let writes_whole = data.is_some_and(|data| data.writes_pages_whole());
    match (facts.is_on(WHAT), writes_whole) {
        (true, true) => {
            let why = "the file system writes pages atomically, so writing each page twice is \
                       needless";
            Some(
                Finding::new(Weight::Medium, WHAT, now, why)
                    .better("OFF")
                    .risk(
                        "none, if blocks (recordsize) are at least as large as the server's \
                           pages",
                    )
                    .how("in [mysqld] of my.cnf: skip-innodb-doublewrite; then restart the server"),
            )
        }
        (false, false) => {
            let why = match data {
                Some(data) => {
                    format!("{} does not write pages atomically{}", data.file_system, beside(data))
                }
                None => {
                    "doublewrite may be off only if the file system of the data directory writes \
                     pages atomically, as ZFS does"
                        .to_owned()
                }
            };
            Some(
                Finding::new(Weight::Danger, WHAT, now, &why)
                    .better("ON")
                    .risk(
                        "a power cut leaves pages that are half new and half old, and their \
                           rows are lost",
                    )
                    .how("in [mysqld] of my.cnf: innodb_doublewrite=ON; then restart the server"),
            )
        }
        _ => None,
    }
}

/// A setting that others take for a promise of whole pages, and is none.
fn beside(data: &crate::storage::Storage) -> String {
    let atomic = data.device.as_ref().map_or(0, |device| device.atomic_write_bytes);
    match data.file_system.as_str() {
        "ext4" | "ext3" if data.has_option("data=journal") => {
            ": even with data=journal, a power cut may leave a page of several blocks half written"
                .to_owned()
        }
        "ext4" | "ext3" => ": its journal protects blocks, file names and sizes, not database \
                            pages"
            .to_owned(),
        _ if atomic > 0 => format!(
            "; the device could write {atomic} bytes atomically, but only for a server that asks \
             the kernel for it"
        ),
        _ => String::new(),
    }
}

fn redo_log(facts: &Facts) -> Option<Finding> {
    (facts.redo_log == Some(false)).then(|| {
        Finding::new(
            Weight::Danger,
            "innodb_redo_log_enabled",
            "OFF",
            "the redo log is not written",
        )
        .better("ON")
        .risk("after any crash the server does not start again, and all data is lost")
        .how("ALTER INSTANCE ENABLE INNODB REDO_LOG")
    })
}

fn commit(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "innodb_flush_log_at_trx_commit";
    let now = facts.text(WHAT).filter(|now| matches!(*now, "0" | "2"))?;
    let why = "commits return before they are on disk: fast for loads and for everybody else";
    let risk = match now {
        "0" => "a crash of the server alone loses the commits of the last second",
        _ => "a power cut, or a crash of the system, loses the commits of the last second",
    };
    Some(
        Finding::new(Weight::Danger, WHAT, now, why)
            .better("1 (2 only while a load runs)")
            .risk(risk)
            .how(format!(
                "SET GLOBAL {WHAT}=1, and the same in my.cnf; {} for loads",
                call("load", TUNE.with("relaxed"))
            )),
    )
}

fn flush_method(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "innodb_flush_method";
    let now = facts.text(WHAT)?;
    let never = ["nosync", "littlesync", "O_DIRECT_NO_FSYNC"];
    never.iter().find(|word| word.eq_ignore_ascii_case(now))?;
    let why = "the server does not wait until pages are on the disk";
    Some(
        Finding::new(Weight::Danger, WHAT, now, why)
            .better("O_DIRECT")
            .risk("a power cut loses pages that the redo log no longer contains")
            .how("in [mysqld] of my.cnf: innodb_flush_method=O_DIRECT; then restart the server"),
    )
}

fn checksum(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "innodb_checksum_algorithm";
    let now = facts.text(WHAT).filter(|now| *now == "none")?;
    Some(
        Finding::new(Weight::Danger, WHAT, now, "damaged pages are not detected")
            .better(if facts.is_mysql() { "crc32" } else { "full_crc32" })
            .risk("damage reaches the backups before it is found"),
    )
}
