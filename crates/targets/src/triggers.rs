//! Triggers that stay, whatever takes the place of their table.
//!
//! MySQL has them in its dictionary: see [`carried_triggers`](super::carried_triggers). On MariaDB the texts of a table's
//! triggers are in a file beside it, `t.TRG`, and for each name a small one says which table the trigger is of. RENAME rewrites both kinds for the new name of the table, so a
//! swap would put the triggers aside with the old table. The table that is to take its place gets a copy
//! of that file, under the lock that nobody alters the target in, and then the same RENAME leaves the
//! target with its triggers: their order, definers, modes, times and all.
//!
//! A table of ours with such a copy must not be dropped as it is: the server would remove the names
//! with it, which are the target's. [`Lock::free_of_triggers`] comes before.
//!
//! Source: tried on MariaDB 10.11.19; MariaDB 10.11, sql/sql_trigger.cc,
//! `Table_triggers_list::change_table_name`, `drop_all_triggers`.

use std::path::PathBuf;

use face::option::NO_TRIGGERS;
use schema::{Feature, Flavor, Table};

use crate::lock::Lock;
use crate::trigger_text;
use server::Unsupported;
use server::error::{Error, Result};
use server::facts::ServerFacts;
use server::facts::database_dir::DatabaseDir;
use server::filename::filename;
use server::identifier::TableName;
use server::session::Session;

/// Where a server has the triggers of a table.
#[derive(Clone, Debug)]
pub enum TriggersPlace {
    /// In files of this folder, beside the table.
    Folder(DatabaseDir),
    /// In its dictionary.
    Dictionary,
}

/// Reasons against the direct path for a table, less its triggers if they are to be bypassed and
/// can be: foreign keys lock a table on ways that triggers cannot go.
pub(super) fn refused(table: &Table, no_triggers: bool) -> Vec<Unsupported> {
    let may_be_left = no_triggers && table.foreign_keys.is_empty();
    let is_left = |feature: &Feature| may_be_left && matches!(feature, Feature::Trigger(_));
    let refused = table.not_built().into_iter().filter(|feature| !is_left(feature));
    refused.map(Unsupported::Table).collect()
}

/// The triggers that keep the direct path from a table although they are to be bypassed.
pub(super) fn stuck(
    session: &mut Session,
    table: &Table,
    facts: &ServerFacts,
    no_triggers: bool,
) -> Result<Vec<Unsupported>> {
    let is_mysql = facts.version.flavor == Flavor::MySql && facts.engine.kind.has_files();
    let is_asked = no_triggers && is_mysql && table.foreign_keys.is_empty();
    match is_asked && !table.triggers.is_empty() {
        true => trigger_text::unmovable(session, &table.name, facts),
        false => Ok(Vec::new()),
    }
}

/// Has `replacement` get the triggers of `table`, which is locked, when it takes its place. Does it
/// anew the second time.
///
/// Killed after it: the replacement has the triggers as well, until it is freed of them.
///
/// Errors: a file that cannot be read or written.
pub(super) fn copy(
    session: &mut Session,
    dir: &DatabaseDir,
    table: &TableName,
    replacement: &TableName,
) -> Result<()> {
    let (from, to) = (texts(session, dir, table)?, texts(session, dir, replacement)?);
    dir.remove(&to)?;
    if !catalog::has_triggers(session, table)? {
        return Ok(());
    }
    let bytes = dir.read(&from, "triggers")?;
    dir.write(&to, &bytes, "triggers")
}

/// The file with the texts of a table's triggers.
fn texts(session: &mut Session, dir: &DatabaseDir, table: &TableName) -> Result<PathBuf> {
    Ok(dir.path.join(format!("{}.TRG", filename(session, &table.table)?)))
}

impl Lock {
    /// The note on a load that bypasses triggers, one sentence; none without triggers.
    pub fn triggers_note(&self) -> Option<String> {
        let names: Vec<&str> =
            self.table.triggers.iter().map(|trigger| trigger.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "{NO_TRIGGERS}: the triggers of {} stay, but do not run for these rows ({})",
                self.table.name,
                names.join(", ")
            )
        })
    }

    /// Has a table of ours, which is about to be dropped, have no triggers: they are the target's.
    ///
    /// Errors: [`Error::Leftover`] where the server's files cannot be reached, and where the target cannot get them.
    pub(super) fn free_of_triggers(&mut self, table: &TableName) -> Result<()> {
        if self.session.version().flavor == Flavor::MySql {
            return self.carry_triggers(table);
        }
        if !catalog::has_triggers(&mut self.session, table)? {
            return Ok(());
        }
        let Some(folder) = &self.folder else {
            return Err(Error::Leftover(format!(
                "{table}, a leftover of a load, must not be dropped before {}.TRG is removed from \
                 the data directory, because its triggers are those of {}; run Inrush on the \
                 server's machine",
                table.table, self.table.name
            )));
        };
        let (dir, is_proven) = (folder.dir.clone(), folder.is_proven);
        if !is_proven {
            self.prove_dir(&dir)?;
        }
        let path = texts(&mut self.session, &dir, table)?;
        dir.remove(&path)?;
        self.exec(&format!("FLUSH LOCAL TABLES {}", table.quoted()))?;
        match catalog::has_triggers(&mut self.session, table)? {
            false => Ok(()),
            true => Err(self
                .elsewhere(&dir.path, "the triggers stayed although their file was removed there")),
        }
    }
}
