//! One transaction into the target itself, where no staging table can take its place.
//!
//! ```text
//! Transaction::begin -> (rows go in over the connection it gives) -> commit | rollback
//! ```
//!
//! Its rows appear at once, with COMMIT, or never. A COMMIT that is not answered is looked into: a
//! row that goes in with the others, into a table of the load's own, tells whether it was done.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use crate::behind::not_started;
use crate::lock::Lock;
use crate::names::mark_name;
use crate::resting::Resting;
use crate::torn::rows_if_there;
use crate::turns::{TURN, Turns};
use crate::waiting::Patience;
use catalog::{self, definition, definitions};
use disk::failpoint;
use schema::{Mode, Table};
use server::connect::Mark;
use server::engine::Kind;
use server::error::{Error, Result};
use server::identifier::{TableName, quote_text, table_condition};
use server::reach::with_room;
use server::session::{Isolation, Session};
use server::version::Flavor;

/// Longest wait for a lock of a row, in seconds, that the server takes.
const ROW_LOCK_SECONDS_MAX: u64 = 1_073_741_824;
/// A transaction whose connection broke is rolled back, or was committed, within this.
const OUTCOME_WAIT: Duration = Duration::from_secs(120);
/// Tables that are held by one request at most.
const INCLUDED_AT_ONCE: usize = 64;
/// Tables that a question about numbers names at most.
const NUMBERS_AT_ONCE: usize = 64;
/// The end of a query that waits for transactions which changed its rows.
const SHARED: &str = "LOCK IN SHARE MODE";
/// How long the table's lock is waited for once its rows are in.
const NUMBERING_WAIT: Duration = Duration::from_secs(1);

/// A transaction that the rows of a load go in with, and nothing else of the load's is there but a
/// table of one row. It ends with the connection that [`Transaction::begin`] gives.
#[derive(Debug)]
pub struct Transaction {
    /// Gets a row at the end of the transaction, which tells whether it was committed. None where the account
    /// may not make one.
    mark: Option<TableName>,
    asked: CommitState,
}

/// Rows that a DELETE of Vitess has at most: tablets refuse those of more than 10,000 by default
/// (`queryserver-config-max-result-size`).
const DELETED_MAX: u64 = 5000;

/// The state of a COMMIT request.
#[derive(Clone, Debug)]
enum CommitState {
    /// Nothing can be in.
    No,
    /// Over this connection.
    By(Mark),
    /// It has answered that all is in.
    Answered,
}

impl Transaction {
    /// Begins one, on a connection of its own, which it gives.
    ///
    /// With [`Mode::Insert`] nobody else can insert until it ends: the lock is that of the gap
    /// before the end of the empty table.
    ///
    /// Killed after it: as before it, but for a table with one row or none that
    /// [`Lock::cleanup_tables`] finds.
    ///
    /// Errors: [`Error::NotEmpty`], [`Error::LockWait`]; the server's.
    pub fn begin(lock: &mut Lock, mode: Mode) -> Result<(Transaction, Session)> {
        // COMMIT asks again.
        if !lock.facts.read_only.is_empty() {
            lock.check_writable()?;
        }
        let (mark, mut session) = mark_and_second(lock)?;
        let wait = lock.patience.wait;
        set_waits(&mut session, wait)?;
        // Gaps are locked at this level only.
        session.set_isolation(Isolation::RepeatableRead)?;
        session.exec("START TRANSACTION")?;
        let (target, kind) = (lock.table.name.clone(), lock.facts.engine.kind);
        let found = lock.patience.watch(&mut session, |session| match mode {
            Mode::Insert => Ok(!session.query(&row_and_lock(&target))?.is_empty()),
            Mode::Replace => {
                session.hold_tables(&[&target])?;
                delete_all(session, &target, kind).map(|()| false)
            }
            // Whoever sends the rows holds it, just before: an ALTER that came in between would have the server
            // end one of the two for a deadlock.
            Mode::Append => Ok(false),
        });
        match found {
            Ok(false) => Ok((Transaction { mark, asked: CommitState::No }, session)),
            Ok(true) => {
                session.exec("ROLLBACK")?;
                Err(Error::NotEmpty(lock.table.name.to_string()))
            }
            Err(error) => Err(lock.gone_meanwhile(error)),
        }
    }

