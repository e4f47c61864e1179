//! How the clustered index is had, and what is sorted because of it.

use encode::binding::{Binding, Entry, SecondaryBinding};
use sort::EntryShape;

/// How the clustered index is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Rows come in key order: pages are built as they come.
    AsRead,
    /// They do not: clustered records are sorted as payload of their keys.
    Sorted,
}

impl Order {
    /// Which index of the table the first store belongs to.
    pub(crate) fn first_index(self) -> usize {
        match self {
            Order::Sorted => 0,
            Order::AsRead => 1,
        }
    }
}

/// Shapes of the entries that are sorted, one a store.
pub(crate) fn entry_shapes(binding: &Binding, order: Order) -> Vec<EntryShape> {
    let clustered =
        EntryShape { key_len: binding.clustered.key_is_data, tail_len: 0, payload: true };
    let secondary = |index: &SecondaryBinding| EntryShape {
        key_len: index.key_len,
        tail_len: 0,
        payload: index.entry == Entry::WithRecord,
    };
    (order == Order::Sorted)
        .then_some(clustered)
        .into_iter()
        .chain(binding.secondaries.iter().map(secondary))
        .collect()
}
