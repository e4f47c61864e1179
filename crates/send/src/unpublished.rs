//! Rows that were sent and that are still to be published, each kind with what is done then.

use std::time::Duration;

use job::error::Error;
use job::failed::Failed;
use job::failpoint;
use job::pool;
use job::publish::Publish;
use schema::TableName;
use server::Session;
use targets::publish::FilledBy;
use targets::{Lock, Transaction};

use crate::ledger::{Ledger, LedgerTable};

const ER_NO_SUCH_TABLE: u16 = 1146;
const ER_BAD_DB: u16 = 1049;
/// How long the end of a failed load waits for its last COMMIT. Behind it nobody knows how many rows are in.
const SETTLE_WAIT: Duration = Duration::from_secs(10);

/// The place of all rows of a target before they are published.
#[derive(Debug)]
pub enum Unpublished {
    /// A table that is to take its place.
    Table(FilledBy),
    /// A transaction into it.
    Transaction(Box<Uncommitted>),
    /// The target itself, in many transactions: its ledger does not say yet that they were the last.
    Added(Ledger),
}

/// A transaction that rows have gone into.
#[derive(Debug)]
pub struct Uncommitted {
    /// The transaction.
    pub transaction: Transaction,
    /// Its connection; none once it was asked to commit.
    pub session: Option<Session>,
    /// Where AUTO_INCREMENT is to go on, if that was counted here.
    pub next_number: Option<u64>,
    /// True if it restarts there also after a higher value.
    pub restarts_numbers: bool,
}

impl Uncommitted {
    /// Has numbers go on in a table that the transaction has filled. Gives a warning where a table that was
    /// replaced keeps a higher number.
    pub fn number(&self, target: &mut Lock) -> Option<String> {
        let next = self.next_number?;
        if !self.restarts_numbers {
            // Not worth a word where it cannot be done: numbers then go on without a gap.
            let _ = targets::transaction::number(target, next);
            return None;
        }
        let error = targets::transaction::number_anew(target, next).err()?;
        let name = &target.table.name;
        Some(format!(
            "all rows are loaded, but AUTO_INCREMENT of {name} was not reset ({error}): run ALTER \
             TABLE {} AUTO_INCREMENT={next}",
            name.quoted()
        ))
    }
}

/// The end of rows that were added, each chunk by its own transaction.
impl Ledger {
    /// Publishes that the last chunk is in. `is_known`: the same command would find that in a journal.
    pub fn last_chunk<'t>(&'t self, target: &'t mut Lock, is_known: bool) -> impl Publish + 't {
        LastChunk { ledger: self, target, is_known }
    }

    /// The error of a load that ended early, which says how many rows are in; and what came of removing a
    /// ledger that is of no use any more.
    pub fn failed(&self, target: &mut Lock, error: Error) -> Box<Failed> {
        let _shield = target.session.options().interrupt.shield();
        let exists = |target: &mut Lock| catalog::exists(&mut target.session, &target.table.name);
        if matches!(target.clean_up(exists), Ok(false)) {
            // A table that is made anew gets all rows.
            let forgotten = match self.forget(target) {
                Err(gone) if gone.errno() == Some(ER_BAD_DB) => Ok(()),
                forgotten => forgotten,
            };
            return Failed::cleaned(error, forgotten);
        }
        // Where the server cannot be asked, the next load finds the ledger.
        let rows_in = target.clean_up(|target| self.rows_in(target, SETTLE_WAIT));
        let names = Box::new([target.table.name.to_string(), target.names.ledger.to_string()]);
        // Somebody may have dropped or emptied the table meanwhile, and its ledger is of no use.
        let has_rows = match target.is_empty() {
            Ok(is_empty) => !is_empty,
            Err(error) => !matches!(error.errno(), Some(ER_NO_SUCH_TABLE | ER_BAD_DB)),
        };
        match rows_in {
            Ok((rows, is_exact)) if rows > 0 && has_rows => {
                let rows = is_exact.then_some(rows);
                Error::Appended { error: Box::new(error), target: names, rows }.into()
            }
            Err(_) => Error::Appended { error: Box::new(error), target: names, rows: None }.into(),
            Ok(_) => Failed::cleaned(error, self.forget(target)),
        }
    }

