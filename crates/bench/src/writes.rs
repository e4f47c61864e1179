//! Ways of writing a file that several threads build and the server then imports.
//!
//! A built file is read, changed and written once more by IMPORT TABLESPACE, in one thread, a megabyte at a
//! time through the page cache, and synced at the end. So a method is judged by both together, and by the
//! disk's work. No server takes part: the import is done as it does it, without its checks of each page.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use locks::Mutex;
use rustix::fs::OFlags;
use serde::Serialize;

use crate::error::Error;
use crate::figure::median;
use crate::floor::fill_with_noise;
use crate::machine::Machine;
use crate::text_table::TextTable;

/// Bytes written and read at once: those of IMPORT, and of a load's larger batches.
const BLOCK_BYTES: usize = 1 << 20;
/// The unit of IMPORT's changes.
const PAGE_BYTES: usize = 16 << 10;
/// The alignment of addresses for writing around the cache.
const ALIGNMENT: usize = 4096;
/// Blocks that wait for the one thread that writes.
const QUEUE_BLOCKS: usize = 4;
/// Bytes of a sector in the kernel's statistics.
const SECTOR_BYTES: u64 = 512;
const FILE_NAME: &str = "inrush-writes";

/// How the threads write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Strategy {
    /// Into the page cache, one thread at a time: what a load does where the file fits.
    CacheInTurns,
    /// Into the page cache, each thread when it likes.
    CacheAtOnce,
    /// Into the page cache, all by one thread that the others hand their pages to.
    CacheOneWriter,
    /// Into the page cache in turns, and synced before the import.
    CacheSynced,
    /// Around the cache (O_DIRECT): what a load does where the file does not fit.
    Around,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 5] = [
        Strategy::CacheInTurns,
        Strategy::CacheAtOnce,
        Strategy::CacheOneWriter,
        Strategy::CacheSynced,
        Strategy::Around,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::CacheInTurns => "cache, in turns",
            Strategy::CacheAtOnce => "cache, at once",
            Strategy::CacheOneWriter => "cache, one writer",
            Strategy::CacheSynced => "cache, synced before import",
            Strategy::Around => "around the cache",
        }
    }
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct WritesOptions {
    /// Size of the file.
    pub file_bytes: u64,
    /// Threads that build it.
    pub threads: usize,
    /// Runs of each way, in turns.
    pub repeat: usize,
}

impl Default for WritesOptions {
    fn default() -> WritesOptions {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        WritesOptions { file_bytes: 1 << 30, threads, repeat: 3 }
    }
}

/// The times of one run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// The way.
    pub strategy: Strategy,
    /// Seconds until all was written.
    pub build_seconds: f64,
    /// Seconds of the import, its sync included.
    pub import_seconds: f64,
    /// Bytes that the disk had to read and to write meanwhile, of whomever; none where the kernel
    /// does not say.
    pub disk_bytes: Option<DiskBytes>,
}

/// Bytes that went through a disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DiskBytes {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

/// All runs.
#[derive(Clone, Debug, Serialize)]
pub struct WritesOutcome {
    /// Where it ran.
    pub machine: Machine,
    /// Size of the file.
    pub file_bytes: u64,
    /// Threads that built it.
    pub threads: usize,
    /// In the order in which they ran.
    pub runs: Vec<Run>,
}

/// Measures every way in a folder. The file is removed.
///
/// Errors: a disk that is full or fails; a file system that cannot write around the cache.
pub fn run(folder: &Path, options: &WritesOptions) -> Result<WritesOutcome, Error> {
    let path = folder.join(format!("{FILE_NAME}-{}", std::process::id()));
    let blocks = options.file_bytes / BLOCK_BYTES as u64;
    if blocks == 0 || options.threads == 0 || options.repeat == 0 {
        let said = "the file must have at least a megabyte; threads and runs must be at least 1";
        return Err(Error::Option(said.to_owned()));
    }
    let job = Job { path: &path, blocks, threads: options.threads };
    let mut runs = Vec::new();
    for _ in 0..options.repeat {
        for strategy in Strategy::ALL {
            let run = job.run(strategy);
            let removed = fs::remove_file(&path);
            runs.push(run.map_err(Error::io("writing", &path))?);
            removed.map_err(Error::io("removing", &path))?;
        }
    }
    let file_bytes = blocks * BLOCK_BYTES as u64;
    Ok(WritesOutcome { machine: Machine::here(), file_bytes, threads: options.threads, runs })
}

impl WritesOutcome {
    /// For people: of each way the medians of its runs.
    pub fn text(&self) -> String {
        let (machine, gigabytes) = (self.machine.line(), self.file_bytes as f64 / 1e9);
        let threads = self.threads;
        let mut table = TextTable::new([
            "way of writing",
            "build s",
            "import s",
            "both s",
            "disk reads",
            "disk writes",
        ]);
        for strategy in Strategy::ALL {
            let of = |value: fn(&Run) -> f64| {
                let runs = self.runs.iter().filter(|run| run.strategy == strategy);
                median(&runs.map(value).collect::<Vec<f64>>())
            };
            let times = |bytes: f64| format!("{:.2}x", bytes / self.file_bytes as f64);
            let seconds = |value| format!("{:.2}", of(value));
            table.line([
                strategy.name().to_owned(),
                seconds(|run| run.build_seconds),
                seconds(|run| run.import_seconds),
                seconds(|run| run.build_seconds + run.import_seconds),
                times(of(|run| run.disk_bytes.map_or(f64::NAN, |bytes| bytes.read as f64))),
                times(of(|run| run.disk_bytes.map_or(f64::NAN, |bytes| bytes.written as f64))),
            ]);
        }
        format!(
            "{machine}\n{threads} threads build a file of {gigabytes:.2} GB, one imports it\n\n{table}"
        )
    }
}

