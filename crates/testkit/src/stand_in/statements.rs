//! Statements of a stand-in.
//!
//! It knows the SQL statements of a load, by their first words and by the names in them. Unknown statements
//! are refused, and remembered: a test that meets such a statement is to fail.

use std::cell::Cell;
use std::time::Duration;

use super::answers::Learned;
use super::shared::Shared;
use super::tables::{Id, NotIn, Row, SessionState, Tables, Value};

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is done: rows that were changed, and the summary.
    Done(u64, String),
    /// The same of the rows of a file, of which so many were passed over, with a warning each.
    Loaded(u64, u64),
    /// How many columns there are, and rows.
    Rows(usize, Vec<Vec<Value>>),
    /// Rows whose columns have these names.
    Named(&'static [&'static str], Vec<Vec<Value>>),
    /// A number and words.
    Refused(u16, String),
    /// The rows of the file are to come.
    File,
    /// Nothing: somebody has ended the connection.
    Gone,
}

const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_QUERY_INTERRUPTED: u16 = 1317;
pub(super) const ER_NO_SUCH_TABLE: u16 = 1146;
const ER_NO_SUCH_THREAD: u16 = 1094;
const ER_DUP_ENTRY: u16 = 1062;
/// "Not supported yet".
const ER_NO_XA: u16 = 1235;
/// "Unknown error": of a statement that the stand-in does not know.
pub(super) const ER_UNKNOWN: u16 = 1105;

impl Answer {
    pub(super) fn done() -> Answer {
        Answer::Done(0, String::new())
    }

    /// A row of one value, or none.
    fn one(value: Option<impl ToString>) -> Answer {
        let rows = value.into_iter().map(|value| vec![text(value)]).collect();
        Answer::Rows(1, rows)
    }

    pub(super) fn no_table(name: &str) -> Answer {
        Answer::Refused(ER_NO_SUCH_TABLE, format!("Table 'model.{name}' doesn't exist"))
    }
}

/// The hint that has a server refuse a view, of which there are none here.
pub(super) const BASE_TABLE: &str = " USE INDEX FOR GROUP BY ()";

/// A statement of one connection.
pub(super) struct Run<'s> {
    pub(super) shared: &'s Shared,
    pub(super) id: Id,
}

