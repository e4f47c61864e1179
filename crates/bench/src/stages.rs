//! Each stage of a load alone, on one thread: rows/s and MB/s.
//!
//! ```text
//! read -> scan -> encode -> build -> write              a chunk of 4 MB at a time
//!                       \-> sort -> merge -> build -> write   when all chunks are sorted
//! verify, stamp                                            the finished file
//! ```
//!
//! lineitem goes through all of them once, chunk by chunk as in a load, so each stage finds the data of the
//! one before in the caches. The clock is read between stages: their sum is the time of a load on one thread
//! without waiting. The result is a whole tablespace.

mod lineitem;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use encode::binding::Binding;
use encode::encoder::Encoder;
use encode::entry::Rebuilder;
use innodb::allocator::Allocator;
use innodb::cfg::Cfg;
use innodb::layout::Layout;
use innodb::leaf::LeafBatch;
use innodb::page_fill::Fill;
use innodb::space_format::SpaceFormat;
use innodb::template::Template;
use innodb::tree::{Appended, FinishedPage, IndexBuilder};
use innodb::verify::{Context, Writer, verify_space};
use sandbox::{Sandbox, SandboxOptions};
use schema::TableName;
use server::Session;
use sort::{EntryShape, RunStore, SortBuffer, StoreOptions};
use sources::{Batch, Chunk, Dialect, FileSource, Source, SourceOptions};

use crate::error::Error;
use crate::rows;
use crate::text_table::TextTable;
use crate::tpch::{Schema, Table};
use lineitem::{Encoded, Encoding};

/// Memory for the sorts of both secondary indexes.
const SORT_BYTES: usize = 1 << 30;
/// Pages of secondary leaves that are built before they are written.
const PAGES_PER_WRITE: usize = 64;

/// A stage, in the order of [`Stage::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Stage {
    /// File to chunks of whole records.
    Read,
    /// Chunks to fields.
    Scan,
    /// Fields to clustered records and secondary keys.
    Encode,
    /// Secondary keys sorted chunk by chunk.
    Sort,
    /// Sorted runs to one ascending stream, for both secondary indexes.
    Merge,
    /// Records to sealed pages, for all three indexes.
    Build,
    /// Pages to the file, made durable.
    Write,
    /// Every page of the file checked.
    Verify,
    /// Every page of the file read, given an LSN, and written, made durable: for incremental backups, and
    /// no part of the time of all.
    Stamp,
}

/// The time of one stage.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The stage.
    pub stage: Stage,
    /// Rows of the table.
    pub rows: u64,
    /// Bytes that went in, or out where the stage writes.
    pub bytes: u64,
    /// Seconds of one thread.
    pub seconds: f64,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Stage; 9] = [
        Stage::Read,
        Stage::Scan,
        Stage::Encode,
        Stage::Sort,
        Stage::Merge,
        Stage::Build,
        Stage::Write,
        Stage::Verify,
        Stage::Stamp,
    ];

    /// Name of the stage, and of the bytes its MB/s are of.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Stage::Read => ("read", "text"),
            Stage::Scan => ("scan", "text"),
            Stage::Encode => ("encode", "text"),
            Stage::Sort => ("sort", "keys"),
            Stage::Merge => ("merge", "keys"),
            Stage::Build => ("build", "pages"),
            Stage::Write => ("write", "pages"),
            Stage::Verify => ("verify", "pages"),
            Stage::Stamp => ("stamp", "pages"),
        }
    }
}

/// Runs every stage over lineitem of a scale. Rows are generated in `data_dir`, and a server is
/// started there for a moment: an empty table of its is what the file is made from.
pub fn run(scale: f64, data_dir: &Path) -> Result<Vec<Figure>, Error> {
    let data_dir = &std::path::absolute(data_dir).map_err(Error::io("finding", data_dir))?;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let dir = data_dir.join(format!("sf{scale}"));
    let file = rows::generate(Table::LineItem, scale, &dir, threads)?;
    crate::floor::read_seconds(&file.path)?;
    let Empty { cfg, ibd, table } = empty_table(&data_dir.join("stages-server"))?;
    let template = Template::parse(&ibd, &cfg).map_err(Error::stage("build"))?;
    let path = data_dir.join("stages.ibd");
    let binding = lineitem::bind(&cfg, &table)?;
    let mut bench = Bench::new(&binding, &cfg, &template, &path, data_dir)?;
    let outcome = bench.rows(&file.path).and_then(|()| bench.indexes()).and_then(|()| bench.end());
    let removed = fs::remove_file(&path).map_err(Error::io("removing", &path));
    outcome.and(removed)?;
    Ok(bench.clock.figures(file.rows))
}

