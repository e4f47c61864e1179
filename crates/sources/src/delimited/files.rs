//! Files as a source: one after the other, each `open` one cut at record ends, its `start` taken off; files
//! without `rows` are refused.

mod joined;
mod open;
mod rows;
mod start;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use simd::Isa;
use unpack::Compression;

use self::open::{OpenFile, PIECE_BYTES};
use super::dialect::Dialect;
use super::split::Splitter;
use crate::bytes::ahead::Ends;
use crate::bytes::encoding::Encoding;
use crate::bytes::input::{self, Input, KeptPipes};
use crate::bytes::stream::Stream;
use crate::bytes::text::{self, Text, TextOptions};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::json::JsonReader;
use crate::key::Key;
use crate::source::{InputFacts, InputFile, ReadAs, Reader, Source, Start};

/// Assumed memory for unpacking if it is unknown.
const UNPACK_BYTES_MIN: usize = 1 << 20;

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
    /// How text is encoded in the files.
    pub encoding: Encoding,
    /// Bytes of text that are read ahead of the workers, where a thread does it: of compressed
    /// input and pipes. Default 8 MiB. More evens out longer waits; most loads leave it alone.
    pub ahead_bytes: usize,
    /// Bytes of an object on another machine that are read ahead. Default 32 MiB.
    pub remote_bytes: usize,
    /// Most memory that unpacking one file may take, in bytes. Default 128 MiB, which is enough
    /// for all that `xz -9` makes. Only archives made with large windows need more than 10 MiB.
    pub unpack_bytes_max: usize,
    /// Folder in which a pipe's bytes are kept. Default: the system's temporary folder.
    pub temp_dir: PathBuf,
    /// True if a line with an unclosed quote is a row without known fields, and the next line the
    /// next row. Default no: it is an error.
    pub leaves_unclosed: bool,
    /// True if a file that has text and no row is an error. A file that has only its header is none.
    /// Default no.
    pub needs_rows: bool,
    /// Folder of the inputs, if they are files that it has: none may be a link out of it. Default: none.
    pub below: Option<PathBuf>,
    /// Pipes that were read before. Default: none.
    pub kept: KeptPipes,
    /// Set by somebody who wants the end: nobody waits for a pipe then.
    pub stop: Arc<AtomicBool>,
}

impl Default for SourceOptions {
    fn default() -> SourceOptions {
        SourceOptions {
            chunk_bytes: 4 << 20,
            record_bytes_max: ReadAs::RECORD_BYTES_MAX,
            skip_lines: 0,
            header: false,
            encoding: Encoding::default(),
            ahead_bytes: 8 << 20,
            remote_bytes: 32 << 20,
            unpack_bytes_max: 128 << 20,
            temp_dir: std::env::temp_dir(),
            leaves_unclosed: false,
            needs_rows: false,
            below: None,
            kept: KeptPipes::default(),
            stop: Arc::default(),
        }
    }
}

const _: () = assert!(ReadAs::RECORD_BYTES_MAX + PIECE_BYTES < Chunk::BYTES_MAX);

/// Files and pipes, one after the other. Each is opened when its turn comes.
#[derive(Debug)]
pub struct FileSource {
    facts: InputFacts,
    inputs: Vec<Input>,
    dialect: Dialect,
    options: SourceOptions,
    ends: Ends,
    isa: Isa,
    /// Start of the first file, once it was opened.
    start: Option<Start>,
    /// Index of the file being read, or to be opened next.
    index: usize,
    current: Option<OpenFile>,
    /// The file after it, begun because all of the current one is read.
    next: Option<Result<Stream>>,
    /// Records of a file that did not fit into the chunk before.
    left: Option<Chunk>,
    ordinal: u64,
    /// Bytes of the files before the current one.
    bytes_before: u64,
}

