//! Statements that may run a second time, after a replay that was interrupted while the first ran.

use sql::{Syntax, Token, Tokens};

/// First words of statements that do the same the second time, or fail for having been done.
const REPEATABLE: &str = "ANALYZE CHECK CREATE DEALLOCATE DESC DESCRIBE DO DROP EXPLAIN FLUSH GRANT INSTALL \
     LOCK OPTIMIZE PREPARE REPAIR REVOKE SELECT SET SHOW TRUNCATE UNINSTALL UNLOCK USE WITH";
/// First words of statements that change definitions, not rows.
const DEFINING: [&str; 5] = ["CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"];
/// First words of statements that change rows, and do nothing that cannot be rolled back.
const CHANGING: [&str; 6] = ["UPDATE", "DELETE", "INSERT", "REPLACE", "LOAD", "WITH"];
/// First words of statements that may leave a table without rows, or without its name.
const TAKING: [&str; 6] = ["ALTER", "DELETE", "DROP", "RENAME", "TRUNCATE", "WITH"];
/// Words of an ALTER TABLE that may empty or rename the table.
const MOVING: [&str; 4] = ["RENAME", "PARTITION", "EXCHANGE", "DISCARD"];
/// First words of statements of a transaction, which change nothing that stays.
const PARTS: [&str; 3] = ["SAVEPOINT", "RELEASE", "ROLLBACK"];
/// First words of statements that commit nothing.
const INNER: [&str; 7] = ["SELECT", "DO", "SHOW", "SET", "DESC", "DESCRIBE", "EXPLAIN"];

/// Errors of a statement that has renamed a table, a column or an index: the server does not know the old name.
const ER_OLD_NAMES: [u16; 3] = [1146, 1054, 1176];

/// Words that ADD is followed by for what the server would name itself, each time otherwise.
const NAMED: [&str; 8] =
    ["INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "CONSTRAINT"];
/// Words of an ALTER TABLE that does something else each time.
const COUNTED: [&str; 3] = ["EXCHANGE", "PARTITIONS", "COALESCE"];

/// The words of a statement.
pub(super) struct Words<'a>(Vec<Token<'a>>);

impl<'a> Words<'a> {
    /// The words of `text`, with those of version comments.
    pub(super) fn of(text: &'a [u8], syntax: Syntax) -> Words<'a> {
        Words(Tokens::of_any_server(text, syntax).collect())
    }

    fn begin(&self, words: &[&str]) -> bool {
        self.0.first().is_some_and(|first| words.iter().any(|word| first.is(word)))
    }

    fn have(&self, words: &[&str]) -> bool {
        self.0.iter().any(|one| words.iter().any(|word| one.is(word)))
    }

    /// The name of the savepoint that the statement sets, or, with true, rolls back to.
    pub(super) fn savepoint(&self) -> Option<(Vec<u8>, bool)> {
        let is_rollback = self.begin(&["ROLLBACK"]);
        if !is_rollback && !self.begin(&["SAVEPOINT"]) {
            return None;
        }
        let name = self.0.last()?.name()?.to_ascii_lowercase();
        (!is_rollback || self.have(&["TO"])).then_some((name, is_rollback))
    }

    /// True for a statement that changes definitions.
    pub(super) fn define(&self) -> bool {
        self.begin(&DEFINING)
    }

    /// True for a statement that changes rows and can be rolled back.
    pub(super) fn change_rows(&self) -> bool {
        self.begin(&CHANGING)
    }

    /// True for a statement that may empty, rename or drop the tables that it names.
    pub(super) fn may_take_rows(&self) -> bool {
        self.begin(&TAKING) && (!self.begin(&["ALTER"]) || self.have(&MOVING))
    }

    /// True if the statement failed because it has renamed something before.
    pub(super) fn have_renamed(&self, error: &server::Error) -> bool {
        let renames =
            self.begin(&["RENAME"]) || (self.begin(&["ALTER"]) && self.have(&["RENAME", "CHANGE"]));
        renames && error.errno().is_some_and(|errno| ER_OLD_NAMES.contains(&errno))
    }

    /// True for SAVEPOINT, ROLLBACK TO and the like.
    pub(super) fn are_of_transaction(&self) -> bool {
        self.begin(&PARTS)
    }

    /// True for a statement that commits nothing, whatever it calls.
    pub(super) fn stay_inside(&self) -> bool {
        self.begin(&CHANGING) || self.begin(&PARTS) || self.begin(&INNER)
    }

    /// True if the statement leads to the same the second time, or fails for having been done.
    /// `functions`: names of stored functions, which may do anything.
    pub(super) fn are_repeatable(&self, functions: &[Vec<u8>]) -> bool {
        let calls = |token: &Token<'_>| {
            let name = token.name();
            name.is_some_and(|name| functions.iter().any(|known| name.eq_ignore_ascii_case(known)))
        };
        if self.begin(&["ALTER"]) {
            return !self.have(&COUNTED) && !(0..self.0.len()).any(|at| self.adds_unnamed(at));
        }
        if self.begin(&["RENAME"]) {
            // Two pairs may be an exchange.
            return !self.0.iter().any(|token| token.is_sign(b','));
        }
        if self.begin(&["DELETE"]) {
            let has_call = self.0.iter().any(|token| token.is_sign(b'('));
            return !has_call && !self.have(&["LIMIT", "USING", "JOIN"]);
        }
        let changes = (self.begin(&["WITH"]) && self.have(&["UPDATE", "DELETE"]))
            || (self.begin(&["SET"]) && self.have(&["STATEMENT"]))
            || (self.begin(&["DESC", "DESCRIBE", "EXPLAIN"]) && self.have(&["ANALYZE"]));
        let is_known = REPEATABLE.split(' ').any(|word| self.begin(&[word]));
        is_known && !changes && !self.0.iter().any(calls)
    }

