//! Connections of a load that wait for rows of others while others wait for theirs: these let go and begin anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use disk::failpoint;
use locks::Mutex;
use server::Interrupt;
use server::connect::Mark;
use server::error::Result;
use server::identifier::TableName;
use server::options::ConnectOptions;
use server::session::Session;
use server::version::Flavor;

use crate::lasting;
use crate::waiting::{WaitedLock, holders_of};

/// No transaction is looked after before this: nearly all are through by then.
const QUIET: Duration = Duration::from_millis(500);
/// Between two looks. A wait that both see is one of somebody's transaction, not of a statement.
const LOOK: Duration = Duration::from_millis(500);

/// The connections of a load that send rows beside each other. They wait for each other as long as it takes.
#[derive(Clone, Debug, Default)]
pub struct RowWaits {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The ids of the load's connections.
    own: Mutex<BTreeSet<u64>>,
    observer: Mutex<Observer>,
}

/// The one connection that looks, for all that have to be looked after.
#[derive(Debug, Default)]
struct Observer {
    session: Option<Session>,
    /// The last look: connections of the load, each with its wait.
    seen: Option<(Instant, BTreeMap<u64, String>)>,
}

impl RowWaits {
    /// Adds a connection of the load.
    pub fn add(&self, session: &Session) {
        self.shared.own.lock().insert(session.id());
    }

    /// Runs `work`, the transaction of a chunk over the connection of `mark`; true if a statement was ended, with
    /// server error 1317 or another one, because it waited for others while others waited for the transaction. The
    /// flag that `work` gets is true from before that on.
    ///
    /// Accounts that may not see transactions wait until the statement's own limit.
    pub fn yielding<T>(
        &self,
        options: &ConnectOptions,
        mark: &Mark,
        work: impl FnOnce(&Arc<AtomicBool>) -> T,
    ) -> (T, bool) {
        // An interrupt of the load need not stop these statements: they are short.
        let options = ConnectOptions { interrupt: Interrupt::default(), ..options.clone() };
        let has_yielded = Arc::new(AtomicBool::new(false));
        let looker = Looker {
            shared: Arc::clone(&self.shared),
            options,
            mark: mark.clone(),
            has_yielded: Arc::clone(&has_yielded),
        };
        let work = || work(&has_yielded);
        let done = lasting::run(QUIET, move |ended| looker.look_on(ended), work);
        (done, has_yielded.load(Ordering::Acquire))
    }

    /// Who may hold rows of a table: not the load itself.
    pub fn holders(&self, session: &mut Session, table: &TableName) -> Vec<String> {
        let own: Vec<u64> = self.shared.own.lock().iter().copied().collect();
        holders_of(session, &[table], &own, WaitedLock::Row).unwrap_or_default()
    }
}

struct Looker {
    shared: Arc<Shared>,
    options: ConnectOptions,
    mark: Mark,
    has_yielded: Arc<AtomicBool>,
}

impl Looker {
    fn look_on(self, ended: &Receiver<()>) {
        failpoint::hit("thread.holders");
        let mut before = None;
        loop {
            // Without a look the statement's own limit counts.
            let wait = match self.look() {
                Ok(wait) => wait,
                Err(error) if error.is_cut() => None,
                Err(_) => return,
            };
            if wait.is_some() && wait == before {
                self.has_yielded.store(true, Ordering::Release);
                let _ = self.end_statement();
            }
            before = wait;
            if ended.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// The wait of the connection for others, if others wait for it.
    fn look(&self) -> Result<Option<String>> {
        let own: Vec<String> = self.shared.own.lock().iter().map(u64::to_string).collect();
        let mut observer = self.shared.observer.lock();
        if observer.seen.as_ref().is_none_or(|(at, _)| at.elapsed() >= LOOK / 2) {
            let waits = observer.ask(&self.options, |session| waits(session, &own.join(",")))?;
            observer.seen = Some((Instant::now(), waits));
        }
        let seen = observer.seen.as_ref();
        Ok(seen.and_then(|(_, waits)| waits.get(&self.mark.id()).cloned()))
    }

    fn end_statement(&self) -> Result<()> {
        let mut observer = self.shared.observer.lock();
        observer.ask(&self.options, |session| session.kill_query(&self.mark))
    }
}

impl Observer {
    fn ask<T>(
        &mut self,
        options: &ConnectOptions,
        ask: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::connect(options)?),
        };
        let asked = ask(session);
        if asked.as_ref().is_err_and(|error| error.is_cut()) {
            self.session = None;
        }
        asked
    }
}

/// The connections of `own` that wait for a lock which none of them holds, while a transaction that is none of theirs
/// waits for them; each with a text for its wait.
fn waits(session: &mut Session, own: &str) -> Result<BTreeMap<u64, String>> {
    let (waits, requesting, blocking) = match session.version().flavor {
        Flavor::MariaDb => {
            ("information_schema.INNODB_LOCK_WAITS", "requesting_trx_id", "blocking_trx_id")
        }
        Flavor::MySql => (
            "performance_schema.data_lock_waits",
            "REQUESTING_ENGINE_TRANSACTION_ID",
            "BLOCKING_ENGINE_TRANSACTION_ID",
        ),
    };
    let trx = "information_schema.INNODB_TRX";
    let rows = session.query(&format!(
        "SELECT t.trx_mysql_thread_id, CONCAT(t.trx_requested_lock_id, ' ', t.trx_wait_started) \
         FROM {trx} t JOIN {waits} w ON w.{requesting}=t.trx_id \
         JOIN {trx} h ON h.trx_id=w.{blocking} AND h.trx_mysql_thread_id NOT IN ({own}) \
         JOIN {waits} v ON v.{blocking}=t.trx_id \
         JOIN {trx} o ON o.trx_id=v.{requesting} AND o.trx_mysql_thread_id NOT IN ({own}) \
         WHERE t.trx_mysql_thread_id IN ({own})"
    ))?;
    rows.iter().map(|row| Ok((row.number(0)?, row.text_lossy(1)))).collect()
}
