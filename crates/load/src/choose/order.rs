//! In which order tables are loaded: large ones first, and parents before children where each is
//! published by itself.
//!
//! While the server imports a table the next is built, so the last import has nothing beside it: it should be
//! a short one. Tables that are published together may be filled in any order, since their keys are compared
//! when all have their rows. Among tables that are published one by one, or get their rows in one
//! transaction, parents come before children, whose rows are only right then.

use std::collections::{HashMap, HashSet};

use schema::TableName;

use super::facts::CommandTable;

/// The order in which tables are filled that are published together, as positions in `tables`.
pub(crate) fn largest_first(tables: &[CommandTable]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(tables[at].bytes));
    order
}

/// The order of those that are published one by one, as positions in `tables`. Tables that refer to
/// each other in a circle come in the order of their sizes, before those that refer to them.
pub(crate) fn order(tables: &[CommandTable]) -> Vec<usize> {
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
    let mut left = largest_first(tables);
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

/// These tables, and all whose rows refer to them, as positions in `tables`.
pub(crate) fn with_children(tables: &[CommandTable], mut these: HashSet<usize>) -> HashSet<usize> {
    let refers = |at: usize, these: &HashSet<usize>| {
        let mut parents = tables[at].parents.iter();
        parents.any(|parent| these.iter().any(|&other| tables[other].name == *parent))
    };
    let next = |these: &HashSet<usize>| {
        (0..tables.len()).find(|at| !these.contains(at) && refers(*at, these))
    };
    while let Some(at) = next(&these) {
        these.insert(at);
    }
    these
}

/// The same where each row of all tables refers to rows that were there before it, if the tables' keys alone
/// tell so: none has a key to itself, and none stand in a circle.
pub(crate) fn parents_first(tables: &[CommandTable]) -> Option<Vec<usize>> {
    let order = order(tables);
    let mut left: HashSet<&TableName> = tables.iter().map(|table| &table.name).collect();
    for &at in &order {
        if tables[at].parents.iter().any(|parent| left.contains(parent)) {
            return None;
        }
        left.remove(&tables[at].name);
    }
    Some(order)
}

/// True if a table waits only for tables that wait for it in turn, directly or through others.
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

    fn waiting(tables: &[(&str, u64, &[&str])]) -> Vec<CommandTable> {
        let name = |table: &str| TableName::new("d", table);
        let waiting = |&(table, bytes, parents): &(&str, u64, &[&str])| CommandTable {
            name: name(table),
            bytes,
            parents: parents.iter().map(|parent| name(parent)).collect(),
            ..CommandTable::default()
        };
        tables.iter().map(waiting).collect()
    }

    fn names(tables: &[(&str, u64, &[&str])]) -> Vec<String> {
        let waiting = waiting(tables);
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
    fn no_order_has_parents_first_where_tables_need_each_other() {
        let first = |tables: &[(&str, u64, &[&str])]| parents_first(&waiting(tables));
        assert_eq!(
            first(&[("line", 9, &["order"]), ("order", 5, &["elsewhere"])]),
            Some(vec![1, 0])
        );
        assert_eq!(first(&[("x", 2, &[]), ("tree", 1, &["tree"])]), None);
        assert_eq!(first(&[("a", 1, &["b"]), ("b", 2, &["a"]), ("c", 3, &["a"])]), None);
    }

    #[test]
    fn tables_of_one_size_stay_as_they_come() {
        let tables = waiting(&[("a", 2, &[]), ("b", 7, &[]), ("c", 2, &[]), ("d", 9, &[])]);
        assert_eq!(largest_first(&tables), [3, 1, 0, 2]);
    }
}
