//! Threads that make text of parts of a table, and one that writes it in their order.
//!
//! ```text
//! worker 0   part 0, part 3, ..  --chunks-->  |
//! worker 1   part 1, part 4, ..  --chunks-->  |  part 0, 1, 2, 3, .. --> files
//! worker 2   part 2, part 5, ..  --chunks-->  |
//! ```
//!
//! Each worker has its parts in turn and a queue of its own, which holds a few chunks: whoever is ahead
//! waits, also whoever has made a chunk of a long row until it is written. It compresses its chunks itself.
//! The one who writes takes a part's chunks from its worker's queue until that says that it was the last.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use job::pool::internal;
use locks::Mutex;

use crate::error::Error;
use crate::options::{Compression, ExportOptions};
use crate::packer::Packer;
use crate::text::Chunk;

/// Chunks that a worker may be ahead.
const AHEAD: usize = 4;
/// Row groups that a worker may be ahead: they are much larger.
const GROUPS_AHEAD: usize = 1;

/// In which order chunks are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turns {
    /// All of a part, then all of the next.
    #[default]
    Parts,
    /// Each worker has one part, and a chunk of each is written by turns.
    Chunks,
}

/// What goes through, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) parts: usize,
    pub(crate) turns: Turns,
    /// Chunks that a worker may be ahead.
    pub(crate) ahead: usize,
    /// How text is compressed.
    pub(crate) compression: Compression,
    /// Bytes from which on a worker hands a chunk on.
    pub(crate) chunk_bytes: usize,
}

impl Flow {
    pub(crate) fn new(parts: usize, turns: Turns, options: &ExportOptions) -> Flow {
        let (compression, chunk_bytes) = (options.text_compression(), options.piece_bytes());
        let ahead = if options.format.is_typed() { GROUPS_AHEAD } else { AHEAD };
        Flow { parts, turns, ahead, compression, chunk_bytes }
    }
}

/// A worker's result.
struct Message {
    chunk: Chunk,
    /// True if it is the last of its part.
    ends: bool,
}

/// Where a worker's chunks go to.
pub(crate) struct Sink {
    sender: SyncSender<Message>,
    packer: Packer,
    /// Chunks that were written.
    spare: Receiver<Chunk>,
    /// Chunks that are under way, and how many bytes one has that is long.
    under_way: usize,
    long_bytes: u64,
}

impl Sink {
    /// Hands a chunk on, and gives one for its memory.
    ///
    /// Errors: [`Error::Abandoned`] where nobody takes it any more.
    pub(crate) fn send(&mut self, chunk: Chunk) -> Result<Chunk, Error> {
        self.put(chunk, false)
    }

    fn put(&mut self, mut chunk: Chunk, ends: bool) -> Result<Chunk, Error> {
        if !chunk.bytes.is_empty() {
            self.packer.pack(&chunk.bytes, &mut chunk.packed).map_err(Error::packing)?;
        }
        let is_long = chunk.memory_bytes() > self.long_bytes;
        self.sender.send(Message { chunk, ends }).map_err(|_| Error::Abandoned)?;
        self.under_way += 1;
        if is_long {
            return self.await_all();
        }
        let spare = self.spare.try_recv();
        self.under_way -= usize::from(spare.is_ok());
        Ok(spare.unwrap_or_default())
    }

    /// Waits until all chunks are written, and lets their memory go.
    fn await_all(&mut self) -> Result<Chunk, Error> {
        while self.under_way > 0 {
            self.spare.recv().map_err(|_| Error::Abandoned)?;
            self.under_way -= 1;
        }
        Ok(Chunk::default())
    }
}

/// A converter of parts to text.
pub(crate) trait Worker: Send {
    /// Makes all text of a part; the last chunk is given back, the others go to the sink.
    fn part(&mut self, part: usize, sink: &mut Sink) -> Result<Chunk, Error>;

    /// Takes back a chunk that was written, for its memory.
    fn reuse(&mut self, spare: Chunk);
}

