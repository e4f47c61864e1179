//! A private server in a folder of its own: socket only, gone when dropped.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{TestServer, TestServerOptions};
use values::habits::Habits;

/// Zone the server calls SYSTEM.
pub(crate) const SYSTEM_ZONE: &str = "Europe/Berlin";
/// Where the zone files are.
const ZONEINFO: &str = "/usr/share/zoneinfo";

pub(crate) struct Server {
    server: TestServer,
    /// Conversions that servers do differently.
    pub(crate) habits: Habits,
    /// True of MySQL, false of MariaDB.
    pub(crate) is_mysql: bool,
}

impl Server {
    /// None, with a line printed, when no server is installed.
    pub(crate) fn start() -> Result<Option<Server>, Box<dyn Error>> {
        // Its files are read when it has ended: they must hold every page.
        let extra =
            ["--innodb-fast-shutdown=1", "--character-set-server=utf8mb4", "--secure-file-priv="];
        let options = TestServerOptions {
            extra: extra.map(str::to_owned).into(),
            environment: vec![("TZ", SYSTEM_ZONE.to_owned())],
            ..TestServerOptions::default()
        };
        let Some(server) = TestServer::start_with(&options) else { return Ok(None) };
        let mut server = Server { server, habits: Habits::default(), is_mysql: false };
        server.run("CREATE DATABASE oracle")?;
        let zero = server.run("SELECT CAST('-0' AS DOUBLE)")?;
        let label = "BEGIN NOT ATOMIC DECLARE label ENUM('a'); SET label = '0'; END//";
        server.habits = Habits {
            negative_zero: zero.trim() == "-0",
            timestamp_to_2106: server.run("SELECT UNIX_TIMESTAMP('2100-01-01') > 0")?.trim() == "1",
            inet6_takes_inet4: server.run("SELECT CAST('1.2.3.4' AS INET6)")?.trim() != "NULL",
            enum_zero: server.run(&format!("DELIMITER //\n{label}")).is_ok(),
            ..Habits::default()
        };
        Ok(Some(server))
    }

    /// None, with a line printed, when no MySQL is named.
    pub(crate) fn start_mysql() -> Result<Option<Server>, Box<dyn Error>> {
        // The options of other tests' servers leave pages in memory at a shutdown.
        let extra =
            ["--innodb-fast-shutdown=1", "--secure-file-priv=", "--default-time-zone=SYSTEM"];
        let extra = extra.map(str::to_owned).into();
        let environment = vec![("TZ", SYSTEM_ZONE.to_owned())];
        let Some(server) = TestServer::mysql_in(extra, environment) else { return Ok(None) };
        let server = Server { server, habits: Habits::MYSQL, is_mysql: true };
        server.run("CREATE DATABASE oracle")?;
        Ok(Some(server))
    }

    /// Folder for input files.
    pub(crate) fn folder(&self) -> &Path {
        self.server.dir()
    }

    pub(crate) fn tablespace(&self, table: &str) -> PathBuf {
        self.server.datadir().join("oracle").join(format!("{table}.ibd"))
    }

    /// Runs statements and gives their rows, tab-separated. Err: the first error's text.
    pub(crate) fn run(&self, sql: &str) -> Result<String, String> {
        self.server.script(sql)
    }

    /// As [`Server::run`], but goes on after errors.
    pub(crate) fn run_all(&self, sql: &str) -> String {
        self.server.whole_script(sql)
    }

    /// `id,value,end` for each row.
    ///
    /// Bytes from 0x80 on are escaped for MariaDB, whose line reader takes a byte that begins a
    /// character together with the next one, even if that is the comma. Escaped, each goes to the
    /// column as it is. MySQL's line reader takes bytes together that are a character, escaped or not.
    pub(crate) fn lines<'a>(
        &self,
        rows: impl IntoIterator<Item = (usize, &'a Vec<u8>)>,
    ) -> Vec<u8> {
        let mut file = Vec::new();
        for (id, text) in rows {
            file.extend_from_slice(format!("{id},").as_bytes());
            for &byte in text {
                match byte {
                    b'\n' => file.extend_from_slice(b"\\n"),
                    b'\t' => file.extend_from_slice(b"\\t"),
                    0 => file.extend_from_slice(b"\\0"),
                    0x80.. if self.is_mysql => file.push(byte),
                    b'\\' | b',' | 0x80.. => file.extend_from_slice(&[b'\\', byte]),
                    _ => file.push(byte),
                }
            }
            // MySQL drops a byte that begins a character of more bytes than the file still has.
            file.extend_from_slice(b",end\n");
        }
        file
    }

    /// Loads a named time zone; false if this machine lacks the tool or the file.
    pub(crate) fn load_zone(&self, name: &str) -> Result<bool, Box<dyn Error>> {
        let file = Path::new(ZONEINFO).join(name);
        let tool = Command::new("mariadb-tzinfo-to-sql").arg(&file).arg(name).output();
        match tool {
            Ok(output) if output.status.success() => {
                let mut sql = String::from_utf8(output.stdout)?;
                if self.is_mysql {
                    sql = inserts(&sql);
                }
                self.run(&format!("USE mysql;\n{sql}"))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Ends the server so that its files hold every page.
    pub(crate) fn stop(&self) -> Result<(), Box<dyn Error>> {
        Ok(self.server.stop()?)
    }
}

/// The rows of a zone, without statements that only MariaDB knows.
fn inserts(sql: &str) -> String {
    let statements = sql.split_inclusive(";\n");
    let kept = statements.filter(|statement| {
        statement.starts_with("INSERT INTO") || statement.starts_with("SET @time_zone_id")
    });
    kept.collect()
}
