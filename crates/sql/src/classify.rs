//! Which kind of statement a text is, by its first words.

use crate::assignments::{Assignments, Target};
use crate::name::ObjectName;
use crate::statement::{Bound, StatementKind};
use crate::syntax::{Comments, Syntax};
use crate::token::{TokenKind, Tokens};
use crate::words::Words;

/// The kind of a whole statement; an INSERT is [`StatementKind::Other`], as its rows are in it.
pub fn classify(text: &[u8], syntax: Syntax, comments: Comments) -> StatementKind {
    let mut words = Words::new(Tokens::new(text, syntax, comments));
    let kind = match words.next() {
        Some(TokenKind::Word(first)) => match first.to_ascii_uppercase().as_slice() {
            b"SET" => set(&mut words),
            b"USE" => words.last_name().map(StatementKind::Use),
            b"CREATE" => create(&mut words),
            b"DROP" => drop_(&mut words),
            b"LOCK" => words.table_word().map(|()| StatementKind::LockTables),
            b"UNLOCK" => words.table_word().map(|()| StatementKind::UnlockTables),
            b"ALTER" => alter(&mut words),
            b"BEGIN" if !words.accept("NOT") => Some(StatementKind::Transaction(Bound::Begin)),
            b"START" if words.accept("TRANSACTION") => {
                Some(StatementKind::Transaction(Bound::Begin))
            }
            b"COMMIT" => end(&mut words, Bound::Commit),
            b"ROLLBACK" => end(&mut words, Bound::Rollback),
            _ => None,
        },
        _ => None,
    };
    kind.unwrap_or(StatementKind::Other)
}

/// True if a statement sets only this global variable: `SET GLOBAL x=..`, `SET @@GLOBAL.x=..`.
pub fn is_global(text: &[u8], syntax: Syntax, comments: Comments, variable: &str) -> bool {
    let mut words = Words::new(Tokens::new(text, syntax, comments));
    if !words.accept("SET") {
        return false;
    }
    let is_dotted = words.accept_sign(b'@') && words.accept_sign(b'@');
    words.accept("GLOBAL") && words.accept_sign(b'.') == is_dotted && words.accept(variable)
}

/// Nothing behind it: no CHAIN, no SAVEPOINT.
fn end(words: &mut Words<'_>, bound: Bound) -> Option<StatementKind> {
    words.accept("WORK");
    words.peek().is_none().then_some(StatementKind::Transaction(bound))
}

fn create(words: &mut Words<'_>) -> Option<StatementKind> {
    let or_replace = words.accept("OR") && words.accept("REPLACE");
    // ALGORITHM, DEFINER, SQL SECURITY, AGGREGATE, TEMPORARY, ONLINE, UNIQUE ..
    while let Some(token) = words.next() {
        let TokenKind::Word(word) = token else { continue };
        return match word.to_ascii_uppercase().as_slice() {
            b"TABLE" => create_table(words).filter(|_| !or_replace),
            b"DATABASE" | b"SCHEMA" => {
                words.if_not_exists();
                words.name().map(StatementKind::CreateDatabase).filter(|_| !or_replace)
            }
            b"VIEW" => {
                words.if_not_exists();
                words.object().map(StatementKind::CreateView)
            }
            b"TRIGGER" => create_trigger(words),
            b"FUNCTION" | b"PROCEDURE" | b"PACKAGE" | b"EVENT" => Some(StatementKind::Routine),
            b"DEFINER" => {
                user(words);
                continue;
            }
            b"ALGORITHM" | b"SECURITY" => {
                words.accept_sign(b'=');
                words.next();
                continue;
            }
            b"SQL" | b"AGGREGATE" => continue,
            _ => None,
        };
    }
    None
}

/// `= name@host`, `= CURRENT_USER()`, `= role`.
fn user(words: &mut Words<'_>) {
    words.accept_sign(b'=');
    words.next();
    if words.accept_sign(b'@') {
        words.next();
    } else if words.accept_sign(b'(') {
        words.accept_sign(b')');
    }
}

fn create_table(words: &mut Words<'_>) -> Option<StatementKind> {
    let if_not_exists = words.if_not_exists();
    let table = words.object()?;
    if !words.accept_sign(b'(') || words.is("LIKE") {
        return None;
    }
    // By a SELECT or VALUES it has rows of its own.
    while let Some(token) = words.next() {
        if token.is("SELECT") || (token.is("VALUES") && words.is_sign(b'(')) {
            return None;
        }
    }
    Some(StatementKind::CreateTable { table, if_not_exists })
}

