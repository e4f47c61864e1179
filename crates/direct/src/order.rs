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

/// Bytes before each key that say which partition it is of, in a table that has any.
pub(crate) const PARTITION_BYTES: usize = size_of::<u16>();

/// The same of this binding's table.
pub(crate) fn partition_bytes(binding: &Binding) -> usize {
    if binding.partitions.is_some() { PARTITION_BYTES } else { 0 }
}

/// The prefix of a partition's keys.
pub(crate) fn partition_prefix(partition: usize) -> [u8; PARTITION_BYTES] {
    // Few have files.
    (partition as u16).to_be_bytes()
}

/// Shapes of the entries that are sorted, one a store.
pub(crate) fn entry_shapes(binding: &Binding, order: Order) -> Vec<EntryShape> {
    let prefix = partition_bytes(binding);
    let with_prefix = |key_len: Option<usize>| key_len.map(|bytes| prefix + bytes);
    let clustered = EntryShape {
        key_len: with_prefix(binding.clustered.key_is_data),
        tail_len: 0,
        payload: true,
    };
    let secondary = |index: &SecondaryBinding| EntryShape {
        key_len: with_prefix(index.key_len),
        tail_len: 0,
        payload: index.entry == Entry::WithRecord,
    };
    (order == Order::Sorted)
        .then_some(clustered)
        .into_iter()
        .chain(binding.secondaries.iter().map(secondary))
        .collect()
}
