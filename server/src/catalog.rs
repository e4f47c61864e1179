//! A table as the server describes it.
//!
//! [`Table::read`] asks information_schema and SHOW CREATE TABLE and turns the answer into
//! columns the `values` crate converts for, and a list of everything about the table that the
//! direct path does not handle. The server's own words are believed; nothing is parsed from a
//! CREATE statement of the user's.

mod column_type;
mod constant;
mod defaults;
mod evaluate;
mod features;
mod uuid;

use std::time::{Duration, Instant};

use values::{Column, DefaultValue};

pub use self::evaluate::Moment;
pub(crate) use self::features::foreign_keys;

use crate::error::{Error, Result, Unsupported};
use crate::identifier::{TableName, quote_text};
use crate::learn::{self, CollationCache};
use crate::session::{Row, Session};
use crate::version::Flavor;

/// How long a table may be listed without an engine before that is believed.
const LISTED_WAIT: Duration = Duration::from_secs(2);
const LISTED_NAP: Duration = Duration::from_millis(20);

/// How InnoDB lays out a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// The default since 10.2: long values wholly off page.
    Dynamic,
    /// The first 768 bytes of a long value stay on the page.
    Compact,
    /// Of MySQL 4; not loaded directly.
    Redundant,
    /// Compressed pages; not loaded directly.
    Compressed,
    /// Another engine's.
    Other,
}

/// One index, as far as reports and plans want it: its layout comes from the exported template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// `PRIMARY` or its name.
    pub name: String,
    /// Whether equal keys are refused.
    pub unique: bool,
    /// `BTREE`, `FULLTEXT`, `SPATIAL`, `HASH`.
    pub kind: String,
    /// Its columns in key order.
    pub columns: Vec<IndexColumn>,
}

/// One column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Name of the table's column.
    pub name: String,
    /// Characters (bytes for binary types) of a prefix key.
    pub prefix: Option<u32>,
    /// Whether larger values come first.
    pub descending: bool,
}

/// The target of a load.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, in the server's spelling.
    pub name: TableName,
    /// Storage engine; empty for a view.
    pub engine: String,
    /// How rows are laid out.
    pub row_format: RowFormat,
    /// The next AUTO_INCREMENT value, if a column has it.
    pub auto_increment: Option<u64>,
    /// Columns in table order, invisible and generated ones too; of a type that is not known as
    /// [`values::SqlType::Opaque`], for which `unsupported` has a line.
    pub columns: Vec<Column>,
    /// Names of INVISIBLE columns: those a load without a column list leaves out.
    pub invisible: Vec<String>,
    /// Names of generated columns, whose values are the server's. `unsupported` has them too.
    pub generated: Vec<String>,
    /// Indexes in the server's order.
    pub indexes: Vec<Index>,
    /// SHOW CREATE TABLE without name and AUTO_INCREMENT: equal texts are equal tables.
    pub definition: String,
    /// Features the direct path does not handle.
    pub unsupported: Vec<Unsupported>,
}

impl Table {
    /// Describes `name`. Changes nothing.
    ///
    /// Errors: [`Error::NoTable`]; a server that refuses to tell.
    pub fn read(session: &mut Session, name: &TableName) -> Result<Table> {
        let begun = Instant::now();
        loop {
            let table = Table::read_once(session, name)?;
            if begun.elapsed() > LISTED_WAIT || table.is_as_read(session)? {
                return Ok(table);
            }
            std::thread::sleep(LISTED_NAP);
        }
    }

    /// Whether no ALTER came between the questions that a description takes. In the moment in which
    /// one puts a new definition in its place, a table has no columns.
    fn is_as_read(&self, session: &mut Session) -> Result<bool> {
        let is_view = self.definition.is_empty();
        Ok(is_view
            || (!self.columns.is_empty() && definition(session, &self.name)? == self.definition))
    }

    fn read_once(session: &mut Session, name: &TableName) -> Result<Table> {
        let (name, row) = find(session, name)?;
        let engine = row.text_or_null(3)?.unwrap_or_default();
        let definition = match row.text(2)?.as_str() {
            "VIEW" | "SYSTEM VIEW" => String::new(),
            _ => definition(session, &name)?,
        };
        let found = columns(session, &name)?;
        let indexes = indexes(session, &name)?;
        let mut table = Table {
            engine,
            row_format: row_format(row.text_or_null(4)?.as_deref()),
            auto_increment: row.number_or_null(5)?,
            columns: found.columns,
            invisible: found.invisible,
            generated: found.generated,
            indexes,
            definition,
            unsupported: found.unsupported,
            name,
        };
        let kind = row.text(2)?;
        let options = row.text_or_null(6)?.unwrap_or_default();
        features::find(session, &mut table, &kind, &options)?;
        // Of MySQL's defaults it is enough to know that there are any: rows are sent, and it fills in.
        if session.version().flavor == Flavor::MariaDb {
            uuid::refuse_older(session, &mut table)?;
            defaults::complete(session, &mut table)?;
        }
        Ok(table)
    }

