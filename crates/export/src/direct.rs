//! Rows out of the table's file, without the server's SQL.
//!
//! `FLUSH TABLES .. FOR EXPORT` writes all of the table to its file and keeps the server from changing it,
//! until the connection lets it go. Its leaves are read in the order of the key, some at a time by each
//! thread:
//!
//! ```text
//! level 1   | key page | ..       the numbers of all leaves, read once
//! level 0   64 leaves a part      records that are not deleted -> fields -> text
//! ```

mod typed;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::File;
use innodb::blob::BlobReference;
use innodb::cfg::{Cfg, CfgIndex};
use innodb::error::Error as FormatError;
use innodb::finder::FieldFinder;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::instant::{OldLayout, Rewriter};
use innodb::leaves::{LeafPointers, LeafRecords, LiveRecord, check_links, read_leaves};
use innodb::page::{AlignedPage, PageBytes};
use innodb::reader::SpaceReader;
use innodb::record::FieldSpan;
use innodb::source::{PageSource, ReadError};
use innodb::space_format::SpaceFormat;
use innodb::value_reader::ValueReader;
use job::progress::Progress;
use schema::Table;
use server::Session;
use targets::description::{COUNTED_ROWS, had_instant_columns};
use values::decode::{Decoder, Undecoded};

use crate::columns::Columns;
use crate::error::Error;
use crate::held::{Exported, Held};
use crate::layout::Stored;
use crate::options::ExportOptions;
use crate::ordered::{Sink, Worker};
use crate::request::Request;
use crate::select::DENIED;
use crate::text::{Chunk, RowText};
use crate::typed::{Contents, Rows};
use typed::CompactSpan;

/// Leaves that are read at once, and those of a part of text.
const READ_LEAVES: usize = 64;
/// Leaves of a part that becomes row groups, where there are enough for all threads.
const GROUP_LEAVES: usize = 1024;
/// Why rows of a table that was altered instantly are not read.
const LONG_DEFAULTS: &str =
    "ALGORITHM=INSTANT has added columns whose default values are longer than a page";
/// Bytes of the reference at the end of a field that goes on off page.
const REFERENCE: usize = size_of::<BlobReference>();

/// A table that nobody writes to, and where its rows are.
pub(crate) struct Direct {
    held: Held,
    spaces: Arc<[Space]>,
    /// Space and leaves of each part.
    parts: Arc<[(usize, std::ops::Range<usize>)]>,
}

/// One file of a table.
struct Space {
    format: SpaceFormat,
    file: SpaceFile,
    leaves: Vec<u32>,
    records: LeafRecords,
    /// How records differ from these, if the table was altered instantly.
    layout: Option<OldLayout>,
    /// Finds the field of a record for each column of the output.
    finder: FieldFinder,
}

/// A leaf, and the place in memory that it was read to.
#[derive(Clone, Copy)]
struct Leaf<'s> {
    space: &'s Space,
    page_no: u32,
    at: usize,
}

/// A file that nobody changes.
struct SpaceFile {
    file: File,
    path: PathBuf,
}

impl PageSource for SpaceFile {
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> std::io::Result<()> {
        self.file.read_exact_at(buffer, first.file_offset())
    }
}

impl Direct {
    /// Has the server write out the table, and finds its leaves.
    ///
    /// Errors of the inner result: each thing that is in the way, as a sentence.
    pub(crate) fn begin(
        session: &mut Session,
        request: Request<'_>,
        progress: &dyn Progress,
    ) -> Result<Result<Direct, Vec<String>>, Error> {
        let (held, files) = match Held::take(session, request, progress)? {
            Ok(held) => held,
            Err(reasons) => return Ok(Err(reasons)),
        };
        if files.iter().any(|(cfg, ..)| Cfg::parse(cfg).is_ok_and(|cfg| cfg.has_row_versions()))
            && let Some(reason) = counted_rows(session, &files)?
        {
            held.release()?;
            return Ok(Err(vec![reason]));
        }
        let mut spaces = Vec::with_capacity(files.len());
        for (cfg, file, path) in files {
            match Space::open(&cfg, SpaceFile { file, path }, request)? {
                Ok(space) => spaces.push(space),
                Err(reason) => {
                    held.release()?;
                    return Ok(Err(vec![reason]));
                }
            }
        }
        let mut parts = Vec::new();
        let leaves = spaces.iter().map(|space: &Space| space.leaves.len()).sum::<usize>();
        let of_part = match request.options.format.is_typed() {
            true => (leaves / request.options.threads.max(1)).clamp(READ_LEAVES, GROUP_LEAVES),
            false => READ_LEAVES,
        };
        for (at, space) in spaces.iter().enumerate() {
            let starts = (0..space.leaves.len()).step_by(of_part);
            let range = |start| start..space.leaves.len().min(start + of_part);
            parts.extend(starts.map(|start| (at, range(start))));
        }
        Ok(Ok(Direct { held, spaces: spaces.into(), parts: parts.into() }))
    }

