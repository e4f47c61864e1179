//! The conditions under which rows of a run may be loaded by other statements than the dump's, and in which order.

use schema::{DefaultValue, Engine, Table, TableName};
use server::Session;
use sources::MultiByte;
use sql::{InsertHead, Verb};

use super::together::Together;
use super::tuples::Rules;
use crate::error::Error;
use crate::filling::{Filling, Stopped};

/// The rules for connections.
pub(super) struct Gate {
    /// Where rows go.
    pub(super) table: Table,
    /// How the dump's text is read.
    pub(super) rules: Rules,
    /// The beginning of our statements, in the dump's character set.
    pub(super) head: Vec<u8>,
    /// The verb of that.
    pub(super) verb: Verb,
    /// The beginning of a transaction: [`hold`].
    pub(super) hold: Vec<u8>,
    /// True if rows may overtake each other.
    pub(super) is_parallel: bool,
    /// When rows are there to stay.
    pub(super) commit: Commit,
    /// True if rows may do so only while none takes another's place.
    pub(super) counts_matter: bool,
}

/// When rows are there to stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    /// With their chunk: nobody sees the table, and it was empty.
    Chunks,
    /// When all are in: earlier rows are in the table, or others see it, and all go over one connection.
    AtEnd,
    /// When all are in, those of each connection with those of the others.
    Together(Together),
}

impl Gate {
    /// Looks at the table and the head. Errors: [`Stopped::Unfit`] for rows whose values, or
    /// fate, depend on the statements that they stand in.
    pub(super) fn of(session: &mut Session, filling: &Filling<'_>) -> Result<Gate, Stopped> {
        let charset = filling.state.charset();
        let Some(rules) = Rules::of(filling) else {
            return Err(unfit(format!("characters of {charset} can contain quotes")));
        };
        let table = catalog::read(session, filling.into)?;
        if table.engine != Engine::InnoDb {
            let engine = &table.engine;
            return Err(unfit(format!("tables of the engine {engine} have no transactions")));
        }
        if let Some(feature) =
            table.features().iter().rfind(|feature| feature.support().adds_by_order)
        {
            return Err(unfit(format!(
                "the table has a feature that depends on the order of rows: {}",
                feature.name()
            )));
        }
        let rules = Rules { counted: counted(&table, filling.head)?, ..rules };
        in_order_by_default(&table, filling.head)?;
        // Rows of a table without a primary key are read in the order in which they came.
        let is_keyed = table.index("PRIMARY").is_some();
        let is_parallel = is_keyed && (filling.is_staging || is_free(session, filling, &table));
        let commit = match (filling.is_staging, is_parallel) {
            (true, _) if filling.is_empty => Commit::Chunks,
            (false, true) => Commit::Together(Together::of(filling.into, filling.spot)),
            _ => Commit::AtEnd,
        };
        Ok(Gate {
            head: head(session, filling.into, charset, filling.head)?,
            hold: hold(session, filling.into, charset)?,
            verb: filling.head.verb,
            is_parallel,
            commit,
            counts_matter: is_parallel && filling.head.verb != Verb::Insert,
            table,
            rules,
        })
    }
}

impl Rules {
    /// Those of the dump's session; None where characters can hold quotes.
    pub(super) fn of(filling: &Filling<'_>) -> Option<Rules> {
        (!hides_ascii(filling.state.charset())).then(|| Rules {
            escapes: !filling.state.has_mode("NO_BACKSLASH_ESCAPES"),
            ansi_quotes: filling.state.has_mode("ANSI_QUOTES"),
            head: filling.head.text.clone(),
            counted: None,
            zero_is_explicit: filling.state.has_mode("NO_AUTO_VALUE_ON_ZERO"),
        })
    }
}

/// True if rows of a table that others see may be loaded over several connections: in any order, and all or none.
fn is_free(session: &mut Session, filling: &Filling<'_>, table: &Table) -> bool {
    // Rows that take the place of others would be seen to do so when most are in.
    if filling.head.verb != Verb::Insert || filling.options.connections == Some(1) {
        return false;
    }
    let is_ordered = filling.state.is_on("foreign_key_checks") && table.refers_to_itself();
    !is_ordered && Together::can_be(session)
}

pub(super) fn unfit(why: impl Into<String>) -> Stopped {
    Stopped::Unfit(why.into())
}

/// True if a character of this set may hold a byte that is a quote or a backslash by itself.
fn hides_ascii(charset: &str) -> bool {
    matches!(MultiByte::of_charset(charset), MultiByte::Big5 | MultiByte::Gbk | MultiByte::Sjis)
        || charset.eq_ignore_ascii_case("gb18030")
}

/// Which field of a row the AUTO_INCREMENT column is, from 0.
///
/// Errors: it is none of them, and the server counts: in the order of the statements, and by how many rows each has.
fn counted(table: &Table, head: &InsertHead) -> Result<Option<usize>, Stopped> {
    let Some(column) = table.columns.iter().find(|column| column.auto_increment) else {
        return Ok(None);
    };
    let field = match &head.columns {
        Some(names) => names.iter().position(|name| is_named(name, &column.name)),
        None => {
            let visible = table.columns.iter().filter(|column| !column.is_invisible);
            visible.map(|c| &c.name).position(|name| *name == column.name)
        }
    };
    match field {
        Some(field) => Ok(Some(field)),
        None => Err(unfit(format!("the server generates the values of {}", column.name))),
    }
}