/// The figures as a table.
pub fn text(figures: &[Figure]) -> String {
    let mut table = TextTable::new(["stage", "seconds", "ns/row", "M rows/s", "MB/s", "of"]);
    for figure in figures {
        let (name, what) = figure.stage.names();
        let Figure { rows, bytes, seconds, .. } = *figure;
        table.line([
            name.to_owned(),
            format!("{seconds:.3}"),
            format!("{:.1}", seconds * 1e9 / rows as f64),
            format!("{:.2}", rows as f64 / seconds / 1e6),
            format!("{:.0}", bytes as f64 / seconds / 1e6),
            what.to_owned(),
        ]);
    }
    let figures = figures.iter().filter(|figure| figure.stage != Stage::Stamp);
    let seconds: f64 = figures.map(|figure| figure.seconds).sum();
    table.line(["all".to_owned(), format!("{seconds:.3}")]);
    table.to_string()
}

/// An empty lineitem: as a server describes and exports it.
struct Empty {
    cfg: Cfg,
    ibd: Vec<u8>,
    table: schema::Table,
}

fn empty_table(dir: &Path) -> Result<Empty, Error> {
    let sandbox = Sandbox::at(dir)?;
    sandbox.start(&SandboxOptions::default())?;
    let exported = export(&sandbox);
    sandbox.stop()?;
    fs::remove_dir_all(dir).map_err(Error::io("removing", dir))?;
    exported
}

fn export(sandbox: &Sandbox) -> Result<Empty, Error> {
    let mut session = Session::connect(&sandbox.connect_options())?;
    session.exec("CREATE OR REPLACE DATABASE stages")?;
    session.exec("USE stages")?;
    session.exec(Table::LineItem.ddl(Schema::Dbgen)?)?;
    let table = catalog::read(&mut session, &TableName::new("stages", "lineitem"))?;
    session.exec("FLUSH TABLES lineitem FOR EXPORT")?;
    let read = |extension: &str| {
        let path = sandbox.datadir().join("stages").join(format!("lineitem.{extension}"));
        fs::read(&path).map_err(Error::io("reading", &path))
    };
    let (cfg, ibd) = (read("cfg")?, read("ibd")?);
    session.exec("UNLOCK TABLES")?;
    Ok(Empty { cfg: Cfg::parse(&cfg).map_err(Error::stage("build"))?, ibd, table })
}

/// Seconds and bytes of each stage.
struct Clock {
    last: Instant,
    seconds: [f64; Stage::ALL.len()],
    bytes: [u64; Stage::ALL.len()],
}

impl Clock {
    /// Time since the last call goes to `stage`, which took or gave `bytes`.
    fn lap(&mut self, stage: Stage, bytes: u64) {
        let now = Instant::now();
        self.seconds[stage as usize] += (now - self.last).as_secs_f64();
        self.bytes[stage as usize] += bytes;
        self.last = now;
    }

    fn figures(&self, rows: u64) -> Vec<Figure> {
        let figure = |stage: Stage| Figure {
            stage,
            rows,
            bytes: self.bytes[stage as usize],
            seconds: self.seconds[stage as usize],
        };
        Stage::ALL.map(figure).into()
    }
}

/// A tablespace that is being built.
struct Bench<'a> {
    binding: &'a Binding,
    cfg: &'a Cfg,
    template: &'a Template,
    allocator: Allocator,
    file: File,
    path: &'a Path,
    stores: Vec<RunStore>,
    /// Bytes of each key, one a store.
    key_lens: Vec<usize>,
    clock: Clock,
}

