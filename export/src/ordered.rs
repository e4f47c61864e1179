//! Threads that make text of parts of a table, and one that writes it in their order.
//!
//! ```text
//! worker 0   part 0, part 3, ..  --chunks-->  |
//! worker 1   part 1, part 4, ..  --chunks-->  |  part 0, 1, 2, 3, .. --> files
//! worker 2   part 2, part 5, ..  --chunks-->  |
//! ```
//!
//! Each worker has its parts in turn and a queue of its own, which holds a few chunks: whoever is ahead
//! waits. The one who writes takes a part's chunks from its worker's queue until that says that it was the
//! last.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use job::pool::internal;

use crate::error::Error;
use crate::text::Chunk;

/// Chunks that a worker may be ahead.
const AHEAD: usize = 4;

/// What a worker hands on.
struct Message {
    chunk: Chunk,
    /// Whether it is the last of its part.
    ends: bool,
}

/// Where a worker's chunks go to.
pub(crate) struct Sink {
    sender: SyncSender<Message>,
    /// Chunks that were written.
    spare: Receiver<Chunk>,
}

impl Sink {
    /// Hands a chunk on, and gives one for its memory.
    ///
    /// Errors: [`Error::Abandoned`] where nobody takes it any more.
    pub(crate) fn send(&mut self, chunk: Chunk) -> Result<Chunk, Error> {
        self.put(chunk, false)
    }

    fn put(&mut self, chunk: Chunk, ends: bool) -> Result<Chunk, Error> {
        self.sender.send(Message { chunk, ends }).map_err(|_| Error::Abandoned)?;
        Ok(self.spare.try_recv().unwrap_or_default())
    }
}

/// What makes text of parts.
pub(crate) trait Worker: Send {
    /// Makes all text of a part; the last chunk is given back, the others go to the sink.
    fn part(&mut self, part: usize, sink: &mut Sink) -> Result<Chunk, Error>;

    /// Takes back a chunk that was written, for its memory.
    fn reuse(&mut self, spare: Chunk);
}

/// Has `workers` make text of so many parts, and gives it to `write` in their order. Whatever fails ends
/// all; `end` is then called, which may wake those who wait for others than us.
pub(crate) fn run<W: Worker>(
    workers: Vec<W>,
    parts: usize,
    mut write: impl FnMut(&Chunk) -> Result<(), Error>,
    end: impl Fn(),
) -> Result<(), Error> {
    let count = workers.len();
    let first = First::default();
    std::thread::scope(|scope| {
        let mut queues = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for (number, worker) in workers.into_iter().enumerate() {
            let (sender, queue) = sync_channel(AHEAD);
            let (back, spare) = channel();
            queues.push((queue, back));
            let (sink, first) = (Sink { sender, spare }, &first);
            threads.push(scope.spawn(move || {
                disk::failpoint::hit("thread.export");
                first.keep(make(worker, (number..parts).step_by(count), sink))
            }));
        }
        if first.keep(in_order(&queues, parts, &mut write)).is_none() {
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
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            None | Some(Error::Abandoned) => *first = Some(error),
            Some(_) => {}
        }
        None
    }

    fn outcome(self) -> Result<(), Error> {
        let first = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        first.map_or(Ok(()), Err)
    }
}

fn make<W: Worker>(
    mut worker: W,
    parts: impl Iterator<Item = usize>,
    mut sink: Sink,
) -> Result<(), Error> {
    for part in parts {
        let chunk = worker.part(part, &mut sink)?;
        let spare = sink.put(chunk, true)?;
        worker.reuse(spare);
    }
    Ok(())
}

fn in_order(
    queues: &[(Receiver<Message>, Sender<Chunk>)],
    parts: usize,
    write: &mut impl FnMut(&Chunk) -> Result<(), Error>,
) -> Result<(), Error> {
    for part in 0..parts {
        let (queue, back) = &queues[part % queues.len()];
        loop {
            let Ok(Message { chunk, ends }) = queue.recv() else { return Err(Error::Abandoned) };
            write(&chunk)?;
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
    use super::*;

    /// Writes its part's number, in chunks of a byte; fails at one.
    struct Numbers(Option<usize>);

    impl Worker for Numbers {
        fn part(&mut self, part: usize, sink: &mut Sink) -> Result<Chunk, Error> {
            if self.0 == Some(part) {
                return Err(Error::Usage("as asked".to_owned()));
            }
            let chunk = |byte: u8| Chunk { bytes: vec![byte], rows: 1, cuts: Vec::new() };
            for byte in format!("{part}").bytes() {
                sink.send(chunk(byte))?;
            }
            Ok(chunk(b' '))
        }

        fn reuse(&mut self, _: Chunk) {}
    }

    fn outcome(workers: usize, parts: usize, fails: Option<usize>) -> Result<String, Error> {
        let mut text = Vec::new();
        let workers = (0..workers).map(|_| Numbers(fails)).collect();
        let write = |chunk: &Chunk| {
            text.extend_from_slice(&chunk.bytes);
            Ok(())
        };
        run(workers, parts, write, || {})?;
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
    fn what_fails_ends_all_and_is_told() {
        for workers in [1, 2, 5] {
            let error = outcome(workers, 200, Some(100)).unwrap_err();
            assert_eq!(error.to_string(), "as asked");
            let workers = (0..workers).map(|_| Numbers(None)).collect();
            let full = |_: &Chunk| Err(Error::Usage("full".to_owned()));
            assert_eq!(run(workers, 200, full, || {}).unwrap_err().to_string(), "full");
        }
    }
}
