//! The variables that matter to loading: what a load wants of each, why, and what that gives up.
//!
//! The server itself tells if it has a variable, and if it accepts another value while it runs; MySQL does
//! not tell the second. Sources: MariaDB 10.11, storage/innobase/handler/ha_innodb.cc; MySQL's reference
//! manual, "InnoDB Startup Options and System Variables".

use face::option::MODE;
use schema::LoadPath;
use server::version::Flavor;

use crate::class::Class;
use crate::facts::Facts;
use crate::finding::Weight;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// A redo log from which on a load hardly waits for it.
const LOG_BYTES_FEW: u64 = GIB;
/// Size of the redo log for a load, if the disk has eight times as much to spare.
const LOG_BYTES: u64 = 2 * GIB;
const IO_CAPACITY: u64 = 2_000;
const IO_CAPACITY_MAX: u64 = 10_000;
const DIRTY_PERCENT_FEW: f64 = 75.0;
const LOG_BUFFER_BYTES: u64 = 64 * MIB;
const SORT_BUFFER_BYTES: u64 = 64 * MIB;
/// Part of the machine's memory that a buffer pool may take beside everything else.
const POOL_PERCENT_OF_MEMORY: u64 = 60;
/// Statements of Galera, and of MySQL's redo log, have no variable.
const REDO_LOG: &str = "innodb_redo_log_enabled";

/// The use of the advice on a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is advised, and set for a load.
    Set,
    /// It is set for a load where its class is asked for, and never advised for good.
    SetOnly,
    /// It is advised, and left to people.
    Advise,
}

/// A variable, and what a load wants of it.
#[derive(Debug)]
pub(crate) struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The safety that is given up while it is set.
    pub class: Class,
    /// The use of the advice.
    pub used: Use,
    /// How much it matters.
    pub weight: Weight,
    /// Ways into the server that it matters to.
    pub paths: &'static [LoadPath],
    /// True if a change takes the server seconds, so that only a load larger than its value gains.
    pub takes_seconds: bool,
    /// True if a running MySQL accepts another value.
    mysql_takes_it: bool,
    /// The better value for a load; none if the current one is good.
    better: fn(&Facts) -> Option<String>,
    /// Why it should not be set on this server.
    obstacle: fn(&Facts) -> Option<&'static str>,
    /// Why a load wants that.
    pub why: &'static str,
    /// The cost of leaving it; empty if the class tells it.
    pub cost: &'static str,
    /// A setting that makes loads faster than either value.
    pub faster: Option<fn() -> String>,
}

/// Rows that are sent go through the buffer pool and the redo log; finished files do not.
const SENT: &[LoadPath] = &[LoadPath::Stream, LoadPath::Insert];
const BUILT: &[LoadPath] = &[LoadPath::Direct];

/// The common values of most variables.
const PLAIN: Variable = Variable {
    name: "",
    class: Class::Safe,
    used: Use::Advise,
    weight: Weight::Light,
    paths: SENT,
    takes_seconds: false,
    mysql_takes_it: true,
    better: |_| None,
    obstacle: |_| None,
    why: "",
    cost: "",
    faster: None,
};