    /// True if the statement may change rows, and others or more of them the second time.
    pub(super) fn change_more_rows(&self, functions: &[Vec<u8>]) -> bool {
        let is_definition = self.begin(&["ALTER"]) && !self.have(&["EXCHANGE"]);
        !is_definition && !self.are_repeatable(functions)
    }

    /// True if an ADD at `at` adds an index or a constraint without a name.
    fn adds_unnamed(&self, at: usize) -> bool {
        let is = |at: usize, words: &[&str]| {
            self.0.get(at).is_some_and(|token| words.iter().any(|word| token.is(word)))
        };
        if !is(at, &["ADD"]) || !is(at + 1, &NAMED) {
            return false;
        }
        if is(at + 1, &["FOREIGN"]) {
            return true;
        }
        let after = at + 2 + usize::from(is(at + 2, &["INDEX", "KEY"]));
        let is_constraint = is(at + 1, &["CONSTRAINT"]);
        let has_none = match is_constraint {
            true => is(after, &["UNIQUE", "FOREIGN", "CHECK", "PRIMARY"]),
            false => is(after, &["USING"]),
        };
        has_none || self.0.get(after).is_none_or(|token| token.is_sign(b'('))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_unknown_behind_what_has_renamed_them() {
        for (text, errno, expected) in [
            ("RENAME TABLE a TO b", 1146, true),
            ("RENAME TABLE a TO b", 1064, false),
            ("ALTER TABLE a RENAME TO b", 1146, true),
            ("ALTER TABLE t CHANGE a b INT", 1054, true),
            ("ALTER TABLE t RENAME INDEX a TO b", 1176, true),
            ("ALTER TABLE t ADD KEY k (a)", 1146, false),
        ] {
            let error = server::Error::Statement {
                errno,
                sqlstate: String::new(),
                message: String::new(),
                statement: String::new(),
            };
            let words = Words::of(text.as_bytes(), Syntax::default());
            assert_eq!(words.have_renamed(&error), expected, "{text} {errno}");
        }
    }

    #[test]
    fn statements_that_do_more_the_second_time_are_told_apart() {
        let functions = [b"spend".to_vec()];
        for (text, expected) in [
            ("CREATE VIEW v AS SELECT 1", true),
            ("/*!50003 CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1 */", true),
            ("ALTER TABLE t ADD INDEX i (a), ADD COLUMN b INT", true),
            ("ALTER TABLE t ADD PRIMARY KEY (a)", true),
            ("ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (a)", true),
            ("ALTER TABLE t ADD (b INT)", true),
            ("ALTER TABLE t ADD INDEX (a)", false),
            ("alter table t add key using btree (a)", false),
            ("ALTER TABLE t ADD UNIQUE KEY (a)", false),
            ("ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (a)", false),
            ("ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (a) REFERENCES u (a)", false),
            ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", false),
            ("RENAME TABLE a TO b", true),
            ("RENAME TABLE a TO c, b TO a, c TO b", false),
            ("DELETE FROM t WHERE a = 1", true),
            ("DELETE FROM t ORDER BY a LIMIT 1", false),
            ("DELETE FROM t WHERE a > (SELECT AVG(a) FROM t)", false),
            ("UPDATE t SET n = n + 1", false),
            ("INSERT INTO t SELECT * FROM u", false),
            ("CALL fill()", false),
            ("GRANT SELECT, UPDATE ON d.* TO u", true),
            ("SELECT 1", true),
            ("DESC t", true),
            ("EXPLAIN ANALYZE UPDATE t SET n = n + 1", false),
            ("SELECT spend(1)", false),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 2", false),
            ("SET STATEMENT sql_mode='' FOR UPDATE t SET n = n + 1", false),
            ("LOAD DATA INFILE 'x' INTO TABLE t", false),
            ("", false),
        ] {
            let words = Words::of(text.as_bytes(), Syntax::default());
            assert_eq!(words.are_repeatable(&functions), expected, "{text}");
            let is_of_rows = !text.to_ascii_lowercase().contains(" add ");
            assert_eq!(words.change_more_rows(&functions), !expected && is_of_rows, "{text}");
        }
    }
}
