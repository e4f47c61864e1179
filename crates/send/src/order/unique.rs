//! Which keys a chunk has: those of its rows in every unique index of the table.

use encode::binding::BoundColumn;
use encode::inspected::Inspected;
use encode::row_keys::{self, KeyPlan, KeyReader, NoKey};
use schema::{Feature, Index, KeyEnd, Table};
use server::version::Flavor;
use sources::{Rows, Visit};
use targets::Lock;
use values::Family;

use crate::order::{ChunkKeys, IndexKeys, KeySet};

/// Facts besides the text of rows that decide in which order they may be loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowOrder {
    /// Rows refer to others of their table: one goes in after the other.
    pub(crate) refers_to_itself: bool,
    /// A trigger may give a row other keys than its text has.
    pub(crate) has_triggers: bool,
    /// Keys are compared by periods.
    pub(crate) has_periods: bool,
    /// The server converts as MySQL does: that one refuses other values, and makes other times of
    /// the same text.
    pub(crate) is_mysql: bool,
}

impl RowOrder {
    /// Looks at the target.
    pub(crate) fn of(target: &Lock) -> RowOrder {
        let is_mysql = target.session.version().flavor == Flavor::MySql;
        let mut order = RowOrder { is_mysql, ..RowOrder::default() };
        target.table.features().iter().for_each(|feature| order.heed(feature));
        order
    }

    fn heed(&mut self, feature: &Feature) {
        match feature {
            Feature::ForeignKeys(keys) => {
                self.refers_to_itself |= keys.iter().any(|key| key.end == KeyEnd::Both);
            }
            Feature::Trigger(_) => self.has_triggers = true,
            Feature::WithoutOverlaps(_) => self.has_periods = true,
            // No keys of rows, or columns whose keys are not made here.
            _ => {}
        }
    }
}

/// The unique indexes of a table, for as long as a load takes.
#[derive(Clone, Debug)]
pub(crate) struct UniqueKeys {
    plan: KeyPlan,
    serial: Option<String>,
    is_mysql: bool,
}

impl UniqueKeys {
    /// Looks at the table. `updates` says that rows that are there are changed, not replaced.
    pub(crate) fn new(
        table: &Table,
        inspected: &Inspected,
        updates: bool,
        row_order: RowOrder,
    ) -> UniqueKeys {
        let unique: Vec<&Index> = table.indexes.iter().filter(|index| index.unique).collect();
        let mut columns = row_keys::plain_columns(&inspected.columns);
        columns.retain(|bound| !row_order.is_mysql || is_the_same_in_mysql(bound));
        let collations = &inspected.collations;
        let zero_is_value = inspected.series.zero_is_value;
        let whole = KeyPlan::new(&unique, &columns, collations, zero_is_value);
        // New numbers are nobody else's.
        let relevant = |&(position, _): &(usize, &&Index)| !whole.always_generates(position);
        let unique: Vec<&Index> =
            unique.iter().enumerate().filter(relevant).map(|(_, index)| *index).collect();
        let plan = KeyPlan::new(&unique, &columns, collations, zero_is_value);
        let unknown = unique.iter().enumerate().find(|(position, _)| !plan.has(*position));
        let serial = match unknown {
            _ if row_order.refers_to_itself => {
                Some("rows may refer to rows before them".to_owned())
            }
            _ if row_order.has_triggers => Some("a trigger may change keys".to_owned()),
            _ if row_order.has_periods => {
                Some("a key WITHOUT OVERLAPS compares periods".to_owned())
            }
            Some((_, index)) => {
                Some(format!("keys of index `{}` cannot be compared by Inrush", index.name))
            }
            // A row that is changed may lose a key that another row is waiting for.
            None if updates && unique.len() > 1 => {
                Some("an update for one unique key may change another key".to_owned())
            }
            None => None,
        };
        UniqueKeys { plan, serial, is_mysql: row_order.is_mysql }
    }

