//! Options of an export.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use columnar::{Kind, Packing, WriteOptions};
use face::option::TIME_ZONE;
use job::memory::{Memory, PROGRAM_BYTES};
use schema::TableName;
use server::Interrupt;

use crate::error::Error;
pub use crate::layout::Format;
use crate::store::Store;

/// The way rows are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportPath {
    /// From the table's file where that can be, else by SELECT.
    #[default]
    Auto,
    /// From the table's file.
    Direct,
    /// By SELECT.
    Select,
}

/// Where files are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Most rows of a file.
    pub rows: Option<u64>,
    /// Most bytes of a file before it is compressed, but for a row that is longer by itself.
    pub bytes: Option<u64>,
}

/// How files are compressed; Parquet and Arrow compress their columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// They are not.
    #[default]
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

/// Where rows go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The standard output.
    Stdout,
    /// A file.
    File(PathBuf),
    /// A folder that is there, or is made: `TABLE.0001.csv` and so on, `TABLE.csv` where nothing is cut.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The end of its files' names: `csv.zst`.
        ending: String,
    },
}

/// An export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The table or view.
    pub table: TableName,
    /// Where to.
    pub place: Place,
    /// The folder of an object store in which the place is; its path is a URL then. Default: none.
    pub store: Option<Arc<dyn Store>>,
    /// True if existing files are overwritten. Default: no.
    pub force: bool,
    /// Contents of the files.
    pub format: Format,
    /// True if an SQL file makes the table where it is missing. Default: yes.
    pub creates_table: bool,
    /// How they are compressed. Default: not.
    pub compression: Compression,
    /// Where they are cut. Only in a folder. Default: nowhere.
    pub split: Split,
    /// The columns, in order. Default: all that a load can give, in the table's order.
    pub columns: Option<Vec<String>>,
    /// A condition in SQL, of the rows that are wanted. Default: all.
    pub condition: Option<String>,
    /// The way. Default: the first that is open.
    pub way: ExportPath,
    /// Threads, and connections of SELECTs. Default: one a core.
    pub threads: usize,
    /// Memory of the whole process, which may mean fewer threads. Default: a quarter of the machine.
    pub memory_bytes_max: u64,
    /// Time zone in which a TIMESTAMP is written. Default: UTC.
    pub time_zone: String,
    /// Seconds to wait for others who hold the table; ten at most for a lock that the export can do without.
    /// Default: 60.
    pub lock_wait_seconds: u32,
    /// Addresses of servers that have partitions of the table, by their names. Default: those that the
    /// table's server knows.
    pub shard_addresses: Vec<(String, String)>,
    /// The signal that ends it early.
    pub interrupt: Interrupt,
}

/// Bytes of text that a thread hands on at once, where there is memory for it.
const CHUNK_BYTES: usize = 1 << 20;
/// How long a lock is tried for that an export can do without.
const OPTIONAL_LOCK_WAIT: Duration = Duration::from_secs(10);

/// Bytes of memory of a row group, where there is memory for it, and the least.
const GROUP_BYTES: u64 = 32 << 20;
const GROUP_BYTES_MIN: u64 = 256 << 10;
/// Memory of a thread for one row group: one that is encoded, its plain values, two that wait to be written.
const GROUPS_OF_THREAD: u64 = 6;
/// Bytes of a record batch of Arrow.
const BATCH_BYTES: u64 = 8 << 20;

/// Row groups of a file whose length is limited, at least, but for groups of so many rows.
const GROUPS_OF_FILE: u64 = 8;
const SPLIT_GROUP_ROWS: u64 = 20 << 10;

/// UTC, where every moment has one text.
pub const UTC: &str = "+00:00";

impl ExportOptions {
    /// All rows of a table, as LOAD DATA reads them by default.
    pub fn new(table: TableName, place: Place) -> ExportOptions {
        let dialect = Box::new(sources::Dialect::mysql());
        ExportOptions {
            table,
            place,
            store: None,
            force: false,
            format: Format::Delimited { dialect, header: false },
            creates_table: true,
            compression: Compression::None,
            split: Split::default(),
            columns: None,
            condition: None,
            way: ExportPath::Auto,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes_max: job::options::default_memory_bytes(),
            time_zone: UTC.to_owned(),
            lock_wait_seconds: 60,
            shard_addresses: Vec::new(),
            interrupt: Interrupt::default(),
        }
    }