    /// Whether the table has no row that this session can see.
    pub fn is_empty(session: &mut Session, name: &TableName) -> Result<bool> {
        let sql = format!("SELECT 1 FROM {} LIMIT 1", name.quoted());
        Ok(session.query(&sql)?.is_empty())
    }

    /// Whether a table of this name exists.
    pub fn exists(session: &mut Session, name: &TableName) -> Result<bool> {
        match find(session, name) {
            Ok(_) => Ok(true),
            Err(Error::NoTable(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether `unsupported` has a feature of this name.
    pub fn has_feature(&self, name: &str) -> bool {
        self.unsupported.iter().any(|found| found.feature == name)
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }
}

/// SHOW CREATE TABLE without the table's name and its AUTO_INCREMENT counter.
pub(crate) fn definition(session: &mut Session, name: &TableName) -> Result<String> {
    let row = session.query_row(&format!("SHOW CREATE TABLE {}", name.quoted()))?;
    // Not always UTF-8: a default of a TEXT column is shown in the bytes it was written in.
    Ok(without_name(&row.text_lossy(1)))
}

fn without_name(text: &str) -> String {
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    // The last line that starts with a parenthesis: texts in between escape their line ends.
    // The counter comes right after the engine; further on it would be part of a comment.
    let Some((columns, options)) = body.rsplit_once("\n) ENGINE=") else {
        return body.to_owned();
    };
    let (engine, options) = options.split_at(options.find([' ', '\n']).unwrap_or(options.len()));
    let options = match options.strip_prefix(" AUTO_INCREMENT=") {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => options,
    };
    format!("{columns}\n) ENGINE={engine}{options}")
}

/// How the rows of a table are laid out.
pub(crate) fn row_format_of(session: &mut Session, name: &TableName) -> Result<RowFormat> {
    let (_, row) = find(session, name)?;
    Ok(row_format(row.text_or_null(4)?.as_deref()))
}

fn row_format(text: Option<&str>) -> RowFormat {
    match text.unwrap_or_default().to_ascii_lowercase().as_str() {
        "dynamic" => RowFormat::Dynamic,
        "compact" => RowFormat::Compact,
        "redundant" => RowFormat::Redundant,
        "compressed" => RowFormat::Compressed,
        _ => RowFormat::Other,
    }
}

/// The row of information_schema.TABLES, and the name as it is spelled there.
fn find(session: &mut Session, name: &TableName) -> Result<(TableName, Row)> {
    let begun = Instant::now();
    loop {
        let (spelled, row) = find_once(session, name)?;
        // So it is listed in the moment in which an ALTER puts a new definition in its place.
        let is_listed_only = row.text(2)? == "BASE TABLE" && row.text_or_null(3)?.is_none();
        if !is_listed_only || begun.elapsed() > LISTED_WAIT {
            return Ok((spelled, row));
        }
        std::thread::sleep(LISTED_NAP);
    }
}

fn find_once(session: &mut Session, name: &TableName) -> Result<(TableName, Row)> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, ROW_FORMAT, AUTO_INCREMENT, \
         CREATE_OPTIONS, @@lower_case_table_names FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA={} AND TABLE_NAME={}",
        quote_text(&name.database),
        quote_text(&name.table)
    );
    for row in session.query(&sql)? {
        let spelled = TableName::new(row.text(0)?, row.text(1)?);
        let same = match row.number::<u8>(7)? {
            0 => spelled == *name,
            _ => spelled.to_string().to_lowercase() == name.to_string().to_lowercase(),
        };
        if same {
            return Ok((spelled, row));
        }
    }
    Err(Error::NoTable(name.to_string()))
}

/// `TABLE_SCHEMA=.. AND TABLE_NAME=..`, exact: information_schema compares without case, and the
/// plain comparison is what it can look up.
fn only(name: &TableName) -> String {
    let (database, table) = (quote_text(&name.database), quote_text(&name.table));
    format!(
        "TABLE_SCHEMA={database} AND TABLE_NAME={table} \
         AND BINARY TABLE_SCHEMA={database} AND BINARY TABLE_NAME={table}"
    )
}

/// What information_schema.COLUMNS says.
#[derive(Default)]
struct Found {
    columns: Vec<Column>,
    invisible: Vec<String>,
    generated: Vec<String>,
    unsupported: Vec<Unsupported>,
}

fn columns(session: &mut Session, name: &TableName) -> Result<Found> {
    let is_mysql = session.version().flavor == Flavor::MySql;
    let is_generated =
        if is_mysql { "IF(GENERATION_EXPRESSION='', 'NEVER', 'ALWAYS')" } else { "IS_GENERATED" };
    let sql = format!(
        "SELECT COLUMN_NAME, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE, COLUMN_TYPE, \
         CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, CHARACTER_MAXIMUM_LENGTH, {is_generated} \
         FROM information_schema.COLUMNS WHERE {} ORDER BY ORDINAL_POSITION",
        only(name)
    );
    let mut found = Found::default();
    for row in session.query(&sql)? {
        let column = row.text(0)?;
        let charset = row.text_or_null(5)?;
        let known_charset = match &charset {
            Some(name) => match learn::charset(session, name, &CollationCache::of_user()) {
                // One that cannot be learned: no column of it can be built.
                Err(Error::Collation(_)) => None,
                charset => Some(charset?),
            },
            None => None,
        };
        let extra = row.text(7)?.to_ascii_lowercase();
        if extra.contains("invisible") {
            found.invisible.push(column.clone());
        }
        let described = column_type::Described {
            data_type: &row.text(3)?,
            column_type: &row.text(4)?,
            charset,
            known_charset,
            collation: row.text_or_null(6)?,
            length: row.number_or_null(8)?,
        };
        if row.text_or_null(9)?.as_deref() == Some("ALWAYS") {
            found.generated.push(column.clone());
            found.unsupported.push(Unsupported::new("generated column", column.clone()));
        }
        let (sql_type, refusal) = described.sql_type();
        if let Some((feature, detail)) = refusal {
            let detail = format!("column {column}: {detail}");
            found.unsupported.push(Unsupported::new(feature, detail));
        }
        let auto_increment = extra.contains("auto_increment");
        let nullable = row.text(2)? == "YES";
        let mut default = (!row.is_null(1)).then(|| row.text_lossy(1));
        // MySQL writes a value as it is, and says so of an expression.
        if is_mysql && !extra.contains("default_generated") {
            default = default.map(|text| quote_text(&text));
        }
        found.columns.push(Column {
            default: declared_default(default, nullable),
            name: column,
            sql_type,
            nullable,
            auto_increment,
        });
    }
    Ok(found)
}

/// The default as information_schema words it, to be made a value by [`defaults::complete`].
fn declared_default(text: Option<String>, nullable: bool) -> DefaultValue {
    match text {
        None if nullable => DefaultValue::Null,
        None => DefaultValue::None,
        Some(text) if text == "NULL" => DefaultValue::Null,
        Some(text) => DefaultValue::Expression(text),
    }
}

fn indexes(session: &mut Session, name: &TableName) -> Result<Vec<Index>> {
    let order = match session.version().flavor {
        // As the server keeps them.
        Flavor::MariaDb => "",
        Flavor::MySql => " ORDER BY INDEX_NAME<>'PRIMARY', INDEX_NAME, SEQ_IN_INDEX",
    };
    let sql = format!(
        "SELECT INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME, SUB_PART, COLLATION \
         FROM information_schema.STATISTICS WHERE {}{order}",
        only(name)
    );
    let mut indexes: Vec<Index> = Vec::new();
    for row in session.query(&sql)? {
        let name = row.text(0)?;
        let column = IndexColumn {
            name: row.text_or_null(3)?.unwrap_or_default(),
            prefix: row.number_or_null(4)?,
            descending: row.text_or_null(5)?.as_deref() == Some("D"),
        };
        match indexes.last_mut() {
            Some(last) if last.name == name => last.columns.push(column),
            _ => indexes.push(Index {
                name,
                unique: row.text(1)? == "0",
                kind: row.text(2)?,
                columns: vec![column],
            }),
        }
    }
    Ok(indexes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_compared_without_name_and_counter() {
        let a = "CREATE TABLE `a` (\n  `x` int(11)\n) ENGINE=InnoDB AUTO_INCREMENT=77 \
                 DEFAULT CHARSET=latin1 COMMENT='c'";
        let b = "CREATE TABLE `b` (\n  `x` int(11)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 \
                 COMMENT='c'";
        assert_eq!(without_name(a), without_name(b));
        let comment = "CREATE TABLE `b` (\n  `x` int(11)\n) ENGINE=InnoDB DEFAULT \
                       CHARSET=latin1 COMMENT=' AUTO_INCREMENT=5'";
        assert!(without_name(comment).contains(" AUTO_INCREMENT=5"));
    }
}
