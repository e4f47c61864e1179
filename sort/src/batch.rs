//! Merges runs of bare keys of one length by sorting them again, a batch at a time.
//!
//! Each run offers its next keys, as many as its share of a batch. The least of the last keys
//! offered bounds the batch: whatever is not above it, in any run, belongs to it, and nothing that
//! comes later does. A batch fits the cache, and radix-sorting it as packed integers
//! ([`crate::pack`]) costs less than the mispredicted branches of a loser tree: measured on
//! 95 runs in memory, see `benches/sort.rs`. Keys of one run alone are passed on unsorted.

use crate::error::Result;
use crate::pack::{Observer, Packing, sort_references};
use crate::radix;
use crate::source::{Reading, Source};

/// Buffers of a batch, kept from one merge to the next.
#[derive(Debug, Default)]
pub(crate) struct BatchBuffers {
    words: (Vec<u64>, Vec<u64>),
    wide_words: (Vec<u128>, Vec<u128>),
    keys: Vec<u8>,
    key: Vec<u8>,
}

/// How the keys of the current batch are held.
enum Form {
    Packed(Packing),
    PackedWide(Packing),
    /// References sorted into `wide_words.0`, keys in `keys`.
    Referenced,
    /// In the window of one source, whose `at` is behind them already.
    Plain {
        source: usize,
        start: usize,
    },
}

pub(crate) struct BatchMerge<'a> {
    key_len: usize,
    batch_entries: usize,
    sources: Vec<Source<'a>>,
    buffers: BatchBuffers,
    observer: Observer,
    form: Form,
    /// Keys of the batch given out, and all of them.
    given: usize,
    count: usize,
    /// Per source, bytes of its window that belong to the batch.
    taken: Vec<usize>,
}

impl<'a> BatchMerge<'a> {
    pub(crate) fn new(
        key_len: usize,
        batch_entries: usize,
        sources: Vec<Source<'a>>,
        mut buffers: BatchBuffers,
    ) -> BatchMerge<'a> {
        buffers.key.resize(key_len, 0);
        BatchMerge {
            key_len,
            batch_entries,
            taken: vec![0; sources.len()],
            sources,
            buffers,
            observer: Observer::new(key_len),
            form: Form::Referenced,
            given: 0,
            count: 0,
        }
    }

    pub(crate) fn into_buffers(self) -> BatchBuffers {
        self.buffers
    }

    /// Steps to the next key.
    #[inline]
    pub(crate) fn next(&mut self, reading: &mut Reading) -> Result<Option<&[u8]>> {
        if self.given == self.count && !self.fill(reading)? {
            return Ok(None);
        }
        let index = self.given;
        self.given += 1;
        let len = self.key_len;
        match &self.form {
            Form::Packed(packing) => {
                packing.unpack(self.buffers.words.0[index], &mut self.buffers.key);
                Ok(Some(&self.buffers.key))
            }
            Form::PackedWide(packing) => {
                packing.unpack(self.buffers.wide_words.0[index], &mut self.buffers.key);
                Ok(Some(&self.buffers.key))
            }
            Form::Referenced => {
                let key = self.buffers.wide_words.0[index] as u32 as usize * len;
                Ok(Some(&self.buffers.keys[key..key + len]))
            }
            Form::Plain { source, start } => {
                Ok(Some(&self.sources[*source].bytes()[start + index * len..][..len]))
            }
        }
    }

    /// Makes the next batch; false if all runs are used up.
    fn fill(&mut self, reading: &mut Reading) -> Result<bool> {
        self.drop_ended(reading)?;
        self.given = 0;
        self.count = 0;
        self.choose();
        let bytes: usize = self.taken.iter().sum();
        self.count = bytes / self.key_len;
        let mut contributing = self.taken.iter().enumerate().filter(|(_, taken)| **taken > 0);
        match (contributing.next(), contributing.next()) {
            (None, _) => return Ok(false),
            (Some((source, _)), None) => {
                self.form = Form::Plain { source, start: self.sources[source].at };
            }
            _ => self.sort(),
        }
        for (source, taken) in self.sources.iter_mut().zip(&self.taken) {
            source.at += taken;
        }
        Ok(true)
    }

    fn drop_ended(&mut self, reading: &mut Reading) -> Result<()> {
        let mut index = 0;
        while index < self.sources.len() {
            if self.sources[index].is_empty() && !self.sources[index].refill(reading)? {
                self.sources.swap_remove(index);
            } else {
                index += 1;
            }
        }
        self.taken.clear();
        self.taken.resize(self.sources.len(), 0);
        Ok(())
    }

    /// Decides how much of each window belongs to the batch.
    fn choose(&mut self) {
        let len = self.key_len;
        let share = (self.batch_entries / self.sources.len().max(1)).max(1) * len;
        // A source bounds the batch if it has keys beyond those it offers.
        let offers = self.sources.iter().map(|source| {
            let offered = source.window().len().min(share);
            let bounds = offered < source.window().len() || source.has_more();
            (bounds, &source.window()[offered - len..offered])
        });
        let bound = offers.filter(|(bounds, _)| *bounds).map(|(_, last)| last).min();
        for (source, taken) in self.sources.iter().zip(&mut self.taken) {
            let offered = &source.window()[..source.window().len().min(share)];
            *taken = match bound {
                Some(bound) => upper_bound(offered, len, bound),
                None => offered.len(),
            };
        }
    }

    /// Sorts the keys taken from several sources.
    fn sort(&mut self) {
        let taken = |source: &'_ Source<'a>, taken: &usize| source.at..source.at + *taken;
        let parts = || {
            self.sources
                .iter()
                .zip(&self.taken)
                .map(|(source, len)| &source.bytes()[taken(source, len)])
        };
        self.observer.clear();
        parts().for_each(|keys| self.observer.observe(keys));
        let packing = self.observer.packing();
        let buffers = &mut self.buffers;
        if packing.bits <= u64::BITS {
            let (words, scratch) = &mut buffers.words;
            words.clear();
            words.reserve_exact(self.batch_entries);
            parts().for_each(|keys| packing.pack(keys, words));
            radix::sort(words, scratch, packing.bits);
            self.form = Form::Packed(packing);
        } else if packing.bits <= u128::BITS {
            buffers.words = Default::default();
            let (words, scratch) = &mut buffers.wide_words;
            words.clear();
            words.reserve_exact(self.batch_entries);
            parts().for_each(|keys| packing.pack(keys, words));
            radix::sort(words, scratch, packing.bits);
            self.form = Form::PackedWide(packing);
        } else {
            buffers.words = Default::default();
            buffers.keys.clear();
            buffers.keys.reserve_exact(self.batch_entries * self.key_len);
            parts().for_each(|keys| buffers.keys.extend_from_slice(keys));
            sort_references(&packing, &buffers.keys, &mut buffers.wide_words.0);
            self.form = Form::Referenced;
        }
    }
}

/// Bytes of the keys of an ascending array that are not greater than `bound`.
fn upper_bound(keys: &[u8], len: usize, bound: &[u8]) -> usize {
    let (mut low, mut high) = (0, keys.len() / len);
    while low < high {
        let middle = low.midpoint(high);
        if &keys[middle * len..][..len] <= bound { low = middle + 1 } else { high = middle }
    }
    low * len
}
