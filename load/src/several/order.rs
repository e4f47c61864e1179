//! In which order tables are loaded: large ones first, and parents before children where each is
//! published by itself.
//!
//! While the server imports a table the next is built, so the last import has nothing beside it: it
//! should be a short one. Tables that are published together may be filled in any order, since their
//! keys are compared when all have their rows. Of those that are published one by one, the rows of a
//! child are only right when those of its parents are there, so that comes before.

use std::collections::{HashMap, HashSet};

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

/// The order in which tables are filled that are published together, as positions in `sizes`, the
/// bytes of their inputs.
pub(crate) fn largest_first(sizes: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(sizes[at]));
    order
}

/// The order of those that are published one by one, as positions in `tables`. Tables that refer to
/// each other in a circle come in the order of their sizes, before those that refer to them.
pub(crate) fn order(tables: &[Waiting]) -> Vec<usize> {
    let at: HashMap<&TableName, usize> =
        tables.iter().enumerate().map(|(at, table)| (&table.name, at)).collect();
    let parents: Vec<Vec<usize>> = tables
        .iter()
        .enumerate()
        .map(|(own, table)| {
            let known = table.parents.iter().filter_map(|parent| at.get(parent).copied());
            known.filter(|&parent| parent != own).collect()
        })
        .collect();
    let sizes: Vec<u64> = tables.iter().map(|table| table.bytes).collect();
    let mut left = largest_first(&sizes);
    let mut order = Vec::with_capacity(tables.len());
    let mut is_done = vec![false; tables.len()];
    while !left.is_empty() {
        let is_ready = |&at: &usize| parents[at].iter().all(|&parent| is_done[parent]);
        let next = left.iter().position(is_ready);
        let in_circle =
            || left.iter().position(|&at| waits_for_circle_alone(at, &parents, &is_done));
        let at = left.remove(next.or_else(in_circle).unwrap_or(0));
        is_done[at] = true;
        order.push(at);
    }
    order
}

/// Whether all tables that one waits for, and that those wait for, wait for it in turn.
fn waits_for_circle_alone(at: usize, parents: &[Vec<usize>], is_done: &[bool]) -> bool {
    let awaited = awaited(at, parents, is_done);
    awaited.iter().all(|&other| self::awaited(other, parents, is_done).contains(&at))
}

/// The tables that one waits for, and those that these wait for.
fn awaited(at: usize, parents: &[Vec<usize>], is_done: &[bool]) -> HashSet<usize> {
    let (mut found, mut open) = (HashSet::new(), vec![at]);
    while let Some(at) = open.pop() {
        let waits = parents[at].iter().copied().filter(|&parent| !is_done[parent]);
        open.extend(waits.filter(|&parent| found.insert(parent)));
    }
    found
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

    #[test]
    fn tables_of_one_size_stay_as_they_come() {
        assert_eq!(largest_first(&[2, 7, 2, 9]), [3, 1, 0, 2]);
    }
}
