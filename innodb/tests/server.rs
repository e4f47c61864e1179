//! A private MariaDB for tests, driven through its command line client.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) struct TestServer {
    folder: PathBuf,
    process: Option<Child>,
}

impl TestServer {
    /// Starts a server in a new folder; `None`, said on standard error, if none is installed.
    pub(crate) fn start(name: &str) -> Option<TestServer> {
        let Some(install) = program("mariadb-install-db") else {
            eprintln!("skipped: MariaDB is not installed (apt-get install mariadb-server)");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("inrush-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut server = TestServer { folder, process: None };
        let status = Command::new(install)
            .args(["--no-defaults", "--user=root", "--skip-test-db"])
            .arg("--auth-root-authentication-method=normal")
            .arg(format!("--datadir={}", server.data().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "mariadb-install-db");
        server.launch();
        server.sql("create database p");
        Some(server)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    fn launch(&mut self) {
        let log = fs::File::create(self.folder.join("log")).unwrap();
        let process = Command::new(program("mariadbd").expect("mariadbd beside its installer"))
            .args(["--no-defaults", "--user=root", "--skip-networking"])
            .args(["--innodb-buffer-pool-size=256M", "--innodb-log-file-size=256M"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"])
            .arg("--sql-mode=STRICT_TRANS_TABLES,NO_UNSIGNED_SUBTRACTION")
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--socket={}", self.socket().display()))
            // Servers clear their tmpdir of each other's temporary tables when they start.
            .arg(format!("--tmpdir={}", self.folder.display()))
            .arg(format!("--pid-file={}", self.folder.join("pid").display()))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(process);
        for _ in 0..600 {
            if self.client("select 1").status.success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not answer: {}", self.log());
    }

    fn client(&self, sql: &str) -> std::process::Output {
        let mut client = Command::new(program("mariadb").expect("mariadb beside mariadbd"))
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
            .arg("--default-character-set=utf8mb4")
            .arg(format!("--socket={}", self.socket().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A client that found no server reads nothing; its status tells.
        let _ = client.stdin.take().unwrap().write_all(sql.as_bytes());
        client.wait_with_output().unwrap()
    }

    /// Runs statements; an error fails the test. The database is `p`, once it is there.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let has_database = self.data().join("p").is_dir();
        let sql = &if has_database { format!("use p;\n{sql}") } else { sql.to_owned() };
        let output = self.client(sql);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}\n{error}\n{}", self.log());
        String::from_utf8(output.stdout).unwrap()
    }

    /// `.ibd` and `.cfg` of table `p.<table>`, as exported.
    pub(crate) fn export(&self, table: &str) -> (Vec<u8>, Vec<u8>) {
        let path = |suffix| self.data().join("p").join(format!("{table}.{suffix}"));
        let copy = |suffix| self.folder.join(format!("exported.{suffix}"));
        self.sql(&format!(
            "flush tables p.{table} for export;\n\\! cp {} {}\n\\! cp {} {}\nunlock tables;\n",
            path("ibd").display(),
            copy("ibd").display(),
            path("cfg").display(),
            copy("cfg").display()
        ));
        (fs::read(copy("ibd")).unwrap(), fs::read(copy("cfg")).unwrap())
    }

    pub(crate) fn restart(&mut self) {
        self.sql("shutdown");
        self.process.take().unwrap().wait().unwrap();
        self.launch();
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Path of an installed program of the server; `sbin` is not on every user's path.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder: PathBuf| folder.join(name)).find(|file| file.is_file())
}
