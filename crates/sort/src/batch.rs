//! Merges runs of bare keys of one length by sorting them again, a batch at a time.
//!
//! Each run offers its next keys, as many as its share of a batch. The least of the last keys
//! offered bounds the batch: whatever is not above it, in any run, belongs to it, and nothing that
//! comes later does. A batch fits the cache, and bringing its keys into one packed form
//! ([`crate::pack`]) and radix-sorting that costs less than the mispredicted branches of a loser
//! tree. Keys of one run alone are passed on unsorted.

use crate::error::Result;
use crate::keys::Keys;
use crate::order::OrderCheck;
use crate::pack::{Observer, Packing, Word, sort_references};
use crate::radix;
use crate::source::{BlockBuffers, KeySource};

/// Keys spread out at a time: their bytes stay in the first-level cache.
const READY_KEYS: usize = 128;

/// Buffers of a batch, kept from one merge to the next.
#[derive(Debug, Default)]
pub(crate) struct BatchBuffers {
    words: (Vec<u64>, Vec<u64>),
    wide_words: (Vec<u128>, Vec<u128>),
    keys: Vec<u8>,
    ready: Vec<u8>,
}

/// How the keys of the current batch are held.
enum Form {
    /// Packed in `words.0`.
    Narrow(Packing),
    /// Packed in `wide_words.0`.
    Wide(Packing),
    /// References sorted in `wide_words.0`, keys in `keys`.
    Referenced,
    /// As they lie in one source, from an index on. Its `at` is behind them already.
    Alone { source: usize, start: usize },
}

pub(crate) struct BatchMerge<'a> {
    key_len: usize,
    batch_entries: usize,
    sources: Vec<KeySource<'a>>,
    /// Per source, keys at hand that belong to the batch.
    taken: Vec<usize>,
    buffers: BatchBuffers,
    observer: Observer,
    form: Form,
    /// Keys in the batch, and how many of them were made ready.
    count: usize,
    given: usize,
    /// Offset of the next key in `buffers.ready`.
    ready_at: usize,
    order: OrderCheck,
}

