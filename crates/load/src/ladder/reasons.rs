//! What is said for a way and against it, by what the table and its rows are.

use encode::inspected::Inspected;
use job::error::Error;
use job::options::{LoadOptions, LoadPath, OnDuplicate, WithOthers};
use schema::{Table, quote_name};
use server::catalog;
use targets::Lock;

use super::refused::Refused;
use crate::partitioned::Scope;

/// Why the direct path is taken, when it is.
const WHY_DIRECT: &str =
    "the server's files are reachable and the table has nothing the direct path cannot build";

/// What is said instead of adding rows that may be there.
pub(super) const WAS_EXTENDED: &str = "a load that was killed at its very end had added all its rows; the same \
                            command adds this input's now";

/// Why a way is taken.
pub(super) fn why(
    path: LoadPath,
    (options, table, scope): (&LoadOptions, &Table, Option<&Scope>),
    refused: &[Refused],
) -> String {
    if path == LoadPath::Direct {
        let parts = table.partitioning.as_ref().map(|by| by.partitions.len());
        return match (parts, scope) {
            (None, _) => WHY_DIRECT.to_owned(),
            (Some(_), Some(Scope::One(..))) => format!(
                "{WHY_DIRECT}: the partition that gets rows is built anew with those that it has, and \
                 exchanged with ALTER TABLE .. EXCHANGE PARTITION, which reads all rows; the others stay \
                 as they are"
            ),
            (Some(parts), Some(_)) => format!(
                "{WHY_DIRECT}: rows go to several of its {parts} partitions, so that all of them are built \
                 anew with those that they have, and exchanged into a new table with ALTER TABLE .. \
                 EXCHANGE PARTITION, which reads all rows"
            ),
            (Some(parts), None) => format!(
                "{WHY_DIRECT}: each of its {parts} partitions that gets rows is built as a table, and \
                 exchanged into a new one with ALTER TABLE .. EXCHANGE PARTITION, which reads all rows"
            ),
        };
    }
    if options.path == path {
        return format!("--path {} asks for it", path.name());
    }
    Refused::sentences(refused).join("; ")
}

/// Why rows cannot be added to those there by building the table anew.
pub(super) fn against_merging(
    target: &mut Lock,
    options: &LoadOptions,
) -> Result<Option<String>, Error> {
    let ledger = target.names.ledger.clone();
    let is_partitioned = target.table.partitioning.is_some();
    Ok(if is_partitioned && options.on_duplicate != OnDuplicate::Fail {
        let rule = options.on_duplicate.name();
        Some(format!(
            "the table is not empty, and has partitions: --on-duplicate {rule} looks for rows that lose \
             before it is known which of these get rows"
        ))
    } else if options.with_others != WithOthers::Alone {
        Some("the table is not empty, and rows are added to one table of a command only".to_owned())
    } else if options.on_duplicate.replaces() && target.table.is_referred_to() {
        let rule = options.on_duplicate.name();
        Some(format!(
            "the table is not empty, --on-duplicate {rule} takes rows out of it, and others may refer to \
             these"
        ))
    } else if catalog::exists(&mut target.session, &ledger)? {
        Some(format!(
            "a load by statements was interrupted, and {ledger} says which of its rows are in: the same \
             command goes on with the others"
        ))
    } else {
        None
    })
}

/// Why a row that takes the place of another is not what INSERT .. ON DUPLICATE KEY UPDATE makes of
/// that: it keeps what the input has no field for, and with a second unique key it may be refused.
pub(super) fn against_replacing_whole_rows(table: &Table, inspected: &Inspected) -> Option<String> {
    let has_field = |column: usize| inspected.fields.columns.contains(&Some(column));
    let kept = (0..table.columns.len()).find(|column| !has_field(*column));
    if let Some(column) = kept {
        let name = quote_name(&table.columns[column].name);
        return Some(format!(
            "--on-duplicate update keeps {name} of rows that are there, since the input has no field for \
             it: only INSERT does that"
        ));
    }
    let unique = table.indexes.iter().filter(|index| index.unique).count();
    (unique > 1).then(|| {
        format!("--on-duplicate update of a table with {unique} unique keys is only had by INSERT")
    })
}

/// The sentence for a table that has rows already; `was_swapped` if they are those of a load that
/// was killed after its swap.
pub(crate) fn not_empty(was_swapped: bool) -> String {
    let said = if was_swapped {
        "a load that was killed at its very end had put all its rows in; --mode replace would put this \
         input's in their place"
    } else {
        "the table is not empty; --mode append adds the input's rows to those there, --mode replace puts \
         them in their place"
    };
    said.to_owned()
}