/// Errors: a column that is left out, whose default counts.
fn in_order_by_default(table: &Table, head: &InsertHead) -> Result<(), Stopped> {
    const COUNTING: [&str; 5] = ["nextval", "lastval", "setval", "next value", "previous value"];
    let counts = |text: &str| COUNTING.iter().any(|word| text.to_lowercase().contains(word));
    for column in &table.columns {
        let is_given = match &head.columns {
            Some(names) => names.iter().any(|name| is_named(name, &column.name)),
            None => !column.is_invisible,
        };
        match &column.default {
            DefaultValue::Expression(text) if !is_given && counts(text) => {
                return Err(unfit(format!("the default of {} is a counter: {text}", column.name)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// True if a name in the dump is that of a column. Names beyond ASCII must have the same bytes: an
/// unrecognised name counts as left out, which is the careful answer.
fn is_named(name: &[u8], column: &str) -> bool {
    name.eq_ignore_ascii_case(column.as_bytes())
}

/// `` INSERT INTO `db`.`t` (`a`,`b`) VALUES `` in the character set of the dump.
pub(crate) fn head(
    session: &mut Session,
    into: &TableName,
    charset: &str,
    words: &InsertHead,
) -> Result<Vec<u8>, Error> {
    let verb = match words.verb {
        Verb::Insert => "INSERT INTO ",
        Verb::InsertIgnore => "INSERT IGNORE INTO ",
        Verb::Replace => "REPLACE INTO ",
    };
    let mut head = verb.as_bytes().to_vec();
    head.extend(name_in(session, into, charset)?);
    for (index, column) in words.columns.iter().flatten().enumerate() {
        head.extend_from_slice(if index == 0 { b" (`" } else { b",`" });
        quote_into(&mut head, column, hides_ascii(charset));
        head.push(b'`');
    }
    if words.columns.as_ref().is_some_and(|columns| !columns.is_empty()) {
        head.push(b')');
    }
    // `INSERT INTO t () VALUES ()` has rows of defaults.
    head.extend_from_slice(b" VALUES ");
    Ok(head)
}

/// A statement that keeps a name with a base table until the transaction ends, as [`Session::hold_tables`]
/// does, in the dump's character set.
pub(crate) fn hold(
    session: &mut Session,
    into: &TableName,
    charset: &str,
) -> Result<Vec<u8>, Error> {
    let name = name_in(session, into, charset)?;
    let hint = session.base_table_hint();
    Ok([b"SELECT 1 FROM ", name.as_slice(), b" ", hint.as_bytes(), b" LIMIT 0"].concat())
}

/// A name within backquotes; of characters of two bytes the second may look like one.
fn quote_into(head: &mut Vec<u8>, name: &[u8], wide: bool) {
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        head.push(byte);
        if byte == b'`' {
            head.push(byte);
        } else if wide && byte >= 0x80 {
            head.extend(bytes.next());
        }
    }
}

/// A table's quoted name in a character set. Only the server can tell what other letters are there.
fn name_in(session: &mut Session, name: &TableName, charset: &str) -> Result<Vec<u8>, Error> {
    let quoted = name.quoted();
    let is_same = ["utf8mb4", "utf8mb3", "utf8"].contains(&charset);
    if is_same || quoted.is_ascii() {
        return Ok(quoted.into_bytes());
    }
    let hex: String = quoted.bytes().map(|byte| format!("{byte:02x}")).collect();
    let charset: String = charset.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let sql = format!(
        "SELECT CAST(CONVERT(CONVERT(x'{hex}' USING utf8mb4) USING {charset}) AS BINARY), \
         CONVERT(CONVERT(x'{hex}' USING utf8mb4) USING {charset}) = _utf8mb4 x'{hex}'"
    );
    let row = session.query_row(&sql)?;
    match (row.bytes(0), row.number::<u8>(1)) {
        (Some(bytes), Ok(1)) => Ok(bytes.to_vec()),
        _ => Err(Error::Usage(format!(
            "the name {name} has letters that the dump's character set, {charset}, lacks"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_in_the_bytes_of_the_dump() {
        let quote = |name: &[u8], wide| {
            let mut out = Vec::new();
            quote_into(&mut out, name, wide);
            out
        };
        assert_eq!(quote(b"a`b", false), b"a``b");
        // A character of gbk whose second byte is a backquote.
        assert_eq!(quote(b"\x81`", true), b"\x81`");
        assert_eq!(quote(b"\xe4`", false), b"\xe4``");
    }

    #[test]
    fn character_sets_that_hide_quotes_are_known() {
        assert!(["sjis", "cp932", "gbk", "big5", "gb18030"].into_iter().all(hides_ascii));
        assert!(!["utf8mb4", "latin1", "euckr", "ujis", "binary"].into_iter().any(hides_ascii));
    }
}
