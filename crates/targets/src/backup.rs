//! Backups that copy the server's files while it works.
//!
//! mariadb-backup copies files and follows the redo log beside. The pages of an imported file are not
//! in the log, which says of its tablespace number only that it was deleted, by the DISCARD before:
//! a backup that has seen that leaves the table out, without a word. One that begins later, behind
//! the checkpoint that the import waits for, copies the file: as it is placed, or at its end as that
//! of a table which came meanwhile. So the file is placed when all backups that had begun before are
//! through. They are known by the server's lock for backups, and by the redo log that they have open:
//! old versions take the lock late, and all take it some time after they look where the log ends.
//!
//! The lock is neither kept nor waited for in its queue: whoever waits for it, a backup or a load,
//! has all DDL of the server wait behind, the load's own included. It is asked for again and again.
//! Source: MariaDB 10.11, extra/mariabackup/xtrabackup.cc, `backup_file_op`, `BackupStages`;
//! sql/backup.cc; tried with mariadb-backup 10.11.19, begun at any moment of a load.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::lock::Lock;
use crate::turns::TURN;
use crate::waiting::ER_LOCK_WAIT_TIMEOUT;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::session::Session;
use server::version::Flavor;

/// A backup can take hours and is waited for to its end. Between two words about it.
const TELL_EVERY: Duration = Duration::from_secs(30);
/// Shorter waits are not worth a word.
const QUIET: Duration = Duration::from_secs(2);
/// Others have the lock for backups for less.
const MOMENT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);

/// The bits of open(2)'s flags that say whether a file is written to; 0 if it is not.
const ACCESS_MODE: u32 = 0o3;

impl Lock {
    /// Waits for the end of all backups that have begun; `other` is a connection besides.
    ///
    /// Errors: [`Error::LockWait`](server::Error::LockWait) where the lock for backups does not come and
    /// nobody is seen to make one: DDL that waits for locks has it too. [`Error::Yielded`](server::Error::Yielded)
    /// where others wait for the load by now.
    pub(super) fn wait_for_backups(
        &mut self,
        dir: &DatabaseDir,
        other: &mut Session,
    ) -> Result<()> {
        if self.session.version().flavor == Flavor::MySql {
            // Backups of MySQL have a lock that IMPORT waits for.
            return Ok(());
        }
        let log = self.redo_log(dir)?;
        let readers_now = || log.as_deref().map(readers).unwrap_or_default();
        let readers = readers_now();
        other.set(&[("lock_wait_timeout", "0")])?;
        let (begun, mut told) = (Instant::now(), None);
        while !takes_stage(other)? {
            self.session.options().interrupt.check()?;
            let waited = begun.elapsed();
            self.yield_to_backup(waited)?;
            if waited >= self.patience.wait && readers_now().is_empty() {
                return Err(self.patience.timed_out(other, Vec::new()));
            }
            let is_news = told.is_none_or(|told: Instant| told.elapsed() >= TELL_EVERY);
            if is_news && waited >= QUIET {
                told = Some(Instant::now());
                self.patience.say(
                    "waiting until a backup ends, because the backup would lack the table, or \
                     until DDL that waits for locks ends",
                );
            }
            sleep(POLL);
        }
        other.set_lock_wait(self.patience.wait)?;
        self.wait_for_end_of(&readers)
    }

    /// True if a backup runs; `other` is a connection besides. Another load that looks for backups, and DDL that
    /// waits for a lock, look like one for a moment.
    ///
    /// Errors: the server's.
    pub(super) fn runs_backup(&mut self, dir: &DatabaseDir, other: &mut Session) -> Result<bool> {
        let log = self.redo_log(dir)?;
        let is_read = || log.as_deref().is_some_and(|log| !readers(log).is_empty());
        other.set(&[("lock_wait_timeout", "0")])?;
        let begun = Instant::now();
        let mut runs = true;
        while runs && begun.elapsed() < MOMENT {
            self.session.options().interrupt.check()?;
            runs = is_read() || !takes_stage(other)?;
            if runs {
                sleep(POLL);
            }
        }
        other.set_lock_wait(self.patience.wait)?;
        Ok(runs)
    }

    /// Fails behind a [`TURN`] where others wait for the load.
    fn yield_to_backup(&self, waited: Duration) -> Result<()> {
        if self.keeps_others.is_none() || waited < TURN {
            return Ok(());
        }
        let holders = vec!["a backup, or DDL that waits for locks".to_owned()];
        let target = self.table.name.to_string();
        Err(Error::Yielded { target, seconds: waited.as_secs(), holders })
    }