/// Has `workers` make text of so many parts, compressed, and gives it to `write` in that order. Whatever fails
/// ends all; `end` is then called, which may wake those who wait for others than us.
pub(crate) fn run<W: Worker>(
    workers: Vec<W>,
    Flow { parts, turns, ahead, compression, chunk_bytes }: Flow,
    mut write: impl FnMut(&mut Chunk) -> Result<(), Error>,
    end: impl Fn(),
) -> Result<(), Error> {
    let count = workers.len();
    let first = First::default();
    let packers = workers.iter().map(|_| Packer::new(compression).map_err(Error::packing));
    let packers = packers.collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let mut queues = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for (number, (worker, packer)) in workers.into_iter().zip(packers).enumerate() {
            let (sender, queue) = sync_channel(ahead);
            let (back, spare) = channel();
            queues.push((queue, back));
            let long_bytes = 2 * chunk_bytes as u64;
            let sink = Sink { sender, packer, spare, under_way: 0, long_bytes };
            let (mut sink, first) = (sink, &first);
            threads.push(scope.spawn(move || {
                disk::failpoint::hit("thread.export");
                // Kept before the sink goes: its end makes the others fail.
                first.keep(make(worker, (number..parts).step_by(count), &mut sink))
            }));
        }
        let written = match turns {
            Turns::Parts => in_order(&queues, parts, &mut write),
            Turns::Chunks => by_turns(&queues, &mut write),
        };
        if first.keep(written).is_none() {
            end();
        }
        drop(queues);
        for thread in threads {
            if let Err(panic) = thread.join() {
                return Err(Error::Internal(internal(&*panic).to_string()));
            }
        }
        Ok(())
    })?;
    first.outcome()
}

/// The error that was there first: others come of it.
#[derive(Default)]
struct First(Mutex<Option<Error>>);

impl First {
    fn keep(&self, outcome: Result<(), Error>) -> Option<()> {
        let error = match outcome {
            Ok(()) => return Some(()),
            Err(error) => error,
        };
        let mut first = self.0.lock();
        match &*first {
            None | Some(Error::Abandoned) => *first = Some(error),
            Some(_) => {}
        }
        None
    }

    fn outcome(self) -> Result<(), Error> {
        let first = self.0.into_inner();
        first.map_or(Ok(()), Err)
    }
}

fn make<W: Worker>(
    mut worker: W,
    parts: impl Iterator<Item = usize>,
    sink: &mut Sink,
) -> Result<(), Error> {
    for part in parts {
        let chunk = worker.part(part, sink)?;
        let spare = sink.put(chunk, true)?;
        worker.reuse(spare);
    }
    Ok(())
}

/// Where a worker's chunks come from, and go back to.
type Queue = (Receiver<Message>, Sender<Chunk>);

/// One chunk of each worker in turn, as long as it has any.
fn by_turns(
    queues: &[Queue],
    write: &mut impl FnMut(&mut Chunk) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut open: Vec<&Queue> = queues.iter().collect();
    while !open.is_empty() {
        let mut still = Vec::with_capacity(open.len());
        for queue in open {
            let Ok(message) = queue.0.recv() else { return Err(Error::Abandoned) };
            let Message { mut chunk, ends } = message;
            write(&mut chunk)?;
            let _ = queue.1.send(chunk);
            if !ends {
                still.push(queue);
            }
        }
        open = still;
    }
    Ok(())
}

