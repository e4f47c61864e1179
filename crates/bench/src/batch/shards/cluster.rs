//! The head and its shards while the benchmark runs.

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::{Sandbox, ShardSandbox, ShardServer, Status};
use server::options::Protocol;
use server::{ConnectOptions, Session};

use crate::error::Error;

/// Servers that stop with this.
pub(super) struct Cluster {
    sandbox: ShardSandbox,
    dir: PathBuf,
    /// The head first.
    servers: Vec<ShardServer>,
    password: String,
    keeps: bool,
}

impl Cluster {
    /// Starts a head and so many shards in a folder of `data_dir`.
    pub(super) fn start(data_dir: &Path, shards: usize, keeps: bool) -> Result<Cluster, Error> {
        let dir = data_dir.join(format!("shards-{shards}"));
        let sandbox = ShardSandbox::of(&Sandbox::at(&dir)?);
        let mut cluster =
            Cluster { sandbox, dir, servers: Vec::new(), password: String::new(), keeps };
        cluster.servers = cluster.sandbox.start(shards)?;
        let file = cluster.client_file();
        let text = fs::read_to_string(&file).map_err(Error::io("reading", &file))?;
        let password = text.lines().find_map(|line| line.strip_prefix("password="));
        cluster.password = password.unwrap_or_default().to_owned();
        Ok(cluster)
    }

    /// The option file by which the head is reached.
    pub(super) fn client_file(&self) -> PathBuf {
        self.sandbox.client_file()
    }

    /// How a server is reached, 0 being the head: all by TCP, as the head reaches its shards.
    pub(super) fn connect(&self, server: usize) -> ConnectOptions {
        ConnectOptions {
            host: Some("127.0.0.1".to_owned()),
            port: self.servers.get(server).map(|server| server.port),
            protocol: Some(Protocol::Tcp),
            user: Some("inrush".to_owned()),
            password: Some(self.password.clone().into()),
            ..ConnectOptions::default()
        }
    }

    pub(super) fn session(&self, server: usize) -> Result<Session, Error> {
        Ok(Session::connect(&self.connect(server))?)
    }

    pub(super) fn version(&self) -> Result<String, Error> {
        Ok(self.session(0)?.version().to_string())
    }

    /// The name by which the head knows a shard, counted from 1.
    pub(super) fn name(&self, shard: usize) -> &str {
        &self.servers[shard].name
    }

    /// The processes, the head's first.
    pub(super) fn pids(&self) -> Vec<Option<u32>> {
        let pid = |server: &ShardServer| match server.sandbox.status() {
            Status::Running { pid } => Some(pid),
            Status::Absent | Status::Stopped => None,
        };
        self.servers.iter().map(pid).collect()
    }

    /// Stops all, and removes their folder unless it is kept.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.sandbox.stop()?;
        match self.keeps {
            true => Ok(()),
            false => fs::remove_dir_all(&self.dir).map_err(Error::io("removing", &self.dir)),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // After a run that went well they are stopped.
        let _ = self.sandbox.stop();
    }
}
