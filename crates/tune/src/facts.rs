//! Facts about a server, its machine and its disks, by questions and measurements. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use server::error::Result;
use server::version::Flavor;
use server::{ServerFacts, Session, Unsupported, Version};

use crate::disk_speed::DiskSpeed;
use crate::host::Host;
use crate::storage::Storage;

/// A server with what is below it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The server as loads see it: rights, replication, what is in the direct path's way.
    pub server: ServerFacts,
    /// Its global variables, names in lower case.
    pub variables: BTreeMap<String, String>,
    /// Those that a running server takes; none where it does not say.
    settable: Option<BTreeSet<String>>,
    /// True if MySQL's redo log is written; none if the server cannot leave it out.
    pub redo_log: Option<bool>,
    /// Tables that the account sees.
    pub tables: Option<Tables>,
    /// Tables that list the rows of loads which have not ended.
    pub ledgers: Vec<String>,
    /// The machine, if it is this one.
    pub host: Option<Host>,
    /// The storage of the data directory, if it is here.
    pub data: Option<Storage>,
    /// The storage of the server's temporary files, if it is here: of several the one with the
    /// least room.
    pub temporary: Option<Storage>,
    /// How fast the data directory's disk is, where it was measured.
    pub speed: Option<DiskSpeed>,
    /// The reason why files cannot be put into the data directory, as far as it was looked for.
    pub no_datadir: Option<Unsupported>,
    /// Facts that could not be read, and why, one sentence each.
    pub unread: Vec<String>,
}

/// InnoDB's tables, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tables {
    /// Their rows.
    pub data_bytes: u64,
    /// Their secondary indexes.
    pub index_bytes: u64,
    /// The largest of them with its indexes.
    pub largest_bytes: u64,
}

impl Facts {
    /// Reads the facts that a change of settings needs: from the server, and from its disk if that
    /// is here.
    pub fn read(session: &mut Session) -> Result<Facts> {
        let server = ServerFacts::read(session)?;
        let variables = variables(session)?;
        let mut facts = Facts {
            settable: settable(session),
            redo_log: redo_log(session),
            tables: None,
            ledgers: Vec::new(),
            host: None,
            data: None,
            temporary: None,
            speed: None,
            no_datadir: None,
            unread: Vec::new(),
            server,
            variables,
        };
        facts.look_around(session);
        Ok(facts)
    }

    /// The same with what only advice needs: sizes of tables, and how fast the disk is.
    pub fn examine(session: &mut Session) -> Result<Facts> {
        let mut facts = Facts::read(session)?;
        match tables(session) {
            Ok(tables) => facts.tables = Some(tables),
            Err(error) => facts.unread.push(format!("the sizes of tables: {error}")),
        }
        if !facts.server.privileges.on_server("SELECT") {
            facts.unread.push("the sizes of tables that this account may not read".to_owned());
        }
        facts.ledgers = ledgers(session)?;
        // The system's own database is in each data directory.
        if !facts.is_mysql() {
            facts.no_datadir = facts.server.database_dir(session, "mysql")?.err();
        }
        if let Some(data) = &facts.data {
            match DiskSpeed::measure(&data.path) {
                Ok(speed) => facts.speed = Some(speed),
                Err(error) => facts.unread.push(format!(
                    "the speed of the disk of {}: {error}; root or the server's user can measure \
                     it",
                    data.path.display()
                )),
            }
        }
        Ok(facts)
    }

    /// A global variable; none where the server has none of that name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// One that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }

    /// One that is a whole number.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// True if the variable exists and is neither off nor 0.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| !matches!(value, "" | "0" | "OFF" | "NO"))
    }

    /// True if the running server accepts another value for it; for MySQL, which does not tell,
    /// `otherwise`.
    pub(crate) fn is_settable(&self, name: &str, otherwise: bool) -> bool {
        match &self.settable {
            Some(settable) => settable.contains(name),
            None => otherwise,
        }
    }

    /// True if the account may set global variables, as far as its privileges can be seen.
    pub fn may_set(&self) -> bool {
        let rights = &self.server.privileges;
        rights.on_server("SUPER") || self.is_mysql() && rights.on_server("SYSTEM_VARIABLES_ADMIN")
    }

    /// The right that this takes.
    pub(crate) fn right_to_set(&self) -> &'static str {
        if self.is_mysql() { "SYSTEM_VARIABLES_ADMIN" } else { "SUPER" }
    }

    /// The server's version.
    pub fn version(&self) -> &Version {
        &self.server.version
    }

    /// True if the server is MySQL, or follows it.
    pub fn is_mysql(&self) -> bool {
        self.version().flavor == Flavor::MySql
    }

    /// Looks at the machine and the disks, where they are this machine's.
    fn look_around(&mut self, session: &Session) {
        let nodename = rustix::system::uname();
        let is_named = nodename.nodename().to_bytes() == self.server.hostname.as_bytes();
        let has_path = self.server.local_datadir.is_some();
        if !is_named && !has_path && session.options().socket_path().is_none() {
            let hostname = &self.server.hostname;
            self.unread.push(format!(
                "machine and disks of {hostname}, which is another machine: run this command there"
            ));
            return;
        }
        self.host = Some(Host::here());
        self.data = Some(self.server.data_folder().to_owned())
            .filter(|_| is_named || has_path)
            .and_then(|datadir| Storage::of(&datadir));
        if self.data.is_none() {
            self.unread.push(format!(
                "the disk of {}: that folder is not visible from here",
                self.server.datadir.display()
            ));
            return;
        }
        // A server in a container names its folder for temporary files as it sees it.
        self.temporary = if is_named { self.temporary_storage() } else { None };
    }

    /// The folder of `tmpdir` with the least room.
    fn temporary_storage(&self) -> Option<Storage> {
        let folders = self.text("innodb_tmpdir").filter(|folder| !folder.is_empty());
        let folders = folders.or_else(|| self.text("tmpdir"))?;
        let folders = folders.split(':').map(PathBuf::from);
        let found = folders.filter_map(|folder| Storage::of(Path::new(&folder)));
        found.min_by_key(|storage| storage.free_bytes)
    }
}

/// All global variables.
fn variables(session: &mut Session) -> Result<BTreeMap<String, String>> {
    let rows = session.query("SHOW GLOBAL VARIABLES")?;
    Ok(rows.iter().map(|row| (row.text_lossy(0).to_ascii_lowercase(), row.text_lossy(1))).collect())
}

/// Those of InnoDB and the binary log that MariaDB says a running server takes.
fn settable(session: &mut Session) -> Option<BTreeSet<String>> {
    if session.version().flavor == Flavor::MySql {
        return None;
    }
    let rows = session.query(
        "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE READ_ONLY = 'NO'",
    );
    Some(rows.ok()?.iter().map(|row| row.text_lossy(0)).collect())
}

/// MySQL 8.0.21 and later can leave the redo log out, and say whether they do.
fn redo_log(session: &mut Session) -> Option<bool> {
    if session.version().flavor == Flavor::MariaDb {
        return None;
    }
    let rows = session.query("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'").ok()?;
    Some(rows.first()?.text_lossy(1) == "ON")
}

/// The ones that the account sees.
fn ledgers(session: &mut Session) -> Result<Vec<String>> {
    let rows = session.query(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
         WHERE TABLE_NAME LIKE '\\_inrush\\_ledger\\_%' ORDER BY 1, 2",
    )?;
    Ok(rows.iter().map(|row| format!("{}.{}", row.text_lossy(0), row.text_lossy(1))).collect())
}

fn tables(session: &mut Session) -> Result<Tables> {
    let row = session.query_row(
        "SELECT CAST(COALESCE(SUM(DATA_LENGTH), 0) AS UNSIGNED), \
         CAST(COALESCE(SUM(INDEX_LENGTH), 0) AS UNSIGNED), \
         CAST(COALESCE(MAX(DATA_LENGTH + INDEX_LENGTH), 0) AS UNSIGNED) \
         FROM information_schema.TABLES WHERE ENGINE = 'InnoDB'",
    )?;
    Ok(Tables {
        data_bytes: row.number(0)?,
        index_bytes: row.number(1)?,
        largest_bytes: row.number(2)?,
    })
}
