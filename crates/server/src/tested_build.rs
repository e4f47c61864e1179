//! The build of a server: tested, proven on this machine, or unknown to the direct path.
//!
//! ```text
//! STATE/builds/KEY     first line `proven` or `differs: ..`, then the build and its settings
//! ```
//!
//! KEY is made of the build, of settings that change its files, and of this build of Inrush: a proof says
//! nothing about others.

use std::ffi::OsStr;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use disk::private;
use face::call;
use face::option::{PROVE, UNTESTED_SERVER};

use crate::error::{Error, Result};
use crate::identifier::digest;
use crate::session::Session;
use crate::version::Version;

/// Folder of the results, in the state folder.
const FOLDER: &str = "builds";
/// Raised whenever built files, or the tables of a proof, change: proofs of before count no more.
const PROOF: u32 = 2;
/// The first line of a good result.
const PROVEN: &str = "proven";
const DIFFERS: &str = "differs: ";

/// Names of a build. A version text alone may be that of two builds.
const NAMES: [&str; 4] =
    ["version", "version_comment", "version_compile_machine", "version_source_revision"];

/// Settings under which a build is proven, as its user runs it.
///
/// The first five decide about the bytes of new files. `lower_case_table_names` decides about their names,
/// `innodb_change_buffering` about entries that go into imported indexes later. Encryption and compression of new tables
/// exclude the direct path; undo logs, the size of the redo log, the doublewrite buffer and the flush method have no
/// part in a file.
pub const SETTINGS: [&str; 7] = [
    "innodb_page_size",
    "innodb_checksum_algorithm",
    "innodb_default_row_format",
    "innodb_compression_default",
    "innodb_file_per_table",
    "lower_case_table_names",
    "innodb_change_buffering",
];

/// The build of a server, and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBuild {
    /// Its version.
    pub version: Version,
    names: Vec<(String, String)>,
    /// Values of those of [`SETTINGS`] that the server has.
    pub settings: Vec<(String, String)>,
}

/// The result of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Built tables were equal to those of LOAD DATA.
    Proven,
    /// The difference, as a sentence.
    Differs(String),
}

impl ServerBuild {
    /// Asks the server. Changes nothing.
    pub fn read(session: &mut Session) -> Result<ServerBuild> {
        let names = values(session, &NAMES)?;
        let settings = values(session, &SETTINGS)?;
        Ok(ServerBuild { version: session.version().clone(), names, settings })
    }

    /// True if it is the same build; its settings may be others.
    pub fn is_same_program(&self, other: &ServerBuild) -> bool {
        self.names == other.names
    }

    /// The result of its proof; none if there was none.
    ///
    /// Errors: a state folder that cannot be read.
    pub fn outcome(&self, state_dir: &Path) -> Result<Option<Outcome>> {
        let failed = |e| Error::io("reading", state_dir.join(FOLDER), e);
        let read = || {
            let folder = private::open(&state_dir.join(FOLDER))?;
            private::read(&folder, OsStr::new(&self.key()), "proof")
        };
        let bytes = match read() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(failed)?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().next().unwrap_or_default();
        // A file that was cut short says nothing.
        Ok(match line.strip_prefix(DIFFERS) {
            Some(what) => Some(Outcome::Differs(what.to_owned())),
            None => (line == PROVEN).then_some(Outcome::Proven),
        })
    }

    /// Keeps the result of its proof.
    ///
    /// Errors: a state folder that cannot be written.
    pub fn keep(&self, state_dir: &Path, outcome: &Outcome) -> Result<()> {
        let first = match outcome {
            Outcome::Proven => PROVEN.to_owned(),
            Outcome::Differs(what) => format!("{DIFFERS}{}", what.replace('\n', " ")),
        };
        let lines = self.names.iter().chain(&self.settings);
        let lines: Vec<String> = lines.map(|(name, value)| format!("{name}={value}")).collect();
        let text = format!("{first}\n{}\n", lines.join("\n"));
        let written = private::make(state_dir)
            .and_then(|state| private::subfolder(&state, FOLDER))
            .and_then(|folder| private::write(&folder, &self.key(), text.as_bytes(), "proof"));
        written.map_err(|e| Error::io("writing", state_dir.join(FOLDER), e))
    }

