//! The files of an export: each is written under another name, and all take theirs at the end.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::iter;
use std::path::PathBuf;

use columnar::{FileWriter, RowGroup, TableFormat};
use face::option::{FORCE, OUTPUT, SPLIT_ROWS, SPLIT_SIZE};
use schema::stem_of_table;

use crate::error::Error;
use crate::leftover::PartEnding;
use crate::options::{Compression, ExportOptions, Place};
use crate::packer::Packer;
use crate::part_file::Part;
use crate::target::{FinishedFile, Target};
use crate::text::Chunk;

/// Files that are being written.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    options: &'a ExportOptions,
    prelude: &'a [u8],
    /// The format of files with typed columns, and what puts the current one together.
    format: Option<&'a TableFormat>,
    writer: Option<FileWriter>,
    names: Names,
    target: Target,
    part_ending: PartEnding,
    part: Option<Part>,
    /// Compressor of the text, and memory for it.
    packer: Packer,
    packed: Vec<u8>,
    /// Files that are whole and wait for their names.
    whole: Vec<FinishedFile>,
    pub(crate) bytes: u64,
    pub(crate) file_bytes: u64,
}

/// Names of the files.
#[derive(Debug)]
enum Names {
    One(OsString),
    /// `table.csv`, or `table.0001.csv`.
    Many {
        stem: String,
        ending: String,
        numbered: bool,
    },
}

impl Names {
    fn in_folder(options: &ExportOptions, ending: &str) -> Names {
        let numbered = options.split.rows.is_some() || options.split.bytes.is_some();
        Names::Many {
            stem: stem_of_table(&options.table.table),
            ending: ending.to_owned(),
            numbered,
        }
    }

    fn of(&self, number: usize) -> OsString {
        match self {
            Names::One(name) => name.clone(),
            Names::Many { stem, ending, numbered: false } => format!("{stem}.{ending}").into(),
            Names::Many { stem, ending, numbered: true } => part(stem, number, ending),
        }
    }

    /// True if exports of the table give this name.
    fn has(&self, name: &OsStr) -> bool {
        match self {
            Names::One(one) => one == name,
            Names::Many { stem, ending, .. } => {
                let middle = name.to_str().and_then(|name| name.strip_prefix(stem.as_str()));
                let middle = middle.and_then(|rest| rest.strip_suffix(ending.as_str()));
                middle.is_some_and(|middle| {
                    let number = middle.trim_matches('.').parse();
                    middle == "." || number.is_ok_and(|number| part(stem, number, ending) == name)
                })
            }
        }
    }

    /// Names, among those of a folder, that exports of the table gave: the name of a single file, and those of parts
    /// from `first` up to the first missing number. `orders.2023.csv` alone is a file of somebody else.
    fn given(&self, folder: &BTreeSet<OsString>, first: usize) -> Vec<OsString> {
        let Names::Many { stem, ending, .. } = self else { return Vec::new() };
        let exists = |name: &OsString| folder.contains(name);
        let single = iter::once(format!("{stem}.{ending}").into()).filter(exists);
        let parts = (first..).map(|number| part(stem, number, ending)).take_while(exists);
        single.chain(parts).collect()
    }
}

impl ExportOptions {
    /// Files that the export would write over: the file of its place, or those in its folder that an export
    /// of the table wrote.
    pub fn written_over(&self) -> Vec<PathBuf> {
        let Place::Folder { path, ending } = &self.place else {
            return match &self.place {
                Place::File(path) if self.store.is_none() => vec![path.clone()],
                _ => Vec::new(),
            };
        };
        let names = Names::in_folder(self, ending);
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let folder = entries.map(|entry| entry.file_name()).collect();
        names.given(&folder, 1).iter().map(|name| path.join(name)).collect()
    }
}

