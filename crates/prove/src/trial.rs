//! The trial of a build: the same rows by the direct path and by LOAD DATA, compared until something differs.
//!
//! ```text
//! first rows: built | LOAD DATA   kill -9   compare   statements   ALTER TABLE   more rows: merged | LOAD DATA
//! compare   statements   kill -9   compare   stop, start   compare, CHECK TABLE EXTENDED
//! ```

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use load::{LoadOptions, LoadPath, Mode};
use sandbox::TemporaryServer;
use server::error::{Error, Result};
use server::{Session, UntestedBuilds};

use crate::tables::{ProofTable, TABLES};

/// Databases of built tables, and of those that LOAD DATA fills.
const BUILT: &str = "built";
const LOADED: &str = "loaded";
const MEMORY_BYTES: u64 = 256 << 20;
/// Rows that HANDLER reads at most: all there are.
const ALL: u32 = 1_000_000;
/// Statements on both tables, by the number of a row: in the middle, at the end, back again, and undone.
const STATEMENTS: [&str; 6] = [
    "DELETE FROM {} WHERE n % 7 = 3",
    "UPDATE {} SET n = n + 100000 WHERE n % 5 = 1 ORDER BY n DESC",
    "BEGIN",
    "DELETE FROM {} WHERE n % 3 = 1",
    "ROLLBACK",
    "DELETE FROM {} WHERE n BETWEEN 400 AND 460",
];

/// A trial on a private server.
pub(crate) struct Trial<'a> {
    server: &'a TemporaryServer,
    folder: &'a Path,
    tables: Vec<ProofTable>,
}

/// An end before the last comparison.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server did something else, as a sentence.
    Differs(String),
    /// A connection ended: the server crashed, or somebody killed it.
    Lost(String),
    /// The disk, or the user, ended the trial.
    Ended(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        match error {
            error if error.is_cut() => Failed::Lost(error.to_string()),
            error if is_of_machine(&error) => Failed::Ended(error),
            error => Failed::Differs(error.to_string()),
        }
    }
}

/// True for an error of the disk, or a stop: it says nothing about the build.
fn is_of_machine(error: &Error) -> bool {
    match error {
        Error::Io { .. } | Error::Forbidden { .. } | Error::UnusableFile { .. } => true,
        Error::Interrupted => true,
        error => error.is_full(),
    }
}

type Step = std::result::Result<(), Failed>;

