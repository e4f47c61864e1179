//! Sorted runs as input: chunks of rows, in key order.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use job::failpoint;
use sort::{KeyRange, Runs};
use sources::{Chunk, InputFacts, ReadAs, Reader, RecordPlace, Source, SourceExt as _, Start};

use super::row_origin::{Origin, RowHead, RowPlace};

/// Bytes that the place of a row takes in a chunk.
const PLACE_BYTES: usize = size_of::<RecordPlace>();
/// Chunks that may wait for a connection.
const CHUNKS_AHEAD: usize = 1;

/// All rows of the input, sorted.
#[derive(Debug)]
pub(super) struct SortedRows {
    pub(super) runs: Runs,
    /// How many they are.
    pub(super) count: u64,
    /// One a chunk of the input.
    pub(super) origins: Vec<Origin>,
    pub(super) chunk_bytes: usize,
    pub(super) spilled_bytes: u64,
}

/// The rows in key order. A thread of its own merges them, a chunk ahead of the connections.
pub(crate) struct SortedSource {
    rows: Arc<SortedRows>,
    /// The input as it was, which knows how its rows are read.
    input: Box<dyn Source>,
    merging: Option<Merging>,
    /// Their sizes are those of the input as it was, which may have been compressed: by these progress is
    /// told.
    facts: InputFacts,
    /// Bytes of all rows, and of those that were handed out.
    bytes: u64,
    handed_out: u64,
}

/// The thread that merges; ends with this.
#[derive(Debug)]
struct Merging {
    filled: Option<Receiver<Result<Chunk, String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Merging {
    fn drop(&mut self) {
        drop(self.filled.take());
        // That it panicked was told by the channel, which ended early.
        self.thread.take().map(JoinHandle::join);
    }
}

impl SortedSource {
    /// `input` was read to its end; its rows had so many `bytes`.
    pub(super) fn new(rows: Arc<SortedRows>, input: Box<dyn Source>, bytes: u64) -> SortedSource {
        let facts = InputFacts {
            words: format!("sorted {}", input.facts().words),
            bytes_total: Some(input.bytes_read()),
            held_bytes: 0,
            ..input.facts().of_another()
        };
        SortedSource { rows, merging: None, facts, bytes, handed_out: 0, input }
    }

    /// Rows that were sorted.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows.count
    }

    /// Bytes that sorted runs took on disk.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.rows.spilled_bytes
    }

    /// The next chunk, from the thread, which begins with the first; none at the end, or if the
    /// thread has gone.
    fn receive(&mut self) -> sources::Result<Option<Result<Chunk, String>>> {
        let merging = match self.merging.take() {
            Some(merging) => merging,
            None => {
                let (sender, filled) = sync_channel(CHUNKS_AHEAD);
                let rows = Arc::clone(&self.rows);
                let work = move || {
                    failpoint::hit("thread.merge");
                    if let Err(error) = rows.merge(&sender) {
                        // Whoever has gone needs no reason.
                        let _ = sender.send(Err(error));
                    }
                };
                let thread = std::thread::Builder::new().name("merge".to_owned()).spawn(work);
                let thread = thread.map_err(|error| {
                    sources::Error::Sorted(format!("starting a thread: {error}"))
                })?;
                Merging { filled: Some(filled), thread: Some(thread) }
            }
        };
        let merging = self.merging.insert(merging);
        Ok(merging.filled.as_ref().and_then(|filled| filled.recv().ok()))
    }

    /// So many more bytes of rows are handed out.
    fn hand_out(&mut self, bytes: u64) {
        self.handed_out += bytes;
        let of_input = self.facts.bytes_total.unwrap_or_default();
        let part = u128::from(of_input) * u128::from(self.handed_out);
        let read = (part / u128::from(self.bytes.max(1))) as u64;
        self.facts.bytes_read.store(read, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn rows(&self) -> &Arc<SortedRows> {
        &self.rows
    }
}

impl Source for SortedSource {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// Chunks are as they were sorted for.
    fn begin(&mut self, read_as: ReadAs) -> sources::Result<()> {
        self.merging = None;
        self.handed_out = 0;
        self.input.begin(read_as.clone())?;
        self.facts.begin(read_as);
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> sources::Result<bool> {
        *chunk = Chunk::default();
        if self.facts.given_up.load(Ordering::Relaxed) {
            let path = self.files().first().map_or_else(PathBuf::new, |file| file.path.clone());
            return Err(sources::Error::Stopped { path });
        }
        match self.receive()? {
            Some(Ok(next)) => {
                self.hand_out(next.bytes.len() as u64);
                *chunk = next;
                Ok(true)
            }
            Some(Err(reason)) => Err(sources::Error::Sorted(reason)),
            None if self.handed_out == self.bytes => Ok(false),
            None => Err(sources::Error::Sorted("the merging thread has ended".to_owned())),
        }
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.input.reader()
    }

    fn start(&mut self) -> sources::Result<Start> {
        self.input.start()
    }
}

impl SortedRows {
    /// Merges all rows into chunks, until the end or until nobody takes them.
    fn merge(&self, sender: &SyncSender<Result<Chunk, String>>) -> Result<(), String> {
        let all = KeyRange::all();
        let mut merge = self.runs.merge(&all).map_err(|error| error.to_string())?;
        let mut chunk = Chunk::default();
        let mut is_cut = false;
        while let Some((key, payload)) = merge.next().map_err(|error| error.to_string())? {
            let (place, head, row) = RowPlace::of_key(key)
                .zip(RowHead::split(payload))
                .map(|(place, (head, row))| (place, head, row))
                .ok_or("an entry is cut short")?;
            let origin = self.origin(place)?;
            if is_cut || self.is_full(&chunk, row.len()) {
                let ordinal = chunk.ordinal + 1;
                if sender.send(Ok(std::mem::take(&mut chunk))).is_err() {
                    return Ok(());
                }
                chunk.ordinal = ordinal;
            }
            is_cut = self.is_last_of_file(place);
            let record = RecordPlace {
                at: chunk.bytes.len(),
                file: origin.file,
                offset: origin.offset + u64::from(head.file_bytes),
                line: origin.first_line + u64::from(head.lines),
            };
            if chunk.places.is_empty() {
                (chunk.file, chunk.offset, chunk.first_line) =
                    (record.file, record.offset, record.line);
                chunk.bytes.reserve(self.chunk_bytes.min(Chunk::BYTES_MAX));
            }
            chunk.places.push(record);
            chunk.bytes.extend_from_slice(row);
        }
        if !chunk.places.is_empty() {
            let _ = sender.send(Ok(chunk));
        }
        Ok(())
    }

    /// True if a row goes into the next chunk. Only sizes decide.
    fn is_full(&self, chunk: &Chunk, row_bytes: usize) -> bool {
        let taken = chunk.bytes.len() + PLACE_BYTES * chunk.places.len();
        !chunk.places.is_empty() && taken + row_bytes > self.chunk_bytes
    }

    fn origin(&self, place: RowPlace) -> Result<&Origin, String> {
        let origin = self.origins.get(place.chunk as usize);
        origin.ok_or_else(|| "an entry belongs to an unknown chunk".to_owned())
    }

    /// True if a row is the last one of its file: it may lack its terminator, so none may follow it
    /// in a chunk.
    fn is_last_of_file(&self, place: RowPlace) -> bool {
        let at = place.chunk as usize;
        let is_last = |origin: &Origin| {
            let is_last_chunk =
                self.origins.get(at + 1).is_none_or(|next| next.file != origin.file);
            is_last_chunk && origin.last_start == place.start
        };
        self.origins.get(at).is_some_and(is_last)
    }
}