    /// Takes in another target: holds it as it was described, and empty if rows are not kept, until the
    /// transaction of `session` ends.
    ///
    /// Errors: [`Error::NotEmpty`], [`Error::Altered`], [`Error::LockWait`]; the server's.
    pub fn include(lock: &mut Lock, session: &mut Session, mode: Mode) -> Result<()> {
        let Lock { table, patience, .. } = &*lock;
        let included = include(table, patience, session, mode);
        included.map_err(|error| lock.gone_meanwhile(error))
    }

    /// Takes in all targets that are to be empty, before the first row: others wait for the locks. So no lock is
    /// waited for longer than a turn, behind which the transaction of `session` begins anew.
    ///
    /// Errors: those of [`Transaction::include`], with the target.
    pub fn include_empty(
        targets: &[&Resting],
        session: &mut Session,
    ) -> std::result::Result<(), Box<(TableName, Error)>> {
        let Some(first) = targets.first() else { return Ok(()) };
        let of_first = |error| Box::new((first.table.name.clone(), error));
        let wait = first.patience.wait;
        let turns = Turns::begin(wait);
        set_waits(session, TURN).map_err(of_first)?;
        // An error of the common request names no table: they are held one by one then.
        let included = are_included(targets, session);
        if !matches!(included, Ok(true)) {
            begin_anew(session).map_err(|failed| of_first(included.err().unwrap_or(failed)))?;
            include_each(targets, session, turns)?;
        }
        set_waits(session, wait).map_err(of_first)
    }

    /// Commits what its `session` has loaded. Its mark stays, and proves that, until
    /// [`Transaction::forget`].
    ///
    /// Errors: the server's, and nothing is in; [`Error::CommitUnknown`] where the connection
    /// broke and nothing tells whether it was done.
    pub fn commit(&mut self, lock: &mut Lock, mut session: Session) -> Result<()> {
        // The target is nobody's to clean up.
        lock.ensure_session_if(|_| Ok(true))?;
        let outcome = {
            lock.check_writable()?;
            let _shield = session.options().interrupt.shield();
            // Rows that were converted by other settings are not to stay.
            session.check_variables()?;
            // Not before: who gives up drops the mark at once, and does not wait until the server has
            // taken all the rows back.
            if let Some(mark) = &self.mark {
                let insert = format!("INSERT INTO {} VALUES (1)", mark.quoted());
                let marked = session.hold_tables(&[mark]).and_then(|()| session.exec(&insert));
                marked.map_err(|error| lock.gone_meanwhile(error))?;
            }
            self.asked = CommitState::By(session.mark().clone());
            match session.exec("COMMIT") {
                Err(error) if error.is_unclear() => {
                    match self.was_committed(lock, session.mark()) {
                        Ok(true) => Ok(()),
                        Ok(false) => Err(error),
                        Err(_) => Err(Error::CommitUnknown(lock.table.name.to_string())),
                    }
                }
                other => other.map(drop),
            }
        };
        drop(session);
        outcome?;
        self.asked = CommitState::Answered;
        Ok(())
    }

    /// Drops the mark of a committed transaction, once it is written down that the rows are in. Gives a
    /// warning where that cannot be done: the next load drops it too.
    pub fn forget(&self, lock: &mut Lock) -> Option<String> {
        let dropped = self.drop_mark(lock).err();
        dropped.map(|error| {
            format!(
                "a table of the load could not be dropped; the next load \
                                     drops it ({error})"
            )
        })
    }

    /// The table whose row proves that all rows are in, where there is one.
    pub fn mark(&self) -> Option<&TableName> {
        self.mark.as_ref()
    }

    /// True if its rows are in, for a caller that a panic has kept from the server's answer.
    ///
    /// Errors: nothing tells.
    pub fn is_in(&self, lock: &Lock) -> Result<bool> {
        match &self.asked {
            CommitState::No => Ok(false),
            CommitState::By(gone) => self.was_committed(lock, gone),
            CommitState::Answered => Ok(true),
        }
    }