impl Run<'_> {
    /// Does what a statement says.
    pub(super) fn statement(&self, sql: &str) -> Answer {
        self.shared.held().session(self.id).statement = sql.to_owned();
        // The program says in a comment how far it is.
        let sql = sql
            .strip_prefix("/* inrush ")
            .and_then(|rest| rest.split_once(" */ "))
            .map_or(sql, |(_, sql)| sql);
        // `SET STATEMENT .. FOR` something else.
        let sql = match sql.strip_prefix("SET STATEMENT ").and_then(|rest| rest.split_once(" FOR "))
        {
            Some((_, inner)) => inner,
            None => sql,
        };
        let sql = &self.on_shard(sql);
        let engine = self.of_engine(sql);
        let sql = self.without_hint(sql);
        let sql = &sql.replace(BASE_TABLE, "");
        let told = self.shared.told.lock().get(sql).cloned();
        let known = told
            .map(|(columns, rows)| Answer::Rows(columns, rows))
            .or(engine)
            .or_else(|| self.transaction(sql))
            .or_else(|| self.lock(sql))
            .or_else(|| self.definition(sql))
            .or_else(|| self.change(sql))
            .or_else(|| self.look(sql))
            .or_else(|| self.setting(sql))
            .or_else(|| self.learned(sql));
        if let Some(session) = self.shared.held().sessions.get_mut(&self.id) {
            session.statement.clear();
        }
        self.shared.changed.notify_all();
        known.unwrap_or_else(|| {
            self.shared.remember(sql);
            Answer::Refused(ER_UNKNOWN, format!("a stand-in knows nothing of: {sql}"))
        })
    }

    fn transaction(&self, sql: &str) -> Option<Answer> {
        if let Some(refused) =
            Some(sql).filter(|sql| *sql == "COMMIT").and_then(|_| self.refuse_commit())
        {
            return Some(refused);
        }
        let mut tables = self.shared.held();
        match sql {
            "START TRANSACTION" | "START TRANSACTION WITH CONSISTENT SNAPSHOT" => {
                tables.commit(self.id);
                tables.session(self.id).is_begun = true;
            }
            "COMMIT" => tables.commit(self.id),
            "ROLLBACK" => tables.rollback(self.id),
            _ if sql.starts_with("SAVEPOINT ") => tables.set_savepoint(self.id),
            _ if sql.starts_with("ROLLBACK TO ") => tables.rollback_to_savepoint(self.id),
            // As of an engine that has none: rows of several connections then go by one.
            _ if sql.starts_with("XA ") => {
                let message = "The storage engine does not support XA transactions".to_owned();
                return Some(Answer::Refused(ER_NO_XA, message));
            }
            _ => return None,
        }
        Some(Answer::done())
    }

    /// Named locks, tables that are locked, and the end of other connections.
    fn lock(&self, sql: &str) -> Option<Answer> {
        let id = self.id;
        if let Some((_, rest)) = sql.split_once("GET_LOCK('") {
            let (name, rest) = rest.split_once("', ")?;
            let seconds: f64 = rest.trim_end_matches(')').parse().ok()?;
            let wait = Duration::from_secs_f64(seconds);
            let got = self.shared.when(
                id,
                |_| wait,
                |tables| {
                    let holder = *tables.names.entry(name.to_owned()).or_insert(id);
                    (holder == id).then_some(())
                },
            );
            return Some(match got {
                Err(Answer::Gone) => Answer::Gone,
                _ if sql.starts_with("DO") => Answer::done(),
                got => Answer::one(Some(u8::from(got.is_ok()))),
            });
        }
        if let Some(name) = within(sql, "DO RELEASE_LOCK('", "')") {
            let mut tables = self.shared.held();
            if tables.names.get(name) == Some(&id) {
                tables.names.remove(name);
            }
            return Some(Answer::done());
        }
        if let Some(name) = within(sql, "SELECT IS_USED_LOCK('", "')") {
            let holder = self.shared.held().names.get(name).copied();
            let value = vec![holder.and_then(text)];
            return Some(Answer::Rows(1, vec![value]));
        }
        if let Some(rest) = sql.strip_prefix("KILL ") {
            let (how, other) = rest.split_once(' ')?;
            let is_there = self.shared.kill(other.parse().ok()?, how == "CONNECTION");
            let nobody = Answer::Refused(ER_NO_SUCH_THREAD, format!("Unknown thread id: {other}"));
            return Some(if is_there { Answer::done() } else { nobody });
        }
        if sql.starts_with("LOCK TABLES ") {
            let names = names(sql);
            return Some(self.alone(&names, |tables| {
                if let Some(missing) = names.iter().find(|name| !tables.tables.contains_key(*name))
                {
                    return Answer::no_table(missing);
                }
                tables.session(id).locked = names.iter().cloned().collect();
                Answer::done()
            }));
        }
        if sql == "UNLOCK TABLES" {
            let mut tables = self.shared.held();
            if !std::mem::take(&mut tables.session(id).locked).is_empty() {
                tables.commit(id);
            }
            return Some(Answer::done());
        }
        None
    }

    /// INSERT, DELETE, and the statement before the rows of a file.
    fn change(&self, sql: &str) -> Option<Answer> {
        let is_known = ["INSERT ", "DELETE FROM ", "LOAD DATA LOCAL "];
        if !is_known.iter().any(|words| sql.starts_with(words)) {
            return None;
        }
        let name = names(sql).into_iter().next()?;
        if let Err(refused) = self.touch(&name) {
            return Some(refused);
        }
        if sql.starts_with("LOAD") {
            return Some(Answer::File);
        }
        if sql.starts_with("DELETE") {
            let job = within(sql, "WHERE job='", "'").map(|job| job.as_bytes().to_vec());
            let most = sql.split_once(" LIMIT ").and_then(|(_, most)| most.parse().ok());
            let left = Cell::new(most.unwrap_or(usize::MAX));
            let is_of_job = |row: &Row| {
                let is_it = left.get() > 0 && (job.is_none() || row.values[0] == job);
                left.set(left.get() - usize::from(is_it));
                is_it
            };
            let mut tables = self.shared.held();
            let seen = tables.tables.get(&name).map_or(0, |table| table.seen_by(self.id).count());
            if let Some(refused) = self.too_many(seen.min(left.get())) {
                return Some(refused);
            }
            let count = tables.delete(self.id, &name, is_of_job);
            self.end_statement(&mut tables);
            return Some(Answer::Done(count, String::new()));
        }
        let (_, values) = sql.split_once(" VALUES ")?;
        Some(self.insert(&name, &tuples(values), sql.starts_with("INSERT IGNORE")))
    }

    /// Puts rows into a table.
    pub(super) fn insert(&self, name: &str, rows: &[Vec<Value>], ignore: bool) -> Answer {
        if let Some(refused) = self.count_bytes(name, rows) {
            return refused;
        }
        let row_wait = |session: &SessionState| session.row_wait;
        let done = self.shared.when(self.id, row_wait, |tables| {
            if !tables.tables.contains_key(name) {
                return Some(Answer::no_table(name));
            }
            match tables.insert(self.id, name, rows, ignore) {
                Ok(count) => Some(Answer::Done(count, summary(rows.len()))),
                Err(NotIn::Duplicate) => {
                    let message = "Duplicate entry for key 'PRIMARY'".to_owned();
                    Some(Answer::Refused(ER_DUP_ENTRY, message))
                }
                Err(NotIn::Waits) => None,
            }
        });
        self.end_statement(&mut self.shared.held());
        done.unwrap_or_else(|refused| refused)
    }

    /// Waits until rows of a table may be read or changed.
    pub(super) fn touch(&self, name: &str) -> Result<(), Answer> {
        let table_wait = |session: &SessionState| session.table_wait;
        self.shared.when(self.id, table_wait, |tables| {
            tables.touch(self.id, name).then(|| match tables.tables.contains_key(name) {
                true => Ok(()),
                false => Err(Answer::no_table(name)),
            })
        })?
    }

    /// A statement outside a transaction is one.
    fn end_statement(&self, tables: &mut Tables) {
        if !tables.in_transaction(self.id) {
            // Ours outside of transactions are small.
            tables.commit(self.id);
        }
        self.shared.changed.notify_all();
    }

    fn setting(&self, sql: &str) -> Option<Answer> {
        // There is one database, which everybody is in.
        let done = ["SET ", "DO ", "USE ", "CREATE DATABASE IF NOT EXISTS "];
        let is_done = done.iter().any(|words| sql.starts_with(words));
        let seconds = |name: &str| -> Option<Duration> {
            let (_, rest) = sql.split_once(&format!(" {name}="))?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse().ok().map(Duration::from_secs)
        };
        let mut tables = self.shared.held();
        let session = tables.session(self.id);
        let set = sql.strip_prefix("SET ").map(assignments).unwrap_or_default();
        let engine = self.shared.engine;
        session.variables.extend(set.into_iter().map(|(name, value)| engine.as_kept(name, value)));
        session.table_wait = seconds("lock_wait_timeout").unwrap_or(session.table_wait);
        session.row_wait = seconds("innodb_lock_wait_timeout").unwrap_or(session.row_wait);
        if let Some(on) = seconds("autocommit") {
            session.is_manual = on.is_zero();
        }
        is_done.then(Answer::done)
    }

    pub(super) fn learned(&self, sql: &str) -> Option<Answer> {
        // What is not said of a table is what is said of one like it, or of the first.
        let like = |without_key: &str| {
            let tables = self.shared.held();
            tables.tables.iter().fold(sql.to_owned(), |sql, (name, table)| {
                let like = if table.key_columns == 0 { without_key } else { "t" };
                let sql = sql.replace(&format!("'{name}'"), &format!("'{like}'"));
                let sql = sql.replace(&format!("`{name}`"), &format!("`{like}`"));
                sql.replace(&format!("'model/{name}'"), &format!("'model/{like}'"))
            })
        };
        let answers = &self.shared.answers;
        let known = answers.get(sql).or_else(|| answers.get(&like("n")));
        let known = known.or_else(|| answers.get(&like("t")));
        known.map(|answer| match answer.clone() {
            Learned::Rows(columns, rows) => Answer::Rows(columns, rows),
            Learned::Refused(errno, message) => Answer::Refused(errno, message),
        })
    }
}

