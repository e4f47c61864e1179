//! State of the dump's session, for every other connection.

use std::collections::{BTreeMap, BTreeSet};

use server::identifier::quote_name;
use server::session::NULL;
use server::version::Flavor;
use server::{Result, Session};
use sql::Syntax;

/// Variables that matter to rows and definitions whether or not the dump sets them. Those that a
/// server lacks are left out.
const CORE: [&str; 8] = [
    "character_set_client",
    "character_set_connection",
    "collation_connection",
    "sql_mode",
    "time_zone",
    "foreign_key_checks",
    "unique_checks",
    CONSTRAINT_CHECKS,
];
/// The variable of CHECK constraints, which MySQL lacks.
const CONSTRAINT_CHECKS: &str = "check_constraint_checks";

/// Variables that stay with the session that the dump sets them in: what other connections do with
/// transactions, and how they read answers, is their own affair.
const OWN: [&str; 3] = ["autocommit", "character_set_results", "sql_notes"];

/// Variables that say what is written of a statement to the binary log, the general log and other
/// nodes: of whatever a replay does, wherever.
const WRITTEN: [&str; 12] = [
    "sql_log_bin",
    "sql_log_off",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_annotate_row_events",
    "binlog_transaction_compression",
    "skip_replication",
    "server_id",
    "gtid_domain_id",
    "wsrep_on",
];

/// Variables that are of the next statement of their session, or its next transaction, and what
/// they are when they are of none.
const NEXT: [(&str, &str); 3] =
    [("gtid_next", "AUTOMATIC"), ("gtid_seq_no", "0"), ("insert_id", "0")];

/// Names in SET that stand for other variables.
const ALIASES: [&str; 2] = ["names", "charset"];

/// Server error of a variable that it does not have.
const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;

/// The values that the variables of a session had at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionState {
    /// The database that names without one are in.
    pub(crate) database: Option<String>,
    /// Session variables, in lower case, with their values as text; None is NULL.
    variables: BTreeMap<String, Option<String>>,
}

impl SessionState {
    /// Asks a session for its database, all variables that matter, and those in `set`. What it has set so far is
    /// taken to be on purpose.
    pub(crate) fn read(session: &mut Session, set: &BTreeSet<String>) -> Result<SessionState> {
        let lacks =
            |name: &str| name == CONSTRAINT_CHECKS && session.version().flavor == Flavor::MySql;
        let is_wanted =
            |name: &&str| !OWN.contains(name) && !ALIASES.contains(name) && !lacks(name);
        let names: BTreeSet<&str> =
            CORE.into_iter().chain(set.iter().map(String::as_str)).collect();
        let names: Vec<&str> = names.into_iter().filter(is_wanted).collect();
        match ask(session, &names) {
            // One of them is unknown here: each by itself.
            Err(error) if error.errno() == Some(ER_UNKNOWN_SYSTEM_VARIABLE) => {
                let mut state = ask(session, &[])?;
                for name in names {
                    match ask(session, &[name]) {
                        Err(e) if e.errno() == Some(ER_UNKNOWN_SYSTEM_VARIABLE) => {}
                        one => state.variables.append(&mut one?.variables),
                    }
                }
                Ok(state)
            }
            state => state,
        }
    }

    /// With these values, for tests.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> SessionState {
        let variable = |&(name, value): &(&str, &str)| (name.to_owned(), Some(value.to_owned()));
        SessionState { database: None, variables: variables.iter().map(variable).collect() }
    }

    /// Sets another session to the same, its database too.
    pub(crate) fn apply(&self, session: &mut Session) -> Result<()> {
        if let Some(database) = &self.database {
            session.exec(&format!("USE {}", quote_name(database)))?;
        }
        // The collation last: a character set brings its default one.
        let (last, first): (Vec<_>, Vec<_>) = (self.variables.iter())
            .filter(|(name, _)| NEXT.iter().all(|(next, _)| next != name))
            .partition(|(name, _)| *name == "collation_connection");
        let all = first.into_iter().chain(last);
        let all: Vec<(&str, &str)> =
            all.map(|(name, value)| (name.as_str(), value.as_deref().unwrap_or(NULL))).collect();
        session.set(&all)
    }

    /// Variables that the dump has set for the text of statements, for every connection.
    pub(crate) fn written(&self) -> Vec<(String, String)> {
        let set = self.variables.iter().filter(|(name, _)| SessionState::is_written(name));
        set.map(|(name, value)| (name.clone(), value.as_deref().unwrap_or(NULL).to_owned()))
            .collect()
    }

    /// True if a variable is one of [`SessionState::written`].
    pub(crate) fn is_written(name: &str) -> bool {
        WRITTEN.contains(&name)
    }

    /// True if the dump has set something for the next statement of its session alone.
    pub(crate) fn is_of_next(&self) -> bool {
        NEXT.iter().any(|(name, plain)| self.get(name).is_some_and(|value| value != *plain))
    }

    /// The value of a variable, where the server has it and it is not NULL.
    pub(crate) fn get(&self, variable: &str) -> Option<&str> {
        self.variables.get(variable)?.as_deref()
    }

    /// True if a variable is on.
    pub(crate) fn is_on(&self, variable: &str) -> bool {
        matches!(self.get(variable), Some("1" | "ON"))
    }

    /// The character set of the dump's text.
    pub(crate) fn charset(&self) -> &str {
        self.get("character_set_client").unwrap_or("utf8mb4")
    }

    /// The flags by which statements and values are read, separated by commas.
    pub(crate) fn sql_mode(&self) -> &str {
        self.get("sql_mode").unwrap_or_default()
    }

    /// How statements are read.
    pub(crate) fn syntax(&self) -> Syntax {
        Syntax {
            ansi_quotes: self.has_mode("ANSI_QUOTES"),
            no_backslash_escapes: self.has_mode("NO_BACKSLASH_ESCAPES"),
            ..Syntax::default()
        }
    }

    /// True if a flag of `sql_mode` is set.
    pub(crate) fn has_mode(&self, flag: &str) -> bool {
        self.sql_mode().split(',').any(|set| set.eq_ignore_ascii_case(flag))
    }
}

/// The state of a session as far as these variables tell.
fn ask(session: &mut Session, names: &[&str]) -> Result<SessionState> {
    let variables = names.iter().map(|name| format!("@@SESSION.{name}"));
    let columns: Vec<String> = ["DATABASE()".to_owned()].into_iter().chain(variables).collect();
    let mut values = session.adopt_variables(&columns)?.into_iter();
    let database = values.next().flatten();
    let names = names.iter().map(|&name| name.to_owned());
    Ok(SessionState { database, variables: names.zip(values).collect() })
}