    /// Takes back what its `session` has loaded.
    ///
    /// Errors: a connection that broke; the server then takes it back by itself.
    pub fn rollback(self, lock: &mut Lock, mut session: Session) -> Result<()> {
        let _shield = session.options().interrupt.shield();
        session.exec("ROLLBACK")?;
        self.drop_mark(lock)
    }

    fn drop_mark(&self, lock: &mut Lock) -> Result<()> {
        let Some(mark) = &self.mark else { return Ok(()) };
        let sql = format!("DROP TABLE IF EXISTS {}", mark.quoted());
        match lock.exec(&sql) {
            Err(error) if error.is_cut() => {
                lock.reconnect()?;
                lock.exec(&sql)
            }
            dropped => dropped,
        }
    }

    /// True if a COMMIT without answer was done. Waits for the transaction's end: its row in the
    /// mark is locked until then.
    fn was_committed(&self, lock: &Lock, gone: &Mark) -> Result<bool> {
        let _shield = lock.session.options().interrupt.shield();
        let unknown = || Error::CommitUnknown(lock.table.name.to_string());
        let mark = self.mark.as_ref().ok_or_else(unknown)?;
        let mut session = lock.reach()?;
        session.kill(gone)?;
        let seconds = OUTCOME_WAIT.as_secs();
        session.set(&[("innodb_lock_wait_timeout", &seconds.to_string())])?;
        let sql = format!("SELECT 1 FROM {base} LOCK IN SHARE MODE", base = mark.base());
        let committed = !session.query(&sql)?.is_empty();
        if !committed && !catalog::exists(&mut session, mark)? {
            return Err(unknown());
        }
        Ok(committed)
    }
}

impl Lock {
    /// True if the transaction of a killed load was committed, by its mark. Waits for its end.
    pub(super) fn was_marked(&mut self, mark: &TableName) -> Result<bool> {
        let sql = format!("SELECT 1 FROM {base} LOCK IN SHARE MODE", base = mark.base());
        let Lock { session, patience, .. } = self;
        let rows = patience.watch(session, |session| {
            rows_if_there(session, mark, |session| session.query(&sql))
        })?;
        Ok(!rows.is_empty())
    }

    /// Runs a query about a table of ours once all transactions have ended that changed its rows, which a
    /// snapshot would not see: `work` gets the query as it is sent. TiDB, whose locks do not cover missing rows,
    /// answers at once.
    ///
    /// Errors: [`Error::LockWait`] behind `wait` or the load's own limit, with those who may hold the rows.
    pub fn when_settled<T>(
        &mut self,
        wait: Duration,
        sql: &str,
        work: impl FnOnce(&mut Session, &str) -> Result<T>,
    ) -> Result<T> {
        let Lock { session, patience, facts, .. } = self;
        if !facts.engine.kind.keeps_gaps() {
            return work(session, sql);
        }
        let wait = wait.min(patience.wait);
        let sql = match session.version().flavor {
            Flavor::MariaDb => {
                let seconds = wait.as_secs().clamp(1, ROW_LOCK_SECONDS_MAX);
                format!("SET STATEMENT innodb_lock_wait_timeout={seconds} FOR {sql} {SHARED}")
            }
            Flavor::MySql => format!("{sql} {SHARED}"),
        };
        Patience { wait, ..patience.clone() }.watch(session, |session| work(session, &sql))
    }
}

/// How long a session waits for a lock, of a table or of a row.
fn set_waits(session: &mut Session, wait: Duration) -> Result<()> {
    session.set_lock_wait(wait)?;
    let seconds = wait.as_secs().clamp(1, ROW_LOCK_SECONDS_MAX);
    session.set(&[("innodb_lock_wait_timeout", &seconds.to_string())])
}

