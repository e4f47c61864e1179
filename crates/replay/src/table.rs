//! A table from its CREATE to the moment it takes its place.
//!
//! ```text
//! DROP TABLE t            held back          t is as it was, for everybody
//! CREATE TABLE t (..)     -> staging table          without foreign keys; rows go in here
//!                         -> publish         t becomes aside, the staging table t: one RENAME; aside goes
//!                         -> add_keys        foreign keys, when the tables they concern are published
//! ```
//!
//! Some new tables have their foreign keys from their CREATE on ([`new_keys`]).
//!
//! So t is the old table or the new one at any moment, with all its rows, and the rows of one table
//! may go in while the dump makes the next. `--atomic` keeps all staging tables until [`Tables::finish`],
//! whose one RENAME publishes them.
//!
//! Tables that cannot be staged are left to the dump's own statements, in their order: [`Created::AsItIs`].
//! Names of staging tables and of renamed tables follow from the name of their table, so the next replay
//! finds leftovers of a killed one ([`leftovers`]).

mod alter;
mod leftovers;
mod new_keys;
mod staging_table;
mod swap;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use face::option::ATOMIC;
use job::pool;
use schema::TableName;
use server::Session;
use server::identifier::{quote_name, quote_text, table_condition};
use sql::{Comments, CreateTable, ForeignKey, Syntax};
use targets::Names;
use targets::foreign_keys::{has_children, unchecked};
use targets::turns::take_turns;

pub(crate) use self::staging_table::{STAGING, StagingTable, name_of as staging_name};
use crate::error::{Error, is_certain, is_refusal};
use crate::keys;
use crate::options::ReplayOptions;
use crate::sessions::Sessions;

/// Engines whose tables are nothing but themselves: under another name they are the same.
const ENGINES: [&str; 8] =
    ["innodb", "rocksdb", "tokudb", "myisam", "aria", "memory", "csv", "archive"];
/// Names of the engine whose tables are others, read as one.
const MERGES: [&str; 2] = ["merge", "mrg_myisam"];
/// MySQL: a CHECK has the name of another one in the database: of the old table, in most cases.
const ER_CHECK_NAME_TAKEN: u16 = 3822;

/// The result of a CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Created {
    /// Rows go into [`Tables::staging`].
    StagingTable,
    /// Nothing was done: the statement is to be run as it is, after what was held back. Why.
    AsItIs(String),
    /// Nothing was done: it is made of other tables, and comes behind them.
    OfTables,
    /// IF NOT EXISTS, and there is one: nothing is to be done.
    Exists,
}

/// The kind of object that has a name on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Table,
    /// A view, a sequence.
    Other,
}

/// A table that is not published.
#[derive(Debug)]
struct Entry {
    staging: StagingTable,
    /// Foreign keys that it gets when it is published.
    keys: Vec<ForeignKey>,
    /// Foreign keys that it has already.
    keys_within: Vec<ForeignKey>,
    /// Foreign keys that came by an ALTER TABLE, and if `--atomic` has them checked.
    late: Late,
    /// True if the dump drops the table that has the name now.
    replaces: bool,
}

/// Special foreign keys of a table that is not published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Late {
    /// An ALTER TABLE of the dump adds some.
    any: bool,
    /// The dump had foreign keys checked when it added one, or when rows came.
    checked: bool,
}

/// The tables that a dump makes.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    atomic: bool,
    lock_wait: Duration,
    /// Not published, by their names as the server compares them.
    entries: BTreeMap<TableName, Entry>,
    /// Dropped by the dump, and not made again yet.
    held: BTreeMap<TableName, TableName>,
    /// Tables of this dump whose names were nobody's before.
    new: BTreeSet<TableName>,
    /// Published with their foreign keys.
    complete: Vec<(TableName, Vec<ForeignKey>)>,
    /// Published without the foreign keys that the dump gives them.
    bare: Vec<(TableName, Vec<ForeignKey>)>,
    /// Refusals of foreign keys, by their tables.
    refused: Vec<(TableName, server::Error)>,
    /// Databases that were looked through for what a killed replay left.
    cleaned: BTreeSet<String>,
    /// True if names of tables have no case on this server; None before it was asked.
    caseless: Option<bool>,
}

