//! A primary with replicas, for tests that make them lag.

use std::time::{Duration, Instant};

use server::error::{Error, Result};
use server::options::{ConnectOptions, Protocol};
use server::session::Session;
use server::version::Flavor;

use crate::port::free_port;
use crate::test_server::{TestServer, TestServerOptions};

/// The account that replicates, and by which the tests ask over TCP.
const ACCOUNT: &str = "'repl'@'127.0.0.1'";
/// One without a password, by which nothing can be taken from us.
const OPEN_ACCOUNT: &str = "'open'@'127.0.0.1'";
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(60);

/// A primary and its replicas, all on 127.0.0.1.
pub struct Cluster {
    /// Writes a binary log by rows.
    pub primary: TestServer,
    /// Each with its port.
    pub replicas: Vec<(TestServer, u16)>,
    port: u16,
}

impl Cluster {
    /// A primary with `count` replicas that follow it; None when no server is installed.
    pub fn start(count: usize) -> Result<Option<Cluster>> {
        let Some((primary, port)) = start(1)? else { return Ok(None) };
        let mut session = primary.connect()?;
        session.exec(&format!("CREATE USER {ACCOUNT} IDENTIFIED BY 'secret'"))?;
        session.exec(&format!("CREATE USER {OPEN_ACCOUNT}"))?;
        for account in [ACCOUNT, OPEN_ACCOUNT] {
            session.exec(&format!("GRANT ALL ON *.* TO {account}"))?;
        }
        let mut replicas = Vec::new();
        for number in 0..count {
            let Some((replica, replica_port)) = start(number + 2)? else { return Ok(None) };
            let mut session = replica.connect()?;
            follow(&mut session, port)?;
            replicas.push((replica, replica_port));
        }
        let cluster = Cluster { primary, replicas, port };
        cluster.wait_until_even()?;
        Ok(Some(cluster))
    }

    /// Options to connect to the primary over TCP, by an account that all servers know.
    pub fn options(&self) -> ConnectOptions {
        ConnectOptions {
            host: Some("127.0.0.1".to_owned()),
            port: Some(self.port),
            protocol: Some(Protocol::Tcp),
            user: Some("repl".to_owned()),
            password: Some("secret".to_owned().into()),
            ..ConnectOptions::default()
        }
    }

    /// The same by an account without a password, which is taken to whoever replicates.
    pub fn open_options(&self) -> ConnectOptions {
        ConnectOptions { user: Some("open".to_owned()), password: None, ..self.options() }
    }

    /// `host:port` of a replica.
    pub fn address(&self, replica: usize) -> String {
        format!("127.0.0.1:{}", self.replicas[replica].1)
    }

    /// A session of a replica's administrator.
    pub fn replica(&self, replica: usize) -> Result<Session> {
        self.replicas[replica].0.connect()
    }

    /// Has all servers log new sessions' changes in a format, and refuse ids of transactions that are not in order.
    pub fn log_format(&self, format: &str) -> Result<()> {
        let replicas = self.replicas.iter().map(|(server, _)| (server, true));
        for (server, is_replica) in std::iter::once((&self.primary, false)).chain(replicas) {
            let mut session = server.connect()?;
            // MySQL is always so strict, and changes the format only while nothing is applied.
            let stops = is_replica && server.is_mysql();
            if stops {
                session.exec("STOP REPLICA")?;
            }
            if !server.is_mysql() {
                session.exec("SET GLOBAL gtid_strict_mode=1")?;
            }
            session.exec(&format!("SET GLOBAL binlog_format={format}"))?;
            if stops {
                session.exec("START REPLICA")?;
            }
        }
        Ok(())
    }

    /// Waits until every replica has all that the primary has.
    pub fn wait_until_even(&self) -> Result<()> {
        let position = |session: &mut Session| {
            session.query_text(match session.version().flavor {
                Flavor::MariaDb => "SELECT @@gtid_current_pos",
                Flavor::MySql => "SELECT @@GLOBAL.gtid_executed",
            })
        };
        let wanted = position(&mut self.primary.connect()?)?;
        for (replica, _) in &self.replicas {
            let mut session = replica.connect()?;
            let began = Instant::now();
            while position(&mut session)? != wanted {
                if began.elapsed() > FOLLOW_TIMEOUT {
                    let status = session.query_named(match session.version().flavor {
                        Flavor::MariaDb => "SHOW SLAVE STATUS",
                        Flavor::MySql => "SHOW REPLICA STATUS",
                    })?;
                    let message = format!("it does not follow: {status:?}");
                    let dir = replica.dir().to_owned();
                    return Err(Error::Sandbox { doing: "replicating to", dir, message });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

/// Has a server follow the one at a port.
fn follow(session: &mut Session, port: u16) -> Result<()> {
    let (follow, start) = match session.version().flavor {
        Flavor::MariaDb => (
            format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', \
                 MASTER_PASSWORD='secret', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos"
            ),
            "START SLAVE",
        ),
        Flavor::MySql => (
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
                 SOURCE_USER='repl', SOURCE_PASSWORD='secret', SOURCE_CONNECT_RETRY=1, \
                 SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
            ),
            "START REPLICA",
        ),
    };
    session.exec(&follow)?;
    session.exec(start).map(drop)
}

fn start(server_id: usize) -> Result<Option<(TestServer, u16)>> {
    let port = free_port()?;
    let extra = [
        "--skip-networking=0",
        "--bind-address=127.0.0.1",
        &format!("--port={port}"),
        &format!("--server-id={server_id}"),
        "--log-bin=binlog",
        // Those that only one of the two servers has.
        "--loose-binlog-format=ROW",
        "--loose-slave-net-timeout=10",
        "--loose-gtid-mode=ON",
        "--loose-enforce-gtid-consistency=ON",
    ];
    let extra = extra.map(str::to_owned).into();
    let server =
        TestServer::start_with(&TestServerOptions { extra, ..TestServerOptions::default() });
    Ok(server.map(|server| (server, port)))
}
