//! `--ddl`: the one statement of a file that makes the target.
//!
//! Such files come from mariadb-dump as often as from a keyboard: with comments, DROP TABLE, SET
//! and other tables in them. Of all that only the target's CREATE TABLE is run.

use job::error::Error;
use job::options::LoadOptions;
use job::pool;
use schema::TableName;
use server::{Session, catalog, identifier, privileges};
use sql::Syntax;

/// What a load made before it began.
#[derive(Debug, Default)]
pub(crate) struct Made {
    table: Option<TableName>,
    database: Option<String>,
}

impl Made {
    /// Takes it back because the load failed; a table that others have filled meanwhile is theirs.
    pub(crate) fn undo(&self, session: &mut Session) {
        // What made the load fail is what the user must hear.
        if let Some(name) = &self.table
            && matches!(catalog::is_empty(session, name), Ok(true))
        {
            let _ = session.exec(&format!("DROP TABLE {}", name.quoted()));
        }
        if let Some(database) = &self.database
            && matches!(is_unused(session, database), Ok(true))
        {
            let _ = session.exec(&format!("DROP DATABASE {}", identifier::quote_name(database)));
        }
    }
}

/// Whether there is nothing in a database.
fn is_unused(session: &mut Session, database: &str) -> Result<bool, server::Error> {
    let name = identifier::quote_text(database);
    let kinds =
        ["TABLES WHERE TABLE_SCHEMA", "ROUTINES WHERE ROUTINE_SCHEMA", "EVENTS WHERE EVENT_SCHEMA"];
    let found = kinds.map(|kind| format!("SELECT 1 FROM information_schema.{kind}={name}"));
    Ok(session.query(&found.join(" UNION ALL "))?.is_empty())
}

/// Makes the target by `--ddl` if it is missing, and its database.
pub(crate) fn make_table(session: &mut Session, options: &LoadOptions) -> Result<Made, Error> {
    let name = TableName::new(&options.database, &options.table);
    if options.ddl.is_none() || catalog::exists(session, &name)? {
        return Ok(Made::default());
    }
    targets::refuse_put_aside(session, &name)?;
    let statement = statement(options)?;
    if let Some(grant) = privileges::missing(session, privileges::TO_MAKE, &options.database)? {
        return Err(Error::Usage(format!("{name} cannot be made: the account needs: {grant}")));
    }
    let refused = |error: server::Error| Error::Usage(format!("--ddl: {error}"));
    let database = identifier::quote_name(&options.database);
    let done = session.exec(&format!("CREATE DATABASE IF NOT EXISTS {database}"));
    // Of one that was there already, it says that it changed nothing.
    let is_new = done.map_err(refused)?.affected_rows > 0;
    let mut made = Made { table: None, database: is_new.then(|| options.database.clone()) };
    let make = || {
        session.exec(&format!("USE {database}")).map_err(refused)?;
        session.exec(statement).map_err(refused)?;
        if catalog::exists(session, &name)? {
            return Ok(());
        }
        Err(Error::Usage(format!("--ddl ran, but made no table {name}")))
    };
    match pool::catch(make).and_then(|outcome| outcome) {
        Ok(()) => {
            made.table = Some(name);
            Ok(made)
        }
        Err(error) => {
            let _shield = options.interrupt.shield();
            made.undo(session);
            Err(error)
        }
    }
}

/// The statement of `--ddl` that makes the target.
pub(crate) fn statement(options: &LoadOptions) -> Result<&str, Error> {
    let target = TableName::new(&options.database, &options.table);
    let mut others = Vec::new();
    let script = options.ddl.as_deref().unwrap_or_default();
    for statement in sql::statements(script.as_bytes(), Syntax::default()) {
        // Cut between characters, as quotes and semicolons are some.
        let Ok(statement) = std::str::from_utf8(statement) else { continue };
        match made_by(statement, &options.database) {
            Some(name) if name == target => return Ok(statement),
            Some(name) => others.push(name.to_string()),
            None => {}
        }
    }
    Err(Error::Usage(match others.as_slice() {
        [] => "--ddl holds no CREATE TABLE statement".to_owned(),
        _ => format!("--ddl makes {}, not {target}", others.join(", ")),
    }))
}

/// The table that a CREATE TABLE statement makes; None for other statements.
fn made_by(statement: &str, database: &str) -> Option<TableName> {
    let name = sql::made_table(statement.as_bytes(), Syntax::default())?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    let database = match name.database {
        Some(database) => text(database)?,
        None => database.to_owned(),
    };
    Some(TableName::new(database, text(name.name)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn options(ddl: &str) -> LoadOptions {
        LoadOptions { ddl: Some(ddl.to_owned()), ..LoadOptions::new(Vec::new(), "d", "t") }
    }

    #[test]
    fn the_targets_statement_is_found_in_a_dump() {
        let dump = "-- a dump; of d\n/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `t`;\n\
            # others; too\nCREATE TABLE `other` (a INT);\n/* here; */ \
            create table if not exists `t` (a INT COMMENT 'it''s; \\' \"', `;` INT); -- end\n\
            INSERT INTO t VALUES (1);";
        let expected = "create table if not exists `t` (a INT COMMENT 'it''s; \\' \"', `;` INT)";
        assert_eq!(statement(&options(dump)).unwrap(), expected);
    }

    #[test]
    fn every_way_of_naming_the_target_counts() {
        for ddl in [
            "CREATE TABLE t(a INT)",
            "create or replace table d.t (a INT);",
            "CREATE TABLE`d`.`t`(a INT)",
            "CREATE /* x */ TABLE -- y\n t (a INT)",
            "CREATE TABLE t LIKE u",
        ] {
            assert!(statement(&options(ddl)).is_ok(), "{ddl}");
        }
        for ddl in ["CREATE TABLE e.t (a INT)", "CREATE TABLE T (a INT)", "CREATE TABLE tt (a INT)"]
        {
            let error = statement(&options(ddl)).unwrap_err().to_string();
            assert!(error.contains("not d.t"), "{error}");
        }
        for ddl in
            ["", ";", "CREATE VIEW t AS SELECT 1", "CREATE TABLET (a INT)", "'", "/*", "CREATE"]
        {
            let error = statement(&options(ddl)).unwrap_err().to_string();
            assert!(error.contains("holds no CREATE TABLE"), "{ddl}: {error}");
        }
    }
}
