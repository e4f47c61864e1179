//! Numbers that depend on every row before: AUTO_INCREMENT values and hidden row ids.
//!
//! Chunks are converted in parallel, so each takes its numbers in input order
//! right after it was cut into rows, before anything is converted. Only tables
//! that need such numbers pay for it.

use std::sync::Mutex;

use sources::{Rows, Value};
use values::{Converter, SqlType};

use crate::binding::{Binding, Input};
use crate::duplicates::gate::LeftOut;
use crate::encode::{Line, RowNumbers};
use crate::turn::{Closed, Turnstile};

/// What each chunk passes to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    auto_increment: u64,
    row_id: u64,
    /// Whether the input gave a value, and whether one was generated.
    has_given: bool,
    has_generated: bool,
}

/// Gives out numbers in chunk order.
#[derive(Debug)]
pub(crate) struct Sequence {
    gate: Option<Turnstile<Next>>,
    /// Largest AUTO_INCREMENT value that the table will hold, plus one.
    next_auto_increment: Mutex<u64>,
}

/// The numbers of one chunk's rows.
#[derive(Debug)]
pub(crate) struct ChunkNumbers {
    first_row_id: u64,
    /// The generated value of each row that has none in the input, if the table has an
    /// AUTO_INCREMENT column.
    auto_increment: Vec<Option<u64>>,
    /// What the input says of each row.
    given: Vec<Given>,
}

impl ChunkNumbers {
    pub(crate) fn new() -> ChunkNumbers {
        ChunkNumbers { first_row_id: 0, auto_increment: Vec::new(), given: Vec::new() }
    }

    /// The numbers of row `row` of the chunk.
    #[inline]
    pub(crate) fn of(&self, row: usize) -> RowNumbers {
        RowNumbers {
            auto_increment: self.auto_increment.get(row).copied().flatten(),
            row_id: self.first_row_id + row as u64,
        }
    }
}

impl Sequence {
    /// Numbers for a table whose AUTO_INCREMENT goes on at `auto_increment`.
    pub(crate) fn new(binding: &Binding, auto_increment: u64) -> Sequence {
        let needed = binding.auto_increment.is_some() || binding.clustered.has_row_id;
        let next = Next {
            auto_increment: auto_increment.max(1),
            row_id: 1,
            has_given: false,
            has_generated: false,
        };
        Sequence {
            gate: needed.then(|| Turnstile::new(next)),
            next_auto_increment: Mutex::new(next.auto_increment),
        }
    }

    /// Numbers the rows of chunk `ordinal`; waits for the chunks before. Rows in `left_out` get the
    /// number they would have had, and the next row has it too.
    pub(crate) fn take(
        &self,
        ordinal: u64,
        chunk: &[u8],
        rows: &Rows,
        left_out: &LeftOut,
        explicit: &mut Explicit,
        numbers: &mut ChunkNumbers,
    ) -> Result<(), Closed> {
        let Some(gate) = &self.gate else { return Ok(()) };
        numbers.auto_increment.clear();
        explicit.collect(chunk, rows, &mut numbers.given);
        let mut turn = gate.wait(ordinal)?;
        let next = turn.state();
        numbers.first_row_id = next.row_id;
        next.row_id += rows.len() as u64;
        for (row, given) in numbers.given.iter().enumerate() {
            let (used, generated) = match *given {
                Given::Nothing => (next.auto_increment, Some(next.auto_increment)),
                Given::Value(value) => (value, None),
                Given::Uncounted => (0, None),
            };
            next.has_given |= generated.is_none();
            next.has_generated |= generated.is_some();
            if used <= explicit.max && !left_out.has(row) {
                next.auto_increment = next.auto_increment.max(used.saturating_add(1));
            }
            numbers.auto_increment.push(generated);
        }
        let reached = next.auto_increment;
        turn.pass();
        if let Ok(mut last) = self.next_auto_increment.lock() {
            *last = reached.max(*last);
        }
        Ok(())
    }

    /// Turns away whoever waits, after a failure.
    pub(crate) fn close(&self) {
        if let Some(gate) = &self.gate {
            gate.close();
        }
    }

    /// After all rows: whether some AUTO_INCREMENT values were generated and others given.
    pub(crate) fn ended_mixed(self) -> bool {
        self.gate.is_some_and(|gate| {
            let next = gate.into_state();
            next.has_given && next.has_generated
        })
    }

    /// Next AUTO_INCREMENT value after all rows.
    pub(crate) fn next_auto_increment(&self) -> u64 {
        self.next_auto_increment.lock().map_or(1, |last| *last)
    }
}

/// What the input says of a row's AUTO_INCREMENT value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// NULL or 0, or it has no field for it: a value is generated.
    Nothing,
    /// This value, which later ones must exceed.
    Value(u64),
    /// A negative value, or one that will be refused: later ones do not depend on it.
    Uncounted,
}

/// Finds the AUTO_INCREMENT values that the input itself gives.
#[derive(Debug)]
pub(crate) struct Explicit {
    field: Option<usize>,
    converter: Option<Converter>,
    signed_bits: Option<u32>,
    /// Largest value of the column's type that counts for AUTO_INCREMENT.
    max: u64,
    stored: Vec<u8>,
    scratch: Vec<u8>,
}

impl Explicit {
    pub(crate) fn new(binding: &Binding) -> Explicit {
        let bound = binding.auto_increment.map(|column| &binding.columns[column]);
        let field = match bound.map(|bound| &bound.input) {
            Some(Input::AutoIncrement(field)) => *field,
            _ => None,
        };
        let (signed_bits, max) = match bound.map(|bound| &bound.column.sql_type) {
            Some(SqlType::Integer { bytes, unsigned }) => {
                let bits = u32::from(*bytes) * 8;
                let max = u64::MAX >> (64 - bits) >> u32::from(!unsigned);
                ((!unsigned).then_some(bits), max)
            }
            _ => (None, u64::MAX),
        };
        Explicit {
            field,
            converter: bound.map(|bound| bound.converter.clone()),
            signed_bits,
            max,
            stored: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// What the input says, row by row. A value that cannot be converted is refused when its row
    /// is encoded.
    fn collect(&mut self, chunk: &[u8], rows: &Rows, given: &mut Vec<Given>) {
        given.clear();
        let Some(converter) = &mut self.converter else { return };
        for row in rows.iter() {
            let line = Line { chunk, rows, row };
            let field = self.field.filter(|&field| field < line.row.field_count());
            given.push(match field.map(|field| line.value(field, &mut self.scratch)) {
                None | Some(Value::Null) => Given::Nothing,
                Some(Value::Bytes(text)) => {
                    self.stored.clear();
                    match converter.convert(text, &mut self.stored) {
                        Ok(()) => read_integer(&self.stored, self.signed_bits),
                        Err(_) => Given::Uncounted,
                    }
                }
            });
        }
    }
}

/// The number of a stored integer of so many bits, if it is signed.
fn read_integer(stored: &[u8], signed_bits: Option<u32>) -> Given {
    let number = stored.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let value = match signed_bits {
        None => Some(number),
        Some(bits) => number.checked_sub(1u64 << (bits - 1)),
    };
    match value {
        Some(0) => Given::Nothing,
        Some(value) => Given::Value(value),
        None => Given::Uncounted,
    }
}