fn create_trigger(words: &mut Words<'_>) -> Option<StatementKind> {
    words.if_not_exists();
    let trigger = words.object()?;
    while let Some(token) = words.next() {
        if token.is("ON") {
            let table = words.object()?;
            // Without a database it is that of the trigger.
            let database = table.database.or(trigger.database);
            return Some(StatementKind::CreateTrigger(ObjectName { database, ..table }));
        }
    }
    None
}

fn drop_(words: &mut Words<'_>) -> Option<StatementKind> {
    let Some(TokenKind::Word(what)) = words.next() else { return None };
    let if_exists = words.if_exists();
    let kind = match what.to_ascii_uppercase().as_slice() {
        b"DATABASE" | b"SCHEMA" => StatementKind::DropDatabase(words.name()?),
        b"TABLE" => StatementKind::DropTable { table: words.object()?, if_exists },
        b"VIEW" => StatementKind::DropView(words.object()?),
        b"TRIGGER" => StatementKind::DropTrigger(words.object()?),
        b"FUNCTION" | b"PROCEDURE" | b"PACKAGE" | b"EVENT" => return Some(StatementKind::Routine),
        _ => return None,
    };
    let _ = words.accept("RESTRICT") || words.accept("CASCADE");
    words.peek().is_none().then_some(kind)
}

fn alter(words: &mut Words<'_>) -> Option<StatementKind> {
    if !words.accept("TABLE") {
        return None;
    }
    let table = words.object()?;
    let switched = words.accept("DISABLE") || words.accept("ENABLE");
    let is_keys = switched && words.accept("KEYS") && words.peek().is_none();
    is_keys.then_some(StatementKind::Keys(table))
}