    /// Has no more threads than there is memory for.
    ///
    /// Errors: too little memory for one.
    pub(crate) fn within_memory(&self) -> Result<ExportOptions, Error> {
        let of_store = self.store.as_ref().map_or(0, |store| store.memory_bytes());
        let memory = Memory::of(self.memory_bytes_max, self.threads, of_store);
        let memory = memory.map_err(|error| Error::Usage(error.to_string()))?;
        let memory_bytes_max = self.memory_bytes_max.saturating_sub(of_store);
        Ok(ExportOptions { threads: memory.threads, memory_bytes_max, ..self.clone() })
    }

    /// Bytes of text that a thread hands on at once: it has some of these chunks, plain and compressed.
    pub(crate) fn chunk_bytes(&self) -> usize {
        let memory = Memory::split(self.memory_bytes_max, self.threads);
        memory.map_or(CHUNK_BYTES, |memory| memory.chunk_bytes.min(CHUNK_BYTES))
    }

    /// Bytes of a row group.
    fn group_bytes(&self, kind: Kind) -> usize {
        let available = self.memory_bytes_max.saturating_sub(PROGRAM_BYTES);
        let share = available / (self.threads.max(1) as u64 * GROUPS_OF_THREAD);
        let most = if kind == Kind::Arrow { BATCH_BYTES } else { GROUP_BYTES };
        share.clamp(GROUP_BYTES_MIN, most) as usize
    }

    /// Bytes of text, or of a row group, that a thread hands on at once.
    pub(crate) fn piece_bytes(&self) -> usize {
        match self.format {
            Format::Columnar(kind) => self.group_bytes(kind),
            _ => self.chunk_bytes(),
        }
    }

    /// How text is compressed: files with typed columns compress their columns themselves.
    pub(crate) fn text_compression(&self) -> Compression {
        if self.format.is_typed() { Compression::None } else { self.compression }
    }

    /// How files with typed columns are written.
    ///
    /// Errors: options that such files do not have.
    pub(crate) fn typed(&self, kind: Kind) -> Result<WriteOptions, Error> {
        let name = kind.name();
        let packing = match (self.compression, kind) {
            (Compression::None, _) => Packing::None,
            (Compression::Zstd, _) => Packing::Zstd,
            (Compression::Gzip, Kind::Parquet) => Packing::Gzip,
            (Compression::Gzip, Kind::Arrow | Kind::Excel) => {
                return Err(Error::Usage(format!(
                    "{name} files are compressed by zstd, not by gzip"
                )));
            }
        };
        if self.time_zone != UTC {
            return Err(Error::Usage(format!(
                "{TIME_ZONE} does not apply to {name} files, whose moments are in UTC"
            )));
        }
        let group_bytes = self.group_bytes(kind);
        let is_stream = self.place == Place::Stdout;
        // Files are cut between row groups, so that these are small parts of them.
        let Split { rows, bytes } = self.split;
        let group_rows = rows.map_or(WriteOptions::GROUP_ROWS, |rows| {
            let part = (rows / GROUPS_OF_FILE).max(SPLIT_GROUP_ROWS.min(rows));
            usize::try_from(part)
                .map_or(WriteOptions::GROUP_ROWS, |part| part.min(WriteOptions::GROUP_ROWS))
        });
        let value_bytes = bytes.map_or(u64::MAX, |bytes| bytes / GROUPS_OF_FILE);
        Ok(WriteOptions { kind, is_stream, packing, group_bytes, group_rows, value_bytes })
    }

    /// How long the table is waited for.
    pub(crate) fn wait(&self) -> Duration {
        Duration::from_secs(self.lock_wait_seconds.into())
    }

    /// How long a lock on the table is tried for that keeps writers away.
    pub(crate) fn lock_wait(&self) -> Duration {
        match self.way {
            ExportPath::Direct => self.wait(),
            ExportPath::Auto | ExportPath::Select => self.wait().min(OPTIONAL_LOCK_WAIT),
        }
    }
}
