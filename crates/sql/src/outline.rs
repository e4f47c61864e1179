//! Columns and indexes of a CREATE TABLE, for a guess at the table's size: the server alone knows the exact
//! result of the statement.

use crate::create::{Cursor, Element, Unread, index_columns, tokens};
use crate::syntax::Syntax;
use crate::token::{Token, TokenKind};

/// Words that a key or a constraint begins with; what begins otherwise is a column.
const NO_COLUMN: [&str; 10] = [
    "CONSTRAINT",
    "PRIMARY",
    "UNIQUE",
    "KEY",
    "INDEX",
    "FULLTEXT",
    "SPATIAL",
    "FOREIGN",
    "CHECK",
    "PERIOD",
];

/// Columns and indexes of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The columns, in order.
    pub columns: Vec<OutlinedColumn>,
    /// The indexes, in order, the primary key among them.
    pub indexes: Vec<OutlinedIndex>,
}

/// A column, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedColumn {
    /// Its name.
    pub name: Vec<u8>,
    /// The word that its type begins with, in lower case.
    pub type_word: String,
    /// Numbers in parentheses behind it: `(10,2)`.
    pub arguments: Vec<u32>,
    /// True if it has NOT NULL.
    pub is_not_null: bool,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedIndex {
    /// True if it is the primary key.
    pub is_primary: bool,
    /// Its columns, in order.
    pub columns: Vec<Vec<u8>>,
}

impl Outline {
    /// Reads `CREATE TABLE name (..) ..`.
    ///
    /// Errors: [`Unread`] where columns are not listed, as in CREATE TABLE .. LIKE.
    pub fn read(text: &[u8], syntax: Syntax) -> Result<Outline, Unread> {
        let all = tokens(text, syntax)?;
        let mut at = Cursor::new(&all);
        while !at.word("TABLE") {
            at.step().ok_or(Unread("the statement is not a CREATE TABLE"))?;
        }
        while !at.sign(b'(') {
            let token =
                at.step().ok_or(Unread("the statement does not list the table's columns"))?;
            if token.is("LIKE") || token.is("SELECT") {
                return Err(Unread("its columns are those of another table"));
            }
        }
        let mut outline = Outline::default();
        for Element { tokens, .. } in at.elements()? {
            outline.element(tokens);
        }
        match outline.columns.is_empty() {
            true => Err(Unread("the statement does not list the table's columns")),
            false => Ok(outline),
        }
    }

    fn element(&mut self, tokens: &[Token<'_>]) {
        let Some(first) = tokens.first() else { return };
        let is_column = !NO_COLUMN.iter().any(|word| first.is(word));
        let has = |word: &str| tokens.iter().any(|token| token.is(word));
        // Others are no trees of keys.
        let is_tree = !["FULLTEXT", "SPATIAL"].iter().any(|word| first.is(word));
        if let Some(columns) = index_columns(tokens).filter(|_| is_tree) {
            // `a INT KEY` is a primary key too.
            let is_primary = has("PRIMARY") || (is_column && !has("UNIQUE"));
            self.indexes.push(OutlinedIndex { is_primary, columns });
        }
        let Some(name) = first.name().filter(|_| is_column) else { return };
        let type_word = match tokens.get(1).map(|token| &token.kind) {
            Some(TokenKind::Word(word)) => String::from_utf8_lossy(word).to_ascii_lowercase(),
            _ => String::new(),
        };
        let pairs = tokens.windows(2);
        let is_not_null = pairs.into_iter().any(|pair| pair[0].is("NOT") && pair[1].is("NULL"));
        let arguments = arguments(tokens.get(2..).unwrap_or_default());
        self.columns.push(OutlinedColumn { name: name.into(), type_word, arguments, is_not_null });
    }
}

/// The numbers of `(10, 2)`, if that is what comes.
fn arguments(tokens: &[Token<'_>]) -> Vec<u32> {
    let number = |token: &Token<'_>| match token.kind {
        TokenKind::Word(word) => std::str::from_utf8(word).ok()?.parse().ok(),
        _ => None,
    };
    match tokens.split_first() {
        Some((first, rest)) if first.is_sign(b'(') => {
            rest.iter().take_while(|token| !token.is_sign(b')')).filter_map(number).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_indexes_are_found_however_they_are_written() {
        let text = b"CREATE TABLE IF NOT EXISTS `d`.`t` (`id` bigint(20) unsigned NOT NULL, n DECIMAL(10, 2) \
            DEFAULT 1.5 COMMENT 'a, (b', `e` enum('x','y'), u INT UNIQUE,\n  PRIMARY KEY (`id`),\n \
            KEY `k` (`n`, `e`(3) DESC), CONSTRAINT c CHECK (n > 0), FULLTEXT KEY (e)) ENGINE=InnoDB";
        let outline = Outline::read(text, Syntax::default()).unwrap();
        let columns: Vec<_> =
            outline.columns.iter().map(|c| (&c.name[..], &*c.type_word)).collect();
        let expected: [(&[u8], &str); 4] =
            [(b"id", "bigint"), (b"n", "decimal"), (b"e", "enum"), (b"u", "int")];
        assert_eq!(columns, expected);
        assert_eq!(outline.columns[1].arguments, [10, 2]);
        assert!(outline.columns[0].is_not_null && !outline.columns[3].is_not_null);
        let indexes: Vec<_> =
            outline.indexes.iter().map(|index| (index.is_primary, index.columns.len())).collect();
        assert_eq!(indexes, [(false, 1), (true, 1), (false, 2)]);
        let one = Outline::read(b"create table t(a INT PRIMARY KEY)", Syntax::default()).unwrap();
        assert!(one.indexes[0].is_primary);
        for text in [&b"CREATE TABLE t LIKE u"[..], b"CREATE TABLE t AS SELECT 1", b"DROP TABLE t"]
        {
            assert!(Outline::read(text, Syntax::default()).is_err());
        }
    }
}
