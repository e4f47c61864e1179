//! A sandbox of several servers: one with the storage engine Spider, and those that have its partitions.
//!
//! ```text
//! DIR/shards/servers       name and port of each, a line each; the head first
//! DIR/shards/client.cnf    how the head is reached: its account is that of all, its password a random one
//! DIR/shards/head/         a sandbox each
//! DIR/shards/s1/ ..
//! ```
//!
//! All listen on 127.0.0.1. To the head the others are servers `s1` to `sN`, at addresses that are spelled
//! differently: Spider tells transactions on two servers apart by that alone.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use face::option::SHARDS;

use super::{MIB, Sandbox, SandboxOptions, Status, default_buffer_pool, make_private_dir};
use server::error::{Error, Result};
use server::identifier::quote_text;
use server::session::Session;

/// Environment variable that names the folder of `ha_spider.so`, where it is not the server's own.
pub const PLUGIN_VARIABLE: &str = "INRUSH_PLUGIN_DIR";
/// Servers with partitions, at most: 127.0.0.1 has no more spellings that are known to work.
const SHARDS_MAX: usize = 16;

const HEAD: &str = "head";
const ACCOUNT: &str = "'inrush'@'127.0.0.1'";
/// The database that is there to try it by.
const DATABASE: &str = "demo";

/// A server of such a sandbox.
#[derive(Clone, Debug)]
pub struct ShardServer {
    /// `head`, or the name that the head knows it by.
    pub name: String,
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    /// It and its folder.
    pub sandbox: Sandbox,
}

/// A head and its shards.
#[derive(Clone, Debug)]
pub struct ShardSandbox {
    dir: PathBuf,
}

impl ShardSandbox {
    /// That of a sandbox; it need not exist yet. Touches nothing.
    pub fn of(sandbox: &Sandbox) -> ShardSandbox {
        ShardSandbox { dir: sandbox.dir().join("shards") }
    }

    /// The option file by which the head is reached.
    pub fn client_file(&self) -> PathBuf {
        self.dir.join("client.cnf")
    }

