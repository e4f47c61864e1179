//! Where bytes come from: a file, which must stay as it was found, or a pipe, which is kept.
//!
//! An input can be read from its first byte as often as wanted, by one reader after another. A
//! file is opened each time and must still be the one that was looked at first: a load that read
//! half of the old bytes and half of the new ones would be neither. A pipe gives its bytes once,
//! so they go to a [`Spool`] as they come.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Seek};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use disk::Folder;

use super::remote::{self, Opened, Remote};
use super::spool::Spool;
use super::stdin::{self, is_stdin};
use crate::error::{Error, Result};

/// Bytes of a pipe that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// One input, found but not opened. Clones are the same input.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    File(Identity),
    Pipe(Arc<Spool>),
    /// An object on another machine, of this size.
    Remote(Arc<dyn Remote>, u64),
}

/// The identity of a file, which shows that it is still the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Time of the last change, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl Input {
    /// The input at `path`. Opens nothing; a pipe is opened when it is first read.
    ///
    /// Errors: nothing is there, it is a directory, or it may not be looked at.
    pub(crate) fn find(path: &Path, temp_dir: &Path) -> Result<Input> {
        if let Some(object) = remote::of(path) {
            let kind = match object.bytes() {
                Some(bytes) => Kind::Remote(object, bytes),
                None => Kind::Pipe(Spool::of_remote(path, temp_dir, object)),
            };
            return Ok(Input { path: path.to_owned(), kind });
        }
        let opening = |source| Error::Io { action: "opening", path: path.to_owned(), source };
        let metadata = if is_stdin(path) {
            stdin::open().and_then(|file| file.metadata()).map_err(opening)?
        } else {
            fs::metadata(path).map_err(opening)?
        };
        if metadata.is_dir() {
            return Err(Error::Directory { path: path.to_owned() });
        }
        let kind = if metadata.is_file() {
            Kind::File(Identity::of(&metadata))
        } else {
            Kind::Pipe(Arc::new(Spool::new(path, temp_dir, is_stdin(path))))
        };
        Ok(Input { path: path.to_owned(), kind })
    }

    /// As [`Input::find`], of a plain file below a folder that may be somebody else's: no link leads out of it,
    /// and what is read later is the file that was found.
    pub(crate) fn find_below(folder: &Path, path: &Path) -> Result<Input> {
        let opening = |source| Error::Io { action: "opening", path: path.to_owned(), source };
        let name = path.strip_prefix(folder).unwrap_or(path);
        let folder = Folder::open_for_names(folder).map_err(opening)?;
        let metadata = folder.read_below(name, "input").and_then(|file| file.metadata());
        let kind = Kind::File(Identity::of(&metadata.map_err(opening)?));
        Ok(Input { path: path.to_owned(), kind })
    }

    /// Its name, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its size; None for a pipe.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.kind {
            Kind::File(identity) => Some(identity.bytes),
            Kind::Remote(_, bytes) => Some(*bytes),
            Kind::Pipe(_) => None,
        }
    }

    /// True of an object that is read by ranges.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Remote(..))
    }

    /// Sets the memory for bytes of an object that are read ahead, and the flag that asks for the end, also of a pipe.
    pub(crate) fn prepare(&self, ahead_bytes: usize, stop: &Arc<AtomicBool>) {
        if let Some(object) = remote::of(&self.path) {
            object.limit(ahead_bytes);
            object.watch(stop);
        }
        if let Kind::Pipe(spool) = &self.kind {
            spool.watch(stop);
        }
    }

    /// Reads it from its first byte.
    ///
    /// Errors: opening; the file is another one than was found.
    pub(crate) fn open(&self) -> Result<Raw> {
        let found = match &self.kind {
            Kind::Pipe(spool) => {
                return Ok(Raw { bytes: Bytes::Pipe(Arc::clone(spool)), position: 0 });
            }
            Kind::Remote(object, _) => {
                let bytes = Bytes::Remote(Opened::new(&self.path, Arc::clone(object)));
                return Ok(Raw { bytes, position: 0 });
            }
            Kind::File(found) => *found,
        };
        let opening = |source| self.failed("opening", source);
        let (file, start) = if is_stdin(&self.path) {
            let mut file = stdin::open().map_err(opening)?;
            // Others may have read a part of it, as the shell's `read` does.
            let start = file.stream_position().map_err(opening)?;
            (file, start)
        } else {
            (disk::open_to_read(&self.path).map_err(opening)?, 0)
        };
        let raw =
            Raw { bytes: Bytes::File { input: self.clone(), found, file, start }, position: 0 };
        raw.check_unchanged()?;
        Ok(raw)
    }

    fn failed(&self, action: &'static str, source: std::io::Error) -> Error {
        Error::Io { action, path: self.path.clone(), source }
    }
}

/// Pipes that were read and whose bytes are kept, for who reads the same paths next.
#[derive(Clone, Debug, Default)]
pub struct KeptPipes(Vec<Input>);