    /// Those that read, and of how many parts.
    pub(crate) fn workers<'a>(
        &self,
        table: &Table,
        columns: &'a Columns,
        contents: &'a Contents,
        options: &'a ExportOptions,
    ) -> Result<(Vec<Reader<'a>>, usize), Error> {
        let decoder = |place: &usize| {
            let column = &table.columns[*place];
            Decoder::new(&column.sql_type).ok_or_else(|| {
                Error::Internal(format!(
                    "column `{}` has a type that cannot be decoded",
                    column.name
                ))
            })
        };
        let decoders = columns.places.iter().map(decoder).collect::<Result<Vec<_>, _>>()?;
        let count = options.threads.min(self.parts.len());
        let reader = |_| {
            Ok(Reader {
                spaces: Arc::clone(&self.spaces),
                parts: Arc::clone(&self.parts),
                options,
                columns,
                decoders: decoders.clone(),
                rows: contents.rows(columns, options)?,
                pages: vec![AlignedPage::ZERO; READ_LEAVES + 1],
                order: Vec::new(),
                records: Vec::new(),
                spans: Vec::new(),
                finder: None,
                scratch: ValueBuffers::default(),
            })
        };
        let readers = (0..count).map(reader).collect::<Result<_, Error>>()?;
        Ok((readers, self.parts.len()))
    }

    /// Bytes that will be read of the table's files.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.spaces.iter().map(|space| (space.leaves.len() * PAGE_SIZE) as u64).sum()
    }

    /// Lets the table go.
    pub(crate) fn release(self) -> Result<(), Error> {
        self.held.release()
    }
}

