//! Which statement may run when: what is known of the dump so far, and a verdict on what comes.
//!
//! ```text
//! statement --Order--> Step        the conductor does it, a dry run prints it
//! ```
//!
//! Tables that the dump makes are filled apart, under names that nobody knows, while the dump goes
//! on. So a statement has to wait for them only if it could tell the difference; what is not known
//! to be blind to it waits.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use face::option::{ATOMIC, EXCLUDE, INTO, TABLES};
use schema::TableName;
use sources::dump::Statement;
use sql::{
    ObjectName, StatementKind, Syntax, changed_objects, is_of_replication, other_databases,
    replace_databases,
};

use crate::error::Error;
use crate::names::Names;
use crate::place::head;

/// The treatment of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To run at once: it cannot tell whether tables are finished.
    Run,
    /// SET: to run at once, and to be told to other connections.
    Set(Vec<String>),
    /// The default database is now this.
    Use(String),
    /// A database is to be there.
    Database(String),
    /// To wait until all tables before it are finished.
    Barrier,
    /// To wait until this table is finished.
    After(TableName),
    /// A DROP TABLE, which its CREATE may take care of.
    Drop(TableName),
    /// A CREATE TABLE.
    Make(TableName),
    /// Rows.
    Rows(TableName),
    /// ENABLE KEYS or DISABLE KEYS, which mean nothing to tables that are filled apart.
    Keys(TableName),
    /// Means nothing here: LOCK TABLES, for what nobody else sees or what goes in at once.
    Nothing,
    /// Not wanted: `--tables`, `--exclude`, `--into`.
    LeftOut,
}

/// The dump's databases so far.
#[derive(Debug)]
pub(crate) struct Order {
    names: Names,
    /// The default database, as the dump calls it.
    database: Option<Vec<u8>>,
    /// All that it named.
    databases: BTreeSet<Vec<u8>>,
    /// The last name was left out.
    is_left_out: bool,
    /// Statements that were left out although they name no table, a sentence each.
    notes: Vec<String>,
    /// Where the dump has the tables and views that go into the one database.
    made: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Databases that statements named which the dump had not, where everything goes into one.
    foreign: BTreeMap<Vec<u8>, ForeignName>,
}

/// The first statement that named a database.
#[derive(Clone, Copy, Debug)]
struct ForeignName {
    line: u64,
    is_table: bool,
}

/// Names as text, from the dump's bytes.
pub(crate) trait Decode {
    /// A name in the character set that the dump's session has now.
    fn decode(&mut self, name: &[u8]) -> Result<String, Error>;

    /// How the dump's session reads statements now.
    fn syntax(&self) -> Syntax;
}

impl Order {
    pub(crate) fn new(names: Names, database: Option<Vec<u8>>) -> Order {
        let databases = database.iter().cloned().collect();
        let (made, foreign) = (BTreeMap::new(), BTreeMap::new());
        Order { names, databases, database, is_left_out: false, notes: Vec::new(), made, foreign }
    }

    /// The selected names, and the target database.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The database that everything goes into.
    fn only(&self) -> Option<&[u8]> {
        Names::into(&self.names)
    }

    /// The databases that the dump named.
    pub(crate) fn databases(&self) -> Vec<Vec<u8>> {
        self.databases.iter().cloned().collect()
    }

    /// The default database as the dump calls it.
    pub(crate) fn database(&self) -> Option<&[u8]> {
        self.database.as_deref()
    }

    /// The dump goes on in this database.
    pub(crate) fn enter(&mut self, database: &[u8]) {
        self.database = Some(database.to_vec());
        self.databases.insert(database.to_vec());
    }

    /// The treatment of a statement, when those before it are done or under way.
    ///
    /// Errors: a name that cannot be read, a table without a database; a database that statements
    /// before it have named as another one than that everything goes into.
    pub(crate) fn step(
        &mut self,
        statement: &Statement,
        names: &mut dyn Decode,
    ) -> Result<Step, Error> {
        let step = self.step_alone(statement, names)?;
        if self.only().is_some() {
            self.check_foreign()?;
            if step != Step::LeftOut {
                self.note_foreign(statement, names.syntax());
            }
        }
        Ok(step)
    }

