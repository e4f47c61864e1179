//! A filled table takes the target's place.

use disk::failpoint;

use crate::catalog::{self, definition};
use crate::error::{Error, Result};
use crate::facts::DatabaseDir;
use crate::identifier::TableName;
use crate::target::built_file::BuiltFile;
use crate::target::lock::Lock;
use crate::target::names::Names;
use crate::target::swap::{Before, Mode, Pair, Swap};

/// A table with all rows, [`Names::shadow`], that may take the target's place.
#[derive(Debug)]
pub struct Filled<'l> {
    /// The target.
    pub lock: &'l mut Lock,
    made: Made,
}

/// How a filled table came to be, and with that how it is told from another load's.
#[derive(Debug)]
enum Made {
    Built {
        file: BuiltFile,
        /// Where the table's files are, and its largest hidden row id, if its key is that.
        row_ids: Option<(DatabaseDir, u64)>,
    },
    /// A twin: its name is this load's alone.
    Sent,
}

/// A target that is the new table. The old one is still there, under another name.
#[derive(Debug)]
pub struct Swapped<'l> {
    lock: &'l mut Lock,
    mode: Mode,
}

impl<'l> Filled<'l> {
    pub(super) fn built(
        lock: &'l mut Lock,
        file: BuiltFile,
        row_ids: Option<(DatabaseDir, u64)>,
    ) -> Filled<'l> {
        Filled { lock, made: Made::Built { file, row_ids } }
    }

    pub(super) fn sent(lock: &'l mut Lock) -> Filled<'l> {
        Filled { lock, made: Made::Sent }
    }

    /// Sees to it that the session works. One that was lost is made again, if what was filled is
    /// still there.
    ///
    /// Errors: [`Error::Overtaken`], [`Error::Busy`]; a server that cannot be reached.
    pub fn ensure_session(&mut self) -> Result<()> {
        let made = &self.made;
        let again = self.lock.ensure_session_if(|lock| match made {
            Made::Built { file, .. } => file.is_still_there(lock),
            Made::Sent => lock.has_shadow(),
        })?;
        match made {
            // The server may have restarted, and have lost what it had not written down.
            Made::Built { row_ids: Some((dir, imported)), .. } if again => {
                self.lock.raise_row_ids(dir, *imported)
            }
            _ => Ok(()),
        }
    }

    /// Swaps the shadow in. Afterwards the old table has the name [`Swapped::aside`] gives.
    ///
    /// Rows inserted before the swap are never lost: in [`Mode::Insert`] they stop it. Statements
    /// that come meanwhile wait, at most a few milliseconds plus the time the locks take.
    ///
    /// Killed after it: the target is new, the old table is still there under its other name.
    ///
    /// Errors, the target as before: [`Error::NotEmpty`], [`Error::Altered`] (the shadow too, if
    /// anything of the target is missing in it), [`Error::LockWait`]. [`Error::Unanswered`]: it is
    /// the old table or the new one.
    pub fn publish(&mut self, mode: Mode) -> Result<Swapped<'_>> {
        self.lock.check_writable()?;
        if matches!(self.made, Made::Sent) {
            self.lock.check_shadow()?;
        }
        let pair = Pair {
            table: self.lock.table.name.clone(),
            replacement: self.lock.names.shadow.clone(),
            before: Before::Unchanged {
                aside: aside(&self.lock.names, mode).clone(),
                definition: self.lock.table.definition.clone(),
                mode,
            },
        };
        let done = Swap::new(vec![pair]).run_for(self.lock);
        done.map_err(|error| self.lock.gone_meanwhile(error))?;
        failpoint::hit("publish.moved");
        Ok(Swapped { lock: self.lock, mode })
    }
}

impl Swapped<'_> {
    /// The name of the old table.
    pub fn aside(&self) -> &TableName {
        aside(&self.lock.names, self.mode)
    }

    /// Drops the old table, over a new connection if the one before was lost.
    ///
    /// Errors: [`Error::Leftover`] if rows are in a table that had to be empty; it is kept.
    pub fn drop_old(&mut self) -> Result<()> {
        self.lock.reconnect()?;
        match self.drop_aside() {
            Err(error) if error.is_cut() => {
                self.lock.recover()?;
                // The server may have dropped it before the connection broke.
                let aside = self.aside().clone();
                if !catalog::exists(&mut self.lock.session, &aside)? {
                    return Ok(());
                }
                self.drop_aside()
            }
            dropped => dropped,
        }
    }

    fn drop_aside(&mut self) -> Result<()> {
        match self.mode {
            Mode::Insert => self.lock.drop_emptied(),
            Mode::Replace => {
                let sql = format!("DROP TABLE {}", self.aside().quoted());
                self.lock.exec(&sql)
            }
        }
    }
}

impl Lock {
    /// Whether a filled shadow has taken the target's place, for whom a panic in
    /// [`Filled::publish`] has kept from hearing so.
    ///
    /// Errors: the server cannot be asked, and nothing tells.
    pub fn is_published(&mut self) -> Result<bool> {
        self.reconnect()?;
        Ok(!self.has_shadow()?)
    }

    /// Whether the shadow is there.
    pub(super) fn has_shadow(&mut self) -> Result<bool> {
        let shadow = self.names.shadow.clone();
        catalog::exists(&mut self.session, &shadow)
    }

    /// The shadow is what the target is, in every index: else it is not swapped in.
    pub(super) fn check_shadow(&mut self) -> Result<()> {
        let shadow = self.names.shadow.clone();
        if definition(&mut self.session, &shadow)? == self.table.definition {
            return Ok(());
        }
        let detail = format!("the load's own table, {shadow}, is not like it yet");
        Err(Error::Altered { target: self.table.name.to_string(), detail })
    }
}

fn aside(names: &Names, mode: Mode) -> &TableName {
    match mode {
        Mode::Insert => &names.emptied,
        Mode::Replace => &names.replaced,
    }
}
