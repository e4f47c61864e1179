//! The private server of a proof: its folder and its arguments.

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::mariadbd::{Place, Wrapper};
use server::ServerBuild;
use server::error::{Error, Result};
use server::version::Flavor;

/// The beginning of a folder's name, before the number of the process.
const PREFIX: &str = "inrush-proof-";

/// Arguments of the private server beside the user's settings: small, and safe against kills of its process.
const ARGUMENTS: [&str; 15] = [
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--innodb-data-file-path=ibdata1:12M:autoextend",
    // Its process is killed, and never the machine.
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-buffer-pool-load-at-startup=0",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
    "--performance-schema=OFF",
    "--local-infile=ON",
    "--skip-log-bin",
    // A newer one makes itself a certificate at each start, which can take seconds.
    "--skip-ssl",
    "--sql-mode=",
];

/// The same for MySQL, which has no other port and makes no certificates then.
const ARGUMENTS_MYSQL: [&str; 15] = [
    "--innodb-buffer-pool-size=64M",
    "--innodb-redo-log-capacity=64M",
    "--innodb-data-file-path=ibdata1:12M:autoextend",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-buffer-pool-load-at-startup=0",
    "--key-buffer-size=1M",
    "--local-infile=ON",
    "--disable-log-bin",
    "--mysqlx=OFF",
    "--auto-generate-certs=OFF",
    "--secure-file-priv=",
    "--sql-mode=",
];

/// Arguments of a private server for a build with its settings.
pub(crate) fn arguments(build: &ServerBuild) -> Vec<String> {
    let own = match build.version.flavor {
        Flavor::MariaDb => &ARGUMENTS,
        Flavor::MySql => &ARGUMENTS_MYSQL,
    };
    let settings = build.settings.iter().map(|(name, value)| format!("--{name}={value}"));
    own.iter().map(|argument| (*argument).to_owned()).chain(settings).collect()
}

/// The folder of a private server, removed when it is dropped.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    /// Makes it, and removes those of killed proofs.
    pub(crate) fn make(temp_dir: &Path) -> Result<Folder> {
        let temp_dir =
            std::path::absolute(temp_dir).map_err(|e| Error::io("finding", temp_dir, e))?;
        disk::private::remove_left(&temp_dir, PREFIX);
        let path = temp_dir.join(format!("{PREFIX}{}", std::process::id()));
        let made = disk::private::make(&path).and_then(|_| disk::private::make(&path.join("tmp")));
        made.map_err(|e| Error::io("making", &path, e))?;
        Ok(Folder { path })
    }

    /// Where its server keeps its files.
    pub(crate) fn place(&self) -> Place {
        Place {
            datadir: self.path.join("data"),
            socket: sandbox::socket_path(&self.path),
            pid_file: self.path.join("server.pid"),
            error_log: self.path.join("error.log"),
            tmpdir: self.path.join("tmp"),
            wrapper: Wrapper::DiesWithUs,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is removed by the next proof.
        let _ = fs::remove_dir_all(&self.path);
    }
}
