//! How many rows a statement: two sizes load side by side, the faster one stays.
//!
//! Chunks take turns, so both sizes meet the same server at the same moment and even a small
//! difference shows after a few chunks, whatever else goes on. The slower size costs only what
//! it is slower, for half of the chunks.

use super::sample::{Sample, Samples};

/// Gain of a size that is adopted.
const GAIN: f64 = 0.02;

/// Where it gains as much as this, the best size is so far away that the next step is longer.
const GAIN_LARGE: f64 = 0.15;

/// Chunks of each size that decide at least and at most.
const CHUNKS_MIN: usize = 6;
const CHUNKS_MAX: usize = 24;

/// Chunks between two comparisons once both neighbours have lost.
const REST: usize = 200;
const REST_MAX: usize = 20_000;

/// Chooses the rows of a statement.
#[derive(Debug)]
pub(super) struct Statement {
    rows: usize,
    most: usize,
    /// The size it is compared with, and what both did.
    rival: Option<Rival>,
    /// Chunks until the next comparison.
    rest: usize,
    /// Comparisons lost in a row.
    losses: u32,
    upward: bool,
    /// How many times as large or as small the rival is.
    times: usize,
    turn: usize,
}

#[derive(Debug)]
struct Rival {
    rows: usize,
    ours: Samples,
    theirs: Samples,
}

impl Statement {
    /// Exactly `rows`.
    pub(super) fn fixed(rows: usize) -> Statement {
        Statement::with(rows.max(1), 0)
    }

    /// Begins with `rows`, never exceeds `most`.
    pub(super) fn new(rows: usize, most: usize) -> Statement {
        Statement::with(rows.clamp(1, most.max(1)), most.max(1))
    }

    fn with(rows: usize, most: usize) -> Statement {
        Statement { rows, most, rival: None, rest: 0, losses: 0, upward: true, times: 2, turn: 0 }
    }

    /// The best size.
    pub(super) fn best(&self) -> usize {
        self.rows
    }

    /// Rows of a statement of the next chunk.
    pub(super) fn next(&mut self) -> usize {
        self.turn = self.turn.wrapping_add(1);
        match &self.rival {
            // A B B A: no connection keeps meeting the same one.
            Some(rival) if matches!(self.turn % 4, 1 | 2) => rival.rows,
            _ => self.rows,
        }
    }

    /// A chunk of `chunk_rows` was loaded by statements of `rows`, at most `rows_max` of which
    /// fit one for their bytes.
    pub(super) fn push(&mut self, rows: usize, sample: Sample, chunk_rows: usize, rows_max: usize) {
        if self.most == 0 {
            return;
        }
        let Some(rival) = &mut self.rival else {
            self.rest = self.rest.saturating_sub(1);
            if self.rest == 0 {
                self.challenge(chunk_rows.min(rows_max));
            }
            return;
        };
        if rows == rival.rows {
            rival.theirs.push(sample);
        } else if rows == self.rows {
            rival.ours.push(sample);
        }
        let count = rival.ours.len().min(rival.theirs.len());
        if count < CHUNKS_MIN {
            return;
        }
        let gain = rival.ours.cost() / rival.theirs.cost() - 1.0;
        let doubt = rival.theirs.error_of_ratio(&rival.ours);
        if (gain - GAIN).abs() < 1.5 * doubt && count < CHUNKS_MAX {
            return;
        }
        let rows = rival.rows;
        self.rival = None;
        if gain >= GAIN {
            self.rows = rows;
            self.losses = 0;
            self.rest = 1;
            self.times = if gain >= GAIN_LARGE { 4 } else { 2 };
        } else {
            self.upward = !self.upward;
            self.losses += 1;
            self.rest =
                if self.losses < 2 { 1 } else { (REST << (self.losses / 2).min(7)).min(REST_MAX) };
        }
    }

    /// Begins to compare with the neighbour of the side whose turn it is; `useful` rows make a
    /// statement that more would not make larger.
    fn challenge(&mut self, useful: usize) {
        let most = self.most.min(useful.max(1));
        let rows = if self.upward {
            (self.rows.saturating_mul(self.times)).min(most)
        } else {
            (self.rows / self.times).max(1)
        };
        if rows == self.rows || (self.upward && rows < self.rows) {
            self.upward = !self.upward;
            self.losses += 1;
            self.times = 2;
            self.rest = if self.losses < 2 { 1 } else { REST };
            return;
        }
        self.rival = Some(Rival { rows, ours: Samples::default(), theirs: Samples::default() });
    }
}
