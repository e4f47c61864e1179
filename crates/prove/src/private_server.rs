//! The private server of a proof: its folder and its arguments.

use std::path::Path;

use disk::TempFolder;
use sandbox::mariadbd::{Place, Wrapper};
use server::ServerBuild;
use server::error::{Error, Result};
use server::version::Flavor;

/// The beginning of a folder's name, before the number of the process.
const PREFIX: &str = "inrush-proof-";
/// The folder in it for the server's temporary files.
const TMP: &str = "tmp";

/// Arguments of the private server beside the user's settings: small, and safe against kills of its process.
const ARGUMENTS: [&str; 9] = [
    "--innodb-buffer-pool-size=64M",
    "--innodb-data-file-path=ibdata1:12M:autoextend",
    // Its process is killed, and never the machine.
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-buffer-pool-load-at-startup=0",
    "--local-infile=ON",
    "--sql-mode=",
];

const ARGUMENTS_MARIADB: &[&str] = &[
    "--innodb-log-file-size=32M",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
    "--performance-schema=OFF",
    "--skip-log-bin",
    // A newer one makes itself a certificate at each start, which can take seconds.
    "--skip-ssl",
];

/// MySQL has no other port and makes no certificates then.
const ARGUMENTS_MYSQL: &[&str] = &[
    "--innodb-redo-log-capacity=64M",
    "--key-buffer-size=1M",
    "--disable-log-bin",
    "--mysqlx=OFF",
    "--auto-generate-certs=OFF",
    "--secure-file-priv=",
];

/// Arguments of a private server for a build with its settings.
pub(crate) fn arguments(build: &ServerBuild) -> Vec<String> {
    let own = match build.version.flavor {
        Flavor::MariaDb => ARGUMENTS_MARIADB,
        Flavor::MySql => ARGUMENTS_MYSQL,
    };
    let settings = build.settings.iter().map(|(name, value)| format!("--{name}={value}"));
    let small = ARGUMENTS.iter().chain(own).map(|argument| (*argument).to_owned());
    small.chain(settings).collect()
}

/// Makes the folder of a private server, and removes those of killed proofs.
pub(crate) fn folder(temp_dir: &Path) -> Result<TempFolder> {
    let folder = TempFolder::create(temp_dir, PREFIX, "proof");
    let folder = folder.map_err(|e| Error::io("making a folder in", temp_dir, e))?;
    let tmp = folder.folder().subfolder(TMP);
    tmp.map_err(|e| Error::io("making", folder.path().join(TMP), e))?;
    Ok(folder)
}

/// Where the server of a folder keeps its files.
pub(crate) fn place(folder: &Path) -> Place {
    Place {
        datadir: folder.join("data"),
        socket: sandbox::socket_path(folder),
        pid_file: folder.join("server.pid"),
        error_log: folder.join("error.log"),
        tmpdir: folder.join(TMP),
        wrapper: Wrapper::DiesWithUs,
    }
}
