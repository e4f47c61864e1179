//! A MySQL that imports accepted files, and what it does not survive.

use std::fs;
use std::time::Duration;

use innodb::ids::PAGE_SIZE;
use innodb::space_format::{SpaceFormat, renumber};
use server::Session;
use testkit::TestServer;

use super::Accepted;

/// The effect of an accepted file on the server.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server ended.
    Ended(String),
    /// CHECK TABLE complained.
    Check(String),
}

impl Fault {
    pub(super) fn describe(&self, accepted: &Accepted<'_>) -> String {
        let what = match self {
            Fault::Ended(what) => format!("the server ended: {what}"),
            Fault::Check(what) => format!("CHECK TABLE: {what}"),
        };
        let Accepted { seed, built, damage, .. } = accepted;
        format!("seed {seed}, table {}, {damage}: {what}", built.table.name)
    }
}

/// A MySQL of one batch.
pub(super) struct Importer {
    server: TestServer,
    session: Session,
    pub(super) checks: Vec<String>,
}

impl Importer {
    pub(super) fn start() -> Importer {
        let server = TestServer::mysql(Vec::new()).unwrap();
        let session = connect(&server);
        Importer { server, session, checks: Vec::new() }
    }

    /// Imports files and uses their tables, then restarts; gives how many it came to, and the fault that ended
    /// it.
    pub(super) fn batch(&mut self, accepted: &[Accepted<'_>]) -> (usize, Option<Fault>) {
        let mut imported = Vec::new();
        for (at, one) in accepted.iter().enumerate() {
            match self.import(at, one) {
                Ok(true) => imported.push(at),
                Ok(false) => {}
                Err(fault) => return (at, Some(fault)),
            }
        }
        // Purge comes to everything before the server ends.
        let _ = self.session.exec("SET GLOBAL innodb_fast_shutdown=0");
        if let Err(error) = self.server.restart() {
            return (accepted.len(), Some(Fault::Ended(self.last_words(&error.to_string()))));
        }
        if self.server.error_log().contains("got signal") {
            return (accepted.len(), Some(Fault::Ended(self.last_words("at the restart"))));
        }
        self.session = connect(&self.server);
        for at in imported {
            for sql in accepted[at].built.table.statements {
                if let Err(fault) = self.exec(&sql.replace("{}", &format!("d.x{at}"))) {
                    return (at, Some(fault));
                }
            }
        }
        (accepted.len(), None)
    }

    /// Imports one file as table `x<at>`; false if the server refuses it.
    fn import(&mut self, at: usize, one: &Accepted<'_>) -> Result<bool, Fault> {
        let table = format!("d.x{at}");
        self.exec(&format!("CREATE TABLE {table} {}", one.built.table.definition))?;
        let sql =
            format!("SELECT SPACE FROM information_schema.INNODB_TABLES WHERE NAME='d/x{at}'");
        let row = self.session.query_row(&sql).unwrap();
        let space_id: u32 = row.number(0).unwrap();
        self.exec(&format!("ALTER TABLE {table} DISCARD TABLESPACE"))?;
        let path = self.server.datadir().join("d").join(format!("x{at}.ibd"));
        fs::write(&path, renumbered(&one.file, space_id)).unwrap();
        fs::write(path.with_extension("cfg"), one.built.cfg.to_bytes()).unwrap();
        let is_imported = self.exec(&format!("ALTER TABLE {table} IMPORT TABLESPACE"))?;
        if !is_imported {
            self.exec(&format!("DROP TABLE {table}"))?;
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(path.with_extension("cfg"));
            return Ok(false);
        }
        self.check(&table, one)?;
        for sql in one.built.table.statements {
            self.exec(&sql.replace("{}", &table))?;
        }
        // Values that two indexes do not agree on are no fault of the file's structure.
        self.exec(&format!("CHECK TABLE {table} EXTENDED"))?;
        Ok(true)
    }

    fn check(&mut self, table: &str, one: &Accepted<'_>) -> Result<(), Fault> {
        let sql = format!("CHECK TABLE {table} EXTENDED");
        match self.session.query(&sql) {
            Ok(rows) => {
                let last = rows.last().map(|row| row.text_lossy(3)).unwrap_or_default();
                if last != "OK" {
                    let text = rows.iter().map(|row| row.text_lossy(3)).collect::<Vec<_>>();
                    let fault = Fault::Check(text.join("; ")).describe(one);
                    self.checks.push(fault);
                }
                Ok(())
            }
            Err(error) => self.survives(&sql, &error.to_string()).map(drop),
        }
    }

    /// Runs a statement; false if it failed.
    fn exec(&mut self, sql: &str) -> Result<bool, Fault> {
        let done = if sql.starts_with("SELECT") || sql.starts_with("CHECK") {
            self.session.query(sql).map(drop)
        } else {
            self.session.exec(sql).map(drop)
        };
        match done {
            Ok(()) => Ok(true),
            Err(error) => self.survives(sql, &error.to_string()).map(|()| false),
        }
    }

    /// True if the server is still there after an error.
    fn survives(&mut self, sql: &str, error: &str) -> Result<(), Fault> {
        if self.session.exec("DO 1").is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
        match self.server.connect() {
            Ok(session) => {
                self.session = session;
                Ok(())
            }
            Err(_) => Err(Fault::Ended(self.last_words(&format!("{sql}: {error}")))),
        }
    }

    /// The assertion that ended the server.
    fn last_words(&self, sql: &str) -> String {
        let log = self.server.error_log();
        let is_told = |line: &&str| {
            ["Assertion", "[FATAL]", "signal", "[ERROR]"].iter().any(|word| line.contains(word))
        };
        let lines: Vec<&str> = log.lines().filter(is_told).collect();
        format!("{sql}: {}", lines[lines.len().saturating_sub(4)..].join(" / "))
    }
}

fn connect(server: &TestServer) -> Session {
    let mut session = server.connect().unwrap();
    session.exec("SET SESSION max_execution_time=20000").unwrap();
    session.exec("CREATE DATABASE IF NOT EXISTS d").unwrap();
    session
}

/// The file with another number of its tablespace, as a load gives it the staging table's.
fn renumbered(file: &[u8], space_id: u32) -> Vec<u8> {
    let mut file = file.to_vec();
    let (pages, _) = file.as_chunks_mut::<PAGE_SIZE>();
    let Some((first, others)) = pages.split_first_mut() else { return file };
    if let Ok(format) = renumber(first, space_id) {
        others.iter_mut().for_each(|page| SpaceFormat::renumber_other(format, page, space_id));
    }
    file
}
