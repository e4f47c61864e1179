//! Rows for a table that has some: what merging both into a new file would take, and what sending them,
//! with the indexes that are there or with these made anew.
//!
//! ```text
//! merging   all of the old file is read, new rows and old are written, imported: no page twice
//! sending   each row changes a page of every index, where it happens to be; pages that the buffer pool
//!           has no room for are read for it, and written again
//! rebuilding  secondary indexes are dropped, rows are sent, the indexes are made again: the server reads
//!           the table for each and sorts. Queries go without them meanwhile, so it is told and not done
//! ```

use std::fmt;
use std::time::Instant;

use disk::File;
use face::option::MAX_WRITE_BLOCK;
use innodb::ids::PAGE_SIZE;
use innodb::page::AlignedPage;
use job::error::Error;
use job::options::{OnDuplicate, RowOptions};
use schema::Method;
use serde::{Deserialize, Serialize};
use targets::Lock;

use crate::estimate::Estimate;
use crate::partitioned::Scope;
use crate::speeds::Speeds;

/// Pages that are read to see how fast the disk is, each somewhere else.
const SAMPLED_PAGES: u64 = 32;
/// Pages that are read in one go for the same.
const RUN_PAGES: usize = 512;
/// A file from which that can be told; of a small one a quarter is read in one go.
const SAMPLED_BYTES_MIN: u64 = 1 << 20;
/// Part of the buffer pool that a table may fill before its pages go out again.
const POOL_SHARE: f64 = 0.8;
/// Bytes of leaves that a merge reads, compares and copies in a second on one thread.
const MERGED_BYTES: f64 = 600e6;
/// Rows a second of ADD INDEX (10.11.19, two cores; 2 million rows took 1.8 s an index and more).
const INDEXED_ROWS: f64 = 1e6;

/// Estimates for the new rows alone, without the rows of the table.
pub(crate) struct Ways<'e> {
    pub(crate) built: &'e Estimate,
    pub(crate) sent: &'e Estimate,
    /// Sent to a table without secondary indexes.
    pub(crate) bare: &'e Estimate,
    /// True if the pages of the built table are stamped, those with old rows too.
    pub(crate) stamps: bool,
}

/// Rows that are there, of a table or of the part of it that is built anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Old {
    /// Bytes of the files with these rows.
    pub(crate) bytes: u64,
    /// Their share of all files of the table.
    pub(crate) share: f64,
    /// Rows of the table, about.
    pub(crate) rows: u64,
    /// Its secondary indexes.
    pub(crate) secondary: usize,
    /// True if it has a primary key.
    pub(crate) has_key: bool,
    /// Bytes of the server's buffer pool.
    pub(crate) pool_bytes: u64,
    pub(crate) disk: Disk,
}

/// Times of a merge and of sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AppendTimes {
    table_bytes: u64,
    /// Partitions that all are merged.
    partitions: Option<usize>,
    pool_bytes: u64,
    disk: Disk,
    pub(crate) merge_seconds: f64,
    pub(crate) send_seconds: f64,
    /// None of a table that has no secondary index.
    rebuild_seconds: Option<f64>,
    /// How long writers of the table would wait for a merge.
    pub(crate) block_seconds: f64,
}

/// How fast the disk of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Disk {
    /// Seconds for a page anywhere.
    pub(crate) page_seconds: f64,
    /// Bytes a second of pages that follow each other.
    pub(crate) run_bytes: f64,
    pub(crate) is_measured: bool,
}

impl Default for Disk {
    /// The slowest volumes that clouds sell.
    fn default() -> Disk {
        Disk { page_seconds: 0.3e-3, run_bytes: 200e6, is_measured: false }
    }
}

impl Old {
    /// Looks at the files of a table that is built anew in this scope.
    pub(crate) fn inspect(target: &mut Lock, scope: &Scope) -> Result<Old, Error> {
        let pool = target.session.query_text("SELECT @@GLOBAL.innodb_buffer_pool_size")?;
        let merged = MergedFiles::of(target, scope)?;
        let has_key = target.table.indexes.iter().any(|index| index.name == "PRIMARY");
        Ok(Old {
            bytes: merged.bytes,
            share: merged.share,
            rows: catalog::rows_about(&mut target.session, &target.table.name)?,
            // Without a primary key the clustered index is none of these.
            secondary: target.table.indexes.len() - usize::from(has_key),
            has_key,
            pool_bytes: pool.and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
            // A disk that cannot be asked is taken to be slow.
            disk: Disk::measure(&merged.largest, merged.largest_bytes).unwrap_or_default(),
        })
    }
}