impl KeptPipes {
    /// The input at `path`: a pipe that was read before, or [`Input::find`].
    pub(crate) fn find(&self, path: &Path, temp_dir: &Path) -> Result<Input> {
        match self.0.iter().find(|kept| kept.path == path) {
            Some(kept) => Ok(kept.clone()),
            None => Input::find(path, temp_dir),
        }
    }

    /// Keeps an input, if it is a pipe.
    pub(crate) fn keep(&mut self, input: &Input) {
        if input.bytes().is_none() {
            self.0.push(input.clone());
        }
    }
}

/// The first input that is a pipe and is named before already: its bytes come only once.
///
/// Errors: [`Error::Twice`].
pub(crate) fn check_pipes(paths: &[PathBuf]) -> Result<()> {
    let mut seen = Vec::new();
    for path in paths {
        let metadata = if is_stdin(path) {
            stdin::open().and_then(|file| file.metadata())
        } else {
            fs::metadata(path)
        };
        let Ok(metadata) = metadata else { continue };
        let kind = metadata.file_type();
        if !(kind.is_fifo() || kind.is_socket() || is_stdin(path)) {
            continue;
        }
        let identity = (metadata.dev(), metadata.ino());
        if seen.contains(&identity) {
            return Err(Error::Twice { path: path.clone() });
        }
        seen.push(identity);
    }
    Ok(())
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// The change of a file since it was found; None if it is unchanged.
    fn difference(&self, now: &Identity) -> Option<String> {
        let (before, after) = (self.bytes, now.bytes);
        if (self.device, self.inode) != (now.device, now.inode) {
            Some("was replaced by another file during the load".to_owned())
        } else if after < before {
            Some(format!("shrank from {before} to {after} bytes while it was read"))
        } else if after > before {
            Some(format!("grew from {before} to {after} bytes while it was read"))
        } else if self.changed != now.changed {
            Some("was written to while it was read".to_owned())
        } else {
            None
        }
    }
}

/// An input being read.
#[derive(Debug)]
pub(crate) struct Raw {
    bytes: Bytes,
    position: u64,
}

#[derive(Debug)]
enum Bytes {
    File {
        input: Input,
        found: Identity,
        file: File,
        /// Where the input begins in the file: only in the standard input not always at 0.
        start: u64,
    },
    Pipe(Arc<Spool>),
    Remote(Opened),
}

impl Raw {
    /// The next bytes; 0 at the end of the input.
    ///
    /// Errors: reading; at the end, a file that is not as it was found.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let read = self.read_at(self.position, out)?;
        self.position += read as u64;
        if read == 0 && !out.is_empty() {
            self.check_unchanged()?;
        }
        Ok(read)
    }

    /// Its name, for messages.
    pub(crate) fn path(&self) -> &Path {
        match &self.bytes {
            Bytes::File { input, .. } => &input.path,
            Bytes::Pipe(spool) => spool.path(),
            Bytes::Remote(opened) => opened.name(),
        }
    }

    /// Its first bytes, as many as fit, wherever reading is.
    pub(crate) fn head(&self, out: &mut [u8]) -> Result<usize> {
        self.fill_from(0, out)
    }

    /// The next bytes, as many as fit.
    pub(crate) fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let size = self.fill_from(self.position, out)?;
        self.position += size as u64;
        Ok(size)
    }

    /// Has a pipe read up to `position`, or to its end if that comes first; gives how far that is.
    pub(super) fn read_past(&self, position: u64) -> Result<u64> {
        let Bytes::Pipe(spool) = &self.bytes else { return Ok(position) };
        let mut piece = Vec::new();
        loop {
            let end = spool.kept_bytes();
            if end >= position {
                return Ok(end);
            }
            piece.resize(PIECE_BYTES, 0);
            if spool.read_at(end, &mut piece)? == 0 {
                return Ok(end);
            }
        }
    }

    pub(super) fn fill_from(&self, position: u64, out: &mut [u8]) -> Result<usize> {
        let mut size = 0;
        while size < out.len() {
            match self.read_at(position + size as u64, &mut out[size..])? {
                0 => break,
                read => size += read,
            }
        }
        Ok(size)
    }

    /// Goes to a byte of the input.
    pub(crate) fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Refuses a file that is not as it was found.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let Bytes::File { input, found, file, .. } = &self.bytes else { return Ok(()) };
        let now = file.metadata().map_err(|source| input.failed("reading", source))?;
        match found.difference(&Identity::of(&now)) {
            None => Ok(()),
            Some(what) => Err(Error::Changed { path: input.path.clone(), what }),
        }
    }

    fn read_at(&self, position: u64, out: &mut [u8]) -> Result<usize> {
        match &self.bytes {
            Bytes::Pipe(spool) => spool.read_at(position, out),
            Bytes::Remote(opened) => opened.read_at(position, out),
            Bytes::File { input, file, start, .. } => loop {
                match file.read_at(out, start + position) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    result => return result.map_err(|source| input.failed("reading", source)),
                }
            },
        }
    }
}