    /// Its servers, the head first; none if it was never started.
    ///
    /// Errors: a list of them that cannot be read.
    pub fn servers(&self) -> Result<Vec<ShardServer>> {
        let path = self.dir.join("servers");
        let text = match fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(|e| Error::io("reading", &path, e))?,
        };
        let server = |line: &str| {
            let (name, port) = line.split_once(' ')?;
            let sandbox = Sandbox::at(self.dir.join(name)).ok()?;
            Some(ShardServer { name: name.to_owned(), port: port.parse().ok()?, sandbox })
        };
        let servers: Option<Vec<ShardServer>> = text.lines().map(server).collect();
        servers.ok_or_else(|| {
            Error::Option(format!("{} is not a list of servers; remove its folder", path.display()))
        })
    }

    /// Starts a head and `count` shards, made on first use; returns once all answer.
    ///
    /// Errors: as [`Sandbox::start`]; another number of shards than there are; a server without Spider. Servers
    /// that were not up before are stopped then.
    pub fn start(&self, count: usize) -> Result<Vec<ShardServer>> {
        if !(1..=SHARDS_MAX).contains(&count) {
            return Err(Error::Option(format!(
                "{} is not between 1 and {SHARDS_MAX}",
                SHARDS.with(count)
            )));
        }
        let mut servers = self.servers()?;
        if servers.is_empty() {
            servers = self.make(count)?;
        }
        if servers.len() != count + 1 {
            return Err(Error::Option(format!(
                "the sandbox in {} has {} shards: for {count} shards, stop it and remove that \
                 folder",
                self.dir.display(),
                servers.len() - 1
            )));
        }
        let is_up =
            |server: &ShardServer| matches!(server.sandbox.status(), Status::Running { .. });
        // Written last: without it the servers were started, and not joined.
        let is_joined = self.client_file().exists();
        let were_up: Vec<bool> = servers.iter().map(|server| is_joined && is_up(server)).collect();
        if were_up.iter().all(|&was_up| was_up) {
            return Ok(servers);
        }
        let started = servers
            .iter()
            .try_for_each(|server| server.sandbox.start(&options(server, servers.len())));
        if let Err(error) = started.and_then(|()| self.join(&servers)) {
            // A head that runs would not read its plugin again.
            let ours = servers.iter().zip(were_up).filter(|(_, was_up)| !was_up);
            ours.for_each(|(server, _)| drop(server.sandbox.stop()));
            return Err(error);
        }
        Ok(servers)
    }

    /// Stops all servers; not running is fine.
    ///
    /// Errors: as [`Sandbox::stop`].
    pub fn stop(&self) -> Result<()> {
        self.servers()?.iter().try_for_each(|server| server.sandbox.stop())
    }

    /// Chooses ports.
    fn make(&self, count: usize) -> Result<Vec<ShardServer>> {
        if let Some(parent) = self.dir.parent() {
            make_private_dir(parent)?;
        }
        make_private_dir(&self.dir)?;
        let free = |_| TcpListener::bind("127.0.0.1:0");
        // All held until all are known: none is chosen twice.
        let listeners: std::io::Result<Vec<TcpListener>> = (0..=count).map(free).collect();
        let looking = |e| Error::io("finding free ports for", &self.dir, e);
        let mut text = String::new();
        for (at, listener) in listeners.map_err(looking)?.iter().enumerate() {
            let name = if at == 0 { HEAD.to_owned() } else { format!("s{at}") };
            let port = listener.local_addr().map_err(looking)?.port();
            text.push_str(&format!("{name} {port}\n"));
        }
        let (fresh, path) = (self.dir.join("servers.new"), self.dir.join("servers"));
        fs::write(&fresh, text).map_err(|e| Error::io("writing", &fresh, e))?;
        fs::rename(&fresh, &path).map_err(|e| Error::io("renaming", &fresh, e))?;
        self.servers()
    }

    /// Has all know one account, and the head the others.
    fn join(&self, servers: &[ShardServer]) -> Result<()> {
        let password = random_word()?;
        for server in servers {
            let mut session = Session::connect(&server.sandbox.connect_options())?;
            session.exec_rows(
                &format!(
                    "CREATE OR REPLACE USER {ACCOUNT} IDENTIFIED BY {}",
                    quote_text(&password)
                ),
                "CREATE USER inrush",
            )?;
            session.exec(&format!("GRANT ALL ON *.* TO {ACCOUNT} WITH GRANT OPTION"))?;
            session.exec(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        }
        let Some((head, shards)) = servers.split_first() else { return Ok(()) };
        let mut session = Session::connect(&head.sandbox.connect_options())?;
        let ask = "SELECT SUPPORT FROM information_schema.ENGINES WHERE ENGINE='SPIDER'";
        if session.query_text(ask)?.is_none() {
            return Err(Error::Option(format!(
                "the server has no storage engine Spider: apt install mariadb-plugin-spider, or \
                 name the folder of ha_spider.so with {PLUGIN_VARIABLE}"
            )));
        }
        for (at, shard) in shards.iter().enumerate() {
            session.exec_rows(
                &format!(
                    "CREATE OR REPLACE SERVER {} FOREIGN DATA WRAPPER mysql OPTIONS (HOST {}, PORT {}, \
                     USER 'inrush', PASSWORD {}, DATABASE '{DATABASE}')",
                    shard.name,
                    quote_text(&spelled(at)),
                    shard.port,
                    quote_text(&password)
                ),
                "CREATE SERVER",
            )?;
        }
        self.write_client_file(head.port, &password)
    }

    fn write_client_file(&self, port: u16, password: &str) -> Result<()> {
        let (path, fresh) = (self.client_file(), self.dir.join("client.cnf.new"));
        let _ = fs::remove_file(&fresh);
        let writing = |e| Error::io("writing", &fresh, e);
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh);
        let mut file = file.map_err(|e| Error::io("making", &fresh, e))?;
        writeln!(
            file,
            "[client]\nhost=127.0.0.1\nport={port}\nprotocol=tcp\nuser=inrush\npassword={password}"
        )
        .map_err(writing)?;
        fs::rename(&fresh, &path).map_err(|e| Error::io("renaming", &fresh, e))
    }
}

/// A small server that listens on 127.0.0.1.
fn options(server: &ShardServer, servers: usize) -> SandboxOptions {
    let share = default_buffer_pool() / servers as u64 / MIB * MIB;
    let mut extra = vec![
        "--skip-networking=0".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={}", server.port),
    ];
    if server.name == HEAD {
        extra.push("--plugin-maturity=gamma".to_owned());
        extra.push("--plugin-load-add=ha_spider".to_owned());
        let folder = std::env::var_os(PLUGIN_VARIABLE).filter(|folder| !folder.is_empty());
        let folder = folder.map(|folder| Path::new(&folder).display().to_string());
        extra.extend(folder.map(|folder| format!("--plugin-dir={folder}")));
    }
    SandboxOptions {
        buffer_pool_bytes: Some(share.max(64 * MIB)),
        extra,
        ..SandboxOptions::default()
    }
}

/// The address of shard `at`, no other's.
pub fn spelled(at: usize) -> String {
    match at {
        0 => "127.0.0.1".to_owned(),
        1 => "127.1".to_owned(),
        2 => "127.0.1".to_owned(),
        // Numbers may have zeros before them.
        _ => format!("127.0.0.{}1", "0".repeat(at - 2)),
    }
}

/// A word that nobody guesses.
fn random_word() -> Result<String> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|e| Error::io("reading", path, e))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
