//! Foreign keys that new tables have from the beginning on.
//!
//! An ALTER TABLE that adds them costs the server as much as all else of a small table. A table whose name was nobody's
//! can have them before it is published: as for a client, they may refer to a table that is still missing, and the
//! server joins the two once one is renamed to that name.

use std::time::Duration;

use schema::TableName;
use server::Session;
use server::identifier::quote_name;
use sql::{CreateTable, ForeignKey};
use targets::turns::take_turns;

use super::{Kind, Tables, kind};
use crate::error::Error;
use crate::keys;
use crate::sessions::Sessions;

impl Tables {
    /// True if a new table can have its foreign keys from the beginning: none of the tables that they refer to is one
    /// that this dump may replace, whose place another takes.
    pub(super) fn may_have_keys(
        &self,
        sessions: &mut Sessions,
        key: &TableName,
        create: &CreateTable,
    ) -> server::Result<bool> {
        if self.atomic || create.keys.iter().any(|foreign| foreign.name.is_none()) {
            return Ok(false);
        }
        for foreign in &create.keys {
            let parent = keys::parent_of(foreign, key);
            let folded = self.fold(&parent);
            let is_new = folded == *key || self.new.contains(&folded);
            if !is_new && kind(&mut sessions.own, &parent, self.is_caseless())? != Kind::Nothing {
                return Ok(false);
            }
        }
        Ok(!create.keys.is_empty())
    }

    /// Has a table that is not published get its foreign keys when it is: its rows are built, or come while the dump
    /// has them checked, and what they refer to may not have its place yet.
    ///
    /// Errors: the server's.
    pub(crate) fn keys_later(
        &mut self,
        sessions: &mut Sessions,
        name: &TableName,
    ) -> Result<(), Error> {
        let key = self.fold(name);
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(()) };
        if entry.keys_within.is_empty() {
            return Ok(());
        }
        drop_keys(&mut sessions.own, self.lock_wait, &entry.staging.name, &entry.keys_within)?;
        entry.keys.splice(0..0, std::mem::take(&mut entry.keys_within));
        entry.read_again(sessions)
    }

    /// Takes the foreign keys off that refer to these tables, which they may keep from their places: they are added
    /// with those that come late. False if there are none.
    ///
    /// Errors: the server's.
    pub(super) fn take_keys_to(
        &mut self,
        sessions: &mut Sessions,
        parents: &[TableName],
    ) -> Result<bool, Error> {
        let refers = |tables: &Tables, child: &TableName, keys: &[ForeignKey]| {
            keys.iter().any(|key| parents.contains(&tables.fold(&keys::parent_of(key, child))))
        };
        let entries = self.entries.iter();
        let staged = entries.filter(|(child, entry)| refers(self, child, &entry.keys_within));
        let staged: Vec<TableName> = staged.map(|(child, _)| child.clone()).collect();
        for child in &staged {
            self.keys_later(sessions, child)?;
        }
        let complete = std::mem::take(&mut self.complete);
        let (published, complete): (Vec<_>, Vec<_>) =
            complete.into_iter().partition(|(child, keys)| refers(self, child, keys));
        self.complete = complete;
        let found = !(staged.is_empty() && published.is_empty());
        for (child, keys) in published {
            drop_keys(&mut sessions.own, self.lock_wait, &child, &keys)?;
            self.bare.push((child, keys));
        }
        Ok(found)
    }
}

/// Drops foreign keys, all of which have names.
fn drop_keys(
    own: &mut Session,
    lock_wait: Duration,
    table: &TableName,
    keys: &[ForeignKey],
) -> server::Result<()> {
    let names = keys.iter().filter_map(|key| key.name.as_deref());
    let drops: Vec<String> =
        names.map(|name| format!("DROP FOREIGN KEY {}", quote_name(name))).collect();
    let sql = format!("ALTER TABLE {} {}", table.quoted(), drops.join(", "));
    take_turns(own, lock_wait, |own| own.exec(&sql).map(drop))
}