fn in_order(
    queues: &[Queue],
    parts: usize,
    write: &mut impl FnMut(&mut Chunk) -> Result<(), Error>,
) -> Result<(), Error> {
    for part in 0..parts {
        let (queue, back) = &queues[part % queues.len()];
        loop {
            let Ok(message) = queue.recv() else { return Err(Error::Abandoned) };
            let Message { mut chunk, ends } = message;
            write(&mut chunk)?;
            // A worker that is through has no use for it.
            let _ = back.send(chunk);
            if ends {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Writes its part's number, in chunks of a byte; fails at one.
    struct Numbers(Option<usize>);

    impl Worker for Numbers {
        fn part(&mut self, part: usize, sink: &mut Sink) -> Result<Chunk, Error> {
            if self.0 == Some(part) {
                return Err(Error::Usage("as asked".to_owned()));
            }
            let chunk = |byte: u8| Chunk { bytes: vec![byte], rows: 1, ..Chunk::default() };
            for byte in format!("{part}").bytes() {
                sink.send(chunk(byte))?;
            }
            Ok(chunk(b' '))
        }

        fn reuse(&mut self, _: Chunk) {}
    }

    fn flow(parts: usize, turns: Turns) -> Flow {
        Flow { parts, turns, ahead: AHEAD, compression: Compression::None, chunk_bytes: 0 }
    }

    fn outcome(workers: usize, parts: usize, fails: Option<usize>) -> Result<String, Error> {
        let mut text = Vec::new();
        let workers = (0..workers).map(|_| Numbers(fails)).collect();
        let write = |chunk: &mut Chunk| {
            text.extend_from_slice(&chunk.bytes);
            Ok(())
        };
        run(workers, flow(parts, Turns::Parts), write, || {})?;
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn parts_come_in_their_order_whoever_makes_them() {
        let expected: String = (0..200).map(|part| format!("{part} ")).collect();
        for workers in [1, 2, 3, 7] {
            assert_eq!(outcome(workers, 200, None).unwrap(), expected);
        }
        assert_eq!(outcome(3, 0, None).unwrap(), "");
    }

    #[test]
    fn chunks_come_by_turns_as_long_as_there_are_any() {
        for (workers, expected) in [(1, "0 "), (3, "012   "), (12, "012345678911          01  ")] {
            let mut text = Vec::new();
            let write = |chunk: &mut Chunk| {
                text.extend_from_slice(&chunk.bytes);
                Ok(())
            };
            let how = flow(workers, Turns::Chunks);
            run((0..workers).map(|_| Numbers(None)).collect(), how, write, || {}).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
        let how = flow(5, Turns::Chunks);
        let workers = (0..5).map(|_| Numbers(Some(3))).collect();
        assert_eq!(run(workers, how, |_| Ok(()), || {}).unwrap_err().to_string(), "as asked");
    }

    #[test]
    fn what_fails_ends_all_and_is_told() {
        for workers in [1, 2, 5] {
            let error = outcome(workers, 200, Some(100)).unwrap_err();
            assert_eq!(error.to_string(), "as asked");
            let workers = (0..workers).map(|_| Numbers(None)).collect();
            let how = flow(200, Turns::Parts);
            let full = |_: &mut Chunk| Err(Error::Usage("full".to_owned()));
            assert_eq!(run(workers, how, full, || {}).unwrap_err().to_string(), "full");
        }
    }

    /// Fails at its first part; or goes on until it is ended, which fails as well.
    struct Ended<'a>(bool, &'a AtomicBool);

    impl Worker for Ended<'_> {
        fn part(&mut self, _: usize, _: &mut Sink) -> Result<Chunk, Error> {
            if self.0 {
                return Err(Error::Usage("the failure".to_owned()));
            }
            while !self.1.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            Err(Error::Usage("what came of it".to_owned()))
        }

        fn reuse(&mut self, _: Chunk) {}
    }

    #[test]
    fn the_failure_is_told_and_not_what_came_of_it() {
        for _ in 0..500 {
            let ended = AtomicBool::new(false);
            let workers = [true, false].map(|fails| Ended(fails, &ended)).into();
            let how = flow(2, Turns::Parts);
            let end = || ended.store(true, Ordering::SeqCst);
            let error = run(workers, how, |_| Ok(()), end).unwrap_err();
            assert_eq!(error.to_string(), "the failure");
        }
    }
}
