//! Local files as a source: read front to back, cut at record ends, header lines taken off.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::chunk::{Chunk, newlines};
use crate::dialect::Dialect;
use crate::error::{Error, Position, Result};
use crate::lexer::Lexer;
use crate::rows::{Rows, Value};
use crate::scan::Scanner;
use crate::simd::Isa;
use crate::source::{InputFile, Source};
use crate::split::Splitter;

/// Bytes per read call. Small enough that a piece is still in the second-level cache when it is
/// searched for its last record end and its newlines.
const PIECE_BYTES: usize = 256 << 10;

/// U+FEFF in UTF-8, which some editors and spreadsheets put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How files are read.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// Size a chunk is filled to before it is cut, in bytes. Default 4 MiB. Larger chunks cost
    /// memory per worker; smaller ones cost a lock per chunk. Most loads leave it alone.
    pub chunk_bytes: usize,
    /// Longest record, in bytes. Default 1 GiB less 16 MiB, also the most there can be. A longer
    /// one is an error, so that a forgotten quote does not read the whole file into memory.
    pub record_bytes_max: usize,
    /// Lines to skip at the start of each file, as IGNORE n LINES of LOAD DATA counts them: by
    /// unescaped line terminators, also inside quotes. Default 0.
    pub skip_lines: u64,
    /// After those, each file has one record with the column names. Default no.
    pub header: bool,
}

impl Default for SourceOptions {
    fn default() -> SourceOptions {
        SourceOptions {
            chunk_bytes: 4 << 20,
            record_bytes_max: RECORD_BYTES_MAX,
            skip_lines: 0,
            header: false,
        }
    }
}

/// Leaves room for one more piece in a chunk that can be scanned.
const RECORD_BYTES_MAX: usize = (1 << 30) - (16 << 20);
const _: () = assert!(RECORD_BYTES_MAX + PIECE_BYTES < Scanner::CHUNK_BYTES_MAX);

/// Local files, one after the other. Each is opened when its turn comes.
#[derive(Debug)]
pub struct FileSource {
    files: Vec<InputFile>,
    dialect: Dialect,
    options: SourceOptions,
    isa: Isa,
    /// Names in the header of the first file.
    names: Option<Vec<String>>,
    /// Index of the file being read, or to be opened next.
    index: usize,
    current: Option<OpenFile>,
    ordinal: u64,
    bytes_read: u64,
}

/// The file being read.
#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
    ended: bool,
    splitter: Splitter,
    /// What was read behind the last cut.
    rest: Vec<u8>,
    /// Place of `rest` in the file.
    offset: u64,
    line: u64,
}

impl FileSource {
    /// A source over these files, in this order. Takes their sizes, opens none.
    ///
    /// Errors: a dialect that contradicts itself; a path that is missing or a directory.
    pub fn new(paths: &[PathBuf], dialect: &Dialect, options: SourceOptions) -> Result<FileSource> {
        dialect.check()?;
        let record_bytes_max = options.record_bytes_max.clamp(1, RECORD_BYTES_MAX);
        let chunk_bytes = options.chunk_bytes.clamp(1, record_bytes_max);
        Ok(FileSource {
            files: paths.iter().map(|path| stat(path)).collect::<Result<_>>()?,
            dialect: dialect.clone(),
            options: SourceOptions { chunk_bytes, record_bytes_max, ..options },
            isa: Isa::best(),
            names: None,
            index: 0,
            current: None,
            ordinal: 0,
            bytes_read: 0,
        })
    }

    /// The same with the given instructions: for tests and benchmarks.
    pub fn with_isa(self, isa: Isa) -> FileSource {
        FileSource { isa, ..self }
    }

    /// The column names in the header of the first file; None without `SourceOptions::header` or
    /// without files. Reads the start of the first file if nothing was read yet.
    pub fn header(&mut self) -> Result<Option<&[String]>> {
        if self.options.header && self.names.is_none() {
            self.open_next()?;
        }
        Ok(self.names.as_deref())
    }

