//! The tables, views and sequences that a statement changes, by its first words.
//!
//! ```text
//! ALTER TABLE `t` ..    TRUNCATE t    DELETE a FROM a JOIN b ..    UPDATE a JOIN b SET ..    INSERT INTO t SELECT ..
//! CREATE INDEX k ON t (..)    CREATE OR REPLACE TABLE t ..    DROP TABLE a, b    RENAME TABLE a TO b
//! CREATE SEQUENCE s ..    DO SETVAL(s, 1)    LOAD DATA .. INTO TABLE t
//! ```

use crate::name::ObjectName;
use crate::syntax::Syntax;
use crate::token::{Token, TokenKind, Tokens};

/// Kinds of objects that are named right behind these words.
const KINDS: [&str; 4] = ["TABLE", "TABLES", "VIEW", "SEQUENCE"];
/// Words before them.
const BEFORE_KINDS: [&str; 9] =
    ["OR", "REPLACE", "TEMPORARY", "ONLINE", "IGNORE", "UNIQUE", "FULLTEXT", "SPATIAL", "LOCAL"];
/// Words between them, or the first word of a statement, and a name.
const BEFORE_NAMES: [&str; 11] = [
    "TABLE",
    "IF",
    "NOT",
    "EXISTS",
    "FROM",
    "INTO",
    "LOW_PRIORITY",
    "HIGH_PRIORITY",
    "DELAYED",
    "QUICK",
    "IGNORE",
];
/// Words that another name follows.
const BETWEEN_NAMES: [&str; 3] = ["JOIN", "STRAIGHT_JOIN", "TO"];
/// Words behind the last name.
const BEHIND_NAMES: [&str; 6] = ["SET", "WHERE", "ORDER", "LIMIT", "USING", "SELECT"];
/// First words of statements about replication.
const REPLICATION: [&str; 5] = ["CHANGE", "START", "STOP", "RESET", "PURGE"];
/// Subjects of those, and variables that hold positions.
const POSITIONS: [&str; 11] = [
    "MASTER",
    "SLAVE",
    "SLAVES",
    "REPLICA",
    "REPLICAS",
    "REPLICATION",
    "GROUP_REPLICATION",
    "BINARY",
    "gtid_purged",
    "gtid_slave_pos",
    "gtid_binlog_state",
];

/// The tables, views and sequences that a statement changes; none if it changes no rows and no definitions, or
/// does not name its tables (CALL). Joined tables of UPDATE and DELETE are all taken for changed.
pub fn changed_objects(text: &[u8], syntax: Syntax) -> Vec<ObjectName> {
    let all: Vec<Token<'_>> = Tokens::of_any_server(text, syntax).collect();
    let Some((first, rest)) = all.split_first() else { return Vec::new() };
    let TokenKind::Word(first) = first.kind else { return Vec::new() };
    match first.to_ascii_uppercase().as_slice() {
        b"CREATE" => defined(rest, 1),
        b"ALTER" => {
            let mut found = defined(rest, 1);
            if !found.is_empty() {
                found.extend(renamed(rest));
            }
            found
        }
        b"DROP" | b"RENAME" | b"ANALYZE" | b"CHECK" | b"OPTIMIZE" | b"REPAIR" => {
            defined(rest, usize::MAX)
        }
        b"TRUNCATE" | b"UPDATE" => names(rest, usize::MAX),
        b"DELETE" => names(behind(rest, "FROM"), usize::MAX),
        b"INSERT" | b"REPLACE" => names(rest, 1),
        b"LOAD" => names(behind(rest, "TABLE"), 1),
        b"DO" | b"SELECT" => names(behind(rest, "SETVAL"), 1),
        _ => Vec::new(),
    }
}

/// True for a statement that starts, stops or positions replication.
pub fn is_of_replication(text: &[u8], syntax: Syntax) -> bool {
    let words: Vec<Token<'_>> = Tokens::of_any_server(text, syntax).take(6).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let has = |list: &[&str]| rest.iter().any(|token| list.iter().any(|word| token.is(word)));
    match first.is("SET") {
        true => has(&["GLOBAL"]) && has(&POSITIONS),
        false => REPLICATION.iter().any(|word| first.is(word)) && has(&POSITIONS),
    }
}

/// The first `max` objects of CREATE, ALTER, DROP and the like.
fn defined(tokens: &[Token<'_>], max: usize) -> Vec<ObjectName> {
    let is = |token: &Token<'_>, words: &[&str]| words.iter().any(|word| token.is(word));
    let kind = tokens.iter().position(|token| !is(token, &BEFORE_KINDS));
    match kind.and_then(|at| tokens[at..].split_first()) {
        Some((kind, rest)) if is(kind, &KINDS) => names(rest, max),
        Some((kind, rest)) if kind.is("INDEX") => names(behind(rest, "ON"), 1),
        _ => Vec::new(),
    }
}

/// Other tables that an ALTER TABLE names: RENAME TO, EXCHANGE PARTITION .. WITH TABLE.
fn renamed(tokens: &[Token<'_>]) -> Vec<ObjectName> {
    let is_of_parts = |rest: &[Token<'_>]| {
        let parts = ["COLUMN", "INDEX", "KEY", "CONSTRAINT"];
        rest.first().is_some_and(|token| parts.iter().any(|word| token.is(word)))
    };
    let name = match behind(tokens, "RENAME") {
        rest if is_of_parts(rest) => &[],
        [word, rest @ ..] if word.is("TO") || word.is("AS") || word.is_sign(b'=') => rest,
        rest => rest,
    };
    let exchanged = behind(behind(tokens, "EXCHANGE"), "TABLE");
    [names(name, 1), names(exchanged, 1)].concat()
}

/// The tokens behind the first one that is this word.
fn behind<'t, 'a>(tokens: &'t [Token<'a>], word: &str) -> &'t [Token<'a>] {
    let at = tokens.iter().position(|token| token.is(word));
    at.map_or(&[], |at| &tokens[at + 1..])
}

