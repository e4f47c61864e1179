//! Numbers that depend on every row before: AUTO_INCREMENT values and hidden row ids.
//!
//! Chunks are converted in parallel, so each takes its numbers in input order
//! right after it was cut into rows, before anything is converted. Only tables
//! that need such numbers pay for it.
//!
//! A refused row must not use up a number, but that it is refused shows only when it is
//! converted. So all rows are taken to be good until one with a say in the numbers is not; then
//! the stage stops with [`Stop::Renumber`] and begins again with care: every chunk is converted
//! once to see which rows are good, and then again with their numbers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use job::error::Error;
use job::stop::Stop;
use job::turn::Turnstile;
use locks::Mutex;
use schema::Column;

use crate::binding::Binding;
use crate::counter::{Counter, Generates, Series};
use crate::encoder::{AutoValue, RowNumbers};
use crate::explicit::{InputNumber, limits};
use crate::left_out::LeftOut;

/// State that each chunk passes to the next.
#[derive(Clone, Copy, Debug)]
struct Next {
    counter: Counter,
    row_id: u64,
}

/// Gives out numbers in chunk order.
#[derive(Debug)]
pub struct Sequence {
    gate: Option<Turnstile<Next>>,
    counts: bool,
    careful: bool,
    generates: Generates,
    /// The table's AUTO_INCREMENT after the last chunk so far, and that chunk.
    reached: Mutex<(u64, u64)>,
    /// Largest hidden row id so far.
    row_id_max: AtomicU64,
    /// True if any value was given, or generated, or any row rejected.
    given: AtomicBool,
    generated: AtomicBool,
    refused: AtomicBool,
    /// Largest values given by a row, and by a refused one.
    given_max: AtomicU64,
    refused_max: AtomicU64,
}

/// The numbers of one chunk's rows.
#[derive(Debug, Default)]
pub struct ChunkNumbers {
    first_row_id: u64,
    /// The value of each row, if the table has an AUTO_INCREMENT column.
    auto_increment: Vec<AutoValue>,
    /// The input's value of each row.
    pub given: Vec<InputNumber>,
}

impl ChunkNumbers {
    /// Numbers of no chunk yet.
    pub fn new() -> ChunkNumbers {
        ChunkNumbers::default()
    }

    /// The numbers of row `row` of the chunk.
    #[inline]
    pub fn of(&self, row: usize) -> RowNumbers {
        RowNumbers {
            auto_increment: self.auto_increment.get(row).copied().unwrap_or_default(),
            row_id: self.first_row_id + row as u64,
        }
    }

    /// Numbers to try by whether the rows are good.
    pub(crate) fn try_on(&mut self) {
        self.auto_increment.clear();
        self.auto_increment.extend(self.given.iter().map(|given| match given {
            InputNumber::Nothing => AutoValue::Generated(1),
            InputNumber::Overflow => AutoValue::Uncountable,
            _ => AutoValue::Given,
        }));
    }

    /// A row that is not to count. It keeps the number that it was tried with, so that it is refused by the
    /// same fault again.
    pub fn leave_out(&mut self, row: usize) {
        let tried = self.of(row).auto_increment;
        if let Some(given) = self.given.get_mut(row) {
            *given = InputNumber::Refused(tried);
        }
    }
}

impl Sequence {
    /// Numbers for a table whose AUTO_INCREMENT goes on as `series` says. With `careful`, rows that
    /// are refused are told by [`ChunkNumbers::leave_out`].
    pub fn new(binding: &Binding, series: Series, careful: bool) -> Sequence {
        let column = binding.auto_increment.map(|column| &binding.columns[column].column);
        Sequence::of_column(column, binding.clustered.has_row_id, series, careful)
    }

    /// Numbers for a table with this AUTO_INCREMENT column, if any, and perhaps hidden row ids.
    pub fn of_column(
        column: Option<&Column>,
        has_row_id: bool,
        series: Series,
        careful: bool,
    ) -> Sequence {
        let needed = column.is_some() || has_row_id;
        let (counted_max, value_max) = column.map_or((1, 1), |column| limits(&column.sql_type));
        let counter = Counter::new(series, counted_max, value_max);
        Sequence {
            gate: needed.then(|| Turnstile::new(Next { counter, row_id: 1 })),
            counts: column.is_some(),
            careful: careful && column.is_some(),
            generates: series.generates,
            reached: Mutex::new((0, counter.table_next())),
            row_id_max: AtomicU64::new(0),
            given: AtomicBool::new(false),
            generated: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            given_max: AtomicU64::new(0),
            refused_max: AtomicU64::new(0),
        }
    }

    /// The same, with hidden row ids greater than this one.
    pub fn after_row_id(mut self, row_id: u64) -> Sequence {
        if let Some(gate) = self.gate {
            let Next { counter, .. } = gate.into_state();
            self.gate = Some(Turnstile::new(Next { counter, row_id: row_id + 1 }));
        }
        self
    }