impl<'a> Trial<'a> {
    /// A trial by all tables that the server's version has.
    pub(crate) fn new(server: &'a TemporaryServer, folder: &'a Path) -> Trial<'a> {
        let version = &server.binary.version;
        let tables = TABLES.iter().filter(|table| table.is_of(version)).copied().collect();
        Trial { server, folder, tables }
    }

    /// Number of its tables.
    pub(crate) fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Runs it to the end, or to the first difference.
    pub(crate) fn run(&self) -> Step {
        self.create()?;
        self.load_first()?;
        self.crash()?;
        self.compare("after the load and a kill")?;
        self.change()?;
        self.alter()?;
        self.load_more()?;
        self.compare("after rows were merged")?;
        self.change()?;
        self.crash()?;
        self.compare("after statements and a kill")?;
        self.server.stop()?;
        self.server.start()?;
        self.compare("after a restart")?;
        self.check()
    }

    fn create(&self) -> Step {
        let mut session = self.server.connect()?;
        for database in [BUILT, LOADED] {
            session.exec(&format!("CREATE DATABASE {database} CHARACTER SET latin1"))?;
            session.exec(&format!("USE {database}"))?;
            for ProofTable { name, definition, .. } in &self.tables {
                let head = definition.replacen(" PARTITION BY", " ENGINE=InnoDB PARTITION BY", 1);
                let engine = if head.contains("ENGINE=") { "" } else { " ENGINE=InnoDB" };
                session.exec(&format!("CREATE TABLE {name} {head}{engine}"))?;
            }
        }
        Ok(())
    }

    /// The first two thirds of the rows, all tables at once.
    fn load_first(&self) -> Step {
        let mut options = Vec::new();
        for table in &self.tables {
            options.push(self.options(table, Mode::Insert, table.text(0, first_end(table)))?);
        }
        let connect = self.connect();
        load::load_several(&connect, &options, &()).map_err(of_load)?;
        let mut session = self.server.connect()?;
        self.tables
            .iter()
            .try_for_each(|table| load_data(&mut session, table, table.text(0, first_end(table))))
    }

    /// The rest: merged with the rows there by the direct path, or loaded by the server into both.
    fn load_more(&self) -> Step {
        let connect = self.connect();
        let mut session = self.server.connect()?;
        for table in &self.tables {
            let text = table.text(first_end(table), table.rows);
            if table.is_merged_on(self.server.binary.version.flavor) {
                let options = self.options(table, Mode::Append, text.clone())?;
                load::load(&connect, &options, None, &()).map_err(of_load)?;
            } else {
                load_into(&mut session, BUILT, table, text.clone())?;
            }
            load_data(&mut session, table, text)?;
        }
        Ok(())
    }

    fn connect(&self) -> server::ConnectOptions {
        let untested = UntestedBuilds { are_allowed: true, ..UntestedBuilds::default() };
        server::ConnectOptions { untested, ..self.server.place.connect_options() }
    }

    /// A load by the direct path of a file with this text.
    fn options(&self, table: &ProofTable, mode: Mode, text: String) -> Result<LoadOptions> {
        let path = self.folder.join(format!("{}.txt", table.name));
        fs::write(&path, text).map_err(|e| Error::io("writing", &path, e))?;
        let mut options = LoadOptions::new(vec![path], BUILT, table.name);
        (options.mode, options.path) = (mode, LoadPath::Direct);
        options.state_dir = self.folder.join("state");
        options.server.untested = true;
        options.server.write_block_seconds_max = None;
        options.limits.temp_dir = self.folder.to_owned();
        options.limits.memory_bytes_max = options.limits.memory_bytes_max.min(MEMORY_BYTES);
        Ok(options)
    }

    /// Kills the server as it is, and starts it.
    fn crash(&self) -> Step {
        self.server.kill_9()?;
        Ok(self.server.start()?)
    }

    /// Rows of before have another form then.
    fn alter(&self) -> Step {
        let mut session = self.server.connect()?;
        for table in &self.tables {
            let Some(change) = table.altered else { continue };
            for database in [BUILT, LOADED] {
                let name = table.name;
                session
                    .exec(&format!("ALTER TABLE {database}.{name} {change}, ALGORITHM=INSTANT"))?;
            }
        }
        Ok(())
    }

    /// The same statements on both tables.
    fn change(&self) -> Step {
        let mut session = self.server.connect()?;
        for table in &self.tables {
            for statement in STATEMENTS {
                let mut rows = [0; 2];
                for (database, rows) in [BUILT, LOADED].into_iter().zip(&mut rows) {
                    let name = format!("{database}.{}", table.name);
                    *rows = session.exec(&statement.replace("{}", &name))?.affected_rows;
                }
                if rows[0] != rows[1] {
                    return differs(
                        table,
                        "",
                        &format!("{statement} changed {} and {} rows", rows[0], rows[1]),
                    );
                }
            }
        }
        Ok(())
    }

    /// Every row of every table, through each index in its order.
    fn compare(&self, when: &str) -> Step {
        let mut session = self.server.connect()?;
        session.exec("SET NAMES binary")?;
        for table in &self.tables {
            for index in table.indexes {
                let built = read(&mut session, BUILT, table, index)?;
                let loaded = read(&mut session, LOADED, table, index)?;
                if built == loaded {
                    continue;
                }
                let at = built.iter().zip(&loaded).position(|(a, b)| a != b);
                let what = match at {
                    Some(at) => format!(
                        "row {} is {} and {}",
                        at + 1,
                        shown(&built[at]),
                        shown(&loaded[at])
                    ),
                    None => format!("{} and {} rows", built.len(), loaded.len()),
                };
                return differs(table, &format!(", index {index}"), &format!("{what} {when}"));
            }
        }
        Ok(())
    }

    fn check(&self) -> Step {
        let mut session = self.server.connect()?;
        for table in &self.tables {
            let sql = format!("CHECK TABLE {BUILT}.{} EXTENDED", table.name);
            for row in session.query(&sql)? {
                let text = row.text(3)?;
                if text != "OK" {
                    return differs(table, "", &format!("CHECK TABLE says: {text}"));
                }
            }
        }
        Ok(())
    }
}

