//! Rows of one partition on their way: their bytes, one after the other, and where each is from.

use sources::{Chunk, RecordPlace};

use super::placer::PlacedRow;

/// Bytes that the place of a row takes.
const PLACE_BYTES: usize = size_of::<RecordPlace>();
/// Bytes of a file between the first row of a piece and its last: places in it are told by 32 bits.
const SPAN_BYTES_MAX: u64 = 1 << 30;

/// Some rows, in input order, all of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) chunk: Chunk,
    /// Bytes of the input that were read when it was cut.
    pub(super) bytes_read: u64,
}

impl Piece {
    /// How many they are.
    pub(super) fn rows(&self) -> u64 {
        self.chunk.places.len() as u64
    }

    /// Memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        taken(&self.chunk)
    }
}

fn taken(chunk: &Chunk) -> usize {
    chunk.bytes.len() + PLACE_BYTES * chunk.places.len()
}

/// Collects rows of one partition. Where a piece ends, only the rows decide.
#[derive(Debug)]
pub(super) struct Cutter {
    piece_bytes: usize,
    chunk: Chunk,
}

impl Cutter {
    /// A cutter of pieces of about this size.
    pub(super) fn new(piece_bytes: usize) -> Cutter {
        Cutter { piece_bytes, chunk: Chunk::default() }
    }

    /// Adds a row of a chunk; gives the rows before it, if they are a piece. `spare` gives what another
    /// piece had allocated.
    #[inline]
    pub(super) fn push(
        &mut self,
        from: &Chunk,
        row: &PlacedRow,
        spare: impl FnOnce() -> Chunk,
    ) -> Option<Chunk> {
        let bytes = &from.bytes[row.start as usize..row.end as usize];
        let full = match self.is_full(from, row, bytes.len()) {
            true => Some(std::mem::replace(&mut self.chunk, spare())),
            false => None,
        };
        if full.is_some() || self.chunk.places.is_empty() {
            self.begin(from, row);
        }
        let chunk = &mut self.chunk;
        let (at, file) = (chunk.bytes.len(), from.file);
        chunk.places.push(RecordPlace { at, file, offset: row.offset, line: row.line });
        chunk.bytes.extend_from_slice(bytes);
        full
    }

    /// The rows that are left, if there are any.
    pub(super) fn finish(&mut self) -> Option<Chunk> {
        let chunk = std::mem::take(&mut self.chunk);
        (!chunk.places.is_empty()).then_some(chunk)
    }

    /// True if a row goes into the next piece: for its size, or because it is from another file.
    /// The last row of a file may lack its end, so none may follow it.
    #[inline]
    fn is_full(&self, from: &Chunk, row: &PlacedRow, row_bytes: usize) -> bool {
        let chunk = &self.chunk;
        let is_full = taken(chunk) + PLACE_BYTES + row_bytes > self.piece_bytes
            || from.file != chunk.file
            || from.unit != chunk.unit
            || from.is_unclosed
            || chunk.is_unclosed
            || row.offset.saturating_sub(chunk.offset) > SPAN_BYTES_MAX;
        is_full && !chunk.places.is_empty()
    }

    #[cold]
    fn begin(&mut self, from: &Chunk, row: &PlacedRow) {
        let chunk = &mut self.chunk;
        chunk.clear();
        chunk.file = from.file;
        chunk.unit = from.unit;
        chunk.is_unclosed = from.is_unclosed;
        (chunk.offset, chunk.first_line) = (row.offset, row.line);
    }
}

/// A piece that is handed out as chunks of the size that is asked for.
#[derive(Debug, Default)]
pub(super) struct Cut {
    piece: Piece,
    /// Rows that were handed out.
    at: usize,
    /// Bytes of the input that were read before the piece.
    begin: u64,
}

impl Cut {
    /// A cut of a piece that begins after so many bytes of the input.
    pub(super) fn new(piece: Piece, begin: u64) -> Cut {
        Cut { piece, at: 0, begin }
    }

    /// Overwrites `chunk` with the next rows, and returns the number of bytes of the input that
    /// were read for them; None at its end. Buffers of `chunk` and of the piece are exchanged if it
    /// gets all of the piece.
    pub(super) fn next(&mut self, chunk_bytes: usize, chunk: &mut Chunk) -> Option<u64> {
        let all = &self.piece.chunk;
        if self.at == all.places.len() {
            return None;
        }
        if self.at == 0 && taken(all) <= chunk_bytes {
            self.at = all.places.len();
            std::mem::swap(chunk, &mut self.piece.chunk);
            self.piece.chunk.clear();
            self.at = 0;
            return Some(self.piece.bytes_read);
        }
        let first = all.places[self.at];
        let end_of = |row: usize| all.places.get(row).map_or(all.bytes.len(), |place| place.at);
        let mut end = self.at + 1;
        while end < all.places.len()
            && end_of(end + 1) - first.at + PLACE_BYTES * (end + 1 - self.at) <= chunk_bytes
        {
            end += 1;
        }
        let last_byte = end_of(end);
        chunk.clear();
        chunk.file = all.file;
        chunk.unit = all.unit;
        chunk.is_unclosed = all.is_unclosed;
        (chunk.offset, chunk.first_line) = (first.offset, first.line);
        chunk.bytes.extend_from_slice(&all.bytes[first.at..last_byte]);
        let places = all.places[self.at..end].iter();
        chunk.places.extend(places.map(|place| RecordPlace { at: place.at - first.at, ..*place }));
        self.at = end;
        let part = u128::from(self.piece.bytes_read.saturating_sub(self.begin));
        let part = part * last_byte as u128 / all.bytes.len().max(1) as u128;
        Some(self.begin + part as u64)
    }

    /// The piece's buffers, after it was handed out.
    pub(super) fn into_spare(self) -> Chunk {
        self.piece.chunk
    }
}
