//! The search for the rows that a server refuses: which rows the next statement has.
//!
//! ```text
//! a statement is      refused, at a row that it names   those before the row, then the row alone
//!                     refused                           the first half
//!                     done                              half of the rest of a refused one, else twice as many
//! one row is          refused                           as many as were loaded since the refused row before it
//! ```
//!
//! However many rows are refused, each row is sent a few times: two to four times with names, three to six without.

/// The place in a chunk, and the size of the next statement.
#[derive(Debug)]
pub(super) struct Search {
    /// The next row.
    pub(super) at: usize,
    /// Most rows of the next statement.
    pub(super) rows_max: usize,
    /// The end of a statement that was refused for a row from `at` on; `at` or less if none is known.
    refused_end: usize,
    /// The row after the last refused one.
    since: usize,
}

impl Search {
    /// The first statement has as many rows as it may.
    pub(super) fn new() -> Search {
        Search { at: 0, rows_max: usize::MAX, refused_end: 0, since: 0 }
    }

    /// The next statement, of `count` rows, was done.
    pub(super) fn done(&mut self, count: usize) {
        self.at += count;
        self.rows_max = match self.refused_end.saturating_sub(self.at) {
            0 => self.rows_max.saturating_mul(2),
            rest => (rest / 2).max(1),
        };
    }

    /// The next statement, of `count` rows, at least two, was refused, for the row that it names from 1, if it names
    /// one.
    pub(super) fn refused(&mut self, count: usize, named: Option<usize>) {
        let named = named.filter(|row| (1..=count).contains(row));
        self.refused_end = self.at + named.unwrap_or(count);
        self.rows_max = named.map_or(count / 2, |row| row - 1).max(1);
    }

    /// The next row was refused alone.
    pub(super) fn pass_over(&mut self) {
        self.rows_max = (self.at - self.since).max(1);
        self.at += 1;
        self.since = self.at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `count` rows, of which each `nth` is refused; statements and rows sent.
    fn send(count: usize, nth: usize, names: bool) -> (usize, usize) {
        let (mut search, mut found) = (Search::new(), 0);
        let (mut statements, mut rows_sent) = (0, 0);
        while search.at < count {
            let rows = search.at..count.min(search.at.saturating_add(search.rows_max));
            statements += 1;
            rows_sent += rows.len();
            match rows.clone().find(|row| row % nth == nth - 1) {
                None => search.done(rows.len()),
                Some(_) if rows.len() == 1 => {
                    found += 1;
                    search.pass_over();
                }
                Some(row) => {
                    search.refused(rows.len(), names.then_some(row - rows.start + 1));
                }
            }
        }
        assert_eq!(found, count / nth, "{count} {nth} {names}");
        (statements, rows_sent)
    }

    #[test]
    fn rows_are_sent_a_few_times_however_many_are_refused() {
        for nth in [1, 2, 3, 10, 100, 1000, 7000, 20_000, 20_001] {
            for names in [true, false] {
                let (statements, rows) = send(20_000, nth, names);
                assert!(rows <= 7 * 20_000, "{nth} {names}: {rows} rows");
                let steps = if names { 5 } else { 2 * nth.ilog2() as usize + 5 };
                let refused = 20_000 / nth;
                assert!(statements <= steps * refused + 20, "{nth} {names}: {statements}");
            }
        }
    }

    /// A trigger's own words may end like a row's name.
    #[test]
    fn names_that_are_wrong_do_no_harm() {
        let mut search = Search::new();
        search.refused(10, Some(11));
        assert_eq!(search.rows_max, 5);
        search.refused(5, Some(1));
        search.done(1);
        // Named, but not refused alone.
        assert_eq!((search.at, search.rows_max), (1, 2));
    }
}
