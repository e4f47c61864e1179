//! Bytes of an input at any place: of a file, which must stay as it was found, or of a pipe, which is kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use locks::RwLock;

use super::input::{self, Input, KeptPipes, Raw};
use super::remote;
use crate::error::Result;

/// An input that was found, to be read at any place. Clones are the same input.
#[derive(Clone, Debug)]
pub struct FoundInput(Input);

impl FoundInput {
    /// Finds the inputs at these paths, and opens none: pipes that were read before, files below a folder that
    /// none may be a link out of, or whatever is there.
    ///
    /// Errors: a path that is missing or a directory; a pipe that is named twice.
    pub fn find(
        paths: &[PathBuf],
        below: Option<&Path>,
        kept: &KeptPipes,
        temp_dir: &Path,
    ) -> Result<Vec<FoundInput>> {
        input::check_pipes(paths)?;
        let find = |path: &PathBuf| match below {
            Some(folder) => Input::find_below(folder, path),
            None => kept.find(path, temp_dir),
        };
        paths.iter().map(|path| find(path).map(FoundInput)).collect()
    }

    /// Its name, for messages.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Its size; None for a pipe.
    pub fn bytes(&self) -> Option<u64> {
        self.0.bytes()
    }

    /// Sets the most memory for bytes of an object on another machine that are read ahead, and the flag that asks
    /// for the end.
    pub fn prepare(&self, ahead_bytes: usize, stop: &Arc<AtomicBool>) {
        self.0.prepare(ahead_bytes, stop);
    }

    /// Keeps it for who reads the same paths next, if it is a pipe.
    pub fn keep(&self, kept: &mut KeptPipes) {
        kept.keep(&self.0);
    }

    /// Opens it.
    ///
    /// Errors: opening; the file is another one than was found.
    pub fn open(&self) -> Result<InputBytes> {
        Ok(InputBytes { found: self.clone(), raw: RwLock::new(Some(Arc::new(self.0.open()?))) })
    }
}

/// The bytes of an open input.
#[derive(Debug)]
pub struct InputBytes {
    found: FoundInput,
    /// None of one that was closed.
    raw: RwLock<Option<Arc<Raw>>>,
}

impl InputBytes {
    /// How many there are in a file; None of a pipe.
    pub fn known_size(&self) -> Option<u64> {
        self.found.bytes()
    }

    /// True if small pieces are read at little cost: of a file of this machine, and of the copy of a pipe.
    pub fn is_local(&self) -> bool {
        !remote::has_ranges(self.found.path())
    }

    /// Closes it; the next reading opens it again. A pipe stays open.
    pub fn close(&self) {
        if self.known_size().is_some() {
            *self.raw.write() = None;
        }
    }

    fn raw(&self) -> Result<Arc<Raw>> {
        if let Some(raw) = &*self.raw.read() {
            return Ok(Arc::clone(raw));
        }
        let mut raw = self.raw.write();
        let opened = match &*raw {
            Some(opened) => Arc::clone(opened),
            None => Arc::new(self.found.0.open()?),
        };
        Ok(Arc::clone(raw.insert(opened)))
    }

    /// How many there are. Reads a pipe to its end.
    ///
    /// Errors: reading a pipe.
    pub fn size(&self) -> Result<u64> {
        match self.known_size() {
            Some(bytes) => Ok(bytes),
            None => self.raw()?.read_past(u64::MAX),
        }
    }

    /// The bytes from `position` on, as many as fit; fewer only at the end. Waits for a pipe.
    ///
    /// Errors: reading.
    pub fn read_at(&self, position: u64, out: &mut [u8]) -> Result<usize> {
        let raw = self.raw()?;
        if self.known_size().is_none() {
            raw.read_past(position)?;
        }
        raw.fill_from(position, out)
    }

    /// Refuses a file that is not as it was found.
    pub fn check_unchanged(&self) -> Result<()> {
        self.raw()?.check_unchanged()
    }
}