impl Tables {
    /// No table yet.
    pub(crate) fn new(options: &ReplayOptions) -> Tables {
        Tables {
            atomic: options.atomic,
            lock_wait: Duration::from_secs(u64::from(options.lock_wait_seconds)),
            ..Tables::default()
        }
    }

    /// `DROP TABLE [IF EXISTS] name`: holds it back for the CREATE that follows; false where it is
    /// to be run as it is. A staging table of that name goes: its rows must not be on their way any more.
    pub(crate) fn hold_drop(
        &mut self,
        sessions: &mut Sessions,
        name: &TableName,
        if_exists: bool,
    ) -> Result<bool, Error> {
        if schema::is_system_schema(&name.database) {
            return Ok(false);
        }
        let key = self.key(&mut sessions.own, name)?;
        self.bare.retain(|(table, _)| *table != key);
        self.complete.retain(|(table, _)| *table != key);
        if let Some(entry) = self.entries.remove(&key) {
            sessions.own.exec(&format!("DROP TABLE IF EXISTS {}", entry.staging.name.quoted()))?;
            if entry.replaces {
                self.held.insert(key, name.clone());
            }
            return Ok(true);
        }
        match kind(&mut sessions.own, name, self.is_caseless())? {
            Kind::Nothing if if_exists => Ok(true),
            Kind::Nothing | Kind::Other => Ok(false),
            Kind::Table => {
                // Under foreign_key_checks the server refuses to drop what others refer to.
                if is_checking(&mut sessions.dump)? && has_children(&mut sessions.own, name)? {
                    return Ok(false);
                }
                self.held.insert(key, name.clone());
                Ok(true)
            }
        }
    }

    /// Keeps a table whose DROP was held back; false where it was not.
    pub(crate) fn keep(&mut self, name: &TableName) -> bool {
        self.held.remove(&self.fold(name)).is_some()
    }

