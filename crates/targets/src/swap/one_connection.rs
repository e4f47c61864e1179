//! The swap of tables with foreign keys on MySQL, by one connection that locks all tables.
//!
//! ```text
//! LOCK TABLES targets, filled tables, parents, children WRITE
//!     definitions and rows are looked at -> filled tables get their keys -> RENAME
//!     old tables are dropped -> RENAME there and back, which carries the keys of children over
//! UNLOCK TABLES
//! ```
//!
//! RENAME and ALTER of MySQL also lock the tables that foreign keys join with theirs, so connections that hold
//! these would be in the way. Unlike MariaDB it does both under LOCK TABLES, for the connection that has the locks.
//! So this one waits for nothing behind its first statement, and nobody sees a table in between.
//!
//! Killed behind the RENAME: the new tables, and keys of children that refer to the old ones until the next load
//! of the server carries them over.
//!
//! A statement of the load that gives a table an alias needs a lock of that alias.
//! Source: MySQL 9.7, sql/sql_rename.cc, `mysql_rename_tables`; sql/sql_base.cc, `open_table`; tried on 9.7.4.

use std::collections::BTreeSet;
use std::time::Instant;

use disk::failpoint;
use schema::TableName;

use super::{Held, Pair, Swap, exec_published, mover};
use crate::carried_triggers::{carry_held, hold, let_go};
use crate::foreign_keys::unchecked;
use crate::guard::Guarded;
use crate::lock::Lock;
use crate::orphans::parent_alias;
use crate::relations::Preparation;
use crate::turns::{TURN, is_wait};
use server::error::{Error, Result};
use server::session::Session;

impl Swap {
    /// Swaps once, with everything held by the lock's connection until old tables are dropped and keys carried over.
    ///
    /// Errors, all tables as before and nothing held: [`Error::LockWait`] behind a [`TURN`];
    /// [`Error::Orphans`], [`Error::NotEmpty`], [`Error::Altered`]. [`Error::Unanswered`]: they are the old tables
    /// or the new ones.
    pub(crate) fn run_alone(
        &self,
        lock: &mut Lock,
        preparation: &mut Preparation<'_>,
        around: &Guarded,
    ) -> Result<Held> {
        preparation.bring(lock)?;
        // A backup that has begun since would have the rows checked in vain, while everybody waits.
        preparation.wait_for_backup(lock)?;
        lock.session.set_lock_wait(TURN)?;
        let begun = Instant::now();
        let locked = lock.session.exec(&self.lock_all(around));
        let done = match locked.and_then(|_| self.under_locks(lock, preparation, around)) {
            Err(error) if is_wait(&error) && preparation.keeps_keys => Err(self.kept_keys(lock)),
            Err(error) if is_wait(&error) => Err(self.waited(lock)),
            done => done,
        };
        lock.blocked.all_since(begun);
        if done.is_err() && lock.session.is_alive() {
            // Clean-up waits for locks as long as the load did.
            let _shield = lock.session.options().interrupt.shield();
            // Where it fails, the connection has gone, and its locks with it; why the swap failed is told.
            let unlocked = lock.session.exec("UNLOCK TABLES");
            let _ = unlocked.and_then(|_| lock.session.set_lock_wait(lock.patience.wait));
        }
        done.map(|()| Held { since: Some(begun), ..Held::default() })
    }

    fn under_locks(
        &self,
        lock: &mut Lock,
        preparation: &mut Preparation<'_>,
        around: &Guarded,
    ) -> Result<()> {
        let pairs: Vec<&Pair> = self.pairs.iter().collect();
        mover::check(&pairs, &mut lock.session)?;
        preparation.prepare(lock, around)?;
        failpoint::hit("publish.prepared");
        let (sql, mover) = (self.statement(), lock.session.id());
        let mut is_done = false;
        let done = unchecked(&mut lock.session, |session| {
            exec_published(session, &sql)?;
            is_done = true;
            Ok(())
        });
        let done = match is_done {
            true => self.carry_triggers(&mut lock.session),
            false => done,
        };
        match done {
            Err(error) if error.is_unclear() => {
                match self.was_swapped(&lock.session, lock.reconnect_wait, mover) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(error),
                    Err(_) => Err(self.unanswered()),
                }
            }
            // The end of the session does not undo it.
            Ok(()) => Ok(()),
            done => {
                // Filled tables that keep their keys are dropped with them, and the swap is not tried again.
                let _ = preparation.take_back(lock);
                done
            }
        }
    }

    /// Carries triggers over to the new tables, which nobody sees before.
    ///
    /// Errors: all tables as before, where the server refuses a trigger; of a lost connection, the new tables. What
    /// fails once all triggers are held is done when the old tables are dropped.
    fn carry_triggers(&self, session: &mut Session) -> Result<()> {
        let mut tables = self.with_triggers().peekable();
        if tables.peek().is_none() {
            return Ok(());
        }
        failpoint::hit("triggers.begin");
        let held = self.with_triggers().try_for_each(|(_, old)| hold(session, old));
        if let Err(error) = held {
            let _shield = session.options().interrupt.shield();
            let let_go = self.with_triggers().try_for_each(|(_, old)| let_go(session, old));
            let back = self.statement_back();
            let go_back = |session: &mut Session| exec_published(session, &back);
            return match let_go.and_then(|()| unchecked(session, go_back)) {
                Ok(()) => Err(error),
                Err(broken) if broken.is_unclear() => Err(broken),
                // They are the new tables.
                Err(_) => Ok(()),
            };
        }
        let _ = tables.try_for_each(|(table, old)| carry_held(session, None, table, old));
        Ok(())
    }

    /// The statement that locks all tables.
    fn lock_all(&self, around: &Guarded) -> String {
        let of_pairs = self.pairs.iter().flat_map(|pair| [&pair.table, &pair.replacement]);
        let tables: BTreeSet<&TableName> =
            of_pairs.chain(&around.parents).chain(&around.children).collect();
        let locks = tables.into_iter().flat_map(|table| {
            let (name, alias) = (table.quoted(), parent_alias(table));
            [format!("{name} WRITE"), format!("{name} AS {alias} READ")]
        });
        format!("LOCK TABLES {}", locks.collect::<Vec<_>>().join(", "))
    }

    /// A lock of others came between the keys of filled tables and the RENAME: rows of these tables may go with
    /// rows that they refer to.
    fn kept_keys(&self, lock: &mut Lock) -> Error {
        let holders = self.holders_of_locks(&mut lock.session, &[]);
        let holders = match holders.is_empty() {
            true => "others".to_owned(),
            false => holders.join(", "),
        };
        let detail = format!(
            "a lock of {holders} kept the filled table, which has foreign keys already, from its place, and others \
             could delete rows that it refers to; load again when that lock is released"
        );
        Error::Altered { target: self.names(), detail }
    }

    fn waited(&self, lock: &mut Lock) -> Error {
        let holders = self.holders_of_locks(&mut lock.session, &[]);
        Error::LockWait { target: self.names(), seconds: lock.patience.wait.as_secs(), holders }
    }
}