    /// Takes notice of databases that a statement names and the dump has not, so far.
    fn note_foreign(&mut self, statement: &Statement, syntax: Syntax) {
        let is_table = match statement.kind {
            StatementKind::CreateTable { .. } => true,
            StatementKind::CreateTrigger(_)
            | StatementKind::CreateView(_)
            | StatementKind::DropTrigger(_)
            | StatementKind::Routine
            | StatementKind::Other => false,
            _ => return,
        };
        if !is_table && self.names.are_atomic() {
            // At the end all are known.
            return;
        }
        for name in other_databases(&statement.text, &self.databases(), syntax) {
            self.foreign.entry(name).or_insert(ForeignName { line: statement.line, is_table });
        }
    }

    /// Errors: a database of the dump was named by a statement before it.
    fn check_foreign(&self) -> Result<(), Error> {
        let mut found = self.foreign.iter().filter(|(name, _)| self.databases.contains(*name));
        let Some((name, ForeignName { line, is_table })) = found.next() else { return Ok(()) };
        let (name, into) = (head(name), head(self.only().unwrap_or_default()));
        let remedy = match is_table {
            true => "replay a dump of each database".to_owned(),
            false => format!("replay with {ATOMIC}, or a dump of each database"),
        };
        Err(Error::Refused(format!(
            "the statement in line {line} uses database {name}, which the dump has only here, so this \
             use would stay at {name}: {remedy}; whatever a replay has created in {into} must be \
             dropped first"
        )))
    }

    fn step_alone(&mut self, statement: &Statement, names: &mut dyn Decode) -> Result<Step, Error> {
        Ok(match &statement.kind {
            StatementKind::Set { variables } => Step::Set(variables.clone()),
            StatementKind::Use(database) => {
                self.enter(database);
                match self.only() {
                    Some(_) => Step::Nothing,
                    None => Step::Use(names.decode(database)?),
                }
            }
            StatementKind::CreateDatabase(database) => {
                self.databases.insert(database.clone());
                match self.only() {
                    Some(_) => Step::LeftOut,
                    None => Step::Database(names.decode(database)?),
                }
            }
            StatementKind::DropDatabase(_) if self.only().is_some() => Step::LeftOut,
            StatementKind::DropDatabase(_) if self.names.select() => self.leave_out(statement),
            StatementKind::DropDatabase(_) => Step::Barrier,
            StatementKind::DropTable { table, .. } => self.of(table, names, Step::Drop)?,
            StatementKind::CreateTable { table, .. } => {
                let step = self.of(table, names, Step::Make)?;
                self.is_alone(table)?;
                step
            }
            StatementKind::Insert(head) => self.of(&head.table, names, Step::Rows)?,
            StatementKind::Keys(table) => self.of(table, names, Step::Keys)?,
            StatementKind::LockTables | StatementKind::UnlockTables => Step::Nothing,
            StatementKind::CreateTrigger(table) => self.of(table, names, Step::After)?,
            StatementKind::CreateView(view) => {
                let reads_tables = has_word(&statement.text, b"from");
                let step = if reads_tables { Step::Barrier } else { Step::Run };
                let step = self.of(view, names, |_| step)?;
                self.is_alone(view)?;
                step
            }
            StatementKind::DropView(view) => self.of(view, names, |_| Step::Run)?,
            StatementKind::Transaction(_) => Step::Run,
            StatementKind::Routine if !self.names.takes_routines() => Step::LeftOut,
            StatementKind::Other if self.names.select() => self.other(statement, names.syntax())?,
            StatementKind::DropTrigger(_) | StatementKind::Routine | StatementKind::Other => {
                Step::Barrier
            }
        })
    }

    /// A statement that may change tables, where only some are selected.
    ///
    /// Errors: it changes selected tables and others.
    fn other(&mut self, statement: &Statement, syntax: Syntax) -> Result<Step, Error> {
        let objects = changed_objects(&statement.text, syntax);
        if objects.is_empty() {
            let is_left_out =
                !self.names.takes_routines() && is_of_replication(&statement.text, syntax);
            return Ok(if is_left_out { self.leave_out(statement) } else { Step::Barrier });
        }
        let database = self.database.as_deref();
        let takes =
            |one: &&ObjectName| self.names.takes(one.database.as_deref().or(database), &one.name);
        let (taken, left_out): (Vec<_>, Vec<_>) = objects.iter().partition(takes);
        match (taken.first(), left_out.first()) {
            (Some(taken), Some(left_out)) => Err(Error::Refused(format!(
                "the statement changes {}, and also {}, which {TABLES} or {EXCLUDE} leaves out: \
                 select both or none of them",
                head(&taken.name),
                head(&left_out.name)
            ))),
            (Some(_), None) => Ok(Step::Barrier),
            (None, _) => Ok(Step::LeftOut),
        }
    }

