//! Which keys a portion has: those of its rows in every unique index of the table.

use server::catalog::{Index, Table};
use sources::{Chunk, Rows};

use crate::encode::Line;
use crate::inspected::Inspected;
use crate::logical::order::{IndexKeys, KeySet, PortionKeys};
use crate::logical::row_keys::{self, KeyPlan, KeyReader, NoKey};

/// The unique indexes of a table, for as long as a load takes.
#[derive(Clone, Debug)]
pub(crate) struct UniqueKeys {
    plan: KeyPlan,
    serial: Option<String>,
}

impl UniqueKeys {
    /// Looks at the table. `updates` says that rows that are there are changed, not replaced.
    pub(crate) fn new(table: &Table, inspected: &Inspected, updates: bool) -> UniqueKeys {
        let unique: Vec<&Index> = table.indexes.iter().filter(|index| index.unique).collect();
        let columns = row_keys::plain_columns(table, &inspected.columns);
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
        UniqueKeys { plan, serial }
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
            key: Vec::new(),
        }
    }
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
