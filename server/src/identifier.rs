//! Names: quoted for SQL, and as the server spells them in its data directory.

use std::fmt;

use crate::error::{Error, Result};
use crate::session::Session;

/// Longest name of a database, table or column, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// A table's full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// Its database.
    pub database: String,
    /// Its name there.
    pub table: String,
}

impl TableName {
    /// A table of a database.
    pub fn new(database: impl Into<String>, table: impl Into<String>) -> TableName {
        TableName { database: database.into(), table: table.into() }
    }

    /// Reads `db.table`, either part in backquotes if it holds a dot; `table` alone goes to
    /// `database`.
    pub fn parse(text: &str, database: Option<&str>) -> Result<TableName> {
        let bad = || Error::Name(format!("{text:?} is not a table name: DB.TABLE is expected"));
        let mut parts = split_name(text).ok_or_else(bad)?;
        let table = parts.pop().ok_or_else(bad)?;
        let database = match (parts.pop(), parts.is_empty()) {
            (Some(database), true) => database,
            (None, _) => database.map(str::to_owned).ok_or_else(|| {
                Error::Name(format!("{text}: the database is missing, DB.TABLE is expected"))
            })?,
            _ => return Err(bad()),
        };
        for name in [&database, &table] {
            if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || name.contains('\0') {
                return Err(bad());
            }
        }
        Ok(TableName { database, table })
    }

    /// `` `db`.`table` `` for a statement.
    pub fn quoted(&self) -> String {
        format!("{}.{}", quote_name(&self.database), quote_name(&self.table))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
    }
}

/// Splits at dots outside backquotes; None when a quote is not closed.
fn split_name(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.last_mut()?;
        match c {
            '`' if quoted && chars.peek() == Some(&'`') => {
                last.push('`');
                chars.next();
            }
            '`' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => last.push(c),
        }
    }
    (!quoted).then_some(parts)
}

/// A name in backquotes.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal. Right under any `sql_mode` without NO_BACKSLASH_ESCAPES, as our sessions are.
pub fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Names that Windows keeps for devices: the server appends `@@@` to them in file names.
const DEVICE_NAMES: [&str; 5] = ["con", "prn", "aux", "nul", "clock$"];

/// The name of a database's folder or a table's files, as the server spells it.
///
/// ASCII letters, digits and `_` stand for themselves, other ASCII is `@` and four hex digits.
/// Letters of some other scripts have codes of their own: for those the server is asked.
///
/// Source: MariaDB 10.11, strings/ctype-utf8.c `my_wc_mb_filename`, sql/sql_table.cc
/// `tablename_to_filename`.
pub fn filename(session: &mut Session, name: &str) -> Result<String> {
    if let Some(plain) = filename_ascii(name) {
        return Ok(plain);
    }
    let sql =
        format!("SELECT CAST(CONVERT(_utf8mb4{} USING filename) AS BINARY)", quote_text(name));
    session.query_row(&sql)?.text(0)
}

/// [`filename`] without a server; None when the name holds a character outside ASCII.
pub fn filename_ascii(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if !c.is_ascii() => return None,
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            c => out.push_str(&format!("@{:04x}", u32::from(c))),
        }
    }
    if is_device(name) {
        out.push_str("@@@");
    }
    Some(out)
}

fn is_device(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let numbered = |prefix: &str| {
        lower.strip_prefix(prefix).is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']))
    };
    DEVICE_NAMES.contains(&lower.as_str()) || numbered("com") || numbered("lpt")
}

/// 64 bits of a name, the same on every machine and version: FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_the_client_would() {
        let cases = [
            ("shop.orders", None, Some(("shop", "orders"))),
            ("orders", Some("shop"), Some(("shop", "orders"))),
            ("`a.b`.`c``d`", None, Some(("a.b", "c`d"))),
            ("orders", None, None),
            ("a.b.c", None, None),
            ("a.", None, None),
            ("`a.b", None, None),
        ];
        for (text, database, want) in cases {
            let seen = TableName::parse(text, database).ok();
            assert_eq!(seen, want.map(|(d, t)| TableName::new(d, t)), "{text}");
        }
        assert_eq!(TableName::new("a`b", "c").quoted(), "`a``b`.`c`");
    }

    #[test]
    fn the_digest_never_changes() {
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn literals_survive_quotes_and_backslashes() {
        assert_eq!(quote_text("it's \\ \0"), "'it''s \\\\ \\0'");
    }

    #[test]
    fn folder_names_spell_what_is_not_a_letter() {
        assert_eq!(filename_ascii("lineitem_2").unwrap(), "lineitem_2");
        assert_eq!(filename_ascii("a-b c").unwrap(), "a@002db@0020c");
        assert_eq!(filename_ascii("CoM1").unwrap(), "CoM1@@@");
        assert_eq!(filename_ascii("\u{fc}"), None);
    }
}