    /// Leaves out a statement that would change more than the selected tables.
    fn leave_out(&mut self, statement: &Statement) -> Step {
        let (line, head) = (statement.line, head(&statement.text));
        self.notes.push(format!(
            "line {line}, {head}, was left out, because only some tables of the dump are replayed"
        ));
        Step::LeftOut
    }

    /// Notes for the report about statements that were left out.
    pub(crate) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// The text of a statement with the database of `--into` in place of those of the dump, wherever
    /// they qualify a name. Strings and comments stay.
    pub(crate) fn text<'a>(&self, text: &'a [u8], syntax: Syntax) -> Cow<'a, [u8]> {
        match self.only() {
            Some(into) => replace_databases(text, &self.databases(), into, syntax),
            None => Cow::Borrowed(text),
        }
    }

    fn of(
        &mut self,
        name: &ObjectName,
        names: &mut dyn Decode,
        step: impl FnOnce(TableName) -> Step,
    ) -> Result<Step, Error> {
        if let Some(database) = &name.database {
            self.databases.insert(database.clone());
        }
        let database = name.database.as_deref().or(self.database.as_deref());
        self.is_left_out = !self.names.takes(database, &name.name);
        if self.is_left_out {
            return Ok(Step::LeftOut);
        }
        self.table(name, names).map(step)
    }

    /// Errors: a table or view of another database of the dump has the same name in the one that
    /// everything goes into, and would be lost.
    fn is_alone(&mut self, name: &ObjectName) -> Result<(), Error> {
        let database = name.database.as_ref().or(self.database.as_ref());
        let (Some(into), Some(database), false) = (self.only(), database, self.is_left_out) else {
            return Ok(());
        };
        match self.made.get(&name.name) {
            Some(other) if other != database => Err(Error::Refused(format!(
                "{0}.{1} and {2}.{1} cannot both be loaded into {3}: omit one of them with \
                     {EXCLUDE}",
                head(other),
                head(&name.name),
                head(database),
                head(into)
            ))),
            _ => {
                let (name, database) = (name.name.clone(), database.clone());
                self.made.insert(name, database);
                Ok(())
            }
        }
    }

    /// Where a table of the dump's goes.
    pub(crate) fn table(
        &self,
        name: &ObjectName,
        names: &mut dyn Decode,
    ) -> Result<TableName, Error> {
        let database = name.database.as_deref().or(self.database.as_deref());
        let database = match (self.only(), database) {
            (Some(into), _) => into,
            (None, Some(database)) => database,
            (None, None) => {
                return Err(Error::Refused(format!(
                    "{} has no database in the dump; name it with {INTO}",
                    head(&name.name)
                )));
            }
        };
        Ok(TableName::new(names.decode(database)?, names.decode(&name.name)?))
    }
}

/// True if a statement holds a word anywhere: also in a string or a comment.
pub(crate) fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_letter = |byte: Option<&u8>| {
        byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | 0x80..))
    };
    text.windows(word.len().max(1)).enumerate().any(|(at, window)| {
        window.eq_ignore_ascii_case(word)
            && !is_letter(at.checked_sub(1).and_then(|before| text.get(before)))
            && !is_letter(text.get(at + word.len()))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::naming::Lossy;
    use crate::options::ReplayOptions;

    #[test]
    fn routines_go_where_tables_are_asked_for_and_stay_where_some_are_left_out() {
        let procedure = Statement {
            kind: StatementKind::Routine,
            text: b"CREATE PROCEDURE p() SELECT 1".to_vec(),
            file: 0,
            offset: 0,
            line: 1,
        };
        let step = |tables: &[&str], exclude: &[&str]| {
            let list = |given: &[&str]| given.iter().map(|&one| one.to_owned()).collect();
            let options = ReplayOptions {
                tables: list(tables),
                exclude: list(exclude),
                ..ReplayOptions::new("dump.sql".into())
            };
            let mut order = Order::new(Names::new(&options).unwrap(), None);
            order.step(&procedure, &mut Lossy).unwrap()
        };
        assert_eq!(step(&[], &["log"]), Step::Barrier);
        assert_eq!(step(&["orders"], &[]), Step::LeftOut);
    }

    #[test]
    fn words_are_whole_words() {
        for (text, expected) in [
            ("SELECT 1 FROM t", true),
            ("select 1 from`t`", true),
            ("SELECT 1 AS `fromage`", false),
            ("SELECT a_from b", false),
            ("from", true),
            ("", false),
        ] {
            assert_eq!(has_word(text.as_bytes(), b"from"), expected, "{text}");
        }
    }
}