    /// Opens the file whose turn it is, if there is one left.
    fn open_next(&mut self) -> Result<bool> {
        if self.current.is_some() {
            return Ok(true);
        }
        let Some(input) = self.files.get(self.index) else {
            return Ok(false);
        };
        let path = input.path.clone();
        let file = File::open(&path).map_err(|source| Error::Io {
            action: "opening",
            path: path.clone(),
            source,
        })?;
        let mut open = OpenFile {
            file,
            path,
            ended: false,
            splitter: Splitter::new(&self.dialect, self.isa),
            rest: Vec::new(),
            offset: 0,
            line: 1,
        };
        let names = open.skip_start(&self.dialect, &self.options)?;
        if let Some(names) = names {
            self.check_header(&open.path, names)?;
        }
        self.bytes_read += open.offset;
        self.current = Some(open);
        Ok(true)
    }

    /// Takes the names of the first file; those of the others must be the same.
    fn check_header(&mut self, path: &Path, names: Vec<String>) -> Result<()> {
        match &self.names {
            Some(first) if *first != names => Err(Error::Header {
                path: path.to_owned(),
                seen: format!("names ({})", names.join(", ")),
                expected: format!("({}) as in the first file", first.join(", ")),
            }),
            Some(_) => Ok(()),
            None => {
                self.names = Some(names);
                Ok(())
            }
        }
    }
}

impl Source for FileSource {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.bytes.clear();
        while self.open_next()? {
            let Some(open) = &mut self.current else {
                break;
            };
            chunk.ordinal = self.ordinal;
            chunk.file = self.index as u32;
            match open.fill(chunk, &self.options) {
                Ok(true) => {
                    self.ordinal += 1;
                    self.bytes_read += chunk.bytes.len() as u64;
                    return Ok(true);
                }
                Ok(false) => {
                    self.current = None;
                    self.index += 1;
                }
                Err(error) => {
                    self.current = None;
                    self.index = self.files.len();
                    return Err(error);
                }
            }
        }
        chunk.bytes.clear();
        Ok(false)
    }

    fn files(&self) -> &[InputFile] {
        &self.files
    }

    fn bytes_total(&self) -> Option<u64> {
        self.files.iter().map(|file| file.bytes).sum()
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn restart(&mut self) -> Result<()> {
        let once = self.files.iter().find(|file| file.bytes.is_none());
        if let Some(input) = once
            && (self.bytes_read > 0 || self.current.is_some())
        {
            return Err(Error::NotRestartable { path: input.path.clone() });
        }
        self.index = 0;
        self.current = None;
        self.ordinal = 0;
        self.bytes_read = 0;
        Ok(())
    }
}

/// What is at `path`.
fn stat(path: &Path) -> Result<InputFile> {
    let metadata = fs::metadata(path).map_err(|source| Error::Io {
        action: "opening",
        path: path.to_owned(),
        source,
    })?;
    if metadata.is_dir() {
        return Err(Error::Directory { path: path.to_owned() });
    }
    let bytes = metadata.is_file().then_some(metadata.len());
    Ok(InputFile { path: path.to_owned(), bytes })
}

impl OpenFile {
    /// Fills the chunk with whole records; false if there are none left.
    fn fill(&mut self, chunk: &mut Chunk, options: &SourceOptions) -> Result<bool> {
        if self.ended && self.rest.is_empty() {
            return Ok(false);
        }
        chunk.bytes.clear();
        chunk.bytes.reserve_exact(options.chunk_bytes + PIECE_BYTES);
        chunk.bytes.append(&mut self.rest);
        chunk.offset = self.offset;
        chunk.first_line = self.line;
        let mut lines = newlines(&chunk.bytes);
        let cut = loop {
            let seen = chunk.bytes.len();
            self.read(&mut chunk.bytes, PIECE_BYTES.min(options.chunk_bytes))?;
            lines += newlines(&chunk.bytes[seen..]);
            let cut = self.splitter.advance(&chunk.bytes, self.ended);
            if self.ended {
                self.check_end(chunk)?;
                break chunk.bytes.len();
            }
            if chunk.bytes.len() >= options.chunk_bytes && cut > 0 {
                break cut;
            }
            if chunk.bytes.len() - cut > options.record_bytes_max {
                return Err(self.too_long(options.record_bytes_max));
            }
        };
        self.rest.extend_from_slice(&chunk.bytes[cut..]);
        chunk.bytes.truncate(cut);
        if !self.ended {
            self.splitter.consume(cut);
        }
        self.offset += cut as u64;
        self.line += lines - newlines(&self.rest);
        Ok(cut > 0)
    }