fn set(words: &mut Words<'_>) -> Option<StatementKind> {
    let mut variables = Vec::new();
    for assignment in Assignments::new(words) {
        match assignment? {
            Target::User(_) => {}
            Target::Session(name) => variables.push(name),
        }
    }
    Some(StatementKind::Set { variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(database: Option<&str>, name: &str) -> ObjectName {
        let bytes = |text: &str| text.as_bytes().to_vec();
        ObjectName { database: database.map(bytes), name: bytes(name) }
    }

    fn table(table: ObjectName, if_not_exists: bool) -> StatementKind {
        StatementKind::CreateTable { table, if_not_exists }
    }

    fn set(variables: &[&str]) -> StatementKind {
        StatementKind::Set { variables: variables.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn statements_of_dumps_are_known() {
        use StatementKind::*;
        let drop_table = |table, if_exists| DropTable { table, if_exists };
        let t = || name(None, "t");
        let cases = [
            ("/*!40101 SET @OLD=@@CHARACTER_SET_CLIENT */", set(&[])),
            ("/*!40101 SET NAMES utf8mb4 */", set(&["names"])),
            (
                "SET CHARACTER SET latin1, @@session.Sql_Mode := 'a,b', @b=(1,2), time_zone=@x",
                set(&["charset", "sql_mode", "time_zone"]),
            ),
            ("SET @@SESSION.SQL_LOG_BIN= 0", set(&["sql_log_bin"])),
            ("SET LOCAL x=f(1, 2), @@y=2, @a.b='c'", set(&["x", "y"])),
            ("SET GLOBAL x=1", Other),
            ("SET x=1, GLOBAL y=1", Other),
            ("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1'", Other),
            ("SET PASSWORD = 'x'", Other),
            ("SET PASSWORD FOR x = 'x'", Other),
            ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", Other),
            ("SET STATEMENT x=1 FOR SELECT 1", Other),
            ("SET ROLE a", Other),
            ("/*!80000 SET SESSION information_schema_stats_expiry=0 */", Other),
            ("USE `a``b`", Use(b"a`b".to_vec())),
            (
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET utf8 */",
                CreateDatabase(b"d".to_vec()),
            ),
            ("CREATE OR REPLACE SCHEMA d", Other),
            ("/*!40000 DROP DATABASE IF EXISTS `d`*/", DropDatabase(b"d".to_vec())),
            ("CREATE TABLE `t` (\n  `select` int\n)", table(t(), false)),
            (
                "create table if not exists d.`t`(a int) partition by list (a) (partition p values in (1))",
                table(name(Some("d"), "t"), true),
            ),
            ("CREATE TABLE t LIKE u", Other),
            ("CREATE TABLE t (LIKE u)", Other),
            ("CREATE TABLE t (a int) AS SELECT 1", Other),
            ("CREATE TABLE t (a int) (SELECT 1)", Other),
            ("CREATE TEMPORARY TABLE t (a int)", Other),
            ("CREATE OR REPLACE TABLE t (a int)", Other),
            ("DROP TABLE IF EXISTS `t`", drop_table(t(), true)),
            ("DROP TABLE d.t RESTRICT", drop_table(name(Some("d"), "t"), false)),
            ("DROP TABLE t, u", Other),
            ("DROP TEMPORARY TABLE t", Other),
            ("LOCK TABLES `t` WRITE", LockTables),
            ("UNLOCK TABLES", UnlockTables),
            ("LOCK INSTANCE FOR BACKUP", Other),
            ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", Keys(t())),
            ("ALTER TABLE t ENABLE KEYS, ADD x int", Other),
            ("ALTER TABLE t ADD x int", Other),
            (
                "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`r`@`%` SQL SECURITY DEFINER */\n/*!50001 VIEW `t` AS select 1 */",
                CreateView(t()),
            ),
            ("CREATE OR REPLACE VIEW d.t AS SELECT 1", CreateView(name(Some("d"), "t"))),
            ("/*!50001 DROP VIEW IF EXISTS `t`*/", DropView(t())),
            (
                "/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`l`*/ /*!50003 TRIGGER `on` BEFORE INSERT ON `t` FOR EACH ROW SET @a=1 */",
                CreateTrigger(t()),
            ),
            (
                "CREATE TRIGGER IF NOT EXISTS d.x AFTER DELETE ON t FOR EACH ROW SET @a=1",
                CreateTrigger(name(Some("d"), "t")),
            ),
            ("CREATE DEFINER=CURRENT_USER() PROCEDURE p() SELECT 1", Routine),
            ("CREATE AGGREGATE FUNCTION f() RETURNS INT RETURN 1", Routine),
            ("CREATE DEFINER=role PACKAGE BODY p AS END", Routine),
            (
                "/*!50106 CREATE*/ /*!50117 DEFINER=x@y*/ /*!50106 EVENT `e` ON SCHEDULE EVERY 1 DAY DO SET @a=1 */",
                Routine,
            ),
            ("DROP FUNCTION IF EXISTS f", Routine),
            ("/*!50032 DROP TRIGGER IF EXISTS t */", DropTrigger(t())),
            ("CREATE SEQUENCE s", Other),
            ("CREATE UNIQUE INDEX i ON t (a)", Other),
            ("CREATE USER VIEW", Other),
            ("BEGIN", Transaction(Bound::Begin)),
            ("BEGIN NOT ATOMIC SELECT 1; END", Other),
            ("START TRANSACTION READ ONLY", Transaction(Bound::Begin)),
            ("START SLAVE", Other),
            ("COMMIT", Transaction(Bound::Commit)),
            ("commit work", Transaction(Bound::Commit)),
            ("COMMIT AND CHAIN", Other),
            ("ROLLBACK", Transaction(Bound::Rollback)),
            ("ROLLBACK TO a", Other),
            ("INSERT INTO t VALUES (1)", Other),
            ("/*!99999 CREATE TABLE t (a int) */", Other),
            ("/*M!100000 CREATE TABLE t (a int) */", table(t(), false)),
            ("", Other),
        ];
        for (text, expected) in cases {
            let found = classify(text.as_bytes(), Syntax::default(), Comments::default());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_global_variable_is_known_by_its_name() {
        let is = |text: &str| {
            is_global(text.as_bytes(), Syntax::default(), Comments::default(), "gtid_purged")
        };
        assert!(is("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-5'"));
        assert!(is("/*!50000 SET GLOBAL gtid_purged = 'a:1' */"));
        for text in
            ["SET gtid_purged=1", "SET @@GLOBAL.read_only=1", "SET GLOBAL.gtid_purged=1", ""]
        {
            assert!(!is(text), "{text}");
        }
    }

    #[test]
    fn servers_run_version_comments_of_their_own() {
        let mysql = Comments { mariadb: false, version: 80_036 };
        let kind = |text: &str| classify(text.as_bytes(), Syntax::default(), mysql);
        assert_eq!(kind("/*!80000 SET x=1 */"), set(&["x"]));
        assert_eq!(kind("/*!80037 SET x=1 */"), StatementKind::Other);
        assert_eq!(kind("/*M!100000 SET x=1 */"), StatementKind::Other);
        assert_eq!(kind("/*! SET x=1 */"), set(&["x"]));
    }
}
