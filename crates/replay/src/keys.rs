//! Foreign keys, added when the rows of the tables they concern are in.
//!
//! InnoDB checks a foreign key row by row, and a table that has one, or that others refer to, cannot have
//! another put in its place. So tables are made and filled without, and get theirs when they have their
//! names. Then neither cycles nor the order of filling matter. Keys added under `foreign_key_checks=0`, as
//! nearly every dump means it, read no rows and may refer to a missing table.

use schema::TableName;
use server::version::Flavor;
use sql::ForeignKey;

/// The table that a foreign key of `child` refers to.
pub(crate) fn parent_of(key: &ForeignKey, child: &TableName) -> TableName {
    let database = key.parent.database.as_ref().unwrap_or(&child.database);
    TableName::new(database.as_str(), key.parent.table.as_str())
}

/// `ALTER TABLE table ADD ..` of all foreign keys of `child`, which has the name `table` now; so have
/// the tables it refers to what `now` gives for their names. For a server of this `flavor`.
pub(crate) fn add_all(
    flavor: Flavor,
    child: &TableName,
    table: &TableName,
    keys: &[ForeignKey],
    now: impl Fn(&TableName) -> TableName,
) -> String {
    let adds: Vec<String> = keys
        .iter()
        .map(|key| {
            let parent = now(&parent_of(key, child)).quoted();
            let tail = match flavor {
                Flavor::MariaDb => without_defaults(&key.tail),
                Flavor::MySql => key.tail.clone(),
            };
            format!("ADD {} {parent} {tail}", key.head)
        })
        .collect();
    format!("ALTER TABLE {} {}", table.quoted(), adds.join(", "))
}

/// The text after the table that a foreign key refers to, without RESTRICT and SET DEFAULT: CREATE
/// TABLE ignores these, and ALTER TABLE takes them for NO ACTION, which SHOW CREATE TABLE then
/// shows.
///
/// Source: MariaDB 10.11, storage/innobase/handler/handler0alter.cc,
/// `innobase_set_foreign_key_option`; tried on 10.11.19.
fn without_defaults(tail: &str) -> String {
    let Some((columns, actions)) = tail.rsplit_once(')') else { return tail.to_owned() };
    let words: Vec<&str> = actions.split_whitespace().collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let (mut kept, mut at) = (format!("{columns})"), 0);
    while at < words.len() {
        let is_action = is(at, "ON") && (is(at + 1, "DELETE") || is(at + 1, "UPDATE"));
        at += match is_action {
            true if is(at + 2, "RESTRICT") => 3,
            true if is(at + 2, "SET") && is(at + 3, "DEFAULT") => 4,
            _ => {
                kept.push(' ');
                kept.push_str(words[at]);
                1
            }
        };
    }
    kept
}

/// Names of tables for a statement.
pub(crate) fn quoted_list(tables: &[TableName]) -> String {
    tables.iter().map(TableName::quoted).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_create_table_takes_for_nothing_is_left_out() {
        for (given, kept) in [
            ("( `id` )", "( `id` )"),
            ("( `id` ) ON DELETE RESTRICT ON UPDATE RESTRICT", "( `id` )"),
            ("( `id` ) on delete restrict ON UPDATE CASCADE", "( `id` ) ON UPDATE CASCADE"),
            ("( `id` ) ON UPDATE SET DEFAULT ON DELETE SET NULL", "( `id` ) ON DELETE SET NULL"),
            ("( `id` ) MATCH FULL ON DELETE NO ACTION", "( `id` ) MATCH FULL ON DELETE NO ACTION"),
            ("( `ON DELETE RESTRICT` )", "( `ON DELETE RESTRICT` )"),
        ] {
            assert_eq!(without_defaults(given), kept, "{given}");
        }
    }
}