    /// True if chunks must tell which rows are rejected before they take their numbers.
    pub(crate) fn is_careful(&self) -> bool {
        self.careful
    }

    /// Numbers the `rows` rows of chunk `ordinal`, of which `numbers.given` says what the input
    /// gives; waits for the chunks before. Rows in `left_out` get the number they would have had,
    /// and the next row has it too.
    pub fn take(
        &self,
        ordinal: u64,
        rows: usize,
        left_out: &LeftOut,
        numbers: &mut ChunkNumbers,
    ) -> Result<(), Stop> {
        let Some(gate) = &self.gate else { return Ok(()) };
        numbers.auto_increment.clear();
        let mut turn = gate.wait(ordinal)?;
        let next = turn.state();
        numbers.first_row_id = next.row_id;
        next.row_id += rows as u64;
        self.row_id_max.store(next.row_id - 1, Ordering::SeqCst);
        let (mut given_any, mut generated, mut given_max) = (false, false, 0);
        for (row, given) in numbers.given.iter().enumerate() {
            given_any |= *given != InputNumber::Nothing;
            numbers.auto_increment.push(match *given {
                InputNumber::Nothing => {
                    generated = true;
                    let value = match left_out.has(row) {
                        true => next.counter.generate_again(),
                        false => next.counter.generate(),
                    };
                    value.map_or(AutoValue::Exhausted, AutoValue::Generated)
                }
                InputNumber::Value(_) if left_out.has(row) => {
                    next.counter.skip();
                    AutoValue::Given
                }
                InputNumber::Value(value) => {
                    given_max = given_max.max(value);
                    next.counter.give(value);
                    AutoValue::Given
                }
                InputNumber::Low => {
                    next.counter.skip();
                    AutoValue::Given
                }
                InputNumber::Refused(tried) => tried,
                InputNumber::Overflow => AutoValue::Uncountable,
            });
        }
        let reached = next.counter.table_next();
        turn.pass();
        let mut last = self.reached.lock();
        if ordinal >= last.0 {
            *last = (ordinal, reached);
        }
        drop(last);
        self.given_max.fetch_max(given_max, Ordering::SeqCst);
        if given_any {
            self.given.store(true, Ordering::SeqCst);
        }
        if generated {
            self.generated.store(true, Ordering::SeqCst);
        }
        if !self.may_generate() {
            return Err(Stop::Failed(Error::NotPlain(
                "AUTO_INCREMENT values are generated for some rows and given for others, or \
                 generated while duplicates are not errors"
                    .to_owned(),
            )));
        }
        if self.is_inexact() { Err(Stop::Renumber) } else { Ok(()) }
    }

    /// True if the limit of generated values is not reached.
    fn may_generate(&self) -> bool {
        match self.generates {
            Generates::Any => true,
            Generates::AllOrNone => !self.ended_mixed(),
            Generates::None => !self.generated.load(Ordering::SeqCst),
        }
    }

    /// Row `row` of a chunk is refused, and the load goes on without it.
    pub fn refuse(&self, row: usize, numbers: &ChunkNumbers) -> Result<(), Stop> {
        if !self.counts || self.careful {
            return Ok(());
        }
        if let Some(InputNumber::Value(value)) = numbers.given.get(row) {
            self.refused_max.fetch_max(*value, Ordering::SeqCst);
        }
        self.refused.store(true, Ordering::SeqCst);
        match self.generated.load(Ordering::SeqCst) {
            true => Err(Stop::Renumber),
            false => Ok(()),
        }
    }

    /// True if values were generated though a row was rejected.
    fn is_inexact(&self) -> bool {
        !self.careful
            && self.refused.load(Ordering::SeqCst)
            && self.generated.load(Ordering::SeqCst)
    }

    /// True if a rejected row influenced any number, now that all rows were read or the stage
    /// stopped.
    pub fn needs_care(&self) -> bool {
        let refused_max = self.refused_max.load(Ordering::SeqCst);
        let is_largest = refused_max > 0 && refused_max >= self.given_max.load(Ordering::SeqCst);
        self.is_inexact() || (!self.careful && is_largest)
    }

    /// Turns away whoever waits, after a failure.
    pub fn close(&self) {
        if let Some(gate) = &self.gate {
            gate.close();
        }
    }

    /// After all rows: whether some AUTO_INCREMENT values were generated and others given.
    pub fn ended_mixed(&self) -> bool {
        self.given.load(Ordering::SeqCst) && self.generated.load(Ordering::SeqCst)
    }

    /// After all rows: whether some AUTO_INCREMENT values were generated.
    pub fn has_generated(&self) -> bool {
        self.generated.load(Ordering::SeqCst)
    }

    /// Largest hidden row id of all rows; 0 before the first.
    pub fn row_id_max(&self) -> u64 {
        self.row_id_max.load(Ordering::SeqCst)
    }

    /// Next AUTO_INCREMENT value after all rows.
    pub fn next_auto_increment(&self) -> u64 {
        self.reached.lock().1
    }
}
