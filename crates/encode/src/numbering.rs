//! The numbers of a chunk's rows, for one worker: what the input gives, and what is generated.

use job::stop::Stop;
use sources::Rows;

use crate::encoder::RowNumbers;
use crate::explicit::Explicit;
use crate::left_out::LeftOut;
use crate::sequence::{ChunkNumbers, Sequence};

/// Numbers the rows of one chunk after the other.
#[derive(Debug)]
pub struct Numbering<'a> {
    sequence: &'a Sequence,
    explicit: Explicit,
    numbers: ChunkNumbers,
}

impl<'a> Numbering<'a> {
    /// By a sequence that all workers share.
    pub fn new(sequence: &'a Sequence, explicit: Explicit) -> Numbering<'a> {
        Numbering { sequence, explicit, numbers: ChunkNumbers::new() }
    }

    /// Numbers the rows of chunk `ordinal`; waits for the chunks before. Rows in `left_out` get the
    /// number they would have had, and the next row has it too. Where care is taken that refused rows
    /// use up none, `is_good` is asked for each row, with numbers to try it by.
    pub fn take<R: Rows>(
        &mut self,
        ordinal: u64,
        rows: R,
        left_out: &LeftOut,
        is_good: impl FnMut(R::Row, RowNumbers) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        self.explicit.collect(rows, &mut self.numbers.given);
        if self.sequence.is_careful() {
            self.leave_out_refused(rows, is_good)?;
        }
        self.sequence.take(ordinal, rows.len(), left_out, &mut self.numbers)
    }

    #[cold]
    fn leave_out_refused<R: Rows>(
        &mut self,
        rows: R,
        mut is_good: impl FnMut(R::Row, RowNumbers) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        self.numbers.try_on();
        for (index, row) in rows.iter().enumerate() {
            if !is_good(row, self.numbers.of(index))? {
                self.numbers.leave_out(index);
            }
        }
        Ok(())
    }

    /// The numbers of row `row` of the chunk.
    #[inline]
    pub fn of(&self, row: usize) -> RowNumbers {
        self.numbers.of(row)
    }

    /// Row `row` of the chunk is refused, and the load goes on without it.
    pub fn refuse(&self, row: usize) -> Result<(), Stop> {
        self.sequence.refuse(row, &self.numbers)
    }
}
