//! Which keys a portion has: those of its rows in every unique index of the table.

use encode::binding::BoundColumn;
use encode::encoder::Line;
use encode::inspected::Inspected;
use server::Lock;
use server::catalog::{Index, Table};
use server::version::Flavor;
use sources::{Chunk, Rows};
use values::SqlType;

use crate::order::{IndexKeys, KeySet, PortionKeys};
use crate::row_keys::{self, KeyPlan, KeyReader, NoKey};

/// What besides the text of rows says in which order they may go in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowOrder {
    /// Rows refer to others of their table: one goes in after the other.
    pub(crate) refers_to_itself: bool,
    /// A trigger may give a row other keys than its text has.
    pub(crate) has_triggers: bool,
    /// The server converts as MySQL does: that one refuses other values, and makes other times of
    /// the same text.
    pub(crate) is_mysql: bool,
}

impl RowOrder {
    /// Looks at the target.
    pub(crate) fn of(target: &mut Lock) -> Result<RowOrder, server::Error> {
        Ok(RowOrder {
            refers_to_itself: target.table.has_feature("foreign key")
                && target.refers_to_itself()?,
            has_triggers: target.table.has_feature("trigger"),
            is_mysql: target.session.version().flavor == Flavor::MySql,
        })
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
        let mut columns = row_keys::plain_columns(table, &inspected.columns);
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
            _ if has_periods(table) => Some("a key WITHOUT OVERLAPS compares periods".to_owned()),
            Some((_, index)) => {
                Some(format!("keys of index `{}` cannot be compared here", index.name))
            }
            // A row that is changed may lose a key that another row is waiting for.
            None if updates && unique.len() > 1 => {
                Some("an update that meets one unique key may change another".to_owned())
            }
            None => None,
        };
        UniqueKeys { plan, serial, is_mysql: row_order.is_mysql }
    }

    /// Why portions are loaded one after the other, if they are.
    pub(crate) fn serial(&self) -> Option<&str> {
        self.serial.as_deref()
    }

    /// Collects the keys of portions, for one worker.
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

/// Whether MySQL makes the same of the values of a column as MariaDB, or refuses them.
fn is_the_same_in_mysql(bound: &BoundColumn) -> bool {
    matches!(
        bound.column.sql_type,
        SqlType::Integer { .. }
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Text { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Blob { .. }
    )
}

fn has_periods(table: &Table) -> bool {
    table.unsupported.iter().any(|unsupported| unsupported.feature == "WITHOUT OVERLAPS")
}

/// Collects the keys of portions.
#[derive(Clone, Debug)]
pub(crate) struct KeyCollector {
    reader: KeyReader,
    indexes: usize,
    is_serial: bool,
    is_mysql: bool,
    key: Vec<u8>,
}

impl KeyCollector {
    /// The keys of a chunk, `rows` being what it was scanned to. Takes 8 bytes a row and index.
    pub(crate) fn collect(&mut self, chunk: &Chunk, rows: &Rows) -> PortionKeys {
        if self.is_serial {
            return PortionKeys::of(vec![IndexKeys::Any]);
        }
        let mut indexes = vec![IndexKeys::These(KeySet::default()); self.indexes];
        for row in rows.iter() {
            // One that is refused takes part in no conflict.
            if self.reader.read(&Line { chunk: &chunk.bytes, rows, row }) {
                self.push(&mut indexes);
            } else if self.is_mysql {
                // It may take what we would refuse.
                return PortionKeys::of(vec![IndexKeys::Any; self.indexes]);
            }
        }
        let finish = |keys| match keys {
            IndexKeys::These(keys) => IndexKeys::These(keys.finish()),
            IndexKeys::Any => IndexKeys::Any,
        };
        PortionKeys::of(indexes.into_iter().map(finish).collect())
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
