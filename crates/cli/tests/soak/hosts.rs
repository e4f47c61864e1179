//! The servers of a soak.

use std::path::PathBuf;

use testkit::{TestServer, TestServerOptions};

use crate::settings::Settings;
use testkit::tables::server::Server;

/// Settings of servers: commits outlive the process, not the machine. That is enough for kills, and
/// quick.
const EXTRA: [&str; 7] = [
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-buffer-pool-size=256M",
    "--max-allowed-packet=64M",
    // Some make themselves a certificate at each start, which can take seconds; not all have the option.
    "--loose-skip-ssl",
    "--default-time-zone=+05:30",
    // Zero dates are values of the cases; MySQL refuses them by itself.
    "--sql-mode=STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
];

/// One server, and how it is named in SOAK_SERVERS.
pub(crate) struct Host {
    pub(crate) server: &'static TestServer,
    pub(crate) named: String,
}

/// Starts those that the settings name and that are there.
pub(crate) fn start(settings: &Settings) -> Vec<Host> {
    settings.servers.iter().filter_map(|binary| Host::start(binary.clone())).collect()
}

/// Ends all, and removes what they had.
pub(crate) fn end(hosts: Vec<Host>) {
    for host in hosts {
        let _ = host.server.kill_9();
        let _ = std::fs::remove_dir_all(host.server.dir());
    }
}

impl Host {
    fn start(binary: Option<PathBuf>) -> Option<Host> {
        let named = binary.as_ref().map_or("installed".into(), |path| path.display().to_string());
        let extra = EXTRA.map(str::to_owned).into();
        let server = TestServer::start_with(&TestServerOptions {
            durable: true,
            extra,
            binary,
            ..TestServerOptions::default()
        })?;
        // As long as the process.
        Some(Host { server: Box::leak(Box::new(server)), named })
    }

    pub(crate) fn server(&self) -> Server {
        Server::of(self.server)
    }

    pub(crate) fn version(&self) -> String {
        self.server.version().to_string()
    }

    /// Ends the server, by force or not, and starts it again.
    pub(crate) fn end_and_start(&self, by_force: bool) {
        if by_force {
            self.server.kill_9().unwrap();
        }
        let log = || self.server.error_log();
        self.server.restart().unwrap_or_else(|error| panic!("{error}\n{}", log()));
    }

    /// After a failed case, which may have left it dead.
    pub(crate) fn revive(&self) {
        if self.server.connect().is_err() {
            self.end_and_start(true);
        }
    }
}
