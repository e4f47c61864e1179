//! Waiting for the server's locks: how long, for whom, and who is told.
//!
//! A statement that waits says so in the process list alone, so a second connection looks there
//! once a statement takes longer than [`QUIET`]. The holder is asked for while it holds the lock:
//! afterwards it may have gone.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use disk::failpoint;
use locks::Mutex;

use crate::description::turn_holder;
use crate::lasting;
use server::connect::Mark;
use server::error::{Error, Result, holders_text};
use server::identifier::{TableName, quote_text};
use server::options::ConnectOptions;
use server::session::{Row, Session};
use server::version::Flavor;

/// Server error of a lock that did not come in time.
pub const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
/// No statement is looked after before this: all but the work of minutes are through by then.
const QUIET: Duration = Duration::from_secs(1);
/// Between two looks at a statement that waits.
const LOOK: Duration = Duration::from_secs(2);
/// The same of one that others may wait for.
const GLANCE: Duration = Duration::from_millis(250);
/// More ids of prepared transactions in one message would not be read.
const IDS_NAMED: usize = 3;
/// More of them in one message would not be read.
const HOLDERS_MAX: u32 = 5;
/// The age of a transaction in seconds: the server tells its begin by the clock of its system, and NOW() is by that of
/// the session's time zone.
const AGE: &str =
    "TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(NOW(), @@SESSION.time_zone, 'SYSTEM'))";

/// How long a load waits for locks, and who hears of it.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// The target that the locks are for.
    pub(crate) target: TableName,
    /// The longest wait for one statement's locks.
    pub(crate) wait: Duration,
    /// Gets a sentence whenever a wait is seen.
    pub(crate) told: Option<Sender<String>>,
}

impl Patience {
    /// Tells whoever wants to know that a lock is waited for.
    pub(crate) fn tell(&self, holders: &[String]) {
        self.say(&format!(
            "waiting for a lock on {}, at most {} s; {}",
            self.target,
            self.wait.as_secs(),
            holders_text(holders)
        ));
    }

    /// Tells whoever wants to know what is waited for.
    pub(crate) fn say(&self, text: &str) {
        if let Some(told) = &self.told {
            // Nobody listens any more: fine.
            let _ = told.send(text.to_owned());
        }
    }

    /// Runs `work`, statements of `session` that may wait for locks, and watches them.
    ///
    /// Errors: those of `work`; [`Error::LockWait`] with the holders where it is the server's
    /// lock timeout.
    pub(crate) fn watch<T>(
        &self,
        session: &mut Session,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        self.watch_for(session, None, work)
    }

    /// The same of a statement whose lock keeps others waiting. They may wait for us already, since the load holds
    /// the first of its tables: `since` then. The statement is ended behind a [`TURN`] if somebody waits.
    ///
    /// Errors: also [`Error::Yielded`].
    pub(crate) fn watch_yielding<T>(
        &self,
        session: &mut Session,
        since: Instant,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        self.watch_for(session, Some(since), work)
    }

    fn watch_for<T>(
        &self,
        session: &mut Session,
        yields_since: Option<Instant>,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let seen = Arc::new(Mutex::new(Findings::default()));
        let looker = Looker {
            patience: self.clone(),
            options: session.options().clone(),
            mark: session.mark().clone(),
            yields_since,
            seen: Arc::clone(&seen),
        };
        let outcome = lasting::run(QUIET, |ended| looker.look_on(ended), || work(session));
        let Findings { mut holders, observer, has_yielded } = std::mem::take(&mut *seen.lock());
        match outcome {
            Err(e) if has_yielded && e.is_unclear() && session.is_alive() => {
                let (target, seconds) = (self.target.to_string(), begun.elapsed().as_secs());
                Err(Error::Yielded { target, seconds, holders })
            }
            Err(e) if e.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => {
                if holders.is_empty() {
                    holders =
                        lock_holders(session, &[&self.target], &[observer]).unwrap_or_default();
                }
                Err(self.timed_out(session, holders))
            }
            // One turn of several, which together last as long as the user says.
            Err(Error::LockWait { target, holders, .. }) => {
                Err(Error::LockWait { target, seconds: self.wait.as_secs(), holders })
            }
            outcome => outcome,
        }
    }

    /// The error of a wait that was too long; asks for holders that nobody has seen.
    pub(crate) fn timed_out(&self, session: &mut Session, mut holders: Vec<String>) -> Error {
        if holders.is_empty() {
            holders = lock_holders(session, &[&self.target], &[]).unwrap_or_default();
        }
        Error::LockWait { target: self.target.to_string(), seconds: self.wait.as_secs(), holders }
    }

