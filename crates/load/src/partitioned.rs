//! Rows for a table with partitions: what building a file for each would take, and what sending the rows;
//! and which of them get rows, as far as the first ones tell.

use std::collections::BTreeSet;
use std::fmt;

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::field;
use encode::inspected::Inspected;
use encode::partition::Router;
use job::error::Error;
use schema::{Flavor, Index, IndexColumn, Table, TableName};
use serde::{Deserialize, Serialize};
use server::Session;
use server::filename::filename;
use server::identifier::quote_text;
use sources::{Batch, Chunk, Rows, Source, Visit};

use crate::estimate::{Estimate, SAMPLE_ROWS};
use crate::first_chunk::first_chunk;

/// Times of both methods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Partitioned {
    partitions: usize,
    build_seconds: f64,
    send_seconds: f64,
}

impl Partitioned {
    /// By the estimates of a build of so many files, and of the same rows sent.
    pub(crate) fn of(partitions: usize, built: &Estimate, sent: &Estimate) -> Partitioned {
        Partitioned {
            partitions,
            build_seconds: built.seconds_in_order(),
            send_seconds: sent.seconds_in_order(),
        }
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
            "building its {partitions} {them} would take about {build_seconds:.1} s; sending the \
             rows about {send_seconds:.1} s"
        )
    }
}

/// The parts of a table with rows that are built anew, with the new ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// All of it: it has no partitions.
    Table,
    /// The partition that all rows go to, as far as the first ones tell; one of so many.
    One(String, usize),
    /// All of so many partitions.
    All(usize),
    /// All of so many partitions, because MySQL exchanges none of a table that was altered instantly.
    Altered(usize),
}

impl Scope {
    /// By the first rows; by the last partition where these do not tell.
    pub(crate) fn of(
        table: &Table,
        inspected: &Inspected,
        source: &mut dyn Source,
        session: &mut Session,
    ) -> Result<Scope, Error> {
        let Some(by) = &table.partitioning else { return Ok(Scope::Table) };
        let count = by.partitions.len();
        if was_altered(session, table)? {
            return Ok(Scope::Altered(count));
        }
        let reached = reached(source, inspected)?;
        let place = reached.first().copied().unwrap_or(count.saturating_sub(1));
        Ok(match by.partitions.get(place) {
            Some(partition) if reached.len() <= 1 && has_key(table) => {
                Scope::One(partition.name.clone(), count)
            }
            _ => Scope::All(count),
        })
    }

    /// The same where rows turn out to go to several partitions.
    pub(crate) fn widened(&self) -> Option<Scope> {
        match self {
            Scope::One(_, count) => Some(Scope::All(*count)),
            Scope::Table | Scope::All(_) | Scope::Altered(_) => None,
        }
    }

    /// Partitions that are built and exchanged.
    pub(crate) fn partitions(&self) -> usize {
        match self {
            Scope::Table => 0,
            Scope::One(..) => 1,
            Scope::All(count) | Scope::Altered(count) => *count,
        }
    }
}

/// True if partitions of a table of MySQL were altered instantly, as far as the account may look.
fn was_altered(session: &mut Session, table: &Table) -> Result<bool, Error> {
    if session.version().flavor != Flavor::MySql {
        return Ok(false);
    }
    let TableName { database, table } = &table.name;
    let name = format!("{}/{}", filename(session, database)?, filename(session, table)?);
    let altered = session.query_text(&format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TABLES \
         WHERE SUBSTRING_INDEX(NAME, '#p#', 1)={} AND TOTAL_ROW_VERSIONS > 0",
        quote_text(&name)
    ));
    Ok(altered.is_ok_and(|count| count.is_some_and(|count| count != "0")))
}

/// True if InnoDB orders rows by a key of the table. Hidden row ids go on after those of all
/// partitions.
fn has_key(table: &Table) -> bool {
    let is_null = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name);
        column.is_none_or(|column| column.nullable)
    };
    let is_key = |index: &Index| {
        let whole = |part: &IndexColumn| part.prefix.is_none() && !is_null(&part.name);
        index.name == "PRIMARY" || index.unique && index.columns.iter().all(whole)
    };
    table.indexes.iter().any(is_key)
}

/// The partitions that the first rows go to; none where that cannot be told.
fn reached(source: &mut dyn Source, inspected: &Inspected) -> Result<BTreeSet<usize>, Error> {
    let Some(router) = &inspected.router else { return Ok(BTreeSet::new()) };
    let columns = router.columns().iter().map(|column| &inspected.columns[*column]);
    let reaching = Reaching { router, columns: columns.collect() };
    if reaching.columns.iter().any(|bound| matches!(bound.input, Input::AutoIncrement(_))) {
        return Ok(BTreeSet::new());
    }
    let seen =
        first_chunk(source, None, |chunk: &Chunk, batch: &Batch| batch.visit(chunk, reaching))?;
    Ok(seen.map_or_else(BTreeSet::new, |seen| seen.found))
}

/// Tells where the first rows go.
struct Reaching<'a> {
    router: &'a Router,
    /// Those that say it.
    columns: Vec<&'a BoundColumn>,
}

impl Visit for Reaching<'_> {
    type Output = BTreeSet<usize>;

    fn rows<R: Rows>(self, rows: R) -> BTreeSet<usize> {
        let Reaching { router, columns } = self;
        let mut converters: Vec<_> = columns.iter().map(|bound| bound.converter.clone()).collect();
        let mut values: Vec<Option<Vec<u8>>> = vec![None; columns.len()];
        let (mut scratch, mut key, mut reached) = (Vec::new(), Vec::new(), BTreeSet::new());
        for row in rows.iter().take(SAMPLE_ROWS) {
            for ((value, bound), converter) in values.iter_mut().zip(&columns).zip(&mut converters)
            {
                *value = match &bound.input {
                    Input::Constant(constant) => constant.clone(),
                    input => {
                        let mut stored = Vec::new();
                        let given = field::value(row, input.field(), &mut scratch);
                        let is_value = converter.convert_value(given, &mut stored) == Ok(true);
                        is_value.then_some(stored)
                    }
                };
            }
            // One that goes nowhere is refused when the load comes to it.
            reached.extend(router.place(|at| values[at].as_deref(), &mut key).ok());
        }
        reached
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::speeds::Speeds;

    fn of(partitions: usize, rows: u64, built: f64, sent: f64) -> Partitioned {
        let estimate = |seconds| Estimate { rows, ..Estimate::taking(seconds) };
        let built = estimate(built).in_partitions(partitions, &Speeds::before_any(Flavor::MariaDb));
        Partitioned::of(partitions, &built, &estimate(sent))
    }

    #[test]
    fn few_rows_of_many_partitions_are_sent() {
        let few = of(128, 100_000, 0.3, 1.0);
        let reason = few.against_building().unwrap_or_default();
        assert!(
            reason.starts_with("building its 128 partitions, a file each, would take"),
            "{reason}"
        );
        assert!(reason.ends_with("sending the rows about 1.0 s"), "{reason}");
        assert_eq!(of(4, 20_000_000, 30.0, 120.0).against_building(), None);
    }
}
