//! The result of a statement of the user's: its columns, then its rows.

use std::borrow::Cow;

use mysql::consts::{ColumnFlags, ColumnType};
use mysql::prelude::{Protocol, Queryable};
use mysql::{Column, Conn, QueryResult, Row, Statement, Value};
use server::Session;

/// Server error of a statement that cannot be prepared.
const ER_UNSUPPORTED_PS: u16 = 1295;
/// Number of the character set of bytes that are no text.
const BINARY: u16 = 63;
/// The query of the session's time zone.
pub(crate) const ZONE: &str = "SELECT @@SESSION.time_zone";
/// First words of statements that read rows.
const READS: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];

/// A column of a result, as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultColumn {
    /// Its name, or its alias.
    pub(crate) name: String,
    /// The kind of its values.
    pub(crate) kind: ResultKind,
    /// True for numbers without a sign.
    pub(crate) is_unsigned: bool,
    /// False if the server says that no value is NULL.
    pub(crate) is_nullable: bool,
    /// Characters of the longest value that the server may send, times the most bytes of a character.
    pub(crate) length: u32,
    /// Digits behind the point.
    pub(crate) decimals: u8,
    /// True if the server sends the values rounded: FLOAT in a statement that was not prepared.
    pub(crate) is_rounded: bool,
}

/// The kind of the values of a column of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// An integer of so many bytes.
    Integer(u8),
    /// DECIMAL.
    Decimal,
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP, in the time zone of the session.
    Timestamp,
    /// YEAR.
    Year,
    /// Text in UTF-8.
    Text,
    /// Bytes that are no text.
    Bytes,
    /// NULL in each row.
    Null,
}

impl ResultColumn {
    fn of(column: &Column, is_text: bool) -> ResultColumn {
        let (flags, kind) = (column.flags(), ResultKind::of(column));
        ResultColumn {
            name: column.name_str().into_owned(),
            kind,
            is_rounded: is_text && kind == ResultKind::Float,
            is_unsigned: flags.contains(ColumnFlags::UNSIGNED_FLAG),
            is_nullable: !flags.contains(ColumnFlags::NOT_NULL_FLAG),
            length: column.column_length(),
            decimals: column.decimals(),
        }
    }
}

impl ResultKind {
    fn of(column: &Column) -> ResultKind {
        match column.column_type() {
            ColumnType::MYSQL_TYPE_TINY => ResultKind::Integer(1),
            ColumnType::MYSQL_TYPE_SHORT => ResultKind::Integer(2),
            ColumnType::MYSQL_TYPE_INT24 | ColumnType::MYSQL_TYPE_LONG => ResultKind::Integer(4),
            ColumnType::MYSQL_TYPE_LONGLONG => ResultKind::Integer(8),
            ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
                ResultKind::Decimal
            }
            ColumnType::MYSQL_TYPE_FLOAT => ResultKind::Float,
            ColumnType::MYSQL_TYPE_DOUBLE => ResultKind::Double,
            ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => ResultKind::Date,
            ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_TIME2 => ResultKind::Time,
            ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2 => {
                ResultKind::DateTime
            }
            ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2 => {
                ResultKind::Timestamp
            }
            ColumnType::MYSQL_TYPE_YEAR => ResultKind::Year,
            ColumnType::MYSQL_TYPE_NULL => ResultKind::Null,
            // MySQL's is text, and has the character set of bytes.
            ColumnType::MYSQL_TYPE_JSON => ResultKind::Text,
            ColumnType::MYSQL_TYPE_BIT | ColumnType::MYSQL_TYPE_GEOMETRY => ResultKind::Bytes,
            _ if column.character_set() == BINARY => ResultKind::Bytes,
            _ => ResultKind::Text,
        }
    }
}

/// Runs a statement: gives `begin` the columns of the result, and the session's time zone if they depend on it and it
/// is known before the rows; gives `visit` each row as it arrives. Gives the
/// number of rows that the statement changed. Statements without a result have no columns. The first of several
/// results counts.
///
/// Values are text, as the text protocol has them. That protocol rounds FLOAT to six digits, so queries with
/// such a column are prepared, and their values are exact.
///
/// After an error of `begin` or `visit` the rest of the answer is read and dropped; an error of the server in it comes
/// first.
pub(crate) fn read<E>(
    session: &mut Session,
    sql: &str,
    begin: impl FnOnce(&[ResultColumn], Option<&str>) -> Result<(), E>,
    visit: impl FnMut(&[Option<Value>]) -> Result<(), E>,
) -> server::Result<Result<u64, E>> {
    session.run_by(sql, |conn| {
        let statement = prepared(conn, sql)?;
        let has = |kind| statement.as_ref().is_some_and(|one| has_column(one, kind));
        let has_float = has(ColumnType::MYSQL_TYPE_FLOAT);
        let zone: Option<String> = match has(ColumnType::MYSQL_TYPE_TIMESTAMP) {
            true => conn.query_first(ZONE)?,
            false => None,
        };
        let begin = |columns: &[Column]| begin(&described(columns, !has_float), zone.as_deref());
        match statement {
            Some(statement) if has_float => {
                let done = drain(conn.exec_iter(&statement, ())?, begin, visit);
                conn.close(statement)?;
                done
            }
            statement => {
                statement.map(|statement| conn.close(statement)).transpose()?;
                drain(conn.query_iter(sql)?, begin, visit)
            }
        }
    })
}

/// The text of a value; None for NULL.
pub(crate) fn text(value: Option<&Value>) -> Option<Cow<'_, [u8]>> {
    match value? {
        Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
        Value::NULL => None,
        // Rows of prepared statements have other kinds: numbers are written whole, times in quotes.
        other => Some(other.as_sql(true).trim_matches('\'').as_bytes().to_vec().into()),
    }
}

fn described(columns: &[Column], is_text: bool) -> Vec<ResultColumn> {
    columns.iter().map(|column| ResultColumn::of(column, is_text)).collect()
}

/// The prepared query; None for other statements, and for those that cannot be prepared.
fn prepared(conn: &mut Conn, sql: &str) -> mysql::Result<Option<Statement>> {
    if !reads(sql) && !sql.starts_with("/*") {
        return Ok(None);
    }
    match conn.prep(sql) {
        Err(mysql::Error::MySqlError(error)) if error.code == ER_UNSUPPORTED_PS => Ok(None),
        prepared => prepared.map(Some),
    }
}

/// True if a query without parameters has a column of this type.
fn has_column(statement: &Statement, kind: ColumnType) -> bool {
    let is_kind = |column: &Column| column.column_type() == kind;
    statement.num_params() == 0 && statement.columns().iter().any(is_kind)
}

/// True if the first word is that of a query.
pub(crate) fn reads(sql: &str) -> bool {
    let first = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let first = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    READS.iter().any(|word| word.eq_ignore_ascii_case(first))
}

fn drain<P: Protocol, E>(
    mut answer: QueryResult<'_, '_, '_, P>,
    begin: impl FnOnce(&[Column]) -> Result<(), E>,
    mut visit: impl FnMut(&[Option<Value>]) -> Result<(), E>,
) -> mysql::Result<Result<u64, E>> {
    let changed = answer.affected_rows();
    let mut visited = begin(answer.columns().as_ref());
    for row in answer.by_ref() {
        let row = row.map(Row::unwrap_raw)?;
        visited = visited.and_then(|()| visit(&row));
    }
    // An error of a later result is an error of the statement.
    while let Some(rest) = answer.iter() {
        for row in rest {
            row?;
        }
    }
    Ok(visited.map(|()| changed))
}
