//! The input of a load: files by its options, or a source that the caller has opened.

use std::path::PathBuf;

use columnar::{ColumnMatching, ColumnarOptions, Kind};
use job::error::Error;
use job::memory::{Memory, PROGRAM_BYTES, ReadAhead};
use job::options::{InputOptions, LoadOptions};
use sources::{Dialect, FileSource, MultiByte, Source, SourceExt as _, SourceOptions};

/// Part of the memory that decoding typed columns may take.
const COLUMNS_SHARE: u64 = 2;

/// Everything that can be refused without a server.
pub fn open_files(options: &LoadOptions) -> Result<(Memory, Box<dyn Source>), Error> {
    if let Some(kind) = options.input.kind()? {
        let (memory, source) = open_columns(options, kind)?;
        return Ok((memory, select(options, source)?));
    }
    let (memory, source) = open(options)?;
    if !options.allow_empty {
        source.check_rows()?;
    }
    Ok((memory, select(options, Box::new(source))?))
}

/// The rows of the table that the options are of.
fn select(options: &LoadOptions, source: Box<dyn Source>) -> Result<Box<dyn Source>, Error> {
    match &options.input.selection {
        None => Ok(source),
        Some(selection) => selection.select(source).map_err(usage),
    }
}

/// Bytes of memory for reading the files of a load that has `memory_bytes_max` in all.
///
/// Errors: as [`open_files`].
pub fn held_bytes(options: &LoadOptions, memory_bytes_max: u64) -> Result<u64, Error> {
    let InputOptions { files, encoding, .. } = &options.input;
    match options.input.kind()? {
        Some(kind) => Ok(columns(options, kind, memory_bytes_max)?.facts().held_bytes),
        None => Ok(ReadAhead::of(files, *encoding, memory_bytes_max)?.bytes()),
    }
}

/// The files that have only their header. Pipes are not among them: who reads a pipe knows.
///
/// Errors: as [`open_files`].
pub fn only_headers(options: &LoadOptions) -> Result<Vec<PathBuf>, Error> {
    if options.input.kind()?.is_some() {
        return Ok(Vec::new());
    }
    let source = open(options)?.1;
    match source.check_rows() {
        Err(_) if options.allow_empty => Ok(Vec::new()),
        files => Ok(files?),
    }
}

/// The source of files of typed columns, whose reading gets a part of the memory.
fn open_columns(options: &LoadOptions, kind: Kind) -> Result<(Memory, Box<dyn Source>), Error> {
    options.check()?;
    let mut source = columns(options, kind, options.limits.memory_bytes_max)?;
    let memory = options.memory(source.facts().held_bytes)?;
    source.begin_with(memory.chunk_bytes, memory.record_bytes_max).map_err(usage)?;
    Ok((memory, source))
}

fn columns(
    options: &LoadOptions,
    kind: Kind,
    memory_bytes_max: u64,
) -> Result<Box<dyn Source>, Error> {
    let limits = &options.limits;
    let available = memory_bytes_max.saturating_sub(PROGRAM_BYTES);
    let matching = match options.input.matching {
        ColumnMatching::ByName if options.input.ignore_unknown_columns => {
            ColumnMatching::ByNameOfTable
        }
        matching => matching,
    };
    let columnar_options = ColumnarOptions {
        matching,
        sheet: options.input.sheet_options(),
        memory_bytes: available / COLUMNS_SHARE,
        temp_dir: limits.temp_dir.clone(),
        below: options.input.below.clone(),
        kept: options.input.kept.clone(),
        stop: options.interrupt.flag(),
    };
    columnar::open(kind, &options.input.files, columnar_options).map_err(usage)
}

fn open(options: &LoadOptions) -> Result<(Memory, FileSource), Error> {
    options.check()?;
    let ahead = ReadAhead::of(
        &options.input.files,
        options.input.encoding,
        options.limits.memory_bytes_max,
    )?;
    let memory = options.memory(ahead.bytes())?;
    let source_options = SourceOptions {
        chunk_bytes: memory.chunk_bytes,
        record_bytes_max: memory.record_bytes_max,
        skip_lines: options.input.skip_lines,
        header: options.input.header,
        encoding: options.input.encoding,
        ahead_bytes: ahead.ahead_bytes,
        unpack_bytes_max: ahead.unpack_bytes,
        remote_bytes: ahead.remote_bytes,
        temp_dir: options.limits.temp_dir.clone(),
        leaves_unclosed: options.leaves_unclosed(),
        needs_rows: !options.allow_empty,
        below: options.input.below.clone(),
        kept: options.input.kept.clone(),
        stop: options.interrupt.flag(),
    };
    let charset = MultiByte::of_charset(&options.input.charset);
    let dialect = Dialect { charset, ..options.input.dialect.clone() };
    let source = FileSource::new(&options.input.files, &dialect, source_options).map_err(usage)?;
    Ok((memory, source))
}

/// The same for a source that is there: it is cut into chunks of the load's, and the options say
/// which files it is of.
pub fn adopt(
    options: &LoadOptions,
    source: &mut dyn Source,
) -> Result<(Memory, LoadOptions), Error> {
    let files = source.files().iter().map(|file| file.path.clone()).collect();
    let options = LoadOptions {
        input: InputOptions { files, dialect: Dialect::mysql(), ..options.input.clone() },
        ..options.clone()
    };
    let memory = adopt_part(&options, source)?;
    Ok((memory, options))
}

/// The same for a source of some of the rows of the files that the options name.
pub fn adopt_part(options: &LoadOptions, source: &mut dyn Source) -> Result<Memory, Error> {
    options.check()?;
    let memory = options.memory(source.facts().held_bytes)?;
    source.begin_with(memory.chunk_bytes, memory.record_bytes_max)?;
    Ok(memory)
}

fn usage(error: sources::Error) -> Error {
    Error::Usage(error.to_string())
}
