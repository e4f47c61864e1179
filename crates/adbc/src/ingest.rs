//! A bulk load of bound data, by the program.

mod stream;

use adbc_core::error::{Result, Status};
use adbc_core::options::IngestMode;
use schema::TableName;
use serde_json::Value;
use server::Session;
use server::identifier::quote_text;

use crate::errors::{error, not_implemented, of_server};
use crate::program::Program;
use crate::result::Reader;
use crate::shared::{CATALOG, Shared, current_database};

/// The target of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ingest {
    /// Name of the table.
    pub(crate) table: String,
    /// The database; else that of the connection.
    pub(crate) database: Option<String>,
    pub(crate) catalog: Option<String>,
    /// Default: create.
    pub(crate) mode: Option<IngestMode>,
    /// More options of the load, by their names; a switch has no value.
    pub(crate) options: Vec<(String, Option<String>)>,
}

impl Ingest {
    /// Loads all rows of the data or none; gives the report.
    ///
    /// Errors: a table that exists already, or does not; those of the load.
    pub(crate) fn run(&self, shared: &Shared, data: Reader) -> Result<Value> {
        if self.catalog.as_deref().is_some_and(|name| !name.is_empty() && name != CATALOG) {
            return Err(not_implemented(
                "MySQL and MariaDB have one catalog, def; the database is the schema (db_schema)",
            ));
        }
        let mode = self.mode.unwrap_or(IngestMode::Create);
        let target = shared.with_session(|session| -> Result<TableName> {
            let target = self.target(session)?;
            check_existence(session, &target, mode)?;
            Ok(target)
        })?;
        let program = Program::start(&shared.server, &self.arguments(&target, mode))?;
        program.run(&shared.work, |input, takes_input| stream::write(input, data, takes_input))
    }

    fn target(&self, session: &mut Session) -> Result<TableName> {
        let database = match &self.database {
            Some(database) if !database.is_empty() => database.clone(),
            _ => current_database(session)?.ok_or_else(|| {
                error(
                    Status::InvalidArguments,
                    format!(
                        "the database of table {} is missing: give it as the schema \
                         (db_schema_name), or connect to a database",
                        self.table
                    ),
                )
            })?,
        };
        Ok(TableName::new(database, self.table.as_str()))
    }

    fn arguments(&self, target: &TableName, mode: IngestMode) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["load", "--json", "--format=arrow"].map(str::to_owned).into();
        arguments.push(format!("--into={}", target.quoted()));
        let modes: &[&str] = match mode {
            IngestMode::Create => &["--mode=insert", "--create"],
            IngestMode::Append => &["--mode=append"],
            IngestMode::Replace => &["--mode=replace", "--create"],
            IngestMode::CreateAppend => &["--mode=append", "--create"],
        };
        arguments.extend(modes.iter().map(|&one| one.to_owned()));
        arguments.extend(self.options.iter().map(|(name, value)| match value {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        }));
        arguments.extend(["--".to_owned(), "-".to_owned()]);
        arguments
    }
}

fn check_existence(session: &mut Session, target: &TableName, mode: IngestMode) -> Result<()> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote_text(&target.database),
        quote_text(&target.table)
    );
    let exists = session.query_text(&sql).map_err(|cause| of_server(&cause))?.is_some();
    match mode {
        IngestMode::Create if exists => Err(error(
            Status::AlreadyExists,
            format!(
                "table {target} exists already: mode append adds the rows, mode replace replaces \
                 the rows of the table"
            ),
        )),
        IngestMode::Append if !exists => Err(error(
            Status::NotFound,
            format!(
                "table {target} does not exist: modes create and create_append create the table"
            ),
        )),
        _ => Ok(()),
    }
}