    /// Who holds what connection `id` waits for; None when it does not wait.
    fn look(
        &self,
        options: &ConnectOptions,
        id: u64,
        observer: &mut Option<Session>,
    ) -> Result<Option<Vec<String>>> {
        let session = match observer {
            Some(session) => session,
            None => observer.insert(Session::connect(options)?),
        };
        let Some(state) = wait_of(session, id)? else { return Ok(None) };
        if state == WAITS_FOR_TURN {
            return turn_holder(session).map(Some);
        }
        let kind = kind_of(&state, session.version().flavor);
        holders_of(session, &[&self.target], &[id], WaitedLock::Metadata(kind)).map(Some)
    }
}

/// Runs statements of `session` that may wait for locks, `wait` at most for each: without a target that is locked.
///
/// Errors: those of `work`; [`Error::LockWait`] of `target`.
pub fn within<T>(
    session: &mut Session,
    target: &TableName,
    wait: Duration,
    told: Option<Sender<String>>,
    work: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    session.set_lock_wait(wait)?;
    Patience { target: target.clone(), wait, told }.watch(session, work)
}

/// Who looks after a statement that lasts.
struct Looker {
    patience: Patience,
    /// How the statement's connection was made.
    options: ConnectOptions,
    mark: Mark,
    /// When the load held the first table, if the statement is ended for those who have waited since then.
    yields_since: Option<Instant>,
    seen: Arc<Mutex<Findings>>,
}

/// The findings about a statement.
#[derive(Default)]
struct Findings {
    holders: Vec<String>,
    /// The number of who looks, whose last question the server may still show.
    observer: u64,
    /// True once the statement was ended, because somebody waited for it.
    has_yielded: bool,
}