    /// Why chunks are loaded one after the other, if they are.
    pub(crate) fn serial(&self) -> Option<&str> {
        self.serial.as_deref()
    }

    /// Collects the keys of chunks, for one worker.
    pub(crate) fn collector(&self) -> KeyCollector {
        KeyCollector {
            reader: KeyReader::new(self.plan.clone()),
            indexes: self.plan.index_count(),
            is_serial: self.serial.is_some(),
            is_mysql: self.is_mysql,
            key: Vec::new(),
        }
    }
}

/// True if MySQL treats the values of a column as MariaDB does, or refuses them.
fn is_the_same_in_mysql(bound: &BoundColumn) -> bool {
    use Family::*;
    match bound.column.sql_type.family() {
        Integer | Text(_) | Bytes => true,
        Decimal | Real | Year | Temporal | Moment | Bits => false,
        Labels(_) | Json(_) | Document | Formatted => false,
        CheckedBytes | OpaqueText | OpaqueBytes => false,
    }
}

/// Collects the keys of chunks.
#[derive(Clone, Debug)]
pub(crate) struct KeyCollector {
    reader: KeyReader,
    indexes: usize,
    is_serial: bool,
    is_mysql: bool,
    key: Vec<u8>,
}

impl KeyCollector {
    /// The keys of these rows. Takes 8 bytes a row and index.
    fn collect<R: Rows>(&mut self, rows: R) -> ChunkKeys {
        if self.is_serial {
            return ChunkKeys::of(vec![IndexKeys::Any]);
        }
        let mut indexes = vec![IndexKeys::These(KeySet::default()); self.indexes];
        for row in rows.iter() {
            // One that is refused takes part in no conflict.
            if self.reader.read(row) {
                self.push(&mut indexes);
            } else if self.is_mysql {
                // It may take what we would refuse.
                return ChunkKeys::of(vec![IndexKeys::Any; self.indexes]);
            }
        }
        let finish = |keys| match keys {
            IndexKeys::These(keys) => IndexKeys::These(keys.finish()),
            IndexKeys::Any => IndexKeys::Any,
        };
        ChunkKeys::of(indexes.into_iter().map(finish).collect())
    }

    /// Adds the keys of the row at hand.
    #[inline]
    fn push(&mut self, indexes: &mut [IndexKeys]) {
        for (index, keys) in indexes.iter_mut().enumerate() {
            let IndexKeys::These(these) = keys else { continue };
            self.key.clear();
            match self.reader.push(index, &mut self.key) {
                Ok(()) => these.push(&self.key),
                Err(NoKey::Null) => {}
                Err(NoKey::Unknown) => *keys = IndexKeys::Any,
            }
        }
    }
}

/// The keys of a chunk's rows.
impl Visit for &mut KeyCollector {
    type Output = ChunkKeys;

    fn rows<R: Rows>(self, rows: R) -> ChunkKeys {
        self.collect(rows)
    }
}

#[cfg(test)]
mod tests {
    use schema::{ForeignKey, Trigger};

    use super::*;

    fn order(features: &[Feature]) -> RowOrder {
        let mut order = RowOrder::default();
        features.iter().for_each(|feature| order.heed(feature));
        order
    }

    #[test]
    fn rows_wait_for_each_other_where_a_feature_says_so() {
        let key = |end| ForeignKey { name: "f".to_owned(), end, other: None };
        let keys = |ends: [KeyEnd; 2]| Feature::ForeignKeys(ends.map(key).into());
        let free = [keys([KeyEnd::Child, KeyEnd::Parent]), Feature::SystemVersioning];
        assert_eq!(order(&free), RowOrder::default());
        assert!(order(&[keys([KeyEnd::Child, KeyEnd::Both])]).refers_to_itself);
        assert!(order(&[Feature::Trigger(Trigger { name: "t".to_owned() })]).has_triggers);
        assert!(order(&[Feature::WithoutOverlaps("UNIQUE KEY".to_owned())]).has_periods);
    }
}