impl AppendTimes {
    /// For rows of this estimate of a load into an empty table, and the same rows sent. New rows are read
    /// before others have to wait, if they do not depend on old ones.
    pub(crate) fn of(
        old: &Old,
        scope: &Scope,
        ways: &Ways<'_>,
        options: &RowOptions,
        threads: usize,
        speeds: &Speeds,
    ) -> AppendTimes {
        let reads_first = old.has_key && options.on_duplicate == OnDuplicate::Fail;
        // The server reads all rows of partitions that are exchanged.
        let exchanged =
            if scope.partitions() > 0 { old.rows as f64 * old.share } else { 0.0 } as u64;
        let fixed_seconds = speeds.fixed.seconds(Method::Merge);
        let adding = AppendTimes::compute(old, ways, fixed_seconds, |old| {
            let threads = threads as f64;
            let verified = old / speeds.verify / threads;
            let merged = verified + old / MERGED_BYTES / threads + old / speeds.import;
            let stamped = if ways.stamps { old / speeds.stamp } else { 0.0 };
            merged + stamped + speeds.of_exchanging(0, exchanged)
        });
        let before = if reads_first { ways.built.rows_seconds() } else { 0.0 };
        let block_seconds = adding.merge_seconds - before;
        let partitions = match scope {
            Scope::All(count) | Scope::Altered(count) => Some(*count),
            Scope::Table | Scope::One(..) => None,
        };
        AppendTimes { partitions, block_seconds, ..adding }
    }

    fn compute(
        table: &Old,
        Ways { built, sent, bare, .. }: &Ways<'_>,
        fixed_seconds: f64,
        processor_seconds: impl Fn(f64) -> f64,
    ) -> AppendTimes {
        let (old, pool, disk) =
            (table.bytes as f64, table.pool_bytes as f64 * POOL_SHARE, table.disk);
        // Twice over the disk, unless the cache has it: once to verify it, once to merge it; and written.
        let disk_seconds = (2.0 * old + old + built.table_bytes as f64) / disk.run_bytes;
        let fixed_seconds = fixed_seconds - built.fixed_seconds;
        let merged = processor_seconds(old).max(disk_seconds) + fixed_seconds;
        let missed = (1.0 - pool / (old + built.table_bytes as f64)).clamp(0.0, 1.0);
        // The clustered index, too, unless rows come in its order.
        let (clustered, secondary) = (usize::from(built.is_unordered), table.secondary);
        // Read, and written.
        let random_seconds =
            |indexes: usize| 2.0 * sent.rows as f64 * indexes as f64 * missed * disk.page_seconds;
        let indexed = (table.rows + sent.rows) as f64 * secondary as f64 / INDEXED_ROWS;
        let rebuild = bare.seconds_in_order() + random_seconds(clustered) + indexed;
        let adding = AppendTimes {
            table_bytes: table.bytes,
            partitions: None,
            pool_bytes: table.pool_bytes,
            disk,
            merge_seconds: built.seconds_in_order() + merged,
            send_seconds: sent.seconds_in_order() + random_seconds(clustered + secondary),
            rebuild_seconds: (secondary > 0).then_some(rebuild),
            block_seconds: 0.0,
        };
        AppendTimes { block_seconds: adding.merge_seconds, ..adding }
    }

    /// Why rows are not to be merged: they may be sent, and that is faster; writers would wait too long.
    pub(crate) fn against(&self, may_send: bool, block_seconds_max: Option<u32>) -> Option<String> {
        if may_send && self.merge_seconds > self.send_seconds {
            return Some(self.to_string());
        }
        let max = f64::from(block_seconds_max?);
        (self.block_seconds > max).then(|| format!("{self}; {MAX_WRITE_BLOCK} allows {max} s"))
    }
}

impl fmt::Display for AppendTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AppendTimes { merge_seconds, send_seconds, rebuild_seconds, block_seconds, .. } = self;
        let digits = |seconds: f64| if seconds < 10.0 { 2 } else { 1 };
        let (merge_digits, send_digits) = (digits(*merge_seconds), digits(*send_seconds));
        write!(
            f,
            "merging with the table's {}{} would take about {merge_seconds:.merge_digits$} s, \
             with writers blocked for {block_seconds:.1} s, and sending about \
             {send_seconds:.send_digits$} s (buffer pool {}, ",
            disk::size::show(self.table_bytes),
            self.partitions.map_or_else(String::new, |count| format!(" in {count} partitions")),
            disk::size::show(self.pool_bytes)
        )?;
        let Disk { page_seconds, run_bytes, is_measured } = self.disk;
        let how = if is_measured { "reads" } else { "is assumed to read" };
        let (milliseconds, rate) = (page_seconds * 1000.0, disk::size::show(run_bytes as u64));
        write!(f, "the disk {how} a page in {milliseconds:.2} ms, {rate}/s sequentially)")?;
        rebuild_seconds.map_or(Ok(()), |seconds| {
            write!(
                f,
                "; dropping the secondary indexes, sending, and adding them again: about \
                 {seconds:.1} s (never automatic, because queries would lack these indexes)"
            )
        })
    }
}

/// The files that are merged.
struct MergedFiles {
    bytes: u64,
    /// Their share of all that the table has.
    share: f64,
    largest: File,
    largest_bytes: u64,
}

