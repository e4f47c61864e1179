//! Which rows of a chunk are left out.
//!
//! Chunks are worked on in parallel, but losers come in input order: each chunk takes its own in
//! its turn, right after it was cut into rows.

use sources::Chunk;

use crate::duplicates::losers::{LoserStream, Losers};
use crate::error::Error;
use crate::options::OnDuplicate;
use crate::stop::Stop;
use crate::turn::Turnstile;

/// Rows of one chunk that are left out: a bit each. Empty if there are none.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    words: Vec<u64>,
}

impl LeftOut {
    /// No row.
    pub(crate) fn none() -> &'static LeftOut {
        static NONE: LeftOut = LeftOut { words: Vec::new() };
        &NONE
    }

    /// Whether row `row` of the chunk is left out.
    #[inline]
    pub(crate) fn has(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn insert(&mut self, row: usize, rows: usize) {
        if self.words.is_empty() {
            self.words.resize(rows.div_ceil(64), 0);
        }
        self.words[row / 64] |= 1 << (row % 64);
    }
}

impl OnDuplicate {
    /// Of rows that are left out, those whose generated numbers the next rows get: all or none.
    pub(crate) fn without_numbers(self, left_out: &LeftOut) -> &LeftOut {
        // Rows that are replaced were there, and used theirs up.
        if self == OnDuplicate::Skip { left_out } else { LeftOut::none() }
    }
}

/// Numbers the rows of each file, and tells which of them are left out.
pub(crate) struct RowGate<'a> {
    gate: Turnstile<State<'a>>,
}

struct State<'a> {
    file: u32,
    next_row: u64,
    losers: Option<LoserStream<'a>>,
}

impl<'a> RowGate<'a> {
    /// A gate that leaves out `losers`, if there are any yet.
    pub(crate) fn new(losers: Option<&'a Losers>) -> Result<RowGate<'a>, Stop> {
        let losers = losers.map(Losers::stream).transpose()?;
        Ok(RowGate { gate: Turnstile::new(State { file: 0, next_row: 0, losers }) })
    }

    /// Number in its file of the first of the chunk's `rows` rows; `left_out` tells which of them
    /// are left out. Waits for the chunks before.
    pub(crate) fn take(
        &self,
        chunk: &Chunk,
        rows: usize,
        left_out: &mut LeftOut,
    ) -> Result<u64, Stop> {
        left_out.words.clear();
        let mut turn = self.gate.wait(chunk.ordinal)?;
        let state = turn.state();
        if state.file != chunk.file {
            state.file = chunk.file;
            state.next_row = 0;
        }
        let first = state.next_row;
        let end = first + rows as u64;
        state.next_row = end;
        if let Some(losers) = &mut state.losers {
            while let Some(loser) = losers.next_before(chunk.file, end)? {
                if !(loser.place.file == chunk.file && loser.place.row >= first) {
                    return Err(Error::InputChanged.into());
                }
                left_out.insert((loser.place.row - first) as usize, rows);
            }
        }
        turn.pass();
        Ok(first)
    }

    /// Turns away whoever waits, after a failure.
    pub(crate) fn close(&self) {
        self.gate.close();
    }

    /// After the last chunk: every loser must have been met.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let State { losers, .. } = self.gate.into_state();
        match losers {
            Some(losers) if !losers.is_ended() => Err(Error::InputChanged),
            _ => Ok(()),
        }
    }
}
