//! The decision about all tables of a command: by which publish they get their rows, and in which order.

use job::error::Error;
use job::options::WithOthers;

use super::facts::{CommandFacts, CommandTable};
use super::order::{largest_first, order, parents_first};
use super::small_input::TogetherSeconds;

/// The publish of all tables of a command, and the order in which they are filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    /// The publish.
    pub(crate) with_others: WithOthers,
    /// Positions of the tables in the command.
    pub(crate) order: Vec<usize>,
}

/// The methods of all tables under a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Methods {
    /// Each table has one. `gives_numbers` is true if the inputs give each AUTO_INCREMENT value.
    All { gives_numbers: bool },
    /// A table has none.
    Missing,
}

impl Together {
    /// The best decision by the facts alone.
    ///
    /// Errors: one table keeps its rows, and another is to be replaced at once with that.
    pub(crate) fn choose(facts: &CommandFacts) -> Result<Together, Error> {
        let tables = &facts.tables;
        let kept = tables.iter().find(|table| table.keeps_rows).map(|table| &table.name);
        match (kept, &facts.replaced) {
            (Some(kept), Some(replaced)) => Err(Error::Usage(format!(
                "the rows of {kept} stay, which needs one transaction, but replacing {replaced} \
                 needs a swap of tables: one command can do only one of these"
            ))),
            (Some(_), None) => Ok(Together::of(WithOthers::Transaction, order(tables))),
            (None, _) => {
                let parents_first = facts.are_small().then(|| parents_first(tables)).flatten();
                let small = parents_first.map(|order| Together::of(WithOthers::Small, order));
                Ok(small.unwrap_or_else(|| Together::swap(facts)))
            }
        }
    }

    /// The next decision, if the methods of the tables exclude this one. LOAD DATA reserves more AUTO_INCREMENT
    /// values than it generates, so a table that gets its rows itself would go on at another number.
    pub(crate) fn after(&self, methods: Methods, facts: &CommandFacts) -> Option<Together> {
        match (self.with_others, methods) {
            (WithOthers::Small, Methods::All { gives_numbers: false } | Methods::Missing) => {
                Some(Together::swap(facts))
            }
            (WithOthers::Swap, Methods::Missing) if facts.can_be_whole => {
                Some(Together::of(WithOthers::Transaction, order(&facts.tables)))
            }
            _ => None,
        }
    }

    /// Tables that are loaded one after the other, parents before children.
    pub(crate) fn each(tables: &[CommandTable]) -> Together {
        Together::of(WithOthers::Alone, order(tables))
    }

    /// A swap of all tables.
    pub(crate) fn swap(facts: &CommandFacts) -> Together {
        Together::of(WithOthers::Swap, largest_first(&facts.tables))
    }

    fn of(with_others: WithOthers, order: Vec<usize>) -> Together {
        Together { with_others, order }
    }
}

impl CommandFacts {
    /// True if one transaction of all tables is faster than a swap, and none of them needs another method.
    fn are_small(&self) -> bool {
        let both = self.small_bytes().zip(self.seconds());
        both.is_some_and(|(bytes, seconds)| seconds.are_small(bytes))
    }

    /// Bytes of the text of all inputs; none where a table needs another method than one transaction of all.
    fn small_bytes(&self) -> Option<u64> {
        let add = |sum: u64, table: &CommandTable| Some(sum.saturating_add(table.small_bytes?));
        self.tables.iter().try_fold(0, add)
    }

