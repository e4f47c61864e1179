//! Tables whose rows follow those of others, by foreign keys.
//!
//! LOCK TABLES of a table for writing also locks those that follow it, directly or through others. So
//! connections that hold a table each wait for each other where one follows the other: one connection has to
//! lock these. Source: MariaDB 10.11, sql/sql_base.cc, `prepare_fk_prelocking_list`; tried.

use std::collections::{HashMap, HashSet};

use catalog::KeyBetween;
use server::identifier::TableName;

/// Who follows whom.
pub(super) struct Followers<'k>(HashMap<&'k TableName, Vec<&'k TableName>>);

impl<'k> Followers<'k> {
    pub(super) fn of(keys: &'k [KeyBetween]) -> Followers<'k> {
        let mut followers: HashMap<&TableName, Vec<&TableName>> = HashMap::new();
        for KeyBetween { child, parent } in keys {
            followers.entry(parent).or_default().push(child);
        }
        Followers(followers)
    }

    /// All that follow `table`.
    pub(super) fn reached(&self, table: &TableName) -> HashSet<&'k TableName> {
        let of = |table: &TableName| self.0.get(table).into_iter().flatten().copied();
        let mut reached = HashSet::new();
        let mut left: Vec<&TableName> = of(table).collect();
        while let Some(table) = left.pop() {
            if reached.insert(table) {
                left.extend(of(table));
            }
        }
        reached
    }

    /// `tables`, those together of which one follows another, each group in the order of names.
    pub(super) fn groups<'t>(&self, tables: &[&'t TableName]) -> Vec<Vec<&'t TableName>> {
        let reached: Vec<_> = tables.iter().map(|table| self.reached(table)).collect();
        // Of each table the first of its group.
        let mut first: Vec<usize> = (0..tables.len()).collect();
        for (leader, reached) in reached.iter().enumerate() {
            for follower in (0..tables.len()).filter(|at| reached.contains(tables[*at])) {
                let (kept, joined) = (first[leader], first[follower]);
                first.iter_mut().filter(|at| **at == joined).for_each(|at| *at = kept);
            }
        }
        let mut groups: HashMap<usize, Vec<&TableName>> = HashMap::new();
        for (table, first) in tables.iter().zip(first) {
            groups.entry(first).or_default().push(table);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.sort());
        groups.sort();
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> TableName {
        TableName { database: "d".to_owned(), table: name.to_owned() }
    }

    /// Groups by keys such as `child>parent`.
    fn of(tables: &str, keys: &str) -> Vec<String> {
        let tables: Vec<TableName> = tables.split(' ').map(named).collect();
        let keys: Vec<KeyBetween> = keys
            .split(' ')
            .filter_map(|key| key.split_once('>'))
            .map(|(child, parent)| KeyBetween { child: named(child), parent: named(parent) })
            .collect();
        let tables: Vec<&TableName> = tables.iter().collect();
        let names = |group: Vec<&TableName>| {
            group.iter().map(|name| name.table.as_str()).collect::<Vec<_>>().join(" ")
        };
        Followers::of(&keys).groups(&tables).into_iter().map(names).collect()
    }

    #[test]
    fn tables_are_together_if_rows_of_one_follow_those_of_another() {
        assert_eq!(of("c b a", ""), ["a", "b", "c"]);
        assert_eq!(of("a b c", "b>a"), ["a b", "c"]);
        assert_eq!(of("a b c", "b>a a>b b>b"), ["a b", "c"]);
        assert_eq!(of("a b c d", "x>a b>x d>c"), ["a b", "c d"]);
        assert_eq!(of("a b c d", "d>a d>b"), ["a b d", "c"]);
        // They follow the same table, and not each other.
        assert_eq!(of("a b", "a>x b>x"), ["a", "b"]);
    }
}