    /// Removes them from the ledger.
    pub(crate) fn forget(&self, target: &mut Lock) -> server::Result<()> {
        forgotten(target.clean_up(|target| self.remove(&mut target.session)))
    }
}

/// The last of the chunks was committed.
struct LastChunk<'t> {
    ledger: &'t Ledger,
    target: &'t mut Lock,
    is_known: bool,
}

impl Publish for LastChunk<'_> {
    fn target(&self) -> String {
        self.target.table.name.to_string()
    }

    fn publish(&mut self) -> Result<(), Error> {
        let proof = self.target.names.proof.clone();
        let ledger = self.ledger;
        self.target.clean_up(|target| ledger.complete(&mut target.session, proof.as_deref()))?;
        failpoint::hit("ledger.complete");
        Ok(())
    }

    /// The ledger tells how many rows are in, whatever this says.
    fn is_published(&mut self) -> server::Result<bool> {
        Ok(false)
    }

    fn unknown(&self, reason: String) -> Error {
        Error::Internal(reason)
    }

    fn proof(&self) -> Option<TableName> {
        Some(self.target.names.ledger.clone())
    }

    fn clean_up(&mut self) -> Vec<String> {
        let ledger = self.target.names.ledger.clone();
        // With all its chunks in, it cannot be told from one of a load that was interrupted: no journal
        // says that the user of this one knows.
        let dropped = format!(
            "loads of other inputs are blocked until you run DROP TABLE {}; the same command would \
             add nothing",
            ledger.quoted()
        );
        let then = if self.is_known { NEXT_LOAD } else { &dropped };
        forget_ledgers(self.target, &[ledger], Some(then))
    }
}

/// The note on a ledger that could not be removed.
pub const NEXT_LOAD: &str = "the next load removes it";

/// Removes ledgers of targets whose rows are in: those of the load, and of loads before it that were
/// interrupted, whose rows are gone or whose rest is in now. Gives warnings: where that cannot be done, with
/// what then becomes of them, unless that is not worth a word; of a panic.
pub fn forget_ledgers(lock: &mut Lock, ledgers: &[TableName], then: Option<&str>) -> Vec<String> {
    let _shield = lock.session.options().interrupt.shield();
    let mut drop_all = || match drop_ledgers(lock, ledgers) {
        Err(error) if error.is_cut() => drop_ledgers(lock, ledgers),
        dropped => dropped,
    };
    let (died, dropped) = pool::catch_again("ledger.done", || Ok(drop_all()?));
    let left = dropped.err().zip(then).map(|(error, then)| {
        let which = match ledgers {
            [ledger] => format!("the ledger {ledger}"),
            _ => "ledgers".to_owned(),
        };
        format!("all rows are loaded, but {which} could not be removed ({error}): {then}")
    });
    died.into_iter().chain(left).collect()
}

/// Drops the ledgers that are there, all of one database.
///
/// Errors: the server's.
pub fn drop_ledgers(lock: &mut Lock, ledgers: &[TableName]) -> server::Result<()> {
    let own = LedgerTable::of(lock);
    let are_several = own.shards().are_several();
    if ledgers.is_empty() && !are_several {
        return Ok(());
    }
    lock.reconnect()?;
    if are_several {
        return own.drop(&mut lock.session);
    }
    let session = &mut lock.session;
    let there = match ledgers {
        [] => Vec::new(),
        [ledger] => vec![catalog::spelling(session, ledger)?],
        [first, ..] => catalog::spellings(session, &first.database, ledgers)?,
    };
    for ledger in there.into_iter().flatten() {
        session.exec(&format!("DROP TABLE IF EXISTS {}", ledger.quoted()))?;
    }
    Ok(())
}

/// The result of removing a ledger.
pub(crate) fn forgotten(done: Result<(), Error>) -> server::Result<()> {
    done.map_err(|error| match error {
        Error::Server(error) => error,
        other => server::Error::Answer {
            column: 0,
            seen: other.to_string(),
            expected: "a ledger of ours",
            statement: "removing the ledger".to_owned(),
        },
    })
}