    fn wait_for_end_of(&self, readers: &[Process]) -> Result<()> {
        let (begun, mut told) = (Instant::now(), Instant::now());
        for reader in readers {
            while reader.is_alive() {
                self.session.options().interrupt.check()?;
                self.yield_to_backup(begun.elapsed())?;
                if told.elapsed() >= TELL_EVERY {
                    told = Instant::now();
                    self.patience.say(&format!(
                        "waiting for the end of process {} ({}), which reads the redo log for a \
                         backup that would lack the table",
                        reader.id, reader.name
                    ));
                }
                sleep(POLL);
            }
        }
        Ok(())
    }

    /// The redo log, as this machine sees it.
    fn redo_log(&mut self, dir: &DatabaseDir) -> Result<Option<PathBuf>> {
        let folder = self.session.query_once("SELECT @@innodb_log_group_home_dir")?;
        let folder = folder.first().map_or(Ok(None), |row| row.text_or_null(0))?;
        let Some(datadir) = dir.path.parent() else { return Ok(None) };
        let Some(folder) = folder else { return Ok(None) };
        let folder = Path::new(&folder);
        // A server in a container names its folders as it sees them.
        let below = match folder.strip_prefix(&self.facts.datadir) {
            Ok(below) => below,
            Err(_) if folder.is_absolute() && self.facts.local_datadir.is_some() => {
                self.patience.say(
                    "backups that began before are not waited for: the redo log is outside of the data directory",
                );
                return Ok(None);
            }
            Err(_) => folder,
        };
        // An absolute path takes the place of the one before.
        Ok(Some(datadir.join(below).join("ib_logfile0")))
    }
}

/// Takes the lock for backups, if it is there at once, and lets it go. Who waits for it has all DDL
/// that begins wait behind.
fn takes_stage(session: &mut Session) -> Result<bool> {
    // A wish to stop between the two would leave the lock to the connection.
    let _shield = session.options().interrupt.shield();
    match session.exec("BACKUP STAGE START") {
        Err(error) if error.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => Ok(false),
        begun => {
            begun?;
            session.exec("BACKUP STAGE END")?;
            Ok(true)
        }
    }
}

/// A process that reads the redo log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    name: String,
    /// Numbers of processes are used again.
    started_at: String,
}

impl Process {
    /// None for one that has ended, also where nobody has asked how.
    fn of(id: u32) -> Option<Process> {
        let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?.trim_end().to_owned();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name stands in brackets and may hold some; field 22 of all is the 20th behind it.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let started_at = fields.nth(18)?.to_owned();
        (!has_ended).then_some(Process { id, name, started_at })
    }

    fn is_alive(&self) -> bool {
        Process::of(self.id).is_some_and(|process| process.started_at == self.started_at)
    }
}

/// Programs that have a file open to read, as far as this process may look: the server writes to it.
fn readers(file: &Path) -> Vec<Process> {
    let Ok(file) = fs::metadata(file).map(|meta| (meta.dev(), meta.ino())) else {
        return Vec::new();
    };
    let reads_it = |id: &u32| {
        let Ok(open) = fs::read_dir(format!("/proc/{id}/fd")) else { return false };
        open.flatten().any(|entry| {
            let is_it = |meta: fs::Metadata| (meta.dev(), meta.ino()) == file;
            fs::metadata(entry.path()).is_ok_and(is_it)
                && is_read_only(*id, &entry.file_name().to_string_lossy())
        })
    };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&id| id != std::process::id())
        .filter(reads_it)
        .filter_map(Process::of)
        .collect()
}

/// True if an open file of a process is not written to.
fn is_read_only(process: u32, file: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{file}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE == 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn programs_that_read_a_file_are_seen_until_they_end() {
        let path = std::env::temp_dir().join(format!("inrush-redo-{}", std::process::id()));
        fs::write(&path, "log").unwrap();
        assert_eq!(readers(&path), []);
        let both = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut server = Command::new("sleep").arg("60").stdin(both).spawn().unwrap();
        assert_eq!(readers(&path), [], "a process that writes to it is the server");
        server.kill().unwrap();
        server.wait().unwrap();
        let mut program =
            Command::new("sleep").arg("60").stdin(fs::File::open(&path).unwrap()).spawn().unwrap();
        let seen = readers(&path);
        assert_eq!(seen.iter().map(|process| process.id).collect::<Vec<_>>(), [program.id()]);
        assert!(seen[0].is_alive());
        program.kill().unwrap();
        while seen[0].is_alive() {
            sleep(POLL);
        }
        program.wait().unwrap();
        assert_eq!(readers(&path), []);
        fs::remove_file(path).unwrap();
    }
}
