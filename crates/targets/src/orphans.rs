//! Rows that refer to rows which are not there.
//!
//! The server joins the two tables by the key of the parent. Its foreign keys compare what is stored,
//! which is other than values where types are not the same on both sides: see [`Equal`].

use crate::staging_database::Waiting;
use catalog::{self, definition, references};
use schema::{Reference, Table, TableName};
use server::error::{Error, Orphans, Result};
use server::identifier::quote_name;
use server::session::{Row, Session};
use server::version::Flavor;
use values::SqlType;
use values::key::fixed_width;

/// Keys that an error names.
const KEYS_NAMED: usize = 3;

/// Looks whether `rows` of a filled table refer to rows that are there: in the table that is, or in
/// that which is published with it.
///
/// Errors: [`Error::Orphans`].
pub(super) fn check_rows(
    session: &mut Session,
    table: &Table,
    reference: &Reference,
    rows: &TableName,
    filled: &Waiting,
) -> Result<()> {
    let parent = filled.get(&reference.parent).unwrap_or(&reference.parent);
    let equal = equal(session, table, reference)?;
    let Some(keys) = orphans(session, reference, &equal, rows, parent)? else { return Ok(()) };
    Err(Error::Orphans(Box::new(Orphans {
        child: table.name.to_string(),
        constraint: reference.name.clone(),
        columns: reference.columns.join(", "),
        parent: reference.parent.to_string(),
        keys,
        is_new: true,
    })))
}

/// Looks whether rows of another table, `child`, refer to rows that a filled one has.
///
/// Errors: [`Error::Orphans`].
pub(super) fn check_children(
    session: &mut Session,
    child: &TableName,
    table: &TableName,
    rows: &TableName,
) -> Result<()> {
    let definition = definition(session, child)?;
    for reference in references(&definition, &child.database) {
        if reference.parent != *table {
            continue;
        }
        let own = catalog::read(session, child)?;
        let equal = equal(session, &own, &reference)?;
        let Some(keys) = orphans(session, &reference, &equal, child, rows)? else { continue };
        return Err(Error::Orphans(Box::new(Orphans {
            child: child.to_string(),
            constraint: reference.name,
            columns: reference.columns.join(", "),
            parent: table.to_string(),
            keys,
            is_new: false,
        })));
    }
    Ok(())
}

/// Some keys of rows in `child` that no row of `parent` has, in words; none if there are no such rows.
fn orphans(
    session: &mut Session,
    reference: &Reference,
    equal: &[Equal],
    child: &TableName,
    parent: &TableName,
) -> Result<Option<String>> {
    let columns: Vec<String> = reference
        .columns
        .iter()
        .map(|name| format!("{}.{}", child.quoted(), quote_name(name)))
        .collect();
    let is_key: Vec<String> = columns.iter().map(|name| format!("{name} IS NOT NULL")).collect();
    let limit = KEYS_NAMED + 1;
    let (keys, is_key, base) = (columns.join(", "), is_key.join(" AND "), child.base());
    let sql = if catalog::exists(session, parent)? {
        let alias = parent_alias(parent);
        let other = |name: &String| format!("{alias}.{}", quote_name(name));
        let on = columns.iter().zip(&reference.parent_columns).zip(equal);
        let on: Vec<String> =
            on.map(|((own, name), equal)| equal.condition(own, &other(name))).collect();
        let first = other(&reference.parent_columns[0]);
        // By the parent's index, whatever the server thinks that there is in a new table. Nobody writes to
        // either, and no transaction has rows of them that are not committed: no row is to be locked.
        let by_index = match session.version().flavor {
            Flavor::MariaDb => "SET STATEMENT join_cache_level=0 FOR ",
            Flavor::MySql => "",
        };
        format!(
            "{by_index}SELECT {keys} FROM {base} \
             LEFT JOIN {base_of_parent} ON {} WHERE {is_key} AND {first} IS NULL LIMIT {limit}",
            on.join(" AND "),
            base_of_parent = parent.base_as(&alias)
        )
    } else {
        format!("SELECT {keys} FROM {base} WHERE {is_key} LIMIT {limit}")
    };
    let found = session.query(&sql)?;
    Ok((!found.is_empty()).then(|| told(&found, columns.len())))
}

/// The alias of a table as the parent, whose child may be the table itself. A connection that locks tables has to
/// lock it too.
pub(super) fn parent_alias(parent: &TableName) -> String {
    quote_name(&parent.to_string())
}

