//! Changes of a table's rows and indexes, rewritten for another name.
//!
//! ```text
//! DELETE FROM `t` WHERE `a` = 1          the name: replaced
//! UPDATE `t` SET `t`.`a` = 1             replaced, and kept for the columns
//! TRUNCATE TABLE `t`
//! CREATE UNIQUE INDEX `k` ON `t` (`a`)
//! ```

use crate::create::{Cursor, tokens};
use crate::name::{ObjectName, quoted};
use crate::syntax::Syntax;
use crate::token::Token;

/// A statement that changes one table and names no other, but for what subselects and functions read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChange {
    /// The table, as it stands there.
    pub table: ObjectName,
    /// True if it changes the table's definition, and not its rows.
    pub is_index: bool,
    /// The columns of the index that it makes; none of one that takes part of a column.
    pub columns: Vec<Vec<u8>>,
    /// Everything before the name, and after it.
    around: (Vec<u8>, Vec<u8>),
}

impl TableChange {
    /// Reads a DELETE, TRUNCATE, UPDATE, CREATE INDEX or DROP INDEX of one table; None of anything
    /// else.
    pub fn read(text: &[u8], syntax: Syntax) -> Option<TableChange> {
        let all = tokens(text, syntax).ok()?;
        if all.iter().any(|token| token.is_versioned) {
            return None;
        }
        let mut at = Cursor::new(&all);
        let (mut is_index, mut is_update, mut is_delete) = (false, false, false);
        if at.word("DELETE") {
            is_delete = true;
            at.word("FROM").then_some(())?;
        } else if at.word("TRUNCATE") {
            at.word("TABLE");
        } else if at.word("UPDATE") {
            is_update = true;
        } else {
            is_index = true;
            to_indexed(&mut at)?;
        }
        let start = at.here()?.place.start;
        let (database, name) = at.qualified().ok()?;
        let end = at.before();
        let follows = |words: &[&str]| words.iter().any(|word| at.is_word(word));
        let is_plain = match at.here() {
            None => !is_update,
            Some(_) if is_update => follows(&["SET"]),
            // Columns would be called by a name that the table has not.
            Some(_) if is_delete => {
                follows(&["WHERE", "ORDER", "LIMIT"]) && !is_qualifier(&all[at.next..], &name)
            }
            Some(_) => is_index && (at.is_sign(b'(') || all[0].is("DROP")),
        };
        if !is_plain {
            return None;
        }
        let is_whole = all[at.next..].iter().filter(|token| token.is_sign(b'(')).count() == 1;
        let columns = match is_index && is_whole && at.is_sign(b'(') {
            true => at.columns().ok()?,
            false => Vec::new(),
        };
        let mut after = text[end..].to_vec();
        if is_update {
            after = [b" AS ", &*quoted(&name), &after].concat();
        }
        let table = ObjectName { database, name };
        let around = (text[..start].to_vec(), after);
        Some(TableChange { table, is_index, columns, around })
    }

    /// True if it is written in ASCII alone.
    pub fn is_ascii(&self) -> bool {
        self.around.0.is_ascii() && self.around.1.is_ascii()
    }

    /// The text after the name: values, conditions, columns.
    pub fn rest(&self) -> &[u8] {
        &self.around.1
    }

    /// The statement with another name, `name` being quoted.
    pub fn named(&self, name: &str) -> Vec<u8> {
        [&self.around.0, name.as_bytes(), &self.around.1].concat()
    }
}

/// Goes behind `CREATE [UNIQUE] INDEX k [USING BTREE] ON` or `DROP INDEX k ON`.
fn to_indexed(at: &mut Cursor<'_>) -> Option<()> {
    match at.word("CREATE") {
        true => _ = at.word("UNIQUE") || at.word("FULLTEXT") || at.word("SPATIAL"),
        false => at.word("DROP").then_some(())?,
    }
    at.word("INDEX").then_some(())?;
    while !at.word("ON") {
        at.step()?;
    }
    Some(())
}

/// True if a table of this name stands before a column's.
fn is_qualifier(tokens: &[Token<'_>], table: &[u8]) -> bool {
    tokens.windows(2).any(|pair| {
        pair[1].is_sign(b'.') && pair[0].name().is_some_and(|name| name.eq_ignore_ascii_case(table))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<TableChange> {
        TableChange::read(text.as_bytes(), Syntax::default())
    }

    #[test]
    fn the_name_is_replaced() {
        for (text, expected) in [
            ("DELETE FROM `t`", "DELETE FROM `x`"),
            ("delete from d.t where a = 'd.t' limit 1", "delete from `x` where a = 'd.t' limit 1"),
            ("DELETE FROM t WHERE a < 1.5", "DELETE FROM `x` WHERE a < 1.5"),
            ("TRUNCATE TABLE `d`.`t` ", "TRUNCATE TABLE `x` "),
            ("TRUNCATE t", "TRUNCATE `x`"),
            ("UPDATE `d`.t SET t.a=1", "UPDATE `x` AS `t` SET t.a=1"),
            ("CREATE INDEX `ON` ON `t` (a)", "CREATE INDEX `ON` ON `x` (a)"),
            (
                "create unique index k using btree on t(a)",
                "create unique index k using btree on `x`(a)",
            ),
            ("DROP INDEX k ON t", "DROP INDEX k ON `x`"),
        ] {
            let change = read(text).unwrap();
            assert_eq!(String::from_utf8(change.named("`x`")).unwrap(), expected);
            assert_eq!((change.table.name.as_slice(), change.is_ascii()), (&b"t"[..], true));
            assert_eq!(change.is_index, expected.to_lowercase().contains("index"), "{text}");
        }
    }

    #[test]
    fn columns_are_those_of_a_whole_index() {
        let columns = |text: &str| read(text).unwrap().columns.join(&b","[..]);
        assert_eq!(columns("CREATE INDEX k ON t (`a`, b DESC)"), b"a,b");
        for text in ["CREATE INDEX k ON t (a(9))", "DROP INDEX k ON t", "DELETE FROM t"] {
            assert_eq!(columns(text), b"", "{text}");
        }
    }

    #[test]
    fn what_names_more_tables_is_not_read() {
        for text in [
            "DELETE t FROM t",
            "DELETE FROM t, u",
            "DELETE FROM t USING t JOIN u",
            "DELETE FROM t WHERE T.a=1",
            "DELETE IGNORE FROM t",
            "DELETE FROM t /*!50000 WHERE a=1 */",
            "UPDATE t, u SET t.a=u.a",
            "UPDATE t AS x SET x.a=1",
            "UPDATE t",
            "TRUNCATE t WAIT 1",
            "CREATE TABLE t (a INT)",
            "CREATE OR REPLACE INDEX k ON t (a)",
            "DROP TABLE t",
            "SELECT 1",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
