//! AUTO_INCREMENT as LOAD DATA counts: which value a row without one gets, and where the table's
//! counter stands afterwards.
//!
//! The server reserves values in growing chunks (1, 2, 4, ... 65,535), so the counter may end
//! beyond the last value, and a value given by a row moves only what lies before it. Two cursors
//! do that: the statement's, within its chunk, and InnoDB's, behind it. Source: MariaDB 10.11,
//! sql/handler.cc `update_auto_increment`, `compute_next_insert_id`;
//! storage/innobase/handler/ha_innodb.cc `get_auto_increment`, `innobase_next_autoinc`,
//! `write_row`. Checked against 1,000 loads of random values.

/// Chunks grow to 2^16 - 1 values.
const CHUNK_BITS_MAX: u32 = 16;

/// The settings that determine a load's AUTO_INCREMENT values, apart from the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Where the table's counter stands.
    pub start: u64,
    /// `auto_increment_increment`.
    pub increment: u64,
    /// `auto_increment_offset`; at most the increment.
    pub offset: u64,
    /// A 0 in the input is 0: NO_AUTO_VALUE_ON_ZERO.
    pub zero_is_value: bool,
    /// True if chunks of values are reserved: unless `innodb_autoinc_lock_mode` is 0.
    pub reserves: bool,
    /// Which values may be generated.
    pub generates: Generates,
}

/// Which AUTO_INCREMENT values a load may generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generates {
    /// Any rows may have values.
    Any,
    /// All rows have values, or none: an INSERT with both reserves values that no row gets.
    AllOrNone,
    /// No row may have a value.
    None,
}

impl Series {
    /// 1, 2, 3, ... of a fresh table.
    #[cfg(test)]
    pub const PLAIN: Series = Series {
        start: 1,
        increment: 1,
        offset: 1,
        zero_is_value: false,
        reserves: true,
        generates: Generates::Any,
    };

    /// Smallest value of the series above `value`; `u64::MAX` if there is none.
    fn after(&self, value: u64) -> u64 {
        let next = match self.increment {
            1 => value.checked_add(1),
            increment => (u128::from(value) + u128::from(increment) - u128::from(self.offset))
                .checked_div(u128::from(increment))
                .and_then(|count| (count * u128::from(increment)).try_into().ok())
                .and_then(|whole: u64| whole.checked_add(self.offset)),
        };
        next.unwrap_or(u64::MAX)
    }
}

/// InnoDB's values are `increment` apart, from `offset` on.
#[derive(Clone, Copy, Debug)]
struct TableStep {
    increment: u64,
    offset: u64,
}

/// Counts the rows of one load, in input order.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    series: Series,
    /// Largest value that InnoDB counts: of an integer type all, of FLOAT 2^24, of DOUBLE 2^53.
    counted_max: u64,
    /// Largest value the column takes.
    value_max: u64,
    /// InnoDB's counter: the table's AUTO_INCREMENT.
    table_next: u64,
    /// First value InnoDB has not given to the statement; 0 before it gave any.
    reserved_until: u64,
    /// Step and offset InnoDB goes by, which are those of its last chunk.
    table_step: TableStep,
    /// The statement's cursor, and the end of its chunk.
    next: u64,
    chunk_end: u64,
    chunks: u32,
    /// Values of the chunk that no row took yet.
    chunk_left: u64,
}

impl Counter {
    /// Counts as `series` says, up to `counted_max`; a column holds up to `value_max`.
    pub fn new(series: Series, counted_max: u64, value_max: u64) -> Counter {
        Counter {
            table_next: series.start.max(1),
            series,
            counted_max,
            value_max,
            reserved_until: 0,
            table_step: TableStep { increment: 1, offset: 0 },
            next: 0,
            chunk_end: 0,
            chunks: 0,
            chunk_left: 0,
        }
    }

    /// The table's AUTO_INCREMENT after the rows so far.
    pub(crate) fn table_next(&self) -> u64 {
        self.table_next
    }

    /// A row that gives a value above 0 itself.
    pub fn give(&mut self, value: u64) {
        if self.next > 0 && value >= self.next {
            self.next = self.series.after(value);
        }
        self.stored(value);
    }

    /// A row that gives a value, which does not count: 0 or less.
    pub fn skip(&mut self) {
        self.chunk_left = self.chunk_left.saturating_sub(1);
    }

    /// The value that is next, and the counter with what has to be reserved for it.
    fn value(&self) -> Option<(u64, Counter)> {
        let mut then = *self;
        let value = match then.next {
            next if next < then.chunk_end => next,
            _ => then.reserve()?,
        };
        (value <= then.value_max && value != u64::MAX).then_some((value, then))
    }

    /// The value of a row that gives none. `None`: the type has no further one, and the row is
    /// refused as if it had not been there.
    pub fn generate(&mut self) -> Option<u64> {
        let (value, mut then) = self.value()?;
        then.next = then.series.after(value);
        then.stored(value);
        *self = then;
        Some(value)
    }

    /// As [`Counter::generate`] of a row that turns out to be a duplicate, which LOAD DATA IGNORE
    /// leaves out: the next row gets the same value, but what was reserved stays so.
    pub(crate) fn generate_again(&mut self) -> Option<u64> {
        let (value, mut then) = self.value()?;
        then.skip();
        then.next = if self.next > 0 { self.next } else { value };
        *self = then;
        Some(value)
    }