    /// Expected seconds of one transaction and of a swap; none where one transaction is excluded.
    pub(crate) fn seconds(&self) -> Option<TogetherSeconds> {
        let with_keys = self.tables.iter().filter(|table| !table.parents.is_empty()).count();
        let (tables, bytes) = (self.tables.len(), self.small_bytes()?);
        Some(TogetherSeconds::of(self.flavor, tables, with_keys, bytes))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use schema::Flavor;

    use super::*;

    const OPEN: Methods = Methods::All { gives_numbers: true };
    const COUNTED: Methods = Methods::All { gives_numbers: false };

    /// Tables `t0`, `t1`, .. with so many bytes of text.
    fn facts(bytes: impl IntoIterator<Item = u64>) -> CommandFacts {
        let table = |(at, bytes)| CommandTable {
            name: schema::TableName::new("d", format!("t{at}")),
            bytes,
            small_bytes: Some(bytes),
            ..CommandTable::default()
        };
        let tables = bytes.into_iter().enumerate().map(table).collect();
        CommandFacts { tables, ..CommandFacts::default() }
    }

    fn chosen(facts: &CommandFacts) -> (WithOthers, Vec<usize>) {
        let together = Together::choose(facts).unwrap();
        (together.with_others, together.order)
    }

    #[test]
    fn small_tables_share_a_transaction_and_large_ones_a_swap() {
        let small = 100 << 10;
        assert_eq!(chosen(&facts([small, small, small])), (WithOthers::Small, vec![0, 1, 2]));
        assert_eq!(chosen(&facts([small, small * 2])), (WithOthers::Swap, vec![1, 0]));
        // Foreign keys make a swap slower.
        let mut children = facts([small, small * 2]);
        children.tables[1].parents = vec![children.tables[0].name.clone()];
        assert_eq!(chosen(&children), (WithOthers::Small, vec![0, 1]));
        assert_eq!(chosen(&facts([1])), (WithOthers::Small, vec![0]));
        assert_eq!(chosen(&facts([1 << 20])), (WithOthers::Swap, vec![0]));
        // 400 small tables and two large ones are one decision.
        let many = facts([1 << 10; 400].into_iter().chain([100 << 20, 200 << 20]));
        let (with_others, order) = chosen(&many);
        assert_eq!((with_others, &order[..2]), (WithOthers::Swap, &[401, 400][..]));
        assert_eq!(chosen(&facts([1 << 10; 400])).0, WithOthers::Small);
        // More than one transaction should hold, though each is small.
        assert_eq!(chosen(&facts([small; 1400])).0, WithOthers::Swap);
        assert_eq!(chosen(&facts([small; 1300])).0, WithOthers::Small);
    }

    /// The size up to which one transaction is faster than a swap.
    #[test]
    fn a_swap_of_mysql_pays_from_more_bytes_on() {
        for (flavor, tables, bytes, with_others) in [
            (Flavor::MariaDb, 1, 140 << 10, WithOthers::Small),
            (Flavor::MariaDb, 1, 150 << 10, WithOthers::Swap),
            (Flavor::MySql, 1, 850 << 10, WithOthers::Small),
            (Flavor::MySql, 1, 900 << 10, WithOthers::Swap),
            (Flavor::MariaDb, 50, 140 << 10, WithOthers::Small),
            (Flavor::MySql, 50, 850 << 10, WithOthers::Small),
            (Flavor::MySql, 50, 900 << 10, WithOthers::Swap),
        ] {
            let command = CommandFacts { flavor, ..facts(vec![bytes; tables]) };
            assert_eq!(chosen(&command).0, with_others, "{flavor:?} {tables} {bytes}");
        }
    }

    #[test]
    fn one_table_that_cannot_be_small_makes_all_swap() {
        let mut mixed = facts([1, 1]);
        mixed.tables[1].small_bytes = None;
        assert_eq!(chosen(&mixed).0, WithOthers::Swap);
    }

    #[test]
    fn small_tables_come_after_their_parents() {
        let mut tables = facts([1, 2]);
        tables.tables[0].parents = vec![tables.tables[1].name.clone()];
        assert_eq!(chosen(&tables), (WithOthers::Small, vec![1, 0]));
        // Rows of a circle are only right together.
        tables.tables[1].parents = vec![tables.tables[0].name.clone()];
        assert_eq!(chosen(&tables).0, WithOthers::Swap);
    }

    #[test]
    fn kept_rows_take_one_transaction_of_all_and_exclude_a_replaced_table() {
        let mut tables = facts([1, 1 << 40]);
        tables.tables[1].keeps_rows = true;
        assert_eq!(chosen(&tables), (WithOthers::Transaction, vec![1, 0]));
        tables.replaced = Some(tables.tables[0].name.clone());
        let error = Together::choose(&tables).unwrap_err().to_string();
        assert!(
            error.contains("the rows of d.t1 stay") && error.contains("replacing d.t0"),
            "{error}"
        );
        tables.tables[1].keeps_rows = false;
        assert_eq!(chosen(&tables).0, WithOthers::Swap);
    }

    #[test]
    fn methods_of_tables_lead_to_the_next_decision() {
        let tables = CommandFacts { can_be_whole: true, ..facts([1, 2]) };
        let small = Together::choose(&tables).unwrap();
        assert_eq!(small.after(OPEN, &tables), None);
        let swap = small.after(COUNTED, &tables).unwrap();
        assert_eq!(small.after(Methods::Missing, &tables), Some(swap.clone()));
        assert_eq!((swap.with_others, &swap.order[..]), (WithOthers::Swap, &[1, 0][..]));
        assert_eq!(swap.after(COUNTED, &tables), None);
        let whole = swap.after(Methods::Missing, &tables).unwrap();
        assert_eq!(whole.with_others, WithOthers::Transaction);
        assert_eq!(whole.after(Methods::Missing, &tables), None);
        let parted = CommandFacts { can_be_whole: false, ..tables };
        assert_eq!(swap.after(Methods::Missing, &parted), None);
    }
}