/// All of them, in the order in which they are set; they are put back the other way round.
pub(crate) const ALL: &[Variable] = &[
    Variable {
        name: "innodb_log_file_size",
        used: Use::Set,
        weight: Weight::Heavy,
        takes_seconds: true,
        mysql_takes_it: false,
        better: log_bytes,
        obstacle: log_obstacle,
        why: "every change goes through the redo log; when it is full, sessions wait until changed pages are written",
        cost: "recovery after a crash takes longer, in proportion to the log; disk space",
        ..PLAIN
    },
    Variable {
        name: "innodb_redo_log_capacity",
        used: Use::Set,
        weight: Weight::Heavy,
        takes_seconds: true,
        better: redo_log_bytes,
        obstacle: room_obstacle,
        why: "every change goes through the redo log; when it is full, sessions wait until changed pages are written",
        cost: "recovery after a crash takes longer, in proportion to the log; disk space",
        ..PLAIN
    },
    // In this order: the server raises and lowers one with the other.
    Variable {
        name: "innodb_io_capacity_max",
        used: Use::Set,
        weight: Weight::Light,
        better: |facts| {
            at_least(facts, "innodb_io_capacity_max", IO_CAPACITY_MAX).filter(|_| !rotates(facts))
        },
        why: "the variable limits the pages written per second while the redo log fills up",
        cost: "other reads and writes are slower while pages are written",
        ..PLAIN
    },
    Variable {
        name: "innodb_io_capacity",
        used: Use::Set,
        weight: Weight::Light,
        better: |facts| {
            at_least(facts, "innodb_io_capacity", IO_CAPACITY).filter(|_| !rotates(facts))
        },
        why: "the variable limits the pages written per second after a load; the default is for a \
              spinning disk",
        cost: "other reads and writes are slower while pages are written",
        ..PLAIN
    },
    Variable {
        name: "innodb_max_dirty_pages_pct",
        used: Use::Set,
        weight: Weight::Medium,
        better: |facts| {
            let percent = facts.number("innodb_max_dirty_pages_pct")?;
            (percent < DIRTY_PERCENT_FEW).then(|| "90".to_owned())
        },
        why: "above this share of the buffer pool, changed pages are written at once, the same \
              page again and again",
        cost: "stopping the server takes longer",
        ..PLAIN
    },
    // Set for a flush alone.
    Variable {
        name: "innodb_max_dirty_pages_pct_lwm",
        why: "from this share of the buffer pool on, changed pages are written early; 0 switches that off",
        cost: "none",
        ..PLAIN
    },
    Variable {
        name: "innodb_flush_neighbors",
        used: Use::Set,
        better: |facts| {
            let is_on = facts.is_on("innodb_flush_neighbors");
            (is_on && facts.data.as_ref()?.is_solid()).then(|| "0".to_owned())
        },
        why: "neighbours of a changed page are written with it, which helps only spinning disks",
        cost: "none on a solid-state disk",
        ..PLAIN
    },
    Variable {
        name: "innodb_adaptive_hash_index",
        used: Use::Set,
        better: |facts| facts.is_on("innodb_adaptive_hash_index").then(|| "OFF".to_owned()),
        why: "each inserted row updates the hash of pages that are read often",
        cost: "reads that use the hash index are slower until the index is full again",
        ..PLAIN
    },
    Variable {
        name: "innodb_flush_log_at_trx_commit",
        class: Class::Relaxed,
        used: Use::SetOnly,
        weight: Weight::Heavy,
        better: |facts| {
            let waits = matches!(facts.text("innodb_flush_log_at_trx_commit")?, "1" | "3");
            waits.then(|| "2".to_owned())
        },
        why: "each commit waits until the redo log is on disk; with 2 the log is synced once a \
              second",
        ..PLAIN
    },
    Variable {
        name: "sync_binlog",
        class: Class::Relaxed,
        used: Use::SetOnly,
        weight: Weight::Heavy,
        better: |facts| {
            (facts.server.log_bin && facts.count("sync_binlog")? > 0).then(|| "0".to_owned())
        },
        why: "commits wait until the binary log is on disk",
        ..PLAIN
    },
    Variable {
        name: "innodb_doublewrite",
        class: Class::Unsafe,
        used: Use::SetOnly,
        mysql_takes_it: false,
        better: |facts| facts.is_on("innodb_doublewrite").then(|| "OFF".to_owned()),
        why: "each page is written twice, so that one copy is complete after a power cut",
        ..PLAIN
    },
    Variable {
        name: REDO_LOG,
        class: Class::Unsafe,
        used: Use::SetOnly,
        better: |facts| facts.redo_log.filter(|is_on| *is_on).map(|_| "OFF".to_owned()),
        why: "without the redo log, only pages are written, each page once",
        ..PLAIN
    },
    Variable {
        name: "innodb_buffer_pool_size",
        weight: Weight::Heavy,
        better: pool_bytes,
        why: "an index larger than the buffer pool costs a page read and a page write for nearly \
              every row",
        cost: "the memory of the pool; shrinking the pool makes the server wait for pages in use, \
               so no load shrinks it",
        ..PLAIN
    },
    Variable {
        name: "innodb_log_buffer_size",
        better: |facts| at_least(facts, "innodb_log_buffer_size", LOG_BUFFER_BYTES),
        why: "large transactions write the redo log each time this buffer is full",
        cost: "its memory",
        ..PLAIN
    },
    Variable {
        name: "innodb_sort_buffer_size",
        mysql_takes_it: false,
        better: |facts| at_least(facts, "innodb_sort_buffer_size", SORT_BUFFER_BYTES),
        why: "the server sorts indexes that are created after the rows in this buffer; if the \
              buffer is too small, the sort needs passes over a file",
        cost: "three times this memory for each index that is being created",
        ..PLAIN
    },
    Variable {
        name: "innodb_change_buffering",
        weight: Weight::Medium,
        better: |facts| {
            let is_mariadb = facts.version().flavor == Flavor::MariaDb;
            let on = facts.text("innodb_change_buffering")? != "none";
            (is_mariadb && on).then(|| "none".to_owned())
        },
        why: "the change buffer lost index entries in several versions; MariaDB 11 has no change \
              buffer",
        cost: "inserts into indexes that are not in the buffer pool are slower: INSERT and LOAD \
               DATA into such a table took 2.7 times as long without the change buffer",
        faster: Some(|| format!("merging ({}) is faster than both", MODE.with("append"))),
        ..PLAIN
    },
    Variable {
        name: "innodb_flush_method",
        mysql_takes_it: false,
        better: flush_method,
        why: "with the page cache, each page is in memory twice, and the kernel decides when it \
              is written",
        cost: "none, except on file systems that do not support O_DIRECT",
        ..PLAIN
    },
    Variable {
        name: "innodb_checksum_algorithm",
        weight: Weight::Heavy,
        paths: BUILT,
        mysql_takes_it: false,
        better: |facts| {
            let is_mariadb = facts.version().flavor == Flavor::MariaDb;
            let known = facts.text("innodb_checksum_algorithm")?.ends_with("full_crc32");
            (is_mariadb && !known).then(|| "full_crc32".to_owned())
        },
        why: "the direct path builds files with this checksum only",
        cost: "none: existing tables stay as they are and readable",
        ..PLAIN
    },
    Variable {
        name: "innodb_autoinc_lock_mode",
        mysql_takes_it: false,
        better: |facts| {
            let waits = facts.count("innodb_autoinc_lock_mode")? < 2;
            let by_row = !facts.server.log_bin || facts.text("binlog_format") == Some("ROW");
            (waits && by_row).then(|| "2".to_owned())
        },
        why: "LOAD DATA and INSERT .. SELECT lock a table's AUTO_INCREMENT counter until they \
              end, so connections wait for each other",
        cost: "the AUTO_INCREMENT values of one statement are not consecutive; never use this \
               mode with binlog_format=STATEMENT",
        ..PLAIN
    },
];

