//! A head with the storage engine Spider and servers that have its partitions, for tests.

use sandbox::spelled;
use server::error::Result;
use server::options::{ConnectOptions, Protocol};
use server::session::Session;

use crate::port::free_port;
use crate::test_server::{TestServer, TestServerOptions};

/// The account by which the head, and loads, reach all of them over TCP.
const ACCOUNT: &str = "'shard'@'127.0.0.1'";
const PASSWORD: &str = "secret";

/// A head and its shards, all on 127.0.0.1. The head knows the shards as `s1` to `sN`.
pub struct Shards {
    /// Has the tables.
    pub head: TestServer,
    /// Each has a partition.
    pub nodes: Vec<TestServer>,
    port: u16,
    ports: Vec<u16>,
}

impl Shards {
    /// A head with `count` shards; None, with a line printed, when no server is installed, or none with
    /// Spider.
    pub fn start(count: usize) -> Result<Option<Shards>> {
        let mut plugin = TestServer::plugin("ha_spider");
        plugin.push("--plugin-maturity=gamma".to_owned());
        let Some((head, port)) = start(plugin)? else { return Ok(None) };
        let ask = "SELECT SUPPORT FROM information_schema.ENGINES WHERE ENGINE='SPIDER'";
        if head.connect()?.query_text(ask)?.is_none() {
            println!("skipped: the server has no Spider (install mariadb-plugin-spider)");
            return Ok(None);
        }
        let (mut nodes, mut ports) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let Some((node, port)) = start(Vec::new())? else { return Ok(None) };
            nodes.push(node);
            ports.push(port);
        }
        let shards = Shards { head, nodes, port, ports };
        shards.join()?;
        Ok(Some(shards))
    }

    fn join(&self) -> Result<()> {
        for server in self.nodes.iter().chain([&self.head]) {
            let mut session = server.connect()?;
            session.exec(&format!("CREATE USER {ACCOUNT} IDENTIFIED BY '{PASSWORD}'"))?;
            session.exec(&format!("GRANT ALL ON *.* TO {ACCOUNT}"))?;
        }
        let mut session = self.head.connect()?;
        for (at, port) in self.ports.iter().enumerate() {
            session.exec(&format!(
                "CREATE SERVER s{} FOREIGN DATA WRAPPER mysql OPTIONS (HOST '{}', PORT {port}, USER 'shard', \
                 PASSWORD '{PASSWORD}')",
                at + 1,
                spelled(at)
            ))?;
        }
        Ok(())
    }

    /// Options to connect to the head over TCP, by an account that all servers know.
    pub fn options(&self) -> ConnectOptions {
        ConnectOptions {
            host: Some("127.0.0.1".to_owned()),
            port: Some(self.port),
            protocol: Some(Protocol::Tcp),
            user: Some("shard".to_owned()),
            password: Some(PASSWORD.to_owned().into()),
            ..ConnectOptions::default()
        }
    }

    /// The port of a shard, from 0.
    pub fn port(&self, node: usize) -> u16 {
        self.ports[node]
    }

    /// Makes a table of these columns in a database, on all shards and on the head, divided by `by` into a
    /// partition a shard: `bounds` has what stands behind the name of each, or is empty.
    pub fn create(&self, name: &str, columns: &str, by: &str, bounds: &[&str]) -> Result<()> {
        let (database, table) = name.split_once('.').unwrap_or((name, "t"));
        let mut session = self.head.connect()?;
        for node in &self.nodes {
            let mut session = node.connect()?;
            session.exec(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
            session
                .exec(&format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB CHARSET=utf8mb4"))?;
        }
        session.exec(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
        let partition = |at: usize| {
            let bound = bounds.get(at).copied().unwrap_or_default();
            let link = format!("srv \"s{}\", database \"{database}\"", at + 1);
            format!("PARTITION p{at} {bound} COMMENT='{link}'")
        };
        let partitions: Vec<String> = (0..self.nodes.len()).map(partition).collect();
        session.exec(&format!(
            "CREATE TABLE {name} ({columns}) ENGINE=SPIDER CHARSET=utf8mb4 COMMENT='wrapper \"mysql\", table \
             \"{table}\"' PARTITION BY {by} ({})",
            partitions.join(", ")
        ))?;
        Ok(())
    }

    /// The tables in a database of each server, head first.
    pub fn tables(&self, database: &str) -> Result<Vec<Vec<String>>> {
        let names = |server: &TestServer| {
            let rows = server.connect()?.query(&format!("SHOW TABLES FROM {database}"))?;
            rows.iter().map(|row| row.text(0)).collect::<Result<Vec<String>>>()
        };
        [&self.head].into_iter().chain(&self.nodes).map(names).collect()
    }

    /// A session of the head's administrator.
    pub fn session(&self) -> Result<Session> {
        self.head.connect()
    }
}

fn start(more: Vec<String>) -> Result<Option<(TestServer, u16)>> {
    let port = free_port()?;
    let mut extra = more;
    extra.extend(["--skip-networking=0", "--bind-address=127.0.0.1"].map(str::to_owned));
    extra.push(format!("--port={port}"));
    let server =
        TestServer::start_with(&TestServerOptions { extra, ..TestServerOptions::default() });
    Ok(server.map(|server| (server, port)))
}
