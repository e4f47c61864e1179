//! Several tables one after the other, each for itself.

use std::time::Instant;

use job::error::Error;
use job::options::LoadOptions;
use job::progress::Progress;
use schema::{Table, TableName};
use server::catalog::CatalogCache;
use server::{ConnectOptions, Session, catalog};

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
    let mut reports = Vec::new();
    for (number, options) in order.iter().map(|&at| &tables[at]).enumerate() {
        let table = format!("{}.{}", options.database, options.table);
        progress.table(&table, number + 1, tables.len());
        match run::load(connect, options, places, progress) {
            Ok(report) => reports.push(report),
            Err(error) => {
                let done = reports.into_iter().map(|report| report.target).collect();
                return Err(Error::Each { table, error: Box::new(error), done });
            }
        }
    }
    Ok(SeveralReport::of(reports, Vec::new(), false, begun))
}

/// The tables as the server describes them; none where `--ddl` is still to make one.
fn described(session: &mut Session, tables: &[LoadOptions]) -> Result<Vec<Option<Table>>, Error> {
    let names = spelled(session, tables)?;
    let mut asked = CatalogCache::default();
    for name in &names {
        // Of one that is still to be made, and of others that cannot be told, it is asked below.
        let _ = asked.define(session, name);
    }
    asked.ask(session)?;
    let read = |(name, options): (&TableName, &LoadOptions)| match catalog::read_among(
        session, name, &asked,
    ) {
        Ok(table) => Ok(Some(table)),
        Err(server::Error::NoTable(_)) if options.ddl.is_some() => Ok(None),
        Err(error) => Err(error.into()),
    };
    names.iter().zip(tables).map(read).collect()
}
