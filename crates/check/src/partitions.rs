//! A check that a partition takes the row: by the rules with which loads build files of partitions.
//!
//! A load tries these rules on the server before it uses them, in a table that it makes. A check makes
//! none.

use encode::fault::RowFault;
use encode::inspected::Inspected;
use encode::partition::{Router, Unplaced};
use encode::row_keys::{KeyPlan, KeyReader};
use schema::{PartitionMethod, Table};
use sources::Row;

/// Which partition takes a row.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    router: Router,
    /// The columns that the router looks at.
    plan: KeyPlan,
}

/// Tells the partitions of rows, for one worker.
#[derive(Debug)]
pub(crate) struct Placer<'a> {
    router: &'a Router,
    columns: KeyReader,
    key: Vec<u8>,
    /// Rows of which it is not known whether a partition takes them.
    pub(crate) unknown: u64,
}

impl Partitions {
    /// The router of a table; none if it has no partitions, or if its partitions take all rows.
    ///
    /// Errors: why that is not judged.
    pub(crate) fn of(table: &Table, inspected: &Inspected) -> Result<Option<Partitions>, String> {
        let Some(by) = &table.partitioning else { return Ok(None) };
        if by.method == Some(PartitionMethod::Key) {
            return Ok(None);
        }
        let not_judged = |why: &str| format!("partitions of rows: {why}");
        if let Some(why) = by.unfit() {
            return Err(not_judged(why));
        }
        let router = Router::new(table, by, &inspected.convert, &inspected.collations);
        let router = router.map_err(|why| not_judged(&why))?;
        if router.takes_all() {
            return Ok(None);
        }
        let bound = |position: &usize| {
            let name = &table.columns[*position].name;
            let bound = inspected.columns.iter().find(|bound| bound.column.name == *name);
            let is_told = |column: &schema::Column| column.generated.is_none();
            let why = || not_judged(&format!("the server generates the values of `{name}`"));
            bound.filter(|bound| is_told(&bound.column)).ok_or_else(why)
        };
        let columns = router.columns().iter().map(bound).collect::<Result<Vec<_>, _>>()?;
        let plan = KeyPlan::of_columns(&columns, inspected.series.zero_is_value);
        Ok(Some(Partitions { router, plan }))
    }
}

impl<'a> Placer<'a> {
    pub(crate) fn new(Partitions { router, plan }: &'a Partitions) -> Placer<'a> {
        Placer { router, columns: KeyReader::new(plan.clone()), key: Vec::new(), unknown: 0 }
    }

    /// Why no partition takes a row. Values that their columns do not take are told of elsewhere, and
    /// numbers that are still to be generated are not known.
    pub(crate) fn fault<R: Row>(&mut self, row: R) -> Option<RowFault> {
        let Placer { router, columns, key, unknown } = self;
        if !columns.read(row) {
            return None;
        }
        let is_generated = (0..columns.columns()).any(|at| columns.stored(at).is_err());
        let placed = match is_generated {
            true => Err(Unplaced::Unknown(None)),
            false => router.place(|at| columns.stored(at).unwrap_or_default(), key),
        };
        match placed {
            Ok(_) => None,
            Err(Unplaced::Unknown(_)) => {
                *unknown += 1;
                None
            }
            Err(why) => Some(RowFault::unplaced(why)),
        }
    }
}