impl Variable {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Variable> {
        ALL.iter().find(|variable| variable.name == name)
    }

    /// Its current value; none if the server lacks it.
    pub(crate) fn now(&self, facts: &Facts) -> Option<String> {
        if self.name == REDO_LOG {
            return facts.redo_log.map(|on| if on { "ON" } else { "OFF" }.to_owned());
        }
        facts.text(self.name).map(str::to_owned)
    }

    /// The better value for a load; none if the current one is good, or the variable is missing.
    pub(crate) fn better(&self, facts: &Facts) -> Option<String> {
        (self.better)(facts).filter(|_| self.now(facts).is_some())
    }

    /// True if the running server accepts another value.
    pub(crate) fn is_settable(&self, facts: &Facts) -> bool {
        self.name == REDO_LOG || facts.is_settable(self.name, self.mysql_takes_it)
    }

    /// True if a restarted server has the value that was set: MySQL keeps the state of its redo log in the
    /// log's header.
    pub(crate) fn outlives_restart(&self) -> bool {
        self.name == REDO_LOG
    }

    /// Why it should not be set on this server, if there is a reason.
    pub(crate) fn obstacle(&self, facts: &Facts) -> Option<&'static str> {
        (self.obstacle)(facts)
    }

    /// The statement that sets it.
    pub(crate) fn statement(&self, value: &str) -> String {
        match (self.name, value) {
            (REDO_LOG, "OFF") => "ALTER INSTANCE DISABLE INNODB REDO_LOG".to_owned(),
            (REDO_LOG, _) => "ALTER INSTANCE ENABLE INNODB REDO_LOG".to_owned(),
            (name, value) if is_word(value) => format!("SET GLOBAL {name}={value}"),
            (name, value) => {
                format!("SET GLOBAL {name}={}", server::identifier::quote_text(value))
            }
        }
    }

    /// The right that setting it takes.
    pub(crate) fn right(&self, facts: &Facts) -> &'static str {
        match self.name {
            REDO_LOG => "INNODB_REDO_LOG_ENABLE",
            _ => facts.right_to_set(),
        }
    }

    /// The question for its value.
    pub(crate) fn question(&self) -> String {
        match self.name {
            REDO_LOG => "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'".to_owned(),
            name => format!("SHOW GLOBAL VARIABLES LIKE '{name}'"),
        }
    }
}