/// A file to write.
struct Job<'j> {
    path: &'j Path,
    blocks: u64,
    threads: usize,
}

impl Job<'_> {
    fn run(&self, strategy: Strategy) -> io::Result<Run> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.clone().open(self.path)?;
        file.set_len(self.blocks * BLOCK_BYTES as u64)?;
        // What others left in the cache is not this run's to write.
        rustix::fs::sync();
        let before = disk_bytes(&file);
        let started = Instant::now();
        match strategy {
            Strategy::CacheInTurns => self.build_in_turns(&file)?,
            Strategy::CacheAtOnce => {
                self.build(|offset, block| file.write_all_at(block, offset))?
            }
            Strategy::CacheOneWriter => self.build_by_one(&file)?,
            Strategy::CacheSynced => {
                self.build_in_turns(&file)?;
                file.sync_data()?;
            }
            Strategy::Around => {
                let mut options = OpenOptions::new();
                let around = options
                    .write(true)
                    .custom_flags(OFlags::DIRECT.bits() as i32)
                    .open(self.path)?;
                self.build(|offset, block| around.write_all_at(block, offset))?;
            }
        }
        let build_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        import(&file, self.blocks)?;
        let import_seconds = started.elapsed().as_secs_f64();
        let disk_bytes = before.zip(disk_bytes(&file)).map(|(before, after)| DiskBytes {
            read: after.read.saturating_sub(before.read),
            written: after.written.saturating_sub(before.written),
        });
        Ok(Run { strategy, build_seconds, import_seconds, disk_bytes })
    }

    fn build_in_turns(&self, file: &File) -> io::Result<()> {
        let turn = Mutex::new(());
        self.build(|offset, block| {
            let _turn = turn.lock();
            file.write_all_at(block, offset)
        })
    }

    fn build_by_one(&self, file: &File) -> io::Result<()> {
        let (sender, receiver) = sync_channel::<(u64, Vec<u8>)>(QUEUE_BLOCKS);
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || write_received(file, &receiver));
            let built = self.build_to(&sender);
            drop(sender);
            let written = writing.join().unwrap_or_else(|_| Err(io::Error::other("a panic")));
            // A writer that has failed makes the senders fail too, with less to say.
            written.and(built)
        })
    }

    fn build_to(&self, sender: &SyncSender<(u64, Vec<u8>)>) -> io::Result<()> {
        self.build(|offset, block| {
            let gone = |_| io::Error::other("the thread that writes has ended");
            sender.send((offset, block.to_vec())).map_err(gone)
        })
    }

    /// Has the threads make all blocks and hand each to `write`, with its offset.
    fn build(&self, write: impl Fn(u64, &[u8]) -> io::Result<()> + Sync) -> io::Result<()> {
        let next = AtomicU64::new(0);
        let work = || {
            let mut noise = vec![0; BLOCK_BYTES];
            fill_with_noise(&mut noise);
            let mut memory = vec![0; BLOCK_BYTES + ALIGNMENT];
            let first = memory.as_ptr().align_offset(ALIGNMENT);
            let block = &mut memory[first..first + BLOCK_BYTES];
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.blocks {
                    return Ok(());
                }
                block.copy_from_slice(&noise);
                block[..8].copy_from_slice(&number.to_be_bytes());
                write(number * BLOCK_BYTES as u64, block)?;
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, io::Result<()>>| {
                worker.join().unwrap_or_else(|_| Err(io::Error::other("a panic")))
            };
            workers.into_iter().map(join).fold(Ok(()), io::Result::and)
        })
    }
}

fn write_received(file: &File, receiver: &Receiver<(u64, Vec<u8>)>) -> io::Result<()> {
    for (offset, block) in receiver {
        file.write_all_at(&block, offset)?;
    }
    Ok(())
}

/// Reads, changes and writes every page, and syncs the file.
fn import(file: &File, blocks: u64) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    for number in 0..blocks {
        let offset = number * BLOCK_BYTES as u64;
        file.read_exact_at(&mut block, offset)?;
        assert_eq!(block[..8], number.to_be_bytes(), "what was written comes back");
        for page in block.chunks_exact_mut(PAGE_BYTES) {
            page[PAGE_BYTES - 1] ^= 1;
        }
        file.write_all_at(&block, offset)?;
    }
    file.sync_data()
}

/// Bytes that the disk under a file has read and written since the machine started.
fn disk_bytes(file: &File) -> Option<DiskBytes> {
    let device = file.metadata().ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    let fields: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let bytes = |field: usize| Some(*fields.get(field)? * SECTOR_BYTES);
    Some(DiskBytes { read: bytes(2)?, written: bytes(6)? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured_and_leaves_no_file() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let options = WritesOptions { file_bytes: 5 << 20, threads: 2, repeat: 1 };
        let outcome = run(folder.path(), &options).unwrap();
        assert_eq!(outcome.runs.len(), Strategy::ALL.len());
        assert!(outcome.runs.iter().all(|run| run.build_seconds > 0.0));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let text = outcome.text();
        for strategy in Strategy::ALL {
            assert!(text.contains(strategy.name()), "{text}");
        }
        let none = WritesOptions { file_bytes: 5, ..options };
        assert!(matches!(run(folder.path(), &none), Err(Error::Option(_))));
    }
}
