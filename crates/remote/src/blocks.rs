//! Ranges of an object, in memory: those that were asked for, and the next ones of who reads in a row.
//!
//! Threads read the blocks, several at a time, so that a fast line is full; who wants bytes waits for their block
//! alone. The longer somebody reads in a row, the larger are the blocks and the more are read ahead, within the limit.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread;

use disk::failpoint;
use locks::{Condvar, Mutex};

use crate::patience::{LOOK_INTERVAL, Stops};

/// The smallest and the largest block.
const BLOCK_BYTES_MIN: usize = 256 << 10;
const BLOCK_BYTES_MAX: usize = 8 << 20;
/// Blocks that are on their way at a time.
const COMING_MAX: usize = 4;
/// Bytes of all blocks, where nobody has set a limit.
const LIMIT_BYTES: usize = 32 << 20;

/// Sends ranges of one object, all of the same state of it.
pub(crate) trait Ranges: Send + Sync {
    /// Fills `out` with the bytes from `start` on.
    ///
    /// Errors: the server's and the network's, after more tries; another state; the end was asked for.
    fn read_range(&self, start: u64, out: &mut [u8]) -> io::Result<()>;

    /// The flags that ask for the end.
    fn stops(&self) -> &Stops;
}

/// The blocks of one object.
pub(crate) struct Blocks {
    ranges: Arc<dyn Ranges>,
    bytes: u64,
    /// The object's first bytes, which somebody else keeps.
    head_bytes: u64,
    kept: Mutex<Kept>,
    changed: Condvar,
}

struct Kept {
    /// By their first byte. None overlaps another.
    blocks: BTreeMap<u64, Block>,
    /// First bytes of blocks that no thread has begun to read.
    queue: VecDeque<u64>,
    threads: usize,
    limit: usize,
    /// Counts what is read, to know which block was used last.
    clock: u64,
}

struct Block {
    size: usize,
    /// Bytes in a row before it that were read before it.
    run: u64,
    used: u64,
    /// Its last byte was read.
    is_done: bool,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Coming,
    Here(Arc<Vec<u8>>),
    Failed(ErrorKind, String),
}

impl Blocks {
    pub(crate) fn new(ranges: Arc<dyn Ranges>, bytes: u64, head_bytes: usize) -> Arc<Blocks> {
        let kept = Kept {
            blocks: BTreeMap::new(),
            queue: VecDeque::new(),
            threads: 0,
            limit: LIMIT_BYTES,
            clock: 0,
        };
        let (kept, changed) = (Mutex::new(kept), Condvar::new());
        Arc::new(Blocks { ranges, bytes, head_bytes: head_bytes as u64, kept, changed })
    }

    pub(crate) fn limit(&self, bytes: usize) {
        self.kept.lock().limit = bytes;
    }

    /// Forgets all blocks but those that are on their way.
    pub(crate) fn forget(&self) {
        self.kept.lock().blocks.retain(|_, block| matches!(block.content, Content::Coming));
    }

    /// Bytes from `position` on, which are not in the head; 0 at the end.
    ///
    /// Errors: those of [`Ranges::read_range`].
    pub(crate) fn read_at(self: &Arc<Self>, position: u64, out: &mut [u8]) -> io::Result<usize> {
        if position >= self.bytes || out.is_empty() {
            return Ok(0);
        }
        let end = position.saturating_add(out.len() as u64).min(self.bytes);
        loop {
            let mut kept = self.kept.lock();
            let content = self.content(&mut kept, position, end);
            self.begin_threads(&mut kept);
            match content {
                Some((start, Content::Here(bytes))) => {
                    let at = (position - start) as usize;
                    let size = (bytes.len() - at).min(out.len());
                    if let Some(block) = kept.blocks.get_mut(&start) {
                        block.is_done |= at + size == bytes.len();
                    }
                    drop(kept);
                    out[..size].copy_from_slice(&bytes[at..at + size]);
                    return Ok(size);
                }
                Some((start, Content::Failed(kind, why))) => {
                    kept.blocks.remove(&start);
                    return Err(io::Error::new(kind, why));
                }
                Some((_, Content::Coming)) | None => {}
            }
            drop(self.changed.wait_timeout(kept, LOOK_INTERVAL));
            self.ranges.stops().check()?;
        }
    }

    /// The block of a place, begun if it is not there yet; none without room for it. The next ones are begun too.
    fn content(&self, kept: &mut Kept, position: u64, end: u64) -> Option<(u64, Content)> {
        kept.clock += 1;
        let start = match kept.holder(position) {
            Some(start) => start,
            None => {
                let run = self.run_before(kept, position);
                let wanted = if run > 0 { run } else { end - position };
                self.begin(kept, position, wanted, run, true).then_some(position)?
            }
        };
        let clock = kept.clock;
        let block = kept.blocks.get_mut(&start)?;
        block.used = clock;
        let (content, run) = (block.content.clone(), block.run + (position - start));
        self.read_ahead(kept, start, end.max(position + run), run);
        Some((start, content))
    }