impl<'a> BatchMerge<'a> {
    pub(crate) fn new(
        key_len: usize,
        batch_entries: usize,
        sources: Vec<KeySource<'a>>,
        mut buffers: BatchBuffers,
    ) -> BatchMerge<'a> {
        buffers.ready.clear();
        BatchMerge {
            key_len,
            batch_entries,
            taken: Vec::with_capacity(sources.len()),
            sources,
            buffers,
            observer: Observer::new(key_len),
            form: Form::Referenced,
            count: 0,
            given: 0,
            ready_at: 0,
            order: OrderCheck::default(),
        }
    }

    pub(crate) fn take_buffers(&mut self) -> BatchBuffers {
        std::mem::take(&mut self.buffers)
    }

    /// Steps to the next key.
    #[inline]
    pub(crate) fn next(&mut self, buffers: &mut BlockBuffers) -> Result<Option<&[u8]>> {
        if self.ready_at == self.buffers.ready.len() && !self.make_ready(buffers)? {
            return Ok(None);
        }
        let start = self.ready_at;
        self.ready_at += self.key_len;
        let key = &self.buffers.ready[start..self.ready_at];
        self.order.note(key, 0);
        Ok(Some(key))
    }

    /// Spreads out the next keys; false if there are none.
    #[inline(never)]
    fn make_ready(&mut self, buffers: &mut BlockBuffers) -> Result<bool> {
        self.ready_at = 0;
        self.buffers.ready.clear();
        if self.given == self.count && !self.fill(buffers)? {
            return Ok(false);
        }
        let range = self.given..self.count.min(self.given + READY_KEYS);
        self.given = range.end;
        let BatchBuffers { words, wide_words, keys, ready } = &mut self.buffers;
        match &self.form {
            Form::Narrow(packing) => packing.unpack(&words.0[range], ready),
            Form::Wide(packing) => packing.unpack(&wide_words.0[range], ready),
            Form::Referenced => {
                for &reference in &wide_words.0[range] {
                    let key = reference as u32 as usize * self.key_len;
                    ready.extend_from_slice(&keys[key..key + self.key_len]);
                }
            }
            Form::Alone { source, start } => {
                self.sources[*source].keys().unpack(start + range.start..start + range.end, ready);
            }
        }
        Ok(true)
    }

    /// Makes the next batch; false if all runs are used up.
    fn fill(&mut self, buffers: &mut BlockBuffers) -> Result<bool> {
        self.refill(buffers)?;
        self.choose();
        self.given = 0;
        self.count = self.taken.iter().sum();
        let mut contributing = self.taken.iter().enumerate().filter(|(_, taken)| **taken > 0);
        match (contributing.next(), contributing.next()) {
            (None, _) => return Ok(false),
            (Some((source, _)), None) => {
                self.form = Form::Alone { source, start: self.sources[source].at };
            }
            _ => self.sort(),
        }
        for (source, taken) in self.sources.iter_mut().zip(&self.taken) {
            debug_assert!(*taken <= source.window().len());
            source.at += taken;
        }
        Ok(true)
    }

    /// Sees that every source has keys at hand, and drops those that have no more.
    fn refill(&mut self, buffers: &mut BlockBuffers) -> Result<()> {
        let mut index = 0;
        while index < self.sources.len() {
            if self.sources[index].refill(buffers)? {
                index += 1;
            } else {
                self.sources.swap_remove(index);
            }
        }
        Ok(())
    }

    /// Decides how many of the keys at hand belong to the batch.
    fn choose(&mut self) {
        // Half of the batch is shared out evenly, half by what is left of each run, so that a long
        // run does not bound the batch long before the others.
        let even = self.batch_entries / 2 / self.sources.len().max(1);
        let left: usize = self.sources.iter().map(KeySource::left).sum();
        let per_key = self.batch_entries as f64 / 2.0 / left.max(1) as f64;
        let offered = |source: &KeySource<'_>| {
            let window = source.window();
            let share = even + (source.left() as f64 * per_key) as usize;
            window.start..window.end.min(window.start + share.max(1))
        };
        let mut bound: Option<Vec<u8>> = None;
        let mut last = vec![0; self.key_len];
        for source in &self.sources {
            debug_assert!(!source.window().is_empty(), "every source has a key at hand");
            let offered = offered(source);
            // A source with no keys beyond those it offers bounds nothing.
            if offered.end < source.window().end || source.has_more() {
                source.keys().key(offered.end - 1, &mut last);
                if bound.as_ref().is_none_or(|bound| last < *bound) {
                    bound = Some(last.clone());
                }
            }
        }
        self.taken.clear();
        self.taken.extend(self.sources.iter().map(|source| {
            let offered = offered(source);
            let end = match &bound {
                Some(bound) => source.keys().upper_bound(offered.clone(), bound),
                None => offered.end,
            };
            end - offered.start
        }));
    }

    /// Sorts the keys taken from several sources.
    fn sort(&mut self) {
        let (sources, taken) = (&self.sources, &self.taken);
        let parts = || {
            let parts = sources.iter().zip(taken).filter(|(_, taken)| **taken > 0);
            parts.map(|(source, taken)| (source.keys(), source.at..source.at + taken))
        };
        self.observer.clear();
        parts().for_each(|(keys, range)| keys.observe(range, &mut self.observer));
        let packing = self.observer.packing();
        let buffers = &mut self.buffers;
        if packing.bits <= u64::BITS {
            sort_packed(parts(), &packing, self.batch_entries, &mut buffers.words);
            self.form = Form::Narrow(packing);
            return;
        }
        // The reserve counts one kind of words.
        buffers.words = Default::default();
        if packing.bits <= u128::BITS {
            sort_packed(parts(), &packing, self.batch_entries, &mut buffers.wide_words);
            self.form = Form::Wide(packing);
        } else {
            buffers.keys.clear();
            buffers.keys.reserve_exact(self.batch_entries * self.key_len);
            parts().for_each(|(keys, range)| keys.unpack(range, &mut buffers.keys));
            sort_references(&packing, &buffers.keys, &mut buffers.wide_words.0);
            self.form = Form::Referenced;
        }
    }
}

fn sort_packed<'k, W: Word>(
    parts: impl Iterator<Item = (&'k Keys, std::ops::Range<usize>)>,
    packing: &Packing,
    batch_entries: usize,
    (words, scratch): &mut (Vec<W>, Vec<W>),
) {
    words.clear();
    words.reserve_exact(batch_entries);
    parts.for_each(|(keys, range)| keys.repack(range, packing, words));
    radix::sort(words, scratch, packing.bits);
}
