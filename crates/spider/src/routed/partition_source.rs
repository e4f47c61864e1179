//! The rows of one partition as a source: from the reading of all, or from one of its own.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use job::failpoint;
use sources::{Chunk, Error, InputFacts, ReadAs, Reader, Result, Source, SourceExt as _, Start};

use super::RowsOfPartition;
use super::piece::{Cut, Cutter, Piece};
use super::placer::Placer;
use super::queue::{Next, Queue};

pub(super) struct PartitionSource {
    /// The input, by itself: it says how rows are read, and is read where they are wanted once more.
    input: Box<dyn Source>,
    rows: RowsOfPartition,
    paths: Arc<Vec<PathBuf>>,
    facts: InputFacts,
    from: From,
    cut: Cut,
    ordinal: u64,
}

/// Where pieces come from.
enum From {
    Shared(Shared),
    Own(Box<Own>),
}

/// From the reading of all partitions.
struct Shared {
    queue: Arc<Queue>,
    /// Those that were taken, for who begins again; all of them, unless there were too many.
    kept: Vec<Piece>,
    kept_bytes: usize,
    is_all: bool,
    /// Which of them is the next to be handed out again.
    again: usize,
}

/// From the input.
struct Own {
    /// None before the first chunk.
    placer: Option<Placer>,
    chunk: Chunk,
    cutter: Cutter,
    ready: VecDeque<Piece>,
    has_ended: bool,
}

impl PartitionSource {
    /// Reads the input by itself.
    pub(super) fn alone(input: Box<dyn Source>, rows: RowsOfPartition) -> PartitionSource {
        let own = Own::new(rows.shares.piece_bytes);
        PartitionSource::new(input, rows, From::Own(Box::new(own)))
    }

    /// Takes what comes out of a queue, and reads `input` by itself only where that was not enough.
    pub(super) fn of_queue(
        input: Box<dyn Source>,
        rows: RowsOfPartition,
        queue: &Arc<Queue>,
    ) -> PartitionSource {
        let queue = Arc::clone(queue);
        let shared = Shared { queue, kept: Vec::new(), kept_bytes: 0, is_all: true, again: 0 };
        PartitionSource::new(input, rows, From::Shared(shared))
    }

    fn new(input: Box<dyn Source>, rows: RowsOfPartition, from: From) -> PartitionSource {
        let paths = input.files().iter().map(|file| file.path.clone()).collect();
        let RowsOfPartition { router, partition, shares } = &rows;
        let of_input = input.facts();
        let facts = InputFacts {
            words: format!("{} {:?} {partition}", of_input.words, router.router),
            held_bytes: shares.held_bytes,
            read_as: ReadAs { chunk_bytes: shares.piece_bytes, ..of_input.read_as.clone() },
            bytes_read: Arc::default(),
            ..of_input.clone()
        };
        PartitionSource {
            input,
            rows,
            paths: Arc::new(paths),
            facts,
            from,
            cut: Cut::default(),
            ordinal: 0,
        }
    }

    fn stopped(&self) -> Error {
        Error::Stopped { path: self.paths.first().cloned().unwrap_or_default() }
    }

    /// The next piece; None at the end.
    fn next_piece(&mut self) -> Result<Option<Piece>> {
        let next = match &mut self.from {
            From::Shared(shared) => shared.next(&self.facts.given_up, self.rows.shares.kept_bytes),
            From::Own(own) => {
                let (rows, paths) = (&self.rows, &self.paths);
                return own.next(&mut *self.input, rows, paths, &self.facts.given_up);
            }
        };
        match next {
            Next::Piece(piece) => Ok(Some(piece)),
            Next::End => Ok(None),
            Next::Stopped => Err(self.stopped()),
        }
    }
}

impl Shared {
    fn next(&mut self, given_up: &AtomicBool, kept_bytes_max: usize) -> Next {
        if let Some(piece) = self.kept.get(self.again) {
            self.again += 1;
            return Next::Piece(piece.clone());
        }
        let next = self.queue.next(given_up);
        if let Next::Piece(piece) = &next {
            self.kept_bytes += piece.bytes();
            self.is_all &= self.kept_bytes <= kept_bytes_max;
            if self.is_all {
                self.kept.push(piece.clone());
                self.again += 1;
            } else {
                self.kept = Vec::new();
            }
        }
        next
    }
}

impl Own {
    fn new(piece_bytes: usize) -> Own {
        Own {
            placer: None,
            chunk: Chunk::default(),
            cutter: Cutter::new(piece_bytes),
            ready: VecDeque::new(),
            has_ended: false,
        }
    }

    fn next(
        &mut self,
        input: &mut dyn Source,
        rows: &RowsOfPartition,
        paths: &Arc<Vec<PathBuf>>,
        given_up: &AtomicBool,
    ) -> Result<Option<Piece>> {
        while self.ready.is_empty() && !self.has_ended {
            if given_up.load(Ordering::Relaxed) {
                let path = paths.first().cloned().unwrap_or_default();
                return Err(Error::Stopped { path });
            }
            let mut add = |chunk, bytes_read| self.ready.push_back(Piece { chunk, bytes_read });
            if !input.next_chunk(&mut self.chunk)? {
                self.has_ended = true;
                self.cutter.finish().into_iter().for_each(|chunk| add(chunk, input.bytes_read()));
                break;
            }
            let placer = self.placer.get_or_insert_with(|| Placer::new(&rows.router, input, paths));
            for row in placer.place(&self.chunk)? {
                if row.partition as usize == rows.partition
                    && let Some(chunk) = self.cutter.push(&self.chunk, row, Chunk::default)
                {
                    add(chunk, input.bytes_read());
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}

impl Source for PartitionSource {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// Pieces that the shared reading gave are handed out again while all of them are kept; otherwise this
    /// source reads the input by itself. Larger chunks do not make larger pieces, and the shared reading
    /// limits the length of records.
    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        let of_input = ReadAs {
            fields: read_as.fields.clone(),
            formats: Arc::clone(&read_as.formats),
            ..self.input.facts().read_as.clone()
        };
        self.input.begin(of_input)?;
        self.facts.begin(read_as);
        self.cut = Cut::default();
        self.ordinal = 0;
        match &mut self.from {
            From::Shared(shared) if shared.is_all => shared.again = 0,
            From::Shared(shared) => {
                failpoint::hit("shards.again");
                shared.queue.leave(true);
                self.from = From::Own(Box::new(Own::new(self.rows.shares.piece_bytes)));
            }
            From::Own(own) => **own = Own::new(self.rows.shares.piece_bytes),
        }
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        loop {
            let chunk_bytes = self.facts.read_as.chunk_bytes.max(1);
            if let Some(bytes_read) = self.cut.next(chunk_bytes, chunk) {
                chunk.ordinal = self.ordinal;
                self.ordinal += 1;
                self.facts.bytes_read.store(bytes_read, Ordering::Relaxed);
                return Ok(true);
            }
            let spare = std::mem::take(&mut self.cut).into_spare();
            if let From::Shared(shared) = &self.from {
                shared.queue.give_back(spare);
            }
            match self.next_piece()? {
                Some(piece) => self.cut = Cut::new(piece, self.bytes_read()),
                None => {
                    chunk.clear();
                    return Ok(false);
                }
            }
        }
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.input.reader()
    }

    fn start(&mut self) -> Result<Start> {
        self.input.start()
    }
}

impl Drop for PartitionSource {
    fn drop(&mut self) {
        if let From::Shared(shared) = &self.from {
            shared.queue.leave(false);
        }
    }
}
