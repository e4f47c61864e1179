//! `--ddl`: the one statement of a file that makes the target.
//!
//! Such files come from mariadb-dump as often as from a keyboard: with comments, DROP TABLE, SET
//! and other tables in them. Of all that only the target's CREATE TABLE is run.

use job::error::Error;
use job::options::LoadOptions;
use server::{Session, Table, TableName, identifier};

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
            && matches!(Table::is_empty(session, name), Ok(true))
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
    if options.ddl.is_none() || Table::exists(session, &name)? {
        return Ok(Made::default());
    }
    let statement = statement(options)?;
    let refused = |error: server::Error| Error::Usage(format!("--ddl: {error}"));
    let database = identifier::quote_name(&options.database);
    let done = session.exec(&format!("CREATE DATABASE IF NOT EXISTS {database}"));
    // Of one that was there already, it says that it changed nothing.
    let is_new = done.map_err(refused)?.affected_rows > 0;
    let mut made = Made { table: None, database: is_new.then(|| options.database.clone()) };
    let mut make = || {
        session.exec(&format!("USE {database}")).map_err(refused)?;
        session.exec(statement).map_err(refused)?;
        if Table::exists(session, &name)? {
            return Ok(());
        }
        Err(Error::Usage(format!("--ddl ran, but made no table {name}")))
    };
    match make() {
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
    for statement in statements(options.ddl.as_deref().unwrap_or_default()) {
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
    let mut rest = word(statement, "CREATE")?;
    if let Some(after) = word(rest, "OR").and_then(|rest| word(rest, "REPLACE")) {
        rest = after;
    }
    rest = word(rest, "TABLE")?;
    if let Some(after) =
        word(rest, "IF").and_then(|rest| word(rest, "NOT")).and_then(|rest| word(rest, "EXISTS"))
    {
        rest = after;
    }
    let mut quoted = false;
    let end = rest.find(|c: char| {
        quoted ^= c == '`';
        !quoted && (c.is_whitespace() || c == '(')
    });
    TableName::parse(&rest[..end.unwrap_or(rest.len())], Some(database)).ok()
}

/// What follows a keyword, less space and comments.
fn word<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(keyword.len())?;
    let ends = rest.starts_with(|c: char| c.is_whitespace() || "`/-#".contains(c));
    (head.eq_ignore_ascii_case(keyword) && ends).then(|| without_comments(rest))
}

/// The text behind leading space and comments. What stands in `/*! .. */` is for the server.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(length) = comment_bytes(rest).filter(|_| !rest.starts_with("/*!")) {
        rest = rest[length..].trim_start();
    }
    rest
}

/// Length of the comment that `text` begins with.
fn comment_bytes(text: &str) -> Option<usize> {
    let dashes = text.strip_prefix("--");
    let line = dashes.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    if line || text.starts_with('#') {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*").map(|rest| rest.find("*/").map_or(text.len(), |end| end + 4))
}

/// The statements of a script, without what separates them.
fn statements(script: &str) -> Vec<&str> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    let bytes = script.as_bytes();
    while at < bytes.len() {
        at += match bytes[at] {
            b';' => {
                found.push(&script[start..at]);
                start = at + 1;
                1
            }
            quote @ (b'\'' | b'"' | b'`') => quoted_bytes(&bytes[at..], quote),
            b'-' | b'#' | b'/' => comment_bytes(&script[at..]).unwrap_or(1),
            _ => 1,
        };
    }
    found.push(&script[start.min(script.len())..]);
    found.into_iter().map(|text| without_comments(text).trim_end()).collect()
}

/// Length of a quoted text, both quotes included. A doubled quote reads as two texts, which comes
/// to the same.
fn quoted_bytes(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' && quote != b'`' { 2 } else { 1 };
    }
    at + 1
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
