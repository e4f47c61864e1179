//! Rows of other tables that lines look something up in.

use std::collections::HashMap;
use std::sync::Arc;

use check::lines::{Asks, LineTable, LookedUp, LookupColumns, Rule, TakenValues};
use encode::mapped::{GivenRow, LookedUpRows, Lookup, RowKeys, RowReference};
use face::option::MEMORY;
use job::error::Error;
use job::options::LoadOptions;
use server::Session;

/// The rows of all tables that lines look something up in.
pub(super) fn look_up(
    session: &mut Session,
    line_tables: &[LineTable],
    rules: &[Rule],
    tables: &[LoadOptions],
) -> Result<Vec<LookedUp>, Error> {
    let of_tables = line_tables.iter().flat_map(|table| table.mapping.wanted());
    let of_tables = of_tables.filter_map(|wanted| match wanted {
        RowReference::Looked(lookup) => Some(lookup),
        RowReference::Id(_) => None,
    });
    let of_rules = rules.iter().filter_map(|rule| match &rule.asks {
        Asks::References(lookup) => Some(lookup.clone()),
        _ => None,
    });
    let (mut found, mut held) = (Vec::<LookedUp>::new(), 0);
    for lookup in of_tables.chain(of_rules) {
        if found.iter().all(|known| known.lookup != lookup) {
            found.push(look_up_in(session, lookup, line_tables, &tables[0], &mut held)?);
        }
    }
    Ok(found)
}

/// The rows of the table of a lookup; adds their bytes to those of other lookups.
fn look_up_in(
    session: &mut Session,
    lookup: Lookup,
    line_tables: &[LineTable],
    options: &LoadOptions,
    held: &mut u64,
) -> Result<LookedUp, Error> {
    let columns = LookupColumns::look(session, &lookup, &line_tables[0])?;
    let mut keys = RowKeys::new(&columns.row_key);
    let (mut rows, mut twice) = (LookedUpRows::default(), false);
    let mut faults = Faults::of(&lookup, line_tables, &options.input.charset);
    let most = options.limits.memory_bytes_max / 8;
    let sql = columns.statement(&options.input.charset);
    session
        .for_each(&sql, |row| {
            // What has no key is found by none.
            if let Ok(key) = keys.of(GivenRow(&[row.bytes(0)])) {
                let (value, is_same) = (row.bytes(1), row.bytes(2) == Some(b"1"));
                *held += (key.len() + value.map_or(0, <[u8]>::len)) as u64 + 128;
                match rows.push(key, value) {
                    Some(number) => *held += faults.take(number, value, is_same),
                    None => twice = true,
                }
            }
            if *held > most { Err(server::Error::Interrupted) } else { Ok(()) }
        })
        .map_err(|error| match *held > most {
            true => Error::Usage(format!(
                "{} has too many rows for lookups, which may use an eighth of the memory: set a \
                 larger {MEMORY}",
                lookup.table
            )),
            false => error.into(),
        })?;
    if twice {
        return Err(Error::Usage(format!(
            "{} has rows with the same {}, so it does not identify a row",
            lookup.table, lookup.key
        )));
    }
    let faults = faults.found;
    Ok(LookedUp { lookup, key: columns.key, known: Arc::new(rows.finish()), faults })
}

/// Values of a lookup that rows of a table cannot have.
struct Faults<'a> {
    /// The tables that take the values, by number.
    tables: Vec<(usize, TakenValues<'a>)>,
    charset: &'a str,
    found: HashMap<(usize, Option<usize>), String>,
}

impl<'a> Faults<'a> {
    fn of(lookup: &Lookup, tables: &'a [LineTable], charset: &'a str) -> Faults<'a> {
        let tables = tables.iter().enumerate();
        let tables = tables.filter_map(|(at, table)| Some((at, table.taken_values(lookup)?)));
        let mut faults = Faults { tables: tables.collect(), charset, found: HashMap::new() };
        for (table, values) in &mut faults.tables {
            faults.found.extend(values.fault(None).map(|reason| ((*table, None), reason)));
        }
        faults
    }

    /// Judges the value of a row, which is not the same in the character set of the file where that lacks a
    /// character of it. Returns the bytes of what is noted.
    fn take(&mut self, number: usize, value: Option<&[u8]>, is_same: bool) -> u64 {
        let mut bytes = 0;
        for (table, values) in &mut self.tables {
            let reason = match is_same {
                true => values.fault(value),
                false => Some(format!(
                    "{}: {}, the character set of the file, lacks a character of it",
                    values.column(),
                    self.charset
                )),
            };
            if let Some(reason) = reason {
                bytes += reason.len() as u64 + 128;
                self.found.insert((*table, Some(number)), reason);
            }
        }
        bytes
    }
}
