//! The GRANT for a privilege that the server has missed.
//!
//! Rights are looked at before anything is begun wherever it is known what will be asked
//! ([`crate::privileges`]); what a dump asks for is not. The server's words name the host
//! that the account came from, not the account's own, so that is asked for.

use mysql::prelude::Queryable;

use crate::error::Error;
use crate::grant::{self, LITERAL};
use crate::identifier::quoted_name;
use crate::session::Session;
use crate::version::Flavor;

/// Server errors of a missing right: on a database, on a table, on the server.
const ER_DBACCESS_DENIED: u16 = 1044;
const ER_TABLEACCESS_DENIED: u16 = 1142;
const ER_SPECIFIC_ACCESS_DENIED: u16 = 1227;

/// The right that gives most; where others do, too, it is not asked for.
const SUPER: &str = "SUPER";

/// A right, and where it is missing.
type Missing = (String, Place);

/// Where a right is missing.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// On the whole server.
    Server,
    /// On a database.
    Database(String),
    /// On the session's own database.
    Own,
}

impl Session {
    /// Adds to the server's words, if they are about a missing right, what gives it.
    pub(super) fn with_grant(&mut self, mut error: Error) -> Error {
        let Error::Statement { errno, message, statement, .. } = &mut error else { return error };
        let Some((right, place)) = missing(*errno, message, statement) else { return error };
        let sql = "SELECT CURRENT_USER(), SUBSTRING_INDEX(CURRENT_USER(), '@', -1), DATABASE()";
        type Answer = (String, String, Option<String>);
        let account = self.driver.call(|conn| conn.query_first::<Answer, _>(sql));
        // Whoever cannot be asked any more fails at the next statement.
        if let Ok(Some((account, host, own))) = account {
            let account = grant::account(&account, &host);
            let database = match place {
                Place::Database(name) => Some(name),
                Place::Own if own.is_none() => return error,
                Place::Own => own,
                Place::Server => None,
            };
            let literal = |conn: &mut mysql::Conn| conn.query_first::<(String, String), _>(LITERAL);
            let is_literal = self.version().flavor == Flavor::MySql
                && matches!(self.driver.call(literal), Ok(Some((_, value))) if value == "ON");
            let grant = match database {
                Some(database) => grant::grant(&[&right], &database, &account, is_literal),
                None => format!("GRANT {right} ON *.* TO {account}"),
            };
            message.push_str(&format!(" (the account needs: {grant})"));
        }
        error
    }
}

/// The missing privilege in the server's English message.
fn missing(errno: u16, message: &str, statement: &str) -> Option<Missing> {
    match errno {
        ER_TABLEACCESS_DENIED => {
            let (right, rest) = message.split_once(" command denied to user ")?;
            let table = rest.split_once(" for table ")?.1;
            let place = match quoted_name(table) {
                Some((database, _)) => Place::Database(database),
                None => place_of(table.strip_prefix('\'')?.strip_suffix('\'')?, statement),
            };
            // Several are listed where any would do.
            let right = right.split(", ").next()?;
            (right != "ANY").then(|| (right.to_owned(), place))
        }
        ER_DBACCESS_DENIED => {
            let database = message.split_once(" to database '")?.1.strip_suffix('\'')?;
            let right = right_of(statement)?;
            Some((right.to_owned(), Place::Database(database.to_owned())))
        }
        ER_SPECIFIC_ACCESS_DENIED => {
            let rights = message.split_once("(at least one of) the ")?.1;
            let rights = rights.split_once(" privilege")?.0.split(", ");
            // MySQL puts another word before the last one.
            let rights = rights.flat_map(|right| right.split(" or "));
            let right = rights.filter(|right| *right != SUPER).last().unwrap_or(SUPER);
            Some((right.to_owned(), Place::Server))
        }
        _ => None,
    }
}

/// Where a table is that MySQL names without its database, or with it and without quotes.
fn place_of(table: &str, statement: &str) -> Place {
    let mut rest = statement;
    while let Some(at) = rest.find('`') {
        let Some((database, behind)) = quoted_name(&rest[at..]) else { break };
        let named = behind.strip_prefix('.').and_then(quoted_name);
        if named.is_some_and(|(name, _)| table == name || table == format!("{database}.{name}")) {
            return Place::Database(database);
        }
        rest = behind;
    }
    // The server's own tables need no quotes.
    let before = statement.split_once(&format!(".{table}")).map_or("", |(before, _)| before);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match before.rsplit(|c| !is_letter(c)).next() {
        Some(database) if !database.is_empty() => Place::Database(database.to_owned()),
        _ => Place::Own,
    }
}