/// The equality of a foreign key in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equal {
    Values,
    /// The numbers of labels, whatever these are.
    Numbers,
    /// Nothing: values are stored in other places, or in more bytes.
    Nothing,
}

impl Equal {
    fn condition(self, own: &str, other: &str) -> String {
        match self {
            Equal::Values => format!("{other}={own}"),
            Equal::Numbers => format!("{other}+0={own}+0"),
            Equal::Nothing => "FALSE".to_owned(),
        }
    }

    /// Source: MariaDB 10.11, storage/innobase/rem/rem0cmp.cc, `cmp_cols_are_equal`, `cmp_data`: types
    /// of fixed bytes pass for each other, and are compared byte by byte.
    fn of(own: &SqlType, other: &SqlType) -> Equal {
        use SqlType::{DateTime, Decimal, Enum, Set, Time, Timestamp};
        let whole_bytes = |precision: &u8, scale: &u8| {
            let whole =
                SqlType::Decimal { precision: precision - scale, scale: 0, unsigned: false };
            fixed_width(&whole)
        };
        let is_alike = match (own, other) {
            (Enum { .. } | Set { .. }, Enum { .. } | Set { .. }) => {
                return if own == other { Equal::Values } else { Equal::Numbers };
            }
            (Decimal { precision, scale, .. }, Decimal { precision: p, scale: s, .. }) => {
                scale == s && whole_bytes(precision, scale) == whole_bytes(p, s)
            }
            (Time { .. }, Time { .. })
            | (DateTime { .. }, DateTime { .. })
            | (Timestamp { .. }, Timestamp { .. }) => fixed_width(own) == fixed_width(other),
            _ => true,
        };
        if is_alike { Equal::Values } else { Equal::Nothing }
    }
}

/// The equality of a table's foreign key, column by column.
fn equal(session: &mut Session, table: &Table, reference: &Reference) -> Result<Vec<Equal>> {
    use SqlType::{DateTime, Decimal, Enum, Set, Time, Timestamp};
    let own = table.types_of(&reference.columns);
    let is_told = |own: &Option<SqlType>| {
        matches!(
            own,
            Some(
                Decimal { .. }
                    | Time { .. }
                    | DateTime { .. }
                    | Timestamp { .. }
                    | Enum { .. }
                    | Set { .. }
            )
        )
    };
    if !own.iter().any(is_told) || !catalog::exists(session, &reference.parent)? {
        return Ok(vec![Equal::Values; own.len()]);
    }
    let others = catalog::read(session, &reference.parent)?.types_of(&reference.parent_columns);
    let equal = |(own, other): (Option<SqlType>, Option<SqlType>)| match (own, other) {
        (Some(own), Some(other)) => Equal::of(&own, &other),
        _ => Equal::Values,
    };
    Ok(own.into_iter().zip(others).map(equal).collect())
}

fn told(found: &[Row], columns: usize) -> String {
    let key = |row: &Row| {
        let values: Vec<String> = (0..columns).map(|at| row.text_lossy(at)).collect();
        format!("({})", values.join(", "))
    };
    let keys: Vec<String> = found.iter().take(KEYS_NAMED).map(key).collect();
    let more = if found.len() > KEYS_NAMED { " and others" } else { "" };
    format!("{}{more}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_are_stored_otherwise_hold_nothing_equal() {
        let decimal = |precision, scale| SqlType::Decimal { precision, scale, unsigned: false };
        let labels = |labels: &[&str]| SqlType::Enum {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            text: values::sql_type::TextType {
                charset: values::Charset::Latin1,
                collation: "latin1_bin".to_owned(),
            },
        };
        for (own, other, expected) in [
            (decimal(10, 2), decimal(10, 2), Equal::Values),
            (decimal(10, 2), decimal(11, 2), Equal::Values),
            (decimal(10, 2), decimal(12, 2), Equal::Nothing),
            (decimal(10, 2), decimal(10, 1), Equal::Nothing),
            (SqlType::DateTime { digits: 1 }, SqlType::DateTime { digits: 2 }, Equal::Values),
            (SqlType::DateTime { digits: 0 }, SqlType::DateTime { digits: 3 }, Equal::Nothing),
            (labels(&["x", "y"]), labels(&["x", "y"]), Equal::Values),
            (labels(&["x", "y"]), labels(&["y", "x"]), Equal::Numbers),
        ] {
            assert_eq!(Equal::of(&own, &other), expected, "{own} {other}");
        }
    }
}
