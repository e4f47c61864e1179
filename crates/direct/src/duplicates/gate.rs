//! Which rows of a chunk are left out.
//!
//! Chunks are worked on in parallel, but losers come in input order: each chunk takes its own in
//! its turn, right after it was cut into rows.

use encode::left_out::LeftOut;
use job::error::Error;
use job::stop::Stop;
use job::turn::Turnstile;
use sources::Chunk;

use crate::duplicates::losers::{LoserStream, Losers};

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
        left_out.clear();
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