    fn key(&self) -> String {
        let ours = (env!("CARGO_PKG_VERSION"), PROOF);
        let all = format!("{ours:?}{:?}{:?}", self.names, self.settings);
        format!("{:016x}", digest(all.as_bytes()))
    }
}

impl fmt::Display for ServerBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.names.iter().find(|(name, _)| name == "version_source_revision");
        match revision.map(|(_, value)| value.get(..8).unwrap_or(value)).filter(|id| !id.is_empty())
        {
            Some(revision) => write!(f, "{} ({revision})", self.version),
            None => write!(f, "{}", self.version),
        }
    }
}

/// Why a server gets no built files, for its build; none if it may.
///
/// Errors: the server's; a state folder that cannot be read.
pub(crate) fn objection(session: &mut Session) -> Result<Option<String>> {
    let untested = session.options().untested.clone();
    let version = session.version();
    if version.unfit().is_some() || version.is_tested() || untested.are_allowed {
        return Ok(None);
    }
    let outcome = match &untested.state_dir {
        Some(state_dir) => ServerBuild::read(session)?.outcome(state_dir)?,
        None => None,
    };
    let prove = call("doctor", PROVE);
    Ok(match (outcome, untested.obstacle) {
        (Some(Outcome::Proven), _) => None,
        (Some(Outcome::Differs(what)), _) => Some(format!(
            "the proof of this build failed: {what}; {prove} tries again, {UNTESTED_SERVER} builds all the same"
        )),
        (None, Some(obstacle)) => Some(format!(
            "this build is not on the tested list and cannot be proven: {obstacle}; {UNTESTED_SERVER} builds \
             without proof"
        )),
        (None, None) => Some(format!(
            "this build is not on the tested list and not proven yet: {prove} proves it, {UNTESTED_SERVER} builds \
             without proof"
        )),
    })
}

fn values(session: &mut Session, names: &[&str]) -> Result<Vec<(String, String)>> {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW GLOBAL VARIABLES WHERE LOWER(Variable_name) IN ({})", list.join(","));
    let mut found = Vec::new();
    for row in session.query(&sql)? {
        let (name, value) = (row.text(0)?.to_ascii_lowercase(), row.text_lossy(1));
        // The ending says only that a log is on.
        let value = value.strip_suffix("-log").map(str::to_owned).unwrap_or(value);
        found.push((name, value));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn build(version: &str, settings: &[(&str, &str)]) -> ServerBuild {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        ServerBuild {
            version: Version::parse(version).unwrap(),
            names: pairs(&[("version", version), ("version_source_revision", "0123456789abcdef")]),
            settings: pairs(settings),
        }
    }

    #[test]
    fn a_proof_counts_for_its_build_and_settings_alone() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("inrush");
        let of =
            |version: &str, format: &str| build(version, &[("innodb_default_row_format", format)]);
        let proven = of("10.6.21-MariaDB", "dynamic");
        assert_eq!(proven.to_string(), "10.6.21-MariaDB (01234567)");
        assert_eq!(proven.outcome(&state).unwrap(), None);
        proven.keep(&state, &Outcome::Proven).unwrap();
        assert_eq!(proven.outcome(&state).unwrap(), Some(Outcome::Proven));
        assert_eq!(of("10.6.21-MariaDB", "compact").outcome(&state).unwrap(), None);
        assert_eq!(of("10.6.22-MariaDB", "dynamic").outcome(&state).unwrap(), None);
        let differs = Outcome::Differs("table keys, index b".to_owned());
        proven.keep(&state, &differs).unwrap();
        assert_eq!(proven.outcome(&state).unwrap(), Some(differs));
    }
}