    /// At the end of the file: no quote may be open.
    fn check_end(&self, chunk: &Chunk) -> Result<()> {
        let Some(quote) = self.splitter.open_quote(&chunk.bytes) else {
            return Ok(());
        };
        let (line, offset) = (chunk.line_at(quote), chunk.offset_at(quote));
        Err(Error::UnterminatedQuote { at: Position { path: self.path.clone(), line, offset } })
    }

    /// The record at the start of what was read is too long.
    fn too_long(&self, bytes_max: usize) -> Error {
        let at = Position { path: self.path.clone(), line: self.line, offset: self.offset };
        Error::RecordTooLong { at, bytes_max }
    }

    /// Appends up to `size` bytes of the file; nothing more comes once `ended` is set.
    fn read(&mut self, bytes: &mut Vec<u8>, size: usize) -> Result<()> {
        let seen = bytes.len();
        // Zeroing a piece that is written right after stays in the cache.
        bytes.resize(seen + size, 0);
        let read = loop {
            match self.file.read(&mut bytes[seen..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        bytes.truncate(seen + *read.as_ref().unwrap_or(&0));
        let read = read.map_err(|source| Error::Io {
            action: "reading",
            path: self.path.clone(),
            source,
        })?;
        self.ended |= read == 0;
        Ok(())
    }

    /// Takes a byte order mark, the lines to skip and the header off the start of the file;
    /// returns the header's names, if there is to be one.
    fn skip_start(
        &mut self,
        dialect: &Dialect,
        options: &SourceOptions,
    ) -> Result<Option<Vec<String>>> {
        let piece = PIECE_BYTES.min(options.chunk_bytes);
        let mut bytes = Vec::new();
        let mut at = 0;
        if dialect.any_newline {
            while bytes.len() < BYTE_ORDER_MARK.len() && !self.ended {
                self.read(&mut bytes, piece)?;
            }
            at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        }
        let lexer = Lexer::new(dialect);
        let mut lines_left = options.skip_lines;
        let names = loop {
            if lines_left == 0 && !options.header {
                break None;
            }
            self.read(&mut bytes, piece)?;
            while lines_left > 0
                && let Some(size) = lexer.line_size(&bytes[at..], self.ended)
            {
                at += size;
                lines_left -= 1;
            }
            if lines_left == 0
                && options.header
                && let Some(size) = lexer.record_size(&bytes[at..], self.ended)
            {
                let names = names(dialect, &bytes[at..at + size]);
                at += size;
                break Some(names);
            }
            if self.ended {
                break None;
            }
            if bytes.len() - at > options.record_bytes_max {
                return Err(self.too_long(options.record_bytes_max));
            }
        };
        if options.header && names.is_none() {
            return Err(Error::Header {
                path: self.path.clone(),
                seen: "is missing".to_owned(),
                expected: "column names".to_owned(),
            });
        }
        self.line += newlines(&bytes[..at]);
        self.offset += at as u64;
        bytes.drain(..at);
        self.rest = bytes;
        Ok(names)
    }
}

/// The fields of a header record as text.
fn names(dialect: &Dialect, record: &[u8]) -> Vec<String> {
    let mut rows = Rows::new();
    Scanner::new(dialect).scan(record, &mut rows);
    let mut scratch = Vec::new();
    let fields = rows.iter().flat_map(|row| row.fields());
    fields
        .map(|field| match rows.value(record, field, &mut scratch) {
            Value::Null => "NULL".to_owned(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        })
        .collect()
}
