//! Names of tables, and names quoted for SQL.

use std::fmt;

/// Longest name of a database, table or column, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// Follows the name of a table in FROM that has to be a base table. A server refuses a view there before it
/// evaluates anything of the view: by error 1176, since views have no indexes. Plans of statements that group
/// nothing stay the same.
///
/// Source: MariaDB 10.11, sql/sql_view.cc, `mysql_make_view`; tried on 10.11.19 and MySQL 9.7.4.
pub const BASE_TABLE: &str = "USE INDEX FOR GROUP BY ()";

/// Databases of the server's own, in lower case.
const SYSTEM_SCHEMAS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// True if a database is the server's own, in any spelling: servers may not tell upper from lower case.
pub fn is_system_schema(database: &str) -> bool {
    SYSTEM_SCHEMAS.iter().any(|name| name.eq_ignore_ascii_case(database))
}

/// A text that is no name of a table; its text says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

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
    ///
    /// Errors: [`NameError`] for what a server would not take.
    pub fn parse(text: &str, database: Option<&str>) -> Result<TableName, NameError> {
        let bad = || NameError(format!("{text:?} is not a table name; DB.TABLE is expected"));
        let mut parts = split_name(text).ok_or_else(bad)?;
        let table = parts.pop().ok_or_else(bad)?;
        let database = match (parts.pop(), parts.is_empty()) {
            (Some(database), true) => database,
            (None, _) => database.map(str::to_owned).ok_or_else(|| {
                NameError(format!("{text}: the database is missing; DB.TABLE is expected"))
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

    /// The table in FROM, for a statement that the server refuses where a view has the name: see
    /// [`BASE_TABLE`].
    pub fn base(&self) -> String {
        format!("{} {BASE_TABLE}", self.quoted())
    }

    /// [`TableName::base`] under an alias.
    pub fn base_as(&self, alias: &str) -> String {
        format!("{} AS {alias} {BASE_TABLE}", self.quoted())
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

/// A name in backquotes at the start of a text, and what follows.
pub fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.strip_prefix('`')?;
    loop {
        let (part, after) = rest.split_once('`')?;
        name.push_str(part);
        match after.strip_prefix('`') {
            Some(more) => {
                name.push('`');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

#[cfg(test)]
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
}
