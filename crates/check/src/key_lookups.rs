//! Which keys of the rows are looked at: unique ones, and those by which rows refer to others.

use encode::inspected::Inspected;
use encode::row_keys::{self, KeyPlan};
use face::option::{NO_FOREIGN_KEY_CHECKS, ON_DUPLICATE};
use job::options::{LoadOptions, OnDuplicate, WithOthers};
use schema::{Index, IndexColumn, IndexKind, Reference, Table};
use sort::EntryShape;
use targets::key_run::shape::{KeyColumn, KeyShape};

use crate::place::Place;

/// The purpose of looking up a key.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// No two rows may have it.
    Unique,
    /// Rows of the same input may refer to it, by the key that is looked at next.
    Referred,
    /// A row of the parent has to have it.
    Refers(Reference),
}

/// A key that each row may have.
#[derive(Clone, Debug)]
pub(crate) struct KeyLookup {
    /// Name of the index, or of the foreign key.
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) purpose: Purpose,
    /// Its number among the looks.
    pub(crate) number: u16,
    /// Its number in the plan of keys.
    pub(crate) key: usize,
    /// Sorted entries: the key, and the place of its row.
    pub(crate) shape: EntryShape,
    /// Columns of its bytes; none if they do not show values.
    pub(crate) of: Option<KeyShape>,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct KeyLookups {
    pub(crate) plan: KeyPlan,
    pub(crate) looks: Vec<KeyLookup>,
}

/// A look that is wanted, before it is known whether its keys can be made here.
type KeyUse = (Index, Purpose);

impl KeyLookups {
    /// The looks of a table. `not_judged` gets a sentence for each rule that is not judged.
    pub(crate) fn of(
        table: &Table,
        inspected: &Inspected,
        options: &LoadOptions,
        not_judged: &mut Vec<String>,
    ) -> KeyLookups {
        let mut wanted = Vec::new();
        if options.rows.on_duplicate == OnDuplicate::Fail {
            unique(table, &mut wanted, not_judged);
        } else {
            not_judged.push(format!(
                "rows with the same keys, which {} resolves",
                ON_DUPLICATE.with(options.rows.on_duplicate.name())
            ));
        }
        match unjudged_foreign_keys(options).filter(|_| !table.references.is_empty()) {
            Some(why) => not_judged.push(why),
            None => referring(table, &mut wanted),
        }
        KeyLookups::planned(wanted, inspected, not_judged)
    }

    fn planned(
        wanted: Vec<KeyUse>,
        inspected: &Inspected,
        not_judged: &mut Vec<String>,
    ) -> KeyLookups {
        let columns = row_keys::plain_columns(&inspected.columns);
        let indexes: Vec<&Index> = wanted.iter().map(|(index, _)| index).collect();
        let zero_is_value = inspected.series.zero_is_value;
        let plan = KeyPlan::new(&indexes, &columns, &inspected.collations, zero_is_value).plain();
        let mut looks: Vec<KeyLookup> = Vec::new();
        for (key, (index, purpose)) in wanted.into_iter().enumerate() {
            let is_new = plan.always_generates(key);
            if !plan.has(key) || is_new {
                // New numbers are nobody else's.
                if !(is_new && matches!(purpose, Purpose::Unique)) {
                    not_judged.push(unknown(&index, &purpose));
                }
                continue;
            }
            let columns = index.columns.into_iter().map(|column| column.name).collect();
            looks.push(KeyLookup {
                name: index.name,
                columns,
                purpose,
                // Servers allow far fewer keys.
                number: looks.len() as u16,
                key,
                shape: EntryShape {
                    key_len: plan.fixed_len(key).map(|len| len + Place::BYTES),
                    tail_len: Place::BYTES,
                    payload: false,
                },
                of: of(&plan, key),
            });
        }
        KeyLookups { plan, looks }
    }
}

/// The unique indexes of a table.
fn unique(table: &Table, wanted: &mut Vec<KeyUse>, not_judged: &mut Vec<String>) {
    for index in table.indexes.iter().filter(|index| index.unique) {
        match &index.without_overlaps {
            Some(words) => not_judged.push(format!("{words}, which compares periods")),
            None => wanted.push((index.clone(), Purpose::Unique)),
        }
    }
}

/// Why foreign keys are not judged, if they are not.
fn unjudged_foreign_keys(options: &LoadOptions) -> Option<String> {
    if options.server.unchecked_keys {
        return Some(format!("foreign keys, because of {NO_FOREIGN_KEY_CHECKS}"));
    }
    let in_others = "foreign keys, because parent rows may be in other files of the command";
    (options.with_others != WithOthers::Alone).then(|| in_others.to_owned())
}

/// The foreign keys of a table; of each that refers to the table itself, first what it refers to.
fn referring(table: &Table, wanted: &mut Vec<KeyUse>) {
    for reference in &table.references {
        let Reference { name, columns, parent, parent_columns, .. } = reference;
        if *parent == table.name {
            wanted.push((index(name, parent_columns), Purpose::Referred));
        }
        wanted.push((index(name, columns), Purpose::Refers(reference.clone())));
    }
}

/// An index of these columns, as far as keys are made by it.
fn index(name: &str, columns: &[String]) -> Index {
    let column =
        |name: &String| IndexColumn { name: name.clone(), prefix: None, descending: false };
    Index {
        name: name.to_owned(),
        unique: false,
        kind: IndexKind::BTree,
        columns: columns.iter().map(column).collect(),
        without_overlaps: None,
    }
}

fn unknown(index: &Index, purpose: &Purpose) -> String {
    let what = match purpose {
        Purpose::Unique => "unique key",
        Purpose::Refers(_) | Purpose::Referred => "foreign key",
    };
    format!("{what} `{}`, whose keys do not follow from the input alone", index.name)
}

/// The columns of an index's keys.
fn of(plan: &KeyPlan, key: usize) -> Option<KeyShape> {
    let parts = plan.whole_parts(key)?.into_iter();
    Some(KeyShape::new(parts.map(|(name, of, part)| KeyColumn::new(name, of, part)).collect()))
}
