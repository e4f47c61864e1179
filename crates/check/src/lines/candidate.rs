//! Lines whose row of an entity has a fault: such a line is bad only if the row is made from it.
//!
//! ```text
//! entity   line 2 (fault)  line 5 (fault)  line 7        line 9 (fault)
//!          bad: it stands  bad: stands     stands        good: line 7 has the row
//!          for the row     without line 2
//! ```
//!
//! With `on_conflict = "last"` the lines of an entity count from the last one on.

use std::collections::{HashMap, HashSet};

use encode::mapped::{Gathering, LineAt};
use encode::rejects::Reject;

/// A line that is bad if it stands for one of some entities, and is good in all else.
pub(super) struct Candidate {
    pub(super) at: LineAt,
    /// Its rows of entities.
    pub(super) rows: Vec<EntityRow>,
    /// All faults of those rows.
    pub(super) reject: Reject,
}

/// A row of an entity, as a line has it; a value that is to be unique counts as one.
pub(super) struct EntityRow {
    /// Number of the table, or of the rule behind those.
    pub(super) table: usize,
    pub(super) key: Box<[u8]>,
    /// Digest of what the line says of it.
    pub(super) digest: u64,
    pub(super) is_faulty: bool,
}

/// Keys of entities that a table has rows of already.
pub(super) type Keys = HashSet<Box<[u8]>>;

/// The entities of good lines.
pub(super) struct Entities {
    /// One a table whose rows are such, and behind those one a rule for unique values.
    pub(super) gathered: Vec<Option<Gathering>>,
    /// Those of them that have a row in the table which is kept, as far as that was asked.
    pub(super) kept: Vec<Keys>,
}

impl Entities {
    /// True if a row of an entity is made from a line at this place, beside the good lines so far.
    pub(super) fn would_stand(&self, table: usize, key: &[u8], at: LineAt) -> bool {
        let gathered = self.gathered[table].as_ref();
        !self.kept[table].contains(key)
            && gathered.is_none_or(|all| all.would_stand(key, at.place()))
    }

    /// True if the last line of an entity stands for it.
    pub(super) fn has_last(&self, table: usize) -> bool {
        self.gathered[table].as_ref().is_some_and(Gathering::has_last)
    }
}

impl Candidate {
    /// True if a row with a fault is made from it, beside the good lines so far.
    pub(super) fn stands(&self, entities: &Entities) -> bool {
        let is_made = |row: &EntityRow| entities.would_stand(row.table, &row.key, self.at);
        self.rows.iter().any(|row| row.is_faulty && is_made(row))
    }

    /// True if lines behind it decide.
    pub(super) fn waits_for_last(&self, entities: &Entities) -> bool {
        self.rows.iter().any(|row| row.is_faulty && entities.has_last(row.table))
    }
}

/// Which of these lines are bad, all others being gathered that count: one a line, in their order.
///
/// A bad line goes to no table. So the next line of each of its entities stands for that, and is bad if its
/// row has a fault.
pub(super) fn bad_among(candidates: &[Candidate], entities: &Entities) -> Vec<bool> {
    let mut lines: Vec<usize> = (0..candidates.len()).collect();
    lines.sort_by_key(|&line| candidates[line].at);
    let mut queues: HashMap<(usize, &[u8]), Vec<usize>> = HashMap::new();
    for &line in &lines {
        for row in &candidates[line].rows {
            queues.entry((row.table, &row.key)).or_default().push(line);
        }
    }
    // The one that would stand for the entity comes last.
    for ((table, _), queue) in &mut queues {
        if !entities.has_last(*table) {
            queue.reverse();
        }
    }
    let mut is_bad = vec![false; candidates.len()];
    let mut open: Vec<(usize, &[u8])> = queues.keys().copied().collect();
    while let Some((table, key)) = open.pop() {
        let Some(queue) = queues.get_mut(&(table, key)) else { continue };
        while queue.pop_if(|line| is_bad[*line]).is_some() {}
        let Some(&line) = queue.last() else { continue };
        let Candidate { at, rows, .. } = &candidates[line];
        let is_row = |row: &&EntityRow| row.table == table && row.is_faulty;
        if rows.iter().any(|row| is_row(&row)) && entities.would_stand(table, key, *at) {
            is_bad[line] = true;
            open.extend(rows.iter().map(|row| (row.table, &*row.key)));
        }
    }
    is_bad
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use job::position::{Position, RefusedRow};

    use super::*;

    fn at(line: u64) -> LineAt {
        LineAt { file: 0, offset: line * 10, line, bytes: 10 }
    }

    /// A line with rows of two entities, `!` before the key of one with a fault.
    fn candidate(line: u64, keys: [&str; 2]) -> Candidate {
        let row = |(table, key): (usize, &str)| EntityRow {
            table,
            key: key.trim_start_matches('!').as_bytes().into(),
            digest: 0,
            is_faulty: key.starts_with('!'),
        };
        let rows = keys.into_iter().enumerate().filter(|(_, key)| !key.is_empty()).map(row);
        let position = Position { file: "in.csv".into(), line, offset: None, part: None };
        let (field, column, value, reason) = (None, None, None, String::new());
        let row = RefusedRow { position, field, column, value, reason };
        let reject = Reject { row, class: String::new(), also: Vec::new(), raw: Vec::new() };
        Candidate { at: at(line), rows: rows.collect(), reject }
    }

    /// The bad ones of some lines, beside good lines with a row of the first entity. The last line
    /// counts for the second entity.
    fn bad(lines: &[(u64, [&str; 2])], good: &[(u64, &str)], kept: &[&str]) -> Vec<u64> {
        let gathered = vec![Some(Gathering::new(false)), Some(Gathering::new(true))];
        for (line, key) in good {
            gathered[0].as_ref().unwrap().take(key.as_bytes(), at(*line), 0);
        }
        let kept = vec![kept.iter().map(|key| key.as_bytes().into()).collect(), Keys::new()];
        let candidates: Vec<_> = lines.iter().map(|(line, keys)| candidate(*line, *keys)).collect();
        let is_bad = bad_among(&candidates, &Entities { gathered, kept });
        lines.iter().zip(is_bad).filter(|(_, bad)| *bad).map(|((line, _), _)| *line).collect()
    }

    #[test]
    fn a_line_with_a_fault_is_bad_if_no_good_line_stands_before_it() {
        let two = [(5, ["!a", ""]), (2, ["!a", ""])];
        assert_eq!(bad(&two, &[], &[]), [5, 2]);
        assert_eq!(bad(&two, &[(3, "a")], &[]), [2]);
        assert_eq!(bad(&two, &[(1, "a")], &[]), [0; 0]);
        assert_eq!(bad(&two, &[(1, "b")], &["a"]), [0; 0]);
        // One whose fault does not count is as good as others.
        let through_another = [(2, ["!b", ""]), (1, ["a", "!x"]), (3, ["!a", "x"])];
        assert_eq!(bad(&through_another, &[], &[]), [2]);
    }

    #[test]
    fn where_last_lines_count_one_with_a_fault_is_bad_if_no_good_line_stands_behind_it() {
        assert_eq!(bad(&[(1, ["", "!x"]), (2, ["!a", "x"])], &[(1, "a")], &[]), [0; 0]);
        assert_eq!(bad(&[(1, ["", "!x"]), (2, ["!a", "x"])], &[], &[]), [1, 2]);
        // The bad line was the good one that others stood behind.
        let chain = [(1, ["!a", "x"]), (2, ["a", "!x"]), (3, ["!a", ""])];
        assert_eq!(bad(&chain, &[], &[]), [1, 2, 3]);
    }
}
