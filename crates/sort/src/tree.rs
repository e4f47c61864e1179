//! Merges runs of any entries with a loser tree.
//!
//! ```text
//!            winner 2
//!              |
//!              5              inner nodes remember the loser of the match played there
//!           /     \
//!          3       4
//!         / \     / \
//!        2   3   4   5        sources
//! ```
//!
//! The entry after the winner's replays the matches on its path to the root: log2(runs)
//! comparisons, nearly all decided by 15 key bytes kept beside the tree.
//! Source: Knuth vol. 3, section 5.4.1, loser tree.

use std::cmp::Ordering;

use crate::entry::EntryAt;
use crate::error::Result;
use crate::order::OrderCheck;
use crate::source::{BlockBuffers, EntrySource};

/// Key bytes in a rank; the byte above is 0 for an entry and 0xff for the end of a run.
const RANK_LEN: usize = 15;
const ENDED: u128 = u128::MAX;

const _: () = assert!(RANK_LEN + 1 == size_of::<u128>());

/// Ordinal, key and payload.
pub(crate) type OrderedEntry<'a> = (u64, &'a [u8], &'a [u8]);

pub(crate) struct LoserTree<'a> {
    sources: Vec<EntrySource<'a>>,
    heads: Vec<EntryAt>,
    /// The first key bytes of each head as a number, or [`ENDED`].
    ranks: Vec<u128>,
    /// Losers, by node; node 1 is the root, source `i` plays first at node `(i + sources) / 2`.
    losers: Vec<u32>,
    winner: usize,
    started: bool,
    /// Leading bytes all keys have in common; ranks begin after them.
    common_len: usize,
    order: OrderCheck,
}

impl<'a> LoserTree<'a> {
    /// A merge of sources whose keys agree in the first `common_len` bytes.
    pub(crate) fn new(sources: Vec<EntrySource<'a>>, common_len: usize) -> LoserTree<'a> {
        let count = sources.len();
        assert!(u32::try_from(count).is_ok(), "losers are numbers of 32 bits");
        LoserTree {
            sources,
            heads: vec![EntryAt::default(); count],
            ranks: vec![ENDED; count],
            losers: vec![0; count],
            winner: 0,
            started: false,
            common_len,
            order: OrderCheck::default(),
        }
    }

    /// Steps to the next entry: its ordinal, key and payload.
    #[inline]
    pub(crate) fn next(&mut self, buffers: &mut BlockBuffers) -> Result<Option<OrderedEntry<'_>>> {
        if self.started {
            self.load(self.winner, buffers)?;
            self.replay();
        } else {
            self.start(buffers)?;
        }
        if self.ranks.get(self.winner).is_none_or(|&rank| rank == ENDED) {
            return Ok(None);
        }
        let (head, source) = (&self.heads[self.winner], &self.sources[self.winner]);
        let bytes = source.bytes();
        let ordinal = source.ordinal + head.ordinal_delta;
        let key = &bytes[head.key..head.key_end];
        self.order.note(key, ordinal);
        Ok(Some((ordinal, key, &bytes[head.key_end..head.end])))
    }

    fn start(&mut self, buffers: &mut BlockBuffers) -> Result<()> {
        self.started = true;
        let count = self.sources.len();
        if count == 0 {
            return Ok(());
        }
        for source in 0..count {
            self.load(source, buffers)?;
        }
        // Play every match once, from the leaves up; `winners` is of use here only.
        let mut winners: Vec<usize> = (0..2 * count).map(|node| node.wrapping_sub(count)).collect();
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) =
                if self.is_before(left, right) { (left, right) } else { (right, left) };
            winners[node] = winner;
            self.losers[node] = loser as u32;
        }
        self.winner = if count == 1 { 0 } else { winners[1] };
        Ok(())
    }

    /// Takes the next entry of a source as its head.
    #[inline]
    fn load(&mut self, index: usize, buffers: &mut BlockBuffers) -> Result<()> {
        let source = &mut self.sources[index];
        self.ranks[index] = match source.next(buffers)? {
            Some(head) => {
                self.heads[index] = head;
                rank(&source.bytes()[head.key + self.common_len..head.key_end])
            }
            None => ENDED,
        };
        Ok(())
    }

    #[inline]
    fn replay(&mut self) {
        let mut winner = self.winner;
        let mut node = (winner + self.sources.len()) / 2;
        while node > 0 {
            let loser = self.losers[node] as usize;
            if self.is_before(loser, winner) {
                self.losers[node] = winner as u32;
                winner = loser;
            }
            node /= 2;
        }
        self.winner = winner;
    }

    #[inline(always)]
    fn is_before(&self, a: usize, b: usize) -> bool {
        match self.ranks[a].cmp(&self.ranks[b]) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.is_before_in_full(a, b),
        }
    }

    /// Compares whole keys, then ordinals: equal keys keep the order of the chunks.
    #[cold]
    fn is_before_in_full(&self, a: usize, b: usize) -> bool {
        if self.ranks[a] == ENDED {
            return a < b;
        }
        let key = |i: usize| &self.sources[i].bytes()[self.heads[i].key..self.heads[i].key_end];
        let ordinal = |i: usize| self.sources[i].ordinal + self.heads[i].ordinal_delta;
        (key(a), ordinal(a), a) < (key(b), ordinal(b), b)
    }
}

#[inline]
fn rank(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    match key.get(..RANK_LEN) {
        Some(prefix) => bytes[1..].copy_from_slice(prefix),
        None => bytes[1..=key.len()].copy_from_slice(key),
    }
    u128::from_be_bytes(bytes)
}
