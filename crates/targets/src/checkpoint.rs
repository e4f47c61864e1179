//! A checkpoint between DISCARD and IMPORT, without which a crash can empty the new table.
//!
//! IMPORT gives the adopted file the tablespace number the empty staging table had and sets the LSN of
//! all its pages to 0. If the server crashes while its log still holds the *creation* of the
//! staging table, recovery finds a file of that number with old pages and applies the creation to it:
//! roots and allocation pages are those of the empty table again. Seen on 10.11.19: 100 rows
//! imported and swapped in, `kill -9`, restart, 0 rows and no error. So the log has to start
//! after the DISCARD before IMPORT may run.
//!
//! `SET GLOBAL innodb_log_checkpoint_now=1` sets nothing that stays: it writes out the buffer
//! pool's dirty pages and moves the log's start. That can take long on a busy server, so it runs
//! on a connection of its own while the file is being built. Where others write all the time it does not
//! end at all, since it goes on until nothing was written meanwhile; the log has long moved then,
//! which is looked for.
//!
//! Release builds before MDEV-30000 have no such variable. There the page cleaner writes the changed pages out: four
//! variables have it do so at once ([`FLUSH_VARIABLES`](server::facts::FLUSH_VARIABLES)), for as long as the log
//! begins before the LSN. The cleaner works once a second, and so does the checkpoint.
//! Source: MariaDB 10.11, storage/innobase/handler/ha_innodb.cc, `checkpoint_now_set`.
//!
//! IMPORT of MySQL ends with a checkpoint of its own, and a table that it has not finished is still without
//! tablespace after a crash, so that nothing has to pass before it.
//! Source: MySQL 9.7, storage/innobase/row/row0import.cc, `row_import_cleanup`; tried on 9.7.4.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use disk::failpoint;

use server::error::{Error, Result};
use server::facts::CheckpointWay;
use server::session::Session;

/// The statement, and the name of the variable, which not every version has.
const CHECKPOINT: &str = "SET GLOBAL innodb_log_checkpoint_now=1";
/// Another page may get dirty and be written between two looks; more rounds mean it never ends.
const ROUNDS_MAX: u32 = 3;
/// Bytes of the record that a checkpoint itself logs (`FILE_CHECKPOINT`), in plain and in an
/// encrypted log. A checkpoint that finds nothing but the record of the one before does nothing.
/// Source: MariaDB 10.11, log0log.h, `SIZE_OF_FILE_CHECKPOINT`; buf0flu.cc, `log_checkpoint_low`.
/// Before 10.8 the record has 12 bytes, and the frame of a block may lie before it: 16 bytes, 20 in an encrypted log.
const RECORD_BYTES: [u64; 5] = [12, 16, 24, 28, 32];

/// Between the first two looks whether the log has moved, and between later ones: a pause is twice the one before.
const LOOK_MIN: Duration = Duration::from_millis(2);
const LOOK_MAX: Duration = Duration::from_millis(20);

/// How long a load that failed waits for its checkpoint to end. The server does not stop one when
/// asked to, so without the wait loads that fail one after the other use up its connections.
const DROP_WAIT: Duration = Duration::from_secs(2);
/// The same where variables are to be put back, of a server that answers.
const RESTORE_WAIT: Duration = Duration::from_secs(10);

/// How often variables are tried to be set that a load from elsewhere has set, a second apart.
const TRIES: u32 = 30;
const TRY_PAUSE: Duration = Duration::from_secs(1);

