//! The other machine: an sshd with its own settings, keys and port, and the programs that it has.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::TestServer;

use crate::support::{Desk, PATIENCE};

const SSHD: &str = "/usr/sbin/sshd";
const SSH: &str = "/usr/bin/ssh";

/// A database, a home, and the sshd that leads to both.
pub(super) struct Machine {
    pub(super) desk: Desk,
    sshd: Child,
    port: u16,
    folder: PathBuf,
}

impl Machine {
    /// None, with a line, where there is no sshd.
    pub(super) fn new() -> Option<Machine> {
        Machine::with(Desk::new, "")
    }

    /// The same with a server that nobody else uses.
    pub(super) fn alone() -> Option<Machine> {
        let server = || TestServer::start().map(|server| Desk::on(Box::leak(Box::new(server))));
        Machine::with(server, "")
    }

    /// The same at this desk, with more variables of programs there.
    pub(super) fn with(desk: impl FnOnce() -> Option<Desk>, variables: &str) -> Option<Machine> {
        if [SSHD, SSH, "/usr/bin/ssh-keygen"].iter().any(|program| !Path::new(program).exists()) {
            println!("skipped: there is no sshd (openssh-server)");
            return None;
        }
        // sshd of root changes into this folder.
        if fs::create_dir_all("/run/sshd").is_err() {
            println!("skipped: sshd takes root");
            return None;
        }
        let desk = desk()?;
        let folder = desk.home.path().join("ssh");
        for name in ["", "there", "here"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let port = testkit::free_port().unwrap();
        settle(&desk, &folder, port, variables);
        let log = fs::File::create(folder.join("log")).unwrap();
        let sshd = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let machine = Machine { desk, sshd, port, folder };
        machine.has_program("inrush", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_inrush")));
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < PATIENCE, "{}", machine.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(machine)
    }

    /// The messages of sshd.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    /// Makes a program of the other machine.
    pub(super) fn has_program(&self, name: &str, script: &str) {
        executable(&self.folder.join("there").join(name), script);
    }

    pub(super) fn has_no_program(&self) {
        fs::remove_file(self.folder.join("there/inrush")).unwrap();
    }

    /// The program of this machine, whose `ssh` knows the test's key.
    pub(super) fn inrush(&self, arguments: &[&str]) -> Command {
        let mut command = self.desk.home.inrush(arguments);
        command.env("PATH", self.folder.join("here"));
        command
    }

    /// `inrush load --via ssh://.. --into DB.TABLE --socket SOCKET`.
    pub(super) fn load(&self, table: &str) -> Command {
        let (into, via) = (self.desk.table(table), self.address());
        let mut command = self.inrush(&["load", "--into", &into, "--via", &via]);
        command.args(["--threads", "2", "--memory", "40M", "--socket"]);
        command.arg(self.desk.server.socket());
        command
    }

    pub(super) fn address(&self) -> String {
        format!("ssh://127.0.0.1:{}", self.port)
    }

    /// `1a 2b`: the columns `id` and `name` of a table.
    #[track_caller]
    pub(super) fn has_rows(&mut self, table: &str, expected: &str) {
        let sql = format!("SELECT CONCAT(id, name) FROM {} ORDER BY id", self.desk.table(table));
        let rows = self.desk.session.query(&sql).unwrap();
        let rows: Vec<String> = rows.iter().map(|row| row.text(0).unwrap()).collect();
        assert_eq!(rows.join(" "), expected);
    }

    /// Waits for the program on the other machine that loads, and gives its process id.
    #[track_caller]
    pub(super) fn wait_for_program(&self) -> u32 {
        let begin = Instant::now();
        loop {
            if let Some(pid) = self.program() {
                return pid;
            }
            assert!(begin.elapsed() < PATIENCE, "it never began: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The program on the other machine that loads into this database, once it has its command.
    pub(super) fn program(&self) -> Option<u32> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let is_ours = |path: &Path| {
            let read = |name| {
                let text = fs::read(path.join(name)).unwrap_or_default();
                String::from_utf8_lossy(&text).into_owned()
            };
            read("environ").contains("INRUSH_RECEIVER=1")
                && read("cmdline").contains(&format!("{}.", self.desk.database))
        };
        let mut ours = processes.map(|entry| entry.path()).filter(|path| is_ours(path));
        ours.next()?.file_name()?.to_str()?.parse().ok()
    }

    /// Waits until no program loads there any more.
    #[track_caller]
    pub(super) fn wait_for_end(&self) {
        let begin = Instant::now();
        while self.program().is_some() {
            assert!(begin.elapsed() < PATIENCE, "it goes on: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The rejected rows that are kept on the other machine, with their reasons; removes both.
    #[track_caller]
    pub(super) fn kept_rows(&self) -> String {
        let mut kept = self.desk.home.temp_files();
        kept.sort();
        assert_eq!(kept.len(), 2, "{kept:?}");
        let paths = kept.iter().map(|name| self.desk.home.temp_dir().join(name));
        let texts: Vec<String> = paths
            .map(|path| {
                let text = fs::read_to_string(&path).unwrap();
                fs::remove_file(&path).unwrap();
                text
            })
            .collect();
        assert!(texts[1].starts_with("{\""), "{texts:?}");
        texts[0].clone()
    }

    /// Asserts that only tables of the test and no temporary files are there.
    #[track_caller]
    pub(super) fn leaves_nothing(&mut self) {
        self.wait_for_end();
        assert_eq!(self.desk.home.temp_files(), Vec::<String>::new());
        let database = self.desk.database.clone();
        let tables = crate::support::tables(&mut self.desk.session, &database);
        assert!(tables.iter().all(|table| table.len() == 1), "{tables:?}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

fn executable(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writes the keys and settings of both ends.
fn settle(desk: &Desk, folder: &Path, port: u16, variables: &str) {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for key in ["host", "user"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", &at(key)]);
        assert!(keygen.status().unwrap().success());
    }
    let host_key = fs::read_to_string(at("host.pub")).unwrap();
    fs::write(at("known"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
    let home = desk.home.path().to_str().unwrap();
    let (host, user, there) = (at("host"), at("user.pub"), at("there"));
    let server = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {host}\nPidFile none\nAuthorizedKeysFile {user}\n\
         StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\nPrintMotd no\nPrintLastLog no\n\
         SetEnv PATH={there}:/usr/bin:/bin HOME={home}/home XDG_STATE_HOME={home}/state \
         XDG_DATA_HOME={home}/data TMPDIR={home}/tmp XDG_CACHE_HOME={}/cache INRUSH_RECONNECT_MS=300 {variables}\n",
        env!("CARGO_TARGET_TMPDIR")
    );
    fs::write(at("sshd_config"), server).unwrap();
    let (key, known) = (at("user"), at("known"));
    // Settings of a user that would end a load, or have it ask.
    let client = format!(
        "IdentityFile {key}\nIdentitiesOnly yes\nUserKnownHostsFile {known}\nGlobalKnownHostsFile none\n\
         LogLevel DEBUG3\nRemoteCommand false\nRequestTTY force\nForwardX11 yes\nControlMaster auto\nControlPath {}\n",
        at("master")
    );
    fs::write(at("config"), client).unwrap();
    executable(&folder.join("here/ssh"), &format!("exec {SSH} -F {} \"$@\"", at("config")));
}