/// Why a wait is over that has led to nothing.
pub(super) fn gave_up(session: &mut SessionState) -> Option<Answer> {
    if session.is_killed {
        return Some(Answer::Gone);
    }
    std::mem::take(&mut session.is_stopped).then(|| {
        Answer::Refused(ER_QUERY_INTERRUPTED, "Query execution was interrupted".to_owned())
    })
}

pub(super) fn waited_too_long() -> Answer {
    Answer::Refused(ER_LOCK_WAIT_TIMEOUT, "Lock wait timeout exceeded".to_owned())
}

/// The summary of more rows than one.
fn summary(rows: usize) -> String {
    match rows {
        0 | 1 => String::new(),
        rows => format!("Records: {rows}  Duplicates: 0  Warnings: 0"),
    }
}

pub(super) fn text(value: impl ToString) -> Value {
    Some(value.to_string().into_bytes())
}

/// Variables and their values in a SET.
fn assignments(list: &str) -> Vec<(String, String)> {
    let (names, list) = match list.strip_prefix("NAMES ") {
        Some(rest) => rest.split_once(", ").unwrap_or((rest, "")),
        None => ("", list),
    };
    let list = list.strip_prefix("SESSION ").unwrap_or(list);
    let plain = |value: &str| value.trim_matches('\'').to_owned();
    let mut set: Vec<(String, String)> = (list.split(", "))
        .filter_map(|one| one.split_once('='))
        .filter(|(_, value)| !value.starts_with('@'))
        .map(|(name, value)| (name.to_owned(), plain(value)))
        .collect();
    if let Some(level) = list.strip_prefix("TRANSACTION ISOLATION LEVEL ") {
        let names = ["tx_isolation", "transaction_isolation"];
        set.extend(names.map(|name| (name.to_owned(), level.replace(' ', "-"))));
    }
    if !names.is_empty() {
        let set_by_names = ["client", "connection", "results"];
        set.extend(set_by_names.map(|of| (format!("character_set_{of}"), names.to_owned())));
    }
    set
}

