//! Rows for a table with partitions: what building a file for each would take, and what sending the rows.

use std::fmt;

use schema::Table;

use crate::estimate::Estimate;

/// What both ways take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Partitioned {
    partitions: usize,
    build_seconds: f64,
    send_seconds: f64,
}

impl Partitioned {
    /// By the estimates of a build of these files, and of the same rows sent; none of a table without
    /// partitions.
    pub(crate) fn of(table: &Table, built: &Estimate, sent: &Estimate) -> Option<Partitioned> {
        Some(Partitioned {
            partitions: table.partitioning.as_ref()?.partitions.len(),
            build_seconds: built.seconds_in_order(),
            send_seconds: sent.seconds_in_order(),
        })
    }

    /// Why rows that may be sent are sent.
    pub(crate) fn against_building(&self) -> Option<String> {
        (self.build_seconds > self.send_seconds).then(|| self.to_string())
    }
}

impl fmt::Display for Partitioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partitioned { partitions, build_seconds, send_seconds } = self;
        let them = if *partitions == 1 { "partition" } else { "partitions, a file each," };
        write!(
            f,
            "building its {partitions} {them} would take about {build_seconds:.1} s, sending the rows \
             about {send_seconds:.1} s"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speeds::Speeds;

    fn of(partitions: usize, rows: u64, (built, sent): (f64, f64)) -> Partitioned {
        let estimate = |seconds| Estimate { rows, ..Estimate::taking(seconds) };
        Partitioned {
            partitions,
            build_seconds: estimate(built)
                .in_partitions(partitions, &Speeds::default())
                .seconds_in_order(),
            send_seconds: estimate(sent).seconds_in_order(),
        }
    }

    #[test]
    fn few_rows_of_many_partitions_are_sent() {
        let few = of(128, 100_000, (0.3, 1.0));
        let reason = few.against_building().unwrap_or_default();
        assert!(
            reason.starts_with("building its 128 partitions, a file each, would take"),
            "{reason}"
        );
        assert!(reason.ends_with("sending the rows about 1.0 s"), "{reason}");
        assert_eq!(of(4, 20_000_000, (30.0, 120.0)).against_building(), None);
    }
}
