//! Journals of jobs that are done, kept open until the process exits.
//!
//! A process that is killed before its user has read the report may have loaded all rows. Its journal is
//! not closed then, and the same command finds that its rows are in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use locks::Mutex;

use crate::failpoint;
use crate::jobs::{self, Job};
use crate::journal::{self, Event, Journal};

/// Journals to close, the oldest first.
static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

/// The journal of a job that is done.
struct Open {
    journal: Arc<Mutex<Journal>>,
    state_dir: PathBuf,
    /// Killed jobs that it has finished.
    finished: Vec<Job>,
}

/// Keeps a journal open, and its lock, until [`close_jobs`].
pub(crate) fn keep(journal: Arc<Mutex<Journal>>, state_dir: &Path, finished: Vec<Job>) {
    let open = Open { journal, state_dir: state_dir.to_owned(), finished };
    OPEN.lock().push(open);
}

/// Closes the journals of all jobs of this process that went well, and those of jobs that these have
/// finished. The process exits right behind this.
///
/// A journal that cannot be written to is left open: the same command then finds its rows once more.
pub fn close_jobs() {
    end_jobs(journal::JOB, Event::Closed, "");
}

/// Ends the journals of all jobs of this process that went well, where their command failed at a `missing` table
/// behind them: they are not closed, so that the same command loads the missing tables only. True if there are
/// such jobs.
pub fn leave_jobs(missing: &str) -> bool {
    end_jobs(journal::MISSING, Event::Begin, missing)
}

/// Closes the journals that jobs of this process have finished, and writes the last line of their own.
fn end_jobs(step: &str, event: Event, detail: &str) -> bool {
    let open = std::mem::take(&mut *OPEN.lock());
    if !open.is_empty() {
        failpoint::hit("job.reported");
    }
    for job in &open {
        for finished in &job.finished {
            let _ = jobs::close(&job.state_dir, finished);
        }
    }
    let are_some = !open.is_empty();
    for job in open {
        // A power cut may take this line: the job is finished once more then.
        let mut open = job.journal.lock();
        let _ = open.write(step, event, detail);
        drop(open);
        // The system ends the lock with the process: no call of ours follows.
        std::mem::forget(job.journal);
    }
    are_some
}
