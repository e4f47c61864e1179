//! ALTER TABLE statements of people and phpMyAdmin behind the rows of a table, rewritten for another name.
//!
//! ```text
//! ALTER TABLE `t` ADD PRIMARY KEY (`id`), ADD KEY ..           the name: replaced
//! ALTER TABLE `t` ADD CONSTRAINT `f` FOREIGN KEY (`a`) ..      taken apart, as those of CREATE TABLE
//! ```
//!
//! Only what concerns the table alone is read; everything else is [`Unread`].

use crate::create::{Cursor, Unread, foreign_key, tokens};
use crate::foreign_key::ForeignKey;
use crate::name::ObjectName;
use crate::syntax::Syntax;
use crate::token::{Token, TokenKind};

/// Words that clauses begin with which change the table and nothing besides.
const CLAUSES: [&str; 5] = ["ADD", "MODIFY", "CHANGE", "AUTO_INCREMENT", "COMMENT"];
/// Words of clauses that are about more than the table as it is.
const BEYOND: [&str; 6] = ["FOREIGN", "REFERENCES", "PARTITION", "PERIOD", "SYSTEM", "VERSIONING"];

/// An ALTER TABLE taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterTable {
    /// The table, as it stands there.
    pub table: ObjectName,
    /// Everything before the name, and after it.
    around: (Vec<u8>, Vec<u8>),
    /// The foreign keys that it adds; where there are any, it does nothing else.
    pub keys: Vec<ForeignKey>,
}

impl AlterTable {
    /// Reads `ALTER TABLE name ADD .., MODIFY ..`.
    ///
    /// Errors: [`Unread`] where it is none, or one that does more than change the table itself.
    pub fn read(text: &[u8], syntax: Syntax) -> Result<AlterTable, Unread> {
        let all = tokens(text, syntax)?;
        let mut at = Cursor::new(&all);
        if !(at.word("ALTER") && at.word("TABLE")) || all.iter().any(|token| token.is_versioned) {
            return Err(Unread("it is not a plain ALTER TABLE"));
        }
        let start = at.here().ok_or(Unread("the statement contains no table name"))?.place.start;
        let (database, name) = at.qualified()?;
        let end = at.before();
        let (mut keys, mut others) = (Vec::new(), 0);
        for clause in clauses(&all[at.next..]) {
            let (first, rest) = clause.split_first().ok_or(Unread("a clause is empty"))?;
            if first.is("ADD")
                && let Some(found) = foreign_key(text, rest)?
            {
                keys.push(found.key);
                continue;
            }
            let is_beyond = clause.iter().any(|t| BEYOND.iter().any(|word| t.is(word)));
            if is_beyond || !CLAUSES.iter().any(|word| first.is(word)) {
                return Err(Unread("it changes more than the table itself"));
            }
            others += 1;
        }
        if !keys.is_empty() && others > 0 {
            return Err(Unread("it adds foreign keys and makes other changes"));
        }
        let around = (text[..start].to_vec(), text[end..].to_vec());
        Ok(AlterTable { table: ObjectName { database, name }, around, keys })
    }

    /// True if it is written in ASCII alone.
    pub fn is_ascii(&self) -> bool {
        self.around.0.is_ascii()
            && self.around.1.is_ascii()
            && self.keys.iter().all(ForeignKey::is_ascii)
    }

    /// The statement with another name, `name` being quoted.
    pub fn named(&self, name: &str) -> Vec<u8> {
        [&self.around.0, name.as_bytes(), &self.around.1].concat()
    }
}

/// The clauses between the commas outside of parentheses.
fn clauses<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0_i32;
    let is_comma = |token: &Token<'_>| {
        match token.kind {
            TokenKind::Sign(b'(') => depth += 1,
            TokenKind::Sign(b')') => depth -= 1,
            _ => {}
        }
        depth == 0 && token.is_sign(b',')
    };
    tokens.split(is_comma).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AlterTable, Unread> {
        AlterTable::read(text.as_bytes(), Syntax::default())
    }

    #[test]
    fn the_name_is_replaced_and_nothing_else() {
        for (text, expected) in [
            ("ALTER TABLE `t`\n  ADD PRIMARY KEY (`id`),\n  ADD KEY `k` (`a`,`b`)", "`t`"),
            ("alter table d.t MODIFY id int NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=7", "d.t"),
            ("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1), COMMENT 'ADD FOREIGN KEY'", "t"),
            ("ALTER TABLE t CHANGE a b VARCHAR(9) DEFAULT ',' AFTER c", "t"),
        ] {
            let alter = read(text).unwrap();
            let named = text.replacen(expected, "`x`", 1);
            assert_eq!(String::from_utf8(alter.named("`x`")).unwrap(), named);
            assert!(alter.keys.is_empty());
            assert_eq!((alter.table.name.as_slice(), alter.is_ascii()), (&b"t"[..], true));
        }
    }

    #[test]
    fn foreign_keys_are_taken_out() {
        let alter = read(
            "ALTER TABLE `t` ADD CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`i`) ON DELETE \
             CASCADE, ADD FOREIGN KEY (b) REFERENCES d.q (i)",
        );
        let keys = alter.unwrap().keys;
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0].head, "CONSTRAINT `f` FOREIGN KEY ( `a` ) REFERENCES");
        assert_eq!(keys[1].parent.database.as_deref(), Some("d"));
    }

    #[test]
    fn what_concerns_more_than_the_table_is_not_read() {
        for text in [
            "ALTER TABLE t RENAME TO u",
            "ALTER TABLE t ADD KEY (a), ADD FOREIGN KEY (a) REFERENCES p (a)",
            "ALTER TABLE t ADD a INT REFERENCES p (a)",
            "ALTER TABLE t DROP FOREIGN KEY f",
            "ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (9))",
            "ALTER TABLE t DISCARD TABLESPACE",
            "ALTER TABLE t ENGINE=MyISAM",
            "ALTER TABLE t ADD SYSTEM VERSIONING",
            "ALTER TABLE t /*!50000 ADD KEY (a) */",
            "ALTER TABLE t",
            "ALTER IGNORE TABLE t ADD KEY (a)",
            "ALTER VIEW v AS SELECT 1",
            "ALTER TABLE t ADD KEY (a),",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