impl FileSource {
    /// A source over these files, in this order. Takes their sizes, opens none.
    ///
    /// Errors: a dialect that contradicts itself; a path that is missing or a directory; a pipe that
    /// is named twice.
    pub fn new(paths: &[PathBuf], dialect: &Dialect, options: SourceOptions) -> Result<FileSource> {
        dialect.check()?;
        if options.header && (dialect.is_fixed() || dialect.is_counted()) {
            return Err(Error::Dialect(
                "a header needs separated fields and a line terminator; other files are divided \
                 by the number and width of the table's columns, so a header cannot name them"
                    .to_owned(),
            ));
        }
        let SourceOptions { chunk_bytes, record_bytes_max, header, skip_lines, encoding, .. } =
            options;
        let fields = dialect.fields.clone();
        let read_as =
            ReadAs { fields, chunk_bytes, record_bytes_max, ..ReadAs::default() }.clamped();
        input::check_pipes(paths)?;
        let find = |path: &PathBuf| match &options.below {
            Some(folder) => Input::find_below(folder, path),
            None => options.kept.find(path, &options.temp_dir),
        };
        let inputs = paths.iter().map(find).collect::<Result<Vec<_>>>()?;
        inputs.iter().for_each(|input| input.prepare(options.remote_bytes, &options.stop));
        let has_remote = inputs.iter().any(Input::is_remote);
        let remote_bytes = if has_remote { options.remote_bytes as u64 } else { 0 };
        let file =
            |input: &Input| InputFile { path: input.path().to_owned(), bytes: input.bytes() };
        let bare = Dialect { fields: Vec::new(), ..dialect.clone() };
        let words = format!("{bare:?} header {header} skip {skip_lines} encoding {encoding:?}");
        let facts = InputFacts {
            layout: dialect.layout(),
            row_end: dialect.lines_terminated_by.clone(),
            has_header: header || dialect.json.is_some(),
            makes_lines: dialect.json.is_some(),
            // As the options have it, whether or not the files need that.
            held_bytes: (options.ahead_bytes as u64 + remote_bytes)
                .saturating_add(options.unpack_bytes_max as u64),
            ..InputFacts::new(inputs.iter().map(file).collect(), words)
        };
        let (stop, given_up) = (Arc::clone(&options.stop), Arc::clone(&facts.given_up));
        Ok(FileSource {
            facts: InputFacts { read_as: read_as.clone(), ..facts },
            inputs,
            dialect: dialect.clone(),
            ends: Ends { stop, given_up },
            options: SourceOptions {
                chunk_bytes: read_as.chunk_bytes,
                record_bytes_max: read_as.record_bytes_max,
                ..options
            },
            isa: Isa::best(),
            start: None,
            index: 0,
            current: None,
            next: None,
            left: None,
            ordinal: 0,
            bytes_before: 0,
        })
    }

    /// Memory that unpacking the costliest of these inputs takes, in bytes; None if all are plain
    /// files, of which nothing is read ahead. A pipe, which nobody can look into, is taken for one
    /// that takes little.
    ///
    /// Errors: as [`FileSource::new`]; an archive that holds no text.
    pub fn unpack_bytes(paths: &[PathBuf], encoding: Encoding) -> Result<Option<usize>> {
        input::check_pipes(paths)?;
        let options = TextOptions { encoding, unpack_bytes_max: usize::MAX };
        let mut most = None;
        for path in paths {
            let input = Input::find(path, Path::new(""))?;
            let bytes = match input.bytes() {
                None => Some(UNPACK_BYTES_MIN),
                Some(_) => Text::need(&input, options)?,
            };
            most = most.max(bytes);
        }
        Ok(most)
    }

    /// How the file at `path` is compressed; None if it is not, or is a pipe.
    ///
    /// Errors: as [`FileSource::unpack_bytes`].
    pub fn compression(path: &Path) -> Result<Option<Compression>> {
        let input = Input::find(path, Path::new(""))?;
        match input.bytes() {
            None => Ok(None),
            Some(_) => Ok(text::look(&input.open()?)?.0),
        }
    }

    /// True if the last line of a plain file is blank.
    ///
    /// Errors: opening, reading.
    pub fn ends_blank(path: &Path) -> Result<bool> {
        let input = Input::find(path, Path::new(""))?;
        let Some(bytes) = input.bytes().filter(|&bytes| bytes > 1) else { return Ok(false) };
        let mut raw = input.open()?;
        if text::look(&raw)?.0.is_some() {
            return Ok(false);
        }
        let mut end = [0; 3];
        raw.seek(bytes.saturating_sub(end.len() as u64));
        let size = raw.fill(&mut end)?;
        Ok(end[..size].ends_with(b"\n\n") || end[..size].ends_with(b"\n\r\n"))
    }

    /// The same with the given instructions: for tests and benchmarks.
    pub fn with_isa(self, isa: Isa) -> FileSource {
        FileSource { isa, ..self }
    }

    /// The form of the files, with the fields once they were set.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The column names in the header of the first file, what is not UTF-8 replaced; None without
    /// `SourceOptions::header` or without files. Reads the start of the first file if nothing was
    /// read yet.
    pub fn header(&mut self) -> Result<Option<Vec<String>>> {
        let names = self.start()?.names;
        let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        Ok(names.map(|names| names.iter().map(text).collect()))
    }

