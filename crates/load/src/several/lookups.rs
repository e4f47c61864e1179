//! Rows of other tables that lines look something up in.

use std::sync::Arc;

use check::lines::{Asks, LineTable, LookedUp, Rule, key_of_lookup, shown};
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
    let mut found: Vec<LookedUp> = Vec::new();
    for lookup in of_tables.chain(of_rules) {
        if found.iter().all(|known| known.lookup != lookup) {
            found.push(look_up_in(session, lookup, &line_tables[0], &tables[0])?);
        }
    }
    Ok(found)
}

fn look_up_in(
    session: &mut Session,
    lookup: Lookup,
    like: &LineTable,
    options: &LoadOptions,
) -> Result<LookedUp, Error> {
    let (key, column, base_or_view) = key_of_lookup(session, &lookup, like)?;
    let mut keys = RowKeys::new(&key);
    let (mut rows, mut twice) = (LookedUpRows::default(), false);
    let take = schema::quote_name(&lookup.take);
    let take = format!("CAST(CONVERT({take} USING {}) AS BINARY)", options.input.charset);
    let sql =
        format!("SELECT {}, {take} FROM {base_or_view}", shown(&column, &options.input.charset));
    let (mut held, most) = (0u64, options.limits.memory_bytes_max / 8);
    session
        .for_each(&sql, |row| {
            // What has no key is found by none.
            if let Ok(key) = keys.of(GivenRow(&[row.bytes(0)])) {
                twice |= !rows.push(key, row.bytes(1));
                held += key.len() as u64 + 128;
            }
            if held > most { Err(server::Error::Interrupted) } else { Ok(()) }
        })
        .map_err(|error| match held > most {
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
    Ok(LookedUp { lookup, key, known: Arc::new(rows.finish()) })
}