/// Holds a table as it was described, and empty if rows are not kept, until the transaction of `session` ends.
fn include(table: &Table, patience: &Patience, session: &mut Session, mode: Mode) -> Result<()> {
    let name = &table.name;
    let sql = match mode {
        Mode::Append => format!("SELECT 1 FROM {base} LIMIT 1", base = name.base()),
        _ => row_and_lock(name),
    };
    let found = patience.watch(session, |session| session.query(&sql))?;
    if mode != Mode::Append && !found.is_empty() {
        return Err(Error::NotEmpty(name.to_string()));
    }
    // From here on nobody can alter it.
    if definition(session, name)? == table.definition {
        return Ok(());
    }
    let detail = "the table's definition changed during the load".to_owned();
    Err(Error::Altered { target: name.to_string(), detail })
}

/// Holds tables one by one, as they were described, and empty. Behind a turn, the transaction begins anew.
///
/// Errors: those of [`Transaction::include`], with the target.
fn include_each(
    targets: &[&Resting],
    session: &mut Session,
    mut turns: Turns,
) -> std::result::Result<(), Box<(TableName, Error)>> {
    loop {
        let taken = targets.iter().try_for_each(|target| {
            let taken = include(&target.table, &target.patience, session, Mode::Insert);
            taken.map_err(|error| Box::new((target, error)))
        });
        let Err(failed) = taken else { return Ok(()) };
        let (target, error) = *failed;
        let of_target = |error| Box::new((target.table.name.clone(), error));
        if session.exec("ROLLBACK").is_err() {
            return Err(of_target(error));
        }
        if let Error::LockWait { holders, .. } = &error {
            target.patience.tell(holders);
        }
        if !turns.again(&error, session) {
            return Err(of_target(error));
        }
        session.exec("START TRANSACTION").map_err(of_target)?;
    }
}

