//! `--ddl`: the statement of a file that makes the target, or each of several.
//!
//! Such files come from mariadb-dump as often as from a keyboard: with comments, DROP TABLE, SET and other
//! tables in them. Only the targets' CREATE TABLE are run.

use std::collections::HashMap;
use std::mem::discriminant;
use std::sync::mpsc::Sender;
use std::time::Duration;

use face::option::{DDL, TYPES};
use job::error::Error;
use job::options::LoadOptions;
use job::pool;
use schema::{Column, Table, TableName};
use server::version::{Flavor, Version};
use server::{ConnectOptions, Session, identifier, privileges};
use sql::{Comments, CreateTable, Syntax, TableChange};
use targets::waiting::within;

use crate::predicted_table;

/// `ER_DB_CREATE_EXISTS`: the database exists.
const ER_DB_CREATE_EXISTS: u16 = 1007;
/// `ER_TABLE_EXISTS_ERROR`: the table exists.
const ER_TABLE_EXISTS: u16 = 1050;
/// `ER_UNKNOWN_DATA_TYPE` of MariaDB.
const ER_UNKNOWN_DATA_TYPE: u16 = 4161;

/// Tables and databases that a load made before it began.
#[derive(Debug, Default)]
pub(crate) struct CreatedTables {
    tables: Vec<TableName>,
    database: Option<String>,
}

impl CreatedTables {
    /// Takes it back because the load failed; a table that others have filled meanwhile is theirs.
    pub(crate) fn undo(&self, session: &mut Session) {
        let _shield = session.options().interrupt.shield();
        if self.tables.len() > 1 {
            // Tables that refer to each other can be dropped in no other way.
            let _ = session.set(&[("foreign_key_checks", "0")]);
        }
        // What made the load fail is what the user must hear.
        for name in &self.tables {
            if matches!(catalog::is_empty(session, name), Ok(true)) {
                let _ = session.exec(&format!("DROP TABLE {}", name.quoted()));
            }
        }
        if let Some(database) = &self.database
            && matches!(is_unused(session, database), Ok(true))
        {
            let _ = session.exec(&format!("DROP DATABASE {}", identifier::quote_name(database)));
        }
    }

    /// The same over a connection of its own.
    pub(crate) fn undo_anew(&self, connect: &ConnectOptions) {
        if self.tables.is_empty() && self.database.is_none() {
            return;
        }
        let _shield = connect.interrupt.shield();
        if let Ok(mut session) = Session::connect(connect) {
            self.undo(&mut session);
        }
    }
}

/// True if a database is empty.
fn is_unused(session: &mut Session, database: &str) -> Result<bool, server::Error> {
    let name = identifier::quote_text(database);
    let kinds =
        ["TABLES WHERE TABLE_SCHEMA", "ROUTINES WHERE ROUTINE_SCHEMA", "EVENTS WHERE EVENT_SCHEMA"];
    let found = kinds.map(|kind| format!("SELECT 1 FROM information_schema.{kind}={name}"));
    Ok(session.query(&found.join(" UNION ALL "))?.is_empty())
}

/// Makes the target by `--ddl` if it is missing, and its database.
pub(crate) fn make_table(
    session: &mut Session,
    options: &LoadOptions,
    told: &Sender<String>,
) -> Result<CreatedTables, Error> {
    let name = options.target();
    if options.ddl.is_none() || catalog::exists(session, &name)? {
        return Ok(CreatedTables::default());
    }
    make(session, vec![(name, options)], told, |_, _| Ok(()))
}