    /// Takes a chunk from InnoDB; its first value.
    fn reserve(&mut self) -> Option<u64> {
        let Series { increment, offset, .. } = self.series;
        let wanted = match self.chunks {
            few @ 0..CHUNK_BITS_MAX => 1 << few,
            _ => (1 << CHUNK_BITS_MAX) - 1,
        };
        let first = if self.chunk_left == 0 || self.reserved_until == 0 {
            self.next.max(self.table_next)
        } else {
            self.next
        };
        if self.chunk_left == 0 {
            self.chunk_left = wanted;
        }
        let value = self.series.after(first.saturating_sub(1));
        let mut size = 0;
        if first > self.counted_max {
            self.reserved_until = 0;
        } else {
            size = self.chunk_left;
            let until = self.table_after(value, size, TableStep { increment, offset });
            if self.series.reserves {
                self.reserved_until = until;
                self.table_next = self.table_next.max(until);
            }
        }
        self.table_step = TableStep { increment, offset };
        if first == u64::MAX {
            return None;
        }
        self.chunk_end = value.saturating_add(size.saturating_mul(increment));
        self.chunks += 1;
        Some(value)
    }

    /// InnoDB has a row of this value.
    fn stored(&mut self, value: u64) {
        self.skip();
        if value >= self.reserved_until && value <= self.counted_max {
            self.table_next = self.table_next.max(self.table_after(value, 1, self.table_step));
        }
    }

    /// InnoDB's own arithmetic: `count` steps behind `value`.
    fn table_after(&self, value: u64, count: u64, step: TableStep) -> u64 {
        let TableStep { increment, offset } = step;
        if value > self.counted_max {
            return u64::MAX;
        }
        let distance = value.abs_diff(offset);
        let after = u128::from(distance - distance % increment)
            + u128::from(offset)
            + u128::from(count) * u128::from(increment);
        u64::try_from(after).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of a column, as the rows give them: 0 for none.
    fn count(mut counter: Counter, rows: &[i64]) -> (Vec<Option<i64>>, u64) {
        let value = |row: &i64| match *row {
            0 => counter.generate().map(|value| value as i64),
            below @ i64::MIN..0 => {
                counter.skip();
                Some(below)
            }
            value => {
                counter.give(value as u64);
                Some(value)
            }
        };
        let values = rows.iter().map(value).collect();
        (values, counter.table_next())
    }

    /// As MariaDB 10.11.19 answered.
    #[test]
    fn values_and_counters_are_those_of_the_server() {
        let int = i32::MAX as u64;
        let by_5_from_3 = Series { increment: 5, offset: 3, ..Series::PLAIN };
        for (series, rows, values, next) in [
            (Series::PLAIN, &[0, 0, 0, 0, 0][..], &[1, 2, 3, 4, 5][..], 8),
            (by_5_from_3, &[0, 0, 0, 0, 0], &[3, 8, 13, 18, 23], 38),
            (by_5_from_3, &[0, 7, 0, 8, 0], &[3, 7, 8, 8, 13], 18),
            (by_5_from_3, &[7, 0, 0], &[7, 8, 13], 23),
            (by_5_from_3, &[-5, 0, -6, 0], &[-5, 3, -6, 8], 18),
            (by_5_from_3, &[2, 0], &[2, 3], 8),
            (Series { start: 100, ..by_5_from_3 }, &[0, 0], &[103, 108], 118),
            (Series { start: 98, ..by_5_from_3 }, &[0, 0], &[98, 103], 113),
            (Series { reserves: false, ..by_5_from_3 }, &[5, 13, 0], &[5, 13, 18], 23),
        ] {
            let counter = Counter::new(series, int, int);
            let expected = values.iter().copied().map(Some).collect();
            assert_eq!(count(counter, rows), (expected, next), "{rows:?}");
        }
    }

    #[test]
    fn a_row_beyond_the_types_end_leaves_the_counter() {
        let tiny = Counter::new(Series::PLAIN, 127, 127);
        assert_eq!(count(tiny, &[0, 126, 0]), (vec![Some(1), Some(126), Some(127)], 129));
        let (values, next) = count(tiny, &[126, 0, 0, 5, 0]);
        assert_eq!(values, [Some(126), Some(127), None, Some(5), None]);
        assert_eq!(next, 128);
        let big = Counter::new(Series::PLAIN, u64::MAX, u64::MAX);
        let mut last = big;
        last.give(u64::MAX - 2);
        assert_eq!(last.generate(), Some(u64::MAX - 1));
        assert_eq!(last.generate(), None);
    }

    /// As LOAD DATA IGNORE counts rows that are duplicates in another key.
    #[test]
    fn a_duplicate_leaves_its_value_to_the_next_row() {
        let series = Series { increment: 5, offset: 2, ..Series::PLAIN };
        let mut counter = Counter::new(series, i32::MAX as u64, i32::MAX as u64);
        counter.give(34);
        counter.skip();
        assert_eq!(counter.generate_again(), Some(37));
        assert_eq!(counter.table_next(), 42);
        let mut counter = Counter::new(Series::PLAIN, 127, 127);
        assert_eq!(counter.generate(), Some(1));
        let values: Vec<_> = (0..4).map(|_| counter.generate_again()).collect();
        assert_eq!(values, [Some(2); 4]);
        assert_eq!(counter.table_next(), 4);
    }

    /// InnoDB does not count what a DOUBLE cannot tell apart.
    #[test]
    fn a_double_is_counted_to_its_precision() {
        let double = Counter::new(Series::PLAIN, 1 << 53, u64::MAX);
        let limit = 1i64 << 53;
        let (values, next) = count(double, &[limit, 0, 0]);
        assert_eq!(values, [Some(limit), Some(limit + 1), Some(limit + 2)]);
        assert_eq!(next, (1 << 53) + 1);
        let far = 9_200_000_000_000_000_000;
        assert_eq!(count(double, &[far, 0, 0]), (vec![Some(far), Some(1), Some(2)], 4));
        assert_eq!(count(double, &[0, far, 0]), (vec![Some(1), Some(far), Some(far + 1)], 2));
    }
}
