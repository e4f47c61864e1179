//! A private MariaDB for tests, driven through its command line client.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::TestServerOptions;

pub(crate) struct TestServer(testkit::TestServer);

impl TestServer {
    /// Starts a server with a database `p`; `None`, with a line printed, if none is installed.
    pub(crate) fn start() -> Option<TestServer> {
        let extra = [
            "--innodb-buffer-pool-size=256M",
            "--innodb-log-file-size=256M",
            "--innodb-fast-shutdown=1",
            "--sql-mode=STRICT_TRANS_TABLES,NO_UNSIGNED_SUBTRACTION",
        ];
        let options = TestServerOptions {
            extra: extra.map(str::to_owned).into(),
            ..TestServerOptions::default()
        };
        let server = TestServer(testkit::TestServer::start_with(&options)?);
        server.0.script("create database p").unwrap();
        Some(server)
    }

    pub(crate) fn data(&self) -> &Path {
        self.0.datadir()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.dir()
    }

    /// Runs statements in database `p`; an error fails the test.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let script = format!("use p;\n{sql}");
        self.0.script(&script).unwrap_or_else(|e| panic!("{sql}\n{e}\n{}", self.0.error_log()))
    }

    /// `.ibd` and `.cfg` of table `p.<table>`, as exported.
    pub(crate) fn export(&self, table: &str) -> (Vec<u8>, Vec<u8>) {
        let path = |suffix| self.data().join("p").join(format!("{table}.{suffix}"));
        let copy = |suffix| self.folder().join(format!("exported.{suffix}"));
        self.sql(&format!(
            "flush tables p.{table} for export;\n\\! cp {} {}\n\\! cp {} {}\nunlock tables;\n",
            path("ibd").display(),
            copy("ibd").display(),
            path("cfg").display(),
            copy("cfg").display()
        ));
        let read = |path: PathBuf| fs::read(path).unwrap();
        (read(copy("ibd")), read(copy("cfg")))
    }

    pub(crate) fn restart(&self) {
        self.0.restart().unwrap();
    }
}
