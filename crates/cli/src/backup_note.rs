//! The note about backups: shown once a server, and never for the sandbox.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use disk::private;

use load::Report;
use load::report::backup_note;
use terminal::state::folder;

/// File in the state folder with the addresses of servers whose users have seen the note, one a line.
const FILE: &str = "backup-notes";
/// The kind of this file in errors of the disk.
const WHAT: &str = "notes";
/// Address of the sandbox in reports.
const SANDBOX: &str = "sandbox";

/// True if the note is shown with these reports. If so, it is not shown again for their server.
pub(crate) fn take(state_dir: Option<&Path>, reports: &[Report]) -> bool {
    let backup_note = backup_note();
    let has_note = |report: &&Report| report.notes.contains(&backup_note);
    let Some(report) = reports.iter().find(has_note) else { return false };
    let is_due = is_due(state_dir, &report.server_address);
    if is_due {
        // A note that cannot be remembered is shown again.
        let _ = remember(state_dir, &report.server_address);
    }
    is_due
}

/// True if nobody has seen the note for a server.
pub(crate) fn is_due(state_dir: Option<&Path>, address: &str) -> bool {
    let seen = private::open(&folder(state_dir))
        .and_then(|folder| private::read(&folder, OsStr::new(FILE), WHAT))
        .unwrap_or_default();
    let seen = String::from_utf8_lossy(&seen);
    address != SANDBOX && !seen.lines().any(|line| line == address)
}

fn remember(state_dir: Option<&Path>, address: &str) -> io::Result<()> {
    let folder = private::make(&folder(state_dir))?;
    let mut file = private::append_to(&folder, OsStr::new(FILE), WHAT)?;
    file.write_all(format!("{address}\n").as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_note_is_shown_once_a_server_and_never_for_the_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let report = |address: &str| Report {
            server_address: address.to_owned(),
            notes: vec![backup_note()],
            ..Report::default()
        };
        let state_dir = Some(folder.path());
        let take = |report: Report| take(state_dir, &[report]);
        assert!(!take(report("sandbox")));
        assert!(take(report("db1:3306")) && !take(report("db1:3306")));
        assert!(take(report("/run/mysqld.sock")));
        assert!(!take(Report { notes: Vec::new(), ..report("db2:3306") }));
        assert!(is_due(state_dir, "db2:3306"));
    }
}