impl<'a> Bench<'a> {
    fn new(
        binding: &'a Binding,
        cfg: &'a Cfg,
        template: &'a Template,
        path: &'a Path,
        temp_dir: &Path,
    ) -> Result<Bench<'a>, Error> {
        let key_lens = lineitem::key_lens(binding)?;
        let store = |key_len: &usize| {
            let options = StoreOptions {
                memory_bytes_max: SORT_BYTES / binding.secondaries.len(),
                temp_dir: temp_dir.to_path_buf(),
                threads: 1,
                stop: std::sync::Arc::default(),
            };
            RunStore::with_options(EntryShape::fixed(*key_len), options)
                .map_err(Error::stage("sort"))
        };
        Ok(Bench {
            binding,
            cfg,
            template,
            allocator: Allocator::new(template),
            file: File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)
                .map_err(Error::io("making", path))?,
            path,
            stores: key_lens.iter().map(store).collect::<Result<_, _>>()?,
            key_lens,
            clock: Clock {
                last: Instant::now(),
                seconds: [0.0; Stage::ALL.len()],
                bytes: [0; Stage::ALL.len()],
            },
        })
    }

    /// Text to the clustered index, and to sorted runs of the secondary keys.
    fn rows(&mut self, path: &Path) -> Result<(), Error> {
        let dialect = Dialect::tbl();
        let mut source = FileSource::new(&[path.into()], &dialect, SourceOptions::default())
            .map_err(Error::stage("read"))?;
        let mut reader = source.reader();
        let (mut chunk, mut rows) = (Chunk::default(), Batch::new());
        let index = self.template.clustered();
        let mut encoder = Encoder::new(self.binding);
        let mut encoded = Encoded::new(self.key_lens.len());
        let mut batch = LeafBatch::new(index, Fill::default(), 512);
        let mut builder = IndexBuilder::new(index, Fill::default());
        self.clock.last = Instant::now();
        while source.next_chunk(&mut chunk).map_err(Error::stage("read"))? {
            let text_bytes = chunk.bytes.len() as u64;
            self.clock.lap(Stage::Read, text_bytes);
            reader.read(&chunk, &mut rows).map_err(Error::stage("scan"))?;
            self.clock.lap(Stage::Scan, text_bytes);
            let encoding = Encoding { encoder: &mut encoder, encoded: &mut encoded };
            rows.visit(&chunk, encoding)?;
            self.clock.lap(Stage::Encode, text_bytes);
            self.sort(&encoded, chunk.ordinal)?;
            for (record, origin) in encoded.records() {
                batch.push(record, origin).map_err(Error::stage("build"))?;
            }
            let appended = builder
                .append_closed(&mut batch, &mut self.allocator)
                .map_err(Error::stage("build"))?;
            self.write(appended)?;
        }
        self.finish(builder, batch)
    }

    /// Sorts and keeps the secondary keys of some rows.
    fn sort(&mut self, encoded: &Encoded, ordinal: u64) -> Result<(), Error> {
        for (slot, (store, &key_len)) in self.stores.iter().zip(&self.key_lens).enumerate() {
            let mut buffer = SortBuffer::new(EntryShape::fixed(key_len));
            let keys = encoded.keys(slot);
            for key in keys.chunks_exact(key_len) {
                buffer.push(key, &[]);
            }
            store.add(buffer.sort(ordinal)).map_err(Error::stage("sort"))?;
            self.clock.lap(Stage::Sort, keys.len() as u64);
        }
        Ok(())
    }

    /// Sorted runs to the secondary indexes.
    fn indexes(&mut self) -> Result<(), Error> {
        for (slot, store) in std::mem::take(&mut self.stores).into_iter().enumerate() {
            let runs = store.finish().map_err(Error::stage("merge"))?;
            let all = sort::KeyRange::all();
            let mut merge = runs.merge(&all).map_err(Error::stage("merge"))?;
            let index = &self.template.indexes[1 + slot];
            let key_len = self.key_lens[slot];
            let mut rebuilder = Rebuilder::new(&self.binding.secondaries[slot]);
            let mut keys = Vec::new();
            let mut batch = LeafBatch::new(index, Fill::default(), 2 * PAGES_PER_WRITE);
            let mut builder = IndexBuilder::new(index, Fill::default());
            loop {
                keys.clear();
                while keys.len() < PAGES_PER_WRITE * innodb::ids::PAGE_SIZE {
                    let Some((key, _)) = merge.next().map_err(Error::stage("merge"))? else {
                        break;
                    };
                    keys.extend_from_slice(key);
                }
                self.clock.lap(Stage::Merge, keys.len() as u64);
                if keys.is_empty() {
                    break;
                }
                for key in keys.chunks_exact(key_len) {
                    let record = rebuilder.record(key, &[]);
                    batch.push(record.bytes, record.origin).map_err(Error::stage("build"))?;
                }
                let appended = builder
                    .append_closed(&mut batch, &mut self.allocator)
                    .map_err(Error::stage("build"))?;
                self.write(appended)?;
            }
            self.finish(builder, batch)?;
        }
        Ok(())
    }

    /// Ends an index: what is left in its batch, and the pages above.
    fn finish(&mut self, mut builder: IndexBuilder, mut batch: LeafBatch) -> Result<(), Error> {
        let appended =
            builder.append(&mut batch, &mut self.allocator).map_err(Error::stage("build"))?;
        self.write(appended)?;
        let pages = builder.finish(0, &mut self.allocator).map_err(Error::stage("build"))?;
        self.clock.lap(Stage::Build, page_bytes(&pages));
        for page in &pages {
            self.write_at(page.page_no.file_offset(), &page.bytes[..])?;
        }
        self.clock.lap(Stage::Write, page_bytes(&pages));
        Ok(())
    }

    /// Seals the pages of a batch and writes them.
    fn write(&mut self, appended: Appended<'_>) -> Result<(), Error> {
        let bytes = (appended.pages() * innodb::ids::PAGE_SIZE) as u64;
        let sealed = appended.seal();
        self.clock.lap(Stage::Build, bytes);
        for (offset, pages) in sealed.writes() {
            self.write_at(offset, pages)?;
        }
        self.clock.lap(Stage::Write, bytes);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all_at(bytes, offset).map_err(Error::io("writing", self.path))
    }

    /// The allocation pages, and the check of the whole file.
    fn end(&mut self) -> Result<(), Error> {
        let layout = Layout::new(self.template, &self.allocator);
        let file_bytes = layout.size_bytes();
        for (page_no, page) in layout.pages() {
            self.write_at(page_no.file_offset(), &page[..])?;
        }
        let ended = self.file.set_len(file_bytes).and_then(|()| self.file.sync_all());
        ended.map_err(Error::io("writing", self.path))?;
        self.clock.lap(Stage::Write, 0);
        let context =
            Context { writer: Writer::Loader, cfg: Some(self.cfg), collations: &|_, _| None };
        let report =
            verify_space(&self.file, file_bytes, context).map_err(Error::stage("verify"))?;
        self.clock.lap(Stage::Verify, file_bytes);
        if let Some(violation) = report.violations.kept().first() {
            return Err(Error::stage("verify")(violation));
        }
        self.stamp(file_bytes)?;
        self.clock.lap(Stage::Stamp, file_bytes);
        Ok(())
    }

    /// Gives all pages an LSN.
    fn stamp(&self, file_bytes: u64) -> Result<(), Error> {
        let damaged = || Error::stage("stamp")("page 0 is not that of a tablespace");
        let mut buffer = vec![0; PAGES_PER_WRITE * innodb::ids::PAGE_SIZE];
        self.file
            .read_exact_at(&mut buffer[..innodb::ids::PAGE_SIZE], 0)
            .map_err(Error::io("reading", self.path))?;
        let format = SpaceFormat::of_first_page(&buffer).ok_or_else(damaged)?;
        let mut offset = 0;
        while offset < file_bytes {
            buffer.truncate(
                usize::try_from(file_bytes - offset).unwrap_or(usize::MAX).min(buffer.len()),
            );
            self.file
                .read_exact_at(&mut buffer, offset)
                .map_err(Error::io("reading", self.path))?;
            for page in buffer.as_chunks_mut().0 {
                format.stamp(page, offset + 1).map_err(Error::stage("stamp"))?;
            }
            self.write_at(offset, &buffer)?;
            offset += buffer.len() as u64;
        }
        self.file.sync_data().map_err(Error::io("syncing", self.path))
    }
}

fn page_bytes(pages: &[FinishedPage]) -> u64 {
    (pages.len() * innodb::ids::PAGE_SIZE) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_small_table_goes_through_every_stage() {
        let dir = std::env::temp_dir().join(format!("inrush-stages-{}", std::process::id()));
        let figures = run(0.01, &dir);
        fs::remove_dir_all(&dir).unwrap();
        let figures = figures.unwrap();
        assert_eq!(figures.len(), Stage::ALL.len());
        for figure in &figures {
            assert!(figure.rows > 50_000 && figure.seconds > 0.0 && figure.bytes > 1_000_000);
        }
        let build = figures[Stage::Build as usize];
        let verify = figures[Stage::Verify as usize];
        assert!(build.bytes <= verify.bytes && verify.bytes < build.bytes + (8 << 20));
        assert!(text(&figures).contains("verify") && text(&figures).contains("stamp"));
    }
}