impl MergedFiles {
    fn of(target: &mut Lock, scope: &Scope) -> Result<MergedFiles, Error> {
        let all = target.file_bytes()?;
        let partitions = target.table.partitioning.as_ref().map(|by| by.partitions.as_slice());
        let name = |at: usize| Some(partitions?.get(at)?.name.as_str());
        let is_merged = |at: &usize| match scope {
            Scope::One(partition, _) => name(*at) == Some(partition),
            Scope::Table | Scope::All(_) | Scope::Altered(_) => true,
        };
        let merged: Vec<usize> = (0..all.len()).filter(is_merged).collect();
        let bytes: u64 = merged.iter().map(|at| all[*at]).sum();
        let largest = merged.into_iter().max_by_key(|at| all[*at]).unwrap_or(0);
        let name = name(largest).map(str::to_owned);
        let (file, _) = target.open_rows(name.as_deref())?;
        let largest_bytes = all.get(largest).copied().unwrap_or(0);
        let share = bytes as f64 / all.iter().sum::<u64>().max(1) as f64;
        Ok(MergedFiles { bytes, share, largest: file, largest_bytes })
    }
}

impl Disk {
    /// Reads a little of a file, around the page cache; none of a small one, or where that cannot be
    /// done.
    fn measure(file: &File, bytes: u64) -> Option<Disk> {
        if bytes < SAMPLED_BYTES_MIN {
            return None;
        }
        let around = file.open_around_cache().ok()?;
        let file_pages = bytes / PAGE_SIZE as u64;
        let mut pages = vec![AlignedPage::ZERO; RUN_PAGES.min(file_pages as usize / 4)];
        let begun = Instant::now();
        for sample in 0..SAMPLED_PAGES {
            // Far from each other, in no order that a disk knows.
            let page = sample.wrapping_mul(0x9E37_79B9_7F4A_7C15) % file_pages;
            let buffer = AlignedPage::bytes_of_mut(&mut pages[..1]);
            around.read_exact_at(buffer, page * PAGE_SIZE as u64).ok()?;
        }
        let page_seconds = begun.elapsed().as_secs_f64() / SAMPLED_PAGES as f64;
        let begun = Instant::now();
        let buffer = AlignedPage::bytes_of_mut(&mut pages);
        around.read_exact_at(buffer, (file_pages / 2) * PAGE_SIZE as u64).ok()?;
        let run_bytes = buffer.len() as f64 / begun.elapsed().as_secs_f64().max(1e-9);
        Some(Disk { page_seconds, run_bytes, is_measured: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Disk = Disk { page_seconds: 0.2e-3, run_bytes: 500e6, is_measured: true };

    fn of(rows: u64, bytes: u64, seconds: f64) -> Estimate {
        Estimate { rows, table_bytes: bytes, is_unordered: true, ..Estimate::taking(seconds) }
    }

    fn adding(old: f64, pool: f64, rows: u64) -> AppendTimes {
        let of_new = |seconds| of(rows, rows * 200, seconds);
        let (built, sent) = (of_new(rows as f64 / 1e6), of_new(rows as f64 / 1e5));
        let bare = of_new(rows as f64 / 2e5);
        let pool_bytes = (pool / POOL_SHARE) as u64;
        let (bytes, rows) = (old as u64, (old / 200.0) as u64);
        let table = Old { bytes, rows, secondary: 3, pool_bytes, disk: DISK, ..Old::default() };
        let ways = Ways { built: &built, sent: &sent, bare: &bare, stamps: false };
        AppendTimes::compute(&table, &ways, 0.1, |old| old / 500e6)
    }

    #[test]
    fn few_rows_are_sent_and_many_merged() {
        // 8 GB of which a tenth is in memory: a row costs 4 pages read and written.
        let few = adding(8e9, 0.8e9, 1_000);
        assert!(few.against(true, None).is_some(), "{few:?}");
        let many = adding(8e9, 0.8e9, 4_000_000);
        assert!(many.against(true, None).is_none(), "{many:?}");
        assert!(many.send_seconds > 20.0 * many.merge_seconds, "{many:?}");
        // In memory it is a question of how many.
        assert!(adding(1e9, 8e9, 10_000).against(true, None).is_some());
        assert!(adding(1e9, 8e9, 5_000_000).against(true, None).is_none());
        // Of many rows for a table that does not fit, indexes are made again sooner than they are changed,
        // and merging takes less than both.
        let rebuild = many.rebuild_seconds.unwrap_or_default();
        assert!(rebuild < many.send_seconds && rebuild > many.merge_seconds, "{many:?}");
        assert!(few.rebuild_seconds.is_some_and(|seconds| seconds > few.send_seconds), "{few:?}");
    }

    #[test]
    fn writers_wait_no_longer_than_they_are_to() {
        let many = adding(8e9, 0.8e9, 4_000_000);
        let reason = many.against(true, Some(10)).unwrap_or_default();
        assert!(reason.contains("--max-write-block allows 10 s"), "{reason}");
        assert_eq!(many.against(true, Some(1_000)), None);
    }
}