/// The first `max` names of a list, or of joined tables.
fn names(tokens: &[Token<'_>], max: usize) -> Vec<ObjectName> {
    let is = |at: usize, words: &[&str]| words.iter().any(|word| tokens[at].is(word));
    let (mut found, mut at, mut depth, mut expects) = (Vec::new(), 0, 0_i32, true);
    while at < tokens.len() && found.len() < max {
        let token = &tokens[at];
        match token.kind {
            TokenKind::Sign(b'(') => depth += 1,
            TokenKind::Sign(b')') => depth -= 1,
            TokenKind::Sign(b',') => expects = depth == 0,
            _ if depth == 0 && is(at, &BEHIND_NAMES) => break,
            _ if is(at, &BETWEEN_NAMES) => expects = true,
            _ if is(at, &BEHIND_NAMES) => expects = false,
            _ if !expects || is(at, &BEFORE_NAMES) => {}
            _ => {
                expects = false;
                let Some(name) = token.name() else { break };
                let second = match tokens.get(at + 1) {
                    Some(dot) if dot.is_sign(b'.') => tokens.get(at + 2).and_then(Token::name),
                    _ => None,
                };
                let (first, name) = match second {
                    Some(second) => {
                        at += 2;
                        (Some(name.into_owned()), second)
                    }
                    None => (None, name),
                };
                found.push(ObjectName { database: first, name: name.into_owned() });
            }
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_what_they_change() {
        for (text, expected) in [
            ("ALTER TABLE `d`.`t` ADD KEY (a), ADD x INT", "d.t"),
            ("alter online ignore table if exists t drop column a", "t"),
            ("ALTER TABLE t RENAME COLUMN a TO b", "t"),
            ("ALTER TABLE t ADD a INT, RENAME TO d.u", "t d.u"),
            ("ALTER TABLE t RENAME u", "t u"),
            ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "t u"),
            ("ALTER DATABASE d CHARACTER SET latin1", ""),
            ("TRUNCATE TABLE t", "t"),
            ("TRUNCATE `a b`", "a b"),
            ("DELETE QUICK FROM t WHERE a IN (SELECT b FROM u)", "t"),
            ("DELETE x FROM t AS x JOIN u ON t.a = u.a, v", "t u v"),
            ("UPDATE LOW_PRIORITY t SET a = 1, b = 2", "t"),
            ("UPDATE a x LEFT JOIN (SELECT 1 FROM z) y ON f(1, 2), d.b SET a.x = 1", "a d.b"),
            ("INSERT IGNORE INTO t (a, b) SELECT 1, 2 FROM u", "t"),
            ("REPLACE t SET a = 1, b = 2", "t"),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a, b)", "t"),
            ("CREATE UNIQUE INDEX IF NOT EXISTS k ON d.t (a, b)", "d.t"),
            ("DROP INDEX k ON t", "t"),
            ("CREATE OR REPLACE TABLE t (a INT, b INT)", "t"),
            ("CREATE TEMPORARY TABLE IF NOT EXISTS t LIKE u", "t"),
            ("DROP TABLE IF EXISTS a, `d`.b CASCADE", "a d.b"),
            ("/*!50001 DROP VIEW a, b */", "a b"),
            ("RENAME TABLE a TO b, c TO d.e", "a b c d.e"),
            ("RENAME USER a TO b", ""),
            ("OPTIMIZE LOCAL TABLE a, b", "a b"),
            ("CREATE SEQUENCE `s` start with 1 minvalue 1", "s"),
            ("DROP SEQUENCE IF EXISTS s", "s"),
            ("SELECT SETVAL(`s`, 1001, 0)", "s"),
            ("DO SETVAL(d.s, 1001, 0)", "d.s"),
            ("SELECT a, b FROM t", ""),
            ("CREATE USER t", ""),
            ("CALL p()", ""),
            ("SET GLOBAL x = 1", ""),
            ("", ""),
        ] {
            let found = changed_objects(text.as_bytes(), Syntax::default()).into_iter();
            let parts = found.map(|one| one.database.into_iter().chain([one.name]));
            let found: Vec<Vec<u8>> =
                parts.map(|one| one.collect::<Vec<_>>().join(&b'.')).collect();
            assert_eq!(String::from_utf8_lossy(&found.join(&b' ')), expected, "{text}");
        }
    }

    #[test]
    fn statements_about_replication_are_known() {
        let is = |text: &str| is_of_replication(text.as_bytes(), Syntax::default());
        for text in [
            "CHANGE MASTER TO MASTER_LOG_FILE='a', MASTER_LOG_POS=4",
            "CHANGE REPLICATION SOURCE TO SOURCE_LOG_POS=4",
            "STOP ALL SLAVES",
            "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1'",
            "SET GLOBAL gtid_slave_pos='0-1-2'",
        ] {
            assert!(is(text), "{text}");
        }
        for text in
            ["START TRANSACTION", "SET GLOBAL x=1", "SET @a='MASTER'", "RESET QUERY CACHE", ""]
        {
            assert!(!is(text), "{text}");
        }
    }
}