/// Compares a target that exists with the types that a user chose for its creation, which its creation alone
/// could give it.
///
/// Errors: a column of another kind of type, such as text in place of a number.
pub fn check_types(
    connect: &ConnectOptions,
    options: &LoadOptions,
    types: &[(String, String)],
) -> Result<(), Error> {
    if types.is_empty() {
        return Ok(());
    }
    let name = options.target();
    let expected = predicted_table::table(&name, statement(options)?);
    let Some(expected) = expected else { return Ok(()) };
    let mut session = Session::connect(connect)?;
    if !catalog::exists(&mut session, &name)? {
        return Ok(());
    }
    let table = catalog::read(&mut session, &name)?;
    for (column, sql_type) in types {
        let of = |table: &Table| {
            let named = |known: &&Column| known.name.eq_ignore_ascii_case(column);
            table.columns.iter().find(named).map(|column| column.sql_type.clone())
        };
        if let (Some(there), Some(expected)) = (of(&table), of(&expected))
            && discriminant(&there) != discriminant(&expected)
        {
            return Err(Error::Usage(format!(
                "{name} exists, and its column `{column}` is {there}, not {sql_type}: {TYPES} does \
                 not change a table; drop the table first, or leave out {TYPES}"
            )));
        }
    }
    Ok(())
}

/// Makes those of several tables of one database that are missing and have a `--ddl`, in any order of
/// their foreign keys.
///
/// Errors: as of one; a table that a foreign key of theirs refers to is missing. Nothing is left.
pub(crate) fn make_tables(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    told: &Sender<String>,
) -> Result<CreatedTables, Error> {
    if tables.iter().all(|options| options.ddl.is_none()) {
        return Ok(CreatedTables::default());
    }
    let mut session = Session::connect(connect)?;
    let names: Vec<TableName> = tables.iter().map(LoadOptions::target).collect();
    let there = catalog::spellings(&mut session, &tables[0].database, &names)?;
    let missing = names.into_iter().zip(tables).zip(there).filter_map(|(wanted, there)| {
        (there.is_none() && wanted.1.ddl.is_some()).then_some(wanted)
    });
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Ok(CreatedTables::default());
    }
    session.set(&[("foreign_key_checks", "0")])?;
    make(&mut session, missing, told, check_parents)
}

/// Makes tables that are missing; what was made goes again where they do not pass `check`.
fn make(
    session: &mut Session,
    missing: Vec<(TableName, &LoadOptions)>,
    told: &Sender<String>,
    check: impl FnOnce(&mut Session, &[TableName]) -> Result<(), Error>,
) -> Result<CreatedTables, Error> {
    let first = missing[0].1;
    let mut statements = Vec::new();
    let names: Vec<TableName> = missing.iter().map(|(name, _)| name.clone()).collect();
    targets::refuse_any_put_aside(session, &names)?;
    for (_, options) in &missing {
        statements.push(statement_for(options, session.version())?);
    }
    if let Some(grant) = privileges::missing(session, privileges::TO_MAKE, &first.database)? {
        let name = &missing[0].0;
        return Err(Error::Usage(format!("{name} cannot be created: the account needs: {grant}")));
    }
    let database = identifier::quote_name(&first.database);
    let wait = Duration::from_secs(u64::from(first.server.lock_wait_seconds));
    let told = Some(told.clone());
    let is_new = within(session, &missing[0].0, wait, told.clone(), |session| {
        create_database(session, &database)
    });
    let is_new = is_new.map_err(|error| refused(&names[0], error))?;
    let database_made = is_new.then(|| first.database.clone());
    let mut made = CreatedTables { tables: Vec::new(), database: database_made };
    let make = || {
        let used = session.exec(&format!("USE {database}"));
        used.map_err(|error| refused(&names[0], error))?;
        for ((name, options), statement) in missing.iter().zip(statements) {
            options.interrupt.check()?;
            let done = within(session, name, wait, told.clone(), |session| session.exec(statement));
            match done {
                Ok(_) => made.tables.push(name.clone()),
                // Another load has created it meanwhile.
                Err(error)
                    if error.errno() == Some(ER_TABLE_EXISTS)
                        && catalog::exists(session, name)? => {}
                Err(error) => return Err(refused(name, error)),
            }
        }
        let there = catalog::spellings(session, &first.database, &made.tables)?;
        if let Some((name, _)) = made.tables.iter().zip(there).find(|(_, there)| there.is_none()) {
            return Err(Error::Usage(format!("{DDL} ran, but created no table {name}")));
        }
        check(session, &made.tables)
    };
    match pool::catch(make).flatten() {
        Ok(()) => Ok(made),
        Err(error) => {
            made.undo(session);
            Err(error)
        }
    }
}