/// The number behind the rows of the first load.
fn first_end(table: &ProofTable) -> u32 {
    table.rows * 2 / 3
}

fn differs(table: &ProofTable, index: &str, what: &str) -> Step {
    Err(Failed::Differs(format!("table {}{index}: {what} (built, and by LOAD DATA)", table.name)))
}

fn load_data(session: &mut Session, table: &ProofTable, text: String) -> Step {
    load_into(session, LOADED, table, text)
}

fn load_into(session: &mut Session, database: &str, table: &ProofTable, text: String) -> Step {
    let name = table.name;
    let sql = format!(
        "LOAD DATA LOCAL INFILE '{name}' INTO TABLE {database}.{name} CHARACTER SET {}",
        table.charset()
    );
    session.load_local(&sql, Cursor::new(text.into_bytes()))?;
    Ok(())
}

/// All rows through an index, in its order.
fn read(
    session: &mut Session,
    database: &str,
    table: &ProofTable,
    index: &str,
) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
    let name = format!("{database}.{}", table.name);
    let rows = if table.is_partitioned() {
        session.query(&format!("SELECT * FROM {name} FORCE INDEX (`{index}`) ORDER BY n"))?
    } else {
        session.exec(&format!("HANDLER {name} OPEN AS handled"))?;
        let rows = session.query(&format!("HANDLER handled READ `{index}` FIRST LIMIT {ALL}"));
        session.exec("HANDLER handled CLOSE")?;
        rows?
    };
    let row =
        |row: &server::Row| (0..row.len()).map(|at| row.bytes(at).map(<[u8]>::to_vec)).collect();
    Ok(rows.iter().map(row).collect())
}

/// A row, shortened, for a message.
fn shown(row: &[Option<Vec<u8>>]) -> String {
    const BYTES_MAX: usize = 80;
    let field = |field: &Option<Vec<u8>>| match field {
        None => "NULL".to_owned(),
        Some(bytes) => String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES_MAX)]).into_owned(),
    };
    let text: Vec<String> = row.iter().map(field).collect();
    let text: String = text.join(", ").chars().take(BYTES_MAX * 2).collect();
    format!("({text})").replace(|c: char| c.is_control(), " ")
}

/// The failure of a load: it says nothing about the build if the disk or the user ended the load.
fn of_load(error: load::Error) -> Failed {
    fn of_cause(error: &load::Error, text: String) -> Failed {
        match error {
            load::Error::Step { error, .. } | load::Error::Several { error, .. } => {
                of_cause(error, text)
            }
            load::Error::Server(error) if error.is_cut() => Failed::Lost(text),
            load::Error::Server(error) if is_of_machine(error) => {
                Failed::Ended(Error::Option(text))
            }
            load::Error::Io { .. } => Failed::Ended(Error::Option(text)),
            _ => Failed::Differs(text),
        }
    }
    of_cause(&error, format!("a load by the direct path failed: {error}"))
}

/// How long the private server may take to start.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk was kept as the verdict that the build differs.
    #[test]
    fn failures_of_the_machine_are_no_verdict() {
        let refused = |errno, message: &str| Error::Statement {
            errno,
            sqlstate: "HY000".to_owned(),
            message: message.to_owned(),
            statement: "INSERT".to_owned(),
        };
        let no_space = "Got error 28 \"No space left on device\" from storage engine InnoDB";
        for (errno, message) in [(3, ""), (1021, ""), (1114, ""), (1030, no_space)] {
            let failed = of_load(load::Error::Server(refused(errno, message)));
            assert!(matches!(failed, Failed::Ended(_)), "{errno}: {failed:?}");
            assert!(matches!(Failed::from(refused(errno, message)), Failed::Ended(_)), "{errno}");
        }
        for (errno, message) in [(1030, "Got error 126"), (1808, "")] {
            assert!(matches!(Failed::from(refused(errno, message)), Failed::Differs(_)), "{errno}");
        }
        let lost = Error::Lost { message: String::new(), statement: String::new() };
        assert!(matches!(of_load(load::Error::Server(lost)), Failed::Lost(_)));
    }
}
