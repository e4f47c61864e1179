//! A check that merging has a constant cost for each row of the table and each new one, however many there
//! are.

use super::way::{InsertWay, Run, Step};
use crate::figure::grouped;

/// The time of merges of one kind, on tables of one size.
pub(super) struct Merged {
    /// Benchmark, pool and batch.
    kind: String,
    rows: u64,
    /// Microseconds of each row that went through them.
    micros: f64,
}

impl Merged {
    /// The time of a step in a table of so many rows; none if it did not merge.
    pub(super) fn of(case: &str, rows: u64, run: &Run) -> Option<Merged> {
        let InsertWay::Inrush(percent) = run.way else { return None };
        let micros = micros(run).filter(|_| run.step == Step::More)?;
        Some(Merged { kind: format!("{case}, merged by {percent} %"), rows, micros })
    }
}

/// A line for each kind that there is of several sizes.
pub(super) fn lines(merged: &[Merged]) -> Vec<String> {
    let mut kinds: Vec<&str> = merged.iter().map(|one| one.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().filter_map(|kind| line(kind, merged)).collect()
}

fn line(kind: &str, merged: &[Merged]) -> Option<String> {
    let of_kind: Vec<&Merged> = merged.iter().filter(|one| one.kind == kind).collect();
    let micros = || of_kind.iter().map(|one| one.micros);
    let (least, most) = (micros().fold(f64::MAX, f64::min), micros().fold(f64::MIN, f64::max));
    let of = |one: &&Merged| format!("{:.2} us at {} rows", one.micros, grouped(one.rows as f64));
    let all: Vec<String> = of_kind.iter().map(of).collect();
    (all.len() > 1).then(|| {
        format!(
            "{kind}: each row of the table and of the batch took {}; {:.2} times from least to most",
            all.join(", "),
            most / least.max(f64::MIN_POSITIVE)
        )
    })
}

/// Microseconds of each row that was merged, old or new; none where rows were sent.
fn micros(run: &Run) -> Option<f64> {
    let is_merged = !run.loads.is_empty() && run.loads.iter().all(|load| load.path == "direct");
    let behind = |at: u64| run.rows_before + (at * run.batch_rows).min(run.rows);
    let merged: u64 = (1..=run.loads.len() as u64).map(behind).sum();
    let seconds: f64 = run.loads.iter().map(|load| load.seconds).sum();
    is_merged.then(|| seconds * 1e6 / merged.max(1) as f64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::clock::Took;
    use crate::insert::meter::Counters;
    use crate::insert::way::{Buffering, InrushLoad};

    /// A table to which a fifth was added by two loads.
    fn merged(rows: u64, path: &str, seconds: f64) -> Option<Merged> {
        let load = InrushLoad { path: path.to_owned(), seconds, expected_seconds: None };
        let run = Run {
            step: Step::More,
            way: InsertWay::Inrush(10),
            buffering: Buffering::None,
            batch_rows: rows / 10,
            rows_before: rows,
            rows: rows / 5,
            is_whole: true,
            took: Took { seconds: 9.0, server_cpu_seconds: 0.0, client_cpu_seconds: 0.0 },
            index_seconds: None,
            settle_seconds: 0.0,
            change_buffer_pages: None,
            io: Counters::default(),
            points: Vec::new(),
            loads: vec![load.clone(), load],
        };
        Merged::of("iibench-mc, small", rows, &run)
    }

    #[test]
    fn what_a_row_costs_is_told_by_size() {
        // 1.1 and 1.2 times the rows went through them.
        let both = [merged(1_000, "direct", 0.00115), merged(2_000, "direct", 0.0046)];
        let line = "iibench-mc, small, merged by 10 %: each row of the table and of the batch took 1.00 us at \
                    1,000 rows, 2.00 us at 2,000 rows; 2.00 times from least to most";
        assert_eq!(lines(&both.map(Option::unwrap)), [line]);
    }

    #[test]
    fn one_size_tells_nothing_and_rows_that_are_sent_are_not_merged() {
        assert!(lines(&[merged(1_000, "direct", 1.0).unwrap()]).is_empty());
        assert!(merged(1_000, "stream", 1.0).is_none());
    }
}