impl Looker {
    /// Looks after the statement until it ends.
    fn look_on(self, ended: &Receiver<()>) {
        failpoint::hit("thread.holders");
        let pause = if self.yields_since.is_some() { GLANCE } else { LOOK };
        let (mut observer, mut told) = (None, None);
        loop {
            self.look_once(&mut observer, &mut told);
            if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn look_once(&self, observer: &mut Option<Session>, told: &mut Option<Instant>) {
        let (patience, id) = (&self.patience, self.mark.id());
        // A look that fails is tried again: the statement's own outcome counts.
        let looked = patience.look(&self.options, id, observer);
        let mut seen = self.seen.lock();
        seen.observer = observer.as_ref().map_or(0, Session::id);
        let Ok(Some(holders)) = looked else { return };
        if told.is_none_or(|told| told.elapsed() >= LOOK) {
            *told = Some(Instant::now());
            patience.tell(&holders);
        }
        seen.holders = holders;
        if let Some(since) = self.yields_since
            && let Some(observer) = observer
            && is_waited_for(observer, id, since).unwrap_or(false)
        {
            seen.has_yielded = true;
            // Without it the statement ends by its own limit.
            let _ = observer.kill_query(&self.mark);
        }
    }
}

/// True if a connection other than `waiter` waits for a metadata lock since the load holds tables, `since` then. Not
/// with LOCK TABLES, which the load's own connections run.
///
/// Whose lock is waited for the server does not say, nor which tables a statement uses: those of views, functions and
/// triggers are not in its text.
fn is_waited_for(session: &mut Session, waiter: u64, since: Instant) -> Result<bool> {
    // The server counts whole seconds.
    let seconds = since.elapsed().as_secs() + 1;
    let rows = session.query_processes(|processes| {
        format!(
            "SELECT 1 FROM {processes} WHERE ID<>{waiter} \
             AND STATE LIKE 'Waiting for % lock' AND TIME <= {seconds} \
             AND COALESCE(INFO, '') NOT LIKE 'LOCK TABLES %' LIMIT 1"
        )
    })?;
    Ok(!rows.is_empty())
}

/// State of a connection that waits for a named lock, as [`write_out`](crate::description::write_out) does.
const WAITS_FOR_TURN: &str = "User lock";

/// The state of a connection that waits for its turn, or for a metadata lock: of a table, a database, or all of the server.
fn wait_of(session: &mut Session, id: u64) -> Result<Option<String>> {
    let rows = session.query_processes(|processes| {
        format!(
            "SELECT STATE FROM {processes} WHERE ID={id} \
             AND (STATE LIKE 'Waiting for % lock' OR STATE IN ('Waiting for table flush', '{WAITS_FOR_TURN}'))"
        )
    })?;
    rows.first().map(|row| row.text(0)).transpose()
}

/// The kind of lock that a connection in this state waits for, as far as the state tells. FLUSH TABLES WITH READ LOCK
/// takes the global one; MariaDB has one state for those who wait for that or for a backup.
fn kind_of(state: &str, flavor: Flavor) -> Option<&'static str> {
    match state {
        "Waiting for backup lock" if flavor == Flavor::MariaDb => {
            Some("backup lock or global read lock")
        }
        "Waiting for backup lock" => Some("backup lock"),
        "Waiting for global read lock" => Some("global read lock"),
        _ => state.ends_with(" metadata lock").then_some("metadata lock"),
    }
}

/// Who may hold a lock that keeps others from tables: at most [`HOLDERS_MAX`] connections, one sentence each. Not the
/// connection that asks, nor connections of our `own`.
///
/// Exact with the plugin METADATA_LOCK_INFO, and on MySQL for accounts that may read performance_schema; else every connection that is in a transaction or
/// runs a statement that names a table; else those that are idle, since LOCK TABLES and FLUSH
/// TABLES WITH READ LOCK leave no other trace.
pub fn lock_holders(
    session: &mut Session,
    tables: &[&TableName],
    own: &[u64],
) -> Result<Vec<String>> {
    holders_of(session, tables, own, WaitedLock::Metadata(None))
}

/// A lock that is waited for.
#[derive(Clone, Copy)]
pub(crate) enum WaitedLock {
    /// A metadata lock; its kind in words, if that is known.
    Metadata(Option<&'static str>),
    /// The lock of a row, perhaps: metadata locks of its holder say nothing.
    Row,
}

/// The same of a lock that is waited for.
pub(crate) fn holders_of(
    session: &mut Session,
    tables: &[&TableName],
    own: &[u64],
    waited: WaitedLock,
) -> Result<Vec<String>> {
    let own: String = own.iter().map(|id| format!(", {id}")).collect();
    let others = format!("p.ID NOT IN (CONNECTION_ID(){own}) AND p.COMMAND <> 'Daemon'");
    let select = |processes: &str, since: &str, kind: &str, joins: &str, which: &str| {
        format!(
            "SELECT p.ID, p.USER, p.HOST, p.TIME, p.INFO, {since}, MIN({kind}) FROM {processes} p {joins} \
             WHERE {others} AND {which} GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 4 DESC LIMIT {HOLDERS_MAX}"
        )
    };
    let Locks { joins: locks, exact, kind: exact_kind } =
        Locks::of(session.version().flavor, tables);
    let (kind, exact_kind) = match waited {
        WaitedLock::Metadata(kind) => (kind.map_or("NULL".to_owned(), quote_text), exact_kind),
        WaitedLock::Row => ("NULL".to_owned(), "NULL"),
    };
    let transactions = "LEFT JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = p.ID";
    let names_it =
        format!("({})", of_each(tables, |_, table| format!("INSTR(p.INFO, {table}) > 0")));
    let busy = format!("(t.trx_id IS NOT NULL OR {names_it})");
    // From the surest to the vaguest; an account without PROCESS may not see transactions, and nobody may on MySQL
    // while a statement has a character of four bytes.
    let questions: [&dyn Fn(&str) -> String; 4] = [
        &|processes| select(processes, AGE, exact_kind, &format!("{locks} {transactions}"), &exact),
        &|processes| select(processes, "NULL", exact_kind, locks, &exact),
        &|processes| select(processes, AGE, &kind, transactions, &busy),
        &|processes| select(processes, "NULL", &kind, "", &names_it),
    ];
    let mut holders = Vec::new();
    for question in questions {
        // A plugin that is not there, a right that is missing.
        let Ok(rows) = session.query_processes(question) else { continue };
        holders = rows.iter().map(holder_text).collect::<Result<_>>()?;
        if !holders.is_empty() {
            break;
        }
    }
    holders.extend(prepared(session).unwrap_or_default());
    if holders.is_empty() {
        // Who leaves no trace.
        let idle = |processes: &str| select(processes, "NULL", &kind, "", "p.COMMAND = 'Sleep'");
        let rows = session.query_processes(idle).unwrap_or_default();
        holders = rows.iter().map(holder_text).collect::<Result<_>>()?;
    }
    Ok(holders)
}

/// The list of a server's locks, as a question for holders takes it.
struct Locks {
    /// The list, joined with that of the connections.
    joins: &'static str,
    /// Which of them keep others from tables. Statements hold weaker locks of the whole server, by which they wait for a
    /// backup.
    exact: String,
    /// The kind of a lock, in words.
    kind: &'static str,
}

impl Locks {
    fn of(flavor: Flavor, tables: &[&TableName]) -> Locks {
        if flavor == Flavor::MariaDb {
            let named = of_each(tables, |database, table| {
                format!("m.TABLE_SCHEMA={database} AND m.TABLE_NAME={table}")
            });
            let exact = format!(
                "({named} OR m.LOCK_TYPE='Backup lock' AND \
                 m.LOCK_MODE NOT IN ('MDL_BACKUP_DML', 'MDL_BACKUP_DDL', 'MDL_BACKUP_ALTER_COPY'))"
            );
            return Locks {
                joins: "JOIN information_schema.METADATA_LOCK_INFO m ON m.THREAD_ID = p.ID",
                exact,
                kind: "CASE WHEN m.LOCK_MODE LIKE 'MDL_BACKUP_FTWRL_' THEN 'global read lock' \
                       WHEN m.LOCK_TYPE='Backup lock' THEN 'backup lock' ELSE 'metadata lock' END",
            };
        }
        let named = of_each(tables, |database, table| {
            format!(
                "m.OBJECT_TYPE='TABLE' AND m.OBJECT_SCHEMA={database} AND m.OBJECT_NAME={table}"
            )
        });
        let exact = format!(
            "m.LOCK_STATUS='GRANTED' AND ({named} OR m.OBJECT_TYPE IN ('GLOBAL', 'BACKUP LOCK') AND \
             m.LOCK_TYPE<>'INTENTION_EXCLUSIVE')"
        );
        Locks {
            joins: "JOIN performance_schema.threads h ON h.PROCESSLIST_ID = p.ID \
                    JOIN performance_schema.metadata_locks m ON m.OWNER_THREAD_ID = h.THREAD_ID",
            exact,
            kind: "CASE m.OBJECT_TYPE WHEN 'GLOBAL' THEN 'global read lock' \
                   WHEN 'BACKUP LOCK' THEN 'backup lock' ELSE 'metadata lock' END",
        }
    }
}

/// A condition on each of the tables, by their quoted names.
fn of_each(tables: &[&TableName], condition: impl Fn(&str, &str) -> String) -> String {
    let conditions = tables
        .iter()
        .map(|table| condition(&quote_text(&table.database), &quote_text(&table.table)));
    conditions.collect::<Vec<_>>().join(" OR ")
}

/// Transactions that no connection has, prepared ones by their ids, in words. The server does not say which tables
/// they have changed.
///
/// Errors: the account may not look.
fn prepared(session: &mut Session) -> Result<Option<String>> {
    let count = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id=0";
    if session.query_text(count)?.as_deref() == Some("0") {
        return Ok(None);
    }
    let age = format!(
        "SELECT MAX({AGE}) FROM information_schema.INNODB_TRX \
         WHERE trx_mysql_thread_id=0 AND trx_rows_modified>0"
    );
    let Some(seconds) = session.query_row(&age)?.text_or_null(0)? else { return Ok(None) };
    let format = if session.version().flavor == Flavor::MariaDb { " FORMAT='SQL'" } else { "" };
    let rows = session.query(&format!("XA RECOVER{format}"));
    let ids: Vec<String> = rows.unwrap_or_default().iter().map(|row| row.text_lossy(3)).collect();
    let (named, more) = (ids[..ids.len().min(IDS_NAMED)].join(", "), ids.len() > IDS_NAMED);
    let others = if more { " and others" } else { "" };
    Ok(Some(match ids.len() {
        0 => format!("a transaction without a connection, for {seconds} s"),
        1 => format!(
            "prepared XA transaction {named}, for {seconds} s (XA COMMIT or XA ROLLBACK ends it)"
        ),
        _ => format!(
            "prepared XA transactions {named}{others}, for up to {seconds} s (XA COMMIT or XA \
             ROLLBACK ends them)"
        ),
    }))
}

fn holder_text(row: &Row) -> Result<String> {
    let (id, user, host) = (row.text(0)?, row.text(1)?, row.text_lossy(2));
    let mut text = format!("connection {id} of {user}@{host}");
    if let Some(kind) = row.text_or_null(6)? {
        let _ = write!(text, ", with a {kind}");
    }
    if let Some(seconds) = row.text_or_null(5)? {
        // Writing to a text does not fail.
        let _ = write!(text, ", in a transaction for {seconds} s");
    }
    let _ = match row.bytes(4) {
        Some(info) => {
            let statement = server::error::shorten(&String::from_utf8_lossy(info));
            write!(text, " ({statement}, for {} s)", row.text_lossy(3))
        }
        None => write!(text, " (idle for {} s)", row.text_lossy(3)),
    };
    Ok(text)
}

/// Who a connection is, for messages: `root@localhost, for 3 s`; empty when it cannot be seen.
pub fn describe(session: &mut Session, id: u64) -> String {
    let rows = session.query_processes(|processes| {
        format!(
            "SELECT CONCAT(USER, '@', HOST, ', connected or busy for ', TIME, ' s') \
             FROM {processes} WHERE ID={id}"
        )
    });
    rows.ok().and_then(|rows| rows.first()?.text(0).ok()).unwrap_or_default()
}