    /// Begins blocks behind the one at `start`, up to `target` and the limits.
    fn read_ahead(&self, kept: &mut Kept, start: u64, target: u64, run: u64) {
        let most = start.saturating_add(kept.limit as u64);
        let target = target.min(self.bytes).min(most);
        let mut next = start;
        while let Some(block) = kept.blocks.get(&next) {
            let before = block.run + block.size as u64;
            next += block.size as u64;
            let is_there = kept.blocks.contains_key(&next);
            if next >= target || !is_there && kept.coming() >= COMING_MAX {
                return;
            }
            let wanted = run.max(target - next);
            if !is_there && !self.begin(kept, next, wanted, before, false) {
                return;
            }
        }
    }

    /// Begins a block, if there is room; true if it has begun.
    fn begin(&self, kept: &mut Kept, start: u64, wanted: u64, run: u64, is_needed: bool) -> bool {
        let largest = (kept.limit / (COMING_MAX + 1)).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let size = wanted.clamp(BLOCK_BYTES_MIN as u64, largest as u64).min(self.bytes - start);
        let next = kept.blocks.range(start..).next().map_or(u64::MAX, |(&next, _)| next);
        let size = size.min(next - start) as usize;
        while kept.bytes() + size > kept.limit && !kept.blocks.is_empty() {
            if !kept.forget_one(is_needed) {
                return false;
            }
        }
        let (used, content) = (kept.clock, Content::Coming);
        kept.blocks.insert(start, Block { size, run, used, is_done: false, content });
        kept.queue.push_back(start);
        true
    }

    /// Bytes in a row before a place that were read; 0 if the place is a new one.
    fn run_before(&self, kept: &Kept, position: u64) -> u64 {
        if position == self.head_bytes {
            return self.head_bytes;
        }
        let before = kept.blocks.range(..position).next_back();
        let ends_here = before.filter(|(start, block)| *start + block.size as u64 == position);
        ends_here.map_or(0, |(_, block)| block.run + block.size as u64)
    }

    fn begin_threads(self: &Arc<Self>, kept: &mut Kept) {
        while kept.threads < kept.coming().min(COMING_MAX) && !kept.queue.is_empty() {
            let blocks = Arc::clone(self);
            let work = move || blocks.work();
            // Nobody waits for it: when the load ends early it may hang in reading.
            match thread::Builder::new().name("ranges".to_owned()).spawn(work) {
                Ok(_) => kept.threads += 1,
                Err(_) if kept.threads > 0 => return,
                Err(error) => {
                    return kept.fail(error.kind(), &format!("starting a thread: {error}"));
                }
            }
        }
    }

    /// The work of a thread: blocks, until none is wanted.
    fn work(self: Arc<Self>) {
        let _end = End(&self);
        failpoint::hit("thread.ranges");
        loop {
            let next = {
                let mut kept = self.kept.lock();
                let start = kept.queue.pop_front();
                start.and_then(|start| Some((start, kept.blocks.get(&start)?.size)))
            };
            let Some((start, size)) = next else { return };
            let mut bytes = vec![0; size];
            let content = match self.ranges.read_range(start, &mut bytes) {
                Ok(()) => Content::Here(Arc::new(bytes)),
                Err(error) => Content::Failed(error.kind(), error.to_string()),
            };
            if let Some(block) = self.kept.lock().blocks.get_mut(&start) {
                block.content = content;
            }
            self.changed.notify_all();
        }
    }
}

/// The end of a thread: nobody waits any more for what it was to read.
struct End<'a>(&'a Blocks);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.kept.lock();
        kept.threads -= 1;
        if thread::panicking() {
            kept.fail(ErrorKind::Other, "the thread that reads ranges has ended");
        }
        drop(kept);
        self.0.changed.notify_all();
    }
}

impl Kept {
    /// The first byte of the block that a place is in.
    fn holder(&self, position: u64) -> Option<u64> {
        let (start, block) = self.blocks.range(..=position).next_back()?;
        (position < start + block.size as u64).then_some(*start)
    }

    fn coming(&self) -> usize {
        self.blocks.values().filter(|block| matches!(block.content, Content::Coming)).count()
    }

    fn bytes(&self) -> usize {
        self.blocks.values().map(|block| block.size).sum()
    }

    /// Forgets the block that was used longest ago, one of which all was read if there is any. Where a block is only
    /// read ahead, nothing else is forgotten for it.
    fn forget_one(&mut self, is_needed: bool) -> bool {
        let may_go = |block: &Block| {
            !matches!(block.content, Content::Coming) && (block.is_done || is_needed)
        };
        let old = self.blocks.iter().filter(|(_, block)| may_go(block));
        let oldest = old.min_by_key(|(_, block)| (!block.is_done, block.used));
        let start = oldest.map(|(start, _)| *start);
        start.is_some_and(|start| self.blocks.remove(&start).is_some())
    }

    /// Has all who wait for a block fail.
    fn fail(&mut self, kind: ErrorKind, why: &str) {
        self.queue.clear();
        for block in self.blocks.values_mut() {
            if matches!(block.content, Content::Coming) {
                block.content = Content::Failed(kind, why.to_owned());
            }
        }
    }
}
