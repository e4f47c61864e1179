//! Compressed inputs: what is wrong with one, by its name and place.

use unpack::{Compression, Decompressor, Packed, Problem};

use crate::bytes::input::Raw;
use crate::error::{Error, Result};

impl Packed for Raw {
    type Error = Error;

    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        Raw::read(self, out)
    }
}

/// A compressed input being taken apart.
pub(crate) struct Archive(Decompressor<Raw>);

impl Archive {
    /// Begins at the first byte of `raw`, which is of this kind.
    ///
    /// Errors: this program was built without it.
    pub(crate) fn new(
        raw: Raw,
        compression: Compression,
        memory_bytes_max: usize,
    ) -> Result<Archive> {
        match Decompressor::new(raw, compression, memory_bytes_max) {
            Ok(decompressor) => Ok(Archive(decompressor)),
            Err((raw, problem)) => Err(explain(&raw, compression, 0, problem)),
        }
    }

    /// The next bytes of text; 0 at the end of the input.
    ///
    /// Errors: reading; a damaged input ([`Error::Archive`]).
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let read = self.0.read(out);
        read.map_err(|problem| {
            explain(self.0.packed(), self.0.compression(), self.0.consumed(), problem)
        })
    }

    /// Compressed bytes used so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.0.consumed()
    }
}

/// The error for a problem at a byte. A file that was changed meanwhile is the better explanation.
fn explain(raw: &Raw, compression: Compression, offset: u64, problem: Problem<Error>) -> Error {
    if let Problem::Read(error) = problem {
        return error;
    }
    if let Err(error) = raw.check_unchanged() {
        return error;
    }
    let problem = match problem {
        Problem::CutShort => "cut short; get the complete file".to_owned(),
        Problem::Corrupt(what) => format!("damaged ({what}); get the file again"),
        Problem::Unsupported(what) => what,
        Problem::Read(_) => String::new(),
    };
    Error::Archive { path: raw.path().to_owned(), compression: compression.name(), offset, problem }
}