    /// Refuses files that have text and no row, before any row of them is read; a pipe is judged when all of
    /// it was read. Gives the files that have only their header.
    ///
    /// Errors: [`Error::NoRows`]. Whatever else is wrong with a file is an error when its turn comes.
    pub fn check_rows(&self) -> Result<Vec<PathBuf>> {
        let options = self.text_options();
        let mut only_headers = Vec::new();
        if !self.can_skip() {
            return Ok(only_headers);
        }
        for input in self.inputs.iter().filter(|input| input.bytes().is_some()) {
            let Ok(stream) = Stream::open_start(input, options) else { continue };
            let splitter = Splitter::new(&self.dialect, self.isa);
            let mut open = OpenFile::new(stream, input.path().to_owned(), splitter);
            match open.find_rows(&self.dialect, &self.options) {
                Ok(true) => only_headers.push(input.path().to_owned()),
                Err(error @ Error::NoRows { .. }) => return Err(error),
                Ok(false) | Err(_) => {}
            }
        }
        Ok(only_headers)
    }

    /// Opens the file whose turn it is, if there is one left.
    fn open_next(&mut self) -> Result<bool> {
        if self.current.is_some() {
            return Ok(true);
        }
        let Some(input) = self.inputs.get(self.index) else {
            return Ok(false);
        };
        let path = input.path().to_owned();
        let stream = match self.next.take() {
            Some(stream) => stream?,
            None => self.open(input)?,
        };
        let splitter = Splitter::new(&self.dialect, self.isa);
        let mut open = OpenFile::new(stream, path, splitter);
        let names = open.skip_start(&self.dialect, &self.options)?;
        match (&self.start, names) {
            (Some(Start { names: Some(first), .. }), Some(names))
                if self.dialect.json.is_none() =>
            {
                check_header(&open.path, first, &names)?;
            }
            (Some(_), _) => {}
            (None, names) => {
                let names = match names {
                    Some(names) if !names.is_empty() || self.dialect.json.is_none() => Some(names),
                    _ => self.later_names()?,
                };
                self.start = Some(Start { names, text: open.preamble.clone() });
            }
        }
        self.current = Some(open);
        self.tell();
        Ok(true)
    }

    /// The names of the fields in the first file behind the one at hand that has any.
    ///
    /// Errors: there is a pipe before it, whose fields nobody can look up in time.
    fn later_names(&self) -> Result<Option<Vec<Vec<u8>>>> {
        let has_names = self.options.header || self.dialect.json.is_some();
        let later = self.inputs.iter().skip(self.index + 1);
        for input in later.filter(|_| has_names) {
            if input.bytes().is_none() && self.options.header {
                return Err(Error::no_header(self.inputs[self.index].path(), false));
            }
            if input.bytes().is_none() {
                break;
            }
            let stream = Stream::open_start(input, self.text_options())?;
            let splitter = Splitter::new(&self.dialect, self.isa);
            let mut open = OpenFile::new(stream, input.path().to_owned(), splitter);
            let names = open.skip_start(&self.dialect, &self.options)?;
            if let Some(names) = names.filter(|names| !names.is_empty()) {
                return Ok(Some(names));
            }
        }
        Ok(None)
    }

    fn text_options(&self) -> TextOptions {
        TextOptions {
            encoding: self.options.encoding,
            unpack_bytes_max: self.options.unpack_bytes_max,
        }
    }

    fn open(&self, input: &Input) -> Result<Stream> {
        let options = self.text_options();
        // Two files are read ahead where one ends.
        Stream::open(input, options, self.options.ahead_bytes / 2, &self.ends)
    }

    /// Begins to read the next file when the thread that reads this one has no more to do.
    fn open_ahead(&mut self) {
        let is_read = self.current.as_ref().is_some_and(|open| open.stream.is_read());
        if is_read
            && self.next.is_none()
            && let Some(input) = self.inputs.get(self.index + 1)
        {
            self.next = Some(self.open(input));
        }
    }

    /// The fields of JSON's records: those that are wanted, else those of the first records.
    fn keys(&self) -> Arc<[Key]> {
        let ReadAs { keys: wanted, lines, .. } = &self.facts.read_as;
        if let Some(lines) = lines {
            return lines.keys();
        }
        let names = self.start.as_ref().and_then(|start| start.names.as_ref());
        match names {
            Some(names) if wanted.is_empty() => names.iter().cloned().map(Key::named).collect(),
            _ => Arc::clone(wanted),
        }
    }

    /// True if what is skipped at the start of a file can be told: records may be told by their fields only.
    fn can_skip(&self) -> bool {
        let needs_fields = self.options.skip_lines > 0 && self.dialect.skips_records();
        !needs_fields || !self.dialect.fields.is_empty()
    }