/// The error of a table that the server did not create.
fn refused(name: &TableName, error: server::Error) -> Error {
    match error {
        error @ server::Error::LockWait { .. } => error.into(),
        error if error.errno() == Some(ER_UNKNOWN_DATA_TYPE) => Error::Usage(format!(
            "creating {name}: {error}; {TYPES} and {DDL} take only types that the server knows"
        )),
        error => Error::Usage(format!("creating {name}: {error}")),
    }
}

/// Creates a database, if it is missing: true. `database` is its quoted name.
///
/// MySQL counts a row for a database that was there already too (seen on 9.7.4), so there the statement has to fail.
fn create_database(session: &mut Session, database: &str) -> Result<bool, server::Error> {
    if session.version().flavor == Flavor::MariaDb {
        let done = session.exec(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
        return Ok(done.affected_rows > 0);
    }
    match session.exec(&format!("CREATE DATABASE {database}")) {
        Ok(_) => Ok(true),
        Err(error) if error.errno() == Some(ER_DB_CREATE_EXISTS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sees that what these tables refer to is there: no row could be, else.
fn check_parents(session: &mut Session, made: &[TableName]) -> Result<(), Error> {
    for name in made {
        let definition = catalog::definition(session, name)?;
        for reference in catalog::references(&definition, &name.database) {
            let parent = &reference.parent;
            if !made.contains(parent) && !catalog::exists(session, parent)? {
                return Err(Error::Usage(format!(
                    "{name} refers to {parent}, which does not exist and has no file: {DDL} \
                     creates only the tables of the files; create {parent} first"
                )));
            }
        }
    }
    Ok(())
}

/// Gives each of these tables its statement of a file for `--ddl`; those that it does not make get
/// none.
///
/// Errors: the file makes none of them; it changes one of them by a statement of its own (ALTER TABLE,
/// CREATE INDEX), which is not run.
pub fn give_statements(script: &str, tables: &mut [LoadOptions]) -> Result<(), Error> {
    let Some(database) = tables.first().map(|first| first.database.clone()) else { return Ok(()) };
    let (mut made, mut changed) = (HashMap::new(), Vec::new());
    for statement in sql::statements(script.as_bytes(), Syntax::default()) {
        let Ok(statement) = std::str::from_utf8(statement) else { continue };
        match made_by(statement, &database) {
            Some(name) => {
                made.entry(name).or_insert(statement);
            }
            None => changed.extend(changed_by(statement, &database)),
        }
    }
    let mut is_any = false;
    for options in tables {
        let name = options.target();
        options.ddl = made.get(&name).map(|statement| (*statement).to_owned());
        is_any |= options.ddl.is_some();
        if options.ddl.is_some() && changed.contains(&name) {
            return Err(Error::Usage(format!(
                "{DDL} changes {name} with ALTER TABLE or CREATE INDEX, but only CREATE TABLE is \
                 run: create the tables first, with the mariadb client"
            )));
        }
    }
    match is_any {
        true => Ok(()),
        false => Err(Error::Usage(format!(
            "{DDL} contains no CREATE TABLE for any table in {database} that the files belong to"
        ))),
    }
}

/// The tables that the rows of one refer to which is still to be made.
pub(crate) fn parents(options: &LoadOptions) -> Vec<TableName> {
    let Ok(statement) = statement(options) else { return Vec::new() };
    let read = CreateTable::read(statement.as_bytes(), Syntax::default(), Comments::default());
    let keys = read.map_or_else(|_| Vec::new(), |table| table.keys);
    let parent = |key: sql::ForeignKey| {
        let database = key.parent.database.unwrap_or_else(|| options.database.clone());
        TableName::new(database, key.parent.table)
    };
    keys.into_iter().map(parent).collect()
}

/// The statement of `--ddl` that makes the target.
pub(crate) fn statement(options: &LoadOptions) -> Result<&str, Error> {
    statement_of(options, options.ddl.as_deref())
}

/// The same for a server of this version.
fn statement_for<'o>(options: &'o LoadOptions, version: &Version) -> Result<&'o str, Error> {
    let without = options.ddl_without_uuid.as_deref().filter(|_| !version.has_uuid());
    statement_of(options, without.or(options.ddl.as_deref()))
}

fn statement_of<'o>(options: &LoadOptions, script: Option<&'o str>) -> Result<&'o str, Error> {
    let target = options.target();
    let mut others = Vec::new();
    let script = script.unwrap_or_default();
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
        [] => format!("{DDL} contains no CREATE TABLE statement"),
        _ => format!("{DDL} creates {}, not {target}", others.join(", ")),
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

/// The table whose columns, indexes or keys a statement changes; None for other statements.
fn changed_by(statement: &str, database: &str) -> Option<TableName> {
    let text = statement.as_bytes();
    let indexed = || TableChange::read(text, Syntax::default()).filter(|change| change.is_index);
    let table = sql::altered_table(text, Syntax::default());
    let table = table.or_else(|| Some(indexed()?.table))?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    let database = table.database.map_or_else(|| Some(database.to_owned()), text)?;
    Some(TableName::new(database, text(table.name)?))
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
            assert!(error.contains("contains no CREATE TABLE"), "{ddl}: {error}");
        }
    }

    #[test]
    fn a_table_that_another_load_creates_meanwhile_is_not_taken_back() {
        let Some(server) = testkit::TestServer::shared() else { return };
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        let name = TableName::new(&database, "t");
        session.exec(&format!("CREATE TABLE {} (a INT)", name.quoted())).unwrap();
        let mut options = LoadOptions::new(Vec::new(), &database, "t");
        options.ddl = Some("CREATE TABLE t (a INT)".to_owned());
        let told = &std::sync::mpsc::channel().0;
        let missing = vec![(name.clone(), &options)];
        let made = make(&mut session, missing, told, |_, _| Ok(())).unwrap();
        made.undo(&mut session);
        assert!(catalog::exists(&mut session, &name).unwrap());
    }

    #[test]
    fn each_of_several_tables_gets_its_own_statement() {
        let tables = || ["t", "u", "v"].map(|table| LoadOptions::new(Vec::new(), "d", table));
        let script = "CREATE DATABASE d; USE d; CREATE TABLE u (a INT); /*!40000 ALTER TABLE `u` \
            DISABLE KEYS */; CREATE TABLE `d`.`t` (a INT, b INT, FOREIGN KEY (a) REFERENCES u (a), \
            FOREIGN KEY (b) REFERENCES `e`.`x` (a)); CREATE TABLE other (a INT); \
            ALTER TABLE other ADD PRIMARY KEY (a)";
        let mut some = tables();
        give_statements(script, &mut some).unwrap();
        let ddl = some.each_ref().map(|options| options.ddl.as_deref().map(|ddl| &ddl[..20]));
        assert_eq!(ddl, [Some("CREATE TABLE `d`.`t`"), Some("CREATE TABLE u (a IN"), None]);
        let names = parents(&some[0]).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names, ["d.u", "e.x"]);
        for (script, said) in [
            ("CREATE TABLE w (a INT)", "for any table in d that the files belong to"),
            (
                "CREATE TABLE t (a INT); ALTER TABLE t ADD PRIMARY KEY (a)",
                "--ddl changes d.t with ALTER TABLE",
            ),
            (
                "CREATE TABLE t (a INT); CREATE INDEX i ON d.t (a)",
                "--ddl changes d.t with ALTER TABLE",
            ),
        ] {
            let error = give_statements(script, &mut tables()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
