//! Rows of delimited text, for whoever wants them.

use std::sync::Arc;

use simd::Isa;

use super::dialect::Dialect;
use super::scan::Scanner;
use crate::batch::{Batch, Formats, TextIndex};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::source::Reader;

struct DelimitedReader {
    scanner: Scanner,
    formats: Option<Arc<Formats>>,
}

impl Reader for DelimitedReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        match chunk.is_unclosed {
            true => self.scanner.leave_unclosed(&chunk.bytes, batch.text()),
            false => self.scanner.scan(&chunk.bytes, batch.text()),
        }
        batch.set_formats(self.formats.as_ref());
        Ok(())
    }
}

impl Dialect {
    /// Reads chunks of this dialect, with the fastest instructions this processor has.
    ///
    /// The dialect has passed [`Dialect::check`].
    pub fn reader(&self) -> Box<dyn Reader> {
        self.reader_with(Isa::best())
    }

    /// The same with the given instructions: for tests and benchmarks.
    pub fn reader_with(&self, isa: Isa) -> Box<dyn Reader> {
        self.reader_of(isa, None)
    }

    /// The same of fields that are written in these formats.
    pub(super) fn reader_of(&self, isa: Isa, formats: Option<Arc<Formats>>) -> Box<dyn Reader> {
        Box::new(DelimitedReader { scanner: Scanner::new(self, isa), formats })
    }

    /// The rows of a text that is at hand: whole records, the last of which may lack its terminator.
    pub fn index(&self, text: &[u8]) -> TextIndex {
        let mut index = TextIndex::default();
        Scanner::new(self, Isa::best()).scan(text, &mut index);
        index
    }
}