/// A checkpoint on its way.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    /// None once somebody waited for it.
    thread: Option<JoinHandle<(Session, Result<()>)>>,
    /// LSN that it has to pass.
    done_at: u64,
    way: CheckpointWay,
    /// True once nobody waits for it.
    is_abandoned: Arc<AtomicBool>,
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        let begun = Instant::now();
        let runs = |thread: &JoinHandle<_>| !thread.is_finished();
        self.is_abandoned.store(true, Ordering::Relaxed);
        let most = match self.way {
            CheckpointWay::Statement | CheckpointWay::Import => DROP_WAIT,
            CheckpointWay::Flush => RESTORE_WAIT,
        };
        while self.thread.as_ref().is_some_and(runs) && begun.elapsed() < most {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Checkpoint {
    /// Starts one, on a connection of its own, that takes in everything `session` has done so far.
    pub(crate) fn start(
        session: &mut Session,
        mut other: Session,
        way: CheckpointWay,
    ) -> Result<Checkpoint> {
        let done_at = status(session, "Innodb_lsn_current")?;
        let is_abandoned = Arc::new(AtomicBool::new(false));
        let abandoned = Arc::clone(&is_abandoned);
        let thread = std::thread::spawn(move || {
            failpoint::hit("thread.checkpoint");
            let passed = match way {
                CheckpointWay::Statement => checkpoint(&mut other, done_at),
                // Nobody waits for it before.
                CheckpointWay::Import => Ok(()),
                CheckpointWay::Flush => flush(&mut other, done_at, &abandoned),
            };
            (other, passed)
        });
        Ok(Checkpoint { thread: Some(thread), done_at, way, is_abandoned })
    }

    /// Waits at most so long until the log starts after what was done before [`Checkpoint::start`]; false
    /// if that takes longer.
    pub(crate) fn passes_within(&self, session: &mut Session, limit: Duration) -> Result<bool> {
        let (begun, mut pause) = (Instant::now(), LOOK_MIN);
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if has_passed(status(session, "Innodb_lsn_last_checkpoint")?, self.done_at) {
                break;
            }
            if begun.elapsed() >= limit {
                return Ok(false);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK_MAX);
        }
        Ok(true)
    }

    /// Waits until the log starts after what was done before [`Checkpoint::start`], as `session` sees
    /// it; gives the connection back, unless the server goes on with it.
    pub(crate) fn wait(mut self, session: &mut Session) -> Result<Option<Session>> {
        let mut pause = LOOK_MIN;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            // Of a flush the thread sees it too, and puts its variables back first.
            if self.way == CheckpointWay::Statement
                && has_passed(status(session, "Innodb_lsn_last_checkpoint")?, self.done_at)
            {
                // It ends as soon as nobody writes for a moment, and its connection with it.
                drop(self.thread.take());
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK_MAX);
        }
        let lost = || Error::lost("the checkpoint thread has ended", CHECKPOINT);
        let joined = self.thread.take().and_then(|thread| thread.join().ok());
        let (session, passed) = joined.ok_or_else(lost)?;
        passed.map(|()| Some(session))
    }
}

fn checkpoint(session: &mut Session, done_at: u64) -> Result<()> {
    let mut seen = 0;
    for _ in 0..ROUNDS_MAX {
        session.exec(CHECKPOINT)?;
        seen = status(session, "Innodb_lsn_last_checkpoint")?;
        if has_passed(seen, done_at) {
            return Ok(());
        }
    }
    Err(Error::Checkpoint { seen, expected: done_at })
}

/// Waits until the server has written out what was changed before an LSN, which it does at once meanwhile.
fn flush(session: &mut Session, done_at: u64, is_abandoned: &AtomicBool) -> Result<()> {
    let has_passed = |session: &mut Session| -> Result<bool> {
        let seen = status(session, "Innodb_lsn_last_checkpoint")?;
        Ok(has_passed(seen, done_at) || is_abandoned.load(Ordering::Relaxed))
    };
    let mut set = None;
    for number in 1..=TRIES {
        if has_passed(session)? {
            return Ok(());
        }
        match begin_flush(session) {
            Ok(begun) => {
                set = Some(begun);
                break;
            }
            // A load from elsewhere may have set them, for its own checkpoint, which serves us too.
            Err(error) if number == TRIES || error.errno().is_some() => return Err(error),
            Err(_) => std::thread::sleep(TRY_PAUSE),
        }
    }
    while !has_passed(session)? {
        std::thread::sleep(LOOK_MAX);
    }
    drop(set);
    Ok(())
}

/// Sets the variables of a flush, until the value is dropped.
fn begin_flush(session: &Session) -> Result<Box<dyn Send>> {
    let options = session.options();
    let flushing = options.flushing.as_ref();
    let missing = || Error::Option("nothing sets the variables of a flush".to_owned());
    flushing.ok_or_else(missing).and_then(|flushing| (flushing.begin)(options, &flushing.state_dir))
}

/// True if the log starts at or behind an LSN.
fn has_passed(seen: u64, done_at: u64) -> bool {
    seen >= done_at || RECORD_BYTES.contains(&(done_at - seen))
}

/// A number of the server's status.
pub(crate) fn status(session: &mut Session, name: &str) -> Result<u64> {
    session.query_row(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?.number(1)
}
