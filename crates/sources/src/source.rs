//! The seam for kinds of input: local files and pipes, the rows of a dump's INSERTs, sorted rows;
//! remote files and other formats fit too.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use values::{SqlType, Zone};

use crate::batch::{Batch, Formats};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::field::{FieldKind, Layout};
use crate::key::Key;
use crate::line_fields::LineFields;

/// One input as it was found before reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its size in bytes, compressed if it is; None when only reading tells (a pipe).
    pub bytes: Option<u64>,
}

/// Input as chunks of whole records, front to back. Nothing needs to seek.
///
/// [`SourceExt`] has shorthands for what callers do often.
pub trait Source: Send {
    /// Facts about the input that need no reading, and about how it is read.
    fn facts(&self) -> &InputFacts;

    /// Begins at the first file with ordinal 0, not given up; [`InputFacts::begin`] notes `read_as`.
    /// Equal `read_as` give equal chunks of equal text. Costs nothing before the first chunk.
    ///
    /// Errors: fields that make no record; formats for fields that are no text of people's. Files that
    /// changed since are an error of `next_chunk`.
    fn begin(&mut self, read_as: ReadAs) -> Result<()>;

    /// Overwrites `chunk` with the next records, or returns false at the end of the input (the
    /// chunk is empty then). A chunk spans files only by [`ReadAs::joins_files`], and is never empty otherwise.
    ///
    /// Errors: reading; a quote that never closes; a record longer than the limit. After an error
    /// the source is done.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool>;

    /// Finds the rows of its chunks, for one thread; once it has begun.
    fn reader(&self) -> Box<dyn Reader>;

    /// The text before the rows of the first file. Reads the start of that file if nothing was read yet.
    ///
    /// Errors: reading.
    fn start(&mut self) -> Result<Start> {
        Ok(Start::default())
    }

    /// Another source of the same rows, from the first file on, read in the same way, with facts of its own
    /// ([`InputFacts::of_another`]); None where there can be but one.
    fn again(&self) -> Option<Box<dyn Source>> {
        None
    }
}

/// Facts about an input that need no reading, and about how it is read.
#[derive(Clone, Debug)]
pub struct InputFacts {
    /// The inputs in order; [`Chunk::file`] is an index into this.
    pub files: Vec<InputFile>,
    /// Size of all inputs, if known beforehand.
    pub bytes_total: Option<u64>,
    /// How fields lie in a row.
    pub layout: Layout,
    /// The bytes at the end of [`crate::Row::raw`], which the last row of a file may lack.
    pub row_end: Vec<u8>,
    /// True if the input says the names of its columns.
    pub has_header: bool,
    /// True if rows are no lines of a text: they can be read as lines by [`ReadAs::lines`].
    pub makes_lines: bool,
    /// True if there are moments among the values, which columns get as clocks of the session's zone show them.
    pub has_moments: bool,
    /// Fields of moments whose columns get them as clocks in UTC show them, by the types of [`ReadAs::columns`]; of
    /// [`ReadAs::lines`], the numbers of such values.
    pub utc_fields: Vec<usize>,
    /// Notes about the inputs, a sentence each.
    pub notes: Vec<String>,
    /// Most memory that reading takes besides the chunks, in bytes.
    pub held_bytes: u64,
    /// In words, all that decides which rows come of the files, but for `read_as`.
    pub words: String,
    /// How the source was last told to read.
    pub read_as: ReadAs,
    /// Bytes handed out or skipped so far, in the unit of `bytes_total`; the source counts them up.
    pub bytes_read: Arc<AtomicU64>,
    /// To be set by whoever has no use for what is being read, so that nobody waits for a pipe:
    /// `next_chunk` then gives [`crate::Error::Stopped`].
    pub given_up: Arc<AtomicBool>,
}

impl InputFacts {
    /// Facts of these files, with rows as LOAD DATA reads them by default; `words` say what decides
    /// which rows come of them.
    pub fn new(files: Vec<InputFile>, words: impl Into<String>) -> InputFacts {
        InputFacts {
            bytes_total: files.iter().map(|file| file.bytes).sum(),
            files,
            layout: Layout::Separated,
            row_end: b"\n".to_vec(),
            has_header: false,
            makes_lines: false,
            has_moments: false,
            utc_fields: Vec::new(),
            notes: Vec::new(),
            held_bytes: 0,
            words: words.into(),
            read_as: ReadAs::default(),
            bytes_read: Arc::default(),
            given_up: Arc::default(),
        }
    }

    /// Notes how the source reads from here on: nothing was read, and nobody has given it up.
    pub fn begin(&mut self, read_as: ReadAs) {
        self.read_as = read_as;
        self.bytes_read.store(0, Ordering::Relaxed);
        self.given_up.store(false, Ordering::Relaxed);
    }

    /// Another source's facts of the same input: nothing of it was read.
    pub fn of_another(&self) -> InputFacts {
        InputFacts { bytes_read: Arc::default(), given_up: Arc::default(), ..self.clone() }
    }
}

