//! Data directories that the servers of tests are copies of: each made once, then only read.
//!
//! They are kept beside the build, or in the temporary folder, one for each server version and
//! each way of making it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use locks::Mutex;
use sandbox::mariadbd::Binary;
use server::error::{Error, Result};
use server::identifier::digest;
use server::version::Flavor;

/// Arguments of every server of a test; the template is made with them too.
const COMMON: [&str; 8] = [
    "--innodb-data-file-path=ibdata1:10M:autoextend",
    "--innodb-log-file-size=32M",
    "--innodb-buffer-pool-size=64M",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
    "--max-connections=250",
    "--local-infile=1",
    "--table-open-cache=200",
];

/// The same for MySQL, whose options are others; nor has it a port for another protocol.
const COMMON_MYSQL: [&str; 11] = [
    "--innodb-data-file-path=ibdata1:12M:autoextend",
    "--innodb-redo-log-capacity=64M",
    "--innodb-buffer-pool-size=64M",
    "--key-buffer-size=1M",
    "--max-connections=250",
    "--local-infile=1",
    "--table-open-cache=200",
    "--mysqlx=OFF",
    "--disable-log-bin",
    "--secure-file-priv=",
    // Numbers of `dialect`.
    "--cte-max-recursion-depth=1000000",
];

/// The options above that are for `binary`.
pub(crate) fn common(binary: &Binary) -> Vec<String> {
    let options: &[&str] = match binary.version.flavor {
        Flavor::MariaDb => &COMMON,
        Flavor::MySql => &COMMON_MYSQL,
    };
    options.iter().map(|&option| option.to_owned()).collect()
}

/// A data directory of `binary`, made with `options`.
pub(crate) fn of(binary: &Binary, options: &[String]) -> Result<PathBuf> {
    // Tests of one process start servers at the same time: one of them makes the template.
    static MAKING: Mutex<()> = Mutex::new(());
    let _one = MAKING.lock();
    let key = format!("{} {} {options:?}", binary.path.display(), binary.version);
    let parent = build_dir().unwrap_or_else(std::env::temp_dir).join("inrush-test-template");
    let dir = parent.join(format!("{:016x}", digest(key.as_bytes())));
    if dir.exists() {
        return Ok(dir);
    }
    fs::create_dir_all(&parent).map_err(|e| Error::io("making", &parent, e))?;
    let fresh = parent.join(format!("new-{}", std::process::id()));
    let _ = fs::remove_dir_all(&fresh);
    binary.install(&fresh, options)?;
    match fs::rename(&fresh, &dir) {
        // Another process was faster.
        Err(_) if dir.exists() => {
            let _ = fs::remove_dir_all(&fresh);
            Ok(dir)
        }
        Err(e) => Err(Error::io("renaming", &fresh, e)),
        Ok(()) => Ok(dir),
    }
}

/// The `target` folder that this test's program was built in.
fn build_dir() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let deps = exe.ancestors().find(|path| path.ends_with("deps"))?;
    Some(deps.parent()?.parent()?.to_owned())
}

/// Copies a template; holes stay holes.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp")
        .args(["-a", "--sparse=always", "--reflink=auto"])
        .args([from, to])
        .status()
        .map_err(|e| Error::io("copying", from, e))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::io("copying", from, std::io::Error::other(format!("cp ended with {status}"))))
}
