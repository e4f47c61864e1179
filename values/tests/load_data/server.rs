//! A private server in a folder of its own: socket only, gone when dropped.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use values::habits::Habits;

/// Zone the server calls SYSTEM.
pub(crate) const SYSTEM_ZONE: &str = "Europe/Berlin";
/// Where the zone files are.
const ZONEINFO: &str = "/usr/share/zoneinfo";

pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    /// Conversions that servers do differently.
    pub(crate) habits: Habits,
}

/// The folder of the server that INRUSH_TEST_MARIADBD names: it holds bin, scripts and share.
fn base() -> Option<PathBuf> {
    let binary = PathBuf::from(std::env::var_os("INRUSH_TEST_MARIADBD")?);
    let base = binary.parent()?.parent()?;
    (base != Path::new("/usr")).then(|| base.to_owned())
}

/// The named server's program, or the one in PATH.
fn path_of(program: &str) -> PathBuf {
    let folders = ["bin", "sbin", "scripts"];
    let paths = base().into_iter().flat_map(|base| folders.map(|sub| base.join(sub).join(program)));
    paths.into_iter().find(|path| path.is_file()).unwrap_or_else(|| program.into())
}

/// Whether the programs are there.
pub(crate) fn is_installed() -> bool {
    ["mariadbd", "mariadb-install-db", "mariadb"].iter().all(|program| {
        let mut help = Command::new(path_of(program));
        help.arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    })
}

impl Server {
    pub(crate) fn start() -> Result<Server, Box<dyn Error>> {
        let folder = std::env::temp_dir().join(format!("inrush-values-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let data = folder.join("data");
        let base = base().map(|base| format!("--basedir={}", base.display()));
        let installed = Command::new(path_of("mariadb-install-db"))
            .args(["--no-defaults", "--user=root", "--skip-test-db"])
            .args(&base)
            .arg("--auth-root-authentication-method=normal")
            .arg(format!("--datadir={}", data.display()))
            .arg("--innodb-log-file-size=4M")
            .stdout(Stdio::null())
            .status()?;
        assert!(installed.success(), "mariadb-install-db failed");
        let child = Command::new(path_of("mariadbd"))
            .args(["--no-defaults", "--user=root", "--skip-networking", "--skip-name-resolve"])
            .args(&base)
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.join("socket").display()))
            .arg(format!("--log-error={}", folder.join("error.log").display()))
            .args(["--innodb-log-file-size=4M", "--innodb-buffer-pool-size=32M"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"])
            .args(["--character-set-server=utf8mb4", "--secure-file-priv="])
            .env("TZ", SYSTEM_ZONE)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Server { child, folder, habits: Habits::default() };
        let begun = Instant::now();
        while server.run("SELECT 1").is_err() {
            assert!(server.child.try_wait()?.is_none(), "mariadbd ended at once");
            assert!(begun.elapsed() < Duration::from_secs(60), "mariadbd does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server.run("CREATE DATABASE oracle")?;
        let zero = server.run("SELECT CAST('-0' AS DOUBLE)")?;
        let label = "BEGIN NOT ATOMIC DECLARE label ENUM('a'); SET label = '0'; END//";
        server.habits = Habits {
            negative_zero: zero.trim() == "-0",
            timestamp_to_2106: server.run("SELECT UNIX_TIMESTAMP('2100-01-01') > 0")?.trim() == "1",
            inet6_takes_inet4: server.run("SELECT CAST('1.2.3.4' AS INET6)")?.trim() != "NULL",
            enum_zero: server.run(&format!("DELIMITER //\n{label}")).is_ok(),
        };
        Ok(server)
    }

    /// Folder for input files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn tablespace(&self, table: &str) -> PathBuf {
        self.folder.join("data/oracle").join(format!("{table}.ibd"))
    }

    /// Runs statements and gives their rows, tab-separated. Err: the first error's text.
    pub(crate) fn run(&self, sql: &str) -> Result<String, Box<dyn Error>> {
        self.client(&[], sql)
    }

    /// As [`Server::run`], but goes on after errors.
    pub(crate) fn run_all(&self, sql: &str) -> Result<String, Box<dyn Error>> {
        self.client(&["--force"], sql)
    }

    fn client(&self, options: &[&str], sql: &str) -> Result<String, Box<dyn Error>> {
        let mut client = Command::new(path_of("mariadb"))
            .arg("--no-defaults")
            .arg(format!("--socket={}", self.folder.join("socket").display()))
            .args(["--user=root", "--batch", "--skip-column-names"])
            .args(["--default-character-set=utf8mb4"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut input = client.stdin.take().ok_or("no stdin")?;
        let script = sql.to_owned();
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let output = client.wait_with_output()?;
        writer.join().map_err(|_| "the writing thread panicked")??;
        if !output.status.success() && !options.contains(&"--force") {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Loads a named time zone; false if this machine lacks the tool or the file.
    pub(crate) fn load_zone(&self, name: &str) -> Result<bool, Box<dyn Error>> {
        let file = Path::new(ZONEINFO).join(name);
        let tool = Command::new("mariadb-tzinfo-to-sql").arg(&file).arg(name).output();
        match tool {
            Ok(output) if output.status.success() => {
                let sql = String::from_utf8(output.stdout)?;
                self.run(&format!("USE mysql;\n{sql}"))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Ends the server so that its files hold every page.
    pub(crate) fn stop(&mut self) -> Result<(), Box<dyn Error>> {
        self.run("SHUTDOWN")?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::env::var_os("INRUSH_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