/// Holds many tables as they were described, and empty, by few requests: false if one is not so.
///
/// Errors: the server's. Some tables are held then.
fn are_included(targets: &[&Resting], session: &mut Session) -> Result<bool> {
    for some in targets.chunks(INCLUDED_AT_ONCE) {
        let questions = some.iter().map(|target| row_and_lock(&target.table.name));
        let rows = session.query_all(&questions.collect::<Vec<_>>())?;
        // From here on nobody can alter them.
        let names: Vec<&TableName> = some.iter().map(|target| &target.table.name).collect();
        let definitions = definitions(session, &names)?;
        let mut now = some.iter().zip(&definitions);
        let is_same = now.all(|(target, definition)| target.table.definition == *definition);
        if !is_same || rows.iter().any(|rows| !rows.is_empty()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lets go of all that the transaction of `session` holds, and begins it anew.
fn begin_anew(session: &mut Session) -> Result<()> {
    session.exec("ROLLBACK")?;
    session.exec("START TRANSACTION").map(drop)
}

/// A question for a row, which keeps others from inserting if there is none.
fn row_and_lock(table: &TableName) -> String {
    format!("SELECT 1 FROM {base} LIMIT 1 {SHARED}", base = table.base())
}

/// Has the target's AUTO_INCREMENT go on at `next`, behind what LOAD DATA would have reserved. It is
/// never set back, and nobody is waited for.
///
/// Errors: the server's; it goes on behind the largest number then.
pub fn number(lock: &mut Lock, next: u64) -> Result<()> {
    if lock.session.version().flavor != Flavor::MariaDb {
        return Ok(());
    }
    let _shield = lock.session.options().interrupt.shield();
    lock.reconnect()?;
    let name = lock.table.name.clone();
    if next_number(&mut lock.session, &name)? >= next {
        return Ok(());
    }
    let target = name.quoted();
    // Its end gives the lock back.
    let mut session = lock.second()?;
    session.exec(&format!("LOCK TABLES {target} WRITE NOWAIT"))?;
    if next_number(&mut session, &name)? < next {
        session.exec(&format!("ALTER TABLE {target} AUTO_INCREMENT={next}, ALGORITHM=INPLACE"))?;
    }
    Ok(())
}

/// Tables of the target's database whose AUTO_INCREMENT is less than the number beside them.
///
/// Errors: the server's.
pub fn behind(lock: &mut Lock, wanted: &[(TableName, u64)]) -> Result<Vec<TableName>> {
    let mut behind = Vec::new();
    if lock.session.version().flavor != Flavor::MariaDb {
        return Ok(behind);
    }
    lock.reconnect()?;
    for some in wanted.chunks(NUMBERS_AT_ONCE) {
        let names: Vec<String> = some.iter().map(|(name, _)| quote_text(&name.table)).collect();
        let sql = format!(
            "SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA={} AND TABLE_NAME IN ({})",
            quote_text(&lock.table.name.database),
            names.join(", ")
        );
        for row in lock.session.query(&sql)? {
            let (table, there) = (row.text(0)?, row.number_or_null::<u64>(1)?);
            let of_table = some.iter().find(|(name, _)| name.table == table);
            let is_behind =
                |(_, next): &&(TableName, u64)| there.is_some_and(|there| there < *next);
            behind.extend(of_table.filter(is_behind).map(|(name, _)| name.clone()));
        }
    }
    Ok(behind)
}

/// Has the target's AUTO_INCREMENT go on at `next`, or behind the largest number that is there, also where
/// it stood higher before.
///
/// Errors: the server's; numbers go on where they did then.
pub fn number_anew(lock: &mut Lock, next: u64) -> Result<()> {
    let _shield = lock.session.options().interrupt.shield();
    lock.reconnect()?;
    let name = lock.table.name.clone();
    let is_told = lock.session.version().flavor == Flavor::MariaDb;
    if is_told && next_number(&mut lock.session, &name)? == next {
        return Ok(());
    }
    let target = name.quoted();
    let mut session = lock.second()?;
    // Others wait behind it.
    session.set_lock_wait(NUMBERING_WAIT)?;
    let sql = format!("ALTER TABLE {target} AUTO_INCREMENT={next}, ALGORITHM=INPLACE");
    session.exec(&sql).map(drop)
}

/// The table's AUTO_INCREMENT as information_schema has it, which is old on MySQL.
fn next_number(session: &mut Session, name: &TableName) -> Result<u64> {
    let condition = table_condition(name);
    let sql = format!("SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE {condition}");
    session.query_row(&sql)?.number(0)
}

/// Deletes all rows, by the transaction of `session`.
fn delete_all(session: &mut Session, target: &TableName, kind: Kind) -> Result<()> {
    let sql = format!("DELETE FROM {}", target.quoted());
    if kind != Kind::Vitess {
        return session.exec(&sql).map(drop);
    }
    let sql = format!("{sql} LIMIT {DELETED_MAX}");
    while session.exec(&sql)?.affected_rows > 0 {}
    Ok(())
}

/// Makes the mark, and a second connection meanwhile: the server syncs files for the one and not for the other.
fn mark_and_second(lock: &mut Lock) -> Result<(Option<TableName>, Session)> {
    if lock.spare.is_some() {
        return Ok((make_mark(lock)?, lock.second()?));
    }
    let (options, wait) = (lock.session.options().clone(), lock.patience.wait);
    let connect = move || {
        failpoint::hit("thread.second");
        with_room(&options, wait)
    };
    thread::scope(|scope| {
        let connecting = thread::Builder::new()
            .spawn_scoped(scope, connect)
            .map_err(|error| not_started(&error, "START TRANSACTION"))?;
        let mark = make_mark(lock);
        let session = connecting.join().unwrap_or_else(|died| resume_unwind(died));
        Ok((mark?, session?))
    })
}

/// Makes the table whose row will tell of the COMMIT, where the account may.
fn make_mark(lock: &mut Lock) -> Result<Option<TableName>> {
    let TableName { database, .. } = &lock.table.name;
    let rights = ["CREATE", "DROP", "INSERT", "SELECT"];
    // Whoever asks it has to wait for a transaction that is not over.
    let tells = lock.facts.engine.kind.keeps_gaps();
    if !tells || !rights.iter().all(|right| lock.facts.privileges.on_database(right, database)) {
        return Ok(None);
    }
    let mark = mark_name(&lock.table.name, &lock.names, lock.session.id());
    let shape = "(committed TINYINT NOT NULL PRIMARY KEY) ENGINE=InnoDB";
    lock.exec(&format!("CREATE TABLE {} {shape}", mark.quoted()))?;
    Ok(Some(mark))
}