    /// Says how far it is.
    fn tell(&self) {
        let of_current = self.current.as_ref().map_or(0, OpenFile::bytes_read);
        self.facts.bytes_read.store(self.bytes_before + of_current, Ordering::Relaxed);
    }

    /// Fills the chunk from the file whose turn it is; false at the end of the last one.
    fn fill_from_file(&mut self, chunk: &mut Chunk) -> Result<bool> {
        while self.open_next()? {
            let Some(open) = &mut self.current else {
                break;
            };
            chunk.file = self.index as u32;
            let filled = match open.fill(chunk, &self.dialect, &self.options) {
                Ok(false) if self.options.needs_rows => {
                    open.check_rows(&self.dialect, &self.options).map(|_| false)
                }
                filled => filled,
            };
            if let Ok(true) = filled {
                open.note_rows(&chunk.bytes, &self.dialect);
                self.open_ahead();
                return Ok(true);
            }
            self.bytes_before += open.bytes_read();
            self.current = None;
            self.index += 1;
            if filled.is_err() {
                self.next = None;
                self.index = self.inputs.len();
                return filled;
            }
        }
        chunk.bytes.clear();
        Ok(false)
    }
}

/// The names in a header must be those of the first file.
fn check_header(path: &Path, first: &[Vec<u8>], names: &[Vec<u8>]) -> Result<()> {
    if first == names {
        return Ok(());
    }
    Err(Error::Header {
        path: path.to_owned(),
        seen: format!("names ({})", list(names)),
        expected: format!(
            "({}) as in the first file; load files with other columns, or another order, \
             separately",
            list(first)
        ),
    })
}

impl Source for FileSource {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// A file of which nothing but its start was read stays open, if its start would be read likewise.
    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        let read_as = read_as.clamped();
        let of_start = |read_as: &ReadAs| (read_as.chunk_bytes, read_as.record_bytes_max);
        let is_same_start = of_start(&read_as) == of_start(&self.facts.read_as);
        if self.dialect.skips_records() && self.dialect.fields != read_as.fields {
            (self.start, self.current) = (None, None);
        }
        self.dialect.fields.clone_from(&read_as.fields);
        self.dialect.check()?;
        self.options.chunk_bytes = read_as.chunk_bytes;
        self.options.record_bytes_max = read_as.record_bytes_max;
        let was_given_up = self.facts.given_up.load(Ordering::Relaxed);
        self.facts.begin(read_as);
        let at_start = self.ordinal == 0 && self.index == 0 && is_same_start && !was_given_up;
        match self.current.as_mut().filter(|_| at_start) {
            Some(open) => open.splitter = Splitter::new(&self.dialect, self.isa),
            None => {
                (self.current, self.next, self.left) = (None, None, None);
                (self.index, self.ordinal, self.bytes_before) = (0, 0, 0);
            }
        }
        self.tell();
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        let filled = self.fill(chunk);
        self.tell();
        if let Ok(true) = filled {
            chunk.ordinal = self.ordinal;
            self.ordinal += 1;
        }
        filled
    }

    fn reader(&self) -> Box<dyn Reader> {
        let read_as = &self.facts.read_as;
        if let Some(json) = self.dialect.json {
            return Box::new(JsonReader::new(json, self.keys(), read_as));
        }
        let formats = Arc::clone(&read_as.formats);
        self.dialect.reader_of(self.isa, Some(formats).filter(|formats| !formats.is_empty()))
    }

    fn start(&mut self) -> Result<Start> {
        let is_any = self.facts.has_header || self.options.skip_lines > 0;
        if is_any && self.start.is_none() && self.can_skip() {
            self.open_next()?;
        }
        Ok(self.start.clone().unwrap_or_default())
    }

    /// A pipe's bytes are read once, and kept for both.
    fn again(&self) -> Option<Box<dyn Source>> {
        let facts = self.facts.of_another();
        Some(Box::new(FileSource {
            ends: Ends { stop: Arc::clone(&self.ends.stop), given_up: Arc::clone(&facts.given_up) },
            facts,
            inputs: self.inputs.clone(),
            dialect: self.dialect.clone(),
            options: self.options.clone(),
            isa: self.isa,
            start: self.start.clone(),
            index: 0,
            current: None,
            next: None,
            left: None,
            ordinal: 0,
            bytes_before: 0,
        }))
    }
}

/// Names for a message.
fn list(names: &[Vec<u8>]) -> String {
    let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
    names.join(", ")
}