/// The right on a database that a statement of these words takes.
fn right_of(statement: &str) -> Option<&'static str> {
    // Variables for one statement stand before it.
    let own = statement.strip_prefix("SET STATEMENT ").and_then(|rest| rest.split_once(" FOR "));
    let statement = own.map_or(statement, |(_, own)| own);
    let mut words = statement.split_whitespace().map(str::to_ascii_uppercase);
    match (words.next()?.as_str(), words.next()?.as_str()) {
        ("CREATE", "DATABASE" | "SCHEMA") => Some("CREATE"),
        ("ALTER", "DATABASE" | "SCHEMA") => Some("ALTER"),
        ("DROP", "DATABASE" | "SCHEMA") => Some("DROP"),
        ("LOCK", "TABLES" | "TABLE") => Some("LOCK TABLES"),
        ("CREATE", "TEMPORARY") => Some("CREATE TEMPORARY TABLES"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_is_read_from_the_servers_words() {
        let of = |errno, message: &str, statement: &str| {
            missing(errno, message, statement).map(|(right, place)| match place {
                Place::Database(database) => format!("{right} on {database}"),
                place => format!("{right} on {place:?}"),
            })
        };
        let user = "to user 'one'@'localhost'";
        for (errno, message, statement, expected) in [
            (1142, format!("TRIGGER command denied {user} for table `a``b`.`t`"), "", "TRIGGER on a`b"),
            (1142, format!("SELECT, DELETE command denied {user} for table `d`.`t`"), "", "SELECT on d"),
            (1044, format!("Access denied {} database 'd'", user.replacen("to", "for", 1) + " to"), "CREATE DATABASE IF NOT EXISTS `d`", "CREATE on d"),
            (1044, format!("Access denied {} database 'd'", user.replacen("to", "for", 1) + " to"), "lock tables t write", "LOCK TABLES on d"),
            (1044, format!("Access denied {} database 'd'", user.replacen("to", "for", 1) + " to"), "SET STATEMENT max_statement_time=1.000 FOR LOCK TABLES `d`.`t` READ", "LOCK TABLES on d"),
            (1227, "Access denied; you need (at least one of) the SUPER, BINLOG ADMIN privilege(s) for this operation".to_owned(), "", "BINLOG ADMIN on Server"),
            (1227, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation".to_owned(), "", "SUPER on Server"),
            (1227, "Access denied; you need (at least one of) the SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN privilege(s) for this operation".to_owned(), "", "SESSION_VARIABLES_ADMIN on Server"),
            (1142, format!("INSERT command denied {user} for table 't'"), "INSERT INTO `s`.`u` SELECT * FROM `d`.`t`", "INSERT on d"),
            (1142, format!("REFERENCES command denied {user} for table 'd.t'"), "ALTER TABLE `a` ADD FOREIGN KEY (`x`) REFERENCES `d`.`t` (`y`)", "REFERENCES on d"),
            (1142, format!("SELECT command denied {user} for table 'user'"), "SELECT * FROM mysql.user", "SELECT on mysql"),
            (1142, format!("CREATE VIEW command denied {user} for table 'v'"), "CREATE VIEW v AS SELECT 1", "CREATE VIEW on Own"),
        ] {
            assert_eq!(of(errno, &message, statement).as_deref(), Some(expected), "{message}");
        }
        for (errno, message, statement) in [
            (1142, "ANY command denied to user 'a'@'b' for table `d`.`t`", ""),
            (1142, "INSERT command denied to user 'a'@'b' for table t", ""),
            (1044, "Access denied for user 'a'@'b' to database 'd'", "USE d"),
            (1142, "(not shown)", ""),
            (1062, "Duplicate entry '1' for key 'PRIMARY'", ""),
        ] {
            assert_eq!(of(errno, message, statement), None, "{message}");
        }
    }
}