impl<'a> Output<'a> {
    /// Looks at the place. Makes the folder, if it is missing, and nothing else.
    ///
    /// Errors: a place that cannot be written to, or where such files are already.
    pub(crate) fn open(options: &'a ExportOptions, prelude: &'a [u8]) -> Result<Output<'a>, Error> {
        let numbered = options.split.rows.is_some() || options.split.bytes.is_some();
        if numbered && !matches!(options.place, Place::Folder { .. }) {
            return Err(Error::Usage(format!(
                "{SPLIT_ROWS} and {SPLIT_SIZE} need a folder for their files: {}",
                OUTPUT.with("DIR/")
            )));
        }
        let names = match &options.place {
            Place::Stdout => Names::One(OsString::new()),
            Place::File(path) => {
                let name = path.file_name().ok_or_else(|| {
                    Error::Usage(format!("-o {} does not name a file", path.display()))
                })?;
                Names::One(name.to_owned())
            }
            Place::Folder { ending, .. } => Names::in_folder(options, ending),
        };
        let target = Target::open(options)?;
        let output = Output {
            options,
            prelude,
            format: None,
            writer: None,
            names,
            target,
            part_ending: PartEnding::new(),
            part: None,
            packer: Packer::new(options.text_compression()).map_err(Error::packing)?,
            packed: Vec::new(),
            whole: Vec::new(),
            bytes: 0,
            file_bytes: 0,
        };
        output.ensure_free()?;
        output.target.remove_left(|name| output.names.has(name));
        Ok(output)
    }

    /// The same, for files with typed columns.
    pub(crate) fn of_format(mut self, format: Option<&'a TableFormat>) -> Output<'a> {
        self.format = format;
        self
    }

    fn ensure_free(&self) -> Result<(), Error> {
        if let (Place::File(path), Target::Folder(_)) = (&self.options.place, &self.target)
            && std::fs::metadata(path).is_ok_and(|there| !there.is_file())
        {
            // A device, say, whose place a file would take.
            return Err(Error::Usage(format!(
                "{} is not a regular file, so it cannot be overwritten; {} writes to standard \
                 output",
                path.display(),
                OUTPUT.with("-")
            )));
        }
        if self.options.force {
            return Ok(());
        }
        let found = match &self.names {
            Names::One(name) => {
                let is_there = self.target.has(name);
                let is_there = is_there.map_err(Error::io("looking at", &self.shown(name)))?;
                is_there.then(|| name.clone())
            }
            Names::Many { .. } => {
                let names = self.target.names();
                let names = names.map_err(Error::io("listing", &self.shown(OsStr::new(""))))?;
                self.names.given(&names.into_iter().collect(), 1).into_iter().next()
            }
        };
        match found {
            Some(name) => Err(Error::Usage(format!(
                "{} exists already; {FORCE} overwrites it",
                self.shown(&name).display()
            ))),
            None => Ok(()),
        }
    }

    /// Writes a row group.
    pub(crate) fn write_group(&mut self, group: &mut RowGroup) -> Result<(), Error> {
        let (rows, bytes) = (group.rows, group.value_bytes as usize);
        if self.part.is_some() && self.is_over(group.value_bytes, rows) {
            self.end_part()?;
        }
        let mut part = match self.part.take() {
            Some(part) => part,
            None => self.begin_part()?,
        };
        let written = match &mut self.writer {
            Some(writer) => part.write_by(bytes, rows, |to| writer.group(group, to)),
            None => Err(io::Error::other("a row group outside of a file")),
        };
        self.part = Some(part);
        written.map_err(|source| self.failed(source))
    }

    /// Writes a chunk, which was compressed already, unless it has to be cut.
    pub(crate) fn write(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let is_packed = self.options.text_compression() != Compression::None;
        let packed = is_packed.then_some(chunk.packed.as_slice());
        if chunk.cuts.is_empty() {
            return self.put(&chunk.bytes, chunk.rows, packed);
        }
        let (mut start, mut end, mut rows) = (0, 0, 0);
        for cut in &chunk.cuts {
            let bytes = (cut.end - start) as u64;
            if self.is_over(bytes, rows + cut.rows) {
                if end > start {
                    self.put(&chunk.bytes[start..end], rows, None)?;
                }
                self.end_part()?;
                (start, rows) = (end, 0);
            }
            (end, rows) = (cut.end, rows + cut.rows);
        }
        let is_whole = start == 0 && end == chunk.bytes.len();
        self.put(&chunk.bytes[start..end], rows, packed.filter(|_| is_whole))
    }

    /// True if the current file would become too long by so many bytes and rows.
    fn is_over(&self, bytes: u64, rows: u64) -> bool {
        let split = self.options.split;
        let (has_bytes, has_rows) =
            self.part.as_ref().map_or((0, 0), |part| (part.bytes, part.rows));
        let is_over =
            |has: u64, more: u64, most: Option<u64>| most.is_some_and(|most| has + more > most);
        let is_over = is_over(has_bytes, bytes, split.bytes) || is_over(has_rows, rows, split.rows);
        // One row is in each file, however long it is.
        is_over && (has_rows > 0 || rows > 1)
    }

    /// Writes some rows, compressed before or here.
    fn put(&mut self, bytes: &[u8], rows: u64, packed: Option<&[u8]>) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut part = match self.part.take() {
            Some(part) => part,
            None => self.begin_part()?,
        };
        let written = match packed {
            Some(packed) => part.write(packed, bytes.len(), rows),
            None => self.pack_into(&mut part, bytes, rows),
        };
        self.part = Some(part);
        written.map_err(|source| self.failed(source))
    }

    fn pack_into(&mut self, part: &mut Part, bytes: &[u8], rows: u64) -> io::Result<()> {
        let packed = self.packer.pack(bytes, &mut self.packed)?;
        part.write(packed, bytes.len(), rows)
    }

    fn begin_part(&mut self) -> Result<Part, Error> {
        let name = self.names.of(self.whole.len() + 1);
        let sink = self.target.begin(&name, &self.made(), self.options.force);
        let sink = sink.map_err(|source| self.failed(source))?;
        let mut part = Part::begin(sink);
        if let Some(format) = self.format {
            return self.begin_typed(part, format);
        }
        if !self.prelude.is_empty()
            && let Err(source) = self.pack_into(&mut part, self.prelude, 0)
        {
            // So that what is there of it is removed.
            self.part = Some(part);
            return Err(self.failed(source));
        }
        Ok(part)
    }

    fn begin_typed(&mut self, mut part: Part, format: &TableFormat) -> Result<Part, Error> {
        let begun = format.file().map_err(io::Error::other).and_then(|mut writer| {
            part.write_by(0, 0, |to| writer.begin(to))?;
            Ok(writer)
        });
        match begun {
            Ok(writer) => {
                self.writer = Some(writer);
                Ok(part)
            }
            Err(source) => {
                // So that what is there of it is removed.
                self.part = Some(part);
                Err(self.failed(source))
            }
        }
    }

    /// Its name until all are whole.
    fn made(&self) -> OsString {
        self.part_ending.made(&self.names.of(self.whole.len() + 1))
    }

    fn path(&self) -> PathBuf {
        self.shown(&self.names.of(self.whole.len() + 1))
    }

    /// A file, as it was asked for.
    fn shown(&self, name: &OsStr) -> PathBuf {
        match &self.options.place {
            Place::Stdout => PathBuf::from("standard output"),
            Place::File(path) => path.clone(),
            Place::Folder { path, .. } => path.join(name),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io { doing: "writing", path: self.path(), source }
    }

    fn end_part(&mut self) -> Result<(), Error> {
        let Some(mut part) = self.part.take() else { return Ok(()) };
        let (bytes, made) = (part.bytes, self.made());
        let name = self.names.of(self.whole.len() + 1);
        // From here on it is removed by its name where anything fails.
        let path = self.path();
        self.whole.push(FinishedFile { made, name, object: None });
        if let Some(writer) = self.writer.take() {
            let finished = part.write_by(0, 0, |to| writer.finish(to));
            finished.map_err(Error::io("writing", &path))?;
        } else if part.is_empty() {
            // A compressed file without a byte is none.
            self.pack_into(&mut part, b"", 0).map_err(Error::io("writing", &path))?;
        }
        let (file_bytes, object) = part.finish().map_err(Error::io("writing", &path))?;
        if let Some(whole) = self.whole.last_mut() {
            whole.object = object;
        }
        self.bytes += bytes;
        self.file_bytes += file_bytes;
        Ok(())
    }

    /// Ends the last file, and gives all their names.
    ///
    /// Errors: none has its name then, but those that were written over before.
    pub(crate) fn finish(mut self) -> Result<Finished, Error> {
        if self.part.is_none() && self.whole.is_empty() {
            // No rows are a file too.
            self.part = Some(self.begin_part()?);
        }
        self.end_part()?;
        let files = match self.target {
            Target::Stdout => Vec::new(),
            Target::Folder(_) | Target::Store(_) => self.publish()?,
        };
        let finished = Finished { files, bytes: self.bytes, file_bytes: self.file_bytes };
        self.whole.clear();
        Ok(finished)
    }

    fn publish(&mut self) -> Result<Vec<PathBuf>, Error> {
        let force = self.options.force;
        let mut placed: Vec<OsString> = Vec::new();
        let mut whole = std::mem::take(&mut self.whole);
        let outcome: Result<(), Error> = whole.iter_mut().try_for_each(|file| {
            self.target
                .place(file, force)
                .map_err(Error::io("placing", &self.shown(&file.name)))?;
            placed.push(file.name.clone());
            Ok(())
        });
        self.whole = whole;
        if outcome.is_err() && !force {
            placed.iter().for_each(|name| drop(self.target.remove(name)));
        }
        outcome.map_err(|error| match placed.len() {
            placed if force && placed > 0 => {
                Error::Partly { placed, files: self.whole.len(), error: Box::new(error) }
            }
            _ => error,
        })?;
        self.remove_older()?;
        let folder = self.shown(OsStr::new(""));
        self.target.sync().map_err(Error::io("syncing", &folder))?;
        Ok(placed.iter().map(|name| self.shown(name)).collect())
    }

    /// Removes files of an export before that had more of them: all that are left belong together.
    fn remove_older(&self) -> Result<(), Error> {
        let Names::Many { numbered, .. } = self.names else { return Ok(()) };
        if !self.options.force {
            return Ok(());
        }
        let folder = self.shown(OsStr::new(""));
        let names = self.target.names().map_err(Error::io("listing", &folder))?;
        let first = if numbered { self.whole.len() + 1 } else { 1 };
        for name in self.names.given(&names.into_iter().collect(), first) {
            if self.whole.iter().all(|whole| whole.name != name) {
                self.target.remove(&name).map_err(Error::io("removing", &folder))?;
            }
        }
        Ok(())
    }
}

impl Drop for Output<'_> {
    /// Leaves no file that has not got its name.
    fn drop(&mut self) {
        if self.part.take().is_some() {
            self.target.remove_made(&self.made());
        }
        for whole in &self.whole {
            self.target.remove_made(&whole.made);
        }
    }
}

/// The finished output.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: u64,
    pub(crate) file_bytes: u64,
}

/// The name of a part.
fn part(stem: &str, number: usize, ending: &str) -> OsString {
    format!("{stem}.{number:04}.{ending}").into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