    /// Drops the tables whose CREATE did not follow.
    pub(crate) fn run_held_drops(&mut self, sessions: &mut Sessions) -> Result<(), Error> {
        if !self.held.is_empty() {
            sessions.check_in_step()?;
        }
        while let Some((key, name)) = self.held.pop_first() {
            let sql = format!("DROP TABLE IF EXISTS {}", name.quoted());
            if let Err(error) = unchecked(&mut sessions.own, |own| own.exec(&sql).map(drop)) {
                self.held.insert(key, name);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// `CREATE TABLE [IF NOT EXISTS] name (..)`: makes the staging table. `text` is the statement as the
    /// dump's session is to run it.
    ///
    /// Errors: the server's where the statement is wrong and a table would be lost by running it
    /// after its DROP; [`server::Error::Busy`] where another load is at the table.
    pub(crate) fn create(
        &mut self,
        sessions: &mut Sessions,
        text: &[u8],
        name: &TableName,
        if_not_exists: bool,
    ) -> Result<Created, Error> {
        let as_it_is = |why: &str| Ok(Created::AsItIs(why.to_owned()));
        if schema::is_system_schema(&name.database) {
            return as_it_is("it is a table of the server");
        }
        let key = self.key(&mut sessions.own, name)?;
        if self.entries.contains_key(&key) {
            return as_it_is("the dump creates it a second time");
        }
        let kind = kind(&mut sessions.own, name, self.is_caseless())?;
        let is_held = self.held.contains_key(&key);
        match kind {
            Kind::Table if !is_held && if_not_exists => return Ok(Created::Exists),
            Kind::Table if !is_held => return as_it_is("a table of this name exists"),
            Kind::Other => return as_it_is("an object of this name exists that is not a table"),
            Kind::Table | Kind::Nothing => {}
        }
        let reading = Reading::of(&mut sessions.dump)?;
        let create = match CreateTable::read(text, reading.syntax, reading.comments) {
            Ok(create) => create,
            Err(unread) => return as_it_is(unread.0),
        };
        if self.atomic && create.engine.as_ref().is_some_and(|e| MERGES.contains(&e.as_str())) {
            return Ok(Created::OfTables);
        }
        let is_checked = reading.is_checking && !create.keys.is_empty();
        // At once with all others they are checked in the end; not over tables that are there.
        if is_checked && (!self.atomic || kind == Kind::Table) {
            return as_it_is("its foreign keys are checked while rows are loaded");
        }
        if let Some(why) = reading.against(&create, name) {
            return as_it_is(why);
        }
        sessions.check_in_step()?;
        self.clean(&mut sessions.own, &name.database)?;
        let mut wait = self.lock_wait;
        targets::claim(&mut sessions.own, name, &mut wait, None)?;
        let with_keys = kind == Kind::Nothing && self.may_have_keys(sessions, &key, &create)?;
        let made = make(sessions, &create, &reading, name, with_keys);
        let (staging, has_keys) = match made {
            Ok(Ok(made)) => made,
            Ok(Err(why)) => {
                self.release(&mut sessions.own, name);
                return Ok(Created::AsItIs(why));
            }
            Err(error) => {
                self.release(&mut sessions.own, name);
                return match error {
                    // So the server says it of the statement itself; nothing is lost by asking.
                    server::Error::Statement { message, errno, .. }
                        if kind == Kind::Nothing || errno == ER_CHECK_NAME_TAKEN =>
                    {
                        Ok(Created::AsItIs(message))
                    }
                    error => Err(error.into()),
                };
            }
        };
        self.held.remove(&key);
        let replaces = kind == Kind::Table;
        if !replaces {
            self.new.insert(key.clone());
        }
        let late = Late { any: false, checked: is_checked };
        let (keys, keys_within) = match has_keys {
            true => (Vec::new(), create.keys),
            false => (create.keys, Vec::new()),
        };
        self.entries.insert(key, Entry { staging, keys, keys_within, late, replaces });
        load::failpoint::step("replay.created");
        Ok(Created::StagingTable)
    }

    /// Where the rows of a table go that is not published yet.
    pub(crate) fn staging(&self, name: &TableName) -> Option<&StagingTable> {
        self.entries.get(&self.fold(name)).map(|entry| &entry.staging)
    }

    /// Rows of a table come while the dump has foreign keys checked: so `--atomic` does it in the end.
    pub(crate) fn check_keys(&mut self, name: &TableName) {
        let key = self.fold(name);
        if let Some(entry) = self.entries.get_mut(&key).filter(|entry| !entry.keys.is_empty()) {
            entry.late.checked = true;
        }
    }

    /// True if a row that is deleted, or changed, may change others by a foreign key.
    pub(crate) fn have_checked_keys(&self) -> bool {
        self.entries.values().any(|entry| entry.late.checked)
    }

    /// Tables that are not published, in the order of their names.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &TableName> {
        self.entries.values().map(|entry| &entry.staging.table)
    }

    /// True if a table that is not published takes the place of another one.
    pub(crate) fn replaces(&self, name: &TableName) -> bool {
        self.entries.get(&self.fold(name)).is_some_and(|entry| entry.replaces)
    }

    /// The rows of these tables are in: they take their places at once, but for `--atomic`. Tables that are not apart
    /// have theirs.
    ///
    /// Errors: all are as they were, or new; asking again is right.
    pub(crate) fn publish(
        &mut self,
        sessions: &mut Sessions,
        names: &[TableName],
    ) -> Result<(), Error> {
        let keys = names.iter().map(|name| self.fold(name));
        let keys: Vec<TableName> = keys.filter(|key| self.entries.contains_key(key)).collect();
        if self.atomic || keys.is_empty() {
            return Ok(());
        }
        sessions.check_in_step()?;
        let are_new = !names.iter().any(|name| self.replaces(name));
        match self.swap(sessions, &keys) {
            Err(server::Error::Statement { .. })
                if are_new && self.take_keys_to(sessions, &keys)? =>
            {
                self.swap(sessions, &keys)?;
            }
            done => done?,
        }
        for key in keys {
            if let Some(entry) = self.entries.remove(&key) {
                self.published(&mut sessions.own, key, entry);
            }
        }
        Ok(())
    }

    /// Has these tables take their places, all or none.
    fn swap(&self, sessions: &mut Sessions, keys: &[TableName]) -> server::Result<()> {
        let entries = keys.iter().filter_map(|key| self.entries.get(key));
        let (stagings, replaces): (Vec<&StagingTable>, Vec<bool>) =
            entries.map(|entry| (&entry.staging, entry.replaces)).unzip();
        swap::swap(&mut sessions.own, self.lock_wait, &stagings, &replaces)
    }

    /// Adds the foreign keys of published tables, but those that refer to tables yet to be published.
    ///
    /// Keys that the server refuses are left out, with the others of their table.
    ///
    /// Errors: the server's, which says nothing of the keys.
    pub(crate) fn add_keys(&mut self, sessions: &mut Sessions) -> Result<(), Error> {
        let waiting = |tables: &Tables, child: &TableName, keys: &[ForeignKey]| {
            keys.iter()
                .any(|key| tables.entries.contains_key(&tables.fold(&keys::parent_of(key, child))))
        };
        let bare = std::mem::take(&mut self.bare);
        let (later, mut now): (Vec<_>, Vec<_>) =
            bare.into_iter().partition(|(child, keys)| waiting(self, child, keys));
        self.bare = later;
        while let Some((child, keys)) = now.first() {
            let added = add(&mut sessions.own, self.lock_wait, child, keys);
            match added.and_then(|()| sessions.own.check_in_step()) {
                Err(error) if is_refusal(&error) => self.refused.push((child.clone(), error)),
                Err(error) => {
                    self.bare.append(&mut now);
                    return Err(error.into());
                }
                Ok(()) => {}
            }
            now.remove(0);
            load::failpoint::step("replay.key");
        }
        Ok(())
    }

    /// Refusals of foreign keys that were not asked for yet.
    pub(crate) fn take_refused(&mut self) -> Vec<(TableName, server::Error)> {
        std::mem::take(&mut self.refused)
    }

    /// Publishes everything, drops what was held back, adds all foreign keys.
    ///
    /// Under `--atomic` one RENAME does it: killed before it, every table is as it was, after it,
    /// all are new. Foreign keys are part of it where none of the tables was there before; else,
    /// since their names are those of the old tables' keys, they follow.
    pub(crate) fn finish(&mut self, sessions: &mut Sessions) -> Result<(), Error> {
        if self.atomic {
            self.finish_at_once(sessions)?;
        } else {
            let names: Vec<TableName> = self.pending().cloned().collect();
            names.chunks(1).try_for_each(|name| self.publish(sessions, name))?;
        }
        self.run_held_drops(sessions)?;
        self.add_keys(sessions)
    }

    fn finish_at_once(&mut self, sessions: &mut Sessions) -> Result<(), Error> {
        sessions.check_in_step()?;
        let own = &mut sessions.own;
        let replaces = self.entries.values().any(|entry| entry.replaces);
        if !replaces {
            self.add_keys_to_stagings(own)?;
        } else if self.entries.values().any(|entry| entry.late.checked) {
            return Err(Error::Refused(format!(
                "{ATOMIC} cannot check the dump's foreign keys before its tables replace existing \
                 ones: drop the existing tables first, or replay without {ATOMIC}"
            )));
        }
        let stagings: Vec<&StagingTable> =
            self.entries.values().map(|entry| &entry.staging).collect();
        let replaces: Vec<bool> = self.entries.values().map(|entry| entry.replaces).collect();
        swap::swap(own, self.lock_wait, &stagings, &replaces)?;
        for (key, entry) in std::mem::take(&mut self.entries) {
            self.published(own, key, entry);
        }
        Ok(())
    }

    /// Gives staging tables the foreign keys, which follow them when they are renamed. One whose name
    /// another table of the database has is left for later.
    fn add_keys_to_stagings(&mut self, own: &mut Session) -> Result<(), Error> {
        let names: BTreeMap<TableName, TableName> = (self.entries.iter())
            .map(|(key, entry)| (key.clone(), entry.staging.name.clone()))
            .collect();
        let (caseless, flavor) = (self.is_caseless(), own.version().flavor);
        for entry in self.entries.values_mut().filter(|entry| !entry.keys.is_empty()) {
            let now =
                |table: &TableName| names.get(&fold(table, caseless)).unwrap_or(table).clone();
            let staging = &entry.staging;
            let sql = keys::add_all(flavor, &staging.table, &staging.name, &entry.keys, now);
            let added = match entry.late.checked {
                true => own.exec(&sql).map(drop),
                false => unchecked(own, |own| own.exec(&sql).map(drop)),
            };
            match added {
                Ok(()) => entry.keys.clear(),
                Err(error) if entry.late.checked => return Err(error.into()),
                // When it is published the server says it again, of the table's own name.
                Err(server::Error::Statement { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A table has its place: what is left is its foreign keys.
    fn published(&mut self, own: &mut Session, key: TableName, entry: Entry) {
        if !entry.keys_within.is_empty() {
            self.complete.push((key.clone(), entry.keys_within));
        }
        if !entry.keys.is_empty() {
            self.bare.push((key, entry.keys));
        }
        self.release(own, &entry.staging.table);
    }

    /// A replay that goes on after a crash passes over the CREATE of a table that is published: its
    /// foreign keys may not be.
    pub(crate) fn pass_over(
        &mut self,
        sessions: &mut Sessions,
        text: &[u8],
        name: &TableName,
    ) -> Result<(), Error> {
        let key = self.key(&mut sessions.own, name)?;
        self.clean(&mut sessions.own, &name.database)?;
        let Reading { syntax, comments, .. } = Reading::of(&mut sessions.dump)?;
        let Ok(create) = CreateTable::read(text, syntax, comments) else { return Ok(()) };
        self.new.insert(key.clone());
        // The dump may have taken the table away again.
        if kind(&mut sessions.own, name, self.is_caseless())? != Kind::Table {
            return Ok(());
        }
        // All of a table's are added by one statement.
        if !create.keys.is_empty() && !has_keys(&mut sessions.own, name)? {
            self.bare.push((key, create.keys));
        }
        Ok(())
    }

    /// The replay has failed: what is not published goes. Foreign keys of what is published are
    /// added where the server can.
    pub(crate) fn abandon(&mut self, own: &mut Session) {
        let _shield = own.options().interrupt.shield();
        for (_, entry) in std::mem::take(&mut self.entries) {
            if entry.replaces {
                let _ = pool::catch(|| swap::finish_renamed(own, &entry.staging));
            }
            let _ = own.exec(&format!("DROP TABLE IF EXISTS {}", entry.staging.name.quoted()));
            self.release(own, &entry.staging.table);
        }
        for (child, keys) in std::mem::take(&mut self.bare) {
            let refused = add(own, self.lock_wait, &child, &keys).err();
            self.refused.extend(refused.map(|error| (child, error)));
        }
    }

    fn release(&self, own: &mut Session, name: &TableName) {
        // Gone with the connection, if that is why it fails.
        let _ = own.exec(&format!("DO RELEASE_LOCK({})", quote_text(&Names::of(name).lock)));
    }

    fn key(&mut self, own: &mut Session, name: &TableName) -> Result<TableName, Error> {
        if self.caseless.is_none() {
            let mode: u8 = own.query_row("SELECT @@lower_case_table_names")?.number(0)?;
            self.caseless = Some(mode != 0);
        }
        Ok(self.fold(name))
    }

    fn is_caseless(&self) -> bool {
        self.caseless.unwrap_or(false)
    }

    fn fold(&self, name: &TableName) -> TableName {
        fold(name, self.is_caseless())
    }
}

fn fold(name: &TableName, caseless: bool) -> TableName {
    match caseless {
        true => TableName::new(name.database.to_lowercase(), name.table.to_lowercase()),
        false => name.clone(),
    }
}

/// How the dump's session reads a CREATE TABLE now.
struct Reading {
    syntax: Syntax,
    comments: Comments,
    is_utf8: bool,
    /// True if a byte of a character can look like a quote.
    has_odd_bytes: bool,
    is_checking: bool,
}

impl Reading {
    fn of(dump: &mut Session) -> server::Result<Reading> {
        let (mode, charset) = (setting(dump, "sql_mode")?, setting(dump, "character_set_client")?);
        let has = |flag: &str| mode.split(',').any(|set| set == flag);
        Ok(Reading {
            comments: crate::reading::comments(dump),
            syntax: Syntax {
                ansi_quotes: has("ANSI_QUOTES"),
                no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
                ..Syntax::default()
            },
            is_utf8: charset.starts_with("utf8"),
            has_odd_bytes: ["big5", "cp932", "gb18030", "gbk", "sjis"].contains(&&*charset),
            is_checking: is_checking(dump)?,
        })
    }

    /// The reason why a table cannot be made under another name.
    fn against(&self, create: &CreateTable, name: &TableName) -> Option<&'static str> {
        let is_known = |engine: &String| ENGINES.contains(&engine.as_str());
        if !self.is_utf8 && !create.keys.iter().all(ForeignKey::is_ascii) {
            return Some("its foreign keys have names that are not UTF-8");
        }
        if self.has_odd_bytes && !create.is_ascii() {
            return Some("it is written in a character set whose bytes can look like quotes");
        }
        if !self.is_utf8 && !name.database.is_ascii() && create.is_qualified {
            return Some("its database's name is not UTF-8");
        }
        if create.engine.as_ref().is_some_and(|engine| !is_known(engine)) {
            return Some("its engine is tied to the table's name");
        }
        None
    }
}

/// Makes the staging table on the dump's session, `with_keys` if it can be; gives whether it has its foreign keys.
/// The inner error says why it may not be one.
fn make(
    sessions: &mut Sessions,
    create: &CreateTable,
    reading: &Reading,
    name: &TableName,
    with_keys: bool,
) -> server::Result<Result<(StagingTable, bool), String>> {
    let staging = staging_table::name_of(name);
    // What the dump's session calls the database is what it is used by.
    let written = match reading.is_utf8 || name.database.is_ascii() {
        true => staging.quoted(),
        false => quote_name(&staging.table),
    };
    let text = match with_keys {
        true => create.named_with_keys(&written),
        false => create.named(&written),
    };
    let made = sessions.dump.exec_bytes(&text);
    if with_keys && made.as_ref().is_err_and(is_certain) {
        // When it is published the server says it of the foreign keys alone.
        return make(sessions, create, reading, name, false);
    }
    let own = &mut sessions.own;
    if let Err(error) = made {
        // A statement that was killed may have made it all the same.
        if error.is_unclear() && error.errno().is_some() {
            own.exec(&format!("DROP TABLE IF EXISTS {}", staging.quoted()))?;
        }
        return Err(error);
    }
    let made = StagingTable::read(own, name.clone(), staging.clone());
    let why = match made {
        Ok((staging, engine)) => {
            let may = |engine: &str| match create.keys.is_empty() {
                true => ENGINES.contains(&engine),
                false => engine == "innodb",
            };
            if may(&engine.to_ascii_lowercase()) {
                return Ok(Ok((staging, with_keys)));
            }
            Ok(format!("its engine is {engine}"))
        }
        Err(error) => Err(error),
    };
    own.exec(&format!("DROP TABLE IF EXISTS {}", staging.quoted()))?;
    why.map(Err)
}

/// Adds the foreign keys of a published table.
fn add(
    own: &mut Session,
    lock_wait: Duration,
    child: &TableName,
    keys: &[ForeignKey],
) -> server::Result<()> {
    let sql = keys::add_all(own.version().flavor, child, child, keys, TableName::clone);
    // The table has its place, and others wait behind us.
    take_turns(own, lock_wait, |own| unchecked(own, |own| own.exec(&sql).map(drop)))
}

fn is_checking(dump: &mut Session) -> server::Result<bool> {
    Ok(setting(dump, "foreign_key_checks")? != "0")
}

/// The value of a variable of the dump's session, which knows what the dump has set.
fn setting(dump: &mut Session, name: &str) -> server::Result<String> {
    match dump.variable(name) {
        Some(value) => Ok(value.to_owned()),
        None => dump.query_row(&format!("SELECT @@SESSION.{name}"))?.text(0),
    }
}

/// The object that has this name.
fn kind(own: &mut Session, name: &TableName, caseless: bool) -> server::Result<Kind> {
    // information_schema compares without case, whatever the server does.
    let rows = own.query(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE {}",
        table_condition(name)
    ))?;
    for row in rows {
        let spelled = TableName::new(row.text(0)?, row.text(1)?);
        if fold(&spelled, caseless) == fold(name, caseless) {
            let is_table = matches!(row.text(2)?.as_str(), "BASE TABLE" | "SYSTEM VERSIONED");
            return Ok(if is_table { Kind::Table } else { Kind::Other });
        }
    }
    Ok(Kind::Nothing)
}

/// True if a table has foreign keys of its own.
fn has_keys(own: &mut Session, name: &TableName) -> server::Result<bool> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE='FOREIGN KEY' \
         AND {} LIMIT 1",
        table_condition(name)
    );
    Ok(!own.query(&sql)?.is_empty())
}

#[cfg(test)]
mod tests;
