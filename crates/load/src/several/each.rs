//! Several tables one after the other, each for itself.

use std::time::Instant;

use catalog::{self, CatalogCache};
use job::error::Error;
use job::options::LoadOptions;
use job::progress::Progress;
use job::report::Report;
use schema::Table;
use server::{ConnectOptions, Session};

use super::facts::waiting;
use super::inspection::spelled;
use super::{SeveralReport, check_several};
use crate::choose::Together;
use crate::places::Places;
use crate::run;

/// Loads several tables of one database one after the other, parents before children, each by itself:
/// all of it, or nothing.
///
/// Errors: [`Error::Each`], with the tables that were loaded before the one that failed.
pub fn load_each(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    places: Option<&dyn Places>,
    progress: &dyn Progress,
) -> Result<SeveralReport, Error> {
    check_several(tables)?;
    let begun = Instant::now();
    let mut session = Session::connect(connect)?;
    let described = described(&mut session, tables)?;
    let order = Together::each(&waiting(tables, described.iter().map(Option::as_ref))).order;
    drop(session);
    let tables = order.iter().map(|&at| &tables[at]);
    let reports = load_next(connect, tables, Vec::new(), places, progress)?;
    Ok(SeveralReport::of(reports, Vec::new(), false, begun))
}

/// Loads tables one after the other behind those that have `reports`, and gives the reports of all.
///
/// Errors: as [`load_each`].
pub(super) fn load_next<'t>(
    connect: &ConnectOptions,
    tables: impl ExactSizeIterator<Item = &'t LoadOptions>,
    mut reports: Vec<Report>,
    places: Option<&dyn Places>,
    progress: &dyn Progress,
) -> Result<Vec<Report>, Error> {
    let count = reports.len() + tables.len();
    for options in tables {
        let table = format!("{}.{}", options.database, options.table);
        progress.table(&table, reports.len() + 1, count);
        match run::load(connect, options, places, progress) {
            Ok(report) => reports.push(report),
            Err(error) => {
                return Err(Error::Each { table, error: Box::new(error), done: reports });
            }
        }
    }
    Ok(reports)
}

/// The tables as the server describes them; none where `--ddl` is still to make one.
fn described(session: &mut Session, tables: &[LoadOptions]) -> Result<Vec<Option<Table>>, Error> {
    let names = spelled(session, tables)?;
    let mut asked = CatalogCache::default();
    if asked.define(session, &names.iter().collect::<Vec<_>>()).is_err() {
        for name in &names {
            // A table that cannot be described is asked about alone, which tells why.
            let _ = asked.define(session, &[name]);
        }
    }
    asked.ask(session)?;
    asked.confirm(session)?;
    let described = names.iter().map(|name| catalog::read_among(session, name, &asked));
    let described: Vec<_> = described.collect();
    session.check_variables()?;
    let described = described.into_iter().zip(tables);
    let known = |(described, options): (server::Result<Table>, &LoadOptions)| match described {
        Ok(table) => Ok(Some(table)),
        Err(server::Error::NoTable(_)) if options.ddl.is_some() => Ok(None),
        Err(error) => Err(error.into()),
    };
    described.map(known).collect()
}