/// True if a value stands in SET without quotes.
fn is_word(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    !value.is_empty() && value.bytes().all(is_plain)
}

fn at_least(facts: &Facts, name: &str, least: u64) -> Option<String> {
    (facts.number(name)? < least as f64).then(|| least.to_string())
}

fn rotates(facts: &Facts) -> bool {
    let device = facts.data.as_ref().and_then(|data| data.device.as_ref());
    device.is_some_and(|device| device.rotates == Some(true))
}

fn log_bytes(facts: &Facts) -> Option<String> {
    // MySQL since 8.0.30 goes by the other one.
    if facts.text("innodb_redo_log_capacity").is_some() {
        return None;
    }
    larger_log(facts, "innodb_log_file_size")
}

fn redo_log_bytes(facts: &Facts) -> Option<String> {
    larger_log(facts, "innodb_redo_log_capacity")
}

/// A larger redo log, where the disk has room for it.
fn larger_log(facts: &Facts, name: &str) -> Option<String> {
    let now = facts.count(name)?;
    let room = facts.data.as_ref().map_or(u64::MAX, |data| data.free_bytes / 8);
    let better = LOG_BYTES.min(room / MIB * MIB);
    (now < LOG_BYTES_FEW && better >= 2 * now).then(|| better.to_string())
}

/// Earlier versions of MariaDB lose the log when they are killed while its size is being changed (MDEV-34750,
/// and what was found behind it).
fn log_obstacle(facts: &Facts) -> Option<&'static str> {
    let version = facts.version();
    let is_sound = match version.series() {
        (10, 11) => version.number >= (10, 11, 12),
        (11, 4) => version.number >= (11, 4, 6),
        (11, 8) => version.number >= (11, 8, 2),
        series => series >= (12, 0),
    };
    if !is_sound {
        return Some("a crash of this version during a change of the log's size can lose the log");
    }
    room_obstacle(facts)
}

fn room_obstacle(facts: &Facts) -> Option<&'static str> {
    facts.data.is_none().then_some(
        "the disk is not visible from here, so its free space is \
                                    unknown",
    )
}

/// A pool that holds all tables, or what of them the machine's memory does.
fn pool_bytes(facts: &Facts) -> Option<String> {
    let (tables, host) = (facts.tables?, facts.host.as_ref()?);
    let now = facts.count("innodb_buffer_pool_size")?;
    let wanted = (tables.data_bytes + tables.index_bytes) * 11 / 10;
    let free = now + host.available_bytes * 3 / 4;
    let most = (host.memory_bytes * POOL_PERCENT_OF_MEMORY / 100).min(free);
    let better = wanted.min(most) / (128 * MIB) * (128 * MIB);
    (better * 4 >= now * 5).then(|| better.to_string())
}

fn flush_method(facts: &Facts) -> Option<String> {
    let now = facts.text("innodb_flush_method")?;
    let is_good =
        now.starts_with("O_DIRECT") || facts.data.as_ref().is_some_and(|d| d.writes_pages_whole());
    (!is_good).then(|| "O_DIRECT".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_those_of_the_server() {
        let of = |name: &str, value: &str| Variable::named(name).map(|v| v.statement(value));
        let cases = [
            ("sync_binlog", "0", "SET GLOBAL sync_binlog=0"),
            (
                "innodb_max_dirty_pages_pct",
                "90.000000",
                "SET GLOBAL innodb_max_dirty_pages_pct=90.000000",
            ),
            ("innodb_doublewrite", "fast", "SET GLOBAL innodb_doublewrite=fast"),
            ("innodb_doublewrite", "a'b", "SET GLOBAL innodb_doublewrite='a''b'"),
            (REDO_LOG, "OFF", "ALTER INSTANCE DISABLE INNODB REDO_LOG"),
            (REDO_LOG, "ON", "ALTER INSTANCE ENABLE INNODB REDO_LOG"),
        ];
        for (name, value, sql) in cases {
            assert_eq!(of(name, value).as_deref(), Some(sql));
        }
        assert!(Variable::named("innodb_unheard_of").is_none());
    }

    #[test]
    fn every_variable_says_why_and_what_it_costs() {
        for variable in ALL {
            assert!(!variable.why.is_empty() && !variable.paths.is_empty(), "{variable:?}");
            assert!(variable.class != Class::Safe || !variable.cost.is_empty(), "{variable:?}");
            let is_once = ALL.iter().filter(|other| other.name == variable.name).count() == 1;
            assert!(is_once, "{}", variable.name);
        }
    }
}
