//! The ids of entities.

use check::lines::LineTable;
use encode::mapped::{Entities, Known, OnConflict, OwnLines};
use job::error::Error;
use job::options::{LoadOptions, Mode};
use schema::TableName;
use server::{ServerFacts, Session};

/// Entities of a table that have to get their ids, and what the server says of these.
pub(super) struct Unnumbered {
    all: Entities,
    /// The ids of those that the table has, by their numbers; empty where it keeps no rows.
    there: Vec<Option<u64>>,
    /// The next ids, if ids are given.
    next: Option<Ids>,
    takes_last: bool,
    table: TableName,
}

impl Unnumbered {
    /// Asks the server which of them the table has, and from where ids go on.
    ///
    /// Errors: the server's; several rows of the table with one key.
    pub(super) fn ask(
        session: &mut Session,
        table: &LineTable,
        facts: &ServerFacts,
        options: &LoadOptions,
        all: Entities,
    ) -> Result<Unnumbered, Error> {
        let entity = table.mapping.entity.as_ref();
        let id = entity.and_then(|entity| entity.id.as_deref());
        let mut there = Vec::new();
        if options.mode == Mode::Append {
            there.resize(all.len(), None);
            find_there(session, table, id, &all, &mut there)?;
        }
        let begin = |id| Ids::begin(session, table, facts, id, options);
        Ok(Unnumbered {
            all,
            there,
            next: id.map(begin).transpose()?,
            takes_last: entity.is_some_and(|entity| entity.on_conflict == OnConflict::Last),
            table: table.table.name.clone(),
        })
    }

    /// Gives them their ids: those of rows that the table has, else the next ones in the order of the
    /// first lines. Lines are those of new rows, or of all with `all_lines`.
    ///
    /// Errors: no ids are left.
    pub(super) fn number(self, all_lines: bool) -> Result<(Known, OwnLines), Error> {
        let Unnumbered { all, there, mut next, takes_last, table } = self;
        let mut ids = vec![0; all.len()];
        let mut own = Vec::with_capacity(all.len());
        for (number, said) in all.iter() {
            let known = there.get(number).copied().flatten();
            let id = match (known, &mut next) {
                (Some(id), _) => id,
                (None, Some(next)) => next.take(&table)?,
                (None, None) => 0,
            };
            ids[number] = id;
            if known.is_none() || all_lines {
                let last = if takes_last { all.last(number) } else { None };
                own.push((last.unwrap_or(said.first), id));
            }
        }
        Ok((all.identified(ids), OwnLines::new(own)))
    }
}

/// Finds entities that the table has, and puts their ids in their places.
fn find_there(
    session: &mut Session,
    table: &LineTable,
    id_name: Option<&str>,
    all: &Entities,
    there: &mut [Option<u64>],
) -> Result<(), Error> {
    let (mut twice, mut odd) = (false, None);
    let column = table.key_columns.len();
    table.for_each_row(session, id_name, |key, row| {
        let Some(number) = all.find(key) else { return };
        // Rows without a number of their own only have to be there.
        match id_name.map_or(Ok(0), |_| row.number(column)) {
            Ok(id) => twice |= there[number].replace(id).is_some(),
            Err(_) => odd = Some(row.bytes(column).map(<[u8]>::to_vec)),
        }
    })?;
    match (twice, odd) {
        (false, None) => Ok(()),
        (false, Some(id)) => Err(Error::Usage(format!(
            "{} already has a row that lines of the input name, but its {} is {}: only rows with \
             integers from 0 on can be referred to",
            table.table.name,
            id_name.unwrap_or_default(),
            id.map_or("NULL".into(), |id| String::from_utf8_lossy(&id).into_owned()),
        ))),
        (true, _) => Err(Error::Usage(format!(
            "{} has several rows with one key, so the key does not identify a row",
            table.table.name
        ))),
    }
}

/// Ids that are given out.
struct Ids {
    next: u64,
    step: u64,
}

impl Ids {
    /// Behind all that the table has or has had; a table that is replaced begins anew, unless it keeps its
    /// AUTO_INCREMENT.
    fn begin(
        session: &mut Session,
        table: &LineTable,
        facts: &ServerFacts,
        id: &str,
        options: &LoadOptions,
    ) -> Result<Ids, Error> {
        let (step, offset) = facts.auto_increment_step;
        let first = match options.mode {
            Mode::Replace if options.restarts_numbers() => 1,
            Mode::Replace => table.table.auto_increment.unwrap_or(1),
            Mode::Insert | Mode::Append => {
                let name = schema::quote_name(id);
                let sql = format!(
                    "SELECT GREATEST(COALESCE(MAX({name}), 0), 0) FROM {base}",
                    base = table.table.name.base()
                );
                let most: u64 = session.query_row(&sql)?.number(0)?;
                table.table.auto_increment.unwrap_or(1).max(most.saturating_add(1))
            }
        };
        let step = step.max(1);
        let offset = offset.min(step);
        let steps = first.saturating_sub(offset).div_ceil(step);
        Ok(Ids { next: offset.saturating_add(steps.saturating_mul(step)), step })
    }

    fn take(&mut self, table: &TableName) -> Result<u64, Error> {
        let id = self.next;
        let next = id.checked_add(self.step);
        self.next = next.ok_or_else(|| Error::Usage(format!("{table} has no ids left")))?;
        Ok(id)
    }
}