impl Space {
    /// Errors of the inner result: rows that are stored in another way.
    fn open(
        cfg: &[u8],
        file: SpaceFile,
        Request { table, columns, options }: Request<'_>,
    ) -> Result<Result<Space, String>, Error> {
        let path = file.path.clone();
        let cfg = match Cfg::parse(cfg).and_then(|cfg| cfg.row_format().map(|_| cfg)) {
            Ok(cfg) => cfg,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let Some(clustered) = cfg.indexes.first().filter(|index| index.is_clustered()) else {
            return Ok(Err("its first index is not the clustered index".to_owned()));
        };
        let bytes = file.file.metadata().map_err(Error::io("looking at", &path))?.len();
        let format = match SpaceReader::open(&file, bytes) {
            Ok(space) => space.map().format,
            Err(error @ ReadError::Unsupported { .. }) => return Ok(Err(error.to_string())),
            Err(error) => return Err(unreadable(&path, error)),
        };
        let corrupt = |error: ReadError| unreadable(&path, error);
        let pages = (bytes / PAGE_SIZE as u64) as u32;
        let (records, layout) = match shapes(&file, &cfg, clustered, pages) {
            Ok((_, Some(layout))) if !layout.fits_page() => {
                return Ok(Err(LONG_DEFAULTS.to_owned()));
            }
            Ok(shapes) => shapes,
            Err(ReadError::Format(error)) if !matches!(error, FormatError::Corrupt { .. }) => {
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(corrupt(error)),
        };
        let mut fields = Vec::with_capacity(columns.places.len());
        for place in &columns.places {
            let name = &table.columns[*place].name;
            let is_whole = |field: &innodb::record::FieldShape| {
                field.prefix_len == 0
                    && field.system.is_none()
                    && cfg.columns[field.column].name.eq_ignore_ascii_case(name)
            };
            match records.shape().fields.iter().position(is_whole) {
                Some(field) => fields.push(field),
                None => return Ok(Err(format!("its file has no values of column `{name}`"))),
            }
        }
        let finder = FieldFinder::new(&records, &fields);
        let mut leaves = Vec::new();
        let node = match &layout {
            Some(layout) => layout.node_shape(records.shape()),
            None => records.shape().to_node(),
        };
        let root = PageNo(clustered.root);
        let mut pointers = LeafPointers::with_node(&file, root, node, pages).map_err(corrupt)?;
        while let Some(pointer) = pointers.advance().map_err(corrupt)? {
            options.interrupt.check()?;
            leaves.push(pointer.leaf);
        }
        drop(pointers);
        Ok(Ok(Space { format, file, leaves, records, layout, finder }))
    }

    /// Checks the checksum of leaf `leaf`, and that it lies between those beside it.
    fn check(&self, leaf: usize, page: &PageBytes) -> Result<(), Error> {
        let page_no = self.leaves[leaf];
        if !self.format.is_intact(page) {
            let detail = format!("page {page_no} has a wrong checksum");
            return Err(Error::Corrupt { path: self.file.path.clone(), detail });
        }
        let beside = [leaf.checked_sub(1), leaf.checked_add(1)];
        let beside = beside.map(|leaf| leaf.and_then(|leaf| self.leaves.get(leaf).copied()));
        check_links(page_no, page, beside).map_err(|error| unreadable(&self.file.path, error))
    }
}

/// Why rows of altered files are not read from them, if MySQL before 8.0.29 altered them first.
fn counted_rows(session: &mut Session, files: &[Exported]) -> Result<Option<String>, Error> {
    let files = files.iter().map(|(_, file, path)| (file, path.as_path()));
    match had_instant_columns(session, files) {
        Ok(had) => Ok(had.then(|| COUNTED_ROWS.to_owned())),
        Err(error) if error.errno().is_some_and(|errno| DENIED.contains(&errno)) => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// How the records of a clustered index are read, and how those in the file differ from them.
fn shapes(
    file: &SpaceFile,
    cfg: &Cfg,
    clustered: &CfgIndex,
    pages: u32,
) -> Result<(LeafRecords, Option<OldLayout>), ReadError> {
    let records = match innodb::instant::is_altered(file, cfg)? {
        false => LeafRecords::described(cfg, clustered)?,
        true => LeafRecords::rewritten(cfg, clustered)?,
    };
    let layout = OldLayout::read(file, cfg, cfg, records.shape(), pages)?;
    Ok((records, layout))
}

/// One thread.
pub(crate) struct Reader<'a> {
    spaces: Arc<[Space]>,
    parts: Arc<[(usize, std::ops::Range<usize>)]>,
    options: &'a ExportOptions,
    columns: &'a Columns,
    decoders: Vec<Decoder>,
    rows: Rows<'a>,
    /// Leaves, and a page of rewritten records.
    pages: Vec<AlignedPage>,
    order: Vec<(u32, usize)>,
    records: Vec<LiveRecord>,
    /// Fields of the rows of a leaf, row by row.
    spans: Vec<CompactSpan>,
    /// The finder for the tablespace of this number.
    finder: Option<(usize, FieldFinder)>,
    scratch: ValueBuffers,
}

/// Memory that is kept from row to row.
#[derive(Default)]
struct ValueBuffers {
    /// A value that was partly off page.
    whole: Vec<u8>,
    text: Vec<u8>,
    values: ValueReader,
}

impl Worker for Reader<'_> {
    fn part(&mut self, part: usize, sink: &mut Sink) -> Result<Chunk, Error> {
        let (number, leaves) = self.parts[part].clone();
        let spaces = Arc::clone(&self.spaces);
        let space = &spaces[number];
        let (first, leaves) = (leaves.start, &space.leaves[leaves]);
        let mut finder = match self.finder.take() {
            Some((of, finder)) if of == number => finder,
            _ => space.finder.clone(),
        };
        let shape = space.records.shape();
        let mut rewriter =
            space.layout.as_ref().map(|layout| Rewriter::new(layout, shape, PAGE_SIZE));
        for (chunk, pages) in leaves.chunks(READ_LEAVES).enumerate() {
            self.options.interrupt.check()?;
            let read = read_leaves(&space.file, pages, &mut self.pages, &mut self.order);
            read.map_err(|error| unreadable(&space.file.path, error))?;
            for (at, page_no) in pages.iter().enumerate() {
                space.check(first + chunk * READ_LEAVES + at, &self.pages[at].0)?;
                let leaf = Leaf { space, page_no: *page_no, at };
                match &mut rewriter {
                    None => self.leaf(leaf, &mut finder, sink)?,
                    Some(rewriter) => self.altered_leaf(leaf, rewriter, &mut finder, sink)?,
                }
            }
        }
        self.finder = Some((number, finder));
        let read_bytes = (leaves.len() * PAGE_SIZE) as u64;
        Ok(Chunk { read_bytes, ..self.rows.take()? })
    }

    fn reuse(&mut self, spare: Chunk) {
        self.rows.reuse(spare);
    }
}

impl Reader<'_> {
    /// Writes the rows of a leaf.
    fn leaf(
        &mut self,
        leaf: Leaf<'_>,
        finder: &mut FieldFinder,
        sink: &mut Sink,
    ) -> Result<(), Error> {
        let Leaf { space, page_no, at } = leaf;
        let found = space.records.live(page_no, &self.pages[at].0, &mut self.records);
        found.map_err(|error| unreadable(&space.file.path, error))?;
        self.records(leaf, finder, sink)
    }

    /// Writes the rows of a leaf of a table that was altered instantly.
    fn altered_leaf(
        &mut self,
        Leaf { space, page_no, at }: Leaf<'_>,
        rewriter: &mut Rewriter<'_>,
        finder: &mut FieldFinder,
        sink: &mut Sink,
    ) -> Result<(), Error> {
        rewriter.begin();
        loop {
            let (leaves, rewritten) = self.pages.split_at_mut(READ_LEAVES);
            let is_end = !rewriter
                .advance(page_no, &leaves[at].0, &mut rewritten[0].0, &mut self.records)
                .map_err(|error| unreadable(&space.file.path, error))?;
            if is_end {
                return Ok(());
            }
            self.records(Leaf { space, page_no, at: READ_LEAVES }, finder, sink)?;
        }
    }

    /// Writes the rows of the records that were found on page `at`.
    fn records(
        &mut self,
        leaf: Leaf<'_>,
        finder: &mut FieldFinder,
        sink: &mut Sink,
    ) -> Result<(), Error> {
        let Leaf { space, page_no, at } = leaf;
        let page = &self.pages[at].0;
        let path = &space.file.path;
        let Rows::Text(text) = &mut self.rows else {
            return self.typed_leaf(leaf, finder, sink);
        };
        for record in &self.records {
            let spans = finder.find(page, *record).map_err(|error| unreadable(path, error))?;
            text.begin_row();
            for (field, (span, decoder)) in spans.iter().zip(&self.decoders).enumerate() {
                let written = match span.of(page) {
                    Some(stored) if !span.is_external => text.stored(field, decoder, stored),
                    _ => Stored::Unknown,
                };
                let written = match written {
                    Stored::Unknown => {
                        self.scratch.value(space, page, field, decoder, span, text)?
                    }
                    written => written,
                };
                if written != Stored::Written {
                    return Err(self.unwritten(written, field, path, page_no));
                }
            }
            if text.end_row() {
                let spare = sink.send(text.take())?;
                text.reuse(spare);
            }
        }
        Ok(())
    }

    /// The error for a value that cannot be written.
    #[cold]
    fn unwritten(&self, written: Stored, field: usize, path: &Path, page_no: u32) -> Error {
        let column = &self.columns.fields[field].name;
        if written == Stored::NoText {
            return Error::no_text(column);
        }
        let detail =
            format!("page {page_no} has a record with an invalid value in column `{column}`");
        Error::Corrupt { path: path.to_owned(), detail }
    }
}

impl ValueBuffers {
    /// Writes a value of any kind, if it is one.
    fn value(
        &mut self,
        space: &Space,
        page: &PageBytes,
        field: usize,
        decoder: &Decoder,
        span: &FieldSpan,
        out: &mut RowText<'_>,
    ) -> Result<Stored, Error> {
        let ValueBuffers { whole, text, values } = self;
        let stored = match span.of(page) {
            None => {
                out.value(field, None)?;
                return Ok(Stored::Written);
            }
            Some(bytes) if span.is_external => {
                off_page(space, bytes, whole, values)?;
                whole.as_slice()
            }
            Some(stored) => stored,
        };
        if decoder.is_as_stored() {
            out.value(field, Some(stored))?;
            return Ok(Stored::Written);
        }
        text.clear();
        match decoder.decode(stored, text) {
            Ok(()) => out.value(field, Some(text))?,
            Err(Undecoded::NotStored) => return Ok(Stored::NoValue),
            Err(Undecoded::NoText) => return Ok(Stored::NoText),
        }
        Ok(Stored::Written)
    }
}

/// Puts a value together that goes on off page.
fn off_page(
    Space { format, file, .. }: &Space,
    local: &[u8],
    whole: &mut Vec<u8>,
    values: &mut ValueReader,
) -> Result<(), Error> {
    whole.clear();
    let reference = BlobReference::at_end(local).ok_or_else(|| Error::Corrupt {
        path: file.path.clone(),
        detail: "an off-page value has no reference".to_owned(),
    })?;
    whole.extend_from_slice(&local[..local.len() - REFERENCE]);
    let read = values.read(*format, file, &reference, whole);
    read.map_err(|error| unreadable(&file.path, error))
}

fn unreadable(path: &Path, error: ReadError) -> Error {
    match error {
        ReadError::Source { source, .. } => Error::io("reading", path)(source),
        error => Error::Corrupt { path: path.to_owned(), detail: error.to_string() },
    }
}