/// How a source is to read its input.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAs {
    /// Where the fields of a record go, in order; empty where that is not known.
    pub fields: Vec<FieldKind>,
    /// Types of the columns that fields go to, for a source of typed values; None for a field that is left
    /// out. Empty where that is not known.
    pub columns: Vec<Option<SqlType>>,
    /// The fields that are wanted of records whose fields have names, in the order of fields; empty where that is
    /// not known.
    pub keys: Arc<[Key]>,
    /// Names of fields that no record may have: columns that the first records lack, without a value for records
    /// that lack them.
    pub late_names: Arc<[Vec<u8>]>,
    /// The fields of lines, and the values for columns, if typed rows and records are read as lines.
    pub lines: Option<Arc<LineFields>>,
    /// How fields are written that are not as the server reads them.
    pub formats: Arc<Formats>,
    /// The session's zone, for moments in rows that are written down. Default UTC.
    pub time_zone: Zone,
    /// Size a chunk is filled to before it is cut, in bytes. Default 4 MiB.
    pub chunk_bytes: usize,
    /// Longest record, in bytes. Default the most there can be, 1 GiB less 16 MiB.
    pub record_bytes_max: usize,
    /// True if small files may share a chunk, whose records then have places of their own. Default no.
    pub joins_files: bool,
}

impl Default for ReadAs {
    fn default() -> ReadAs {
        ReadAs {
            fields: Vec::new(),
            columns: Vec::new(),
            keys: Arc::default(),
            late_names: Arc::default(),
            lines: None,
            formats: Arc::default(),
            time_zone: Zone::UTC,
            chunk_bytes: 4 << 20,
            record_bytes_max: ReadAs::RECORD_BYTES_MAX,
            joins_files: false,
        }
    }
}

impl ReadAs {
    /// Most that a record may have, in bytes. Leaves room for one more piece in a chunk that can be scanned.
    pub const RECORD_BYTES_MAX: usize = (1 << 30) - (16 << 20);

    /// The same with sizes that a chunk can have.
    pub(crate) fn clamped(self) -> ReadAs {
        let record_bytes_max = self.record_bytes_max.clamp(1, ReadAs::RECORD_BYTES_MAX);
        ReadAs {
            chunk_bytes: self.chunk_bytes.clamp(1, record_bytes_max),
            record_bytes_max,
            ..self
        }
    }

    /// Refuses formats, for a source whose fields are no text of people's.
    ///
    /// Errors: there are some.
    pub fn check_no_formats(&self) -> Result<()> {
        match self.formats.is_empty() {
            true => Ok(()),
            false => {
                Err(Error::Dialect("formats of values work for delimited text only".to_owned()))
            }
        }
    }
}

/// The text before the rows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The column names in the header, in the file's character set; None if there is none.
    pub names: Option<Vec<Vec<u8>>>,
    /// All of it: lines to skip, the header. A file of some of the rows can be read as the input was if it
    /// begins with that.
    pub text: Vec<u8>,
}

/// Shorthands for callers of any [`Source`].
pub trait SourceExt: Source {
    /// The inputs in order.
    fn files(&self) -> &[InputFile] {
        &self.facts().files
    }

    /// The column names in the header of the first file; None if there is none. Reads nothing then.
    ///
    /// Errors: reading.
    fn column_names(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        match self.facts().has_header {
            true => Ok(self.start()?.names),
            false => Ok(None),
        }
    }

    /// Bytes handed out or skipped so far.
    fn bytes_read(&self) -> u64 {
        self.facts().bytes_read.load(Ordering::Relaxed)
    }

    /// In words, all that decides which rows come of its files: a load that goes on where another
    /// ended must have the same.
    fn words(&self) -> String {
        let InputFacts { words, read_as: ReadAs { fields, formats, keys, .. }, .. } = self.facts();
        let mut words = format!("{words} {fields:?}");
        if !formats.is_empty() {
            words.push_str(&format!(" {formats:?}"));
        }
        for key in keys.iter().filter(|key| key.pointer.is_some()) {
            words.push_str(&format!(" {key:?}"));
        }
        words
    }

    /// Begins again, read as before but for what `change` changes.
    ///
    /// Errors: as [`Source::begin`].
    fn change(&mut self, change: impl FnOnce(&mut ReadAs)) -> Result<()> {
        let mut read_as = self.facts().read_as.clone();
        change(&mut read_as);
        self.begin(read_as)
    }

    /// Begins again, with chunks of these sizes.
    ///
    /// Errors: as [`Source::begin`].
    fn begin_with(&mut self, chunk_bytes: usize, record_bytes_max: usize) -> Result<()> {
        self.change(|read_as| {
            (read_as.chunk_bytes, read_as.record_bytes_max) = (chunk_bytes, record_bytes_max);
        })
    }

    /// Begins again, read as before.
    ///
    /// Errors: as [`Source::begin`].
    fn restart(&mut self) -> Result<()> {
        self.change(|_| ())
    }
}

impl<S: Source + ?Sized> SourceExt for S {}

/// Finds the rows of chunks. Taking a chunk is cheap and happens under a lock; this is not and does
/// not: each thread has one of its own.
pub trait Reader: Send {
    /// Overwrites `batch` with the rows of a chunk of the source that this is of.
    ///
    /// Errors: what is there instead of a row, with its place.
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()>;
}