/// The text between two words.
pub(super) fn within<'a>(sql: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = sql.split_once(before)?;
    Some(rest.split_once(behind)?.0)
}

/// The tables that a statement names, each as `database`.`table`; a statement of a dump names one alone.
pub(super) fn names(sql: &str) -> Vec<String> {
    let parts: Vec<&str> = sql.split('`').collect();
    let is_dot = |at: usize| parts.get(at + 1) == Some(&".");
    let names = (1..parts.len()).step_by(2).filter(|&at| is_dot(at));
    let names: Vec<String> =
        names.filter_map(|at| parts.get(at + 2).map(|&name| name.to_owned())).collect();
    let alone = parts.get(1).filter(|_| names.is_empty());
    if let Some(&name) = alone { vec![name.to_owned()] } else { names }
}

/// The values of `(1, 'a', NULL), (..)`.
fn tuples(text: &str) -> Vec<Vec<Value>> {
    let (mut rows, mut row, mut value) = (Vec::new(), Vec::new(), Vec::new());
    let (mut is_text, mut was_text) = (false, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\'' => (is_text, was_text) = (!is_text, true),
            b'\\' if is_text => value.extend(bytes.next()),
            b',' | b')' if !is_text => {
                let is_null = !was_text && value == b"NULL";
                let taken = std::mem::take(&mut value);
                if was_text || !taken.is_empty() {
                    row.push((!is_null).then_some(taken));
                }
                was_text = false;
                if byte == b')' {
                    rows.push(std::mem::take(&mut row));
                }
            }
            b'(' | b' ' if !is_text => {}
            byte => value.push(byte),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_those_of_the_statement() {
        let sql = "RENAME TABLE `m`.`t` TO `m`.`old`, `m`.`new` TO `m`.`t`";
        assert_eq!(names(sql), ["t", "old", "new", "t"]);
        let row = |values: &[Option<&str>]| -> Vec<Value> {
            values.iter().map(|value| value.map(|text| text.as_bytes().to_vec())).collect()
        };
        let seen = tuples("('a', -1, NULL, 'x,(\\'y\\\\)'), (2,'')");
        let expected =
            [row(&[Some("a"), Some("-1"), None, Some("x,('y\\)")]), row(&[Some("2"), Some("")])];
        assert_eq!(seen, expected);
    }
}
