//! In which order tables are loaded: parents before children, and large ones first.
//!
//! While the server imports a table the next is built, so the last import is waited for by nobody:
//! it should be a short one. The rows of a child are only right when those of its parents are
//! there, so that comes before.

use schema::TableName;

/// A table that waits for its turn.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) name: TableName,
    /// Bytes of its input.
    pub(crate) bytes: u64,
    /// The tables that its rows refer to, those among them that are not of this command too.
    pub(crate) parents: Vec<TableName>,
}

/// The order, as positions in `tables`. Tables that refer to each other in a circle come in the order
/// of their sizes.
pub(crate) fn order(tables: &[Waiting]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(tables.len());
    let mut left: Vec<usize> = (0..tables.len()).collect();
    left.sort_by(|&a, &b| tables[b].bytes.cmp(&tables[a].bytes).then(a.cmp(&b)));
    while !left.is_empty() {
        let is_ready = |&at: &usize| {
            let waits_for = |other: &&usize| {
                **other != at && tables[at].parents.contains(&tables[**other].name)
            };
            !left.iter().any(|other| waits_for(&other))
        };
        let next = left.iter().position(is_ready).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tables: &[(&str, u64, &[&str])]) -> Vec<String> {
        let name = |table: &str| TableName::new("d", table);
        let waiting: Vec<Waiting> = tables
            .iter()
            .map(|&(table, bytes, parents)| Waiting {
                name: name(table),
                bytes,
                parents: parents.iter().map(|parent| name(parent)).collect(),
            })
            .collect();
        order(&waiting).into_iter().map(|at| waiting[at].name.table.clone()).collect()
    }

    #[test]
    fn parents_come_before_children_and_large_tables_before_small_ones() {
        assert_eq!(names(&[("a", 1, &[]), ("b", 3, &[]), ("c", 2, &[])]), ["b", "c", "a"]);
        assert_eq!(
            names(&[
                ("line", 9, &["order", "part"]),
                ("order", 5, &["customer"]),
                ("customer", 1, &[]),
                ("part", 2, &[]),
                ("free", 3, &[])
            ]),
            ["free", "part", "customer", "order", "line"]
        );
        // A table of its own rows, parents elsewhere, and circles.
        assert_eq!(names(&[("tree", 1, &["tree"]), ("x", 2, &["elsewhere"])]), ["x", "tree"]);
        assert_eq!(names(&[("a", 1, &["b"]), ("b", 2, &["a"]), ("c", 3, &["a"])]), ["b", "a", "c"]);
    }
}
