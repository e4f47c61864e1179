//! The table, and all that rows are judged by.

use encode::binding::{self, BoundColumn};
use encode::inspected::Inspected;
use job::error::Error;
use job::options::LoadOptions;
use schema::Table;
use server::{ConnectOptions, ServerFacts, Session};
use sources::Source;
use values::{Family, SqlType};

use crate::conditions::Conditions;
use crate::judge::Rules;
use crate::key_lookups::{KeyLookup, KeyLookups, Purpose};
use crate::partitions::Partitions;
use crate::rows::Counts;
use crate::table;

/// The table, and all that rows are judged by.
pub(crate) struct Subject {
    pub(crate) session: Session,
    pub(crate) table: Table,
    pub(crate) looks: KeyLookups,
    pub(crate) conditions: Conditions,
    pub(crate) rules: Rules,
    not_judged: Vec<String>,
}

impl Subject {
    pub(crate) fn look(
        connect: &ConnectOptions,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<Subject, Error> {
        let (mut session, table) = table::open(connect, options)?;
        let facts = ServerFacts::read(&mut session)?;
        let inspected = Inspected::of_table(&mut session, &table, &facts, options, source)?;
        let mut not_judged = Vec::new();
        let looks = KeyLookups::of(&table, &inspected, options, &mut not_judged);
        let conditions = Conditions::of(&mut session, &table, &inspected, &mut not_judged)?;
        not_judged.extend(unjudged(&table, &inspected));
        let mut rules = rules(&table, &inspected)?;
        match Partitions::of(&table, &inspected) {
            Ok(partitions) => rules.partitions = partitions,
            Err(why) => not_judged.push(why),
        }
        Ok(Subject { session, table, looks, conditions, rules, not_judged })
    }

    /// The keys and conditions that rows were judged by, besides their values.
    pub(crate) fn judged(&self) -> Vec<String> {
        let look = |look: &KeyLookup| match &look.purpose {
            Purpose::Unique => Some(format!("unique key `{}`", look.name)),
            Purpose::Refers(_) => Some(format!("foreign key `{}`", look.name)),
            Purpose::Referred => None,
        };
        let checks = self.conditions.checks.iter();
        let partitions = self.rules.partitions.iter().map(|_| "partitions".to_owned());
        let looks = self.looks.looks.iter().filter_map(look);
        looks
            .chain(checks.map(|check| format!("CHECK constraint `{}`", check.name)))
            .chain(partitions)
            .collect()
    }

    /// Rules that were not judged, by these `counts`, without the keys of tables for the looks in `blind`.
    pub(crate) fn not_judged(&self, blind: &[u16], counts: &Counts) -> Vec<String> {
        let looks = &self.looks.looks;
        let blind = blind.iter().map(|&at| {
            let look = &looks[usize::from(at)];
            let what = match look.purpose {
                Purpose::Unique => "rows of the table, for the key",
                _ => "foreign key",
            };
            format!(
                "{what} `{}`: the values that the server shows do not give their order",
                look.name
            )
        });
        let keyless = looks.iter().zip(&counts.keyless).filter(|(_, rows)| **rows > 0);
        let keyless = keyless.map(|(look, rows)| {
            format!(
                "key `{}` of {rows} row(s): the order of these values in its collation is unknown",
                look.name
            )
        });
        let unplaced = (counts.unplaced > 0).then(|| {
            format!(
                "partitions of {} row(s): their values are generated numbers, or only the server \
                 can tell their values",
                counts.unplaced
            )
        });
        self.not_judged.iter().cloned().chain(blind).chain(keyless).chain(unplaced).collect()
    }
}

/// The rules for values, also of generated columns, which a load judges too.
pub(crate) fn rules(table: &Table, inspected: &Inspected) -> Result<Rules, Error> {
    let generated = |position: usize| {
        let column = &table.columns[position];
        column.generated.is_some()
            && inspected.fields.field_of(position).is_some()
            && column.sql_type.is_convertible(inspected.is_zone_known)
    };
    let mut columns = inspected.columns.clone();
    let given = binding::bind_columns(
        &table.columns,
        &inspected.fields,
        &inspected.convert,
        &inspected.labels,
        None,
        generated,
    )?;
    columns.extend(given.into_iter().map(|mut bound: BoundColumn| {
        bound.column.nullable = true;
        bound
    }));
    columns.extend(opaque_columns(table, inspected)?);
    Ok(Rules {
        columns,
        fields_per_row: inspected.fields.columns.len(),
        fields_needed: inspected.fields.needed(),
        partitions: None,
    })
}

/// Columns whose types only the server knows. Any bytes are values of them, but NULL may not be, nor text
/// that does not match their format.
fn opaque_columns(table: &Table, inspected: &Inspected) -> Result<Vec<BoundColumn>, Error> {
    let is_opaque = |position: &usize| {
        let column = &table.columns[*position];
        let is_given = inspected.fields.field_of(*position).is_some();
        is_given && column.sql_type.family() == Family::OpaqueBytes && column.generated.is_none()
    };
    let positions: Vec<usize> = (0..table.columns.len()).filter(is_opaque).collect();
    let mut columns = table.columns.clone();
    for &position in &positions {
        columns[position].sql_type = SqlType::Blob { bytes_max: u32::MAX.into() };
    }
    let mut bound = binding::bind_columns(
        &columns,
        &inspected.fields,
        &inspected.convert,
        &inspected.labels,
        None,
        |position| positions.contains(&position),
    )?;
    for (bound, position) in bound.iter_mut().zip(positions) {
        bound.column.sql_type = table.columns[position].sql_type.clone();
    }
    Ok(bound)
}

/// Rules that only the server can judge.
fn unjudged(table: &Table, inspected: &Inspected) -> Vec<String> {
    let is_unknown = |position: &usize| {
        !table.columns[*position].sql_type.is_convertible(inspected.is_zone_known)
    };
    let given = inspected.fields.columns.iter().flatten();
    let unknown = given.filter(|position| is_unknown(position)).map(|position| {
        let column = &table.columns[*position];
        format!("column `{}`: only the server can check values of {}", column.name, column.sql_type)
    });
    let triggers = table
        .triggers
        .iter()
        .map(|trigger| format!("changes of rows by trigger `{}`", trigger.name));
    unknown.chain(triggers).collect()
}
