//! Ranges of the primary key that several connections read.

use schema::quote_name;
use schema::{Table, TableName};
use server::Session;
use server::identifier::table_condition;
use values::SqlType;

use crate::error::Error;
use crate::options::ExportOptions;

/// Bytes of rows that a range of text has, about, and one that becomes row groups.
const RANGE_BYTES: u64 = 4 << 20;
const GROUP_BYTES: u64 = 16 << 20;
const RANGES_MAX: u64 = 4096;

/// In what parts a table is read.
pub(crate) enum Ranges {
    /// As a whole; why, where it is not just small.
    One(Option<String>),
    /// By conditions, in the order of the key.
    Many(Vec<String>),
}

impl Ranges {
    /// One for each part; none for all rows.
    pub(crate) fn conditions(self) -> Vec<Option<String>> {
        match self {
            Ranges::One(_) => vec![None],
            Ranges::Many(conditions) => conditions.into_iter().map(Some).collect(),
        }
    }
}

/// Cuts a table where the first column of its primary key is an integer, into ranges as wide as each other.
pub(crate) fn ranges(
    session: &mut Session,
    table: &Table,
    options: &ExportOptions,
) -> Result<Ranges, Error> {
    let range_bytes = if options.format.is_typed() { GROUP_BYTES } else { RANGE_BYTES };
    let bytes = data_bytes(session, &table.name)?;
    let range_bytes = range_bytes.min(bytes / options.threads.max(1) as u64).max(RANGE_BYTES);
    let count = (bytes / range_bytes).clamp(1, RANGES_MAX);
    if count == 1 {
        return Ok(Ranges::One(None));
    }
    let one = |why: &str| Ok(Ranges::One(Some(why.to_owned())));
    let Some(first) = table.index("PRIMARY").and_then(|primary| primary.columns.first()) else {
        return one("the table has no primary key");
    };
    let column = table.columns.iter().find(|column| column.name == first.name);
    if !column.is_some_and(|column| matches!(column.sql_type, SqlType::Integer { .. })) {
        return one("the first column of the primary key is not an integer");
    }
    let name = quote_name(&first.name);
    let base = table.base_or_view();
    let ends = format!("SELECT MIN({name}), MAX({name}) FROM {base}");
    let row = session.query_row(&ends)?;
    let (Some(least), Some(most)) = (row.number_or_null(0)?, row.number_or_null(1)?) else {
        return Ok(Ranges::One(None));
    };
    let mut conditions = cut(&name, least, most, count);
    if conditions.is_empty() {
        return Ok(Ranges::One(None));
    }
    if first.descending {
        conditions.reverse();
    }
    Ok(Ranges::Many(conditions))
}

/// Bytes of a table's rows, about.
pub(crate) fn data_bytes(session: &mut Session, table: &TableName) -> Result<u64, Error> {
    let sql = format!(
        "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE {}",
        table_condition(table)
    );
    Ok(session.query_row(&sql)?.number_or_null(0)?.unwrap_or(0))
}

/// So many conditions, or fewer, of which each value meets one, whether it is between these or not; none where
/// there is nothing to cut.
fn cut(name: &str, least: i128, most: i128, count: u64) -> Vec<String> {
    let width = ((most - least) / i128::from(count) + 1).max(1);
    let bounds: Vec<i128> =
        (1..count).map(|at| least + width * i128::from(at)).take_while(|b| *b <= most).collect();
    let Some((first, last)) = bounds.first().zip(bounds.last()) else { return Vec::new() };
    let mut conditions = vec![format!("{name}<{first}")];
    let between = |two: &[i128]| format!("{name}>={} AND {name}<{}", two[0], two[1]);
    conditions.extend(bounds.windows(2).map(between));
    conditions.push(format!("{name}>={last}"));
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet() {
        assert_eq!(cut("a", 0, 99, 3), ["a<34", "a>=34 AND a<68", "a>=68"]);
        assert_eq!(cut("a", 5, 6, 100), ["a<6", "a>=6"]);
        let least = i128::from(i64::MIN);
        let whole = cut("a", least, -least - 1, 4);
        assert_eq!(whole.len(), 4);
        assert_eq!(whole[2], "a>=0 AND a<4611686018427387904");
        assert!(cut("a", 7, 7, 3).is_empty());
    }
}
